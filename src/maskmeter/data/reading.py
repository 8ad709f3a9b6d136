"""Reading records: a file or a frame in, Microdata out."""

from __future__ import annotations

from typing import Any

from maskmeter.checks import check_choice, locked
from maskmeter.data.bands import Bands, banded, check_bands, warn_if_many
from maskmeter.data.frames import Keys, Missing, encode, key_names, listed_keys
from maskmeter.data.microdata import Microdata
from maskmeter.data.numeric import named_weights
from maskmeter.data.source import Source
from maskmeter.data.varying import By
from maskmeter.formats.csv_dialect import Dialect


def read(
    source: Any,
    keys: Keys,
    *,
    fraction: float | By[float] | None = None,
    weights: str | None = None,
    missing: Missing = "refuse",
    bands: Bands | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Microdata:
    """Return the records of a file or a frame, with their keys as category codes.

    Categories stand in their declared order where the column has one (a Polars Enum, an ordered
    pandas Categorical), else sorted by value. Texts that all stand for numbers or bands, such as
    "2" and "10" or "5-9" and "85+", are sorted as these. A CSV holds text, in which an empty field
    is missing. Codes of SPSS and Stata files stay codes, whatever their labels.

    Parameters
    ----------
    source
        A path to a file (delimited text, Parquet, Arrow, SPSS, Stata, SAS, Excel or R), or a data
        frame (Polars, pandas, PyArrow, ...).
    keys
        Names of the columns an intruder could know: a list, or text such as "age,sex". Pass
        `population.space` (or `Key` objects) to take the categories from elsewhere than from this
        file.
    fraction
        The share of the population that was sampled; `mm.by(key, {...})` when it varies.
    weights
        The column of survey weights. Without `fraction`, the overall fraction is the number of
        records over the sum of the weights; with both, `fraction` gives the inclusion
        probabilities (per stratum, say) and the weights are used to fit models.
    missing
        "refuse" missing key values, or make them a "category".
    bands
        Lower bounds of the bands that keys of numbers are put into; the last band is open. A
        written file holds the bands, not the numbers.
    encoding, delimiter, decimal
        How delimited text is written, where that cannot be found out: such as "cp1252", ";", ",".
        An encoding is also heeded for SPSS, Stata and SAS files that name a wrong one.

    >>> import polars as pl
    >>> people = pl.DataFrame({"sex": ["f", "m", "m"], "age": [30, 40, 40]})
    >>> read(people, keys=["sex", "age"], fraction=0.01)
    Microdata(3 records, 1 unique on sex (2), age (2))
    >>> read(people, keys=["age"], bands={"age": [0, 16, 35, 65]}).to_frame()["age"].to_list()
    ['16-34', '35-64', '35-64']
    """
    check_choice(missing, Missing, name="missing")
    given = Source.of(source, Dialect(encoding, delimiter, decimal))
    listed = listed_keys(keys, given.names)
    names = given.check_names(key_names(listed))
    cut = check_bands(bands, names)
    given = given.keep()
    asked = [*names, weights] if isinstance(weights, str) and weights in given.names else names
    frame = banded(given.columns(list(dict.fromkeys(asked))), cut, given.header)
    space, codes = encode(frame, listed, missing=missing)
    warn_if_many(frame, listed, space, given.codebook)
    weighed = None if weights is None else named_weights(frame, weights, given.header)
    codebook = given.codebook
    for name in cut:
        codebook = codebook.recode(name)
    said = {"weights": weights, "encoding": encoding, "delimiter": delimiter, "decimal": decimal}
    reading: dict[str, Any] = {name: text for name, text in said.items() if text is not None}
    reading |= {"missing": missing, "bands": {name: list(bounds) for name, bounds in cut.items()}}
    codes = locked(codes)
    return Microdata(
        space, codes, fraction, weighed, codebook, given, codes, tuple(reading.items())
    )
