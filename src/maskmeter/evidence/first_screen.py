"""The first screen of the agency's report: the decision, the risk, its picture and what drives it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from maskmeter import chart
from maskmeter.assessment import DRIVING, Assessment
from maskmeter.evidence.choices import map_figure, target_line
from maskmeter.evidence.wording import (
    headline,
    marked,
    matches,
    percent,
    reduction,
    reservations,
    spoken_interval,
    target_sentence,
    titled,
)
from maskmeter.page import Beside, Fact, Figure, Table, Top
from maskmeter.plurals import counted
from maskmeter.risk import EstimatedRisk, Risk

if TYPE_CHECKING:
    from maskmeter.page import Block


def top(found: Assessment) -> Top:
    """Return the first screen: the decision, the risk before and after, and the keys behind it."""
    return Top(
        headline(found),
        *marked(found),
        " ".join([*target_sentence(found), *_unmet(found), *reservations(found)]),
        tuple(_facts(found)) if found.assessable else (),
        (_first(found),) if found.assessable else (),
    )


def _unmet(found: Assessment) -> list[str]:
    """Return why no useful release was found, where one was looked for."""
    return [found.choice] if found.choice and not found.met and found.assessable else []


def _facts(found: Assessment) -> Iterator[Fact]:
    """Yield the figures of the first screen."""
    worst = found.worst
    now = "Matches" if worst.before is None else "Matches after"
    if worst.before is not None:
        yield _fact("Matches before", worst.before)
    yield _fact(now, worst.risk)
    if found.target is not None:
        most = found.target.allowed(worst.risk.unprotected)
        yield Fact("Target", f"at most {matches(most)}", str(found.target))
    if found.release is not None:
        share = percent(float(found.release.changed.mean()))
        yield Fact("Records changed", share, f"of {len(found.released):,}")
    if found.loss is not None:
        number = len(found.options.tables if found.options and found.chosen else found.tables)
        tables = f"mean over {counted(number, 'table')}"
        yield Fact("Information loss", f"{found.loss:.1f}%", tables)


def _fact(name: str, risk: Risk) -> Fact:
    sure = "exact" if risk.interval is None else f"interval {spoken_interval(risk)}"
    note = f"{sure}; {percent(risk.share)} of {risk.uniques:,} uniques"
    return Fact(name, matches(risk.total), note)


def _first(found: Assessment) -> Block:
    """Return the picture of the first screen, beside it the keys that drive the risk."""
    picture, keys = _picture(found), _driving(found)
    return picture if keys is None else Beside(picture, keys)


def _picture(found: Assessment) -> Figure:
    """Return the map of the candidates, or where there are none the risk before and after."""
    if found.options is not None:
        uniques = None if len(found.scenarios) > 1 else found.worst.risk.unprotected
        line = target_line(found.options, found.target, uniques)
        return map_figure(found.options, chosen=found.chosen, target=line)
    rows = []
    for name, risk in found.named:
        low, high = risk.interval or (risk.total, risk.total)
        rows.append((name, risk.total, low, high))
    aim = None if found.target is None else found.target.allowed(found.worst.risk.unprotected)
    drawn = chart.intervals(
        pl.DataFrame(rows, schema=["name", "risk", "low", "high"], orient="row"),
        x="Expected correct matches",
        title="Expected correct matches",
        subtitle="with the approximate 95 % interval"
        if isinstance(found.worst.risk, EstimatedRisk)
        else "exact: the population is known",
        target=aim,
    )
    return Figure("Expected correct matches among the unique records", drawn)


def _driving(found: Assessment) -> Table | None:
    """Return the three keys that carry most of the risk, if each was left out in turn."""
    worst = found.worst
    if worst.without_one is None or not worst.left_out or not worst.risk.uniques:
        return None
    whole = worst.without_one.subsets[0]
    left = worst.driving[:DRIVING]
    rows = tuple(
        (titled(found.released, key), matches(one.risk), reduction(one, whole)) for key, one in left
    )
    head = ("key", "matches without it", "reduction")
    return Table("The keys that drive the risk", head, rows)
