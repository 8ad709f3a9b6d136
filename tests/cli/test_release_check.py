"""The release check at the command line: verdict, mends that work, accepted findings, repeats."""

import json

import numpy as np
import polars as pl
import pytest

import maskmeter as mm
from command import run

PLAN = """
[data]
keys = ["lad", "sex", "age", "ethnicity"]
fraction = 0.05

[[step]]
method = "swap"
key = "lad"
rate = 0.2

[target]
max_share = 1.0
by = "estimate"
"""
FINISHED = """
[release]
shuffle = true
drop = ["ward"]
renumber = ["pid"]
"""
ACCEPTED = """
[check]
accept = [{kind = "near-unique", column = "income", reason = "Incomes are invented."}]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file that is sorted by district and keeps a ward, an identifier and exact incomes."""
    folder = tmp_path_factory.mktemp("check")
    people = mm.bernoulli_sample(mm.synthetic_census(size=80_000), fraction=0.05, rng=1)
    texts = people.select(pl.col("lad", "sex", "age", "ethnicity").cast(pl.String)).sort("lad")
    texts.with_columns(
        ward=pl.col("lad") + " 1",
        pid=pl.int_range(pl.len()) + 5_000_000,
        income=pl.Series(np.random.default_rng(1).normal(20_000, 5_000, len(texts))),
    ).write_csv(folder / "survey.csv")
    return folder


def assessed(folder, plan, out):
    (folder / f"{out}.toml").write_text(plan, encoding="utf-8")
    done = run("assess", "survey.csv", "--plan", f"{out}.toml", "--out", out, folder=folder)
    assert done.returncode == 0, done.stderr
    found = next((folder / out).rglob("assessment.json"))
    return done, json.loads(found.read_text(encoding="utf-8"))


def kinds(found, severity):
    return {
        (one["kind"], one["column"])
        for one in found["check"]["findings"]
        if one["severity"] == severity
    }


def page(folder, name):
    return next(folder.rglob(name)).read_text(encoding="utf-8")


def test_a_file_that_gives_itself_away_is_not_met_and_its_mends_work(folder):
    done, found = assessed(folder, PLAN, "bare")

    assert found["target"]["met"]
    assert found["mark"] == "not met"
    assert not found["check"]["passed"]
    assert kinds(found, "blocker") == {
        ("order", ""),
        ("column", "ward"),
        ("stands-out", "ward"),
        ("column", "pid"),  # which rises with the sorted districts
        ("stands-out", "pid"),
        ("identifier", "pid"),
    }
    assert "[release] shuffle = true" in done.stdout
    assert "gives itself away" in page(folder / "bare", "internal.html")

    _, mended = assessed(folder, PLAN + FINISHED, "mended")
    assert mended["mark"] == "met"
    assert kinds(mended, "blocker") == set()
    assert kinds(mended, "caution") == {("near-unique", "income")}


def test_an_accepted_finding_stands_in_every_report_with_its_reason(folder):
    done, found = assessed(folder, PLAN + FINISHED + ACCEPTED, "accepted")

    assert kinds(found, "accepted") == {("near-unique", "income")}
    assert "Incomes are invented." in " ".join(done.stdout.split())
    for name in ("internal.html", "public.html"):
        assert "Incomes are invented." in page(folder / "accepted", name)


def test_the_public_is_not_told_where_else_to_look(folder):
    _, found = assessed(folder, PLAN, "public")
    public = page(folder / "public", "public.html")

    assert "The release check is not passed" in public
    for one in found["check"]["findings"]:
        assert one["text"] not in public
    assert "ward" not in public


def test_a_finished_release_is_repeated_byte_for_byte(folder):
    assessed(folder, PLAN + FINISHED, "first")
    made = next((folder / "first").rglob("provenance.json"))
    done = run("assess", "survey.csv", "--from", made, "--out", "again", folder=folder)
    assert done.returncode == 0, done.stderr
    protected = [(folder / name / "protected.csv").read_bytes() for name in ("first", "again")]

    assert protected[0] == protected[1]
    assert b"ward" not in protected[0]
    assert b"5000001" not in protected[0]


