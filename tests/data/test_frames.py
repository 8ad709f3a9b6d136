"""Returned frames: of the caller's kind, with the index of the records they describe."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import maskmeter as mm

KEYS = ["lad", "age", "ethnicity"]
RECORDS = 600
ROWS = np.arange(RECORDS)
SHUFFLED = np.random.default_rng(12).permutation(RECORDS)
INDEXES = {
    "default": pd.RangeIndex(RECORDS),
    "text": pd.Index([f"person {row}" for row in ROWS], name="pid"),
    "shuffled": pd.Index(SHUFFLED),
    "two levels": pd.MultiIndex.from_arrays([SHUFFLED // 3, SHUFFLED % 3], names=["hh", "member"]),
}


@pytest.fixture(scope="module")
def world():
    census = mm.synthetic_census(size=20_000).with_columns(pl.col(pl.Enum).cast(pl.String))
    drawn = mm.bernoulli_sample(census, fraction=0.05, rng=1)[:RECORDS]
    return drawn.with_columns(household=pl.Series(ROWS // 2)), mm.count(census, keys=KEYS)


@pytest.fixture(params=INDEXES)
def people(request, world):
    return world[0].to_pandas().set_index(INDEXES[request.param])


def same_people(frame, people):
    """Return whether each row of a frame has the keys of the person its index names."""
    return frame[KEYS].equals(people.loc[frame.index, KEYS])


def test_a_frame_of_uniques_keeps_the_index_of_those_records(people, world):
    sample = mm.read(people, keys=KEYS, fraction=0.05)
    for risk in (
        mm.exact_risk(sample, world[1]),
        mm.approximate_risk(sample, world[1]),
        mm.linkage_probability(sample, world[1]),
        mm.estimate_risk(sample, mm.fit_loglinear(sample, ["lad:ethnicity"]), interval="none"),
    ):
        frame = risk.to_frame()
        assert 0 < len(frame) < RECORDS
        assert same_people(frame, people)
        assert frame.index.equals(people.index[frame["record"]])
        assert frame.index.names == people.index.names


def test_a_released_frame_keeps_the_index_of_the_original(people):
    sample = mm.read(people, keys=KEYS, fraction=0.05)
    release = mm.Swap("lad", rate=0.2).apply(sample, rng=1)
    for frame in (release.released.to_frame(), release.project(KEYS[:2]).released.to_frame()):
        assert frame.index.equals(people.index)
        assert frame["age"].equals(people["age"])
        moved = (frame["lad"] != people["lad"]).to_numpy()
        assert moved.tolist() == release.changed.tolist()


def test_a_banded_frame_keeps_the_index(people):
    numbered = people.assign(years=SHUFFLED % 90)
    banded = mm.read(numbered, keys=["years"], bands={"years": [0, 30, 60]}).to_frame()

    assert banded.index.equals(people.index)
    assert (banded["years"] == "30-59").tolist() == numbered["years"].between(30, 59).tolist()


def test_a_frame_of_households_has_a_plain_index(people):
    sample = mm.read(people, keys=KEYS, fraction=0.05)
    model = mm.fit_loglinear(sample, ["lad:ethnicity"])
    risk = mm.estimate_risk(sample, model, interval="none", household="household")

    frame = risk.households()

    assert frame.index.equals(pd.RangeIndex(RECORDS // 2))
    assert frame["household"].tolist() == list(range(RECORDS // 2))


def test_a_sample_of_a_frame_keeps_the_index(people):
    drawn = mm.bernoulli_sample(people, fraction=0.2, rng=1)

    assert 0 < len(drawn) < RECORDS
    assert same_people(drawn, people)


def test_duplicate_index_labels_do_not_mix_up_records(world):
    people = world[0].to_pandas().set_index(pd.Index(ROWS // 2))
    frame = mm.exact_risk(mm.read(people, keys=KEYS, fraction=0.05), world[1]).to_frame()

    assert frame[KEYS].equals(people.iloc[frame["record"]][KEYS])


def test_records_keep_their_index_when_the_frame_is_changed_later(world):
    people = world[0].to_pandas()
    sample = mm.read(people, keys=KEYS, fraction=0.05)
    people.index = people.index[::-1]

    assert sample.to_frame().index.equals(pd.RangeIndex(RECORDS))


@pytest.mark.parametrize("kind", ["polars", "lazy", "pyarrow", "chunked"])
def test_other_frames_are_returned_with_the_same_records(kind, world):
    people, population = world
    arrow = people.to_arrow()
    given = {
        "polars": people,
        "lazy": people.lazy(),
        "pyarrow": arrow,
        "chunked": pa.concat_tables([arrow[:250], arrow[250:]]),
    }[kind]
    sample = mm.read(given, keys=KEYS, fraction=0.05)
    frame = mm.exact_risk(sample, population).to_frame()

    assert isinstance(frame, pl.DataFrame if kind in ("polars", "lazy") else pa.Table)
    back = pl.from_arrow(frame) if isinstance(frame, pa.Table) else frame
    assert back.columns == ["record", *KEYS, "risk"]
    assert back.select(KEYS).equals(people[back["record"]].select(KEYS))


def test_records_without_a_source_frame_are_returned_as_polars(world):
    sample = mm.read(world[0], keys=KEYS, fraction=0.05)
    bare = mm.Microdata(sample.space, sample.codes, fraction=0.05)
    frame = mm.exact_risk(bare, world[1]).to_frame()

    assert frame.equals(mm.exact_risk(sample, world[1]).to_frame())
