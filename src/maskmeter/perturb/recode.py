"""Recoding: categories of a key are joined, for everybody to see."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from maskmeter.checks import check_number
from maskmeter.data.bands import band_texts, check_bounds
from maskmeter.data.keys import Key
from maskmeter.data.microdata import Microdata
from maskmeter.data.recoding import recoded_records
from maskmeter.data.recounting import parts_at_source
from maskmeter.errors import CategoryError, PerturbationError
from maskmeter.formats.codebook import Variable
from maskmeter.formats.numbers import number_in
from maskmeter.formats.numbers import plain as plain_number
from maskmeter.formats.statistical import is_tag
from maskmeter.perturb.changes import Recoded
from maskmeter.perturb.entries import StepEntries, category_entry, category_named
from maskmeter.perturb.protecting import protect
from maskmeter.perturb.release import Release
from maskmeter.perturb.step import Perturbed, Step, as_crossed, as_label
from maskmeter.plurals import counted, plural
from maskmeter.streams import RandomSource
from maskmeter.types import Integers


class RecodeEntries(StepEntries, tag="recode", frozen=True):
    """Categories are joined: by named groups, in bands of numbers, or from a number upwards."""

    key: str
    groups: dict[str, list[str]] | None = None
    bands: list[float] | None = None
    top: float | None = None
    label: str | None = None

    def keys_used(self) -> Iterator[str]:
        """Yield the recoded key."""
        yield self.key


@dataclass(frozen=True, init=False)
class Recode(Step):
    """Join categories of a key; the file and the intruder both have the groups.

    The risk falls because more people share a combination of keys, and nothing is misclassified.
    Recode a key before a step that changes it or depends on it.

    Parameters
    ----------
    key
        The key.
    groups
        Labels of groups with the categories that each joins; other categories stay as they are.
    bands
        In place of groups, for a key of numbers: the lower bounds of bands, the last one open.
    top
        In place of groups, for a key of numbers: the number from which on all are one category.
    label
        The name of the step.

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"age": [3, 40, 44, 87, 93], "sex": ["f", "m", "m", "f", "f"]})
    >>> sample = mm.read(people, keys=["age", "sex"], fraction=0.1)
    >>> release = mm.Recode("age", bands=[0, 18, 65]).apply(sample)
    >>> release.released.to_frame()["age"].to_list()
    ['0-17', '18-64', '18-64', '65+', '65+']
    """

    method: ClassVar[str] = "recode"
    term: ClassVar[tuple[str, str]] = (
        "Recoding",
        "Categories of a key are joined, so that more people share each of them.",
    )
    correctable: ClassVar[bool] = True
    entries: ClassVar[type[StepEntries]] = RecodeEntries
    example: ClassVar[str] = """\
