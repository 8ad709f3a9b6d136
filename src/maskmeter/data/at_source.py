"""Records that stay in an engine: the code of their keys, and what was done to them since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.data.encoder import Encoder, released_values
from maskmeter.data.engines import FIRST, BatchMap, BatchRewrite, Engine, Written
from maskmeter.data.ids import id_numbers, repeated_ids
from maskmeter.data.keys import Codes, KeySpace
from maskmeter.errors import InputError
from maskmeter.streams import RecordNumbers


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Some records: their true codes, their present ones, and their numbers in random streams.

    `kept` says who is not left out. `carried` are columns that travelled with a key.
    """

    true: Codes
    codes: Codes
    numbers: RecordNumbers
    kept: NDArray[np.bool_] | None = None
    carried: Mapping[str, pl.Series] = field(default_factory=dict)


class RecordChange(Protocol):
    """What a step does to records wherever they are: to each by itself, by its codes and number."""

    @property
    def alters(self) -> tuple[int, ...]:
        """Positions of the keys whose codes it changes."""

    @property
    def needs(self) -> tuple[int, ...]:
        """Positions of the keys whose codes it must know."""

    @property
    def carries(self) -> tuple[str, ...]:
        """Other columns that travel with a key."""

    @property
    def thins(self) -> bool:
        """Whether it leaves records out."""

    def __call__(self, batch: Batch) -> Batch:
        """Return the records after the change."""


@dataclass(frozen=True, eq=False, repr=False)
class WeightColumn:
    """The distinct weights in a column, and the numbers that they are or stand for as text."""

    encoder: Encoder
    numbers: NDArray[np.float64]
    comma: bool = False  # whether texts have one as decimal mark

    @classmethod
    def of(cls, column: pl.Series, numbers: NDArray[np.float64]) -> WeightColumn:
        """Return the weights of a column that holds all of them, with their numbers."""
        places = np.arange(len(column))[:, None]
        comma = column.dtype == pl.String and column.str.contains(",", literal=True).any()
        return cls(Encoder.of(column.to_frame(), places), numbers, bool(comma))

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.encoder.names[0]

    @property
    def texts(self) -> bool:
        """Whether the column holds text."""
        return self.encoder.values[0].dtype == pl.String

    def weights(self, column: pl.Series) -> NDArray[np.float64]:
        """Return the weights of some records.

        >>> WeightColumn.of(pl.Series("w", ["1,5"]), np.array([1.5])).weights(pl.Series("w", ["1,5"]))
        array([1.5])
        """
        places = self.encoder(column.alias(self.name).to_frame())[:, 0]
        weights: NDArray[np.float64] = self.numbers[places]
        return weights

    def written(self, column: pl.Series, at: AtSource) -> pl.Series:
        """Return what is written for records of which some are left: text where there was text."""
        weights = pl.Series(self.name, at.scaled(self.weights(column)))
        if not self.texts:
            return weights
        texts = [str(one).replace(".", ",") if self.comma else str(one) for one in weights]
        return pl.Series(self.name, texts, dtype=pl.String)


