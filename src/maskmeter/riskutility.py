"""Which release to choose: the risk of several against what each costs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from maskmeter import chart
from maskmeter._checks import check_choice, check_whole
from maskmeter._random import RandomSource, generator, seed_of
from maskmeter.errors import InputError, MaskmeterWarning
from maskmeter.loglinear import LogLinear, LoglinearSearch, search_loglinear
from maskmeter.microdata import check_microdata
from maskmeter.perturb import protect
from maskmeter.risk import EstimatedRisk, estimate_risk, exact_risk
from maskmeter.utility import information_loss

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from maskmeter.microdata import Microdata
    from maskmeter.perturb import Release
    from maskmeter.perturb.step import Step
    from maskmeter.risk import Risk
    from maskmeter.table import KeyTable
    from maskmeter.utility import Loss

    Steps = Step | Sequence[Step]

Measure = Literal["raad", "rcv", "bvr"]

AXES = {
    "raad": "100 - RAAD",
    "rcv": "Change of Cramer's V (%)",
    "bvr": "Mean change of between-row variances (%)",
}


@dataclass(frozen=True)
class Point:
    """A candidate on the map: means over its replications, and their standard deviations.

    `upper` is the upper end of the interval of an estimated risk, and the risk itself when the
    population is known. `loss` is a distance from the unchanged table: smaller is better.
    """

    label: str
    changed: float
    risk: float
    risk_sd: float
    share: float
    upper: float
    loss: float
    loss_sd: float
    replications: int


@dataclass(frozen=True)
class Trial:
    """One release of a candidate, its risk and its loss."""

    release: Release
    risk: Risk
    loss: float

    @property
    def upper(self) -> float:
        """Upper end of the risk's interval, or the risk itself when it is exact."""
        interval = self.risk.interval if isinstance(self.risk, EstimatedRisk) else None
        return self.risk.total if interval is None else interval[1]


@dataclass(frozen=True, eq=False)
class Assessor:
    """What all candidates share, worked out once: the population or the model, and the measure."""

    sample: Microdata
    population: KeyTable | None
    model: LogLinear | LoglinearSearch | None
    tables: tuple[tuple[str, str], ...]
    measure: Measure

    @classmethod
    def of(
        cls,
        sample: Microdata,
        *,
        population: KeyTable | None,
        model: LogLinear | LoglinearSearch | None,
        loss: tuple[str, str] | Sequence[tuple[str, str]],
        measure: Measure,
    ) -> Assessor:
        """Return it after the checks; without population and model, the default search is made."""
        check_microdata(sample)
        check_choice(measure, Measure, name="measure")
        if population is None and model is None:
            model = search_loglinear(sample)
        return cls(sample, population, model, _tables(loss), measure)

    def trial(self, steps: Steps, *, seed: int) -> Trial:
        """Return one release of a candidate with its risk and loss."""
        listed: Any = steps if isinstance(steps, list | tuple) else [steps]
        with warnings.catch_warnings():  # the path or the map shows what was achieved
            warnings.simplefilter("ignore", MaskmeterWarning)
            release = protect(self.sample, listed, rng=seed)
            risk = (
                estimate_risk(release, self.model)
                if self.population is None
                else exact_risk(release, self.population)
            )
        found = [information_loss(release, rows=rows, columns=cols) for rows, cols in self.tables]
        return Trial(release, risk, float(np.mean([distance(one, self.measure) for one in found])))

    def point(self, label: str, steps: Steps, *, seeds: Sequence[int]) -> Point:
        """Return a candidate's place on the map."""
        trials = [self.trial(steps, seed=seed) for seed in seeds]
        risk = np.array([trial.risk.total for trial in trials])
        loss = np.array([trial.loss for trial in trials])
        return Point(
            label,
            changed=float(np.mean([trial.release.changed.mean() for trial in trials])),
            risk=float(risk.mean()),
            risk_sd=_spread(risk),
            share=float(np.mean([trial.risk.share for trial in trials])),
            upper=float(np.mean([trial.upper for trial in trials])),
            loss=float(loss.mean()),
            loss_sd=_spread(loss),
            replications=len(trials),
        )


