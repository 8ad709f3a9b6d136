"""The demonstration: the paper's question, asked of the synthetic census."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskmeter._random import RandomSource, seed_of
from maskmeter.errors import without_warnings
from maskmeter.microdata import read
from maskmeter.misclassification import Misclassification, stay_or_move
from maskmeter.perturb import Release
from maskmeter.risk import (
    approximate_risk,
    correctly_classified_risk,
    estimate_risk,
    exact_risk,
)
from maskmeter.simulate import PAPER_SIZE, bernoulli_sample, synthetic_census
from maskmeter.table import count

if TYPE_CHECKING:
    from collections.abc import Callable

    from maskmeter.risk import EstimatedRisk, Risk
    from maskmeter.table import KeyTable

FRACTION = 0.01
STAY = 0.9
STEPS = ("Building the census", "Counting it", "Sampling and moving", "Measuring the risk")


@dataclass(frozen=True)
class Demo:
    """What the demonstration found; `measures` are (equation, meaning, risk)."""

    population: KeyTable
    release: Release
    measures: tuple[tuple[str, str, Risk], ...]
    estimate: EstimatedRisk


def run_demo(
    *,
    size: int = PAPER_SIZE,
    rng: RandomSource = 2010,
    announce: Callable[[str], None] = lambda _: None,
) -> Demo:
    """Return the risk measures of a sample of the census whose district was misclassified.

    `announce` is told each of STEPS as it begins.

    >>> [equation for equation, _, _ in run_demo(size=20_000).measures]
    ['tau*', '(2.8)', '(2.5)', '(2.6)', '(2.7)', '(2.9)', 'estimate']
    """
    seed = seed_of(rng)
    steps = iter(STEPS)
    announce(next(steps))
    census = synthetic_census(size=size)
    announce(next(steps))
    population = count(census, keys=census.columns)
    announce(next(steps))
    drawn = bernoulli_sample(census, fraction=FRACTION, rng=seed)
    sample = read(drawn, keys=population.space, fraction=FRACTION)
    districts = population.space["lad"].size
    errors = Misclassification({"lad": stay_or_move(districts, stay=STAY)}).on(sample)
    moved = sample.with_codes(errors.draw(sample.codes, rng=seed))
    release = Release(sample, moved, errors)
    announce(next(steps))
    # The table shows (2.6) as it is, and a census at a small scale is known to be small.
    with without_warnings():
        estimate = estimate_risk(release)
        return Demo(population, release, _measures(release, population, estimate), estimate)


def _measures(
    release: Release, population: KeyTable, estimate: EstimatedRisk
) -> tuple[tuple[str, str, Risk], ...]:
    return (
        ("tau*", "before misclassification", exact_risk(release.original, population)),
        ("(2.8)", "tau, exact", exact_risk(release, population)),
        (
            "(2.5)",
            "approximation, small fraction",
            approximate_risk(release, population, formula="2.5"),
        ),
        (
            "(2.6)",
            "approximation, small error rate",
            approximate_risk(release, population, formula="2.6"),
        ),
        (
            "(2.7)",
            "approximation, diagonal only",
            approximate_risk(release, population, formula="2.7"),
        ),
        (
            "(2.9)",
            "tau*_CC, knowing who moved",
            correctly_classified_risk(release, population),
        ),
        ("estimate", "tau, from the sample alone", estimate),
    )
