"""The order of categories: texts that all stand for numbers or bands are sorted by number."""

from __future__ import annotations

from time import perf_counter

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskmeter as mm
from maskmeter.data.bands import band_texts
from maskmeter.data.ordering import merged_values, sorted_values

IN_ORDER = {
    "whole numbers": ["2", "10"],
    "codes with leading zeros": ["007", "10", "0100"],
    "decimal points": ["1.5", "3", "20"],
    "decimal commas": ["0,125", "1,5", "20"],
    "signs": ["-10", "-2", "0", "+3"],
    "one number written in many ways": ["+1", "001", "01", "1", "1.0", "2"],
    "bands": ["0-4", "5-9", "10-14", "85+"],
    "bands with an en-dash": ["0\u20134", "5 \u2013 9", "10\u201314"],
    "bands in words": ["under 5", "5 to 9", "10 to 14", "100 and over"],
    "other open bands": ["<16", "16-84", ">=85"],
    "capitals and spaces": ["Up to 4", " 5 TO 9 ", "10 Or More"],
    "the youngest in words": ["15 or younger", "16", "≥17"],
    "bands beside numbers": ["0", "1-4", "5", "5-9", "5+", "10"],
    "bands from the same number": ["5", "5-9", "5-14", "5+"],
    "open lower bands": ["<5", "<16", "0-15"],
    "negative bands": ["-10 to -6", "-5--1", "0-4"],
    "cut of R": ["(-Inf,5]", "[5,10)", "[10, Inf)"],
    "cut of pandas": ["(0.999, 5.0]", "(5.0, 10.0]", "(10.0, 20.0]"],
    "our whole bands": band_texts([-5, 0, 5, 6, 10, 100]),
    "our other bands": band_texts([-2.5, 0, 2.5, 10]),
    "our bands of one year": band_texts([*range(20)]),
}
AS_TEXT = {
    "one word": ["10", "2", "unknown"],
    "NA": ["10", "2", "NA"],
    "an empty text": ["", "10", "2"],
    "letters before numbers": ["E10", "E2"],
    "falling bounds": ["10-1", "2-1"],
    "dates": ["2020-02-10", "2020-1-3"],
    "thousands": ["1,000", "999"],
    "commas and points": ["1,5", "10.5", "2"],
    "two signs of an open band": ["<5+", "10", "2"],
    "words that are no bands": ["10 years", "2 years"],
}


def shuffles(texts):
    return st.permutations(texts)


@pytest.mark.parametrize("texts", IN_ORDER.values(), ids=IN_ORDER)
@given(data=st.data())
def test_texts_that_stand_for_numbers_are_sorted_by_number(texts, data):
    assert sorted_values(data.draw(shuffles(texts))) == texts


@pytest.mark.parametrize("texts", AS_TEXT.values(), ids=AS_TEXT)
@given(data=st.data())
def test_other_texts_are_sorted_as_text(texts, data):
    assert sorted_values(data.draw(shuffles(texts))) == sorted(texts)


@given(st.lists(st.integers(-(10**12), 10**12), unique=True), st.integers(0, 15))
def test_whole_numbers_in_text_sort_like_the_numbers(numbers, width):
    texts = [f"{number:0{width}d}" for number in numbers]

    assert [int(text) for text in sorted_values(texts)] == sorted(numbers)


@given(st.lists(st.floats(-1e9, 1e9), unique=True), st.sampled_from(".,"))
def test_decimal_numbers_in_text_sort_like_the_numbers(numbers, mark):
    texts = [f"{number!r}".replace(".", mark) for number in numbers]
    if all(len(text.rpartition(mark)[2]) == 3 for text in texts):
        texts.append(f"1{mark}5")  # only thousands have three digits behind every comma

    found = [float(text.replace(mark, ".")) for text in sorted_values(texts)]
    assert found == sorted(found)


@given(st.lists(st.integers(0, 200), min_size=2, unique=True).map(sorted), st.data())
def test_the_names_of_our_own_bands_sort_like_their_bounds(bounds, data):
    texts = band_texts(bounds)

    assert sorted_values(data.draw(shuffles(texts))) == texts


@given(st.lists(st.text(), unique=True), st.data())
def test_the_order_does_not_depend_on_the_order_of_rows(texts, data):
    assert sorted_values(data.draw(shuffles(texts))) == sorted_values(texts)


@given(st.lists(st.text(alphabet="0123456789-+.,< to", max_size=6), unique=True), st.data())
def test_the_order_of_texts_like_numbers_does_not_depend_on_that_of_rows(texts, data):
    found = sorted_values(texts)

    assert sorted_values(data.draw(shuffles(texts))) == found
    assert sorted(found) == sorted(texts)


@given(st.lists(st.text(max_size=2), unique=True), st.lists(st.text(max_size=2)), st.booleans())
def test_merged_categories_keep_the_order_of_the_first_file(texts, others, missing):
    first = [*texts, None] if missing else texts
    merged = merged_values(first, others)

    assert [one for one in merged if one in set(first)] == first
    assert len(merged) == len(set(merged))
    assert set(merged) == {*first, *others}


@given(st.lists(st.integers(0, 999).map(str), unique=True), st.lists(st.integers(0, 999).map(str)))
def test_merged_categories_are_sorted_where_those_of_the_first_file_are(texts, others):
    assert merged_values(sorted_values(texts), others) == sorted_values({*texts, *others})


