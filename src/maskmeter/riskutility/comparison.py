"""The comparison of candidates: the risk of several releases against what each costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import Progress, check_choice, check_progress, check_whole
from maskmeter.data.microdata import Microdata, check_microdata
from maskmeter.data.table import KeyTable
from maskmeter.errors import Caution, InputError, warn
from maskmeter.loglinear import DEFAULT_MODEL
from maskmeter.perturb import Release
from maskmeter.risk.intruder import EXACT_MATCH, INFORMED, Intruder
from maskmeter.risk.models import Model
from maskmeter.risk.target import Target
from maskmeter.risk.view import Errors, Known, views
from maskmeter.riskutility.assessor import (
    ASSOCIATIONS,
    Assessor,
    Draw,
    Measure,
    Point,
    Steps,
    Tables,
    altered_keys,
    carried_columns,
    release_cautions,
)
from maskmeter.riskutility.layers import Layer, target_layers
from maskmeter.riskutility.riskmap import RiskUtilityMap
from maskmeter.streams import RandomSource, generator, seed_of


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
    model: Model = DEFAULT_MODEL,
    intruder: Intruder = INFORMED,
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
        Counts of the true keys: then the risk is exact. Else it is estimated, by a model of the
        original that serves all candidates.
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
    model
        "shrunk", "score-path" or "forward", or a fitted model, as for `mm.estimate_risk`.
    intruder
        Whose frontier and interval decide; the risk from both intruders is measured.
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
    check_choice(intruder, Intruder, name="intruder")
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
            carried=carried_columns(candidates.values()),
        ),
        candidates,
        replication_seeds(seed_of(rng), replications),
        intruder=intruder,
        progress=progress,
    )
    warn(found.cautions)
    return found


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
    *,
    intruder: Intruder = INFORMED,
    target: Target | None = None,
    progress: Progress | None = None,
) -> RiskUtilityMap:
    """Return the map of candidates, each drawn with every seed; None leaves the file alone."""
    tried: dict[str, list[Draw]] = {}
    for label, candidate in candidates.items():
        drawn = seeds[:1] if candidate is None or isinstance(candidate, Release) else seeds
        tried[str(label)] = [assessor.trial(candidate, seed=seed).draw for seed in drawn]
        if progress is not None:
            progress(str(label), len(tried), len(candidates))
    points = [Point.of(label, draws) for label, draws in tried.items()]
    of_releases = [one for label, draws in tried.items() for one in release_cautions(label, draws)]
    of_risks = [one for draws in tried.values() for draw in draws for one in draw.cautions]
    first = [(point, tried[point.label][0]) for point in points]
    return map_of(
        points,
        assessor,
        (*of_risks, *of_releases),
        intruder=intruder,
        layers=() if target is None else target_layers(target, first),
    )


def map_of(
    points: Sequence[Point],
    assessor: Assessor,
    cautions: Iterable[Caution],
    *,
    intruder: Intruder = INFORMED,
    layers: tuple[Layer, ...] = (),
) -> RiskUtilityMap:
    """Return the map of some points, with its frontiers from least loss to least risk."""
    return RiskUtilityMap(
        tuple(points),
        {one: tuple(_frontier(points, one)) for one in (EXACT_MATCH, INFORMED)},
        intruder,
        assessor.measure,
        assessor.exact,
        assessor.tables,
        tuple(dict.fromkeys(cautions)),
        layers,
        frame_kind=assessor.sample.frame_kind,
    )


def _frontier(points: Sequence[Point], intruder: Intruder) -> Iterator[str]:
    """Yield the releases that none beats for an intruder, from least loss to least risk."""
    risk = np.array([point.matches(intruder)[0] for point in points])
    best = undominated(risk, np.array([point.loss for point in points]))
    ranked = sorted((p for p, on in zip(points, best, strict=True) if on), key=lambda p: p.loss)
    yield from (point.label for point in ranked)


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