key = FIRST
groups = {"a new group" = ["one category", "another"]}   # or bands = [0, 16, 65], or top = 85"""

    key: str
    groups: tuple[tuple[str, tuple[Hashable, ...]], ...]
    bands: tuple[float, ...]
    top: float | None
    label: str

    def __init__(
        self,
        key: str,
        *,
        groups: Mapping[str, Sequence[Hashable]] | None = None,
        bands: Sequence[float] | None = None,
        top: float | None = None,
        label: str | None = None,
    ) -> None:
        (name,) = as_crossed((key,))
        if [groups, bands, top].count(None) != 2:
            raise PerturbationError(
                f"Recoding {name!r} takes one of `groups`, `bands` and `top`. Give one of them."
            )
        if top is not None:
            check_number(top, name="top", above=-np.inf, below=np.inf, error=PerturbationError)
        settings = {
            "key": name,
            "groups": () if groups is None else _checked_groups(groups),
            "bands": () if bands is None else tuple(check_bounds(name, bands)),
            "top": top,
            "label": as_label(label, f"recode {name}"),
        }
        for field, setting in settings.items():
            object.__setattr__(self, field, setting)

    def __repr__(self) -> str:
        """Return the call that makes this step; groups are counted, for they name categories."""
        how = f"groups of {counted(len(self.groups), 'label')}"
        if self.bands:
            how = f"bands={list(self.bands)}"
        elif self.top is not None:
            how = f"top={_written(self.top)}"
        return f"Recode({self.key!r}, {how}, label={self.label!r})"

    @property
    def altered_keys(self) -> tuple[str, ...]:
        """The key that is recoded."""
        return (self.key,)

    def describe(self, share: str) -> str:  # noqa: ARG002 - the groups hold for all records
        """Return what the recode did.

        >>> Recode("age", top=85).describe("")
        'Recoding of age: values from 85 on are one category.'
        """
        if self.top is not None:
            how = f"values from {_written(self.top)} on are one category"
        elif self.bands:
            how = f"in {counted(len(self.bands), 'band')}"
        else:
            joined = sum(len(members) for _, members in self.groups)
            groups = counted(len(self.groups), "group")
            how = f"{counted(joined, 'category', 'categories')} joined to {groups}"
        return f"Recoding of {self.key}: {how}."

    def to_plan(self) -> RecodeEntries:
        """Return the step as a plan writes it."""
        groups = {label: list(map(category_entry, members)) for label, members in self.groups}
        return RecodeEntries(
            self.key, groups or None, list(self.bands) or None, self.top, label=self.label
        )

    @classmethod
    def from_plan(cls, entries: RecodeEntries, sample: Microdata, *, folder: Path) -> Recode:  # noqa: ARG003
        """Return the step that a plan describes."""
        groups = None
        if entries.groups is not None:
            groups = {
                label: [category_named(sample, entries.key, text) for text in members]
                for label, members in entries.groups.items()
            }
        bands, top, label = entries.bands, entries.top, entries.label
        return cls(entries.key, groups=groups, bands=bands, top=top, label=label)

    def apply(self, data: Microdata, *, rng: RandomSource = None) -> Release:
        """Return the release of a file with only this step applied."""
        return protect(data, [self], rng=rng)

    def perturb(self, data: Microdata, truth: Microdata, *, seed: int) -> Perturbed:  # noqa: ARG002
        """Return the recoded records; nobody is misclassified."""
        key = data.space[self.key]
        for _, members in self.groups:
            for member in members:
                key.code(member)  # refuse one that does not exist
        coarser, group = self.grouping(key, data)
        true = recoded_records(truth, coarser, group)
        recoded = replace(recoded_records(data, coarser, group), fraction=true.fraction)
        return Perturbed(recoded, true, groups={self.key: group})

    def perturb_at_source(self, data: Microdata, truth: Microdata, *, seed: int) -> Perturbed:
        """Return the same of records that stay in an engine."""
        done = self.perturb(data, truth, seed=seed)
        _, at = parts_at_source(data)
        later = at.then(Recoded(data.space.index(self.key), done.groups[self.key]))
        return replace(done, data=replace(done.data, at_source=later))

    def grouping(self, key: Key, sample: Microdata) -> tuple[Key, Integers]:
        """Return the key of the groups, and the group of each category.

        Codes that the file declares missing are missing, unless they are in a group.
        """
        plain = _texts(key, sample)
        if self.groups:
            texts, last = self._by_label(key, plain), []
        else:
            numbers = self._numbers(key, plain)
            last = band_texts(self.bands) if self.bands else [f"{_written(self.top)}+"]
            texts = self._by_band(numbers) if self.bands else self._from_top(numbers, plain)
        held = set(texts)
        first = [text for text in dict.fromkeys(texts) if text not in (*last, None)]
        ordered = [*first, *(one for one in last if one in held), *([None] if None in held else ())]
        if len(ordered) < 2:
            raise CategoryError(
                f"Recoding {self.key!r} leaves one category. Use finer groups, or drop the key."
            )
        return Key(self.key, ordered), np.array([ordered.index(text) for text in texts])

    def _by_label(self, key: Key, plain: list[str | None]) -> list[str | None]:
        """Return the label of each category's group, its own text where it is in none."""
        texts, joined = list(plain), set()
        for label, members in self.groups:
            for member in members:
                with suppress(CategoryError):  # a population may lack it
                    joined.add(code := key.code(member))
                    texts[code] = label
        kept = {text for code, text in enumerate(texts) if code not in joined}
        if kept & {label for label, _ in self.groups}:
            raise CategoryError(
                f"A label in `groups` of {self.key!r} is also a category outside its group. Choose"
                " another label."
            )
        return texts

    def _numbers(self, key: Key, plain: list[str | None]) -> list[float | None]:
        """Return the numbers that the categories are, None for missing ones."""
        numbers = [
            None if text is None else number_in(str(category))
            for category, text in zip(key.categories, plain, strict=True)
        ]
        wrong = sum(
            text is not None and number is None for text, number in zip(plain, numbers, strict=True)
        )
        if wrong:
            raise CategoryError(
                f"{counted(wrong, 'category', 'categories')} of {self.key!r}"
                f" {plural(wrong, 'is not a number', 'are not numbers')}. Use `groups`."
            )
        return numbers

    def _by_band(self, numbers: list[float | None]) -> list[str | None]:
        """Return the band of each number."""
        below = sum(number is not None and number < self.bands[0] for number in numbers)
        if below:
            raise CategoryError(
                f"{counted(below, 'category', 'categories')} of {self.key!r}"
                f" {plural(below, 'is', 'are')} below the first bound. Lower the bound, or use"
                " `groups`."
            )
        names = band_texts(self.bands)
        return [
            None if number is None else names[np.searchsorted(self.bands, number, "right") - 1]
            for number in numbers
        ]

    def _from_top(self, numbers: list[float | None], plain: list[str | None]) -> list[str | None]:
        """Return each category, and one for all from the top code on."""
        top = float(self.top or 0)
        if not any(number is not None and number >= top for number in numbers):
            raise CategoryError(
                f"No category of {self.key!r} reaches {_written(top)}. Lower `top`."
            )
        return [
            f"{_written(top)}+" if number is not None and number >= top else own
            for number, own in zip(numbers, plain, strict=True)
        ]


