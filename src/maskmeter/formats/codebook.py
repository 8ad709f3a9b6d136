"""What a file says of its columns beside their values: labels, missing codes and how they are shown."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from maskmeter.formats.numbers import number_in, plain

Interval: TypeAlias = "tuple[float | str, float | str]"


@dataclass(frozen=True)
class Variable:
    """One column: its label, the labels of its values, and how its format stores and shows it.

    `missing` holds the values declared missing, as intervals (low, high); they are ordinary values
    here. `width` is the number of bytes of a text, `shown_width` that of the column on the screen.
    """

    name: str
    label: str = ""
    values: tuple[tuple[Hashable, str], ...] = field(default=(), repr=False)
    missing: tuple[Interval, ...] = field(default=(), repr=False)
    format: str = ""
    width: int = 0
    shown_width: int = 0
    measure: str = ""
    tagged: bool = False  # numbers beside extended missing values: text here, numbers in the file

    @cached_property
    def value_labels(self) -> dict[Hashable, str]:
        """The label of each labelled value."""
        return dict(self.values)

    def label_of(self, value: Hashable) -> str | None:
        """Return the label of a value; numbers beside extended missing values are texts."""
        found = self.value_labels.get(value)
        if found is not None or not isinstance(value, str):
            return found
        return self.value_labels.get(plain(number_in(value)))


@dataclass(frozen=True, repr=False)
class Codebook:
    """The variables of a file that says something of them, in its order, and its own label and notes.

    `recoded` names the columns that no longer hold what the file holds, such as numbers in bands.
    `left_out` says in sentences what the file has beside its records that is not read at all.

    >>> book = Codebook((Variable("sex", "Sex of person", ((1, "Male"), (2, "Female"))),))
    >>> book.label("sex"), book.value_label("sex", 2), book.value_label("age", 30)
    ('Sex of person', 'Female', '30')
    """

    variables: tuple[Variable, ...] = ()
    file_label: str = ""
    notes: tuple[str, ...] = ()
    recoded: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the size: labels may name what is confidential."""
        return f"Codebook({len(self.variables):,} variables)"

    @cached_property
    def _by_name(self) -> dict[str, Variable]:
        return {variable.name: variable for variable in self.variables}

    def __getitem__(self, name: str) -> Variable:
        """Return what is known of a column, which may be no more than its name."""
        return self._by_name.get(name) or Variable(name)

    def label(self, name: str) -> str:
        """Return the label of a column, or its name when it has none."""
        return self[name].label or name

    def value_label(self, name: str, value: Hashable) -> str:
        """Return the label of a value, or the value as text; "missing" for None."""
        if value is None:
            return "missing"
        return self[name].label_of(value) or str(value)

    def without(self, names: Collection[str]) -> Codebook:
        """Return the codebook of a file without some columns; notes that name one go with it."""
        if not names:
            return self
        variables = tuple(one for one in self.variables if one.name not in names)
        notes = tuple(note for note in self.notes if not any(name in note for name in names))
        return replace(self, variables=variables, notes=notes)

    def recode(self, name: str, values: tuple[tuple[Hashable, str], ...] = ()) -> Codebook:
        """Return the codebook after a column was recoded: of the old categories nothing holds.

        `values` are the labels of the new ones.

        >>> Codebook((Variable("age", "Age", ((99, "Refused"),), ((99, 99),)),)).recode("age")["age"]
        Variable(name='age', label='Age', ...measure='ordinal', tagged=False)
        """
        fresh = Variable(name, self[name].label, values, measure="ordinal")
        known = {one.name: one for one in self.variables} | {name: fresh}
        variables = tuple(known.values())
        said = f"Column {name!r} was recoded and loses its missing-value declarations."
        left_out = (
            (*self.left_out, said) if self[name].missing or self[name].tagged else self.left_out
        )
        recoded = (*self.recoded, name)
        return replace(self, variables=variables, recoded=recoded, left_out=left_out)


@dataclass(frozen=True)
class Longest:
    """How long the labels of columns, of values and of a file may be; 0 where there are none."""

    columns: int
    values: int
    file: int
    in_bytes: bool = False

    def cut(self, text: str, size: int) -> str:
        """Return a label that fits.

        >>> Longest(columns=3, values=3, file=3, in_bytes=True).cut("Größe", 3)
        'Gr'
        """
        return text.encode()[:size].decode(errors="ignore") if self.in_bytes else text[:size]

    def fitted(self, book: Codebook) -> Codebook:
        """Return a codebook with labels that fit."""
        variables = tuple(
            replace(
                one,
                label=self.cut(one.label, self.columns),
                values=tuple((value, self.cut(label, self.values)) for value, label in one.values),
            )
            for one in book.variables
        )
        return replace(book, variables=variables, file_label=self.cut(book.file_label, self.file))

    def excess(self, book: Codebook) -> int:
        """Return how many labels are too long."""
        old, new = book, self.fitted(book)
        count = int(old.file_label != new.file_label)
        for one, other in zip(old.variables, new.variables, strict=True):
            count += one.label != other.label
            if self.values:
                count += sum(a != b for a, b in zip(one.values, other.values, strict=True))
        return count


EMPTY = Codebook()
