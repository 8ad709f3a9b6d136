"""Laws of records of which only the counts are held: every figure is that of the records."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskmeter as mm


def grouped(data, *others):
    """Return records with a row for each combination of codes, weights and the codes of others."""
    parts = [data.codes, *(one.codes for one in others)]
    weights = np.zeros(len(data)) if data.weights is None else data.weights
    rows = np.column_stack([*parts, weights])
    found, first, times = np.unique(rows, axis=0, return_index=True, return_counts=True)
    del found
    return [
        replace(
            one,
            codes=one.codes[first],
            weights=None if one.weights is None else one.weights[first],
            times=times,
            source=None,
            source_codes=None,
        )
        for one in (data, *others)
    ]


def grouped_release(release):
    """Return a release of which only the counts are held."""
    truth, released = grouped(release.truth, release.released)
    (original,) = grouped(release.original)
    return replace(release, original=original, truth=truth, released=released)


KEYS = ["lad", "sex", "age", "ethnicity"]
pytestmark = pytest.mark.filterwarnings("ignore::maskmeter.errors.MaskmeterWarning")


@pytest.fixture(scope="module")
def release():
    people = mm.bernoulli_sample(mm.synthetic_census(size=80_000), fraction=0.05, rng=1)
    sample = mm.read(people.select(KEYS), keys=KEYS, fraction=0.05)
    steps = [mm.Pram("age", stay=0.9), mm.Swap("lad", rate=0.2, within=("sex",))]
    return mm.protect(sample, steps, rng=3)


@pytest.fixture(scope="module")
def population():
    return mm.count(mm.synthetic_census(size=80_000), keys=KEYS)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=30))
def test_counts_are_those_of_the_records(rows):
    space = mm.KeySpace([mm.Key("a", [0, 1]), mm.Key("b", [0, 1, 2])])
    records = mm.Microdata(space, np.array(rows), fraction=0.1)
    (counts,) = grouped(records)

    assert len(counts) == len(records)
    assert counts.cell_sizes == records.cell_sizes
    assert counts.project(["b"]).uniques == records.project(["b"]).uniques
    assert counts.summary() == records.summary()


@pytest.mark.parametrize("intruder", ["exact-match", "informed"])
def test_estimates_are_those_of_the_records(release, intruder):
    there = mm.estimate_risk(release, intruder=intruder)
    here = mm.estimate_risk(grouped_release(release), intruder=intruder)

    assert here.uniques == there.uniques
    assert here.total == pytest.approx(there.total, rel=1e-9)
    assert here.interval == pytest.approx(there.interval, rel=1e-9)
    assert here.largest == pytest.approx(there.largest, rel=1e-9)


@pytest.mark.parametrize("intruder", ["exact-match", "informed"])
def test_exact_risks_are_those_of_the_records(release, population, intruder):
    there = mm.exact_risk(release, population, intruder=intruder)
    here = mm.exact_risk(grouped_release(release), population, intruder=intruder)

    assert here.total == pytest.approx(there.total, rel=1e-12)
    assert here.largest == pytest.approx(there.largest, rel=1e-12)
    both = grouped_release(release)
    assert mm.correctly_classified_risk(both, population).total == pytest.approx(
        mm.correctly_classified_risk(release, population).total
    )
    assert mm.in_sample_risk(both).total == pytest.approx(mm.in_sample_risk(release).total)


def test_an_assessment_is_that_of_the_records(release):
    target = mm.Target(max_share=0.1)
    there = mm.assess(release, target=target, loss=("lad", "ethnicity"))
    here = mm.assess(grouped_release(release), target=target, loss=("lad", "ethnicity"))

    assert np.allclose(here.to_frame()["value"], there.to_frame()["value"], rtol=1e-9)
    assert here.loss == pytest.approx(there.loss)
    assert repr(here.release) == repr(there.release)
    assert here.release.summary() == there.release.summary()


def test_errors_of_recording_weigh_every_record(release):
    sample = release.original
    errors = mm.Misclassification({"age": mm.stay_or_move(sample.space["age"].size, stay=0.95)})
    there = mm.estimate_risk(sample, misclassification=errors)
    (counts,) = grouped(sample)
    here = mm.estimate_risk(counts, misclassification=errors)

    assert here.total == pytest.approx(there.total, rel=1e-9)
    assert here.interval == pytest.approx(there.interval, rel=1e-9)


@pytest.mark.parametrize("weighting", ["unsampled", "pseudo"])
def test_weights_count_for_every_record(release, weighting):
    sample = release.original
    rng = np.random.default_rng(4)
    weighted = replace(sample, fraction=None, weights=rng.choice([5.0, 20.0, 30.0], len(sample)))
    (counts,) = grouped(weighted)
    there = mm.search_loglinear(weighted, weighting=weighting)
    here = mm.search_loglinear(counts, weighting=weighting)

    assert here.tau2 == pytest.approx(there.tau2, rel=1e-9)
    assert here.goodness.z2 == pytest.approx(there.goodness.z2, rel=1e-6)
    assert counts.effective == pytest.approx(weighted.effective)


def test_a_fraction_that_varies_is_averaged_over_the_records(release):
    sample = release.original
    uneven = replace(sample, fraction=mm.by("sex", {"Female": 0.1}, otherwise=0.02))
    (counts,) = grouped(uneven)

    assert counts.project(["lad"]).fraction == pytest.approx(uneven.project(["lad"]).fraction)
