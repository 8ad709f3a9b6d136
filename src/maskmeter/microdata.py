"""Microdata: the records of a file as category codes, and how they were sampled."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maskmeter import formats
from maskmeter._checks import check_choice, check_fraction, locked, shown
from maskmeter.errors import (
    ColumnNotFoundError,
    FileError,
    InputError,
    WeightError,
)
from maskmeter.frames import (
    Keys,
    Missing,
    check_columns,
    decode,
    encode,
    listed_keys,
    load,
    new_frame,
    weights_of,
)
from maskmeter.keys import KeySpace, check_codes
from maskmeter.strata import By

if TYPE_CHECKING:
    from collections.abc import Sequence

    import narwhals.stable.v2 as nw
    from numpy.typing import NDArray

    from maskmeter.keys import Codes


@dataclass(frozen=True, eq=False, repr=False)
class Origin:
    """Where the records came from: the user's frame, its codes as they were read, and its file."""

    frame: nw.DataFrame[Any]
    codes: Codes
    path: Path | None = None
    state: tuple[int, int] | None = None  # size and time of change of the file

    @classmethod
    def of(cls, source: Any, frame: nw.DataFrame[Any], codes: Codes) -> Origin:  # noqa: ANN401 - as for read
        """Return the origin of records that were read from a path or a frame."""
        if not isinstance(source, str | Path):
            return cls(frame, codes)
        path = Path(source).expanduser().absolute()  # the working directory may change
        return cls(frame, codes, path, _state(path))

    def check_unchanged(self) -> Path:
        """Return the path of the file, which must be as it was when it was read."""
        if self.path is None or not self.path.is_file() or _state(self.path) != self.state:
            message = f"{str(self.path)!r} is not as it was when it was read: read it again."
            raise FileError(message)
        return self.path


