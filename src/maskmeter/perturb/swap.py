"""Data swapping: pairs of records exchange a key, so that its margins stay exactly as they were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from maskmeter.checks import check_choice, locked
from maskmeter.data.microdata import Microdata
from maskmeter.data.varying import By, as_by, mapped
from maskmeter.errors import Caution, PerturbationError, RateWarning
from maskmeter.mechanism import Matrix, Misclassification
from maskmeter.mechanism.factor import Crossed
from maskmeter.perturb import matrices
from maskmeter.perturb.changes import exchanged
from maskmeter.perturb.entries import (
    StepEntries,
    Varying,
    as_entry,
    names_of,
    used_by,
    varying,
    varying_entry,
)
from maskmeter.perturb.pairing import pair
from maskmeter.perturb.protecting import protect
from maskmeter.perturb.release import Release
from maskmeter.perturb.step import (
    Perturbed,
    Rate,
    Step,
    Strata,
    as_carried,
    as_crossed,
    as_label,
    category_of,
    check_carried,
    check_disjoint,
    check_rate,
    check_size,
    moved_together,
    with_values_of,
)
from maskmeter.plurals import counted
from maskmeter.streams import RandomSource, generator, uniforms_of
from maskmeter.types import Array, Integers

Description = Literal["balanced", "nominal", "realised"]

_NOTICEABLE = 0.01  # a shortfall of one record in a hundred is worth a warning


class SwapEntries(StepEntries, tag="swap", frozen=True):
    """Records exchange a key; several keys in `key` move together."""

    key: str | list[str]
    rate: float | Varying
    within: list[str] = []
    carry: list[str] = []
    description: Description = "balanced"
    label: str | None = None

    def keys_used(self) -> Iterator[str]:
        """Yield the swapped keys, the control keys and those that the rate depends on."""
        yield from (*names_of(self.key), *self.within, *used_by(self.rate))


@dataclass(frozen=True, init=False)
class Swap(Step):
    """Exchange a key between random pairs of records that differ in it.

    Parameters
    ----------
    key
        The key, or a tuple of keys that move together (district with its region).
    rate
        The share of records to move; `mm.by(...)` to aim, and then pairs stay within each group.
    within
        Control keys: both records of a pair have the same categories of these.
    carry
        Columns of the file that travel with the key, such as the ward of a district: left in
        place, they would give it away.
    description
        The matrix that describes the swap: "balanced" (achieved rates, exact margins), "nominal"
        (the paper's) or "realised" (the moves that were made).
    label
        The name of the step, also of its random streams.

    >>> Swap("lad", rate=0.2)
    Swap('lad', rate=0.2, label='swap lad')
    """

    method: ClassVar[str] = "swap"
    term: ClassVar[tuple[str, str]] = (
        "Swapping",
        "Pairs of records exchange their values of a key, so that its counts stay as they are.",
    )
    entries: ClassVar[type[StepEntries]] = SwapEntries
    searched: ClassVar[bool] = True
    example: ClassVar[str] = """\
key = FIRST
rate = 0.20                         # or {by = SECOND, values = {...}, otherwise = 1.0}"""

    key: Crossed
    rate: float | By[float]
    within: tuple[str, ...]
    carry: tuple[str, ...]
    description: Description
    label: str

    def __init__(
        self,
        key: str | tuple[str, ...],
        rate: float | By[float],
        *,
        within: tuple[str, ...] | list[str] | str = (),
        carry: tuple[str, ...] | list[str] | str = (),
        description: Description = "balanced",
        label: str | None = None,
    ) -> None:
        crossed = as_crossed(key)
        control = as_crossed(tuple(within) if isinstance(within, list) else within, least=0)
        check_choice(description, Description, name="description")
        checked = mapped(rate, partial(check_rate, name="rate"))
        check_disjoint([crossed], control, what="within")
        check_disjoint([crossed], as_by(checked).keys, what="rate")
        object.__setattr__(self, "key", crossed)
        object.__setattr__(self, "rate", checked)
        object.__setattr__(self, "within", control)
        object.__setattr__(self, "carry", as_carried(carry))
        object.__setattr__(self, "description", description)
        object.__setattr__(self, "label", as_label(label, f"swap {' x '.join(crossed)}"))

    def __repr__(self) -> str:
        """Return the call that makes this step."""
        key = repr(self.key[0]) if len(self.key) == 1 else repr(self.key)
        within = f", within={self.within}" if self.within else ""
        carry = f", carry={self.carry}" if self.carry else ""
        described = "" if self.description == "balanced" else f", description={self.description!r}"
        return f"Swap({key}, rate={self.rate!r}{within}{carry}{described}, label={self.label!r})"

    @property
    def altered_keys(self) -> tuple[str, ...]:
        """The keys that records exchange."""
        return self.key

    def describe(self, share: str) -> str:
        """Return what the swap did to a share of the records.

        >>> Swap("lad", rate=0.2, within=("sex",)).describe("some records")
        'Swapping of lad: some records exchanged it with another record of the same sex.'
        """
        within = f" of the same {' and '.join(self.within)}" if self.within else ""
        keys = moved_together(self.key, self.carry)
        return f"Swapping of {keys}: {share} exchanged it with another record{within}."

    def to_plan(self) -> SwapEntries:
        """Return the step as a plan writes it.

        >>> Swap("lad", rate=0.2).to_plan()
        SwapEntries(key='lad', rate=0.2, within=[], carry=[], description='balanced', label='swap lad')
        """
        return SwapEntries(
            as_entry(self.key),
            varying_entry(self.rate),
            within=list(self.within),
            carry=list(self.carry),
            description=self.description,
            label=self.label,
        )

    @classmethod
    def from_plan(cls, entries: SwapEntries, sample: Microdata, *, folder: Path) -> Swap:  # noqa: ARG003
        """Return the step that a plan describes."""
        return cls(
            tuple(names_of(entries.key)),
            rate=varying(entries.rate, sample),
            within=tuple(entries.within),
            carry=entries.carry,
            description=entries.description,
            label=entries.label,
        )

    @classmethod
    def at_rate(cls, key: str, rate: float | By[float], *, within: tuple[str, ...]) -> Swap:
        """Return the swap of a share of the records."""
        return cls(key, rate=rate, within=within)

    def apply(self, data: Microdata, *, rng: RandomSource = None) -> Release:
        """Return the release of a file with only this step applied."""
        return protect(data, [self], rng=rng)

    def perturb(self, data: Microdata, truth: Microdata, *, seed: int) -> Perturbed:
        """Return the swapped codes, with the matrix that describes the swap."""
        check_carried(self.key, self.carry, data, step="Swap")
        strata = Strata.of(data, self.rate, within=self.within)
        rates = np.array(strata.values)
        size = check_size([data.space[name] for name in self.key], strata)
        true = category_of(data.codes, data.space, self.key)
        group = strata.of_record * size + true
        counts = np.bincount(group, minlength=len(rates) * size).reshape(-1, size)
        _check_possible(counts, rates, strata, title=" x ".join(self.key))
        moved = _pairable(_rounded(counts, rates, rng=generator(seed, f"{self.label}/round")))
        cautions = _shortfall(counts * rates[:, None], moved, self.description)
        order = data.in_order(np.arange(len(data)))
        lot = uniforms_of(seed, f"{self.label}/choose", data.numbers)
        chosen = order[_lowest(lot[order], group[order], moved.ravel())]
        mixing = generator(seed, f"{self.label}/pair")
        pairs = chosen[pair(true[chosen], strata.of_record[chosen], rng=mixing)]
        origin = np.arange(len(data))
        origin[pairs] = pairs[:, ::-1]
        moved_to = with_values_of(data, origin, keys=self.key, carry=self.carry)
        released = category_of(moved_to.codes, data.space, self.key)
        moves = np.bincount(group * size + released, minlength=counts.size * size)
        matrices = [
            Matrix(locked(self._described(*stratum)))
            for stratum in zip(counts, rates, moved, moves.reshape(-1, size, size), strict=True)
        ]
        n = counts.sum(axis=1)
        expected = [row @ (1 - one.P.diagonal()) for row, one in zip(counts, matrices, strict=True)]
        done = tuple(
            Rate(self.label, *figures)
            for figures in zip(
                strata.names,
                n.tolist(),
                rates.tolist(),
                (np.array(expected) / n).tolist(),
                (moved.sum(axis=1) / n).tolist(),
                strict=True,
            )
        )
        mechanism = Misclassification({self.key: strata.declare(matrices)}).on(moved_to)
        return Perturbed(moved_to, truth, mechanism.fitted_to_counts(), done, cautions)

    def perturb_at_source(self, data: Microdata, truth: Microdata, *, seed: int) -> Perturbed:
        """Return the same of records that stay in an engine, whose codes are collected."""
        return exchanged(self, data, truth, seed=seed, carry=self.carry)

    def _described(self, counts: Integers, rate: float, moved: Integers, moves: Integers) -> Array:
        """Return the matrix that describes the swap of one stratum."""
        if self.description == "nominal":
            return matrices.nominal(counts, rate=rate)
        if self.description == "realised":
            return matrices.realised(moves)
        return matrices.balanced(counts, moved)


def _check_possible(counts: Integers, rates: Array, strata: Strata, *, title: str) -> None:
    """Refuse a swap that can pair nobody: too few records, or all of one category."""
    if counts.sum() < 2:
        raise PerturbationError(f"Swapping {title!r} needs at least two records.")
    several = (counts > 0).sum(axis=1) > 1
    for members in strata.by_value(rates > 0):
        if (counts[members].sum(axis=0) > 0).sum() < 2:
            raise PerturbationError(
                f"All records ({int(counts[members].sum()):,}) of a group to be swapped have the same"
                f" category of {title!r}, so none can be paired. Set its rate to 0."
            )
        if not several[members].any():
            raise PerturbationError(
                f"No records can be paired: within {counted(len(members), 'stratum', 'strata')} all records have the"
                f" same category of {title!r}. Use fewer control keys."
            )


def _rounded(counts: Integers, rates: Array, *, rng: np.random.Generator) -> Integers:
    """Return how many records of each category to move in each stratum, an even number in all.

    Shares are rounded at random, up or down, and their total is off by less than one: rounding
    down would lose a third of the swaps in small strata. An odd total is made even by one more or
    one less, as a coin decides; where one category holds more than half, the others gain or it
    loses, so that in strata of a few records small categories move more than large ones.
    """
    shares = np.cumsum(counts * rates[:, None], axis=1) + rng.random((len(counts), 1))
    until = np.floor(shares).astype(np.int64)
    moved: Integers = until - np.pad(until, ((0, 0), (1, 0)))[:, :-1]
    moved = np.minimum(moved, counts)  # where the sum of exact shares was rounded up
    for row, most in zip(moved, counts, strict=True):
        if row.sum() % 2:
            spare, given = most - row, row.copy()
            if 2 * row.max() > row.sum():
                spare[row.argmax()] = 0
                given = np.where(row == row.max(), given, 0)
            more = spare.any() and rng.random() < 0.5
            weight = spare if more else given
            row[rng.choice(len(row), p=weight / weight.sum())] += 1 if more else -1
    return moved


def _pairable(moved: Integers) -> Integers:
    """Return the same numbers, but for a category that holds more than half of a stratum's.

    It gives only as many as the others can take.
    """
    largest = moved.max(axis=1)
    others = moved.sum(axis=1) - largest
    return np.where(moved > others[:, None], others[:, None], moved)


def _lowest(lot: Array, group: Integers, number: Integers) -> Integers:
    """Return the records with the lowest lots, so many of each group."""
    order = np.argsort(group + lot)  # lots lie below 1, so groups stay apart
    counts = np.bincount(group, minlength=len(number))
    rank = np.arange(len(group)) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[rank < number[group[order]]]


def _shortfall(shares: Array, moved: Integers, description: Description) -> tuple[Caution, ...]:
    """Return a caution when a swap falls short of what was asked for.

    One record in a hundred, and one pair, are left to rounding.
    """
    asked, made = shares.sum(), moved.sum()
    if made >= (1 - _NOTICEABLE) * asked - 2:
        return ()
    short = int((moved.sum(axis=1) <= shares.sum(axis=1) - 1).sum())
    told = (
        "The nominal matrix describes the rate that was asked for and understates the risk: use"
        ' description="balanced"'
        if description == "nominal"
        else "The matrix describes the swap that was made"
    )
    text = (
        f"{made:,} records were swapped where {asked:,.0f} were asked for. In {short:,} of"
        f" {counted(len(moved), 'stratum', 'strata')} one category holds more than half of the records to pair, or"
        f" too few records can be paired. {told}; see `rates`."
    )
    return (Caution(RateWarning, text),)
