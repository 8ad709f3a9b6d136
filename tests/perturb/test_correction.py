"""Corrected counts of weighted files and of columns that are not keys, by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

import maskmeter as mm

P = np.array([[0.9, 0.1], [0.25, 0.75]])
TRUE = np.array([0, 0, 1, 1, 1])
WEIGHTS = np.array([1.0, 2.5, 0.5, 4.0, 1.0])
JOB = np.array([0, 1, 1, 0, 1])


def released(codes, *, weighted):
    frame = pl.DataFrame({"sex": ["fm"[one] for one in codes], "job": ["yn"[one] for one in 1 - JOB], "w": WEIGHTS})  # fmt: skip
    keys = [mm.Key("sex", ["f", "m"])]
    return mm.read(frame, keys=keys, **({"weights": "w"} if weighted else {}))


def every_release(columns, *, weighted):
    """Yield the probability of each release that PRAM can make of the file, and its corrected counts."""
    for codes in product((0, 1), repeat=len(TRUE)):
        data = released(codes, weighted=weighted)
        found = mm.correct_counts(data, "sex", columns=columns, misclassification={"sex": P})
        yield P[TRUE, list(codes)].prod(), found


def true_table(columns, weights):
    table = np.zeros((2, 2))
    np.add.at(table, (TRUE, JOB), weights)
    return table if columns else table.sum(axis=1)


@pytest.mark.parametrize("columns", [None, "job"])
@pytest.mark.parametrize("weighted", [False, True])
def test_estimates_and_variances_are_unbiased_over_all_releases(columns, weighted):
    weights = WEIGHTS if weighted else np.ones(len(TRUE))
    chances, found = zip(*every_release(columns, weighted=weighted), strict=True)
    estimates = np.array([one.estimate for one in found])
    variances = np.array([one.standard_error**2 for one in found])
    mean = np.tensordot(chances, estimates, axes=1)
    spread = np.tensordot(chances, (estimates - mean) ** 2, axes=1)

    assert mean == pytest.approx(true_table(columns, weights), abs=1e-12)
    assert np.tensordot(chances, variances, axes=1) == pytest.approx(spread, rel=1e-12)


def test_a_variance_with_unsquared_weights_is_biased():
    chances, found = zip(*every_release(None, weighted=True), strict=True)
    estimates = np.array([one.estimate for one in found])
    inverse = np.linalg.inv(P)
    naive = np.array([one.released @ (inverse**2 - inverse) for one in found])
    mean = np.tensordot(chances, estimates, axes=1)
    spread = np.tensordot(chances, (estimates - mean) ** 2, axes=1)

    assert np.tensordot(chances, naive, axes=1) != pytest.approx(spread, rel=0.2)


def test_counts_of_unchanged_columns_are_not_corrected():
    data = released(TRUE, weighted=True)
    found = mm.correct_counts(mm.Pram("sex", 0.9).apply(data, rng=1), "job")

    assert found.estimate.tolist() == found.released.tolist() == [5.0, 4.0]
    assert found.standard_error.tolist() == [0, 0]


@pytest.mark.parametrize(("name", "told"), [("same", "1 distinct value"), ("id", "2,001 distinct")])
def test_columns_with_one_or_too_many_values_are_rejected(name, told):
    frame = pl.DataFrame({"sex": ["f"] + ["m"] * 2000, "same": 1, "id": range(2001)})
    data = mm.read(frame, keys=["sex"])

    with pytest.raises(mm.MaskmeterError, match=told):
        mm.correct_counts(data, "sex", columns=name, misclassification={"sex": P})


def towns():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"lad": rng.choice(list("abcd"), 400), "sex": rng.choice(list("fmx"), 400)}
    )
    return mm.read(frame, keys=["lad", "sex"], fraction=0.1)


def test_a_table_that_depends_on_a_swapped_key_is_refused():
    stay = mm.by("sex", {"f": 0.8}, otherwise=0.9)
    release = mm.protect(towns(), [mm.Swap("sex", 0.2), mm.Pram("lad", stay)], rng=1)
    with pytest.raises(
        mm.MaskmeterError, match="depends on 'sex', which was changed by 'swap sex'"
    ):
        mm.correct_counts(release, "lad")
    apart = mm.protect(towns(), [mm.Swap("sex", 0.2), mm.Pram("lad", 0.8)], rng=1)
    assert mm.correct_counts(apart, "lad").estimate.sum() == pytest.approx(400)


def test_recoded_keys_are_corrected_by_their_groups():
    steps = [mm.Recode("lad", groups={"ab": ["a", "b"]}), mm.Pram("lad", 0.8)]
    release = mm.protect(towns(), steps, rng=1)
    (P,) = release.mechanism.factors[0].P
    found = mm.correct_counts(release, "lad")

    assert found.estimate == pytest.approx(found.released @ np.linalg.inv(P))
    assert len(found.released) == 3


def test_after_a_subsample_the_counts_are_those_of_the_released_records():
    release = mm.protect(towns(), [mm.Pram("lad", 0.8), mm.Subsample(0.5)], rng=1)
    found = mm.correct_counts(release, "lad")

    assert found.estimate.sum() == pytest.approx(len(release.released))
    assert "of lad among the released records" in found.summary()
