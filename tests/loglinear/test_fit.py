"""Fits against a dense Newton solve, closed forms, margins and published figures."""

from __future__ import annotations

import json
from itertools import chain, combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import maskmeter as mm
from conftest import FALSE_ALARM
from maskmeter import errors
from maskmeter.loglinear import fit
from maskmeter.loglinear.components import junction_tree
from maskmeter.loglinear.expectations import chance_of_uniqueness, expected_inverse
from maskmeter.loglinear.model import fitted_model
from maskmeter.loglinear.terms import generating_class, parse_terms

SPACE = mm.KeySpace(mm.Key(f"key{c}", range(size)) for c, size in enumerate((2, 3, 2, 2)))
CELLS = SPACE.codes(np.arange(SPACE.size)).astype(int)
PAIRS = list(combinations(range(4), 2))
TRIPLES = list(combinations(range(4), 3))

models = st.lists(st.sampled_from(PAIRS + TRIPLES), max_size=5).map(
    lambda terms: generating_class([*terms, (0,), (1,), (2,), (3,)])
)


def full_sample(seed, *, least=1):
    """A file in which every cell has some records, so that no margin is empty."""
    counts = np.random.default_rng(seed).integers(least, 12, SPACE.size)
    return mm.Microdata(SPACE, np.repeat(CELLS, counts, axis=0), fraction=0.1), counts


def words(generators):
    return [":".join(f"key{key}" for key in term) for term in generators]


def design(generators):
    """Dummy variables of every term and its parts, by hand."""
    parts = {
        p
        for t in generators
        for p in chain.from_iterable(combinations(t, r) for r in range(len(t) + 1))
    }
    columns = [
        np.prod([CELLS[:, key] == level for key, level in zip(part, levels, strict=True)], axis=0)
        * np.ones(len(CELLS))
        for part in sorted(parts, key=lambda p: (len(p), p))
        for levels in product(*(range(1, SPACE.sizes[key]) for key in part))
    ]
    return np.array(columns).T


def newton(counts, X):
    """Maximise the Poisson likelihood with an explicit design matrix."""
    beta = np.zeros(X.shape[1])
    beta[0] = np.log(counts.mean())
    for _ in range(60):
        mu = np.exp(X @ beta)
        beta += np.linalg.solve(X.T @ (mu[:, None] * X), X.T @ (counts - mu))
    return np.exp(X @ beta)


@settings(max_examples=60)
@given(models, st.integers(0, 1000))
def test_fits_agree_with_a_dense_newton_solve(generators, seed):
    sample, counts = full_sample(seed)
    X = design(generators)
    model = mm.fit_loglinear(sample, words(generators), tolerance=1e-13)
    wanted = newton(counts, X)

    assert model.means.at(CELLS) == pytest.approx(wanted, rel=1e-8)
    assert model.parameters == X.shape[1]
    deviance = 2 * (counts * np.log(counts / wanted)).sum()
    assert model.deviance == pytest.approx(deviance, rel=1e-8, abs=1e-8)


@settings(max_examples=60)
@given(models, st.integers(0, 1000))
def test_fitted_margins_are_the_observed_ones(generators, seed):
    sample, _ = full_sample(seed, least=0)
    model = mm.fit_loglinear(sample, words(generators), tolerance=1e-12)

    for term in generators:
        found, wanted = model.means.margin(term), model.observed.margin(term)
        assert found == pytest.approx(wanted, abs=1e-3 * len(sample))
        if model.deviation < 1e-10:
            assert found == pytest.approx(wanted, abs=1e-6)


@settings(max_examples=60)
@given(models, st.integers(0, 1000))
def test_fitting_by_component_equals_fitting_one_large_table(generators, seed):
    sample, _ = full_sample(seed)
    observed = mm.fit_loglinear(sample, "independence").observed
    parts = fit.fit_means(observed, generators, tolerance=1e-13)
    whole = fit._fit_component(
        observed, (0, 1, 2, 3), generators, None, tolerance=1e-13, most_sweeps=fit.MOST_SWEEPS
    ).table

    assert parts.at(CELLS) == pytest.approx(whole.ravel(), rel=1e-9)
    for term in [(0, 3), (1, 2), (0, 1, 3)]:
        others = tuple(axis for axis in range(4) if axis not in term)
        assert parts.margin(term) == pytest.approx(whole.sum(axis=others), rel=1e-9)


@given(models)
def test_junction_trees_cover_every_term_and_meet_in_terms(generators):
    tree = junction_tree(generators, 4)

    for term in generators:
        assert any(set(term) <= set(component) for component in tree.components)
    for separator, parent in zip(tree.separators[1:], tree.parents[1:], strict=True):
        assert any(set(separator) <= set(term) for term in generators)
        assert set(separator) <= set(tree.components[parent])
    for key in range(4):  # components with a key hang together
        holders = [i for i, component in enumerate(tree.components) if key in component]
        assert sum(key in tree.separators[i] for i in holders) == len(holders) - 1


