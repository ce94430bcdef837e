"""A classifier as one file: weights as safetensors, everything else as JSON in the header; no pickle."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from newtonnet.files import whole_file
from newtonnet.nn import find_model
from newtonnet.out_of_core import OUT_OF_CORE_MODEL
from newtonnet.training import Record

from .inputs import OUT_OF_CORE
from .learned import curves, learned_filter
from .members import NONE, Ensemble, Member

FORMAT = 1
"""Version of the file; raised when an older program could not read a newer file."""

HEADER = "newtonnet"
PLAIN = ("settings_", "filter_weight_", "tried_", "complete_", "validation_score_", "homophily_", "n_features_in_")
"""Learned attributes that are plain data."""
STORED_NAMES = {"time_limit": "time_budget"}
STORED_VALUES = {OUT_OF_CORE: "precomputed"}
"""Names of parameters and regimes as files of format 1 have them; files with the present names are read too."""


def save(classifier: Any, path: str | PathLike[str]) -> None:
    """Write a fitted classifier to a file, atomically."""
    ensemble: Ensemble = classifier.ensemble_
    tensors = {
        f"{place}.{name}": tensor.contiguous()
        for place, member in enumerate(ensemble.members)
        for name, tensor in member.state.items()
    }
    names = getattr(classifier, "feature_names_in_", None)
    parameters = classifier.get_params()
    seed = parameters["random_state"]
    parameters["random_state"] = int(seed) if isinstance(seed, Integral) else None
    parameters["settings"] = None if parameters["settings"] is None else dict(parameters["settings"])
    parameters["store"] = None if parameters["store"] is None else str(parameters["store"])
    parameters["device"] = str(parameters["device"])
    parameters["regime"] = STORED_VALUES.get(parameters["regime"], parameters["regime"])
    described = {
        "format": FORMAT,
        "parameters": {STORED_NAMES.get(name, name): value for name, value in parameters.items()},
        "classes": {"values": classifier.classes_.tolist(), "type": classifier.classes_.dtype.str},
        "class_names": list(ensemble.class_names),
        "temperature": ensemble.temperature,
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
    text = json.dumps(described, allow_nan=False, default=_own_number)
    with whole_file(Path(path)) as temporary:
        save_file(tensors, temporary, metadata={HEADER: text, "checksum": _checksum(text, tensors)})


def load(kind: type[Any], path: str | PathLike[str]) -> Any:
    """Read a classifier of this class; an error for any other file."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file; give the model file that save() wrote")
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as reason:
        raise ValueError(f"{path} is not a complete model file: another format, or cut short ({reason})") from reason
    if HEADER not in header:
        raise ValueError(f"{path} is a safetensors file, but not a newtonnet model")
    try:
        described = json.loads(header[HEADER])
        version = int(described["format"])
    except (ValueError, KeyError, TypeError) as reason:
        raise ValueError(f"the header of {path} cannot be read; save the model again") from reason
    if version > FORMAT:
        raise ValueError(f"{path} has format {version}, this version reads up to {FORMAT}; install a newer newtonnet")
    if header.get("checksum") != _checksum(header[HEADER], tensors):
        raise ValueError(f"{path} was changed after it was saved: its checksum differs; save the model again")
    try:
        return _rebuilt(kind, described, tensors)
    except (KeyError, TypeError) as reason:
        raise ValueError(f"{path} does not fit this version ({reason}); fit and save the model again") from reason


def _rebuilt(kind: type[Any], described: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Any:
    present = {stored: name for name, stored in STORED_NAMES.items()}
    parameters = {present.get(name, name): value for name, value in described["parameters"].items()}
    if parameters["regime"] in STORED_VALUES.values():
        parameters["regime"] = OUT_OF_CORE
    classifier = kind(**parameters)
    classes = described["classes"]
    classifier.classes_ = np.array(classes["values"], dtype=np.dtype(classes["type"]))
    rows = described["members"]
    members = [_member(row, place, tensors) for place, row in enumerate(rows)]
    weights, names = [row["weight"] for row in rows], tuple(described["class_names"])
    classifier.ensemble_ = Ensemble(members, weights, names, described["temperature"])
    classifier.records_ = [Record.from_json(line) for line in described["records"]]
    classifier.history_ = curves(classifier.records_)
    classifier.filter_ = learned_filter(classifier.records_)
    for name in PLAIN:
        value = described["learned"][name]
        setattr(classifier, name, float("nan") if value is None else value)
    if described.get("feature_names") is not None:
        classifier.feature_names_in_ = np.array(described["feature_names"], dtype=object)
    return classifier


def _checksum(text: str, tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _member(row: Mapping[str, Any], place: int, tensors: Mapping[str, Tensor]) -> Member:
    kind = type(find_model("newtonnet" if row["model"] == OUT_OF_CORE_MODEL else row["model"]).options)
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in row["options"].items()}
    start = f"{place}."
    state = {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}
    record = Record.from_json(row["record"])
    return Member(row["model"], kind(**options), row["seed"], state, row["bound"], record, NONE)


def _own_number(value: Any) -> Any:
    """A numpy number as a Python number."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a parameter of type {type(value).__name__} cannot be saved; use numbers, strings or lists")


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value
