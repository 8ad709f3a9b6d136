"""Misclassification learnt from records whose true values were found out."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import maskmeter as mm
from conftest import FALSE_ALARM
from maskmeter.mechanism.validation import smoothed

SPACE = mm.KeySpace([mm.Key("age", ["young", "middle", "old"])])
P = np.array([[0.9, 0.08, 0.02], [0.05, 0.9, 0.05], [0.0, 0.2, 0.8]])


def checked(records, seed):
    rng = np.random.default_rng(seed)
    true = rng.choice(3, records, p=[0.5, 0.3, 0.2])
    said = mm.Misclassification({"age": P}).on(SPACE).draw(true[:, None], rng=seed)[:, 0]
    names = np.array(SPACE.keys[0].categories)
    return pl.DataFrame({"true": names[true], "said": names[said]})


def test_a_large_study_gives_the_matrix_back(seed):
    """Every probability within its standard errors; a matrix off by 0.02 is not."""
    study = mm.validation_study(checked(200_000, seed), {"age": ("true", "said")}, keys=SPACE)
    (found,) = study.studied
    z = np.abs(found.P - P) / np.maximum(found.errors, 1e-6)
    bound = norm.isf(FALSE_ALARM / 18)

    assert z[P > 0].max() < bound
    assert (np.abs(found.P - (P + 0.02)) / np.maximum(found.errors, 1e-6)).min() > bound
    assert found.stay == pytest.approx((np.diag(P) * [0.5, 0.3, 0.2]).sum(), abs=0.01)


def test_smoothing_borrows_from_all_categories():
    counts = np.array([[90, 10, 0], [5, 45, 0], [0, 0, 0]])
    found, errors = smoothed(counts, 2.0)

    assert found.sum(axis=1) == pytest.approx(np.ones(3))
    assert found[2, 2] == pytest.approx(135 / 150)  # nothing but what all do
    assert found[0, 2] > 0
    assert errors[2, 2] > errors[0, 0]
    raw, _ = smoothed(counts[:2, :2], 0.0)
    assert raw.tolist() == [[0.9, 0.1], [0.1, 0.9]]


def test_a_study_goes_wherever_errors_are_asked_for():
    frame = checked(5000, 1)
    sample = mm.read(frame.rename({"true": "age"}), keys=SPACE, fraction=0.1)
    study = mm.validation_study(frame, {"age": ("true", "said")}, keys=sample)

    assert study.misclassification.on(sample).factors[0].P[0] == pytest.approx(study.studied[0].P)
    assert study.to_frame().shape == (9, 6)
    assert "were recorded correctly" in study.summary()
    assert repr(study).startswith("ValidationStudy(age 8")
    assert "young" not in study.summary() + repr(study)
    population = mm.count(frame.rename({"true": "age"}), keys=SPACE)
    assert mm.exact_risk(sample, population, misclassification=study.misclassification).total >= 0


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"age": ("true", "sad")}, {}, "Did you mean 'said'"),
        ({"ag": ("true", "said")}, {}, "Did you mean 'age'"),
        ({"age": "true"}, {}, "for each key its true and its recorded"),
        ({"age": ("true", "said")}, {"smoothing": -1}, "`smoothing` must be"),
    ],
)
def test_invalid_studies_are_rejected(columns, options, message):
    with pytest.raises(mm.MaskmeterError, match=message):
        mm.validation_study(checked(50, 1), columns, keys=SPACE, **options)


def test_categories_without_records_need_smoothing():
    frame = pl.DataFrame({"true": ["young"], "said": ["young"]})
    with pytest.raises(mm.MaskmeterError, match="2 of 3 categories have no record"):
        mm.validation_study(frame, {"age": ("true", "said")}, keys=SPACE, smoothing=0)
    with pytest.raises(mm.MaskmeterError, match="no records"):
        smoothed(np.zeros((2, 2), dtype=int), 1.0)
