"""``newtonnet fit``: a graph in two tables to a model, predictions for every node, and a page."""

import textwrap
import time
from collections.abc import Container
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from newtonnet.meaning import escaped
from newtonnet.progress import console
from newtonnet.tables import Dates, UnknownEdges

from . import options
from .app import STOPPED, app, load_torch, print_json

if TYPE_CHECKING:
    from newtonnet.analysis import Analysis


@app.command()
def fit(
    context: typer.Context,
    nodes: Annotated[Path, options.table(help="Table of nodes: CSV, Parquet or Excel.")],
    edges: Annotated[Path, options.table(help="Table of edges: CSV, Parquet or Excel.")],
    out: Annotated[Path, typer.Option(help="Folder for the model, predictions.csv and report.html.")],
    label_column: Annotated[
        str | None, options.table(help="Column with the class of each node; blank if unknown.")
    ] = None,
    target_column: Annotated[
        str | None, options.table(help="Column with a number to predict instead of a class; blank if unknown.")
    ] = None,
    id_column: Annotated[str | None, options.table(help="Column of node ids. Default: id, or the first.")] = None,
    from_column: Annotated[
        str | None, options.table(help="Column with one end of each edge. Default: source, or the first.")
    ] = None,
    to_column: Annotated[
        str | None, options.table(help="Column with the other end of each edge. Default: target, or the second.")
    ] = None,
    weight_column: Annotated[
        str | None, options.table(help="Column with the weight of each edge. Default: weight, if it exists.")
    ] = None,
    split_column: Annotated[
        str | None, options.table(help="Column that says train, validation or test; the page reports the test nodes.")
    ] = None,
    ignore: Annotated[
        list[str] | None, options.table(metavar="COLUMN", help="Column that is not a feature; repeatable.")
    ] = None,
    categorical: Annotated[
        list[str] | None, options.table(metavar="COLUMN", help="Column whose numbers are codes; repeatable.")
    ] = None,
    no_standardise: Annotated[bool, options.table("--no-standardise", help="Do not standardise numbers.")] = False,
    unknown_edges: Annotated[UnknownEdges, options.table(help=options.UNKNOWN)] = "error",
    dates: Annotated[
        Dates, options.table(help="Order of dates in texts: 2020-12-31 is always read; 31.12.2020 if day-first.")
    ] = "year-first",
    text_encoding: Annotated[str, options.table(help="Text encoding of CSV files.")] = "utf-8",
    model: Annotated[
        str, options.model(help=f"One of: {options.MODELS}, boosting, ridge; or a model of an installed package.")
    ] = "newtonnet",
    no_tune: Annotated[bool, options.model("--no-tune", help="Train the model's default setting only.")] = False,
    assign: options.Assign = None,
    transferable: Annotated[
        bool, options.model("--transferable", help="Use only models that can predict on other graphs.")
    ] = False,
    regime: options.Regime = options.MEMORY,
    store: Annotated[Path | None, options.run(help="Folder for propagated features. Default: temporary.")] = None,
    folds: Annotated[
        int | None, options.evaluation(show_default="5 if time allows", help="Folds to fit again on; 0: no evaluation.")
    ] = None,
    compare: Annotated[bool, options.evaluation(help="Compare with an MLP, a tuned GCN and boosting.")] = True,
    metric: Annotated[
        Literal["accuracy", "balanced_accuracy", "f1_macro", "roc_auc", "average_precision"],
        options.evaluation(help="Metric of all scores of classes."),
    ] = "accuracy",
    loss: Annotated[
        Literal["squared", "absolute"],
        options.model(
            help="With --target-column: squared errors, or absolute ones, on which a few large numbers weigh less."
        ),
    ] = "squared",
    class_weight: Annotated[
        str | None,
        options.model(help="balanced, so that every class counts alike, or weights such as fraud=5,ok=1."),
    ] = None,
    threshold: Annotated[
        str | None,
        options.model(help="When to predict the rarer of two classes: f1, precision=0.9, recall=0.8. Default: 50%."),
    ] = None,
    time_limit: Annotated[str, options.run(metavar="TIME", help="Time for everything, such as 90s or 30m.")] = "4m",
    max_epochs: options.MaxEpochs = 1000,
    patience: options.Patience = 100,
    threads: options.Threads = None,
    max_memory: Annotated[
        str | None,
        options.run(
            metavar="SIZE", help="The most memory that the process may hold, such as 2GB; what needs more is left out."
        ),
    ] = None,
    seed: Annotated[int, options.run(min=0, help="Random seed of folds, initial weights and dropout.")] = 0,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that holds other files, or the run of other tables.")
    ] = False,
    safe_cells: options.SpreadsheetSafe = False,
    json: options.Json = False,
) -> int:
    """Classify the nodes of your own graph, or predict a number for each; write a model, predictions, and a page.

    The model gets 40% of the time; the rest is for an MLP, a tuned GCN and boosted trees on the same nodes, and for
    fits on held-out folds if they can be done in time. Otherwise, each labelled node is held out from some members.
    With --target-column, an MLP and boosted trees on the features alone are compared with.

    A line says how much memory the run takes before training starts; --max-memory sets a limit.

    Ctrl-C ends the running step, skips the others and writes the results (exit code 130); a second one stops at once.
    SIGTERM and SIGHUP do the same (143 and 129).

    Example: newtonnet fit --nodes nodes.csv --edges edges.csv --label-column label --out run
    """
    began, limit, room = time.monotonic(), options.seconds(time_limit), options.memory(max_memory)
    options.check_regime(regime, model, store=store)
    _check_columns(
        label_column, target_column, regime=regime, metric=metric, rules=(class_weight, threshold), loss=loss
    )
    settings = options.assignments(assign)
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        console.print(escaped(line), style="dim", soft_wrap=True)

    load_torch()
    from newtonnet.analysis import analyse
    from newtonnet.estimator import NewtonNetClassifier, NewtonNetRegressor
    from newtonnet.tables import TableOptions

    shared: dict[str, Any] = {
        "tune": "off" if no_tune else "auto",
        "settings": settings,
        "transferable": transferable,
        "max_epochs": max_epochs,
        "patience": patience or None,
        "threads": threads,
        "max_memory": room,
        "random_state": seed,
    }
    numbers = target_column is not None
    analysis = analyse(
        nodes,
        edges,
        label_column=label_column,
        target_column=target_column,
        tables=TableOptions(
            id_column=id_column,
            from_column=from_column,
            to_column=to_column,
            weight_column=weight_column,
            split_column=split_column,
            ignore=tuple(ignore or ()),
            categorical=tuple(categorical or ()),
            standardise=not no_standardise,
            unknown_edges=unknown_edges,
            dates=dates,
            text_encoding=text_encoding,
        ),
        classifier=None
        if numbers
        else NewtonNetClassifier(
            model,
            regime=regime,
            store=store,
            metric=metric,
            class_weight=_weights(class_weight),
            threshold=threshold,
            **shared,
        ),
        regressor=NewtonNetRegressor(model, loss=loss, **shared) if numbers else None,
        folds=folds,
        compare=compare,
        time_limit=limit,
        started=began,
        title=title,
        folder=out,
        force=force,
        command=options.command_line(context),
        safe_cells=safe_cells,
        progress=True,
        message=say,
    )
    if json:
        print_json(analysis.summary)
    else:
        _print_summary(analysis, said)
        _print_end(analysis, time.monotonic() - began)
    return STOPPED if analysis.summary["stopped"] else 0


