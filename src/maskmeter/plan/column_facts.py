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
from maskmeter.types import Array

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
        shares = present.alias("value").value_counts()["count"].to_numpy() / max(len(present), 1)
        text = kind in (pl.String, pl.Categorical) or isinstance(kind, pl.Enum)
        texts = present.cast(pl.String) if text else None
        numbers, parsed = _numbers(present, texts)
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
            _labelled(present, variable),
            kind.is_temporal()
            or bool(_DATED.match(variable.format))
            or (texts is not None and are_dates(texts)),
            text=text,
            length=0.0 if texts is None else _mean_length(texts),
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


def _numbers(present: pl.Series, texts: pl.Series | None) -> tuple[Array | None, bool]:
    """Return the numbers of a column, None where it holds anything else, and whether they are sure."""
    if present.dtype.is_numeric() and len(present):
        return present.cast(pl.Float64).to_numpy(), True
    if texts is None or not len(texts):
        return None, True
    numbers = numbers_in(texts)
    if numbers.null_count():
        if not is_tagged(present.dtype):
            return None, True
        numbers = numbers.drop_nulls()
    return numbers.to_numpy(), decimal_mark(texts) is not None


def _declared(numbers: Array, variable: Variable) -> Array:
    """Return numbers without those that the file declares missing."""
    for low, high in variable.missing:
        if not isinstance(low, str) and not isinstance(high, str):
            numbers = numbers[(numbers < low) | (numbers > high)]
    return numbers


def _labelled(present: pl.Series, variable: Variable) -> bool:
    """Return True when most values have labels: then they are codes of categories."""
    if not variable.values:
        return False
    values = present.unique().to_list()
    return sum(variable.label_of(value) is not None for value in values) >= _LABELLED * len(values)


def _mean_length(texts: pl.Series) -> float:
    return float(texts.str.len_chars().sum()) / max(len(texts), 1)