def test_the_rows_of_both_files_are_in_the_file_of_risks(folder):
    assessed(folder, PLAN + FINISHED, "rows")
    risks = pl.read_parquet(next((folder / "rows").rglob("risk_by_record.parquet")))
    original = pl.read_csv(folder / "survey.csv")[risks["original_record"].to_numpy()]

    assert original["age"].to_list() == risks["key age"].cast(pl.String).to_list()
    assert (original["lad"] != risks["key lad"].cast(pl.String)).mean() == pytest.approx(
        0.2, abs=0.01
    )


def test_a_file_may_be_finished_without_a_step(folder):
    plan = PLAN.split("[[step]]", maxsplit=1)[0] + FINISHED
    _, found = assessed(folder, plan, "finished")
    written = pl.read_csv(folder / "finished" / "protected.csv")
    original = pl.read_csv(folder / "survey.csv")

    assert found["finish"] == [
        "The rows were put in a random order.",
        "Left out: ward.",
        "Numbered anew at random: pid.",
    ]
    columns = ["lad", "age", "income"]
    assert written.select(columns).sort(columns).equals(original.select(columns).sort(columns))


def test_protect_says_what_gives_the_file_away(folder):
    (folder / "bare.toml").write_text(PLAN, encoding="utf-8")
    done = run("protect", "survey.csv", "--plan", "bare.toml", "--out", "a.csv", folder=folder)

    assert done.returncode == 0, done.stderr
    assert "The release check is not passed, with 6 blockers" in done.stdout
    asked = ("--plan", "bare.toml", "--out", "b.csv", "--json")
    told = json.loads(run("protect", "survey.csv", *asked, folder=folder).stdout)
    assert not told["check"]["passed"]


def test_find_shuffles_the_release_it_chooses(folder):
    found = PLAN.replace("[[step]]", "[[candidate]]\nlabel = 'a'\n[[candidate.step]]")
    (folder / "find.toml").write_text(found + FINISHED, encoding="utf-8")
    done = run("find", "survey.csv", "--plan", "find.toml", "--out", "found", folder=folder)

    assert done.returncode == 0, done.stderr
    districts = pl.read_csv(folder / "found" / "protected.csv")["lad"]
    assert not districts.equals(districts.sort())


def test_an_earlier_release_exposes_a_second_draw(folder):
    assessed(folder, PLAN, "earlier")
    check = '[check]\nearlier = ["earlier/protected.csv"]\n'
    _, found = assessed(folder, PLAN + FINISHED + check, "later")

    assert ("earlier", "protected.csv") in kinds(found, "blocker")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('[release]\ndrop = ["lad"]', "which is a key"),
        ('[release]\ndrop = ["wart"]', "No column named 'wart' among 7"),
        ("[release]\nshuffle = 1", "must be true or false"),
        ("[release]\nshufle = true", "Did you mean 'shuffle'"),
        ('[check]\naccept = [{kind = "order", column = "", reason = " "}]', "a `reason`"),
        ('[check]\naccept = [{kind = "ordr", column = "", reason = "x"}]', "Did you mean 'order'"),
        ('[check]\naccept = [{kind = "date", column = "born", reason = "x"}]', "no such column"),
        ('[check]\nearlier = ["gone.csv"]', "there is no such file"),
        ('[release]\ndrop = ["ward"]\n[loss]\ntables = [["lad", "ward"]]', "is dropped"),
    ],
)
def test_a_plan_that_cannot_be_followed_is_refused_with_its_line(folder, lines, words):
    (folder / "bad.toml").write_text(PLAN + lines, encoding="utf-8")
    done = run("assess", "survey.csv", "--plan", "bad.toml", "--out", "bad", folder=folder)

    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr
    assert "bad.toml, line" in done.stderr
    assert not (folder / "bad").exists()
