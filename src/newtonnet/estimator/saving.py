"""An estimator as one file: weights as safetensors, everything else as JSON in the header; no pickle."""

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

from newtonnet.bank import check_bank
from newtonnet.files import current, parse_json
from newtonnet.meaning import one_line
from newtonnet.metrics import Threshold
from newtonnet.out_of_core import OUT_OF_CORE_MODEL
from newtonnet.tables import Columns, Encoding, TableOptions
from newtonnet.training import Record, read_tensors, write_tensors

from .ensemble import Ensemble, OutOfFold
from .families import BANK, defaults_of
from .frames import FittedTables
from .inputs import OUT_OF_CORE
from .learned import curves, learned_filter
from .members import Member
from .scaling import Scaling

FORMAT = 2
"""Version of the file; raised when an older program could not read a newer file."""

WIDEST, DEEPEST = 1024, 256
"""Widths, and other whole numbers among a model's options, that are plausible without a tensor that is as large."""
CLASSIFIER, REGRESSOR = "classifier", "regressor"
"""Kinds of estimators; a file that does not say is a classifier's."""
PLAIN = ("settings_", "filter_weight_", "tried_", "complete_", "validation_score_", "homophily_", "n_features_in_")
"""Learned attributes that are plain data."""
TARGET = ("target_name_", "target_mean_", "target_scale_")
"""Those of a regressor alone."""
SCALING, OUT_OF_FOLD, LABELS = "scaling", "out_of_fold", "labels"
"""Names of the tensors that belong to no member."""
STORED_NAMES = {"time_limit": "time_budget"}
STORED_VALUES = {OUT_OF_CORE: "precomputed"}
"""Names of parameters and regimes as files of format 1 have them; files with the present names are read too."""


def save(classifier: Any, path: str | PathLike[str]) -> None:
    """Write a fitted classifier or regressor to a file, atomically."""
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
        tensors[LABELS] = torch.from_numpy(
            np.array(ensemble.labels, dtype=np.float64 if ensemble.numbers else np.int32)
        )
    names = getattr(classifier, "feature_names_in_", None)
    parameters = classifier.get_params()
    seed = parameters["random_state"]
    parameters["random_state"] = int(seed) if isinstance(seed, Integral) else None
    parameters |= {name: dict(value) for name, value in parameters.items() if isinstance(value, Mapping)}
    if not ensemble.numbers:
        parameters["store"] = None if parameters["store"] is None else str(parameters["store"])
        parameters["regime"] = STORED_VALUES.get(parameters["regime"], parameters["regime"])
    parameters["device"] = str(parameters["device"])
    described = {
        "format": FORMAT,
        "parameters": {STORED_NAMES.get(name, name): value for name, value in parameters.items()},
        **_own_part(classifier, ensemble),
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
        "tables": classifier.tables_ and asdict(classifier.tables_),
    }
    write_tensors(Path(path), json.dumps(described, allow_nan=False, default=_own_number), tensors)


def _own_part(estimator: Any, ensemble: Ensemble) -> dict[str, Any]:
    """What only one kind of estimator has."""
    if ensemble.numbers:
        return {"kind": REGRESSOR, "target": {name: getattr(estimator, name) for name in TARGET}}
    return {
        "classes": {"values": estimator.classes_.tolist(), "type": estimator.classes_.dtype.str},
        "threshold": estimator.threshold_ and asdict(estimator.threshold_),
    }


def stored_kind(path: str | PathLike[str]) -> str:
    """Whether a model file holds a classifier or a regressor; files that cannot be read are left to :func:`load`."""
    try:
        return str(parse_json(read_tensors(_file(path))[0]).get("kind", CLASSIFIER))
    except (ValueError, AttributeError, FileNotFoundError):
        return CLASSIFIER


def _file(path: str | PathLike[str]) -> Path:
    return current(Path(path), "model.safetensors") if Path(path).is_dir() else Path(path)  # its name in a run folder


