"""An assessment: the risk of a file in every scenario, what drives it and what protection costs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from maskmeter.checks import check_progress
from maskmeter.data.frames import decode
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.errors import BandsWarning, InputError, MaskmeterWarning, without_warnings
from maskmeter.loglinear import search_loglinear
from maskmeter.loss import Loss, Losses, information_loss
from maskmeter.mechanism import Misclassification, as_mechanism, seen_through
from maskmeter.perturb import Release
from maskmeter.plurals import plural
from maskmeter.risk import (
    Risk,
    approximate_risk,
    correctly_classified_risk,
    estimate_risk,
    exact_risk,
)
from maskmeter.risk.by_keys import KeyCurve, KeySubset, risk_by_keys
from maskmeter.risk.known import Formula
from maskmeter.risk.target import Target, Verdict
from maskmeter.risk.uniques import check_data
from maskmeter.riskutility import RiskUtilityMap
from maskmeter.riskutility.assessor import Measure, distance, loss_tables

ALL_KEYS = "all keys"
BANDS = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)  # of the risk of single records
HALF, FIFTH = 0.5, 0.2
DRIVING = 3  # keys that are named as those that carry the risk
MOST_KEYS = 15  # of which each is left out in turn: with more it would take minutes
_NOTICEABLE = 1.02


@dataclass(frozen=True, eq=False)
class ScenarioRisk:
    """The risk when an intruder knows some keys, before and after protection.

    `others` are further measures of the same risk, by their equation; `without_one` has the risk
    with all keys first, then with each of them left out, when that was asked for.
    """

    name: str
    risk: Risk
    before: Risk | None
    others: tuple[tuple[str, str, Risk], ...]
    without_one: KeyCurve | None

    @property
    def left_out(self) -> list[tuple[str, KeySubset]]:
        """Each key with the risk when it is the one that is not known."""
        if self.without_one is None:
            return []
        whole, *rest = self.without_one.subsets
        return [(next(key for key in whole.keys if key not in one.keys), one) for one in rest]

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that are known."""
        return self.risk.data.space.names

    @property
    def many(self) -> bool:
        """Whether there are too many keys to leave each of them out in turn."""
        return len(self.keys) > MOST_KEYS

    @property
    def driving(self) -> list[tuple[str, KeySubset]]:
        """Each key with the risk when it is not known, those that carry most of the risk first."""
        return sorted(self.left_out, key=lambda pair: pair[1].risk)

    @property
    def better_without(self) -> list[tuple[str, KeySubset]]:
        """Keys that an intruder would do better to ignore, those that mislead most first.

        That is so where noticeably more matches would be right.
        """
        if self.without_one is None:
            return []
        whole = self.without_one.subsets[0]
        ignored = [pair for pair in self.left_out if pair[1].risk > whole.risk * _NOTICEABLE]
        return sorted(ignored, key=lambda pair: -pair[1].risk)

    def bands(self) -> pl.DataFrame:
        """Return how many sample uniques have a risk over `low` and up to `high`, for each band."""
        place = np.searchsorted(BANDS[1:-1], self.risk.by_cell, side="left")
        counts = np.bincount(place, minlength=len(BANDS) - 1)
        return pl.DataFrame({"low": BANDS[:-1], "high": BANDS[1:], "count": counts})


