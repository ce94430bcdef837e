"""The findings in words. The headline of the page is :func:`headline`; below are the formats of all numbers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from newtonnet.meaning import counted

from .findings import (
    FilterShape,
    Findings,
    GraphHomophily,
    HeldOutResults,
    Kind,
    ModelScores,
    NumberResults,
    PrecisionRecall,
    Response,
    filter_shape,
)

NEAR = 0.02
"""A homophily closer to chance than this is called chance, however many edges there are."""
SLIGHT, STRONG = 0.25, 2 / 3
"""Shares of the distance from chance to 1 (or to 0) at which the adverb changes."""
Z = 1.959964
"""Standard errors to each side of a 95% interval."""
ENOUGH = 10
"""Nodes of a class or group for which something can be said."""
UNRELATED = 0.05
"""A correlation of neighbours nearer to 0 than this is called chance, however many edges there are."""
DASH = "–"

KEEPS: dict[Kind, str] = {
    "low": "keeps low frequencies",
    "high": "keeps high frequencies",
    "middle": "keeps the middle frequencies and suppresses low and high ones",
    "ends": "keeps low and high frequencies and suppresses the middle ones",
    "flat": "is nearly constant and leaves the features unchanged",
    "even": "keeps all three bands about equally, though it is not constant",
}
NO_EDGES = "The graph has no edges, so the model is an MLP on the features and nothing is learned from neighbours."
NO_FILTER = "This model has no spectral filter."
UNDRAWN = {"newton-stack": "a deep stack of filters", "boosting": "boosted trees", "ridge": "ridge regression"}
"""Models of the portfolio that have no single response to draw."""
ADVICE = "compare with an MLP to see whether the edges help"


@dataclass(frozen=True)
class HomophilyLevel:
    """On which side of chance a graph's homophily lies, and how far; both are empty near chance."""

    side: str
    degree: str
    unsure: bool = False
    """Whether there are too few edges to know the side."""


def headline(findings: Findings) -> str:
    """The headline of a fit: homophily compared with chance, and what the learned filter does."""
    if findings.data.edges == 0:
        return NO_EDGES
    if findings.data.target is not None:
        level, text = correlation_words(findings.homophily)
    else:
        level, text = _homophily_words(findings.homophily, len(findings.data.class_names))
    shape = filter_shape(findings.response) if findings.response is not None else None
    if shape is None:
        return f"{text} {missing_filter(findings)}"
    if findings.cut_at is not None:
        return f"{text} {too_brief(findings.cut_at)}"
    compared = findings.evaluation is not None and any(other.model == "mlp" for other in findings.evaluation.others)
    return f"{text} {_filter_words(shape, level, 'see the comparison with the MLP' if compared else ADVICE)}"


def records_headline(homophily: GraphHomophily, response: Response | None, *, classes: int) -> str:
    """The headline of stored records, in the same words as that of a fit; without a filter, homophily alone."""
    level, text = _homophily_words(homophily, classes)
    shape = filter_shape(response) if response is not None else None
    return text if shape is None else f"{text} {_filter_words(shape, level, ADVICE)}"


def describe(findings: Findings) -> list[str]:
    """The findings in sentences: how good, compared with what, for whom it fails, and then the headline."""
    texts = [headline(findings)]
    if findings.evaluation is not None:
        evaluation, metric = findings.evaluation, findings.metric
        compared = " ".join(comparisons(findings))
        if isinstance(evaluation, NumberResults):
            first = [number_score_words(evaluation, metric, findings.data.class_names[0]), compared]
        else:
            failing = failures(evaluation, findings.data.class_names)
            first = [score_words(evaluation, metric), compared, failing]
        texts = [*first, *texts]
    return [text for text in texts if text]


def failures(evaluation: HeldOutResults, class_names: Sequence[str]) -> str:
    """For which class, and for which group of nodes, the model is wrong most often; empty if none stands out."""
    counts = [sum(row) for row in evaluation.confusion]
    right = sum(row[i] for i, row in enumerate(evaluation.confusion)) / max(sum(counts), 1)
    classes = [
        (row[i] / count, f"nodes of class {name} ({percent(row[i] / count, 0)} of {count:,})")
        for i, (row, count, name) in enumerate(zip(evaluation.confusion, counts, class_names, strict=True))
        if count >= ENOUGH and share_interval(row[i] / count, count)[1] < right
    ]
    groups = [
        (group.right, f"nodes with {group.name} ({percent(group.right, 0)} of {group.nodes:,})")
        for group in evaluation.groups
        if group.nodes >= ENOUGH and group.interval[1] < right
    ]
    worst = [min(found)[1] for found in (classes, groups) if found]
    if not worst:
        return ""
    return f"Of all held-out nodes {percent(right, 0)} are predicted right; fewest of {' and of '.join(worst)}."


