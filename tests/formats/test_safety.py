"""Unreadable and unwritable files: a clear error, nothing half-written, no value shown."""

from __future__ import annotations

import os
import sys
import warnings
from decimal import Decimal
from pathlib import Path

import polars as pl
import pyreadstat
import pytest

import maskmeter as mm
from command import run_python
from formats.files import survey, write_spss, write_stata
from maskmeter import files
from maskmeter.data.source import Source
from maskmeter.formats import format_of
from maskmeter.formats.codebook import Codebook, Variable
from maskmeter.formats.conversion import lost
from rejection import SECRET, rejected

PEOPLE = pl.DataFrame({"sex": ["f", "m"] * 200, "note": [SECRET] * 400})
ENDINGS = [".csv", ".tsv", ".parquet", ".arrow", ".sav", ".zsav", ".dta", ".xpt", ".xlsx"]


def refused(action, *words):
    """Check that an action fails with these words, and that a traceback prints no other error."""
    error = rejected(action, *words)
    assert error.__suppress_context__ or error.__context__ is None


def written(folder, ending):
    path = folder / f"people{ending}"
    mm.read(PEOPLE, keys=["sex"]).write(path)
    return path


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_written_file_is_read_back_unchanged(ending, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = written(tmp_path, ending)
        again = mm.read(path, keys=["sex"])
        again.write(tmp_path / f"again{ending}")

    assert again == mm.read(PEOPLE, keys=["sex"])
    assert again.to_frame().equals(PEOPLE)
    assert mm.read(tmp_path / f"again{ending}", keys=["sex"]).to_frame().equals(PEOPLE)
    assert mm.count(path, keys=["sex"]).total == 400


@pytest.mark.parametrize(
    "ending", [*ENDINGS, ".rds", ".sas7bdat", ".feather", ".tab", ".txt", ".pq"]
)
@pytest.mark.parametrize("action", [mm.read, mm.count])
class TestUnreadable:
    def test_an_empty_file_is_rejected(self, action, ending, tmp_path):
        path = tmp_path / f"a{ending}"
        path.touch()
        refused(lambda: action(path, keys=["sex"]), "the file is empty")

    def test_a_folder_without_files_is_rejected(self, action, ending, tmp_path):
        path = tmp_path / f"a{ending}"
        path.mkdir()
        refused(lambda: action(path, keys=["sex"]), "no files in the folder")

    def test_a_file_of_another_format_is_rejected(self, action, ending, tmp_path):
        path = tmp_path / f"a{ending}"
        path.write_bytes(f"{SECRET}\x00\xff{SECRET}".encode("latin-1") * 500)
        refused(lambda: action(path, keys=["sex"]), "Cannot read")

    def test_a_file_without_read_permission_is_rejected(
        self, action, ending, tmp_path, monkeypatch
    ):
        path = tmp_path / f"a{ending}"
        path.write_bytes(b"sex,age\n")

        def denied(*_, **__):  # root may read whatever the permissions are
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", denied)
        refused(lambda: action(path, keys=["sex"]), "Permission denied")


@pytest.mark.parametrize("ending", [one for one in ENDINGS if one not in {".csv", ".tsv"}])
def test_a_truncated_file_is_rejected_and_left_unchanged(ending, tmp_path):
    path = written(tmp_path, ending)
    content = path.read_bytes()
    for size in (len(content) // 10, len(content) // 2, len(content) - 60):
        cut = content[
            : size | 1
        ]  # a transport file has no record count, but its lines have even length
        path.write_bytes(cut)
        refused(lambda: mm.read(path, keys=["sex"]), "Cannot read")
        assert path.read_bytes() == cut


def test_a_csv_truncated_inside_a_record_is_rejected(tmp_path):
    path = written(tmp_path, ".csv")
    path.write_bytes(path.read_bytes()[: len("sex,note\nf")])
    refused(lambda: mm.read(path, keys=["sex"]), "cut short")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_leaves_the_old_file(ending, tmp_path, monkeypatch):
    source = written(tmp_path, ending)
    sample = mm.read(source, keys=["sex"])
    target = tmp_path / f"protected{ending}"
    target.write_text("old", encoding="utf-8")
    before, names = source.read_bytes(), sorted(tmp_path.iterdir())

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_sync_file", full)
    refused(lambda: sample.write(target), "No space left on device")
    assert target.read_text(encoding="utf-8") == "old"
    assert source.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == names


LITTLE_ROOM = """
import resource, sys
import openpyxl, polars as pl, pyreadstat
import maskmeter as mm
ending, size = sys.argv[1], int(sys.argv[2])
copied = mm.read("people" + ending, keys=["sex"])
anew = mm.read(pl.read_parquet("frame.parquet"), keys=["sex"])
for sample in (copied, anew):
    for share in (0.1, 0.6, 0.99):
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(share * size), resource.RLIM_INFINITY))
        try:
            sample.write("protected" + ending)
        except mm.MaskmeterError as error:
            print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="only POSIX systems limit the size of files")
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_write_that_runs_out_of_space_leaves_nothing(ending, tmp_path):
    size = written(tmp_path, ending).stat().st_size
    PEOPLE.write_parquet(tmp_path / "frame.parquet")
    names = sorted(tmp_path.iterdir())
    done = run_python(LITTLE_ROOM, ending, size, folder=tmp_path)

    assert done.stdout.count("Cannot write") == 6, done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert sorted(tmp_path.iterdir()) == names


@pytest.mark.parametrize("ending", [".sav", ".dta", ".xpt"])
def test_errors_name_the_columns_that_a_format_cannot_store(ending, tmp_path):
    for frame, words in [
        (pl.DataFrame({"sex": ["f", "m"], "two words": [1, 2]}), "'two words'"),
        (pl.DataFrame({"sex": ["f", "m"], "1st": [1, 2]}), "'1st'"),
        (pl.DataFrame({"sex": ["f", "m"], "list": [[SECRET], [SECRET]]}), "'list'"),
    ]:
        sample = mm.read(frame, keys=["sex"])
        refused(lambda sample=sample: sample.write(tmp_path / f"a{ending}"), words)
    assert not list(tmp_path.iterdir())


UNFIT = {
    ".sav": ["_x", "a" * 65, "ä" * 33, "with"],
    ".dta": ["a.b", "a$", "x@", "_n", "int", "str12", "a" * 33],
    ".xpt": ["a.b", "x@", "ä", "_N_", "a" * 33],
}


@pytest.mark.parametrize(("ending", "name"), [(e, name) for e, names in UNFIT.items() for name in names])  # fmt: skip
def test_invalid_column_names_are_rejected_by_format(ending, name, tmp_path):
    sample = mm.read(pl.DataFrame({"sex": ["f", "m"], name: [1, 2]}), keys=["sex"])
    refused(lambda: sample.write(tmp_path / f"a{ending}"), repr(name), "Rename 1 of 2")


@pytest.mark.parametrize(("ending", "name"), [(".sav", "a.b"), (".dta", "ä" * 32), (".xpt", "_x")])
def test_valid_column_names_are_written(ending, name, tmp_path):
    sample = mm.read(pl.DataFrame({"sex": ["f", "m"], name: [1, 2]}), keys=["sex"])
    sample.write(tmp_path / f"a{ending}")

    assert mm.read(tmp_path / f"a{ending}", keys=[name]).codes.ravel().tolist() == [0, 1]


@pytest.mark.parametrize(
    ("ending", "values"),
    [
        (".sav", [2**60 + 1, 1]), (".dta", [2**60 + 1, 1]), (".xpt", [-(2**60), 1]),
        (".dta", [float("inf"), 1.5]), (".xpt", [1.7e308, 1.5]), (".xlsx", [float("inf"), 1.5]),
        (".csv", [[1], [2]]), (".tsv", [b"a", b"b"]),
    ],
)  # fmt: skip
def test_values_that_a_format_would_change_are_rejected_by_column(ending, values, tmp_path):
    sample = mm.read(pl.DataFrame({"sex": ["f", "m"], "wide": values}), keys=["sex"])
    refused(lambda: sample.write(tmp_path / f"a{ending}"), "'wide'")


@pytest.mark.parametrize("ending", [".sav", ".dta", ".xpt"])
def test_exact_decimals_become_numbers(ending, tmp_path):
    frame = pl.DataFrame({"sex": ["f", "m"], "pay": [Decimal("1.25"), None]})
    mm.read(frame, keys=["sex"]).write(tmp_path / f"a{ending}")

    again = mm.read(tmp_path / f"a{ending}", keys=["sex"]).to_frame()
    assert again["pay"].to_list() == [1.25, None]


@pytest.mark.parametrize(("ending", "size"), [(".dta", 80), (".sav", 200), (".xpt", 200)])
def test_long_labels_are_cut_with_a_warning(ending, size, tmp_path):
    long = "ä" * 100
    book = Codebook((Variable("sex", long, ((1, long), (2, "m"))),), file_label=long)
    source = Source.of(pl.DataFrame({"sex": [1, 2]}), codebook=book)
    told = {".dta": "2 are cut", ".sav": "2 are cut", ".xpt": "1 is cut"}[ending]
    with pytest.warns(mm.MaskmeterWarning, match=told):
        source.write_with(tmp_path / f"b{ending}", ())

    label = mm.read(tmp_path / f"b{ending}", keys=["sex"]).label("sex")
    assert label == long[:size]


def test_a_file_in_the_path_and_a_read_only_folder_give_different_errors(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    refused(lambda: files.check_new_folder(tmp_path / "file" / "new"), "is not a folder.")
    monkeypatch.setattr(os, "access", lambda *_: False)
    refused(lambda: files.check_new_folder(tmp_path / "new"), "you may not write to")


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    path = written(tmp_path, ".xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    refused(lambda: mm.read(path, keys=["sex"]), "openpyxl", "not installed")


class TestLosses:
    book = Codebook(
        (
            Variable("sex", "Sex", ((1, "Male"), (2, "Female")), ((9, 9),), "F2.0"),
            Variable("code", values=(("A", "First"), ("B", "Second"))),
            Variable("late", format="TIME8"),
            Variable("asked", values=((".a", "Refused"),), tagged=True),
        ),
        file_label="A survey",
        notes=("one",),
    )

    def lost(self, source, target):
        return " ".join(lost(self.book, format_of(f"a{source}"), format_of(f"b{target}")))

    def test_a_file_of_the_same_format_loses_nothing(self):
        for ending in (".csv", ".sav", ".zsav", ".dta", ".xlsx"):
            assert format_of(f"a{ending}").copies(Path(f"a{ending}"), Path(f"b{ending}"))

    def test_text_keeps_codes_only(self):
        told = self.lost(".sav", ".csv")
        for words in (
            "value labels; 3 columns lose them.",
            "variable labels; 1 column loses them.",
            "missing-value declarations; 1 column loses them.",
            "display formats for times; 1 column loses them.",
            "the file label.",
            "the notes.",
        ):
            assert f"CSV cannot store {words}" in told

    def test_stata_labels_whole_numbers_and_declares_nothing_missing(self):
        told = self.lost(".sav", ".dta")
        assert "Stata cannot store missing-value declarations" in told
        assert "1 column loses some value labels" in told
        assert "cannot store value labels" not in told

    def test_spss_has_no_extended_missing_values(self):
        assert "SPSS cannot store extended missing values" in self.lost(".dta", ".sav")
        assert "was rebuilt" in self.lost(".zsav", ".sav")

    def test_stata_times_read_as_times_are_not_reported_as_lost(self):
        told = {}
        for shown in ("%tc", "%-tcDD", "%tC", "%td"):
            book = Codebook((Variable("at", format=shown),))
            told[shown] = lost(book, format_of("a.dta"), format_of("b.csv"))
        said = "CSV cannot store display formats for times; 1 column loses them."
        assert told == {"%tc": (), "%-tcDD": (), "%tC": (said,), "%td": ()}
        tagged = Codebook((Variable("at", format="%td", tagged=True),))
        assert lost(tagged, format_of("a.dta"), format_of("b.csv")) == (said,)

    def test_recoding_rebuilds_the_file(self):
        book = self.book.recode("sex")
        assert "was rebuilt" in " ".join(lost(book, format_of("a.sav"), format_of("b.sav")))
        (said,) = book.left_out
        assert said == "Column 'sex' was recoded and loses its missing-value declarations."


@pytest.mark.parametrize("target", [".csv", ".parquet", ".arrow", ".xlsx", ".dta", ".sav"])
@pytest.mark.parametrize("make", [write_spss, write_stata])
def test_dates_stay_dates_in_every_format(make, target, tmp_path):
    path = make(tmp_path / f"a.{'sav' if make is write_spss else 'dta'}")
    if path.suffix == target:
        return
    sample = mm.read(path, keys=["sex"])
    with pytest.warns(mm.MaskmeterWarning, match="loses information"):
        sample.write(tmp_path / f"b{target}")
    days = [f"1994-09-{20 + day}" for day in range(9)]
    born = survey()["born"].to_list()
    readers = {".parquet": pl.read_parquet, ".arrow": pl.read_ipc}
    if target in {".dta", ".sav"}:  # dates are stored as numbers with a format
        kind = mm.read(tmp_path / f"b{target}", keys=["sex"]).codebook["born"].format
        assert kind.startswith(("%td", "DATE"))
        return
    read = readers.get(target, lambda path: mm.read(path, keys=["sex"]).to_frame())
    shown = {str(value) for value in read(tmp_path / f"b{target}")["born"]}
    assert {text[:10] for text in shown} <= set(days)
    assert len(shown) == len(set(born))


def test_spss_times_and_dates_keep_their_types(tmp_path):
    frame = pl.DataFrame({"k": [1.0, 2.0], "at": [13_000_000_000.5, None], "on": [86_400.0, None]})
    kinds = {"at": "DATETIME23", "on": "MOYR8"}
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_format=kinds)
    mm.read(tmp_path / "a.sav", keys=["k"]).write(tmp_path / "b.parquet")
    after = pl.read_parquet(tmp_path / "b.parquet")

    assert after["at"][0] == pyreadstat.read_sav(tmp_path / "a.sav")[0]["at"][0]
    assert str(after["on"][0]) == "1582-10-15"
    assert after["at"].null_count() == after["on"].null_count() == 1
