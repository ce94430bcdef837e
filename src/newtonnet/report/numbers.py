"""The page's sections for numbers as targets, in place of those of classes."""

import numpy as np

from newtonnet.meaning import counted

from . import figures
from .findings import Data, GraphHomophily, IntervalCoverage, NumberResults
from .markup import facts, fill, paragraphs, plot, table
from .words import amount, capitalised, decimal, metric_name, percent

NUMBER_MEANINGS = {
    "neighbours' correlation": "Neighbours' correlation: of the known numbers at the two ends of an edge; 1 where "
    "neighbours are equal, 0 by chance, below 0 where they are opposite.",
    "learned correlation": "Learned correlation: the same with predicted numbers where none is known.",
}
"""Explanations of the numbers in the summary."""


def summary_numbers(homophily: GraphHomophily, evaluation: NumberResults | None, metric: str) -> dict[str, str]:
    """The most important numbers by name."""
    numbers = {
        "neighbours' correlation": decimal(homophily.measured, 2),
        "learned correlation": decimal(homophily.learned, 2),
    }
    if evaluation is None:
        return numbers
    return {
        f"held-out {metric_name(metric)}": percent(evaluation.ours.mean),
        "mean absolute error": amount(evaluation.errors.mae),
        **numbers,
    }


def number_sections(evaluation: NumberResults, name: str, comparison: str) -> str:
    """The comparison with other models, which is given, errors, predicted and true numbers, residuals and intervals."""
    return fill(
        "numbers.html",
        comparison=comparison,
        rule=fill("comparison_rule.html") if evaluation.others else "",
        errors=_errors(evaluation, name),
        predicted=_predicted(evaluation, name),
        residuals=_residuals(evaluation, name),
        intervals=_intervals(evaluation.intervals),
    )


def target_facts(data: Data) -> str:
    """The known numbers in a table."""
    target = data.target
    assert target is not None
    names = ("lowest", "first quarter", "median", "third quarter", "highest")
    cells = list(zip(names, map(amount, target.quantiles), strict=True))
    cells += [("mean", amount(target.mean)), ("standard deviation", amount(target.std))]
    cells.append(("different numbers", f"{target.different:,}"))
    return table((target.name, "value"), cells, caption=f"Known numbers of {target.name}")


def _errors(evaluation: NumberResults, name: str) -> str:
    errors = evaluation.errors
    numbers = {
        "R²": percent(errors.r2),
        "mean absolute error": amount(errors.mae),
        "root mean squared error": amount(errors.rmse),
        "mean absolute error of always the median": amount(errors.constant_mae),
        "root mean squared error of always the mean": amount(errors.constant_rmse),
    }
    rows = [
        (f"{amount(low)} to {amount(high)}", f"{count:,}", amount(mae), amount(bias))
        for low, high, count, mae, bias in evaluation.parts
    ]
    header = (f"true {name}", "nodes", "mean absolute error", "predicted minus true")
    by_size = table(header, rows, caption=f"Held-out errors by the true {name}")
    return f'<div class="facts">{facts(numbers)}</div>{by_size}'


def _predicted(evaluation: NumberResults, name: str) -> str:
    count = counted(len(evaluation.truth), "held-out node")
    return plot(
        "predicted-plot",
        figures.predicted_figure(evaluation, name),
        alternative=f"Predicted against true {name} of {count}; R² {percent(evaluation.errors.r2)}.",
        caption="Each dot is a held-out node. On the dotted line, the prediction is right.",
        max_width=620,
    )


def _residuals(evaluation: NumberResults, name: str) -> str:
    residual = np.array(evaluation.predicted) - np.array(evaluation.truth)
    low, high = (amount(float(value)) for value in np.quantile(residual, [0.25, 0.75]))
    spread = f"half of the residuals lie between {low} and {high}"
    left = plot(
        "residuals-plot",
        figures.residual_histogram(residual),
        alternative=f"Histogram of the residuals: {spread}.",
        caption=f"{capitalised(spread)}.",
    )
    right = plot(
        "residuals-predicted-plot",
        figures.residual_figure(evaluation, name),
        alternative=f"Residuals against predicted {name}.",
        caption="A good model leaves no pattern here: the same spread everywhere, around 0.",
    )
    return f'<div class="pair">{left}{right}</div>'


def _intervals(intervals: IntervalCoverage | None) -> str:
    if intervals is None:
        return paragraphs("There are no held-out predictions to calibrate intervals with.")
    text = (
        f"The columns lower and upper hold an interval for every node: the true number is inside for "
        f"{percent(intervals.aim)} of the nodes. On held-out nodes it was for {percent(intervals.reached)}; intervals "
        f"are {amount(intervals.width)} wide on average."
    )
    doubt = (
        "All intervals have about the same width, that of the errors of all nodes, so they are too wide for easy nodes "
        "and too narrow for hard ones. The coverage holds for nodes like the known ones. It is doubtful for nodes of a "
        "later time, of another graph, or whose number is unknown for a reason."
    )
    return paragraphs(text) + paragraphs(doubt, css_class="quiet")
