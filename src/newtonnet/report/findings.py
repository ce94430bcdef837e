"""What the page of a fit shows, as plain data that ``gather`` fills in and the page reads; the shape of a filter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from newtonnet.estimator import Importance
from newtonnet.graphs import BANDS
from newtonnet.metrics import Threshold

Numbers = Sequence[float]
Kind = Literal["low", "high", "middle", "ends", "flat", "even"]
NAN = float("nan")

MARGIN = 0.1
"""Two bands differ when their mean magnitudes differ by more than this share of the largest amplitude."""
FLAT = 0.25
"""A response that varies by at most this share of its largest amplitude is called constant."""


@dataclass(frozen=True)
class TargetSummary:
    """The known numbers that are predicted instead of classes."""

    name: str
    mean: float
    std: float
    quantiles: Numbers
    """Lowest, first quarter, median, third quarter, highest."""
    different: int
    """Number of different values."""


@dataclass(frozen=True)
class Data:
    """The graph that was read."""

    nodes: int
    edges: int
    features: int
    feature_kind: str
    """Such as ``dense``, ``sparse``, or ``one indicator per node``."""
    class_names: Sequence[str]
    class_counts: Sequence[int]
    """Labelled nodes of each class."""
    isolated: int
    """Nodes without an edge."""
    components: int
    weighted: bool
    columns: str = ""
    """How each column was read, in one line; empty where there were no tables."""
    warnings: Sequence[str] = ()
    """Warnings about the data, a sentence each."""
    target: TargetSummary | None = None
    """None where classes are predicted; otherwise the one class is the name of the number."""

    @property
    def labelled(self) -> int:
        """Number of labelled nodes."""
        return sum(self.class_counts)


@dataclass(frozen=True)
class GraphHomophily:
    """How often neighbours share a label, and how often they would by chance."""

    measured: float | None
    """Share of edges that join equal labels; None where no edge joins two labelled nodes."""
    labelled_edges: int
    """Edges between labelled nodes, over which it is measured."""
    learned: float | None
    """Share of edges whose two ends the model gives the same class; known labels are kept."""
    chance: float | None
    """Expected share if edges ignored the classes, given each class's degree; None like ``measured``."""


@dataclass(frozen=True)
class Response:
    """The learned filter, once for each split it was trained on, and the shape penalty it was trained with."""

    frequencies: Numbers
    responses: Sequence[Numbers]
    """Amplitudes at the frequencies, a row for each split."""
    points: Numbers
    """The interpolation points; empty for a filter that is not given by values at points."""
    values: Sequence[Numbers]
    """Amplitudes at the points, a row for each split."""
    nonnegative: bool = False
    """Whether values are constrained to be at least 0."""
    gammas: tuple[float, float, float] = (0.0, 0.0, 0.0)
    pivot: float = NAN
    """The homophily at which the penalty changes sign, 1/C by default."""
    homophily: float = NAN
    """The h that the penalty used in the last epoch, averaged over splits."""
    squared: bool = False
    """Whether the penalty uses squared norms."""


@dataclass(frozen=True)
class Spectrum:
    """Distribution of the graph's frequencies, and of the labels' energy over them."""

    frequencies: Numbers
    density: Numbers
    """Share of the frequencies per unit of frequency."""
    label_energy: Numbers
    """Share of the energy of the centred one-hot labels per unit of frequency."""
    predicted: bool
    """Whether predictions replace missing labels."""


@dataclass(frozen=True)
class ModelScores:
    """Scores of one model on the held-out nodes of each split."""

    model: str
    splits: Numbers
    mean: float
    interval: tuple[float, float]
    """95% interval of the mean."""
    seconds: float
    ahead: tuple[float, float, float] | None = None
    """For another model: how much better ours is on the same nodes, with the ends of the 95% interval."""


@dataclass(frozen=True)
class NodeGroup:
    """Held-out nodes that have something in common, and how many of them are predicted right."""

    name: str
    nodes: int
    right: float
    """Share of them."""
    interval: tuple[float, float]
    """95% interval of the share."""


