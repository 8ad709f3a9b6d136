"""The golden figures: results with fixed seeds on the census and on three small files.

`make golden` writes them again. A value that changes needs its reason in CHANGELOG.md.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import maskmeter as mm
from maskmeter.errors import without_warnings

FOLDER = Path(__file__).parent
SEED = 2010
TARGETED = mm.by("ethnicity", {"White British": 0.07}, otherwise=1.0)


@dataclass(frozen=True)
class World:
    """A sample, its population, steps to apply, and the table on which loss is measured."""

    sample: mm.Microdata
    population: mm.KeyTable
    steps: dict[str, list[Any]]
    table: tuple[str, str]
    family: mm.Family
    max_share: float


def census() -> World:
    """Return the census and the paper's designs at 20 %."""
    people = mm.synthetic_census()
    sample = mm.bernoulli_sample(people, fraction=0.01, rng=SEED)
    return World(
        mm.read(sample, keys=people.columns, fraction=0.01),
        mm.count(people, keys=people.columns),
        {
            "random swap": [mm.Swap("lad", rate=0.2)],
            "targeted swap": [mm.Swap("lad", rate=TARGETED)],
            "random PRAM": [mm.Pram("lad", stay=0.8)],
            "swap and PRAM": [mm.Swap("lad", rate=0.1), mm.Pram("age", stay=0.9)],
        },
        ("lad", "ethnicity"),
        mm.Family("lad", target="ethnicity"),
        0.1,
    )


def weighted() -> World:
    """Return a survey with unequal weights: the smallest of four regions is oversampled."""
    rng = np.random.default_rng(1)
    region = _drawn(rng, 60_000, [0.5, 0.3, 0.15, 0.05])
    people = pl.DataFrame(
        {
            "region": [f"region {code}" for code in region],
            "sex": _drawn(rng, len(region), [0.5, 0.5]),
            "age": 5 * _drawn(rng, len(region), np.linspace(2, 1, 18)),
            "job": np.minimum(_drawn(rng, len(region), 0.8 ** np.arange(25)) + 2 * region, 24),
        }
    )
    chance = np.array([0.02, 0.03, 0.05, 0.2])[region]
    kept = rng.random(len(region)) < chance
    sample = people.filter(pl.Series(kept)).with_columns(w=pl.Series(1 / chance[kept]))
    keys = people.columns
    return World(
        mm.read(sample, keys=keys, weights="w"),
        mm.count(people, keys=keys),
        {
            "swap within sex": [mm.Swap("region", rate=0.3, within=("sex",))],
            "PRAM of two keys": [mm.Pram("job", stay=0.7), mm.Pram("region", stay=0.9)],
        },
        ("region", "job"),
        mm.Family("region"),
        0.15,
    )


def binary() -> World:
    """Return a file with twelve dependent binary keys and mostly empty cells."""
    rng = np.random.default_rng(2)
    trait = rng.random(20_000)
    people = pl.DataFrame(
        {
            f"q{number}": np.where(
                rng.random(len(trait)) < 0.05 + 0.04 * number * trait, "yes", "no"
            )
            for number in range(1, 13)
        }
    )
    kept = people.filter(pl.Series(rng.random(len(trait)) < 0.1))
    return World(
        mm.read(kept, keys=people.columns, fraction=0.1),
        mm.count(people, keys=people.columns),
        {
            "swap": [mm.Swap("q12", rate=0.4)],
            "PRAM": [mm.Pram(["q10", "q11"], stay=0.85)],
        },
        ("q11", "q12"),
        mm.Family("q12"),
        0.2,
    )


def lopsided() -> World:
    """Return a file with nine records in ten in one category, and missing values as a category."""
    rng = np.random.default_rng(3)
    origin = _drawn(rng, 30_000, [0.9, *([0.1 / 39] * 39)])
    year = 1930 + _drawn(rng, len(origin), np.ones(80))
    people = pl.DataFrame(
        {
            "origin": [f"{code:02}" for code in origin],
            "year": year,
            "tenure": pl.Series(
                np.where(origin > 0, 3, 1) * (rng.random(len(origin)) < 0.9)
            ).replace(0, None),
        }
    )
    kept = people.filter(pl.Series(rng.random(len(origin)) < 0.05))
    whole = mm.read(people, keys=people.columns, missing="category")
    return World(
        mm.read(kept, keys=whole.space, fraction=0.05, missing="category"),
        mm.count(people, keys=whole.space, missing="category"),
        {
            "swap": [mm.Swap("origin", rate=0.2)],
            "PRAM": [mm.Pram("year", stay=0.6)],
        },
        ("origin", "tenure"),
        mm.Family("origin"),
        0.4,
    )


WORLDS = {one.__name__: one for one in (census, weighted, binary, lopsided)}


def _drawn(rng: np.random.Generator, size: int, weights: Any) -> np.ndarray:
    """Return codes drawn by inversion, which gives the same codes with every version of numpy."""
    edges = np.cumsum(np.asarray(weights, dtype=float))
    return np.searchsorted(edges / edges[-1], rng.random(size), side="right")


def golden(name: str) -> dict[str, Any]:
    """Return the figures of a world."""
    world = WORLDS[name]()
    with without_warnings():
        model = mm.shrink_loglinear(world.sample)
        return {
            "unprotected": _risks(world, world.sample, model),
            "releases": {label: _release(world, label, model) for label in world.steps},
            "found": _found(world, model),
        }


def _risks(world: World, data: Any, model: Any) -> dict[str, Any]:
    exact = mm.exact_risk(data, world.population)
    estimate = mm.estimate_risk(data, model)
    informed = mm.estimate_risk(data, model, intruder="informed")
    searched = mm.estimate_risk(data, "score-path")
    return {
        "uniques": exact.uniques,
        "exact": exact.total,
        "estimate": estimate.total,
        "interval": list(estimate.interval),
        "score path": [searched.total, *searched.interval],
        "informed": mm.exact_risk(data, world.population, intruder="informed").total,
        "informed estimate": informed.total,
        "informed interval": list(informed.interval),
    }


def _release(world: World, label: str, model: Any) -> dict[str, Any]:
    release = mm.protect(world.sample, world.steps[label], rng=SEED)
    loss = mm.information_loss(release, rows=world.table[0], columns=world.table[1])
    changes = [value for value in loss.bvr.values() if np.isfinite(value)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "protected.csv"
        release.write(path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {
        **_risks(world, release, model),
        "changed": int(release.changed.sum()),
        "worst": loss.worst,
        "raad": loss.raad,
        "rcv": loss.rcv,
        "contrast": loss.contrast,
        "bvr": [min(changes), max(changes)],
        "sha256": digest,
    }


def _found(world: World, model: Any) -> dict[str, Any]:
    exact = world.sample.weights is not None
    found = mm.find_release(
        world.sample,
        family=world.family,
        target=mm.Target(max_share=world.max_share),
        loss=world.table,
        **({"population": world.population} if exact else {"model": model}),
        rng=SEED,
    )
    return {
        "label": found.label,
        "met": found.met,
        "risk": found.risk.total,
        "loss": found.loss,
        "tried": len(found.tried.points),
    }


if __name__ == "__main__":
    for name in sys.argv[1:] or WORLDS:
        text = json.dumps(golden(name), indent=1)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        sys.stdout.write(f"Wrote {name}.json\n")
