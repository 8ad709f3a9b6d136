"""PRAM: each record's category is redrawn from the row of a matrix, which is known afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import locked, shown
from maskmeter.data.microdata import Microdata
from maskmeter.data.recounting import Recounted, parts_at_source, recounted
from maskmeter.data.table import KeyTable
from maskmeter.data.varying import By, as_by, mapped
from maskmeter.errors import InputError, PerturbationError
from maskmeter.mechanism import (
    Matrix,
    Mechanism,
    Misclassification,
    as_matrix,
    stay_or_move,
)
from maskmeter.mechanism.factor import Crossed
from maskmeter.perturb.changes import Drawn
from maskmeter.perturb.draw_rates import NOTICEABLE, DrawPlan, shortfall
from maskmeter.perturb.entries import (
    Move,
    StepEntries,
    Varying,
    as_entry,
    category_entry,
    category_named,
    matrix_of,
    names_of,
    used_by,
    varying,
    varying_entry,
)
from maskmeter.perturb.matrices import (
    blended,
    leaves_margins,
    most_change,
    reversible,
    solve_blend,
    two_stage,
)
from maskmeter.perturb.moves import allowed_moves, as_moves, without_forbidden
from maskmeter.perturb.protecting import protect
from maskmeter.perturb.release import Release
from maskmeter.perturb.step import (
    Perturbed,
    Step,
    Strata,
    as_crossed,
    as_label,
    category_of,
    check_disjoint,
    check_rate,
    check_size,
)
from maskmeter.plurals import counted
from maskmeter.streams import RandomSource
from maskmeter.types import Array


class PramEntries(StepEntries, tag="pram", frozen=True):
    """A key is redrawn from a matrix; several keys in `key` move together, those in `keys` do not."""

    key: str | list[str] | None = None
    keys: list[str | list[str]] | None = None
    stay: float | Varying | None = None
    matrix: str | list[list[float]] | None = None
    categories: list[str | float | list[str]] | None = None
    blend: float | None = None
    invariant: bool = True
    forbidden: list[Move] = []
    label: str | None = None

    def keys_used(self) -> Iterator[str]:
        """Yield the redrawn keys, and those that `stay` depends on."""
        for key in (self.key, *(self.keys or ())):
            yield from names_of(key)
        yield from used_by(self.stay)


@dataclass(frozen=True, init=False)
class Pram(Step):
    """Redraw a key from a matrix that leaves its expected margins as they are.

    Parameters
    ----------
    key
        The key; a tuple of keys whose combination is redrawn (an invariant matrix then makes no
        combination that is not in the file); or a list of either, each redrawn on its own.
    stay
        The share of records to leave unchanged; moves go to all other categories alike.
    matrix
        In place of `stay`, the P[true, released] to start from, used as it is if it leaves the
        margins; `mm.by(...)` lets either differ between groups.
    blend
        None solves for the share asked for; a number is the paper's alpha, R* = alpha R +
        (1 - alpha) I.
    invariant
        False uses the matrix as it is, without making it leave the margins.
    forbidden
        Moves (true, released) that must not happen; `...` stands for any category.
    label
        The name of the step, also of its random streams.

    >>> Pram("lad", stay=0.8).label
    'pram lad'
    """

    method: ClassVar[str] = "pram"
    term: ClassVar[tuple[str, str]] = (
        "PRAM",
        "The post-randomisation method: a key is redrawn with known probabilities.",
    )
    entries: ClassVar[type[StepEntries]] = PramEntries
    searched: ClassVar[bool] = True
    example: ClassVar[str] = """\
