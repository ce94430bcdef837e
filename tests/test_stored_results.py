"""Everything in ``results/`` can still be read, and every key stored there is the key that is computed today."""

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from newtonnet.datasets import load_dataset, load_splits, make_splits, summarise
from newtonnet.nn import find_model
from newtonnet.search import Study, Trial, identity, propose, read_study, read_trials, store_path, summarise_study
from newtonnet.search.store import valid_trials
from newtonnet.training import Config, Record, Setting
from newtonnet.training.record import record_id

RESULTS = Path(__file__).parent.parent / "results"
LINES = sorted(RESULTS.rglob("*.jsonl"))
SEARCHES = [path for path in LINES if path.is_relative_to(RESULTS / "search")]
RECORDS = [path for path in LINES if path.is_relative_to(RESULTS / "methods")]
CLAIMS = [path for path in LINES if path not in {*SEARCHES, *RECORDS}]


@cache
def stored_study(path: Path) -> Study:
    """The study that the first line of a file describes, rebuilt field by field."""
    stored = read_study(path)
    assert stored is not None
    plain = {field.name: stored[field.name] for field in fields(Study) if field.name in stored}
    plain["space"] = {name: tuple(values) for name, values in plain["space"].items()}
    plain["first"] = tuple((source, changes) for source, changes in plain["first"])
    return Study(**plain)


@cache
def stored_trials(path: Path) -> tuple[Trial, ...]:
    return tuple(read_trials(path))


@cache
def stored_settings(path: Path) -> tuple[Setting, ...]:
    """The setting of each trial."""
    return tuple(stored_study(path).setting(trial.setting) for trial in stored_trials(path))


def computed_id(
    model: str, options: Mapping[str, Any], config: Config, graph_checksum: str, split_checksum: str
) -> str:
    """The id of a run, from what decides it and without building anything."""
    population = SimpleNamespace(name=model, options=options, dtype=torch.float32)
    graph, split = SimpleNamespace(checksum=graph_checksum), SimpleNamespace(checksum=split_checksum)
    return record_id(population, graph, split, config)


def test_results_are_there():
    assert (len(SEARCHES), len(RECORDS), len(CLAIMS)) == (451, 42, 9)


def test_every_stored_study_has_the_key_that_is_computed_today():
    for path in SEARCHES:
        header = json.loads(path.read_text(encoding="utf-8").split("\n", 1)[0])
        study = stored_study(path)
        assert study.describe() == header["study"], path
        assert study.key == header["key"], path
        assert store_path(RESULTS, study) == path


def test_every_line_of_a_search_is_a_trial_that_is_written_back_the_same():
    for path in SEARCHES:
        trials = stored_trials(path)
        lines = path.read_text(encoding="utf-8").splitlines()[1:]
        lines = [re.sub(r',"sum":"[0-9a-f]{16}"}$', "}", line) for line in lines]  # older ones have none
        assert [trial.to_json() for trial in trials] == lines, path
        study = stored_study(path)
        assert {trial.study for trial in trials} == {study.key}, path
        assert len(set(map(identity, stored_settings(path)))) == len(trials), path


def test_the_table_of_best_settings_follows_from_the_stored_trials():
    """If this fails: newtonnet search GRAPH --model MODEL --trials 1 writes a row again."""
    table = json.loads((RESULTS / "search" / "best.json").read_text(encoding="utf-8"))
    assert len(table) >= 15
    assert {RESULTS / "search" / dataset / f"{name}.jsonl" for dataset in table for name in table[dataset]} <= {
        *SEARCHES
    }
    for path in SEARCHES:
        study = stored_study(path)
        if study.name in table[study.dataset]:  # studies of single claims are not in the table
            valid = valid_trials(study, stored_trials(path))
            assert table[study.dataset][study.name] == summarise_study(study, valid), path


@pytest.mark.parametrize("dataset", sorted({path.parent.name for path in SEARCHES}))
def test_every_trial_names_the_records_that_its_settings_give_today(dataset):
    """Two records of each trial, in turn, so that every split of a study has its own."""
    if not summarise(dataset).available:
        pytest.skip("the raw files of this data set are not here")
    loaded = load_dataset(dataset)

    @cache
    def checksums(protocol: str, count: int) -> list[str]:
        fixed = protocol == "fixed"
        splits = (
            load_splits(dataset, protocol, count=count) if fixed else make_splits(loaded.graph, protocol, count=count)
        )
        return [split.checksum for split in splits]

    for path in (path for path in SEARCHES if path.parent.name == dataset):
        study = stored_study(path)
        assert study.checksum == loaded.graph.checksum
        splits = checksums(study.protocol, study.splits)
        for trial, setting in zip(stored_trials(path), stored_settings(path), strict=True):
            assert len(set(trial.records)) == len(splits)
            options = asdict(setting.options)
            for i in {trial.number % len(splits), (7 * trial.number + 3) % len(splits)}:
                config = replace(setting.config, seed=i)
                computed = computed_id(study.model, options, config, study.checksum, splits[i])
                assert trial.records[i] == computed, (path, trial.number, i)


@pytest.mark.parametrize("model", ["newtonnet", "bernnet", "mlp"])
def test_a_stored_search_would_be_proposed_again(model):
    path = RESULTS / "search" / "texas" / f"{model}.jsonl"
    study, stored = stored_study(path), {trial.number: trial for trial in stored_trials(path)}
    for batch in range(len(stored) // study.batch):
        start = batch * study.batch
        proposals = propose(study, [stored[number] for number in range(start)], batch)
        assert [proposal.setting for proposal in proposals] == [
            stored[number].setting for number in range(start, start + len(proposals))
        ]


def test_every_record_is_written_back_the_same_under_the_id_that_is_computed_today(monkeypatch):
    monkeypatch.setattr(sys.modules[record_id.__module__], "NUMERICS", 1)  # these were made before it was raised to 2
    for path in RECORDS:
        for line in path.read_text(encoding="utf-8").splitlines():
            record = Record.from_json(line)
            assert record.to_json() == line, path
            config = Config(**{**record.config, "gammas": tuple(record.config["gammas"])})
            split = record.split["checksum"]
            assert computed_id(record.model, record.options, config, record.checksum, split) == record.id, path
            known = {field.name for field in fields(find_model(record.model).options)}
            assert record.options.keys() <= known, path


def test_every_line_of_a_claim_has_its_key_and_version():
    for path in CLAIMS:
        for line in path.read_text(encoding="utf-8").splitlines():
            stored = json.loads(line)
            assert isinstance(stored["key"], dict), path
            assert isinstance(stored["version"], int), path
