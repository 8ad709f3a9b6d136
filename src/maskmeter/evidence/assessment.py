"""An assessment: the risk of a file in every scenario, what drives it and what protection costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from maskmeter.checks import Progress, check_choice, check_progress, shown
from maskmeter.data.frames import decode
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.errors import BandsWarning, Caution, InputError, MaskmeterWarning, warn
from maskmeter.loss import Loss, Losses, information_loss
from maskmeter.perturb import Release
from maskmeter.plurals import plural
from maskmeter.risk import Risk
from maskmeter.risk.by_keys import KeyCurve, KeySubset
from maskmeter.risk.known import Formula, approximate, correctly_classified
from maskmeter.risk.target import Outcome, Target, Verdict
from maskmeter.risk.view import Errors, Known, View, views
from maskmeter.riskutility import RiskUtilityMap
from maskmeter.riskutility.assessor import Measure, Tables, distance, loss_tables

BANDS = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)  # of the risk of single records
HALF, FIFTH = 0.5, 0.2
DRIVING = 3  # keys that are named as those that carry the risk
MOST_KEYS = 15  # of which each is left out in turn: with more it would take minutes
_NOTICEABLE = 1.02


@dataclass(frozen=True, eq=False)
class ScenarioRisk:
    """The risk when an intruder knows some keys, before and after protection.

    `before` is None where nothing was changed. `others` are further measures of the same risk, by
    their equation; `without_one` has the risk with all keys first, then with each of them left out,
    when that was asked for.
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
    private: tuple[Caution, ...] = ()  # cautions that only the agency may read

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
        return self.data.original if isinstance(self.data, Release) else self.data

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
    def cautions(self) -> tuple[Caution, ...]:
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

    @cached_property
    def outcome(self) -> Outcome | None:
        """Whether every scenario meets the target; None without one."""
        if self.target is None:
            return None
        return self.target.decide({one.name: one.risk for one in self.scenarios})

    @property
    def mark(self) -> Verdict | None:
        """Whether the target is met, as in the scenario where it is met least; None without one."""
        if not self.assessable:
            return "not assessable"
        return None if self.outcome is None else self.outcome.verdict

    @property
    def met(self) -> bool | None:
        """Whether every scenario meets the target, by the figure that it asks for."""
        return None if self.outcome is None else self.outcome.met

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


def _banded(data: Microdata) -> tuple[Caution, ...]:
    """Return the caution that a file which is not written anew still holds its own numbers."""
    reading = dict(data.reading)
    bands = [name for name in reading.get("bands", {}) if name in data.space.names]
    if not bands:
        return ()
    text = (
        f"{' and '.join(bands)} {plural(len(bands), 'was', 'were')} assessed in bands: the figures"
        " hold for a file with these bands, not for the file as it is."
    )
    return (Caution(BandsWarning, text),)


def assess(
    data: Release | Microdata,
    *,
    known: Known = None,
    population: KeyTable | None = None,
    misclassification: Errors = None,
    loss: Tables = None,
    measure: Measure = "worst",
    target: Target | None = None,
    household: str | None = None,
    drop_one: bool = True,
    progress: Progress | None = None,
) -> Assessment:
    """Return the assessment of a file, or of its release: risk in every scenario, loss, verdict.

    Parameters
    ----------
    known
        The keys that an intruder knows, if not all: a list, or text such as "age,sex". Or several
        such lists by the names of their scenarios.
    population
        Counts of the true keys: then the risk is exact, else it is estimated.
    misclassification
        Errors that the file was recorded with.
    loss
        Two-way tables whose information loss is measured, beside those of the three columns that
        each changed key is associated with most.
    target
        How much risk is allowed, such as `mm.Target(max_share=0.05)`.
    household
        Column of household numbers, to measure the risk of households too.
    drop_one
        Whether to measure the risk without each key as well.

    >>> import maskmeter as mm
    >>> people = mm.bernoulli_sample(mm.synthetic_census(size=50_000), fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=["lad", "age", "ethnicity"], fraction=0.05)
    >>> found = mm.assess(sample, known={"near": ["lad", "age"], "far": ["age", "ethnicity"]})
    >>> [one.name for one in found.scenarios], found.worst.name
    (['near', 'far'], 'far')
    """
    if target is not None and not isinstance(target, Target):
        raise InputError(f"`target` must be an mm.Target, not {shown(target)}.")
    check_choice(measure, Measure, name="measure")
    check_progress(progress)
    seen = views(data, known, counts=population, errors=misclassification)
    found = assessed(
        data,
        seen,
        loss=loss,
        measure=measure,
        target=target,
        household=household,
        drop_one=drop_one,
        progress=progress,
    )
    already = () if found.release is None else found.release.cautions  # when it was made
    warn(one for one in (*found.cautions, *found.private) if one not in already)
    return found


