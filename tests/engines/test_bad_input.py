"""What cannot be read, drawn or written is said in one sentence, and leaves nothing behind."""

from __future__ import annotations

import gc
import sys
import tempfile
from dataclasses import replace

import polars as pl
import pytest

import maskmeter as mm
from engines.places import KEYS, PLACES, SPARK, people, protect, write_parts
from maskmeter.data.engines import BatchMap
from rejection import SECRET, rejected

FRAME = people(120).with_columns(lad=pl.col("lad").replace("lad 1", SECRET))
PRAM = [mm.Pram("age", stay=0.7)]
FILES = ["polars", "duckdb", pytest.param("spark", marks=SPARK)]


@pytest.fixture
def engine(request):
    """An engine for files, whose Spark is the session of all tests."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    return request.param


@pytest.fixture
def parts(tmp_path):
    """A folder with the records in three files."""
    return write_parts(FRAME, tmp_path, 3)


@pytest.fixture(autouse=True)
def _nothing_left(tmp_path, monkeypatch, capfd):
    """No temporary file or folder may be there when a test ends, and nothing is printed."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    yield
    gc.collect()  # a database has a folder as long as somebody holds it
    assert list(temporary.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_an_engine_that_is_not_installed_is_named(parts, monkeypatch):
    for name in ("pyspark", "pyspark.sql", "duckdb"):
        monkeypatch.setitem(sys.modules, name, None)
    for engine in ("spark", "duckdb"):
        action = lambda engine=engine: mm.read(parts, keys=KEYS, engine=engine)  # noqa: E731
        rejected(action, f"pip install 'maskmeter[{engine}]'")


def test_an_unknown_engine_is_refused(parts):
    rejected(lambda: mm.read(parts, keys=KEYS, engine="flink"), "'polars', 'duckdb', 'spark'")
    rejected(lambda: mm.read(FRAME, keys=KEYS, engine="duckdb"), "`engine` is for files")
    rejected(lambda: mm.read(parts, keys=KEYS, master="local[2]"), 'engine="spark"')


IDS = {
    "missing": (
        pl.when(pl.col("person") % 2 == 0).then("person"),
        ("no id in 'person'", "of 120 records"),
    ),
    "repeated": (pl.col("person") // (2 * 7919), ("another in 'person'",)),
    "not whole": (pl.col("person") + 0.5, ("'person' cannot be the id", "not whole")),
    "not finite": (
        pl.when(pl.col("person") > 0).then(pl.col("person") * 1.0).otherwise(float("inf")),
        ("'person' cannot be the id",),
    ),
    "dates": (pl.col("person").cast(pl.Date), ("'person' cannot be the id",)),
    "truths": (pl.col("person") > 0, ("'person' cannot be the id",)),
}


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("place", PLACES[:-1], indirect=True)
def test_ids_must_be_whole_and_distinct(place, kind):
    column, words = IDS[kind]
    frame = FRAME.with_columns(person=column)

    rejected(lambda: protect(place.read(frame, fraction=0.1), PRAM), *words)


@pytest.mark.parametrize("place", PLACES[:-1], indirect=True)
def test_columns_that_are_not_there_are_named(place):
    rejected(lambda: place.read(FRAME, id="persn"), "'persn'", "Did you mean 'person'?")
    rejected(lambda: place.read(FRAME, keys=["lad", "aeg"]), "'aeg'", "Did you mean 'age'?")
    rejected(lambda: place.read(FRAME, weights="wieght"), "'wieght'")


@pytest.mark.parametrize("place", PLACES[:-1], indirect=True)
def test_records_must_be_there_and_have_keys(place):
    rejected(lambda: place.read(FRAME[:0]), "no records")
    rejected(lambda: place.count(FRAME[:0]), "no records")
    some = FRAME.with_columns(age=pl.when(pl.col("age") > 20).then("age"))
    rejected(lambda: place.read(some), "of 120 records", "'age'")
    negative = FRAME.with_columns(weight=pl.when(pl.col("age") > 20).then("weight").otherwise(-1))
    rejected(lambda: place.read(negative, weights="weight"), "'weight' cannot hold weights")


@pytest.mark.parametrize("place", PLACES[1:], indirect=True)
def test_a_folder_that_exists_is_not_written_to(place, tmp_path):
    sample, out = place.read(FRAME, fraction=0.1), tmp_path / "out"
    out.mkdir()
    (out / "old.parquet").touch()

    rejected(lambda: sample.write(out), "already exists")
    assert [one.name for one in out.iterdir()] == ["old.parquet"]
    rejected(lambda: sample.write(tmp_path / "none" / "out"), "no such folder")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("place", PLACES[1:-1], indirect=True)
def test_a_worker_that_fails_leaves_nothing_and_quotes_nobody(place, tmp_path):
    sample, out = place.read(FRAME, fraction=0.1), tmp_path / "out"

    def fails(part, start):
        message = f"secret-value {part.row(0)}"
        raise ValueError(message)

    class Broken:  # here, so that Spark carries it to its workers
        alters, needs, carries, thins = (0,), (0,), (), False

        def __call__(self, batch):
            fails(pl.DataFrame(batch.true), 0)

    work = BatchMap(("age",), fails, {"n": None})
    for action in (sample.source.engine.counted_with, sample.source.engine.columns_with):
        rejected(lambda action=action: action(work), "could not work through the rows")
    broken = replace(sample, at_source=replace(sample.at_source, changes=(Broken(),)))
    rejected(lambda: broken.write(out), "could not work through the rows")
    rejected(broken.to_frame, "could not work through the rows")
    assert not [one for one in tmp_path.iterdir() if "out" in one.name]


@pytest.mark.parametrize("engine", FILES, indirect=True)
def test_files_must_be_there_and_alike(tmp_path, engine):
    def read(given):
        return lambda: mm.read(given, keys=KEYS, engine=engine)

    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "_SUCCESS").touch()
    rejected(read(empty), "no files in the folder")
    rejected(read(str(empty / "*.parquet")), "no files that match the pattern")
    rejected(read(tmp_path / "none.parquet"), "none.parquet")
    mixed = write_parts(FRAME, tmp_path, 2)
    FRAME.write_csv(mixed / "more.csv")
    rejected(read(mixed), "different formats", ".csv, .parquet")
    for column in ("age", "income"):
        other = write_parts(FRAME, tmp_path, 3)
        FRAME.with_columns(pl.col(column).cast(pl.String)).write_parquet(other / "00.parquet")
        rejected(read(other), "2 of 3 files have other columns or types")
    lacking = write_parts(FRAME, tmp_path, 3)
    FRAME.drop("income").write_parquet(lacking / "02.parquet")
    rejected(read(lacking), "1 of 3 files has other columns", "02.parquet")


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=SPARK)], indirect=True)
def test_only_polars_reads_text_files(tmp_path, engine):
    FRAME.write_csv(tmp_path / "people.csv")

    rejected(lambda: mm.read(tmp_path / "people.csv", keys=KEYS, engine=engine), "reads Parquet")


