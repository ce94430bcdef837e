"""The model card: data, protocol, metrics, limits and intended use of a model, in plain English, as Markdown."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet import __version__
from newtonnet.meaning import counted, escaped, listed
from newtonnet.metrics import decide

from .members import reads_labels

FEW = 20
"""Labelled nodes of a class below which its figures are named as uncertain."""

HELD_OUT = "Each labelled node is predicted by members that were not trained on it."


def model_card(
    model: Any, outcome: Mapping[str, Any] | None = None, tables: Sequence[str] = (), column: str | None = None
) -> str:
    """The card of a fitted classifier or regressor.

    Args:
        model: the estimator.
        outcome: results of the run that made it, as in run.json; what the estimator knows itself if not given.
        tables: sentences on the tables that it was fitted on.
        column: the column of the classes, for the title.
    """
    found = outcome or {}
    parts = {
        "Model": _model(model),
        "Data": [*_data(model, found), *map(_safe, tables)],
        "Protocol": _protocol(model, found),
        "Metrics": _metrics(model, found),
        "Limits": _limits(model, found),
        "Intended use": _use(model),
    }
    text = "\n\n".join(f"## {title}\n\n" + "\n".join(_lines(rows)).strip() for title, rows in parts.items())
    names = listed(_names(model), 6)
    title = names if column is None or model.ensemble_.numbers else f"{column} ({names})"
    return f"# Model card: {_safe(title)}\n\n{text}\n"


def _model(model: Any) -> list[str]:
    shares: Counter[str] = Counter()
    for setting in model.settings_:
        shares[setting["model"]] += setting["weight"]
    listing = ", ".join(f"{name} {share:.0%}" for name, share in shares.most_common())
    members = counted(len(model.ensemble_.members), "member")
    averages = f"It averages {members} ({listing}), chosen from {counted(model.tried_, 'setting')}, and gives"
    if model.ensemble_.numbers:
        return [
            f"A model of a number for each node of a graph, fitted by newtonnet {__version__}.",
            f"{averages} a number, {_safe(model.target_name_)}, with an interval. Its loss is {model.loss}.",
        ]
    return [
        f"A classifier of the nodes of a graph, fitted by newtonnet {__version__}.",
        f"{averages} a probability for each of {counted(len(model.classes_), 'class')}: "
        f"{_safe(listed([f'“{name}”' for name in _names(model)]))}.",
    ]


def _data(model: Any, found: Mapping[str, Any]) -> list[str]:
    rows = []
    if found.get("nodes"):
        rows.append(
            f"The graph has {counted(found['nodes'], 'node')} and {counted(found['edges'], 'edge')}; "
            f"{found['labelled']:,} nodes have a label."
        )
    names = getattr(model, "feature_names_in_", None)
    named = "" if names is None else f": {_safe(listed(names.tolist()))}"
    rows.append(f"Every node has {counted(model.n_features_in_, 'feature')}{named}.")
    if model.ensemble_.numbers:
        rows.append(f"The correlation of neighbours is {model.homophily_:.2f} (unknown numbers as predicted).")
        rows.append(
            f"Known numbers have mean {model.target_mean_:.6g} and standard deviation {model.target_scale_:.6g}."
        )
    else:
        rows.append(f"Edges join equal classes in {model.homophily_:.0%} of the cases (unknown labels as predicted).")
    return rows


def _protocol(model: Any, found: Mapping[str, Any]) -> list[str]:
    held = model.out_of_fold_
    rows = []
    if held is not None:
        count, folds = sum(map(len, held.nodes)), len(held.nodes)
        where = f"{counted(folds, 'fold')}" if folds > 1 else "one set of validation nodes"
        chosen = "Settings and weights" if model.ensemble_.numbers else "Settings, weights and temperature"
        rows.append(f"{chosen} were chosen by {model.metric} on {count:,} nodes in {where}.")
    both = found.get("time_limit")  # of a run; its model gets what reading the tables and the evaluation leave
    seconds = both or model.time_limit
    limit = "no time limit" if seconds is None else f"a time limit of {seconds:g} s"
    whole = (
        "all usual settings were trained to their end"
        if model.complete_
        else "time ran out before all usual settings were trained to their end"
    )
    what = "Fitting and evaluation" if both else "Fitting"
    rows.append(f"{what} had {limit}, and {whole}. The random seed is {model.random_state}.")
    if found.get("method"):
        rows.append(f"Evaluation: {found['method']}")
    return rows


def _metrics(model: Any, found: Mapping[str, Any]) -> list[str]:
    scored, rows = found.get("cross_validation"), []
    if scored:
        rows += ["", f"| model | {found['metric']} | 95% interval |", "| --- | --- | --- |"]
        others = found.get("others", {})
        for name, one in {"this model": scored, **others}.items():
            interval = one.get("interval")
            span = "–" if not interval else f"{interval[0]:.3f} to {interval[1]:.3f}"
            rows.append(f"| {name} | {one['mean']:.3f} | {span} |")
        if found.get("guess") is not None:
            rows.append(f"| always the same guess | {found['guess']:.3f} | – |")
        rows.append("")
    else:
        rows.append(
            f"Validation {model.metric}: {model.validation_score_:.3f}, slightly optimistic, since training stopped "
            "where these nodes were predicted best."
        )
    held = model.out_of_fold_
    if model.ensemble_.numbers:
        return [*rows, *([] if held is None else _number_metrics(*held.whole[1:]))]
    if held is not None:
        _, shares, truth = held.whole
        predicted = decide(shares, model.threshold_ and model.threshold_.where_chosen)
        rows += [f"Per class: {HELD_OUT}", "", "| class | labelled nodes | found | correct if predicted |"]
        rows.append("| --- | --- | --- | --- |")
        for c, name in enumerate(_names(model)):
            own, called = truth == c, predicted == c
            found_share = f"{(called & own).sum() / own.sum():.0%}" if own.any() else "–"
            right = f"{(called & own).sum() / called.sum():.0%}" if called.any() else "–"
            rows.append(f"| {_safe(name)} | {int(own.sum()):,} | {found_share} | {right} |")
        rows += ["", f"Expected calibration error of the probabilities: {held.calibration[1]:.3f}."]
    if (chosen := model.threshold_) is not None:
        there = "" if chosen.held_out is None else f", from {chosen.held_out:.3f} on there"
        rows.append(
            f"{_safe(_names(model)[chosen.place])} is predicted from a probability of {chosen.value:.3f} on "
            f"({chosen.rule}): precision {chosen.precision:.0%}, recall {chosen.recall:.0%} on held-out nodes{there}."
        )
    return rows


def _number_metrics(predicted: NDArray[np.float64], truth: NDArray[np.float64]) -> list[str]:
    """Errors of out-of-fold predictions ``(v, 1)`` beside those of the best constants."""
    error = truth - predicted[:, 0]
    rows = {
        "mean absolute error": (np.abs(error).mean(), np.abs(truth - np.median(truth)).mean()),
        "root mean squared error": (np.sqrt((error**2).mean()), truth.std()),
    }
    table = [f"| {name} | {own:.6g} | {constant:.6g} |" for name, (own, constant) in rows.items()]
    header = ["| error | this model | always the median, or the mean |", "| --- | --- | --- |"]
    return [f"Errors: {HELD_OUT}", "", *header, *table, ""]


def _limits(model: Any, found: Mapping[str, Any]) -> list[str]:
    ensemble, held = model.ensemble_, model.out_of_fold_
    rows = ["Scores and probabilities hold for nodes like the labelled ones: drawn in the same way, from this graph."]
    if any(member.bound is not None for member in ensemble.members):
        rows.append(
            "It is tied to the training graph: it has weights, or eigenvectors, for every node and predicts on no "
            "other graph."
        )
    if any(reads_labels(member.options) for member in ensemble.members):
        rows.append(
            "Members read the labels known at fitting; on another graph none are shown, so scores may be lower."
        )
    if held is not None and not ensemble.numbers:
        counts = np.bincount(held.whole[2], minlength=len(model.classes_))
        few = [f"{name} ({count})" for name, count in zip(_names(model), counts, strict=True) if count < FEW]
        if few:
            rows.append(f"Few labelled nodes, so uncertain figures, for: {_safe(listed(few))}.")
    rows += [escaped(text) for text in (*found.get("remarks", ()), *model.notes_) if text not in rows]
    return [f"- {row}" for row in dict.fromkeys(rows)]


def _use(model: Any) -> list[str]:
    tied = any(member.bound is not None for member in model.ensemble_.members)
    where = "this graph" if tied else "this graph, and of graphs with the same features that were made in the same way"
    if model.ensemble_.numbers:
        return [
            f"To predict the unknown numbers of nodes of {where}, with intervals of about equal width.",
            "Look at the errors above before you act on single predictions, and let a person check those that matter.",
        ]
    return [
        f"To predict the classes of unlabelled nodes of {where}, with their probabilities.",
        "Look at the classes above that are rarely found before you act on single predictions, and let a person check "
        "those that matter. Contributions of features say what the model used, not what would change the outcome.",
    ]


def _names(model: Any) -> list[str]:
    if model.ensemble_.numbers:
        return [model.target_name_]
    return [str(name) for name in model.classes_.tolist()]


def _safe(text: str) -> str:
    """A name that neither ends a cell of a table nor is markup."""
    return escaped(text).replace("\n", " ").replace("|", "\\|").replace("<", "&lt;")


def _lines(rows: Iterable[str]) -> Iterable[str]:
    """Sentences as paragraphs of one line each; tables and lists as they are."""
    before = ""
    for row in rows:
        if before and row and row[0] not in "|-" and before[0] not in "|-":
            yield ""
        yield row
        before = row
