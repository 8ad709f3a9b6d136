"""What checks share: worlds that hypothesis draws, and the synthetic census."""

from functools import cache

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import maskmeter as mm


def gathered(measure, *strategies, examples):
    """Return all that a measure yields for examples that hypothesis draws, always the same ones."""
    found = []

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.tuples(*strategies))
    def run(example):
        found.extend(measure(*example))

    run()
    return found


@cache
def census():
    """Return the synthetic census and its counts."""
    people = mm.synthetic_census()
    return people, mm.count(people, keys=people.columns)


def census_samples(seeds):
    """Yield 1 % samples of the census."""
    people, population = census()
    for seed in seeds:
        drawn = mm.bernoulli_sample(people, fraction=0.01, rng=seed)
        yield mm.read(drawn, keys=population.space, fraction=0.01)
