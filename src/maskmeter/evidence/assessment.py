"""An assessment: the risk of a file in every scenario, what drives it and what protection costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from maskmeter.checks import Progress, check_choice, check_progress, shown
from maskmeter.data.frames import decode
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.display import InWords
from maskmeter.errors import BandsWarning, Caution, InputError, MaskmeterWarning, warn
from maskmeter.evidence.drawings import risk_chart
from maskmeter.evidence.figures import figures
from maskmeter.evidence.scenario import ScenarioRisk, scenario_risk
from maskmeter.evidence.sections import risk_table
from maskmeter.evidence.wording import listed_figures
from maskmeter.loss import Loss, Losses, information_loss
from maskmeter.page import Table
from maskmeter.perturb import Release
from maskmeter.plurals import counted, plural
from maskmeter.risk.target import Outcome, Target, Verdict
from maskmeter.risk.view import Errors, Known, View, views
from maskmeter.riskutility import RiskUtilityMap
from maskmeter.riskutility.assessor import (
    Measure,
    Tables,
    distance,
    loss_tables,
    named_tables,
)


@dataclass(frozen=True, eq=False)
class Assessment(InWords):
    """What is known about a file that is to be released: risk, loss and the choices that were open.

    `household` and `asked`, the two-way tables that were named, are what was asked for; a report
    writes them down with the rest.
    """

    data: Release | Microdata
    scenarios: tuple[ScenarioRisk, ...]
    tables: tuple[Loss, ...] = ()
    measure: Measure = "worst"  # of their loss
    losses: Losses | None = None
    target: Target | None = None
    household: str | None = None
    asked: tuple[tuple[str, str], ...] = ()
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
    def path(self) -> Path | None:
        """The file that was read, if there is one."""
        return self.original.path

    @cached_property
    def worst(self) -> ScenarioRisk:
        """The scenario with the most correct matches to expect."""
        return max(self.scenarios, key=lambda one: one.risk.total)

    @property
    def about_file(self) -> tuple[Caution, ...]:
        """Cautions about the file or its release."""
        return _banded(self.original) if self.release is None else self.release.cautions

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Cautions about the release, then about the risk in the worst scenario."""
        return (*self.about_file, *self.worst.risk.cautions)

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

    def __repr__(self) -> str:
        """Return the headline: no record is shown."""
        mark = "" if self.mark is None else f"; target {self.mark}"
        return f"Assessment({counted(len(self.scenarios), 'scenario')}; worst {self.worst.risk!r}{mark})"

    def summary(self) -> str:
        """Return the verdict, which names no record."""
        return figures(self).verdict

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each scenario and figure: its value, and that of the unprotected file."""
        rows = [
            (one.name, name, value, before.get(name))
            for one in figures(self).scenarios
            for before in [{} if one.unprotected is None else listed_figures(one.unprotected)]
            for name, value in listed_figures(one.risk).items()
        ]
        kinds = {"scenario": pl.String, "figure": pl.String}
        return pl.DataFrame(
            rows, schema=kinds | dict.fromkeys(("value", "unprotected"), pl.Float64), orient="row"
        )

    def plot(self) -> Any:
        """Return an Altair chart of the expected correct matches, before and after protection."""
        return risk_chart(figures(self))

    def _tables(self) -> Iterator[Table]:
        """Yield the risk of every scenario."""
        yield risk_table(figures(self))

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
    release = data if isinstance(data, Release) else None
    original = data.original if isinstance(data, Release) else data
    private, measured = _household(original, household, seen)
    found = []
    for number, (name, view) in enumerate(seen.items(), start=1):
        if progress is not None:
            progress(f"Measuring the risk: {name}", number, len(seen))
        found.append(scenario_risk(name, view, measured, drop_one=drop_one))
    if progress is not None:
        progress("Measuring the loss", 0, 0)
    several = release is not None and len(release.original.space.names) > 1
    return Assessment(
        data,
        tuple(found),
        () if release is None else _tables(release, loss),
        measure,
        information_loss(release) if several and release is not None else None,
        target,
        household,
        named_tables(loss),
        private=private,
    )


def _household(
    data: Microdata, column: str | None, seen: Mapping[str, View]
) -> tuple[tuple[Caution, ...], str | None]:
    """Return the household column if its risk can be measured, and a caution if it cannot."""
    if column is None:
        return (), None
    data.column(column)  # refused before the work, if at all
    if all(view.counts is None for view in seen.values()):
        return (), column
    text = (
        "The risk of households can only be estimated: it is left out when the population is known."
    )
    return (Caution(MaskmeterWarning, text, ""),), None


def _tables(release: Release, loss: Tables) -> tuple[Loss, ...]:
    """Return the loss of the tables that are named, and of the strongest ones of each changed key."""
    changed = [key for key, share in release.changed_by_key.items() if share]
    pairs = loss_tables(loss, release.original, changed)
    return tuple(information_loss(release, rows=rows, columns=columns) for rows, columns in pairs)
