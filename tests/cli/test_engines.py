"""Several files from the command: the same release and figures as one file, on any engine."""

from __future__ import annotations

import json

import polars as pl
import pytest

import maskmeter as mm
from command import DRAWN, run
from maskmeter.data.engines.polars import PolarsEngine

KEYS = ["lad", "sex", "age", "ethnicity"]
PLAN = """
[data]
keys = ["lad", "sex", "age", "ethnicity"]
fraction = 0.05
id = "person"

[[step]]
method = "pram"
key = "age"
stay = 0.9

[[step]]
method = "swap"
key = "lad"
rate = 0.2
within = ["sex"]

[loss]
tables = [["lad", "ethnicity"], ["lad", "marital"]]
"""


@pytest.fixture(scope="module")
def people():
    census = mm.synthetic_census(size=80_000)
    drawn = mm.bernoulli_sample(census, fraction=0.05, rng=1).with_columns(pl.all().cast(pl.String))
    ids = (pl.int_range(pl.len()) * 7919 % 100_003).alias("person")
    return drawn.with_columns(ids).sample(fraction=1, shuffle=True, seed=2)


@pytest.fixture(scope="module")
def place(people, tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines")
    (folder / "parts").mkdir()
    for number in range(3):
        people[number::3].write_parquet(folder / "parts" / f"{number}.parquet")
    people.write_parquet(folder / "people.parquet")
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    return folder


def released(path):
    return pl.read_parquet(path).sort("person")


def test_every_engine_recreates_the_release_of_another(place, tmp_path):
    parts, made = place / "parts", tmp_path / "safe.provenance.json"
    first = run(
        "protect", parts / "*.parquet", "--plan", place / "plan.toml", "--out", tmp_path / "safe"
    )
    again = run("protect", parts, "--from", made, "--engine", "duckdb", "--out", tmp_path / "again")

    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    assert released(tmp_path / "safe" / "*.parquet").equals(
        released(tmp_path / "again" / "*.parquet")
    )
    assert made.stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "again",
        "again.provenance.json",
        "safe",
        "safe.provenance.json",
    ]


def test_only_the_keys_of_the_steps_are_changed(place, people, tmp_path):
    run("protect", place / "parts", "--plan", place / "plan.toml", "--out", tmp_path / "safe")
    safe, before = released(tmp_path / "safe" / "*.parquet"), people.sort("person")

    assert safe.drop("age", "lad").equals(before.drop("age", "lad"))
    assert 0.1 < (safe["lad"] != before["lad"]).mean() < 0.25
    assert safe["lad"].sort().equals(before["lad"].sort())


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_an_assessment_of_parts_has_the_figures_of_the_whole_file(place, tmp_path, engine):
    plan = ["--plan", place / "plan.toml"]
    one = run("assess", place / "people.parquet", *plan, "--out", tmp_path / "one", drawn=DRAWN)
    options = [*plan, "--engine", engine, "--out", tmp_path / "parts"]
    done = run("assess", place / "parts", *options, drawn=DRAWN)
    assert (one.returncode, done.returncode) == (0, 0), one.stderr + done.stderr

    whole, part = (
        json.loads((tmp_path / name / "internal" / "assessment.json").read_text("utf-8"))
        for name in ("one", "parts")
    )
    for moment in ("unprotected", "risks"):
        for intruder in ("exact_match", "informed"):
            there, here = (one["scenarios"][0][moment][intruder] for one in (whole, part))
            assert here["uniques"] == there["uniques"]
            assert here["total"] == pytest.approx(there["total"], rel=1e-9)
            assert here["interval"] == pytest.approx(there["interval"], rel=1e-9)
    tables = [
        {(row["rows"], row["columns"]): row["worst"] for row in one["loss"]}
        for one in (whole, part)
    ]
    for pair in (("lad", "ethnicity"), ("lad", "marital")):
        assert tables[1][pair] == pytest.approx(tables[0][pair])
    assert part["records"] == whole["records"]
    listed = pl.read_parquet(tmp_path / "parts" / "internal" / "risk_by_record.parquet")
    assert len(listed) == part["scenarios"][0]["risks"]["informed"]["uniques"]
    safe = released(tmp_path / "parts" / "protected" / "*.parquet")
    joined = listed.join(safe, left_on="record", right_on="person")
    assert (joined["key lad"].cast(pl.String) == joined["lad"]).all()


