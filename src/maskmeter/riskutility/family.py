"""A family of ways to protect one key: methods, with or without targeting, at every rate."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from maskmeter.checks import shown
from maskmeter.data.microdata import Microdata
from maskmeter.data.varying import by
from maskmeter.errors import InputError
from maskmeter.perturb.methods import SEARCHED
from maskmeter.perturb.step import Step

Curve: TypeAlias = Callable[[float], list[Step]]
Alternatives: TypeAlias = Mapping[str, Step | Sequence[Step]]

_ALTERNATIVES = "`first` must be a dictionary of steps, such as {'bands': mm.Recode(...)}."
_NOTICEABLE = 0.1  # of a rate asked for: a label shows it beside one that differs by more


@dataclass(frozen=True, init=False)
class Family:
    """Ways to protect one key at every rate: at random and, with `target`, where the risk is.

    A targeted release first moves the records whose category of the `target` key has more risk
    than the average record, and others only when those are all moved. A subsample cannot be
    targeted: it is searched at random only.

    Parameters
    ----------
    key
        The key that is changed.
    methods
        "swap", "pram", "subsample" (which leaves out records of any key), or several of them.
    target
        The key whose categories differ in risk.
    within
        Control keys of swaps.
    first
        Steps to apply first, such as a recode, each alternative under a label of its own. The
        search tries them alone and before every method, and every method without them.

    >>> Family("lad", target="ethnicity")
    Family(key='lad', methods=('swap', 'pram'), target='ethnicity', within=(), first=())
    """

    key: str
    methods: tuple[str, ...]
    target: str | None
    within: tuple[str, ...]
    first: tuple[tuple[str, tuple[Step, ...]], ...]

    def __init__(
        self,
        key: str,
        methods: str | Sequence[str] = ("swap", "pram"),
        *,
        target: str | None = None,
        within: tuple[str, ...] = (),
        first: Alternatives | None = None,
    ) -> None:
        chosen = (methods,) if isinstance(methods, str) else tuple(methods or ())
        if not chosen or not set(chosen) <= set(SEARCHED):
            offered = ", ".join(f'"{name}"' for name in SEARCHED)
            raise InputError(f"`methods` must be one or more of {offered}, not {shown(methods)}.")
        if target is not None and not isinstance(target, str):
            raise InputError(f"`target` must be the name of one key, not {shown(target)}.")
        if target is not None and not any(SEARCHED[method].targeted for method in chosen):
            raise InputError(
                f"No method of this family can be targeted ({', '.join(chosen)}). Leave `target` out,"
                ' or add "swap" or "pram".'
            )
        if target == key:
            raise InputError("`target` must be another key than the one that the release changes.")
        if first is not None and not isinstance(first, Mapping):
            raise InputError(_ALTERNATIVES)
        settings = {
            "key": key,
            "methods": chosen,
            "target": target,
            "within": within,
            "first": tuple((str(label), _listed(one)) for label, one in (first or {}).items()),
        }
        for field, setting in settings.items():
            object.__setattr__(self, field, setting)
        for method in chosen:  # what it cannot do is refused before the search
            SEARCHED[method].at_rate(key, 0.5, within=within)

    @property
    def altered_keys(self) -> list[str]:
        """The keys that some release of the family alters."""
        steps = [step for _, one in self.first for step in one]
        return [self.key, *(name for step in steps for name in step.altered_keys)]

    def curves(
        self, sample: Microdata, risk: NDArray[np.float64], *, first: tuple[Step, ...] = ()
    ) -> dict[str, Curve]:
        """Return steps for every rate, under a label for each method, random and targeted.

        `risk` is that of every record before protection; `first` are steps that come before.
        """
        curves = {f"random {method}": self._random(method, first) for method in self.methods}
        if self.target is not None:
            for step in first:
                sample = step.recoded(sample)
            safe, share = _safe(sample, self.target, risk)
            for method in (one for one in self.methods if SEARCHED[one].targeted):
                curves[f"targeted {method}"] = self._targeted(method, safe, share, first)
        return curves

    def _random(self, method: str, first: tuple[Step, ...]) -> Curve:
        return lambda rate: [*first, SEARCHED[method].at_rate(self.key, rate, within=self.within)]

    def _targeted(
        self, method: str, safe: list[object], share: float, first: tuple[Step, ...]
    ) -> Curve:
        """Return steps that move risky records first, all of them in one group."""

        def steps(rate: float) -> list[Step]:
            most, rest = min(rate / share, 1.0), max((rate - share) / (1 - share), 0.0)
            moved = by(str(self.target), dict.fromkeys(safe, rest), otherwise=most)
            return [*first, SEARCHED[method].at_rate(self.key, moved, within=self.within)]

        return steps


def _listed(steps: Step | Sequence[Step]) -> tuple[Step, ...]:
    listed = (steps,) if isinstance(steps, Step) else tuple(steps)
    if not listed or not all(isinstance(one, Step) for one in listed):
        raise InputError(_ALTERNATIVES)
    return listed


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
