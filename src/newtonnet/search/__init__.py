"""Search for settings: studies, proposals, trials in populations, a store that survives a crash, and selection."""

from . import published
from .best import best_path, find_best, summarise_study, write_best
from .executors import Executor, in_process, processes
from .plan import Plan, measure
from .propose import Proposal, propose
from .ray_executor import on_ray
from .selection import SELECTIONS, Selection, best_trial, nested_selection, paper_selection
from .settings import UNTOUCHED, find_setting, first_settings
from .space import Space, difference, free, identity, model_space
from .store import BusyError, Store, lock_path, open_store, read_study, read_trials, store_path
from .study import Study, first_trials, make_study
from .sweep import count_left, open_batch, sweep, sweep_all
from .task import Task, group, run_task
from .trial import Trial

__all__ = [
    "SELECTIONS",
    "UNTOUCHED",
    "BusyError",
    "Executor",
    "Plan",
    "Proposal",
    "Selection",
    "Space",
    "Store",
    "Study",
    "Task",
    "Trial",
    "best_path",
    "best_trial",
    "count_left",
    "difference",
    "find_best",
    "find_setting",
    "first_settings",
    "first_trials",
    "free",
    "group",
    "identity",
    "in_process",
    "lock_path",
    "make_study",
    "measure",
    "model_space",
    "nested_selection",
    "on_ray",
    "open_batch",
    "open_store",
    "paper_selection",
    "processes",
    "propose",
    "published",
    "read_study",
    "read_trials",
    "run_task",
    "store_path",
    "summarise_study",
    "sweep",
    "sweep_all",
    "write_best",
]
