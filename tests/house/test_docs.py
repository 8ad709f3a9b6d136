"""The documentation builds without a warning, needs no network, and matches the package."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import maskmeter as mm

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))

# Addresses that a browser loads by itself: scripts, images, frames, style sheets, icons and
# addresses inside styles, but not links that a reader follows.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|embed|video|audio)\b[^>]*?\s(?:src|srcset|data)=["']([^"']+)"""
    r"""|<link\b[^>]*?\shref=["']([^"']+)"""
    r"""|@import\s+(?:url\()?["']?([^"')\s;]+)"""
    r"""|url\(\s*["']?([^"')\s]+)"""
)


def fetched(text):
    return [next(filter(None, found)) for found in FETCHED.findall(text)]


def elsewhere(address):
    return bool(re.match(r"(?:[a-z]+:)?//", address, re.IGNORECASE))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [*command, "-d", out / "doctrees", DOCS, out / "html"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out / "html"


@pytest.mark.slow
def test_every_page_is_built_and_can_be_searched(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")

    for page in PAGES:
        assert (site / f"{page.stem}.html").exists()
        assert f'"{page.stem}"' in index
    assert index.startswith("Search.setIndex(")  # a script, which pages opened from a disk may load


@pytest.mark.slow
def test_no_page_loads_anything_from_the_network(site):
    files = [path for ending in ("html", "css") for path in site.rglob(f"*.{ending}")]
    addresses = {one for path in files for one in fetched(path.read_text(encoding="utf-8"))}

    assert len(files) > len(PAGES)
    assert any(
        one.endswith(".css") or ".css?" in one for one in addresses
    )  # the pattern finds real addresses
    assert not [one for one in addresses if elsewhere(one)]


@pytest.mark.parametrize(
    "text",
    [
        '<script async="async" src="https://cdn.example/mathjax.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/css">',
        "@import url('https://fonts.example/css');",
        "src: url(https://fonts.example/a.woff2)",
        "<img alt='' src='http://example/a.png'>",
    ],
)
def test_the_check_finds_addresses_on_the_network(text):
    assert any(map(elsewhere, fetched(text)))


@pytest.mark.slow
def test_the_api_page_has_exactly_the_public_names(site):
    page = (site / "api.html").read_text(encoding="utf-8")
    named = re.findall(r'<dt class="sig sig-object py" id="maskmeter\.([^."]+)">', page)

    assert sorted(named) == sorted(mm.__all__)


@pytest.mark.slow
def test_examples_of_docstrings_are_shown_as_code(site):
    """Examples follow the parameters and must not be parsed as one of them."""
    page = (site / "api.html").read_text(encoding="utf-8")

    assert page.count('<span class="gp">&gt;&gt;&gt; </span>') > len(mm.__all__)
    assert not re.search(r"\((?:<em>)?&gt;&gt;&gt;", page)


@pytest.mark.slow
def test_every_page_is_in_the_table_of_contents(site):
    contents = (site / "index.html").read_text(encoding="utf-8")

    for page in PAGES:
        assert page.stem == "index" or f'href="{page.stem}.html"' in contents


@pytest.fixture(scope="module")
def validation():
    spec = importlib.util.spec_from_file_location("validation", DOCS / "validation.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["validation"] = module  # dataclasses need their module here
    spec.loader.exec_module(module)
    return module


def test_the_validation_page_shows_the_measured_figures(validation):
    """If this fails: python docs/validation.py --page."""
    figures = json.loads(validation.FIGURES.read_text(encoding="utf-8"))
    text = validation.PAGE.read_text(encoding="utf-8")

    assert set(figures) == {check.name for check in validation.checks()}
    assert validation.page(figures, text) == text


def test_the_tests_that_the_validation_page_names_exist(validation):
    sources = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/test_*.py"))

    for check in validation.checks():
        assert f"def {check.test}(" in sources, check.test


def test_measuring_figures_of_the_validation_page_again_agrees(validation, monkeypatch):
    """Two quick checks run again, so the scripts behind the page cannot become stale."""
    monkeypatch.syspath_prepend(DOCS)
    figures = json.loads(validation.FIGURES.read_text(encoding="utf-8"))
    for check in validation.checks():
        if check.name in {"estimated.poisson_functions", "perturbed.measures"}:
            found = validation.measured(check, None)
            assert found["largest"] == pytest.approx(
                figures[check.name]["values"]["largest"], abs=1e-12
            )
