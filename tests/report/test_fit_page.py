import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from newtonnet.metrics import Threshold
from newtonnet.report import render_findings
from newtonnet.report.findings import EnsembleMember, PrecisionRecall, SetCoverage
from newtonnet.report.markup import script_data


class Page(HTMLParser):
    """The parts of a page that tests look at: data for scripts, tables, text, and what would be loaded."""

    def __init__(self, text):
        super().__init__()
        self.data, self.tables, self.words, self.tags, self.links, self.alternatives = {}, {}, [], [], [], []
        self.open, self.rows, self.script = [], None, None
        # The library's text is as long as fifty pages, and not ours.
        self.feed(re.sub(r"</style><script>.*?</script></head>", "</style></head>", text, count=1, flags=re.S))
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        self.links += [attributes[name] for name in ("src", "href") if attributes.get(name)]
        self.alternatives += [attributes["aria-label"]] if attributes.get("role") == "img" else []
        assert not any(name.startswith("on") for name in attributes), attributes
        if tag == "script":
            self.script = attributes.get("id", "")
        if tag == "table":
            self.rows, self.caption = [], ""
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass
        if tag == "table":
            self.tables[self.caption] = self.rows
        if tag == "script":
            self.script = None

    def handle_data(self, data):
        if self.script is not None:
            if self.script:
                self.data[self.script] = json.loads(data)
        elif "style" not in self.open:
            self.words.append(data)
            if "caption" in self.open:
                self.caption += data
            elif "td" in self.open or "th" in self.open:
                self.rows[-1][-1] += data

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def page(findings):
    return Page(render_findings(findings))


def test_the_page_points_only_at_itself(page):
    assert page.links
    assert all(link.startswith("#") for link in page.links)
    assert "link" not in page.tags


def test_the_tables_hold_the_numbers_of_the_findings(page, findings):
    evaluation = findings.evaluation
    rows = page.tables["Held-out accuracy over 10 splits"][1:]
    assert [row[0] for row in rows] == ["newtonnet", "mlp", "gcn"]
    assert rows[0][1] == f"{100 * evaluation.ours.mean:.1f}%"
    classes = page.tables["Held-out scores of each class"][1:]
    expected = [f"{100 * value:.1f}%" for value in (evaluation.precision[2], evaluation.recall[2], evaluation.f1[2])]
    assert classes[2] == ["course", "240", *expected]
    confusion = page.tables["Nodes of each true class by predicted class"]
    assert [[int(cell) for cell in row[1:]] for row in confusion[1:]] == [list(row) for row in evaluation.confusion]
    assert findings.command in page.text


def test_the_scores_of_a_class_stand_beside_the_number_of_nodes_they_are_from(findings):
    counts = tuple(5 * count for count in findings.data.class_counts)
    page = Page(render_findings(replace(findings, data=replace(findings.data, class_counts=counts))))
    rows = page.tables["Held-out scores of each class"][1:]
    assert [int(row[1]) for row in rows] == [sum(row) for row in findings.evaluation.confusion]


def test_the_filter_is_drawn_scaled_by_each_split_s_own_maximum(page, findings):
    rows = np.array(findings.response.responses)
    scaled = rows / np.abs(rows).max(axis=1, keepdims=True)
    traces = {trace["name"]: trace for trace in page.data["filter-plot-data"]["data"] if "name" in trace}
    np.testing.assert_allclose(traces["filter g(λ), mean"]["y"], scaled.mean(axis=0))
    np.testing.assert_allclose(traces["range over splits"]["y"], scaled.min(axis=0))
    np.testing.assert_allclose(traces["energy of the labels"]["y"], findings.spectrum.label_energy)
    assert "Each of the 10 responses is divided by its largest magnitude" in page.text


def test_the_playground_starts_from_this_run(page, findings):
    start = page.data["playground-data"]
    response = findings.response
    tops = np.abs(response.responses).max(axis=1)
    expected = (np.array(response.values) / tops[:, None]).mean(axis=0) * tops.mean()
    np.testing.assert_allclose(start["values"], expected)
    assert start["gammas"] == list(response.gammas)
    assert (start["pivot"], start["h"], start["squared"]) == (response.pivot, response.homophily, True)


def test_best_epochs_are_marked_on_the_validation_curve(page, findings):
    marks = page.data["training-plot-data"]["data"][-1]
    assert marks["x"] == [one.best_epoch for one in findings.history]
    for one, height in zip(findings.history, marks["y"], strict=True):
        assert height == one.validation[list(one.epochs).index(one.best_epoch)]


def test_the_page_says_how_models_are_compared(page, findings):
    alone = replace(findings, evaluation=replace(findings.evaluation, others=[]))
    rule = "A difference is clear when its 95% interval over nodes excludes 0"
    assert rule in " ".join(page.text.split())
    assert "A difference is clear" not in render_findings(alone)


