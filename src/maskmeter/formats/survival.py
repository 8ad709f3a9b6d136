"""What a file loses on its way from one format to another, in sentences."""

from __future__ import annotations

from types import ModuleType

from maskmeter.formats.codebook import Codebook, Variable
from maskmeter.formats.neutral import unit_of
from maskmeter.formats.statistical import is_tag, number_of, plain
from maskmeter.plurals import counted


def lost(codebook: Codebook, read: ModuleType | None, written: ModuleType) -> tuple[str, ...]:
    """Return a sentence for each kind of metadata that the target format cannot store."""
    name, keeps = written.NAME, written.KEEPS
    sentences = []
    for thing, columns in _held(codebook, read).items():
        if columns and thing not in keeps:
            sentences.append(
                f"{name} cannot store {thing}; {counted(len(columns), 'column loses', 'columns lose')} them."
            )
    sentences.extend(
        f"{name} cannot store the {thing}."
        for thing, held in {
            "file label": codebook.file_label,
            "notes": codebook.notes,
        }.items()
        if held and thing not in keeps
    )
    if "value labels" in keeps and "any labels" not in keeps:
        odd = [one for one in codebook.variables if not all(map(_whole, _numbers(one)))]
        if odd:
            sentences.append(
                f"{name} labels whole numbers only;"
                f" {counted(len(odd), 'column loses', 'columns lose')} some value labels."
            )
    longest = getattr(written, "LONGEST", None)
    if longest is not None and (excess := longest.excess(codebook)):
        sentences.append(f"{name} limits the length of labels; {counted(excess, 'is', 'are')} cut.")
    if read is written and hasattr(written, "REMADE"):
        sentences.append(written.REMADE)
    return (*sentences, *codebook.left_out)


def _held(codebook: Codebook, read: ModuleType | None) -> dict[str, list[Variable]]:
    """Return the columns with each kind of metadata that some formats cannot store."""
    columns = codebook.variables
    spans = dict.fromkeys(getattr(read, "SPANS", ()), 1)
    dates = getattr(read, "DATES", {})
    return {
        "variable labels": [one for one in columns if one.label],
        "value labels": [one for one in columns if one.values],
        "missing-value declarations": [one for one in columns if one.missing],
        "extended missing values": [one for one in columns if one.tagged],
        "display formats for times": [
            one
            for one in columns
            if unit_of(one.format, spans) or (one.tagged and unit_of(one.format, dates))
        ],
    }


def _numbers(variable: Variable) -> list[object]:
    """Return the labelled values, without those that stand for extended missing values."""
    values = [value for value in variable.value_labels if not is_tag(value)]
    return [plain(number_of(str(value))) for value in values] if variable.tagged else list(values)


def _whole(value: object) -> bool:
    return isinstance(value, int)
