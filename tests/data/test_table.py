"""Counting and looking up."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import pytest

import maskmeter as mm

PEOPLE = pl.DataFrame({"sex": ["m", "f", "f", "f"], "age": [10, 2, 10, 10], "name": list("wxyz")})
KEYS = ["sex", "age"]


@pytest.fixture(params=["polars", "lazy", "pandas", "pyarrow", "duckdb", "csv", "parquet"])
def source(request, tmp_path):
    people = PEOPLE.with_columns(pl.col("age").cast(pl.String))
    people.write_csv(tmp_path / "people.csv")
    people.write_parquet(tmp_path / "people.parquet")
    return {
        "polars": people,
        "lazy": people.lazy(),
        "pandas": people.to_pandas(),
        "pyarrow": people.to_arrow(),
        "duckdb": duckdb.from_arrow(people.to_arrow()),
        "csv": tmp_path / "people.csv",
        "parquet": tmp_path / "people.parquet",
    }[request.param]


def test_all_engines_give_the_same_counts(source):
    table = mm.count(source, keys=KEYS)

    assert table.space.sizes == (2, 2)
    assert table.dense().tolist() == [[1, 2], [0, 1]]  # f: "2" once, "10" twice; m: "10" once
    assert table.total == 4


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_rows_of_a_population_are_never_collected(ending, tmp_path, monkeypatch):
    path = tmp_path / f"people.{ending}"
    people = pl.concat([PEOPLE] * 100)
    people.write_csv(path) if ending == "csv" else people.write_parquet(path)
    heights = []
    collect = pl.LazyFrame.collect

    def watched(frame, **options):
        collected = collect(frame, **options)
        heights.append(collected.height)
        return collected

    monkeypatch.setattr(pl.LazyFrame, "collect", watched)
    mm.count(path, keys=KEYS)

    assert heights == [3]


def test_uniques_projections_and_lookups_agree_with_the_counts():
    table = mm.count(PEOPLE, keys=KEYS)

    assert len(table.uniques()) == 2
    assert table.project(["age"]).counts.tolist() == [1, 3]
    assert table.project(["age", "sex"]) == mm.count(PEOPLE, keys=["age", "sex"])
    assert table.lookup(np.array([[0, 1], [1, 0]])).tolist() == [2, 0]


def test_a_table_can_take_another_order_of_keys_and_categories():
    table = mm.count(PEOPLE, keys=KEYS)
    space = mm.KeySpace([mm.Key("age", [10, 5]), mm.Key("sex", ["m", "f"])])
    moved = table.onto(space)

    assert moved.space["age"].categories == (10, 5, 2)  # 2 is occupied, so it is added at the end
    assert moved.dense().tolist() == [[1, 2], [0, 0], [0, 1]]


def test_missing_values_are_counted_by_record():
    people = pl.DataFrame({"sex": ["f", None, None, "m"]})

    with pytest.raises(mm.MaskmeterError, match="2 of 4 records have no value for 'sex'"):
        mm.count(people, keys=["sex"])
    assert mm.count(people, keys=["sex"], missing="category").counts.tolist() == [1, 1, 2]


def test_a_dense_table_too_large_for_memory_is_rejected():
    space = mm.KeySpace(mm.Key(f"key{c}", range(10)) for c in range(12))
    table = mm.KeyTable.of(space, np.zeros((1, 12), dtype=int))

    with pytest.raises(mm.MaskmeterError, match="1,000,000,000,000 cells"):
        table.dense()


def test_every_count_of_an_empty_table_is_zero():
    space = mm.KeySpace([mm.Key("sex", "fm")])
    table = mm.KeyTable.of(space, np.zeros((0, 1), dtype=int))

    assert table.lookup(np.array([[0]])).tolist() == [0]
    assert table != 1


AWKWARD = pl.DataFrame({"age": [1, 2, 2], "sex": ["f", "m", "m"], "income, gross": [5, 6, 5]})


@pytest.mark.parametrize("action", [mm.read, mm.count])
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("age,sex", ("age", "sex")),
        (" sex , age,", ("sex", "age")),
        ("age", ("age",)),
        ("income, gross", ("income, gross",)),
    ],
)
def test_keys_may_be_comma_separated_text(action, text, names):
    assert action(AWKWARD, keys=text).space.names == names


@pytest.mark.parametrize("action", [mm.read, mm.count])
def test_a_column_name_with_a_comma_works_in_a_list(action):
    assert action(AWKWARD, keys=["income, gross", "age"]).space.names == ("income, gross", "age")


def test_projections_accept_comma_separated_text():
    sample = mm.read(AWKWARD, keys=["income, gross", "age", "sex"], fraction=0.5)
    table = mm.count(AWKWARD, keys=sample.space)
    release = mm.Release(sample, sample, {})
    for text, names in (("sex,age", ("sex", "age")), ("income, gross", ("income, gross",))):
        for whole in (sample, sample.space, table, release.original):
            part = whole.project(text)
            assert (part if whole is sample.space else part.space).names == names
        assert release.project(text).released.space.names == names
        curve = mm.risk_by_keys(release, table, known=text)
        assert curve.subsets[-1].keys == names


def test_known_keys_may_be_comma_separated_text():
    sample = mm.read(AWKWARD, keys=["income, gross", "age", "sex"], fraction=0.5)
    table = mm.count(AWKWARD, keys=sample.space)

    def maps(known):
        still = {"none": mm.Pram("sex", stay=1.0)}
        found = mm.compare(
            sample, still, loss=("age", "sex"), population=table, known=known, measure="raad", rng=1
        )
        return found.to_frame()

    for text, listed in (
        ("income, gross", ["income, gross"]),
        ("age,sex", ["age", "sex"]),
        (
            {"one": "age,sex", "two": ["income, gross", "age"]},
            {"one": ["age", "sex"], "two": ["income, gross", "age"]},
        ),
    ):
        assert maps(text).equals(maps(listed))
    with pytest.raises(mm.MaskmeterError, match="No key named 'seks'"):
        maps("age,seks")
