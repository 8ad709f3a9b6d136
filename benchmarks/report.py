"""Make the tables of docs/benchmarks.md from docs/benchmarks.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from growth import AXES, Axis
from ratios import RATIOS, floors

DOCS = Path(__file__).parents[1] / "docs"
KEPT, PAGE = DOCS / "benchmarks.json", DOCS / "benchmarks.md"
START, END = "<!-- written by benchmarks/run.py -->", "<!-- end of what it writes -->"

DRAWS = (
    "Up to ten million cells the sums over all cells are exact; beyond, draws from the model"
    " estimate them, in less time.\nThe default model holds all cells, and applies up to 50 million."
)
ABOUT = {
    "records": "The time of PRAM, swap and estimate is without reading the file; memory is with it.",
    "cells": DRAWS,
    "keys": DRAWS,
}


def page(kept: Mapping[str, Any], text: str) -> str:
    """Return the page with its tables made anew."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return "\n".join([f"{before}{START}", *tables(kept), f"{END}{after}"])


def tables(kept: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page: ratios, then times, then growth."""
    compared, grown = kept["ratios"], kept["growth"]
    yield "## Ratios\n"
    yield from _ratios(compared["ratios"])
    yield f"\n{_measured(compared['on'])}\n"
    yield "## Times\n"
    yield from _times(compared["figures"])
    yield "\n## Growth\n"
    yield _measured(grown["on"])
    for name, axis in AXES.items():
        yield from _growth(name, axis, [one for one in grown["points"] if one["axis"] == name])


def _ratios(found: Mapping[str, float]) -> Iterator[str]:
    least = floors()
    yield "| work | peer | peer's time over ours | floor |\n|---|---|---|---|"
    for name, one in RATIOS.items():
        yield f"| {one.work} | {one.peer} | {short(found[name])} | {short(least[name])} |"


def _times(figures: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    yield "| work | ours | peer | peer's |\n|---|---|---|---|"
    for one in RATIOS.values():
        theirs, ours = one.times(figures)
        yield f"| {one.work} | {seconds(ours)} | {one.peer} | {seconds(theirs)} |"


def _growth(name: str, axis: Axis, points: list[dict[str, Any]]) -> Iterator[str]:
    yield f"\n### With the number of {axis.title}\n"
    yield f"The file: {axis.file}.\n{ABOUT[name]}"
    yield f"\n![Time and memory against the number of {axis.title}](_static/growth_{name}.png)\n"
    yield f"| {axis.title} | {' | '.join(axis.works)} |\n|---|{'---|' * len(axis.works)}"
    at = {(one["work"], one["size"]): one for one in points}
    for size in axis.sizes:
        cells = [_point(at.get((work, size))) for work in axis.works]
        yield f"| {_size(size)} | {' | '.join(cells)} |"


def _point(one: Mapping[str, Any] | None) -> str:
    return "-" if one is None else f"{seconds(one['seconds'])}, {one['peak']:,.0f} MB"


def _size(size: int) -> str:
    """Return a size: thousands with commas, powers of ten beyond.

    >>> _size(10_000), _size(10**15)
    ('10,000', '1e15')
    """
    return f"{size:,}" if size < 10**8 else f"1e{len(str(size)) - 1}"


def _measured(on: Mapping[str, Any]) -> str:
    """Return when and on what a part of the page was measured."""
    versions = ", ".join(f"{name} {version}" for name, version in on["packages"].items())
    return (
        f"Measured on {on['date']}: {on['cores']} cores of {on['processor']}, {on['memory']} GB of"
        f" memory, {on['system']}, Python {on['python']}, R {on['r']}.\nPackages: {versions}."
    )


def seconds(value: float) -> str:
    """Return a time with about two digits.

    >>> seconds(21.06), seconds(1.658), seconds(0.2547), seconds(0.0047)
    ('21 s', '1.7 s', '0.25 s', '4.7 ms')
    """
    return f"{short(value)} s" if value >= 0.1 else f"{short(1000 * value)} ms"


def short(value: float) -> str:
    """Return a number with two digits, or all those before the point.

    >>> short(128.3), short(6.95), short(0.7)
    ('128', '7.0', '0.70')
    """
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.995 else f"{value:.2f}"
