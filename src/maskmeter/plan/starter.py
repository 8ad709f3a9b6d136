"""A starter plan: what a file suggests, with a reason behind every guess."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from maskmeter._plural import counted
from maskmeter.bands import MANY
from maskmeter.errors import FileError
from maskmeter.formats.atomic import whole
from maskmeter.formats.dialect import Dialect
from maskmeter.frames import opened

if TYPE_CHECKING:
    from pathlib import Path

MOST_CATEGORIES = MANY  # of a column that is guessed to be a key
_FEW_NUMBERS = 30
_WEIGHTS = re.compile(
    r"(^|[_. ])(weights?|wgts?|wts?|w|poids|gewicht|pw|fwgt)([_. \d]|$)", re.IGNORECASE
)
_HOUSEHOLDS = re.compile(
    r"(^|[_. ])(hh|hhid|household|haushalt|menage)([_. ]?(id|nr|no))?$", re.IGNORECASE
)
_NUMBER = r"^\s*[+-]?\d+([.,]\d+)?\s*$"

Role = Literal["key", "many", "numbers", "weights", "household", "identifier", "constant"]


@dataclass(frozen=True)
class Column:
    """A column of the file, and what it is guessed to be."""

    name: str
    label: str
    role: Role
    categories: int
    missing: int
    numeric: bool = False

    @property
    def comment(self) -> str:
        """What speaks for the guess; no value of the file is in it."""
        parts = [counted(self.categories, "category", "categories")]
        if self.numeric and self.categories > _FEW_NUMBERS:
            parts.append("numbers, better in bands")
        if self.missing:
            parts.append(f"{counted(self.missing, 'record')} without a value")
        if self.label not in ("", self.name):
            parts.append(" ".join(self.label.split()))
        return "; ".join(parts)


def columns_of(frame: pl.DataFrame, labels: dict[str, str]) -> list[Column]:
    """Return what every column of a file is guessed to be.

    >>> frame = pl.DataFrame({"sex": ["f", "m"] * 5, "id": list("abcdefghij"), "wgt": [1.5] * 10})
    >>> [(column.name, column.role) for column in columns_of(frame, {})]
    [('sex', 'key'), ('id', 'identifier'), ('wgt', 'weights')]
    """
    return [_column(frame[name], labels.get(name, "")) for name in frame.columns]


def _column(values: pl.Series, label: str) -> Column:
    present = values.drop_nulls()
    distinct = present.n_unique()
    text = values.dtype == pl.String
    numeric = values.dtype.is_numeric() or (
        text and len(present) > 0 and bool(present.str.contains(_NUMBER).all())
    )
    role: Role = "key"
    if numeric and _WEIGHTS.search(values.name):
        role = "weights"
    elif distinct < 2:  # noqa: PLR2004 - a key must tell records apart
        role = "constant"
    elif _HOUSEHOLDS.search(values.name) and distinct > MOST_CATEGORIES:
        role = "household"
    elif distinct == len(present) and (not numeric or _numbered(present)):
        role = "identifier"
    elif distinct > MOST_CATEGORIES:
        role = "numbers" if numeric else "many"
    return Column(values.name, label, role, distinct, values.null_count(), numeric)


def _numbered(values: pl.Series) -> bool:
    """Return True for whole numbers close together, as running numbers are and incomes are not."""
    numbers = values.cast(pl.String).str.replace(",", ".").cast(pl.Float64, strict=False)
    low, high = numbers.min(), numbers.max()
    close = float(high) - float(low) < 10 * len(numbers)  # type: ignore[arg-type]
    return close and bool((numbers == numbers.round()).all())


def write_starter(
    source: Path, target: Path, *, encoding: str | None = None, delimiter: str | None = None
) -> list[Column]:
    """Write a commented starter plan for a file and return its columns; no plan is overwritten."""
    if target.exists():  # before the file is read, which may take long
        message = f"{str(target)!r} exists already: remove it, or name another with --out."
        raise FileError(message)
    if not target.absolute().parent.is_dir():
        message = f"Cannot write {str(target)!r}: there is no such directory."
        raise FileError(message)
    given = opened(source, Dialect(encoding, delimiter))
    frame = given.load().to_polars()
    labels = {name: given.codebook.label(name) for name in frame.columns}
    if not len(frame):
        message = f"Cannot start a plan from {source.name!r}: it has no records."
        raise FileError(message)
    said = {"encoding": encoding, "delimiter": delimiter}
    columns = columns_of(frame, labels)
    text = starter(source.name, len(frame), columns, said)
    with whole(target.absolute()) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    return columns


def starter(
    name: str, records: int, columns: list[Column], given: dict[str, str | None] | None = None
) -> str:
    """Return the text of a starter plan."""
    by_role = {role: [c for c in columns if c.role == role] for role in Role.__args__}  # type: ignore[attr-defined]
    keys = by_role["key"]
    width = max((len(_quoted(key.name)) for key in keys), default=0) + 1
    listed = [f"    {_quoted(key.name) + ',':<{width}}  # {key.comment}" for key in keys]
    lines = [
        f"# A plan for {name}: {counted(records, 'record')}, {counted(len(columns), 'column')}.",
        "# What begins with # is off. Run it with: maskmeter assess FILE --plan THIS --out evidence/",
        "",
        "[data]",
        "# Columns that an intruder could know about a person. These were guessed by their number of",
        "# categories: take out what nobody outside knows, and add what was missed.",
        "keys = [",
        *listed,
        "]",
        *_left_out(by_role),
        *_sampling(by_role["weights"]),
        *[f"{entry} = {_quoted(value)}" for entry, value in (given or {}).items() if value],
    ]
    if any(key.missing for key in keys):
        lines += [
            "# Some keys have no value in some records: make that a category, or recode it.",
            'missing = "category"',
        ]
    if by_role["household"]:
        lines.append(f"household = {_quoted(by_role['household'][0].name)}")
    else:
        lines.append(
            '# household = "hh"                  # a column that names households, for their risk'
        )
    lines.append(
        '# population = "census.parquet"     # the whole population, if you hold it: exact risk'
    )
    return "\n".join([*lines, "", *_bands(by_role["numbers"]), *_rest(keys)]) + "\n"


def _left_out(by_role: dict[str, list[Column]]) -> list[str]:
    reasons = {
        "many": "{} categories: too many for a key; recode it first if it is known outside",
        "numbers": "{} different values: a key only in bands, see below",
        "identifier": "a different value for every record: an identifier, not to be released",
        "constant": "the same value everywhere",
        "household": "taken for the household",
        "weights": "taken for survey weights",
    }
    told = [
        f"#   {json.dumps(column.name, ensure_ascii=False)}: {reason.format(f'{column.categories:,}')}"
        for role, reason in reasons.items()
        for column in by_role[role]
    ]
    return ["# Not taken as keys:", *told] if told else []


def _sampling(weights: list[Column]) -> list[str]:
    if weights:
        return [
            f"weights = {_quoted(weights[0].name)}",
            "# fraction = 0.01                   # or the share of the population that is in the file",
        ]
    return [
        "# The share of the population that is in the file. Give it, or a column of survey weights:",
        "# fraction = 0.01",
        '# weights = "w"',
    ]


def _bands(numbers: list[Column]) -> list[str]:
    lines = [
        "# Numbers as keys: add them to keys above, and give lower bounds of bands. The protected file",
        "# then holds the bands.",
        "# [data.bands]",
    ]
    listed = [f"# {_quoted(column.name)} = [0, 1000, 2000]" for column in numbers[:3]]
    return [*lines, *(listed or ["# age = [0, 16, 25, 45, 65]"]), ""]


_PARTS = """\
# Sets of keys that different intruders know: each is assessed and the worst one headlines.
# [scenario.neighbour]
# keys = [FIRST, SECOND]

