"""The bound of the redraw in a starter plan: for whom a key is redrawn, by the counts in the file."""

from __future__ import annotations

from math import log

import numpy as np

from maskmeter.data.microdata import Microdata
from maskmeter.errors import MaskmeterError, without_warnings
from maskmeter.riskutility.redraws import RedrawnKeys

_PEOPLE_EACH = 10  # with the same keys, on average over the categories of the redrawn key
_RECORDS_EACH = 5  # rare ones for each category: with fewer their counts tell much
_LEAST, _MOST = 0.02, 0.4  # share of the records that exchange their values
_USUAL = 0.2


def first_bound(sample: Microdata, key: str) -> tuple[float, int] | None:
    """Return below how many people a record is rare, and how many records are; None if none can be.

    The bound is near ten people for each category of the key: those who keep theirs then share all
    keys with about ten people or more. It is moved where it would reach hardly any record or most.

    >>> import maskmeter as mm
    >>> people = mm.bernoulli_sample(mm.synthetic_census(size=50_000), fraction=0.1, rng=1)
    >>> sample = mm.read(people, keys=["lad", "sex", "age", "ethnicity"], fraction=0.1)
    >>> first_bound(sample, "lad")
    (100.0, 667)
    """
    redrawn = RedrawnKeys(sample, (key,), sample.space.names, {})
    try:
        with without_warnings():
            bounds = redrawn.bounds
    except MaskmeterError:  # no model of the other keys: the step stays disabled
        return None
    codes, size = sample.codes[:, sample.space.index(key)], sample.space[key].size
    people = np.sort(redrawn.people)
    reached = np.searchsorted(people, bounds)
    wanted = _PEOPLE_EACH * size

    def order(place: int) -> tuple[bool, bool, float]:
        share = reached[place] / len(people)
        useful = _LEAST <= share <= _MOST
        few = reached[place] < _RECORDS_EACH * size
        gap = log(bounds[place] / wanted) if useful else log(share / _USUAL)
        return not useful, few, abs(gap)

    for place in sorted(range(len(bounds)), key=order):
        if len(np.unique(codes[redrawn.people < bounds[place]])) > 1:
            return bounds[place], int(reached[place])
    return None
