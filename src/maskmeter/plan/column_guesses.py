"""What each column of a file is guessed to be, and why: by its name, its label and its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from maskmeter.data.bands import MANY
from maskmeter.data.column_roles import (
    names_body,
    names_household,
    names_identifier,
    names_somebody,
    names_weights,
    weights_of_people,
    words_in,
)
from maskmeter.plan.column_facts import ColumnFacts
from maskmeter.plan.key_topics import (
    AGE,
    BIRTH_DATE,
    BIRTH_YEAR,
    INSTITUTION,
    PLACE,
    TopicMatch,
    topic_of,
)
from maskmeter.plurals import counted

Role = Literal[
    "key", "carried", "weights", "household", "identifier", "personal", "numbers", "many",
    "constant", "other",
]  # fmt: skip

_Found: TypeAlias = tuple[Role, str]

MOST_PLACES = 1000
_FEW_NUMBERS = 30  # whole numbers without labels: more of them are measurements
_FEW_FRACTIONS = 12
_MANY = 0.05  # share of distinct values from which on a name makes an identifier
_RECORDS_EACH = 5  # of a category, on average
_SMALL = 12  # categories that any file may have
_LARGEST_HOUSEHOLDS = 20  # members on average
_LONG = 25  # characters on average: free text
_OWN = 0.3  # share of distinct values of free text
_SHORT_LABEL = 6  # words
_LEAST_WEIGHT = 1.2  # on average: weights that are scaled to the records have about 1
_LOW_WEIGHTS = 3  # on average: they may count no people
_BODY_WEIGHTS = (1, 350)
_GAPS = 0.2  # share of the records without a value that no identifier has


@dataclass(frozen=True)
class ColumnGuess:
    """A column of the file, what it is guessed to be and why, without any value of the file."""

    name: str
    label: str
    role: Role
    categories: int
    missing: int
    numeric: bool
    topic: str = ""
    why: str = ""
    bands: list[int] = field(default_factory=list)

    @property
    def comment(self) -> str:
        """The reason for a key, its number of categories, and its label."""
        parts = [self.why, counted(self.categories, "category", "categories")]
        if self.bands:
            parts[1] = f"{counted(self.categories, 'number')} in bands (see below)"
        if self.missing:
            parts.append(f"{counted(self.missing, 'record')} without a value")
        return "; ".join([*parts, *([f"label: {self.label}"] if self.label else [])])


@dataclass(frozen=True, eq=False, repr=False)
class JudgedColumn:
    """A column before keys are chosen: its facts, the first guess, and its topic if it may be a key."""

    facts: ColumnFacts
    guess: ColumnGuess
    match: TopicMatch | None = None

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.facts.name

    def told(self, role: Role, why: str) -> JudgedColumn:
        """Return the column with another guess, which makes no key of it."""
        return replace(self, guess=replace(self.guess, role=role, why=why, bands=[]))

    def as_key(self, why: str = "") -> JudgedColumn:
        """Return the column as a key."""
        known = "" if self.match is None else f"{self.match.topic.name}: {self.match.topic.why}"
        return replace(self, guess=replace(self.guess, role="key", why=why or known))


def first_guesses(columns: Sequence[ColumnFacts]) -> list[JudgedColumn]:
    """Return what each column is by itself: those with a `match` may be keys."""
    body = any(names_body(one.name) or names_body(one.label) for one in columns)
    return [_first(one, body=body) for one in columns]


def _first(facts: ColumnFacts, *, body: bool) -> JudgedColumn:
    match = topic_of(facts.name, facts.label)
    never = _never_a_key(facts, match, body=body)
    role, why = never or ("other", "")
    guess = ColumnGuess(
        facts.name,
        _short(facts.label),
        role,
        facts.distinct,
        facts.missing,
        facts.numeric,
        "" if match is None else match.topic.name,
        why,
    )
    if never is not None:
        return JudgedColumn(facts, guess)
    return _as_categories(JudgedColumn(facts, guess, match))


def _short(label: str) -> str:
    return label if len(label) <= 60 else f"{label[:57].rstrip()}..."


def _never_a_key(facts: ColumnFacts, match: TopicMatch | None, *, body: bool) -> _Found | None:
    """Return the role and the reason of a column that is no key whatever its categories."""
    labelled = len(words_in(facts.label)) <= _SHORT_LABEL and names_weights(facts.label)
    weighs = facts.numeric and facts.present > 0 and (names_weights(facts.name) or labelled)
    return (
        (_weights(facts, body=body) if weighs else None)
        or _by_values(facts, match)
        or _identifies(facts, match)
        or _unknowable(facts, match)
    )


def _by_values(facts: ColumnFacts, match: TopicMatch | None) -> _Found | None:
    """Return the role of a column whose values alone make no key."""
    topic = None if match is None else match.topic
    if facts.nested:
        return "other", "it holds lists or other values that make no categories"
    if facts.distinct < 2:
        return "constant", "the same value in every record"
    if not facts.dates and topic is not BIRTH_DATE:
        return None
    if topic in (BIRTH_DATE, BIRTH_YEAR) and _many(facts):
        return "personal", "dates of birth: with them nearly every record is one of a kind"
    return "other", "dates: recode them to years if an intruder may know them"


def _unknowable(facts: ColumnFacts, match: TopicMatch | None) -> _Found | None:
    if match is None or match.topic.known:
        return None
    return "numbers" if facts.numeric else "other", match.topic.why


def _many(facts: ColumnFacts) -> bool:
    return facts.distinct > _MANY * facts.present


def _groups_people(facts: ColumnFacts) -> bool:
    sizes = facts.present / facts.distinct
    return not facts.missing and 1 < sizes <= _LARGEST_HOUSEHOLDS and facts.distinct > _SMALL


def _weights(facts: ColumnFacts, *, body: bool) -> _Found:
    """Return whether a column that is named like weights holds numbers that can be weights."""
    total = 0.0 if facts.numbers is None else float(facts.numbers.sum())
    held = 0 if facts.numbers is None else len(facts.numbers)
    low, high = _BODY_WEIGHTS
    doubts: list[tuple[bool, _Found]] = [
        (
            names_body(facts.name) or names_body(facts.label) or "birth" in words_in(facts.name),
            ("numbers", "it is named like a measure of the body"),
        ),
        (
            held < facts.records or facts.low <= 0 or not np.isfinite(total),
            ("numbers", "named like weights, but some are missing, infinite or not above 0"),
        ),
        (
            not facts.parsed,
            ("numbers", "named like weights, but its commas may part thousands: give `decimal`"),
        ),
        (
            total < _LEAST_WEIGHT * facts.records,
            (
                "numbers",
                "named like weights, but their sum is about the number of records: they count no people",
            ),
        ),
        (
            body and low <= facts.low and facts.high <= high,
            ("numbers", "beside other measures of the body, these may be kilograms"),
        ),
        (
            facts.own_values and facts.running,
            ("identifier", "a different whole number in every record: a running number"),
        ),
    ]
    sure: _Found = "weights", "survey weights, by its name and a sum above the number of records"
    return next((found for doubt, found in doubts if doubt), sure)


def _identifies(facts: ColumnFacts, match: TopicMatch | None) -> _Found | None:
    """Return the role of a column whose values tell one record, or one household, from all others."""
    topic = None if match is None else match.topic
    known = topic is not None and topic.known > 0
    if topic in (PLACE, INSTITUTION) and facts.distinct * _RECORDS_EACH <= facts.present:
        return None
    if names_household(facts.name) and _groups_people(facts):
        return "household", "household numbers, by its name and its repeated values"
    if (
        names_somebody(facts.name)
        and _many(facts)
        and facts.text
        and not facts.numeric
        and not known
    ):
        return "personal", "named like names, addresses or contacts of people"
    if (names_identifier(facts.name) or names_household(facts.name)) and _many(facts):
        return "identifier", "named like an identifier"
    alone = facts.own_values and not known and (not facts.numeric or facts.running)
    long = facts.length > _LONG and facts.distinct > _OWN * facts.present
    remarks = alone and facts.missing > _GAPS * facts.records
    if facts.text and (long or remarks):
        return "personal", "free text, which may name people"
    return ("identifier", "a different value in every record") if alone else None


def _as_categories(one: JudgedColumn) -> JudgedColumn:
    """Return a column with its topic if its values make categories, and else the reason why not."""
    facts, match = one.facts, one.match
    topic = None if match is None else match.topic
    if topic in (AGE, BIRTH_YEAR) and (bands := bands_of(facts)):
        # Codes that the file declares missing are in no band.
        missing = facts.records - (0 if facts.numbers is None else len(facts.numbers))
        return replace(one, guess=replace(one.guess, bands=bands, missing=missing))
    counts = f"{facts.distinct:,}"
    coded = topic is not None and topic not in (AGE, BIRTH_YEAR)
    measured = facts.numeric and not facts.labelled
    if measured and not facts.whole and facts.distinct > _FEW_FRACTIONS:
        return replace(one.told("numbers", f"{counts} distinct numbers: a measurement"), match=None)
    if measured and facts.distinct > _FEW_NUMBERS and not coded:
        why = f"{counts} distinct numbers; to use it as a key, give bands"
        return replace(one.told("numbers", why), match=None)
    most = MOST_PLACES if topic in (PLACE, INSTITUTION) else MANY
    if facts.distinct > min(most, max(_SMALL, facts.present // _RECORDS_EACH)):
        why = f"{counts} categories, too many for a key; recode it if an intruder may know it"
        return replace(one.told("many", why), match=None)
    if topic is None:
        measure = measured and facts.distinct > _FEW_FRACTIONS
        why = f"{counts} categories; neither name nor label says that an intruder may know it"
        return one.told("numbers" if measure else "other", why)
    return one


_OLDEST = 120
_AGES = (0, 16, 25, 35, 45, 55, 65, 75, 85)
_YEARS = tuple(range(1900, 2021, 10))


def bands_of(facts: ColumnFacts) -> list[int]:
    """Return the lower bounds of bands for ages or years of birth; none where they are categories.

    The bounds are those of every file; bands that nobody is in are left out.
    """
    numbers = facts.numbers
    if numbers is None or not facts.parsed or facts.labelled or not len(numbers):
        return []
    if facts.distinct <= _SMALL or not np.isfinite(numbers).all():
        return []
    low, high = np.quantile(numbers, (0.1, 0.9))  # codes such as 999 lie outside
    usual = _AGES if high <= _OLDEST else _YEARS if low >= _YEARS[0] else ()
    if not usual:
        return []
    first = usual[0]
    while first > facts.low:  # codes below 0, or years before 1900, make a band of their own
        first = -10 if first == 0 else first * 10 if first < 0 else first - 100
    bounds = [first, *(one for one in usual if one > first)]
    used = [
        bound
        for bound, end in zip(bounds, [*bounds[1:], float("inf")], strict=True)
        if ((numbers >= bound) & (numbers < end)).any()
    ]
    return used if len(used) > 1 else []


def best_weights(found: Sequence[JudgedColumn]) -> str | None:
    """Return the weights to use: those of people before others, then those that stand for many."""

    def order(one: JudgedColumn) -> tuple[int, bool, int]:
        numbers = one.facts.numbers
        low = numbers is None or float(numbers.mean()) < _LOW_WEIGHTS
        return -weights_of_people(one.name), low, len(words_in(one.name))

    return min(found, key=order).name if found else None
