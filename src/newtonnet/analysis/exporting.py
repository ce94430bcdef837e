"""A model as two files that score graphs without torch: ``model.npz`` with its arrays, and ``scorer.py``."""

from __future__ import annotations  # so that help() prints the names of types and not all that they stand for

import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from newtonnet import __version__
from newtonnet.estimator import REGRESSOR, GraphEstimator, NewtonNetClassifier, NewtonNetRegressor, stored_kind
from newtonnet.files import whole_file, write_whole
from newtonnet.nn import EPSILON, NewtonStackOptions, interpolation_points
from newtonnet.out_of_core import OUT_OF_CORE_MODEL
from newtonnet.polynomials import Filter, equispaced, newton_filter
from newtonnet.tables import Encoding

from .result import Analysis

ARRAYS, SCORER = "model.npz", "scorer.py"
"""The files of an exported model."""
FORMAT = 2
"""Version of the arrays; scorer.py reads its own."""

Arrays = dict[str, NDArray[Any]]


def export(model: GraphEstimator | Analysis | str | PathLike[str], folder: str | PathLike[str]) -> tuple[Path, Path]:
    """Write a scorer that needs NumPy and SciPy only: ``model.npz`` and ``scorer.py``.

    Its probabilities, or numbers, are those of the model to five digits. It takes an adjacency matrix, or edges as node
    numbers, and features as the model was fitted on; of an analysis or a run folder it also encodes the columns of a
    table. Exported are the members of the default ensemble: ``newtonnet``, also trained out of core, ``newton-stack``,
    ``boosting`` and ``ridge``.

    Args:
        model: a fitted classifier or regressor, an :class:`Analysis`, a run folder or a model file.
        folder: where the two files are written; made if it is not there.

    Returns:
        The paths of both files.
    """
    given: Any = model
    if isinstance(model, str | PathLike):
        kind = NewtonNetRegressor if stored_kind(model) == REGRESSOR else NewtonNetClassifier
        given = kind.load(model) if Path(model).is_file() else Analysis.load(model)
    whole = isinstance(given, Analysis)
    estimator = given.model if whole else given
    if not isinstance(estimator, GraphEstimator):
        raise TypeError(f"expected a fitted estimator, an Analysis or a run folder, got {type(given).__name__}")
    check_is_fitted(estimator)
    tables = given.run if whole else estimator.tables_
    encoding = Encoding(()) if tables is None else tables.encoding
    arrays = _shared(estimator)
    for place, member in enumerate(estimator.ensemble_.members):
        arrays |= {f"{place}.{name}": x for name, x in _member(member).items()}
    described = {**_described(estimator, encoding), "arrays": sorted(arrays)}
    arrays["described"] = np.array(json.dumps(described))
    arrays = {name: x.astype(np.float64) if x.dtype == np.float32 else x for name, x in arrays.items()}
    out = Path(folder)
    with whole_file(out / ARRAYS) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    write_whole(out / SCORER, files("newtonnet.analysis").joinpath(SCORER).read_text(encoding="utf-8"))
    return out / ARRAYS, out / SCORER


def _described(model: GraphEstimator, encoding: Encoding) -> dict[str, Any]:
    """Everything that is not an array, as plain data; weights and offset of numbers are in the units of the target."""
    ensemble, threshold = model.ensemble_, getattr(model, "threshold_", None)
    offset, scale = (model.target_mean_, model.target_scale_) if isinstance(model, NewtonNetRegressor) else (0.0, 1.0)
    names = encoding.feature_names or tuple(getattr(model, "feature_names_in_", ()))
    return {
        "format": FORMAT,
        "newtonnet": __version__,
        "features": model.n_features_in_,
        "feature_names": list(names),
        "columns": [asdict(column) for column in encoding.columns],
        "temperature": ensemble.temperature,
        "threshold": None if threshold is None else {"value": threshold.value, "place": threshold.place},
        "structure": ensemble.structure,
        "offset": offset,
        "members": [
            {"kind": _kind(member), "weight": weight * scale, "bound": _bound(member), "options": _options(member)}
            for member, weight in zip(ensemble.members, ensemble.weights, strict=True)
        ],
    }


def _kind(member: Any) -> str:
    """The function of the scorer that computes a member."""
    kinds = {"newtonnet": "spectral", OUT_OF_CORE_MODEL: "spectral", "newton-stack": "stack"}
    kinds |= {"boosting": "boosting", "ridge": "ridge"}
    if member.model not in kinds:
        exported = "newtonnet, newton-stack, boosting and ridge"
        raise ValueError(f"a member {member.model!r} cannot be exported, only {exported}; fit with model='newtonnet'")
    return kinds[member.model]


def _options(member: Any) -> dict[str, Any]:
    if _kind(member) == "spectral":
        return {"filter_first": member.model == OUT_OF_CORE_MODEL}
    return {name: value for name, value in asdict(member.options).items() if name != "dropout"}


