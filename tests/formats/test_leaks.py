"""Released files contain nothing of the original but what the released records show."""

from __future__ import annotations

import re
import zipfile
from datetime import date, datetime
from io import BytesIO

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import maskmeter as mm
from formats.files import write_stata
from maskmeter.errors import without_warnings

RECORDS = 24
ENDINGS = [".csv", ".tsv", ".parquet", ".arrow", ".feather", ".sav", ".zsav", ".dta", ".xpt", ".xlsx"]  # fmt: skip
LONG = [f"{n} lives in a town with a name that is long" for n in range(6)]
KINDS = {
    "short": pl.Series([f"t{n}" for n in range(6)]),
    "long": pl.Series(LONG),
    "very long": pl.Series(
        [text * 60 for text in LONG]
    ),  # Stata stores such texts after the records
    "enum": pl.Series(LONG, dtype=pl.Enum(LONG[::-1])),
    "categorical": pl.Series(LONG, dtype=pl.Categorical),
    "integer": pl.Series([3, 1, 2, 70_000, -5, 6]),
    "small": pl.Series([3, 1, 2, 7, -5, 6], dtype=pl.Int8),
    "float": pl.Series([0.5, 1.25, 2.0, -1e30, 7.5, 8.25]),
    "boolean": pl.Series([True, False, True, False, True, False]),
    "date": pl.Series([date(2000, 1, day) for day in (3, 1, 2, 5, 6, 9)]),
    "moment": pl.Series([datetime(2000, 1, 1, hour) for hour in (3, 1, 2, 5, 6, 9)]),  # noqa: DTZ001 - as in files
    "missing": pl.Series([*LONG[:5], None]),
    "no number": pl.Series([1.5, 2.5, 3.5, 4.5, 5.5, None]),
}
ONE, OTHER, RELEASED = (np.random.default_rng(n).permutation(RECORDS) % 6 for n in (1, 2, 3))


def people(kind, order):
    """Return records with a key whose values are in the given order, and other columns."""
    return pl.DataFrame(
        {
            "person": range(RECORDS),
            "k": pl.Series(KINDS[kind][order].to_list(), dtype=KINDS[kind].dtype),
            "story": [None if row % 5 == 0 else f"{LONG[row % 6]} ({row})" for row in range(RECORDS)],
            "pay": [None if row % 7 == 0 else row / 8 for row in range(RECORDS)],
        }
    )  # fmt: skip


def given_out(source, path, keys=("k",)):
    """Write a release whose key does not depend on the original values; return its content."""
    with without_warnings():
        sample = mm.read(source, keys=list(keys), missing="category")
        sample.with_codes(RELEASED[:, None] % sample.space.size).write(path)
    return without_clock(path)


