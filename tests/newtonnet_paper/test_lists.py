import json

import numpy as np
import pytest

from newtonnet.search import Study, identity, read_study, read_trials, store_path
from newtonnet_paper.cells import Cell, missing, read_stored, sweep_cells, take_over
from newtonnet_paper.claim import Request, append_line, lines_path, load_lines, pending
from newtonnet_paper.final import final_hours, runs_of, train_final, variance_shares
from newtonnet_paper.lists import list_length, make_list
from newtonnet_paper.scores import NAMES
from newtonnet_paper.table1 import PAPER_GRAPHS, TABLE1


@pytest.mark.parametrize("model", NAMES)
def test_every_method_draws_equally_many_different_settings_and_the_first_is_its_default(model, tmp_path):
    study = Cell("texas", model, 24).bare("sum", tmp_path)
    settings = [study.setting(changes) for _, changes in study.first]
    assert len({identity(setting) for setting in settings}) == len(settings) == list_length("texas") == 24
    assert study.first[0] == ("default", {})
    assert {source for source, _ in study.first[1:]} == {"drawn"}
    assert study.first == Cell("texas", model, 24).bare("sum", tmp_path).first
    assert study.first[1:] != Cell("cornell", model, 24).bare("sum", tmp_path).first[1:]


@pytest.fixture
def searched(tmp_path, store, scores):
    """A search of NewtonNet that began with a published setting, then drew seven and proposed two from scores."""
    cell = Cell("texas", "newtonnet", 24)
    drawn = [
        {"dropout": 0.1},
        {"dropout": 0.3, "variant": "code"},
        {"dropout": 0.7},
        {"dropout": 0.9, "gammas": [0, 0, 0]},
    ]
    proposed = [{"learning_rate": 0.05}, {"learning_rate": 0.005}]
    settings = [{"hidden": 32}, {}, *drawn, *proposed]
    base = cell.bare("sum", tmp_path)
    space = {**base.space, "variant": ("paper", "code")}
    study = Study(
        **{**vars(base), "label": "", "space": space, "first": (("published", {"hidden": 32}), ("default", {}))}
    )
    numbers = [0, 1, 2, 3, 4, 5, 8, 9]
    by_number = dict(zip(numbers, settings, strict=True))
    trials = [(0.5 + number / 100, scores(0.5 + number / 100)) for number in numbers]
    results = store("texas", "newtonnet", trials, settings=by_number, study=study, numbers=numbers, source="proposed")
    path = store_path(results, study)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:  # searches of that time had no checksums
        line.pop("sum")
    for line in lines[1:]:
        line["source"] = {0: "published", 1: "default"}.get(line["number"], "proposed")
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return results, cell, path


def test_a_list_begins_with_what_was_drawn_before_any_score_was_seen(searched):
    results, cell, earlier = searched
    study = cell.bare("sum", results)
    assert [changes for _, changes in study.first[:5]] == [
        {},
        {"dropout": 0.1},
        {"dropout": 0.3, "variant": "released"},
        {"dropout": 0.7},
        {"dropout": 0.9, "gammas": [0, 0, 0]},
    ]
    assert len(make_list(study, earlier)) == 24


def test_only_trials_that_would_come_out_the_same_are_taken_over(searched):
    results, cell, earlier = searched
    before = earlier.read_bytes()
    take_over([cell], results)
    taken = read_trials(cell.path(results))
    assert [(trial.number, trial.source) for trial in taken] == [(0, "default"), *((n, "drawn") for n in (1, 3, 4))]
    assert [round(trial.objective, 2) for trial in taken] == [0.51, 0.52, 0.54, 0.55]
    assert missing([cell], results) == [(cell, 20)]
    take_over([cell], results)  # once
    assert read_trials(cell.path(results)) == taken
    assert earlier.read_bytes() == before
    assert read_stored(results, "texas", "newtonnet").length == 2


def test_a_list_that_was_begun_stays_as_it_is(searched):
    results, cell, earlier = searched
    take_over([cell], results)
    first = read_study(cell.path(results))["first"]
    earlier.unlink()
    assert [list(choice) for choice in cell.bare("sum", results).first] == first


def test_trials_of_another_graph_or_loop_are_not_taken_over(searched):
    results, cell, earlier = searched
    text = earlier.read_text()
    earlier.write_text(text.replace('"patience":200', '"patience":100'))
    take_over([cell], results)
    assert not cell.path(results).exists()


def test_a_list_is_tried_to_its_end_and_nothing_is_proposed(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("newtonnet_paper.lists", fromlist=["LENGTHS"]).LENGTHS, "digits", 2)
    cell = Cell("digits", "mlp", 40, patience=1)
    found = list(sweep_cells([cell], tmp_path))
    assert [(trial.number, trial.source) for _, trial in found] == [(0, "default"), (1, "drawn")]
    assert missing([cell], tmp_path) == []


