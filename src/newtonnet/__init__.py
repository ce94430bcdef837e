"""Learn graph spectral filters whose shape is known.

The package is a pipeline, and its folders are the stages, bottom-up: ``polynomials`` and ``graphs``, ``datasets`` and
``nn``, ``training``, ``search``, ``estimator``, ``experiments``, ``bench``, ``report``, ``cli``; ``pyg`` is the door
for PyTorch Geometric users.
"""

from importlib.metadata import version

from newtonnet.datasets import load, make_splits
from newtonnet.estimator import NewtonNetClassifier, cross_validate
from newtonnet.graphs import Graph
from newtonnet.nn import Options, build
from newtonnet.training import Config, Record, fit

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
