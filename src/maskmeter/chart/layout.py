"""How a risk-utility map is laid out: its scales, what stands where and where labels find room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import copysign, hypot
from statistics import median
from textwrap import wrap
from typing import Any, TypeAlias

import polars as pl

from maskmeter.chart.axes import Scale, cut_off
from maskmeter.chart.labels import LINE, POINT, RING, Label, Spot, Thing, distinct, place, shorten
from maskmeter.chart.look import WIDTH

_Place: TypeAlias = tuple[float, float]

HEIGHT = 300
DIAMOND = 4.0  # from the middle of a diamond to its edge, and a little more
ARROW = 7.0  # from the top of the map to the middle of an arrow
FEW, REACH = 12, 120.0  # releases on the frontier whose labels may be so far away, in pixels
SUFFIX = " (chosen)"
NARROWEST = 14  # letters in a line of words


@dataclass(frozen=True)
class Range:
    """Maps of about the same width, on which labels stand alike and have so many letters at most.

    Labels that meet nothing at these widths meet nothing between them.
    """

    name: str
    widths: tuple[float, ...]
    seen: str  # what holds for such a map, as an expression
    letters: int

    def written(self, labels: Sequence[str], suffix: str = "") -> dict[str, list[str]]:
        """Return what may be written beside releases: all of a label if there is room, or less.

        It is not so little that two would read the same.
        """
        most = self.letters - len(suffix)
        long, short = (_cut(labels, letters) for letters in (most, 2 * most // 3))
        alike = len(set(short.values())) < len(set(long.values()))
        ways = (long,) if alike else (long, short)
        return {label: list(dict.fromkeys(way[label] + suffix for way in ways)) for label in labels}

    def over_lines(self, words: str) -> list[str]:
        """Return what may be written along a line: some words over few lines, or over more."""
        texts = ("\n".join(wrap(words, letters)) for letters in (self.letters + 8, NARROWEST))
        return list(dict.fromkeys(texts))


RANGES = (
    Range("small", (200, 235, 269), "width < 270", 22),
    Range("narrow", (270, 310, 350, 389), "width >= 270 && width < 390", 28),
    Range("middle", (390, 450, 510, WIDTH - 1), f"width >= 390 && width < {WIDTH}", 30),
    Range("wide", (WIDTH,), f"width >= {WIDTH}", 34),
)


@dataclass(frozen=True)
class Layout:
    """The releases of a map with what is drawn of each, the scales and the line of the target.

    `shown` is up to where the line of an `upper` end goes, `beyond` whether it ends in an arrow.
    """

    frame: pl.DataFrame
    across: Scale
    up: Scale
    target: tuple[float, str] | None

    @classmethod
    def of(cls, frame: pl.DataFrame, chosen: str, target: tuple[float, str] | None) -> Layout:
        """Return the layout of a map, the chosen release and those on the frontier first."""
        import polars as pl

        level = [] if target is None else [target[0]]
        others = frame["other"].to_list() if "other" in frame.columns else []
        upper = pl.col("upper" if "upper" in frame.columns else "risk")
        uppers = frame.select(upper).to_series()
        most = cut_off(uppers.to_list(), max(*_ends(frame, "risk"), *level, *others))
        up = _scale(frame, "risk", level, [*uppers.clip(upper_bound=most), *others])
        frame = frame.with_columns(
            pl.col("risk_sd", "loss_sd").fill_nan(0).fill_null(0),
            chosen=pl.col("label") == chosen,
            beyond=upper > most,
            shown=pl.when(upper > most).then(up.high).otherwise(upper),
        )
        ranked = frame.sort("chosen", "frontier", descending=True, maintain_order=True)
        return cls(ranked, _scale(frame, "loss", [], []), up, target)

    @property
    def uncertain(self) -> bool:
        """Whether a risk has an upper end above it."""
        return bool((self.frame["shown"] > self.frame["risk"]).any())

    @property
    def cut(self) -> bool:
        """Whether an upper end is beyond the axis."""
        return bool(self.frame["beyond"].any())

    def placed(self, wide: Range) -> dict[int | None, Spot]:
        """Return what is written where on maps of some widths: by release, None for the target.

        Only the chosen release and those on the frontier are named.
        """
        labels: dict[int | None, Label] = {}
        reach = REACH if self.frame["frontier"].sum() <= FEW else 0.0
        names = self.frame["label"].to_list()
        texts = {False: wide.written(names), True: wide.written(names, SUFFIX)}
        for number, one in enumerate(self.frame.iter_rows(named=True)):
            if one["chosen"] or one["frontier"]:
                chosen, label = one["chosen"], one["label"]
                at = (self.across.share(one["loss"]), self._height(one["risk"]))
                labels[number] = Label.beside(texts[chosen][label], at, chosen=chosen, reach=reach)
        if self.target is not None:
            risk, words = self.target
            labels[None] = Label.along(wide.over_lines(words), self._height(risk))
        first = dict(sorted(labels.items(), key=lambda pair: not pair[1].must))
        return place(first, list(self._things()), widths=wide.widths, height=HEIGHT)

    def _height(self, risk: float) -> float:
        """Return how far below the top of the map a risk is."""
        return HEIGHT * (1 - self.up.share(risk))

    def _thing(self, start: _Place, end: _Place, around: float = 2.0) -> Thing:
        """Return a straight line between two places, each a loss and a risk."""
        (left, above), (right, below) = start, end
        across = (self.across.share(left), self.across.share(right))
        return Thing(*across, self._height(above), self._height(below), around)

    def _things(self) -> Iterator[Thing]:
        """Yield all that is drawn: points, spreads, upper ends, the frontier and the target."""
        for one in self.frame.iter_rows(named=True):
            loss, risk, top = one["loss"], one["risk"], one["shown"]
            aside, away = one["loss_sd"], one["risk_sd"]
            yield self._thing((loss, risk), (loss, risk), RING if one["chosen"] else POINT)
            yield self._thing((loss - aside, risk), (loss + aside, risk))
            yield self._thing((loss, risk + away), (loss, risk - away))
            if top > risk:
                yield self._thing((loss, top), (loss, risk))
                yield self._thing((loss, top), (loss, top), 2 * ARROW if one["beyond"] else 5.0)
            if "other" in one:
                yield self._thing((loss, one["other"]), (loss, one["other"]), DIAMOND)
        yield from self._steps("risk", "frontier")
        if "other" in self.frame.columns:
            yield from self._steps("other", "other_frontier")
        if self.target is not None:
            line = self._height(self.target[0])
            yield Thing(0.0, 1.0, line, line)

    def _steps(self, risk: str, frontier: str) -> Iterator[Thing]:
        """Yield the lines along a frontier."""
        best = self.frame.filter(frontier).sort("loss", maintain_order=True)
        for (loss, high), (more, low) in pairwise(best.select("loss", risk).iter_rows()):
            yield self._thing((loss, high), (more, high))
            yield self._thing((more, high), (more, low))


def drawn_label(spot: Spot) -> dict[str, Any]:
    """Return a label for a chart, with the line to it from the edge of the ring if it is far."""
    away = hypot(spot.dx, spot.dy) / RING
    if spot.align == "center":
        end = (spot.dx, spot.dy - copysign(LINE / 2, spot.dy))
    else:
        end = (spot.dx - copysign(2.0, spot.dx), spot.dy)
    label = {name: getattr(spot, name) for name in ("text", "dx", "dy", "align", "far")}
    ends = (spot.dx / away, spot.dy / away, *end)
    names = ("fromX", "fromY", "toX", "toY")
    return label | {name: round(one, 1) for name, one in zip(names, ends, strict=True)}


def _cut(labels: Sequence[str], letters: int) -> dict[str, str]:
    """Return each label in no more than so many letters."""
    return distinct(labels, lambda label, end: shorten(label, letters, end))


def _ends(frame: pl.DataFrame, field: str) -> list[float]:
    """Return the ends of the spread of each release, which is not below 0."""
    spread = frame[f"{field}_sd"].fill_nan(0).fill_null(0)
    return [*(frame[field] - spread).clip(lower_bound=0.0), *(frame[field] + spread)]


def _scale(frame: pl.DataFrame, field: str, level: list[float], uppers: list[float]) -> Scale:
    """Return the scale of an axis, on which half of the releases and the target differ from 0."""
    usual = [value for value in frame[field] if value > 0]
    telling = [*level, *([median(usual)] if usual else [])]
    return Scale.over([*_ends(frame, field), *level, *uppers], telling=telling)