@dataclass(frozen=True, eq=False)
class Microdata:
    """Records of a file: a code per record and key, and how the records were sampled.

    `codes` has a row per record and a column per key. Without a `fraction`, weights give an overall
    one through their sum; with both, `fraction` holds the inclusion probabilities and `weights`
    are what models are fitted to.
    """

    space: KeySpace
    codes: Codes
    fraction: float | By[float] | None = None
    weights: NDArray[np.float64] | None = None
    origin: Origin | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Check the codes and the sampling, and make the arrays read-only."""
        codes = check_codes(self.codes, self.space)
        object.__setattr__(self, "codes", locked(codes, self.space.code_type))
        if isinstance(self.fraction, By):
            checked = self.fraction.map(check_fraction)
            checked.strata(self.space)
            object.__setattr__(self, "fraction", checked)
        elif self.fraction is not None:
            object.__setattr__(self, "fraction", check_fraction(self.fraction))
        if self.weights is not None:
            weights = locked(self.weights, np.float64)
            _check_weights(weights, len(codes))
            object.__setattr__(self, "weights", weights)

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.codes)

    def __repr__(self) -> str:
        """Return the size and the keys: no record is shown."""
        return f"Microdata({len(self):,} records, keys {', '.join(self.space.names)})"

    def __eq__(self, other: object) -> bool:
        """Return True when keys, codes and sampling are the same; other columns do not count."""
        if not isinstance(other, Microdata):
            return NotImplemented
        return (
            self.space == other.space
            and np.array_equal(self.codes, other.codes)
            and self.fraction == other.fraction
            and np.array_equal(self.weights, other.weights)  # type: ignore[arg-type]
        )

    __hash__ = None  # type: ignore[assignment]

    def with_codes(self, codes: Codes) -> Microdata:
        """Return the same records with other key values."""
        if np.shape(codes) != self.codes.shape:
            message = f"`codes` must have {len(self):,} rows, one for each record."
            raise InputError(message)
        return replace(self, codes=codes)

    def project(self, names: Sequence[str]) -> Microdata:
        """Return the same records with some of their keys, in the order given."""
        columns = [self.space.index(name) for name in names]
        space = self.space.project(list(names))
        return Microdata(space, self.codes[:, columns], self.fraction, self.weights)

    def column(self, name: str) -> list[Any]:
        """Return a column of the user's file, a value for each record, none of them missing."""
        if not isinstance(name, str):
            message = f"Give the name of a column, not {shown(name)}."
            raise InputError(message)
        if self.origin is None:
            message = f"These records were not read from a file or frame with a column {name!r}."
            raise InputError(message)
        frame = self.origin.frame
        if name not in frame.columns:
            raise ColumnNotFoundError(name, frame.columns)
        values = list(frame[name].to_list())
        missing = sum(value is None or value != value for value in values)  # noqa: PLR0124 - NaN
        if missing:
            message = f"{missing:,} of {len(self):,} records have no value for {name!r}."
            raise InputError(message)
        if not all(isinstance(value, Hashable) for value in values):
            message = f"Column {name!r} holds lists, or the like, that cannot be told apart."
            raise InputError(message)
        return values

    def inclusion(self, codes: Codes) -> NDArray[np.float64]:
        """Return the inclusion probability pi_j of each cell.

        A fraction is used as it is; with weights it is the number of records over their sum.
        """
        if isinstance(self.fraction, By):
            strata, values = self.fraction.strata(self.space)
            columns = [codes[:, self.space.index(name)] for name in self.fraction.keys]
            return np.array(values, dtype=np.float64)[strata[tuple(columns)]]
        if self.fraction is not None:
            return np.full(len(codes), self.fraction)
        if self.weights is not None:
            return np.full(len(codes), len(self) / self.weights.sum())
        message = (
            "This risk depends on how the records were sampled:"
            " give `fraction` or `weights` to mm.read."
        )
        raise WeightError(message)

    def to_frame(self) -> Any:  # noqa: ANN401 - the user's kind of frame
        """Return the user's columns, in their order and types, with the key values held here.

        >>> import polars as pl
        >>> people = pl.DataFrame({"sex": ["f", "m"], "age": [30, 40]})
        >>> read(people, keys=["sex"]).to_frame().equals(people)
        True
        """
        keys = self._decoded(self.codes)
        if self.origin is None:
            return keys.to_native()
        frame = self.origin.frame
        return frame.with_columns(*(keys[name] for name in self.space.names)).to_native()

    def rows_to_frame(
        self, rows: NDArray[np.int64], *, before: dict[str, Any], after: dict[str, Any]
    ) -> Any:  # noqa: ANN401 - the user's kind of frame
        """Return the keys of some records between other columns, in the user's kind of frame."""
        keys = self._decoded(self.codes[rows])
        first, last = new_frame(before, like=keys), new_frame(after, like=keys)
        columns = {**first, **{name: keys[name] for name in keys.columns}, **last}
        return keys.with_columns(*columns.values()).select(*columns).to_native()

    def columns_to_frame(self, name: str, rows: NDArray[np.int64], after: dict[str, Any]) -> Any:  # noqa: ANN401 - the user's kind of frame
        """Return a column of some records before other columns, in the user's kind of frame."""
        if self.origin is None or name in after:
            message = f"{name!r} is a column of the result: rename the one of that name."
            raise InputError(message)
        kept = self.origin.frame.select(name)[rows]
        return kept.with_columns(*new_frame(after, like=kept).values()).to_native()

    def _decoded(self, codes: Codes) -> nw.DataFrame[Any]:
        like = None if self.origin is None else (self.origin.frame, self.origin.codes)
        return decode(self.space, codes, like=like)

    def write(self, path: str | Path) -> None:
        """Write the user's columns with the key values held here, in the format of the ending.

        A CSV that came from a CSV differs from it in the changed fields only, byte for byte.
        """
        origin = self.origin
        path = formats.check_target(path, None if origin is None else origin.path)
        if origin is not None and origin.path is not None and formats.keep_bytes(origin.path, path):
            formats.delimited.rewrite(origin.check_unchanged(), path, self._changes(origin.codes))
        else:
            formats.write(self.to_frame(), path)

    def _changes(self, before: Codes) -> dict[str, dict[int, str]]:
        """Return the new text of every changed field: column, then row."""
        changes = {}
        for position, key in enumerate(self.space.keys):
            now = self.codes[:, position]
            rows = np.flatnonzero(now != before[:, position])
            texts = ["" if value is None else str(value) for value in key.categories]
            changes[key.name] = {int(row): texts[now[row]] for row in rows}
        return changes

    def fingerprint(self) -> str:
        """Return a hash of the file the records came from, or of their keys if it was a frame."""
        if self.origin is not None and self.origin.path is not None:
            with self.origin.check_unchanged().open("rb") as file:
                return f"file sha256 {file_digest(file, 'sha256').hexdigest()}"
        digest = sha256(repr([(key.name, key.categories) for key in self.space.keys]).encode())
        digest.update(np.ascontiguousarray(self.codes.T).data)  # column after column
        return f"keys sha256 {digest.hexdigest()}"


