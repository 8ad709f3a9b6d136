"""What a report says of an audit: the columns that were changed, and the risk without a matrix."""

from __future__ import annotations

from collections.abc import Iterator

from maskmeter.evidence.audit_figures import AuditFigures, UnchangedFigures
from maskmeter.evidence.schema import Figures
from maskmeter.evidence.wording import Numbers, share_changed
from maskmeter.page import Block, Fold, Table, Text
from maskmeter.plurals import counted, plural


def change_blocks(figures: Figures) -> Iterator[Block]:
    """Yield how the records were paired, and what happened to each column."""
    found = figures.audit
    if found is None:
        return
    yield Text(paired_sentence(found))
    if figures.changed is not None:
        share = share_changed(figures)
        yield Text(f"In total, {share} of the records were changed in at least one key.")
    altered = changes_table(figures)
    if altered.rows:
        yield altered
    same = [one.name for one in found.columns if one.status == "unchanged"]
    if same:
        words = f"{counted(len(same), 'column')} unchanged"
        rows = tuple((figures.title(name),) for name in same)
        listed = Table("", ("column",), rows)
        yield Fold(words[0].upper() + words[1:], (listed,))
    yield Text(
        "Loss is measured on tables of the keys and of columns that were not changed; other changed"
        " columns are only counted here."
    )


def changes_table(figures: Figures) -> Table:
    """Return what happened to every column that is not as it was."""
    found, keys = figures.audit, {one.name for one in figures.keys}
    columns = () if found is None else found.columns
    rows = tuple(
        (figures.title(one.name), "yes" if one.name in keys else "", one.words)
        for one in columns
        if one.status != "unchanged"
    )
    return Table("What happened to each column, in records", ("column", "key", "what"), rows)


def paired_sentence(found: AuditFigures) -> str:
    """Return how the records of both files were paired."""
    words = f"{counted(found.records, 'record')} of both files {plural(found.records, 'was', 'were')} paired {found.paired}."
    if found.missing:
        words += f" {counted(found.missing, 'original record')} {plural(found.missing, 'is', 'are')} not in the released file."
    if found.added:
        words += f" {counted(found.added, 'released record')} {plural(found.added, 'has', 'have')} no original."
    return words


def unchanged_blocks(figures: Figures) -> Iterator[Block]:
    """Yield the risk of the unique records that were not changed, with all keys and without each."""
    found = figures.audit
    if found is None:
        return
    yield Text(unchanged_sentence(found.unchanged, known=figures.population_known))
    yield unchanged_table(figures)
    yield Text(
        "An intruder who matches exactly is right for these records alone, whatever changed the"
        " others, so that no matrix is needed. The informed intruder is taken to know the realised"
        " matrix of each key: how often each category was released as which."
    )


def unchanged_sentence(risk: UnchangedFigures, *, known: bool) -> str:
    """Return the risk of the unchanged unique records.

    >>> unchanged_sentence(UnchangedFigures("", 412, 380, 31.2, (20.0, 45.0)), known=False)
    'Without any matrix: 380 of 412 unique released records were not changed in the keys, and about 31 of them could be matched correctly (95 % interval 20 to 45, by that of the original file).'
    """
    say = Numbers(None)
    between = ""
    if risk.interval is not None:
        between = f" (95 % interval {say.between(risk.interval)}, by that of the original file)"
    elif known:
        between = " (exact)"
    were = plural(risk.unchanged, "was", "were")
    return (
        f"Without any matrix: {risk.unchanged:,} of {counted(risk.uniques, 'unique released record')}"
        f" {were} not changed in the keys, and {say.about(risk.total)} of them could be matched"
        f" correctly{between}."
    )


def unchanged_table(figures: Figures) -> Table:
    """Return the risk of the unchanged unique records, with all keys and without each of them."""
    found, say = figures.audit, Numbers(None)
    listed = () if found is None else (found.unchanged, *found.without_one_key)
    rows = tuple(
        (
            f"all but {figures.title(one.left_out)}" if one.left_out else "all keys",
            f"{one.uniques:,}",
            f"{one.unchanged:,}",
            say.matches(one.total),
        )
        for one in listed
    )
    head = ("keys known", "unique records", "unchanged", "correct matches")
    return Table("The risk without a matrix", head, rows)
