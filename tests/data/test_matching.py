"""A key of one type in the sample and another in the population: matched by value, or refused."""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl
import pyreadstat
import pytest

import maskmeter as mm
from maskmeter.data.matching import matched

RECORDS = 400
SEXES = {1: "Male", 2: "Female"}


def census(seed=23):
    draws = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "lad": draws.integers(1, 111, 20 * RECORDS),
            "sex": draws.integers(1, 3, 20 * RECORDS),
            "grown": draws.integers(0, 2, 20 * RECORDS).astype(bool),
            "born": [date(1950 + int(year), 1, 1) for year in draws.integers(0, 12, 20 * RECORDS)],
        }
    )


KEYS = census().columns
PEOPLE = census()
SAMPLE = PEOPLE.sample(RECORDS, seed=5)
TRUE = mm.exact_risk(
    mm.read(SAMPLE, keys=mm.count(PEOPLE, keys=KEYS).space, fraction=0.05),
    mm.count(PEOPLE, keys=KEYS),
)


def as_text(frame):
    """Return a frame as a CSV would hold it."""
    return frame.with_columns(
        pl.col("lad", "sex").cast(pl.String),
        pl.col("grown").cast(pl.String).str.to_uppercase(),
        pl.col("born").cast(pl.String),
    )


def as_floats(frame):
    """Return a frame as pandas writes numbers beside missing ones: 1.0 for 1."""
    return as_text(frame.with_columns(pl.col("lad", "sex").cast(pl.Float64)))


