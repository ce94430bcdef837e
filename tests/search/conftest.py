"""A study that needs no training: its scores are a hash of the setting, so whole searches take no time."""

import hashlib

import pytest

from newtonnet.search import Study, Trial, identity
from newtonnet.search.trials import Task

SPACE = {
    "learning_rate": (0.05, 0.01, 0.005),
    "weight_decay": (0.0, 5e-4),
    "dropout": (0.0, 0.1, 0.3, 0.5, 0.7, 0.9),
}


def score(task: Task, changes, split: int, part: str) -> float:
    text = f"{identity(task.study.setting(changes))}{split}{part}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) / 2**32


def made_up(task: Task, *, fails=()) -> list[Trial]:
    """What training would give, out of the air; the splits of trials in ``fails`` have no scores."""
    splits = range(task.study.splits)

    def column(proposal, part):
        none = proposal.number in fails
        return tuple(None if none else score(task, proposal.setting, split, part) for split in splits)

    def rungs(proposal):
        """Scores at the rungs that it reaches, and whether it is dropped at the last one."""
        final = sum(value or 0.0 for value in column(proposal, "validation"))
        reached = [final * (k + 1) for k in range(len(task.study.rungs))]
        below = [k for k, needed in enumerate(task.cutoffs) if reached[k] < needed]
        return (tuple(reached[: below[0] + 1]), True) if below else (tuple(reached), False)

    return [
        Trial(
            study=task.study.key,
            number=proposal.number,
            source=proposal.source,
            setting=proposal.setting,
            beside=task.numbers,
            train=column(proposal, "train"),
            validation=column(proposal, "validation"),
            test=column(proposal, "test"),
            accuracy=column(proposal, "test"),
            epochs=(3,) * len(splits),
            best_epoch=(2,) * len(splits),
            homophily=column(proposal, "homophily"),
            largest=column(proposal, "largest"),
            points=(0.0, 1.0, 2.0),
            values=((1.0, 2.0, 3.0),) * len(splits),
            response=((1.0,) * 5,) * len(splits),
            records=tuple(f"{proposal.number}-{split}" for split in splits),
            seconds=0.25,
            rungs=rungs(proposal)[0],
            dropped=rungs(proposal)[1],
        )
        for proposal in task.proposals
    ]


@pytest.fixture(scope="session")
def pretend():
    return made_up


@pytest.fixture(scope="session")
def play():
    """An executor that pretends, and keeps the tasks it was given."""

    def make(asked=None, *, fails=(), limit=None):
        def execute(source):
            count = 0
            while (limit is None or count < limit) and (task := source()) is not None:
                count += 1
                if asked is not None:
                    asked.append(task)
                yield task, made_up(task, fails=fails)

        return execute

    return make


@pytest.fixture(scope="session")
def study():
    first = (("published", {"dropout": 0.25, "hidden": 32}), ("default", {}))
    return Study("nowhere", "sum", "mlp", space=SPACE, first=first, splits=3, max_population=6)
