"""The figures of the worked example are those that its script measured; no network is needed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from maskmeter.plan import read_plan

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "worked.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?")
GIVEN = {"1996", "4.0", "1"}  # a year, a licence, the share that the target allows


@pytest.fixture
def worked(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    import worked

    return worked


@pytest.fixture
def figures(worked):
    return json.loads(worked.KEPT.read_text(encoding="utf-8"))


def untold(page, told):
    """Return the numbers in the prose of a page that no sentence of the script has."""
    prose = re.sub(r"^```.*?^```$|`[^`]*`|\]\([^)]*\)", "", page, flags=re.MULTILINE | re.DOTALL)
    known = {one.rstrip(",.") for text in told for one in NUMBER.findall(text)}
    return {one.rstrip(",.") for one in NUMBER.findall(prose)} - known - GIVEN


def test_the_page_says_what_the_script_measured(worked, figures):
    """If this fails: python docs/worked.py --sentences shows what to say."""
    for sentence in worked.sentences(figures):
        assert sentence in PAGE
    for text in ("verdict", "blocker", "reason"):
        assert f"> {figures[text]}\n" in PAGE


def test_every_number_of_the_page_was_measured(worked, figures):
    told = [*worked.sentences(figures), figures["verdict"], figures["blocker"], figures["reason"]]

    assert untold(PAGE, told) == set()
    assert untold(PAGE + "\nAbout 123,456 people.\n", told) == {"123,456"}


def test_the_excerpt_of_the_starter_plan_is_what_plan_init_wrote(figures):
    (excerpt,) = (
        one
        for one in re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        if "[data]" in one
    )

    assert excerpt in figures["starter"]
    assert excerpt.count("categories") == 7


def test_the_plans_of_the_page_are_valid_and_name_the_release_that_was_found(
    worked, figures, tmp_path
):
    plan, step, candidates = worked.plans(PAGE)
    path = tmp_path / "plan.toml"
    path.write_text(f"{plan}\n{step}\n{candidates}", encoding="utf-8")
    read = read_plan(path).plan

    bound = float(figures["chosen"].rpartition(" ")[2])
    assert [one.rarer_than for one in (read.step[0], read.candidate[0].step[0])] == [bound] * 2
    assert figures["mark"] == "met"
    assert set(read.scenario) == {"colleague", "register"}


def test_every_picture_of_the_page_is_small_and_shown_once(worked):
    shown = re.findall(r"!\[[^\]]{20,}\]\(_static/worked/(\w+)\.png\)", PAGE)

    assert sorted(shown) == sorted(path.stem for path in worked.PICTURES.glob("*.png"))
    assert all(path.stat().st_size < 60_000 for path in worked.PICTURES.glob("*.png"))
