"""The risk of single records: how it is spread and, for the agency, where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskmeter._plural import counted
from maskmeter.evidence.words import matches, percent, titled
from maskmeter.page import Beside, Figure, Fold, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskmeter.evidence.assessment import Assessment, ScenarioRisk
    from maskmeter.page import Block

_MOST_RECORDS = 20
_MOST_CATEGORIES = 12


def record_blocks(found: Assessment) -> Iterator[Block]:
    """Yield how the risk is spread over the unique records, and which of them hold most of it."""
    worst = found.worst
    if not worst.risk.uniques:
        return
    bands = worst.bands()
    named = [f"{'over ' if low else ''}{low:g} to {high:g}" for low, high, _ in bands.iter_rows()]
    rows = tuple(
        (name, f"{count:,}", percent(count / worst.risk.uniques))
        for name, count in zip(named, bands["count"], strict=True)
    )
    caption = "Unique records by the probability that a match is right"
    table = Table(caption, ("probability", "unique records", "share"), rows)
    told = f"{matches(worst.risk.total)} correct matches to expect"
    drawn = worst.risk.plot(title="Risk of single records", subtitle=told)
    yield Beside(Figure("Distribution of risk over sample uniques", drawn), table)
    yield Fold("The unique records with the most risk", (_riskiest(worst, found),))
    yield Fold("Where the risk is, by category", (_where(worst, found),))


def _riskiest(worst: ScenarioRisk, found: Assessment) -> Table:
    """Return the records with the most risk: for the agency only."""
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
    caption = f"The {counted(len(rows), 'unique record')} with the most risk, by row number in risk_by_record.parquet"
    return Table(caption, ("record", *heads, "risk"), tuple(rows))


def _where(worst: ScenarioRisk, found: Assessment) -> Table:
    """Return the categories whose unique records hold most of the risk, by what chance would give."""
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
        "share of the risk",
        "times its share of records",
    )
    return Table(
        "Where the risk is: categories with more risk than records",
        head,
        tuple(row for _, row in rows[:_MOST_CATEGORIES]),
    )
