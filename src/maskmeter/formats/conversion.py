"""From one format to another: real dates instead of formats, and what is lost, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from maskmeter.formats.codebook import Codebook, Variable
from maskmeter.formats.format import Feature, Format
from maskmeter.formats.statistical import is_tag, is_tagged
from maskmeter.plurals import counted

_DAY = 86_400_000  # milliseconds


def neutral(
    frame: nw.DataFrame[Any], codebook: Codebook, read: Format | None
) -> tuple[nw.DataFrame[Any], Codebook]:
    """Return a frame with the dates that its numbers stand for, and a codebook without formats."""
    variables = tuple(replace(one, format="", shown_width=0) for one in codebook.variables)
    unformatted = replace(codebook, variables=variables)
    if not variables or read is None:
        return frame, unformatted
    columns = []
    for column in frame.to_polars().iter_columns():
        unit = unit_of(codebook[column.name].format, read.dates)
        dated = unit and column.dtype.is_numeric()
        made = _dated(column, read.zero, unit) if dated else column
        columns.append(occurring(made) if codebook[column.name].tagged else made)
    return nw.from_native(pl.DataFrame(columns), eager_only=True), unformatted


def occurring(column: pl.Series) -> pl.Series:
    """Return a column whose declared order lists only what occurs."""
    if not isinstance(column.dtype, pl.Enum):
        return column
    held = set(column.unique().to_list())
    return column.cast(pl.Enum([one for one in column.dtype.categories.to_list() if one in held]))


def unit_of(shown: str, dates: Mapping[str, int]) -> int:
    """Return the milliseconds that a number of this display format counts, 0 if it is no date.

    >>> unit_of("DATE11", {"DATE": 1000}), unit_of("F8.2", {"DATE": 1000})
    (1000, 0)
    """
    kind = shown.replace("%-", "%")  # Stata's sign for text that stands to the left
    fitting = [prefix for prefix in dates if kind.startswith(prefix)]
    return dates[max(fitting, key=len)] if fitting else 0


def _dated(column: pl.Series, zero: date, unit: int) -> pl.Series:
    """Return numbers as dates, or as dates with times where they are not whole days."""
    days = (zero - date(1970, 1, 1)).days
    passed = (column.cast(pl.Float64) * unit).round() + days * _DAY
    if ((passed % _DAY).drop_nulls() == 0).all():
        return (passed / _DAY).cast(pl.Int32).cast(pl.Date)
    return passed.cast(pl.Int64).cast(pl.Datetime("ms"))


def with_tags(codebook: Codebook, frame: nw.DataFrame[Any]) -> Codebook:
    """Return a codebook that says which columns of a frame hold extended missing values."""
    kinds = frame.schema
    variables = tuple(
        replace(one, tagged=one.tagged or (one.name in kinds and is_tagged(kinds[one.name])))
        for one in codebook.variables
    )
    return replace(codebook, variables=variables)


def lost(codebook: Codebook, read: Format | None, written: Format) -> tuple[str, ...]:
    """Return a sentence for each kind of metadata that the target format cannot store."""
    name, keeps = written.name, written.keeps
    sentences = [
        f"{name} cannot store {thing.value}; {counted(len(columns), 'column loses', 'columns lose')} them."
        for thing, columns in _held(codebook, read).items()
        if columns and thing not in keeps
    ]
    whole_file = {Feature.FILE_LABEL: codebook.file_label, Feature.NOTES: codebook.notes}
    sentences += [
        f"{name} cannot store the {thing.value}."
        for thing, held in whole_file.items()
        if held and thing not in keeps
    ]
    if Feature.VALUE_LABELS in keeps and Feature.LABELS_OF_ANY_VALUE not in keeps:
        odd = [one for one in codebook.variables if not all(map(_has_label, one.value_labels))]
        if odd:
            sentences.append(
                f"{name} labels whole numbers only;"
                f" {counted(len(odd), 'column loses', 'columns lose')} some value labels."
            )
    if written.longest is not None and (excess := written.longest.excess(codebook)):
        sentences.append(f"{name} limits the length of labels; {counted(excess, 'is', 'are')} cut.")
    if read is written and written.rebuilt:
        sentences.append(written.rebuilt)
    return (*sentences, *codebook.left_out)


def _held(codebook: Codebook, read: Format | None) -> dict[Feature, list[Variable]]:
    """Return the columns with each kind of metadata that some formats cannot store."""
    columns = codebook.variables
    times = dict.fromkeys(() if read is None else read.times, 1)
    dates = {} if read is None else read.dates
    return {
        Feature.VARIABLE_LABELS: [one for one in columns if one.label],
        Feature.VALUE_LABELS: [one for one in columns if one.values],
        Feature.MISSING_VALUES: [one for one in columns if one.missing],
        Feature.EXTENDED_MISSING: [one for one in columns if one.tagged],
        Feature.TIME_FORMATS: [
            one
            for one in columns
            if unit_of(one.format, times) or (one.tagged and unit_of(one.format, dates))
        ],
    }


def _has_label(value: object) -> bool:
    """Return True for the values that Stata labels: whole numbers and extended missing values."""
    return isinstance(value, int) or is_tag(value)
