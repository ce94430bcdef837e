"""The site that `make docs` builds: its names, its links, and its pages in a browser; skipped where it is not built."""

import html
import inspect
import re
import zlib
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote

import pytest

SITE = Path(__file__).parent.parent / "out/docs"
PACKAGES = (
    "analysis",
    "bank",
    "datasets",
    "estimator",
    "explanations",
    "graphs",
    "nn",
    "out_of_core",
    "polynomials",
    "report",
    "search",
    "tables",
    "training",
)
pytestmark = pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="needs the site: make docs")


@pytest.fixture(scope="module")
def documented():
    """The names of the reference, from the inventory that other sites link by."""
    packed = (SITE / "objects.inv").read_bytes().split(b"\n", 4)[4]
    return {line.split()[0] for line in zlib.decompress(packed).decode().splitlines()}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_function_and_class_is_in_the_reference(package, documented):
    module = import_module(f"newtonnet.{package}")
    described = {
        name for name in module.__all__ if inspect.isroutine(one := getattr(module, name)) or inspect.isclass(one)
    }
    assert {name for name in described if f"newtonnet.{package}.{name}" not in documented} == set()


def ids_of(path, known={}):  # noqa: B006
    if path not in known:
        known[path] = set(re.findall(r' id="([^"]+)"', path.read_text(encoding="utf-8")))
    return known[path]


def test_no_link_of_the_site_is_dead():
    dead = []
    for page in SITE.rglob("*.html"):
        for link in re.findall(r'(?:href|src)="([^"]+)"', page.read_text(encoding="utf-8")):
            target, _, place = unquote(html.unescape(link)).partition("#")
            if re.match(r"[a-z]+:|//", target):
                continue
            there = page if not target else (page.parent / target.partition("?")[0]).resolve()
            if not there.exists() or (place and there.suffix == ".html" and place not in ids_of(there)):
                dead.append((page.name, link))
    assert dead == []


@pytest.mark.parametrize(
    "name", ["index", "start", "gallery/index", "gallery/customers", "api/estimators", "method", "faq"]
)
def test_a_page_opens_without_errors_or_requests(browser, name):
    browser.show(SITE / f"{name}.html")
    assert browser.complaints() == []
    assert [url for url in browser.requests() if not url.startswith(("file:", "data:"))] == []
    assert browser.evaluate("document.querySelector('h1').textContent").strip()
    assert browser.evaluate("[...document.images].every(image => image.naturalWidth > 0)")


def test_the_search_finds_a_page_offline(browser):
    browser.show(SITE / "search.html")
    browser.send("Page.navigate", url=(SITE / "search.html").as_uri() + "?q=heterophily")
    browser.until("document.querySelectorAll('#search-results li a').length > 0")
    assert browser.complaints() == []
