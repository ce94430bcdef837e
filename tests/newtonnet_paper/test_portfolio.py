import json
import tomllib

import numpy as np
import pytest

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import csbm, make_splits
from newtonnet.estimator import defaults_of
from newtonnet.training import override
from newtonnet_paper import portfolio
from newtonnet_paper.claim import Request
from newtonnet_paper.cli import app
from newtonnet_paper.cli import run_command as run
from newtonnet_paper.portfolio import (
    FAMILIES,
    SPLITS,
    choose,
    choose_list,
    complete_scores,
    held_out_regret,
    name_of,
    pool,
    portfolio_toml,
    regret,
    summarise,
    units,
)

NAMES = [one.name for one in pool()]
OTHERS = [one.name for one in pool() if one.listed and not one.by_hand and not one.always]


def lines(best, *, low=0.5, high=0.9):
    """All trainings of some graphs, in each of which these settings are better than the others."""
    return [
        {
            "key": {"dataset": graph, "model": one.model, "changes": dict(one.changes), "split": split},
            "version": 1,
            "validation": high if one.name in names else low,
            "cpu": 2.0 if one.model == "newtonnet" else 5.0,
        }
        for graph, names in best.items()
        for one in pool()
        for split in range(SPLITS.get(FAMILIES[graph], 1))
    ]


def test_the_pool_holds_settings_that_its_models_accept_and_the_list_by_hand():
    assert len(set(NAMES)) == len(NAMES)
    for one in pool():
        override(defaults_of(one.model), one.changes)
    assert sum(one.by_hand for one in pool()) == 29
    assert [one.model for one in pool() if one.always] == ["ridge", "newtonnet", "newtonnet"]


def test_the_untouched_graphs_are_in_no_study():
    assert not {"wisconsin", "actor", "reed98", "amherst41"} & set(FAMILIES)
    work = units(Request("paper"))
    assert {unit.key["dataset"] for unit in work} == set(FAMILIES)
    assert len(work) * portfolio.SECONDS / 3600 < 10, "core hours"
    with pytest.raises(ValueError, match="actor is not in the study"):
        units(Request("paper", {"datasets": ("actor",)}))


def test_regret_is_the_distance_to_the_best_over_families_and_their_graphs():
    scores = {"texas": {"a": 90.0, "b": 80.0}, "cornell": {"a": 70.0, "b": 72.0}, "cora": {"a": 60.0, "b": 66.0}}
    assert regret(scores, ["a"], scores) == pytest.approx(((0 + 2) / 2 + 6) / 2)
    assert regret(scores, ["a", "b"], scores) == 0
    assert regret(scores, ["b"], ["texas"]) == 10


def test_settings_are_chosen_by_what_they_add():
    scores = complete_scores(
        lines({"cora": {OTHERS[0]}, "minesweeper": {OTHERS[1]}, "amazon-photo": {OTHERS[0], OTHERS[2]}})
    )
    always = [one.name for one in pool() if one.always]
    assert choose(scores, list(scores), 5) == [*always, OTHERS[0], OTHERS[1]]


def test_a_family_has_no_part_in_the_list_that_it_is_compared_with():
    scores = complete_scores(lines({"texas": {OTHERS[0]}, "cornell": {OTHERS[0]}, "cora": {OTHERS[1]}}))
    lost = held_out_regret(scores, [4])[4]
    assert lost == pytest.approx({"texas": 40, "cornell": 40, "cora": 40})
    shared = complete_scores(lines({"texas": {OTHERS[0]}, "cora": {OTHERS[0]}}))
    lost = held_out_regret(shared, [3, 4])
    assert lost[3] == pytest.approx({"texas": 40, "cora": 40})
    assert lost[4] == pytest.approx({"texas": 0, "cora": 0})


def test_a_graph_counts_when_all_of_its_settings_are_trained():
    whole = lines({"cora": {OTHERS[0]}, "texas": {OTHERS[0]}})
    assert list(complete_scores(whole)) == ["texas", "cora"]
    assert list(complete_scores(whole[:-1])) == ["cora"]
    assert choose_list(whole[:-1]) is None
    assert summarise(whole[:-1]).findings[0].ours == "nothing stored"
    failed = [{**line, "validation": None} if line["key"]["model"] == "ridge" else line for line in whole]
    assert complete_scores(failed)["cora"][name_of("ridge", {})] == 0


def test_the_finding_rests_on_four_families_or_more():
    graphs = ("texas", "cora", "minesweeper", "amazon-photo")
    best = {graph: {OTHERS[0]} for graph in graphs}
    assert summarise(lines({graph: best[graph] for graph in graphs[:3]})).findings[0].ours == "nothing stored"
    (finding,) = summarise(lines(best)).findings
    assert (
        finding.ours == "0.00 against 40.00 points; better on 4 and worse on 0 of 4 graphs, 17 with those not measured"
    )
    assert finding.verdict == "holds"


