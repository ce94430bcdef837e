"""``help()`` prints signatures that a person can read."""

import inspect

import pytest

import newtonnet
from newtonnet import Analysis, NewtonNetClassifier
from newtonnet.graphs import from_edges, from_networkx, from_pyg, from_scipy
from newtonnet.tables import load_tables

METHODS = [
    method
    for kind in (NewtonNetClassifier, Analysis)
    for name, method in inspect.getmembers(kind, inspect.isfunction)
    if not name.startswith("_") and method.__module__.startswith("newtonnet")
]
FUNCTIONS = [getattr(newtonnet, name) for name in newtonnet.__all__]
FUNCTIONS = [one for one in FUNCTIONS if inspect.isfunction(one)]
FUNCTIONS += [from_edges, from_networkx, from_pyg, from_scipy, load_tables, *METHODS]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__qualname__)
def test_no_type_is_spelled_out_as_a_union_of_everything(function):
    for parameter in inspect.signature(function).parameters.values():
        text = str(parameter)
        assert "_Supports" not in text, "what ArrayLike stands for"
        assert "ForwardRef" not in text
        assert len(text) <= 110, text
