"""What makes many keys fast agrees with the slow way: products, walks along trees, and reuse."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskmeter as mm
from maskmeter.loglinear import ShrunkLogLinear, cell_sums, fit, scaling
from maskmeter.loglinear.component_table import ComponentTable
from maskmeter.loglinear.components import components_with, junction_tree
from maskmeter.loglinear.drawing import DrawnComponent
from maskmeter.loglinear.fitted_margins import fitted_margins
from maskmeter.loglinear.means import DenseMeans
from maskmeter.loglinear.observed import Observed, margin_of
from maskmeter.loglinear.pair_margins import pair_margins
from maskmeter.loglinear.table_sums import summed_to
from maskmeter.loglinear.terms import generating_class


def kinds_of_people(sizes, *, records, seed=1, fraction=0.05):
    """A sample whose keys depend on each other through four kinds of people."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 4, records)
    chances = [rng.dirichlet(np.ones(size), 4).cumsum(axis=1) for size in sizes]
    drawn = [(rng.random((records, 1)) > chance[kind, :-1]).sum(axis=1) for chance in chances]
    space = mm.KeySpace(mm.Key(f"key{c}", range(size)) for c, size in enumerate(sizes))
    return mm.Microdata(space, np.stack(drawn, axis=1), fraction=fraction)


def quietly(action, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.MaskmeterWarning)
        return action(*args, **options)


@st.composite
def tables(draw):
    """Cells of a few keys, with counts or weights."""
    sizes = tuple(draw(st.lists(st.integers(2, 5), min_size=1, max_size=5)))
    cell = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    codes = np.array(draw(st.lists(cell, min_size=1, max_size=30)))
    value = st.integers(0, 10**6) | st.floats(0, 1e6)
    values = draw(st.lists(value, min_size=len(codes), max_size=len(codes)))
    return sizes, codes, np.array(values, dtype=float)


@given(tables())
def test_the_sparse_product_has_the_margins_that_counting_gives(table):
    sizes, codes, values = table
    space = mm.KeySpace(mm.Key(f"key{c}", range(size)) for c, size in enumerate(sizes))
    found = pair_margins(values, codes, sizes)
    terms = [*combinations(range(len(sizes)), 1), *combinations(range(len(sizes)), 2)]

    assert list(found) == terms
    for term in terms:
        counted = margin_of(values, codes, term, space=space)
        assert found[term] == pytest.approx(counted, rel=1e-12)
        if (values == np.round(values)).all():
            assert (found[term] == counted).all()


def test_the_product_of_many_rows_is_the_sum_over_all_of_them():
    sample = kinds_of_people((2, 3, 4), records=10_000)
    found = pair_margins(np.ones(10_000), sample.codes, sample.space.sizes)

    assert (
        found[0, 2] == margin_of(np.ones(10_000), sample.codes, (0, 2), space=sample.space)
    ).all()


MODELS = st.lists(
    st.sampled_from([*combinations(range(7), 2), *combinations(range(7), 3)]), max_size=9
).map(lambda terms: generating_class([*terms, *((key,) for key in range(7))]))


@given(MODELS)
@settings(max_examples=30)
def test_walks_along_the_tree_give_the_margins_of_all_cells(generators):
    sample = kinds_of_people((2, 3, 2, 2, 3, 2, 2), records=400)
    means = fit.fit_means(Observed.of(sample), generators, tolerance=1e-12)
    dense, terms = means.dense(), [*combinations(range(7), 2), *combinations(range(7), 3)]
    found = dict(fitted_margins(means, terms))

    assert sorted(found) == sorted(terms)
    for term, margin in found.items():
        others = tuple(key for key in range(7) if key not in term)
        assert margin == pytest.approx(dense.sum(axis=others), rel=1e-6, abs=1e-6)


@given(MODELS, st.sampled_from(list(combinations(range(7), 2))))
def test_a_new_term_changes_the_components_between_its_keys_only(generators, term):
    larger = generating_class([*generators, term])
    if larger == generators:
        return
    before, after = junction_tree(generators, 7), junction_tree(larger, 7).components
    made = components_with(before, larger, term)

    assert set(after) - set(made) <= set(before.components)
    assert {keys for keys in made if set(term) <= set(keys)} <= set(after)
    assert {keys for keys in after if set(term) <= set(keys)} <= set(made)


SIZES = (2, 5, 3, 4, 2, 3, 5, 2, 3, 2, 2, 3)


@pytest.fixture
def drawn_from(monkeypatch):
    """Sums over all cells are estimated by draws, also in small tables."""
    monkeypatch.setattr(cell_sums, "MOST_CELLS", 0)


@pytest.mark.usefixtures("drawn_from")
def test_a_search_that_uses_components_again_finds_what_one_without_finds(monkeypatch):
    sample = kinds_of_people(SIZES, records=2000)
    made, fitting = [], fit._fit_component
    monkeypatch.setattr(
        fit, "_fit_component", lambda *a, **b: made.append(a[1]) or fitting(*a, **b)
    )
    found = quietly(mm.search_loglinear, sample, most_terms=20)
    few = len(made)
    made.clear()
    monkeypatch.setattr(ComponentTable, "settled", lambda *_: False)
    monkeypatch.setattr(DrawnComponent, "serves", lambda *_: False)
    anew = quietly(mm.search_loglinear, sample, most_terms=20)

    assert [step.added for step in found.path] == [step.added for step in anew.path]
    assert found.tau2 == pytest.approx(anew.tau2, rel=1e-5)
    assert [one.z2 for one in found.path] == pytest.approx([one.z2 for one in anew.path], abs=0.03)
    # Twelve components of one key, then one or two for each term that is added.
    assert few <= len(SIZES) + 2 * len(found.path)
    assert len(made) > 2 * few


