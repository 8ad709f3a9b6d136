"""Redrawing: records whose other keys are rare exchange a key at random, and nobody else does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from maskmeter.checks import check_choice, check_number, locked
from maskmeter.data.microdata import Microdata
from maskmeter.errors import Caution, ManyRareWarning, PerturbationError, SmallMarginWarning
from maskmeter.loglinear import DEFAULT_MODEL, ModelName, make_model
from maskmeter.loglinear.expectations import chance_of_uniqueness
from maskmeter.mechanism import Factor, Mechanism
from maskmeter.mechanism.factor import Crossed
from maskmeter.perturb.changes import exchanged
from maskmeter.perturb.entries import StepEntries, as_entry, names_of
from maskmeter.perturb.protecting import protect
from maskmeter.perturb.rarity import RARE, Rarity
from maskmeter.perturb.release import Release
from maskmeter.perturb.step import (
    Perturbed,
    RareRecords,
    Rate,
    Step,
    as_carried,
    as_crossed,
    as_label,
    category_of,
    check_carried,
    check_disjoint,
    check_matrix_size,
    moved_together,
    with_values_of,
)
from maskmeter.plurals import counted, plural
from maskmeter.streams import RandomSource, uniforms_of
from maskmeter.types import Array, Integers

_FEW = 5  # records for each category: with fewer the exact margin tells much
_POINTS = (0.05, 0.25, 0.5)  # shares of the records, to say how rare they are


class RedrawEntries(StepEntries, tag="redraw", frozen=True):
    """Records whose other keys are rare exchange a key; several keys in `key` move together."""

    key: str | list[str]
    rarer_than: float
    others: list[str] = []
    share: float = 1.0
    carry: list[str] = []
    label: str | None = None
    model: ModelName = DEFAULT_MODEL

    def keys_used(self) -> Iterator[str]:
        """Yield the redrawn keys, and those by which records are rare."""
        yield from (*names_of(self.key), *self.others)

    @property
    def needs_every_key(self) -> bool:
        """Whether records are rare by all keys of the file."""
        return not self.others


@dataclass(frozen=True, init=False)
class Redraw(Step):
    """Let records exchange a key at random where few people share their other keys.

    For them the released value then says nothing about whose record it is, and the counts of the
    key stay as they are. The others keep their values: many people share their other keys already.

    Parameters
    ----------
    key
        The key, or a tuple of keys that move together, so that what ties them to one another stays.
    rarer_than
        Records take part if fewer people of the population are expected to share their other keys,
        by a log-linear model of those keys alone.
    others
        The keys by which records are rare: those that an intruder may know beside the redrawn ones.
        All other keys of the file, unless some are named.
    share
        The share of these records that exchange their values.
    carry
        Columns of the file that travel with the key, such as the region of a district: left in
        place, they would give it away.
    model
        The kind of that model, by name: "shrunk", "score-path" or "forward".
    label
        The name of the step, also of its random streams.

    >>> Redraw("lad", rarer_than=120)
    Redraw('lad', rarer_than=120, label='redraw lad')
    """

    method: ClassVar[str] = "redraw"
    term: ClassVar[tuple[str, str]] = (
        "Redrawing",
        (
            "Records whose other keys few people share exchange their values of a key at random, so"
            " that the value no longer tells whose record it is."
        ),
    )
    entries: ClassVar[type[StepEntries]] = RedrawEntries
    example: ClassVar[str] = """\