def without_clock(path):
    """Return the content of a file without the time when it was written."""
    content = path.read_bytes()
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as parts:
            held = {name: parts.read(name) for name in parts.namelist()}
        made = "docProps/core.xml"
        return held | {made: re.sub(rb"\d{4}-\d\d-\d\dT[\d:]+Z", b"", held[made])}
    if path.suffix in {".sav", ".zsav"}:
        return content[:92] + content[92 + 17 :]
    if path.suffix == ".dta":
        return re.sub(rb"<timestamp>.{18}", b"", content, count=1)
    if path.suffix == ".xpt":
        return re.sub(rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d", b"", content)
    return content


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", KINDS)
class TestOriginalsWithTheSameReleaseGiveTheSameFile:
    def test_from_a_frame(self, kind, ending, tmp_path):
        one, other = (
            given_out(people(kind, order), tmp_path / f"{name}{ending}")
            for name, order in (("a", ONE), ("b", OTHER))
        )

        assert one == other

    def test_from_a_file_of_the_same_format(self, kind, ending, tmp_path):
        made = []
        for name, order in (("a", ONE), ("b", OTHER)):
            path = tmp_path / f"{name}{ending}"
            sample = mm.read(people(kind, order), keys=["k"], missing="category")
            sample.write(path)
            made.append(given_out(path, tmp_path / f"{name}-released{ending}"))

        assert made[0] == made[1]


def returned(frame):
    """Return the bytes of the released frame, whatever its kind."""
    sample = mm.read(frame, keys=["k"], missing="category")
    back = sample.with_codes(RELEASED[:, None] % sample.space.size).to_frame()
    if isinstance(back, pl.DataFrame):
        assert back.schema == frame.schema
        return back.write_ipc(None).getvalue()
    if isinstance(back, pd.DataFrame):
        assert back.dtypes.equals(frame.dtypes)
        back = pa.Table.from_pandas(back)
    else:
        assert back.schema == frame.schema
    held = BytesIO()
    with pa.ipc.new_file(held, back.schema) as file:
        file.write_table(back)
    return held.getvalue()


def dictionary(frame, index=pa.int8()):  # noqa: B008 - a type, which does not change
    """Return an Arrow table whose key has a dictionary in the order of the records."""
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    key = table["k"].combine_chunks()
    if not pa.types.is_dictionary(key.type):
        key = key.dictionary_encode()
        key = pa.DictionaryArray.from_arrays(key.indices.cast(index), key.dictionary)
    return table.set_column(table.column_names.index("k"), "k", key)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: frame,
        lambda frame: frame.to_arrow(compat_level=pl.CompatLevel.oldest()),
        dictionary,
        lambda frame: frame.to_pandas(),
        lambda frame: dictionary(frame).to_pandas(),  # a Categorical in the order of the records
    ],
    ids=["polars", "arrow", "dictionary", "pandas", "pandas categories"],
)
def test_originals_with_the_same_release_give_the_same_frame(kind, convert):
    one, other = (convert(people(kind, order)) for order in (ONE, OTHER))

    assert returned(one) == returned(other)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_value_that_no_released_record_has_is_not_in_the_file(ending, tmp_path):
    """Two originals differ in the value of one record, which the release changes."""
    key, codes = mm.Key("k", LONG), np.array([[1], *([code] for code in range(1, 6))])
    made = []
    for first in (0, 1):
        frame = pl.DataFrame({"k": [LONG[first], *LONG[1:]], "n": range(6)})
        source, target = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
        mm.read(frame, keys=["k"]).write(source)
        listed = frame.cast({"k": pl.Categorical})
        held = []
        for one in (frame, frame.to_arrow(), dictionary(frame), frame.to_pandas(), listed, source):
            mm.read(one, keys=[key]).with_codes(codes).write(target)
            held.append(without_clock(target))
        made.append(held)

    assert made[0] == made[1]


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_the_categories_of_a_tagged_column_are_those_that_occur(ending, tmp_path):
    path = write_stata(tmp_path / "a.dta")
    sample = mm.read(path, keys=["lad"], missing="category")
    codes = np.where(sample.codes == 2, 1, sample.codes)
    with pytest.warns(mm.MaskmeterWarning, match="cannot store value labels"):
        sample.with_codes(codes).write(tmp_path / f"b{ending}")
    read = pl.read_parquet if ending == ".parquet" else pl.read_ipc

    assert read(tmp_path / f"b{ending}").schema["lad"] == pl.Enum(["1", "2", ".a", ".z"])


@pytest.mark.parametrize("ending", [".arrow", ".feather", ".parquet"])
@pytest.mark.parametrize("kind", KINDS)
def test_suppressed_values_and_dropped_records_are_not_written(kind, ending, tmp_path):
    made = []
    for order in (ONE, OTHER):
        hidden = people("short", RELEASED).with_columns(x=people(kind, order)["k"])
        shown = hidden["person"] % 3 == 0
        same = pl.when(shown).then(people(kind, RELEASED)["k"]).otherwise("x")
        suppressed = hidden.with_columns(x=same).select("k", pl.when(shown).then("x"))
        target = tmp_path / f"b{ending}"
        mm.read(suppressed, keys=["k"]).write(target)
        kept = hidden.with_columns(x=same).filter(shown)[1:-1]
        mm.read(kept, keys=["k"]).write(tmp_path / f"c{ending}")
        made.append((target.read_bytes(), (tmp_path / f"c{ending}").read_bytes()))

    assert made[0] == made[1]


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_pandas_index_is_not_written(ending, tmp_path):
    frame = people("short", ONE).to_pandas()
    shuffled = frame.set_index(pd.Index([f"was{row:02}" for row in RELEASED]))
    shuffled.attrs["note"] = "by town"
    for name, one in (("a", frame), ("b", shuffled)):
        mm.read(one, keys=["k"]).write(tmp_path / f"{name}{ending}")

    assert without_clock(tmp_path / f"a{ending}") == without_clock(tmp_path / f"b{ending}")
    assert mm.read(tmp_path / f"b{ending}", keys=["k"]).to_frame().columns == list(frame.columns)


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@pytest.mark.parametrize("convert", [lambda frame: frame, pa.Table.from_pandas])
def test_the_declared_order_of_a_frame_is_written(convert, ending, tmp_path):
    levels = ["low", "mid", "high"]
    texts = pd.Categorical(["high", "low"] * 5, categories=levels, ordered=True)
    mm.read(convert(pd.DataFrame({"k": texts})), keys=["k"]).write(tmp_path / f"a{ending}")

    assert mm.read(tmp_path / f"a{ending}", keys=["k"]).space["k"].categories == tuple(levels)
