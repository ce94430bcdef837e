import json
from dataclasses import replace

import pytest

from newtonnet.files import with_sum, without_sum
from newtonnet.search import (
    Trial,
    best_path,
    best_trial,
    find_best,
    find_setting,
    open_store,
    propose,
    read_study,
    read_trials,
    store_path,
    write_best,
)
from newtonnet.search.trials import Task


@pytest.fixture(scope="module")
def finished(study, pretend):
    """The trials of three tasks."""
    proposals = propose(study, [], 0)
    return [pretend(Task(study, tuple(some))) for some in (proposals[:2], proposals[2:3], proposals[3:6])]


@pytest.fixture
def filled(study, finished, tmp_path):
    with open_store(tmp_path, study) as store:
        for trials in finished:
            store.append(trials)
    return store_path(tmp_path, study)


def test_trials_come_back_as_they_were(study, finished, filled):
    assert read_trials(filled) == [trial for trials in finished for trial in trials]
    assert read_study(filled) == study.describe()


def test_any_cut_leaves_whole_populations_and_the_rest_can_be_added_again(study, finished, filled, tmp_path):
    whole = filled.read_bytes()
    ends = [whole.index(b"\n") + 1]
    for trials in finished:
        ends.append(ends[-1] + sum(len(with_sum(trial.to_json())) + 1 for trial in trials))
    for cut in sorted({*range(0, len(whole), 701), *ends, *(end - 1 for end in ends), *(end + 1 for end in ends[:-1])}):
        filled.write_bytes(whole[:cut])
        kept = sum(end <= cut for end in ends) - 1
        assert len(read_trials(filled)) == sum(map(len, finished[: max(kept, 0)]))
        with open_store(tmp_path, study) as store:
            for trials in finished[max(kept, 0) :]:
                store.append(trials)
        assert filled.read_bytes() == whole


def test_a_line_of_rubbish_at_the_end_goes_and_one_in_the_middle_is_refused(study, filled, tmp_path):
    whole = filled.read_bytes()
    filled.write_bytes(whole + b"\x00\x00\x00\n")
    with open_store(tmp_path, study):
        pass
    assert filled.read_bytes() == whole
    lines = whole.split(b"\n")
    filled.write_bytes(b"\n".join([lines[0], b"{", *lines[1:]]))
    with pytest.raises(ValueError, match=r"mlp.jsonl, line 2: not a trial of newtonnet"), open_store(tmp_path, study):
        pass


def test_two_holders_of_one_study_are_refused(study, tmp_path):
    with (
        open_store(tmp_path, study),
        pytest.raises(ValueError, match="another process is searching mlp on nowhere"),
        open_store(tmp_path, study),
    ):
        pass
    with open_store(tmp_path, study), open_store(tmp_path, replace(study, label="other")):
        pass


def test_a_study_that_was_opened_and_never_begun_leaves_no_file(study, tmp_path):
    with open_store(tmp_path, study):
        pass
    assert not store_path(tmp_path, study).exists()


def test_the_first_line_alone_makes_room_for_another_study(study, filled, tmp_path, pretend):
    filled.write_bytes(filled.read_bytes().split(b"\n")[0] + b"\n")
    other = replace(study, splits=5)
    with open_store(tmp_path, other) as store:
        store.append(pretend(Task(other, tuple(propose(other, [], 0)[:1]))))
    assert read_study(filled)["splits"] == 5
    assert len(filled.read_text().splitlines()) == 2


@pytest.mark.parametrize("line", ['{"a": 1}', "[]", "no json", '{"key": "k", "study": 3}', '{"key": "k", "study": {}}'])
def test_a_file_that_holds_no_study_is_refused_and_kept(study, tmp_path, line):
    path = store_path(tmp_path, study)
    path.parent.mkdir(parents=True)
    path.write_text(line + "\n")
    with pytest.raises(ValueError, match=r"mlp.jsonl, line 1: .*; repair it or move the file away"):
        read_trials(path)
    with pytest.raises(ValueError, match=r"mlp.jsonl, line 1: "), open_store(tmp_path, study):
        pass
    assert path.read_text() == line + "\n"


