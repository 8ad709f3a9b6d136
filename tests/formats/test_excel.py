"""Excel: the table on the first sheet, with the types and number formats of its cells."""

from __future__ import annotations

import gc
import re
import tempfile
import tracemalloc
import zipfile
from datetime import datetime, time

import polars as pl
import pytest
from openpyxl import Workbook, load_workbook

import maskmeter as mm
from rejection import SECRET, rejected

HEAD = ["lad", "income", "when", "at", "yes", "mixed", "formula"]


def workbook(path, rows=40, **cells):
    """Write a workbook with cells of every type; keywords overwrite single cells."""
    book = Workbook()
    sheet = book.active
    sheet.append(HEAD)
    for row in range(rows):
        text = "=1+1 is text" if row % 2 else "North"
        moment = datetime(2020, 1, 1 + row % 9, 12 * (row % 2))  # noqa: DTZ001 - Excel knows no zones
        mixed = [row, "text", None, 2.5][row % 4]
        sheet.append([text, row / 4, moment, time(row % 24), bool(row % 2), mixed, row])
        sheet.cell(row + 2, 1).data_type = "s"
        sheet.cell(row + 2, 2).number_format = "0.000"
        sheet.cell(row + 2, 3).number_format = "dd/mm/yyyy"
    for place, value in cells.items():
        sheet[place] = value
    book.save(path)
    return path


def cells(path, columns):
    """Return the value, type and number format of every cell in the given columns."""
    sheet = load_workbook(path).worksheets[0]
    found = {row[0].value: row[1:] for row in zip(*sheet.iter_rows(), strict=True)}
    return {
        name: [(cell.value, cell.data_type, cell.number_format) for cell in found[name]]
        for name in columns
    }


def test_only_the_key_changes_and_cells_keep_their_types_and_formats(tmp_path):
    path = workbook(tmp_path / "a.xlsx")
    release = mm.Swap("lad", 0.5).apply(mm.read(path, keys=["lad", "yes"]), rng=1)
    release.write(tmp_path / "b.xlsx")

    assert cells(path, HEAD[1:]) == cells(tmp_path / "b.xlsx", HEAD[1:])
    before, after = (cells(one, ["lad"])["lad"] for one in (path, tmp_path / "b.xlsx"))
    moved = [one != other for one, other in zip(before, after, strict=True)]
    assert moved == release.changed.tolist()
    assert {kind for _, kind, _ in after} == {"s"}
    assert sorted(map(str, before)) == sorted(map(str, after))


def test_columns_take_the_type_of_their_cells_and_mixed_columns_are_text(tmp_path):
    frame = mm.read(workbook(tmp_path / "a.xlsx"), keys=["lad"]).to_frame()

    kinds = {name: str(kind) for name, kind in frame.schema.items()}
    assert kinds == {
        "lad": "String", "income": "Float64", "when": "Datetime(time_unit='us', time_zone=None)",
        "at": "Time", "yes": "Boolean", "mixed": "String", "formula": "Int64",
    }  # fmt: skip
    assert frame["mixed"].to_list()[:4] == ["0", "text", None, "2.5"]


def test_other_sheets_are_not_copied_and_a_warning_says_so(tmp_path):
    path = workbook(tmp_path / "a.xlsx")
    book = load_workbook(path)
    book.create_sheet("names").append([SECRET])
    book.save(path)
    sample = mm.read(path, keys=["lad"])
    with pytest.warns(mm.MaskmeterWarning, match="1 other sheet is not copied"):
        sample.write(tmp_path / "b.xlsx")

    assert len(load_workbook(tmp_path / "b.xlsx").sheetnames) == 1


def test_formulas_without_values_are_rejected(tmp_path):
    path = workbook(tmp_path / "a.xlsx", G3="=1+1")
    rejected(lambda: mm.read(path, keys=["lad"]), "1 formula has no stored value")


