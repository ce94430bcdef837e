"""What the page of a fit shows, as plain data: ``gather`` fills it in, the page reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Numbers = Sequence[float]
NAN = float("nan")


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
    ratio: float
    """Test nodes per training node of a split."""


@dataclass(frozen=True)
class HeldOutResults:
    """Cross-validation: every labelled node is predicted by a model that was trained without its label."""

    ours: ModelScores
    others: Sequence[ModelScores]
    """MLP and GCN on the same splits."""
    majority: float
    """Share of the largest class: the accuracy of always predicting it."""
    confusion: Sequence[Sequence[int]]
    """Nodes of each true class (rows) by predicted class (columns)."""
    precision: Sequence[float | None]
    recall: Sequence[float | None]
    f1: Sequence[float | None]
    bins: Sequence[tuple[float, float, int]]
    """Calibration: mean confidence, share correct and number of nodes of each non-empty bin."""
    calibration_error: float


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
    """The metric of every score: ``accuracy`` or ``roc_auc``."""
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
    evaluation: HeldOutResults | None = None
    cut_at: int | None = None
    """Epochs of the longest training, if time ran out before the filter could take shape."""
    warnings: Sequence[str] = ()
    """Warnings about the run, such as that it was stopped."""