def load(kind: type[Any], path: str | PathLike[str]) -> Any:
    """Read an estimator of this class; a ValueError for any other file.

    What the file says is not trusted: sizes are compared with the tensors that are there before anything is allocated,
    and ``store`` is None, because a file must not choose where :meth:`predict_proba` writes.
    """
    path = _file(path)
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
    wanted = REGRESSOR if kind.__name__.endswith("Regressor") else CLASSIFIER
    if (found := described.get("kind", CLASSIFIER)) != wanted:
        if found not in (CLASSIFIER, REGRESSOR):
            raise ValueError(f"{path} holds neither a {CLASSIFIER} nor a {REGRESSOR}; save the model again")
        raise ValueError(f"{path} holds a {found}, not a {wanted}; load it with NewtonNet{found.capitalize()}")
    try:
        return _rebuilt(kind, described, tensors)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as reason:
        raise ValueError(
            f"{path} does not fit this version ({one_line(reason)}); fit and save the model again"
        ) from reason


def _rebuilt(kind: type[Any], described: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Any:
    present = {stored: name for name, stored in STORED_NAMES.items()}
    parameters = {present.get(name, name): value for name, value in described["parameters"].items()}
    if parameters.get("regime") in STORED_VALUES.values():
        parameters["regime"] = OUT_OF_CORE
    classifier = kind(**parameters | ({"store": None} if "store" in parameters else {}))
    rows, names = described["members"], tuple(described["class_names"])
    numbers = described.get("kind") == REGRESSOR
    if numbers != (len(names) == 1):
        raise ValueError(f"a classifier has several classes and a regressor has one name, got {len(names)}")
    if numbers:
        for name in TARGET:
            setattr(classifier, name, described["target"][name])
        if not (math.isfinite(classifier.target_mean_) and 0 < classifier.target_scale_ < math.inf):
            raise ValueError("a finite mean and a scale above 0 of the targets are expected")
    else:
        classifier.classes_ = _classes(described["classes"], len(names))
        threshold = described.get("threshold")
        classifier.threshold_ = None if threshold is None else Threshold(**threshold)
    sizes = described["learned"]["n_features_in_"], len(names)
    members = [_member(row, place, tensors, sizes) for place, row in enumerate(rows)]
    weights, temperature = [row["weight"] for row in rows], described["temperature"]
    if not members or abs(math.fsum(weights) - 1) > 1e-6 or min(weights) < 0 or not 0 < temperature < math.inf:
        raise ValueError("weights of members that sum to 1, and a temperature above 0, are expected")
    labels: NDArray[Any] | None = None
    if LABELS in tensors and numbers:
        labels = _floats(tensors, LABELS, len(tensors[LABELS]), gaps=True)
    elif LABELS in tensors:
        labels = _numbers(tensors, LABELS, "i", len(tensors[LABELS]), below=len(names)).astype(np.int64)
    classifier.ensemble_ = Ensemble(members, weights, names, temperature, labels, described.get("structure"))
    classifier.scaling_ = _scaling(tensors, sizes[0]) if f"{SCALING}.columns" in tensors else None
    held = described.get("out_of_fold")
    classifier.out_of_fold_ = _out_of_fold(held, tensors, len(names)) if held else None
    classifier.notes_ = described.get("notes", [])
    classifier.records_ = [Record.from_json(line) for line in described["records"]]
    classifier.history_ = curves(classifier.records_)
    classifier.filter_ = learned_filter(classifier.records_)
    for name in PLAIN:
        value = described["learned"][name]
        setattr(classifier, name, float("nan") if value is None else value)
    classifier.leaderboard_ = described.get("leaderboard", [])
    classifier.tables_ = _tables(tables) if (tables := described.get("tables")) else None
    if described.get("feature_names") is not None:
        classifier.feature_names_in_ = np.array(described["feature_names"], dtype=object)
    return classifier


def _tables(stored: Mapping[str, Any]) -> FittedTables:
    """How tables were read, as the file says it."""
    columns, rows = stored["columns"], stored["encoding"]["columns"]
    return FittedTables(
        Columns(**{**columns, "unused": tuple(columns["unused"])}),
        Encoding.from_json(json.dumps(rows)),
        tuple(stored["class_names"]),
        TableOptions(**stored.get("options", {})),
    )


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


def _member(row: Mapping[str, Any], place: int, tensors: Mapping[str, Tensor], sizes: tuple[int, int]) -> Member:
    """A member of an ensemble on so many features and classes."""
    kind = type(defaults_of("newtonnet" if row["model"] == OUT_OF_CORE_MODEL else row["model"]).options)
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in row["options"].items()}
    start = f"{place}."
    state = {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}
    _check_sizes(options, state, sizes[0])
    if row["model"] in BANK:
        check_bank(state, *sizes)
    return Member(row["model"], kind(**options), row["seed"], state, row["bound"], Record.from_json(row["record"]))


