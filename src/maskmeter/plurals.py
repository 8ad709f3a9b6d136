"""Counts with their words: "1 record", "1,200 records"."""

from __future__ import annotations


def counted(number: float, one: str, many: str = "") -> str:
    """Return a number and what it counts, in the singular or the plural.

    >>> counted(1, "term"), counted(1200, "record"), counted(0, "category", "categories")
    ('1 term', '1,200 records', '0 categories')
    >>> counted(1.0, "correct match", "correct matches"), counted(2.5, "unit")
    ('1 correct match', '2.5 units')
    """
    written = f"{number:,.15g}" if isinstance(number, float) else f"{number:,}"
    return f"{written} {plural(number, one, many)}"


def plural(number: float | str, one: str, many: str = "") -> str:
    """Return the form of a word that goes with a number; `many` is `one` with an s if not given.

    A number that is told in words, such as "fewer than 10", counts as more than one.

    >>> plural(1, "has", "have"), plural(2, "has", "have"), plural("about 70", "key")
    ('has', 'have', 'keys')
    """
    return one if number in (1, "1") else many or f"{one}s"
