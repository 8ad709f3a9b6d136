"""SPSS and Stata files from independent writers, and what independent readers find in them."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pyreadstat

from needs import run_r

RECORDS = 400
TOWNS, ASCII = ["York", "Ålesund", "Łódź nad Łódką", ""], ["York", "Alesund", "Lodz nad Lodka", ""]
READERS = {".sav": pyreadstat.read_sav, ".zsav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta}


def survey():
    """Return records with a column of every type that statistical packages have."""
    rng = np.random.default_rng(2010)
    moments = rng.integers(0, 3, RECORDS) * 86_400.0 + 13_000_000_000 // 86_400 * 86_400
    return pl.DataFrame(
        {
            "person": np.arange(RECORDS) + 1.0,
            "lad": rng.integers(1, 8, RECORDS).astype(float),
            "sex": rng.choice([1.0, 2.0, 9.0], RECORDS),
            "town": rng.choice(TOWNS, RECORDS),
            "born": moments,
            "story": ["ä" * int(size) for size in rng.integers(1, 400, RECORDS)],
            "income": [None if row % 7 == 0 else row / 8 for row in range(RECORDS)],
            "age": rng.integers(0, 100, RECORDS).astype(float),
        }
    )


def write_spss(path, **options):
    pyreadstat.write_sav(
        survey(),
        path,
        file_label="Ein Bürgersurvey",
        column_labels={"sex": "Sex of person", "lad": "District (Größe)"},
        note=["first note", "second note"],
        variable_value_labels={
            "sex": {1.0: "Male", 2.0: "Female", 9.0: "Refused"},
            "town": {"York": "The city of York"},
            "age": {99.0: "99 or more"},
        },
        missing_ranges={"sex": [9.0], "lad": [{"lo": 90.0, "hi": 99.0}, 8.0], "town": ["none"]},
        variable_display_width={"sex": 12, "town": 30},
        variable_measure={"sex": "nominal", "lad": "ordinal", "income": "scale"},
        variable_format={"born": "DATE11", "sex": "F2.0", "income": "F9.3"},
        **options,
    )
    return path


def write_stata(path, version=14):
    """Write a file with the missing values ".", ".a" and ".z"."""
    frame = survey().with_columns(
        pl.Series("lad", [[1, 2, "a", None, 3, "z"][row % 6] for row in range(RECORDS)], pl.Object),
        pl.col("sex").cast(pl.Int32),
        (pl.col("born") / 86_400 - 137_775).cast(pl.Int32),  # days since 1960
    )
    if version < 14:  # these versions have no Unicode and only short texts
        short = pl.col("story").map_elements(lambda text: "a" * (1 + len(text) % 100), pl.String)
        frame = frame.with_columns(
            short, pl.col("town").replace(dict(zip(TOWNS, ASCII, strict=True)))
        )
    pyreadstat.write_dta(
        frame,
        path,
        version=version,
        file_label="A survey",
        column_labels={"sex": "Sex of person"},
        variable_value_labels={
            "sex": {1: "Male", 2: "Female", 9: "Refused"},
            "lad": {1: "North", "a": "Refused", "z": "Not asked"},
        },
        missing_user_values={"lad": ["a", "z"]},
        variable_format={"born": "%td", "sex": "%9.0g"},
    )
    return path


def found(path):
    """Return the values and the metadata that pyreadstat reads."""
    values, meta = READERS[path.suffix](
        path, output_format="dict", user_missing=True, disable_datetime_conversion=True
    )
    return dict(values), vars(meta)


HAVEN = """
library(haven)
x <- {read}("{path}"{options})
one <- function(v) {{
  a <- attributes(v)
  lost <- if (is.double(v)) na_tag(v) else rep(NA, length(v))
  b <- a[setdiff(names(a), "labels")]
  list(values = paste(unclass(v), lost), labels = paste(a$labels, names(a$labels)),
       attributes = paste(names(b), sapply(b, paste, collapse = "/")))
}}
r <- c(lapply(as.list(x), one), list(".file" = list(attr(x, "label"), attr(x, "notes"))))
text <- function(v) if (is.list(v)) paste0("{{", paste0(shQuote(if (is.null(names(v))) seq_along(v) else names(v), "cmd"),
  ":", sapply(v, text), collapse = ","), "}}") else paste0("[", paste0(encodeString(enc2utf8(as.character(v)), quote = '"'), collapse = ","), "]")
con <- stdout(); writeLines(text(r), con, useBytes = TRUE)
"""


def found_by_haven(path):
    """Return the values and the metadata that R's haven reads."""
    read, options = ("read_dta", "") if path.suffix == ".dta" else ("read_sav", ", user_na = TRUE")
    return json.loads(run_r(HAVEN.format(read=read, path=path, options=options)))
