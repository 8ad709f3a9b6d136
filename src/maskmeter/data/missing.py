"""Missing codes: values such as "NA" or -9 that stand for a missing value of a key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import is_number, shown
from maskmeter.data.matching import form_of
from maskmeter.errors import InputError
from maskmeter.formats.codebook import Codebook
from maskmeter.plurals import counted

Given: TypeAlias = "Mapping[str, Sequence[str | float]]"


@dataclass(frozen=True, repr=False)
class MissingCodes:
    """The values of some keys that count as missing, as they were given and as forms to compare by.

    Codes are compared by value: -9 stands for the number, and for the text "-9" in delimited text,
    with or without spaces around it. A text may also be the label of one value.

    >>> codes = MissingCodes.of({"marital": ["NA", -9]}, ["sex", "marital"])
    >>> codes.among("marital", ["1", " -9", "NA", "-09"]), codes.among("sex", ["NA"])
    ([' -9', 'NA'], [])
    """

    given: dict[str, list[str | float]] = field(default_factory=dict)
    forms: dict[str, frozenset[Hashable]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, given: Given | None, keys: Sequence[str], codebook: Codebook | None = None
    ) -> MissingCodes:
        """Return the missing codes of keys; the codebook of a file tells what its labels name."""
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise InputError(
                "`missing_codes` must be a dictionary of lists, such as {'marital': ['NA', -9]}, not"
                f" {shown(given)}."
            )
        for name in given:
            if name not in keys:
                raise InputError(
                    f"`missing_codes` names {shown(name)}, which is not one of the keys. Name a key."
                )
        listed = {name: _checked(name, codes) for name, codes in given.items()}
        book = Codebook() if codebook is None else codebook
        return cls(listed, {name: _forms(name, codes, book) for name, codes in listed.items()})

    def without(self, names: Collection[str]) -> MissingCodes:
        """Return the codes of the other keys, as when those of some have been taken out already."""
        kept = {name: forms for name, forms in self.forms.items() if name not in names}
        return MissingCodes(self.given, kept)

    def among(self, name: str, values: Sequence[Any]) -> list[Any]:
        """Return those of some values of a key that are codes for missing."""
        forms = self.forms.get(name, ())
        return [value for value in values if form_of(value) in forms] if forms else []

    def rows(self, column: nw.Series[Any]) -> NDArray[np.bool_]:
        """Return which rows of a column hold a code for missing."""
        if not self.forms.get(column.name):
            return np.zeros(len(column), dtype=np.bool_)
        try:
            codes = self.among(column.name, column.drop_nulls().unique().to_list())
            return np.asarray(column.is_in(codes).fill_null(value=False).to_numpy(), dtype=np.bool_)
        except Exception:  # noqa: BLE001 - values of several types, say: look at each by itself
            forms = self.forms[column.name]
            return np.array([form_of(value) in forms for value in column.to_list()], dtype=np.bool_)


def commonest(values: Sequence[Any], times: Sequence[int] | NDArray[np.integer]) -> int:
    """Return the place of the commonest of some values, each of which occurs so many times.

    The order of the values does not matter: among equally common ones a missing value comes first,
    then the first text.

    >>> commonest(["NA", None, -9, "NA"], [2, 2, 3, 2]), commonest(["b", "a"], [1, 1])
    (0, 1)
    """
    plain = [None if value != value else value for value in values]  # noqa: PLR0124 - NaN
    total: Counter[Any] = Counter()
    for value, number in zip(plain, times, strict=True):
        total[value] += int(number)
    best = min(total, key=lambda value: (-total[value], value is not None, str(value)))
    return plain.index(best)


def _checked(name: str, codes: object) -> list[str | float]:
    listed = list(codes) if isinstance(codes, list | tuple) else []
    if not listed or not all(isinstance(code, str) or is_number(code) for code in listed):
        raise InputError(
            f"`missing_codes` of {name!r} must be a list of texts or numbers, such as ['NA', -9]."
        )
    return listed


def _forms(name: str, codes: Sequence[str | float], book: Codebook) -> frozenset[Hashable]:
    """Return what values are compared with: the codes themselves, and the values that labels name."""
    forms, labels = {form_of(code) for code in codes}, book[name].value_labels
    values = {form_of(value) for value in labels}
    for code in codes:
        named = [value for value, label in labels.items() if label.strip() == str(code).strip()]
        if form_of(code) in values or not named:
            continue
        if len(named) > 1:
            raise InputError(
                f"`missing_codes` of {name!r} names the label {code!r}, which"
                f" {counted(len(named), 'value')} have. List the values instead."
            )
        forms.add(form_of(named[0]))
    return frozenset(forms)
