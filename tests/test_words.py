"""What users read: messages that the pages quote exist, and phrases that nobody would say do not."""

import ast
import re
from pathlib import Path

import pytest
import typer.main

from newtonnet.cli import app
from newtonnet_paper.cli import app as laboratory

PROJECT = Path(__file__).parent.parent
SOURCES = sorted((PROJECT / "src").rglob("*.py"))
PHRASES = (
    "pull-back",
    "way back",
    "crowd of",
    "members who leave",
    "strangers",
    "steering",
    "bound to its graph",
    "knows its nodes by place",
    "filter-first",
    "scikit-learn's manners",
    "takes along",
    "raised number",
    "is no footnote",
    "Longest training",
    "Of the splits.",
    "for which more nodes have to be labelled",
    "which fitting had none of",
    "taken for 0",
    "are judged",
    "was told",
)
"""The left column of the house's table of English, as whole phrases that have no other use."""
PAGES = [
    PROJECT / "README.md",
    *sorted((PROJECT / "docs").glob("*.md")),
    *sorted((PROJECT / "examples").rglob("*.py")),
    *sorted((PROJECT / "src/newtonnet/report").glob("*.html")),
    *sorted((PROJECT / "src/newtonnet/report").glob("*.js")),
]


def text_of(node):
    """A string of the source, with … for what is put into it."""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


@pytest.fixture(scope="module")
def strings():
    return [text_of(node) for path in SOURCES for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


QUOTED = re.findall(r"^`(.+)`\n: ", (PROJECT / "docs/faq.md").read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_the_page_quotes_many_messages():
    assert len(QUOTED) > 25


@pytest.mark.parametrize("message", QUOTED)
def test_a_quoted_message_is_in_the_source(message, strings):
    pattern = re.compile(".*".join(map(re.escape, message.split("…"))), flags=re.DOTALL)
    assert any(pattern.search(text) for text in strings)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_a_page_has_no_phrase_that_nobody_would_say(path):
    text = " ".join(path.read_text(encoding="utf-8").split())
    assert [phrase for phrase in PHRASES if phrase in text] == []


@pytest.mark.parametrize("program", [app, laboratory], ids=["newtonnet", "newtonnet-paper"])
def test_the_help_has_no_phrase_that_nobody_would_say(program):
    group = typer.main.get_command(program)
    commands = [group, *group.commands.values()]
    texts = [command.help or "" for command in commands]
    texts += [getattr(option, "help", None) or "" for command in commands for option in command.params]
    assert len(texts) > 20
    joined = " ".join(" ".join(texts).split())
    assert [phrase for phrase in PHRASES if phrase in joined] == []


def test_the_readme_is_short():
    assert len((PROJECT / "README.md").read_text(encoding="utf-8").splitlines()) <= 170


LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
GENERATED = re.compile(r"gallery/\w+\.(md|svg)$")


@pytest.mark.parametrize("path", [path for path in PAGES if path.suffix == ".md"], ids=lambda path: path.name)
def test_a_link_leads_to_a_file(path):
    """Of the gallery, pages are made by `make docs`: their examples have to be there."""
    targets = [target for target in LINK.findall(path.read_text(encoding="utf-8")) if "://" not in target]
    for target in targets:
        if GENERATED.search(target):
            name = Path(target).stem
            assert name == "index" or (PROJECT / f"examples/gallery/{name}.py").is_file(), target
        else:
            assert (path.parent / target).exists(), target
