"""What was found, in plain words: how much neighbours agree, what the filter keeps, and whether the structure helps."""

import math
from dataclasses import dataclass
from typing import Literal

from newtonnet.training.statistics import compare

from .filter_shape import FilterShape, Kind, filter_shape
from .findings import Agreement, Evaluation, Findings, Scores
from .quantities import has_width, is_known, percent, percent_range, plural, points

NEAR = 0.02
"""Agreement closer to chance than this is called chance, however many edges there are."""
SLIGHT, STRONG = 0.25, 2 / 3
"""Parts of the way from chance to complete agreement, or to none, where the words change."""

KEEPS: dict[Kind, str] = {
    "low": "keeps low frequencies",
    "high": "keeps high frequencies",
    "middle": "keeps the middle frequencies and suppresses both ends",
    "ends": "keeps both ends, low and high frequencies, and suppresses the middle",
    "flat": "is close to constant: it leaves the features as they are",
    "even": "favours none of the three bands, though it is not constant within them",
}
STACK = "newton-stack"
"""The model whose filters follow each other, layer after layer."""
NO_EDGES = "There are no edges, so the model is an MLP on the features: nothing can be learned from neighbours."
DEEP = "The best model here is a deep stack of filters and has no single response to draw."
NAMES = {"accuracy": "accuracy", "roc_auc": "ROC-AUC"}
RULE = (
    "Two models are compared by their difference on each split. It counts as real when the 95% interval of the mean "
    "difference, widened for splits that share training nodes (Nadeau and Bengio, 2003, with one test node for every "
    "{rest} training nodes), leaves out 0."
)


@dataclass(frozen=True)
class Lean:
    """On which side of chance a graph's agreement is, and how far."""

    side: Literal["homophilous", "heterophilous", ""]
    degree: Literal["slightly", "clearly", "strongly", ""]
    unsure: bool = False
    """Without a side because there are too few edges to tell one, not because it is near chance."""

    def __str__(self) -> str:
        if self.unsure:
            return "too few edges to tell it from chance"
        return f"{self.degree} {self.side}" if self.side else "about chance"


def describe(findings: Findings) -> list[str]:
    """The findings in sentences, the headline first."""
    texts = [headline(findings)]
    if findings.evaluation is not None:
        texts.append(score_words(findings.evaluation, findings.metric))
        comparison = " ".join(comparisons(findings))
        texts += [comparison] if comparison else []
    return texts


def headline(findings: Findings) -> str:
    """How much neighbours agree, judged against chance, and what the learned filter makes of it."""
    if findings.data.edges == 0:
        return NO_EDGES
    agreement = findings.agreement
    classes = len(findings.data.class_names)
    chance = agreement.chance if is_known(agreement.chance) else 1 / classes if classes else None
    here = "chance here is" if is_known(agreement.chance) else "chance among classes of equal size is"
    measured = agreement.known if is_known(agreement.known) else agreement.learned
    lean = None
    if not is_known(measured) or not is_known(chance):
        first = "How often neighbours share a label is not known: no edge joins two labelled nodes."
    else:
        sure = is_known(agreement.known)
        lean = lean_of(measured, chance, edges=agreement.known_edges if sure else None)
        digits = 1 if percent(measured, 0) == percent(chance, 0) and measured != chance else 0
        how, of = percent(measured, digits), percent(chance, digits)
        subject = (
            f"Neighbours share a label {how} of the time"
            if sure
            else "No edge joins two labelled nodes, so agreement cannot be measured; by the model's own predictions "
            f"neighbours share a label {how} of the time"
        )
        first = f"{subject}; {here} {of}: {lean}{_doubt(agreement, lean) if sure else ''}."
    return f"{first} {_filter_words(findings, lean)}"


def lean_of(measured: float, chance: float, *, edges: int | None = None) -> Lean:
    """The side and degree of agreement; with few edges only a large difference is more than chance.

    >>> str(lean_of(0.23, 0.2)), str(lean_of(0.81, 0.18)), str(lean_of(0.02, 0.5)), str(lean_of(0.2, 0.2))
    ('slightly homophilous', 'strongly homophilous', 'strongly heterophilous', 'about chance')
    >>> str(lean_of(0.23, 0.2, edges=50))
    'too few edges to tell it from chance'
    """
    excess = measured - chance
    noise = 2 * math.sqrt(chance * (1 - chance) / edges) if edges else 0.0
    if abs(excess) < max(NEAR, noise) or not 0 < chance < 1:
        return Lean("", "", unsure=NEAR <= abs(excess) < noise)
    way = excess / (1 - chance) if excess > 0 else -excess / chance
    degree: Literal["slightly", "clearly", "strongly"] = (
        "slightly" if way < SLIGHT else "clearly" if way < STRONG else "strongly"
    )
    return Lean("homophilous" if excess > 0 else "heterophilous", degree)


def _doubt(agreement: Agreement, lean: Lean) -> str:
    few = not lean.side and agreement.known_edges < 1000
    if not few:
        return ""
    return f" ({plural(agreement.known_edges, 'edge')} between labelled nodes)"


