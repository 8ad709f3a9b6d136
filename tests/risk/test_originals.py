"""True margins behind a released table, as the inverse of the matrices gives them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import maskmeter as mm
from maskmeter.loglinear.observed import Counted
from maskmeter.risk.originals import TrueMargins

SPACE = mm.KeySpace([mm.Key("a", range(4)), mm.Key("b", range(3)), mm.Key("c", range(2))])
CELLS = SPACE.codes(np.arange(SPACE.size))
TRUE = np.random.default_rng(1).uniform(20, 90, SPACE.size)
TERMS = [keys for order in (1, 2, 3) for keys in combinations(range(3), order)]
ROUNDED = 1e-9


def margins(errors, released):
    """The true margins behind released units; matrices are averaged over one record for each cell."""
    mechanism = mm.Misclassification(errors).on(SPACE)
    return TrueMargins(Counted(SPACE, CELLS, released), mechanism, mm.Microdata(SPACE, CELLS))


def released_from(errors):
    """Units to expect in each released cell."""
    mechanism = mm.Misclassification(errors).on(SPACE)
    chance = np.array(
        [mechanism.prob(true=np.tile(one, (len(CELLS), 1)), released=CELLS) for one in CELLS]
    )
    return TRUE @ chance


def true_margin(keys):
    others = tuple(k for k in range(3) if k not in keys)
    return TRUE.reshape(SPACE.sizes).sum(axis=others)


@pytest.mark.parametrize(
    "errors",
    [
        {"a": mm.stay_or_move(4, stay=0.8)},
        {"a": mm.stay_or_move(4, stay=0.6), "b": mm.stay_or_move(3, stay=0.9)},
        {("a", "c"): mm.stay_or_move(8, stay=0.7)},
    ],
    ids=["one key", "two keys", "crossed keys"],
)
def test_expected_releases_are_undone_exactly(errors):
    """The noise of each margin is at least that of counts, and grows with the keys that are wrong."""
    found = margins(errors, released_from(errors))

    for keys in TERMS:
        assert found.margin(keys) == pytest.approx(true_margin(keys), rel=ROUNDED)
        assert found.unit(keys) >= 1
    assert found.total == pytest.approx(TRUE.sum())
    assert found.unit((0, 1, 2)) >= found.unit((0,)) - ROUNDED > 1


def test_a_matrix_that_differs_by_another_key_is_undone_where_that_key_is_in_the_margin():
    by_c = mm.by("c", {0: mm.stay_or_move(4, stay=0.9), 1: mm.stay_or_move(4, stay=0.5)})
    found = margins({"a": by_c}, released_from({"a": by_c}))

    for keys in ((0, 2), (0, 1, 2), (1, 2), (1,)):
        assert found.margin(keys) == pytest.approx(true_margin(keys), rel=ROUNDED)
    # Elsewhere it is averaged over the records, which is near if these are spread alike.
    assert found.margin((0,)) == pytest.approx(true_margin((0,)), rel=0.2)


def test_margins_that_nothing_touched_stay_as_they_are():
    found = margins({"a": mm.stay_or_move(4, stay=0.8)}, TRUE)

    for keys in ((1,), (2,), (1, 2)):
        assert found.margin(keys) == pytest.approx(true_margin(keys), rel=1e-14)
        assert found.unit(keys) == 1


def test_what_a_matrix_hides_is_left_out_and_nothing_is_negative():
    """Released units say nothing of the key: its categories come out alike."""
    hidden = {"a": np.full((4, 4), 0.25)}
    found = margins(hidden, released_from(hidden))

    assert found.margin((0,)) == pytest.approx(np.full(4, TRUE.sum() / 4))
    noisy = np.random.default_rng(2).poisson(
        released_from({"b": mm.stay_or_move(3, stay=0.4)}) / 20
    )
    assert (margins({"b": mm.stay_or_move(3, stay=0.4)}, noisy * 1.0).margin((0, 1, 2)) >= 0).all()
