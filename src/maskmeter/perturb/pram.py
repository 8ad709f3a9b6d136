"""PRAM: each record's category is redrawn from the row of a matrix, which is known afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import locked, shown
from maskmeter.data.keys import Codes, Key
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.data.varying import By, as_by, mapped
from maskmeter.errors import CategoryError, Caution, PerturbationError, RateWarning
from maskmeter.mechanism import (
    Matrix,
    Mechanism,
    Misclassification,
    as_matrix,
    stay_or_move,
)
from maskmeter.mechanism.factor import Crossed, Declared
from maskmeter.perturb.matrices import (
    LARGEST,
    blended,
    full_exchange,
    least_cost,
    reversible,
    solve_blend,
    two_stage,
)
from maskmeter.perturb.release import Release, protect
from maskmeter.perturb.step import (
    Perturbed,
    Rate,
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

_NOTICEABLE = 0.001
_INVARIANT = 1e-9


@dataclass(frozen=True, init=False)
class Pram:
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
    def perturbed_keys(self) -> tuple[str, ...]:
        """The keys that are redrawn."""
        return tuple(name for names in self.targets for name in names)

    def apply(self, data: Microdata, *, rng: RandomSource = None) -> Release:
        """Return the release of a file with only this step applied."""
        return protect(data, [self], rng=rng)

    def perturb(self, data: Microdata, *, seed: int) -> Perturbed:
        """Return the redrawn codes, with the matrix R* they were drawn from."""
        if len(data) < 2:
            raise PerturbationError(f"{self.label!r} needs at least two records.")
        plans = [self._plan(data, names) for names in self.targets]
        matrices = {plan.names: plan.declared for plan in plans}
        codes = Misclassification(matrices).on(data).draw(data.codes, rng=seed, label=self.label)
        several = len(plans) > 1
        rates = tuple(
            rate for plan in plans for rate in plan.rates(self.label, data, codes, several=several)
        )
        return Perturbed(codes, matrices, rates, _shortfall(rates))

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
        plans = [self._plan(table, names) for names in self.targets]
        return Misclassification({plan.names: plan.declared for plan in plans}).on(table)

    def _plan(self, data: Microdata | KeyTable, names: Crossed) -> _Plan:
        """Return the matrix of each stratum for one key, or one combination of keys."""
        keys = [data.space[name] for name in names]
        strata = Strata.of(data, self.matrix if self.stay is None else self.stay)
        size = check_size(keys, strata)
        true = category_of(data.codes, data.space, names)
        weights = data.counts if isinstance(data, KeyTable) else None
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
        return _Plan(names, strata, strata.declare(matrices), matrices, shares, asked)

    def _used(
        self, start: Array, shares: Array, allowed: NDArray[np.bool_], *, stay: float
    ) -> Array:
        """Return R*, the matrix that records are drawn from."""
        if not self.invariant:
            return _without_forbidden(start, allowed)
        kept = self.blend is None and _leaves(start, shares) and not start[~allowed].any()
        R = start if kept else self._invariant(start, shares, allowed)
        blend = self.blend
        if blend is None:
            blend = solve_blend(R, shares, stay=stay)
            short = 1 - blend * float(shares @ (1 - R.diagonal())) > stay + _NOTICEABLE
            if short and self.matrix is None:
                R = _most_change(shares, allowed)
                blend = solve_blend(R, shares, stay=stay)
        # Categories that no record has stay as they are, whatever the blend.
        return np.where((shares > 0)[:, None], blended(R, blend=blend), np.eye(len(R)))

    @staticmethod
    def _invariant(start: Array, shares: Array, allowed: NDArray[np.bool_]) -> Array:
        return two_stage(start, shares) if allowed.all() else reversible(start, shares, allowed)


def _most_change(shares: Array, allowed: NDArray[np.bool_]) -> Array:
    """Return the invariant matrix that changes as many records as allowed moves can."""
    present = shares > 0
    if allowed.all():
        return full_exchange(shares)
    if present.sum() > LARGEST:
        return reversible(np.full(allowed.shape, 1 / len(allowed)), shares, allowed)
    found = least_cost(
        shares[present],
        cost=np.eye(int(present.sum())),
        allowed=allowed[np.ix_(present, present)],
        stay_at_most=np.ones(int(present.sum())),
    )
    R = np.eye(len(shares))
    if found is not None:
        R[np.ix_(present, present)] = found
    return R


def _leaves(P: Array, shares: Array) -> bool:
    """Return True when a matrix leaves the margins as it is."""
    return bool(np.abs(shares @ P - shares).max() < _INVARIANT)


@dataclass(frozen=True, eq=False, repr=False)
class _Plan:
    """What will be drawn for one key, and how much change to expect of it."""

    names: Crossed
    strata: Strata
    declared: Declared
    matrices: list[Matrix]
    shares: Array
    asked: list[float]

    def rates(self, label: str, data: Microdata, codes: Codes, *, several: bool) -> list[Rate]:
        """Return asked-for, expected and achieved change of each stratum."""
        columns = [data.space.index(name) for name in self.names]
        moved = (codes[:, columns] != data.codes[:, columns]).any(axis=1)
        records = np.bincount(self.strata.of_record, minlength=len(self.asked))
        changed = np.bincount(self.strata.of_record[moved], minlength=len(self.asked))
        key = " x ".join(self.names)
        return [
            Rate(
                label,
                f"{key}: {name}" if several else name,
                int(records[s]),
                self.asked[s],
                float(self.shares[s] @ (1 - self.matrices[s].P.diagonal())),
                float(changed[s] / records[s]),
            )
            for s, name in enumerate(self.strata.names)
        ]


def as_moves(forbidden: Any) -> tuple[tuple[Any, Any], ...]:
    """Return forbidden moves as pairs (true, released)."""
    moves = forbidden if isinstance(forbidden, list | tuple) else [forbidden]
    if not all(isinstance(move, list | tuple) and len(move) == 2 for move in moves):
        raise PerturbationError("`forbidden` must be a list of moves (true, released).")
    return tuple((true, released) for true, released in moves)


def allowed_moves(keys: list[Key], forbidden: tuple[tuple[Any, Any], ...]) -> NDArray[np.bool_]:
    """Return which moves may happen; staying always may."""
    sizes = [key.size for key in keys]
    size = int(np.prod(sizes))
    allowed = np.ones((size, size), dtype=bool)

    def row(category: Any) -> Any:
        if category is ...:
            return np.arange(size)
        parts = (category,) if len(keys) == 1 else category
        if not isinstance(parts, tuple) or len(parts) != len(keys):
            raise CategoryError(
                f"A forbidden move of crossed keys must name {len(keys)} categories on each side."
            )
        codes = [
            slice(None) if part is ... else key.code(part)
            for key, part in zip(keys, parts, strict=True)
        ]
        return np.arange(size).reshape(sizes)[tuple(codes)].ravel()

    for true, released in forbidden:
        allowed[np.ix_(row(true), row(released))] = False
    np.fill_diagonal(allowed, val=True)
    return allowed


def _without_forbidden(P: Array, allowed: NDArray[np.bool_]) -> Array:
    """Return P with the probability of forbidden moves given to staying."""
    kept = np.where(allowed, P, 0)
    np.fill_diagonal(kept, P.diagonal() + np.where(allowed, 0, P).sum(axis=1))
    return kept


def _shortfall(rates: tuple[Rate, ...]) -> tuple[Caution, ...]:
    """Return a caution when a share that was asked for is out of reach."""
    far = [rate for rate in rates if abs(rate.expected - rate.asked) > _NOTICEABLE]
    if not far:
        return ()
    worst = max(far, key=lambda rate: abs(rate.expected - rate.asked))
    text = (
        f"In {len(far):,} of {counted(len(rates), 'stratum', 'strata')} no invariant matrix of this"
        f" kind reaches the share asked for: the worst is expected to leave {1 - worst.expected:.1%} unchanged where"
        f" {1 - worst.asked:.1%} was asked for. See `rates` of the release."
    )
    return (Caution(RateWarning, text),)
