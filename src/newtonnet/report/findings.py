"""Everything that the page about one graph shows, as plain data: whoever trains makes it, the page reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Numbers = Sequence[float]


@dataclass(frozen=True)
class Data:
    """What was read."""

    nodes: int
    edges: int
    features: int
    feature_kind: str
    """Such as ``numbers``, ``sparse``, or ``one of its own for every node``."""
    class_names: Sequence[str]
    class_counts: Sequence[int]
    """Labelled nodes of each class."""
    isolated: int
    """Nodes without an edge."""
    components: int
    weighted: bool
    columns: str = ""
    """What every column was taken for, in one line; empty where there were no tables."""
    warnings: Sequence[str] = ()
    """What a careful reader should know about these data, a sentence each."""

    @property
    def labelled(self) -> int:
        """Nodes whose class is known."""
        return sum(self.class_counts)


@dataclass(frozen=True)
class Agreement:
    """How much neighbours agree; None where no edge joins two labelled nodes."""

    known: float | None
    """Share of edges that join equal labels, over edges whose two ends are labelled."""
    known_edges: int
    """How many such edges there are."""
    learned: float | None
    """Share of edges whose ends are predicted alike, known labels put in."""
    chance: float | None
    """What these classes give by chance, from their degrees."""


@dataclass(frozen=True)
class Response:
    """The filter that was learned, once for each split it was trained on."""

    frequencies: Numbers
    responses: Sequence[Numbers]
    """Amplitudes at the frequencies, a row for each split."""
    points: Numbers
    """The filter's own points; none for a model whose filter has no values at points."""
    values: Sequence[Numbers]
    """Amplitudes at the points, a row for each split."""
    nonnegative: bool
    """Whether values below 0 are impossible."""
    gammas: tuple[float, float, float]
    pivot: float
    """What homophily is compared with in the penalty, 1/C as a rule."""
    homophily: float
    """The h that the penalty used at the end, the mean over splits."""
    squared: bool
    """Whether the penalty takes squared norms."""


@dataclass(frozen=True)
class Spectrum:
    """How the graph's own frequencies are spread, and where the labels live among them."""

    frequencies: Numbers
    density: Numbers
    """Share of the frequencies per unit of frequency."""
    label_energy: Numbers
    """Share of the labels' energy per unit of frequency, each class taken against its mean."""
    predicted: bool
    """Whether predictions stand in for labels that are not known."""


@dataclass(frozen=True)
class Scores:
    """What a model reached on the held-out nodes of each split."""

    model: str
    splits: Numbers
    mean: float
    interval: tuple[float, float]
    """Of 95%."""
    seconds: float
    ratio: float
    """Test nodes for each training node of a split."""


@dataclass(frozen=True)
class Evaluation:
    """Every labelled node predicted once by a model that had not seen its label."""

    ours: Scores
    others: Sequence[Scores]
    """MLP and GCN on the same splits."""
    majority: float
    """Share of the largest class: what a guess reaches."""
    confusion: Sequence[Sequence[int]]
    """Nodes of each true class (rows) by predicted class (columns)."""
    precision: Sequence[float | None]
    recall: Sequence[float | None]
    f1: Sequence[float | None]
    bins: Sequence[tuple[float, float, int]]
    """Calibration: mean confidence, share correct and number of nodes of each bin that has any."""
    calibration_error: float


@dataclass(frozen=True)
class History:
    """One split's training, at some of its epochs."""

    epochs: Sequence[int]
    train: Sequence[float | None]
    validation: Sequence[float | None]
    homophily: Sequence[float | None]
    best_epoch: int


@dataclass(frozen=True)
class Part:
    """One of the models whose average predicts."""

    model: str
    weight: float
    """Its share of the average."""
    settings: Mapping[str, object]
    drawn: bool
    """Whether the filter that is shown is its own."""


@dataclass(frozen=True)
class Findings:
    """All of it. Parts that a run does not have (it was stopped early, or asked not to) are None or empty."""

    title: str
    model: str
    command: str
    """Exactly what repeats it."""
    version: str
    metric: str
    """What every score is: ``accuracy`` or ``roc_auc``."""
    parts: Sequence[Part]
    """What the model is an average of, the heaviest first."""
    tried: int
    """How many settings were tried."""
    seconds: float
    data: Data
    agreement: Agreement
    spectrum: Spectrum | None
    response: Response | None
    """None where nothing that was tried has a spectral filter."""
    history: Sequence[History] = ()
    evaluation: Evaluation | None = None
    cut_at: int | None = None
    """Epochs of the longest training, where time ran out before the filter could take shape."""
    remarks: Sequence[str] = field(default=())
    """What happened on the way, such as that the run was stopped."""