key = FIRST
stay = 0.80                         # or {by = SECOND, values = {...}, otherwise = 1.0}"""
    correctable: ClassVar[bool] = True

    targets: tuple[Crossed, ...]
    stay: float | By[float] | None
    matrix: Any
    blend: float | None
    invariant: bool
    forbidden: tuple[tuple[Any, Any], ...]
    label: str

    def __init__(
        self,
        key: str | tuple[str, ...] | list[Any],
        stay: float | By[float] | None = None,
        *,
        matrix: Any = None,
        blend: float | None = None,
        invariant: bool = True,
        forbidden: Sequence[tuple[Any, Any]] = (),
        label: str | None = None,
    ) -> None:
        several = key if isinstance(key, list) else [key]
        targets = tuple(as_crossed(one) for one in several)
        title = ", ".join(" x ".join(names) for names in targets)
        if not targets or len({n for names in targets for n in names}) < sum(map(len, targets)):
            raise PerturbationError("Give PRAM one or more different keys.")
        if (stay is None) == (matrix is None):
            raise PerturbationError(f"PRAM of {title!r} needs either `stay` or `matrix`, not both.")
        if forbidden and len(targets) > 1:
            raise PerturbationError(
                "`forbidden` applies to one key or one combination of keys. Use a step for each key."
            )
        if blend is not None and not invariant:
            raise PerturbationError(
                "`blend` applies to invariant matrices only. Leave it out with invariant=False."
            )
        if not isinstance(invariant, bool):
            raise PerturbationError(f"`invariant` must be True or False, not {shown(invariant)}.")
        checked = None if stay is None else mapped(stay, partial(check_rate, name="stay"))
        source = None if matrix is None else mapped(matrix, partial(as_matrix, name=title))
        either: Any = source if checked is None else checked
        check_disjoint(targets, as_by(either).keys, what="by")
        settings = {
            "targets": targets,
            "stay": checked,
            "matrix": source,
            "blend": blend if blend is None else check_rate(blend, name="blend"),
            "invariant": invariant,
            "forbidden": as_moves(forbidden),
            "label": as_label(label, f"pram {title}"),
        }
        for field, setting in settings.items():
            object.__setattr__(self, field, setting)

    def __repr__(self) -> str:
        """Return the call that makes this step, without the entries of a matrix."""
        keys = [names[0] if len(names) == 1 else names for names in self.targets]
        how = "matrix=..." if self.stay is None else f"stay={self.stay!r}"
        blend = "" if self.blend is None else f", blend={self.blend}"
        margins = "" if self.invariant else ", invariant=False"
        moves = f", {counted(len(self.forbidden), 'forbidden move')}" if self.forbidden else ""
        key = repr(keys[0]) if len(keys) == 1 else repr(keys)
        return f"Pram({key}, {how}{blend}{margins}{moves}, label={self.label!r})"

    @property
    def altered_keys(self) -> tuple[str, ...]:
        """The keys that are redrawn."""
        return tuple(name for names in self.targets for name in names)

    def describe(self, share: str) -> str:
        """Return what PRAM did to a share of the records.

        >>> Pram("lad", stay=0.8).describe("20% of the records")
        'Invariant PRAM of lad: redrawing it changed 20% of the records.'
        """
        keys = ", ".join(" and ".join(names) for names in self.targets)
        kind = "Invariant PRAM" if self.invariant else "PRAM"
        return f"{kind} of {keys}: redrawing it changed {share}."

    def to_plan(self) -> PramEntries:
        """Return the step as a plan writes it, its matrix written out."""
        if isinstance(self.matrix, By):
            raise InputError(f"A plan cannot express the step {self.label!r}.")
        single = len(self.targets) == 1
        names = self.matrix.categories if self.matrix is not None else None
        return PramEntries(
            key=as_entry(self.targets[0]) if single else None,
            keys=None if single else [as_entry(one) for one in self.targets],
            stay=None if self.stay is None else varying_entry(self.stay),
            matrix=self.matrix.P.tolist() if self.matrix is not None else None,
            categories=None if names is None else [category_entry(one) for one in names],
            blend=self.blend,
            invariant=self.invariant,
            forbidden=[Move(*map(category_entry, move)) for move in self.forbidden],
            label=self.label,
        )

    @classmethod
    def from_plan(cls, entries: PramEntries, sample: Microdata, *, folder: Path) -> Pram:
        """Return the step that a plan describes."""
        if (entries.key is None) == (entries.keys is None):
            raise InputError(
                "Give PRAM either `key` (a list moves together) or `keys` (each key moves on its own)."
            )
        names = names_of(entries.key)
        own = [tuple(names)] if names else [tuple(names_of(one)) for one in entries.keys or ()]
        matrix = entries.matrix
        return cls(
            own,
            None if entries.stay is None else varying(entries.stay, sample),
            matrix=None if matrix is None else matrix_of(matrix, entries.categories, folder),
            blend=entries.blend,
            invariant=entries.invariant,
            forbidden=[
                (_end(move.true, names, sample), _end(move.released, names, sample))
                for move in entries.forbidden
            ],
            label=entries.label,
        )

    @classmethod
    def at_rate(cls, key: str, rate: float | By[float], *, within: tuple[str, ...]) -> Pram:
        """Return the PRAM that changes a share of the records."""
        if within:
            raise InputError(
                '`within` applies to swaps only. Use methods=("swap",), or leave it out.'
            )
        return cls(key, stay=mapped(rate, lambda moved: 1 - moved))

    def apply(self, data: Microdata, *, rng: RandomSource = None) -> Release:
        """Return the release of a file with only this step applied."""
        return protect(data, [self], rng=rng)

    def perturb(self, data: Microdata, truth: Microdata, *, seed: int) -> Perturbed:
        """Return the redrawn codes, with the matrix R* they were drawn from."""
        plans = self._plans(data)
        mechanism = self._made(plans, data)
        codes = mechanism.draw(data.codes, rng=seed, label=self.label, numbers=data.numbers)
        return self._done(Recounted(truth, data, data.with_codes(codes)), plans, mechanism)

    def perturb_at_source(self, data: Microdata, truth: Microdata, *, seed: int) -> Perturbed:
        """Return the same of records that stay in an engine, each drawn where it is."""
        engine, at = parts_at_source(data)
        at.check_ids(engine)
        mechanism = self._made(self._plans(data), data)
        found = recounted(data, truth, Drawn(mechanism, seed, self.label))
        return self._done(found, self._plans(found.before), mechanism)

    def _plans(self, data: Microdata) -> list[DrawPlan]:
        """Return the matrices of every key for a file, which must have records to draw."""
        if len(data) < 2:
            raise PerturbationError(f"{self.label!r} needs at least two records.")
        return [self._plan(data, names) for names in self.targets]

    def _done(self, found: Recounted, plans: list[DrawPlan], mechanism: Mechanism) -> Perturbed:
        """Return what the draws have made of a file, with the rates of each stratum."""
        codes, several = found.after.codes, len(plans) > 1
        rates = tuple(
            rate
            for plan in plans
            for rate in plan.rates(self.label, found.before, codes, several=several)
        )
        cautions = shortfall(rates)
        return Perturbed(found.after, found.truth, mechanism, rates, cautions, moved=found.moved)

    def mechanism(self, table: KeyTable) -> Mechanism:
        """Return the misclassification that this step makes of a file with these counts.

        For a file too large for memory: count it, then draw it in parts with the step's label,
        `mechanism.draw(codes, rng=seed, label=step.label, start=first_record)`. The result is that
        of `apply`.

        >>> import polars as pl, maskmeter as mm
        >>> table = mm.count(pl.DataFrame({"sex": ["f", "m", "m"]}), keys=["sex"])
        >>> mm.Pram("sex", stay=0.9).mechanism(table)
        Mechanism(sex)
        """
        return self._made([self._plan(table, names) for names in self.targets], table)

    def _made(self, plans: list[DrawPlan], data: Microdata | KeyTable) -> Mechanism:
        """Return the misclassification by some matrices; invariant ones are fitted to the counts."""
        made = Misclassification({plan.names: plan.declared for plan in plans}).on(data)
        return made.fitted_to_counts() if self.invariant else made

    def _plan(self, data: Microdata | KeyTable, names: Crossed) -> DrawPlan:
        """Return the matrix of each stratum for one key, or one combination of keys."""
        keys = [data.space[name] for name in names]
        strata = Strata.of(data, self.matrix if self.stay is None else self.stay)
        size = check_size(keys, strata)
        true = category_of(data.codes, data.space, names)
        weights = data.counts if isinstance(data, KeyTable) else data.times
        slots = len(strata.names) * size
        counts = np.bincount(strata.of_record * size + true, weights=weights, minlength=slots)
        shares = counts.reshape(-1, size) / counts.reshape(-1, size).sum(axis=1, keepdims=True)
        allowed = allowed_moves(keys, self.forbidden)
        title = " x ".join(names)
        matrices, asked = [], []
        for value, p in zip(strata.values, shares, strict=True):
            start = (
                stay_or_move(size, stay=value)
                if self.stay is not None
                else value.follow(keys, title)
            )
            stay = float(p @ start.diagonal())
            if self.invariant and stay < 1 and (p > 0).sum() < 2:
                raise PerturbationError(
                    f"All records of a group have the same category of {title!r}, so PRAM cannot change"
                    " any of them and keep the margins. Give that group stay=1 or an identity matrix."
                )
            used = self._used(start, p, allowed, stay=stay)
            matrices.append(Matrix(locked(used)))
            # A blend that was given is taken as it is: what it leads to is what was asked for.
            asked.append(1 - (stay if self.blend is None else float(p @ used.diagonal())))
        return DrawPlan(names, strata, strata.declare(matrices), matrices, shares, asked)

    def _used(
        self, start: Array, shares: Array, allowed: NDArray[np.bool_], *, stay: float
    ) -> Array:
        """Return R*, the matrix that records are drawn from."""
        if not self.invariant:
            return without_forbidden(start, allowed)
        kept = self.blend is None and leaves_margins(start, shares) and not start[~allowed].any()
        R = start if kept else self._invariant(start, shares, allowed)
        blend = self.blend
        if blend is None:
            blend = solve_blend(R, shares, stay=stay)
            short = 1 - blend * float(shares @ (1 - R.diagonal())) > stay + NOTICEABLE
            if short and self.matrix is None:
                R = most_change(shares, allowed)
                blend = solve_blend(R, shares, stay=stay)
        # Categories that no record has stay as they are, whatever the blend.
        return np.where((shares > 0)[:, None], blended(R, blend=blend), np.eye(len(R)))

    @staticmethod
    def _invariant(start: Array, shares: Array, allowed: NDArray[np.bool_]) -> Array:
        return two_stage(start, shares) if allowed.all() else reversible(start, shares, allowed)


def _end(given: str | list[str] | None, names: list[str], sample: Microdata) -> Any:
    """Return one end of a forbidden move: a category, one for each crossed key, or any."""
    if given is None:
        return ...
    if isinstance(given, str):
        return category_named(sample, names[0], given)
    return tuple(category_named(sample, name, one) for name, one in zip(names, given, strict=True))
