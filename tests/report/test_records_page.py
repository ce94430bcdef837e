from dataclasses import replace
from html.parser import HTMLParser

import pytest

from newtonnet.datasets import csbm, make_splits
from newtonnet.nn import build
from newtonnet.report import RecordGroup, graph_homophily, render_records
from newtonnet.training import Config, fit


@pytest.fixture(scope="module")
def group():
    graph = csbm(0.05, nodes=200, features=40)
    configs = [Config(seed=i, gammas=(1.0, 1.0, 1.0), max_epochs=60) for i in range(2)]
    records = fit(build("newtonnet", graph, seeds=(0, 1)), graph, make_splits(graph, count=2), configs)
    return RecordGroup("blocks", records, graph_homophily(graph), graph.classes)


class Loads(HTMLParser):
    """What a page would fetch from elsewhere."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name in ("src", "href") and value]


def test_the_page_loads_nothing_and_names_what_was_learned(group):
    page = render_records("A page", [group], command="newtonnet demo")
    parser = Loads()
    parser.feed(page)
    assert parser.found == []
    assert "heterophilous" in page
    assert "learned homophily" in page


def test_names_from_outside_are_escaped(group):
    page = render_records("<b>x</b>", [replace(group, title="<script>alert(1)</script>")], command="a & b <c>")
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "a &amp; b &lt;c&gt;" in page


def test_the_headline_follows_the_filter_and_the_homophily(group):
    assert "keeps high frequencies, as expected for a heterophilous graph." in group.headline
    low = [replace(r, outcome=replace(r.outcome, response=r.outcome.response[::-1])) for r in group.records]
    turned = replace(group, records=low, homophily=replace(group.homophily, measured=0.9)).headline
    assert "low frequencies" in turned
    assert "90% of the time" in turned
    assert "The graph is strongly homophilous" in turned


def test_failed_runs_are_counted_and_left_out_of_the_pictures(group):
    bad = replace(group.records[0].outcome, status="failed", reason="NaN", response=(99.0,) * 41, values=(99.0,) * 6)
    mixed = replace(group, records=[group.records[0], replace(group.records[1], outcome=bad)])
    alone = replace(group, records=group.records[:1])
    assert mixed.headline == alone.headline
    page = render_records("A page", [mixed], command="x")
    assert "1 of 2 runs" in page
    assert "99.0" not in page.split("</style>")[1].split("<body>")[1]


def test_plots_have_no_button_that_sends_them_away(group):
    body = render_records("A page", [group], command="x").split("<body>")[1]
    assert body.count('"showSendToCloud": false') == 3
