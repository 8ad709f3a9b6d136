"""What a plan file may say: one table of the file, one struct."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class _Entries(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Entries of a table of the plan; unknown entries are refused."""


class Varying(_Entries, frozen=True):
    """A number that differs between categories of a key; for several keys the tables nest."""

    by: str | list[str]
    values: dict[str, Any]
    otherwise: float | None = None


class Move(_Entries, rename={"true": "from", "released": "to"}, frozen=True):
    """A move that must not happen; without `from` or `to` it means any category."""

    true: str | list[str] | None = None
    released: str | list[str] | None = None


class SwapStep(_Entries, tag_field="method", tag="swap", frozen=True):
    """Records exchange a key; several keys in `key` move together."""

    key: str | list[str]
    rate: float | Varying
    within: list[str] = []
    description: Literal["balanced", "nominal", "realised"] = "balanced"
    label: str | None = None


class PramStep(_Entries, tag_field="method", tag="pram", frozen=True):
    """A key is redrawn from a matrix; several keys in `key` move together, those in `keys` do not."""

    key: str | list[str] | None = None
    keys: list[str | list[str]] | None = None
    stay: float | Varying | None = None
    matrix: str | list[list[float]] | None = None
    categories: list[str | float | list[str]] | None = None
    blend: float | None = None
    invariant: bool = True
    forbidden: list[Move] = []
    label: str | None = None


StepPlan = SwapStep | PramStep


class Data(_Entries, frozen=True):
    """How the file is read, and how it was sampled."""

    keys: list[str] = []
    fraction: float | Varying | None = None
    weights: str | None = None
    population: str | None = None
    household: str | None = None
    missing: Literal["refuse", "category"] = "refuse"
    bands: dict[str, list[float]] = {}
    codes: list[str] = []
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None


class Scenario(_Entries, frozen=True):
    """Keys that one kind of intruder knows."""

    keys: list[str]


class Candidate(_Entries, frozen=True):
    """A way to protect the file, to be compared with others."""

    label: str
    step: list[StepPlan]


class FamilyPlan(_Entries, frozen=True):
    """Ways to protect one key, searched over their rates."""

    key: str
    methods: tuple[Literal["swap", "pram"], ...] = ("swap", "pram")
    target: str | None = None
    within: list[str] = []


class ErrorPlan(_Entries, frozen=True):
    """A key that was recorded with error: P[true, released]."""

    key: str
    matrix: str | list[list[float]]
    categories: list[str | float | list[str]] | None = None


class LossPlan(_Entries, frozen=True):
    """Tables that analysts need, and the measure of their information loss."""

    tables: list[tuple[str, str]] = []
    measure: Literal["worst", "raad", "rcv", "bvr"] = "worst"


class TargetPlan(_Entries, frozen=True):
    """How much risk is allowed: a share of the unprotected file's sample uniques, or a number."""

    max_share: float | None = None
    max_total: float | None = None
    by: Literal["upper", "estimate"] = "upper"


class ReportPlan(_Entries, frozen=True):
    """What the reports say and to whom."""

    title: str | None = None
    audience: Literal["internal", "public", "both"] = "both"
    smallest_count: int = 10
    rates: bool = False


class Plan(_Entries, frozen=True):
    """A release plan."""

    data: Data = Data()
    scenario: dict[str, Scenario] = {}
    step: list[StepPlan] = []
    candidate: list[Candidate] = []
    family: FamilyPlan | None = None
    error: list[ErrorPlan] = []
    loss: LossPlan = LossPlan()
    target: TargetPlan | None = None
    report: ReportPlan = ReportPlan()
