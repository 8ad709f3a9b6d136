"""Findings about a file that is to be released: risk, loss and the choices that were open."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from maskmeter.data.frames import decode_small
from maskmeter.data.microdata import Microdata
from maskmeter.errors import BandsWarning, Caution
from maskmeter.evidence.audit_figures import AuditFigures
from maskmeter.evidence.scenario import ScenarioRisk
from maskmeter.loglinear import DEFAULT_MODEL, ModelName
from maskmeter.loss import Loss, Losses
from maskmeter.perturb import Release
from maskmeter.plurals import plural
from maskmeter.release_check import ReleaseCheck
from maskmeter.risk import EstimatedRisk
from maskmeter.risk.intruder import EXACT_MATCH, INFORMED
from maskmeter.risk.target import Outcome, Target, Verdict
from maskmeter.riskutility import RiskUtilityMap
from maskmeter.riskutility.assessor import Measure, distance
from maskmeter.types import Integers


@dataclass(frozen=True, eq=False)
class Findings:
    """What was found out about a file: its risk in every scenario, its loss, and the options.

    `household` and `asked`, the two-way tables that were named, are what was asked for; a report
    writes them down with the rest.
    """

    data: Release  # the file as it is, if nothing was done to it
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
    check: ReleaseCheck | None = None  # None for records that stay in an engine
    audit: AuditFigures | None = None  # of a file that was protected elsewhere

    @property
    def release(self) -> Release | None:
        """The release, when the file was protected."""
        return self.data if self.data.protected else None

    @property
    def released(self) -> Microdata:
        """The file as it would be released."""
        return self.data.released

    @property
    def original(self) -> Microdata:
        """The file as it was read."""
        return self.data.original

    @property
    def model_name(self) -> ModelName:
        """The kind of model that estimates rest on; the default where one was given or none is used."""
        risk = self.worst.risk
        if not isinstance(risk, EstimatedRisk):
            return DEFAULT_MODEL
        return risk.model.name

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
        return (*self.about_file, *self.worst.cautions)

    @property
    def loss(self) -> float | None:
        """The mean loss of the tables, in percent; None where nothing was changed."""
        if self.release is None or not self.tables:
            return None
        if self.options is not None and self.chosen:
            return self.options[self.chosen].loss
        return float(np.mean([distance(table, self.measure) for table in self.tables]))

    @property
    def exact(self) -> bool:
        """Whether the population is known."""
        return not isinstance(self.worst.risk, EstimatedRisk)

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
    def given_away(self) -> bool:
        """Whether the release check found that the file gives itself away."""
        return self.check is not None and not self.check.passed

    @property
    def mark(self) -> Verdict | None:
        """Whether the target is met, as in the scenario where it is met least; None without one.

        A file that gives itself away meets none, whatever its risk.
        """
        if self.given_away:
            return "not met"
        if not self.assessable:
            return "not assessable"
        return None if self.outcome is None else self.outcome.verdict

    @property
    def met(self) -> bool | None:
        """Whether every scenario meets the target, and the release check is passed."""
        if self.given_away:
            return False
        return None if self.outcome is None else self.outcome.met


def record_frame(found: Findings) -> pl.DataFrame:
    """Return a row for each record: its released keys, whether it is unique, and its risks.

    `record` is its row in the released file, `original_record` that in the original where records
    were shuffled or left out. Of records that stay in an engine, these are the unique ones.
    """
    worst, released = found.worst, found.released
    rows = np.arange(len(released)) if released.at_source is None else released.unique_rows
    columns: dict[str, Any] = {"record": released.record_names(rows)}
    if found.data.kept is not None:
        columns["original_record"] = found.data.kept[rows]
    columns |= {
        f"key {key.name}": decode_small(key, released.codes[rows, position])
        for position, key in enumerate(released.space.keys)
    }
    unique = np.zeros(len(released.codes), dtype=bool)
    alone = worst.risk.records
    unique[alone if released.at_source else worst.risk.data.record_names(alone)] = True
    columns |= {"unique": unique[rows], **_risks(worst, rows)}
    if len(found.scenarios) > 1:
        for one in found.scenarios:
            columns |= {f"{name} {one.name}": risk for name, risk in _risks(one, rows).items()}
    frame = pl.DataFrame(columns)
    return frame.with_columns(pl.selectors.float().exclude("^key .*$").fill_nan(None))


def _risks(one: ScenarioRisk, rows: Integers) -> dict[str, Any]:
    """Return the risk of some records from exact matching, and from an informed intruder."""
    after = one.after
    return {
        "risk": after[EXACT_MATCH].by_record[rows],
        "informed": after[INFORMED].by_record[rows],
    }


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
