"""Values of one key in two files of different types: text in one, numbers or labelled codes in the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple, TypeAlias

from maskmeter.data.keys import Key, KeySpace
from maskmeter.errors import MatchError
from maskmeter.formats.numbers import plain

_NUMBER = re.compile(r"(-?(?:0|[1-9]\d*))(\.\d+)?")  # no leading zeros: "01" is a code
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_CASES = (str.lower, str.title, str.upper)

Labels: TypeAlias = "Mapping[Hashable, str]"


class Match(NamedTuple):
    """A key with the categories of another, in the words of a file, and the code of each value there."""

    key: Key
    codes: list[int]


class _Rule(NamedTuple):
    """One way in which values match: those with the same form; `spell` writes a form as a file does."""

    form: Callable[[Hashable, str | None], Hashable]
    spell: Callable[[Hashable, Sequence[Hashable], Labels], Hashable]


def matched(values: Sequence[Hashable], key: Key, labels: Labels) -> Match:
    """Return a key in the words of a file whose distinct values stand for categories of the key.

    Values match by number ("1" and 1, not "01"), as true or false, as days, or by their labels.
    Every value must match exactly one category, no two the same, and categories that no record
    has must have a value in the file too. What can be matched in two ways is refused.

    >>> found = matched(["2", "1"], Key("sex", [1, 2, 3]), {})
    >>> found.key.categories, found.codes
    (('1', '2', '3'), [1, 0])
    """
    found: list[Match] = []
    fewest, lacking = len(values), 0
    for rule in _RULES:
        codes, forms = _codes(rule, values, key, labels)
        fewest = min(fewest, len(values) if codes is None else codes.count(-1))
        if codes is None or -1 in codes:
            continue
        words = [None if form is None else rule.spell(form, values, labels) for form in forms]
        for code, value in zip(codes, values, strict=True):
            words[code] = value
        gaps = words.count(None) - key.categories.count(None)
        lacking = max(lacking, gaps)
        named = key if gaps else Key(key.name, words, labels=map(labels.get, words))
        found.append(Match(named, codes))
    if not found or lacking or any(one.codes != found[0].codes for one in found):
        held = [value for value in key.categories if value is not None]
        kinds = kind_of(values), kind_of(held)
        raise MatchError(key.name, kinds, (fewest, len(values)), (lacking, len(held)))
    return found[0]


def _codes(
    rule: _Rule, values: Sequence[Hashable], key: Key, labels: Labels
) -> tuple[list[int] | None, list[Hashable]]:
    """Return the code of each value by a rule, -1 for none, and the forms of all categories.

    The codes are None where two values or two categories have the same form.
    """
    theirs = dict(zip(key.categories, key.labels, strict=False))
    own = [rule.form(value, labels.get(value)) for value in values]
    forms = [rule.form(value, theirs.get(value)) for value in key.categories]
    known = {form: code for code, form in enumerate(forms) if form is not None}
    twice = len(known) < len(forms) - forms.count(None)
    some = [form for form in own if form is not None]
    if twice or len(set(some)) < len(some):
        return None, forms
    return [-1 if form is None else known.get(form, -1) for form in own], forms


def respelled(space: KeySpace, like: KeySpace) -> KeySpace:
    """Return a key space in which keys of other types than those of `like` have its words.

    Keys that share a category with the same key of `like` stay as they are.

    >>> census, survey = KeySpace([Key("sex", [1, 2, 9])]), KeySpace([Key("sex", ["1", "2"])])
    >>> respelled(census, survey).keys[0].categories
    ('1', '2', 9)
    """
    return KeySpace(
        _respelled(key, like[key.name]) if key.name in like.names else key for key in space.keys
    )


def _respelled(key: Key, like: Key) -> Key:
    words = [value for value in like.categories if value is not None]
    held = [value for value in key.categories if value is not None]
    if any(key.position(value) >= 0 for value in words):
        return key
    labels = dict(zip(like.categories, like.labels, strict=False))
    try:
        codes = matched(words, key, {one: text for one, text in labels.items() if text}).codes
    except MatchError as error:
        if kind_of(words) == kind_of(held):  # other categories, not other types
            return key
        raise error.between("the sample", "the population") from None
    categories = list(key.categories)
    for code, word in zip(codes, words, strict=True):
        categories[code] = word
    return Key(key.name, categories, labels=key.labels)


def kind_of(values: Sequence[Hashable]) -> str:
    """Return what some values are, in a word.

    >>> kind_of(["a"]), kind_of([1, 2.5]), kind_of([True]), kind_of([1, "a"])
    ('text', 'numbers', 'true or false', 'values of several types')
    """
    for kind, types in _KINDS.items():
        if all(isinstance(value, types) for value in values):
            return kind
    return "values of several types"


_KINDS: dict[str, type | tuple[type, ...]] = {
    "text": str,
    "true or false": bool,
    "numbers": (int, float, Decimal),
    "dates": (date, datetime),
}


def form_of(value: Hashable) -> Hashable:
    """Return what a value is compared by: a number also if it is written as text, else its text.

    >>> form_of(" -9"), form_of(-9.0), form_of("-09"), form_of("NA ")
    (-9, -9, '-09', 'NA')
    """
    number = _number(value)
    return str(value).strip() if number is None else number


def _number(value: Hashable, _label: str | None = None) -> Hashable:
    """Return the number that a value is or is plainly written for, None if it is not one."""
    if isinstance(value, str):
        written = _NUMBER.fullmatch(value.strip())
        if written is None:
            return None
        whole = not (written[2] or "").strip(".0")
        return int(written[1]) if whole else float(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return plain(float(value)) if isinstance(value, Decimal) else plain(value)


def _truth(value: Hashable, _label: str | None) -> Hashable:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def _day(value: Hashable, _label: str | None) -> Hashable:
    if isinstance(value, str):
        return value.strip() if _DATE.fullmatch(value.strip()) else None
    if isinstance(value, datetime):
        return (
            value.date().isoformat()
            if value == datetime.combine(value, datetime.min.time())
            else None
        )
    return value.isoformat() if isinstance(value, date) else None


def _label(value: Hashable, label: str | None) -> Hashable:
    """Return the label of a value; a text without one is its own."""
    named = label or (value if isinstance(value, str) else "")
    return named.strip() or None


def _spelled_number(form: Hashable, values: Sequence[Hashable], _labels: Labels) -> Hashable:
    if not isinstance(values[0], str):
        return form
    tenths = all(str(value).strip().endswith(".0") for value in values)
    return f"{form}.0" if tenths and isinstance(form, int) else str(form)


def _spelled_truth(form: Hashable, values: Sequence[Hashable], _labels: Labels) -> Hashable:
    if not isinstance(values[0], str):
        return form
    cases = (case for case in _CASES if all(case(str(value)) == value for value in values))
    return next(cases, str.lower)(str(form))


def _spelled_day(form: Hashable, values: Sequence[Hashable], _labels: Labels) -> Hashable:
    if isinstance(values[0], str):
        return form
    kind = datetime if isinstance(values[0], datetime) else date
    return kind.fromisoformat(str(form))


def _spelled_label(form: Hashable, values: Sequence[Hashable], labels: Labels) -> Hashable:
    named = [value for value, label in labels.items() if label.strip() == form]
    if len(named) == 1:
        return named[0]
    return form if isinstance(values[0], str) and not named else None


_RULES = (
    _Rule(_number, _spelled_number),
    _Rule(_truth, _spelled_truth),
    _Rule(_day, _spelled_day),
    _Rule(_label, _spelled_label),
)
