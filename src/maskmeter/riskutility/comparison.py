"""Which release to choose: the risk of several against what each costs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter import chart
from maskmeter.checks import check_progress, check_whole
from maskmeter.data.microdata import Microdata, check_microdata
from maskmeter.data.table import KeyTable
from maskmeter.display import InWords
from maskmeter.errors import InputError, MaskmeterWarning, UnfitModelWarning, without_warnings
from maskmeter.loglinear import LogLinear, LoglinearSearch
from maskmeter.perturb import Release
from maskmeter.perturb.release import check_release
from maskmeter.plurals import counted, plural
from maskmeter.riskutility.assessor import (
    ASSOCIATIONS,
    Assessor,
    Known,
    Measure,
    Point,
    Steps,
    Tables,
    perturbed_keys,
    release_cautions,
)
from maskmeter.streams import RandomSource, generator, seed_of

AXES = {
    "worst": "Information loss (%)",
    "raad": "100 - RAAD",
    "rcv": "Change in Cramer's V (%)",
    "bvr": "Mean change in between-row variances (%)",
}
_FEW_TABLES = 6  # that a summary names
_LINE = 70  # letters of labels that a line has room for


@dataclass(frozen=True, eq=False)
class RiskUtilityMap(InWords):
    """Candidates by risk and information loss; the frontier holds those that none beats on both.

    `tables` are those that the loss is the mean of, `cautions` why the estimates may mislead and
    what the steps of a candidate warned of.
    """

    _shown = (
        ("label", "release", ""),
        ("risk", "correct matches", ",.1f"),
        ("upper", "upper end", ",.1f"),
        ("share", "share of uniques", ".1%"),
        ("loss", "loss", ".2f"),
        ("changed", "records changed", ".1%"),
        ("frontier", "on the frontier", ""),
    )

    points: tuple[Point, ...]
    frontier: tuple[str, ...]
    measure: Measure
    exact: bool
    tables: tuple[tuple[str, str], ...]
    cautions: tuple[MaskmeterWarning, ...] = ()

    def __repr__(self) -> str:
        """Return the headline."""
        return (
            f"RiskUtilityMap({counted(len(self.points), 'release')};"
            f" frontier {', '.join(self.frontier)})"
        )

    @cached_property
    def _by_label(self) -> dict[str, Point]:
        return {point.label: point for point in self.points}

    def __getitem__(self, label: str) -> Point:
        """Return the point of a candidate."""
        if label not in self._by_label:
            raise InputError(
                f"No release is labelled {label!r}; there are {', '.join(self._by_label)}."
            )
        return self._by_label[label]

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each candidate."""
        rows = [vars(point) | {"frontier": point.label in self.frontier} for point in self.points]
        return pl.DataFrame(rows)

    def summary(self) -> str:
        """Return a short account."""
        kind = "exact" if self.exact else "estimated"
        axis, listed = AXES[self.measure], ", ".join(map(" x ".join, self.tables))
        over = listed if len(self.tables) <= _FEW_TABLES else counted(len(self.tables), "table")
        unfit = [str(one) for one in self.cautions if isinstance(one, UnfitModelWarning)]
        lines = [
            *unfit,
            (
                f"{counted(len(self.points), 'release')} by {kind} risk and {axis[0].lower()}{axis[1:]}, the"
                f" mean over {over}."
            ),
            f"On the frontier, from least loss to least risk: {self.ranking}.",
            *(f"Caution: {one}" for one in map(str, self.cautions) if one not in unfit),
        ]
        return "\n".join(lines)

    @property
    def ranking(self) -> str:
        """The releases on the frontier with their figures, from least loss to least risk."""
        return "; ".join(
            f"{label} ({self[label].risk:.1f} correct matches, loss {self[label].loss:.1f})"
            for label in self.frontier
        )

    @property
    def headline(self) -> str:
        """How many of the releases are on the frontier, in one line; or why no figure holds."""
        for caution in self.cautions:
            if isinstance(caution, UnfitModelWarning):
                return str(caution)
        number = len(self.frontier)
        of = counted(len(self.points), "release")
        return f"{number} of {of} {plural(number, 'is', 'are')} on the frontier."

    def _best(self) -> str:
        """Return the labels on the frontier, or their number where they are too many for a line."""
        named = ", ".join(self.frontier)
        many = f"{len(self.frontier)} of {counted(len(self.points), 'release')}"
        return named if len(named) <= _LINE else many

    def plot(self, *, chosen: str = "", target: tuple[float, str] | None = None) -> Any:
        """Return an Altair chart of the map with its frontier.

        `chosen` is the label of a release to stand out, `target` a level of risk to draw a line at
        and the words on it.
        """
        kind = "Expected" if self.exact else "Estimated"
        return chart.frontier(
            self.to_frame(),
            x=AXES[self.measure],
            y=f"{kind} correct matches",
            title="Risk and information loss",
            subtitle=f"Frontier: {self._best()}",
            chosen=chosen,
            target=target,
        )


