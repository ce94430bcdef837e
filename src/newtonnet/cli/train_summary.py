"""The end of ``newtonnet train``: what was reached and learned, for people and as JSON."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from newtonnet.report import draw_response
from newtonnet.training import Record, Setting, Summary, summarise


@dataclass(frozen=True)
class Trained:
    """One model on one graph, trained on several splits."""

    dataset: str
    model: str
    protocol: str
    setting: Setting
    records: list[Record]
    homophily: float
    """Of the edges, measured; NaN where it is unknown."""
    published: tuple[float, float] | None
    """The paper's mean and standard deviation."""

    @cached_property
    def summary(self) -> Summary:
        """Means over the splits."""
        return summarise(self.records)

    @property
    def run_id(self) -> str:
        """Other records, another name."""
        return hashlib.sha256("".join(record.id for record in self.records).encode()).hexdigest()[:8]


def as_json(trained: Trained) -> dict[str, Any]:
    """What a program wants to know, as plain data."""
    summary, first, true = trained.summary, trained.records[0], trained.homophily
    return {
        "dataset": trained.dataset,
        "model": trained.model,
        "protocol": trained.protocol,
        "settings": {
            "source": trained.setting.source,
            **first.options,
            **{name: value for name, value in first.config.items() if name != "seed"},
        },
        "metric": trained.setting.config.metric,
        "mean": summary.mean,
        "accuracy": summary.accuracy,
        "std": summary.std,
        "splits": list(summary.splits),
        "failed": summary.failed,
        "homophily": {"learned": summary.homophily, "true": true if true == true else None},
        "points": list(summary.points),
        "values": list(summary.values),
        "epochs": [record.outcome.epochs for record in trained.records],
        "seconds": sum(record.outcome.seconds for record in trained.records),
    }


def print_trained(trained: Trained) -> None:
    """The result on standard output: the score beside the paper's, homophily, and the filter."""
    summary, config = trained.summary, trained.setting.config
    print(
        f"{trained.model} on {trained.dataset}: {config.metric} {summary.score()} "
        f"over {len(summary.splits)} {trained.protocol} splits"
    )
    if config.metric != "accuracy" and summary.accuracy is not None:
        print(f"accuracy {100 * summary.accuracy:.2f}")
    if trained.published is not None and trained.protocol == "random":
        mean, std = trained.published
        print(f"the paper's: {mean:.2f} ± {std:.1f} over 10 random splits")
    if summary.failed:
        print(f"{summary.failed} of {len(trained.records)} members failed: their loss was not a number")
    learned = "none" if summary.homophily is None else f"{summary.homophily:.3f}"
    print(
        f"homophily: learned {learned}, true {trained.homophily:.3f}; "
        f"settings: {trained.setting.source} ({config.variant})"
    )
    if summary.values:
        values = ", ".join(f"{value:.2f}" for value in summary.values)
        print(f"learned values at the points: {values}\n{draw_response(summary.response)}")
