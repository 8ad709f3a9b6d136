"""Columns of any name and type, ids of any kind, weights, bands and missing values, everywhere."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

import maskmeter as mm
from engines.places import PLACES, assert_same, people, protect
from maskmeter.errors import without_warnings

FRAME = people(200)
pytestmark = pytest.mark.parametrize("place", PLACES[:-1], indirect=True)  # a frame is as files are
STEPS = [mm.Pram("lad", stay=0.6), mm.Swap("sex", rate=0.4, label="swap")]


def both(place, frame, steps=STEPS, **options):
    """Return the release of records in a place, and of the same records in memory."""
    options = {"fraction": 0.05} | options
    told = {"keys": ["lad", "age", "sex"], "id": "person"} | options
    with without_warnings():
        expected = protect(mm.read(frame, **told), steps)
    return protect(place.read(frame, **options), steps), expected


ODD_NAMES = {
    "marks": {
        "lad": "the l.a.d",
        "age": "l'a\"g`e",
        "sex": '"sex"',
        "ward": "`",
        "income": "{};=, ",
    },
    "our own words": {"lad": "number of rows", "age": "n", "sex": "first", "ward": "weights"},
    "inner names": {"lad": "c1", "age": "c0", "sex": "m0", "ward": "first id", "income": "also m0"},
    "other letters": {"lad": "Größe", "age": "年齢", "sex": "e\u0301", "ward": "a\tb"},
}


@pytest.mark.parametrize("names", ODD_NAMES)
def test_columns_may_have_odd_names(place, names):
    new = ODD_NAMES[names]
    steps = [
        mm.Pram(new["lad"], stay=0.6),
        mm.Redraw(new["lad"], rarer_than=300, carry=[new.get("ward", "ward")], label="redraw"),
    ]
    keys = [new["lad"], new["age"], new["sex"]]
    found, expected = both(place, FRAME.rename(new), steps, keys=keys)

    assert_same(found.to_frame(), expected.to_frame())


def test_names_may_differ_in_case_only(place):
    if place.name == "duckdb relation":
        pytest.skip("names of DuckDB do not differ in case")
    frame = FRAME.rename({"ward": "LAD", "income": "Age"})
    found, expected = both(place, frame)

    assert_same(found.to_frame(), expected.to_frame())


IDS = {
    "text": pl.format("{}-é-{}", pl.lit("x" * 60), "person"),
    "negative": -pl.col("person").abs() - 1,
    "unsigned integers": pl.int_range(pl.len(), dtype=pl.UInt64) + (2**63 - 100),
    "whole floats": pl.col("person").cast(pl.Float64),
    "categories": pl.format("p-{}", "person").cast(pl.Categorical),
}


@pytest.mark.parametrize("ids", IDS)
def test_ids_may_be_texts_or_integers(place, ids):
    frame = FRAME.with_columns(person=IDS[ids])
    found, expected = both(place, frame, STEPS[:1])

    released = found.to_frame()
    if place.name.startswith("spark"):  # it has no unsigned integers
        released = released.with_columns(pl.col("person").cast(frame.schema["person"]))
    assert_same(released, expected.to_frame())


FEMALE, YOUNG = pl.col("sex") == "f", pl.col("age") < 40
TYPES = {
    "integer": pl.when(FEMALE).then(10).otherwise(2).cast(pl.Int8),
    "float": pl.when(YOUNG).then(0.1).otherwise(-1e9),
    "boolean": FEMALE & YOUNG,
    "date": pl.when(FEMALE).then(date(2020, 1, 31)).otherwise(date(1920, 2, 29)),
    "time": pl.when(YOUNG).then(datetime(1901, 3, 4, 5, 6, 7, 8)).otherwise(datetime(2020, 1, 1)),  # noqa: DTZ001 - as files have them
    "declared": pl.when(FEMALE | YOUNG).then(pl.lit("high")).otherwise(pl.lit("low")).cast(pl.Enum(["low", "high"])),
    "category": pl.when(FEMALE).then(pl.lit("a")).otherwise(pl.lit("Z")).cast(pl.Categorical),
    "decimal": pl.when(YOUNG).then(1.25).otherwise(3.5).cast(pl.Decimal(10, 2)),
}  # fmt: skip


def test_keys_may_have_any_type(place):
    frame = FRAME.with_columns(**TYPES)
    found, expected = both(place, frame, [mm.Swap(tuple(TYPES), rate=0.7)], keys=list(TYPES))

    assert found.changed_records > 50
    assert found.original.space == expected.original.space
    assert_same(found.to_frame(), expected.to_frame())


def test_missing_values_may_be_a_category(place):
    some, others = pl.col("person") % 7 == 0, pl.col("person") % 5 == 0
    frame = FRAME.with_columns(
        lad=pl.when(some).then(None).otherwise("lad"),
        age=pl.when(others).then(np.nan).otherwise(pl.col("age").cast(pl.Float64)),
        sex=pl.when(others).then(None).otherwise(pl.col("age").cast(pl.Float64) + 1),
    )
    steps = [mm.Pram("age", stay=0.6), mm.Pram("lad", stay=0.6), mm.Subsample(0.7)]
    found, expected = both(place, frame, steps, missing="category")

    assert found.original.space == expected.original.space
    assert_same(found.to_frame(), expected.to_frame())


def test_weights_are_those_in_memory(place):
    found, expected = both(place, FRAME, fraction=None, weights="weight")

    assert found.released.units == pytest.approx(expected.released.units)
    assert found.released.effective == pytest.approx(expected.released.effective)
    assert_same(found.to_frame(), expected.to_frame())


@pytest.mark.parametrize("kind", ["integers", "texts"])
def test_weights_are_divided_by_the_fraction_of_a_subsample(place, kind):
    texts = pl.col("weight").cast(pl.String).str.replace(".", ",", literal=True)
    frame = FRAME.with_columns(weight=texts if kind == "texts" else pl.col("weight").cast(pl.Int32))
    steps = [mm.Subsample(0.6), *STEPS[:1], mm.Subsample(0.5, label="again")]
    found, expected = both(place, frame, steps, fraction=None, weights="weight")

    assert found.released.units == pytest.approx(expected.released.units)
    assert_same(found.to_frame(), expected.to_frame())


def test_bands_are_released_as_bands(place):
    steps = [mm.Pram("age", stay=0.7), mm.Subsample(0.8)]
    found, expected = both(place, FRAME, steps, bands={"age": [0, 20, 50]})

    assert_same(found.to_frame(), expected.to_frame())


def test_records_may_have_the_categories_of_a_population(place):
    population = mm.count(people(2000, seed=3), keys=["lad", "age", "sex"])
    found, expected = both(place, FRAME, keys=population.space)

    assert found.original.space == population.space
    assert_same(found.to_frame(), expected.to_frame())
