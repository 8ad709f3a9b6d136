"""Malformed inputs of every kind: each is accepted or refused in a sentence that shows no record."""

from __future__ import annotations

from collections import Counter

import pytest

from command import run
from fuzz.trials import ENDINGS, INPUTS, fill, trial

FIXED, ALL = 40, 500


@pytest.fixture(scope="module")
def whole(once):
    return once("fuzz", fill)


@pytest.mark.parametrize("ending", ENDINGS)
def test_inputs_are_accepted_before_they_are_damaged(ending, whole, tmp_path):
    done = run("protect", whole / f"whole{ending}", "--plan", whole / "plan.toml", "--out", tmp_path / "safe.csv")  # fmt: skip

    assert done.returncode == 0, done.stderr


def tried(numbers, seed, whole, folder):
    """Return how many inputs each exit code met, once the conditions of a trial held for all."""
    codes = Counter()
    for number in numbers:
        there = folder / str(number)
        there.mkdir()
        codes[trial(number, seed, whole, there)] += 1
    return codes


def told(codes):
    return f"{codes.total()} malformed inputs: {codes[0]} accepted, {codes[1]} refused, {codes[2]} usage"


def test_forty_malformed_inputs_are_accepted_or_refused_in_a_sentence(whole, tmp_path, capsys):
    codes = tried(range(FIXED), 2010, whole, tmp_path)
    with capsys.disabled():
        print(f"\n{told(codes)}")  # noqa: T201 - the counts are to be seen

    assert codes.total() == FIXED
    assert codes[1] > FIXED / 2  # most faults are found


@pytest.mark.full
def test_all_malformed_inputs_are_accepted_or_refused_in_a_sentence(whole, tmp_path, capsys, seed):
    codes = tried(range(ALL), seed, whole, tmp_path)
    with capsys.disabled():
        print(f"\n{told(codes)}, of seed {seed}")  # noqa: T201 - the counts are to be seen

    assert codes.total() == ALL
    assert codes[1] > ALL / 2


def test_the_forty_inputs_are_of_every_kind():
    assert {INPUTS[number % len(INPUTS)] for number in range(FIXED)} == set(INPUTS)
