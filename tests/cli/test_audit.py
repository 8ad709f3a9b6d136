"""The audit command: what it prints and writes, and what it refuses."""

import json

import numpy as np
import polars as pl
import pytest

from command import run
from maskmeter.studies.census import bernoulli_sample
from protections import suppress, survey, swap

FEW = 600


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a survey and its released version, in which district and age were changed."""
    people = bernoulli_sample(survey(3, records=6_000), fraction=0.1, rng=1)
    draws = np.random.default_rng(1)
    people.write_csv(tmp_path / "original.csv")
    released = people.with_columns(
        swap(people["lad"], 40, draws), suppress(people["age"], 9, draws)
    )
    released.drop("income").write_csv(tmp_path / "released.csv")
    survey(3, records=6_000).write_csv(tmp_path / "everybody.csv")
    return tmp_path


def audit(folder, *more, keys="lad,age,sex,job", released="released.csv", original="original.csv"):
    """Run the command in a folder; the population is known."""
    files = original, released
    known = "--population", "everybody.csv", "--out", "out"
    return run("audit", *files, "--keys", keys, *known, *more, folder=folder)


def refused(folder, *more, **files):
    """Return the one sentence of a refusal, after which nothing is written."""
    done = audit(folder, *more, **files)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "out").exists()
    assert done.stdout == ""
    return " ".join(done.stderr.split())


def test_an_audit_prints_what_was_changed_and_writes_the_pack(folder):
    done = audit(folder, "--id", "pid")

    assert done.returncode == 0, done.stderr
    assert "paired by 'pid'" in done.stdout
    assert "9 suppressed" in done.stdout
    assert "dropped" in done.stdout
    assert "The risk without a matrix" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    out = folder / "out"
    assert {path.name for path in out.iterdir()} == {"public.html", "internal"}
    written = {path.name for path in (out / "internal").iterdir()}
    assert written == {"assessment.json", "internal.html", "risk_by_record.parquet"}
    pages = [(out / one).read_text("utf-8") for one in ("internal/internal.html", "public.html")]
    assert ["Audit of released.csv" in page for page in pages] == [True, False]


def test_an_audit_prints_its_figures_as_json(folder):
    done = audit(folder, "--json", "--matrix")
    told = json.loads(done.stdout)["audit"]

    assert told["paired"] == "by the order of rows"
    assert {one["name"]: one["words"] for one in told["columns"]}["age"] == "9 suppressed"
    assert (folder / "out" / "internal" / "matrix.csv").exists()


def test_both_files_stay_as_they_are(folder):
    before = [(folder / f"{name}.csv").read_bytes() for name in ("original", "released")]
    audit(folder)

    assert before == [(folder / f"{name}.csv").read_bytes() for name in ("original", "released")]


def test_ids_that_repeat_are_refused(folder):
    text = refused(folder, "--id", "job")

    assert "'job' does not tell the records of the original file apart" in text


def test_ids_that_do_not_match_are_refused(folder):
    released = pl.read_csv(folder / "released.csv").with_columns(pl.col("pid") + 1_000_000)
    released.write_csv(folder / "renumbered.csv")
    text = refused(folder, "--id", "pid", released="renumbered.csv")

    assert "0 of 586 released records have an id in 'pid'" in text


def test_an_id_that_is_no_column_is_refused(folder):
    text = refused(folder, "--id", "income")

    assert "'income'" in text
    assert "It is the released file that lacks it." in text


def test_files_of_different_length_are_refused_without_ids(folder):
    pl.read_csv(folder / "released.csv")[5:].write_csv(folder / "fewer.csv")
    text = refused(folder, released="fewer.csv")

    assert "586 records and the released file 581" in text
    assert "--id" in text


def test_another_order_is_refused(folder):
    pl.read_csv(folder / "released.csv").drop("pid").reverse().write_csv(folder / "other.csv")

    assert "Nothing proves that the rows" in refused(folder, released="other.csv")


def test_files_without_a_common_column_are_refused(folder):
    strange = pl.read_csv(folder / "released.csv").rename(str.upper)
    strange.write_csv(folder / "strange.csv")

    text = refused(folder, released="strange.csv")
    assert "no column in common: the original has 6, the released file 5" in text


def test_a_key_that_a_file_lacks_is_refused(folder):
    text = refused(folder, keys="lad,age,income")

    assert "'income'" in text
    assert "It is the released file that lacks it." in text


def test_a_file_in_which_nothing_was_changed_is_refused(folder):
    text = refused(folder, released="original.csv")

    assert "No record was changed: all 586 records agree in 6 common columns" in text
    assert "maskmeter assess" in text


def test_a_file_that_is_not_there_is_refused(folder):
    assert "nowhere.csv" in refused(folder, released="nowhere.csv")


def test_row_numbers_of_another_release_are_refused(folder):
    pl.DataFrame({"record": [0, 1], "original_record": [5, 99_999]}).write_parquet(
        folder / "rows.parquet"
    )

    assert "1 of 2 row numbers is not in it" in refused(folder, "--rows", "rows.parquet")


def test_the_keys_must_be_given(folder):
    done = run("audit", "original.csv", "released.csv", "--out", "out", folder=folder)

    assert done.returncode == 2
    assert "--keys" in done.stderr
