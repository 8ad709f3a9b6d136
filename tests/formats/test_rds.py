"""R: data frames with haven labels, factors and dates."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pytest

import maskmeter as mm
from needs import run_r

HERE = Path(__file__).parent / "r"


@pytest.mark.parametrize("name", ["people.rds", "plain.rds"])
def test_labels_missing_values_and_types_are_read(name):
    sample = mm.read(HERE / name, keys=["sex", "level", "tagged"], missing="category")
    frame, book = sample.to_frame(), sample.codebook

    assert sample.space["sex"].categories == (1, 2, 9)
    assert sample.space["level"].categories == ("low", "mid", "high", None)
    assert sample.space["tagged"].categories == ("1", "2.5", ".a", None)
    assert sample.label("sex") == "Sex of person"
    assert [sample.value_label("sex", code) for code in (1, 2, 9)] == ["Male", "Female", "Refused"]
    assert [sample.value_label("tagged", code) for code in ("1", ".a")] == ["Yes", "Refused"]
    assert book["question"].missing == ((90, 99), (9, 9))
    assert frame["question"].to_list() == [1, 2, 9, None]
    assert frame["letters"].to_list() == ["a", "b", "a", None]
    assert frame["born"].to_list() == [date(2020, 1, 1), None, date(2021, 2, 3), date(1950, 1, 1)]
    assert frame["moment"].to_list()[0] == datetime(2020, 1, 1, 10)  # noqa: DTZ001 - as R shows it
    assert frame["moment"].to_list()[3] == datetime(1950, 1, 1)  # noqa: DTZ001 - the same
    assert frame["income"].to_list() == [1.5, None, None, 2.0]
    assert frame["count"].to_list() == [1, None, 3, 4]
    assert frame["yes"].to_list() == [True, False, None, True]
    assert frame["town"].to_list() == ["Ålesund", None, "", "York"]


def test_an_r_object_other_than_a_data_frame_is_rejected():
    with pytest.raises(mm.MaskmeterError, match="does not hold an R data frame"):
        mm.read(HERE / "vector.rds", keys=["sex"])


def test_an_r_file_can_be_written_as_spss_with_its_labels_but_not_as_r(tmp_path):
    sample = mm.read(HERE / "people.rds", keys=["sex"])
    with pytest.raises(mm.MaskmeterError, match=r"Write \.sav or \.dta"):
        sample.write(tmp_path / "people.rds")
    with pytest.warns(mm.MaskmeterWarning, match="cannot store extended missing values"):
        sample.write(tmp_path / "people.sav")
    again = mm.read(tmp_path / "people.sav", keys=["sex", "question"], missing="category")

    assert again.value_label("sex", 9) == "Refused"
    assert again.codebook["question"].missing == ((90, 99), (9, 9))


def test_the_stored_files_are_what_their_r_script_writes(tmp_path):
    run_r(f"setwd('{tmp_path}'); source('{HERE / 'make.R'}')")

    keys = ["sex", "question", "level", "ordered", "town"]
    for name in ("people.rds", "plain.rds"):
        fresh, kept = (
            mm.read(one / name, keys=keys, missing="category") for one in (tmp_path, HERE)
        )
        assert fresh == kept
        assert fresh.codebook == kept.codebook