def test_another_study_in_the_same_file_is_refused_with_the_difference(study, filled, tmp_path):
    other = replace(study, splits=5, space={"dropout": (0.1, 0.2)})
    refusal = "holds another study .*another space.*splits 3, here 5.*move it away"
    with pytest.raises(ValueError, match=refusal), open_store(tmp_path, other):
        pass
    assert len(read_trials(filled)) == 6


def test_a_trial_is_one_short_line_and_other_lines_are_refused(finished):
    line = finished[0][0].to_json()
    assert "\n" not in line
    data = json.loads(line)
    for wrong in ("[]", "{}", json.dumps({**data, "more": 1}), json.dumps({**data, "number": None})[:-1]):
        with pytest.raises(ValueError, match="not a trial of newtonnet"):
            Trial.from_json(wrong)


@pytest.mark.parametrize("change", [{"study": "other"}, {"test": [0.5]}])
def test_a_trial_of_another_study_or_with_a_split_missing_is_refused(filled, change):
    first, line, *rest = filled.read_text().splitlines()
    filled.write_text("\n".join([first, json.dumps({**json.loads(without_sum(line)), **change}), *rest]) + "\n")
    with pytest.raises(ValueError, match=r"mlp.jsonl, line 2: .*(another study|columns of 1 to 3 splits)"):
        read_trials(filled)


@pytest.mark.parametrize(
    "change",
    [
        {"beside": []},
        {"beside": [7]},
        {"validation": ["0.5"] * 3},
        {"setting": 5},
        {"records": [1, 2, 3]},
        {"values": [0.5] * 3},
        {"seconds": "1"},
    ],
)
def test_a_field_of_another_kind_is_refused_with_its_name(filled, change):
    first, line, *rest = filled.read_text().splitlines()
    filled.write_text("\n".join([first, json.dumps({**json.loads(without_sum(line)), **change}), *rest]) + "\n")
    with pytest.raises(ValueError, match=rf"mlp.jsonl, line 2: not a trial of newtonnet: .*{next(iter(change))[:6]}"):
        read_trials(filled)


def test_half_a_line_of_another_study_is_kept(study, filled, tmp_path):
    text = filled.read_text() + '{"half'
    filled.write_text(text)
    with pytest.raises(ValueError, match="holds another study"), open_store(tmp_path, replace(study, splits=5)):
        pass
    assert filled.read_text() == text


def test_a_last_line_of_another_study_is_refused_and_kept(study, filled, tmp_path):
    *lines, last = filled.read_text().splitlines()
    text = "\n".join([*lines, json.dumps({**json.loads(without_sum(last)), "study": "other"})]) + "\n"
    filled.write_text(text)
    with pytest.raises(ValueError, match=r"mlp.jsonl, line 7: a trial of another study"), open_store(tmp_path, study):
        pass
    assert filled.read_text() == text


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


def test_every_flipped_bit_is_refused_or_changes_nothing(study, filled, rng):
    whole, trials = filled.read_bytes(), read_trials(filled)
    last = whole.rindex(b"\n", 0, -1) + 1
    for _ in range(400):
        damaged = bytearray(whole)
        damaged[place := rng.integers(len(whole))] ^= 1 << rng.integers(8)
        filled.write_bytes(damaged)
        try:
            found = read_trials(filled)
        except ValueError:
            continue
        # Only a damaged last line is taken for one that a crash cut off, and done again with its population.
        assert found == trials[: len(found)]
        assert len(found) == len(trials) or place >= last


def test_lines_from_before_there_were_checksums_are_read(study, filled):
    trials = read_trials(filled)
    filled.write_text("".join(without_sum(line) + "\n" for line in filled.read_text().splitlines()))
    assert ',"sum":"' not in filled.read_text()
    assert read_trials(filled) == trials
