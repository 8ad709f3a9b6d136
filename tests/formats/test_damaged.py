"""Damaged SPSS files on which the reader would end the program: they are refused before it sees them."""

from __future__ import annotations

import struct

import polars as pl
import pyreadstat
import pytest

import maskmeter as mm
from rejection import rejected

PEOPLE = pl.DataFrame({"town": ["York", "Leeds"] * 20, "sex": [1, 2] * 20})
LABELS = {"town": {"York": "The city", "Leeds": "Another"}, "sex": {1: "Male", 2: "Female"}}
SECOND = struct.pack("<3i", 4, 1, 2)  # labels of one column, the second
NAME = b"SEX     "


def sav(folder):
    path = folder / "people.sav"
    pyreadstat.write_sav(PEOPLE, path, variable_value_labels=LABELS)
    return path


def placed(content, mark, offset, new):
    """Return a file with other bytes some way behind, or before, the only place of a mark."""
    assert content.count(mark) == 1
    at = content.index(mark) + offset
    return content[:at] + new + content[at + len(new) :]


@pytest.mark.parametrize(
    ("mark", "offset", "new"),
    [
        (SECOND, 8, struct.pack("<i", 100)),  # labels of a column that is not there
        (SECOND, 8, struct.pack("<i", 1)),  # numbers as labels of a text
        (b"Leeds   \x07", 0, b"\xff\xfe"),  # not in the encoding that the file names
        (NAME, -20, struct.pack("<i", 9)),  # a text that lacks its second part
        (NAME, -20, struct.pack("<i", -1)),  # a second part of no text
        (NAME, -8, struct.pack("<i", 0x10800)),  # a number that is shown as a text
    ],
)
def test_labels_that_do_not_fit_their_columns_are_rejected(mark, offset, new, tmp_path):
    path = sav(tmp_path)
    assert len(mm.read(path, keys=["town"])) == 40
    path.write_bytes(placed(path.read_bytes(), mark, offset, new))

    rejected(lambda: mm.read(path, keys=["town"]), "labels do not fit its columns")


def test_labelled_texts_in_the_encoding_that_is_given_are_read(tmp_path):
    path = sav(tmp_path)
    path.write_bytes(placed(path.read_bytes(), b"Leeds   \x07", 0, b"L\xe9\xe9ds"))

    rejected(lambda: mm.read(path, keys=["sex"]), "give its encoding")
    assert len(mm.read(path, keys=["sex"], encoding="cp1252")) == 40
