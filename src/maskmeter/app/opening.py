"""Opening a file: its columns and what they are guessed to be, and the plan to start from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from maskmeter.app.results import FileColumn, OpenedFile
from maskmeter.checks import Progress
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.plan import Plan
from maskmeter.plan.column_guesses import ColumnGuess
from maskmeter.plan.reading import parse_plan
from maskmeter.plan.starter import starter
from maskmeter.plan.starter_text import starter_text
from maskmeter.studies.census import PAPER_SIZE, bernoulli_sample, synthetic_census
from maskmeter.studies.demo import FRACTION, SURVEY
from maskmeter.studies.demo import plan_text as demo_plan

_FOUND_OUT = Dialect()
_SEED = 2010  # of the example, whose people are invented


class Opened(NamedTuple):
    """An open file, and the plan to start from."""

    file: OpenedFile
    plan: Plan


def opened_file(
    path: Path,
    name: str,
    written: Dialect = _FOUND_OUT,
    *,
    progress: Progress = lambda *_: None,
) -> Opened:
    """Return a file with the proposal of a starter plan; no step is proposed yet.

    `written` says how a text file is, where that cannot be found out.
    """
    found = starter(
        path,
        encoding=written.encoding,
        delimiter=written.delimiter,
        with_step=False,
        progress=progress,
    )
    plan = parse_plan(starter_text(found), path.with_suffix(".toml")).plan
    data = msgspec.structs.replace(plan.data, missing="category", decimal=written.decimal)
    plan = msgspec.structs.replace(plan, data=data)
    columns = tuple(map(_column, found.found.columns))
    return Opened(OpenedFile(name, path.name, found.records, columns), plan)


def opened_example(folder: Path) -> tuple[Path, Opened]:
    """Return the example, a sample of invented people that is written to a folder, and its path."""
    path = folder / SURVEY
    if not path.exists():
        people = bernoulli_sample(synthetic_census(size=PAPER_SIZE), fraction=FRACTION, rng=_SEED)
        people.write_csv(path)
    opened = opened_file(path, "")
    plan = parse_plan(demo_plan(), path.with_suffix(".toml")).plan
    plan = msgspec.structs.replace(plan, candidate=[])
    return path, Opened(replace(opened.file, example=True), plan)


def _column(one: ColumnGuess) -> FileColumn:
    return FileColumn(
        one.name,
        one.label,
        one.role,
        one.why,
        one.categories,
        one.missing,
        one.numeric,
        tuple(one.bands),
    )