def _check_columns(
    label_column: str | None,
    target_column: str | None,
    *,
    regime: str,
    metric: str,
    rules: tuple[str | None, ...],
    loss: str,
) -> None:
    """Refuse options for classes and for numbers that do not go together, before any work is done."""
    if label_column is None and target_column is None:
        raise ValueError("give --label-column for a column of classes, or --target-column for a column of numbers")
    if label_column is not None and target_column is not None:
        raise ValueError(
            "--label-column is for classes and --target-column for numbers; give one of them. The ends of edges are "
            "--from-column and --to-column."
        )
    if target_column is not None and regime != options.MEMORY:
        raise ValueError(f"--target-column needs --regime {options.MEMORY}; numbers are not learned out of core")
    if target_column is not None and (metric != "accuracy" or any(rule is not None for rule in rules)):
        raise ValueError("--metric, --class-weight and --threshold are for classes; leave them out, or see --loss")
    if target_column is None and loss != "squared":
        raise ValueError("--loss is for numbers; give --target-column, or leave it out")


def _print_summary(analysis: "Analysis", said: Container[str]) -> None:
    """Print the scores, what the filter does, and warnings that were not said before."""
    from newtonnet.meaning import counted
    from newtonnet.report import draw_response

    findings, summary, learned = analysis.findings, analysis.summary, analysis.model.filter_
    assert findings is not None
    data = findings.data
    counts = (counted(data.nodes, "node"), counted(data.edges, "edge"), counted(data.features, "feature"))
    aim = counted(len(data.class_names), "class") if data.target is None else f"target {escaped(data.target.name)}"
    print(f"{findings.model} on {', '.join(counts)}, {aim}, {data.labelled:,} labelled")
    _print_scores(analysis)
    print()
    _print_wrapped(summary["headline"])
    if learned is not None and data.edges and findings.cut_at is None:
        print(draw_response(learned.scaled.mean(axis=0).tolist()))
    for remark in summary["remarks"]:
        if f"note: {remark}" not in said:
            _print_wrapped(f"note: {remark}")


