"""What stands where in the picture of a chart, and what a careful reader would object to.

In a test: ``assert struck(picture(chart.to_dict())) == []``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import vl_convert

from maskmeter.chart.labels import FONT, Box, text_width

SVG = "{http://www.w3.org/2000/svg}"
RISE, FALL = 0.75, 0.2  # of a letter above and below its line, as shares of its size


@dataclass(frozen=True)
class Words:
    """A text of a picture, and its box if it is level."""

    text: str
    role: str
    box: Box
    level: bool


@dataclass(frozen=True)
class Picture:
    """The texts of a chart and its lines, from end to end; grids and axes are none."""

    words: list[Words]
    lines: list[tuple[tuple[float, float], tuple[float, float]]]


def picture(spec, *, width=None):
    """Return what the chart of a specification shows, at its own width or another."""
    spec = spec if width is None else spec | {"width": width}
    root = ET.fromstring(vl_convert.vegalite_to_svg(spec))  # noqa: S314 - our own picture
    found = Picture([], [])
    _walk(root, (0.0, 0.0), "", found)
    return found


def struck(seen):
    """Return each text that stands on another, and each label of a map that a line goes through."""
    level = [one for one in seen.words if one.level]
    found = [f"{a.text!r} on {b.text!r}" for a, b in combinations(level, 2) if a.box.meets(b.box)]
    return found + [
        f"a line through {one.text!r}"
        for one in level
        if "label_" in one.role and any(_crosses(one.box, *line) for line in seen.lines)
    ]


def _walk(node, at, role, found):
    moved = node.get("transform", "")
    shift = re.search(r"translate\(([-\d.e]+),([-\d.e]+)\)", moved)
    if shift:
        at = (at[0] + float(shift[1]), at[1] + float(shift[2]))
    role = node.get("class", role) if node.tag == f"{SVG}g" else role
    if node.tag == f"{SVG}text":
        found.words.extend(_written(node, at, role, level="rotate" not in moved))
    if node.tag == f"{SVG}line" and "mark-rule role-mark" in role and node.get("opacity") != "0":
        end = (at[0] + float(node.get("x2", 0)), at[1] + float(node.get("y2", 0)))
        found.lines.append((at, end))
    if node.tag == f"{SVG}path" and "mark-line role-mark" in role:
        corners = [
            (at[0] + float(x), at[1] + float(y))
            for x, y in re.findall(r"[ML]([-\d.e]+),([-\d.e]+)", node.get("d", ""))
        ]
        found.lines.extend(pairwise(corners))
    for child in node:
        _walk(child, at, role, found)


def _written(node, at, role, *, level):
    if node.get("opacity") == "0":
        return
    size = float(node.get("font-size").removesuffix("px"))
    share = {"start": 0.0, "middle": 0.5, "end": 1.0}[node.get("text-anchor", "start")]
    bold = node.get("font-weight") in {"bold", "600"}
    x, y = at
    for line in list(node) or [node]:
        y += float(line.get("dy", 0)) if line is not node else 0.0
        if not (line.text or "").strip():
            continue
        wide = text_width(line.text, bold=bold) * size / FONT
        left = x - share * wide
        box = Box(left, y - RISE * size, left + wide, y + FALL * size)
        yield Words(line.text, role, box, level)


def _crosses(box, start, end):
    """Return whether a straight line has a part inside a box."""
    first, last = 0.0, 1.0
    for a, b, low, high in (
        (start[0], end[0], box.left, box.right),
        (start[1], end[1], box.top, box.bottom),
    ):
        if a == b:
            if not low < a < high:
                return False
            continue
        shares = sorted(((low - a) / (b - a), (high - a) / (b - a)))
        first, last = max(first, shares[0]), min(last, shares[1])
    return first < last
