"""Which interactions a model needs: two searches, each with its whole path."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from math import inf, log
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from maskmeter.checks import (
    check_choice,
    check_number,
    check_progress,
    check_whole,
)
from maskmeter.data.microdata import Microdata
from maskmeter.errors import Caution, ExhaustedSearchWarning, warn
from maskmeter.loglinear.averaging import (
    LogLinearSearch,
    PathStep,
    SearchMethod,
    Stop,
    WeightedModel,
)
from maskmeter.loglinear.components import components_with
from maskmeter.loglinear.fit import LARGEST_COMPONENT, component_size
from maskmeter.loglinear.fitted_margins import fitted_margins
from maskmeter.loglinear.model import LogLinear, fitted_model
from maskmeter.loglinear.observed import (
    BothFiles,
    Counts,
    Observed,
    Weighting,
    check_records,
    check_weighting,
    chosen_file,
    parts_of,
)
from maskmeter.loglinear.terms import Term, generating_class, spell

OnStep: TypeAlias = Callable[[PathStep], object]
Obstacle = Literal["size", "time"]

_ON_THE_PATH, _MOST_SWEEPS = 1e-3, 40  # margins need not be met closely to rank models
_MOST_WORK = 1.5e7  # cells of a component times its terms: a fifth of a second a sweep
_ORDERS = (2, 3)  # of the terms that are tried: two-way first
_GOOD = 1.0  # z2 of a model that is good enough to stop at
_NEAR, _SURE = 3.0, 4.0  # z2 that decides something, and standard errors that it is surely off by
_DRAWN = 0.03  # of a large z2: by how much draws may be off
WEAK = 1.96


def search_loglinear(
    data: BothFiles | Microdata,
    *,
    method: SearchMethod = "score-path",
    counts: Counts = "original",
    weighting: Weighting = "unsampled",
    enough: float = 0.0,
    most_terms: int = 40,
    progress: OnStep | None = None,
) -> LogLinearSearch:
    """Return the log-linear models that a search finds fit to estimate risk with.

    "score-path" (the default) starts at independence and adds the interaction with the largest gain in
    BIC, as the margins show it, and looks at z2 after each; the estimate then averages a model
    interpolated to z2 = 0 and one with gamma-distributed cells at the smallest BIC. "forward" is
    the search of the paper: the interaction that brings z2 closest to 0, until none does; the
    estimate uses that one model. Both take two-way terms first, then three-way ones.

    Parameters
    ----------
    data
        A sample, or a release: then `counts` says which of its files.
    weighting
        As for `mm.fit_loglinear`.
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
    check_choice(method, SearchMethod, name="method")
    check_number(enough, name="enough", least=0)
    check_progress(progress)
    check_whole(most_terms, name="most_terms", least=0)
    chosen = chosen_file(data, counts)
    check_weighting(chosen, weighting)
    found = search_models(
        chosen,
        method=method,
        weighting=weighting,
        enough=enough,
        most_terms=most_terms,
        progress=progress,
    )
    more = "Raise `most_terms` or use" if found.stop == "most terms" else "Use"
    warn(search_cautions(found, advice=f"{more} coarser or fewer keys."))
    return found


def search_models(
    data: Microdata,
    *,
    method: SearchMethod = "score-path",
    weighting: Weighting = "unsampled",
    enough: float = 0.0,
    most_terms: int = 40,
    progress: OnStep | None = None,
) -> LogLinearSearch:
    """Return what a search finds, without warnings: its cautions belong to the caller's result."""
    check_records(data)
    search = _ScoreSearch if method == "score-path" else _ForwardSearch
    observed = Observed.of(data, weighting)
    observed.count_pairs()
    return search(data, observed, enough, most_terms, progress or (lambda _: None)).run()


def search_cautions(
    found: LogLinearSearch, *, advice: str = "Use coarser or fewer keys."
) -> Iterator[Caution]:
    """Yield a caution about a search that ran out of terms before the fit was good."""
    if found.exhausted and found.goodness.z2 > WEAK:
        yield Caution(
            ExhaustedSearchWarning,
            f"{found.stopped} z2 is still {found.goodness.z2:.1f}, so the risk is likely overstated."
            f" {advice}",
        )


