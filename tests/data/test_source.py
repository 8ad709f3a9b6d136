"""The source behind the records: few passes, only the columns needed, and copies with new columns."""

from __future__ import annotations

import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyreadstat
import pytest
from pyarrow import parquet

import maskmeter as mm
from formats.files import RECORDS, survey, write_spss, write_stata
from maskmeter.data.source import Source
from maskmeter.errors import without_warnings
from maskmeter.formats.replacement import Replacement

ENDINGS = [".csv", ".tsv", ".parquet", ".arrow", ".sav", ".zsav", ".dta", ".xpt", ".xlsx"]
LOST = "zq-lost"  # prefix of texts that only dropped records have


def people():
    """Return records; every third has texts that no other record has."""
    rng = np.random.default_rng(2010)
    texts = [f"{LOST}-{row}" if row % 3 == 0 else f"kept-{row}" for row in range(60)]
    return pl.DataFrame(
        {
            "k": ["lone" if row % 3 == 0 else "fm"[row % 2] for row in range(60)],
            "place": rng.choice(["north", "south", "west"], 60),
            "work": rng.choice(["yes", "no"], 60),
            "w": [f"{weight:.1f}" for weight in 1 + rng.random(60)],
            "story": texts,
        }
    )


@pytest.fixture
def passes(monkeypatch):
    """Return a list that grows by the columns of each pass over a source."""
    asked = []
    usual = Source.scan

    def counting(self, names):
        if self.path is not None:
            asked.append(list(names))
        return usual(self, names)

    monkeypatch.setattr(Source, "scan", counting)
    return asked


@pytest.mark.parametrize("ending", ENDINGS)
def test_reading_a_file_loads_only_the_keys(ending, tmp_path, passes):
    mm.read(people(), keys=["k"]).write(tmp_path / f"a{ending}")
    sample = mm.read(tmp_path / f"a{ending}", keys=["k", "place"])

    assert passes == [["k", "place"]]
    assert sample.source.frame is None
    mm.read(tmp_path / f"a{ending}", keys=["k"], fraction=0.1)
    mm.count(tmp_path / f"a{ending}", keys=["work"])
    assert passes[1:] == [["k"], ["work"]]


def test_keys_and_weights_are_read_in_one_pass(tmp_path, passes):
    people().write_csv(tmp_path / "a.csv")
    mm.read(tmp_path / "a.csv", keys=["k"], weights="w")

    assert passes == [["k", "w"]]


@pytest.mark.parametrize("make", [write_spss, write_stata])
def test_spss_and_stata_readers_load_only_the_keys(make, tmp_path, monkeypatch):
    path = make(tmp_path / ("a.sav" if make is write_spss else "a.dta"))
    name = "read_sav" if make is write_spss else "read_dta"
    usual, loaded = getattr(pyreadstat, name), []

    def watched(*given, **options):
        columns, meta = usual(*given, **options)
        loaded.append({column for column, values in columns.items() if values})
        return columns, meta

    monkeypatch.setattr(pyreadstat, name, watched)
    mm.read(path, keys=["sex", "town"], missing="category")

    assert set().union(*loaded) == {"sex", "town"}


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".sav", ".xlsx"])
def test_the_tables_of_all_candidates_need_at_most_two_more_passes(ending, tmp_path, passes):
    census = mm.bernoulli_sample(mm.synthetic_census(size=20_000), fraction=0.05, rng=1)
    census = census.with_columns(pl.col(pl.Enum).cast(pl.String), income=pl.int_range(pl.len()))
    mm.read(census, keys=["lad"]).write(tmp_path / f"a{ending}")
    sample = mm.read(tmp_path / f"a{ending}", keys=["lad", "sex", "age"], fraction=0.05)
    candidates = {f"swap {rate}": mm.Swap("lad", rate=rate) for rate in (0.1, 0.2, 0.3)}
    with without_warnings():
        mm.compare(sample, candidates, loss=("lad", "ethnicity"), rng=1)
        released = candidates["swap 0.1"].apply(sample, rng=1)
        mm.information_loss(released, rows="lad", columns="ethnicity")
        mm.assess(released)

    others = [name for name in census.columns if name not in sample.space.names]
    *tables, checked = passes  # the release check looks at every column
    assert len(tables) <= 1 + 2  # a requested table may be read before the others
    assert sorted(name for asked in tables[1:] for name in asked) == sorted(others)
    assert sorted(checked) == sorted(census.columns)
    assert "income" not in {name for name, one in sample.source._encoded.items() if one is not None}


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".sav"])
def test_a_file_that_changed_since_reading_is_rejected(ending, tmp_path):
    path = tmp_path / f"a{ending}"
    mm.read(people(), keys=["k"]).write(path)
    sample = mm.read(path, keys=["k"], fraction=0.1)
    mm.read(people().reverse().head(50), keys=["k"]).write(path)
    for action in (sample.to_frame, lambda: sample.write(tmp_path / f"b{ending}"), sample.fingerprint):  # fmt: skip
        with pytest.raises(mm.MaskmeterError, match="has changed since it was read"):
            action()
    assert not (tmp_path / f"b{ending}").exists()


