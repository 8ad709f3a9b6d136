"""Which interactions a model needs: two searches, each with its whole path."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf, log
from typing import Literal, TypeAlias

import numpy as np

from maskmeter.checks import check_choice, check_progress, check_whole, is_number, shown
from maskmeter.data.microdata import Microdata
from maskmeter.errors import ExhaustedSearchWarning, InputError, ModelWarning
from maskmeter.loglinear.averaging import LogLinearSearch, Method, Step, Stop, Weighted, step_of
from maskmeter.loglinear.components import junction_tree
from maskmeter.loglinear.fit import LARGEST_COMPONENT, component_size, fit_means
from maskmeter.loglinear.model import Counts, LogLinear, chosen_file
from maskmeter.loglinear.observed import Observed, parts_of
from maskmeter.loglinear.terms import Term, generating_class, spell
from maskmeter.perturb import Release

Progress: TypeAlias = Callable[[Step], object]

Obstacle = Literal["size", "time"]

_ON_THE_PATH, _MOST_SWEEPS = 1e-3, 40  # margins need not be met closely to rank models
_IN_USE = 1e-5
_MOST_WORK = 1.5e7  # cells of a component times its terms: a fifth of a second a sweep
_ORDERS = (2, 3)  # of the terms that are tried, one after the other
_GOOD = 1.0  # z2 of a model that is good enough to stop at
WEAK = 1.96


def search_loglinear(
    data: Release | Microdata,
    *,
    method: Method = "score",
    counts: Counts = "original",
    enough: float = 0.0,
    most_terms: int = 40,
    progress: Progress | None = None,
) -> LogLinearSearch:
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
    most_terms
        The search stops after adding so many terms; it does so only with many keys.
    progress
        Called with every step of the path as soon as it is made.

    >>> import maskmeter as mm
    >>> census = mm.synthetic_census(size=50_000)
    >>> people = mm.bernoulli_sample(census, fraction=0.1, rng=1)
    >>> sample = mm.read(people, keys=["sex", "age", "marital"], fraction=0.1)
    >>> mm.search_loglinear(sample).terms
    ('sex:age', 'sex:marital', 'age:marital')
    """
    check_choice(method, Method, name="method")
    if not is_number(enough) or not enough >= 0:
        raise InputError(f"`enough` must be a number of at least 0, not {shown(enough)}.")
    check_progress(progress)
    check_whole(most_terms, name="most_terms", least=0)
    chosen = chosen_file(data, counts)
    report = progress or (lambda _: None)
    search = _Search(chosen, counts, Observed.of(chosen), enough, most_terms, report)
    steps = search.score_path() if method == "score" else search.forward()
    stop = search.stop(method, steps)  # before models are fitted again, more closely
    result = replace((_scored if method == "score" else _last)(search, steps), stop=stop)
    more = "Raise `most_terms` or use" if result.stop == "most terms" else "Use"
    for caution in search_cautions(result, advice=f"{more} coarser or fewer keys."):
        warnings.warn(caution, stacklevel=2)
    return result


def search_cautions(
    found: LogLinearSearch, *, advice: str = "Use coarser or fewer keys."
) -> Iterator[ModelWarning]:
    """Yield a warning of a search that ran out of terms before the fit was good."""
    if not found.exhausted or not found.goodness.z2 > WEAK:
        return
    message = (
        f"{found.stopped} z2 is still {found.goodness.z2:.1f}, so the risk is likely overstated."
        f" {advice}"
    )
    yield ExhaustedSearchWarning(message)