def test_a_four_cycle_is_one_component_and_a_chord_makes_it_two():
    cycle = ((0, 1), (0, 3), (1, 2), (2, 3))

    assert junction_tree(cycle, 4).components == ((0, 1, 2, 3),)
    assert junction_tree((*cycle, (0, 2)), 4).components == ((0, 1, 2), (0, 2, 3))


def test_decomposable_models_need_no_sweep():
    sample, _ = full_sample(1)

    assert mm.fit_loglinear(sample, ["key0:key1", "key1:key2"]).sweeps == 0
    assert mm.fit_loglinear(sample, "all-two-way").sweeps > 0
    assert mm.fit_loglinear(sample, "all-two-way").converged


def test_a_good_start_saves_sweeps():
    sample, _ = full_sample(1)
    observed = mm.fit_loglinear(sample, "independence").observed
    smaller = fit.fit_means(observed, ((0, 1), (0, 2), (1, 2), (3,)), tolerance=1e-10)
    target = ((0, 1), (0, 2), (1, 2), (2, 3))
    cold = fit.fit_means(observed, target, tolerance=1e-10)
    warm = fit.fit_means(observed, target, start=smaller, tolerance=1e-10)

    assert warm.sweeps < cold.sweeps
    assert warm.at(CELLS) == pytest.approx(cold.at(CELLS), rel=1e-6)


def test_empty_margins_leave_cells_empty():
    codes = CELLS[(CELLS[:, 0] == 0) | (CELLS[:, 1] == 0)]
    model = mm.fit_loglinear(mm.Microdata(SPACE, codes, fraction=0.1), "all-two-way")

    assert np.all(model.means.at(CELLS[(CELLS[:, 0] == 1) & (CELLS[:, 1] > 0)]) == 0)
    assert (model.means.dense() == 0).mean() == pytest.approx(1 / 3)


def test_terms_are_parsed_from_text():
    assert parse_terms("independence", SPACE) == ((0,), (1,), (2,), (3,))
    assert parse_terms("all-two-way", SPACE) == tuple(PAIRS)
    assert parse_terms("all-three-way", SPACE) == tuple(TRIPLES)
    assert parse_terms(["key2:key0:key1", "key0:key1"], SPACE) == ((0, 1, 2), (3,))
    sample, _ = full_sample(1)
    assert mm.fit_loglinear(sample, ["key0:key1"]).terms == ("key0:key1", "key2", "key3")
    assert repr(mm.fit_loglinear(sample, [])).startswith(
        "LogLinear(key0, key1, key2, key3: 6 param"
    )


def test_key_names_may_contain_colons():
    space = mm.KeySpace([mm.Key("age:group", [1, 2]), mm.Key("sex", "fm"), mm.Key("age", [1, 2])])

    assert parse_terms(["age:group:sex"], space) == ((0, 1), (2,))
    assert parse_terms(["age:sex", "sex:age:group"], space) == ((0, 1), (1, 2))


def test_a_model_has_a_frame_and_a_summary():
    sample, _ = full_sample(1)
    model = mm.fit_loglinear(sample, ["key0:key1"])

    assert model.to_frame().rows() == [
        ("key0", 1), ("key1", 2), ("key2", 1), ("key3", 1), ("key0:key1", 2),
    ]  # fmt: skip
    assert model.summary().startswith("Log-linear model key0:key1, key2, key3: 8 parameters")


def test_models_may_have_more_keys_than_einsum_has_letters():
    space = mm.KeySpace(mm.Key(f"key{c}", range(2)) for c in range(60))
    codes = np.random.default_rng(1).integers(0, 2, (90, 60))
    model = mm.fit_loglinear(mm.Microdata(space, codes, fraction=0.1), ["key0:key1", "key1:key59"])

    assert model.means.margin((0, 59)).sum() == pytest.approx(90)


def test_a_release_is_fitted_to_the_file_asked_for():
    sample, _ = full_sample(3)
    release = mm.Pram("key1", 0.5).apply(sample, rng=1)
    original = mm.fit_loglinear(release, "all-two-way")
    released = mm.fit_loglinear(release, "all-two-way", counts="released")

    assert original.deviance == mm.fit_loglinear(sample, "all-two-way").deviance
    assert released.deviance == mm.fit_loglinear(release.released, "all-two-way").deviance
    assert released.data is release.released