def test_draws_that_are_used_again_are_those_that_would_be_made():
    sample = kinds_of_people(SIZES, records=1000)
    observed = Observed.of(sample)
    means, terms = None, [(key,) for key in range(len(SIZES))]
    for term in [(0, 1), (4, 5), (1, 2), (0, 2), (5, 6), (0, 4)]:
        terms.append(term)
        means = fit.fit_means(observed, generating_class(terms), start=means, tolerance=1e-3)
        codes, fitted = means.drawn(500, seed=3)
        assert (codes == means.draw(500, seed=3)).all()
        assert fitted == pytest.approx(means.at(codes), rel=1e-12)
    assert not (means.drawn(500, seed=4)[0] == codes).all()
    assert len(means.drawn(600, seed=4)[0]) == 600


def test_means_of_occupied_cells_are_those_of_their_codes():
    sample = kinds_of_people(SIZES, records=1000)
    model = mm.fit_loglinear(sample, ["key0:key1", "key1:key2", "key0:key2", "key5:key6"])

    assert (model.means.at_counted(model.observed) == model.means.at(model.observed.codes)).all()


@pytest.fixture(scope="module")
def model():
    """A model of a table whose cells can all be summed over."""
    sample = kinds_of_people((2, 5, 3, 4, 2, 3, 5, 2), records=4000)
    return mm.fit_loglinear(sample, ["key0:key1", "key1:key3", "key0:key3", "key5:key6"])


def test_the_goodness_of_components_is_that_of_the_dense_table(model):
    means = DenseMeans(model.data.space, model.means.dense())
    dense = ShrunkLogLinear(model.data, means, model.observed, shrunk=())

    assert vars(model.goodness) == pytest.approx(vars(dense.goodness), rel=1e-9)


def test_the_goodness_by_draws_is_that_of_all_cells_but_for_its_error(model, monkeypatch):
    exact = model.path_goodness
    monkeypatch.setattr("maskmeter.loglinear.model.MOST_ON_PATH", 0)
    drawn = model.path_goodness

    assert exact is model.goodness
    assert (exact.draws, drawn.draws) == (0, cell_sums.DRAWS)
    assert 0 < drawn.error < 0.5
    assert abs(drawn.z2 - exact.z2) < 5 * drawn.error
    assert drawn.b2 == pytest.approx(exact.b2, rel=0.05)
    assert drawn.overdispersion == pytest.approx(exact.overdispersion, rel=0.05)


def test_a_search_by_draws_ends_in_models_that_are_summed_exactly(monkeypatch):
    sample = kinds_of_people(SIZES[:7], records=2000)
    exact = quietly(mm.search_loglinear, sample)
    monkeypatch.setattr("maskmeter.loglinear.model.MOST_ON_PATH", 0)
    found = quietly(mm.search_loglinear, sample)

    assert [step.added for step in found.path] == [step.added for step in exact.path]
    assert found.goodness == exact.goodness
    assert found.tau2 == pytest.approx(exact.tau2, rel=1e-9)
    assert found.path[0].z2 == pytest.approx(exact.path[0].z2, rel=0.02)
    assert found.path[0].z2 != exact.path[0].z2


@given(tables(), st.booleans())
def test_listed_cells_and_whole_tables_are_scaled_alike(table, warm):
    sizes, codes, values = table
    space = mm.KeySpace(mm.Key(f"key{c}", range(size)) for c, size in enumerate(sizes))
    keys = range(len(sizes))
    terms = [*combinations(keys, 2)] or [(0,)]
    margins = [(term, margin_of(np.round(values), codes, term, space=space)) for term in terms]
    first = np.random.default_rng(1).integers(0, 3, sizes).astype(float) if warm else None
    found = []
    for mostly in (-1, 1):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(scaling, "MOSTLY", mostly)
            fitting = scaling.scaling(first, sizes, margins)
        found.append((fitting, [fitting.sweep() for _ in range(3)], fitting.table()))
    (whole, off, one), (listed, other_off, other) = found

    assert type(whole) is not type(listed)
    assert one == pytest.approx(other, rel=1e-9)
    assert off == pytest.approx(other_off, rel=1e-9, abs=1e-6)
    assert listed.of(other) == pytest.approx(listed.means)
    assert whole.of(one) is one


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.data())
def test_sums_to_some_axes_are_those_over_the_others(shape, data):
    table = np.random.default_rng(1).random(shape)
    axes = tuple(sorted(data.draw(st.sets(st.integers(0, len(shape) - 1)))))
    others = tuple(axis for axis in range(len(shape)) if axis not in axes)
    before = table.copy()

    assert summed_to(table, axes) == pytest.approx(table.sum(axis=others), rel=1e-12)
    assert (table == before).all()