def share_interval(share: float, count: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share of so many nodes.

    >>> [round(end, 3) for end in share_interval(0.5, 10)]
    [0.237, 0.763]
    """
    spread = Z**2 / count
    middle = (share + spread / 2) / (1 + spread)
    reach = Z * math.sqrt(max(share * (1 - share), 0) / count + spread / 4 / count) / (1 + spread)
    return max(middle - reach, 0.0), min(middle + reach, 1.0)


def _homophily_words(homophily: GraphHomophily, classes: int) -> tuple[HomophilyLevel | None, str]:
    """The level of a graph's homophily, None where it is unknown, and the sentences that state it."""
    sure = is_known(homophily.measured)
    share = homophily.measured if sure else homophily.learned
    chance = homophily.chance if is_known(homophily.chance) else 1 / classes if classes else None
    if not is_known(share) or not is_known(chance):
        return None, "Homophily is unknown: no edge joins two labelled nodes."
    level = homophily_level(share, chance, edges=homophily.labelled_edges if sure else None)
    digits = 1 if percent(share, 0) == percent(chance, 0) and share != chance else 0
    subject = (
        "Neighbours share a label"
        if sure
        else "No edge joins two labelled nodes, so homophily cannot be measured; according to the model's predictions, "
        "neighbours share a label"
    )
    by_chance = "by chance" if is_known(homophily.chance) else "by chance among classes of equal size"
    text = f"{subject} {percent(share, digits)} of the time; {percent(chance, digits)} is expected {by_chance}."
    if level.unsure:
        few = counted(homophily.labelled_edges, "edge")
        return level, f"{text} With {few} between labelled nodes, the difference may be chance."
    kind = f"{level.degree} {level.side}" if level.side else "neither homophilous nor heterophilous"
    return level, f"{text} The graph is {kind}."


def correlation_words(homophily: GraphHomophily) -> tuple[HomophilyLevel | None, str]:
    """The level of the neighbours' correlation, None where it is unknown, and the sentences that state it."""
    sure = is_known(homophily.measured)
    found = homophily.measured if sure else homophily.learned
    if not is_known(found):
        return None, "The correlation of neighbours is unknown: no edge joins two nodes with a known number."
    subject = (
        "Neighbours' numbers have a correlation of"
        if sure
        else ("No edge joins two nodes with a known number; the predicted numbers of neighbours have a correlation of")
    )
    text = f"{subject} {decimal(found, 2)}; 0 is expected by chance."
    noise = 2 / math.sqrt(homophily.labelled_edges) if sure and homophily.labelled_edges else 0.0
    if abs(found) < max(UNRELATED, noise):
        unsure = abs(found) >= UNRELATED
        few = f" With {counted(homophily.labelled_edges, 'edge')} between known nodes, this may be chance."
        neither = " The graph is neither homophilous nor heterophilous."
        return HomophilyLevel("", "", unsure=unsure), text + (few if unsure else neither)
    degree = "slightly" if abs(found) < SLIGHT else "clearly" if abs(found) < STRONG else "strongly"
    level = HomophilyLevel("homophilous" if found > 0 else "heterophilous", degree)
    return level, f"{text} The graph is {level.degree} {level.side}."


def homophily_level(share: float, chance: float, *, edges: int | None = None) -> HomophilyLevel:
    """The side and degree of a homophily; with few edges, only a large difference from chance counts.

    >>> homophily_level(0.23, 0.2).degree, homophily_level(0.02, 0.5).side, homophily_level(0.2, 0.2).side
    ('slightly', 'heterophilous', '')
    >>> homophily_level(0.23, 0.2, edges=50).unsure
    True
    """
    excess = share - chance
    noise = 2 * math.sqrt(chance * (1 - chance) / edges) if edges else 0.0
    if abs(excess) < max(NEAR, noise) or not 0 < chance < 1:
        return HomophilyLevel("", "", unsure=NEAR <= abs(excess) < noise)
    way = excess / (1 - chance) if excess > 0 else -excess / chance
    degree = "slightly" if way < SLIGHT else "clearly" if way < STRONG else "strongly"
    return HomophilyLevel("homophilous" if excess > 0 else "heterophilous", degree)


def _filter_words(shape: FilterShape, level: HomophilyLevel | None, advice: str) -> str:
    """What the filter keeps, in how many splits, and whether that is expected at this homophily."""
    same = sum(kind == shape.kind for kind in shape.kinds)
    count = "" if same == len(shape.kinds) else f" (in {same} of {counted(len(shape.kinds), 'split')})"
    return f"The learned filter {KEEPS[shape.kind]}{count}{_verdict(shape.kind, level, advice)}."


def _verdict(kind: Kind, level: HomophilyLevel | None, advice: str) -> str:
    if level is None or level.unsure:
        return f"; {advice}" if kind == "flat" else ""
    expected = {"homophilous": "low", "heterophilous": "high", "": "flat"}[level.side]
    if not level.side:
        chance = "neighbours share labels only by chance"
        return f", as expected when {chance}" if kind == expected else f", although {chance}; {advice}"
    if kind == expected:
        return f", as expected for a {level.side} graph"
    if kind == "ends":
        return f"; for a {level.side} graph, only the {expected} ones are expected"
    slightly = " (this one is only slightly so)" if level.degree == "slightly" else ""
    return f", which is unusual for a {level.side} graph{slightly}; {advice}"


def too_brief(epochs: int) -> str:
    """Why the filter should not be interpreted yet."""
    most = counted(epochs, "epoch")
    return f"The filter was trained too briefly to be interpreted ({most} at most); allow more time with --time-limit."


def missing_filter(findings: Findings) -> str:
    """Why there is no filter to show."""
    return undrawn([member.model for member in findings.ensemble]) or NO_FILTER


def undrawn(models: Sequence[str]) -> str:
    """A sentence on the models that have no single response; empty without any.

    >>> undrawn(["newton-stack", "boosting"])
    'The best model is a deep stack of filters with boosted trees, which has no single response to draw.'
    """
    names = [UNDRAWN[model] for model in dict.fromkeys(models) if model in UNDRAWN]
    return f"The best model is {' with '.join(names)}, which has no single response to draw." if names else ""


def metric_name(metric: str) -> str:
    """The display name of a metric.

    >>> metric_name("roc_auc"), metric_name("balanced_accuracy")
    ('ROC-AUC', 'balanced accuracy')
    """
    named = {"roc_auc": "ROC-AUC", "f1_macro": "macro F1", "r2": "R²", "d2_absolute_error": "D² of absolute errors"}
    return named.get(metric, metric.replace("_", " "))


def guess(evaluation: HeldOutResults | NumberResults, metric: str) -> float:
    """The score of guessing: by the largest class for accuracy and F1, a number by its mean, others at random."""
    if isinstance(evaluation, NumberResults):
        return 0.0
    classes, largest = len(evaluation.confusion), evaluation.majority
    by_chance = {
        "roc_auc": 0.5,
        "balanced_accuracy": 1 / classes,
        "f1_macro": 2 * largest / (1 + largest) / classes,
        "average_precision": 1 - largest if classes == 2 else 1 / classes,
    }
    return by_chance.get(metric, largest)


def score_words(evaluation: HeldOutResults, metric: str) -> str:
    """The score with its interval, compared with guessing."""
    ours, by_guess = evaluation.ours, guess(evaluation, metric)
    low, high = ours.interval
    within = f" (95% interval {percent_range(ours.interval)})" if is_known(low) else ""
    verdict = (
        "clearly better than" if low > by_guess else "worse than" if high < by_guess else "not clearly better than"
    )
    what = "always predicting the largest class" if metric in ("accuracy", "f1_macro") else "random guessing"
    name = capitalised(metric_name(metric))
    return f"{name} on held-out nodes is {percent(ours.mean)}{within}, {verdict} {what} ({percent(by_guess)})."


def number_score_words(evaluation: NumberResults, metric: str, name: str) -> str:
    """The score with its interval, and the errors in the target's own units."""
    ours, errors = evaluation.ours, evaluation.errors
    low, high = ours.interval
    within = f" (95% interval {percent_range(ours.interval)})" if is_known(low) else ""
    verdict = "clearly better than" if low > 0 else "worse than" if high < 0 else "not clearly better than"
    constant = "mean" if metric == "r2" else "median"
    text = (
        f"{metric_name(metric)} on held-out nodes is {percent(ours.mean)}{within}, {verdict} always predicting the "
        f"{constant} (0%). The mean absolute error of {name} is {amount(errors.mae)}, that of always predicting the "
        f"median {amount(errors.constant_mae)}; root mean squared error {amount(errors.rmse)}."
    )
    return f"{text} {evaluation.method}".rstrip()


def comparisons(findings: Findings) -> list[str]:
    """A sentence for each other model; none for a graph without edges, on which all models are the same."""
    if findings.evaluation is None or findings.data.edges == 0:
        return []
    numbers = findings.data.target is not None
    return [comparison_words(other, numbers=numbers) for other in findings.evaluation.others]


def threshold_words(curve: PrecisionRecall, names: Sequence[str]) -> str:
    """From which probability on the rarer of two classes is predicted, and what that reached where it was chosen."""
    name, chosen = capitalised(names[curve.place]), curve.chosen
    if chosen is None:
        return f"{name} is predicted where it is more probable than not."
    there = "" if chosen.held_out is None else f" (which is {percent(chosen.held_out)} for those models)"
    return (
        f"{name} is predicted from a probability of {percent(chosen.value)} on. It was chosen by {chosen.rule} where "
        f"nodes were predicted by models that were not trained on them{there}: precision {percent(chosen.precision)}, "
        f"recall {percent(chosen.recall)}."
    )


def comparison_words(other: ModelScores, *, numbers: bool = False) -> str:
    """Whether the difference from another model is more than noise: its 95% interval over nodes excludes 0.

    For ``numbers`` as targets boosted trees are given the features alone.
    """
    own = {"boosting": ("boosted trees on the features alone", "The edges help", "")} if numbers else {}
    name, better, worse = {
        "mlp": ("an MLP, which ignores the edges", "The edges help", "The edges do harm"),
        "tuned-gcn": ("a tuned residual GCN", "", ""),
        "boosting": ("boosted trees on neighbourhood features", "", ""),
        **own,
    }.get(other.model.lower(), (other.model, "", ""))
    mean, low, high = other.ahead or (math.nan, math.nan, math.nan)
    if not has_width(low, high):
        return f"These nodes cannot show whether the model is better than {name}."
    size = f"{signed_points(abs(mean)).lstrip('+')} points"
    interval = f"95% interval {signed_points(low)} to {signed_points(high)}"
    if low > 0 or high < 0:
        meaning, which = (better, "better") if low > 0 else (worse, "worse")
        if not meaning:
            return f"{which.capitalize()} than {name} by {size} ({interval})."
        return f"{meaning}: {size} {which} than {name} ({interval})."
    return f"No clear difference from {name}: {signed_points(mean)} points ({interval})."


def is_known(number: float | None) -> TypeGuard[float]:
    """Whether there is a finite number to show."""
    return number is not None and math.isfinite(number)


def has_width(low: float, high: float) -> bool:
    """Whether an interval is informative: it has no width where all of a few splits happen to score the same.

    >>> has_width(0.25, 0.5), has_width(0.5, 0.5 + 1e-16), has_width(float("nan"), float("nan"))
    (True, False, False)
    """
    return high - low > 1e-9


def percent(share: float | None, digits: int = 1) -> str:
    """A share as a percentage.

    >>> percent(0.2345), percent(0.2345, 0), percent(None), percent(float("nan"))
    ('23.4%', '23%', '–', '–')
    """
    return f"{100 * share:.{digits}f}%" if is_known(share) else DASH


def percent_range(interval: tuple[float, float]) -> str:
    """An interval of shares as percentages.

    >>> percent_range((0.25, 0.5)), percent_range((float("nan"), 0.5))
    ('25.0% to 50.0%', '–')
    """
    return " to ".join(map(percent, interval)) if all(map(is_known, interval)) else DASH


def signed_points(difference: float) -> str:
    """A difference of two shares in percentage points, with its sign.

    >>> signed_points(0.0512), signed_points(-0.003), signed_points(-0.0001)
    ('+5.1', '−0.3', '0.0')
    """
    text = f"{100 * difference:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def decimal(number: float | None, digits: int = 3) -> str:
    """A number with a fixed number of decimals.

    >>> decimal(0.25), decimal(None)
    ('0.250', '–')
    """
    return f"{number:.{digits}f}" if is_known(number) else DASH


def amount(number: float | None) -> str:
    """A number of the target's own units in four digits.

    >>> amount(1234567.0), amount(0.000123456), amount(12.3456), amount(None)
    ('1,235,000', '0.0001235', '12.35', '–')
    """
    if not is_known(number):
        return DASH
    if number == 0:
        return "0"
    digits = 3 - math.floor(math.log10(abs(number)))
    return f"{round(number, digits):,.{max(digits, 0)}f}" if -4 < digits < 16 else f"{number:.4g}"


def duration(seconds: float | None) -> str:
    """A time in its two largest units.

    >>> duration(0.42), duration(75), duration(7261), duration(None)
    ('0.4 s', '1 min 15 s', '2 h 1 min', '–')
    """
    if not is_known(seconds):
        return DASH
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def capitalised(text: str) -> str:
    """The text with a capital first letter, the rest as it is.

    >>> capitalised("accuracy"), capitalised("ROC-AUC")
    ('Accuracy', 'ROC-AUC')
    """
    return text[:1].upper() + text[1:]


def plain(value: object) -> str:
    """The value of a setting as text.

    >>> plain(0.05), plain(True), plain(None), plain((1.0, 2.0)), plain({"a": 1})
    ('0.05', 'yes', '–', '1, 2', 'a 1')
    """
    match value:
        case None:
            return DASH
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}" if math.isfinite(value) else DASH
        case Mapping():
            return ", ".join(f"{plain(name)} {plain(one)}" for name, one in value.items())
        case list() | tuple():
            return ", ".join(map(plain, value))
        case _:
            return str(value)
