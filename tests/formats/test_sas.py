"""SAS: both data sets and transport files can be read; only transport files can be written."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import polars as pl
import pyreadstat
import pytest

import maskmeter as mm
from formats.files import write_spss, write_stata

PEOPLE = pl.DataFrame(
    {
        "sex": [1.0, 2.0, 2.0, 1.0],
        "town": ["York", "Ålesund", "", "York"],
        "income": [1.5, None, 2.0, 3.0],
        "born": [date(2020, 1, 1), None, date(1950, 1, 1), date(1960, 1, 2)],
    }
)


@pytest.fixture
def transport(tmp_path):
    path = tmp_path / "people.xpt"
    pyreadstat.write_xport(
        PEOPLE, path, column_labels={"sex": "Sex of person"}, file_label="Survey"
    )
    return path


def test_labels_and_dates_of_a_transport_file_are_read(transport):
    sample = mm.read(transport, keys=["sex", "town"], missing="category")

    assert sample.space["sex"].categories == (1, 2)
    assert sample.label("sex") == "Sex of person"
    frame = sample.to_frame()
    assert frame["born"].to_list() == PEOPLE["born"].to_list()
    assert frame["income"].to_list() == PEOPLE["income"].to_list()
    assert frame["town"].to_list() == ["York", "Ålesund", None, "York"]


@pytest.mark.parametrize("version", [5, 8])
def test_a_transport_file_with_two_data_sets_is_rejected(version, tmp_path):
    path = tmp_path / "people.xpt"
    pyreadstat.write_xport(PEOPLE, path, file_format_version=version)
    mm.read(path, keys=["sex"])
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(mm.MaskmeterError, match="holds 2 data sets"):
        mm.read(path, keys=["sex"])


def test_only_the_key_changes_in_a_written_transport_file(transport, tmp_path):
    release = mm.Swap("sex", 1.0).apply(mm.read(transport, keys=["sex"]), rng=1)
    release.write(tmp_path / "protected.xpt")
    (before, told), (after, told_now) = (
        pyreadstat.read_xport(path, output_format="dict")
        for path in (transport, tmp_path / "protected.xpt")
    )

    assert [name for name in before if before[name] != after[name]] == ["sex"]
    assert sorted(before["sex"]) == sorted(after["sex"])
    assert told.column_names_to_labels == told_now.column_names_to_labels
    assert told.file_label == told_now.file_label


def test_a_data_set_can_be_read_but_not_written(tmp_path):
    sample = mm.read(Path(__file__).parent / "r" / "people.sas7bdat", keys=["sex", "town"])

    assert sample.space["sex"].categories == (1, 2)
    assert sample.to_frame()["income"].to_list() == [1.5, None, 2.0]
    with pytest.raises(mm.MaskmeterError, match=r"Write \.xpt"):
        sample.write(tmp_path / "people.sas7bdat")


@pytest.mark.parametrize("made", [write_spss, write_stata])
def test_writing_a_transport_file_warns_of_lost_value_labels(made, tmp_path):
    path = made(tmp_path / f"a.{'sav' if made is write_spss else 'dta'}")
    sample = mm.read(path, keys=["sex"])
    with pytest.warns(mm.MaskmeterWarning, match="SAS transport cannot store value labels"):
        sample.write(tmp_path / "b.xpt")

    again = mm.read(tmp_path / "b.xpt", keys=["sex"])
    assert again == mm.read(path, keys=["sex"])
    assert again.label("sex") == "Sex of person"
