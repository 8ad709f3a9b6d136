"""The public page: it says less than the agency's report, never anything better, and tells no small count."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import maskmeter as mm
from maskmeter.chart.axes import ROOM
from maskmeter.errors import without_warnings
from maskmeter.evidence import assess
from maskmeter.evidence.first_screen import top
from maskmeter.evidence.public import Policy, public_sections, public_top
from maskmeter.evidence.sections import sections
from maskmeter.loss.formulas import hellinger
from maskmeter.page import Beside, Figure, Fold, Section, Table
from maskmeter.risk.target import Target

SMALLEST = 10
WORLDS = 50


def world(number):
    """Return the assessment of a small file with few unique records, half of them a whole population."""
    rng = np.random.default_rng(number)
    size = int(rng.integers(60, 400))
    area = rng.integers(0, 3, size)
    job = np.minimum(rng.geometric(0.5, size), 9)
    frame = pl.DataFrame({"area": area, "sex": rng.integers(0, 2, size), "job": job + area})
    whole = number % 2 == 0
    sample = mm.read(frame, keys=frame.columns, fraction=0.999 if whole else 0.2)
    population = mm.count(frame, keys=sample.space) if whole else None
    with without_warnings():
        release = mm.Pram("area", stay=0.97).apply(sample, rng=number)
        found = assess(release, population=population, loss=[("area", "job")], drop_one=False)
        tried = {"PRAM": mm.Pram("area", stay=0.9)}
        bare = mm.Release(sample, sample, mm.Misclassification({}).on(sample))
        options = mm.compare(
            sample,
            {"no protection": bare, **tried},
            loss=("area", "job"),
            population=population,
            rng=1,
        )
    return replace(found, options=options, target=Target(max_share=0.1))


@pytest.fixture(scope="module")
def worlds():
    return [world(number) for number in range(WORLDS)]


def blocks_of(first, listed):
    for section in (Section("", first.blocks), *listed):
        for block in section.blocks:
            if isinstance(block, Beside):
                yield from (block.wider, block.other)
            else:
                yield from block.blocks if isinstance(block, Fold) else (block,)


def public_page(found):
    policy = Policy(SMALLEST)
    return list(blocks_of(public_top(found, policy), public_sections(found, policy)))


def agency_page(found):
    return list(blocks_of(top(found), sections(found)))


def number_in(text):
    found = re.fullmatch(r"[\s+]*(-?[\d,]+(?:\.\d+)?)\s*%?", text)
    return None if found is None else float(found[1].replace(",", ""))


def column(blocks, head):
    """Yield the rows of tables by name, with the figure under a head, where one stands there."""
    for table in blocks:
        if isinstance(table, Table) and head in table.head:
            place = table.head.index(head)
            yield from ((row[0], number_in(row[place])) for row in table.rows)


def near(value, step=1.0):
    """Return the whole number that a figure stands for, if it is a small one and no other is near."""
    if value is None:
        return None
    whole = round(value / step)
    return whole if 0 < whole < SMALLEST and abs(value / step - whole) < 0.25 else None


def by_total_variation(blocks, found):
    """Solve how many records a margin moved by."""
    step = 100 / len(found.released)
    return [near(x, step) for _, x in column(blocks, "total variation")]


def by_hellinger(blocks, found):
    """Solve how many records moved between two categories: the released counts are in the file."""
    after = np.bincount(found.released.codes[:, 0]) / len(found.released)
    solved = []
    for _, told in column(blocks, "Hellinger"):
        fits = {
            count
            for here, there in permutations(range(len(after)), 2)
            for count in range(1, SMALLEST)
            if abs(hellinger(moved(after, here, there, count / len(found.released)), after) - told)
            < 0.0005
        }
        solved.append(fits.pop() if len(fits) == 1 else None)
    return solved


def moved(shares, here, there, part):
    before = shares.copy()
    before[[here, there]] += [part, -part]
    return np.clip(before, 0, None)


def by_the_unprotected_matches(blocks, found):
    """Solve how many records are unique in a population that is in the file as a whole."""
    named = [*column(blocks, "correct matches")]
    return [near(x) for name, x in named if "no protection" in name or "unprotected" in name]


def by_total_over_share(blocks, found):
    """Solve how many records are unique from the total and its share."""
    totals, shares = dict(column(blocks, "correct matches")), dict(column(blocks, "share"))
    return [
        near(100 * total / shares[name])
        for name, total in totals.items()
        if total is not None and shares.get(name)
    ]


def by_axis(blocks, found):
    """Solve the largest risk on a map from where its axis ends: a little beyond it."""
    return [
        near(end / (1 + ROOM))
        for block in blocks
        if isinstance(block, Figure)
        for end in ends_of(block.chart.to_dict())
    ]


def ends_of(spec):
    """Yield the upper ends of all axes of a chart that are given in it."""
    if isinstance(spec, dict):
        domain = (
            spec.get("scale", {}).get("domain") if isinstance(spec.get("scale"), dict) else None
        )
        if domain and all(isinstance(end, int | float) for end in domain):
            yield domain[-1]
        spec = list(spec.values())
    if isinstance(spec, list):
        for part in spec:
            yield from ends_of(part)


ATTACKS = [
    by_total_variation,
    by_hellinger,
    by_the_unprotected_matches,
    by_total_over_share,
    by_axis,
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_solves_a_small_count_from_the_public_page(worlds, attack):
    solved = [attack(public_page(found), found) for found in worlds]

    assert not any(count for world in solved for count in world)


@pytest.fixture(scope="module")
def agency_pages(worlds):
    """Return the agency's pages of some worlds, whose charts take long to draw."""
    return [(agency_page(found), found) for found in worlds[: WORLDS // 5]]


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_attacks_solve_the_agency_page(agency_pages, attack):
    """What makes their failing on the public page mean something."""
    assert any(count for blocks, found in agency_pages for count in attack(blocks, found))


def test_the_public_page_holds_no_chart_and_no_figure_with_digits_to_spare(worlds):
    for found in worlds:
        blocks = public_page(found)
        assert not any(isinstance(block, Figure) for block in blocks)
        words = repr(blocks)
        assert "Hellinger" not in words
        assert "total variation" not in words
        assert "no protection" not in words


def test_no_small_count_stands_on_the_public_page(worlds):
    counted, seen = ("unique records", "correct matches"), 0
    for found in worlds:
        for head in counted:
            for _, figure in column(public_page(found), head):
                seen += 1
                assert figure is None or figure == 0  # any other is "about" or "fewer than"
        said = public_top(found, Policy(SMALLEST))
        for text in re.findall(r"(?:about|than|to|of) ([\d,]+)", said.lead + said.under):
            assert int(text.replace(",", "")) % SMALLEST == 0
    assert seen >= WORLDS


def stated(text):
    """Return the matches and the unique records that a public lead states, or None."""
    found = re.match(r"(?:About|Fewer than) ([\d,]+) of about ([\d,]+) unique", text)
    return None if found is None else [float(one.replace(",", "")) for one in found.groups()]


def test_the_public_page_is_never_better_than_the_agency_report(worlds):
    compared = 0
    for found in worlds:
        first = public_top(found, Policy(SMALLEST))
        assert first.mark in (f"Target {found.mark}", "Not assessable")
        assert (first.mark == "Not assessable") != found.assessable
        told = stated(first.lead)
        if told is not None:
            compared += 1
            assert told[0] >= found.worst.risk.total
            assert told[0] / told[1] >= found.worst.risk.share
    assert compared > WORLDS / 4


def test_the_public_is_told_of_a_key_that_misleads(town_release):
    found = assess(town_release)

    assert found.worst.better_without[0][0] == "lad"
    assert "An intruder who ignores lad would do better" in public_top(found, Policy()).under


def test_rates_are_told_only_if_the_agency_wants_it(town_release):
    found = assess(town_release, drop_one=False)
    plain, open_ = (repr(public_sections(found, Policy(10, rates))) for rates in (False, True))

    assert "changed some records" in plain
    assert "%" not in plain.split("How the file was protected")[1].split("The risk")[0]
    count = int(town_release.changed.sum()) // 10 * 10
    assert f"about {100 * count / len(found.released):.1f}% of the records" in open_


def test_cautions_are_told_to_the_public_without_their_counts(town_release):
    few = mm.read(town_release.original.to_frame()[:60], keys=["lad", "age"], fraction=0.02)
    with without_warnings():
        found = assess(few, drop_one=False)
    said = [b.words for b in public_page(found) if getattr(b, "mark", "") == "Caution"]

    assert len(said) == len(found.cautions) > 0
    assert any(re.search(r"\d", str(caution)) for caution in found.cautions)
    assert not any(re.search(r"\d", line) for line in said)


@pytest.fixture(scope="module")
def town_release():
    people = mm.bernoulli_sample(mm.synthetic_census(size=200_000), fraction=0.02, rng=3)
    sample = mm.read(people, keys=["lad", "sex", "age", "ethnicity"], fraction=0.02)
    return mm.Pram("lad", stay=0.05).apply(sample, rng=1)


def test_the_public_page_does_not_tell_which_pair_was_swapped():
    """Undo every exchange that could have been made, and look which ones give the same page."""
    rng = np.random.default_rng(3)
    codes = np.column_stack([rng.integers(0, size, 80) for size in (4, 3, 5)])
    space = mm.KeySpace(
        mm.Key(name, range(size)) for name, size in zip("abc", (4, 3, 5), strict=True)
    )
    released = mm.Microdata(space, codes, fraction=0.1)
    pairs = [
        (one, two) for one in range(10) for two in range(10, 20) if codes[one, 0] != codes[two, 0]
    ]
    told, fitted = set(), set()
    for one, two in pairs[:25]:
        before = codes.copy()
        before[[one, two], 0] = before[[two, one], 0]
        original = mm.Microdata(space, before, fraction=0.1)
        matrix = mm.Misclassification({"a": mm.stay_or_move(4, stay=0.95)})
        with without_warnings():
            found = assess(mm.Release(original, released, matrix), drop_one=False)
        told.add(repr((public_top(found, Policy()), public_sections(found, Policy()))))
        fitted.add(found.worst.risk.search.summary())

    assert len(told) <= 4  # of 25 exchanges
    assert len(fitted) > 12  # which the summary of the model tells apart