def comparisons(findings: Findings) -> list[str]:
    """A sentence for each other model; without edges all are the same, and none has anything to teach."""
    if findings.evaluation is None or findings.data.edges == 0:
        return []
    return [comparison_words(findings.evaluation.ours, other) for other in _rivals(findings)]


def _filter_words(findings: Findings, lean: Lean | None) -> str:
    shape = filter_shape(findings.response) if findings.response is not None else None
    if shape is None:
        return missing_filter(findings)
    if findings.cut_at is not None:
        return too_brief(findings.cut_at)
    return f"The learned filter {KEEPS[shape.kind]}{_how_often(shape)}{_verdict(shape.kind, lean, findings)}."


def too_brief(epochs: int) -> str:
    """Why the filter that is there says nothing yet."""
    most = plural(epochs, "epoch")
    return f"The filter had too little time to take shape ({most} at most); give it more with --for."


def missing_filter(findings: Findings) -> str:
    """Why there is no filter to look at."""
    if any(part.model == STACK for part in findings.parts):
        return DEEP
    return "This model has no spectral filter to show."


def _how_often(shape: FilterShape) -> str:
    alike = sum(kind == shape.kind for kind in shape.kinds)
    return "" if alike == len(shape.kinds) else f" (by itself so in {alike} of {plural(len(shape.kinds), 'split')})"


def _verdict(kind: Kind, lean: Lean | None, findings: Findings) -> str:
    """Whether the filter is what the agreement of neighbours lets one expect."""
    look = (
        "look at the comparison with the MLP"
        if any(other.model.lower() == "mlp" for other in _rivals(findings))
        else "a comparison with an MLP would show whether the structure helps"
    )
    if lean is None or lean.unsure:
        return f"; {look}" if kind == "flat" else ""
    expected = {"homophilous": "low", "heterophilous": "high", "": "flat"}[lean.side]
    if kind == expected:
        return ", and that is what one expects here"
    if kind == "flat":
        return f", which is unusual for a {lean.side} graph; {look}"
    if not lean.side:
        return f"; where neighbours agree no more than by chance nothing favours that, so {look}"
    if kind == "ends":
        return f"; one expects the {expected} end in a {lean.side} graph, the other is a surprise"
    though = ", though it is only slightly so" if lean.degree == "slightly" else ""
    return f", which is unusual for a {lean.side} graph{though}; {look}"


def metric_name(metric: str) -> str:
    """The metric's name for people.

    >>> metric_name("roc_auc")
    'ROC-AUC'
    """
    return NAMES.get(metric, metric.replace("_", " "))


def guess(evaluation: Evaluation, metric: str) -> float:
    """What guessing reaches: the largest class's share of accuracy, one half of the area under a ROC curve."""
    return 0.5 if metric == "roc_auc" else evaluation.majority


def score_words(evaluation: Evaluation, metric: str) -> str:
    """The score with its interval, against guessing."""
    ours, by_guess = evaluation.ours, guess(evaluation, metric)
    within = f" (95% interval {percent_range(ours.interval)})" if all(map(is_known, ours.interval)) else ""
    lowest, highest = ours.interval
    if within and lowest > by_guess:
        judged = "clearly better than"
    elif within and highest < by_guess:
        judged = "worse than"
    else:
        judged = "not clearly better than"
    what = "guessing at random" if metric == "roc_auc" else "guessing the largest class"
    reached = f"{percent(ours.mean)} {metric_name(metric)}{within}"
    return (
        f"On nodes whose labels it had not seen it reaches {reached}, {judged} {what}, which gives {percent(by_guess)}."
    )


def comparison_words(ours: Scores, other: Scores) -> str:
    """Whether a difference to another model is more than noise, by the rule of :func:`comparison_rule`."""
    name, lesson = {
        "mlp": ("an MLP, which sees no edges", ("The structure is worth it", "The structure does harm here")),
        "gcn": ("a GCN, which only smooths", ("A filter of its own pays", "Plain smoothing does better here")),
    }.get(other.model.lower(), (other.model, ("It is better", "It is worse")))
    found = compare(ours.splits, other.splits, ours.ratio) if len(ours.splits) == len(other.splits) else None
    if found is None or not has_width(found.low, found.high):
        return f"From {plural(len(ours.splits), 'split')} it cannot be told whether it is better than {name}."
    size = f"{points(abs(found.mean)).lstrip('+')} points {'better' if found.mean > 0 else 'worse'} than {name}"
    interval = f"95% interval {points(max(found.low, -1.0))} to {points(min(found.high, 1.0))}"
    if found.low > 0:
        return f"{lesson[0]}: {size} ({interval})."
    if found.high < 0:
        return f"{lesson[1]}: {size} ({interval})."
    return f"Within noise of {name}: {points(found.mean)} points ({interval})."


def comparison_rule(ours: Scores) -> str:
    """How differences between models are judged, in words."""
    return RULE.format(rest=f"{1 / ours.ratio:.3g}")


def _rivals(findings: Findings) -> list[Scores]:
    evaluation = findings.evaluation
    return [] if evaluation is None else [one for one in evaluation.others if one.model != evaluation.ours.model]
