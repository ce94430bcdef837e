"""Learn graph spectral filters whose shape is known.

``analyse`` does everything from two tables to predictions and a page; ``NewtonNetClassifier`` and
``NewtonNetRegressor`` have a scikit-learn interface. The packages, bottom-up: ``polynomials`` and ``graphs``,
``tables`` and ``datasets``, ``nn``, ``training``, ``search``, ``out_of_core``, ``bank``, ``estimator``, ``report``,
``analysis``, ``cli``; ``pyg`` is for PyTorch Geometric. Names of this module are loaded when they are first used, so
that importing it is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .analysis import Analysis, analyse, export
    from .datasets import load, make_splits
    from .estimator import NewtonNetClassifier, NewtonNetRegressor, cross_validate
    from .graphs import Graph
    from .nn import Options, build
    from .tables import TableOptions
    from .training import Config, Record, fit

__version__ = "0.2.0"

__all__ = [
    "Analysis",
    "Config",
    "Graph",
    "NewtonNetClassifier",
    "NewtonNetRegressor",
    "Options",
    "Record",
    "TableOptions",
    "analyse",
    "build",
    "cross_validate",
    "export",
    "fit",
    "load",
    "make_splits",
]

_HOMES = {
    "analysis": ("Analysis", "analyse", "export"),
    "datasets": ("load", "make_splits"),
    "estimator": ("NewtonNetClassifier", "NewtonNetRegressor", "cross_validate"),
    "graphs": ("Graph",),
    "nn": ("Options", "build"),
    "tables": ("TableOptions",),
    "training": ("Config", "Record", "fit"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_PACKAGES = (*_HOMES, "bank", "cli", "kernels", "out_of_core", "polynomials", "pyg", "report", "search")


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
