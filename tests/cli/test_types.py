"""A sample and a population of different formats at the command line: one figure, or one sentence."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pyreadstat
import pytest

from command import DRAWN, run

KEYS = ["lad", "sex"]
PLAN = """
[data]
keys = ["lad", "sex"]
population = "POPULATION"
[[step]]
method = "swap"
key = "lad"
rate = 0.1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One sample and one population in several formats."""
    made, draws = tmp_path_factory.mktemp("types"), np.random.default_rng(8)
    people = pl.DataFrame({"lad": draws.integers(1, 100, 6000), "sex": draws.integers(1, 3, 6000)})
    sample = people[::20]
    sample.write_csv(made / "survey.csv")
    sample.write_parquet(made / "survey.parquet")
    people.write_csv(made / "census.csv")
    people.write_parquet(made / "census.parquet")
    labels = {"sex": {1: "Male", 2: "Female"}}
    pyreadstat.write_sav(people, made / "census.sav", variable_value_labels=labels)
    named = pl.col("sex").replace_strict({1: "Male", 2: "Female"})
    sample.with_columns(named).write_csv(made / "named.csv")
    sample.with_columns(pl.format("0{}", "sex").alias("sex")).write_csv(made / "zeros.csv")
    return made


def assessed(folder, sample, population, out):
    (folder / "plan.toml").write_text(PLAN.replace("POPULATION", population), encoding="utf-8")
    told = ["--plan", folder / "plan.toml", "--out", out]
    return run("assess", folder / sample, *told, drawn=DRAWN)


@pytest.fixture(scope="module")
def same_typed(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("same") / "out"
    assert assessed(folder, "survey.csv", "census.csv", out).returncode == 0
    return out


@pytest.mark.parametrize(
    ("sample", "population"),
    [
        ("survey.csv", "census.parquet"),
        ("survey.csv", "census.sav"),
        ("survey.parquet", "census.csv"),
        ("named.csv", "census.sav"),
    ],
)
def test_every_pair_of_formats_gives_the_same_exact_risk(
    folder, same_typed, tmp_path, sample, population
):
    done = assessed(folder, sample, population, tmp_path / "out")

    assert done.returncode == 0, done.stderr
    found, known = (
        json.loads((out / "internal" / "assessment.json").read_text("utf-8"))
        for out in (tmp_path / "out", same_typed)
    )
    assert found["scenarios"] == known["scenarios"]
    assert known["scenarios"][0]["risks"]["exact_match"]["total"] > 1
    if sample == "survey.csv":  # the released file holds its own texts, whatever the population has
        written = [(out / "protected.csv").read_bytes() for out in (tmp_path / "out", same_typed)]
        assert written[0] == written[1]


@pytest.mark.parametrize(("sample", "values"), [("zeros.csv", 2), ("named.csv", 2)])
def test_values_that_do_not_match_are_refused_in_a_sentence(folder, tmp_path, sample, values):
    done = assessed(folder, sample, "census.parquet", tmp_path / "out")

    assert done.returncode == 1
    assert f"Key 'sex' holds text in {sample} and numbers in census.parquet" in " ".join(
        done.stderr.split()
    )
    assert f"{values} of the 2 distinct values in {sample} match none" in " ".join(
        done.stderr.split()
    )
    assert "Male" not in done.stderr
    assert not (tmp_path / "out").exists()
