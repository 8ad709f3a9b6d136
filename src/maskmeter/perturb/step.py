"""What every step has in common: what it must say of itself, its strata and its rates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import check_number, shown
from maskmeter.data.keys import Codes, Key, KeySpace, combined
from maskmeter.data.microdata import Microdata
from maskmeter.data.recoding import Counts, recoded_counts, recoded_records
from maskmeter.data.table import KeyTable
from maskmeter.data.varying import By, as_by, by_cell
from maskmeter.errors import Caution, InputError, PerturbationError
from maskmeter.mechanism import Matrix, Mechanism
from maskmeter.mechanism.factor import Crossed, Declared
from maskmeter.perturb.entries import StepEntries
from maskmeter.plurals import counted, plural
from maskmeter.types import Integers

_LARGEST = 1 << 27  # numbers in all matrices of a step: a gigabyte


@dataclass(frozen=True)
class Rate:
    """How many records of a stratum were to change, by what was asked, expected and done."""

    step: str
    stratum: str = field(repr=False)  # it names categories
    records: int
    asked: float
    expected: float
    achieved: float


@dataclass(frozen=True)
class RareRecords:
    """The records whose other keys are rare, for whom a step redrew a key.

    The expected number of people with the same `others` is below `bound`, by a log-linear model
    with these `terms`. About so many are `alone` with their other keys in the population.
    """

    step: str
    keys: tuple[str, ...]
    others: tuple[str, ...]
    bound: float
    terms: tuple[str, ...]
    records: int
    of: int
    alone: float
    exchanged: bool = True  # whether all of them exchanged their values

    def __str__(self) -> str:
        """Return whom the step reached and whom it cannot protect, in words."""
        keys, share = " and ".join(self.keys), self.records / self.of
        said = (
            f"The values of {keys} were redrawn for {counted(self.records, 'record')} ({share:.1%}):"
            f" fewer than {self.bound:g} people are expected to share their other keys."
        )
        if round(self.alone) > 0:
            number = f"{self.alone:,.0f}"
            said += (
                f" About {number} of them {plural(round(self.alone), 'is', 'are')} alone in the"
                f" population with the other keys: no redraw of {keys} protects"
                f" {plural(round(self.alone), 'that person', 'these people')}."
            )
        return said


@dataclass(frozen=True, eq=False, repr=False)
class Perturbed:
    """What a step makes of a file: its records, how keys were misclassified, rates and cautions.

    `data` has other codes, coarser keys or fewer records than before. `truth` are the true values
    of the same records and keys. `mechanism` is None where nobody is misclassified. `groups` has
    the new code of each old one for keys that were recoded. `rows` are the records that were kept,
    None for all. `rare` says for whom a key was redrawn. `moved` is how many records have other
    codes than before, where the rows of `data` do not tell.
    """

    data: Microdata
    truth: Microdata
    mechanism: Mechanism | None = None
    rates: tuple[Rate, ...] = ()
    cautions: tuple[Caution, ...] = ()
    groups: dict[str, Integers] = field(default_factory=dict)
    rows: Integers | None = None
    rare: RareRecords | None = None
    moved: int | None = None


class Step(ABC):
    """A way to protect a file: parameters that can be printed, compared, planned and applied."""

    method: ClassVar[str]  # what a plan calls it
    term: ClassVar[tuple[str, str]]  # what a glossary calls it, and its meaning
    entries: ClassVar[type[StepEntries]]  # how a plan writes it
    example: ClassVar[str]  # its entries for FIRST, the largest key, as a starter plan shows them
    searched: ClassVar[bool] = False  # whether a family may be searched over its rates
    targeted: ClassVar[bool] = True  # whether its rate may vary with a key
    correctable: ClassVar[bool] = False  # whether P^-1 is right for tables after it
    label: str  # its name, and that of its random streams

    @property
    @abstractmethod
    def altered_keys(self) -> tuple[str, ...]:
        """The keys whose values the step changes."""

    @abstractmethod
    def perturb(self, data: Microdata, truth: Microdata, *, seed: int) -> Perturbed:
        """Return the file after the step; `truth` are the true values of its records."""

    @abstractmethod
    def perturb_at_source(self, data: Microdata, truth: Microdata, *, seed: int) -> Perturbed:
        """Return the same of records that stay in an engine: the same release, record for record."""

    @abstractmethod
    def describe(self, share: str) -> str:
        """Return what the step did in a sentence; `share` says to how many records."""

    @abstractmethod
    def to_plan(self) -> StepEntries:
        """Return the step as a plan writes it, matrices written out."""

    @classmethod
    @abstractmethod
    def from_plan(cls, entries: Any, sample: Microdata, *, folder: Path) -> Step:
        """Return the step that a plan describes; `folder` is where the paths of the plan start."""

    @classmethod
    def at_rate(cls, key: str, rate: float | By[float], *, within: tuple[str, ...]) -> Step:
        """Return the step that changes a share of the records, for a family that is searched."""
        del rate, within
        raise InputError(f"A family cannot be searched over rates of {cls.method!r} of {key!r}.")

    def grouping(self, key: Key, sample: Microdata) -> tuple[Key, Integers] | None:
        """Return the coarser key that the step makes of a key, and the group of each category.

        None when it leaves the categories as they are. The sample gives categories their labels.
        """
        del key, sample
        return None

    def recoded(self, data: Microdata) -> Microdata:
        """Return a file with its keys as the step leaves them."""
        for name in self.altered_keys:
            grouped = self.grouping(data.space[name], data)
            data = data if grouped is None else recoded_records(data, *grouped)
        return data

    def recoded_counts(self, counts: Counts, sample: Microdata) -> Counts:
        """Return population counts by the keys as the step leaves them."""
        for name in self.altered_keys:
            if name in counts.space.names:
                grouped = self.grouping(counts.space[name], sample)
                counts = counts if grouped is None else recoded_counts(counts, *grouped)
        return counts


def check_rate(value: object, *, name: str) -> float:
    """Return `value` when it is a number in [0, 1].

    >>> check_rate(0.2, name="rate")
    0.2
    """
    return check_number(value, name=name, least=0, most=1, error=PerturbationError)


def as_crossed(key: Any, *, least: int = 1) -> Crossed:
    """Return the keys that move together as a tuple of names.

    >>> as_crossed("lad"), as_crossed(("lad", "ward"))
    (('lad',), ('lad', 'ward'))
    """
    names = (key,) if isinstance(key, str) else key
    text = isinstance(names, tuple) and all(isinstance(name, str) for name in names)
    if not text or len(names) < least or len(set(names)) < len(names):
        raise PerturbationError(
            "Give a key by name, and keys that change together as a tuple of different names."
        )
    return tuple(names)


def as_carried(carry: Any) -> tuple[str, ...]:
    """Return the columns that travel with a key as a tuple of names.

    >>> as_carried("region"), as_carried(["region", "ward"])
    (('region',), ('region', 'ward'))
    """
    columns = tuple(carry) if isinstance(carry, list | tuple) else (carry,)
    if not all(isinstance(name, str) for name in columns):
        raise PerturbationError(f"`carry` must be a list of columns, not {shown(carry)}.")
    return tuple(dict.fromkeys(columns))


def check_carried(keys: Crossed, carry: tuple[str, ...], data: Microdata, *, step: str) -> None:
    """Refuse to carry a key or the weights; `step` is the class that carries."""
    named = [name for name in carry if name in data.space.names]
    if named and named[0] in keys:
        raise PerturbationError(f"`carry` names {named[0]!r}, which moves itself. Leave it out.")
    if named:
        both = ", ".join(map(repr, (*keys, *named)))
        raise PerturbationError(
            f"`carry` names {named[0]!r}, which is a key. Move the keys together:"
            f" mm.{step}(({both}), ...)."
        )
    if dict(data.reading).get("weights") in carry:
        raise PerturbationError(
            "`carry` names the weights, which belong to the record and not to its key. Leave them"
            " out."
        )


def with_values_of(
    data: Microdata, origin: Integers, *, keys: Crossed, carry: tuple[str, ...]
) -> Microdata:
    """Return records whose keys, and columns carried along, are those of other records, `origin`."""
    codes = np.array(data.codes, order="F")
    for column in map(data.space.index, keys):
        codes[:, column] = codes[origin, column]
    return data.with_codes(codes).carry(carry, origin)


def moved_together(keys: Crossed, carry: tuple[str, ...]) -> str:
    """Return the keys that a step moves and the columns it carries, in words.

    >>> moved_together(("lad",), ("ward",))
    'lad (and ward with it)'
    """
    along = f" (and {' and '.join(carry)} with it)" if carry else ""
    return f"{' and '.join(keys)}{along}"


def as_label(label: object, default: str) -> str:
    """Return the label of a step."""
    if label is None:
        return default
    if not isinstance(label, str) or not label:
        raise PerturbationError(f"`label` must be text, not {shown(label)}.")
    return label


def check_size(keys: Sequence[Key], strata: Strata) -> int:
    """Return how many categories (or combinations) a matrix has, if they can be held."""
    return check_matrix_size(keys, strata=len(strata.names))


def check_matrix_size(keys: Sequence[Key], *, strata: int) -> int:
    """Return how many categories (or combinations) keys have, if matrices of them can be held."""
    size = prod(key.size for key in keys)
    if size**2 * strata > _LARGEST:
        title = " x ".join(key.name for key in keys)
        raise PerturbationError(
            f"{title!r} has {size:,} categories or combinations in {counted(strata, 'stratum', 'strata')},"
            " too many to fit in memory. Cross fewer keys, or use coarser keys or fewer strata."
        )
    return size


def category_of(codes: Codes, space: KeySpace, names: Crossed) -> NDArray[np.int64]:
    """Return the category of each record for keys that move together."""
    columns = [space.index(name) for name in names]
    return combined(codes, columns, [space.sizes[c] for c in columns])


@dataclass(frozen=True, eq=False, repr=False)
class Strata:
    """The groups of records within which a step works, and the value that applies in each."""

    keys: tuple[str, ...]  # that tell the strata apart
    cells: Codes  # of those keys that occur
    stratum_of_cell: NDArray[np.int64]
    of_record: NDArray[np.int64]
    values: list[Any]
    group: NDArray[np.int64]  # of each stratum: which value it has, whatever its control keys
    names: list[str]
    space: KeySpace

    @classmethod
    def of(cls, data: Microdata | KeyTable, value: Any, *, within: Sequence[str] = ()) -> Strata:
        """Return the strata of records (or cells) by a value that may vary and by control keys."""
        space = data.space
        by: By[Any] = as_by(value)
        table, values = by.strata(space)
        keys = (*by.keys, *(name for name in within if name not in by.keys))
        columns = [space.index(name) for name in keys]
        if not keys:
            one = np.zeros(len(data.codes), dtype=np.int64)
            empty = np.zeros((1, 0), dtype=space.code_type)
            return cls((), empty, one[:1], one, values, one[:1], ["all records"], space)
        own = space.project(keys)
        numbers, cell = np.unique(own.number(data.codes[:, columns]), return_inverse=True)
        cells = own.codes(numbers)
        group = table[tuple(cells[:, c] for c in range(len(by.keys)))].reshape(-1)
        control = cells[:, [keys.index(name) for name in within]]
        marks = np.column_stack([np.broadcast_to(group, len(cells)), control])
        kinds, kind = np.unique(marks, axis=0, return_inverse=True)
        label = getattr(data, "value_label", lambda _, category: str(category))
        names = [_name(by, int(row[0]), within, row[1:], space, label=label) for row in kinds]
        chosen = [values[int(row[0])] for row in kinds]
        of_record = kind[cell]
        return cls(keys, cells, kind, of_record, chosen, kinds[:, 0], names, space)

    def by_value(self, wanted: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
        """Return the strata of each group that has a value of its own, if any of them is wanted."""
        groups = [np.flatnonzero(self.group == one) for one in np.unique(self.group)]
        return [members for members in groups if wanted[members].any()]

    def declare(self, matrices: Sequence[Matrix]) -> Declared:
        """Return one matrix for each stratum as a value that varies with the keys.

        Strata that no record is in do not change anybody.
        """
        if not self.keys:
            return matrices[0]
        idle = Matrix(np.eye(len(matrices[0].P)), matrices[0].categories)
        of_cell = [matrices[stratum] for stratum in self.stratum_of_cell]
        return by_cell(self.space.project(self.keys), self.cells, of_cell, otherwise=idle)


def _name(
    by: By[Any],
    group: int,
    within: Sequence[str],
    codes: Codes,
    space: KeySpace,
    *,
    label: Callable[[str, Hashable], str],
) -> str:
    """Return a stratum's name for the report of rates: categories of its keys, by their labels."""
    parts: list[tuple[str, str]] = []
    if by.keys and group < len(by.values):
        at = by.values[group][0]
        exact = [
            space[name].categories[space[name].code(one)]
            for name, one in zip(by.keys, at, strict=True)
        ]
        parts += [(name, label(name, one)) for name, one in zip(by.keys, exact, strict=True)]
    elif by.keys:
        parts += [(name, "other") for name in by.keys]
    parts += [
        (name, label(name, space[name].categories[code]))
        for name, code in zip(within, codes, strict=True)
    ]
    return ", ".join(f"{name}: {text}" for name, text in parts) or "all records"


def check_disjoint(targets: Sequence[Crossed], others: Sequence[str], *, what: str) -> None:
    """Refuse a step whose strata depend on a key that it perturbs itself."""
    for name in others:
        if any(name in target for target in targets):
            raise InputError(
                f"`{what}` names {name!r}, which is itself perturbed. Use keys that this step does not change."
            )
