"""A family of ways to protect one key: methods, with or without targeting, at every rate."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import shown
from maskmeter.data.microdata import Microdata
from maskmeter.data.varying import by
from maskmeter.errors import InputError
from maskmeter.perturb import Pram, Swap
from maskmeter.perturb.step import Step

Curve: TypeAlias = Callable[[float], Step]

Method = Literal["swap", "pram"]

_NOTICEABLE = 0.1  # of a rate asked for: a label shows it beside one that differs by more


@dataclass(frozen=True)
class Family:
    """Swapping and PRAM of one key, at random and, with `target`, where the risk is.

    A targeted release first moves the records whose category of the `target` key has more risk
    than the average record, and others only when those are all moved.

    >>> Family("lad", target="ethnicity")
    Family(key='lad', methods=('swap', 'pram'), target='ethnicity', within=())
    """

    key: str
    methods: tuple[Method, ...] = ("swap", "pram")
    target: str | None = None
    within: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the methods."""
        methods = (self.methods,) if isinstance(self.methods, str) else tuple(self.methods or ())
        object.__setattr__(self, "methods", methods)
        if not methods or not set(methods) <= set(get_args(Method)):
            raise InputError(
                f'`methods` must be "swap", "pram" or both, not {shown(self.methods)}.'
            )
        if self.within and "pram" in methods:
            raise InputError(
                '`within` applies to swaps only. Use methods=("swap",), or leave it out.'
            )
        if self.target is not None and not isinstance(self.target, str):
            raise InputError(f"`target` must be the name of one key, not {shown(self.target)}.")
        if self.target == self.key:
            raise InputError("`target` must be another key than the one that the release changes.")

    def curves(self, sample: Microdata, risk: NDArray[np.float64]) -> dict[str, Curve]:
        """Return a step for every rate, under a label for each method, random and targeted.

        `risk` is that of every record before protection.
        """
        curves = {f"random {method}": self._random(method) for method in self.methods}
        if self.target is not None:
            safe, share = _safe(sample, self.target, risk)
            for method in self.methods:
                curves[f"targeted {method}"] = self._targeted(method, safe, share)
        return curves

    def _random(self, method: Method) -> Curve:
        return lambda rate: self._step(method, rate, 1 - rate)

    def _targeted(self, method: Method, safe: list[object], share: float) -> Curve:
        """Return steps that move risky records first, all of them in one group."""

        def step(rate: float) -> Step:
            first, rest = min(rate / share, 1.0), max((rate - share) / (1 - share), 0.0)
            moved = by(str(self.target), dict.fromkeys(safe, rest), otherwise=first)
            kept = by(str(self.target), dict.fromkeys(safe, 1 - rest), otherwise=1 - first)
            return self._step(method, moved, kept)

        return step

    def _step(self, method: Method, rate: object, stay: object) -> Step:
        if method == "swap":
            return Swap(self.key, rate=rate, within=self.within)  # type: ignore[arg-type]
        return Pram(self.key, stay=stay)  # type: ignore[arg-type]


def _safe(sample: Microdata, target: str, risk: NDArray[np.float64]) -> tuple[list[object], float]:
    """Return the categories with no more risk than the average record, and the share of the others."""
    key, codes = sample.space[target], sample.codes[:, sample.space.index(target)]
    records = np.bincount(codes, minlength=key.size)
    mean = np.bincount(codes, weights=risk, minlength=key.size) / np.maximum(records, 1)
    safe = (mean <= risk.mean()) & (records > 0)
    share = float(records[~safe].sum() / records.sum())
    if not 0 < share < 1:
        raise InputError(
            f"The risk does not differ between the categories of {target!r}. Leave `target` out."
        )
    return [key.categories[code] for code in np.flatnonzero(safe)], share


def rate_label(method: str, percent: int, achieved: float, taken: Container[str] = ()) -> str:
    """Return the label of a release: the share of records that it changed.

    The percentage that was asked for stands beside it where it is clearly another, or where another
    release changed the same share.

    >>> rate_label("swap", 20, 0.2), rate_label("pram", 20, 0.203), rate_label("swap", 50, 0.1)
    ('swap 20%', 'pram 20.3%', 'swap 10% (50% asked for)')
    """
    label = f"{method} {f'{achieved:.1%}'.replace('.0%', '%')}"
    asked = percent / 100
    short = abs(achieved - asked) > _NOTICEABLE * asked
    return f"{label} ({percent}% asked for)" if short or label in taken else label
