"""What the public may see: less than the agency, no better result, and no small count.

Every attack is tried on the redacted figures and on the public page.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations

import msgspec
import numpy as np
import polars as pl
import pytest

import maskmeter as mm
from maskmeter.chart.axes import ROOM
from maskmeter.errors import without_warnings
from maskmeter.evidence import assess
from maskmeter.evidence.drawings import map_drawing
from maskmeter.evidence.figures import figures
from maskmeter.evidence.first_screen import top
from maskmeter.evidence.records import record_tables
from maskmeter.evidence.redaction import Policy, redact
from maskmeter.evidence.schema import Figures
from maskmeter.evidence.sections import sections
from maskmeter.loss.formulas import hellinger
from maskmeter.page import Beside, Figure, Fold, Section, Table
from maskmeter.risk.target import Target

SMALLEST = 10
WORLDS = 50


def world(number):
    """Return the assessment of a small file with few unique records; even ones are populations."""
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


def public(found, policy=None):
    """Return the public figures of an assessment."""
    return redact(figures(found), policy or Policy(SMALLEST))


def page_of(known, records=None):
    return list(blocks_of(top(known), sections(known, records)))


def public_page(found):
    return page_of(public(found))


def agency_page(found):
    return page_of(figures(found), record_tables(found))


def told_by(known):
    """Return the numbers in the figures as the tables and the map that attacks use."""
    rows = [
        (
            name,
            both.informed.uniques,
            both.exact_match.total,
            both.informed.total,
            None if both.informed.share is None else 100 * both.informed.share,
        )
        for name, both in known.risks
    ]
    heads = ("scenario", "unique records", "exact match", "informed", "share")
    tables = [
        (heads, rows),
        (
            ("key", "total variation", "Hellinger"),
            [(one.key, 100 * one.total_variation, one.hellinger) for one in known.margins],
        ),
    ]
    drawn = []
    if known.map is not None:
        drawn.append(Figure("", map_drawing(known.map)))
        listed = [
            (one.label, one.risk, one.informed, 100 * one.informed_share)
            for one in known.map.releases
        ]
        tables.append((("release", "exact", "informed", "share"), listed))
    return [
        Table("", head, tuple(tuple("" if x is None else str(x) for x in row) for row in rows))
        for head, rows in tables
    ] + drawn


def number_in(text):
    found = re.fullmatch(r"[\s+]*(-?[\d,]+(?:\.\d+)?)\s*%?", text)
    return None if found is None else float(found[1].replace(",", ""))


def column(blocks, head):
    """Yield the name of each table row and its number in the column `head`, or None."""
    for table in blocks:
        if isinstance(table, Table) and head in table.head:
            place = table.head.index(head)
            yield from ((row[0], number_in(row[place])) for row in table.rows)


def near(value, step=1.0):
    """Return the small whole number that a figure is close to, or None."""
    if value is None:
        return None
    whole = round(value / step)
    return whole if 0 < whole < SMALLEST and abs(value / step - whole) < 0.25 else None


def by_total_variation(blocks, found):
    """Solve for the number of records by which a margin changed."""
    step = 100 / len(found.released)
    return [near(x, step) for _, x in column(blocks, "total variation")]


def by_hellinger(blocks, found):
    """Solve for the records moved between two categories, using the counts in the released file."""
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
    """Solve for the number of unique records when the file is the whole population."""
    named = [pair for head in ("exact", "exact match", "informed") for pair in column(blocks, head)]
    return [near(x) for name, x in named if "no protection" in name or "before" in name]


def by_total_over_share(blocks, found):
    """Solve for the number of unique records before protection from the total and its share."""
    totals, shares = dict(column(blocks, "informed")), dict(column(blocks, "share"))
    return [
        near(100 * total / shares[name])
        for name, total in totals.items()
        if total is not None and shares.get(name)
    ]


def by_axis(blocks, found):
    """Solve for the largest risk on a map from the end of its axis, which is slightly larger."""
    return [
        near(end / (1 + ROOM))
        for block in blocks
        if isinstance(block, Figure)
        for end in ends_of(block.chart.to_dict())
    ]


def ends_of(spec):
    """Yield the upper ends of the axes that a chart specifies."""
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
@pytest.mark.parametrize("shown", [public_page, lambda found: told_by(public(found))])
def test_no_attack_recovers_a_small_count_from_public_output(worlds, attack, shown):
    solved = [attack(shown(found), found) for found in worlds]

    assert not any(count for world in solved for count in world)


@pytest.fixture(scope="module")
def agency_pages(worlds):
    """Return the agency's pages of the first few worlds; drawing their charts is slow."""
    return [(agency_page(found), found) for found in worlds[: WORLDS // 5]]


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_attacks_recover_small_counts_from_the_agency_page(agency_pages, attack):
    """The attacks work, so their failure on the public page is evidence of protection."""
    assert any(count for blocks, found in agency_pages for count in attack(blocks, found))
    assert any(
        count for _, found in agency_pages for count in attack(told_by(figures(found)), found)
    )


# Public entries that may contain any number: facts of the file or settings of the agency.
OPEN = {
    "schema_version", "maskmeter", "records", "categories", "fraction", "max_share", "max_total",
    "words", "measure", "mean_loss", "assumptions", "not_assessed", "name", "label", "title",
}  # fmt: skip


def numbers_in(part, entry=""):
    """Yield every number in the figures, including those in texts, with the name of its entry."""
    if isinstance(part, dict):
        for name, value in part.items():
            yield from numbers_in(value, name)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from numbers_in(value, entry)
    elif isinstance(part, str):
        texts = re.findall(r"[\d,]*\d(?:\.\d+)?", part.replace("95 % interval", "interval"))
        yield from ((entry, float(text.replace(",", ""))) for text in texts)
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield entry, float(part)


def test_every_public_number_is_rounded(worlds):
    """So no z2, parameter, term, cell size or loss of a single table is public, even if fields are added."""
    passed = kept = 0
    for found in worlds:
        told = msgspec.to_builtins(public(found))
        for entry, number in numbers_in(told):
            passed += 1
            assert entry in OPEN or number % SMALLEST == 0, entry
        whole = [
            number
            for entry, number in numbers_in(msgspec.to_builtins(figures(found)))
            if entry not in OPEN and number % SMALLEST
        ]
        kept += len(whole)
    assert passed > 10 * WORLDS
    assert kept > 50 * WORLDS  # numbers that redaction removes


def both_of(risks):
    return risks.exact_match, risks.informed


def test_figures_that_could_reveal_a_few_changed_records_are_not_public(worlds):
    for found in worlds:
        told = public(found)
        assert isinstance(told, Figures)
        assert told.groups == told.loss == told.pairs == told.margins == ()
        assert told.map is None
        assert told.choice is None
        assert all(step.records is None and step.asked is None for step in told.steps)
        for one in told.scenarios:
            assert one.model is None
            assert one.bands == one.without_one_key == one.other_measures == ()
            for risk in [r for both in (one.risks, one.unprotected) for r in both_of(both)]:
                assert not risk.cell_sizes
                assert risk.largest is None
                assert risk.share is risk.above_half is risk.above_fifth is None
                assert risk.without_target is None


def test_the_public_loss_is_rounded_up_to_multiples_of_the_smallest_count(worlds):
    for found in worlds:
        told, step = public(found).mean_loss, 200 * SMALLEST / len(found.released)
        assert told >= found.loss
        assert min(abs(told - np.ceil(step * n)) for n in range(200)) < 1e-9


def test_redacting_twice_changes_nothing(worlds):
    for found in worlds[:10]:
        once = public(found)
        again = redact(once, Policy(SMALLEST))
        assert [risk for _, risk in again.risks] == [risk for _, risk in once.risks]


def test_the_public_page_has_no_chart_and_no_detailed_loss_measure(worlds):
    for found in worlds:
        blocks = public_page(found)
        assert not any(isinstance(block, Figure) for block in blocks)
        words = repr(blocks)
        assert "Hellinger" not in words
        assert "total variation" not in words
        assert "no protection" not in words


def test_no_small_count_is_on_the_public_page(worlds):
    counted, seen = ("unique records", "correct matches"), 0
    for found in worlds:
        for head in counted:
            for _, figure in column(public_page(found), head):
                seen += 1
                assert figure is None or figure == 0  # others are "about" or "fewer than"
        said = top(public(found))
        facts = " ".join(f"about {one.figure} of {one.note}" for one in said.facts[:2])
        for text in re.findall(r"(?:about|than|to|of) ([\d,]+)", f"{said.lead}{said.under}{facts}"):
            assert int(text.replace(",", "")) % SMALLEST == 0
    assert seen >= WORLDS


def stated(text):
    """Return the matches and the unique records that a public lead states, or None."""
    found = re.match(r"(?:About|Fewer than) ([\d,]+) of about ([\d,]+) unique", text)
    return None if found is None else [float(one.replace(",", "")) for one in found.groups()]


def test_the_public_page_never_shows_less_risk_than_the_agency_report(worlds):
    compared = 0
    for found in worlds:
        first = top(public(found))
        assert first.mark in (f"Target {found.mark}", "Not assessable")
        assert (first.mark == "Not assessable") != found.assessable
        told = stated(first.lead)
        if told is not None:
            compared += 1
            assert told[0] >= found.worst.risk.total
            assert told[0] / told[1] >= found.worst.risk.total / found.worst.risk.uniques
    assert compared > WORLDS / 4


def test_the_public_page_names_a_misleading_key(town_release):
    found = assess(town_release, target=mm.Target(max_share=0.1, intruder="exact-match"))

    assert found.worst.better_without[0][0] == "lad"
    assert "An intruder who ignores lad would do better" in top(public(found)).under


def test_rates_are_public_only_if_the_agency_chooses(town_release):
    found = assess(town_release, drop_one=False)
    plain, open_ = (repr(sections(public(found, Policy(10, rates)))) for rates in (False, True))

    assert "changed some records" in plain
    assert "%" not in plain.split("How the file was protected")[1].split("What was assessed")[0]
    count = int(town_release.changed.sum()) // 10 * 10
    assert f"about {100 * count / len(found.released):.1f}% of the records" in open_


def test_public_cautions_have_no_counts(town_release):
    few = mm.read(town_release.original.to_frame()[:60], keys=["lad", "age"], fraction=0.02)
    with without_warnings():
        found = assess(few, drop_one=False)
    said = [b.words for b in public_page(found) if getattr(b, "mark", "") == "Caution"]

    assert len(said) == len(found.cautions) > 0
    assert any(re.search(r"\d", str(caution)) for caution in found.cautions)
    assert not any(re.search(r"\d", line) for line in said)


@pytest.fixture(scope="module")
def town_release(town):
    people = mm.bernoulli_sample(town, fraction=0.02, rng=3)
    sample = mm.read(people, keys=["lad", "sex", "age", "ethnicity"], fraction=0.02)
    return mm.Pram("lad", stay=0.05).apply(sample, rng=1)


def test_the_public_page_does_not_reveal_which_pair_was_swapped():
    """Undo each possible exchange and see how many give the same page."""
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
        known = public(found)
        told.add(repr((known, page_of(known))))
        fitted.add(repr(found.worst.risk.model.goodness))

    assert len(told) <= 4  # of 25 exchanges
    assert len(fitted) > 12  # the fit of the model would distinguish them


def test_no_risk_is_public_if_the_file_is_not_assessable():
    """This includes scenarios whose own model fits."""
    rng = np.random.default_rng(1)
    a, b, c = (rng.integers(0, 12, 3000) for _ in range(3))
    frame = pl.DataFrame({"a": a, "b": b, "c": c, "d": (a + b + c) % 12})
    sample = mm.read(frame, keys=frame.columns, fraction=0.05)
    with without_warnings():
        found = assess(sample, known={"all": "a,b,c,d", "few": "a,b,c"}, drop_one=False)
    told = public(found)

    assert [one.risk.assessable for one in figures(found).scenarios] == [False, True]
    every = [risk for _, both in told.risks for risk in both_of(both)]
    assert all(risk.total is None and not risk.assessable for risk in every)
    assert top(told).lead.startswith("Scenario all: The log-linear model does not describe")
    assert top(told).facts == ()
    rows = [row for one in page_of(told) if isinstance(one, Table) for row in one.rows]
    assert [row[-1] for row in rows[:2]] == ["not assessable"] * 2
    assert repr(found) == "Assessment(2 scenarios; not assessable)"
    (drawn,) = found.plot().to_dict()["datasets"].values()
    assert [row["risk"] is None for row in drawn] == [True, False]
