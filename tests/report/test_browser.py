"""The page in a real browser: Chromium, driven over its DevTools protocol through a pipe."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from newtonnet.explanations import explain
from newtonnet.graphs import from_edges
from newtonnet.nn import Options, build
from newtonnet.report import render_findings
from newtonnet.report.why import explained_node, nodes_to_explain, render_why
from newtonnet.training import band_masks, shape_penalty

FIND = "(name => ['#playground ', ''].map(of => document.querySelector(`${of}[data-part='${name}']`)).find(Boolean))"
"""A part of the playground or, on a page without it, of the explanations, by its name."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, findings, hostile, priced):
    """The page of a plain run, of hostile names, of fifty classes with long names, and of numbers."""
    folder = tmp_path_factory.mktemp("pages")
    pages = (("plain", findings), ("hostile", hostile), ("many", many_classes(findings)), ("numbers", priced))
    for name, one in pages:
        (folder / f"{name}.html").write_text(render_findings(one), encoding="utf-8")
    return folder


def many_classes(findings, count=50):
    names = tuple(f"{'averylongnamewithoutanyspace' * 4} {i}" for i in range(count))
    data = replace(findings.data, class_names=names, class_counts=(20,) * count)
    evaluation = replace(
        findings.evaluation,
        confusion=(np.eye(count, dtype=int) * 19 + 1).tolist(),
        precision=[0.5] * count,
        recall=[0.5] * count,
        f1=[0.5] * count,
    )
    return replace(findings, title="A" * 300, command="newtonnet " + "x" * 400, data=data, evaluation=evaluation)


@pytest.fixture(scope="module", params=["many", "plain", "hostile", "numbers"])
def any_page(request, browser, folder):
    """A browser that shows one of the pages for the first time."""
    browser.show(folder / f"{request.param}.html")
    return browser


@pytest.fixture
def plain(browser, folder):
    """A browser that shows the plain run with its playground untouched; loading it anew would take a second."""
    if browser.page == folder / "plain.html":
        browser.resize(1200)
        browser.evaluate("document.querySelector('[data-part=reset]').click()")
    else:
        browser.show(folder / "plain.html")
    return browser


