"""A code such as "unknown" that only recording errors make, from the risk to the report."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import maskmeter as mm
from command import run
from maskmeter.errors import without_warnings

AGES = ["0-15", "16-64", "65+", "unknown"]
LOST = 0.1  # how often the age is not recorded
P = np.array([[0.9, 0, 0, 0.1], [0, 0.9, 0, 0.1], [0, 0, 0.9, 0.1], [0.3, 0.3, 0.4, 0]])
KEYS = [mm.Key("age", AGES), "lad", "sex"]
ERRORS = mm.Misclassification({"age": P})


def people(seed):
    """Return a population of 4,000 and a file of 5 % of it in which some ages are unknown."""
    draws = np.random.default_rng(seed)
    size = 4_000
    true = draws.choice(3, size, p=[0.2, 0.6, 0.2])
    lad = draws.choice(40, size, p=draws.dirichlet(np.full(40, 0.7)))
    frame = pl.DataFrame(
        {
            "age": [AGES[code] for code in true],
            "lad": [f"{code:02d}" for code in lad],
            "sex": draws.choice(["f", "m"], size),
        }
    )
    unknown = draws.random(size) < LOST
    recorded = frame.with_columns(
        age=pl.Series([AGES[3] if lost else AGES[code] for code, lost in zip(true, unknown)])  # noqa: B905
    )
    sampled = draws.random(size) < 0.05
    return frame, recorded.filter(sampled)


@pytest.fixture(scope="module")
def world():
    population, file = people(11)
    counts = mm.count(population, keys=KEYS)
    return counts, mm.read(file, keys=counts.space, fraction=0.05)


def unknown(sample):
    return sample.codes[:, 0] == 3


def test_the_file_has_uniques_of_unknown_age_beside_a_population_without_any(world):
    counts, sample = world
    risk = mm.exact_risk(sample, counts, misclassification=ERRORS)

    assert 0 < unknown(sample).sum() < len(sample)
    assert not (counts.codes[:, 0] == 3).any()
    assert risk.without_target >= unknown(sample)[risk.records].sum() > 3


def test_matching_exactly_finds_nobody_there_and_an_informed_intruder_does(world):
    counts, sample = world
    risk = mm.exact_risk(sample, counts, misclassification=ERRORS)
    informed = mm.exact_risk(sample, counts, misclassification=ERRORS, intruder="informed")
    there = unknown(sample)[risk.records]
    # Each age is lost as often: anybody with the same other keys may be the record.
    alike = counts.project(["lad", "sex"]).lookup(sample.codes[risk.records[there]][:, 1:])

    assert np.all(risk.by_unique[there] == 0)
    assert informed.by_unique[there] == pytest.approx(1 / alike, rel=1e-12)


@pytest.mark.parametrize("row", [[0.3, 0.3, 0.4, 0], [1, 0, 0, 0]])
@pytest.mark.parametrize("method", ["em", "paper"])
def test_an_estimate_has_no_risk_where_nothing_can_stay(world, method, row):
    _, sample = world
    errors = mm.Misclassification({"age": np.vstack([P[:3], row])})
    with without_warnings():
        risk = mm.estimate_risk(sample, method=method, misclassification=errors)

    assert np.all(risk.by_record[unknown(sample)] == 0)
    assert np.all(risk.by_record[~unknown(sample)] > 0)
    low, high = risk.interval
    assert low <= risk.total <= high


def test_an_estimate_for_an_informed_intruder_has_a_risk_there(world):
    _, sample = world
    with without_warnings():
        risk = mm.estimate_risk(sample, misclassification=ERRORS, intruder="informed")

    assert np.all(risk.by_record[unknown(sample)] > 0)


def test_every_way_to_look_at_the_file_accepts_it(world):
    counts, sample = world
    release = mm.Swap("lad", rate=0.2).apply(sample, rng=1)
    coarse = mm.Recode("age", groups={"adults": ["16-64", "65+"]}).apply(sample)
    with without_warnings():
        for data in (sample, release, coarse):
            found = mm.assess(data, population=counts, misclassification=ERRORS)
            assert (
                "nobody in the population"
                in mm.exact_risk(data, counts, misclassification=ERRORS).summary()
            )
            assert found.by_record().height == len(sample)
        curve = mm.risk_by_keys(sample, counts, misclassification=ERRORS)
        linked = mm.linkage_probability(sample, counts, misclassification=ERRORS)

    whole = mm.exact_risk(sample, counts, misclassification=ERRORS)
    assert curve.subsets[-1].risk == pytest.approx(whole.total)
    assert linked.without_target == whole.without_target


def test_without_errors_the_curve_counts_no_match_there(world):
    """As if the file were right: 1 / F_j where somebody is, 0 where nobody is."""
    counts, sample = world
    with without_warnings():
        curve = mm.risk_by_keys(sample, counts, misclassification=ERRORS)
    alone = sample.codes[mm.exact_risk(sample, counts, misclassification=ERRORS).records]
    own = counts.lookup(alone)

    assert curve.subsets[-1].without_error == pytest.approx((1 / own[own > 0]).sum())


def test_a_recode_after_the_errors_is_the_file_of_coarser_keys_with_coarser_errors(world):
    counts, sample = world
    coarse = mm.Recode("age", groups={"adults": ["16-64", "65+"]}).apply(sample)
    found = mm.exact_risk(coarse, counts, misclassification=ERRORS, intruder="informed")

    groups = np.array([0, 1, 1, 2])
    key = mm.Key("age", ["0-15", "adults", "unknown"])
    space = mm.KeySpace([key, *sample.space.keys[1:]])
    people, records = counts.codes.astype(int), sample.codes.astype(int)
    people[:, 0], records[:, 0] = groups[people[:, 0]], groups[records[:, 0]]
    direct = mm.exact_risk(
        mm.Microdata(space, records, fraction=0.05),
        mm.KeyTable.of(space, people, counts=counts.counts),
        misclassification={"age": [[0.9, 0, 0.1], [0, 0.9, 0.1], [0.3, 0.7, 0]]},
        intruder="informed",
    )
    assert found.by_unique == pytest.approx(direct.by_unique, rel=1e-12)


PLAN = """
[data]
keys = ["age", "lad", "sex"]
fraction = 0.05
population = "census.csv"

