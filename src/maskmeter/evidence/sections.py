"""The sections of the agency's report, below its first screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from maskmeter import chart
from maskmeter.assessment import HALF, MOST_KEYS, Assessment
from maskmeter.data.microdata import Microdata
from maskmeter.display import SIZES
from maskmeter.evidence.choices import choice_blocks
from maskmeter.evidence.records import record_blocks
from maskmeter.evidence.wording import (
    GLOSSARY,
    NOT_ASSESSED,
    assumptions,
    matches,
    percent,
    reduction,
    sampling,
    spoken_interval,
    steps_in_words,
    titled,
)
from maskmeter.loss import Loss
from maskmeter.page import (
    Beside,
    Figure,
    Fold,
    Points,
    Section,
    Table,
    Terms,
    Text,
    filled,
)
from maskmeter.plurals import counted, plural
from maskmeter.risk import EstimatedRisk, Risk
from maskmeter.risk.by_keys import KeySubset

if TYPE_CHECKING:
    from maskmeter.page import Block


_FEW = 20  # records of a group, which a matrix of its own then nearly describes one by one
_SHORT = 12  # rows that a table may have and stay open


def sections(found: Assessment) -> list[Section]:
    """Return the sections below the first screen; those that have nothing to say are left out."""
    parts: tuple[tuple[str, Iterable[Block]], ...] = (
        ("The risk", _risk(found)),
        ("How the file was protected", _how(found)),
        ("What was assessed", _what(found)),
        ("Which keys drive the risk", _keys(found)),
        ("The risk of single records", record_blocks(found)),
        ("Information loss", _loss(found)),
        ("The releases compared", choice_blocks(found)),
        ("The model behind the estimate", _model(found)),
        ("What was not assessed", [Points(NOT_ASSESSED)]),
        ("Glossary", [Fold("What the words mean", (Terms(GLOSSARY),))]),
    )
    return filled(parts)


def _what(found: Assessment) -> Iterator[Block]:
    data = found.released
    yield Text(
        f"A file of {counted(len(data), 'record')} with {counted(len(data.space.keys), 'key')}"
        f" ({counted(data.space.size, 'combination')}). Sampling: {sampling(data)}."
    )
    several = len(found.scenarios) > 1 or found.worst.keys != data.space.names
    known = {one.name: one.keys for one in found.scenarios} if several else {}
    yield Beside(cell_sizes(found), keys_table(data, known))
    yield Text("The figures assume the following:")
    yield Points(assumptions(found.worst, found))


def cell_sizes(found: Assessment) -> Table:
    """Return the number of records in cells of 1, 2, 3, 4 and 5 or more: k-anonymity counts."""
    counts = {name: risk.data.cell_sizes for name, risk in found.named}
    rows = tuple(
        (size, *(f"{one[place]:,}" for one in counts.values())) for place, size in enumerate(SIZES)
    )
    head = ("cell of", *counts)
    return Table("Records by the size of their cell (k-anonymity)", head, rows)


def keys_table(data: Microdata, scenarios: Mapping[str, Sequence[str]]) -> Table:
    """Return the keys of a file, and which of them are known in which scenario."""
    rows = [
        (
            titled(data, key.name),
            f"{key.size:,}",
            *("yes" if key.name in known else "" for known in scenarios.values()),
        )
        for key in data.space.keys
    ]
    caption = "The keys, and who knows them" if scenarios else "The keys an intruder may know"
    return Table(caption, ("key", "categories", *scenarios), tuple(rows))


def _how(found: Assessment) -> Iterator[Block]:
    release = found.release
    if release is None:
        return
    listed = steps_in_words(release)
    if listed:
        yield Points(listed)
    share = percent(float(release.changed.mean()))
    yield Text(f"In total, {share} of the records were changed in at least one key.")
    few = [rate for rate in release.reported if 0 < rate.records < _FEW and rate.expected]
    if few and len(few) > len(release.reported) / 2:
        yield Text(
            f"{len(few):,} of {len(release.reported):,} groups hold fewer than {_FEW} records. A"
            " matrix for so few nearly reveals who was moved, so read these risks as those of an"
            " intruder who knows.",
            "Caution",
        )
    if release.reported:
        rows = tuple(
            (
                f"{rate.step}: {rate.stratum}",
                f"{rate.records:,}",
                percent(rate.achieved),
                percent(rate.expected),
                percent(rate.asked),
            )
            for rate in release.reported
        )
        head = ("step and group", "records", "achieved", "expected", "asked")
        shares = Table("Share of records changed", head, rows)
        yield (
            shares
            if len(rows) <= _SHORT
            else Fold(f"Share of records changed in {len(rows):,} groups", (shares,))
        )


def risk_table(found: Assessment) -> Table:
    """Return the risk of every scenario, before and after protection."""
    rows = tuple((name, *_measured(risk)) for name, risk in found.named)
    head = (
        "scenario",
        "unique records",
        "correct matches",
        "share",
        "95 % interval",
        "risk over 0.5",
    )
    return Table("Expected correct matches among the unique records", head, rows)


def _measured(risk: Risk) -> tuple[str, ...]:
    if not risk.assessable:
        return (f"{risk.uniques:,}", *["not assessable"] * 4)
    return (
        f"{risk.uniques:,}",
        matches(risk.total),
        percent(risk.share),
        "exact" if risk.interval is None else spoken_interval(risk),
        f"{risk.above(HALF):,}",
    )


def _risk(found: Assessment) -> Iterator[Block]:
    yield risk_table(found)
    others = found.worst.others
    if others:
        exact = ("tau (2.8)", "exact, population known", matches(found.worst.risk.total))
        more = tuple((eq, meaning, f"{risk.total:,.1f}") for eq, meaning, risk in others)
        head = ("equation", "meaning", "matches")
        yield Table("The risk by the paper's equations", head, (exact, *more))
    empty = found.worst.risk.without_target
    if empty:
        yield Text(
            f"{counted(empty, 'unique record')} {plural(empty, 'has', 'have')} a combination of keys"
            " that nobody in the population truly has: no target, no risk."
        )
    for caution in (*found.cautions, *found.private):
        yield Text(str(caution), "Caution")
    yield from _households(found)


def _households(found: Assessment) -> Iterator[Block]:
    """Yield the risk of households, and a caution that households can reveal changed records."""
    risk = found.worst.risk
    if not isinstance(risk, EstimatedRisk) or risk.household is None:
        return
    yield Text(
        f"Households: in about {matches(float(risk.by_household.sum()))} of"
        f" {len(risk.by_household):,}, at least one member is expected to be matched correctly;"
        " this includes members who are not unique."
    )
    if found.release is not None:
        yield Text(
            f"The file keeps {risk.household}, but records were changed one by one: members of a"
            " household who differ where they should agree reveal a change. Drop the column from the"
            " release, or renumber households within the categories of the changed keys.",
            "Caution",
        )


def _keys(found: Assessment) -> Iterator[Block]:
    worst = found.worst
    if not worst.risk.uniques or not found.assessable:
        return
    if worst.many:
        yield Text(f"Not measured for more than {MOST_KEYS} keys: it would take too long.")
    if not worst.left_out or worst.without_one is None:
        return
    whole, left = worst.without_one.subsets[0], worst.driving
    named = {key: titled(found.released, key) for key, _ in left}
    yield Text(
        f"Without knowing {named[left[0][0]]}, an intruder would make about"
        f" {matches(left[0][1].risk)} correct matches instead of {matches(whole.risk)}; no other key"
        " matters more."
    )
    rows = tuple(
        (named[key], f"{one.uniques:,}", matches(one.risk), reduction(one, whole))
        for key, one in left
    )
    head = ("key left out", "unique records", "correct matches", "reduction")
    yield Beside(_dots(left, whole, named), Table("The risk without one key", head, rows))
    helping = [named[key] for key, _ in worst.better_without]
    if helping:
        yield Text(
            f"An intruder would do better without {' or '.join(helping)}: after protection"
            f" {plural(len(helping), 'this key is', 'these keys are')} wrong more often than"
            f" {plural(len(helping), 'it helps', 'they help')}.",
            "Caution",
        )


def _dots(left: list[tuple[str, KeySubset]], whole: KeySubset, named: dict[str, str]) -> Figure:
    """Return the chart of the risk with all keys known, and with one of them not known."""
    frame = pl.DataFrame(
        [(named[key], whole.risk, one.risk) for key, one in left],
        schema=["key", "all", "without"],
        orient="row",
    )
    drawn = chart.paired_dots(
        frame,
        names=("all keys known", "this key not known"),
        x="Expected correct matches",
        y="Key",
        title="Which keys drive the risk",
        subtitle="The further left a key's dot, the more of the risk depends on that key",
    )
    return Figure("Correct matches when one key is not known", drawn)


def _model(found: Assessment) -> Iterator[Block]:
    risk = found.worst.risk
    if not isinstance(risk, EstimatedRisk):
        return
    for line in risk.search.summary().split("\n"):
        yield Text(line)
    if len(risk.search.path) > 1:
        yield Figure("Goodness of fit along the search: z2 near 0 is good", risk.search.plot())
    rows = tuple(
        (
            step.added or "independence",
            f"{step.parameters:,}",
            f"{step.z1:.2f}",
            f"{step.z2:.2f}",
            f"{step.tau2:,.1f}",
        )
        for step in risk.search.path
    )
    head = ("term added", "parameters", "z1", "z2", "tau2, unadjusted")
    tried = Table("The models tried, in order", head, rows)
    yield Fold(f"The path of the search: {counted(len(rows), 'model')}", (tried,))


def _loss(found: Assessment) -> Iterator[Block]:
    if found.tables:
        head = ("table", "loss", "RAAD", "Cramer's V", "between-row variances")
        rows = tuple(_lost(one, found.released) for one in found.tables)
        yield Table(
            "Information loss of the named tables and the strongest associations", head, rows
        )
    if found.losses is None:
        return
    data = found.released
    moved = tuple(
        (titled(data, name), percent(share), percent(variation), f"{hellinger:.3f}")
        for name, share, variation, hellinger in found.losses.margins().iter_rows()
        if share > 0
    )
    drawn = Figure("RAAD of every two-way table of the keys: 100 is unchanged", found.losses.plot())
    heads = ("key", "records changed", "total variation", "Hellinger")
    caption = "Changed keys, and the change in their counts"
    yield Beside(drawn, Table(caption, heads, moved)) if moved else drawn


def _lost(one: Loss, data: Microdata) -> tuple[str, ...]:
    """Return the row of a table whose loss was measured."""
    changes = [change for change in one.bvr.values() if np.isfinite(change)]
    between = f"{min(changes):+.1f}% to {max(changes):+.1f}%" if changes else "none"
    strength = f"{one.rcv:+.1f}%" if np.isfinite(one.rcv) else "none"
    named = f"{titled(data, one.rows.name)} x {titled(data, one.columns.name)}"
    return named, f"{one.worst:.1f}%", f"{one.raad:.1f}", strength, between