def _checked_groups(groups: object) -> tuple[tuple[str, tuple[Hashable, ...]], ...]:
    """Return labels with the categories that each joins."""
    listed: Any = list(groups.items()) if isinstance(groups, Mapping) else []
    members = [one for _, group in listed for one in group] if _are_lists(listed) else []
    if not members or not all(str(label).strip() for label, _ in listed):
        raise PerturbationError(
            "`groups` must be a dictionary: for each label a list of categories, such as"
            " {'north': ['Leeds', 'York']}."
        )
    if len(set(members)) < len(members):
        raise PerturbationError("`groups` names a category twice. Name each once.")
    return tuple((str(label), tuple(group)) for label, group in listed)


def _are_lists(listed: list[tuple[Any, Any]]) -> bool:
    return bool(listed) and all(isinstance(group, list | tuple) and group for _, group in listed)


def _texts(key: Key, sample: Microdata) -> list[str | None]:
    """Return the categories as texts, by their value labels where all labels differ.

    What the file declares missing is None, and so are its extended missing values.
    """
    variable = sample.codebook[key.name]
    labels = list(variable.value_labels.values())
    named = variable.value_labels if len(set(labels)) == len(labels) else {}
    others = [str(one) for one in key.categories if one is not None and not is_tag(one)]
    tagged = all(number_in(text) is not None for text in others)  # ".a" beside numbers
    return [
        None
        if _is_missing(one, variable) or (tagged and is_tag(one))
        else named.get(one) or _written(one)
        for one in key.categories
    ]


def _is_missing(category: Hashable, variable: Variable) -> bool:
    if category is None:
        return True
    number = number_in(str(category))
    return number is not None and any(
        not isinstance(low, str) and not isinstance(high, str) and low <= number <= high
        for low, high in variable.missing
    )


def _written(value: object) -> str:
    """Return a value as text: 1.0 as 1, for a population may store it so."""
    return str(plain_number(value))