AGES = ["10-14", "5-9", "85+", "under 5", "10-14"]


@pytest.fixture(params=["polars", "lazy", "categorical", "pandas", "pandas categorical", "pyarrow", "dictionary", "csv", "parquet", "xlsx", "sav", "dta"])  # fmt: skip
def source(request, tmp_path):
    """Return the same texts in each kind of frame and file."""
    people = pl.DataFrame({"age": AGES, "sex": list("fmfmf")})
    frames = {
        "polars": lambda: people,
        "lazy": people.lazy,
        "categorical": lambda: people.with_columns(pl.col("age").cast(pl.Categorical)),
        "pandas": people.to_pandas,
        "pandas categorical": lambda: people.to_pandas().astype({"age": "category"}),
        "pyarrow": people.to_arrow,
        "dictionary": lambda: pa.table({"age": pa.array(AGES).dictionary_encode()}),
    }
    if request.param in frames:
        return frames[request.param]()
    path = tmp_path / f"people.{request.param}"
    mm.read(people, keys=["age", "sex"]).write(path)
    return path


def test_every_kind_of_frame_and_file_has_the_same_order(source):
    wanted = ("under 5", "5-9", "10-14", "85+")

    assert mm.read(source, keys=["age"]).space["age"].categories == wanted
    assert mm.count(source, keys=["age"]).space["age"].categories == wanted
    assert mm.read(source, keys=["age"]).codes[:, 0].tolist() == [2, 1, 3, 0, 2]


def test_declared_orders_are_kept():
    order = ["85+", "10-14", "5-9", "under 5"]
    kinds = [
        pl.DataFrame({"age": pl.Series(AGES, dtype=pl.Enum(order))}),
        pd.DataFrame({"age": pd.Categorical(AGES, categories=order, ordered=True)}),
        pl.DataFrame({"age": pl.Series(AGES, dtype=pl.Enum(order))}).to_arrow(),
    ]

    for frame in kinds:
        assert list(mm.read(frame, keys=["age"]).space["age"].categories) == order
    listed = mm.read(pl.DataFrame({"age": AGES}), keys=[mm.Key("age", order)])
    assert list(listed.space["age"].categories) == order


def test_a_missing_value_comes_last_and_texts_stay_what_they_are(tmp_path):
    (tmp_path / "people.csv").write_text("age,sex\n10,f\n,m\n2,f\n02,m\n", encoding="utf-8")
    sample = mm.read(tmp_path / "people.csv", keys=["age", "sex"], missing="category")

    assert sample.space["age"].categories == ("02", "2", "10", None)


def test_a_column_of_one_category_beside_missing_values_is_sorted_too():
    people = pl.DataFrame({"sex": ["f", "m", "f"], "age": ["10", None, "2"], "one": ["7"] * 3})
    columns = mm.read(people, keys=["sex"]).source.encode(["age", "one"])

    assert columns["age"].categories == ("2", "10", None)
    assert columns["one"].categories == ("7",)


def test_categories_that_only_the_population_has_follow_in_number_order():
    sample = mm.read(pl.DataFrame({"age": ["20", "3"]}), keys=["age"], fraction=0.1)
    population = mm.count(pl.DataFrame({"age": ["100", "3", "20", "9", "11"]}), keys=["age"])
    merged = population.onto(sample.space)

    assert population.space["age"].categories == ("3", "9", "11", "20", "100")
    assert merged.space["age"].categories == ("3", "20", "9", "11", "100")  # codes of the sample
    assert merged.counts.tolist() == [1] * 5


def test_groups_of_a_recode_stand_in_the_order_of_their_first_number():
    people = pl.DataFrame({"age": ["0", "2", "10", "11", "30"], "sex": list("fmfmf")})
    sample = mm.read(people, keys=["age", "sex"], fraction=0.1)
    groups = {"10-19": ["10", "11"], "under 10": ["0", "2"]}

    assert mm.Recode("age", groups=groups).apply(sample).released.space["age"].categories == (
        "under 10",
        "10-19",
        "30",
    )
    assert mm.Recode("age", top=10).apply(sample).released.space["age"].categories == (
        "0",
        "2",
        "10+",
    )


def test_bands_that_were_written_to_a_csv_keep_their_order(tmp_path):
    people = pl.DataFrame({"age": [3, 40, 8, 90, -2], "sex": list("fmfmf")})
    bands = {"age": [-5, 0, 5, 10, 85]}
    sample = mm.read(people, keys=["age", "sex"], bands=bands)
    sample.write(tmp_path / "banded.csv")

    again = mm.read(tmp_path / "banded.csv", keys=["age", "sex"])
    assert again.space == sample.space


def test_sorting_a_hundred_thousand_bands_takes_a_small_multiple_of_a_plain_sort():
    texts = [f"{number}-{number + 4}" for number in range(100_000)]
    backwards = texts[::-1]
    begun = perf_counter()
    plain = sorted(backwards, key=lambda text: tuple(map(float, text.split("-"))))
    between = perf_counter()
    found = sorted_values(backwards)
    ended = perf_counter()

    assert found == plain == texts
    assert ended - between < 20 * (between - begun)  # three or four times
