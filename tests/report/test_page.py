from dataclasses import replace
from html.parser import HTMLParser

import pytest

from newtonnet.datasets import csbm, make_splits
from newtonnet.graphs import homophily
from newtonnet.nn import build
from newtonnet.report import Study, draw_response, headline, render
from newtonnet.training import Config, fit


@pytest.fixture(scope="module")
def study():
    graph = csbm(0.05, nodes=200, features=40)
    configs = [Config(seed=i, gammas=(1.0, 1.0, 1.0), max_epochs=60) for i in range(2)]
    records = fit(build("newtonnet", graph, seeds=(0, 1)), graph, make_splits(graph, count=2), configs)
    return Study("blocks", records, homophily(graph).edge, graph.classes)


class Loads(HTMLParser):
    """What a page would fetch from elsewhere."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name in ("src", "href") and value]


def test_the_page_loads_nothing_and_names_what_was_learned(study):
    page = render("A page", [study], command="newtonnet demo")
    parser = Loads()
    parser.feed(page)
    assert parser.found == []
    assert "heterophilous" in page
    assert "learned homophily h" in page


def test_names_from_outside_are_escaped(study):
    page = render("<b>x</b>", [replace(study, title="<script>alert(1)</script>")], command="a & b <c>")
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "a &amp; b &lt;c&gt;" in page


def test_the_headline_follows_the_filter_and_the_homophily(study):
    assert "high frequencies" in headline(study)
    low = [replace(r, outcome=replace(r.outcome, response=r.outcome.response[::-1])) for r in study.records]
    turned = headline(replace(study, records=low, homophily=0.9))
    assert "low frequencies" in turned
    assert "90% of the time" in turned
    assert "this graph is homophilous" in turned


def test_a_drawn_filter_has_its_highest_bar_at_its_largest_amplitude():
    picture = draw_response([0.1 * i for i in range(41)], height=4).splitlines()
    assert picture[0].startswith("4.0")
    assert picture[0].rstrip().endswith("█")
    assert picture[0].count("█") < picture[3].count("█")


def test_negative_amplitudes_are_dots():
    assert "·" in draw_response([-1.0] * 6 + [1.0] * 6)


def test_failed_members_are_named_and_left_out_of_the_pictures(study):
    bad = replace(study.records[0].outcome, status="failed", reason="NaN", response=(99.0,) * 41, values=(99.0,) * 6)
    mixed = replace(study, records=[study.records[0], replace(study.records[1], outcome=bad)])
    alone = replace(study, records=study.records[:1])
    assert headline(mixed) == headline(alone)
    page = render("A page", [mixed], command="x")
    assert "1 of 2 members" in page
    assert "99.0" not in page.split("</style>")[1].split("<body>")[1]


def test_plots_have_no_button_that_sends_them_away(study):
    body = render("A page", [study], command="x").split("<body>")[1]
    assert body.count('"showSendToCloud": false') == 2
