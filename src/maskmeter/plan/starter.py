"""A starter plan: guesses about the columns of a file, each with its reason."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Literal

import polars as pl

from maskmeter.data.bands import MANY
from maskmeter.data.source import Source
from maskmeter.errors import FileError
from maskmeter.files import whole
from maskmeter.formats.csv_dialect import Dialect
from maskmeter.formats.numbers import numbers_in
from maskmeter.perturb.methods import STEPS
from maskmeter.plan.missing_codes import suggested_lines
from maskmeter.plurals import counted

MOST_CATEGORIES = MANY  # of a column that is guessed to be a key
_FEW_NUMBERS = 30
_WEIGHTS = re.compile(
    r"(^|[_. ])(weights?|wgts?|wts?|w|poids|gewicht|pw|fwgt)([_. \d]|$)", re.IGNORECASE
)
_HOUSEHOLDS = re.compile(
    r"(^|[_. ])(hh|hhid|household|haushalt|menage)([_. ]?(id|nr|no))?$", re.IGNORECASE
)

Role = Literal["key", "many", "numbers", "weights", "household", "identifier", "constant"]


@dataclass(frozen=True)
class ColumnGuess:
    """A column of the file, and what it is guessed to be."""

    name: str
    label: str
    role: Role
    categories: int
    missing: int
    numeric: bool = False

    @property
    def comment(self) -> str:
        """The reason for the guess, without any value of the file."""
        parts = [counted(self.categories, "category", "categories")]
        if self.numeric and self.categories > _FEW_NUMBERS:
            parts.append("numeric: consider bands")
        if self.missing:
            parts.append(f"{counted(self.missing, 'record')} without a value")
        if self.label not in ("", self.name):
            parts.append(" ".join(self.label.split()))
        return "; ".join(parts)


def columns_of(frame: pl.DataFrame, labels: dict[str, str]) -> list[ColumnGuess]:
    """Return what every column of a file is guessed to be.

    >>> frame = pl.DataFrame({"sex": ["f", "m"] * 5, "id": list("abcdefghij"), "wgt": [1.5] * 10})
    >>> [(column.name, column.role) for column in columns_of(frame, {})]
    [('sex', 'key'), ('id', 'identifier'), ('wgt', 'weights')]
    """
    return [_column(frame[name], labels.get(name, "")) for name in frame.columns]


def _column(values: pl.Series, label: str) -> ColumnGuess:
    present = values.drop_nulls()
    distinct = present.n_unique()
    text = values.dtype == pl.String
    numeric = values.dtype.is_numeric() or (
        text and len(present) > 0 and not numbers_in(present).null_count()
    )
    role: Role = "key"
    if numeric and _WEIGHTS.search(values.name):
        role = "weights"
    elif distinct < 2:
        role = "constant"
    elif _HOUSEHOLDS.search(values.name) and distinct > MOST_CATEGORIES:
        role = "household"
    elif distinct == len(present) and (not numeric or _numbered(present)):
        role = "identifier"
    elif distinct > MOST_CATEGORIES:
        role = "numbers" if numeric else "many"
    return ColumnGuess(values.name, label, role, distinct, values.null_count(), numeric)


def _numbered(values: pl.Series) -> bool:
    """Return True for whole numbers close together, as running numbers are and incomes are not."""
    numbers = numbers_in(values.cast(pl.String))
    low, high = numbers.min(), numbers.max()
    close = float(high) - float(low) < 10 * len(numbers)  # type: ignore[arg-type]
    return close and bool((numbers == numbers.round()).all())


def write_starter(
    source: Path, target: Path, *, encoding: str | None = None, delimiter: str | None = None
) -> list[ColumnGuess]:
    """Write a commented starter plan for a file and return its columns; no plan is overwritten."""
    if target.exists():  # before the file is read, which may take long
        raise FileError(
            f"{str(target)!r} already exists: remove it, or choose another name with --out."
        )
    if not target.absolute().parent.is_dir():
        raise FileError(f"Cannot write {str(target)!r}: there is no such directory.")
    given = Source.of(source, Dialect(encoding, delimiter))
    frame = given.columns(given.names).to_polars()
    labels = {name: given.codebook.label(name) for name in frame.columns}
    if not len(frame):
        raise FileError(f"Cannot start a plan from {source.name!r}: it has no records.")
    said = {"encoding": encoding, "delimiter": delimiter}
    columns = columns_of(frame, labels)
    keys = [column.name for column in columns if column.role == "key"]
    coded = suggested_lines(frame, given.codebook, keys)
    text = starter(source.name, len(frame), columns, said, coded)
    with whole(target.absolute()) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    return columns


def starter(
    name: str,
    records: int,
    columns: list[ColumnGuess],
    given: dict[str, str | None] | None = None,
    coded: Sequence[str] = (),
) -> str:
    """Return the text of a starter plan; `coded` are its lines on codes for missing."""
    by_role = {role: [c for c in columns if c.role == role] for role in Role.__args__}  # type: ignore[attr-defined]
    keys = by_role["key"]
    width = max((len(_quoted(key.name)) for key in keys), default=0) + 1
    listed = [f"    {_quoted(key.name) + ',':<{width}}  # {key.comment}" for key in keys]
    lines = [
        f"# A plan for {name}: {counted(records, 'record')}, {counted(len(columns), 'column')}.",
        "# Lines starting with # are disabled. To enable an entry, remove the #.",
        "# Run it with: maskmeter assess FILE --plan THIS --out evidence/",
        "",
        "[data]",
        "# Columns that an intruder may know about a person, guessed from their number of categories:",
        "# remove columns an intruder cannot know; add missing ones.",
        "keys = [",
        *listed,
        "]",
        *_left_out(by_role),
        *_sampling(by_role["weights"]),
        *[f"{entry} = {_quoted(value)}" for entry, value in (given or {}).items() if value],
    ]
    if any(key.missing for key in keys):
        lines += [
            "# Some records have no value for a key. Count this as a category, or recode the file.",
            'missing = "category"',
        ]
    if by_role["household"]:
        lines.append(f"household = {_quoted(by_role['household'][0].name)}")
    else:
        lines.append(
            '# household = "hh"                  # column of household numbers, for household risk'
        )
    lines.append(
        '# population = "census.parquet"     # file of the whole population; makes the risk exact'
    )
    return "\n".join([*lines, "", *_bands(by_role["numbers"]), *coded, *_rest(keys)]) + "\n"


def _left_out(by_role: dict[str, list[ColumnGuess]]) -> list[str]:
    reasons = {
        "many": "{} categories, too many for a key; recode it if an intruder may know it",
        "numbers": "{} distinct numbers; to use it as a key, give bands (see below)",
        "identifier": "a different value in every record: an identifier; do not release it",
        "constant": "the same value in every record",
        "household": "assumed to be the household number",
        "weights": "assumed to be survey weights",
    }
    told = [
        f"#   {json.dumps(column.name, ensure_ascii=False)}: {reason.format(f'{column.categories:,}')}"
        for role, reason in reasons.items()
        for column in by_role[role]
    ]
    return ["# Columns that are not keys:", *told] if told else []


def _sampling(weights: list[ColumnGuess]) -> list[str]:
    if weights:
        return [
            f"weights = {_quoted(weights[0].name)}",
            "# fraction = 0.01                   # or the share of the population in the file",
        ]
    return [
        "# Give the share of the population in the file, or a column of survey weights:",
        "# fraction = 0.01",
        '# weights = "w"',
    ]


def _bands(numbers: list[ColumnGuess]) -> list[str]:
    lines = [
        "# To use numbers as keys, add their columns to keys above and give the lower bounds of bands.",
        "# The protected file then holds the bands instead of the numbers.",
        "# [data.bands]",
    ]
    listed = [f"# {_quoted(column.name)} = [0, 1000, 2000]" for column in numbers[:3]]
    return [*lines, *(listed or ["# age = [0, 16, 25, 45, 65]"]), ""]


_PARTS = """\
# Sets of keys that different intruders know. Each is assessed; the worst is the headline.
# [scenario.neighbour]
# keys = [FIRST, SECOND]

