"""What reports say of households: bounds or the exact figure, and what the public may read of it."""

from __future__ import annotations

import json

import msgspec
import polars as pl
import pytest

import maskmeter as mm
from chance.test_households import KEYS, street
from command import run
from maskmeter.errors import without_warnings
from maskmeter.evidence import assess
from maskmeter.evidence.figures import figures
from maskmeter.evidence.household_blocks import household_blocks
from maskmeter.evidence.redaction import Policy, redact

SENTENCE = "an intruder who knows all members of a household is expected to match"


@pytest.fixture(scope="module")
def people():
    return street(size=4000)


@pytest.fixture(scope="module")
def release(people):
    table = mm.count_households(people, keys=KEYS)
    survey = people.filter(pl.col("hid") % 10 == 0)
    sample = mm.read(survey, keys=table.space, fraction=0.1)
    return mm.Swap("lad", rate=0.2).apply(sample, rng=2**70 + 1)


def assessed(release, **options):
    with without_warnings():
        return assess(release, household="hid", drop_one=False, **options)


def said(known):
    return " ".join(block.words for block in household_blocks(known))


def test_without_the_households_of_a_population_a_report_says_at_least_and_at_most(release, people):
    """With the counts of people too: the lower bound is then exact."""
    for population in (None, mm.count(people, keys=KEYS)):
        known = figures(assessed(release, population=population))
        one = known.worst.households

        assert one.total is None
        assert 0 < one.at_least < one.at_most == one.uniques < one.households == 400
        assert f"{SENTENCE} at least {one.at_least:.0f} and at most {one.uniques} of 400" in said(
            known
        )
        assert (one.matched is None) == (population is not None)


def test_the_households_of_a_population_make_the_figure_exact(release, people):
    table = mm.count_households(people, keys=KEYS)
    known = {"all": KEYS, "few": ["lad", "sex"]}
    found = assessed(release, households=table, known=known)
    risk = mm.household_risk(release, table, intruder="informed")
    totals = {one.name: one.households.total for one in figures(found).scenarios}

    assert totals["all"] == pytest.approx(risk.total)
    assert totals["few"] < totals["all"]
    assert f"{SENTENCE} about {risk.total:.0f} of 400 correctly" in said(figures(found))


def test_a_subsample_leaves_bounds_and_says_why(release, people):
    table = mm.count_households(people, keys=KEYS)
    part = mm.Subsample(0.5).apply(release.original, rng=1)
    found = assessed(part, households=table)

    assert found.worst.households.total is None
    assert any("households are not whole" in str(one) for one in found.cautions)


def test_the_public_reads_wider_bounds_in_tens_and_no_column(release, people):
    tables = (None, mm.count_households(people, keys=KEYS))
    for households in tables:
        exact = figures(assessed(release, households=households))
        told = redact(exact, Policy(10))
        one, full = told.worst.households, exact.worst.households
        numbers = [
            value
            for value in msgspec.to_builtins(one).values()
            if isinstance(value, int | float) and value is not None
        ]

        assert all(number % 10 == 0 for number in numbers)
        assert (one.at_least or 0) <= full.at_least
        assert one.at_most >= full.at_most
        assert one.column == ""
        assert one.matched is None
        assert SENTENCE in said(told)
        assert "hid" not in said(told)


def test_few_unique_households_are_not_counted_in_public(people):
    few = people.filter(pl.col("hid") % 200 == 0)
    table = mm.count_households(people, keys=["lad", "sex"])
    sample = mm.read(few, keys=table.space, fraction=0.005)
    exact = figures(assessed(sample, households=table))
    told = redact(exact, Policy(10))

    assert 0 < exact.worst.households.total < 10
    assert told.worst.households.total is told.worst.households.at_most is None
    assert f"{SENTENCE} fewer than 10 of" in said(told)


def test_invalid_households_of_an_assessment_are_rejected(release, people):
    table = mm.count_households(people, keys=KEYS)
    with pytest.raises(mm.MaskmeterError, match="needs the column of the file"):
        assess(release, households=table)
    with pytest.raises(mm.MaskmeterError, match=r"`households` as a table \(mm.count_households\)"):
        assess(release, household="hid", households=people)


PLAN = """
[data]
keys = ["lad", "sex", "age", "ethnicity"]
fraction = 0.1
population = "census.csv"
household = "hid"
"""


@pytest.mark.parametrize("named", [True, False])
def test_a_plan_counts_households_where_the_population_file_names_them(people, tmp_path, named):
    people.filter(pl.col("hid") % 10 == 0).write_csv(tmp_path / "survey.csv")
    (people if named else people.drop("hid")).write_csv(tmp_path / "census.csv")
    (tmp_path / "plan.toml").write_text(PLAN)
    options = ("--plan", tmp_path / "plan.toml", "--out", tmp_path / "out")
    done = run("assess", tmp_path / "survey.csv", *options)

    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out" / "internal" / "assessment.json").read_text())
    one = found["scenarios"][0]["households"]
    if named:
        table = mm.count_households(tmp_path / "census.csv", keys=KEYS)
        sample = mm.read(tmp_path / "survey.csv", keys=table.space, fraction=0.1)
        assert one["total"] == pytest.approx(mm.household_risk(sample, table).total)
    else:
        assert one["total"] is None
        assert 0 < one["at_least"] < one["at_most"]