def assessed(
    data: Release | Microdata,
    seen: Mapping[str, View],
    *,
    loss: Tables = None,
    measure: Measure = "worst",
    target: Target | None = None,
    household: str | None = None,
    drop_one: bool = True,
    progress: Progress | None = None,
) -> Assessment:
    """Return the assessment of a file as some intruders see it, without a warning."""
    told: list[Caution] = []
    if household is not None and any(view.counts is not None for view in seen.values()):
        text = (
            "The risk of households can only be estimated: it is left out when the population is"
            " known."
        )
        told, household = [Caution(MaskmeterWarning, text, "")], None
    found = []
    for number, (name, view) in enumerate(seen.items(), start=1):
        if progress is not None:
            progress(f"Measuring the risk: {name}", number, len(seen))
        found.append(_scenario(name, view, household, drop_one=drop_one))
    if progress is not None:
        progress("Measuring the loss", 0, 0)
    release = data if isinstance(data, Release) else None
    several = release is not None and len(release.original.space.names) > 1
    return Assessment(
        data,
        tuple(found),
        () if release is None else _tables(release, loss),
        measure,
        information_loss(release) if several and release is not None else None,
        target,
        private=tuple(told),
    )


def _scenario(name: str, view: View, household: str | None, *, drop_one: bool) -> ScenarioRisk:
    """Return the risk before and after protection, then the risk without each key."""
    risk = view.risk(household=household)
    protected = view.release.provenance is not None or view.release.mechanism.factors
    before = view.before().risk() if protected else None
    without = None
    if drop_one and len(view.keys) <= MOST_KEYS:
        bare = None if before is None else before.total
        whole = KeySubset.of(view, risk, without_error=bare)
        rest = [KeySubset.of(view.without(key)) for key in view.keys if len(view.keys) > 1]
        without = KeyCurve((whole, *rest))
    return ScenarioRisk(name, risk, before, tuple(approximations(view)), without)


def approximations(view: View) -> Iterator[tuple[str, str, Risk]]:
    """Yield the paper's approximations beside the exact risk."""
    if view.population is None or not view.mechanism.factors:
        return
    named: tuple[tuple[Formula, str], ...] = (
        ("2.5", "approximation, small fraction"),
        ("2.6", "approximation, small error rate"),
        ("2.7", "approximation, diagonal only"),
    )
    for formula, words in named:
        near = approximate(view.uniques, formula, "expected")
        yield f"({formula})", "does not apply here" if near.negative else words, near
    if view.sight.truth is not None:
        yield "(2.9)", "tau*_CC, knowing who moved", correctly_classified(view.uniques)


def _tables(release: Release, loss: Tables) -> tuple[Loss, ...]:
    """Return the loss of the tables that are named, and of the strongest ones of each changed key."""
    changed = [key for key, share in release.changed_by_key.items() if share]
    pairs = loss_tables(loss, release.original, changed)
    return tuple(information_loss(release, rows=rows, columns=columns) for rows, columns in pairs)
