"""Records of two files are paired by ids, by row numbers or by a proved order, or not at all."""

import numpy as np
import polars as pl
import pytest

from maskmeter.errors import InputError
from maskmeter.release_check.alignment import align, align_by_columns, align_by_order
from maskmeter.release_check.value_matching import matched_values
from protections import RECORDS, pram, survey


def codes(one, other):
    found = matched_values(pl.Series(one), pl.Series(other))
    return found.one.tolist(), found.other.tolist()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2, 10], ["1", "2", "10"]),
        (["1", "2", "10"], ["1.0", "2.0", "10.0"]),
        ([1.0, 2.0, 10.0], [1, 2, 10]),
        (["01", "02", "10"], [1, 2, 10]),
        ([True, False, True], ["TRUE", "FALSE", "TRUE"]),
        ([True, False, True], [1, 0, 1]),
        (["1,5", "2", "10"], [1.5, 2.0, 10.0]),
    ],
)
def test_values_are_the_same_whatever_a_format_stores_them_as(one, other):
    first, second = codes(one, other)

    assert first == second


def test_texts_that_a_file_tells_apart_are_not_taken_for_numbers():
    first, second = codes(["1", "01", "2"], ["1", "01", "1"])

    assert first[:2] == second[:2]
    assert first[0] != first[1]


def test_dates_are_the_same_as_texts_and_as_times_at_midnight():
    days = pl.Series(["2001-05-06", "2002-01-01"])
    as_dates = matched_values(days.str.to_date(), days)
    as_times = matched_values(days.str.to_date(), days.str.to_datetime())

    assert np.array_equal(as_dates.one, as_dates.other)
    assert np.array_equal(as_times.one, as_times.other)


@pytest.mark.parametrize("blank", ["", "NA", "NaN"])
def test_a_blank_among_numbers_is_a_missing_value(blank):
    assert codes([1, 2], ["1", blank]) == ([0, 1], [0, -1])
    assert codes(["1", blank], ["1", blank]) == ([0, -1], [0, -1])


def test_a_category_called_na_stays_one_where_both_files_have_it():
    first, second = codes(["NA", "FR"], ["NA", "FR"])

    assert first == second
    assert min(first) == 0


def test_ids_pair_records_in_any_order_and_count_those_in_one_file():
    people = survey()
    part = people.sample(1_500, shuffle=True, seed=2)
    strange = part[:7].with_columns(pid=pl.col("pid") + 1_000_000)
    pairs = align(people, pl.concat([part, strange]), id="pid")

    assert (pairs.missing, pairs.added, len(pairs)) == (RECORDS - 1_500, 7, 1_500)
    assert people["pid"].gather(pairs.original).equals(part["pid"].gather(pairs.released))


def test_ids_are_matched_by_value_across_formats():
    people = survey()
    released = people.with_columns(pl.col("pid").cast(pl.String)).reverse()

    assert align(people, released, id="pid").original.tolist() == list(range(RECORDS))[::-1]


def test_ids_that_repeat_or_are_missing_are_refused_with_counts():
    people = survey()
    twice = people.with_columns(pid=pl.when(pl.int_range(pl.len()) < 3).then(1).otherwise("pid"))
    gone = people.with_columns(pid=pl.when(pl.int_range(pl.len()) < 4).then(None).otherwise("pid"))

    with pytest.raises(InputError, match="released file apart: of 2,000 records, 3 share theirs"):
        align(people, twice, id="pid")
    with pytest.raises(InputError, match="original file apart: of 2,000 records, 4 have none"):
        align(gone, people, id="pid")


def test_ids_that_do_not_match_are_refused_with_counts():
    people = survey()
    renumbered = people.with_columns(pid=pl.col("pid") + 1_999)

    with pytest.raises(InputError, match="1 of 2,000 released records has an id in 'pid'"):
        align(people, renumbered, id="pid")


def test_records_with_combinations_of_their_own_can_be_paired():
    one = pl.DataFrame({"lad": ["a", "a", "b", "b"], "age": [1, 2, 1, 1]})
    other = one.reverse()
    pairs = align_by_columns(one, other, ["lad", "age"], only_unique=True)

    assert dict(zip(pairs.original.tolist(), pairs.released.tolist(), strict=True)) == {0: 3, 1: 2}


def test_the_order_is_proved_by_columns_that_agree():
    people = survey()
    draws = np.random.default_rng(3)
    released = people.with_columns(pram(people["lad"], 0.5, draws)).drop("pid", "income")

    assert align(people, released).way == "by the order of rows"