@dataclass(frozen=True)
class _ModelSearch(ABC):
    """A file and the options of its search: what both searches share."""

    data: Microdata
    observed: Observed
    enough: float
    most_terms: int
    progress: OnStep

    method: ClassVar[SearchMethod]

    @abstractmethod
    def done(self, path: list[PathStep]) -> bool:
        """Return True once the path has a model that is good enough."""

    @abstractmethod
    def next_step(self, here: PathStep) -> PathStep | None:
        """Return the best model with one more term, or None when there is none."""

    @abstractmethod
    def average(self, path: list[PathStep]) -> tuple[int, list[WeightedModel[LogLinear]]]:
        """Return the position of the nearest model, and the models to average.

        These models are fitted again, more closely, in their places on the path.
        """

    def run(self) -> LogLinearSearch:
        """Return the path and the models that an estimate averages."""
        path = self._path()
        obstacles = self._obstacles(path[-1].model)
        stop = self._stop(path, obstacles)  # before models are fitted again, more closely
        nearest, weighted = self.average(path)
        path[-1].model.means.last_drawn.clear()  # nothing more is drawn
        large, slow = (
            tuple(spell(term, self.data.space) for term, why in obstacles.items() if why == reason)
            for reason in ("size", "time")
        )
        return LogLinearSearch(
            self.method,
            tuple(path),
            path[nearest].model,
            tuple(weighted),
            stop=stop,
            too_large=large,
            too_slow=slow,
            enough=self.enough,
            most_terms=self.most_terms,
        )

    def _path(self) -> list[PathStep]:
        """Add a term at a time, from independence on, until a model is good enough."""
        main_effects = tuple((key,) for key in range(len(self.data.space.keys)))
        path = [self.step(self._fitted(main_effects, None))]
        self.progress(path[0])
        while not self.everybody and not self.done(path) and len(path) <= self.most_terms:
            step = self.next_step(path[-1])
            if step is None:
                break
            path.append(step)
            self.progress(step)
        return path

    def _stop(self, path: list[PathStep], obstacles: dict[Term, Obstacle | None]) -> Stop:
        """Return why the search ended where it did."""
        if self.everybody:
            return "whole population"
        if self.done(path):
            return "settled"
        if len(path) > self.most_terms:
            return "most terms"
        # Without a term to try nothing was weighed against the last model.
        return "no terms left" if all(obstacles.values()) else "settled"

    @cached_property
    def everybody(self) -> bool:
        """Whether the whole population is in the file: then no model matters."""
        return bool((self.data.inclusion(self.observed.codes) == 1).all())

    def _fitted(self, generators: tuple[Term, ...], start: LogLinear | None) -> LogLinear:
        """Return a model, fitted closely enough to be ranked."""
        return fitted_model(
            self.data,
            self.observed,
            generators,
            start=start,
            tolerance=_ON_THE_PATH,
            most_sweeps=_MOST_SWEEPS,
        )

    def larger(self, model: LogLinear, term: Term) -> LogLinear:
        """Return the model with one more term."""
        return self._fitted(generating_class([*model.means.generators, term]), model)

    def step(self, model: LogLinear, added: str = "") -> PathStep:
        """Return a step with figures that are good enough to follow the path."""
        return PathStep.of(model, added)

    def refitted(self, step: PathStep) -> PathStep:
        """Return a step whose model is fitted closely enough to be used."""
        model, generators = step.model, step.model.means.generators
        return PathStep.of(
            fitted_model(self.data, self.observed, generators, start=model), step.added
        )

    def candidates(self, model: LogLinear, order: int) -> list[Term]:
        """Return the terms of an order that may come next: those whose parts are all in."""
        held, keys = parts_of(model.means.generators), range(len(self.data.space.keys))
        fresh = [term for term in combinations(keys, order) if term not in held]
        return [term for term in fresh if all(p in held for p in combinations(term, order - 1))]

    def obstacle(self, model: LogLinear, term: Term) -> Obstacle | None:
        """Return what keeps a model with one more term from being fitted, if anything does."""
        generators, tree = generating_class([*model.means.generators, term]), model.means.tree
        space, slow = self.data.space, False
        whole = component_size(space, tree.keys_between(term))
        if whole <= LARGEST_COMPONENT and whole * len(generators) <= _MOST_WORK:
            return None  # no component that the term makes is larger
        for keys in components_with(tree, generators, term):
            size = component_size(space, keys)
            if size > LARGEST_COMPONENT:
                return "size"
            terms = sum(len(set(keys) & set(one)) > 1 for one in generators)
            slow |= size * terms > _MOST_WORK and set(term) <= set(keys)
        return "time" if slow else None

    def _obstacles(self, model: LogLinear) -> dict[Term, Obstacle | None]:
        """Return every term that may come next with what keeps it from being tried."""
        left = [term for order in _ORDERS for term in self.candidates(model, order)]
        return {term: self.obstacle(model, term) for term in left}


