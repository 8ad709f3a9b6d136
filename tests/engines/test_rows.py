"""Records without ids: the rows of one file have numbers, and other rows are only counted."""

from __future__ import annotations

import polars as pl
import pytest

import maskmeter as mm
from engines.places import KEYS, PLACES, people, protect
from maskmeter.errors import without_warnings
from rejection import rejected

FRAME = people(300)
STEPS = [
    mm.Pram("age", stay=0.7),
    mm.Swap("sex", rate=0.3, within=("lad",)),
    mm.Redraw("lad", rarer_than=300, others=["age", "sex"], carry=["ward"]),
    mm.Subsample(0.5),
]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_one_file_gives_the_release_of_its_rows_in_memory(tmp_path, engine):
    path = tmp_path / "people.parquet"
    FRAME.write_parquet(path, row_group_size=70)
    in_memory, there = (
        mm.read(path, keys=KEYS, fraction=0.05, **told) for told in ({}, {"engine": engine})
    )

    assert there.at_source is not None
    expected = protect(in_memory, STEPS).to_frame()
    assert protect(there, STEPS).to_frame().equals(expected)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_rows_keep_their_numbers_in_batches(tmp_path, monkeypatch, engine):
    for name in ("_MOST_ROWS", "_FEWEST_ROWS"):
        monkeypatch.setattr(f"maskmeter.data.engines.engine.{name}", 64)
    test_one_file_gives_the_release_of_its_rows_in_memory(tmp_path, engine)


def test_the_rows_of_one_text_file_have_numbers(tmp_path):
    path = tmp_path / "people.csv"
    FRAME.write_csv(path)
    in_memory, there = (
        mm.read(path, keys=KEYS, fraction=0.05, **told) for told in ({}, {"engine": "polars"})
    )

    assert in_memory.space == there.space
    expected = protect(in_memory, STEPS).to_frame()
    assert protect(there, STEPS).to_frame().equals(expected)


def test_nothing_is_drawn_after_a_subsample_of_rows(tmp_path):
    path = tmp_path / "people.parquet"
    FRAME.write_parquet(path)
    sample = mm.read(path, keys=KEYS, fraction=0.05, engine="polars")

    rejected(lambda: protect(sample, [mm.Subsample(0.5), STEPS[0]]), "subsample", "--id")


@pytest.mark.parametrize("place", PLACES[1:], indirect=True)
def test_rows_without_an_order_are_counted_and_assessed_but_not_drawn(place):
    sample = place.read(FRAME.drop("ward"), fraction=0.05, id=None)
    known = mm.read(FRAME.drop("ward", "person"), keys=KEYS, fraction=0.05)

    assert (len(sample), sample.cell_sizes) == (len(known), known.cell_sizes)
    with without_warnings():
        found, expected = (mm.assess(one).to_frame() for one in (sample, known))
    assert found["value"].to_list() == pytest.approx(expected["value"].to_list(), nan_ok=True)
    for step in STEPS:
        rejected(lambda step=step: protect(sample, [step]), "no fixed order", "id=")
    recoded = protect(sample, [mm.Recode("age", top=60)]).to_frame()
    assert recoded["age"].value_counts().sort("age").equals(
        FRAME["age"].cast(pl.String).replace({"60": "60+", "70": "60+", "80": "60+"})
        .value_counts().sort("age")
    )  # fmt: skip
