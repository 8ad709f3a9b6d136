"""Where the records of released cells may come from, one source after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from maskmeter.data.keys import Codes
from maskmeter.data.table import KeyTable
from maskmeter.mechanism.mechanism import Mechanism
from maskmeter.mechanism.pairs import Pairs
from maskmeter.mechanism.rivals import Inclusion
from maskmeter.types import Array, Integers


class Origins(NamedTuple):
    """The other cells that the records of some released cells j may come from.

    The released cells are those from `start` to `stop`. For each source: which of them it belongs
    to, counted from `start`, `x = pi_k M_jk` and the units F_k.
    """

    start: int
    stop: int
    target: Integers
    x: Array
    units: Array


def origins(
    mechanism: Mechanism, population: KeyTable, cells: Codes, *, pi: Inclusion
) -> Iterator[Origins]:
    """Yield all sources but the own cell of released cells, part after part, in their order.

    A part has all sources of its cells. Those that cannot be released there are left out.
    """
    pairs = Pairs.of(mechanism, population, cells)
    at, x, units = np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
    start = 0
    for target, source, probability in pairs.blocks():
        share = pi.targets[target] if pi.sources is None else pi.sources[pairs.place[source]]
        some = np.flatnonzero(probability)
        at = np.append(at, np.broadcast_to(target, probability.shape)[some])
        x = np.append(x, (share * probability)[some])
        units = np.append(units, pairs.units[source][some])
        # The last cell of a block may go on in the next one.
        stop, done = int(target[-1]), int(np.searchsorted(at, target[-1]))
        if stop > start:
            yield Origins(start, stop, at[:done] - start, x[:done], units[:done])
            at, x, units, start = at[done:], x[done:], units[done:], stop
    yield Origins(start, len(cells), at - start, x, units)
