"""The risk without one key, from the model of all keys: beside models that are fitted anew."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskmeter as mm
from maskmeter.evidence.figures import figures
from maskmeter.loglinear import fit
from maskmeter.loglinear.marginal import MarginalMeans, MarginalModel
from maskmeter.loglinear.observed import Observed
from maskmeter.loglinear.terms import generating_class
from maskmeter.risk import left_out, models
from maskmeter.risk.by_keys import SUMMED
from maskmeter.risk.view import View

SIZES = (2, 5, 3, 8, 4, 2, 5, 3)
CLOSE = 0.02


@pytest.fixture(scope="module")
def sample():
    """A sample whose keys depend on each other through four kinds of people."""
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 4, 3000)
    chances = [rng.dirichlet(np.ones(size), 4).cumsum(axis=1) for size in SIZES]
    drawn = [(rng.random((len(kind), 1)) > chance[kind, :-1]).sum(axis=1) for chance in chances]
    space = mm.KeySpace(mm.Key(f"key{c}", range(size)) for c, size in enumerate(SIZES))
    return mm.Microdata(space, np.stack(drawn, axis=1), fraction=0.1)


@pytest.fixture
def many(monkeypatch):
    """Few cells count as too many to be fitted again and again."""
    monkeypatch.setattr(left_out, "MOST_FITTED", 0)


def drop_one(data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.MaskmeterWarning)
        return mm.risk_by_keys(data, subsets="drop-one", **options)


MODELS = st.lists(
    st.sampled_from([*combinations(range(8), 2), *combinations(range(8), 3)]), max_size=8
).map(lambda terms: generating_class([*terms, *((key,) for key in range(8))]))


@given(MODELS, st.integers(0, 7))
@settings(max_examples=15)
def test_means_summed_over_a_key_are_the_sums_of_all_cells(sample, generators, key):
    means = fit.fit_means(Observed.of(sample), generators, tolerance=1e-10)
    names = [name for c, name in enumerate(sample.space.names) if c != key]
    less = MarginalMeans(sample.space.project(names), means, key)
    dense = means.dense().sum(axis=key)

    assert less.dense() == pytest.approx(dense, rel=1e-9, abs=1e-12)
    assert less.total == pytest.approx(dense.sum())
    assert less.margin((1, 3)) == pytest.approx(dense.sum(axis=(0, 2, 4, 5, 6)), rel=1e-6, abs=1e-6)
    codes, fitted = less.drawn(50, seed=1)
    assert (codes == less.draw(50, seed=1)).all()
    assert fitted == pytest.approx(dense[tuple(codes.T)], rel=1e-9)


def test_a_block_of_cells_at_a_time_gives_the_same_sums(sample, monkeypatch):
    model = mm.fit_loglinear(sample, ["key0:key1", "key1:key2", "key3:key4"])
    less = MarginalModel.of(model, sample.project(sample.space.names[1:]), model.observed)
    codes = model.observed.codes[:, 1:]
    whole = less.means.at(codes)
    monkeypatch.setattr("maskmeter.loglinear.marginal._AT_ONCE", 100)

    assert (less.means.at(codes) == whole).all()
    assert less.terms == model.terms


@pytest.mark.parametrize(
    ("model", "intruder"), [("shrunk", "informed"), ("score-path", "exact-match")]
)
def test_summed_models_agree_with_models_fitted_anew(sample, monkeypatch, model, intruder):
    release = mm.Swap("key3", rate=0.2).apply(sample, rng=1)
    anew = drop_one(release, model=model, intruder=intruder)
    monkeypatch.setattr(left_out, "MOST_FITTED", 0)
    found = drop_one(release, model=model, intruder=intruder)
    risk, fitted = (np.array([one.risk for one in curve.subsets]) for curve in (found, anew))
    bare, before = (
        np.array([one.without_error for one in curve.subsets]) for curve in (found, anew)
    )

    assert [one.keys for one in found.subsets] == [one.keys for one in anew.subsets]
    assert [one.uniques for one in found.subsets] == [one.uniques for one in anew.subsets]
    assert risk[0] == fitted[0]
    assert risk == pytest.approx(fitted, rel=CLOSE)
    assert bare == pytest.approx(before, rel=CLOSE)
    assert np.argmin(risk[1:]) == np.argmin(fitted[1:])


def test_weighted_files_are_summed_over_in_both_parts(sample, monkeypatch):
    weights = np.where(sample.codes[:, 0] == 0, 10.0, 30.0)
    weighted = mm.Microdata(sample.space, sample.codes, weights=weights)
    anew = drop_one(weighted)
    monkeypatch.setattr(left_out, "MOST_FITTED", 0)
    found = drop_one(weighted)

    for one, other in zip(found.subsets, anew.subsets, strict=True):
        assert one.risk == pytest.approx(other.risk, rel=CLOSE)


@pytest.mark.usefixtures("many")
def test_one_model_serves_all_keys_and_the_result_says_so(sample, monkeypatch):
    made, making = [], models.make_model
    monkeypatch.setattr(models, "make_model", lambda *a: made.append(a) or making(*a))
    curve = drop_one(sample)

    assert len(made) == 1
    assert [one.summed for one in curve.subsets] == [False] + [True] * len(SIZES)
    assert SUMMED in curve.summary()
    assert curve.to_frame()["summed"].sum() == len(SIZES)


def test_models_of_few_cells_are_fitted_anew(sample):
    curve = drop_one(sample, known=["key0", "key1", "key2"])

    assert not any(one.summed for one in curve.subsets)
    assert SUMMED not in curve.summary()


@pytest.mark.usefixtures("many")
def test_other_sets_known_counts_and_recording_errors_are_not_summed(sample):
    noise = {"key3": mm.stay_or_move(8, stay=0.9)}
    few = sample.project(["key0", "key1", "key3"])
    known = mm.KeyTable.of(few.space, np.repeat(few.codes, 20, axis=0))
    curves = [
        mm.risk_by_keys(few),
        drop_one(few, population=known),
        drop_one(few, misclassification=noise),
    ]

    assert not any(one.summed for curve in curves for one in curve.subsets)


@pytest.mark.usefixtures("many")
def test_true_counts_are_not_traced_back_with_a_summed_model(sample):
    view = View.of(sample, errors={"key3": mm.stay_or_move(8, stay=0.9)})
    whole = mm.fit_loglinear(sample, "independence")
    less = view.without("key0")
    model = MarginalModel.of(whole, less.sight.released, less.cells.table)

    with pytest.raises(TypeError, match="a model that was fitted"):
        less.cells.risk(model, 0.0, "exact-match")


@pytest.mark.usefixtures("many")
def test_more_keys_are_left_out_in_turn_where_none_is_fitted_anew(sample, monkeypatch):
    monkeypatch.setattr("maskmeter.evidence.scenario.MOST_FITTED", 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.MaskmeterWarning)
        found = mm.assess(sample)
        monkeypatch.setattr(left_out, "MOST_FITTED", 10**9)
        none = mm.assess(sample)

    assert len(found.worst.left_out) == len(SIZES)
    assert figures(found).worst.summed
    assert none.worst.left_out == []
    assert none.worst.many
