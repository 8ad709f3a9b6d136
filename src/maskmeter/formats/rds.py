"""R: .rds files that hold a data frame are read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from maskmeter.bounds import most_entries, swollen
from maskmeter.errors import FileError
from maskmeter.formats.codebook import Codebook, Variable
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.format import Format, Header
from maskmeter.formats.numbers import plain
from maskmeter.formats.rds_bytes import REMEDY, unpacked
from maskmeter.formats.statistical import numbers
from maskmeter.optional import need

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, eq=False, repr=False)
class _Classed:
    """A vector or list of R that has a class, and its attributes."""

    values: Any
    attributes: Mapping[str, Any]

    @property
    def kinds(self) -> set[str]:
        return set(np.atleast_1d(self.attributes.get("class", ())).tolist())


class _AnyClass(dict[str, type[_Classed]]):
    """A class map that keeps the attributes of every class: the reader would drop haven's labels."""

    def get(self, _name: str, _default: object = None) -> type[_Classed]:
        return _Classed


def read_header(path: Path, _dialect: Dialect) -> Header:
    """Return the columns of a file that holds a data frame."""
    pairs = _columns(path)
    names = tuple(column.name for column, _ in pairs)
    return Header(names, Codebook(tuple(variable for _, variable in pairs)))


def read_rows(path: Path, _header: Header, names: Sequence[str]) -> pl.LazyFrame:
    """Return some columns; factors are ordered texts, labelled columns their codes."""
    columns = {column.name: column for column, _ in _columns(path)}
    return pl.LazyFrame([columns[name] for name in names])


def _columns(path: Path) -> list[tuple[pl.Series, Variable]]:
    """Return the columns of a data frame and what each says of itself."""
    rdata = need("rdata", extra="r")
    content = BytesIO(unpacked(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of encodings and classes; what matters is refused below
        found = rdata.read_rds(
            content,
            constructor_dict=_AnyClass(),
            altrep_constructor_dict=_sequences(path, rdata.parser.DEFAULT_ALTREP_MAP),
        )
    if not isinstance(found, _Classed) or "data.frame" not in found.kinds:
        raise FileError(f"Cannot read {path.name!r}: it does not hold an R data frame.")
    return [_column(str(name), values) for name, values in dict(found.values).items()]


def _sequences(path: Path, known: Mapping[bytes, Any]) -> dict[bytes, Any]:
    """Return how vectors are read that R stores as their first number, their step and their length."""
    most = most_entries(path.stat().st_size)

    def bounded(name: bytes) -> Any:
        def read(state: Any) -> Any:
            length = float(state.value[0])
            if not length <= most:
                raise swollen(path, f"a sequence of {length:,.0f} numbers", REMEDY)
            return known[name](state)

        return read

    return {**known, **{name: bounded(name) for name in (b"compact_intseq", b"compact_realseq")}}


def _column(name: str, given: Any) -> tuple[pl.Series, Variable]:
    """Return a column of R and what it says of itself."""
    if not isinstance(given, _Classed):
        return _vector(name, given), Variable(name)
    attributes, kinds = given.attributes, given.kinds
    label = str(np.atleast_1d(attributes.get("label", ""))[0])
    if "factor" in kinds:
        levels = [str(level) for level in attributes["levels"]]
        codes = [None if code is None else levels[code - 1] for code in _vector("", given.values)]
        return pl.Series(name, codes, dtype=pl.Enum(levels)), Variable(name, label)
    if "Date" in kinds:
        days = _vector(name, given.values).cast(pl.Float64).floor()
        return days.cast(pl.Int32).cast(pl.Date), Variable(name, label)
    if "POSIXct" in kinds:
        return _moments(name, given.values), Variable(name, label)
    if kinds & {"haven_labelled", "haven_labelled_spss", "labelled"}:
        return _labelled(name, given, label)
    if isinstance(given.values, np.ndarray):
        return _vector(name, given.values), Variable(name, label)
    listed = ", ".join(sorted(kinds))
    raise FileError(
        f"Column {name!r} has an R class that maskmeter cannot read: {listed}. Convert it first."
    )


def _labelled(name: str, given: _Classed, label: str) -> tuple[pl.Series, Variable]:
    """Return the codes of a labelled column of haven, and their labels."""
    column, attributes = _vector(name, given.values), given.attributes

    def code(value: Any) -> Any:
        letter = isinstance(value, str) and column.dtype != pl.String
        return f".{value}" if letter else plain(value)

    labels = attributes.get("labels")
    named = getattr(labels, "coords", None)  # the reader does not keep the names of texts
    texts = [] if named is None else next(iter(named.values())).to_numpy().tolist()
    values = _with_letters(labels) if texts else []
    pairs = tuple((code(value), str(text)) for value, text in zip(values, texts, strict=True))
    declared: list[Any] = [
        (code(value), code(value)) for value in _with_letters(attributes.get("na_values", ()))
    ]
    if attributes.get("na_range") is not None:
        declared.insert(0, tuple(code(float(bound)) for bound in attributes["na_range"]))
    return column, Variable(name, label, pairs, tuple(declared))


def _with_letters(values: Any) -> list[Any]:
    """Return the values of a vector; a missing value that haven tagged is its letter."""
    array = np.ma.asarray(np.atleast_1d(getattr(values, "values", values)))
    absent = np.ma.getmaskarray(array)
    listed = array.data.tolist()
    if array.dtype.kind == "f":
        tags = (array.data.astype("<f8").view("<u8") >> np.uint64(32)) & np.uint64(0xFF)
        gone = np.isnan(array.data)
        for place in np.flatnonzero(gone):
            letter = chr(int(tags[place]))
            listed[place] = letter if letter.isascii() and letter.isalpha() else None
    return [None if hidden else one for one, hidden in zip(listed, absent.tolist(), strict=True)]


def _moments(name: str, values: Any) -> pl.Series:
    seconds = _vector(name, values).cast(pl.Float64).to_list()
    moments = [None if one is None else _EPOCH + timedelta(seconds=one) for one in seconds]
    return pl.Series(name, moments, dtype=pl.Datetime("us", "UTC")).dt.replace_time_zone(None)


def _vector(name: str, values: Any) -> pl.Series:
    """Return a vector of R: whole numbers as such, NA and NaN as missing."""
    listed = _with_letters(values)
    if np.asarray(getattr(values, "values", values)).dtype.kind == "f":
        return numbers(name, listed)
    column = pl.Series(name, listed, strict=False)
    return column.cast(pl.Float64) if column.dtype == pl.Null else column


FORMAT = Format(
    "R",
    (".rds",),
    header=read_header,
    rows=read_rows,
    read_only={
        ".rds": "maskmeter reads R files but does not write them. Write .sav or .dta, which haven"
        " reads with their labels, or .parquet or .csv."
    },
    advice="it is not a data frame saved with saveRDS(), or it was cut short.",
)
