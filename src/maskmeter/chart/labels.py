"""Where the labels of points stand, so that none meets another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LETTER, LINE = 7.5, 14.0  # width and height of a letter in pixels, a wide font's
POINT = 6.0  # from the middle of a point to its edge, and a little more


@dataclass(frozen=True)
class Box:
    """A rectangle of a chart, in pixels from its top left."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Return whether two rectangles share any of their area."""
        beside = self.right <= other.left or other.right <= self.left
        return not (beside or self.bottom <= other.top or other.bottom <= self.top)


@dataclass(frozen=True)
class Spot:
    """Where a label stands beside its point."""

    dx: float
    dy: float
    align: str


# Above to the right first, clear of the line that goes on to the right; then around the point.
SPOTS = (
    Spot(7, -11, "left"),
    Spot(9, 0, "left"),
    Spot(7, 11, "left"),
    Spot(-9, 0, "right"),
    Spot(-7, -11, "right"),
    Spot(-7, 11, "right"),
    Spot(0, -16, "center"),
    Spot(0, 16, "center"),
)


def place(
    points: Sequence[tuple[float, float]],
    labels: Sequence[str],
    *,
    size: tuple[float, float],
    taken: Sequence[Box] = (),
) -> list[Spot | None]:
    """Return a spot for the label of each point, or None where there is no room for it.

    Those that come first choose first. `taken` is where no label may stand.

    >>> place([(50, 50), (62, 50)], ["one", "two"], size=(200, 100))
    [Spot(dx=-9, dy=0, align='right'), Spot(dx=7, dy=-11, align='left')]
    """
    around = [Box(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in points]
    boxes = [*taken, *around]
    found: list[Spot | None] = []
    for (x, y), label in zip(points, labels, strict=True):
        room = (
            (spot, box)
            for spot, box in _around(x, y, label)
            if box.left >= 0
            and box.top >= 0
            and box.right <= size[0]
            and box.bottom <= size[1]
            and not any(box.meets(other) for other in boxes)
        )
        spot, box = next(room, (None, None))
        found.append(spot)
        if box is not None:
            boxes.append(box)
    return found


def _around(x: float, y: float, label: str) -> Iterator[tuple[Spot, Box]]:
    """Yield each spot around a point and the rectangle that the label has there."""
    wide = LETTER * len(label)
    for spot in SPOTS:
        left = x + spot.dx - wide * {"left": 0.0, "center": 0.5, "right": 1.0}[spot.align]
        yield spot, Box(left, y + spot.dy - LINE / 2, left + wide, y + spot.dy + LINE / 2)
