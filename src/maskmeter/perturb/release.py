"""Release: a file before and after misclassification, and the mechanism that lies between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.data.frames import FrameKind, as_kind
from maskmeter.data.matching import respelled
from maskmeter.data.microdata import Microdata
from maskmeter.data.recoding import Counts
from maskmeter.display import InWords, cell_chart, cell_table, facts
from maskmeter.errors import Caution, InputError, MatrixError
from maskmeter.mechanism import (
    Mechanism,
    Misclassification,
    as_mechanism,
)
from maskmeter.page import Table
from maskmeter.perturb.finish import Finish
from maskmeter.perturb.step import RareRecords, Rate, Step
from maskmeter.plurals import counted, plural
from maskmeter.types import Integers


@dataclass(frozen=True)
class Provenance:
    """How a release was made, for the agency's own files. The seed is kept but never shown."""

    steps: tuple[Step, ...]
    seed: int = field(repr=False)
    input_hash: str
    versions: tuple[tuple[str, str], ...]
    finish: Finish = field(default_factory=Finish)


@dataclass(frozen=True, eq=False)
class Release(InWords):
    """The original file, the released one, and the misclassification that made it.

    `mm.protect` makes one and says how in `provenance`; a file that was perturbed elsewhere can be
    put beside its original by hand. `cautions` are what its steps warned of, such as records that
    found no partner. `truth` has the true values of the released records, with the released keys:
    it differs from the original if keys were recoded (`groups` has the released code of each
    original one), or if not all records were `kept` in their order (`kept` has the original row of
    each released record).

    >>> import polars as pl, maskmeter as mm
    >>> sample = mm.read(pl.DataFrame({"sex": ["f", "m"]}), keys=["sex"], fraction=0.1)
    >>> errors = mm.Misclassification({"sex": [[0.0, 1.0], [1.0, 0.0]]}).on(sample)
    >>> release = mm.Release(sample, sample.with_codes(errors.draw(sample.codes, rng=1)), errors)
    >>> release.changed
    array([ True,  True])
    """

    original: Microdata
    released: Microdata
    mechanism: Mechanism
    provenance: Provenance | None = None
    reported: tuple[Rate, ...] = ()
    cautions: tuple[Caution, ...] = ()
    changed_by_step: tuple[tuple[str, int], ...] = ()  # label of each step, records it changed
    truth: Microdata = None  # type: ignore[assignment] # the original, if nothing else is given
    groups: Mapping[str, Integers] = field(default_factory=dict)
    kept: Integers | None = None
    recodes: tuple[Step, ...] = ()  # steps that made keys coarser
    rare: tuple[RareRecords, ...] = ()  # for whom a key was redrawn

    def __post_init__(self) -> None:
        """Put the misclassification on the file's keys, and check that it fits the moves."""
        truth = self.original if self.truth is None else self.truth
        object.__setattr__(self, "truth", truth)
        released = self.released
        if truth.space.names != released.space.names or len(truth) != len(released):
            raise InputError(
                "The original and the released file must have the same keys and records."
            )
        if released.times is not None and released.source is not truth.source:
            released.check_held("A release that is put together from two files")
        if truth.space != released.space:
            raise InputError(
                "The original and the released file must have the same categories. Read the"
                " released one with keys=original.space."
            )
        if released.fraction is None and released.weights is None:  # sampled as the original was
            sampled = replace(released, fraction=truth.fraction, weights=truth.weights)
            object.__setattr__(self, "released", sampled)
        elif released.fraction != truth.fraction or not np.array_equal(
            released.weights,  # type: ignore[arg-type]
            truth.weights,  # type: ignore[arg-type]
        ):
            raise InputError(
                "The original and the released file must have the same fraction and weights,"
                " because they are the same sample."
            )
        mechanism = as_mechanism(self.mechanism, truth.space)
        if mechanism.frame_kind is not self.frame_kind:
            mechanism = replace(mechanism, frame_kind=self.frame_kind)
        object.__setattr__(self, "mechanism", mechanism)
        if self.provenance is None and released is not truth:  # put together by hand
            self._check_possible()

    @classmethod
    def unchanged(cls, sample: Microdata) -> Release:
        """Return the release of a file as it is.

        >>> import polars as pl, maskmeter as mm
        >>> people = mm.read(pl.DataFrame({"sex": ["f", "m"]}), keys=["sex"], fraction=0.1)
        >>> mm.Release.unchanged(people)
        Release(2 records, 0 changed, Mechanism())
        """
        return cls(sample, sample, Misclassification({}).on(sample))

    def _check_possible(self) -> None:
        """Refuse a misclassification that cannot have made this release."""
        chance = self.mechanism.prob(released=self.released.codes, true=self.truth.codes)
        if (chance == 0).any():
            raise MatrixError(
                f"{(odd := int((chance == 0).sum())):,} of {counted(len(chance), 'record')}"
                f" {plural(odd, 'has a released value', 'have released values')} that the"
                " misclassification rules out. Give the misclassification that made this release."
            )

    def __repr__(self) -> str:
        """Return sizes and names: no record is shown."""
        return (
            f"Release({counted(len(self.released), 'record')}, {self.changed_records:,} changed,"
            f" {self.mechanism!r})"
        )

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Whether each released record differs from the truth in any key."""
        self.released.check_held("A mark for each changed record (see `changed_records`)")
        return self._moved

    @property
    def _moved(self) -> NDArray[np.bool_]:
        """Whether each row of the released codes differs from the truth in any key."""
        moved: NDArray[np.bool_] = (self.truth.codes != self.released.codes).any(axis=1)
        return moved

    @property
    def changed_records(self) -> int:
        """Number of released records that differ from the truth in any key."""
        return self.released.records_in(self._moved)

    @property
    def protected(self) -> bool:
        """Whether anything was done to the file."""
        made = self.provenance is not None or bool(self.mechanism.factors)
        return made or bool(self.groups) or self.thinned

    @property
    def thinned(self) -> bool:
        """Whether some of the original records are not released."""
        return len(self.released) < len(self.original)

    @property
    def left_out(self) -> float:
        """Share of the original records that are not released."""
        return 1 - len(self.released) / max(len(self.original), 1)

    @property
    def altered_keys(self) -> tuple[str, ...]:
        """The keys that steps were to change, or in which some record differs from the truth."""
        steps = () if self.provenance is None else self.provenance.steps
        named = {name for step in steps for name in step.altered_keys}
        named |= {name for name, share in self.changed_by_key.items() if share}
        return tuple(name for name in self.original.space.names if name in named)

    def recoded(self, counts: Counts) -> Counts:
        """Return population counts of the original categories by the released ones."""
        sample = self.original
        if self.recodes:  # steps name the categories in the words of the file
            counts = replace(counts, space=respelled(counts.space, sample.space))
        for step in self.recodes:
            counts, sample = step.recoded_counts(counts, sample), step.recoded(sample)
        return counts

    def summary(self) -> str:
        """Return a short account that names no record."""
        records, changed = len(self.released), self.changed_records
        moved = (self.truth.codes != self.released.codes).any(axis=0)
        keys = ", ".join(np.array(self.original.space.names)[moved])
        left_out = len(self.original) - records
        part = f"{counted(left_out, 'record')} left out; " if left_out else ""
        return (
            f"{part}{changed:,} of {counted(records, 'record')} ({changed / max(records, 1):.1%})"
            f" {plural(changed, 'was', 'were')} changed{f' in {keys}' if keys else ''}; records that"
            f" are unique on {counted(len(moved), 'key')}: {self.original.uniques:,} before,"
            f" {self.released.uniques:,} after.{''.join(f' {one}' for one in self.rare)}"
        )

    def plot(self) -> Any:
        """Return an Altair chart of the records by the size of their cell, before and after."""
        return cell_chart("records", self._cell_sizes)

    @property
    def _cell_sizes(self) -> dict[str, tuple[int, ...]]:
        return {"original": self.original.cell_sizes, "released": self.released.cell_sizes}

    def _tables(self) -> Iterator[Table]:
        """Yield the keys, the records that each step changed, and the sizes of cells."""
        yield facts(("keys (categories)", self.original.space.in_words))
        if self.changed_by_step:
            of = 0 if self.thinned else len(self.original)  # the same for all steps
            rows = tuple(
                (step, f"{number:,}" + (f" ({number / of:.1%})" if of else ""))
                for step, number in self.changed_by_step
            )
            yield Table("", ("step", "records changed or left out"), rows)
        yield cell_table({f"{name} records": one for name, one in self._cell_sizes.items()})

    @property
    def changed_by_key(self) -> dict[str, float]:
        """Share of the released records that differ from the truth in each key.

        >>> import polars as pl, maskmeter as mm
        >>> people = pl.DataFrame({"lad": ["a", "b"] * 50, "sex": ["f"] * 50 + ["m"] * 50})
        >>> sample = mm.read(people, keys=["lad", "sex"], fraction=0.1)
        >>> mm.Swap("lad", rate=0.2).apply(sample, rng=2010).changed_by_key
        {'lad': 0.2, 'sex': 0.0}
        """
        moved = self.truth.codes != self.released.codes
        shares = [self.truth.share(column) for column in moved.T]
        return dict(zip(self.original.space.names, shares, strict=True))

    def keys_hash(self) -> str:
        """Return a hash of the released keys, whatever file they are in.

        Of records with ids it is one of the counts of changed keys, so that every engine and order
        has the same, whichever other keys were read.
        """
        named = self.released.at_source is not None or self.released.ids is not None
        if not named or not self.altered_keys:
            return self.released.key_hash()
        return self.released.project(sorted(self.altered_keys)).key_hash(in_order=False)

    @property
    def frame_kind(self) -> FrameKind:
        """The kind of frame that results about this release come in: that of the original."""
        return self.original.frame_kind

    def to_frame(self) -> Any:
        """Return the released records: the user's columns, with only the perturbed keys changed.

        >>> import polars as pl, maskmeter as mm
        >>> people = pl.DataFrame({"lad": ["a", "b"] * 50, "income": range(100)})
        >>> sample = mm.read(people, keys=["lad"], fraction=0.1)
        >>> mm.Swap("lad", rate=0.2).apply(sample, rng=2010).to_frame().shape
        (100, 2)
        """
        return self.released.to_frame()

    @property
    def rates(self) -> Any:
        """Share of records changed: asked for, expected and achieved, per step and stratum."""
        columns = ("step", "stratum", "records", "asked", "expected", "achieved")
        frame = pl.DataFrame(
            {name: [getattr(rate, name) for rate in self.reported] for name in columns}
        )
        return as_kind(frame, self.frame_kind)

    def project(self, names: str | Sequence[str]) -> Release:
        """Return the release as someone sees it who knows only some of the keys.

        A step that depends on keys which are left out is described by its average over the
        records of the file.

        >>> import polars as pl, maskmeter as mm
        >>> people = pl.DataFrame({"lad": ["a", "b"] * 50, "sex": ["f"] * 50 + ["m"] * 50})
        >>> sample = mm.read(people, keys=["lad", "sex"], fraction=0.1)
        >>> mm.Swap("lad", rate=0.2, within=("sex",)).apply(sample, rng=2010).project(["lad"])
        Release(100 records, 20 changed, Mechanism(lad))
        """
        names = self.original.space.chosen(names)
        truth = self.truth.project(names)
        known = tuple(step for step in self.recodes if set(step.altered_keys) <= set(names))
        true = self.truth
        seen = self.mechanism.marginal(
            names, true=true.codes, weights=true.amounts, times=true.times
        )
        return Release(
            self.original.project(names),
            truth.with_codes(self.released.project(names).codes),
            seen,
            cautions=self.cautions,
            truth=truth,
            groups={name: group for name, group in self.groups.items() if name in names},
            kept=self.kept,
            recodes=known,
        )

    def finished(
        self,
        *,
        shuffle: bool = False,
        drop: Iterable[str] = (),
        renumber: Iterable[str] = (),
        household: str | None = None,
    ) -> Release:
        """Return the release with its rows shuffled, columns dropped or renumbered.

        The order of rows, a kept column or an identifier can undo a swap as surely as its seed.

        Parameters
        ----------
        shuffle
            Whether to put the records in a random order; those of a household stay together.
        drop
            Columns to leave out of the released file.
        renumber
            Columns, such as identifiers, whose values become random numbers: the same for records
            that share a value.
        household
            Column of household numbers.

        >>> import polars as pl, maskmeter as mm
        >>> people = pl.DataFrame({"pid": range(100), "lad": ["a"] * 50 + ["b"] * 50})
        >>> sample = mm.read(people, keys=["lad"], fraction=0.1)
        >>> release = mm.Swap("lad", rate=0.2).apply(sample, rng=2010).finished(shuffle=True, drop=["pid"])
        >>> release.to_frame().columns, release.changed_records
        (['lad'], 20)
        """
        return self.with_finish(
            Finish.of(shuffle=shuffle, drop=drop, renumber=renumber, household=household)
        )

    def with_finish(self, finish: Finish) -> Release:
        """Return the finished release; its seed draws the order and the new numbers."""
        if not finish:
            return self
        made = self.provenance
        if made is None:
            raise InputError(
                "This release was put together by hand, so it has no seed: shuffle and renumber the"
                " file before you read it."
            )
        if made.finish:
            raise InputError("This release is finished already: finish the one it was made from.")
        done = finish.apply(self.released, self.truth, seed=made.seed)
        kept = self.kept
        if done.order is not None:
            kept = done.order if kept is None else kept[done.order]
        return replace(
            self,
            released=done.data,
            truth=done.truth,
            kept=kept,
            provenance=replace(made, finish=finish),
        )

    def write(self, path: str | Path) -> None:
        """Write the released file: the user's own columns, with only the perturbed keys changed.

        The ending of `path` decides the format. The input is never overwritten, and a file that
        cannot be written whole is not written at all.
        """
        self.released.write(path)


def check_release(data: object) -> None:
    """Refuse what is not a release."""
    if not isinstance(data, Release):
        raise InputError(f"Give a release, not a {type(data).__name__}.")
