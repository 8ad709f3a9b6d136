"""Misclassification learnt from a validation study: records whose true values were found out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.checks import check_number, is_pair
from maskmeter.data.encoding import encode
from maskmeter.data.frames import POLARS, FrameKind, as_kind
from maskmeter.data.keys import Key, KeySpace
from maskmeter.data.microdata import Microdata
from maskmeter.data.source import Source
from maskmeter.data.table import KeyTable
from maskmeter.display import InWords
from maskmeter.errors import InputError
from maskmeter.mechanism.matrix import Matrix
from maskmeter.mechanism.mechanism import Misclassification, space_of
from maskmeter.page import Table
from maskmeter.plurals import counted, plural
from maskmeter.types import Array


@dataclass(frozen=True, eq=False)
class Studied:
    """A key in a validation study: counts[true, recorded], P[true, released] and standard errors."""

    key: Key
    counts: NDArray[np.int64]
    P: Array
    errors: Array

    def __repr__(self) -> str:
        """Return the key and the size of the study: no category or count is shown."""
        return f"Studied({self.key.name}: {counted(int(self.counts.sum()), 'record')})"

    @property
    def unstudied(self) -> str:
        """A sentence about categories without records, or nothing."""
        empty = int((self.counts.sum(axis=1) == 0).sum())
        return f" {empty} of {len(self.counts)} categories had no record." if empty else ""

    @property
    def stay(self) -> float:
        """Share of records whose value was recorded as it is."""
        return float(np.trace(self.counts) / self.counts.sum())


@dataclass(frozen=True, eq=False)
class ValidationStudy(InWords):
    """What a validation study says about natural misclassification.

    `misclassification` goes wherever recording errors are asked for.
    """

    studied: tuple[Studied, ...]
    frame_kind: FrameKind = field(default=POLARS, repr=False, kw_only=True)

    @property
    def misclassification(self) -> Misclassification:
        """One matrix for each key that was studied, matched by label."""
        return Misclassification(
            {one.key.name: Matrix(one.P, one.key.categories) for one in self.studied}
        )

    def __repr__(self) -> str:
        """Return keys and shares: no category is shown."""
        keys = ", ".join(f"{one.key.name} {one.stay:.1%} right" for one in self.studied)
        return f"ValidationStudy({keys})"

    def to_frame(self) -> Any:
        """Return a row for each key, true and recorded category: count, probability, error."""
        return as_kind(self._frame(), self.frame_kind)

    def _frame(self) -> pl.DataFrame:
        parts = []
        for one in self.studied:
            names = [str(category) for category in one.key.categories]
            size = len(names)
            columns = {
                "key": [one.key.name] * size**2,
                "true": np.repeat(names, size),
                "recorded": np.tile(names, size),
                "count": one.counts.ravel(),
                "probability": one.P.ravel(),
                "error": one.errors.ravel(),
            }
            parts.append(pl.DataFrame(columns))
        return pl.concat(parts)

    def _tables(self) -> Iterator[Table]:
        """Yield how often each key was right: no category."""
        rows = (
            (
                one.key.name,
                f"{int(one.counts.sum()):,}",
                f"{one.stay:.1%}",
                f"{np.diag(one.errors).max():.3f}",
            )
            for one in self.studied
        )
        yield Table("", ("key", "records", "right", "largest standard error"), tuple(rows))

    def summary(self) -> str:
        """Return a short account that names no category."""
        return "\n".join(
            f"{one.key.name}: {one.stay:.1%} of {counted(int(one.counts.sum()), 'record was', 'records were')}"
            " recorded correctly; the"
            f" standard error of a stay probability is at most {np.diag(one.errors).max():.3f}."
            + one.unstudied
            for one in self.studied
        )


def validation_study(
    source: Any,
    columns: Mapping[str, tuple[str, str]],
    *,
    keys: KeySpace | Microdata | KeyTable,
    smoothing: float = 1.0,
) -> ValidationStudy:
    """Return the misclassification of keys for which true and recorded values are both known.

    Parameters
    ----------
    source
        A file or a frame with a row for each record that was checked.
    columns
        For each key, the column of true values and that of recorded ones.
    keys
        The sample, or its key space: the categories that the matrices are for.
    smoothing
        Every true category is given so many records more, which behave as all categories do
        together: they stay as often, and go where records are recorded. 0 takes the study as it is.

    >>> import polars as pl, maskmeter as mm
    >>> checked = pl.DataFrame({"sex": ["f", "f", "f", "f", "m", "m"], "said": list("fffmmm")})
    >>> space = mm.KeySpace([mm.Key("sex", ["f", "m"])])
    >>> study = mm.validation_study(checked, {"sex": ("sex", "said")}, keys=space, smoothing=0)
    >>> study.studied[0].P.tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    """
    check_number(smoothing, name="smoothing", least=0, below=np.inf)
    if not isinstance(columns, Mapping) or not columns or not all(map(is_pair, columns.values())):
        raise InputError(
            "`columns` must be a dictionary that gives for each key its true and its recorded column,"
            " such as {'age': ('age_checked', 'age')}."
        )
    space, given = space_of(keys), Source.of(source)
    asked = [name for pair in columns.values() for name in pair]
    frame = given.columns(given.check_names(list(dict.fromkeys(asked))))
    studied = []
    for name, pair in columns.items():
        both = [Key(column, space[name].categories) for column in pair]
        true, recorded = (encode(frame, [one], missing="refuse")[1][:, 0] for one in both)
        size = space[name].size
        cell = true.astype(np.int64) * size + recorded
        counts = np.bincount(cell, minlength=size**2).reshape(size, size)
        P, errors = smoothed(counts, smoothing)
        studied.append(Studied(space[name], counts, P, errors))
    return ValidationStudy(tuple(studied), frame_kind=given.frame_kind)


def smoothed(counts: NDArray[np.int64], smoothing: float) -> tuple[Array, Array]:
    """Return P[true, released] of counted moves, and the standard error of each probability.

    `P_ij = (n_ij + s q_ij) / (n_i + s)`: q_ii is the share of all records that stay, and the rest
    of q goes to the other categories in proportion to how often they are recorded.

    >>> smoothed(np.array([[3, 1], [0, 4]]), 0.0)[0].tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    """
    rows, total = counts.sum(axis=1, keepdims=True), counts.sum()
    if not smoothing and not rows.all():
        raise InputError(
            f"{(empty := int((rows == 0).sum()))} of {len(rows)} categories"
            f" {plural(empty, 'has', 'have')} no record in the study. Use"
            " `smoothing` or coarser categories."
        )
    if not total:
        raise InputError("The study has no records.")
    stay = float(np.trace(counts) / total)
    others = np.tile(counts.sum(axis=0) + 1.0 / len(counts), (len(counts), 1))
    np.fill_diagonal(others, 0)
    prior = (1 - stay) * others / others.sum(axis=1, keepdims=True)
    np.fill_diagonal(prior, stay)
    P = (counts + smoothing * prior) / (rows + smoothing)
    # Half a record either way, so that what was never seen is not taken for impossible.
    shrunk = (P * (rows + smoothing) + 0.5) / (rows + smoothing + 1)
    return P, np.sqrt(shrunk * (1 - shrunk) / (rows + smoothing + 1))
