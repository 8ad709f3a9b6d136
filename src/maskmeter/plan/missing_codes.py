"""Values of keys that look like codes for missing, for a starter plan to suggest.

Only well-known codes are named: any other value may tell of a person.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import polars as pl

from maskmeter.data.matching import form_of
from maskmeter.formats.codebook import Codebook, Variable
from maskmeter.formats.statistical import is_tag
from maskmeter.plurals import counted

_TEXTS = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", ".", "..", "?", "-")
_ENDS = ("9", "8", "7", "6")  # no answer, don't know, refused, does not apply
_NEGATIVE = frozenset(-int(end * size) for end in _ENDS for size in (1, 2, 3, 4))
_NINES = frozenset(int("9" * size) for size in (1, 2, 3, 4))
_NEAR_NINES = frozenset(
    int("9" * (size - 1) + end) for end in _ENDS for size in (1, 2, 3, 4)
) | frozenset(int(end * size) for end in _ENDS for size in (1, 2, 3))
_NAMED = _NEGATIVE | _NEAR_NINES | frozenset(range(-9, 0)) | {-97, -98, -997, -998, 0}
_LABEL = re.compile(
    r"no answer|not answered|non-?response|no response|refus|do(n.?t| not) know|not stated"
    r"|not available|not asked|missing|unknown|\bn/?a\b|\bdk\b"
    r"|keine angabe|\bk\. ?a\.|wei(ß|ss) nicht|verweiger|fehl(end|t)|unbekannt"
    r"|sans r[ée]ponse|non[- ]r[ée]ponse|ne sait pas|\bnsp\b|non d[ée]clar|manquant|inconnu"
    r"|no (contesta|sabe|responde)|\bns/nc\b|sin respuesta|perdido|desconocid"
    r"|non (risponde|sa\b|risposta)|mancante|sconosciut|n[ãa]o (sabe|respond)|desconhecid"
    r"|geen antwoord|weet niet|onbekend|uppgift saknas|vet ej|ok[äa]nd|ikke (oppgitt|besvart)"
    r"|brak (odpowiedzi|danych)|nie wiem|ei tietoa|nezn[áa]m",
    re.IGNORECASE,
)


class Suggestion(NamedTuple):
    """Codes of a key that may stand for missing: how many records have them, and why they may."""

    key: str
    codes: tuple[str | int, ...]
    records: int
    why: str
    others: int = 0  # values that the file calls missing and that are not named here

    @property
    def line(self) -> str:
        """The line of a plan.

        >>> Suggestion("marital", (99,), 12, "labelled as missing").line
        'marital = [99]  # 12 records; labelled as missing'
        """
        name = self.key if re.fullmatch(r"[A-Za-z0-9_-]+", self.key) else _quoted(self.key)
        listed = ", ".join(
            _quoted(code) if isinstance(code, str) else str(code) for code in self.codes
        )
        more = f"; {counted(self.others, 'other value')} of the file as well" if self.others else ""
        return f"{name} = [{listed}]  # {counted(self.records, 'record')}; {self.why}{more}"


def suggested_lines(frame: pl.DataFrame, codebook: Codebook, keys: Sequence[str]) -> list[str]:
    r"""Return the disabled lines of a starter plan that list codes for missing, if keys have any.

    >>> people = pl.DataFrame({"marital": ["1", "2", "NA", "1"], "sex": ["f", "m", "f", "m"]})
    >>> print(*suggested_lines(people, Codebook(), ["marital", "sex"])[-3:-1], sep="\n")
    # [data.missing_codes]
    # marital = ["NA"]  # 1 record; written for missing in many files
    """
    found = [one for key in keys if (one := suggestion(frame[key], codebook[key])) is not None]
    if not found:
        return []
    return [
        "# Values that may be codes for missing. Enable those that are, and write under [data]:",
        '# missing = "category", or recode the file.',
        "# [data.missing_codes]",
        *(f"# {one.line}" for one in found),
        "",
    ]


def suggestion(column: pl.Series, variable: Variable) -> Suggestion | None:
    """Return the codes of a column that may stand for missing; None if there are none.

    >>> marital = pl.Series("marital", [1, 2, 3, 4, 1, 99])
    >>> suggestion(marital, Variable("marital")).line
    'marital = [99]  # 1 record; far from the other numbers'
    """
    counts = column.drop_nulls().alias("value").value_counts()  # a key may be called "count"
    values = dict(zip(counts["value"].to_list(), counts["count"].to_list(), strict=True))
    declared = [value for value in values if _is_declared(value, variable)]
    labelled = [value for value in values if _LABEL.search(variable.label_of(value) or "")]
    called = dict.fromkeys([*declared, *labelled])
    written = [value for value in values if form_of(value) in _TEXTS or is_tag(value)]
    apart = _apart([form_of(value) for value in values if value not in called])
    reasons = {
        "declared missing in the file": declared,
        "labelled as missing": labelled,
        "written for missing in many files": written,
        "far from the other numbers": [
            one for one in values if form_of(one) in apart and variable.label_of(one) is None
        ],
    }
    known = [
        one for one in called if form_of(one) in _NAMED or form_of(one) in _TEXTS or is_tag(one)
    ]
    named = dict.fromkeys([*known, *written, *reasons["far from the other numbers"]])
    if not named:
        return None
    codes = sorted({form_of(value) for value in named}, key=str)
    why = " and ".join(why for why, those in reasons.items() if any(one in named for one in those))
    records = sum(values[value] for value in named)
    return Suggestion(column.name, tuple(codes), records, why, len(called) - len(known))  # type: ignore[arg-type]


def _is_declared(value: Hashable, variable: Variable) -> bool:
    """Return whether the file declares a value missing."""
    return any(
        isinstance(value, str) == isinstance(low, str) and low <= value <= high  # type: ignore[operator]
        for low, high in variable.missing
    )


def _apart(forms: Sequence[Hashable]) -> set[Hashable]:
    """Return the numbers that are well-known codes and no part of the scale of the others.

    >>> sorted(_apart([1, 2, 3, 9])), sorted(_apart([7, 8, 9])), sorted(_apart([-9, 0, 30, 98]))
    ([9], [], [-9])
    """
    numbers = [form for form in forms if isinstance(form, int | float)]
    below = {one for one in numbers if one < 0}
    found: set[Hashable] = set(below) if below <= _NEGATIVE else set()
    rest = sorted(one for one in numbers if one >= 0)
    if len(rest) > 1 and rest[-1] in _NINES and rest[-2] < 0.8 * rest[-1]:
        found.add(rest[-1])
    return found


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