def _numbers(tensors: Mapping[str, Tensor], name: str, kind: str, *shape: int, below: float = math.inf) -> NDArray[Any]:
    """A tensor that belongs to no member, as an array of integers or floats of this shape, all below a bound."""
    array: NDArray[Any] = tensors[name].numpy()
    if array.dtype.kind != kind or array.shape != shape:
        raise ValueError(f"tensor {name} is {array.dtype} of shape {array.shape}, {shape} expected")
    if not np.isfinite(array).all() or array.min(initial=-1) < -1 or array.max(initial=-1) >= below:
        raise ValueError(f"tensor {name} holds numbers that cannot be")
    return array


def _floats(tensors: Mapping[str, Tensor], name: str, *shape: int, gaps: bool = False) -> NDArray[np.float64]:
    """A tensor of numbers as targets, of this shape and finite; NaN is allowed where there may be gaps."""
    array: NDArray[Any] = tensors[name].numpy()
    if array.dtype != np.float64 or array.shape != shape:
        raise ValueError(f"tensor {name} is {array.dtype} of shape {array.shape}, {shape} expected")
    if not (np.isfinite(array) | (gaps & np.isnan(array))).all():
        raise ValueError(f"tensor {name} holds numbers that cannot be")
    return array


def _scaling(tensors: Mapping[str, Tensor], features: int) -> Scaling:
    count = len(tensors[f"{SCALING}.columns"])
    columns = _numbers(tensors, f"{SCALING}.columns", "i", count, below=features)
    means, scales = (tensors[f"{SCALING}.{name}"].numpy() for name in ("means", "scales"))
    fits = means.shape == scales.shape == (count,) and np.isfinite(means).all() and (scales > 0).all()
    if not fits or (np.diff(columns) <= 0).any() or columns.min(initial=0) < 0:
        raise ValueError("the numbers to standardise features by do not fit together")
    return Scaling(columns, means, scales)


def _out_of_fold(described: Mapping[str, Any], tensors: Mapping[str, Tensor], classes: int) -> OutOfFold:
    count = sum(described["sizes"])
    nodes = _numbers(tensors, f"{OUT_OF_FOLD}.nodes", "i", count)
    shares: NDArray[Any]
    truth: NDArray[Any]
    if classes == 1:
        shares = _floats(tensors, f"{OUT_OF_FOLD}.probabilities", count, 1)
        truth = _floats(tensors, f"{OUT_OF_FOLD}.truth", count)
        least = nodes.min(initial=0)
    else:
        shares = _numbers(tensors, f"{OUT_OF_FOLD}.probabilities", "f", count, classes, below=1.001)
        truth = _numbers(tensors, f"{OUT_OF_FOLD}.truth", "i", count, below=classes)
        least = min(nodes.min(initial=0), shares.min(initial=0), truth.min(initial=0))
    if least < 0:
        raise ValueError("out-of-fold predictions hold numbers that cannot be")
    ends, calibration = np.cumsum(described["sizes"])[:-1], tuple(described["calibration"])
    by_fold = [np.split(array, ends) for array in (nodes, shares, truth)]
    return OutOfFold(by_fold[0], by_fold[1], described["scores"], calibration, by_fold[2], described["structure"])


def _own_number(value: Any) -> Any:
    """A numpy number as a Python number."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a parameter of type {type(value).__name__} cannot be saved; use numbers, strings or lists")


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value