def read(
    source: Any,  # noqa: ANN401 - a path or any frame narwhals knows
    keys: Keys,
    *,
    fraction: float | By[float] | None = None,
    weights: str | None = None,
    missing: Missing = "refuse",
) -> Microdata:
    """Return the records of a file or a frame, with their keys as category codes.

    Categories stand in their declared order where the column has one (a Polars Enum, an ordered
    pandas Categorical), else sorted by value. A CSV holds text: "10" comes before "2" there, and
    an empty field is missing.

    Parameters
    ----------
    source
        A path to a CSV or Parquet file, or a data frame (Polars, pandas, PyArrow, ...).
    keys
        Names of the columns an intruder could know. Pass `population.space` (or `Key` objects) to
        take the categories from elsewhere than from this file.
    fraction
        The share of the population that was sampled; `mm.by(key, {...})` when it varies.
    weights
        The column of survey weights. Without `fraction`, the overall fraction is the number of
        records over the sum of the weights; with both, `fraction` gives the inclusion
        probabilities (per stratum, say) and the weights are used to fit models.
    missing
        "refuse" missing key values, or make them a "category".

    >>> import polars as pl
    >>> people = pl.DataFrame({"sex": ["f", "m", "m"], "age": [30, 40, 40]})
    >>> read(people, keys=["sex", "age"], fraction=0.01)
    Microdata(3 records, keys sex, age)
    """
    check_choice(missing, Missing, name="missing")
    listed = listed_keys(keys)
    frame = load(source)
    check_columns(listed, frame.columns, source)
    space, codes = encode(frame, listed, missing=missing)
    codes = locked(codes)
    weighed = None if weights is None else _named_weights(frame, weights)
    origin = Origin.of(source, frame, codes)
    return Microdata(space, codes, fraction=fraction, weights=weighed, origin=origin)


def check_microdata(data: object) -> None:
    """Refuse what was not read."""
    if not isinstance(data, Microdata):
        message = f"Give a sample (mm.read), not a {type(data).__name__}."
        raise InputError(message)


def _state(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _named_weights(frame: nw.DataFrame[Any], column: str) -> NDArray[np.float64]:
    """Return a column of weights; what is wrong with it is said under its name."""
    weights = weights_of(frame, column)
    try:
        _check_weights(weights, len(frame))
    except WeightError as error:
        message = f"Column {column!r} cannot hold weights. {error}"
        raise WeightError(message) from None
    return weights


def _check_weights(weights: NDArray[np.float64], records: int) -> None:
    """Refuse weights that are not positive numbers, or do not stand for a population."""
    if weights.shape != (records,):
        message = f"`weights` must hold one number for each of the {records:,} records."
        raise WeightError(message)
    bad = int((~(np.isfinite(weights) & (weights > 0))).sum())
    if bad:
        message = (
            f"{bad:,} of {records:,} weights are missing, not positive or not numbers."
            " Every record needs a weight above 0."
        )
        raise WeightError(message)
    if weights.sum() < records:
        message = (
            "The weights sum to less than the number of records: they must say how many units of"
            " the population each record stands for."
        )
        raise WeightError(message)
