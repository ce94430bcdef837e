"""Stored trials out of the air: whole studies as a search would leave them, without any training."""

import pytest

from newtonnet.datasets import CATALOGUE
from newtonnet.search import Study, Trial, open_store
from newtonnet.training import FREQUENCIES
from newtonnet_paper.lists import list_name

SPLITS = 10
REPEATED = ("chosen", "released", "vary-")
"""Labels of studies that repeat a setting or fill a grid; all others try lists."""


def spread(mean, *, step=0.01, splits=SPLITS):
    """Scores around a mean whose standard deviation (ddof 0) is ``step``: alternately above and below."""
    return tuple(mean + (step if split % 2 else -step) for split in range(splits))


@pytest.fixture
def store(tmp_path):
    """Write a study with trials of the given (validation, test) scores; returns the folder of results."""

    def write(
        dataset,
        model,
        scores,
        *,
        settings=None,
        label="",
        protocol="random",
        fixed=None,
        source="drawn",
        patience=200,
        study=None,
        numbers=None,
        **columns,
    ):
        study = study or Study(
            dataset,
            "sum",
            model,
            label=label if label.startswith(REPEATED) else list_name(label),
            space=columns.get("space", {}),
            protocol=protocol,
            fixed=fixed or {},
            splits=SPLITS,
            patience=patience,
            metric=CATALOGUE[dataset].metric,
        )
        trials = [
            Trial(
                study=study.key,
                number=number,
                source=source,
                setting={} if settings is None else settings[number],
                beside=(number,),
                train=(1.0,) * len(test),
                validation=(validation,) * len(test) if isinstance(validation, float) else validation,
                test=test,
                accuracy=test,
                epochs=(300,) * len(test),
                best_epoch=(100,) * len(test),
                homophily=columns.get("homophily", (0.8,) * len(test)),
                largest=(1.0,) * len(test),
                points=(0.0, 1.0, 2.0),
                values=((1.0, 0.5, 0.0),) * len(test),
                response=columns.get("response", (tuple(2.0 - x for x in FREQUENCIES),) * len(test)),
                records=tuple(f"{number}-{split}" for split in range(len(test))),
                seconds=36.0,
            )
            for number, (validation, test) in zip(numbers or range(len(scores)), scores, strict=True)
        ]
        with open_store(tmp_path / "results", study) as opened:
            opened.append(trials)
        return tmp_path / "results"

    return write


@pytest.fixture
def scores():
    return spread


@pytest.fixture
def no_training(monkeypatch):
    """Anything that begins to train, or makes a study to do so, fails."""

    def refuse(*_, **__):
        raise AssertionError("this must not train")

    monkeypatch.setattr("newtonnet.search.trials.fit", refuse)
    monkeypatch.setattr("newtonnet.search.make_study", refuse)
    monkeypatch.setattr("newtonnet.search.sweep_all", refuse)
