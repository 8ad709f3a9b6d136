"""The risk of single records: its distribution and, for the agency, the records and categories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from maskmeter.assessment import Assessment, ScenarioRisk
from maskmeter.evidence.wording import matches, percent, titled
from maskmeter.page import Beside, Figure, Fold, Table
from maskmeter.plurals import counted

if TYPE_CHECKING:
    from maskmeter.page import Block

_MOST_RECORDS = 20
_MOST_CATEGORIES = 12


def record_blocks(found: Assessment) -> Iterator[Block]:
    """Yield the distribution of risk over the unique records, and those at highest risk."""
    worst = found.worst
    if not worst.risk.uniques or not found.assessable:
        return
    bands = worst.bands()
    named = [f"{'over ' if low else ''}{low:g} to {high:g}" for low, high, _ in bands.iter_rows()]
    rows = tuple(
        (name, f"{count:,}", percent(count / worst.risk.uniques))
        for name, count in zip(named, bands["count"], strict=True)
    )
    caption = "Unique records by the probability of a correct match"
    table = Table(caption, ("probability", "unique records", "share"), rows)
    told = f"{matches(worst.risk.total)} expected correct matches"
    drawn = worst.risk.plot(title="Risk of single records", subtitle=told)
    yield Beside(Figure("Distribution of risk over sample uniques", drawn), table)
    yield Fold("The unique records at highest risk", (_riskiest(worst, found),))
    yield Fold("Risk by category", (_where(worst, found),))


def _riskiest(worst: ScenarioRisk, found: Assessment) -> Table:
    """Return the records at highest risk, for the agency only."""
    data, risk = worst.risk.data, worst.risk
    order = np.argsort(-risk.by_cell, kind="stable")[:_MOST_RECORDS]
    rows = []
    for place in order:
        record = int(risk.records[place])
        values = (
            found.released.value_label(key.name, key.categories[data.codes[record, position]])
            for position, key in enumerate(data.space.keys)
        )
        rows.append((f"{record}", *values, f"{risk.by_cell[place]:.2f}"))
    heads = (titled(found.released, name) for name in data.space.names)
    caption = f"The {counted(len(rows), 'unique record')} at highest risk, by row number in risk_by_record.parquet"
    return Table(caption, ("record", *heads, "risk"), tuple(rows))


def _where(worst: ScenarioRisk, found: Assessment) -> Table:
    """Return the categories with the highest share of the risk relative to their share of records."""
    data, risk = worst.risk.data, worst.risk
    rows = []
    for position, key in enumerate(data.space.keys):
        codes = data.codes[:, position]
        records = np.bincount(codes, minlength=key.size)
        own = codes[risk.records]
        uniques = np.bincount(own, minlength=key.size)
        held = np.bincount(own, weights=risk.by_cell, minlength=key.size)
        for code in np.flatnonzero(held > 0):
            share = held[code] / max(risk.total, 1e-300)
            lift = share / (records[code] / len(data))
            label = found.released.value_label(key.name, key.categories[code])
            rows.append(
                (
                    lift,
                    (
                        f"{titled(found.released, key.name)}: {label}",
                        f"{records[code]:,}",
                        f"{uniques[code]:,}",
                        matches(float(held[code])),
                        percent(float(share)),
                        f"{lift:.1f}",
                    ),
                )
            )
    rows.sort(key=lambda row: -row[0])
    head = (
        "category",
        "records",
        "unique",
        "correct matches",
        "share of risk",
        "share of risk / share of records",
    )
    return Table(
        "Categories with the most risk for their number of records",
        head,
        tuple(row for _, row in rows[:_MOST_CATEGORIES]),
    )