@dataclass(frozen=True, eq=False, repr=False)
class AtSource:
    """How records in an engine become those of a file: their keys are encoded, then changed.

    `id` is the column that tells records apart, `first` the id of each row that stands for one
    record. `also` encodes other columns, which tables are made by.
    """

    encoder: Encoder
    id: str | None = None
    first: pl.Series | None = None
    weights: WeightColumn | None = None
    changes: tuple[RecordChange, ...] = ()
    shares: tuple[float, ...] = ()  # of the records that were kept, by one subsample after another
    also: Encoder | None = None

    def then(self, change: RecordChange) -> AtSource:
        """Return the same records after one more change."""
        return replace(self, changes=(*self.changes, change))

    def scaled(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights of records of which some are left."""
        for share in self.shares:  # one after another, as in memory
            weights = weights / share
        return weights

    @property
    def altered(self) -> tuple[int, ...]:
        """Positions of the keys whose codes were changed."""
        return tuple(sorted({at for one in self.changes for at in one.alters}))

    @property
    def thinned(self) -> bool:
        """Whether some records were left out."""
        return any(one.thins for one in self.changes)

    @property
    def reads(self) -> tuple[str, ...]:
        """Columns that batches must hold."""
        named = [*self.encoder.names, *([] if self.id is None else [self.id])]
        named += [] if self.also is None else self.also.names
        return tuple(dict.fromkeys([*named, *sorted(self.carried)]))

    @property
    def carried(self) -> frozenset[str]:
        """Other columns that travelled with a key."""
        return frozenset(name for one in self.changes for name in one.carries)

    def check_ids(self, engine: Engine) -> None:
        """Raise unless draws can tell the records apart: each by its id, or rows by their number."""
        if self.id is not None:
            repeated = engine.repeated_ids(self.id)
            if repeated:
                raise repeated_ids(self.id, repeated)
        elif not engine.ordered:
            raise InputError(
                f"The rows of {engine.label} have no fixed order here, so a draw must go by an id."
                " Name the column in which every record has its own: id=..., or --id."
            )
        elif self.thinned:
            raise InputError(
                "After a subsample, records that stay in an engine have no row numbers any more."
                " Name the column in which every record has its own id: id=..., or --id."
            )

    def batch(self, part: pl.DataFrame, start: int, only: Sequence[int] | None = None) -> Batch:
        """Return a batch of rows after all changes; `start` is the number of the first row."""
        codes = self.encoder(part, only)
        rows = range(start, start + len(part))
        numbers = rows if self.id is None else id_numbers(part[self.id])
        carried = {name: part[name] for name in self.carried}
        found = Batch(codes, codes, numbers, carried=carried)
        for change in self.changes:
            found = change(found)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class CellPairs:
    """What is counted of records in an engine: their true cell, and their cell before and after.

    `before` are the changes up to a step, `after` include it; `space` are the keys after it.
    """

    before: AtSource
    after: AtSource
    space: KeySpace

    @property
    def work(self) -> BatchMap:
        """The map from rows to cells."""
        at = self.after
        like: dict[str, str | None] = dict.fromkeys([*self._columns, *self.also])
        reads = at.reads
        if at.weights is not None:
            name = at.weights.name
            like["weights"], reads = name, tuple(dict.fromkeys((*reads, name)))
        if at.id is not None:
            like[FIRST] = at.id
        return BatchMap(reads, self, like)

    @property
    def also(self) -> list[str]:
        """What the codes of other columns are called among the counts."""
        other = self.after.also
        return [] if other is None else [f"also{at}" for at in range(len(other.names))]

    @property
    def _kinds(self) -> str:
        """True cells (t), those before a step (b) if there were others, and those after it (a)."""
        return "tba" if self.before.altered else "ta"

    @property
    def _columns(self) -> list[str]:
        words = len(self.space.words(np.zeros((0, len(self.space.keys)), dtype=np.int64)))
        return [f"{kind}{word}" for kind in self._kinds for word in range(words)]

    def __call__(self, part: pl.DataFrame, start: int) -> pl.DataFrame:
        """Return the cells of a batch of rows."""
        after = self.after.batch(part, start)
        words = self.space.words(after.true)
        if self.before.altered:
            words += self.space.words(self.before.batch(part, start).codes)
        words += self.space.words(after.codes)
        columns: dict[str, Any] = dict(zip(self._columns, words, strict=True))
        if self.after.also is not None:
            codes = self.after.also(part).astype(np.int64)
            columns |= dict(zip(self.also, codes.T, strict=True))
        if self.after.weights is not None:
            columns["weights"] = part[self.after.weights.name]
        if self.after.id is not None:
            columns[FIRST] = part[self.after.id]
        found = pl.DataFrame(columns)
        return found if after.kept is None else found.filter(after.kept)

    def codes_of(self, found: pl.DataFrame, kind: str) -> Codes:
        """Return true codes (t), those before (b) or after (a), of rows that were counted."""
        kind = kind if kind in self._kinds else "t"
        columns = [name for name in self._columns if name[0] == kind]
        return self.space.from_words([found[name].to_numpy() for name in columns])


@dataclass(frozen=True, eq=False, repr=False)
class RecordCodes:
    """The codes of all records in an engine, with their numbers and some columns of their own."""

    at: AtSource
    space: KeySpace
    also: tuple[str, ...] = ()

    @property
    def work(self) -> BatchMap:
        """The map from rows to codes, numbers and columns."""
        words = len(self.space.words(np.zeros((0, len(self.space.keys)), dtype=np.int64)))
        names = [f"{kind}{word}" for kind in "ta" for word in range(words)]
        like = dict.fromkeys([*names, "number"]) | {f"also {name}": name for name in self.also}
        return BatchMap(tuple(dict.fromkeys((*self.at.reads, *self.also))), self, like)

    def __call__(self, part: pl.DataFrame, start: int) -> pl.DataFrame:
        """Return the cells and numbers of a batch of rows."""
        batch = self.at.batch(part, start)
        words = {
            f"{kind}{at}": word
            for kind, codes in (("t", batch.true), ("a", batch.codes))
            for at, word in enumerate(self.space.words(codes))
        }
        numbers = np.asarray(batch.numbers, dtype=np.uint64).view(np.int64)
        own = {f"also {name}": batch.carried.get(name, part[name]) for name in self.also}
        found = pl.DataFrame({**words, "number": numbers, **own})
        return found if batch.kept is None else found.filter(batch.kept)


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedColumns:
    """The columns that are released in place of those in an engine."""

    at: AtSource
    space: KeySpace
    recoded: tuple[str, ...]

    @property
    def work(self) -> BatchRewrite:
        """The map from rows to released columns."""
        kinds: dict[str, type[str | float]] = dict.fromkeys(self.recoded, str)
        reads, weights = self.at.reads, self.at.weights
        if self.at.thinned and weights is not None:
            kinds[weights.name] = str if weights.texts else float
            reads = tuple(dict.fromkeys((*reads, weights.name)))
        return BatchRewrite(reads, self, kinds, fewer=self.at.thinned)

    def __call__(self, part: pl.DataFrame, start: int) -> Written:
        """Return the released columns of a batch of rows, and who is kept."""
        changed = set(self.at.altered)
        changed |= {at for at, key in enumerate(self.space.keys) if key.name in self.recoded}
        needed = changed | {at for one in self.at.changes for at in one.needs}
        batch = self.at.batch(part, start, sorted(needed))
        columns = []
        for at in sorted(changed):
            key = self.space.keys[at]
            if key.name in self.recoded:
                values = released_values(key.categories, key.name, pl.String())
            else:
                kind = part[key.name].dtype
                values = self.at.encoder.released(at, key.categories, kind)
            columns.append(values.gather(batch.codes[:, at]))
        columns += batch.carried.values()
        weights = self.at.weights
        if self.at.thinned and weights is not None:
            columns.append(weights.written(part[weights.name], self.at))
        return Written(pl.DataFrame(columns), batch.kept)
