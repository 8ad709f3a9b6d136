"""The census and the sample of the paper's size that most figures are measured on."""

from __future__ import annotations

from collections.abc import Sequence

import maskmeter as mm

KEY_SIZES = (2, 5, 3, 8, 4) * 8


def paper_sized() -> tuple[mm.Microdata, mm.KeyTable]:
    """Return a 1 % sample of the census, and the counts of the whole."""
    people = mm.synthetic_census()
    population = mm.count(people, keys=people.columns)
    drawn = mm.bernoulli_sample(people, fraction=0.01, rng=1)
    return mm.read(drawn, keys=population.space, fraction=0.01), population


def whole_census() -> mm.Microdata:
    """Return all 1.47 million people of the census."""
    people = mm.synthetic_census()
    return mm.read(people, keys=people.columns, fraction=0.5)


def linked_keys(sizes: Sequence[int], records: int) -> mm.Microdata:
    """Return records of four kinds of people, which make their keys depend on each other."""
    import numpy as np

    rng = np.random.default_rng(1)
    kind = rng.integers(0, 4, records)
    chances = [rng.dirichlet(np.ones(size), 4).cumsum(axis=1) for size in sizes]
    drawn = [(rng.random((records, 1)) > chance[kind, :-1]).sum(axis=1) for chance in chances]
    space = mm.KeySpace(mm.Key(f"key{c}", range(size)) for c, size in enumerate(sizes))
    return mm.Microdata(space, np.stack(drawn, axis=1), fraction=0.01)
