"""The chance that a unit is one of the m records that a released cell holds.

A unit of true cell k has the odds `o_k = x_k / (1 - x_k)`, `x_k = pi_k M_jk`, of being released in
cell j. Given that m units are, unit B is one of them with the chance

    o_B e_(m-1)(o without B) / e_m(o),

e_m the elementary symmetric polynomial of the odds of all units: the sum over all sets of m of
them. Whole numbers of units have it exactly; for numbers that are not whole, as in estimates, there
are the polynomials from power sums and, where m is large, an approximation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskmeter.risk.formulas import ratio
from maskmeter.types import Array, Integers

_STEPS = 60  # of Newton's method, far from the end of which z at least doubles
_SETTLED = 1e-10  # of m: how near to it the expected number comes
_TAIL = 39.0  # e^-39 of the outcomes may be mistaken for others


@dataclass(frozen=True)
class Contenders:
    """Units that may be released in some cells: for each kind, in which of them, odds and number."""

    target: Integers
    odds: Array
    number: Array
    cells: int

    def total(self, values: Array | float = 1.0) -> Array:
        """Return the sum of values over the units of each released cell."""
        return np.bincount(self.target, self.number * values, minlength=self.cells).astype(
            np.float64
        )

    def at(self, some: NDArray[np.bool_]) -> Contenders:
        """Return the units of some of the released cells."""
        here = some[self.target]
        target = (np.cumsum(some) - 1)[self.target[here]]
        return Contenders(target, self.odds[here], self.number[here], int(some.sum()))

    def chance_among(self, own: Array, records: Array) -> Array:
        """Return the chance that a unit with the odds `own` is one of the m records of its cell.

        `o_B e_(m-1)(o without B) / e_m(o)`, to about 1e-14, for any m below the number of units.
        With any z > 0 it is `p_B Pr(N without B = m - 1) / Pr(N = m)`, where N counts units that
        are there independently with the chances `p = z o / (1 + z o)`. The z that lets m be
        expected makes both outcomes likely, so that their Fourier sums lose no digits.
        """
        z = self._tilt(records)
        there, away = self._chances(z)
        widest = 2 + _TAIL / 3 + np.sqrt((_TAIL / 3) ** 2 + 2 * _TAIL * self.total(there * away))
        angles = np.ceil(np.minimum(widest, self.total() + 1) / 8).astype(np.int64)
        found = np.empty(self.cells)
        for number in np.unique(angles):
            some = angles == number
            tilt, mine = z[some], own[some]
            sums = self.at(some).outcomes(
                tilt, mine, records=records[some], angles=8 * int(number) + 1
            )
            found[some] = tilt * mine / (1 + tilt * mine) * ratio(*sums)
        return found

    def polynomials(self, records: Array, scale: Array) -> tuple[Array, Array]:
        """Return e_(m-2), e_(m-1) and e_m of the odds times a scale, and bounds on their terms.

        The numbers of units need not be whole. Newton's identities, `r e_r = sum over i of
        (-1)^(i-1) e_(r-i) p_i` with the power sums `p_i = sum F o^i`. The bounds are the same with
        all signs positive: what is far below its bound has lost its digits.
        """
        odds, most = scale[self.target] * self.odds, int(records.max(initial=2))
        sums, power = np.empty((self.cells, most)), np.ones_like(odds)
        for i in range(most):
            power *= odds
            sums[:, i] = self.total(power)
        at = records.astype(np.int64)[:, None] + np.arange(-2, 1)
        signed = sums * (-1.0) ** np.arange(most)
        found, bound = (
            np.take_along_axis(_identities(one), at, axis=1).T for one in (signed, sums)
        )
        return found, bound

    def chance_about(self, own: Array, records: Array) -> Array:
        """Return the same by a saddlepoint approximation, NaN where there are fewer than m units.

        `p exp((1 - p) (2p - 1 + k3/k2) / (2 k2))` with `p = z o_B / (1 + z o_B)` at the z for which
        m are expected, and k2 and k3 the variance and third cumulant of their number. The relative
        error is below 0.6 / k2^2, so 1e-4 from a variance of 80 on, and often a tenth of that; it
        is 0 where all odds are the same.
        """
        number = self.total()
        z = self._tilt(np.minimum(records, number))
        there, away = self._chances(z)
        variance = self.total(there * away)
        skewness = ratio(self.total(there * away * (away - there)), variance)
        p = z * own / (1 + z * own)
        found = p * np.exp(ratio((1 - p) * (2 * p - 1 + skewness), 2 * variance))
        return np.where(number < records * (1 - _SETTLED), np.nan, np.minimum(found, 1.0))

    def _chances(self, z: Array) -> tuple[Array, Array]:
        """Return the chances p of all units at a tilt, and 1 - p."""
        tilted = z[self.target] * self.odds
        return tilted / (1 + tilted), 1 / (1 + tilted)

    def _tilt(self, records: Array) -> Array:
        """Return the z of each released cell for which `sum F z o / (1 + z o)` is about m.

        The sum is concave in z, so that Newton's method comes from below and stays there.
        """
        z = records / self.total(self.odds)
        for _ in range(_STEPS):
            there, away = self._chances(z)
            missing = records - self.total(there)
            if (missing < _SETTLED * records).all():
                break
            z = z * (1 + ratio(np.maximum(missing, 0), self.total(there * away)))
        return z

    def outcomes(self, z: Array, own: Array, *, records: Array, angles: int) -> tuple[Array, Array]:
        """Return Pr(N without B = m - 1) and Pr(N = m), times an odd number of angles.

        As many angles as tell N = m from all other outcomes, by Bernstein's bound.
        """
        there, away = self._chances(z)
        own_there, own_away = z * own / (1 + z * own), 1 / (1 + z * own)
        others, everybody = np.ones((2, self.cells))  # at the angle 0
        for angle in 2 * np.pi * np.arange(1, angles // 2 + 1) / angles:
            log, phase = (self.total(one) for one in _log(there, away, angle))
            own_log, own_phase = _log(own_there, own_away, angle)
            everybody += 2 * np.exp(log) * np.cos(phase - records * angle)
            phase -= own_phase + (records - 1) * angle
            others += 2 * np.exp(log - own_log) * np.cos(phase)
        return others, everybody


def _log(there: Array, away: Array, angle: float) -> tuple[Array, Array]:
    """Return the logarithm of `(1 - p) + p e^(i angle)`: its real part and its phase."""
    size = 0.5 * np.log1p(-4 * there * away * np.sin(angle / 2) ** 2)
    return size, np.arctan2(there * np.sin(angle), away + there * np.cos(angle))


def _identities(sums: Array) -> Array:
    """Return e_0, e_1, ... by Newton's identities, from signed power sums."""
    found = np.ones((len(sums), sums.shape[1] + 1))
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows has lost its digits too
        for r in range(1, sums.shape[1] + 1):
            found[:, r] = (found[:, r - 1 :: -1] * sums[:, :r]).sum(axis=1) / r
    return found
