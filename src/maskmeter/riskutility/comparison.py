"""Which release to choose: the risk of several against what each costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter import chart
from maskmeter.checks import Progress, check_progress, check_whole
from maskmeter.data.frames import POLARS, FrameKind, as_kind
from maskmeter.data.microdata import Microdata, check_microdata
from maskmeter.data.table import KeyTable
from maskmeter.display import InWords, shortened
from maskmeter.errors import Caution, InputError, UnfitModelWarning, warn
from maskmeter.loglinear import LogLinear, LogLinearSearch
from maskmeter.page import Table
from maskmeter.perturb import Release
from maskmeter.plurals import counted, plural
from maskmeter.risk.view import Errors, Known, views
from maskmeter.riskutility.assessor import (
    ASSOCIATIONS,
    Assessor,
    Measure,
    Point,
    Steps,
    Tables,
    Trial,
    altered_keys,
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

    points: tuple[Point, ...]
    frontier: tuple[str, ...]
    measure: Measure
    exact: bool
    tables: tuple[tuple[str, str], ...]
    cautions: tuple[Caution, ...] = ()
    frame_kind: FrameKind = field(default=POLARS, repr=False, kw_only=True)

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

    def to_frame(self) -> Any:
        """Return a row for each candidate."""
        return as_kind(map_frame(self), self.frame_kind)

    def summary(self) -> str:
        """Return a short account."""
        kind = "exact" if self.exact else "estimated"
        axis, listed = AXES[self.measure], ", ".join(map(" x ".join, self.tables))
        over = listed if len(self.tables) <= _FEW_TABLES else counted(len(self.tables), "table")
        unfit = [str(one) for one in self.cautions if one.kind is UnfitModelWarning]
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
            if caution.kind is UnfitModelWarning:
                return str(caution)
        number = len(self.frontier)
        of = counted(len(self.points), "release")
        return f"{number} of {of} {plural(number, 'is', 'are')} on the frontier."

    def _tables(self) -> Iterator[Table]:
        """Yield the releases with their figures."""
        yield shortened(map_table(map_frame(self), measure=self.measure))

    def plot(self, *, chosen: str = "", target: tuple[float, str] | None = None) -> Any:
        """Return an Altair chart of the map with its frontier.

        `chosen` is the label of a release to stand out, `target` a level of risk to draw a line at
        and the words on it.
        """
        return map_chart(
            map_frame(self), measure=self.measure, exact=self.exact, chosen=chosen, target=target
        )


def map_frame(found: RiskUtilityMap) -> pl.DataFrame:
    """Return a row for each release of a map: its point, and whether it is on the frontier."""
    return pl.DataFrame(
        [vars(point) | {"frontier": point.label in found.frontier} for point in found.points]
    )


def map_table(frame: pl.DataFrame, *, measure: str, chosen: str = "") -> Table:
    """Return the releases of a map as a table; `frame` is that of `map_frame`.

    >>> import polars as pl
    >>> one = {"label": "RS20", "risk": 299.21, "upper": 320.0, "share": 0.11, "loss": 4.3}
    >>> frame = pl.DataFrame([one | {"changed": 0.2, "left_out": 0.0, "frontier": True}])
    >>> map_table(frame, measure="raad", chosen="RS20").rows
    (('RS20', '299.2', '320.0', '11.0%', '4.30', '20.0%', 'frontier, chosen'),)
    """
    leaves_out = bool((frame["left_out"] > 0).any())
    rows = tuple(
        (
            one["label"],
            f"{one['risk']:,.1f}",
            f"{one['upper']:,.1f}",
            f"{one['share']:.1%}",
            f"{one['loss']:.2f}",
            f"{one['changed']:.1%}",
            *([f"{one['left_out']:.1%}"] if leaves_out else []),
            ", ".join(["frontier"] * one["frontier"] + ["chosen"] * (one["label"] == chosen)),
        )
        for one in frame.iter_rows(named=True)
    )
    left_out = ("left out",) if leaves_out else ()
    head = ("release", "matches", "upper end", "share", "loss", "changed", *left_out, "mark")
    axis = AXES[measure]
    return Table(f"Expected correct matches and {axis[0].lower()}{axis[1:]}", head, rows)


def map_chart(
    frame: pl.DataFrame,
    *,
    measure: str,
    exact: bool,
    chosen: str = "",
    target: tuple[float, str] | None = None,
) -> Any:
    """Return an Altair chart of the releases of a map, with their frontier."""
    best = frame.filter("frontier").sort("loss")["label"].to_list()
    named = ", ".join(best)
    many = f"{len(best)} of {counted(len(frame), 'release')}"
    return chart.frontier(
        frame,
        x=AXES[measure],
        y=f"{'Expected' if exact else 'Estimated'} correct matches",
        title="Risk and information loss",
        subtitle=f"Frontier: {named if len(named) <= _LINE else many}",
        chosen=chosen,
        target=target,
    )


def compare(
    data: Microdata,
    candidates: Mapping[str, Steps | Release],
    *,
    known: Known = None,
    population: KeyTable | None = None,
    misclassification: Errors = None,
    loss: Tables = None,
    measure: Measure = "worst",
    associations: int = ASSOCIATIONS,
    model: LogLinear | LogLinearSearch | None = None,
    replications: int = 1,
    rng: RandomSource = None,
    progress: Progress | None = None,
) -> RiskUtilityMap:
    """Return the risk and the information loss of several ways to protect a file.

    Parameters
    ----------
    candidates
        A step, a list of steps, or a release of the file that was made already, under a label of
        its own.
    known
        The keys that an intruder knows, if not all: a list, or text such as "age,sex". Or several
        such lists by the names of their scenarios: each release is shown at its worst.
    population
        Counts of the true keys: then the risk is exact. Else it is estimated, by `model` or by a
        search of the original that serves all candidates.
    misclassification
        Errors that the file was recorded with.
    loss
        Rows and columns of a table that analysts need, or a list of such pairs. The loss of a
        release is the mean over these tables and the strongest associations in the file.
    measure
        "worst": the largest of 100 - RAAD, the change of Cramer's V and that of the differences
        between rows, in percent. Or one of them: "raad" (the paper's), "rcv"; or "bvr".
    associations
        How many of its strongest associations count for each key that a candidate changes; 0
        leaves the tables in `loss` alone, as in the paper.
    replications
        How often each candidate is drawn. All use the same random numbers.
    progress
        Called with the label of each release as soon as it is assessed, and how many are.

    >>> import maskmeter as mm
    >>> census = mm.synthetic_census(size=50_000)
    >>> population = mm.count(census, keys=["lad", "age", "ethnicity"])
    >>> people = mm.bernoulli_sample(census, fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=population.space, fraction=0.05)
    >>> swaps = {f"RS{rate}": mm.Swap("lad", rate=rate / 100) for rate in (10, 20)}
    >>> mm.compare(sample, swaps, population=population, rng=1)
    RiskUtilityMap(2 releases; frontier RS10, RS20)
    """
    check_candidates(candidates)
    check_progress(progress)
    check_whole(replications, name="replications", least=1)
    check_whole(associations, name="associations", least=0)
    check_microdata(data)
    seen = views(data, known, counts=population, errors=misclassification, model=model)
    found = candidate_map(
        Assessor.of(
            data,
            seen,
            altered_keys(data, candidates.values()),
            loss=loss,
            measure=measure,
            associations=associations,
        ),
        candidates,
        replication_seeds(seed_of(rng), replications),
        progress,
    )
    warn(found.cautions)
    return found


UNCHANGED = "no protection"


def check_candidates(candidates: object, *taken: str) -> None:
    """Refuse what is not a dictionary of steps, and labels that are taken."""
    if not isinstance(candidates, Mapping) or not candidates:
        raise InputError(
            "Give a dictionary of candidates: for each label a step, a list of steps or a release."
        )
    if len({*taken, *map(str, candidates)}) < len(taken) + len(candidates):
        raise InputError("Two releases have the same label. Give each its own.")


def candidate_map(
    assessor: Assessor,
    candidates: Mapping[str, Steps | Release | None],
    seeds: Sequence[int],
    progress: Progress | None = None,
) -> RiskUtilityMap:
    """Return the map of candidates, each drawn with every seed; None leaves the file alone."""
    tried: dict[str, list[Trial]] = {}
    for label, candidate in candidates.items():
        drawn = seeds[:1] if candidate is None or isinstance(candidate, Release) else seeds
        tried[str(label)] = [assessor.trial(candidate, seed=seed) for seed in drawn]
        if progress is not None:
            progress(str(label), len(tried), len(candidates))
    points = [Point.of(label, trials) for label, trials in tried.items()]
    of_releases = [
        one for label, trials in tried.items() for one in release_cautions(label, trials)
    ]
    of_risks = [one for trials in tried.values() for trial in trials for one in trial.cautions]
    return map_of(points, assessor, (*of_risks, *of_releases))


def map_of(
    points: Sequence[Point], assessor: Assessor, cautions: Iterable[Caution]
) -> RiskUtilityMap:
    """Return the map of some points, with its frontier from least loss to least risk."""
    best = undominated(np.array([p.risk for p in points]), np.array([p.loss for p in points]))
    ranked = sorted((p for p, on in zip(points, best, strict=True) if on), key=lambda p: p.loss)
    return RiskUtilityMap(
        tuple(points),
        tuple(point.label for point in ranked),
        assessor.measure,
        assessor.exact,
        assessor.tables,
        tuple(dict.fromkeys(cautions)),
        frame_kind=assessor.sample.frame_kind,
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
