"""The form of `assessment.json` and `comparison.json`: figures about a file, and no record.

Everything that is shown of an assessment is made from `Figures`. What is not known, or is not to be
shown, is None or empty, and nothing is said about it.
"""

from __future__ import annotations

import msgspec

from maskmeter.evidence.audit_figures import AuditFigures
from maskmeter.evidence.check_figures import CheckFigures
from maskmeter.evidence.model_figures import ModelFigures, Part

VERSION = 5
CONFIDENTIAL = "for the agency only"  # what each file of the agency says first


class KeyFigures(Part, frozen=True):
    """A key of the file."""

    name: str
    label: str
    categories: int

    @property
    def title(self) -> str:
        """The label, with the name behind it."""
        return self.name if self.label == self.name else f"{self.label} ({self.name})"


class SamplingFigures(Part, frozen=True):
    """How the records were sampled: by a fraction, one that varies by some keys, or weights."""

    fraction: float | None
    varies_by: tuple[str, ...]
    weighted: bool
    weights_total: float | None


class CautionFigures(Part, frozen=True):
    """Why a figure may mislead; what the public may read is empty if that is nothing."""

    kind: str
    text: str
    public_text: str


class RiskFigures(Part, frozen=True):
    """A risk measure: correct matches to expect among the sample uniques.

    A count that is too small to be shown is None.
    """

    measure: str
    assessable: bool
    total: float | None
    uniques: int | None
    share: float | None = None
    interval: tuple[float | None, float | None] | None = None
    largest: float | None = None  # risk of a record, those that share their cell included
    above_half: int | None = None
    above_fifth: int | None = None
    without_target: int | None = None
    cell_sizes: tuple[int, ...] = ()  # records in cells of 1, 2, 3, 4, and 5 or more


class IntruderFigures(Part, frozen=True):
    """The risk from an intruder who matches exactly, and from one who knows the method."""

    exact_match: RiskFigures
    informed: RiskFigures

    def of(self, intruder: str) -> RiskFigures:
        """Return the risk from one of them."""
        return self.informed if intruder == "informed" else self.exact_match

    @property
    def same(self) -> bool:
        """Whether knowing the method makes no difference, as where nothing was misclassified."""
        return self.exact_match.total == self.informed.total


class OtherMeasure(Part, frozen=True):
    """The same risk by another equation of the paper."""

    equation: str
    meaning: str
    total: float


class WithoutKey(Part, frozen=True):
    """The risk when one key is not known."""

    key: str
    uniques: int | None
    total: float | None
    unprotected: float | None


class Band(Part, frozen=True):
    """How many sample uniques have a risk in a band."""

    low: float
    high: float
    uniques: int


class HouseholdFigures(Part, frozen=True):
    """Households that an intruder who knows all members is expected to match correctly.

    The `total` is exact, and None where the population's households are not known: then it is
    between `at_least` and `at_most`. `matched` have some member who is matched, one by one.
    """

    column: str
    households: int | None
    matched: float | None
    uniques: int | None = None  # whose members together no other household of the file has
    at_least: float | None = None
    at_most: float | None = None
    total: float | None = None


class ScenarioFigures(Part, frozen=True):
    """The risk when an intruder knows some keys.

    `intruder` is the one who decides, `unprotected` the risk before protection. `drivers` are the keys that carry most of the risk, `better_without` those that an intruder
    would do better to ignore; the most important come first.
    """

    name: str
    keys: tuple[str, ...]
    intruder: str
    risks: IntruderFigures
    unprotected: IntruderFigures | None
    assumptions: tuple[str, ...]
    cautions: tuple[CautionFigures, ...] = ()
    drivers: tuple[str, ...] = ()
    without_one_key: tuple[WithoutKey, ...] = ()
    better_without: tuple[WithoutKey, ...] = ()
    other_measures: tuple[OtherMeasure, ...] = ()
    bands: tuple[Band, ...] = ()
    model: ModelFigures | None = None
    households: HouseholdFigures | None = None
    many_keys: bool = False  # so many that none of them was left out
    summed: bool = False  # the model of all keys, over each key that was left out

    @property
    def risk(self) -> RiskFigures:
        """The risk from the intruder who decides."""
        return self.risks.of(self.intruder)

    @property
    def before(self) -> RiskFigures | None:
        """The risk from the intruder who decides before protection."""
        return None if self.unprotected is None else self.unprotected.of(self.intruder)


class TargetFigures(Part, frozen=True):
    """The target of risk, and whether the risk meets it in every scenario.

    `verdict` says how well, whatever the release check found. `allowed` is how many correct matches it allows in the worst scenario, or which risk of a
    record; `failing` are the scenarios where it is met least.
    """

    words: str
    max_total: float | None
    max_share: float | None
    max_record: float | None
    intruder: str
    by: str
    met: bool
    verdict: str
    failing: tuple[str, ...]
    allowed: float | None


class LossFigures(Part, frozen=True):
    """The information loss of a two-way table."""

    title: str
    rows: str
    columns: str
    worst: float
    raad: float
    rcv: float | None
    bvr: dict[str, float | None]


class PairFigures(Part, frozen=True):
    """The RAAD of the table of two keys."""

    rows: str
    columns: str
    raad: float


