"""What steps do to records that stay in an engine, one batch of them at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.data.at_source import Batch
from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata
from maskmeter.data.recounting import collected, parts_at_source, recounted
from maskmeter.errors import InputError
from maskmeter.mechanism import Mechanism
from maskmeter.perturb.step import Perturbed, Step
from maskmeter.streams import uniforms_of
from maskmeter.types import Integers


@dataclass(frozen=True, eq=False, repr=False)
class _Change:
    """A change that alters no keys, carries no columns and leaves nobody out, unless it says so."""

    @property
    def alters(self) -> tuple[int, ...]:
        """Positions of the keys whose codes it changes."""
        return ()

    @property
    def needs(self) -> tuple[int, ...]:
        """Positions of the keys whose codes it must know."""
        return ()

    @property
    def carries(self) -> tuple[str, ...]:
        """Other columns that travel with a key."""
        return ()

    @property
    def thins(self) -> bool:
        """Whether it leaves records out."""
        return False


@dataclass(frozen=True, eq=False, repr=False)
class Drawn(_Change):
    """Keys that are drawn anew, for each record by itself."""

    mechanism: Mechanism
    seed: int = field(repr=False)
    label: str

    @property
    def alters(self) -> tuple[int, ...]:
        """Positions of the keys that are drawn."""
        return tuple(sorted({c for one in self.mechanism.factors for c in one.columns}))

    @property
    def needs(self) -> tuple[int, ...]:
        """Positions of the keys that the draw depends on."""
        return tuple(sorted({c for one in self.mechanism.factors for c in one.needed}))

    def __call__(self, batch: Batch) -> Batch:
        """Return the records with drawn keys."""
        drawn = self.mechanism.drawn(batch.codes, batch.numbers, seed=self.seed, label=self.label)
        return replace(batch, codes=drawn)


@dataclass(frozen=True, eq=False, repr=False)
class Moved(_Change):
    """New values of some keys for the records that a step moved, found by their numbers."""

    keys: tuple[int, ...]
    numbers: NDArray[np.uint64]  # of the records that moved, rising
    codes: Codes  # a column for each of the keys
    carried: Mapping[str, pl.Series]  # what these records have in other columns now

    @classmethod
    def of(cls, before: Microdata, after: Microdata, keys: tuple[int, ...]) -> Moved:
        """Return the moves between two states of the same records, all in memory."""
        rows = np.flatnonzero((before.codes != after.codes).any(axis=1))
        for origin in after.carried.values():
            rows = np.union1d(rows, np.flatnonzero(origin != np.arange(len(origin))))
        if before.ids is None:
            raise InputError("Records that move between engines need numbers.")
        rows = before.in_order(rows)
        carried = {
            name: after.source.columns([name])[name].to_polars().gather(origin[rows])
            for name, origin in after.carried.items()
            if after.source is not None
        }
        return cls(keys, before.ids[rows], after.codes[rows][:, keys], carried)

    @property
    def alters(self) -> tuple[int, ...]:
        """Positions of the keys that moved."""
        return self.keys

    @property
    def carries(self) -> tuple[str, ...]:
        """Other columns that travel with a key."""
        return tuple(self.carried)

    def __call__(self, batch: Batch) -> Batch:
        """Return the records with the values of those that moved."""
        if not len(self.numbers):
            return batch
        own = np.asarray(batch.numbers, dtype=np.uint64)
        place = np.minimum(np.searchsorted(self.numbers, own), len(self.numbers) - 1)
        moved = self.numbers[place] == own
        codes = np.array(batch.codes, order="F")
        for at, key in enumerate(self.keys):
            codes[moved, key] = self.codes[place[moved], at]
        columns = dict(batch.carried)
        for name, values in self.carried.items():
            new, old = values.gather(place), columns[name]
            columns[name] = new.zip_with(pl.Series(moved), old.cast(new.dtype)).alias(name)
        return replace(batch, codes=codes, carried=columns)


@dataclass(frozen=True, eq=False, repr=False)
class Recoded(_Change):
    """A key whose categories were joined; `group` has the new code of each old one."""

    key: int
    group: Integers

    @property
    def needs(self) -> tuple[int, ...]:
        """Position of the key."""
        return (self.key,)

    def __call__(self, batch: Batch) -> Batch:
        """Return the records with the groups as categories, in truth as well."""
        true, codes = (np.array(one, order="F") for one in (batch.true, batch.codes))
        true[:, self.key] = self.group[true[:, self.key]]
        codes[:, self.key] = self.group[codes[:, self.key]]
        return replace(batch, true=true, codes=codes)


@dataclass(frozen=True, eq=False, repr=False)
class Thinned(_Change):
    """Records that are kept with some probability, each by itself."""

    fraction: float
    seed: int = field(repr=False)
    label: str

    @property
    def thins(self) -> bool:
        """Whether it leaves records out."""
        return True

    def __call__(self, batch: Batch) -> Batch:
        """Return the same records, with those marked that are left out."""
        kept = uniforms_of(self.seed, self.label, batch.numbers) < self.fraction
        return replace(batch, kept=kept if batch.kept is None else batch.kept & kept)


def exchanged(
    step: Step, data: Microdata, truth: Microdata, *, seed: int, carry: tuple[str, ...] = ()
) -> Perturbed:
    """Return records of an engine after a step that needs everybody.

    Numbers and codes of all records come into memory, and of other columns those that are carried;
    who moved is then looked up where the records are.
    """
    engine, at = parts_at_source(data)
    at.check_ids(engine)
    held, true = collected(data, carry)
    done = step.perturb(held, held.with_codes(true), seed=seed)
    keys = tuple(data.space.index(name) for name in step.altered_keys)
    found = recounted(data, truth, Moved.of(held, done.data, keys))
    return replace(done, data=found.after, truth=found.truth, moved=found.moved)