PAIRS = {
    "text against numbers": (as_text(SAMPLE), PEOPLE),
    "numbers against text": (SAMPLE, as_text(PEOPLE)),
    "text with decimals against numbers": (as_floats(SAMPLE), PEOPLE),
    "numbers against text with decimals": (SAMPLE, as_floats(PEOPLE)),
    "text against text with decimals": (as_text(SAMPLE), as_floats(PEOPLE)),
    "text with spaces against numbers": (
        as_text(SAMPLE).with_columns(pl.col("lad", "sex").str.pad_start(3)),
        PEOPLE,
    ),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_values_of_other_types_give_the_very_same_risk(pair):
    sample, people = PAIRS[pair]
    population = mm.count(people, keys=KEYS)
    in_words_of_population = mm.read(sample, keys=population.space, fraction=0.05)
    in_own_words = mm.read(sample, keys=KEYS, fraction=0.05)

    assert TRUE.total > 10
    for one in (in_words_of_population, in_own_words):
        risk = mm.exact_risk(one, population)
        assert risk.total == TRUE.total
        assert risk.by_unique.tolist() == TRUE.by_unique.tolist()
    counted = mm.count(people, keys=mm.read(PEOPLE, keys=KEYS).space)
    assert mm.exact_risk(in_own_words, counted).total == TRUE.total


@pytest.mark.parametrize("pair", PAIRS)
def test_a_release_keeps_the_words_of_its_own_file(pair):
    sample, people = PAIRS[pair]
    read = mm.read(sample, keys=mm.count(people, keys=KEYS).space, fraction=0.05)

    assert read.to_frame().equals(sample)
    frame = mm.Pram("lad", stay=0.5).apply(read, rng=3).to_frame()
    assert frame.schema == sample.schema
    assert set(frame["lad"]) <= set(sample["lad"])
    assert (frame["lad"] != sample["lad"]).sum() > 100


def labelled(frame, path, labels=SEXES):
    numbers = frame.select("lad", "sex").cast(pl.Float64)
    pyreadstat.write_sav(numbers, path, variable_value_labels={"sex": labels})
    return path


@pytest.mark.parametrize("swapped", [False, True])
def test_texts_match_the_value_labels_of_codes(tmp_path, swapped):
    words = pl.col("sex").replace_strict(SEXES, return_dtype=pl.String)
    if swapped:
        sample, people = labelled(SAMPLE, tmp_path / "s.sav"), PEOPLE.with_columns(words)
    else:
        sample, people = SAMPLE.with_columns(words), labelled(PEOPLE, tmp_path / "p.sav")
    population = mm.count(people, keys=["lad", "sex"])
    read = mm.read(sample, keys=population.space, fraction=0.05)
    same = mm.count(PEOPLE, keys=["lad", "sex"])

    assert set(read.space["sex"].categories) == ({1, 2} if swapped else {"Male", "Female"})
    risk = mm.exact_risk(read, population).total
    assert risk == mm.exact_risk(mm.read(SAMPLE, same.space, fraction=0.05), same).total > 1
    names = mm.read(sample, keys=["lad", "sex"], fraction=0.05)
    assert mm.exact_risk(names, population).total == risk


def test_a_recode_in_the_words_of_the_file_counts_the_population_too():
    population = mm.count(PEOPLE, keys=["lad", "sex"])
    steps = {"text": mm.Recode("lad", groups={"low": ["1", "2", "3"]})}
    steps["number"] = mm.Recode("lad", groups={"low": [1, 2, 3]})
    found = {}
    for kind, frame in {"text": as_text(SAMPLE), "number": SAMPLE}.items():
        release = steps[kind].apply(mm.read(frame, keys=["lad", "sex"], fraction=0.05))
        found[kind] = mm.exact_risk(release, population).total

    assert found["text"] == found["number"] > 0


WRONG = {
    "leading zeros": (["01", "02"], [1, 2], "2 of the 2 distinct values in this file match none"),
    "one of three": (["1", "2", "x"], [1, 2, 3], "1 of the 3 distinct values in this file matches"),
    "two texts for one number": (["1", "1.0"], [1, 2], "2 of the 2 distinct values"),
    "a value that numbers lack": ([1, 2], ["1", "2", "NA"], "1 of the 3 distinct values in the gi"),
    "unlabelled": (["Male", "Female"], [1, 2], "holds text in this file and numbers in the given"),
    "dates and numbers": ([date(2020, 1, 1)] * 2, [1, 2], "holds dates in this file and numbers"),
}


@pytest.mark.parametrize("case", WRONG)
def test_values_that_do_not_match_one_to_one_are_refused_with_counts(case):
    own, given, said = WRONG[case]
    with pytest.raises(mm.MaskmeterError) as caught:
        mm.read(pl.DataFrame({"k": own}), keys=[mm.Key("k", given)])

    assert said in str(caught.value)
    assert "`missing_codes`" in str(caught.value)


def test_labels_that_contradict_the_codes_are_refused():
    crossed = mm.Key("k", [1, 2], labels=["2", "1"])
    with pytest.raises(mm.MaskmeterError, match="matched in more than one way"):
        matched(["1", "2"], crossed, {})


def test_other_categories_of_the_same_type_are_refused_as_such():
    with pytest.raises(mm.MaskmeterError, match="1 of the 2 distinct values of 'k' is not among"):
        mm.read(pl.DataFrame({"k": [1, 3]}), keys=[mm.Key("k", [1, 2])])
    with pytest.raises(mm.MaskmeterError, match="2 of the 2 distinct values of 'k' are not among"):
        mm.read(pl.DataFrame({"k": ["c", "d"]}), keys=[mm.Key("k", ["a", "b"])])


def test_categories_that_no_record_has_get_the_words_of_the_file():
    found = {
        ("1.0", "2.0"): matched(["1.0", "2.0"], mm.Key("k", [1, 2, 3]), {}),
        ("True",): matched(["True"], mm.Key("k", [False, True]), {}),
        (1, 2): matched([1, 2], mm.Key("k", ["1", "2", "3", None]), {}),
        ("a",): matched(["a"], mm.Key("k", [1, 2], labels=["a", "b"]), {}),
        (1,): matched([1], mm.Key("k", ["a", "b"]), {1: "a", 2: "b"}),
        (date(2020, 1, 1),): matched([date(2020, 1, 1)], mm.Key("k", ["2020-01-01", "2021-02-03"]), {}),
    }  # fmt: skip
    assert [one.key.categories for one in found.values()] == [
        ("1.0", "2.0", "3.0"),
        ("False", "True"),
        (1, 2, 3, None),
        ("a", "b"),
        (1, 2),
        (date(2020, 1, 1), date(2021, 2, 3)),
    ]