def _print_end(analysis: "Analysis", seconds: float) -> None:
    """Print how long the command took, and the files that one opens."""
    from newtonnet.analysis import CARD, MODEL, PAGE, PREDICTIONS
    from newtonnet.report import duration

    ended = "stopped after" if analysis.summary["stopped"] else "done in"
    print(f"\n{ended} {duration(seconds)}; in {analysis.folder}: {PAGE}, {PREDICTIONS}, {MODEL}, {CARD}")


def _print_scores(analysis: "Analysis") -> None:
    """Print the held-out score beside those of the other models."""
    from newtonnet.analysis import FEW
    from newtonnet.meaning import counted
    from newtonnet.report import amount, comparisons, metric_name, percent, percent_range, threshold_words

    findings, summary = analysis.findings, analysis.summary
    assert findings is not None
    name, ours = metric_name(findings.metric), summary["cross_validation"]
    if ours is None and findings.data.labelled < FEW:
        print(f"\n{counted(findings.data.labelled, 'labelled node')}: too few to measure a score")
        return
    if ours is None:
        reached = percent(summary["validation"])
        print(f"\n{name} {reached} on the labels held out for tuning: too optimistic, the model was chosen by them")
        return
    assert findings.evaluation is not None
    print(f"\n{name} on held-out nodes")
    _print_wrapped(findings.evaluation.method)
    for model, scores in {findings.model: ours, **summary["others"]}.items():
        interval = f"   95% interval {percent_range(scores['interval'])}" if scores["interval"] else ""
        print(f"  {model:<14}{percent(scores['mean']):>6}{interval}")
    baseline = {
        "r2": "the mean",
        "d2_absolute_error": "the median",
        "accuracy": "largest class",
        "f1_macro": "largest class",
    }
    print(f"  {baseline.get(findings.metric, 'random guess'):<14}{percent(summary['guess']):>6}")
    if errors := summary.get("errors"):
        mae, rmse, constant = (amount(errors[name]) for name in ("mae", "rmse", "constant_mae"))
        print(f"  mean absolute error {mae} (always the median: {constant}), root mean squared error {rmse}")
    if intervals := summary.get("intervals"):
        width = amount(intervals["width"])
        print(f"  90% intervals held {percent(intervals['reached'])} of the held-out numbers; their width is {width}")
    if findings.curve is not None and findings.curve.chosen is not None:
        _print_wrapped(threshold_words(findings.curve, findings.data.class_names))
    for text in comparisons(findings):
        _print_wrapped(text)


def _print_wrapped(text: str) -> None:
    print(textwrap.fill(escaped(text), get_terminal_size().columns, break_long_words=False, break_on_hyphens=False))


def _weights(text: str | None) -> str | dict[str, float] | None:
    """``balanced``, or weights by class from ``fraud=5,ok=1``."""
    if text is None or "=" not in text:
        return text
    pairs = [part.rpartition("=") for part in text.split(",")]
    try:
        return {name.strip(): float(weight) for name, _, weight in pairs}
    except ValueError:
        raise ValueError(f"--class-weight must be balanced, or weights such as fraud=5,ok=1; got {text!r}") from None