@pytest.mark.parametrize("generators", [((0, 1), (1, 2), (2, 3)), ((0, 1), (0, 2), (1, 2), (3,))])
def test_cells_drawn_from_a_model_follow_its_means(generators, seed):
    """Chi-squared of 100,000 draws; a model without the term key0:key1 is rejected."""
    sample, _ = full_sample(5, least=0)
    model = mm.fit_loglinear(sample, words(generators), tolerance=1e-12)
    cell = SPACE.number(model.means.draw(100_000, seed=seed))
    drawn = np.bincount(cell, minlength=SPACE.size)
    wanted = model.means.at(CELLS)
    other = mm.fit_loglinear(sample, words(generators[1:])).means.at(CELLS)

    assert not drawn[wanted == 0].any()
    p = [
        chisquare(drawn[one > 0], one[one > 0] / one.sum() * drawn[one > 0].sum()).pvalue
        for one in (wanted, other)
    ]
    assert p[0] > FALSE_ALARM > p[1]


def test_models_that_share_a_component_draw_it_alike():
    sample, _ = full_sample(5)
    one = mm.fit_loglinear(sample, ["key0:key1"]).means.draw(1000, seed=3)
    other = mm.fit_loglinear(sample, ["key0:key1", "key2:key3"]).means.draw(1000, seed=3)

    assert np.array_equal(one[:, :2], other[:, :2])
    assert not np.array_equal(one[:, 3], other[:, 3])


def test_a_weighted_file_may_state_its_inclusion_probabilities():
    sample, counts = full_sample(2)
    weights = np.where(sample.codes[:, 0] == 0, 5.0, 20.0)
    by_stratum = mm.by("key0", {0: 0.2, 1: 0.05})
    both = mm.Microdata(SPACE, sample.codes, fraction=by_stratum, weights=weights)
    model = mm.fit_loglinear(both, ["key0:key1:key2:key3"])

    assert both.inclusion(CELLS) == pytest.approx(np.where(CELLS[:, 0] == 0, 0.2, 0.05))
    assert model.population_mean(CELLS) == pytest.approx(counts / both.inclusion(CELLS))


def test_an_overfitted_model_warns():
    sample = mm.Microdata(SPACE, [[0, 0, 0, 0], [1, 1, 1, 1], [1, 2, 0, 1]], fraction=0.1)
    with pytest.warns(errors.ParametersWarning, match=r"\d+ parameters for 3 occupied cells"):
        mm.fit_loglinear(sample, "all-three-way")


def test_a_fit_that_does_not_converge_warns(monkeypatch):
    sample, _ = full_sample(1)
    monkeypatch.setitem(fitted_model.__kwdefaults__, "most_sweeps", 2)
    with pytest.warns(errors.ConvergenceWarning, match="did not converge in 2 sweeps"):
        model = mm.fit_loglinear(sample, "all-two-way", tolerance=1e-13)
    assert not model.converged


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (["key0:kez1"], "Did you mean 'key1'"),
        (["key0:key0"], "names a key twice"),
        ([3], "Give terms as text such as"),
        (None, "Give terms as text such as"),
    ],
)
def test_invalid_terms_are_rejected(terms, message):
    sample, _ = full_sample(1)
    with pytest.raises(mm.MaskmeterError, match=message):
        mm.fit_loglinear(sample, terms)


def test_a_component_too_large_for_memory_is_rejected_before_it_is_allocated():
    space = mm.KeySpace(mm.Key(f"key{c}", range(100)) for c in range(5))
    sample = mm.Microdata(space, np.zeros((2, 5), dtype=int), fraction=0.1)

    with pytest.raises(mm.MaskmeterError, match="a table of 10,000,000,000 cells"):
        mm.fit_loglinear(sample, "all-two-way")


REFERENCE = Path(__file__).parents[3] / "shared" / "reference"
PUBLISHED = json.loads((Path(__file__).parent / "sdcnway.json").read_text(encoding="utf-8"))


@pytest.mark.skipif(
    not (REFERENCE / "sdcnway_example.csv").exists(), reason="the example file is not ours to ship"
)
@pytest.mark.parametrize(
    ("terms", "name", "digits"),
    [("independence", "main_effects", 1e-9), ("all-two-way", "all_2way", 1e-5)],
)
def test_published_figures_of_a_weighted_table_are_reproduced(terms, name, digits):
    sample = mm.read(
        REFERENCE / "sdcnway_example.csv", keys=PUBLISHED["keys"], weights=PUBLISHED["weight"]
    )
    model = mm.fit_loglinear(sample, terms, weighting="pseudo", tolerance=1e-12)
    cells = mm.KeyTable.of(sample.space, sample.codes).uniques().codes
    lam, pi = model.population_mean(cells), sample.inclusion(cells)
    good = model.goodness
    found = {
        "tau1": chance_of_uniqueness(lam, pi=pi).sum(),
        "tau2": expected_inverse(lam, pi=pi).sum(),
        "B1_over_sqrt_V": good.z1,
        "B2_over_sqrt_V": good.z2,
        "B1_over_sqrt_Vr": good.z1_robust,
        "B2_over_sqrt_Vr": good.z2_robust,
    }

    assert sample.space.size == PUBLISHED["K"]
    assert len(cells) == PUBLISHED["SU"]
    assert found == pytest.approx(PUBLISHED[name], rel=digits)