@dataclass(frozen=True, eq=False)
class Assessment:
    """What is known about a file that is to be released: risk, loss and the choices that were open."""

    data: Release | Microdata
    scenarios: tuple[ScenarioRisk, ...]
    tables: tuple[Loss, ...] = ()
    measure: Measure = "worst"  # of their loss
    losses: Losses | None = None
    target: Target | None = None
    options: RiskUtilityMap | None = None
    chosen: str = ""  # which of the options this is
    choice: str = ""  # why it was chosen, in words
    private: tuple[MaskmeterWarning, ...] = ()  # cautions that only the agency may read

    @property
    def release(self) -> Release | None:
        """The release, when the file was protected."""
        return self.data if isinstance(self.data, Release) else None

    @property
    def released(self) -> Microdata:
        """The file as it would be released."""
        return self.data.released if isinstance(self.data, Release) else self.data

    @property
    def original(self) -> Microdata:
        """The file as it was read."""
        return _original(self.data)

    @property
    def named(self) -> list[tuple[str, Risk]]:
        """The risk of every scenario, before and after protection, by a name."""
        named = []
        for one in self.scenarios:
            if one.before is None:
                named.append((one.name, one.risk))
            else:
                named += [
                    (f"{one.name}, unprotected", one.before),
                    (f"{one.name}, protected", one.risk),
                ]
        return named

    @cached_property
    def worst(self) -> ScenarioRisk:
        """The scenario with the most correct matches to expect."""
        return max(self.scenarios, key=lambda one: one.risk.total)

    @property
    def cautions(self) -> tuple[MaskmeterWarning, ...]:
        """Cautions about the release, then about the risk in the worst scenario."""
        own = _banded(self.original) if self.release is None else self.release.cautions
        return (*own, *self.worst.risk.cautions)

    @property
    def loss(self) -> float | None:
        """The mean loss of the tables, in percent; None where nothing was changed."""
        if self.release is None or not self.tables:
            return None
        if self.options is not None and self.chosen:
            return self.options[self.chosen].loss
        return float(np.mean([distance(table, self.measure) for table in self.tables]))

    @property
    def assessable(self) -> bool:
        """Whether the figures of every scenario hold."""
        return all(one.risk.assessable for one in self.scenarios)

    @property
    def mark(self) -> Verdict | None:
        """Whether the target is met, as in the scenario where it is met least; None without one."""
        if not self.assessable:
            return "not assessable"
        if self.target is None:
            return None
        return self.target.verdict(*(one.risk for one in self.scenarios))

    @property
    def met(self) -> bool | None:
        """Whether every scenario meets the target, by the figure that it asks for."""
        if self.target is None:
            return None
        return self.target.met_by(*(one.risk for one in self.scenarios))

    def by_record(self) -> pl.DataFrame:
        """Return a row for each record: its released keys, whether it is unique, and its risks."""
        worst = self.worst
        released = self.released
        keys = decode(released.space, released.codes).to_native()
        columns: dict[str, Any] = {"record": np.arange(len(released))}
        columns |= {f"key {name}": keys[name] for name in released.space.names}
        unique = np.zeros(len(released), dtype=bool)
        unique[worst.risk.records] = True
        columns |= {"unique": unique, "risk": worst.risk.by_record}
        if len(self.scenarios) > 1:
            columns |= {f"risk {one.name}": one.risk.by_record for one in self.scenarios}
        frame = pl.DataFrame(columns)
        return frame.with_columns(pl.selectors.float().exclude("^key .*$").fill_nan(None))


def _banded(data: Microdata) -> tuple[BandsWarning, ...]:
    """Return the caution that a file which is not written anew still holds its own numbers."""
    reading = {} if data.origin is None else dict(data.origin.reading)
    bands = [name for name in reading.get("bands", {}) if name in data.space.names]
    if not bands:
        return ()
    message = (
        f"{' and '.join(bands)} {plural(len(bands), 'was', 'were')} assessed in bands: the figures"
        " hold for a file with these bands, not for the file as it is."
    )
    return (BandsWarning(message),)


def assess(
    data: Release | Microdata,
    *,
    scenarios: Mapping[str, str | Sequence[str]] | None = None,
    population: KeyTable | None = None,
    misclassification: Misclassification | None = None,
    loss: Sequence[tuple[str, str]] = (),
    measure: Measure = "worst",
    target: Target | None = None,
    household: str | None = None,
    drop_one: bool = True,
    progress: Callable[[str], object] | None = None,
) -> Assessment:
    """Return the assessment of a file, or of its release.

    Parameters
    ----------
    scenarios
        Named sets of keys that intruders may know; without them, all keys.
    population
        Counts of the true keys: then the risk is exact, else it is estimated.
    misclassification
        Errors that the file was recorded with.
    loss
        Two-way tables whose information loss is measured, beside those of the three columns that
        each changed key is associated with most.
    household
        Column of household numbers, to measure the risk of households too.
    drop_one
        Whether to measure the risk without each key as well.

    >>> import maskmeter as mm
    >>> people = mm.bernoulli_sample(mm.synthetic_census(size=50_000), fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=["lad", "age", "ethnicity"], fraction=0.05)
    >>> found = assess(sample, scenarios={"near": ["lad", "age"], "far": ["age", "ethnicity"]})
    >>> [one.name for one in found.scenarios], found.worst.name
    (['near', 'far'], 'far')
    """
    check_data(data)
    check_progress(progress)
    announce = progress or (lambda _: None)
    known = _checked(data, scenarios)
    if household is not None and population is not None:
        message = (
            "The risk of households can only be estimated: it is left out when the population is"
            " known."
        )
        warnings.warn(message, MaskmeterWarning, stacklevel=2)
    found = []
    for name, keys in known.items():
        announce(f"Measuring the risk: {name}")
        viewed = _View(data, keys, population, misclassification)
        found.append(viewed.risk(name, household, drop_one=drop_one))
    announce("Measuring the loss")
    release = data if isinstance(data, Release) else None
    tables = () if release is None else _tables(release, loss)
    several = len(_original(data).space.names) > 1
    return Assessment(
        data,
        tuple(found),
        tables,
        measure,
        information_loss(release) if several and release is not None else None,
        target,
    )


