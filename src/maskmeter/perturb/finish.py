"""Finishing a release: rows in random order, columns left out, identifiers numbered anew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl

from maskmeter.checks import shown
from maskmeter.data.ids import id_numbers
from maskmeter.data.microdata import Microdata
from maskmeter.data.source import Source
from maskmeter.errors import InputError
from maskmeter.plurals import counted
from maskmeter.streams import uniforms_of
from maskmeter.types import Integers

SHUFFLED, RENUMBERED = "release/shuffle", "release/renumber"  # names of random streams


LARGEST = 2**52  # random numbers; all are exact as doubles, which SPSS stores
_WHOLE = r"^(0|-?[1-9]\d{0,17})$"  # a number as it is written plainly: "007" is a text


class Finished(NamedTuple):
    """Records after finishing, the truth behind them, and which of the earlier rows each was."""

    data: Microdata
    truth: Microdata
    order: Integers | None


@dataclass(frozen=True)
class Finish:
    """What is done to a released file as a whole, so that it does not give itself away.

    `shuffle` puts the records in a random order, with the members of a `household` together unless
    its number is dropped: their place would give it away. `drop` are columns that are left out, `renumber` columns whose values become random numbers,
    the same for records that share a value.

    >>> bool(Finish()), bool(Finish(shuffle=True))
    (False, True)
    """

    shuffle: bool = False
    drop: tuple[str, ...] = ()
    renumber: tuple[str, ...] = ()
    household: str | None = None

    @classmethod
    def of(
        cls,
        *,
        shuffle: bool = False,
        drop: Iterable[str] = (),
        renumber: Iterable[str] = (),
        household: str | None = None,
    ) -> Finish:
        """Return what is to be done, once it was checked."""
        if not isinstance(shuffle, bool):
            raise InputError(f"`shuffle` must be True or False, not {shown(shuffle)}.")
        dropped, numbered = _names(drop, "drop"), _names(renumber, "renumber")
        both = [name for name in numbered if name in dropped]
        if both:
            raise InputError(f"{both[0]!r} is to be dropped and to be renumbered: choose one.")
        return cls(shuffle, dropped, numbered, household)

    def __bool__(self) -> bool:
        """Return True when there is something to do."""
        return self.shuffle or bool(self.drop or self.renumber)

    @property
    def together(self) -> str | None:
        """The household number whose members stay together."""
        return None if self.household in self.drop else self.household

    def describe(self, *, named: bool) -> tuple[str, ...]:
        """Return what was done in sentences; columns are `named` or counted.

        >>> Finish(shuffle=True, drop=("pid",)).describe(named=True)
        ('The rows were put in a random order.', 'Left out: pid.')
        """
        said = []
        if self.shuffle:
            together = ", with the members of a household together" if self.together else ""
            said.append(f"The rows were put in a random order{together}.")
        for words, columns in (("Left out", self.drop), ("Numbered anew at random", self.renumber)):
            if columns:
                told = ", ".join(columns) if named else counted(len(columns), "column")
                said.append(f"{words}: {told}.")
        return tuple(said)

    def apply(self, data: Microdata, truth: Microdata, *, seed: int) -> Finished:
        """Return the finished records; both files have the same ones."""
        if not self:
            return Finished(data, truth, None)
        data.check_held("Shuffling records, dropping or renumbering columns")
        source = self._check_columns(data)
        numbers = {name: _new_numbers(source, name, seed) for name in self.renumber}
        rows = np.arange(len(data)) if data.rows is None else data.rows
        finished = replace(
            data,
            dropped=(*data.dropped, *self.drop),
            renumbered={**data.renumbered, **{name: one[rows] for name, one in numbers.items()}},
        )
        if not self.shuffle:
            return Finished(finished, truth, None)
        order = self._order(data, seed)
        return Finished(finished.take(order), truth.take(order), order)

    def _check_columns(self, data: Microdata) -> Source:
        """Return the source of the records; refuse columns that it lacks, and those that are keys."""
        if data.source is None or not data.whole:
            raise InputError(
                "These records do not come from a whole file or data frame, so the file cannot be"
                " finished."
            )
        named = {"drop": self.drop, "renumber": self.renumber}
        for entry, names in named.items():
            for name in data.source.check_names(names):
                if name in data.space.names:
                    raise InputError(
                        f"`{entry}` names {name!r}, which is a key: remove it from `keys` first."
                    )
        weights = dict(data.reading).get("weights")
        if weights in self.renumber:
            raise InputError(f"`renumber` names {weights!r}, the weights: leave it out.")
        carried = [name for name in self.renumber if name in data.carried]
        if carried:
            raise InputError(
                f"`renumber` names {carried[0]!r}, which travels with a key: drop it instead."
            )
        return data.source

    def _order(self, data: Microdata, seed: int) -> Integers:
        """Return the records in random order; the members of a household keep theirs."""
        lots = uniforms_of(seed, SHUFFLED, data.numbers)
        if self.together is None:
            return np.argsort(lots, kind="stable")
        home = data.groups(self.together)
        every = data.in_order(np.arange(len(data)))
        _, first = np.unique(home[every], return_index=True)  # whose lot is that of the household
        return every[np.argsort(lots[every[first]][home[every]], kind="stable")]


def _names(names: Iterable[str], entry: str) -> tuple[str, ...]:
    listed = (names,) if isinstance(names, str) else tuple(names)
    if not all(isinstance(name, str) for name in listed):
        raise InputError(f"`{entry}` must be a list of columns, not {shown(names)}.")
    return tuple(dict.fromkeys(listed))


def _new_numbers(source: Source, name: str, seed: int) -> Integers:
    """Return a random number for each record of a source, which its value alone decides; 0 if missing.

    So the same ids get the same numbers in every file that this seed releases, be they text or not.
    """
    ids = _as_ids(source.columns([name])[name].to_polars())
    numbers = np.zeros(len(ids), dtype=np.int64)
    present = ids.is_not_null().to_numpy()
    lots = uniforms_of(seed, f"{RENUMBERED}/{name}", id_numbers(ids.drop_nulls()))
    numbers[present] = 1 + np.floor(lots * LARGEST).astype(np.int64)
    held = int(ids.drop_nulls().n_unique())
    if len(np.unique(numbers[present])) < held:  # one chance in 10,000 with a million ids
        raise InputError(
            f"Two of {counted(held, 'value')} of {name!r} drew the same number. Protect the file again."
        )
    return numbers


def _as_ids(values: pl.Series) -> pl.Series:
    """Return values as ids: whole numbers, also where they are written as text, or texts."""
    if isinstance(values.dtype, pl.Enum | pl.Categorical):
        values = values.cast(pl.String)
    if values.dtype.is_float():
        values = values.fill_nan(None)
        whole = (values.drop_nulls() == values.drop_nulls().floor()).all()
        values = values.cast(pl.Int64, strict=False) if whole else values
    if values.dtype != pl.String and not values.dtype.is_integer():
        raise InputError(
            f"`renumber` names {values.name!r}, which holds neither text nor whole numbers: drop it"
            " instead."
        )
    if values.dtype == pl.String and values.drop_nulls().str.contains(_WHOLE).all():
        return values.cast(pl.Int64)
    return values