def handle_centre(browser, k):
    browser.evaluate("document.querySelector('#playground svg').scrollIntoView({block: 'center', behavior: 'instant'})")
    return browser.evaluate(
        f"(() => {{ const b = document.querySelectorAll('.handle .dot')[{k}].getBoundingClientRect();"
        "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )


def curve(browser):
    return browser.evaluate("document.querySelector('[data-part=curve]').getAttribute('d')")


def values(browser):
    return browser.evaluate("newtonnet.playground.state.values")


def choose(browser, part, value):
    browser.evaluate(
        f"(() => {{ const e = {FIND}({json.dumps(part)}); e.value = {json.dumps(value)};"
        "for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, {bubbles: true})); })()"
    )


def test_the_page_loads_nothing_and_makes_no_error(any_page):
    assert any_page.complaints() == []
    assert any_page.requests()
    assert [url for url in any_page.requests() if not url.startswith(("file:", "data:", "blob:"))] == []


def test_every_plot_is_drawn(any_page):
    sizes = any_page.evaluate(
        "[...document.querySelectorAll('.plot')].map(plot => { const b = plot.querySelector('svg.main-svg')"
        ".getBoundingClientRect(); return Math.min(b.width, b.height); })"
    )
    assert len(sizes) == 7 + (any_page.page.stem == "numbers")
    assert min(sizes) > 100


def test_an_explained_number_is_told_in_its_own_units(browser, folder):
    if browser.page != folder / "numbers.html":
        browser.show(folder / "numbers.html")
    assert browser.text("sentence").startswith("price <b>€</b> 21.5: contributions sum to +0.45.")
    assert browser.evaluate("document.querySelector('[data-part=nodes] option').textContent") == "P-0: 21.5"


@pytest.mark.parametrize("width", [320, 360])
def test_a_phone_does_not_scroll_sideways(any_page, width):
    any_page.resize(width)
    any_page.settle()
    assert any_page.evaluate("innerWidth") == width
    any_page.until("[...document.querySelectorAll('.plot svg.main-svg')].every(one => one.clientWidth < innerWidth)")
    assert any_page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_names_are_drawn_as_they_are_written(browser, folder):
    if browser.page != folder / "hostile.html":
        browser.show(folder / "hostile.html")
    ticks = browser.evaluate(
        "[...document.querySelectorAll('#confusion-plot .ytick text')].map(tick => [tick.textContent, tick.innerHTML])"
    )
    assert [text for text, _ in ticks[2:4]] == ['"><img src=…', "<b>bold</b>"]
    assert all("<b>" not in inner and "<tspan" not in inner for _, inner in ticks)
    assert browser.evaluate("document.querySelectorAll('img, .plot a').length") == 0


def test_a_dragged_point_takes_the_curve_and_the_penalty_with_it(plain):
    x, y = handle_centre(plain, 2)
    before = curve(plain), plain.text("total"), plain.text("after-low")
    start = values(plain)
    plain.pointer("mousePressed", x, y)
    for step in range(1, 5):
        plain.pointer("mouseMoved", x, y - 15 * step)
    plain.pointer("mouseReleased", x, y - 60)
    assert curve(plain) != before[0]
    assert plain.text("total") != before[1]
    assert plain.text("after-low") != before[2]
    end = values(plain)
    assert end[2] > start[2] + 0.1
    assert end[:2] + end[3:] == start[:2] + start[3:]
    centre = handle_centre(plain, 2)
    assert centre[1] == pytest.approx(y - 60, abs=1.5)
    plain.pointer("mouseMoved", x, y - 90)
    assert values(plain) == end


def test_a_finger_drags_as_a_mouse_does(plain):
    x, y = handle_centre(plain, 3)
    start = values(plain)
    plain.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    for step in range(1, 5):
        plain.send("Input.dispatchTouchEvent", type="touchMove", touchPoints=[{"x": x, "y": y - 10 * step}])
    plain.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    assert values(plain)[3] > start[3] + 0.1
    # Without this a phone would scroll the page instead.
    assert plain.evaluate("getComputedStyle(document.querySelector('.handle')).touchAction") == "none"


def test_a_point_moves_by_keyboard_and_says_where_it_is(plain):
    plain.evaluate("document.querySelectorAll('.handle')[1].focus()")
    before = curve(plain), plain.text("total")
    start = values(plain)[1]
    plain.press("ArrowUp")
    step = values(plain)[1] - start
    assert step > 0
    assert curve(plain) != before[0]
    assert plain.text("total") != before[1]
    now, spoken = plain.evaluate(
        "['aria-valuenow', 'aria-valuetext'].map(name => document.activeElement.getAttribute(name))"
    )
    assert float(now) == pytest.approx(start + step, abs=1e-3)
    assert now in spoken
    plain.press("ArrowDown")
    assert values(plain)[1] == pytest.approx(start)
    bounds = plain.evaluate(
        "['aria-valuemin', 'aria-valuemax'].map(name => Number(document.activeElement.getAttribute(name)))"
    )
    for key, bound in zip(("Home", "End"), bounds, strict=True):
        plain.press(key)
        assert values(plain)[1] == pytest.approx(bound, abs=1e-3)


@pytest.mark.parametrize("kind", ["equispaced", "chebyshev"])
@pytest.mark.parametrize("count", [2, 5, 14])
def test_the_curve_is_the_polynomial_through_the_points(plain, rng_numbers, kind, count):
    points = plain.evaluate(f"newtonnet.{kind}({count})")
    heights = rng_numbers[:count]
    at = np.linspace(0, 2, 33)
    found = plain.evaluate(f"newtonnet.interpolate({points}, {heights}, {at.tolist()})")
    expected = np.polynomial.Chebyshev.fit(points, heights, count - 1, domain=[0, 2])(at)
    np.testing.assert_allclose(found, expected, atol=1e-6 * max(1, np.abs(expected).max()))


@pytest.fixture(scope="module")
def rng_numbers():
    return np.random.default_rng(3).uniform(0, 1, 14).tolist()


def test_the_drawn_path_follows_that_polynomial(plain):
    choose(plain, "count", 14)
    plain.evaluate("document.querySelectorAll('.handle')[6].focus()")
    plain.press("End")
    points, heights = plain.evaluate("[newtonnet.playground.state.points, newtonnet.playground.state.values]")
    assert len(points) == 14
    pixels = np.array(re.findall(r"[ML]([-\d.]+),([-\d.]+)", curve(plain)), dtype=float)
    assert len(pixels) > 200
    marks = plain.evaluate(
        "[...document.querySelectorAll('.handle')].map(h => h.getAttribute('transform').match(/[-\\d.]+/g).map(Number))"
    )
    left, right = marks[0][0], marks[-1][0]
    (high, low), (top, bottom) = (heights[6], heights[0]), (marks[6][1], marks[0][1])
    amplitude = low + (pixels[:, 1] - bottom) * (high - low) / (top - bottom)
    frequency = 2 * (pixels[:, 0] - left) / (right - left)
    expected = np.polynomial.Chebyshev.fit(points, heights, 13, domain=[0, 2])(frequency)
    np.testing.assert_allclose(amplitude, expected, atol=0.02 * np.abs(expected).max())


@pytest.mark.parametrize("squared", [True, False])
def test_the_penalty_is_the_paper_s(plain, rng_numbers, squared):
    points = [0.0, 2 / 3 - 1e-9, 2 / 3, 1.0, 4 / 3, 2.0]
    heights, h, pivot, gammas = rng_numbers[:6], 0.35, 0.2, [2.0, 3.0, 5.0]
    options = json.dumps({"gammas": gammas, "pivot": pivot, "h": h, "squared": squared})
    found = plain.evaluate(f"newtonnet.penalty({points}, {heights}, {options})")
    expected = shape_penalty(
        torch.tensor(heights, dtype=torch.float64)[:, None],
        band_masks(torch.tensor(points, dtype=torch.float64)),
        homophily=torch.tensor([h], dtype=torch.float64),
        pivot=torch.tensor(pivot, dtype=torch.float64),
        gammas=torch.tensor(gammas, dtype=torch.float64)[:, None],
        squared=squared,
    )
    assert found["total"] == pytest.approx(float(expected), rel=1e-12)
    assert found["terms"][0] < 0 < found["terms"][2]


def test_inputs_change_the_penalty_and_reset_brings_the_run_back(plain):
    first = plain.text("total"), values(plain)
    choose(plain, "h", "0.9")
    assert plain.text("does-low") == "encouraged"
    assert plain.text("total") != first[0]
    plain.evaluate("document.querySelector('[data-preset=identity]').click()")
    assert np.ptp(values(plain)) == 0
    assert plain.text("before-low") == plain.text("after-low")
    assert plain.text("kept-high") == "100.0%"
    plain.evaluate("document.querySelector('[data-part=reset]').click()")
    assert (plain.text("total"), values(plain)) == first


def test_resampling_keeps_the_curve(plain):
    plain.evaluate("document.querySelector('[data-preset=band]').click()")
    between = "(({points, values}) => newtonnet.interpolate(points, values, [0.3, 1.7]))(newtonnet.playground.state)"
    before = plain.evaluate(between)
    choose(plain, "count", 9)
    choose(plain, "kind", "chebyshev")
    after = plain.evaluate(between)
    assert len(values(plain)) == 9
    np.testing.assert_allclose(after, before, atol=1e-9)


def test_paper_shows_the_drawing_without_its_controls(plain):
    visible = "[...document.querySelectorAll('{}')].filter(e => e.getClientRects().length).length"
    assert plain.evaluate(visible.format(".settings button")) > 0
    plain.send("Emulation.setEmulatedMedia", media="print")
    plain.settle()
    assert plain.evaluate(visible.format(".settings button, .settings input, nav a, .modebar-btn")) == 0
    assert plain.evaluate(visible.format("[data-part=curve], .plot svg.main-svg")) > 6
    plain.send("Emulation.setEmulatedMedia", media="")


@pytest.fixture(scope="module")
def why(browser, tmp_path_factory):
    """The page of 30 explained nodes of a random graph, some with names that would break a page."""
    rng = np.random.default_rng(5)
    names = [f"C-{i:03d}" for i in range(58)] + ["</script><!--", "<b>bold</b>"]
    graph = from_edges(
        rng.integers(0, 60, (2, 150)),
        rng.normal(size=(60, 12)),
        labels=np.where(np.arange(60) < 30, np.arange(60) % 3, -1),
        class_names=("honest", "fraud", "<i>unclear</i>"),
        node_names=names,
    )
    model = build("newtonnet", graph, Options(hidden=8))
    shares = rng.dirichlet([1, 1, 1], 60)
    chosen = nodes_to_explain(graph, shares, 30)
    found = explain(model, graph, [node for node, _ in chosen])
    nodes = [explained_node(one, graph, shares, group=group) for one, (_, group) in zip(found, chosen, strict=True)]
    page = tmp_path_factory.mktemp("why") / "why.html"
    page.write_text(render_why("Why", nodes, graph.class_names, version="0"), encoding="utf-8")
    browser.show(page)
    return browser, nodes


def test_the_explanations_are_drawn_without_errors_or_requests(why):
    browser, nodes = why
    assert browser.complaints() == []
    assert [url for url in browser.requests() if not url.startswith("file:")] == []
    assert browser.text("name") == nodes[0]["node"]
    assert browser.evaluate("document.querySelectorAll('#why svg .node').length") == len(nodes[0]["drawing"]["nodes"])
    assert browser.evaluate("document.querySelectorAll('#why .bars').length") == 3
    assert browser.evaluate("document.querySelectorAll('#why img, #why i > *, #why b').length") == 0


def test_the_list_of_explanations_is_searched(why):
    browser, nodes = why
    wanted = nodes[17]["node"]
    choose(browser, "search", wanted[2:].lower())
    shown = browser.evaluate("[...document.querySelector('[data-part=nodes]').options].map(one => one.textContent)")
    assert 0 < len(shown) < len(nodes)
    assert any(text.startswith(f"{wanted}:") for text in shown)
    assert browser.text("count") == f"{len(shown)} of 30 nodes"
    choose(browser, "search", "no such node")
    assert browser.text("count") == "0 of 30 nodes"
    choose(browser, "search", "")
    choose(browser, "group", nodes[-1]["group"])
    assert browser.evaluate("document.querySelector('[data-part=nodes]').options.length") == sum(
        one["group"] == nodes[-1]["group"] for one in nodes
    )
    choose(browser, "group", "")


def test_another_explanation_is_chosen_by_keyboard(why):
    browser, nodes = why
    browser.evaluate("document.querySelector('[data-part=nodes]').focus()")
    choose(browser, "nodes", "0")
    browser.press("ArrowDown")
    assert browser.text("name") == nodes[1]["node"]
    # A drawn neighbour that is explained too answers to Enter.
    browser.evaluate("document.querySelector('#why svg .listed').focus()")
    said = browser.text("hint")
    assert "Enter or click explains it" in said
    browser.press("Enter")
    assert said.startswith(f"{browser.text('name')}: ")


def test_the_bars_sum_to_the_total(why):
    browser, nodes = why
    choose(browser, "nodes", "3")
    sums = browser.evaluate(
        "[...document.querySelectorAll('#why .bars')].map(table => [...table.querySelectorAll('.number')]"
        ".reduce((sum, cell) => sum + Number(cell.textContent.replace('−', '-')), 0))"
    )
    assert sums == pytest.approx([nodes[3]["total"]] * 3, abs=0.08)


@pytest.mark.parametrize("width", [320, 360])
def test_explanations_fit_on_a_phone(why, width):
    browser, _ = why
    browser.resize(width)
    browser.settle()
    assert browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert browser.evaluate("document.querySelector('#why svg').getBoundingClientRect().width") > 200
    browser.resize(1200)
