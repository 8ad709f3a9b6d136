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

SHUFFLED, RENUMBERED = "shuffle", "renumber"  # names of random streams


class Finished(NamedTuple):
    """Records after finishing, the truth behind them, and which of the earlier rows each was."""

    data: Microdata
    truth: Microdata
    order: Integers | None


@dataclass(frozen=True)
class Finish:
    """What is done to a released file as a whole, so that it does not give itself away.

    `shuffle` puts the records in a random order, with the members of a `household` together;
    `drop` are columns that are left out, `renumber` columns whose values become random numbers,
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

    def describe(self, *, named: bool) -> tuple[str, ...]:
        """Return what was done in sentences; columns are `named` or counted.

        >>> Finish(shuffle=True, drop=("pid",)).describe(named=True)
        ('The rows were put in a random order.', 'Left out: pid.')
        """
        said = []
        if self.shuffle:
            together = ", with the members of a household together" if self.household else ""
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
        if self.household is None:
            return np.argsort(lots, kind="stable")
        home = data.groups(self.household)
        every = data.in_order(np.arange(len(data)))
        _, first = np.unique(home[every], return_index=True)  # whose lot is that of the household
        return every[np.argsort(lots[every[first]][home[every]], kind="stable")]


def _names(names: Iterable[str], entry: str) -> tuple[str, ...]:
    listed = (names,) if isinstance(names, str) else tuple(names)
    if not all(isinstance(name, str) for name in listed):
        raise InputError(f"`{entry}` must be a list of columns, not {shown(names)}.")
    return tuple(dict.fromkeys(listed))


def _new_numbers(source: Source, name: str, seed: int) -> Integers:
    """Return a random number for each record of a source, the same for the same value; 0 if missing.

    They go by the values, whatever their order: the same ids get the same numbers in every run with
    this seed.
    """
    values = source.columns([name])[name].to_polars()
    if isinstance(values.dtype, pl.Enum | pl.Categorical):
        values = values.cast(pl.String)
    present = values.is_not_null()
    codes = values.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    held = (
        pl.DataFrame({"code": codes, "value": values}).filter(present).unique("code").sort("code")
    )
    lots = uniforms_of(seed, f"{RENUMBERED}/{name}", id_numbers(held["value"]))
    numbers: Integers = np.zeros(len(held) + 1, dtype=np.int64)
    numbers[1:][np.argsort(lots, kind="stable")] = np.arange(1, len(held) + 1)
    of_record: Integers = numbers[codes]
    return of_record
