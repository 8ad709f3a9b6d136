"""Codes for missing values in plans: what they do, and which a starter plan suggests."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyreadstat
import pytest

import maskmeter as mm
from maskmeter.formats.codebook import Variable
from maskmeter.plan import read_plan, read_task
from maskmeter.plan.missing_codes import suggestion
from maskmeter.plan.starter import write_starter

RECORDS = 300
CODES = "[data.missing_codes]\nmarital = ['NA', -9]\n"
DATA = "[data]\nkeys = ['lad', 'marital']\nmissing = 'category'\n"


def people(records=RECORDS, seed=4):
    draws = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "lad": draws.integers(1, 40, records),
            "marital": draws.choice([1, 2, 3, -9], records, p=[0.5, 0.3, 0.1, 0.1]),
        }
    )


@pytest.fixture
def folder(tmp_path):
    """A survey as text with two ways to write missing, and its population as numbers."""
    population = people(6000)
    population.with_columns(pl.col("marital").replace({-9: None})).write_parquet(
        tmp_path / "census.parquet"
    )
    survey = population[::20].cast(pl.String)
    half = pl.int_range(pl.len()) % 2 == 0
    coded = pl.when(pl.col("marital").eq("-9") & half).then(pl.lit("NA")).otherwise("marital")
    survey.with_columns(coded.alias("marital")).write_csv(tmp_path / "survey.csv")
    return tmp_path


def task(folder, text):
    path = folder / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return read_task(read_plan(path), folder / "survey.csv")


def test_the_codes_of_a_plan_hold_for_the_file_and_for_its_population(folder):
    done = task(folder, f"{DATA}population = 'census.parquet'\n{CODES}")
    census = pl.read_parquet(folder / "census.parquet")
    same = mm.read(census[::20], keys=done.population.space, fraction=0.05, missing="category")

    assert done.sample.space["marital"].categories == ("1", "2", "3", None)
    assert done.sample.codes.tolist() == same.codes.tolist()
    risk = mm.exact_risk(done.sample, done.population).total
    assert risk == mm.exact_risk(same, done.population).total > 1


def test_codes_of_a_column_that_is_no_key_are_refused_with_their_line(folder):
    with pytest.raises(mm.MaskmeterError, match=r"line 4: 'sex' has missing codes but is not a"):
        task(folder, "[data]\nkeys = ['lad']\n[data.missing_codes]\nsex = [9]")


def test_codes_must_be_a_list_of_texts_and_numbers(folder):
    with pytest.raises(mm.MaskmeterError, match=r"line 5: marital of missing_codes of \[data\]"):
        task(folder, f"{DATA}[data.missing_codes]\nmarital = 9")
    with pytest.raises(mm.MaskmeterError, match="text in quotes or a number, not true or false"):
        task(folder, f"{DATA}[data.missing_codes]\nmarital = [true]")


def test_without_the_codes_the_message_says_which_file_holds_what(folder):
    with pytest.raises(mm.MaskmeterError) as caught:
        task(folder, f"{DATA}population = 'census.parquet'\n")

    said = str(caught.value)
    assert "line 4: Key 'marital' holds text in survey.csv and numbers in census.parquet" in said
    assert "2 of the 5 distinct values in survey.csv match none in census.parquet" in said
    assert "`missing_codes`" in said


LABELS = ["No answer", "Refused", "Don't know", "Keine Angabe", "Weiß nicht", "Ne sait pas",
          "No contesta", "Non risponde", "Geen antwoord", "MISSING", "not stated", "NA"]  # fmt: skip


@pytest.mark.parametrize("label", LABELS)
def test_a_code_that_is_labelled_as_missing_is_suggested(label):
    column = pl.Series("marital", [1, 2, 3, 8, 8])
    found = suggestion(column, Variable("marital", "", ((1, "single"), (8, label))))

    assert found.line == "marital = [8]  # 2 records; labelled as missing"


SUGGESTED = {
    "marital = [-9, 99]  # 3 records; far from the other numbers": [1, 2, 3, 99, 99, -9],
    'marital = ["NA"]  # 2 records; written for missing in many files': ["1", "NA", "NA"],
    "marital = [9]  # 1 record; far from the other numbers": ["1", "2", "5", "9"],
    'marital = [".a"]  # 1 record; written for missing in many files': ["1", "2", ".a"],
}


@pytest.mark.parametrize("line", SUGGESTED)
def test_well_known_codes_are_suggested_with_their_number_of_records(line):
    assert suggestion(pl.Series("marital", SUGGESTED[line]), Variable("marital")).line == line


@pytest.mark.parametrize(
    "values", [[1, 2, 3], list(range(100)), [7, 8, 9], [-2, -1, 0, 1], ["a", "b"], [True, False]]
)
def test_a_plain_scale_gives_no_suggestion(values):
    assert suggestion(pl.Series("score", values), Variable("score")) is None


def test_a_nine_that_has_a_label_of_its_own_is_no_code_for_missing():
    labels = ((1, "single"), (9, "In a civil partnership"))

    assert suggestion(pl.Series("m", [1, 2, 9]), Variable("m", "", labels)) is None


def test_a_value_that_is_not_well_known_is_counted_but_never_named():
    labels = ((4711, "Refused"), (99, "No answer"))
    found = suggestion(pl.Series("m", [1, 2, 4711, 99]), Variable("m", "", labels))

    assert (
        found.line == "m = [99]  # 1 record; labelled as missing; 1 other value of the file as well"
    )
    assert suggestion(pl.Series("m", [1, 2, 4711]), Variable("m", "", labels)) is None


def test_a_starter_plan_suggests_codes_that_work_once_enabled(tmp_path):
    frame = people().cast(pl.Float64)
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(frame, path, missing_ranges={"marital": [-9]})
    write_starter(path, tmp_path / "plan.toml")
    text = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    number = int((frame["marital"] == -9).sum())

    line = f"# marital = [-9]  # {number} records; declared missing in the file"
    assert f"# [data.missing_codes]\n{line}" in text
    for entry in ("[data.missing_codes]", "marital = [-9]", "fraction = 0.01"):
        text = text.replace(f"# {entry}", entry, 1)
    text = text.replace("[data]\n", "[data]\nmissing = 'category'\n", 1)
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    sample = read_task(read_plan(tmp_path / "plan.toml"), path).sample

    assert sample.space["marital"].categories == (1, 2, 3, None)