@dataclass(frozen=True, eq=False)
class RiskUtilityMap:
    """Candidates by risk and information loss; the frontier holds those that none beats on both."""

    points: tuple[Point, ...]
    frontier: tuple[str, ...]
    measure: Measure
    exact: bool

    def __repr__(self) -> str:
        """Return the headline."""
        return f"RiskUtilityMap({len(self.points)} releases; frontier {', '.join(self.frontier)})"

    @cached_property
    def _by_label(self) -> dict[str, Point]:
        return {point.label: point for point in self.points}

    def __getitem__(self, label: str) -> Point:
        """Return the point of a candidate."""
        if label not in self._by_label:
            message = f"No release is labelled {label!r}; there are {', '.join(self._by_label)}."
            raise InputError(message)
        return self._by_label[label]

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each candidate."""
        rows = [vars(point) | {"frontier": point.label in self.frontier} for point in self.points]
        return pl.DataFrame(rows)

    def summary(self) -> str:
        """Return a short account."""
        kind = "exact" if self.exact else "estimated"
        best = "; ".join(
            f"{label} ({self[label].risk:.1f} correct matches, loss {self[label].loss:.1f})"
            for label in self.frontier
        )
        return (
            f"{len(self.points)} releases by {kind} risk and loss ({AXES[self.measure]}).\n"
            f"On the frontier, from least loss to least risk: {best}."
        )

    def plot(self) -> Any:  # noqa: ANN401 - an Altair chart, which is optional
        """Return an Altair chart of the map with its frontier."""
        kind = "Expected" if self.exact else "Estimated"
        return chart.frontier(
            self.to_frame(),
            x=AXES[self.measure],
            y=f"{kind} correct matches",
            title="Risk and information loss",
            subtitle=f"Frontier: {', '.join(self.frontier)}",
        )

    def _repr_html_(self) -> str:
        """Return the summary for notebooks."""
        return "".join(f"<p>{escape(line)}</p>" for line in self.summary().splitlines())


def compare(
    sample: Microdata,
    candidates: Mapping[str, Steps],
    *,
    loss: tuple[str, str] | Sequence[tuple[str, str]],
    measure: Measure = "raad",
    population: KeyTable | None = None,
    model: LogLinear | LoglinearSearch | None = None,
    replications: int = 1,
    rng: RandomSource = None,
    progress: Callable[[Point], object] | None = None,
) -> RiskUtilityMap:
    """Return the risk and the information loss of several ways to protect a file.

    Parameters
    ----------
    candidates
        A step, or a list of steps, under a label of its own.
    loss
        Rows and columns of the table whose loss is measured, or a list of such pairs.
    measure
        "raad" (100 - RAAD), "rcv" or "bvr": distances from an unchanged table.
    population
        Counts of the true keys: then the risk is exact. Else it is estimated, by `model` or by a
        search of the original that serves all candidates.
    replications
        How often each candidate is drawn. All use the same random numbers.
    progress
        Called with each point as soon as it is known.

    >>> import maskmeter as mm
    >>> census = mm.synthetic_census(size=50_000)
    >>> population = mm.count(census, keys=["lad", "age", "ethnicity"])
    >>> people = mm.bernoulli_sample(census, fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=population.space, fraction=0.05)
    >>> swaps = {f"RS{rate}": mm.Swap("lad", rate=rate / 100) for rate in (10, 20)}
    >>> mm.compare(sample, swaps, loss=("lad", "ethnicity"), population=population, rng=1)
    RiskUtilityMap(2 releases; frontier RS10, RS20)
    """
    if not isinstance(candidates, Mapping) or not candidates:
        message = "Give a dictionary of candidates: a step, or a list of steps, for each label."
        raise InputError(message)
    check_whole(replications, name="replications", least=1)
    assessor = Assessor.of(sample, population=population, model=model, loss=loss, measure=measure)
    seeds = replication_seeds(seed_of(rng), replications)
    points = []
    for label, steps in candidates.items():
        points.append(assessor.point(str(label), steps, seeds=seeds))
        if progress is not None:
            progress(points[-1])
    return mapped(points, assessor)


def mapped(points: Sequence[Point], assessor: Assessor) -> RiskUtilityMap:
    """Return the map of some points, with its frontier from least loss to least risk."""
    best = undominated(np.array([p.risk for p in points]), np.array([p.loss for p in points]))
    ranked = sorted((p for p, on in zip(points, best, strict=True) if on), key=lambda p: p.loss)
    labels = tuple(point.label for point in ranked)
    exact = assessor.population is not None
    return RiskUtilityMap(tuple(points), labels, assessor.measure, exact)


def undominated(risk: NDArray[np.float64], loss: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which points no other point beats: lower on one axis and not higher on the other.

    >>> undominated(np.array([3.0, 1.0, 3.0]), np.array([1.0, 2.0, 2.0])).tolist()
    [True, True, False]
    """
    no_worse = (risk[:, None] <= risk) & (loss[:, None] <= loss)
    better = (risk[:, None] < risk) | (loss[:, None] < loss)
    return ~np.asarray((no_worse & better).any(axis=0))


def distance(loss: Loss, measure: Measure) -> float:
    """Return how far a table is from its ideal by a measure: 0 is unchanged."""
    if measure == "raad":
        return 100 - loss.raad
    if measure == "rcv":
        return abs(loss.rcv)
    return float(np.nanmean(np.abs(list(loss.bvr.values()))))


def replication_seeds(seed: int, number: int) -> list[int]:
    """Return a seed for each replication, the same for all candidates."""
    words = generator(seed, "replications").integers(2**63, size=number)
    return [int(word) for word in words]


def _tables(loss: object) -> tuple[tuple[str, str], ...]:
    pairs = [loss] if _is_pair(loss) else loss
    if not isinstance(pairs, list | tuple) or not pairs or not all(map(_is_pair, pairs)):
        message = (
            '`loss` must be a pair of columns, such as ("lad", "ethnicity"), or a list of pairs.'
        )
        raise InputError(message)
    return tuple((str(rows), str(columns)) for rows, columns in pairs)


def _is_pair(given: object) -> bool:
    two = isinstance(given, list | tuple) and len(given) == 2  # noqa: PLR2004 - a pair
    return two and all(isinstance(name, str) for name in given)  # type: ignore[attr-defined]


def _spread(values: NDArray[np.float64]) -> float:
    """Return the standard deviation of replications; 0 when there is one."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0
