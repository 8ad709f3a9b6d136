"""Which interactions a model needs: two searches, each with its whole path."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf, log
from typing import TYPE_CHECKING

import numpy as np

from maskmeter._checks import check_choice, is_number, shown
from maskmeter.errors import ExhaustedSearchWarning, InputError
from maskmeter.loglinear import fit
from maskmeter.loglinear.components import junction_tree
from maskmeter.loglinear.fit import fit_means
from maskmeter.loglinear.model import Counts, LogLinear, chosen_file
from maskmeter.loglinear.observed import Observed, parts_of
from maskmeter.loglinear.result import LoglinearSearch, Method, Step, Weighted, step_of
from maskmeter.loglinear.terms import generating_class, spell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from maskmeter.loglinear.terms import Term
    from maskmeter.microdata import Microdata
    from maskmeter.perturb import Release

    Progress = Callable[[Step], object]

_ON_THE_PATH, _MOST_SWEEPS = 1e-3, 40  # margins need not be met closely to rank models
_IN_USE = 1e-5
_GOOD = 1.0  # z2 of a model that is good enough to stop at
WEAK = 1.96


def search_loglinear(
    data: Release | Microdata,
    *,
    method: Method = "score",
    counts: Counts = "original",
    enough: float = 0.0,
    progress: Progress | None = None,
) -> LoglinearSearch:
    """Return the log-linear models that a search finds fit to estimate risk with.

    "score" (the default) adds, from independence on, the interaction with the largest gain in BIC
    as the margins show it, and looks at z2 after each; the estimate then averages a model
    interpolated to z2 = 0 and one with gamma-distributed cells at the smallest BIC. "forward" is
    the search of the paper: the interaction that brings z2 closest to 0, until none does; the
    estimate uses that one model. Both take two-way terms first, then three-way ones.

    Parameters
    ----------
    data
        A sample, or a release: then `counts` says which of its files.
    enough
        The forward search also stops when abs(z2) is below this.
    progress
        Called with every step of the path as soon as it is made.

    >>> import maskmeter as mm
    >>> census = mm.synthetic_census(size=50_000)
    >>> people = mm.bernoulli_sample(census, fraction=0.1, rng=1)
    >>> sample = mm.read(people, keys=["sex", "age", "marital"], fraction=0.1)
    >>> mm.search_loglinear(sample).terms
    ('sex:marital', 'age:marital')
    """
    check_choice(method, Method, name="method")
    if not is_number(enough) or enough < 0:
        message = f"`enough` must be a number of at least 0, not {shown(enough)}."
        raise InputError(message)
    chosen = chosen_file(data, counts)
    search = _Search(chosen, counts, Observed.of(chosen), progress or (lambda _: None), set())
    steps = search.score_path() if method == "score" else search.forward(enough)
    result = (_scored if method == "score" else _last)(search, steps)
    if result.exhausted and result.goodness.z2 > WEAK:
        message = (
            f"The search added all {len(steps) - 1} terms it could, and z2 is still"
            f" {result.goodness.z2:.1f}: the risk is likely overstated. Use coarser keys, or fewer."
        )
        warnings.warn(message, ExhaustedSearchWarning, stacklevel=2)
    return result


@dataclass(frozen=True)
class _Search:
    """A file under search: what both searches share."""

    data: Microdata
    counts: Counts
    observed: Observed
    progress: Progress
    skipped: set[Term]  # terms that would have made too large a component

    def fitted(self, term: Term | None, before: LogLinear | None) -> LogLinear:
        """Return the model with one more term, fitted closely enough to be ranked."""
        if before is None:
            generators: tuple[Term, ...] = tuple((k,) for k in range(len(self.data.space.keys)))
        else:
            generators = before.means.generators
        if term is not None:
            generators = generating_class([*generators, term])
        means = fit_means(
            self.observed,
            generators,
            start=None if before is None else before.means,
            tolerance=_ON_THE_PATH,
            most_sweeps=_MOST_SWEEPS,
        )
        return LogLinear(self.data, self.counts, means, self.observed)

    def refitted(self, step: Step) -> Step:
        """Return a step whose model is fitted closely enough to be used."""
        means = step.model.means
        means = fit_means(self.observed, means.generators, start=means, tolerance=_IN_USE)
        return step_of(replace(step.model, means=means), step.added)

    def candidates(self, model: LogLinear) -> list[Term]:
        """Return the terms that may come next: two-way ones, then three-way ones whose parts are in."""
        generators = model.means.generators
        held, keys = parts_of(generators), range(len(self.data.space.keys))
        for order in (2, 3):
            fresh = [term for term in combinations(keys, order) if term not in held]
            whole = [t for t in fresh if all(p in held for p in combinations(t, order - 1))]
            allowed = [term for term in whole if self._fits(generators, term)]
            if allowed:
                return allowed
        return []

    def _fits(self, generators: tuple[Term, ...], term: Term) -> bool:
        tree = junction_tree(generating_class([*generators, term]), len(self.data.space.keys))
        sizes = (fit.component_size(self.data.space, keys) for keys in tree.components)
        fits = max(sizes) <= fit.LARGEST_COMPONENT
        if not fits:
            self.skipped.add(term)
        return fits

    def score_path(self) -> list[Step]:
        """Add the term with the best score until BIC rises and some model is good enough."""
        steps = [self._step(None, None)]
        while True:
            here = steps[-1]
            rising = len(steps) > 1 and here.bic >= steps[-2].bic
            good = any(step.z2 <= _GOOD for step in steps)
            candidates = self.candidates(here.model)
            if (rising and good) or not candidates:
                return steps
            best = max(candidates, key=lambda term: self._score(here.model, term))
            steps.append(self._step(best, here.model))

    def _score(self, model: LogLinear, term: Term) -> float:
        """Return G2 of the term's fitted margin against the observed one, less what BIC takes."""
        scale = self.observed.size / self.observed.total
        fitted = model.means.margin(term)
        gain = self.observed.deviance(fitted, term)
        return scale * gain - log(self.observed.size) * self.observed.degrees(term)

    def forward(self, enough: float) -> list[Step]:
        """Add the term that brings z2 closest to 0 until none brings it closer."""
        steps = [self._step(None, None)]
        while abs(steps[-1].z2) > enough:
            here = steps[-1]
            best, closest = None, abs(here.z2)
            for term in self.candidates(here.model):
                model = self.fitted(term, here.model)
                off = abs(model.goodness.z2)
                if off < closest:
                    best, closest = (term, model), off
            if best is None:
                break
            steps.append(step_of(best[1], spell(best[0], self.data.space)))
            self.progress(steps[-1])
        return steps

    def _step(self, term: Term | None, before: LogLinear | None) -> Step:
        added = "" if term is None else spell(term, self.data.space)
        step = step_of(self.fitted(term, before), added)
        self.progress(step)
        return step

    def result(
        self, method: Method, steps: list[Step], nearest: int, weighted: list[Weighted]
    ) -> LoglinearSearch:
        """Return what was found."""
        exhausted = not self.candidates(steps[-1].model)
        skipped = tuple(spell(term, self.data.space) for term in sorted(self.skipped))
        return LoglinearSearch(
            method, tuple(steps), steps[nearest].model, tuple(weighted), exhausted, skipped
        )


