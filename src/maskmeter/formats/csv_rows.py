"""Check delimited text byte by byte for rows that the reader would misread."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import IO

import numpy as np

from maskmeter.bounds import LINE
from maskmeter.errors import FileError
from maskmeter.plurals import counted, plural

_CHUNK = 1 << 24


def check_rows(file: IO[bytes], name: str, *, fields: int, delimiter: str) -> None:
    """Refuse text that is not UTF-8, has stray quotation marks or rows of other lengths than the first.

    The reader would fill up a short row with missing values, and take what stands between two stray
    marks for one field. Long and short rows that make up for each other are refused by the reader.
    """
    marks, lines, quoted, last, tail = 0, 0, False, b"\n", b""
    for chunk in _chunks(file, name):
        _check_text(chunk, name)
        last, tail, outside = chunk[-1:], (tail + chunk[-4:])[-4:], chunk
        if quoted or b'"' in chunk:
            outside, quoted = _outside_quotes(chunk, name, delimiter, quoted=quoted)
        marks += outside.count(delimiter.encode())
        lines += outside.count(b"\n")
    lines += last != b"\n"
    if quoted:
        reason = "a quotation mark is never closed, or the file was cut short."
        raise _refusal(name, f"{reason} Copy or save it again.")
    if last == b"\n" and tail.replace(b"\r", b"").endswith(b"\n\n"):
        raise _refusal(name, "it ends with a blank line. Remove it.")
    if marks < (fields - 1) * lines:
        reason = (
            f"some of its {counted(lines - 1, 'row')} are blank or have fewer than {fields} fields,"
            " the number in the first row."
        )
        cut = "If only the last row lacks fields, the file was cut short: copy it again."
        raise _refusal(name, f"{reason} {cut}")
    if marks > (fields - 1) * lines:
        reason = (
            f"some of its {counted(lines - 1, 'row')} have more than {counted(fields, 'field')},"
            " the number in the first row."
        )
        remedy = "Put quotation marks around fields that contain the delimiter."
        raise _refusal(name, f"{reason} {remedy}")


def _refusal(name: str, reason: str) -> FileError:
    return FileError(f"Cannot read {name!r}: {reason}")


def _chunks(file: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield a file in pieces that end with a line, without the mark that it may begin with."""
    chunk = (file.read(_CHUNK) + _rest(file, name)).removeprefix(codecs.BOM_UTF8)
    while chunk:
        yield chunk
        chunk = file.read(_CHUNK) + _rest(file, name)


def _rest(file: IO[bytes], name: str) -> bytes:
    """Return the rest of a line, which must not go on for ever."""
    rest = file.readline(LINE + 1)
    if len(rest) > LINE:
        raise long_line(name)
    return rest


def long_line(name: str) -> FileError:
    """Return the refusal of a line that is no record."""
    return _refusal(name, f"it has a line of over {LINE:,} bytes, which is no record of data.")


def _check_text(chunk: bytes, name: str) -> None:
    try:
        chunk.decode()
    except UnicodeDecodeError:
        reason = "it is not in UTF-8. Give its encoding, such as cp1252 (--encoding on the"
        raise _refusal(name, f"{reason} command line, encoding= in Python).") from None


def _outside_quotes(chunk: bytes, name: str, delimiter: str, *, quoted: bool) -> tuple[bytes, bool]:
    """Return the bytes that are not inside quotes, and whether the chunk ends inside them.

    A mark opens at the beginning of a field and closes at its end; elsewhere it must be doubled,
    which looks like closing and opening again.
    """
    text = np.frombuffer(b"\n" + chunk + b"\n\n", dtype=np.uint8)
    marks = text == ord('"')
    inside = np.bitwise_xor.accumulate(marks) ^ quoted
    at = np.flatnonzero(marks)
    opens = inside[at]
    edges = np.frombuffer(f'\n"{delimiter}'.encode(), dtype=np.uint8)
    ends_line = (text[at + 1] == ord("\r")) & (text[at + 2] == ord("\n"))
    fits = np.where(opens, np.isin(text[at - 1], edges), np.isin(text[at + 1], edges) | ends_line)
    if not fits.all():
        stray = int((~fits).sum())
        reason = f"{counted(stray, 'quotation mark')} inside a field {plural(stray, 'is', 'are')} not doubled."
        raise _refusal(name, f"{reason} Save the file again with such marks doubled.")
    return text[1:-2][~inside[1:-2]].tobytes(), bool(inside[-1])
