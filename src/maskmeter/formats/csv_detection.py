"""What can be found out of delimited text for certain; what cannot is asked for."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Sequence
from io import StringIO
from itertools import islice
from pathlib import Path

from maskmeter.bounds import LINE
from maskmeter.errors import FileError
from maskmeter.formats.csv_dialect import DELIMITERS, Dialect
from maskmeter.formats.csv_rows import long_line
from maskmeter.formats.numbers import number_in

_SHORT = 2  # characters: q1 may be the name of a column of a1, a2
FIRST_ROWS = 1000  # that are looked at for the delimiter and for names
_FEWEST_YEARS = 3  # in a row, that are names for sure
_YEAR = re.compile(r"(19|20)\d\d")
_VALUE = re.compile(  # dates, times, numbers with a sign, addresses
    r"^\s*\d{1,4}[-./:]\d{1,2}([-./:T ]\d|$)|^\W*\d[\d ]*\W*$|\S@\S+\.\S"
)
_MARKS = {  # the mark of UTF-32 begins with that of UTF-16
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}


def encoding_of(path: Path, dialect: Dialect) -> str | None:
    """Return the encoding of a file, None for UTF-8, which needs no recoding.

    A mark at the beginning tells UTF-16 and UTF-32. Nothing else is guessed: text in the wrong encoding would
    look right until somebody reads it.
    """
    with path.open("rb") as file:
        beginning = file.read(4)
    wide = next((name for name, mark in _MARKS.items() if beginning.startswith(mark)), None)
    if dialect.encoding is None:
        return wide
    name = dialect.codec
    if name in {"utf-16", "utf-32"}:
        if wide is None or not wide.startswith(name):
            raise FileError(
                f"Cannot read {path.name!r} as {name.upper()}: it does not state its byte"
                f" order. Give the encoding {name}-le or {name}-be."
            )
        return wide
    return None if name in {"utf-8", "utf-8-sig", "ascii"} else name


def utf8(path: Path, encoding: str) -> bytes:
    """Return a file in UTF-8, in memory; refuse an encoding that could not give it back the same."""
    if path.stat().st_size > LINE:
        _check_lines(path, encoding)
    content = path.read_bytes()
    try:
        text = content.decode(encoding)
        same = text.encode(encoding) == content
    except UnicodeError:
        same = False
    if not same:
        raise FileError(
            f"Cannot read {path.name!r}: it is not text in the encoding {encoding}. Give another."
        )
    return text.encode()


def _check_lines(path: Path, encoding: str) -> None:
    """Refuse a line that goes on for ever, before the file is read into memory."""
    decoder, length = codecs.getincrementaldecoder(encoding)(errors="replace"), 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            text = decoder.decode(chunk)
            last = text.rfind("\n")
            length = len(text) - last - 1 if last >= 0 else length + len(text)
            if length > LINE:
                raise long_line(path.name)


def delimiter_of(text: str, name: str) -> str:
    """Return the delimiter of a text by its first rows.

    >>> delimiter_of('''id;weight
    ... 1;1,5''', "people.csv")
    ';'
    """
    present = [mark for mark in DELIMITERS if len(first_rows(text, mark)[0]) > 1]
    steady = [mark for mark in present if _steady(text, mark)]
    found = steady or present
    if len(found) > 1:
        listed = " and ".join(DELIMITERS[mark] for mark in found)
        raise FileError(
            f"Cannot tell the delimiter of {name!r}: {listed} would each fit."
            f" Name it, for instance delimiter={found[0]!r} (--delimiter)."
        )
    return found[0] if found else ","


def _steady(text: str, mark: str) -> bool:
    """Return True when all rows have the same number of fields."""
    return len({len(row) for row in first_rows(text, mark)}) == 1


def first_rows(text: str, mark: str) -> list[list[str]]:
    """Return the fields of the first rows of a text.

    >>> first_rows('f,"York, north"', ",")
    [['f', 'York, north']]
    """
    usual = csv.field_size_limit(len(text) + 1)  # a field may be longer than the module expects
    try:
        return list(islice(csv.reader(StringIO(text, newline=""), delimiter=mark), FIRST_ROWS))
    finally:
        csv.field_size_limit(usual)


def looks_like_names(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return True unless the first row may be a record.

    Names are no numbers, dates or addresses, are not seen below, and are no codes in the pattern of
    those below. Only the first may be empty: some programs leave row numbers without a name. Some
    may be the years of a panel.

    >>> looks_like_names(["sex", "age"], [["f", "30"]]), looks_like_names(["f", "30"], [["f", "31"]])
    (True, False)
    >>> looks_like_names(["AB-12", "north"], [["CD-34", "south"], ["EF-56", "west"]])
    False
    >>> looks_like_names(["id", "2019", "2020", "2021"], [["a", "3", "4", "1"]])
    True
    """
    first, *others = (name.strip() for name in header)
    if not all(others) or not (first or others):
        return False
    columns: list[set[str]] = [set() for _ in header]
    for row in rows:
        for seen, value in zip(columns, row, strict=False):
            seen.add(value.strip())
    years = _years(header, columns)
    for name in header:
        if name not in years and (number_in(name) is not None or _VALUE.search(name)):
            return False
    return not any(
        name.strip() and (name.strip() in seen or _like_codes(name.strip(), seen))
        for name, seen in zip(header, columns, strict=True)
    )


def _years(header: Sequence[str], columns: Sequence[set[str]]) -> set[str]:
    """Return the names that are years: three or more in a row, above numbers of which none is a year.

    Fewer may be values of a record.

    >>> sorted(_years(["id", "2019", "2020", "2021"], [{"a"}, {"3"}, {"4"}, {"5"}]))
    ['2019', '2020', '2021']
    >>> _years(["f", "2019", "2020"], [{"m"}, {"3"}, {"4"}])
    set()
    """
    found = [
        int(name)
        for name, seen in zip(header, columns, strict=True)
        if _YEAR.fullmatch(name)
        and not any(map(_YEAR.fullmatch, seen))
        and any(number_in(value) is not None for value in seen)
    ]
    in_a_row = found == list(range(found[0], found[0] + len(found))) if found else False
    return set(map(str, found)) if in_a_row and _FEWEST_YEARS <= len(found) < len(header) else set()


def _like_codes(name: str, seen: set[str]) -> bool:
    """Return True for a text with digits in the very pattern of all the values of its column.

    >>> _like_codes("E09", {"W06", "S12"}), _like_codes("q1", {"3", "4"}), _like_codes("q1", {"a2"})
    (True, False, False)
    """
    return (
        len(seen) > 1
        and len(name) > _SHORT
        and any(letter.isdigit() for letter in name)
        and {_pattern(value) for value in seen if value} == {_pattern(name)}
    )


def _pattern(text: str) -> str:
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", text))
