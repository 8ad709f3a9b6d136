"""Every place gives the same counts and the same release, record for record."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

import maskmeter as mm
from engines.places import KEYS, assert_same, people, protect
from maskmeter.errors import without_warnings

FRAME = people()
STEPS = {
    "pram": [mm.Pram("age", stay=0.8)],
    "pram of two keys": [mm.Pram(("lad", "sex"), stay=0.7)],
    "swap in strata": [mm.Swap("lad", rate=0.3, within=("sex",))],
    "targeted swap": [mm.Swap("lad", rate=mm.by("sex", {"f": 0.4}, otherwise=0.1))],
    "redraw": [mm.Redraw("lad", rarer_than=500, others=["age", "sex"], carry=["ward"])],
    "recode": [mm.Recode("age", bands=[0, 30, 60])],
    "subsample": [mm.Subsample(0.6)],
    "several": [
        mm.Recode("age", top=60),
        mm.Pram("age", stay=0.9),
        mm.Redraw("lad", rarer_than=500, others=["age", "sex"], carry=["ward"]),
        mm.Swap("lad", rate=0.3, within=("sex",), label="swap"),
        mm.Subsample(0.7),
        mm.Pram("sex", stay=0.9),
    ],
}


@pytest.fixture(scope="module")
def expected():
    """The releases of records in memory."""
    sample = mm.read(FRAME, keys=KEYS, fraction=0.05, id="person")
    return {name: protect(sample, steps) for name, steps in STEPS.items()}


@pytest.fixture(scope="module")
def sample(place):
    return place.read(FRAME, fraction=0.05)


@pytest.fixture(scope="module")
def released(sample):
    """What returns the release of some steps and its frame, made once."""

    @cache
    def made(steps):
        release = protect(sample, STEPS[steps])
        return release, release.to_frame()

    return made


def test_counts_are_those_of_the_records_in_memory(place):
    assert place.count(FRAME) == mm.count(FRAME, keys=KEYS)


def test_the_sample_is_that_in_memory(sample, expected):
    original = expected["pram"].original

    assert sample.space == original.space
    assert (len(sample), sample.cell_sizes) == (len(original), original.cell_sizes)
    assert_same(sample.to_frame(), FRAME)


@pytest.mark.parametrize("steps", STEPS)
def test_a_release_is_the_same_record_for_record(released, expected, steps):
    _, frame = released(steps)

    assert_same(frame, expected[steps].to_frame())


@pytest.mark.parametrize("steps", STEPS)
def test_a_release_gives_the_same_account(released, expected, steps):
    (found, _), known = released(steps), expected[steps]

    assert found.summary() == known.summary()
    assert found.changed_by_step == known.changed_by_step
    assert found.changed_by_key == pytest.approx(known.changed_by_key)
    for one, other in zip(found.rates.iter_rows(), known.rates.iter_rows(), strict=True):
        assert one[:3] == other[:3]
        assert one[3:] == pytest.approx(other[3:])
    for one, other in zip(found.mechanism.factors, known.mechanism.factors, strict=True):
        np.testing.assert_allclose(one.P, other.P)


@pytest.mark.parametrize(
    ("steps", "within"), [("swap in strata", ["lad", "sex"]), ("redraw", ["lad", "ward"])]
)
def test_swaps_and_redraws_keep_margins(released, steps, within):
    release, frame = released(steps)

    def margin(rows):
        return rows.group_by(within).len().sort(within)

    assert release.changed_records > 20
    assert margin(frame).equals(margin(FRAME))


def test_a_written_release_is_the_one_in_memory(place, released, expected, tmp_path):
    held = place.name != "shuffled frame"
    path = tmp_path / ("out of [1]" if held else "out.parquet")
    with without_warnings():
        released("several")[0].write(path)

    files = [path] if not held else sorted(path.iterdir())
    written = pl.concat(pl.read_parquet(one, glob=False) for one in files)
    assert_same(written, expected["several"].to_frame())
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    if held:
        assert {one.suffix for one in path.iterdir()} == {".parquet"}


@pytest.mark.parametrize("parts", [1, 50])
def test_the_number_of_parts_changes_nothing(place, expected, parts):
    sample = place.read(FRAME, fraction=0.05, parts=parts)

    assert_same(protect(sample, STEPS["pram"]).to_frame(), expected["pram"].to_frame())


def test_categories_that_the_file_lacks_are_drawn_as_in_memory(place):
    """A key with many categories, of which the file has two: codes must not wrap."""
    wide = mm.Key("code", [f"c{number:03}" for number in range(400)])
    rows = pl.DataFrame({"code": ["c000", "c001"] * 500, "person": range(1000)})
    step = mm.Pram("code", matrix=mm.stay_or_move(400, stay=0.5), invariant=False)
    here = mm.read(rows, keys=[wide], fraction=0.1, id="person")
    there = place.read(rows, keys=[wide], fraction=0.1)

    found = [step.apply(one, rng=3).to_frame().sort("person")["code"] for one in (here, there)]
    assert found[0].equals(found[1])
    assert found[0].n_unique() > 256


CODED = FRAME.with_columns(
    pl.when(pl.col("age") == 80).then(-9).when(pl.col("age") == 70).then(None).otherwise("age").alias("age"),
    pl.when(pl.col("sex") == "f").then(pl.lit("NA")).otherwise("lad").alias("lad"),
)  # fmt: skip
CODES = {"age": [-9, 99], "lad": ["NA"]}


@pytest.mark.parametrize("steps", [[mm.Pram("age", stay=0.6)], [mm.Swap("lad", rate=0.3)]])
def test_missing_codes_mean_the_same_in_every_place(place, steps):
    told = {"fraction": 0.05, "missing": "category", "missing_codes": CODES}
    known = protect(mm.read(CODED, keys=KEYS, id="person", **told), steps)
    found = protect(place.read(CODED, **told), steps)

    assert found.original.space["age"].categories == (0, 10, 20, 30, 40, 50, 60, None)
    assert found.changed_records == known.changed_records > 50
    assert_same(found.to_frame(), known.to_frame())
    counted = {name: told[name] for name in ("missing", "missing_codes")}
    assert place.count(CODED, **counted) == mm.count(CODED, keys=KEYS, **counted)


def test_texts_match_the_numbers_of_a_population_in_every_place(place):
    texts = FRAME.with_columns(pl.col("age").cast(pl.String))
    population = mm.count(FRAME, keys=KEYS)
    found = place.read(texts, keys=population.space, fraction=0.05)
    known = place.read(FRAME, keys=population.space, fraction=0.05)

    assert found.space["age"].categories[:3] == ("0", "10", "20")
    risks = [mm.exact_risk(one, population).total for one in (found, known)]
    assert risks[0] == risks[1] > 0
    steps = [mm.Pram("age", stay=0.6)]
    as_text = protect(known, steps).to_frame().with_columns(pl.col("age").cast(pl.String))
    assert_same(protect(found, steps).to_frame(), as_text)