def whole_lists(store, scores, dataset, count):
    for model in NAMES:
        settings = [{"dropout": i / 100} if model != "appnp" else {"alpha": i / 100} for i in range(count)]
        trials = [(0.5 + i / 1000, scores(0.6)) for i in range(count)]
        results = store(dataset, model, trials, settings=settings)
    return results


def test_final_trainings_wait_for_their_list_and_know_its_best_setting(store, scores):
    request = Request("paper", {"datasets": ["texas"]})
    results = whole_lists(store, scores, "texas", 24)
    units, total = pending(TABLE1, request, results)
    assert len(units) == total == len(NAMES) * 6  # five seeds, and one of them with other rounding
    mlp = [unit.key for unit in units if unit.key["model"] == "mlp"]
    assert {json.dumps(key["setting"]) for key in mlp} == {'{"dropout": 0.23}'}
    assert [(key["seed"], key["rounded"]) for key in mlp] == runs_of("texas")
    assert pending(TABLE1, Request("quick", {"datasets": ["texas"]}), results) == ([], 0)
    count, hours = final_hours(["texas"], [], results)
    assert (count, hours) == (66, pytest.approx(66 * 36 / 300 * 2000 / 3600))
    assert TABLE1.plan(request, results) == [f"66 final trainings of 2000 epochs: about {hours:.2f} h of one core"]
    store("cora", "mlp", [(0.5, scores(0.6))] * 11, settings=[{}] * 11)
    assert pending(TABLE1, Request("paper", {"datasets": ["cora"]}), results) == ([], 0)


def test_the_table_shows_the_final_trainings_with_their_seeds(store, scores):
    results = whole_lists(store, scores, "texas", 24)
    units, _ = pending(TABLE1, Request("paper", {"datasets": ["texas"]}), results)
    for unit in units:
        test = [0.7 + unit.key["seed"] / 100 + split / 100 for split in range(10)]
        line = {"key": dict(unit.key), "version": 1, "test": [value + 0.01 * unit.key["rounded"] for value in test]}
        append_line(lines_path(TABLE1, results), line)
    report = TABLE1.summarise(load_lines(TABLE1, results))
    cell = report.data["texas"]["newtonnet"]
    assert (cell["settings"], cell["seeds"]) == (24, 5)
    assert cell["mean"] == pytest.approx(76.5)
    assert cell["std"] == pytest.approx(np.std(range(10)), abs=1e-3)
    assert {row["settings"] for row in report.data["texas"].values()} == {24}
    (texas,) = (row for row in report.tables[0].rows if row[0] == "texas")
    assert texas[-1] == "76.50 ± 2.9 (87.11)"
    (shares,) = (table for table in report.tables if table.title == "Where the variance comes from")
    assert shares.rows[0] == ("texas", "NewtonNet", "78%", "18%", "4%", 5)


def test_the_variance_is_shared_out():
    rng = np.random.default_rng(0)
    split, seed, rounding = 3.0, 2.0, 1.0
    base = split * rng.standard_normal(4000)
    exact = base + seed * rng.standard_normal((6, 4000))
    table = exact + rounding * rng.standard_normal((6, 4000))
    twin = exact[0] + rounding * rng.standard_normal(4000)
    assert variance_shares(table, twin) == pytest.approx((9 / 14, 4 / 14, 1 / 14), abs=0.03)
    assert variance_shares(np.ones((2, 3)), np.ones(3)) == (0.0, 0.0, 0.0)


def test_a_final_training_uses_all_epochs_and_rounding_is_no_other_seed(monkeypatch):
    monkeypatch.setattr("newtonnet_paper.final.EPOCHS", 3)
    runs = {
        name: train_final("digits", "mlp", {"dropout": 0.0}, seed, rounded=rounded)
        for name, seed, rounded in (("first", 0, False), ("rounded", 0, True), ("second", 1, False))
    }
    assert len(runs["first"]["test"]) == 10
    assert len({tuple(run["records"]) for run in runs.values()}) == 3
    near = np.abs(np.subtract(runs["first"]["validation"], runs["rounded"]["validation"])).max()
    far = np.abs(np.subtract(runs["first"]["validation"], runs["second"]["validation"])).max()
    assert near < 0.01 < far


def test_the_graphs_of_the_table_have_their_lengths():
    lengths = {name: list_length(name) for name in PAPER_GRAPHS}
    assert lengths["texas"] == lengths["cornell"] == 24
    assert lengths["pubmed"] == lengths["crocodile"] == 8
    assert {lengths[name] for name in ("cora", "citeseer", "chameleon", "squirrel")} == {12}
