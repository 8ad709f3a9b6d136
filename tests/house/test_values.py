"""Small frozen values: equality, hashing, randomness."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

import maskmeter as mm
from maskmeter.mechanism import as_matrix
from maskmeter.streams import seed_of


def test_varying_values_are_equal_if_their_contents_are():
    rate = mm.by("sex", {"f": 0.1, "m": 0.2})

    assert rate == mm.by("sex", {"m": 0.2, "f": 0.1})
    assert hash(rate) == hash(mm.by("sex", {"m": 0.2, "f": 0.1}))
    assert rate != mm.by("sex", {"f": 0.1}, otherwise=0.2)
    assert rate != mm.by("age", {"f": 0.1, "m": 0.2})
    assert rate != 0.1
    assert repr(rate) == "by('sex', 2 values)"


def test_matrices_are_compared_by_value_and_cannot_be_hashed():
    def varying(stay):
        return mm.by("sex", {"f": mm.stay_or_move(2, stay=stay)}, otherwise=np.eye(2))

    assert varying(0.9) == varying(0.9)
    assert varying(0.9) != varying(0.8)
    with pytest.raises(TypeError, match="unhashable"):
        hash(varying(0.9))
    assert as_matrix(np.eye(2), name="a") == as_matrix(np.eye(2), name="b")
    assert as_matrix(np.eye(2), name="a") != "a matrix"


def test_declared_misclassifications_are_compared_by_value():
    first, second = (mm.Misclassification({"sex": np.eye(2)}) for _ in range(2))

    assert first == second
    assert first != mm.Misclassification({"age": np.eye(2)})


def test_keys_are_compared_by_value():
    assert mm.Key("k", [1, 2]) == mm.Key("k", [1.0, 2.0])
    assert mm.Key("k", [1, 2]) != mm.Key("k", ["1", "2"])
    assert hash(mm.KeySpace([mm.Key("k", [1, 2])])) == hash(mm.KeySpace([mm.Key("k", (1, 2))]))


def test_a_key_with_a_repeated_category_is_rejected():
    with pytest.raises(mm.MaskmeterError, match="not distinct"):
        mm.Key("k", [1, 1.0, 2])


@pytest.mark.parametrize("source", [np.random.default_rng, np.random.SeedSequence])
def test_generators_and_seed_sequences_give_a_seed(source):
    assert seed_of(source(5)) == seed_of(source(5))
    assert seed_of(source(5)) != seed_of(source(6))


def test_a_generator_and_none_give_a_new_seed_each_time():
    generator = np.random.default_rng(5)

    assert seed_of(generator) != seed_of(generator)
    assert seed_of(None) != seed_of(None)


def test_all_128_bits_of_a_system_seed_vary():
    drawn = [seed_of(None) for _ in range(200)]
    ever, always = reduce(int.__or__, drawn), reduce(int.__and__, drawn)

    assert ever == 2**128 - 1  # a false alarm has probability 2^-192
    assert always == 0


def test_rows_are_normalised_within_the_tolerance():
    thirds = as_matrix([[0.3333333333, 0.6666666667], [1, 0]], name="k").P

    assert thirds.sum(axis=1).tolist() == [1, 1]
