"""Bands: the categories that are assessed are the ones that are written."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyreadstat
import pytest
from openpyxl import load_workbook

import maskmeter as mm
from formats.files import found, survey, write_spss, write_stata
from maskmeter.errors import FormatWarning

BOUNDS = {"age": [0, 16, 25, 45, 65]}
BANDS = ("0-15", "16-24", "25-44", "45-64", "65+")
PEOPLE = pl.DataFrame({"age": [3, 15, 16, 24, 40, 64, 65, 99], "sex": ["f", "m"] * 4})


def band(age):
    return BANDS[np.searchsorted([0, 16, 25, 45, 65], age, side="right") - 1]


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow", "lazy"])
def test_numbers_fall_in_the_band_whose_lower_bound_they_reach(kind):
    frame = {
        "polars": PEOPLE,
        "pandas": PEOPLE.to_pandas(),
        "pyarrow": PEOPLE.to_arrow(),
        "lazy": PEOPLE.lazy(),
    }[kind]
    sample = mm.read(frame, keys=["age", "sex"], bands=BOUNDS, fraction=0.5)
    population = mm.count(frame, keys=["age", "sex"], bands=BOUNDS)

    assert sample.space["age"].categories == BANDS
    assert sample.codes[:, 0].tolist() == [0, 0, 1, 1, 2, 3, 4, 4]
    assert population.space == sample.space
    assert population.project(["age"]).counts.tolist() == [2, 2, 1, 1, 2]
    back = sample.to_frame()
    values = back["age"].to_pylist() if kind == "pyarrow" else list(back["age"])
    assert values == [band(age) for age in PEOPLE["age"]]
    assert mm.exact_risk(sample, population).total > 0


def test_an_empty_band_is_still_a_category():
    sample = mm.read(PEOPLE, keys=["age"], bands={"age": [0, 1, 16, 100]})

    assert sample.space["age"].categories == ("0", "1-15", "16-99", "100+")


def test_band_names_depend_only_on_the_bounds():
    sample, population = pl.DataFrame({"age": [3, 20, 70]}), pl.DataFrame({"age": [3.5, 20.25, 70]})
    read = mm.read(sample, keys=["age"], bands=BOUNDS)
    counted = mm.count(
        population, keys=["age"], bands={"age": np.array(BOUNDS["age"], dtype=float)}
    )

    assert read.space == counted.space


@pytest.mark.parametrize("action", [mm.read, mm.count])
def test_infinite_numbers_are_rejected(action):
    frame = pl.DataFrame({"age": [3.0, float("inf"), -float("inf")]})
    with pytest.raises(mm.MaskmeterError, match="2 values of 'age' are infinite"):
        action(frame, keys=["age"], bands=BOUNDS, missing="category")


def test_fractional_bounds_are_named_as_intervals():
    frame = pl.DataFrame({"size": [0.5, 2.5, 7.0]})

    assert mm.read(frame, keys=["size"], bands={"size": [0, 2.5, 5]}).space["size"].categories == (
        "0 to under 2.5", "2.5 to under 5", "5+",
    )  # fmt: skip
    assert mm.read(frame, keys=["size"], bands={"size": [-1.5, 2.5]}).codes.ravel().tolist() == [0, 1, 1]  # fmt: skip


def test_a_csv_has_the_bands_and_is_otherwise_unchanged(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('sex;"age";w\nf;"3";1,5\nm;70;2,5\nf;"16";1,5\nm;16;2\n', encoding="utf-8")
    sample = mm.read(path, keys=["age", "sex"], weights="w", bands=BOUNDS)
    sample.write(tmp_path / "b.csv")

    assert (tmp_path / "b.csv").read_text(encoding="utf-8") == (
        'sex;"age";w\nf;0-15;1,5\nm;65+;2,5\nf;16-24;1,5\nm;16-24;2\n'
    )
    assert mm.count(path, keys=["age"], bands=BOUNDS).total == 4


def test_an_spss_file_has_bands_as_labelled_codes(tmp_path):
    path = write_spss(tmp_path / "a.sav", row_compress=True)
    sample = mm.read(path, keys=["age", "lad"], bands=BOUNDS)
    release = mm.Swap("lad", 0.3).apply(sample, rng=1)
    with pytest.warns(mm.MaskmeterWarning, match="alignment, roles"):
        release.write(tmp_path / "b.sav")
    (before, told), (after, told_now) = found(path), found(tmp_path / "b.sav")

    assert [name for name in before if before[name] != after[name]] == ["lad", "age"]
    assert after["age"] == [BANDS.index(band(age)) + 1 for age in survey()["age"]]
    assert told_now["variable_value_labels"]["age"] == dict(enumerate(BANDS, start=1))
    assert told_now["variable_measure"]["age"] == "ordinal"
    for said in ("missing_ranges", "column_names_to_labels", "notes", "file_label", "column_names"):
        assert told[said] == told_now[said]
    assert told["variable_value_labels"]["sex"] == told_now["variable_value_labels"]["sex"]
    formats, formats_now = told["original_variable_types"], told_now["original_variable_types"]
    assert {name for name in formats if formats[name] != formats_now[name]} <= {"age"}


def test_a_stata_file_has_bands_as_labelled_codes_and_keeps_missing_values(tmp_path):
    path = write_stata(tmp_path / "a.dta")
    sample = mm.read(path, keys=["lad", "age"], bands={"lad": [1, 3]}, missing="category")
    assert sample.space["lad"].categories == ("1-2", "3+", None)
    with pytest.warns(mm.MaskmeterWarning, match="stores whole numbers as long"):
        sample.write(tmp_path / "b.dta")
    values, told = found(tmp_path / "b.dta")

    assert values["lad"][:6] == [1, 1, None, None, 2, None]
    assert told["variable_value_labels"]["lad"] == {1: "1-2", 2: "3+"}
    assert values["story"] == found(path)[0]["story"]


def test_excel_and_parquet_files_have_bands_as_text(tmp_path):
    sample = mm.read(PEOPLE, keys=["age"], bands=BOUNDS)
    sample.write(tmp_path / "a.parquet")
    mm.read(PEOPLE, keys=["age"]).write(tmp_path / "a.xlsx")
    mm.read(tmp_path / "a.xlsx", keys=["age"], bands=BOUNDS).write(tmp_path / "b.xlsx")
    sheet = load_workbook(tmp_path / "b.xlsx").active
    texts = [band(age) for age in PEOPLE["age"]]

    assert pl.read_parquet(tmp_path / "a.parquet")["age"].to_list() == texts
    assert [row[0].value for row in sheet.iter_rows(min_row=2)] == texts


def test_codes_declared_missing_are_not_put_in_the_last_band(tmp_path):
    frame = pl.DataFrame({"age": [5.0, 70.0, 999.0, None]})
    pyreadstat.write_sav(frame, tmp_path / "a.sav", missing_ranges={"age": [999.0]})
    with pytest.raises(mm.MaskmeterError, match="2 of 4 records have no value for 'age'"):
        mm.read(tmp_path / "a.sav", keys=["age"], bands={"age": [0, 65]})
    sample = mm.read(tmp_path / "a.sav", keys=["age"], bands={"age": [0, 65]}, missing="category")

    assert sample.codes.ravel().tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("action", [mm.read, mm.count])
@pytest.mark.parametrize(
    ("bands", "words"),
    [
        ({"age": [16, 65]}, "2 of 8 records have a value of 'age' below the first bound, 16"),
        ({"sex": [0, 1]}, "8 values of 'sex' are not numbers"),
        ({"age": [65, 16]}, "from low to high"),
        ({"age": [0]}, "at least two"),
        ({"age": [0, "a"]}, "at least two lower bounds"),
        ({"age": [0, float("inf")]}, "at least two lower bounds"),
        ({"age": 16}, "at least two lower bounds"),
        ({"income": [0, 1]}, "'income', which is not one of the keys"),
        ([0, 1], "must be a dictionary"),
    ],
)  # fmt: skip
def test_invalid_bands_are_rejected(action, bands, words):
    if action is mm.count and "sex" in bands:
        words = "values of 'sex' are not numbers"
    with pytest.raises(mm.MaskmeterError, match=words.replace("(", r"\(")):
        action(PEOPLE, keys=["age", "sex"], bands=bands)


def test_a_key_with_many_numbers_warns_unless_they_are_labelled_codes(tmp_path):
    many = pl.DataFrame({"area": range(200), "code": [f"{n:03}" for n in range(200)]})
    for action in (mm.read, mm.count):
        with pytest.warns(mm.MaskmeterWarning, match="'area' has 200 distinct numbers.*bands="):
            action(many, keys=["area", "code"])
        action(many, keys=[mm.Key("area", range(200))])
        action(many, keys=["area"], bands={"area": [0, 100]})
    texts = pl.DataFrame({"area": [f"{n},5" for n in range(200)], "code": many["code"]})
    texts.write_csv(tmp_path / "a.csv")
    with pytest.warns(mm.MaskmeterWarning, match="'area' has 200 distinct numbers"):
        mm.read(tmp_path / "a.csv", keys=["area", "code"])
    pyreadstat.write_sav(many, tmp_path / "a.sav", variable_value_labels={"area": {5: "Leeds"}})

    assert mm.read(tmp_path / "a.sav", keys=["area"]).value_label("area", 5) == "Leeds"


def test_pandas_gets_an_ordered_category():
    back = mm.read(PEOPLE.to_pandas(), keys=["age"], bands=BOUNDS).to_frame()

    assert isinstance(back["age"].dtype, pd.CategoricalDtype)
    assert back["age"].dtype.ordered


def test_losing_missing_value_declarations_warns(tmp_path):
    age = [20.0 + n % 50 if n % 9 else -9.0 for n in range(90)]
    frame = pl.DataFrame({"age": age, "sex": [1.0 + n % 2 for n in range(90)]})
    pyreadstat.write_sav(frame, tmp_path / "a.sav", missing_ranges={"age": [-9.0]})
    sample = mm.read(
        tmp_path / "a.sav", keys=["age", "sex"], bands={"age": [0, 30, 50]}, missing="category"
    )

    with pytest.warns(FormatWarning, match="Column 'age' was recoded and loses"):
        sample.write(tmp_path / "b.sav")