def test_plots_carry_no_logo_and_no_button_that_sends_them_away(page):
    drawn = [value for name, value in page.data.items() if name.endswith("plot-data")]
    assert len(drawn) == 7
    assert all(not one["config"]["displaylogo"] and not one["config"]["showSendToCloud"] for one in drawn)


def test_every_figure_has_words_and_every_table_headers(page):
    assert len(page.alternatives) == 7
    assert all(len(words) > 20 for words in page.alternatives)
    assert all(len(rows[0]) == len(rows[1]) for rows in page.tables.values())


def test_names_from_outside_stay_text(hostile):
    text = render_findings(hostile)
    page = Page(text)
    assert not {"img", "b"} & set(page.tags)
    body = text.split("<body>")[1]
    assert page.tags.count("script") == body.count("<script")  # none hides inside another
    for name in (*hostile.data.class_names, hostile.title, hostile.command, *hostile.warnings, hostile.model):
        assert " ".join(name.split()) in page.text
    assert "<script>alert" not in body
    assert "<!--" not in body
    assert "\u2028" not in "".join(re.findall(r'<script type="application/json".*?</script>', body, flags=re.S))


def test_data_for_scripts_cannot_end_their_script(hostile):
    text = script_data("x", {name: [name] for name in hostile.data.class_names})
    inside = text.removeprefix('<script type="application/json" id="x">').removesuffix("</script>")
    assert not set("<>&\u2028") & set(inside)
    assert list(json.loads(inside)) == list(hostile.data.class_names)


def test_plotly_is_given_no_markup_by_names(hostile):
    page = Page(render_findings(hostile))
    labels = json.dumps([page.data[name] for name in ("confusion-plot-data", "comparison-plot-data")])
    assert "<b>bold" not in labels
    assert "<img" not in labels
    assert "&lt;b&gt;bold" in labels


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"evaluation": None}, "The predictions were not evaluated"),
        ({"spectrum": None}, "The graph's spectrum was not estimated"),
        ({"response": None, "ensemble": ()}, "There is no filter to edit. This model has no spectral filter"),
        (
            {"response": None, "spectrum": None, "ensemble": ()},
            "spectrum was not estimated, so there is no figure",
        ),
        ({"response": None}, "There is no filter to edit. The best model is a deep stack of filters"),
        ({"history": ()}, "The training curves were not recorded"),
        ({"evaluation": None, "spectrum": None, "response": None, "history": ()}, "Command"),
    ],
)
def test_what_is_missing_is_said_in_a_sentence(findings, changes, sentence):
    page = Page(render_findings(replace(findings, **changes)))
    assert sentence in page.text
    assert findings.command in page.text


def test_a_filter_without_points_is_sampled_for_the_playground(findings):
    response = replace(findings.response, points=(), values=())
    page = Page(render_findings(replace(findings, response=response)))
    assert "it is sampled here" in page.text
    assert len(page.data["playground-data"]["points"]) == 11


def test_no_nan_and_no_none_reaches_the_reader(findings):
    nan = float("nan")
    evaluation = replace(
        findings.evaluation,
        ours=replace(findings.evaluation.ours, interval=(nan, nan)),
        precision=[None] * 5,
        recall=[nan] * 5,
        f1=[None] * 5,
    )
    history = [
        replace(one, homophily=[None] * len(one.epochs), train=[nan] * len(one.epochs)) for one in findings.history
    ]
    response = replace(findings.response, homophily=nan, pivot=nan)
    homophily = replace(findings.homophily, measured=None, learned=nan, chance=None)
    broken = replace(
        findings,
        seconds=nan,
        ensemble=[EnsembleMember("newtonnet", nan, {"rate": nan, "nested": (None, {"a": nan})}, drawn=True)],
        homophily=homophily,
        history=history,
        evaluation=evaluation,
        response=response,
    )
    text = render_findings(broken)
    page = Page(text)
    assert not re.search(r"\b(nan|NaN|None)\b", page.text + " ".join(page.alternatives))
    assert page.tables["Held-out scores of each class"][1][2:] == ["–", "–", "–"]


def test_a_binary_graph_is_evaluated_by_roc_auc(findings):
    evaluation = replace(
        findings.evaluation,
        confusion=[[80, 20], [10, 90]],
        precision=[0.89, 0.82],
        recall=[0.8, 0.9],
        f1=[0.84, 0.86],
    )
    data = replace(findings.data, class_names=("no", "yes"), class_counts=(100, 100))
    page = Page(render_findings(replace(findings, metric="roc_auc", data=data, evaluation=evaluation)))
    assert "ROC-AUC on held-out nodes is" in page.text
    assert "random guessing (50.0%)" in page.text
    assert page.tables["Held-out ROC-AUC over 10 splits"][0][1] == "ROC-AUC"


