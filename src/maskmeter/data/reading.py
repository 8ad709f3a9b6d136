"""Reading records: a file or a frame in, Microdata out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.checks import check_choice, locked
from maskmeter.data.at_source import AtSource, WeightColumn
from maskmeter.data.bands import Bands, banded, check_bands, warn_if_many
from maskmeter.data.encoder import Encoder
from maskmeter.data.encoding import encode, encode_column
from maskmeter.data.engines.files import EngineName
from maskmeter.data.frames import (
    Keys,
    Missing,
    key_names,
    listed_keys,
)
from maskmeter.data.ids import check_ids, id_numbers
from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata
from maskmeter.data.missing import Given, MissingCodes, commonest
from maskmeter.data.numeric import named_weights
from maskmeter.data.source import Source
from maskmeter.data.varying import By
from maskmeter.errors import InputError
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.types import Integers


def read(
    source: Any,
    keys: Keys,
    *,
    fraction: float | By[float] | None = None,
    weights: str | None = None,
    missing: Missing = "refuse",
    missing_codes: Given | None = None,
    bands: Bands | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    id: str | None = None,  # noqa: A002 - what users call it
    engine: EngineName | None = None,
    master: str | None = None,
    also: Sequence[str] = (),
) -> Microdata:
    """Return the records of a file or a frame, with their keys as category codes.

    Categories stand in their declared order where the column has one (a Polars Enum, an ordered
    pandas Categorical), else sorted by value. Texts that all stand for numbers or bands, such as
    "2" and "10" or "5-9" and "85+", are sorted as these. A CSV holds text, in which an empty field
    is missing. Codes of SPSS and Stata files stay codes, whatever their labels.

    Records of several files, of a DuckDB relation or of a Spark data frame stay where they are: only
    their counts are read, categories are sorted by value, and what is released is written from there.

    Parameters
    ----------
    source
        A path to a file (delimited text, Parquet, Arrow, SPSS, Stata, SAS, Excel or R), a folder or
        a pattern such as `"census/*.parquet"` for several files, or a data frame (Polars, pandas,
        PyArrow, DuckDB, Spark, ...).
    keys
        Names of the columns an intruder could know: a list, or text such as "age,sex". Pass
        `population.space` (or `Key` objects) to take the categories from elsewhere than from this
        file. If they have another type there, such as 1 for the text "1", they are matched by value
        or by value label, and stay in the words of this file.
    fraction
        The share of the population that was sampled; `mm.by(key, {...})` when it varies.
    weights
        The column of survey weights. Without `fraction`, the overall fraction is the number of
        records over the sum of the weights; with both, `fraction` gives the inclusion
        probabilities (per stratum, say) and the weights are used to fit models.
    missing
        "refuse" missing key values, or make them a "category".
    missing_codes
        Values of keys that count as missing, such as `{"marital": ["NA", -9]}`: they are compared by
        value, and a text may be the value label of a code. They stay in the file as they are, unless
        a step changes the key: then all its missing values are written as the commonest of them.
    bands
        Lower bounds of the bands that keys of numbers are put into; the last band is open. A
        written file holds the bands, not the numbers.
    encoding, delimiter, decimal
        How delimited text is written, where that cannot be found out: such as "cp1252", ";", ",".
        An encoding is also heeded for SPSS, Stata and SAS files that name a wrong one.
    id
        The column in which every record has a number or text of its own. What is drawn for a record
        then depends on its id and not on its row: every engine, order and partition of the same
        records gives the same release. Categories are then sorted by value.
    engine, master
        Where the rows of files are worked on: "polars", "duckdb" or "spark", which may be at the
        address `master`: its workers must have maskmeter, and see the files under the same paths.
        By default a single file is read into memory.
    also
        Other columns by which records are counted that stay where they are, for tables of loss.

    >>> import polars as pl
    >>> people = pl.DataFrame({"sex": ["f", "m", "m"], "age": [30, 40, 40]})
    >>> read(people, keys=["sex", "age"], fraction=0.01)
    Microdata(3 records, 1 unique on sex (2), age (2))
    >>> read(people, keys=["age"], bands={"age": [0, 16, 35, 65]}).to_frame()["age"].to_list()
    ['16-34', '35-64', '35-64']
    """
    check_choice(missing, Missing, name="missing")
    dialect = Dialect(encoding, delimiter, decimal)
    given = Source.of(source, dialect, engine=engine, master=master)
    listed = listed_keys(keys, given.names)
    names = given.check_names(key_names(listed))
    cut = check_bands(bands, names)
    absent = MissingCodes.of(missing_codes, names, given.codebook)
    _check_id(id, names, weights)
    given = given.keep()
    asked = [*names, weights] if isinstance(weights, str) and weights in given.names else names
    others = given.check_names([name for name in dict.fromkeys(also) if name not in names])
    asked = [*asked, *(others if given.engine is not None else [])]
    frame, times, first = _read_columns(given, list(dict.fromkeys(asked)), id)
    raw, frame = frame, banded(frame, cut, given.header, times, absent)
    absent = absent.without(cut)
    sort = [name for name in names if name not in cut] if id or times is not None else ()
    codebook = given.codebook
    for name in cut:
        codebook = codebook.recode(name)
    space, codes = encode(
        frame,
        listed,
        missing=missing,
        rows=times,
        by_value=sort,
        absent=absent,
        codebook=codebook,
    )
    warn_if_many(frame, listed, space, given.codebook)
    weighed = None if weights is None else named_weights(frame, weights, given.header, times)
    said = {"weights": weights, "encoding": encoding, "delimiter": delimiter, "decimal": decimal}
    reading = _told(said | {"id": id}, missing=missing, cut=cut, absent=absent)
    codes = locked(codes)
    found = Microdata(space, codes, fraction, weighed, codebook, given, codes, reading, times=times)
    if times is not None:
        encoder = _encoder(raw, codes, names, _written_missing(found, raw, absent))
        return _left_there(found, raw, others, AtSource(encoder, id, first))
    return found if id is None else replace(found, ids=_own_ids(raw, id))


def _told(
    said: dict[str, str | None],
    *,
    missing: Missing,
    cut: dict[str, list[float]],
    absent: MissingCodes,
) -> tuple[tuple[str, Any], ...]:
    """Return how a file was read, as a plan says it."""
    reading: dict[str, Any] = {name: text for name, text in said.items() if text}
    reading |= {"missing": missing, "bands": {name: list(bounds) for name, bounds in cut.items()}}
    reading |= {"missing_codes": absent.given} if absent.given else {}
    return tuple(reading.items())


def _encoder(
    rows: nw.DataFrame[Any],
    codes: Codes,
    names: Sequence[str],
    missing: Mapping[str, Any] | None = None,
) -> Encoder:
    return Encoder.of(rows.select(*names).to_native(), codes, missing=missing)


def _written_missing(
    found: Microdata, rows: nw.DataFrame[Any], absent: MissingCodes
) -> dict[str, Any]:
    """Return the commonest missing value of each key with codes for these, in an engine."""
    written, times = {}, found.times
    for name in absent.forms:
        column = found.column(name)
        held = np.flatnonzero([value is None for value in column.categories])
        lacking = np.flatnonzero(np.isin(column.codes, held))
        if len(lacking) and times is not None:
            values = rows[name][lacking].to_list()
            written[name] = values[commonest(values, times[lacking])]
    return written


def _left_there(
    found: Microdata, rows: nw.DataFrame[Any], others: Sequence[str], at: AtSource
) -> Microdata:
    """Return records that stay in an engine, counted by their keys and by other columns."""
    weights = None
    if found.weights is not None:
        named = dict(found.reading)["weights"]
        weights = WeightColumn.of(rows[named].to_native(), found.weights)
    if not others:
        return replace(found, at_source=replace(at, weights=weights))
    columns = {name: encode_column(rows, name) for name in others}
    codes = np.stack([one.codes for one in columns.values()], axis=1)
    there = replace(at, weights=weights, also=_encoder(rows, codes, others))
    return replace(found, at_source=there, also=columns)


def _read_columns(
    given: Source, names: list[str], ids: str | None
) -> tuple[nw.DataFrame[Any], Integers | None, pl.Series | None]:
    """Return columns of all records; of records in an engine, combinations, their number and first id."""
    if ids is not None and ids not in given.names:
        raise given.not_found(ids)
    if given.engine is None:
        every = [*names, *([] if ids is None else [ids])]
        return given.columns(list(dict.fromkeys(every))), None, None
    given.check_unchanged()
    tally = given.engine.count(names, first=ids)
    return nw.from_native(tally.columns), tally.rows, tally.first


def _check_id(name: str | None, keys: Sequence[str], weights: str | None) -> None:
    """Refuse an id that is also a key or the weights: draws go by it, so it must stay."""
    if name is not None and (name in keys or name == weights):
        role = "a key" if name in keys else "the weights"
        raise InputError(f"{name!r} is the id and also {role}. Name another column.")


def _own_ids(frame: nw.DataFrame[Any], name: str) -> NDArray[np.uint64]:
    """Return the numbers of ids in random streams; every record must have its own."""
    numbers = id_numbers(frame[name].to_polars())
    check_ids(name, numbers)
    return locked(numbers)