def _bound(member: Any) -> str | None:
    """The graph that a member is tied to, also by eigenvectors."""
    tied = member.state.get("structure") if _kind(member) in ("boosting", "ridge") else None
    return member.bound if tied is None else bytes(tied.tolist()).hex()


def _shared(model: GraphEstimator) -> Arrays:
    """Classes, standardisation, the labels that members may read on the graph of the fit, and the errors of numbers."""
    arrays: Arrays = (
        {} if model.scaling_ is None else {f"scaling.{k}": part for k, part in vars(model.scaling_).items()}
    )
    labels = model.ensemble_.labels
    if isinstance(model, NewtonNetRegressor):
        arrays["classes"] = np.array([model.target_name_])
        if model.out_of_fold_ is not None:
            _, predicted, truth = model.out_of_fold_.whole
            arrays["errors"] = np.sort(np.abs(truth - predicted[:, 0]))
        if labels is not None:  # in units of the share that is known, as members count them
            known = np.isfinite(labels)
            arrays["labels"] = np.stack([known, np.where(known, labels, 0.0)], axis=1) / max(
                known.mean(), 1 / len(known)
            )
        return arrays
    assert isinstance(model, NewtonNetClassifier)
    arrays["classes"] = model.classes_.astype(str) if model.classes_.dtype.kind == "O" else model.classes_
    if labels is not None:
        arrays["labels"] = labels[:, None] == np.arange(len(model.classes_))
    return arrays


def _member(member: Any) -> Arrays:
    """What the scorer multiplies with: filters as Chebyshev coefficients, normalisations as a scale and a shift."""
    state: dict[str, Tensor] = member.state
    if _kind(member) in ("boosting", "ridge"):
        unused = ("sizes", "structure", "strength", "trees.count")
        return {name.removeprefix("trees."): x.numpy() for name, x in state.items() if name not in unused}
    if _kind(member) == "stack":
        return _stack(member.options, state)
    options = member.options
    points = interpolation_points(options, None)
    filter = newton_filter(points, nonnegative=options.nonnegative, unit=options.unit)
    arrays = {
        name: x.squeeze(1 if name.endswith("weight1") else 0).numpy()
        for name, x in state.items()
        if name != "filter_values"
    }
    return arrays | {"coefficients": _coefficients(filter, state["filter_values"])}


def _stack(options: NewtonStackOptions, state: Mapping[str, Tensor]) -> Arrays:
    """The weights of a stack; what the first layer reads beside the features is below the features' rows."""
    filter = newton_filter(equispaced(options.degree), nonnegative=False)
    prefixes, first = ("", "against") if options.directed else ("",), 0 if options.projection else 1
    arrays = {name: state[name].squeeze(0) for name in ("output_weight", "output_bias")}
    if options.log_degree:
        arrays |= {name: state[name].squeeze(0) for name in ("degree_mean", "degree_scale")}
    for i in range(first, options.layers + 1):
        names = [f"residual{i}", *(f"{prefix}layer{i}" for prefix in prefixes if i)]
        maps = {name: state[f"{name}_weight"].squeeze(int(i == first)) for name in names}
        if i == first and "extra_weight" in state:
            rows = state["extra_weight"].squeeze(0).clone()
            if "known_share" in state:  # of numbers, whose labels are in units of their share
                rows[-2:] *= state["known_share"].squeeze(0)
            extra = rows.chunk(len(maps), dim=1)
            maps = {name: torch.cat([x, more]) for (name, x), more in zip(maps.items(), extra, strict=True)}
        scale, shift = _normalisation(options.norm, state, i)
        arrays |= {**maps, f"scale{i}": scale, f"shift{i}": shift}
    filters = {name: x for name, x in state.items() if name.endswith("_values")}
    return {name: x.numpy() for name, x in arrays.items()} | {
        name.removesuffix("_values"): _coefficients(filter, x) for name, x in filters.items()
    }


def _normalisation(norm: str, state: Mapping[str, Tensor], i: int) -> tuple[Tensor, Tensor]:
    """Scale and shift after layer i; those of a batch normalisation hold its running statistics too."""
    if norm == "none":
        shift = state[f"bias{i}"].squeeze(0)
        return torch.ones_like(shift), shift
    scale, shift = (state[f"norm{i}_{part}"].squeeze(0).double() for part in ("scale", "shift"))
    if norm == "batch":
        mean, variance = (state[f"norm{i}_{part}"].squeeze(0).double() for part in ("mean", "variance"))
        scale = scale / (variance + EPSILON).sqrt()
        shift = shift - mean * scale
    return scale, shift


def _coefficients(filter: Filter, values: Tensor) -> NDArray[np.float64]:
    """Chebyshev coefficients of a filter's values ``(K+1, 1)`` or ``(K+1, 1, d)``: ``(K+1,)`` or ``(K+1, d)``."""
    return filter.coefficients({"values": values.squeeze(1).double()}).numpy()