def test_a_population_may_be_several_files(place, tmp_path):
    census = tmp_path / "census"
    census.mkdir()
    mm.synthetic_census(size=80_000).with_columns(pl.all().cast(pl.String)).write_parquet(
        census / "all.parquet"
    )
    options = ["--keys", "lad,sex,age", "--fraction", "0.05", "--population", census, "--json"]
    done = run("assess", place / "parts", *options, "--out", tmp_path / "out")
    whole = run("assess", place / "people.parquet", *options, "--out", tmp_path / "whole")

    figures = [json.loads(one.stdout)["scenarios"][0]["risks"] for one in (done, whole)]
    assert figures[0]["exact_match"]["total"] == pytest.approx(figures[1]["exact_match"]["total"])


def refused(done, said):
    assert done.returncode == 1, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_what_cannot_be_done_is_refused_in_a_sentence_and_leaves_nothing(place, people, tmp_path):
    parts, plan = place / "parts", ["--plan", place / "plan.toml"]
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "part.parquet").touch()
    (tmp_path / "odd").mkdir()
    people[:10].write_parquet(tmp_path / "odd" / "a.parquet")
    people[:10].drop("sex").write_parquet(tmp_path / "odd" / "b.parquet")
    (tmp_path / "twice").mkdir()
    pl.concat([people, people[:5]]).write_parquet(tmp_path / "twice" / "a.parquet")
    without = tmp_path / "plan.toml"
    without.write_text(PLAN.replace('id = "person"\n', ""), encoding="utf-8")
    out, before = ["--out", tmp_path / "new"], sorted(tmp_path.rglob("*"))
    refused(run("protect", parts, *plan, "--out", tmp_path / "there"), "already exists")
    refused(run("protect", parts / "*.csv", *plan, *out), "no files that match the pattern")
    refused(run("protect", tmp_path / "odd", *plan, *out), "other columns or types")
    refused(run("protect", tmp_path / "twice", *plan, *out), "5 records of the file repeat the id")
    refused(run("protect", parts, *plan, "--id", "pid", *out), "No column named 'pid'")
    refused(run("protect", parts, "--plan", without, *out), "--id")
    refused(run("assess", parts, *plan, "--format", ".csv", *out), "--format")
    refused(run("compare", parts, *plan, *out), "[[candidate]]")
    usage = run("protect", parts, *plan, "--master", "spark://here:1", *out)

    assert usage.returncode == 2
    assert "--engine spark" in usage.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_release_that_fails_half_way_leaves_nothing(place, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(PolarsEngine, "write_with", fail)
    done = run(
        "protect", place / "parts", "--plan", place / "plan.toml", "--out", tmp_path / "safe"
    )

    refused(done, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_output_inside_the_folder_that_is_read_is_refused(place, tmp_path):
    plan, parts = ["--plan", place / "plan.toml"], place / "parts"

    refused(run("protect", parts, *plan, "--out", parts / "safe"), "write outside of it")
    refused(run("assess", parts, *plan, "--out", parts / "pack"), "write outside of it")
    assert sorted(path.name for path in parts.iterdir()) == [
        "0.parquet",
        "1.parquet",
        "2.parquet",
    ]


@pytest.mark.parametrize("whole", [True, False], ids=["written", "being written"])
def test_a_run_that_comes_second_leaves_the_provenance_of_the_first(
    place, tmp_path, monkeypatch, whole
):
    write = PolarsEngine.write_with

    def written(engine, folder, work):
        write(engine, folder, work)
        if whole:  # another run was faster
            (tmp_path / "safe").mkdir()
            (tmp_path / "safe" / "part.parquet").touch()
        (tmp_path / "safe.provenance.json").write_text("its own", encoding="utf-8")

    monkeypatch.setattr(PolarsEngine, "write_with", written)
    done = run(
        "protect", place / "parts", "--plan", place / "plan.toml", "--out", tmp_path / "safe"
    )

    assert done.returncode == 1
    assert (tmp_path / "safe.provenance.json").read_text(encoding="utf-8") == "its own"
    there = ["safe", "safe.provenance.json"] if whole else ["safe.provenance.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == there


def test_an_id_that_has_another_role_is_refused(place, tmp_path):
    options = ["--fraction", "0.05", "--id", "person", "--out", tmp_path / "out"]

    refused(run("assess", place / "parts", "--keys", "lad,person", *options), "also a key")


def test_a_mark_for_each_changed_record_needs_the_records(place):
    sample = mm.read(place / "parts", keys=["lad", "sex"], fraction=0.05, id="person")
    release = mm.Pram("lad", stay=0.8).apply(sample, rng=1)

    with pytest.raises(mm.errors.InputError, match="changed_records"):
        _ = release.changed
    assert release.changed_records / len(sample) == pytest.approx(release.changed_by_key["lad"])
