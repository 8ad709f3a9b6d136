"""Risk, loss and assessments of records in an engine are those of the records in memory."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import maskmeter as mm
from engines.places import KEYS, PLACES, people, protect
from maskmeter.errors import without_warnings

pytestmark = pytest.mark.parametrize("place", PLACES[:-1], indirect=True)  # a frame is as files are
# Of records in an engine, only keys are tabulated.
SAMPLE, CENSUS = people(300).drop("ward"), people(6000, seed=9)
STEPS = [
    mm.Pram("age", stay=0.8),
    mm.Swap("lad", rate=0.2, within=("sex",)),
    mm.Subsample(0.8),
]


@pytest.fixture(scope="module")
def population(place):
    return place.count(CENSUS)


@pytest.fixture(scope="module", params=["fraction", "weights"])
def pair(request, place, population):
    """A release of records in a place, and the same in memory."""
    sampled = {"fraction": {"fraction": 0.05}, "weights": {"weights": "weight"}}[request.param]
    told = {"keys": population.space, **sampled}
    known = mm.read(SAMPLE, id="person", **told)
    return protect(place.read(SAMPLE, **told), STEPS), protect(known, STEPS)


def figures(frame):
    """Return the numbers of a result, whatever the order of its rows."""
    numbers = frame.select(one for one in frame.columns if frame[one].dtype.is_float())
    return [np.sort(numbers[name].to_numpy()) for name in numbers.columns]


def assert_close(found, expected):
    """Assert that two risks are the same in total, by interval and record by record."""
    assert found.total == pytest.approx(expected.total)
    for one, other in zip(figures(found.to_frame()), figures(expected.to_frame()), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("intruder", ["informed", "exact-match"])
def test_estimated_risks_are_the_same(pair, intruder):
    with without_warnings():
        found, expected = (mm.estimate_risk(one, intruder=intruder) for one in pair)

    assert found.interval == pytest.approx(expected.interval)
    assert_close(found, expected)


@pytest.mark.parametrize("intruder", ["informed", "exact-match"])
def test_exact_risks_are_the_same(pair, population, intruder):
    with without_warnings():
        found, expected = (mm.exact_risk(one, population, intruder=intruder) for one in pair)

    assert_close(found, expected)


def test_losses_are_the_same(pair):
    found, expected = (mm.information_loss(one).to_frame() for one in pair)

    assert found.columns == expected.columns
    for one, other in zip(found.iter_rows(), expected.iter_rows(), strict=True):
        assert one == pytest.approx(other, nan_ok=True)


def test_assessments_are_the_same(pair, population):
    with without_warnings():
        found, expected = (mm.assess(one, population=population) for one in pair)

    assert found.loss == pytest.approx(expected.loss)
    one, other = found.to_frame(), expected.to_frame()
    assert one.columns == other.columns
    for row, known in zip(one.iter_rows(), other.iter_rows(), strict=True):
        assert row == pytest.approx(known, nan_ok=True)


def named(risk, release):
    """Return the risks of records by their ids, which are the names of records in an engine."""
    frame = risk.to_frame()
    if release.released.at_source is None:
        ids = release.to_frame()["person"]
        frame = frame.with_columns(record=ids.gather(frame["record"]))
    return frame.sort("record")


def test_risky_records_are_named_by_their_ids(pair):
    with without_warnings():
        found, expected = (named(mm.estimate_risk(one), one) for one in pair)

    assert found["record"].to_list() == expected["record"].to_list()
    assert found.select(KEYS).equals(expected.select(KEYS))
    assert found["risk"].to_list() == pytest.approx(expected["risk"].to_list())


def test_other_columns_are_tabulated_if_they_are_counted(place):
    steps = [mm.Pram("lad", stay=0.7), mm.Subsample(0.8)]
    frame = people(300).with_columns(part=pl.col("ward").str.slice(-1))
    known = protect(mm.read(frame, keys=KEYS, id="person", fraction=0.05), steps)
    found = protect(place.read(frame, fraction=0.05, also=["part"]), steps)

    one, other = (mm.information_loss(each, rows="lad", columns="part") for each in (found, known))
    assert one.raad == pytest.approx(other.raad)
    assert one.rcv == pytest.approx(other.rcv)
