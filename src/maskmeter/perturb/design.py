"""Designing PRAM: the invariant matrix that changes least and still protects, by linear programming."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.checks import check_choice, locked
from maskmeter.data.frames import POLARS, FrameKind, as_kind
from maskmeter.data.keys import Key
from maskmeter.data.microdata import Microdata, check_microdata
from maskmeter.display import InWords, facts
from maskmeter.errors import CategoryError, PerturbationError
from maskmeter.mechanism import Matrix
from maskmeter.mechanism.factor import Crossed
from maskmeter.page import Table
from maskmeter.perturb.matrices import LARGEST, least_cost
from maskmeter.perturb.moves import allowed_moves, as_moves
from maskmeter.perturb.pram import Pram
from maskmeter.perturb.step import as_crossed, category_of, check_rate
from maskmeter.plurals import plural
from maskmeter.types import Array

Cost = Literal["changes", "distance"]


@dataclass(frozen=True, eq=False)
class PramDesign(InWords):
    """An invariant matrix P[true, released] for one key, made for the shares of one file."""

    key: Crossed
    P: Array
    shares: Array
    cost: Cost
    forbidden: tuple[tuple[Any, Any], ...] = ()
    frame_kind: FrameKind = field(default=POLARS, repr=False, kw_only=True)

    def __repr__(self) -> str:
        """Return the key and the change to expect: shares stay out of logs."""
        return f"PramDesign({' x '.join(self.key)}, expected change {self.expected_change:.1%})"

    @property
    def expected_change(self) -> float:
        """Share of records that are expected to change."""
        return float(self.shares @ (1 - self.P.diagonal()))

    def pram(self, *, label: str | None = None) -> Pram:
        """Return the step that draws from this matrix, as it is in the file it was made for.

        In another file it is changed to leave that file's margins.
        """
        return Pram(self.key, matrix=Matrix(self.P), forbidden=self.forbidden, label=label)

    def summary(self) -> str:
        """Return a short account that shows no share."""
        return (
            f"Invariant PRAM of {' x '.join(self.key)}: {self.expected_change:.1%} of the records are"
            " expected to change."
        )

    def _tables(self) -> Iterator[Table]:
        """Yield the size of the matrix and how many stay: no share of a category."""
        stay = self.P.diagonal()[self.shares > 0]
        yield facts(
            ("categories", f"{len(self.P):,}"),
            ("expected change", f"{self.expected_change:.1%}"),
            ("chance to stay", f"{stay.min():.1%} to {stay.max():.1%}"),
            ("forbidden moves", f"{len(self.forbidden):,}"),
        )

    def to_frame(self) -> Any:
        """Return the stay probability and the share of every category, by position."""
        return as_kind(self._frame(), self.frame_kind)

    def _frame(self) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "category": np.arange(len(self.P)),
                "share": self.shares,
                "stay": self.P.diagonal(),
            }
        )


def design_pram(
    data: Microdata,
    key: str | tuple[str, ...],
    *,
    stay_at_most: float | Mapping[Any, float],
    forbidden: Sequence[tuple[Any, Any]] = (),
    cost: Cost = "changes",
) -> PramDesign:
    """Return the invariant matrix with the least expected change that meets bounds on staying.

    Parameters
    ----------
    stay_at_most
        The largest allowed stay probability, for all categories or for those named in a dictionary.
    forbidden
        Moves (true, released) that must not happen; `...` stands for any category.
    cost
        "changes" counts every move alike; "distance" counts how many categories it goes, for keys
        whose categories are in order.

    >>> import polars as pl, maskmeter as mm
    >>> sample = mm.read(pl.DataFrame({"age": [1, 1, 2, 3]}), keys=["age"])
    >>> design = mm.design_pram(sample, "age", stay_at_most=0.75, cost="distance")
    >>> design.expected_change, design.P.diagonal().tolist()
    (0.25, [0.75, 0.75, 0.75])
    """
    check_choice(cost, Cost, name="cost")
    check_microdata(data)
    moves = as_moves(forbidden)
    names = as_crossed(key)
    keys = [data.space[name] for name in names]
    title = " x ".join(names)
    size = prod(one.size for one in keys)
    bounds = _bounds(keys, stay_at_most, size)
    counts = data.tally(category_of(data.codes, data.space, names), size)
    present = counts > 0
    if present.sum() > LARGEST:
        raise PerturbationError(
            f"{title!r} has {int(present.sum()):,} categories; mm.design_pram takes at most {LARGEST:,}."
        )
    shares = counts / counts.sum()
    allowed = allowed_moves(keys, moves)[np.ix_(present, present)]
    place = np.flatnonzero(present)
    distance = np.abs(place[:, None] - place)
    weight = distance if cost == "distance" else (distance > 0).astype(np.float64)
    found = least_cost(shares[present], cost=weight, allowed=allowed, stay_at_most=bounds[present])
    if found is None:
        raise _infeasible(title, allowed, float(shares.max()))
    P = np.eye(size)
    P[np.ix_(present, present)] = found
    return PramDesign(names, locked(P), locked(shares), cost, moves, frame_kind=data.frame_kind)


def _bounds(keys: list[Key], given: float | Mapping[Any, float], size: int) -> Array:
    if not hasattr(given, "items"):
        return np.full(size, check_rate(given, name="stay_at_most"))
    if len(keys) > 1:
        raise CategoryError("For crossed keys, give one number as the bound of all combinations.")
    bounds = np.ones(size)
    for category, bound in given.items():
        bounds[keys[0].code(category)] = check_rate(bound, name="stay_at_most")
    return bounds


def _infeasible(title: str, allowed: NDArray[np.bool_], largest: float) -> PerturbationError:
    stuck = int((allowed.sum(axis=1) == 1).sum())
    return PerturbationError(
        f"No invariant matrix of {title!r} meets these bounds. A category that holds a share p of"
        " the records can give at most 1 - p of them to others, and only by allowed moves"
        f" ({stuck} of {len(allowed)} categories {plural(stuck, 'has', 'have')} none). Raise `stay_at_most` for the large"
        f" categories (the largest holds {largest:.1%}) or forbid fewer moves."
    )
