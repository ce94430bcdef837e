"""The page of stored records: scores, filters and training curves, a section for each model and graph."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from newtonnet import __version__
from newtonnet.meaning import counted
from newtonnet.training import FREQUENCIES, Record, summarise

from .figures import spectral_figure
from .findings import GraphHomophily, Response, filter_shape
from .fit_page import training_section
from .gathering import training_history
from .markup import document, facts, paragraphs, plot
from .words import NO_FILTER, decimal, metric_name, records_headline


@dataclass(frozen=True)
class RecordGroup:
    """The records of one model and setting on one graph, with the graph's homophily."""

    title: str
    records: Sequence[Record]
    homophily: GraphHomophily
    classes: int

    @property
    def done(self) -> list[Record]:
        """The records of runs that did not fail."""
        return [record for record in self.records if record.outcome.status == "done"]

    @property
    def response(self) -> Response | None:
        """The learned filters of the runs that did not fail; None for a model without one."""
        outcomes = [record.outcome for record in self.done]
        if not all(outcome.response for outcome in outcomes):
            return None
        responses, values = [one.response for one in outcomes], [one.values for one in outcomes]
        return Response(FREQUENCIES, responses, outcomes[0].points, values)

    @property
    def headline(self) -> str:
        """Homophily compared with chance, and what the learned filter does."""
        return records_headline(self.homophily, self.response, classes=self.classes)


def render_records(title: str, groups: Sequence[RecordGroup], *, command: str) -> str:
    """The page of stored records as one self-contained HTML document.

    Args:
        title: title of the page.
        groups: a section for each.
        command: the command that made the page.
    """
    sections = "".join(_section(group, place) for place, group in enumerate(groups))
    made = f"<footer>Made by newtonnet {__version__} with <code>{escape(command)}</code>.</footer>"
    return document(title, f"<h1>{escape(title)}</h1>{sections}{made}", scripts=("page.js",))


def _section(group: RecordGroup, place: int) -> str:
    summary = summarise(group.records)
    metric = str(group.records[0].config["metric"])
    rows = {
        f"test {metric_name(metric)}": f"{summary.score()} % over {counted(len(summary.splits), 'split')}",
        "homophily": decimal(group.homophily.measured),
        "expected by chance": decimal(group.homophily.chance),
        "learned homophily": decimal(summary.homophily),
        "largest filter value": decimal(max(record.outcome.largest_value or 0 for record in group.done), 2),
    }
    if summary.failed:
        rows["failed"] = f"{summary.failed} of {len(group.records)} runs: the loss was not finite"
    shape = filter_shape(group.response) if group.response is not None else None
    learned_filter = paragraphs(NO_FILTER)
    if shape is not None:
        learned_filter = plot(f"filter-{place}", spectral_figure(shape, None), alternative=group.headline)
    history = [training_history(record) for record in group.done]
    training = training_section(history, group.homophily, metric=metric, name=f"training-{place}")
    return (
        f"<h2>{escape(group.title)}</h2>{paragraphs(group.headline, css_class='lead')}"
        f'<div class="facts">{facts(rows)}</div><h3>The learned filter</h3>{learned_filter}<h3>Training</h3>{training}'
    )
