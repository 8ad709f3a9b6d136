"""Estimates on samples of the simulated populations, each beside the truth."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

import maskmeter as mm
from maskmeter import errors
from populations import SMALL, WORLDS, World, world

STAY = 0.9
FOLD = 7.0  # how far inclusion probabilities vary


@dataclass(frozen=True)
class Trial:
    """An estimate and its truth."""

    estimate: float
    truth: float
    interval: tuple[float, float]
    cautioned: bool  # that the risk is likely understated

    @property
    def error(self) -> float:
        """Relative error."""
        return self.estimate / self.truth - 1

    @property
    def covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.interval[0] <= self.truth <= self.interval[1]

    @property
    def half_width(self) -> float:
        """Half the width of the interval, against the estimate."""
        return (self.interval[1] - self.interval[0]) / 2 / self.estimate


def _trial(risk: mm.EstimatedRisk, truth: mm.Risk) -> Trial:
    told = any("likely understated" in str(caution) for caution in risk.cautions)
    return Trial(risk.total, truth.total, risk.interval, told)


def before(name: str, seed: int, **options: object) -> Trial:
    """Return the estimate of a sample as it is."""
    sample = _sample(name, seed)
    return _trial(mm.estimate_risk(sample, **options), mm.exact_risk(sample, world(name).counts))


def after_pram(keys: int, intruder: str = "exact-match") -> Callable[[str, int], Trial]:
    """Return trials of files whose first keys were changed by PRAM, with the original held."""

    def trial(name: str, seed: int) -> Trial:
        steps = [mm.Pram(f"k{c}", stay=STAY) for c in range(keys)]
        release = mm.protect(_sample(name, seed), steps, rng=seed)
        return _trial(
            mm.estimate_risk(release, intruder=intruder),
            mm.exact_risk(release, world(name).counts, intruder=intruder),
        )

    return trial


def recorded_with_error(keys: int) -> Callable[[str, int], Trial]:
    """Return trials of files whose first keys were recorded with error: the truth is not held."""

    def trial(name: str, seed: int) -> Trial:
        sample, counts = _sample(name, seed), world(name).counts
        sizes = sample.space.sizes
        noise = mm.Misclassification(
            {f"k{c}": mm.stay_or_move(sizes[c], stay=STAY) for c in range(keys)}
        )
        seen = sample.with_codes(noise.on(sample).draw(sample.codes, rng=seed))
        return _trial(
            mm.estimate_risk(seen, misclassification=noise),
            mm.exact_risk(seen, counts, misclassification=noise),
        )

    return trial


def _sample(name: str, seed: int) -> mm.Microdata:
    return world(name).sample((WORLDS | SMALL)[name].fraction, seed=seed)


PERTURBATIONS = {
    "before": before,
    **{f"PRAM of {k}": after_pram(k) for k in (1, 2, 3)},
    **{f"errors in {k}": recorded_with_error(k) for k in (1, 2, 3)},
}


def _ramp(codes: np.ndarray, size: int) -> np.ndarray:
    """Return rates that vary sevenfold over the categories of a key, in a mixed order."""
    return FOLD ** np.random.default_rng(size).permutation(np.linspace(0, 1, size))[codes]


def rates_of(people: World, design: str, seed: int) -> np.ndarray:
    """Return the relative inclusion probability of each unit under a design."""
    first, second, third = ((people.codes[:, c], people.space.sizes[c]) for c in range(3))
    if design == "by one key":
        return _ramp(*second)
    if design == "by two keys":
        return np.sqrt(_ramp(*second) * _ramp(*third))
    if design == "by the perturbed key":
        return _ramp(*first)
    if design == "by a column that is no key":
        return FOLD**people.hidden
    return FOLD ** np.random.default_rng([seed, 1]).random(len(people.codes))  # unrelated


WEIGHTED = ("ordered normal", "chain", "dominant category")
DESIGNS = (
    "by one key",
    "by two keys",
    "by the perturbed key",
    "by a column that is no key",
    "unrelated",
)


def weighted_trials(name: str, design: str, seed: int) -> dict[str, Trial]:
    """Return the estimates of a weighted sample, before and after a swap of the first key.

    The truth after the swap has the inclusion probabilities of the true cells.
    """
    people, fraction = world(name), WORLDS[name].fraction
    rates = rates_of(people, design, seed)
    pi = np.minimum(rates * fraction / rates.mean(), 1.0)
    kept = np.random.default_rng([seed, 2]).random(len(pi)) < pi
    sample = mm.Microdata(people.space, people.codes[kept], weights=1 / pi[kept])
    swap, counts = mm.Swap("k0", rate=0.2), people.counts
    release = swap.apply(sample, rng=seed)
    twin = mm.Microdata(people.space, people.codes[kept], fraction=_by_design(people, design, pi))
    truth = swap.apply(twin, rng=seed)
    model = mm.shrink_loglinear(sample)
    return {
        "before": _trial(mm.estimate_risk(sample, model), mm.exact_risk(sample, counts)),
        "swap": _trial(mm.estimate_risk(release, model), mm.exact_risk(truth, counts)),
        "swap, informed": _trial(
            mm.estimate_risk(release, model, intruder="informed"),
            mm.exact_risk(truth, counts, intruder="informed"),
        ),
    }


def _by_design(people: World, design: str, pi: np.ndarray) -> float | mm.By:
    """Return the sampling fraction, by the keys that it depends on."""
    columns = {"by one key": [1], "by two keys": [1, 2], "by the perturbed key": [0]}.get(design)
    if columns is None:
        return float(pi.mean())
    cells, first = np.unique(people.codes[:, columns], axis=0, return_index=True)
    names = tuple(f"k{c}" for c in columns)
    values = {
        tuple(cell.tolist()) if len(columns) > 1 else int(cell[0]): float(pi[at])
        for cell, at in zip(cells, first, strict=True)
    }
    otherwise = float(pi.mean())
    return mm.by(names if len(names) > 1 else names[0], values, otherwise=otherwise)


def quietly(found: Callable[..., object], *args: object) -> object:
    """Return what a study finds; a weak fit now and then is part of it."""
    with errors.without_warnings(), warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.MaskmeterWarning)
        return found(*args)


@dataclass(frozen=True)
class Summary:
    """What several trials come to."""

    trials: int
    covered: int
    error: float  # mean absolute relative error
    bias: float
    half_width: float
    missed_and_cautioned: int

    @classmethod
    def of(cls, trials: Iterable[Trial]) -> Summary:
        """Return the counts and means of some trials."""
        listed = list(trials)
        return cls(
            len(listed),
            sum(one.covered for one in listed),
            float(np.mean([abs(one.error) for one in listed])),
            float(np.mean([one.error for one in listed])),
            float(np.mean([one.half_width for one in listed])),
            sum(one.cautioned for one in listed if not one.covered),
        )

    def __str__(self) -> str:
        """Return the counts and means in one line."""
        return (
            f"{self.covered:3d} of {self.trials} covered, error {self.error:5.1%}, bias"
            f" {self.bias:+6.1%}, half-width {self.half_width:5.1%}"
        )
