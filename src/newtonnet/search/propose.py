"""Which settings a batch tries, and what each has to reach: functions of the study and of the earlier results."""

import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from newtonnet.meaning import lacking

from .study import HALF, Study, difference, identity, point
from .trials import Proposal, Trial

ASKS = 4
"""How often the sampler is asked for an untried setting before one is drawn at random."""
DRAWS = 100
"""How often one is drawn at random before all untried ones are listed."""


def propose(study: Study, before: Sequence[Trial], batch: int) -> list[Proposal]:
    """The settings of a batch, all different from one another and from those tried before.

    The study's first settings come first; the others are proposed by a tree-structured Parzen estimator whose seed is
    a hash of the study's key and the batch, so an interrupted search proposes the same settings again.

    Args:
        study: the study to search.
        before: all trials of the earlier batches.
        batch: number of the batch, from 0.

    Returns:
        ``study.batch`` proposals, or fewer if the space has no others left.

    References:
        Bergstra, Bardenet, Bengio, Kégl, Algorithms for Hyper-Parameter Optimization, 2011; Akiba et al., Optuna, 2019.
    """
    start = batch * study.batch
    if len(before) != start:
        raise ValueError(f"batch {batch} follows {start} trials, got {len(before)}")
    tried = {identity(study.setting(trial.setting)) for trial in before}
    proposals = []
    for number, (source, changes) in enumerate(study.first[start : start + study.batch], start):
        tried.add(identity(study.setting(changes)))
        proposals.append(Proposal(number, source, changes))
    fresh = _untried(study, before, tried, _seed(study, batch))
    # The range comes first, so that nothing is taken from the other that is not used.
    for number, changes in zip(range(start + len(proposals), start + study.batch), fresh, strict=False):
        proposals.append(Proposal(number, "proposed", changes))
    return proposals


def cutoffs(study: Study, before: Sequence[Trial]) -> tuple[float, ...]:
    """The objective that a setting needs at each rung to train on, from the trials before it; empty if there are none.

    It has to be in the better half of all settings so far at the first rung, in the best quarter at the second, and so
    on, or as good as the last of these.
    """
    needed = []
    for k in range(len(study.rungs) if before else 0):
        scores = sorted((trial.rungs[k] for trial in before if len(trial.rungs) > k), reverse=True)
        needed.append(scores[min(-(-len(before) // HALF ** (k + 1)), len(scores)) - 1])
    return tuple(needed)


def _seed(study: Study, batch: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{study.key}:{batch}".encode()).digest()[:4])


def _untried(study: Study, before: Sequence[Trial], tried: set[str], seed: int) -> Iterator[dict[str, Any]]:
    """Settings that are not among the tried ones, until there are no more; each is added to them."""
    base = study.base()
    rng = np.random.default_rng(seed)
    ask = _sampler(study, before, seed)
    while True:
        asked = (ask() for _ in range(ASKS))
        drawn = (
            {name: values[rng.integers(len(values))] for name, values in study.space.items()} for _ in range(DRAWS)
        )
        for place in itertools.chain(asked, drawn, _grid(study, rng)):
            setting = study.setting(place)
            if identity(setting) not in tried:
                tried.add(identity(setting))
                yield difference(setting, base)
                break
        else:
            return


def _grid(study: Study, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """All points of the space in random order; needed only when nearly all points of a small space are tried."""
    points = list(itertools.product(*study.space.values()))
    for i in rng.permutation(len(points)):
        yield dict(zip(study.space, points[i], strict=True))


def _sampler(study: Study, before: Sequence[Trial], seed: int) -> Callable[[], dict[str, Any]]:
    """A function that asks Optuna for a point of the space, given those trials before that lie in it."""
    try:
        import optuna
    except Exception as error:  # a broken installation can raise anything
        raise lacking("proposing settings needs Optuna", "search", error) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=study.batch)
    memory = optuna.create_study(direction="maximize", sampler=sampler)
    space: dict[str, optuna.distributions.BaseDistribution] = {
        name: optuna.distributions.CategoricalDistribution(range(len(values))) for name, values in study.space.items()
    }
    for trial in sorted(before, key=lambda trial: trial.number):
        place = point(study.setting(trial.setting), study.space)
        if place is not None:
            places = {name: study.space[name].index(value) for name, value in place.items()}
            memory.add_trial(optuna.trial.create_trial(params=places, distributions=space, value=trial.objective))
    return lambda: {name: study.space[name][place] for name, place in memory.ask(space).params.items()}
