"""Laws of random streams: the word of a record depends on its number and on nothing else."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskmeter.data.ids import check_ids, id_numbers
from maskmeter.errors import InputError
from maskmeter.streams import philox_words, uniforms, uniforms_of

NUMBERS = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**128 - 1), NUMBERS)
def test_a_scattered_word_is_that_of_numpys_own_stream(key, numbers):
    expected = [
        np.random.Philox(key=key).advance(n // 4).random_raw(n % 4 + 1)[n % 4] for n in numbers
    ]

    assert philox_words(key, np.array(numbers, dtype=np.uint64)).tolist() == expected


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**64), st.permutations(range(40)))
def test_ids_in_any_order_have_the_uniforms_of_rows_with_their_numbers(seed, order):
    rows = uniforms(seed, "lad", start=0, stop=40)

    assert (uniforms_of(seed, "lad", np.array(order, dtype=np.uint64)) == rows[list(order)]).all()


def test_many_ids_have_the_uniforms_of_rows_with_their_numbers():
    ids = np.random.default_rng(1).permutation(100_000).astype(np.uint64)

    whole = uniforms(7, "lad", start=0, stop=100_000)
    assert (uniforms_of(7, "lad", ids) == whole[ids]).all()


@pytest.mark.parametrize("kind", [pl.Int8, pl.Int32, pl.Int64, pl.UInt16, pl.UInt64, pl.Float64])
def test_a_whole_number_is_its_own_id_whatever_its_type(kind):
    assert id_numbers(pl.Series("id", [7, 0, 120], dtype=kind)).tolist() == [7, 0, 120]


def test_texts_are_hashed_alike_in_any_type_of_text():
    plain = id_numbers(pl.Series("id", ["a", "b", "é"]))

    assert len(set(plain.tolist())) == 3
    assert (id_numbers(pl.Series("id", ["a", "b", "é"], dtype=pl.Categorical)) == plain).all()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.5, 2.0], "numbers that are not whole"),
        ([2.0**60, 1.0], "too large to be exact"),
        ([True, False], "Boolean"),
        ([1, None], "1 of 2 records has no id"),
    ],
)
def test_what_cannot_be_an_id_is_refused(values, words):
    with pytest.raises(InputError, match=words):
        id_numbers(pl.Series("id", values))


def test_a_repeated_id_is_refused_without_showing_it():
    with pytest.raises(InputError, match="1 record of the file repeats") as told:
        check_ids("person", np.array([4321, 7, 4321], dtype=np.uint64))

    assert "4321" not in str(told.value)