def compare(
    sample: Microdata,
    candidates: Mapping[str, Steps],
    *,
    loss: Tables = None,
    measure: Measure = "worst",
    associations: int = ASSOCIATIONS,
    population: KeyTable | None = None,
    model: LogLinear | LoglinearSearch | None = None,
    known: Known = None,
    releases: Mapping[str, Release] | None = None,
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
        Rows and columns of a table that analysts need, or a list of such pairs. The loss of a
        release is the mean over these tables and the strongest associations in the file.
    measure
        "worst": the largest of 100 - RAAD, the change of Cramer's V and that of the differences
        between rows, in percent. Or one of them: "raad" (the paper's), "rcv"; or "bvr".
    associations
        How many of its strongest associations count for each key that a candidate changes; 0
        leaves the tables in `loss` alone, as in the paper.
    population
        Counts of the true keys: then the risk is exact. Else it is estimated, by `model` or by a
        search of the original that serves all candidates.
    known
        The keys that an intruder knows, if not all: a list, or text such as "age,sex". Or several
        such sets, as a list or by the names of their scenarios: each release is shown at its worst.
    releases
        Releases of the sample that were made already, to stand on the map beside the candidates.
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
    >>> mm.compare(sample, swaps, population=population, rng=1)
    RiskUtilityMap(2 releases; frontier RS10, RS20)
    """
    check_candidates(candidates, *map(str, releases or {}))
    check_progress(progress)
    check_whole(replications, name="replications", least=1)
    check_whole(associations, name="associations", least=0)
    check_microdata(sample)
    made = {str(label): release for label, release in (releases or {}).items()}
    for release in made.values():
        check_release(release)
    assessor = Assessor.of(
        sample,
        _perturbed(sample, candidates, made),
        population=population,
        model=model,
        loss=loss,
        measure=measure,
        known=known,
        associations=associations,
    )
    seeds = replication_seeds(seed_of(rng), replications)
    points, cautions = [], []
    for label, release in made.items():
        with without_warnings():  # the map keeps what they say
            trials = [assessor.assessed(release)]
        points.append(Point.of(label, trials))
        cautions += release_cautions(label, trials)
    for label, steps in candidates.items():
        trials = [assessor.trial(steps, seed=seed) for seed in seeds]
        points.append(Point.of(str(label), trials))
        cautions += release_cautions(str(label), trials)
        if progress is not None:
            progress(points[-1])
    found = mapped(points, assessor, cautions)
    for caution in found.cautions:
        warnings.warn(caution, stacklevel=2)
    return found


UNCHANGED = "no protection"


def check_candidates(candidates: object, *taken: str) -> None:
    """Refuse what is not a dictionary of steps, and labels that are taken."""
    if not isinstance(candidates, Mapping) or not candidates:
        raise InputError(
            "Give a dictionary of candidates: for each label a step or a list of steps."
        )
    if len({*taken, *map(str, candidates)}) < len(taken) + len(candidates):
        raise InputError("Two releases have the same label. Give each its own.")


def _perturbed(
    sample: Microdata, candidates: Mapping[str, Steps], releases: Mapping[str, Release]
) -> list[str]:
    """Return the keys that candidates and releases change, in the order of the file."""
    named = set(perturbed_keys(sample, candidates.values()))
    for release in releases.values():
        named |= {name for name, share in release.changed_by_key.items() if share}
    return [name for name in sample.space.names if name in named]


def mapped(
    points: Sequence[Point], assessor: Assessor, cautions: Sequence[MaskmeterWarning]
) -> RiskUtilityMap:
    """Return the map of some points, with its frontier from least loss to least risk.

    `cautions` are those of the releases; what speaks against the estimates comes before them.
    """
    best = undominated(np.array([p.risk for p in points]), np.array([p.loss for p in points]))
    ranked = sorted((p for p, on in zip(points, best, strict=True) if on), key=lambda p: p.loss)
    labels = tuple(point.label for point in ranked)
    said = {str(one): one for one in (*assessor.cautions.values(), *cautions)}
    return RiskUtilityMap(
        tuple(points),
        labels,
        assessor.measure,
        assessor.exact,
        assessor.tables,
        tuple(said.values()),
    )


def undominated(risk: NDArray[np.float64], loss: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which points no other point beats: lower on one axis and not higher on the other.

    >>> undominated(np.array([3.0, 1.0, 3.0]), np.array([1.0, 2.0, 2.0])).tolist()
    [True, True, False]
    """
    no_worse = (risk[:, None] <= risk) & (loss[:, None] <= loss)
    better = (risk[:, None] < risk) | (loss[:, None] < loss)
    return ~np.asarray((no_worse & better).any(axis=0))


def replication_seeds(seed: int, number: int) -> list[int]:
    """Return a seed for each replication, the same for all candidates; one is the seed itself."""
    if number == 1:
        return [seed]
    words = generator(seed, "replications").integers(2**63, size=number)
    return [int(word) for word in words]
