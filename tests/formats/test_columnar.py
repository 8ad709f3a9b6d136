"""Parquet and Arrow, and reading and writing without pandas."""

from __future__ import annotations

import os
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import maskmeter as mm
from command import run_python
from maskmeter.formats.panics import unprinted

LEVELS = pl.Enum(["low", "high"])
PEOPLE = pl.DataFrame(
    {
        "level": pl.Series(["low", "high"] * 20, dtype=LEVELS),
        "small": pl.Series([1, None] * 20, dtype=pl.Int8),
        "many": [[1, 2], None] * 20,
        "when": pl.Series([1, 2] * 20).cast(pl.Datetime("ms", "Europe/Oslo")),
    }
)


@pytest.mark.parametrize("ending", [".parquet", ".pq", ".arrow", ".feather"])
def test_types_are_preserved_and_only_the_key_changes(ending, tmp_path):
    path, target = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    mm.read(PEOPLE, keys=["level"]).write(path)
    release = mm.Swap("level", 0.5).apply(mm.read(path, keys=["level"]), rng=1)
    release.write(target)
    read = pl.read_ipc if ending in {".arrow", ".feather"} else pl.read_parquet

    assert read(path).equals(PEOPLE)
    after = read(target)
    assert after.schema == PEOPLE.schema
    assert after.drop("level").equals(PEOPLE.drop("level"))
    assert (after["level"] != PEOPLE["level"]).to_list() == release.changed.tolist()


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_ordered_categories_of_pandas_keep_their_order(ending, tmp_path):
    path, levels = tmp_path / f"a{ending}", ["low", "mid", "high"]
    texts = ["high", "low"] * 20
    people = pd.DataFrame({
        "level": pd.Categorical(texts, categories=levels, ordered=True),
        "kind": pd.Categorical(texts, categories=levels),
        "x y": range(40),
    })  # fmt: skip
    people.to_parquet(path) if ending == ".parquet" else people.to_feather(path)
    sample = mm.read(path, keys=["level", "kind"])
    release = mm.Swap("level", 0.5).apply(sample, rng=1)
    release.write(tmp_path / f"b{ending}")
    again = mm.read(tmp_path / f"b{ending}", keys=["level", "kind"])

    assert sample.space["level"].categories == ("low", "mid", "high")
    assert sample.space["kind"].categories == ("high", "low")
    assert sample.to_frame()["level"].to_list() == texts
    assert mm.count(path, keys=["level"]).space["level"] == sample.space["level"]
    assert again == release.released


def test_parquet_metadata_is_not_copied_and_a_warning_says_so(tmp_path):
    pd.DataFrame({"k": ["a", "b"]}).to_parquet(tmp_path / "plain.parquet")
    mm.read(tmp_path / "plain.parquet", keys=["k"]).write(tmp_path / "b.parquet")
    PEOPLE.write_parquet(tmp_path / "a.parquet", metadata={"r": "attributes"})
    sample = mm.read(tmp_path / "a.parquet", keys=["level"])
    with pytest.warns(mm.MaskmeterWarning, match="1 entry of the Parquet metadata is not copied"):
        sample.write(tmp_path / "b.parquet")

    assert set(pl.read_parquet_metadata(tmp_path / "b.parquet")) == {"ARROW:schema"}


@pytest.mark.parametrize("action", [mm.read, mm.count])
def test_column_types_unknown_to_the_readers_are_rejected(action, tmp_path, capfd):
    viewed = pa.table({"k": ["a", "b"] * 5, "text": pa.array(["x"] * 10, pa.string_view())})
    feather.write_feather(viewed, tmp_path / "a.feather")
    wide = pa.array([Decimal("1.00"), Decimal("2.00")], pa.decimal256(60, 2))
    parquet.write_table(pa.table({"k": ["a", "b"], "wide": wide}), tmp_path / "a.parquet")
    for name in ("a.feather", "a.parquet"):
        with pytest.raises(mm.MaskmeterError, match="Cannot read"):
            action(tmp_path / name, keys=["k", "text"] if name == "a.feather" else ["k"])
    capfd.readouterr()  # discard what the engine prints


EVERY_FORMAT = """
import polars as pl, maskmeter as mm, warnings
frame = pl.DataFrame({"k": ["a", "b"] * 5, "age": range(10), "x": [None, 1.5] * 5})
mm.read(frame, keys=["k"]).write("a.sav")
for one, other in [("a.sav", "b.sav"), ("a.sav", "b.dta"), ("b.dta", "c.dta"), ("b.dta", "c.xpt"), ("c.xpt", "d.xlsx"), ("d.xlsx", "e.xlsx")]:
    sample = mm.read(one, keys=["k", "age"], bands={"age": [0, 5]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.MaskmeterWarning)
        mm.read(one, keys=["k"]).write(other)
        sample.write("banded" + other[1:])
    assert sample.codes[:, 0].tolist() == [0, 1] * 5
try:
    mm.read("a.rds", keys=["k"])
except mm.MaskmeterError as error:
    print(error)
"""


def test_only_r_files_need_pandas(tmp_path):
    (tmp_path / "a.rds").write_bytes(b"x")
    done = run_python(EVERY_FORMAT, hidden={"pandas", "pyarrow"}, folder=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "pip install 'maskmeter[r]'" in done.stdout


def test_what_a_reader_prints_below_python_is_not_shown(capfd):
    """Several reads may go on at once, and standard error is back when the last has ended."""
    with unprinted():
        with unprinted():
            os.write(2, b"panicked at a record\n")
        os.write(2, b"panicked again\n")
    os.write(2, b"a sentence\n")

    assert capfd.readouterr().err == "a sentence\n"