def _scored(search: _Search, steps: list[Step]) -> LoglinearSearch:
    """Return the average of an interpolation to z2 = 0 and a Poisson-gamma model at least BIC."""
    z2 = [step.z2 for step in steps]
    nearest = _nearest(z2)
    crossing = _crossing(z2)
    best = min(range(len(steps)), key=lambda position: steps[position].bic)
    used = {nearest, best} | (set() if crossing is None else {crossing, crossing + 1})
    for position in used:
        steps[position] = search.refitted(steps[position])
    phi = steps[best].model.goodness.overdispersion
    weighted = [Weighted(steps[best].model, phi, 0.5, "B")]
    if crossing is None:
        weighted.append(Weighted(steps[nearest].model, 0.0, 0.5, "A"))
    else:
        for position, share in zip(
            (crossing, crossing + 1), _shares(steps, crossing), strict=True
        ):
            weighted.append(Weighted(steps[position].model, 0.0, share / 2, "A"))
    return search.result("score", steps, nearest, weighted)


def _last(search: _Search, steps: list[Step]) -> LoglinearSearch:
    """Return the model that the forward search stopped at."""
    steps[-1] = search.refitted(steps[-1])
    weighted = [Weighted(steps[-1].model, 0.0, 1.0, "A")]
    return search.result("forward", steps, len(steps) - 1, weighted)


def _nearest(z2: list[float]) -> int:
    """Return the position of the z2 that is closest to 0; one that is not defined is far."""
    off = [inf if np.isnan(z) else abs(z) for z in z2]
    return int(np.argmin(off))


def _crossing(z2: list[float]) -> int | None:
    """Return the first position at which z2 is above 0 and the next one is not."""
    for position in range(len(z2) - 1):
        if z2[position] > 0 >= z2[position + 1]:
            return position
    return None


def _shares(steps: list[Step], crossing: int) -> tuple[float, float]:
    """Return the weights of two neighbours whose z2 then average to 0."""
    above, below = steps[crossing].z2, steps[crossing + 1].z2
    share = float(np.clip(above / (above - below), 0, 1)) if above != below else 0.5
    return 1 - share, share
