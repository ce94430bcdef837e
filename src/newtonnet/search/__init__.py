"""Search for settings: studies, trials, stores that survive a crash, executors, selection and published settings."""

from . import published
from .executors import Executor, in_process, on_ray, processes
from .propose import cutoffs, propose
from .selection import SELECTIONS, Selection, best_trial
from .settings import UNTOUCHED, find_setting, first_settings
from .store import (
    BusyError,
    Store,
    best_path,
    count_models,
    find_best,
    lock_path,
    open_store,
    read_study,
    read_trials,
    store_path,
    summarise_study,
    write_best,
)
from .study import (
    Space,
    Study,
    default_setting,
    difference,
    first_trials,
    free,
    halving_rungs,
    identity,
    make_study,
    model_space,
    point,
)
from .sweep import REFERENCE, count_left, measure, sweep, sweep_all
from .trials import Trial, shape_key

__all__ = [
    "REFERENCE",
    "SELECTIONS",
    "UNTOUCHED",
    "BusyError",
    "Executor",
    "Selection",
    "Space",
    "Store",
    "Study",
    "Trial",
    "best_path",
    "best_trial",
    "count_left",
    "count_models",
    "cutoffs",
    "default_setting",
    "difference",
    "find_best",
    "find_setting",
    "first_settings",
    "first_trials",
    "free",
    "halving_rungs",
    "identity",
    "in_process",
    "lock_path",
    "make_study",
    "measure",
    "model_space",
    "on_ray",
    "open_store",
    "point",
    "processes",
    "propose",
    "published",
    "read_study",
    "read_trials",
    "shape_key",
    "store_path",
    "summarise_study",
    "sweep",
    "sweep_all",
    "write_best",
]