def _tables(release: Release, loss: Sequence[tuple[str, str]]) -> tuple[Loss, ...]:
    """Return the loss of the tables that are named, and of the strongest ones of each changed key."""
    changed = [key for key, share in release.changed_by_key.items() if share]
    pairs = loss_tables(list(loss), release.original, changed)
    return tuple(information_loss(release, rows=rows, columns=columns) for rows, columns in pairs)


def _checked(
    data: Release | Microdata, scenarios: Mapping[str, str | Sequence[str]] | None
) -> dict[str, list[str]]:
    """Return the keys of every scenario, in the order of the file."""
    space = _original(data).space
    if not scenarios:
        return {ALL_KEYS: list(space.names)}
    listed = {name: space.chosen(keys) for name, keys in scenarios.items()}
    for name, keys in listed.items():
        if not keys:
            raise InputError(
                f"The scenario {name!r} must name at least one key: a list, or text such as 'a,b'."
            )
        for key in keys:
            space.index(key)
    return {name: [key for key in space.names if key in keys] for name, keys in listed.items()}


@dataclass(frozen=True)
class _View:
    """A file as someone sees it who knows some of its keys."""

    data: Release | Microdata
    keys: list[str]
    population: KeyTable | None
    misclassification: Misclassification | None

    @property
    def whole(self) -> bool:
        return self.keys == list(_original(self.data).space.names)

    @cached_property
    def seen(self) -> Release | Microdata:
        return self.data if self.whole else self.data.project(self.keys)

    @cached_property
    def counts(self) -> KeyTable | None:
        return None if self.population is None else self.population.project(self.keys)

    @cached_property
    def errors(self) -> Misclassification | None:
        if self.misclassification is None:
            return None
        original = _original(self.data)
        mechanism = as_mechanism(self.misclassification, original.space)
        return seen_through(mechanism, self.keys, true=original.codes, weights=original.weights)

    def risk(self, name: str, household: str | None, *, drop_one: bool) -> ScenarioRisk:
        """Return the risk before and after protection, exact if the population is known."""
        with without_warnings():  # what they say is among the cautions
            without = self._without_one() if drop_one and len(self.keys) <= MOST_KEYS else None
            if self.counts is None:
                risk, before = _estimates(self.seen, self.errors, household)
                return ScenarioRisk(name, risk, before, (), without)
            risk = exact_risk(self.seen, self.counts, misclassification=self.errors)
            bare = None
            if isinstance(self.seen, Release):
                bare = exact_risk(self.seen.original, self.counts, misclassification=self.errors)
            others = approximations(self.seen, self.counts, self.errors)
            return ScenarioRisk(name, risk, bare, others, without)

    def _without_one(self) -> KeyCurve:
        return risk_by_keys(
            self.seen, self.counts, subsets="drop-one", misclassification=self.errors
        )


def _estimates(
    seen: Release | Microdata, errors: Misclassification | None, household: str | None
) -> tuple[Risk, Risk | None]:
    """Return the estimated risk, and that before protection when there was any."""
    original = _original(seen)
    model = None if errors is not None else search_loglinear(original)  # for before and after
    risk = estimate_risk(seen, model, misclassification=errors, household=household)
    if not isinstance(seen, Release):
        return risk, None
    return risk, estimate_risk(original, model, misclassification=errors)


def approximations(
    seen: Release | Microdata, counts: KeyTable, errors: Misclassification | None = None
) -> tuple[tuple[str, str, Risk], ...]:
    """Return the paper's approximations beside the exact risk."""
    if not isinstance(seen, Release) and errors is None:
        return ()
    named: tuple[tuple[Formula, str], ...] = (
        ("2.5", "approximation, small fraction"),
        ("2.6", "approximation, small error rate"),
        ("2.7", "approximation, diagonal only"),
    )
    found: list[tuple[str, str, Risk]] = []
    for formula, words in named:
        near = approximate_risk(seen, counts, formula=formula, misclassification=errors)
        found.append((f"({formula})", "does not apply here" if near.negative else words, near))
    if isinstance(seen, Release) and errors is None:
        right = correctly_classified_risk(seen, counts)
        found.append(("(2.9)", "tau*_CC, knowing who moved", right))
    return tuple(found)


def _original(data: Release | Microdata) -> Microdata:
    return data.original if isinstance(data, Release) else data
