"""Learn graph spectral filters whose shape is known.

The package is a pipeline, and its folders are the stages, bottom-up: ``polynomials`` and ``graphs``, ``datasets`` and
``nn``, ``training``, ``search``, ``estimator``, ``experiments``, ``bench``, ``report``, ``cli``; ``pyg`` is the door
for PyTorch Geometric users.
"""

from importlib.metadata import version

from .datasets import load, make_splits
from .estimator import NewtonNetClassifier, cross_validate
from .graphs import Graph
from .nn import Options, build
from .training import Config, Record, fit

__version__ = version("newtonnet")

__all__ = [
    "Config",
    "Graph",
    "NewtonNetClassifier",
    "Options",
    "Record",
    "build",
    "cross_validate",
    "fit",
    "load",
    "make_splits",
]
