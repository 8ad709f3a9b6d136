"""Checks of a plan that need its file."""

from __future__ import annotations

import msgspec

from maskmeter.data.microdata import Microdata
from maskmeter.data.source import Source
from maskmeter.errors import InputError
from maskmeter.plan.reading import PlanFile
from maskmeter.release_check.accepting import reasons_of

_MANY = 1000  # rows or columns of a table, beyond which they are hardly categories


def check_against_file(file: PlanFile, sample: Microdata) -> None:
    """Refuse what a plan says of its file that does not hold, before the work begins."""
    _check_columns(file, sample)
    _check_tables(file, sample)
    _check_release_check(file, sample)


def _check_columns(file: PlanFile, sample: Microdata) -> None:
    """Refuse a household number, or columns to drop or renumber, that the file does not have."""
    source, plan = sample.source, file.plan
    if source is None:
        return
    named = {
        ("data", "household"): [plan.data.household] if plan.data.household is not None else [],
        ("release", "drop"): plan.release.drop,
        ("release", "renumber"): plan.release.renumber,
    }
    for place, columns in named.items():
        file.blame(place, lambda columns=columns: source.check_names(columns))


def _check_tables(file: PlanFile, sample: Microdata) -> None:
    """Refuse tables of loss with columns that the released file does not have, or that make none."""
    for number, pair in enumerate(file.plan.loss.tables):

        def check(pair: tuple[str, str] = pair) -> None:
            _check_table(sample, pair)
            _check_kept(pair, file.plan.release.drop)

        file.blame(("loss", "tables", number), check)


def _check_table(sample: Microdata, pair: tuple[str, str]) -> None:
    """Refuse columns that the file does not have, or that make no table."""
    if pair[0] == pair[1]:
        raise InputError(f"A table needs two columns, not {pair[0]!r} twice.")
    if sample.source is None:
        return
    for column in pair:
        distinct = sample.column(column).used
        if distinct > max(_MANY, len(sample) / 10):
            raise InputError(
                f"Column {column!r} has {distinct:,} distinct values, too many for a table."
            )


def _check_release_check(file: PlanFile, sample: Microdata) -> None:
    """Refuse what the release check cannot use, before the work."""
    check, dropped = file.plan.check, file.plan.release.drop
    columns = () if sample.source is None else sample.source.names
    kept = [name for name in columns if name not in dropped]
    listed = [msgspec.structs.asdict(one) for one in check.accept]
    for number, one in enumerate(listed):
        file.blame(("check", "accept", number), lambda one=one: reasons_of([one], kept))
    for number, path in enumerate(check.earlier):
        file.blame(("check", "earlier", number), lambda path=path: Source.of(file.folder / path))


def _check_kept(pair: tuple[str, str], dropped: list[str]) -> None:
    for column in pair:
        if column in dropped:
            raise InputError(
                f"Column {column!r} is dropped from the released file: leave out tables with it."
            )