@dataclass(frozen=True)
class _Search:
    """A file under search: what both searches share."""

    data: Microdata
    counts: Counts
    observed: Observed
    enough: float
    most_terms: int
    progress: Progress

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

    def candidates(self, model: LogLinear, order: int) -> list[Term]:
        """Return the terms of an order that may come next: those whose parts are all in."""
        held, keys = parts_of(model.means.generators), range(len(self.data.space.keys))
        fresh = [term for term in combinations(keys, order) if term not in held]
        return [term for term in fresh if all(p in held for p in combinations(term, order - 1))]

    def obstacle(self, model: LogLinear, term: Term) -> Obstacle | None:
        """Return what keeps a model with one more term from being fitted, if anything does."""
        generators = generating_class([*model.means.generators, term])
        slow = False
        for keys in junction_tree(generators, len(self.data.space.keys)).components:
            size = component_size(self.data.space, keys)
            if size > LARGEST_COMPONENT:
                return "size"
            terms = sum(len(set(keys) & set(one)) > 1 for one in generators)
            slow |= size * terms > _MOST_WORK and set(term) <= set(keys)
        return "time" if slow else None

    def fits(self, model: LogLinear, term: Term) -> bool:
        """Return True when a model with one more term can be fitted in time and memory."""
        return self.obstacle(model, term) is None

    def score_path(self) -> list[Step]:
        """Add the term with the best score until BIC rises and some model is good enough."""
        steps = [self._step(None, None)]
        if self.everybody:
            return steps
        while True:
            here = steps[-1]
            best = None if _settled(steps) else self._best(here.model)
            if best is None or len(steps) > self.most_terms:
                return steps
            steps.append(self._step(best, here.model))

    def _best(self, model: LogLinear) -> Term | None:
        """Return the term with the best score that can be fitted, or None when there is none."""
        for order in _ORDERS:
            ranked = sorted(
                self.candidates(model, order), key=lambda term: -self._score(model, term)
            )
            for term in ranked:
                if self.fits(model, term):
                    return term
        return None

    def _score(self, model: LogLinear, term: Term) -> float:
        """Return G2 of the term's fitted margin against the observed one, less what BIC takes."""
        scale = self.observed.size / self.observed.total
        fitted = model.means.margin(term)
        gain = self.observed.deviance(fitted, term)
        return scale * gain - log(self.observed.size) * self.observed.degrees(term)

    @property
    def everybody(self) -> bool:
        """Whether the whole population is in the file: then no model matters."""
        return bool((self.data.inclusion(self.observed.codes) == 1).all())

    def forward(self) -> list[Step]:
        """Add the term that brings z2 closest to 0 until none brings it closer."""
        steps = [self._step(None, None)]
        while abs(steps[-1].z2) > self.enough and len(steps) <= self.most_terms:
            step = self._closer(steps[-1])
            if step is None:
                break
            steps.append(step)
            self.progress(step)
        return steps

    def _closer(self, here: Step) -> Step | None:
        """Return the step to the model with z2 closest to 0, or None when none is closer."""
        for order in _ORDERS:
            best, closest = None, abs(here.z2)
            for term in self.candidates(here.model, order):
                if not self.fits(here.model, term):
                    continue
                model = self.fitted(term, here.model)
                off = abs(model.rough_goodness.z2)
                if off < closest:
                    best, closest = (model, term), off
            if best is not None and abs(best[0].goodness.z2) < abs(here.z2):
                return step_of(best[0], spell(best[1], self.data.space))
        return None

    def _step(self, term: Term | None, before: LogLinear | None) -> Step:
        added = "" if term is None else spell(term, self.data.space)
        step = step_of(self.fitted(term, before), added)
        self.progress(step)
        return step

    def result(
        self, method: Method, steps: list[Step], nearest: int, weighted: list[Weighted]
    ) -> LogLinearSearch:
        """Return what was found."""
        barred = self.barred(steps[-1].model)
        large, slow = (
            tuple(spell(term, self.data.space) for term, why in barred.items() if why == reason)
            for reason in ("size", "time")
        )
        return LogLinearSearch(
            method,
            tuple(steps),
            steps[nearest].model,
            tuple(weighted),
            too_large=large,
            too_slow=slow,
            enough=self.enough,
            most_terms=self.most_terms,
        )

    def barred(self, model: LogLinear) -> dict[Term, Obstacle | None]:
        """Return every term that may come next with what keeps it from being tried."""
        left = [term for order in _ORDERS for term in self.candidates(model, order)]
        return {term: self.obstacle(model, term) for term in left}

    def stop(self, method: Method, steps: list[Step]) -> Stop:
        """Return why a search ended where it did."""
        if self.everybody:
            return "whole population"
        enough = abs(steps[-1].z2) <= self.enough if method == "forward" else _settled(steps)
        if not enough and len(steps) > self.most_terms:
            return "most terms"
        # Without a term to try nothing was weighed against the last model.
        none = not enough and all(self.barred(steps[-1].model).values())
        return "no terms left" if none else "settled"


def _settled(steps: list[Step]) -> bool:
    """Return True once BIC rises and some model is good enough."""
    rising = len(steps) > 1 and steps[-1].bic >= steps[-2].bic
    return rising and any(step.z2 <= _GOOD for step in steps)


def _scored(search: _Search, steps: list[Step]) -> LogLinearSearch:
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
        for position, share in zip((crossing, crossing + 1), _shares(steps, crossing), strict=True):
            weighted.append(Weighted(steps[position].model, 0.0, share / 2, "A"))
    return search.result("score", steps, nearest, weighted)


def _last(search: _Search, steps: list[Step]) -> LogLinearSearch:
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
