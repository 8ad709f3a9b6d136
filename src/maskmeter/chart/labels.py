"""Where labels stand, so that none meets another, a point or a line."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import cos, hypot, pi, sin
from typing import TypeVar
from unicodedata import east_asian_width

Name = TypeVar("Name", bound="Hashable")
Text = TypeVar("Text", str, list[str])

FONT, LINE = 12.0, 14.0  # size of the letters and height of a line in pixels
# Widths of letters as shares of the font size: those of a wide font, and some more.
_NARROW, _CAPITAL, _OTHER, _WIDE, _BOLD = 0.42, 0.79, 0.65, 1.0, 1.12
_THIN, _BROAD = frozenset(" fijlrtIJ.,:;'|!()[]/-"), frozenset("mwMW%@&…—")
EDGE = 8.0  # pixels between a chart's edge and its axes, in which labels may stand too
_ENDS = (0.35, 0.5, 0.65, 0.8, 0.2)  # of a name that is cut, the best first
POINT, RING = 6.0, 10.5  # from the middle of a point, or of a ring, to its edge, and a little more


def text_width(text: str, *, bold: bool = False) -> float:
    """Return how wide a text is at most, in pixels.

    >>> round(text_width("RS20")), round(text_width("RS20", bold=True))
    (35, 39)
    """
    return FONT * (_BOLD if bold else 1.0) * sum(map(_letter, text))


def _letter(letter: str) -> float:
    if letter in _BROAD or east_asian_width(letter) in "WF":
        return _WIDE
    if letter in _THIN:
        return _NARROW
    return _CAPITAL if letter.isupper() else _OTHER


def shorten(text: str, letters: int, end: float = 0.35) -> str:
    """Return a text without its middle where it has too many letters: names often differ at the end.

    `end` is the share of the letters that are kept of it.

    >>> shorten("targeted swap of neighbourhood 20 %", 24), shorten("RS20", 24)
    ('targeted swap o…ood 20 %', 'RS20')
    """
    if len(text) <= letters:
        return text
    tail = max(round(end * (letters - 1)), 1)
    return f"{text[: letters - 1 - tail].rstrip()}…{text[-tail:].lstrip()}"


def distinct(names: Iterable[str], written: Callable[[str, float], Text]) -> dict[str, Text]:
    """Return what is written for each name, with so much of its end that all differ if they can.

    >>> rates = ["swap of districts, 2% of records", "swap of districts, 5% of records"]
    >>> list(distinct(rates, lambda name, end: shorten(name, 20, end)).values())
    ['swap…, 2% of records', 'swap…, 5% of records']
    """
    names = list(dict.fromkeys(names))
    ways = [{name: written(name, end) for name in names} for end in _ENDS]
    return max(ways, key=lambda way: len({str(one) for one in way.values()}))


@dataclass(frozen=True)
class Box:
    """A rectangle of a chart, in pixels from its top left."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Return whether two rectangles share any of their area."""
        return self.shared(other) > 0

    def shared(self, other: Box) -> float:
        """Return the area that two rectangles share."""
        if self.right <= other.left or other.right <= self.left:
            return 0.0
        if self.bottom <= other.top or other.bottom <= self.top:
            return 0.0
        wide = min(self.right, other.right) - max(self.left, other.left)
        return wide * (min(self.bottom, other.bottom) - max(self.top, other.top))


@dataclass(frozen=True)
class Thing:
    """A point or a straight line that no label may meet: shares of the width, pixels of the height."""

    start: float
    end: float
    top: float
    bottom: float
    around: float = 2.0

    def box(self, width: float) -> Box:
        """Return the rectangle it takes on a chart of some width."""
        left, right = sorted((self.start * width, self.end * width))
        top, bottom = sorted((self.top, self.bottom))
        near = self.around
        return Box(left - near, top - near, right + near, bottom + near)


@dataclass(frozen=True)
class Spot:
    """A text that may stand so far from a place on the chart, whose `share` is that of the width.

    `far` says that a line has to lead to it, `outside` that it may stand beyond the chart's edge.
    """

    text: str
    share: float
    y: float
    dx: float
    dy: float
    align: str
    bold: bool = False
    far: bool = False
    outside: bool = False

    @cached_property
    def size(self) -> tuple[float, float]:
        """Width and height of the text."""
        lines = self.text.split("\n")
        return max(text_width(line, bold=self.bold) for line in lines), LINE * len(lines)

    def box(self, width: float) -> Box:
        """Return the rectangle of the text on a chart of some width."""
        wide, high = self.size
        left = self.share * width + self.dx
        left -= wide * {"left": 0.0, "center": 0.5, "right": 1.0}[self.align]
        return Box(left, self.y + self.dy - high / 2, left + wide, self.y + self.dy + high / 2)

    def line(self, width: float) -> list[Box]:
        """Return the rectangles along the line that leads to the label, if one does."""
        away = hypot(self.dx, self.dy)
        shares = [along / away for along in range(14, int(away), 6)] if self.far else []
        places = [(self.share * width + one * self.dx, self.y + one * self.dy) for one in shares]
        return [Box(x - 3, y - 3, x + 3, y + 3) for x, y in places]


