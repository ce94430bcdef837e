"""A classifier as one file: weights as safetensors, everything else as JSON in the header; no pickle."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.files import current, parse_json
from newtonnet.metrics import Threshold
from newtonnet.out_of_core import OUT_OF_CORE_MODEL
from newtonnet.training import Record, read_tensors, write_tensors

from .ensemble import Ensemble, OutOfFold
from .families import defaults_of
from .inputs import OUT_OF_CORE
from .learned import curves, learned_filter
from .members import Member
from .scaling import Scaling

FORMAT = 2
"""Version of the file; raised when an older program could not read a newer file."""

WIDEST, DEEPEST = 1024, 256
"""Widths, and other whole numbers among a model's options, that are plausible without a tensor that is as large."""
PLAIN = ("settings_", "filter_weight_", "tried_", "complete_", "validation_score_", "homophily_", "n_features_in_")
"""Learned attributes that are plain data."""
SCALING, OUT_OF_FOLD, LABELS = "scaling", "out_of_fold", "labels"
"""Names of the tensors that belong to no member."""
STORED_NAMES = {"time_limit": "time_budget"}
STORED_VALUES = {OUT_OF_CORE: "precomputed"}
"""Names of parameters and regimes as files of format 1 have them; files with the present names are read too."""


def save(classifier: Any, path: str | PathLike[str]) -> None:
    """Write a fitted classifier to a file, atomically."""
    ensemble: Ensemble = classifier.ensemble_
    tensors = {
        f"{place}.{name}": tensor
        for place, member in enumerate(ensemble.members)
        for name, tensor in member.state.items()
    }
    out_of_fold: OutOfFold | None = classifier.out_of_fold_
    if out_of_fold is not None:
        tensors[f"{OUT_OF_FOLD}.nodes"] = torch.from_numpy(np.concatenate(list(out_of_fold.nodes)))
        tensors[f"{OUT_OF_FOLD}.truth"] = torch.from_numpy(np.concatenate(list(out_of_fold.truth)))
        tensors[f"{OUT_OF_FOLD}.probabilities"] = torch.from_numpy(np.concatenate(list(out_of_fold.probabilities)))
    if classifier.scaling_ is not None:
        tensors |= {f"{SCALING}.{name}": torch.from_numpy(part) for name, part in vars(classifier.scaling_).items()}
    if ensemble.labels is not None:
        tensors[LABELS] = torch.from_numpy(ensemble.labels.astype(np.int32))
    names = getattr(classifier, "feature_names_in_", None)
    parameters = classifier.get_params()
    seed = parameters["random_state"]
    parameters["random_state"] = int(seed) if isinstance(seed, Integral) else None
    for name in ("settings", "class_weight"):
        parameters[name] = dict(parameters[name]) if isinstance(parameters[name], Mapping) else parameters[name]
    parameters["store"] = None if parameters["store"] is None else str(parameters["store"])
    parameters["device"] = str(parameters["device"])
    parameters["regime"] = STORED_VALUES.get(parameters["regime"], parameters["regime"])
    described = {
        "format": FORMAT,
        "parameters": {STORED_NAMES.get(name, name): value for name, value in parameters.items()},
        "classes": {"values": classifier.classes_.tolist(), "type": classifier.classes_.dtype.str},
        "class_names": list(ensemble.class_names),
        "temperature": ensemble.temperature,
        "structure": ensemble.structure,
        "out_of_fold": out_of_fold
        and {
            "sizes": [len(fold) for fold in out_of_fold.nodes],
            "scores": list(out_of_fold.scores),
            "calibration": list(out_of_fold.calibration),
            "structure": out_of_fold.structure,
        },
        "notes": list(classifier.notes_),
        "leaderboard": classifier.leaderboard_,
        "threshold": classifier.threshold_ and asdict(classifier.threshold_),
        "members": [
            {
                "model": member.model,
                "options": asdict(member.options),
                "seed": member.seed,
                "bound": member.bound,
                "record": member.record.to_json(),
                "weight": weight,
            }
            for member, weight in zip(ensemble.members, ensemble.weights, strict=True)
        ],
        "records": [record.to_json() for record in classifier.records_],
        "learned": {name: _finite(getattr(classifier, name)) for name in PLAIN},
        "feature_names": None if names is None else names.tolist(),
    }
    write_tensors(Path(path), json.dumps(described, allow_nan=False, default=_own_number), tensors)


def load(kind: type[Any], path: str | PathLike[str]) -> Any:
    """Read a classifier of this class; a ValueError for any other file.

    What the file says is not trusted: sizes are compared with the tensors that are there before anything is allocated,
    and ``store`` is None, because a file must not choose where :meth:`predict_proba` writes.
    """
    path = current(Path(path), "model.safetensors") if Path(path).is_dir() else Path(path)  # its name in a run folder
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file; give the model file that save() wrote, or a run folder")
    try:
        text, tensors, right = read_tensors(path)
    except ValueError as reason:
        raise ValueError(f"{path} is not a complete model file: {reason}") from reason
    try:
        described = parse_json(text)
        version = int(described["format"])
    except (ValueError, KeyError, TypeError, OverflowError) as reason:
        raise ValueError(f"the header of {path} cannot be read; save the model again") from reason
    if version > FORMAT:
        raise ValueError(f"{path} has format {version}, this version reads up to {FORMAT}; install a newer newtonnet")
    if not right:
        raise ValueError(f"{path} was changed after it was saved: its checksum differs; save the model again")
    try:
        return _rebuilt(kind, described, tensors)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as reason:
        raise ValueError(f"{path} does not fit this version ({reason}); fit and save the model again") from reason


