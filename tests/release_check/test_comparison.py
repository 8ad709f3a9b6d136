"""What happened to a column is told from both files alone, with exact counts."""

import numpy as np
import polars as pl
import pytest

from maskmeter.release_check.alignment import Alignment
from maskmeter.release_check.comparison import compare_columns
from protections import RECORDS, differing, pram, rank_swap, suppress, survey, swap

EVERY = np.arange(RECORDS)
PEOPLE = survey()


def draws(seed=11):
    return np.random.default_rng(seed)


def change(column, original=PEOPLE):
    """Return what happened to the one column that was replaced."""
    changes, _ = compare_columns(
        original, original.with_columns(column), Alignment(EVERY, EVERY, "")
    )
    (found,) = [one for one in changes if one.name == column.name]
    assert all(one.status == "unchanged" for one in changes if one is not found)
    return found


def bands(ages, width=10):
    return pl.Series(
        "age", [f"{age // width * width}-{age // width * width + width - 1}" for age in ages]
    )


def test_pram_is_changed_records():
    moved = pram(PEOPLE["lad"], 0.8, draws())
    found = change(moved)

    assert found.changed == differing(PEOPLE["lad"], moved)
    assert str(found) == f"{found.changed} changed"


def test_local_suppression_is_suppressed_records():
    assert str(change(suppress(PEOPLE["lad"], 31, draws()))) == "31 suppressed"


def test_global_recodes_are_recoded_and_nobody_is_changed():
    joined = pl.Series("lad", ["north" if one in "abc" else "south" for one in PEOPLE["lad"]])
    into_own = PEOPLE["lad"].replace({"b": "a", "d": "c"})
    codes = PEOPLE["job"].replace({1: 1, 2: 1, 3: 2, 4: 3, 5: 3})

    assert str(change(joined)) == "recoded (8 to 2 categories)"
    assert str(change(into_own)) == "recoded (8 to 6 categories)"
    assert str(change(codes)) == "recoded (5 to 3 categories)"
    assert str(change(bands(PEOPLE["age"]))) == "recoded (80 to 9 categories)"


@pytest.mark.parametrize("top", ["85+", 85])
def test_top_codes_are_recoded(top):
    coded = [top if age >= 85 else age for age in PEOPLE["age"]]
    coded = pl.Series("age", list(map(str, coded)) if isinstance(top, str) else coded)

    assert str(change(coded)) == "recoded (80 to 70 categories)"


def test_random_swaps_are_changed_records():
    moved = swap(PEOPLE["lad"], 100, draws())

    assert change(moved).changed == differing(PEOPLE["lad"], moved) <= 200


def test_rank_swapped_ages_are_changed_records():
    moved = rank_swap(PEOPLE["age"], 60, draws())
    found = change(moved)

    assert not found.recoded
    assert found.changed == differing(PEOPLE["age"], moved) > RECORDS / 2


@pytest.mark.parametrize("digits", [2, 0, -2])
def test_noise_on_incomes_is_changed_records_however_it_is_rounded(digits):
    noisy = np.round(PEOPLE["income"].to_numpy() + draws().normal(0, 1_000, RECORDS), digits)
    found = change(pl.Series("income", noisy))

    assert not found.recoded
    assert found.changed == differing(PEOPLE["income"], noisy) > 0.99 * RECORDS


def test_rounded_and_top_coded_incomes_are_recoded():
    rounded = change((PEOPLE["income"] / 100).round() * 100)
    capped = change(PEOPLE["income"].clip(upper_bound=40_000))

    assert rounded.recoded
    assert capped.recoded
    assert (rounded.changed, capped.changed) == (0, 0)


def test_synthetic_values_are_changed_records():
    """An income that is drawn anew, and a job that is drawn given the sex."""
    income = pl.Series("income", np.round(np.exp(draws().normal(10, 0.6, RECORDS)), 2))
    drawn = draws()
    job = pl.Series("job", [drawn.integers(1, 4 if sex == "f" else 6) for sex in PEOPLE["sex"]])

    assert change(income).changed == differing(PEOPLE["income"], income)
    assert change(job).changed == differing(PEOPLE["job"], job)
    assert not change(job).recoded


def test_a_recode_and_what_was_changed_after_it_are_told_apart():
    coarse = PEOPLE["lad"].replace({"a": "x", "b": "x", "c": "y", "d": "y"})
    moved = suppress(pram(coarse, 0.9, draws()), 12, draws(5))
    lost = [value is None for value in moved]
    changed = sum(a != b for a, b, gone in zip(coarse, moved, lost, strict=True) if not gone)

    assert (
        str(change(moved)) == f"recoded (8 to 6 categories), then {changed} changed; 12 suppressed"
    )


def test_a_recode_into_codes_that_were_there_before_is_seen_through_pram():
    coarse = PEOPLE["job"].replace({1: 1, 2: 1, 3: 2, 4: 2, 5: 3})
    moved = pram(coarse, 0.9, draws())
    found = change(moved)

    assert found.recoded
    assert found.changed == differing(coarse, moved)


def test_bands_that_were_swapped_are_recoded_then_changed():
    coarse = bands(PEOPLE["age"])
    moved = swap(coarse, 100, draws())
    found = change(moved)

    assert (found.recoded, found.before, found.after) == (True, 80, 9)
    assert found.changed == differing(coarse, moved)


def test_a_rare_value_that_pram_takes_away_is_a_change_and_no_recode():
    rare = PEOPLE["lad"].to_list()
    rare[7] = "z"
    people = PEOPLE.with_columns(pl.Series("lad", rare))
    moved = pram(PEOPLE["lad"], 0.9, draws())

    assert not change(moved, people).recoded
    assert change(moved, people).changed == differing(people["lad"], moved)


def test_new_numbers_for_old_ones_are_recoded_one_to_one():
    homes = PEOPLE["pid"] // 4
    people = PEOPLE.with_columns(hid=homes)
    anew = (homes * 7919 + 13) % 1_000_003

    assert "recoded" in str(change(anew.alias("hid"), people))


def test_a_missing_value_that_is_filled_in_is_a_change():
    holes = PEOPLE.with_columns(suppress(PEOPLE["job"], 9, draws()))

    assert str(change(PEOPLE["job"], holes)) == "9 changed"


def test_columns_that_one_file_lacks_are_dropped_or_added():
    released = PEOPLE.drop("income").with_columns(flag=pl.lit(1))
    changes, compared = compare_columns(PEOPLE, released, Alignment(EVERY, EVERY, ""))
    words = {one.name: str(one) for one in changes}

    assert words["income"] == "dropped"
    assert words["flag"] == "added"
    assert set(compared) == set(PEOPLE.columns) - {"income"}


def test_lists_are_not_compared():
    people = PEOPLE.with_columns(tags=pl.concat_list("job", "age"))

    assert (
        str(compare_columns(people, people, Alignment(EVERY, EVERY, ""))[0][-1]) == "not compared"
    )
