"""Times, sizes and accuracies in README, documentation and help were measured by scripts."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
HELP = sorted((ROOT / "src" / "maskmeter" / "cli").glob("*.py"))

QUANTITY = re.compile(r"(?<![\w.,])(\d[\d.,]*) ?(ms|s|seconds?|min|minutes?|kB|MB|GB)\b")
VAGUE = re.compile(r"\b(?:an? |half a |few |two )minutes?\b|\b(?:few|two) seconds\b")
UNITS = {"second": "s", "seconds": "s", "minute": "min", "minutes": "min"}


def quantities(text):
    """Return every number with a unit of time or size, with the unit abbreviated."""
    return {(number, UNITS.get(unit, unit)) for number, unit in QUANTITY.findall(text)}


@pytest.fixture(scope="module")
def run():
    path = ROOT / "benchmarks" / "run.py"
    spec = importlib.util.spec_from_file_location("run", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["run"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def kept(run):
    return json.loads(run.KEPT.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def table(run, kept):
    """Return all that was measured: the table of the tour, and the page of benchmarks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        import report
        import scale
    benchmarks = json.loads(report.KEPT.read_text(encoding="utf-8"))
    told = [run.words(name, one["values"]) for name, one in kept.items()]
    return "\n".join([*told, *report.tables(benchmarks), *scale.tables(kept)])


def test_the_page_about_scale_shows_the_measured_figures(kept):
    """If this fails: python benchmarks/run.py --pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        import scale
    text = scale.PAGE.read_text(encoding="utf-8")

    assert scale.page(kept, text) == text


def test_the_table_of_times_shows_the_measured_figures(run, kept):
    """If this fails: python benchmarks/run.py --pages."""
    text = run.PAGE.read_text(encoding="utf-8")

    assert set(run.ROWS) - set(run.ON_REQUEST) <= set(kept) <= set(run.ROWS)
    assert run.page(kept, text) == text


def test_every_figure_has_a_script_that_measures_it(run, kept):
    modules = [ROOT / "benchmarks" / f"{name}.py" for name in run.SUBJECTS]
    sources = "".join(path.read_text(encoding="utf-8") for path in modules)

    for name in run.ROWS:
        if name not in run.ELSEWHERE:
            assert f"\ndef {name}() -> Values:" in sources
            assert name not in kept or f"run.py {name} " in kept[name]["command"]


@pytest.mark.parametrize("path", [*PAGES, *HELP], ids=lambda path: path.name)
def test_every_time_and_size_was_measured(table, path):
    """Quote docs/tour.md, Speed, or docs/benchmarks.md; benchmarks/run.py NAME --write measures."""
    text = path.read_text(encoding="utf-8")
    told = text if path.suffix == ".md" else "\n".join(re.findall(r'"""(.*?)"""', text, re.DOTALL))
    strange = quantities(told) - quantities(table)
    assert not strange, "not in docs/tour.md, Speed, or docs/benchmarks.md, by benchmarks/run.py"
    assert not VAGUE.findall(told), "say a figure of the table Speed of docs/tour.md"


def test_the_check_finds_an_unmeasured_figure(table):
    assert not quantities("`maskmeter paper` | 6,543 s, 0.66 GB |") <= quantities(table)
    assert VAGUE.findall("Takes a minute or two.")
    assert VAGUE.findall("in a few seconds")
    assert not quantities("3.14 seconds") <= quantities(table)


def test_accuracies_in_the_guide_agree_with_the_validation_figures():
    """If this fails: update these sentences from docs/validation_figures.json."""
    figures = json.loads((DOCS / "validation_figures.json").read_text(encoding="utf-8"))
    error = figures["studies.default_estimate"]["values"]
    width = figures["studies.coverage"]["values"]["width"]
    tour, measures = (
        (DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("tour", "measures")
    )

    assert (
        f"the default is off by {error['before']:.1f} % on average ({error['least']:.1f} to"
        f" {error['most']:.1f} % after each of the paper's eight designs), with intervals of plus or"
        f" minus {width:.0f} %."
    ) in tour
    assert f"tau1 is off by {error['tau1']:.0f} % there." in tour
    low = math.floor(min(error["before"], error["least"]))
    high = math.ceil(max(error["before"], error["most"]))
    assert (
        f"the estimate is off by {low} to {high} % on average and the interval is plus or minus"
        f" {width:.0f} %"
    ) in measures


def test_accuracies_of_shared_cells_agree_with_the_validation_figures():
    """If this fails: update these sentences from docs/validation_figures.json."""
    figures = json.loads((DOCS / "validation_figures.json").read_text(encoding="utf-8"))
    counted, error = (
        figures[name]["values"] for name in ("known.shared_counted", "estimated.shared")
    )

    assert (
        f"is {counted['wrong5']:.0f} % too high for cells of two to four records at a sampling"
        f" fraction of 5 %, and {counted['wrong50']:.0f} % at 50 %"
    ) in (DOCS / "measures.md").read_text(encoding="utf-8")
    assert (
        f"off by {error['right5']:.1f} % at most at a sampling fraction of 5 % and"
        f" {error['right50']:.1f} % at 50 %"
    ) in (DOCS / "tour.md").read_text(encoding="utf-8")


COUNT = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w%])")
GUIDE = ("start", "keys", "measures", "methods", "defending")


def test_totals_in_the_guide_come_from_its_examples():
    """Only numbers above 100; examples are tests, so their output was computed."""
    shown, told = set(), set()
    for name in GUIDE:
        parts = re.split(r"^```.*$", (DOCS / f"{name}.md").read_text("utf-8"), flags=re.MULTILINE)
        for number in COUNT.findall(" ".join(parts[1::2])):
            value = float(number.rstrip(",").replace(",", ""))
            shown |= {value, round(value)}
        prose = re.sub(r"`[^`]*`|\]\([^)]*\)", "", " ".join(parts[::2]))
        told |= {float(one.rstrip(",").replace(",", "")) for one in COUNT.findall(prose)}

    given = {130.0, 400.0}  # an exit code; a thousand records at 0.4
    assert len(shown) > 100
    assert {one for one in told if one > 100} - given <= shown