def test_another_order_is_refused():
    people = survey()

    with pytest.raises(InputError, match=r"6 common columns, 0 agree .* risk_by_record.parquet"):
        align(people, people.sample(fraction=1, shuffle=True, seed=4))


def test_columns_that_agree_because_both_files_are_sorted_prove_nothing():
    """Sorted by district and shuffled within, each row has its district beside another person."""
    people = survey().select("lad", "age").sort("lad")
    shuffled = people.sample(fraction=1, shuffle=True, seed=5).sort("lad")

    with pytest.raises(InputError, match="2 common columns, 1 agrees in at least 90%"):
        align(people, shuffled)


def test_a_file_with_one_large_category_proves_nothing():
    """Nine in ten rows agree by chance."""
    draws = np.random.default_rng(6)
    rare = [pl.DataFrame({"ill": draws.random(RECORDS) < 0.03}) for _ in range(2)]

    with pytest.raises(InputError, match="Nothing proves"):
        align(*rare)


def test_files_of_different_length_need_ids():
    people = survey()

    with pytest.raises(InputError, match=r"2,000 records and the released file 1,990.*--id"):
        align(people, people[10:])


def test_files_without_a_common_column_are_refused():
    people = survey()

    with pytest.raises(InputError, match="no column in common: the original has 6, the"):
        align(people, people.rename(str.upper))


def test_row_numbers_pair_records():
    people = survey()
    order = np.random.default_rng(7).permutation(RECORDS)[:100]
    numbers = pl.DataFrame({"record": np.arange(100), "original_record": order})

    for rows in (numbers, order, order.tolist()):
        pairs = align(people, people[order], rows=rows)
        assert pairs.original.tolist() == order.tolist()
        assert pairs.missing == RECORDS - 100


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [0, 0],
            "does not fit the original file of 2,000 records: 0 of 2 row numbers are not in it, 1",
        ),
        ([0, 2_000], "1 of 2 row numbers is not in it"),
        ([0], "has 1 number, but the released file 2 records"),
        ([0.5, 1.0], "must be a frame"),
        (pl.DataFrame({"row": [0, 1]}), "must have whole numbers in its columns record"),
    ],
)
def test_row_numbers_that_do_not_fit_are_refused(rows, message):
    people = survey()

    with pytest.raises(InputError, match=message):
        align(people, people[:2], rows=rows)


def test_only_one_way_to_pair_is_taken():
    people = survey()

    with pytest.raises(InputError, match="not both"):
        align(people, people, id="pid", rows=[0])


def test_files_that_were_sorted_again_by_the_same_columns_are_not_paired_by_their_order():
    """Region and age agree in every row, and say nothing of the ten records that share them."""
    draws = np.random.default_rng(3)
    people = pl.DataFrame(
        {
            "region": draws.integers(10, size=5_000),
            "age": draws.integers(50, size=5_000),
            "sex": draws.integers(2, size=5_000),
            "job": draws.integers(9, size=5_000),
        }
    )
    one = people.sort("region", "age", maintain_order=True)
    again = people.sample(fraction=1, shuffle=True, seed=4).sort("region", "age")

    with pytest.raises(InputError, match="Nothing proves"):
        align_by_order(one, again)
    same = align_by_order(one, one.with_columns(job=pl.col("job").shuffle(seed=1)))
    assert same.way == "by the order of rows"  # the sexes agree too, and are not sorted


def test_ids_and_row_numbers_of_other_records_are_refused():
    """Every id is in both files, but of another person: no column agrees more often than by chance."""
    draws = np.random.default_rng(5)
    people = pl.DataFrame(
        {"pid": np.arange(1_000), "age": draws.integers(90, size=1_000), "sex": draws.integers(2, size=1_000)}
    )  # fmt: skip
    moved = people.with_columns(pid=pl.Series(draws.permutation(1_000)))

    with pytest.raises(InputError, match="agree in none of 2 common columns"):
        align(people, moved, id="pid")
    with pytest.raises(InputError, match="agree in none of 3 common columns"):
        align(people, people, rows=draws.permutation(1_000))
    changed = people.with_columns(age=pl.Series(draws.permutation(people["age"].to_numpy())))
    assert len(align(people, changed, id="pid")) == 1_000  # the sexes agree


def test_records_with_a_missing_value_are_recognised_like_others():
    people = pl.DataFrame({"age": [30, None, 50, 60], "pay": [1, 2, 3, None]})

    assert len(align_by_columns(people, people, ["age", "pay"], only_unique=True)) == 4