class MarginFigures(Part, frozen=True):
    """A key, the share of records that were changed in it, and how far its counts moved."""

    key: str
    changed: float
    total_variation: float
    hellinger: float


class StepFigures(Part, frozen=True):
    """A step and the share of its records that was asked for, expected and changed.

    `pattern` says what it did; where it has {share}, the share is filled in. `term` is what a
    glossary calls it, and its meaning.
    """

    label: str
    pattern: str
    records: int | None
    asked: float | None
    expected: float | None
    changed: float | None
    term: tuple[str, str] | None = None
    note: str = ""  # whom it reached, for the agency


class GroupFigures(Part, frozen=True):
    """The records of a step that share a rate, and the share of them that was changed."""

    step: str
    group: str
    records: int
    asked: float
    expected: float
    changed: float


class Option(Part, frozen=True):
    """A release on the risk-utility map: `risk` is that of exact matching, beside the informed one."""

    label: str
    changed: float
    left_out: float
    risk: float
    risk_sd: float
    share: float
    upper: float
    informed: float
    informed_sd: float
    informed_share: float
    informed_upper: float
    loss: float
    loss_sd: float
    frontier: bool
    informed_frontier: bool


class LayerFigures(Part, frozen=True):
    """The release that loses least when a target is read in one way; None where none meets it."""

    intruder: str
    by: str
    label: str | None
    matches: float | None
    loss: float | None


class MapFigures(Part, frozen=True):
    """The releases compared, and the frontier of each intruder: those that none beats.

    A frontier runs from least loss to least risk; `frontier` is that of the intruder who decides.
    """

    measure: str
    population_known: bool
    intruder: str
    frontiers: dict[str, tuple[str, ...]]
    tables: tuple[tuple[str, str], ...]
    releases: tuple[Option, ...]
    cautions: tuple[CautionFigures, ...]
    headline: str
    ranking: str  # the frontier in words
    target: tuple[float, str] | None  # a level of risk and its words, where all releases share it
    layers: tuple[LayerFigures, ...]  # what each layer of the target costs

    @property
    def frontier(self) -> tuple[str, ...]:
        """The releases that none beats for the intruder who decides."""
        return self.frontiers[self.intruder]


class Figures(Part, frozen=True, tag_field="confidential", tag=CONFIDENTIAL):
    """All of `assessment.json`: the record-free form of an assessment.

    `rounded_to` is None where the figures are exact. Else counts are multiples of it, and those
    below it are None.
    """

    schema_version: int
    maskmeter: str
    rounded_to: int | None
    mark: str | None  # met, met at the estimate only, not met, not assessable
    verdict: str
    records: int
    keys: tuple[KeyFigures, ...]
    sampling: SamplingFigures
    population_known: bool
    headline: str  # name of the worst scenario
    scenarios: tuple[ScenarioFigures, ...]
    target: TargetFigures | None
    check: CheckFigures | None  # None where it was not made
    steps: tuple[StepFigures, ...]
    finish: tuple[str, ...]  # what was done to the file as a whole, in sentences
    public_finish: tuple[str, ...]  # the same without names
    groups: tuple[GroupFigures, ...]
    changed: float | None  # None where keys are only recoded, or records left out
    left_out: float | None  # None where all records are released
    cautions: tuple[CautionFigures, ...]  # about the file or its release
    mean_loss: float | None
    loss: tuple[LossFigures, ...]
    pairs: tuple[PairFigures, ...]
    margins: tuple[MarginFigures, ...]
    map: MapFigures | None
    layers: tuple[
        LayerFigures, ...
    ]  # of the target: what each costs, or whether this file meets it
    chosen: str | None
    choice: str | None  # why it was chosen, in words
    not_assessed: tuple[str, ...]
    audit: AuditFigures | None = None  # of a file that was protected elsewhere

    @property
    def worst(self) -> ScenarioFigures:
        """The scenario with the most correct matches to expect."""
        return next(one for one in self.scenarios if one.name == self.headline)

    @property
    def assessable(self) -> bool:
        """Whether the figures of every scenario hold."""
        return all(one.risk.assessable for one in self.scenarios)

    @property
    def largest(self) -> float | None:
        """The largest risk of a record in any scenario, where it may be shown."""
        known = [one.risk.largest for one in self.scenarios if one.risk.largest is not None]
        return max(known, default=None)

    @property
    def risks(self) -> tuple[tuple[str, IntruderFigures], ...]:
        """The risk of every scenario, before and after protection, by a name."""
        named: list[tuple[str, IntruderFigures]] = []
        for one in self.scenarios:
            if one.unprotected is None:
                named.append((one.name, one.risks))
            else:
                named.append((f"{one.name}, before", one.unprotected))
                named.append((f"{one.name}, after", one.risks))
        return tuple(named)

    def title(self, key: str) -> str:
        """Return a key by its label, with its name behind it."""
        return next((one.title for one in self.keys if one.name == key), key)


class Comparison(Part, frozen=True, tag_field="confidential", tag=CONFIDENTIAL):
    """All of `comparison.json`."""

    schema_version: int
    maskmeter: str
    keys: tuple[KeyFigures, ...]
    scenarios: dict[str, tuple[str, ...]]
    map: MapFigures


def encoded(value: msgspec.Struct) -> bytes:
    """Return a struct as indented JSON, ending with a line end."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"
