"""A starter plan: what a file's columns are guessed to be, and a first way to protect it."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from maskmeter.checks import Progress
from maskmeter.data.column_roles import names_identifier, names_somebody
from maskmeter.data.reading import read
from maskmeter.data.source import Source, is_usable_name
from maskmeter.errors import FileError, without_warnings
from maskmeter.files import whole
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.plan.first_bound import first_bound
from maskmeter.plan.key_choice import Proposal, columns_of
from maskmeter.plan.missing_codes import suggested_lines
from maskmeter.plan.starter_text import USUAL_FRACTION, FirstStep, StarterPlan, starter_text

_WORKBOOKS = (".xlsx",)


def write_starter(
    source: Path,
    target: Path,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    fraction: float | None = None,
) -> StarterPlan:
    """Write a commented starter plan for a file and return what it says; no plan is overwritten."""
    if target.exists():  # before the file is read, which may take long
        raise FileError(
            f"{str(target)!r} already exists: remove it, or choose another name with --out."
        )
    if not target.absolute().parent.is_dir():
        raise FileError(f"Cannot write {str(target)!r}: there is no such directory.")
    plan = starter(source, encoding=encoding, delimiter=delimiter, fraction=fraction)
    with whole(target.absolute()) as unfinished:
        unfinished.write_text(starter_text(plan), encoding="utf-8")
    return plan


def starter(
    source: Path,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    fraction: float | None = None,
    with_step: bool = True,
    progress: Progress = lambda *_: None,
) -> StarterPlan:
    """Return what a starter plan says of a file; choosing its first step takes a model of the keys."""
    given = Source.of(source, Dialect(encoding, delimiter))
    if not given.header.named:  # a plan would hold the values of the first record as names
        raise _first_row_refused(source.name)
    frame = given.columns(given.names).to_polars()
    if not len(frame):
        raise FileError(f"Cannot start a plan from {source.name!r}: it has no records.")
    found = columns_of(frame, given.codebook, progress)
    if not given.header.listed and _of_texts_alone(frame, found):
        raise _first_row_refused(source.name)
    said = {"encoding": encoding, "delimiter": delimiter}
    reading = {name: text for name, text in said.items() if text}
    step = _first_step(source, found, reading, fraction) if with_step else None
    coded = suggested_lines(frame, given.codebook, [key.name for key in found.of("key")])
    unnamed = sum(not is_usable_name(name) for name in given.names)
    return StarterPlan(
        source.name,
        len(frame),
        found,
        step=step,
        fraction=fraction,
        reading=tuple(reading.items()),
        coded=tuple(coded),
        unnamed=unnamed,
    )


def _of_texts_alone(frame: pl.DataFrame, found: Proposal) -> bool:
    """Return True for a file of texts, most of them different, under names that say nothing.

    In it a first row of values looks like all others.
    """
    texts = all(kind == pl.String for kind in frame.schema.values())
    own = all(one.categories > len(frame) / 2 for one in found.columns)
    silent = not any(one.topic or one.role == "key" for one in found.columns)
    unheard = not any(names_identifier(name) or names_somebody(name) for name in frame.columns)
    return texts and own and silent and unheard and not any(one.numeric for one in found.columns)


def _first_row_refused(name: str) -> FileError:
    sheet = ""
    if Path(name).suffix.lower() in _WORKBOOKS:
        sheet = " Of a workbook the first sheet that is not hidden is read: put the records there."
    return FileError(
        f"Cannot start a plan from {name!r}: its first row looks like a record and not like names of"
        " columns. It holds numbers, dates or gaps, or values like those in the rows below. Add a"
        f" first row with a name for every column.{sheet}"
    )


def _first_step(
    source: Path, found: Proposal, reading: dict[str, str], fraction: float | None
) -> FirstStep | None:
    """Return the redraw that reaches some records and not all, None if there is none."""
    if found.redrawn is None:
        return None
    keys = found.of("key")
    weighed = found.weights if fraction is None else None
    share = fraction or (None if weighed else USUAL_FRACTION)
    bands = {key.name: key.bands for key in keys if key.bands}
    with without_warnings():
        sample = read(
            source,
            [key.name for key in keys],
            fraction=share,
            weights=weighed,
            missing="category",
            bands=bands or None,
            **reading,  # type: ignore[arg-type]
        )
    bound = first_bound(sample, found.redrawn)
    return None if bound is None else FirstStep(*bound)