def _rebuilt(kind: type[Any], described: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Any:
    present = {stored: name for name, stored in STORED_NAMES.items()}
    parameters = {present.get(name, name): value for name, value in described["parameters"].items()}
    if parameters["regime"] in STORED_VALUES.values():
        parameters["regime"] = OUT_OF_CORE
    classifier = kind(**parameters | {"store": None})
    rows, names = described["members"], tuple(described["class_names"])
    classifier.classes_ = _classes(described["classes"], len(names))
    members = [_member(row, place, tensors, described["learned"]["n_features_in_"]) for place, row in enumerate(rows)]
    weights, temperature = [row["weight"] for row in rows], described["temperature"]
    if not members or abs(math.fsum(weights) - 1) > 1e-6 or min(weights) < 0 or not 0 < temperature < math.inf:
        raise ValueError("weights of members that sum to 1, and a temperature above 0, are expected")
    labels = tensors[LABELS].numpy().astype(np.int64) if LABELS in tensors else None
    classifier.ensemble_ = Ensemble(members, weights, names, temperature, labels, described.get("structure"))
    classifier.scaling_ = Scaling(**arrays) if (arrays := _arrays(SCALING, tensors)) else None
    classifier.out_of_fold_ = _out_of_fold(described["out_of_fold"], tensors) if described.get("out_of_fold") else None
    classifier.notes_ = described.get("notes", [])
    classifier.records_ = [Record.from_json(line) for line in described["records"]]
    classifier.history_ = curves(classifier.records_)
    classifier.filter_ = learned_filter(classifier.records_)
    threshold = described.get("threshold")
    classifier.threshold_ = None if threshold is None else Threshold(**threshold)
    for name in PLAIN:
        value = described["learned"][name]
        setattr(classifier, name, float("nan") if value is None else value)
    classifier.leaderboard_ = described.get("leaderboard", [])
    if described.get("feature_names") is not None:
        classifier.feature_names_in_ = np.array(described["feature_names"], dtype=object)
    return classifier


def _classes(stored: Mapping[str, Any], count: int) -> NDArray[Any]:
    """The classes as an array of their type, which must not be larger than they need."""
    values, dtype = stored["values"], np.dtype(str(stored["type"]))
    longest = max((len(value) for value in values if isinstance(value, str)), default=0)
    if len(values) != count or dtype.kind not in "biufUO" or (dtype.kind == "U" and dtype.itemsize > 4 * longest):
        raise ValueError(f"{count} classes of a plain type are expected, got {len(values)} of type {dtype}")
    return np.array(values, dtype=dtype)


def _check_sizes(options: Mapping[str, Any], state: Mapping[str, Tensor], features: int) -> None:
    """Refuse tensors that are not finite, and options that imply a model larger than its tensors."""
    for name, tensor in state.items():
        if not torch.isfinite(tensor).all():
            raise ValueError(f"tensor {name} holds a number that is not finite")
    widths = (size for tensor in state.values() for size in tensor.shape if size * features <= tensor.numel())
    limit = max(WIDEST, *widths, 0)
    for name, value in options.items():
        large = DEEPEST if name in ("degree", "layers") else limit
        if isinstance(value, int) and value > large:
            raise ValueError(f"option {name} is {value}, which its tensors do not have")


def _member(row: Mapping[str, Any], place: int, tensors: Mapping[str, Tensor], features: int) -> Member:
    kind = type(defaults_of("newtonnet" if row["model"] == OUT_OF_CORE_MODEL else row["model"]).options)
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in row["options"].items()}
    state = _part(str(place), tensors)
    _check_sizes(options, state, features)
    return Member(row["model"], kind(**options), row["seed"], state, row["bound"], Record.from_json(row["record"]))


def _part(start: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin with a word and a dot, by the rest of their names."""
    return {name[len(start) + 1 :]: tensor for name, tensor in tensors.items() if name.startswith(f"{start}.")}


def _arrays(start: str, tensors: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    return {name: tensor.numpy() for name, tensor in _part(start, tensors).items()}


def _out_of_fold(described: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> OutOfFold:
    ends, arrays = np.cumsum(described["sizes"])[:-1], _arrays(OUT_OF_FOLD, tensors)
    nodes, shares, truth = (np.split(arrays[name], ends) for name in ("nodes", "probabilities", "truth"))
    calibration = tuple(described["calibration"])
    return OutOfFold(nodes, shares, described["scores"], calibration, truth, described["structure"])


def _own_number(value: Any) -> Any:
    """A numpy number as a Python number."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a parameter of type {type(value).__name__} cannot be saved; use numbers, strings or lists")


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value
