"""Maximum likelihood fits of hierarchical log-linear models, component by component."""

from __future__ import annotations

from math import prod

import numpy as np

from maskmeter.checks import locked
from maskmeter.data.keys import KeySpace
from maskmeter.errors import InputError
from maskmeter.loglinear.component_table import ComponentTable
from maskmeter.loglinear.components import junction_tree
from maskmeter.loglinear.drawing import Drawn
from maskmeter.loglinear.means import FittedMeans, table_sizes
from maskmeter.loglinear.observed import Counted
from maskmeter.loglinear.scaling import scaling
from maskmeter.loglinear.terms import Term, generating_class, spell

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
    to `tolerance` of the total. `start` is the fit of a smaller model, or a looser one of this: a
    component that it has fitted to the same counts and closely enough is taken as it is.
    """
    tree = junction_tree(generators, len(observed.space.keys))
    fitted: dict[Term, ComponentTable] = {}
    drawn: Drawn = {}
    if start is not None and start.counts is observed:
        fitted, drawn = {part.keys: part for part in start.parts}, start.last_drawn
    parts, sweeps = [], 0
    for keys in tree.components:
        terms, part = restricted(generators, keys), fitted.get(keys)
        if part is None or not part.settled(terms, tolerance):
            part = _fit_component(
                observed, keys, terms, start, tolerance=tolerance, most_sweeps=most_sweeps
            )
            sweeps = max(sweeps, part.sweeps)
        parts.append(part)
    return FittedMeans(
        observed.space,
        generators,
        tree,
        parts=tuple(parts),
        separators=tuple(observed.margin(keys) for keys in tree.separators),
        counts=observed,
        sweeps=sweeps,
        last_drawn=drawn,
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


def _fit_component(
    observed: Counted,
    keys: Term,
    terms: tuple[Term, ...],
    start: FittedMeans | None,
    *,
    tolerance: float,
    most_sweeps: int,
) -> ComponentTable:
    """Return the fit of a component: its margin if it is one term, else scaled margin by margin.

    On sparse tables most cells have an empty margin and stay empty. The maximum then lies on the
    boundary, where margins are met only slowly while the deviance has long settled.
    """
    check_component(observed.space, keys)
    if terms == (keys,):
        return ComponentTable(keys, terms, observed.margin(keys))
    first = None if start is None else start.margin(keys)
    margins = [(tuple(map(keys.index, term)), observed.margin(term)) for term in terms]
    fit = scaling(first, table_sizes(observed.space, keys), margins)
    seen = fit.of(observed.margin(keys))
    some = seen > 0
    last, total = np.inf, observed.total or 1.0  # there may be no units at all
    for sweep in range(1, most_sweeps + 1):
        deviation = fit.sweep() / total
        converged = deviation <= tolerance
        if sweep % _STRIDE == 0 and not converged:
            likelihood = float((seen[some] * np.log(fit.means[some])).sum())
            converged = abs(likelihood - last) <= min(tolerance, _LIKELIHOOD) * total
            last = likelihood
        if converged:
            break
    table = locked(fit.table())
    return ComponentTable(keys, terms, table, sweep, deviation, converged, tolerance)