# How the file is protected, step after step. Without steps it is assessed as it is.
# [[step]]
# method = "swap"                     # or "pram" with stay = 0.80
# key = FIRST
# rate = 0.10                         # or {by = SECOND, values = {...}, otherwise = 1.0}

# Alternatives for the risk-utility map (maskmeter compare) and to choose from (maskmeter find).
# [[candidate]]
# label = "swap 20%"
# [[candidate.step]]
# method = "swap"
# key = FIRST
# rate = 0.20

# Or a family that maskmeter find searches for the lowest rate that meets the target.
# [family]
# key = FIRST
# methods = ["swap", "pram"]
# target = SECOND                   # move records first where this key has the most risk

# Two-way tables that analysts need. Information loss is the mean over them and over the three
# strongest associations of each key that is changed.
# [loss]
# tables = [[FIRST, SECOND]]
# measure = "worst"                   # largest change of cells, Cramer's V or group differences

# How much risk is allowed: correct matches as a share of the unique records, or max_total.
# [target]
# max_share = 0.05
# by = "upper"                        # end of the interval, or "estimate"

[report]
audience = "both"                     # or "internal" or "public"
smallest_count = 10                   # the public report shows no smaller count of records
"""


def _rest(keys: list[Column]) -> list[str]:
    """Return the parts that a user switches on, with keys of the file in their examples."""
    names = [_quoted(key.name) for key in sorted(keys, key=lambda key: -key.categories)]
    first, second = (*names, '"place"', '"group"')[:2]
    return _PARTS.replace("FIRST", first).replace("SECOND", second).splitlines()


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
