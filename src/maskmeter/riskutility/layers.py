"""What each thing that a target asks for costs: the release with the least loss under each reading."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from maskmeter.page import Table
from maskmeter.risk.intruder import Intruder
from maskmeter.risk.target import DecidedBy, Target
from maskmeter.riskutility.assessor import Draw, Point


@dataclass(frozen=True)
class Layer:
    """The useful release that loses least under one reading of a target; None if none meets it."""

    intruder: Intruder
    by: DecidedBy
    label: str | None = None
    matches: float | None = None  # the figure that decides
    loss: float | None = None


def target_layers(target: Target, tried: Sequence[tuple[Point, Draw]]) -> tuple[Layer, ...]:
    """Return the cheapest release by exact matching, then informed, then at the upper end as well."""
    return tuple(_cheapest(one, tried) for one in target.layers())


def _cheapest(target: Target, tried: Iterable[tuple[Point, Draw]]) -> Layer:
    meeting = [
        (point, draw)
        for point, draw in tried
        if draw.useful and target.decide(draw.risks[target.intruder]).met
    ]
    if not meeting:
        return Layer(target.intruder, target.by)
    point, draw = min(meeting, key=lambda one: (one[1].loss, one[0].changed))
    matches = point.matches(target.intruder)[target.by == "upper"]
    return Layer(target.intruder, target.by, point.label, matches, draw.loss)


class LayerLike(Protocol):
    """A layer, or its figures."""

    @property
    def intruder(self) -> str:
        """Whose matches count."""

    @property
    def by(self) -> str:
        """Which figure decides."""

    @property
    def label(self) -> str | None:
        """The release with the least loss."""

    @property
    def matches(self) -> float | None:
        """The figure that decides."""

    @property
    def loss(self) -> float | None:
        """Its loss."""


def layer_table(layers: Sequence[LayerLike]) -> Table:
    """Return what each layer of a target costs, or whether one release meets it.

    >>> layer_table([Layer("informed", "upper", "redraw lad < 300", 125.0, 9.5)]).rows
    (('informed, at the upper end', 'redraw lad < 300', '125.0', '9.50'),)
    """
    ends = {"upper": "at the upper end", "estimate": "by the estimate"}
    rows = tuple(
        (
            f"{one.intruder}, {ends[one.by]}",
            one.label or ("none meets it" if one.matches is None else "not met"),
            "" if one.matches is None else f"{one.matches:,.1f}",
            "" if one.label is None or one.loss is None else f"{one.loss:.2f}",
        )
        for one in layers
    )
    head = ("the target is met", "release with the least loss", "matches", "loss")
    return Table("What each layer of the target costs", head, rows)
