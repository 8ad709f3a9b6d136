"""What can be counted in a column of a file: its values, their range, and whether they are categories."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl

from maskmeter.formats.codebook import Variable
from maskmeter.formats.numbers import decimal_mark, numbers_in
from maskmeter.formats.statistical import is_tagged
from maskmeter.release_check.columns import are_dates
from maskmeter.types import Array, Integers

_DATED = re.compile(r"%-?t[cCd]|[AEJS]?DATE|YMDHMS|MOYR|QYR|WKYR", re.IGNORECASE)
_LABELLED = 0.5  # share of the values that must be labelled, so that they are categories


@dataclass(frozen=True, eq=False, repr=False)
class ColumnFacts:
    """A column of a file, counted. `numbers` holds those of a numeric column, without missing ones."""

    name: str
    label: str
    records: int
    present: int
    distinct: int
    largest: float  # share of the commonest value among those present
    effective: float  # number of equally common values that would tell records apart as well
    numbers: Array | None = None
    parsed: bool = True  # False where commas of numbers may part thousands: they are not read
    labelled: bool = False
    dates: bool = False
    nested: bool = False
    text: bool = False
    length: float = 0.0  # mean number of characters of texts

    @classmethod
    def of(cls, values: pl.Series, variable: Variable) -> ColumnFacts:
        """Return the facts of a column; values that the file declares missing count as numbers do not.

        >>> facts = ColumnFacts.of(pl.Series("age", ["30", "41", None, "30"]), Variable("age"))
        >>> facts.distinct, facts.present, facts.whole, facts.low
        (2, 3, True, 30.0)
        """
        kind, records = values.dtype, len(values)
        label = "" if variable.label == values.name else " ".join(variable.label.split())
        if kind.is_nested() or kind in (pl.Object, pl.Null, pl.Binary):
            held = records - values.null_count()
            return cls(values.name, label, records, held, 0, 1.0, 1.0, nested=True)
        present = values.drop_nulls()
        if kind.is_float():
            present = present.filter(~present.is_nan())
        found = present.alias("value").value_counts()
        counts, distinct = found["count"].to_numpy(), found["value"]
        shares = counts / max(len(present), 1)
        text = kind in (pl.String, pl.Categorical) or isinstance(kind, pl.Enum)
        # Of texts the distinct ones tell all: there are few of them in most columns.
        texts = distinct.cast(pl.String) if text else None
        if texts is None:
            numbers, parsed = _numbers(present)
        else:
            numbers, parsed = _numbers_in(texts, counts, tagged=is_tagged(kind))
        return cls(
            values.name,
            label,
            records,
            len(present),
            len(shares),
            float(shares.max(initial=0.0)),
            float(np.exp(-(shares * np.log(shares)).sum())),
            None if numbers is None else _declared(numbers, variable),
            parsed,
            _labelled(distinct, variable),
            kind.is_temporal()
            or bool(_DATED.match(variable.format))
            or (texts is not None and are_dates(texts)),
            text=text,
            length=0.0 if texts is None else float(texts.str.len_chars().to_numpy() @ shares),
        )

    @property
    def missing(self) -> int:
        """Number of records without a value."""
        return self.records - self.present

    @property
    def numeric(self) -> bool:
        """Whether all values are numbers, though they may be written as text."""
        return self.numbers is not None

    @property
    def low(self) -> float:
        """The least number; infinite where there is none."""
        return float("inf") if self.numbers is None else float(self.numbers.min(initial=np.inf))

    @property
    def high(self) -> float:
        """The largest number."""
        return float("-inf") if self.numbers is None else float(self.numbers.max(initial=-np.inf))

    @property
    def whole(self) -> bool:
        """Whether all are whole numbers."""
        return self.numbers is not None and bool((self.numbers == np.rint(self.numbers)).all())

    @property
    def own_values(self) -> bool:
        """Whether every record has a value of its own."""
        return self.distinct == self.present > 1

    @property
    def running(self) -> bool:
        """Whether whole numbers are close together, as running numbers are and incomes are not."""
        return self.whole and self.high - self.low < 10 * self.present


def _numbers(present: pl.Series) -> tuple[Array | None, bool]:
    """Return the numbers of a column, None where it holds anything else, and whether they are sure."""
    if present.dtype.is_numeric() and len(present):
        return present.cast(pl.Float64).to_numpy(), True
    return None, True


def _numbers_in(texts: pl.Series, counts: Integers, *, tagged: bool) -> tuple[Array | None, bool]:
    """Return the numbers that texts stand for, each as often as it is held, and whether they are sure.

    Beside tagged missing values there may be texts that are no numbers.
    """
    numbers = numbers_in(texts)
    if not len(texts) or (numbers.null_count() and not tagged):
        return None, True
    known = numbers.is_not_null().to_numpy()
    every = np.repeat(numbers.to_numpy()[known], counts[known])
    return every, decimal_mark(texts) is not None


def _declared(numbers: Array, variable: Variable) -> Array:
    """Return numbers without those that the file declares missing."""
    for low, high in variable.missing:
        if not isinstance(low, str) and not isinstance(high, str):
            numbers = numbers[(numbers < low) | (numbers > high)]
    return numbers


def _labelled(held: pl.Series, variable: Variable) -> bool:
    """Return True when most values have labels: then they are codes of categories."""
    if not variable.values:
        return False
    values = held.to_list()
    return sum(variable.label_of(value) is not None for value in values) >= _LABELLED * len(values)