@dataclass(frozen=True)
class Ground:
    """What is taken of a chart of some size: `solid` is where not even a line to a label may go."""

    width: float
    height: float
    taken: list[Box]
    solid: list[Box]

    @classmethod
    def of(cls, things: Sequence[Thing], width: float, height: float) -> Ground:
        """Return a chart with some things and no label yet."""
        points = [one for one in things if (one.start, one.top) == (one.end, one.bottom)]
        boxes = ([one.box(width) for one in some] for some in (things, points))
        return cls(width, height, *boxes)

    def met(self, spot: Spot) -> float:
        """Return how much of a label is on other things or, ten times worse, beyond the edge."""
        box = spot.box(self.width)
        inside = Box(-EDGE, 0, self.width + EDGE, self.height + EDGE)
        beyond = 0.0 if spot.outside else box.shared(box) - box.shared(inside)
        met = sum(map(box.shared, self.taken)) + 10 * round(beyond, 6)
        for part in spot.line(self.width):
            met += sum(map(part.shared, self.solid))
        return met

    def take(self, spot: Spot) -> None:
        """Take the room of a label, and of the line to it."""
        boxes = [spot.box(self.width), *spot.line(self.width)]
        self.solid.extend(boxes)
        self.taken.extend(boxes)


@dataclass(frozen=True)
class Label:
    """Spots for a label, the better ones first.

    One that `must` stand takes the spot that meets least, where none is free.
    """

    spots: tuple[Spot, ...]
    must: bool = False

    @classmethod
    def beside(
        cls,
        texts: Sequence[str],
        at: tuple[float, float],
        *,
        chosen: bool = False,
        reach: float = 0,
    ) -> Label:
        """Return the label of a point: one of some texts, no further away than `reach` or beside it.

        The chosen one may stand anywhere.
        """
        share, y = at
        far = _far(float("inf") if chosen else reach)
        ways = {False: _near(RING if chosen else POINT), True: far}
        spots = (
            Spot(text, share, y, dx, dy, align, bold=chosen, far=far)
            for far, around in ways.items()
            for text in texts
            for dx, dy, align in around
        )
        return cls(tuple(spots), must=chosen)

    @classmethod
    def along(cls, texts: Sequence[str], height: float) -> Label:
        """Return the label of a level line across the chart, one of some texts.

        It stands above the line or below it, from left to right, else at its end outside the chart.
        """
        spots = []
        for text in texts:
            off = LINE * len(text.split("\n")) / 2 + 3
            for dy in (-off, off):
                spots += [Spot(text, share, height, dx, dy, align) for share, dx, align in _ALONG]
        spots.append(Spot(texts[-1], 1.0, height, 6.0, 0.0, "left", outside=True))
        return cls(tuple(spots), must=True)


_ALONG = (
    (0.0, 4.0, "left"),
    (1.0, -4.0, "right"),
    *((share / 10, 0.0, "center") for share in (5, 4, 6, 3, 7, 2, 8)),
)


def _near(radius: float) -> list[tuple[float, float, str]]:
    """Return the ways around a point: above to the right first, clear of the line to the right."""
    beside, aslant, over = radius + 3, radius + 1, radius + 5
    return [
        (aslant, -over, "left"),
        (beside, 0, "left"),
        (aslant, over, "left"),
        (-beside, 0, "right"),
        (-aslant, -over, "right"),
        (-aslant, over, "right"),
        (0, -over - 5, "center"),
        (0, over + 5, "center"),
    ]


def _far(reach: float) -> list[tuple[float, float, str]]:
    """Return ways on rings around a point, the nearer rings first."""
    ways: list[tuple[float, float, str]] = []
    rings = (24, 31, 39, 48, 58, 69, 82, 98, 118, 142, 170, 210, 260, 320)
    for radius in (one for one in rings if one <= reach):
        for number in range(24):
            side = -1 if number % 2 else 1  # to either side of the way above to the right
            turn = side * ((number + 1) // 2) * pi / 12 - 5 * pi / 24  # never along another line
            dx, dy = radius * cos(turn), radius * sin(turn)
            align = "center" if abs(dx) < abs(dy) / 3 else "left" if dx > 0 else "right"
            ways.append((round(dx), round(dy), align))
    return ways


def place(
    labels: Mapping[Name, Label],
    things: Sequence[Thing],
    *,
    widths: Sequence[float],
    height: float,
) -> dict[Name, Spot]:
    """Return a spot for each label for which there is room: those that come first choose first.

    A spot is free if it meets nothing on charts of all these widths.

    >>> at = {"one": (0.25, 50.0), "two": (0.31, 50.0)}
    >>> things = [Thing(x, x, y, y, POINT) for x, y in at.values()]
    >>> labels = {text: Label.beside([text], one) for text, one in at.items()}
    >>> found = place(labels, things, widths=[200], height=100)
    >>> [(spot.dx, spot.dy, spot.align) for spot in found.values()]
    [(-9.0, 0, 'right'), (7.0, -11.0, 'left')]
    """
    grounds = [Ground.of(things, width, height) for width in widths]
    found: dict[Name, Spot] = {}
    for name, label in labels.items():
        best, least = None, float("inf") if label.must else 0.0
        for spot in label.spots:
            met = 0.0
            for ground in grounds:
                met += ground.met(spot)
                if met > least:
                    break
            else:
                best, least = spot, met
            if not met:
                break
        if best is not None:
            found[name] = best
            for ground in grounds:
                ground.take(best)
    return found
