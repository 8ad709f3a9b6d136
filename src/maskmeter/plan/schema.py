"""What a plan file may say: one table of the file, one struct."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from maskmeter.loglinear import DEFAULT_MODEL, ModelName
from maskmeter.perturb.entries import Entries, Varying
from maskmeter.perturb.methods import SearchedMethod, StepPlan
from maskmeter.release_check.finding import FindingKind


class Data(Entries, frozen=True):
    """How the file is read, and how it was sampled."""

    keys: list[str] = []
    read: list[str] = []  # keys of the file, whether anybody knows them or not
    fraction: float | Varying | None = None
    weights: str | None = None
    population: str | None = None
    household: str | None = None
    id: str | None = None
    model: ModelName = DEFAULT_MODEL
    missing: Literal["refuse", "category"] = "refuse"
    missing_codes: dict[str, list[str | float]] = {}
    bands: dict[str, list[float]] = {}
    codes: list[str] = []
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None


class Scenario(Entries, frozen=True):
    """Keys that one kind of intruder knows."""

    keys: list[str]


class Candidate(Entries, frozen=True):
    """A way to protect the file, to be compared with others."""

    label: str
    step: list[StepPlan]


class FamilyPlan(Entries, frozen=True):
    """Ways to protect one key, searched over their rates; `first` are steps to try before them."""

    key: str
    methods: tuple[SearchedMethod, ...] = ("swap", "pram")
    target: str | None = None
    within: list[str] = []
    first: list[Candidate] = []

    def keys_used(self) -> Iterator[str]:
        """Yield the keys that the family changes or depends on."""
        yield from (self.key, *self.within, *([self.target] if self.target else ()))
        for one in self.first:
            for step in one.step:
                yield from step.keys_used()


class ErrorPlan(Entries, frozen=True):
    """A key that was recorded with error: P[true, released]."""

    key: str
    matrix: str | list[list[float]]
    categories: list[str | float | list[str]] | None = None


class LossPlan(Entries, frozen=True):
    """Tables that analysts need, and the measure of their information loss."""

    tables: list[tuple[str, str]] = []
    measure: Literal["worst", "raad", "rcv", "bvr"] = "worst"


class TargetPlan(Entries, frozen=True):
    """How much risk is allowed: matches as a share or a number, or the risk of any record."""

    max_share: float | None = None
    max_total: float | None = None
    max_record: float | None = None
    intruder: Literal["exact-match", "informed"] = "informed"
    by: Literal["upper", "estimate"] = "upper"


class ReleasePlan(Entries, frozen=True):
    """What is done to the released file as a whole, beside its steps."""

    shuffle: bool = False
    drop: list[str] = []
    renumber: list[str] = []


class AcceptedFinding(Entries, frozen=True):
    """A finding of the release check that the agency accepts, and why."""

    kind: FindingKind
    column: str
    reason: str


class CheckPlan(Entries, frozen=True):
    """What the release check is told: accepted findings, and earlier releases of the same file."""

    accept: list[AcceptedFinding] = []
    earlier: list[str] = []


class ReportPlan(Entries, frozen=True):
    """What the reports say and to whom."""

    title: str | None = None
    audience: Literal["internal", "public", "both"] = "both"
    smallest_count: int = 10
    rates: bool = False
    matrix: bool = False


class Plan(Entries, frozen=True):
    """A release plan."""

    data: Data = Data()
    scenario: dict[str, Scenario] = {}
    step: list[StepPlan] = []
    candidate: list[Candidate] = []
    family: FamilyPlan | None = None
    error: list[ErrorPlan] = []
    loss: LossPlan = LossPlan()
    target: TargetPlan | None = None
    release: ReleasePlan = ReleasePlan()
    check: CheckPlan = CheckPlan()
    report: ReportPlan = ReportPlan()