def edited(path, old, new):
    """Replace a pattern that occurs once in the only sheet of a workbook."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet], times = re.subn(old, new, parts[sheet])
    assert times == 1
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return path


def test_formulas_are_replaced_by_their_stored_values(tmp_path):
    path = workbook(tmp_path / "a.xlsx", G3="=1+1")
    new = edited(path, rb"<f>1\+1</f><v */>|<f>1\+1</f><v></v>", b"<f>1+1</f><v>2</v>")
    sample = mm.read(new, keys=["lad"])
    with pytest.warns(mm.MaskmeterWarning, match="1 formula is replaced by its value"):
        sample.write(tmp_path / "c.xlsx")

    assert sample.to_frame()["formula"][1] == 2
    assert cells(tmp_path / "c.xlsx", ["formula"])["formula"][1][:2] == (2, "n")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"B1": None}, "must name every column"),
        ({"B1": 5}, "must name every column"),
        ({"B1": "lad"}, "More than one column has the same name"),
        ({"K5": SECRET}, "to the right of the columns"),
    ],
)
def test_invalid_tables_are_rejected(given, words, tmp_path):
    path = workbook(tmp_path / "a.xlsx", **given)
    rejected(lambda: mm.read(path, keys=["lad"]), words)


def test_no_message_quotes_a_first_row_that_is_a_record(tmp_path):
    book = Workbook()
    for row in ([SECRET, "north"], ["other", "south"], ["third", "east"]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    rejected(lambda: mm.read(tmp_path / "a.xlsx", keys=["age"]), "'age' among 2")
    sample = mm.read(tmp_path / "a.xlsx", keys=["north"])
    rejected(lambda: sample.column("age"), "'age' among 2")
    book.active.append([SECRET, "west"])
    book.save(tmp_path / "a.xlsx")
    rejected(lambda: mm.read(tmp_path / "a.xlsx", keys=["secret_value"]), "first row")


def read_with_peak(path):
    """Return the records of a workbook and the peak memory of reading them."""
    gc.collect()
    tracemalloc.start()
    try:
        return mm.read(path, keys=["lad"], missing="category"), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "size",
    [
        b"A1:G11",
        b"A1:XFD1048576",
        *(pytest.param(one, marks=pytest.mark.slow) for one in (b"A1:A41", b"C5:D9", b"A1")),
    ],
)
def test_a_wrong_sheet_size_hides_no_record_and_costs_no_memory(size, tmp_path):
    path = workbook(tmp_path / "a.xlsx")
    mm.read(path, keys=["lad"])  # the first read also imports
    before, usual = read_with_peak(path)
    wanted = before.to_frame()
    edited(path, rb'<dimension ref="A1:G41"', b'<dimension ref="%s"' % size)
    sample, most = read_with_peak(path)
    mm.Swap("lad", 0.5).apply(sample, rng=1).write(tmp_path / "b.xlsx")

    assert sample.to_frame().equals(wanted)
    assert mm.count(path, keys=["lad"]).total == 40
    assert len(mm.read(tmp_path / "b.xlsx", keys=["lad"])) == 40
    assert most < usual + 1e6  # a row of 16,384 cells would take more


def test_columns_beyond_a_wrong_sheet_size_are_found(tmp_path):
    path = workbook(tmp_path / "a.xlsx", K5=SECRET)
    edited(path, rb'<dimension ref="A1:K41"', b'<dimension ref="A1:G41"')
    rejected(lambda: mm.read(path, keys=["lad"]), "to the right of the columns")


def test_blank_rows_between_records_are_kept_and_blank_rows_after_them_ignored(tmp_path):
    path = workbook(tmp_path / "a.xlsx")
    last = b'<row r="60"><c r="B60"><v>7</v></c></row><row r="99999"><c r="A99999"/></row>'
    edited(path, b"</sheetData>", last + b"</sheetData>")
    sample, most = read_with_peak(path)
    frame = sample.to_frame()

    assert len(frame) == 59
    assert frame["income"].to_list()[39:] == [39 / 4, *[None] * 18, 7]
    assert most < 3e6


def test_the_warning_about_an_invalid_date_does_not_quote_it(tmp_path):
    path = workbook(tmp_path / "a.xlsx", C2=99_999_999)
    sample = mm.read(path, keys=["lad"])  # a warning of openpyxl would fail this test
    with pytest.warns(
        mm.MaskmeterWarning, match="1 date is outside Excel's range and written as errors"
    ) as told:
        sample.write(tmp_path / "b.xlsx")

    assert not any("99999999" in str(one.message) for one in told)


def test_a_hidden_sheet_is_not_read(tmp_path):
    path = workbook(tmp_path / "a.xlsx")
    book = load_workbook(path)
    hidden = book.create_sheet("names", 0)
    hidden.append([SECRET])
    hidden.sheet_state = "hidden"
    book.active = 1
    book.save(path)

    assert len(mm.read(path, keys=["lad"])) == 40
    assert mm.count(path, keys=["lad"]).total == 40


class TestFailure:
    """A failed write leaves nothing in the temporary directory and prints nothing."""

    @pytest.fixture(autouse=True)
    def _alone(self, tmp_path, monkeypatch, capfd):
        (tmp_path / "temporary").mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
        yield
        gc.collect()
        assert not list((tmp_path / "temporary").iterdir())
        assert capfd.readouterr() == ("", "")

    def test_values_that_excel_cannot_store_are_rejected(self, tmp_path):
        zoned = pl.Series([1, 2]).cast(pl.Datetime("us", "Europe/Oslo"))
        for column, words in (([f"{SECRET}\x01", "b"], "control"), (zoned, "time zones")):
            frame = pl.DataFrame({"k": ["a", "b"], "odd": column})
            sample = mm.read(frame, keys=["k"])
            rejected(lambda sample=sample: sample.write(tmp_path / "a.xlsx"), "'odd'", words)

    def test_a_write_that_fails_half_way_is_reported(self, tmp_path):
        path = workbook(tmp_path / "a.xlsx")
        sample = mm.read(path, keys=[mm.Key("lad", ["North", "=1+1 is text", f"{SECRET}\x01"])])
        codes = sample.codes.copy()
        codes[20] = 2
        rejected(lambda: sample.with_codes(codes).write(tmp_path / "b.xlsx"), "Cannot write")


def test_an_empty_first_sheet_is_rejected(tmp_path):
    Workbook().save(tmp_path / "a.xlsx")
    rejected(lambda: mm.read(tmp_path / "a.xlsx", keys=["lad"]), "must name every column")


def test_a_workbook_with_a_password_is_rejected(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(2000))
    rejected(lambda: mm.read(tmp_path / "a.xlsx", keys=["lad"]), "password")


def test_values_and_tables_too_large_for_excel_are_rejected(tmp_path):
    for column in ([10**15, 1], ["x" * 32_768, "y"]):
        frame = pl.DataFrame({"k": ["a", "b"], "wide": column})
        rejected(
            lambda frame=frame: mm.read(frame, keys=["k"]).write(tmp_path / "a.xlsx"), "'wide'"
        )
    tall = pl.DataFrame({"k": ["a", "b"] * 524_288})
    rejected(lambda: mm.read(tall, keys=["k"]).write(tmp_path / "a.xlsx"), "1,048,575 records")
    assert not list(tmp_path.iterdir())


def test_a_missing_key_is_written_as_an_empty_cell(tmp_path):
    path = workbook(tmp_path / "a.xlsx", A2=None)
    release = mm.Pram("lad", 0.5).apply(mm.read(path, keys=["lad"], missing="category"), rng=1)
    release.write(tmp_path / "b.xlsx")
    again = mm.read(tmp_path / "b.xlsx", keys=release.original.space, missing="category")

    assert again.codes.tolist() == release.released.codes.tolist()