key = FIRST
rarer_than = 100                    # people who share a record's other keys"""

    key: Crossed
    rarer_than: float
    others: tuple[str, ...]
    share: float
    carry: tuple[str, ...]
    model: ModelName
    label: str

    def __init__(
        self,
        key: str | tuple[str, ...],
        rarer_than: float,
        *,
        others: tuple[str, ...] | list[str] = (),
        share: float = 1.0,
        carry: tuple[str, ...] | list[str] | str = (),
        model: ModelName = DEFAULT_MODEL,
        label: str | None = None,
    ) -> None:
        crossed = as_crossed(key)
        check_number(rarer_than, name="rarer_than", above=0, error=PerturbationError)
        check_number(share, name="share", above=0, most=1, error=PerturbationError)
        known = as_crossed(tuple(others) if isinstance(others, list) else others, least=0)
        check_disjoint([crossed], known, what="others")
        settings = {
            "key": crossed,
            "rarer_than": rarer_than,
            "others": known,
            "share": share,
            "carry": as_carried(carry),
            "model": check_choice(model, ModelName, name="model"),
            "label": as_label(label, f"redraw {' x '.join(crossed)}"),
        }
        for field, setting in settings.items():
            object.__setattr__(self, field, setting)

    def __repr__(self) -> str:
        """Return the call that makes this step."""
        key = repr(self.key[0]) if len(self.key) == 1 else repr(self.key)
        others = f", others={self.others}" if self.others else ""
        share = "" if self.share == 1 else f", share={self.share}"
        carry = f", carry={self.carry}" if self.carry else ""
        model = "" if self.model == DEFAULT_MODEL else f", model={self.model!r}"
        how = f"rarer_than={self.rarer_than:g}{others}{share}{carry}{model}"
        return f"Redraw({key}, {how}, label={self.label!r})"

    @property
    def altered_keys(self) -> tuple[str, ...]:
        """The keys that records exchange."""
        return self.key

    def describe(self, share: str) -> str:
        """Return what the step did to a share of the records.

        >>> Redraw("lad", rarer_than=120, carry="region").describe("6% of the records")
        'Redrawing of lad (and region with it): 6% of the records took the value of another record; they are among those whose other keys few people share.'
        """
        return (
            f"Redrawing of {moved_together(self.key, self.carry)}: {share} took the value of another record; they are among"
            " those whose other keys few people share."
        )

    def to_plan(self) -> RedrawEntries:
        """Return the step as a plan writes it."""
        return RedrawEntries(
            as_entry(self.key),
            self.rarer_than,
            list(self.others),
            self.share,
            list(self.carry),
            self.label,
            self.model,
        )

    @classmethod
    def from_plan(cls, entries: RedrawEntries, sample: Microdata, *, folder: Path) -> Redraw:  # noqa: ARG003
        """Return the step that a plan describes."""
        return cls(
            tuple(names_of(entries.key)),
            entries.rarer_than,
            others=entries.others,
            share=entries.share,
            carry=entries.carry,
            model=entries.model,
            label=entries.label,
        )

    def apply(self, data: Microdata, *, rng: RandomSource = None) -> Release:
        """Return the release of a file with only this step applied."""
        return protect(data, [self], rng=rng)

    def perturb(self, data: Microdata, truth: Microdata, *, seed: int) -> Perturbed:
        """Return the records with exchanged values, and the matrix that describes the exchange."""
        check_carried(self.key, self.carry, data, step="Redraw")
        rarity = self.rarity(data)
        people = rarity.people(rarity.model.data.codes)
        rare = np.flatnonzero(people < self.rarer_than)
        self._check_reached(rare, people)
        value = category_of(data.codes, data.space, self.key)
        size = check_matrix_size([data.space[name] for name in self.key], strata=2)
        margin = np.bincount(value[rare], minlength=size)
        self._check_values(margin)
        moved = self._chosen(rare, data, seed)
        origin = np.arange(len(data))
        order = np.argsort(uniforms_of(seed, f"{self.label}/order", data.numbers)[moved])
        origin[moved] = moved[order]
        released = with_values_of(data, origin, keys=self.key, carry=self.carry)
        factor = self._factor(data, rarity, margin, len(moved))
        changed = (released.codes[rare] != data.codes[rare]).any(axis=1).mean()
        expected = float(margin @ (1 - factor.P[RARE].diagonal())) / len(rare)
        rest = len(data) - len(rare)
        rates = (
            # What was asked for is a bound, not a rate.
            Rate(self.label, "rare records", len(rare), float(changed), expected, float(changed)),
            Rate(self.label, "other records", rest, 0.0, 0.0, 0.0),
        )
        return Perturbed(
            released,
            truth,
            Mechanism(data.space, (factor,), frame_kind=data.frame_kind),
            rates,
            (
                *self._margin_cautions(margin),
                *self._reach_cautions(round(changed * len(rare)), len(data)),
            ),
            rare=self._rare_records(rarity, rare, len(data)),
        )

    def perturb_at_source(self, data: Microdata, truth: Microdata, *, seed: int) -> Perturbed:
        """Return the same of records that stay in an engine, whose codes are collected."""
        return exchanged(self, data, truth, seed=seed, carry=self.carry)

    def rarity(self, data: Microdata) -> Rarity:
        """Return which combinations of the other keys are rare, by a model of these alone."""
        for name in (*self.key, *self.others):
            data.space.index(name)
        wanted = self.others or data.space.names
        others = [name for name in data.space.names if name in wanted and name not in self.key]
        if not others:
            raise PerturbationError(
                f"A redraw of {' and '.join(self.key)} needs other keys, by which records are rare."
                " Add keys, or use a swap or PRAM."
            )
        model = data.made(
            ("model", self.model, *others),
            lambda: make_model(data.project(others), self.model).nearest,
        )
        return Rarity(model, float(self.rarer_than))

    def _factor(self, data: Microdata, rarity: Rarity, margin: Integers, moved: int) -> Factor:
        """Return P[true, released]: `(1 - x) 1(k = j) + x p_j` for rare records, x = (m-1)/(n-1).

        The margin is known where all of them exchange their values.
        """
        n, size = int(margin.sum()), len(margin)
        x = (moved - 1) / (n - 1)
        P: Array = np.stack([np.eye(size), (1 - x) * np.eye(size) + x * margin / n])
        space = data.space
        return Factor(
            " x ".join(self.key),
            tuple(space.index(name) for name in self.key),
            tuple(space[name].size for name in self.key),
            locked(P),
            tuple(space.index(name) for name in rarity.model.data.space.names),
            rarity,
            locked(np.stack([np.zeros_like(margin), margin])) if moved == n else None,
        )

    def _chosen(self, rare: Integers, data: Microdata, seed: int) -> Integers:
        """Return the rare records that exchange their values, in order: all of them, or a share."""
        number = round(self.share * len(rare))
        if number < 2:
            raise PerturbationError(
                f"{self.share:g} of the {counted(len(rare), 'rare record')} is less than two, so none"
                " can exchange values. Raise `share`."
            )
        if number == len(rare):
            return data.in_order(rare)
        lots = uniforms_of(seed, f"{self.label}/choose", data.numbers)[rare]
        return data.in_order(np.sort(rare[np.argsort(lots)[:number]]))

    def _check_reached(self, rare: Integers, people: Array) -> None:
        """Refuse a bound under which nobody falls, or everybody."""
        n, bound = len(people), f"rarer_than={self.rarer_than:.12g}"
        points = np.quantile(people, _POINTS)
        told = ", ".join(
            f"{share:.0%} of the records are rarer than {float(f'{point:.3g}'):g}"
            for share, point in zip(_POINTS, points, strict=True)
        )
        if len(rare) < 2:
            raise PerturbationError(
                f"{bound} reaches {counted(len(rare), 'record')}, and an exchange needs two. Raise it:"
                f" {told}."
            )
        if len(rare) == n:
            raise PerturbationError(
                f"{bound} reaches every record of {n:,}, so none is rare. Lower it ({told}), or swap the"
                " key between all records."
            )

    def _check_values(self, margin: Integers) -> None:
        if (margin > 0).sum() < 2:
            raise PerturbationError(
                f"All {int(margin.sum()):,} rare records have the same value of"
                f" {' and '.join(self.key)}, so an exchange changes nothing. Raise `rarer_than`."
            )

    def _margin_cautions(self, margin: Integers) -> Iterator[Caution]:
        """Yield the caution that few records share out the values."""
        records, values = int(margin.sum()), len(margin)
        if records < _FEW * values:
            text = (
                f"{counted(records, 'rare record')} for {values:,}"
                f" {plural(values, 'category', 'categories')} of {' and '.join(self.key)} are fewer than"
                f" {_FEW} each: their counts, which stay as they are, tell much about who is in the"
                " file. The informed risk includes this unless other steps follow. Raise `rarer_than`, or"
                " recode the key first."
            )
            yield Caution(SmallMarginWarning, text, "")

    def _reach_cautions(self, changed: int, of: int) -> Iterator[Caution]:
        """Yield the caution that most records are changed, as where the fraction is another."""
        if 2 * changed > of:
            text = (
                f"rarer_than={self.rarer_than:g} changes {' and '.join(self.key)} in {changed:,} of"
                f" {counted(of, 'record')}, more than half. It counts people of the population: check"
                " the sampling fraction, or lower it."
            )
            yield Caution(ManyRareWarning, text, "")

    def _rare_records(self, rarity: Rarity, rare: Integers, of: int) -> RareRecords:
        """Return for whom the key was redrawn, and how many people are alone with their other keys."""
        model = rarity.model
        codes = model.data.codes
        _, place, times = np.unique(
            model.data.space.number(codes), return_inverse=True, return_counts=True
        )
        single = rare[times[place[rare]] == 1]
        lam, pi = model.at(codes[single])
        return RareRecords(
            self.label,
            self.key,
            model.data.space.names,
            float(self.rarer_than),
            model.terms,
            len(rare),
            of,
            float(chance_of_uniqueness(lam, pi=pi).sum()),
            self.share == 1,
        )
