"""Maximum likelihood fits of hierarchical log-linear models, component by component."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import locked
from maskmeter.data.keys import KeySpace
from maskmeter.errors import InputError
from maskmeter.loglinear.components import junction_tree
from maskmeter.loglinear.means import FittedMeans, table_sizes
from maskmeter.loglinear.observed import Counted
from maskmeter.loglinear.terms import Term, generating_class, spell
from maskmeter.types import Array

LARGEST_COMPONENT = 10_000_000
MOST_SWEEPS = 2_000
_STRIDE = 10  # sweeps between looks at the likelihood
_LIKELIHOOD = 1e-5  # a change per record that is small also when margins are fitted loosely


def fit_means(
    observed: Counted,
    generators: tuple[Term, ...],
    *,
    start: FittedMeans | None = None,
    tolerance: float,
    most_sweeps: int = MOST_SWEEPS,
) -> FittedMeans:
    """Return the maximum likelihood fit of a generating class.

    A component that is one term is fitted in closed form, the others by iterative proportional
    fitting of their own small table, until the margins are met or the likelihood has settled, both
    to `tolerance` of the total. `start` is the fit of a smaller model, or a looser one of this.
    """
    tree = junction_tree(generators, len(observed.space.keys))
    fits = [
        _fit_component(
            observed,
            keys,
            restricted(generators, keys),
            start,
            tolerance=tolerance,
            most_sweeps=most_sweeps,
        )
        for keys in tree.components
    ]
    return FittedMeans(
        observed.space,
        generators,
        tree,
        components=tuple(locked(fit.table) for fit in fits),
        separators=tuple(observed.margin(keys) for keys in tree.separators),
        sweeps=max(fit.sweeps for fit in fits),
        deviation=max(fit.deviation for fit in fits),
        converged=all(fit.converged for fit in fits),
    )


def component_size(space: KeySpace, keys: Term) -> int:
    """Return the number of cells of a component's table."""
    return prod(table_sizes(space, keys))


def check_component(space: KeySpace, keys: Term) -> None:
    """Refuse a component whose table does not fit in memory, before it is made."""
    size = component_size(space, keys)
    if size > LARGEST_COMPONENT:
        raise InputError(
            f"Fitting {spell(keys, space)} needs a table of {size:,} cells; at most"
            f" {LARGEST_COMPONENT:,} fit in memory. Use fewer interactions or coarser keys."
        )


def restricted(generators: tuple[Term, ...], keys: Term) -> tuple[Term, ...]:
    """Return the largest terms of a model inside a component."""
    return generating_class({tuple(k for k in term if k in keys) for term in generators} - {()})


class _Fit(NamedTuple):
    """The fitted table of a component, and how its fitting ended."""

    table: Array
    sweeps: int = 0
    deviation: float = 0.0
    converged: bool = True


def _fit_component(
    observed: Counted,
    keys: Term,
    terms: tuple[Term, ...],
    start: FittedMeans | None,
    *,
    tolerance: float,
    most_sweeps: int,
) -> _Fit:
    """Return the fit of a component: its margin if it is one term, else scaled margin by margin.

    Only the support is worked on: a cell with an empty margin stays empty, and on sparse tables
    most do. The maximum then lies on the boundary, where margins are met only slowly while the
    deviance has long settled.
    """
    check_component(observed.space, keys)
    if terms == (keys,):
        return _Fit(observed.margin(keys))
    first = None if start is None else start.margin(keys)
    sizes = table_sizes(observed.space, keys)
    support = np.ones(sizes, dtype=bool) if first is None else first > 0
    for term in terms:
        shape = [size if key in term else 1 for key, size in zip(keys, sizes, strict=True)]
        support = support & (observed.margin(term) > 0).reshape(shape)
    at = np.nonzero(support)
    margins = [(places_in(term, keys, at, sizes), observed.margin(term).ravel()) for term in terms]
    means = np.ones(len(at[0])) if first is None else first[at]
    seen = observed.margin(keys)[at]
    last, total = np.inf, observed.total or 1.0  # there may be no units at all
    for sweep in range(1, most_sweeps + 1):
        deviation = _sweep(means, margins) / total
        converged = deviation <= tolerance
        if sweep % _STRIDE == 0 and not converged:
            likelihood = float((seen[seen > 0] * np.log(means[seen > 0])).sum())
            converged = abs(likelihood - last) <= min(tolerance, _LIKELIHOOD) * total
            last = likelihood
        if converged:
            break
    table = np.zeros(sizes)
    table[at] = means
    return _Fit(table, sweep, deviation, converged)


def places_in(
    term: Term, keys: Term, at: tuple[NDArray[np.int64], ...], sizes: tuple[int, ...]
) -> NDArray[np.int64]:
    """Return the cell of a term's margin that each cell of a table over some keys belongs to."""
    axes = [keys.index(key) for key in term]
    return np.ravel_multi_index([at[axis] for axis in axes], [sizes[axis] for axis in axes])


def _sweep(means: Array, margins: list[tuple[NDArray[np.int64], Array]]) -> float:
    """Scale means, in place, to one margin after the other; return how far the worst was off."""
    deviation = 0.0
    for place, target in margins:
        margin = np.bincount(place, weights=means, minlength=len(target))
        deviation = max(deviation, float(np.abs(margin - target).sum()))
        means *= np.divide(target, margin, out=np.zeros(len(target)), where=margin > 0)[place]
    return deviation
