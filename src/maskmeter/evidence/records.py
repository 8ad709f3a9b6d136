"""The risk of single records, for the agency only: a chart, the riskiest records, the categories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskmeter.data.microdata import Microdata
from maskmeter.evidence.findings import Findings
from maskmeter.evidence.schema import Figures, KeyFigures
from maskmeter.evidence.wording import Numbers, percent
from maskmeter.page import Beside, Block, Figure, Fold, Table
from maskmeter.plurals import counted
from maskmeter.risk import Risk

_MOST_RECORDS = 20
_MOST_CATEGORIES = 12


@dataclass(frozen=True, eq=False)
class RecordTables:
    """What is known of single records in the worst scenario."""

    chart: Any
    riskiest: Table
    by_category: Table

    def blocks(self, figures: Figures) -> Iterator[Block]:
        """Yield the distribution of risk over the unique records, and those at highest risk."""
        uniques = figures.worst.risk.uniques or 1
        rows = tuple(
            (
                f"{'over ' if one.low else ''}{one.low:g} to {one.high:g}",
                f"{one.uniques:,}",
                percent(one.uniques / uniques),
            )
            for one in figures.worst.bands
        )
        caption = "Unique records by the probability of a correct match"
        table = Table(caption, ("probability", "unique records", "share"), rows)
        yield Beside(Figure("Distribution of risk over sample uniques", self.chart), table)
        yield Fold("The unique records at highest risk", (self.riskiest,))
        yield Fold("Risk by category", (self.by_category,))


def record_tables(found: Findings) -> RecordTables | None:
    """Return what an assessment knows of single records; None if none is unique or no model fits."""
    risk = found.worst.risk
    if not risk.uniques or not found.assessable:
        return None
    told = f"{Numbers(None).matches(risk.total)} expected correct matches"
    return RecordTables(
        risk.plot(title="Risk of single records", subtitle=told),
        _riskiest(risk, found.released),
        _by_category(risk, found.released),
    )


def _title(released: Microdata, name: str) -> str:
    return KeyFigures(name, released.label(name), 0).title


def _riskiest(risk: Risk, released: Microdata) -> Table:
    """Return the records at highest risk."""
    data = risk.data
    order = np.argsort(-risk.by_unique, kind="stable")[:_MOST_RECORDS]
    rows, names = [], data.record_names(risk.records[order])
    for place, name in zip(order, names, strict=True):
        record = int(risk.records[place])
        values = (
            released.value_label(key.name, key.categories[data.codes[record, position]])
            for position, key in enumerate(data.space.keys)
        )
        rows.append((f"{name}", *values, f"{risk.by_unique[place]:.2f}"))
    heads = (_title(released, name) for name in data.space.names)
    caption = f"The {counted(len(rows), 'unique record')} at highest risk, by the column record in risk_by_record.parquet"
    return Table(caption, ("record", *heads, "risk"), tuple(rows))


def _by_category(risk: Risk, released: Microdata) -> Table:
    """Return the categories with the highest share of the risk relative to their share of records."""
    rows = sorted(_categories(risk, released), key=lambda row: -row[0])[:_MOST_CATEGORIES]
    head = (
        "category",
        "records",
        "unique",
        "correct matches",
        "share of risk",
        "share of risk / share of records",
    )
    caption = "Categories with the most risk for their number of records"
    return Table(caption, head, tuple((*row, f"{lift:.1f}") for lift, row in rows))


def _categories(risk: Risk, released: Microdata) -> Iterator[tuple[float, tuple[str, ...]]]:
    """Yield each category that holds risk: its share of risk over that of records, and its row."""
    data, say = risk.data, Numbers(None)
    for position, key in enumerate(data.space.keys):
        codes = data.codes[:, position]
        own = codes[risk.records]
        records, uniques = data.tally(codes, key.size), np.bincount(own, minlength=key.size)
        held = np.bincount(own, weights=risk.by_unique, minlength=key.size)
        for code in np.flatnonzero(held > 0):
            share = float(held[code] / max(risk.total, 1e-300))
            label = released.value_label(key.name, key.categories[code])
            row = (
                f"{_title(released, key.name)}: {label}",
                f"{records[code]:,}",
                f"{uniques[code]:,}",
                say.matches(float(held[code])),
                percent(share),
            )
            yield share / float(records[code] / len(data)), row