@dataclass(frozen=True)
class HeldOutResults:
    """Labelled nodes as predicted by models that were trained without their labels."""

    ours: ModelScores
    others: Sequence[ModelScores]
    """Other models on the same nodes."""
    majority: float
    """Share of the largest class: the accuracy of always predicting it."""
    confusion: Sequence[Sequence[int]]
    """Nodes of each true class (rows) by predicted class (columns)."""
    precision: Sequence[float | None]
    recall: Sequence[float | None]
    f1: Sequence[float | None]
    bins: Sequence[tuple[float, float, int]]
    """Calibration: mean confidence, share correct and number of nodes of each bin."""
    calibration_error: float
    calibration_interval: tuple[float, float] = (NAN, NAN)
    """95% interval of the calibration error."""
    uncalibrated_error: float | None = None
    """The calibration error of the same predictions before calibration."""
    method: str = ""
    """How these nodes were held out, in a sentence."""
    groups: Sequence[NodeGroup] = ()
    """For whom the model is right, by number of neighbours and by their labels."""


@dataclass(frozen=True)
class NumberErrors:
    """Errors of predicted numbers on held-out nodes, in the units of the target."""

    r2: float
    mae: float
    """Mean absolute error."""
    rmse: float
    """Root of the mean squared error."""
    constant_mae: float
    """Mean absolute error of always predicting the median."""
    constant_rmse: float
    """Root of the mean squared error of always predicting the mean."""


@dataclass(frozen=True)
class IntervalCoverage:
    """Intervals of held-out nodes: how often they hold the true number, and how wide they are."""

    aim: float
    """The share of nodes whose interval should hold their number."""
    reached: float
    width: float
    """Mean width; infinite ends are not counted."""


@dataclass(frozen=True)
class NumberResults:
    """Known numbers as predicted by models that were trained without them."""

    ours: ModelScores
    others: Sequence[ModelScores]
    """Other models on the same nodes."""
    errors: NumberErrors
    truth: Numbers
    """Numbers of some held-out nodes, and the next their predictions."""
    predicted: Numbers
    parts: Sequence[tuple[float, float, int, float, float]]
    """Fifths by the true number: lowest and highest, nodes, mean absolute error, mean of predicted minus true."""
    intervals: IntervalCoverage | None
    method: str = ""
    """How these nodes were held out, in a sentence."""


@dataclass(frozen=True)
class PrecisionRecall:
    """Precision and recall of the rarer of two classes over all thresholds, on held-out nodes."""

    place: int
    """Which class."""
    threshold: Numbers
    precision: Numbers
    recall: Numbers
    share: float
    """Of the class among these nodes: the precision of guessing."""
    chosen: Threshold | None
    """The threshold of the model; None where the more probable class is predicted."""


@dataclass(frozen=True)
class SetCoverage:
    """Prediction sets of held-out nodes: how often they hold the true class, and how many classes they have."""

    aim: float
    """The share of nodes whose set should hold their class."""
    reached: float
    size: float
    """Mean number of classes in a set."""
    alone: float
    """Share of sets of one class."""
    by_class: Sequence[tuple[float | None, float | None]]
    """Share covered and mean size for the nodes of each class; None for a class without held-out nodes."""
    own_split: bool = False
    """Whether the sets were calibrated on validation nodes that the caller chose."""


@dataclass(frozen=True)
class History:
    """Training curves of one split, at some of its epochs."""

    epochs: Sequence[int]
    train: Sequence[float | None]
    validation: Sequence[float | None]
    homophily: Sequence[float | None]
    best_epoch: int


@dataclass(frozen=True)
class EnsembleMember:
    """One of the models whose weighted average predicts."""

    model: str
    weight: float
    """Share of the average."""
    settings: Mapping[str, object]
    drawn: bool
    """Whether the filter shown on the page is this member's."""


