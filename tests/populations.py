"""Populations that differ in how their keys depend on each other; none is like the census."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

import maskmeter as mm


@dataclass(frozen=True, eq=False)
class World:
    """A population: its keys, the cell of each unit, and a column that is no key."""

    space: mm.KeySpace
    codes: np.ndarray
    hidden: np.ndarray  # in [0, 1]: what inclusion may depend on beside the keys

    @property
    def counts(self) -> mm.KeyTable:
        """The population as counts."""
        return mm.KeyTable.of(self.space, self.codes)

    def sample(self, fraction: float, *, seed: int) -> mm.Microdata:
        """Return a sample in which each unit is with the same probability."""
        rng = np.random.default_rng([seed, 7])
        kept = rng.random(len(self.codes)) < fraction
        return mm.Microdata(self.space, self.codes[kept], fraction=fraction)


def _drawn(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """Return a column drawn for each row of chances."""
    ends = np.cumsum(rows, axis=1)
    return (rng.random((len(rows), 1)) * ends[:, -1:] > ends).sum(axis=1)


def _zipf(size: int, power: float) -> np.ndarray:
    """Return falling shares."""
    share = 1 / np.arange(1, size + 1) ** power
    return share / share.sum()


def latent_classes(rng: np.random.Generator, n: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Return keys that are independent within each of eight classes."""
    of = rng.choice(8, size=n, p=_zipf(8, 0.7))
    columns = [_drawn(rng, rng.dirichlet(3 * _zipf(k, 0.8), size=8)[of]) for k in sizes]
    return np.stack(columns, axis=1)


def ordered_normal(rng: np.random.Generator, n: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Return correlated normal variables in bands of unequal width."""
    loading = rng.uniform(-0.9, 0.9, size=(len(sizes), 2)) / np.sqrt(2)
    noise = np.sqrt(1 - (loading**2).sum(axis=1))
    scores = rng.standard_normal((n, 2)) @ loading.T + noise * rng.standard_normal((n, len(sizes)))
    bounds = [np.sort(rng.normal(scale=1.1, size=k - 1)) for k in sizes]
    return np.stack([np.searchsorted(b, s) for b, s in zip(bounds, scores.T, strict=True)], axis=1)


def chain(rng: np.random.Generator, n: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Return keys of which each depends on the one before it."""
    columns = [rng.choice(sizes[0], size=n, p=_zipf(sizes[0], 0.6))]
    for k, before in zip(sizes[1:], sizes, strict=False):
        columns.append(_drawn(rng, rng.dirichlet(5 * _zipf(k, 0.6), size=before)[columns[-1]]))
    return np.stack(columns, axis=1)


def chain_of_order_two(rng: np.random.Generator, n: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Return keys of which each depends on the two before it together: strong three-way structure."""
    columns = [rng.choice(k, size=n, p=_zipf(k, 0.5)) for k in sizes[:2]]
    for k, one, two in zip(sizes[2:], sizes, sizes[1:], strict=False):
        rows = rng.dirichlet(3 * _zipf(k, 0.5), size=one * two)
        columns.append(_drawn(rng, rows[columns[-2] * two + columns[-1]]))
    return np.stack(columns, axis=1)


def dominant_category(rng: np.random.Generator, n: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Return keys with one large category each, which the same people tend to leave."""
    odd = rng.gamma(0.7, size=n) / 0.7
    leave = 1 - np.exp(-0.35 * odd[:, None] * rng.uniform(0.5, 1.5, size=len(sizes)))
    others = np.stack([rng.choice(k - 1, size=n, p=_zipf(k - 1, 0.9)) + 1 for k in sizes], axis=1)
    return np.where(rng.random(leave.shape) < leave, others, 0)


def two_way_loglinear(rng: np.random.Generator, n: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Return cells drawn from a log-linear model with all two-way terms."""
    logs = np.zeros(sizes)
    for one, size in enumerate(sizes):
        logs = logs + rng.normal(scale=0.8, size=size).reshape(_along(one, sizes))
        for two in range(one):
            shape = np.ones(len(sizes), int)
            shape[[two, one]] = sizes[two], size
            logs = logs + rng.normal(scale=0.45, size=(sizes[two], size)).reshape(shape)
    chance = np.exp(logs).ravel()
    cells = rng.choice(chance.size, size=n, p=chance / chance.sum())
    return np.stack(np.unravel_index(cells, sizes), axis=1)


def _along(axis: int, sizes: tuple[int, ...]) -> list[int]:
    return [size if place == axis else 1 for place, size in enumerate(sizes)]


@dataclass(frozen=True)
class Setting:
    """How a world is made, and how it is sampled: so many records to expect."""

    make: Callable[[np.random.Generator, int, tuple[int, ...]], np.ndarray]
    sizes: tuple[int, ...]
    records: int
    fraction: float


WORLDS = {
    "latent classes": Setting(latent_classes, (10, 8, 6, 5, 4, 3), 5_000, 0.02),
    "ordered normal": Setting(ordered_normal, (20, 12, 8, 6, 4), 3_000, 0.01),
    "chain": Setting(chain, (12, 10, 9, 8, 5), 8_000, 0.02),
    "chain of order two": Setting(chain_of_order_two, (10, 8, 8, 6, 5), 6_000, 0.02),
    "dominant category": Setting(dominant_category, (15, 12, 8, 6, 5, 4), 20_000, 0.05),
    "two-way log-linear": Setting(two_way_loglinear, (12, 10, 8, 6, 5), 10_000, 0.04),
}
SMALL = {
    "chain of order two, few records": Setting(chain_of_order_two, (10, 8, 8, 6, 5), 2_000, 0.02),
    "two-way log-linear, few records": Setting(two_way_loglinear, (12, 10, 8, 6, 5), 1_000, 0.02),
}


@cache
def world(name: str) -> World:
    """Return a population, always the same one."""
    setting = (WORLDS | SMALL)[name]
    rng = np.random.default_rng(list(name.encode()))
    n = round(setting.records / setting.fraction)
    codes = setting.make(rng, n, setting.sizes)
    space = mm.KeySpace(mm.Key(f"k{c}", range(k)) for c, k in enumerate(setting.sizes))
    return World(space, codes, rng.random(n))
