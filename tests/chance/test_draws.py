"""Draws follow their matrix: a right one is accepted, a neighbouring one is rejected.

Each test has a false-alarm rate of FALSE_ALARM, and its power half misses about as rarely.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chisquare

import maskmeter as mm
from conftest import FALSE_ALARM

SPACE = mm.KeySpace([mm.Key("lad", range(4)), mm.Key("sex", "fm")])
P = np.array([[0.7, 0.1, 0.1, 0.1], [0.0, 0.9, 0.05, 0.05], [0.25] * 4, [0.0, 0.0, 0.5, 0.5]])
ERRORS = mm.Misclassification({"lad": mm.by("sex", {"f": P}, otherwise=P[::-1, ::-1])})
RECORDS = 200_000


def agrees(counts, probabilities):
    """Say whether counts could have come from these probabilities."""
    possible = probabilities > 0
    if counts[~possible].any():
        return False
    test = chisquare(counts[possible], counts.sum() * probabilities[possible])
    return bool(test.pvalue > FALSE_ALARM)


def test_draws_follow_the_matrix_of_their_stratum_and_not_one_off_by_a_tenth(seed):
    for sex, matrix in enumerate((P, P[::-1, ::-1])):
        for true in range(4):
            codes = np.broadcast_to([true, sex], (RECORDS, 2))
            drawn = ERRORS.on(SPACE).draw(codes, rng=seed)
            counts = np.bincount(drawn[:, 0], minlength=4)
            off = 0.9 * matrix[true] + 0.1 * np.eye(4)[true]

            assert agrees(counts, matrix[true])
            assert not agrees(counts, off)


def test_keys_are_drawn_independently_of_each_other(seed):
    errors = mm.Misclassification({"lad": np.full((4, 4), 0.25), "sex": [[0.5, 0.5]] * 2})
    drawn = errors.on(SPACE).draw(np.zeros((RECORDS, 2), dtype=int), rng=seed)
    counts = np.bincount(SPACE.number(drawn), minlength=8)
    tied = np.where(np.arange(8) % 3 == 0, 0.11, 0.134)

    assert agrees(counts, np.full(8, 1 / 8))
    assert not agrees(counts, tied / tied.sum())


def test_streams_with_different_names_or_seeds_are_independent(seed):
    mechanism = mm.Misclassification({"lad": np.full((4, 4), 0.25)}).on(SPACE)
    codes = np.zeros((RECORDS, 2), dtype=int)
    first = mechanism.draw(codes, rng=seed)[:, 0]
    others = [
        mechanism.draw(codes, rng=seed, label="other")[:, 0],
        mechanism.draw(codes, rng=seed + 1)[:, 0],
        mechanism.draw(codes, rng=seed, start=1)[:, 0],
    ]

    for other in others:
        assert agrees(np.bincount(first * 4 + other, minlength=16), np.full(16, 1 / 16))
    assert not agrees(np.bincount(first * 4 + first, minlength=16), np.full(16, 1 / 16))
