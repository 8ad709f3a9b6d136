"""Ways to protect a file in plain Python, as sdcMicro has them; each says what it changed."""

from __future__ import annotations

import numpy as np
import polars as pl

RECORDS = 2_000


def survey(seed=1, records=RECORDS):
    """Return a made-up survey: a district, an age in years, a sex, a job, an income and an id."""
    draws = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "pid": draws.permutation(records) + 10_000,
            "lad": draws.choice(list("abcdefgh"), size=records, p=np.arange(1, 9) / 36),
            "age": draws.integers(16, 96, size=records),
            "sex": draws.choice(["f", "m"], size=records),
            "job": draws.integers(1, 6, size=records),
            "income": np.round(np.exp(draws.normal(10, 0.6, size=records)), 2),
        }
    )


def differing(one, other):
    """Return how many records differ, counted one by one."""
    return sum(a != b for a, b in zip(one, other, strict=True))


def pram(column, stay, draws):
    """Return a column in which each value stays, or becomes any other one."""
    values = sorted(set(column.to_list()))
    moved = [
        value if draws.random() < stay else draws.choice([one for one in values if one != value])
        for value in column.to_list()
    ]
    return pl.Series(column.name, moved, dtype=column.dtype)


def suppress(column, number, draws):
    """Return a column in which some values are missing."""
    gone = set(draws.choice(len(column), size=number, replace=False).tolist())
    kept = [None if row in gone else value for row, value in enumerate(column.to_list())]
    return pl.Series(column.name, kept, dtype=column.dtype)


def swap(column, pairs, draws):
    """Return a column in which pairs of records exchanged their values."""
    values = column.to_list()
    rows = draws.choice(len(values), size=2 * pairs, replace=False)
    for one, other in rows.reshape(-1, 2).tolist():
        values[one], values[other] = values[other], values[one]
    return pl.Series(column.name, values, dtype=column.dtype)


def rank_swap(column, reach, draws):
    """Return numbers each exchanged with one of a near rank."""
    values = column.to_numpy().copy()
    order = np.argsort(values, kind="stable")
    free = set(range(len(order)))
    for place in range(len(order)):
        if place not in free:
            continue
        near = [other for other in range(place + 1, place + reach + 1) if other in free]
        free.discard(place)
        if near:
            other = int(draws.choice(near))
            free.discard(other)
            a, b = order[place], order[other]
            values[a], values[b] = values[b], values[a]
    return pl.Series(column.name, values)
