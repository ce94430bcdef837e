"""One self-contained HTML page from records; it loads nothing from the network."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import version

from newtonnet.graphs import BANDS
from newtonnet.training import FREQUENCIES, Record, summarise

from .figures import filter_figure, history_figure
from .frame import document
from .markup import plot


@dataclass(frozen=True)
class Study:
    """The records of one model on one graph, with what is known about the graph."""

    title: str
    records: Sequence[Record]
    homophily: float
    """The true ratio, over edges whose two ends are labelled."""
    classes: int

    @property
    def done(self) -> list[Record]:
        """The runs that did not fail."""
        return [record for record in self.records if record.outcome.status == "done"]


def render(title: str, studies: Sequence[Study], *, command: str) -> str:
    """The page as HTML; names from outside are escaped."""
    sections = "".join(_section(study, place) for place, study in enumerate(studies))
    made = f"<footer>Made by newtonnet {version('newtonnet')} with <code>{escape(command)}</code>.</footer>"
    return document(title, f"<h1>{escape(title)}</h1>{sections}{made}", scripts=("page.js",))


def headline(study: Study) -> str:
    """What was learned, in plain words."""
    chance = 1 / study.classes
    response = summarise(study.records).response
    kept = f" The learned filter {_kept(response)}." if response else ""
    kind = "homophilous" if study.homophily > chance else "heterophilous"
    return (
        f"Neighbours share a label {study.homophily:.0%} of the time; among {study.classes} classes of equal size "
        f"chance would be {chance:.0%}, so this graph is {kind}.{kept}"
    )


def _kept(response: Sequence[float]) -> str:
    """Which band the mean response is strongest in."""
    bands = {"low": 0.0, "middle": 0.0, "high": 0.0}
    for frequency, amplitude in zip(FREQUENCIES, response, strict=True):
        band = "low" if frequency < BANDS[0] else "middle" if frequency < BANDS[1] else "high"
        bands[band] += abs(amplitude)
    name = max(bands, key=lambda band: bands[band])
    return f"puts {bands[name] / max(sum(bands.values()), 1e-300):.0%} of its amplitude on {name} frequencies"


def _section(study: Study, place: int) -> str:
    summary = summarise(study.records)
    learned = f"{summary.homophily:.3f}" if summary.homophily is not None else "none"
    metric = str(study.records[0].config["metric"]).replace("_", "-")
    rows = {
        f"test {metric}": f"{summary.score()} % over {len(summary.splits)} splits",
        "learned homophily h": learned,
        "true homophily": f"{study.homophily:.3f}",
        "chance 1/C": f"{1 / study.classes:.3f}",
        "largest filter value": f"{max(record.outcome.largest_value or 0 for record in study.done):.2f}",
    }
    if summary.failed:
        rows["failed"] = f"{summary.failed} of {len(study.records)} members: their loss was not a number"
    table = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in rows.items()
    )
    history = history_figure(study.done, true_homophily=study.homophily, chance=1 / study.classes)
    learned_filter = (
        plot(f"filter-{place}", filter_figure(study.done), alternative=headline(study))
        if summary.response
        else "<p>This model has no spectral filter.</p>"
    )
    training = plot(f"training-{place}", history, alternative="Validation score and learned homophily over epochs.")
    pictures = f"<h3>The learned filter</h3>{learned_filter}<h3>Training</h3>{training}"
    return f"<h2>{escape(study.title)}</h2><p class=lead>{escape(headline(study))}</p><table>{table}</table>{pictures}"