# How to protect the file, step by step. Without steps, the file is assessed as it is.
# [[step]]
STEP
## Other methods:
OTHERS

# Candidates to compare on a risk-utility map (maskmeter compare) or to choose from (maskmeter find).
# [[candidate]]
# label = "swap 20%"
# [[candidate.step]]
# method = "swap"
# key = FIRST
# rate = 0.20

# Without candidates, maskmeter find redraws a key where few people share the others. Or let it
# search the rates of other methods:
# [family]
# key = FIRST
# methods = ["swap", "pram"]
# target = SECOND  # move records first in its categories of highest risk

# Two-way tables that analysts need. Information loss is the mean over these tables and the three
# strongest associations of each changed key.
# [loss]
# tables = [[FIRST, SECOND]]
# measure = "worst"                   # largest change in cells, Cramer's V or group differences

# The risk you allow: correct matches as a share of the file's unique records before protection,
# max_total as a number, or max_record for the risk of any record.
# [target]
# max_share = 0.05
# intruder = "informed"               # who knows the method, or "exact-match" as in the paper
# by = "upper"                        # compare the upper end of the interval, or the "estimate"

[report]
audience = "both"                     # or "internal" or "public"
smallest_count = 10                   # the public report shows no smaller count, except zero
"""


def _rest(keys: list[ColumnGuess]) -> list[str]:
    """Return the disabled parts, with keys of the file in their examples."""
    names = [_quoted(key.name) for key in sorted(keys, key=lambda key: -key.categories)]
    first, second = (*names, '"place"', '"group"')[:2]
    step, *others = (f'method = "{one.method}"\n{one.example}' for one in STEPS)
    text = _PARTS.replace("STEP", indent(step, "# "))
    text = text.replace("OTHERS", "\n##\n".join(indent(one, "## ") for one in others))
    return text.replace("FIRST", first).replace("SECOND", second).splitlines()


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
