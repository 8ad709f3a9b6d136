"""The wording of results: singular and plural, and estimates that say so."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import polars as pl
import pytest

import maskmeter as mm
from maskmeter.errors import MissingValuesError, without_warnings
from maskmeter.plurals import counted, plural
from maskmeter.risk.target import Target

SOURCE = Path(mm.__file__).parent
OFTEN_ONE = "records|terms|matches|strata|columns|releases|models|files|parameters|uniques|tables|keys|sets|values|units"
FIXED = re.compile(rf"(?<![\d.,])1 (?:[a-z-]+ )?(?:{OFTEN_ONE})\b")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0 terms"),
        (1, "1 term"),
        (1.0, "1 term"),
        (2.5, "2.5 terms"),
        (1_000_000, "1,000,000 terms"),
    ],
)
def test_a_count_takes_the_singular_only_for_one(number, words):
    assert counted(number, "term") == words


def test_irregular_plurals_can_be_given():
    assert counted(1, "stratum", "strata") == "1 stratum"
    assert counted(3, "stratum", "strata") == "3 strata"
    assert plural("fewer than 10", "record") == "records"


@pytest.fixture(scope="module")
def sample():
    people = pl.DataFrame({"age": [1, 2, 2, 3, 3], "sex": ["f", "f", "f", "m", "m"]})
    return mm.read(people, keys=["age", "sex"], fraction=0.1)


def test_results_use_the_singular_for_one(sample):
    with without_warnings():
        risk = mm.estimate_risk(sample)
        search = mm.search_loglinear(sample)
        loss = mm.information_loss(mm.Release(sample, sample, {}))
        curve = mm.risk_by_keys(sample, mm.count(sample.to_frame(), keys="age"), known=["age"])
    said = [
        risk.summary(),
        search.summary(),
        repr(search),
        loss.summary(),
        repr(loss),
        repr(curve),
        curve.summary(),
        repr(mm.by("sex", {"f": 0.1}, otherwise=0.2)),
        str(Target(max_total=1)),
        str(MissingValuesError("age", missing=1, records=1)),
        *map(str, risk.cautions),
    ]

    assert "among 1 sample unique (" in risk.summary()
    assert str(Target(max_total=1)) == "at most 1 correct match by an informed intruder"
    assert not [text for text in said if FIXED.search(text)]


def test_no_count_that_is_often_one_has_a_fixed_plural():
    """A count that may be one goes through `counted` or `plural`."""
    fixed = re.compile(rf"\{{(?:len\(|int\(|self\.|[a-z_]+:,)[^{{}}]*\}} (?:{OFTEN_ONE})\b")
    found = {
        f"{path.name}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if fixed.search(line)
    }

    # Decimals take the plural, and neither pairs of records nor too many keys are ever one.
    allowed = (
        "keys have",
        "expected correct matches",
        ":.1f}",
        "records were swapped",
        "unique records",
    )
    assert not {line for line in found if not any(one in line for one in allowed)}


def test_the_repr_of_an_estimated_risk_says_so_and_shows_its_interval(sample):
    with without_warnings():
        risk = mm.estimate_risk(sample)
        bare = mm.estimate_risk(sample, interval="none")
    low, high = risk.interval

    assert repr(risk) == (
        f"EstimatedRisk(Estimated risk: total {risk.total:.1f} (95 % interval {low:.1f} to"
        f" {high:.1f}), 1 sample unique)"
    )
    assert "interval" not in repr(bare)
    exact = mm.exact_risk(sample, mm.count(sample.to_frame(), keys=sample.space))
    assert repr(exact) == "Risk(Exact risk (2.4): total 1.0, 1 sample unique)"


def test_estimates_by_keys_are_not_called_exact(sample):
    population = mm.count(pl.concat([sample.to_frame()] * 3), keys=sample.space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known, guessed = mm.risk_by_keys(sample, population), mm.risk_by_keys(sample)

    assert "exact" not in known.to_frame().columns
    assert known.to_frame()["estimated"].any() is False
    assert guessed.to_frame()["estimated"].all() is True
    assert known.to_frame()["risk"][-1] == mm.exact_risk(sample, population).total
    assert "exact" not in guessed.summary()
    assert "estimated risk" in guessed.summary()