@pytest.mark.parametrize("engine", FILES, indirect=True)
def test_files_that_are_broken_are_refused(parts, engine):
    def read():
        return mm.read(parts, keys=KEYS, engine=engine, fraction=0.1, id="person")

    path = parts / "01.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\0" * 300 + whole[400:])  # its end says what is in it
    rejected(read, "")
    path.write_text(SECRET)
    rejected(read, "")


@pytest.mark.parametrize("engine", FILES, indirect=True)
def test_files_that_change_are_refused(parts, tmp_path, engine):
    sample = mm.read(parts, keys=KEYS, engine=engine, fraction=0.1, id="person")
    release, out = protect(sample, PRAM), tmp_path / "out"
    (parts / "01.parquet").write_bytes((parts / "02.parquet").read_bytes())

    for action in (lambda: protect(sample, PRAM), release.to_frame, lambda: release.write(out)):
        rejected(action, "01.parquet", "has changed")
    (parts / "01.parquet").unlink()
    rejected(release.to_frame, "01.parquet", "has changed")
    assert not out.exists()


@pytest.mark.parametrize("place", PLACES[3::2], indirect=True)
def test_values_that_nobody_counted_are_refused(place):
    """The rows of a table or query may change between two passes."""
    sample = place.read(FRAME, fraction=0.1)
    encoder = sample.at_source.encoder
    fewer = replace(encoder, values=(encoder.values[0][:2], *encoder.values[1:]), codes=(encoder.codes[0][:2], *encoder.codes[1:]))  # fmt: skip
    changed = replace(sample, at_source=replace(sample.at_source, encoder=fewer))

    rejected(lambda: protect(changed, PRAM), "Column 'lad'", "Read them again")
