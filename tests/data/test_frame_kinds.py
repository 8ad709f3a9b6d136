"""Every result returns frames of the caller's kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import maskmeter as mm
from maskmeter.errors import without_warnings

KEYS = ["lad", "age", "sex"]
GIVEN = {
    "polars": lambda frame: frame,
    "lazy": lambda frame: frame.lazy(),
    "pyarrow": pl.DataFrame.to_arrow,
    "pandas": lambda frame: frame.to_pandas(),
}
EXPECTED = {"polars": pl.DataFrame, "lazy": pl.DataFrame, "pyarrow": pa.Table, "pandas": pd.DataFrame}  # fmt: skip


def people(records, seed):
    draws = np.random.default_rng(seed)
    lad = draws.integers(0, 6, records)
    return pl.DataFrame(
        {
            "lad": [f"lad {one}" for one in lad],
            "age": draws.integers(0, 12, records),
            "sex": draws.choice(["f", "m"], records),
            "income": draws.normal(size=records) + lad,
        }
    )


def results(convert, folder):
    """Yield every public result that has a frame, made from frames of one kind."""
    population = mm.count(convert(people(8_000, 1)), keys=KEYS)
    sample = mm.read(convert(people(400, 2)), keys=population.space, fraction=0.05)
    release = mm.protect(sample, [mm.Swap("lad", rate=0.2), mm.Pram("age", stay=0.9)], rng=1)
    swaps = {"RS10": mm.Swap("lad", rate=0.1), "RS30": mm.Swap("lad", rate=0.3)}
    asked = {"loss": ("lad", "age"), "population": population, "rng": 1}
    checked = convert(people(200, 3).with_columns(said=pl.col("lad")))
    risk, losses = mm.exact_risk(release, population), mm.information_loss(release)
    curve, known = mm.risk_by_keys(release, population), mm.assess(release, population=population)
    yield "KeyTable", population.to_frame()
    yield "KeyTable of some keys", population.project(["lad"]).uniques().to_frame()
    yield "Microdata", sample.to_frame()
    yield "Release", release.to_frame()
    yield "Release.rates", release.rates
    yield "Mechanism", release.mechanism.to_frame()
    yield "Mechanism of some keys", release.project(["lad"]).mechanism.to_frame()
    yield "Risk", risk.to_frame()
    yield "Risk.distribution", risk.distribution()
    yield "Risk.ranked", risk.ranked()
    yield "EstimatedRisk", mm.estimate_risk(release).to_frame()
    yield "Linkage", mm.linkage_probability(release, population).to_frame()
    yield "LinkageTrial", mm.linkage_trial(release, population, rng=1).to_frame()
    yield "LogLinear", mm.fit_loglinear(release, "independence").to_frame()
    yield "LogLinearSearch", mm.search_loglinear(release).to_frame()
    yield "Loss", mm.information_loss(release, rows="lad", columns="age").to_frame()
    yield "Losses", losses.to_frame()
    yield "Losses.margins", losses.margins()
    yield "RegressionLoss", mm.regression_loss(release, "income", predictors=["lad"]).to_frame()
    yield "RiskUtilityMap", mm.compare(sample, swaps, **asked).to_frame()
    target = mm.Target(max_share=1)
    found = mm.find_release(sample, candidates=swaps, target=target, **asked)
    yield "FoundRelease", found.to_frame()
    yield "KeyCurve", curve.to_frame()
    yield "KeyCurve.peaks", curve.peaks()
    studied = mm.validation_study(checked, {"lad": ("lad", "said")}, keys=sample)
    yield "ValidationStudy", studied.to_frame()
    yield "CorrectedCounts", mm.correct_counts(release, "age").to_frame()
    yield "PramDesign", mm.design_pram(sample, "lad", stay_at_most=0.8).to_frame()
    yield "Assessment", known.to_frame()
    yield "Assessment.by_record", known.by_record()
    pack = mm.report(known, folder, audience="internal")
    yield "Pack", pack.to_frame()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    def make(kind):
        with without_warnings():
            return dict(results(GIVEN[kind], tmp_path_factory.mktemp(kind)))

    return {kind: make(kind) for kind in GIVEN}


def values(frame):
    """Return the columns of a frame of any kind, with None for missing values."""
    columns = frame.to_pydict() if isinstance(frame, pa.Table) else {name: frame[name].to_list() for name in frame.columns}  # fmt: skip
    return {name: [None if one != one else one for one in held] for name, held in columns.items()}  # noqa: PLR0124 - NaN


@pytest.mark.parametrize("kind", GIVEN)
def test_every_result_returns_the_callers_kind_of_frame(kind, made):
    kinds = {name: type(frame) for name, frame in made[kind].items()}

    assert kinds == dict.fromkeys(kinds, EXPECTED[kind])


@pytest.mark.parametrize("kind", ["lazy", "pyarrow", "pandas"])
def test_the_values_do_not_depend_on_the_kind_of_frame(kind, made):
    for name, frame in made[kind].items():
        assert values(frame) == values(made["polars"][name]), name


def test_a_frame_of_every_record_keeps_the_pandas_index():
    frame = people(300, 4).to_pandas().set_index(pd.Index(range(1_000, 1_300), name="person"))
    with without_warnings():
        found = mm.assess(mm.read(frame, keys=KEYS, fraction=0.05), drop_one=False)

    assert found.by_record().index.equals(frame.index)


def test_results_about_files_are_polars_frames(tmp_path):
    people(100, 5).write_csv(tmp_path / "people.csv")
    sample = mm.read(tmp_path / "people.csv", keys=KEYS, fraction=0.05)

    assert isinstance(mm.design_pram(sample, "sex", stay_at_most=0.8).to_frame(), pl.DataFrame)
    assert isinstance(mm.Release.unchanged(sample).mechanism.to_frame(), pl.DataFrame)
