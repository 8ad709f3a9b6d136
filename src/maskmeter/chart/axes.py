"""Where values stand along an axis: its ends, and whether its scale is linear or logarithmic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, copysign, expm1, floor, log1p, log10
from typing import TYPE_CHECKING, Any

from maskmeter.chart.labels import EDGE
from maskmeter.chart.look import at_ticks

if TYPE_CHECKING:
    import altair as alt

ROOM = 0.08  # of the axis, beyond its outermost points
FLAT = 20  # an axis so many times a value makes it look like 0
FAR = 2  # times all that must be seen: an end beyond it would flatten the rest
FEW = 0.25  # share of ends that may be cut off; if more are far, that is what the data say
_DEEP = 1e4  # a log scale begins at most so many times below its end
_MANY = 8  # ticks


@dataclass(frozen=True)
class Scale:
    """The ends of an axis; with a `unit` it is logarithmic, but nearly linear below that unit."""

    low: float
    high: float
    unit: float | None = None

    @classmethod
    def over(cls, values: Sequence[float], *, telling: Sequence[float] = ()) -> Scale:
        """Return a scale with room around some values.

        It is logarithmic if one of the `telling` values could not be told from 0 otherwise. It
        begins at 0 unless that would leave its lower half empty. Its ends are round: they tell no
        value.

        >>> Scale.over([262.0, 385.0], telling=[300.0])
        Scale(low=250.0, high=395.0, unit=None)
        >>> Scale.over([0.0, 2.5, 900.0], telling=[2.5]).unit
        2.0
        """
        low, high = min(values), max(values)
        if any(0 < FLAT * value < high for value in telling):
            return cls._log(min(value for value in values if value > 0), high)
        low = min(low, 0.0) if low < high / 2 else low
        high = high or 1.0  # all is 0
        room = ROOM * ((high - low) or abs(high))
        step = _round(high - low + 2 * room) / 20
        first = floor((low - room) / step) if low else 0
        return cls(_exact(first * step), _exact(ceil((high + room) / step) * step))

    @classmethod
    def _log(cls, least: float, high: float) -> Scale:
        unit = _round(max(least, high / _DEEP))
        end = unit * expm1(log1p(high / unit) * (1 + ROOM))
        step = _round(end) / 20
        return cls(0.0, _exact(ceil(end / step) * step), unit)

    def share(self, value: float) -> float:
        """Return how far along the axis a value stands: 0 at its low end, 1 at its high end.

        >>> Scale(0.0, 99.0, unit=1.0).share(9.0)
        0.5
        """
        low, at, high = map(self._bent, (self.low, value, self.high))
        return (at - low) / (high - low)

    def _bent(self, value: float) -> float:
        if self.unit is None:
            return value
        return copysign(log1p(abs(value) / self.unit), value)

    def drawn(self) -> alt.Scale:
        """Return it for a chart: labels were placed for exactly these ends."""
        import altair as alt

        ends: dict[str, Any] = {"domain": [self.low, self.high], "nice": False, "zero": False}
        if self.unit is None:
            return alt.Scale(**ends)
        return alt.Scale(**ends, type="symlog", constant=self.unit)

    def axis(self) -> alt.Axis:
        """Return its ticks for a chart."""
        import altair as alt

        if self.unit is None:
            return alt.Axis(tickCount=6, offset=EDGE)
        ticks = log_ticks(self.unit, self.high)
        return at_ticks(ticks, labelOverlap="greedy", offset=EDGE)


def log_ticks(unit: float, high: float) -> list[float]:
    """Return 0 and the round numbers from about `unit` up to `high`.

    >>> log_ticks(2.0, 900.0)
    [0.0, 3.0, 10.0, 30.0, 100.0, 300.0]
    """
    powers = range(floor(log10(unit)), floor(log10(high)) + 1)
    ticks = [float(f"{digit}e{power}") for power in powers for digit in (1, 3)]
    kept = [tick for tick in ticks if unit <= tick <= high]
    if len(kept) >= _MANY:
        kept = [tick for tick in kept if f"{tick:e}".startswith("1")]
    return [0.0, *kept]


def cut_off(ends: Sequence[float], seen: float) -> float:
    """Return up to where an axis shows ends: few that are far beyond what must be `seen` are cut.

    >>> cut_off([33.0, 44.0, 22.0, 800.0], 30.0), cut_off([300.0, 800.0], 30.0)
    (44.0, 800.0)
    """
    near = [end for end in ends if end <= FAR * seen]
    if len(ends) - len(near) > FEW * len(ends):
        near = list(ends)
    return max([seen, *near])


def _exact(value: float) -> float:
    """Return a round number without the error of its last bits."""
    return float(f"{value:.9g}")


def _round(value: float) -> float:
    """Return the largest of 1, 2 or 5 times a power of ten that is not above a number.

    >>> _round(123.0), _round(0.7)
    (100.0, 0.5)
    """
    power = 10.0 ** floor(log10(value))
    return max(power * one for one in (1, 2, 5) if power * one <= value)