class _ScoreSearch(_ModelSearch):
    """Add the term with the best score until BIC rises and some model is good enough."""

    method = "score-path"

    def step(self, model: LogLinear, added: str = "") -> PathStep:
        """Return a step; far from a good fit, draws of a large table tell z2 well enough."""
        good = model.path_goodness
        if good.draws and good.z2 - _SURE * good.error < _NEAR:
            good = model.goodness
        return PathStep.of(model, added, good)

    def done(self, path: list[PathStep]) -> bool:
        """Return True once BIC rises and some model is good enough."""
        rising = len(path) > 1 and path[-1].bic >= path[-2].bic
        return rising and any(step.z2 <= _GOOD for step in path)

    def next_step(self, here: PathStep) -> PathStep | None:
        """Return the model with the term of the best score among those that can be fitted."""
        for order in _ORDERS:
            scores = self._scores(here.model, self.candidates(here.model, order))
            for term in sorted(scores, key=lambda term: -scores[term]):
                if self.obstacle(here.model, term) is None:
                    return self.step(self.larger(here.model, term), spell(term, self.data.space))
        return None

    def _scores(self, model: LogLinear, terms: list[Term]) -> dict[Term, float]:
        """Return G2 of each term's fitted margin against the observed one, less what BIC takes."""
        table = self.observed
        scale, penalty = table.size / table.total, log(table.size)
        return {
            term: scale * table.deviance(fitted, term) - penalty * table.degrees(term)
            for term, fitted in fitted_margins(model.means, terms)
        }

    def average(self, path: list[PathStep]) -> tuple[int, list[WeightedModel[LogLinear]]]:
        """Return the models interpolated to z2 = 0, and the Poisson-gamma one with the lowest BIC."""
        for position in _close_to_best([step.z2 for step in path]):  # z2 may be from draws
            path[position] = PathStep.of(path[position].model, path[position].added)
        z2 = [step.z2 for step in path]
        nearest, around = _nearest(z2), _around_zero(z2)
        best = min(range(len(path)), key=lambda position: path[position].bic)
        for position in {nearest, best, *around}:
            path[position] = self.refitted(path[position])
        b = path[best].model
        weighted = [WeightedModel(b, b.goodness.overdispersion, 0.5, "B")]
        for position, weight in zip(around, _weights([path[p].z2 for p in around]), strict=True):
            weighted.append(WeightedModel(path[position].model, 0.0, weight / 2, "A"))
        return nearest, weighted


class _ForwardSearch(_ModelSearch):
    """Add the term that brings z2 closest to 0 until none brings it closer."""

    method = "forward"

    def done(self, path: list[PathStep]) -> bool:
        """Return True once abs(z2) is as small as asked for."""
        return abs(path[-1].z2) <= self.enough

    def next_step(self, here: PathStep) -> PathStep | None:
        """Return the model with z2 closest to 0, or None when none is closer."""
        for order in _ORDERS:
            best, closest = None, abs(here.z2)
            for term in self.candidates(here.model, order):
                if self.obstacle(here.model, term) is not None:
                    continue
                model = self.larger(here.model, term)
                off = abs(model.rough_goodness.z2)
                if off < closest:
                    best, closest = (model, term), off
            if best is not None and abs(best[0].goodness.z2) < abs(here.z2):
                return PathStep.of(best[0], spell(best[1], self.data.space))
        return None

    def average(self, path: list[PathStep]) -> tuple[int, list[WeightedModel[LogLinear]]]:
        """Return the model that the search ended at, alone."""
        path[-1] = self.refitted(path[-1])
        return len(path) - 1, [WeightedModel(path[-1].model)]


def _nearest(z2: list[float]) -> int:
    """Return the position of the z2 that is closest to 0; one that is not defined is far."""
    return int(np.argmin([inf if np.isnan(z) else abs(z) for z in z2]))


def _close_to_best(z2: list[float]) -> list[int]:
    """Return the positions whose z2 is closest to 0, or so nearly so that draws do not tell.

    >>> _close_to_best([30.0, 10.1, 10.0])
    [1, 2]
    """
    least = abs(z2[_nearest(z2)])
    return [position for position, z in enumerate(z2) if abs(z) <= least * (1 + _DRAWN)]


def _around_zero(z2: list[float]) -> list[int]:
    """Return the first two neighbours with 0 between their z2, or the nearest position."""
    for position, (here, there) in enumerate(pairwise(z2)):
        if here > 0 >= there:
            return [position, position + 1]
    return [_nearest(z2)]


def _weights(z2: list[float]) -> list[float]:
    """Return the weights with which the z2 of two neighbours average to 0; 1 for a single one."""
    if len(z2) == 1:
        return [1.0]
    above, below = z2
    share = float(np.clip(above / (above - below), 0, 1)) if above != below else 0.5
    return [1 - share, share]