@dataclass(frozen=True)
class Findings:
    """Everything on the page of a fit. What a run did not produce is None or empty."""

    title: str
    model: str
    command: str
    """The command that repeats the run."""
    version: str
    metric: str
    """The metric of every score, such as ``accuracy`` or ``r2``."""
    ensemble: Sequence[EnsembleMember]
    """Largest weight first."""
    tried: int
    """Number of settings tried."""
    seconds: float
    data: Data
    homophily: GraphHomophily
    spectrum: Spectrum | None
    response: Response | None
    """None where no model that was tried has a spectral filter."""
    history: Sequence[History] = ()
    evaluation: HeldOutResults | NumberResults | None = None
    cut_at: int | None = None
    """Epochs of the longest training, if time ran out before the filter could take shape."""
    warnings: Sequence[str] = ()
    """Warnings about the run, such as that it was stopped."""
    sets: SetCoverage | None = None
    curve: PrecisionRecall | None = None
    """None for more than two classes."""
    leaderboard: Sequence[Mapping[str, Any]] = ()
    """Every setting that was tried, as in ``NewtonNetClassifier.leaderboard_``."""
    importance: Importance | None = None
    explained: Sequence[Mapping[str, Any]] = ()
    """What the page says and draws about some nodes, from :func:`newtonnet.report.explained_node`."""


@dataclass(frozen=True)
class FilterShape:
    """A filter's responses over splits, each divided by its own largest magnitude."""

    frequencies: list[float]
    mean: list[float]
    lowest: list[float]
    highest: list[float]
    points: list[float]
    values: list[float]
    """Mean values at the points, on the same scale."""
    scale: float
    """Largest magnitude, averaged over splits."""
    kinds: tuple[Kind, ...]
    """Kind of each split's filter."""
    kind: Kind
    """Kind of their mean."""


def filter_shape(response: Response) -> FilterShape | None:
    """The shape of a filter over its splits, without those that are not finite; None if there are no others.

    The encoder before the filter absorbs any constant factor, so only shapes can be compared between splits.
    """
    rows = np.array(response.responses)
    kept = np.isfinite(rows).all(axis=1)
    if not kept.any():
        return None
    largest = np.abs(rows[kept]).max(axis=1, keepdims=True)
    divisor = np.where(largest > 0, largest, 1.0)
    scaled = rows[kept] / divisor
    sizes = np.abs(scaled)
    return FilterShape(
        frequencies=list(response.frequencies),
        mean=scaled.mean(axis=0).tolist(),
        lowest=scaled.min(axis=0).tolist(),
        highest=scaled.max(axis=0).tolist(),
        points=list(response.points),
        values=(np.array(response.values)[kept] / divisor).mean(axis=0).tolist() if response.points else [],
        scale=float(largest.mean()),
        kinds=tuple(filter_kind(response.frequencies, row) for row in sizes),
        kind=filter_kind(response.frequencies, sizes.mean(axis=0)),
    )


def filter_kind(frequencies: ArrayLike, magnitudes: ArrayLike) -> Kind:
    """Which bands a response keeps, from the mean magnitude in each third of [0, 2].

    It is ``flat`` if nearly constant; ``middle`` or ``ends`` if the middle band is clearly above or below both others;
    ``even`` if no band stands out; otherwise ``low`` or ``high``.

    >>> grid = [0.0, 0.5, 1.0, 1.5, 2.0]
    >>> [filter_kind(grid, row) for row in ([1, 0.8, 0.5, 0.2, 0], [0, 0.4, 1, 0.4, 0], [0.9, 0.95, 1, 1, 0.9])]
    ['low', 'middle', 'flat']
    """
    sizes = np.asarray(magnitudes, dtype=np.float64)
    top = sizes.max()
    if top - sizes.min() <= FLAT * top:
        return "flat"
    band = np.searchsorted(BANDS, np.asarray(frequencies), side="right")
    low, middle, high = (float(sizes[band == b].mean() / top) for b in range(3))
    if middle - max(low, high) > MARGIN:
        return "middle"
    if min(low, high) - middle > MARGIN and min(low, high) >= max(low, high) / 2:
        return "ends"
    if abs(low - high) <= MARGIN:
        return "even"
    return "low" if low > high else "high"