def test_curves_have_the_name_of_their_metric_without_an_evaluation(findings):
    page = Page(render_findings(replace(findings, metric="roc_auc", evaluation=None)))
    assert "ROC-AUC on training and validation nodes" in page.text
    assert page.data["training-plot-data"]["layout"]["yaxis"]["title"]["text"] == "ROC-AUC"


def test_every_member_is_listed_with_its_weight_and_the_one_drawn_is_marked(page):
    rows = {row[0]: row[1:] for row in page.tables["Settings of each member of the ensemble"]}
    assert rows["model"] == ["newtonnet", "newton-stack"]
    assert rows["weight"] == ["62.0%", "38.0%"]
    assert rows["filter"] == ["shown above", "–"]
    assert (rows["degree"], rows["layers"]) == (["5", "–"], ["–", "3"])
    assert "The model is an ensemble of 2 of the 24 settings tried" in page.text


def test_a_single_member_is_the_best_of_those_tried_or_the_only_one(findings):
    alone = replace(findings, ensemble=findings.ensemble[:1])
    assert "These settings had the best validation score of 24 tried" in Page(render_findings(alone)).text
    assert "Only these settings were tried" in Page(render_findings(replace(alone, tried=1))).text


def test_hundreds_of_classes_fill_no_page_with_their_matrix(findings):
    count = 300
    confusion = np.ones((count, count), dtype=int)
    confusion[7, 9] = 50
    evaluation = replace(
        findings.evaluation,
        confusion=confusion.tolist(),
        precision=[0.5] * count,
        recall=[0.5] * count,
        f1=[0.5] * count,
    )
    data = replace(findings.data, class_names=[f"class {i}" for i in range(count)], class_counts=[count] * count)
    text = render_findings(replace(findings, data=data, evaluation=evaluation))
    assert len(text) - len(render_findings(findings)) < 2e6
    page = Page(text)
    assert "Nodes of each true class by predicted class" not in page.tables
    errors = page.tables["Most common errors"][1:]
    assert errors[0] == ["class 7", "class 9", "50", "14.3%"]
    assert len(errors) == 20


def test_equal_short_names_keep_their_own_rows(findings):
    names = tuple(f"a very long class name that goes on, number {i}" for i in range(5))
    page = Page(render_findings(replace(findings, data=replace(findings.data, class_names=names))))
    drawn = page.data["confusion-plot-data"]
    assert len(drawn["data"][0]["z"]) == 5
    assert drawn["layout"]["xaxis"]["tickvals"] == [0, 1, 2, 3, 4]
    assert "x" not in drawn["data"][0]


def test_the_page_explains_its_terms(page):
    for words in (
        "Expected by chance: how often neighbours would share a label if edges ignored the classes",
        "Learned homophily: the share of edges whose two ends the model gives the same class",
        "shows which frequencies separate the classes",
        "The wider an interval, the less certain the score",
        "total time",
    ):
        assert words in page.text, words


def test_how_the_columns_were_read_is_on_the_page(findings):
    read = replace(findings.data, columns="numbers: age; categories: <city> (6)")
    assert "numbers: age; categories: <city> (6)" in Page(render_findings(replace(findings, data=read))).text


def test_errors_that_are_equally_common_are_named_together(findings):
    evaluation = replace(findings.evaluation, confusion=np.diag([50] * 5) + 9 * np.eye(5, k=1, dtype=int)[:5])
    text = Page(render_findings(replace(findings, evaluation=evaluation))).text
    expected = "student predicted as faculty, faculty predicted as course, course predicted as project and 1 more"
    assert f"Most common errors: {expected} (9 nodes each)." in text


def test_without_edges_no_filter_is_shown(findings):
    bare = replace(findings, data=replace(findings.data, edges=0))
    page = Page(render_findings(bare))
    assert "The graph has no edges for a filter to act on." in page.text
    assert "filter-plot-data" not in page.data


def test_a_filter_that_had_no_time_is_called_so_beside_its_picture(findings):
    page = Page(render_findings(replace(findings, cut_at=5)))
    assert page.text.count("trained too briefly to be interpreted (5 epochs at most)") == 2
    assert not any("keeps" in text for text in page.alternatives)


def test_a_single_model_is_not_called_an_ensemble(findings):
    page = Page(render_findings(replace(findings, ensemble=findings.ensemble[:1])))
    assert page.tables["Settings of the model"][0] == ["setting", "value"]
    assert "ensemble" not in page.text


