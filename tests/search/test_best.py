import json
from dataclasses import replace

import pytest

from newtonnet.search import best_path, best_trial, find_best, propose, write_best
from newtonnet.search.settings import find_setting
from newtonnet.search.task import Task


def test_the_best_setting_is_written_and_found_again(study, pretend, tmp_path):
    trials = pretend(Task(study, tuple(propose(study, [], 0))))
    write_best(tmp_path, study, trials[:3])
    write_best(tmp_path, replace(study, dataset="elsewhere"), trials[:1])
    write_best(tmp_path, study, trials)
    best = best_trial(trials)
    row = find_best(tmp_path, "nowhere", "mlp")
    assert row["setting"] == best.setting
    assert (row["validation"], row["trials"], row["trial"]) == (best.objective, 8, best.number)
    found = find_setting("nowhere", "mlp", "searched", results=tmp_path)
    assert found.source == "searched"
    assert found.options == study.setting(best.setting).options
    assert found.config.learning_rate == study.setting(best.setting).config.learning_rate
    assert found.config.max_epochs == find_setting("nowhere", "mlp").config.max_epochs
    assert set(json.loads(best_path(tmp_path).read_text())) == {"nowhere", "elsewhere"}


def test_a_study_with_a_label_is_not_the_models_setting(study, pretend, tmp_path):
    trials = pretend(Task(study, tuple(propose(study, [], 0))))
    write_best(tmp_path, replace(study, label="arm"), trials)
    assert find_best(tmp_path, "nowhere", "mlp") is None
    write_best(tmp_path, replace(study, protocol="fixed"), trials[:1])
    assert find_best(tmp_path, "nowhere", "mlp")["trials"] == 1
    write_best(tmp_path, study, trials[:2])
    assert find_best(tmp_path, "nowhere", "mlp")["protocol"] == "random"


def test_without_a_search_the_setting_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no search of mlp on cora is stored in"):
        find_setting("cora", "mlp", "searched", results=tmp_path)


def test_a_broken_table_is_refused(tmp_path):
    best_path(tmp_path).parent.mkdir(parents=True)
    best_path(tmp_path).write_text("{")
    with pytest.raises(ValueError, match=r"best.json is not a table"):
        find_best(tmp_path, "cora", "mlp")