def test_a_gain_on_one_family_alone_is_not_certain():
    hand = next(one.name for one in pool() if one.by_hand and not one.always)
    best = {
        "texas": {OTHERS[0]},
        "cora": {OTHERS[0], hand},
        "minesweeper": {OTHERS[0], hand},
        "amazon-photo": {OTHERS[0], hand},
    }
    (finding,) = summarise(lines(best)).findings
    assert "better on 1 and worse on 0 of 4 graphs" in finding.ours
    assert finding.verdict == "not certain"


def test_the_list_is_the_file_that_the_classifier_reads(monkeypatch):
    stored = lines({"cora": {OTHERS[0]}, "texas": {OTHERS[0], OTHERS[5]}, "minesweeper": {OTHERS[5]}})
    choice = choose_list(stored)
    assert choice.better
    text = portfolio_toml(choice)
    groups = tomllib.loads(text)["group"]
    for spare, settings in ((False, choice.settings), (True, choice.spare)):
        chosen = [group for group in groups if group.get("spare", False) == spare]
        found = {name_of(group["model"], group["common"] | one) for group in chosen for one in group["settings"]}
        assert found == {one.name for one in settings}
    assert len(choice.settings) + len(choice.spare) == sum(one.listed for one in pool())
    assert [group["model"] for group in groups[:2]] == ["ridge", "newtonnet"], "what is always there comes first"
    listed = [name_of(group["model"], group["common"] | group["settings"][0]) for group in groups]
    places = [[one.name for one in (*choice.settings, *choice.spare)].index(name) for name in listed]
    assert places == sorted(places), "then in the order of choice"
    assert all(line.startswith("# ") for line in text.split("\n\n")[0].splitlines())
    assert "3 graphs (texas, cora, minesweeper)" in text.replace("\n# ", " ")
    assert max(map(len, text.splitlines()[:8])) <= 120


def test_the_command_writes_the_file_only_if_it_is_better_on_enough_families(tmp_path, capsys):
    hand = next(one.name for one in pool() if one.by_hand and not one.always)
    graphs = ("texas", "cora", "minesweeper", "amazon-photo")
    cases = {
        "better": ({OTHERS[0]}, graphs, "written"),
        "not": ({hand}, graphs, "no less regret"),
        "few": ({OTHERS[0]}, graphs[:2], "2 families are complete, 4 are needed"),
    }
    for name, (best, chosen, words) in cases.items():
        out = tmp_path / f"{name}.toml"
        (tmp_path / name / "portfolio").mkdir(parents=True)
        text = "".join(json.dumps(line) + "\n" for line in lines(dict.fromkeys(chosen, best)))
        (tmp_path / name / "portfolio" / "lines.jsonl").write_text(text)
        assert run(app, ["portfolio", "--results", str(tmp_path / name), "--out", str(out)]) == 0
        printed = capsys.readouterr()
        assert words in printed.out + printed.err
        assert out.exists() == (name == "better")
    assert run(app, ["portfolio", "--results", str(tmp_path / "none"), "--out", str(out)]) == 2
    assert "no two families of graphs" in capsys.readouterr().err


def test_a_training_reads_no_test_label_and_stops_by_its_processor_time(monkeypatch):
    graph = csbm(0.1, nodes=200, features=30, seed=1)
    (split,) = make_splits(graph, "random", count=1)
    changed = np.where(np.isin(np.arange(200), split.test), 1 - graph.labels, graph.labels)
    setting = next(one for one in pool() if one.model == "newton-stack")
    quick = lambda *given, **options: NewtonNetClassifier(*given, max_epochs=30, **options)  # noqa: E731
    monkeypatch.setattr(portfolio, "NewtonNetClassifier", quick)
    found = []
    for labels in (graph.labels, changed):
        loaded = type("Loaded", (), {"graph": graph.relabelled(labels), "entry": type("E", (), {"metric": "accuracy"})})
        monkeypatch.setattr(portfolio, "load_dataset", lambda _, loaded=loaded: loaded)
        monkeypatch.setattr(portfolio, "load_splits", lambda *_: [split])
        portfolio._known.cache_clear()
        found.append(portfolio._train("cora", setting, 0))
    portfolio._known.cache_clear()
    assert found[0]["validation"] == found[1]["validation"] > 0.5
    assert found[0]["curve"][-1][1] == found[0]["validation"]
    monkeypatch.setattr(portfolio, "SECONDS", 0.0)
    monkeypatch.setattr(portfolio, "NewtonNetClassifier", NewtonNetClassifier)
    assert portfolio._train("cora", setting, 0)["cpu"] < 5
    portfolio._known.cache_clear()
