"""The commands in the documents, run on a survey with the plan of docs/plan.md."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import polars as pl
import pyreadstat
import pytest

import maskmeter as mm
from command import run
from maskmeter import formats

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OWN = re.compile(r"(\.venv/bin/)?maskmeter ")
LONG = ("demo", "paper", "app")  # these have their own tests; the page would be served for ever


def commands(page):
    """Return the maskmeter commands on a page in order, except slow ones."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    ours = [shlex.split(line)[1:] for line in lines if OWN.match(line)]
    return [words for words in ours if words[0] not in LONG]


@pytest.fixture(scope="module")
def people():
    return mm.bernoulli_sample(mm.synthetic_census(size=60_000), fraction=0.05, rng=1)


def coded(people):
    """Return the survey as SPSS would store it: codes and their labels."""
    kinds = {name: sorted(people[name].cast(pl.String).unique()) for name in people.columns}
    codes = people.select(
        pl.col(name)
        .cast(pl.String)
        .replace_strict(texts, range(len(texts)), return_dtype=pl.Float64)
        for name, texts in kinds.items()
    )
    labels = {
        name: {float(n): text for n, text in enumerate(texts)} for name, texts in kinds.items()
    }
    return codes, labels


@pytest.mark.parametrize(
    "page",
    [
        # Those of the page of the pack stand for all.
        pytest.param(page, marks=[] if page.stem == "pack" else pytest.mark.slow, id=page.stem)
        for page in PAGES
        if commands(page)
    ],
)
def test_every_command_on_a_page_runs(people, tmp_path, page):
    people.write_csv(tmp_path / "survey.csv")
    (tmp_path / "maskmeter-demo").mkdir()  # written by the demonstration
    people.write_csv(tmp_path / "maskmeter-demo" / "survey.csv")
    codes, labels = coded(people)
    pyreadstat.write_sav(codes, tmp_path / "survey.sav", variable_value_labels=labels)
    whole = re.search(
        r"```toml\n(.*?)```",
        (ROOT / "docs" / "plan.md").read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )[1]
    (tmp_path / "census").mkdir()
    people.with_row_index("person").write_parquet(tmp_path / "census" / "all.parquet")
    plans = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    (tmp_path / "census.toml").write_text("".join(plans[:1]), encoding="utf-8")
    for words in commands(page):
        if "spark" in words:  # it has an environment and tests of its own
            continue
        plan = tmp_path / "plan.toml"
        plan.unlink(missing_ok=True)
        if words[0] != "plan":
            plan.write_text(whole, encoding="utf-8")
        done = run(*words, folder=tmp_path)
        assert done.returncode == 0, (words, done.stderr)


def test_the_readme_starts_with_make_demo_make_test_and_an_assess_command():
    first = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:24]

    assert [line.split("#")[0].strip() for line in first if line.startswith("$ make")] == [
        "$ make demo",
        "$ make test",
    ]
    assert any("maskmeter assess maskmeter-demo/survey.csv --keys" in line for line in first)


def test_the_documents_show_every_command():
    shown = {words[0] for page in PAGES for words in commands(page)}

    assert shown >= {"assess", "protect", "compare", "find", "plan"}


def test_the_page_on_formats_lists_every_extension():
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")

    assert all(f"`{ending}`" in text for one in formats.FORMATS for ending in one.endings)
