"""Progress bars are drawn in a terminal and in a notebook, and nowhere else."""

import io
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console

from newtonnet import progress
from newtonnet.progress import in_notebook, progress_bar


class Notebook:
    """What IPython offers inside Jupyter, as far as it is used."""

    def __init__(self, shell):
        self.get_ipython = lambda: shell
        self.shown = []
        self.display = SimpleNamespace(HTML=str, display=self.show)

    def show(self, html, *, display_id):
        assert display_id
        self.shown.append(html)
        return SimpleNamespace(update=self.shown.append)


@pytest.fixture
def notebook(monkeypatch):
    def enter(shell):
        made = Notebook(shell)
        monkeypatch.setitem(sys.modules, "IPython", made)
        monkeypatch.setitem(sys.modules, "IPython.display", made.display)
        return made

    return enter


def test_a_notebook_is_known_by_the_kernel_of_its_shell(notebook):
    notebook(SimpleNamespace(kernel=object()))
    assert in_notebook()
    notebook(SimpleNamespace())
    assert not in_notebook(), "IPython in a terminal"
    notebook(None)
    assert not in_notebook(), "imported by something else"


def test_a_bar_in_a_notebook_is_updated_in_place_escaped_and_removed_at_the_end(notebook):
    made = notebook(SimpleNamespace(kernel=object()))
    with progress_bar() as draw:
        draw("trying <b>", 0.25, "best & more")
        draw("too soon after the last", 0.5, "")
    assert made.shown == [
        "",
        '<div>trying &lt;b&gt; <progress value="0.250" max="1"></progress> best &amp; more</div>',
        "",
    ]


def test_a_bar_in_a_terminal_goes_to_the_console(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(progress, "console", Console(file=written, force_terminal=True, width=80))
    with progress_bar() as draw:
        draw("trying settings", 0.5, "best 0.9")
    assert "trying settings" in written.getvalue()


def test_without_a_terminal_or_a_wish_nothing_is_written(monkeypatch, notebook):
    written = io.StringIO()
    monkeypatch.setattr(progress, "console", Console(file=written))
    with progress_bar() as draw:
        draw("trying settings", 0.5, "")
    made = notebook(SimpleNamespace(kernel=object()))
    with progress_bar(shown=False) as draw:
        draw("trying settings", 0.5, "")
    assert (written.getvalue(), made.shown) == ("", [])
