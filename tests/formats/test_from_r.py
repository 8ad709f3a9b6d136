"""R calls maskmeter through reticulate: a data.frame in, a data.frame out, as docs/from_r.md shows."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

import maskmeter as mm
from needs import run_r

PAGE = (Path(__file__).parents[2] / "docs" / "from_r.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```r\n(.*?)^```\n(?:\n```\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
MARK = "-- next --"


def blocks():
    """Return the code of the page and what it says to be printed."""
    return [(code, shown or "") for code, shown in BLOCK.findall(PAGE)]


def lines(text):
    return [line.rstrip() for line in text.strip().splitlines()]


def printed(*codes):
    """Return what each part of one script prints."""
    script = f"\ncat('{MARK}\\n')\n".join(["options(width = 80)", *codes])
    return run_r(script, calls_python=True).split(f"{MARK}\n")[1:]


@pytest.mark.slow
def test_the_code_of_the_page_prints_what_the_page_shows():
    codes, shown = zip(*blocks(), strict=True)
    found = printed(*codes)

    assert len(codes) == PAGE.count("```r\n") == 6
    assert sum(map(bool, shown)) == 4
    assert [lines(one) for one in found] == [lines(one) for one in shown]


@pytest.mark.slow
def test_a_release_keeps_factors_labels_dates_and_missing_values_of_r():
    functions = blocks()[0][0]
    (told,) = printed(
        functions
        + """
people <- data.frame(
  area = factor(rep(c("b", "a", "c"), 40), levels = c("c", "a", "b")),
  grade = factor(rep(c("low", "mid"), 60), levels = c("low", "mid", "high"), ordered = TRUE),
  sex = haven::labelled(rep(c(1, 2, NA), 40), c(Male = 1, Female = 2)),
  kids = rep(c(1:3, NA), 30),
  wed = rep(c(TRUE, FALSE, NA), 40),
  born = as.Date(c(NA, "1980-02-03", "1990-01-01"))[rep(1:3, 40)],
  name = rep(c("x", NA), 60))
data <- read_frame(people, keys = c("area", "grade", "sex", "kids", "wed"), fraction = 0.1, missing = "category")
for (key in c("area", "grade", "sex", "kids", "wed"))
  cat(key, vapply(data$space[key]$categories, function(one) if (is.null(one)) "NA" else as.character(one), ""), "\n")
release <- mm$Swap("area", rate = 0.5)$apply(data, rng = 1L)
safe <- released_frame(release, like = people)
cat(sum(safe$area != people$area), identical(table(safe$area), table(people$area)), "\n")
stopifnot(
  identical(levels(safe$area), levels(people$area)),
  identical(as.character(safe$grade), as.character(people$grade)),
  identical(as.character(safe$sex), c("Male", "Female", NA)[rep(1:3, 40)]),
  all.equal(safe$kids, as.numeric(people$kids)),
  identical(safe$wed, people$wed), identical(safe$born, people$born),
  identical(c(safe$name), people$name))
refused <- tryCatch(read_frame(people, keys = c("area", "kids"), fraction = 0.1), error = conditionMessage)
cat(refused, "\n")
"""
    )

    assert lines(told)[:6] == [
        "area c a b",
        "grade low mid high",
        "sex 1 2 NA",
        "kids 1 2 3 NA",
        "wed FALSE TRUE NA",
        "60 TRUE",
    ]
    assert "30 of 120 records have no value for 'kids'" in told


def test_a_missing_integer_that_reticulate_made_a_number_is_refused():
    (told,) = printed(
        """
library(reticulate)
mm <- import("maskmeter")
people <- data.frame(area = rep(c("a", "b"), 20), kids = rep(c(1L, 2L, 3L, NA), 10))
cat(tryCatch(mm$read(people, keys = c("area", "kids"), fraction = 0.1), error = conditionMessage))
"""
    )

    assert "Column 'kids' holds -2147483648, which stands for a missing integer of R." in told


def test_the_number_of_a_missing_integer_can_be_named_as_missing():
    frame = pd.DataFrame({"kids": [1, 2, -(2**31), 1], "sex": ["f", "m", "f", "m"]})
    with pytest.raises(mm.MaskmeterError, match="stands for a missing integer of R") as refused:
        mm.read(frame, keys=["kids", "sex"], fraction=0.1)
    named = mm.read(
        frame,
        keys=["kids", "sex"],
        fraction=0.1,
        missing="category",
        missing_codes={"kids": [-(2**31)]},
    )

    assert 'missing_codes={"kids": [-2147483648]}' in str(refused.value)
    assert named.space["kids"].categories == (1, 2, None)