[[error]]
key = "age"
matrix = {matrix}
categories = {categories}
"""


def written(folder, *, matrix=P, categories=AGES):
    population, file = people(11)
    population.write_csv(folder / "census.csv")
    file.write_csv(folder / "survey.csv")
    plan = PLAN.format(matrix=np.asarray(matrix).tolist(), categories=json.dumps(categories))
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    return folder / "survey.csv", "--plan", folder / "plan.toml", "--out", folder / "out"


def test_a_plan_with_an_error_assesses_the_file(world, tmp_path):
    counts, sample = world
    done = run("assess", *written(tmp_path), "--json")

    assert done.returncode == 0, done.stderr
    risks = json.loads(done.stdout)["scenarios"][0]["risks"]
    matched = mm.exact_risk(sample, counts, misclassification=ERRORS)
    informed = mm.exact_risk(sample, counts, misclassification=ERRORS, intruder="informed")
    assert risks["exact_match"]["total"] == pytest.approx(matched.total)
    assert risks["exact_match"]["without_target"] == matched.without_target
    assert risks["informed"]["total"] == pytest.approx(informed.total)


@pytest.mark.parametrize(
    ("matrix", "categories", "said"),
    [
        (P[:3, :3] / 0.9, AGES[:3], "not among its 3 categories"),
        (np.eye(4), AGES, "the recording errors rule out that anybody was recorded so"),
    ],
    ids=["a matrix without the category", "a matrix that rules it out"],
)
def test_a_plan_whose_errors_do_not_make_the_category_is_refused(
    matrix, categories, said, tmp_path
):
    done = run("assess", *written(tmp_path, matrix=matrix, categories=categories))

    assert done.returncode == 1
    assert said in " ".join(done.stderr.split())