def test_later_changes_to_a_frame_do_not_reach_the_sample():
    frame = pd.DataFrame({"k": ["a", "b"] * 10, "n": range(20)})
    sample = mm.read(frame, keys=["k"])
    frame["n"] = 0

    assert sample.to_frame()["n"].tolist() == list(range(20))


def test_count_gives_each_combination_once():
    columns, rows = Source.of(people().lazy()).count(["k", "work"])
    counted = columns.to_polars().with_columns(rows=rows)
    wanted = people().group_by("k", "work").len()

    assert sorted(counted.rows()) == sorted(wanted.rows())


def test_a_column_named_like_the_number_of_rows_is_counted_too():
    frame = people().rename({"work": "number of rows"})
    columns, rows = Source.of(frame).count(["k", "number of rows"])

    assert columns.columns == ["k", "number of rows"]
    assert rows.sum() == len(frame)


def replacement(frame, name, *, rows=None, turn=True):
    """Return a column in reverse order, for all records or some."""
    values = tuple(sorted(set(frame[name])))
    before = np.array([values.index(value) for value in frame[name]])
    codes = before[::-1] if turn else before
    return Replacement(name, codes if rows is None else codes[rows], values, before)


def content(path):
    """Return the texts in a file, including the dictionaries of its columns."""
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as parts:
            return b"".join(parts.read(name) for name in parts.namelist())
    if path.suffix == ".zsav":
        return repr(pyreadstat.read_sav(path, output_format="dict")[0]).encode()
    if path.suffix != ".parquet":
        return path.read_bytes()
    table = parquet.read_table(path, read_dictionary=["k", "story"])
    held = [chunk.dictionary for name in ("k", "story") for chunk in table[name].chunks]
    return repr([one.to_pylist() for one in held]).encode()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["frame", "file"])
def test_a_file_of_some_records_contains_nothing_of_the_others(kind, ending, tmp_path):
    frame = people()
    mm.read(frame, keys=["k"]).write(tmp_path / f"a{ending}")
    source = Source.of(frame if kind == "frame" else tmp_path / f"a{ending}")
    rows = np.flatnonzero(np.arange(60) % 3)[::-1]
    with without_warnings():
        source.write_with(
            tmp_path / f"b{ending}", [replacement(frame, "place", rows=rows)], rows=rows
        )

    turned = frame.with_columns(place=frame["place"].reverse())[rows]
    assert mm.read(tmp_path / f"b{ending}", keys=["place"]).to_frame().equals(turned)
    assert LOST.encode() in content(tmp_path / f"a{ending}")
    assert LOST.encode() not in content(tmp_path / f"b{ending}")
    assert b"lone" not in content(tmp_path / f"b{ending}")


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_categories_of_dropped_records_are_dropped_too(ending, tmp_path):
    frame = people().with_columns(pl.col("story", "k").cast(pl.Categorical))
    rows = np.flatnonzero(np.arange(60) % 3)
    Source.of(frame).write_with(tmp_path / f"a{ending}", ())
    Source.of(frame).write_with(tmp_path / f"b{ending}", (), rows=rows)

    assert LOST.encode() in content(tmp_path / f"a{ending}")
    assert LOST.encode() not in content(tmp_path / f"b{ending}")


def test_csv_records_keep_their_bytes_when_others_are_dropped(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'k;n\r\n"a";1\r\nb;"2"\r\n"a";3\r\nb;4')
    frame = pl.DataFrame({"k": ["a", "b", "a", "b"]})
    one = replacement(frame, "k", rows=np.array([3, 0]), turn=False)
    Source.of(tmp_path / "a.csv").write_with(tmp_path / "b.csv", [one], rows=np.array([3, 0]))

    assert (tmp_path / "b.csv").read_bytes() == b'k;n\r\nb;4\r\n"a";1\r\n'


def groups(labels=()):
    """Return the districts of the survey in two groups, in reverse order."""
    before = (survey()["lad"].to_numpy() > 4).astype(np.int64)
    values = (1, 2) if labels else ("1 to 4", "5 to 7")
    return Replacement("lad", before[::-1], values, before, recoded=True, labels=labels)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_column_with_new_categories_can_be_written(ending, tmp_path):
    path, one = write_spss(tmp_path / "a.sav"), groups()
    with pytest.warns(mm.MaskmeterWarning, match="was recoded and loses"):
        Source.of(path).write_with(tmp_path / f"b{ending}", [one])
    again = mm.read(tmp_path / f"b{ending}", keys=["lad"])
    shown = [again.value_label("lad", value) for value in again.space["lad"].categories]

    assert shown == list(one.values)
    assert again.codes[:, 0].tolist() == one.codes.tolist()
    assert len(again) == RECORDS


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_labels_of_new_categories_are_written(ending, tmp_path):
    path, one = write_spss(tmp_path / "a.sav"), groups(("North", "South"))
    with pytest.warns(mm.MaskmeterWarning, match="was recoded and loses"):
        Source.of(path).write_with(tmp_path / f"b{ending}", [one])
    again = mm.read(tmp_path / f"b{ending}", keys=["lad"])

    assert [again.value_label("lad", value) for value in (1, 2)] == ["North", "South"]
    assert again.space["lad"].categories == (1, 2)