def test_the_page_says_what_the_prediction_sets_reach(findings):
    each = [(0.95, 1.2), (0.93, 1.3), (0.9, 1.5), (0.85, 1.8), (None, None)]
    page = render_findings(replace(findings, sets=SetCoverage(0.9, 0.913, 1.42, 0.68, each)))
    text = " ".join(page.split())
    assert "On held-out nodes it was for 91.3%, with 1.42 of 5 classes on average; 68.0% of the sets name" in text
    assert "It is doubtful for nodes of a later time" in text
    assert "There are no held-out predictions to calibrate sets with." in render_findings(findings)


def test_sets_that_were_calibrated_on_an_own_split_are_called_doubtful(findings):
    sets = SetCoverage(0.9, 0.9, 1.5, 0.6, [(0.9, 1.5)] * 5)
    doubt = "calibrated on the validation nodes of your own split"
    assert doubt not in render_findings(replace(findings, sets=sets))
    assert doubt in render_findings(replace(findings, sets=replace(sets, own_split=True)))


def test_an_analyst_reads_how_good_for_whom_and_why_before_filters(page):
    titles = ["How good", "For whom it fails", "How sure", "Why these predictions", "What matters", "What was tried"]
    places = [page.text.rindex(title) for title in [*titles, "The learned filter", "Filter playground", "Training"]]
    assert places == sorted(places)
    assert page.text.index("Accuracy on held-out nodes is") < page.text.index("The learned filter keeps")


def test_the_page_says_for_whom_the_model_fails(page):
    assert "fewest of nodes of class staff (42% of 90) and of nodes with 1 to 2 neighbours (61% of 200)." in page.text
    assert page.tables["Held-out nodes by their neighbours"][2] == [
        "1 to 2 neighbours",
        "200",
        "61.0%",
        "54.0% to 67.0%",
    ]


def test_calibration_is_given_with_its_interval_its_worst_bin_and_counts(page, findings):
    assert "differ by 4.9 points on average over the bins below (95% interval 2.8 to 6.6)" in page.text
    assert "The model is overconfident." in page.text
    assert "In the worst bin, 180 nodes with a mean confidence of 65%, 58% are right (95% interval 50.7%" in page.text
    assert [row[1] for row in page.tables["Bins by confidence"][1:]] == [f"{n}" for *_, n in findings.evaluation.bins]
    sure = replace(findings.evaluation, calibration_error=0.0, calibration_interval=(0.0, 0.02))
    text = Page(render_findings(replace(findings, evaluation=sure))).text
    for words in ("overconfident", "well calibrated", "at their word"):
        assert words not in text


def test_the_leaderboard_has_family_setting_score_time_and_share(page):
    rows = page.tables["Leaderboard: 3 settings, those of the average first"]
    assert rows[1] == ["newtonnet", "gammas 2, 1, 3; learning_rate 0.01", "79.0%", "5", "12.5 s", "62%"]
    assert rows[3] == ["ridge", "defaults", "72.0%", "5", "12.5 s", "–"]


def test_what_matters_is_drawn_and_tabled(page, findings):
    rows = page.tables["Drop of the accuracy"]
    assert [row[0] for row in rows[1:]] == ["age", "income", "city", "without edges"]
    assert rows[1][1:] == ["+5.0", "+1.0 to +9.0", "5"]
    assert page.data["importance-plot-data"]["data"][0]["x"][0] == pytest.approx(5)
    assert "2 columns contributed less or had no time and were not shuffled." in page.text
    assert "This was not measured" in render_findings(replace(findings, importance=None))


def test_the_page_explains_some_predictions(findings):
    page = render_findings(findings)
    assert "Why these predictions" in page
    assert 'id="why-data"' in page
    assert "No prediction was explained." in render_findings(replace(findings, explained=()))


def test_of_two_classes_the_page_draws_precision_over_recall_and_names_the_threshold(findings):
    curve = PrecisionRecall(1, [0.8, 0.3], [0.9, 0.5], [0.2, 0.7], 0.1, None)
    names = replace(findings.data, class_names=("ok", "<fraud>"), class_counts=(90, 10))
    evaluation = replace(
        findings.evaluation, confusion=[[80, 10], [3, 7]], precision=[0.9] * 2, recall=[0.9] * 2, f1=[0.9] * 2
    )
    two = replace(findings, data=names, evaluation=evaluation, curve=curve)
    assert "is predicted where it is more probable than not." in render_findings(two)
    chosen = Threshold("recall=0.7", 0.31, 0.5, 0.7)
    page = render_findings(replace(two, curve=replace(curve, chosen=chosen)))
    assert "from a probability of 31.0% on. It was chosen by recall=0.7 where" in page
    assert "not trained on them: precision 50.0%, recall 70.0%." in page
    moved = replace(curve, chosen=replace(chosen, held_out=0.24))
    assert "(which is 24.0% for those models)" in render_findings(replace(two, curve=moved))
    assert 'id="precision-recall-plot"' in page
    assert 'id="precision-recall-plot"' not in render_findings(findings)
