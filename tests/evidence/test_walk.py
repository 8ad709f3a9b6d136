"""How often `assess` makes a model and reads the file."""

from __future__ import annotations

import json

import polars as pl
import pytest

import maskmeter as mm
from command import run
from maskmeter.data.source import Source
from maskmeter.risk import models

KEYS = ["lad", "sex", "age", "ethnicity"]
PLAN = """
[data]
keys = ["lad", "sex", "age", "ethnicity"]
fraction = 0.05

[loss]
tables = [["lad", "ethnicity"]]

[target]
max_share = 0.5
"""
STEP = """
[[step]]
method = "swap"
key = "lad"
rate = 0.2
"""
CANDIDATES = """
[[candidate]]
label = "more"
[[candidate.step]]
method = "swap"
key = "lad"
rate = 0.4

[[candidate]]
label = "PRAM"
[[candidate.step]]
method = "pram"
key = "lad"
stay = 0.7
"""
ERROR = """
[[error]]
key = "sex"
matrix = [[0.98, 0.02], [0.03, 0.97]]
"""


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    people = mm.bernoulli_sample(mm.synthetic_census(size=20_000), fraction=0.05, rng=1)
    path = tmp_path_factory.mktemp("walk") / "survey.csv"
    people.with_columns(pl.col(pl.Enum).cast(pl.String)).write_csv(path)
    return path


@pytest.fixture
def walk(monkeypatch):
    """Return lists that record every model, every pass over a file, and every file written."""
    noted = {"models": [], "passes": [], "written": []}
    make, scan, write = models.make_model, Source.scan, Source.write_with

    def made(sample, name):
        noted["models"].append(sample.space.names)
        return make(sample, name)

    def scanned(source, names):
        noted["passes"].append(tuple(names))
        return scan(source, names)

    def written(source, *given, **options):
        noted["written"].append(source.path)
        return write(source, *given, **options)

    monkeypatch.setattr(models, "make_model", made)
    monkeypatch.setattr(Source, "scan", scanned)
    monkeypatch.setattr(Source, "write_with", written)
    return noted


@pytest.mark.parametrize(
    ("parts", "made", "passes"),
    [("", 1, 2), (STEP, 1, 3), (STEP + CANDIDATES, 1, 3), (STEP + ERROR, 2, 3)],
    ids=["as it is", "a step", "candidates", "recording errors"],
)
def test_assess_models_all_keys_once_and_repeats_no_pass(  # noqa: PLR0917 - fixtures
    survey, walk, tmp_path, parts, made, passes, capsys
):
    """Recording errors need a second model, of the counts of the released file.

    The release check reads all columns, in a pass of its own.
    """
    (tmp_path / "plan.toml").write_text(PLAN + parts, encoding="utf-8")
    done = run("assess", str(survey), "--plan", "plan.toml", "--out", "pack", folder=tmp_path)
    assert done.returncode == 0, done.stderr

    whole = [names for names in walk["models"] if names == tuple(KEYS)]
    with capsys.disabled():
        counts = {name: len(listed) for name, listed in walk.items()} | {"all keys": len(whole)}
        print("", counts, end=" ")  # noqa: T201 - the counts are for readers of the run
    assert len(whole) == made
    # Each key is left out once; without lad, which was swapped, both files are the same.
    assert len(walk["models"]) == len(whole) * len(KEYS) + 1
    assert walk["models"][0] == tuple(KEYS)  # the headline comes before the keys left out
    assert len(walk["passes"]) == passes
    assert len(set(walk["passes"])) == len(walk["passes"])
    assert len(walk["written"]) == bool(parts)
    found = json.loads(
        (tmp_path / "pack" / "internal" / "assessment.json").read_text(encoding="utf-8")
    )
    assert found["scenarios"][0]["risks"]["informed"]["total"] > 0
