"""Ways to damage an input: bytes, blocks and headers of any file, tokens of a text."""

from __future__ import annotations

import gzip
import re
import struct
import zipfile
import zlib
from io import BytesIO

_MARKS = (
    b"PAR1", b"ARROW1\0\0", b"$FL2@(#)", b"$FL3@(#)", b"<stata_dta>", b"\x72\x01\x01\0", b"PK\3\4", b"\x1f\x8b\x08\0", b"BZh9",
    b"\xfd7zXZ\0", b"X\n\0\0\0\3", b"A\n3\n", b"HEADER RECORD*******LIBRARY", b"\xff\xfe", b"\xef\xbb\xbf", b"\0" * 8,
)  # fmt: skip
_ABSURD = (0, -1, 1, 2**15, 2**31 - 1, -(2**31), 2**31, 2**40, 2**62, 2**63 - 1, -(2**63))
_TOKENS = (
    "0", "-1", "1e308", "1e999", "-1e308", "nan", "inf", "0x" + "f" * 40, "9" * 30, "9" * 5000, "true", "1979-05-27", "''", '""',
    "[]", "{}", "[[]]", "[" * 50, "{a=" * 50, '"""', "null", '"\\u0000"', '"\\ud800"', '"/dev/zero"', '"../../etc"', "\ufeff", "\u202e",
    "town", '"town"', '"nobody"', '"*"', '"^.*$"', '[["town"]]', "{by='town', values={a=1}}", '"' + "x" * 3000 + '"', "\\", "=", ",",
)  # fmt: skip


def damaged(content, ending, rng):
    """Return an input with one to three faults in it."""
    for _ in range(_pick(rng, [1, 1, 2, 3])):
        content = _once(content, ending, rng)
    return content


def _once(content, ending, rng):
    if ending in {".toml", ".json"}:
        return _pick(rng, [_tokens, _tokens, _tokens, _lines, _bytes, _encoding])(content, rng)
    if ending in {".csv", ".tsv"}:
        return _pick(rng, [_lines, _bytes, _bytes, _encoding, _fields])(content, rng)
    if ending == ".rds" and rng.random() < 0.7 and content.startswith(b"\x1f\x8b"):
        try:
            return gzip.compress(_bytes(gzip.decompress(content), rng))
        except (OSError, EOFError, zlib.error):  # it was damaged before
            return _bytes(content, rng)
    if ending == ".xlsx" and rng.random() < 0.7:
        return _page(content, rng)
    return _bytes(content, rng)


def _pick(rng, ways):
    return ways[int(rng.integers(len(ways)))]


def _bytes(content, rng):
    return _pick(rng, [_flip, _flip, _cut, _insert, _swap, _header, _number, _number, _repeat])(
        bytearray(content), rng
    )


def _at(content, rng):
    return int(rng.integers(max(1, len(content))))


def _flip(content, rng):
    for _ in range(int(rng.integers(1, 9))):
        if content:
            content[_at(content, rng)] ^= 1 << int(rng.integers(8))
    return bytes(content)


def _cut(content, rng):
    return bytes(content[: _at(content, rng)])


def _insert(content, rng):
    at = _at(content, rng)
    return bytes(content[:at] + rng.bytes(int(rng.integers(1, 64))) + content[at:])


def _swap(content, rng):
    one, other = sorted((_at(content, rng), _at(content, rng)))
    size = min(other - one, len(content) - other, 256)
    block = content[one : one + size]
    content[one : one + size] = content[other : other + size]
    content[other : other + size] = block
    return bytes(content)


def _header(content, rng):
    mark = _pick(rng, _MARKS)
    return bytes(mark + content[len(mark) :])


def _number(content, rng):
    """Overwrite four or eight bytes, as a length or a count would stand there."""
    kind = _pick(rng, ["<i", ">i", "<q", ">q"])
    size, value = struct.calcsize(kind), _pick(rng, _ABSURD)
    value = value if kind[1] == "q" or -(2**31) <= value < 2**31 else -1
    near = min(len(content), 400) if rng.random() < 0.5 else len(content)
    at = int(rng.integers(max(1, near - size)))
    content[at : at + size] = struct.pack(kind, value)
    return bytes(content)


def _repeat(content, rng):
    at, size = _at(content, rng), int(rng.integers(1, 512))
    return bytes(content[: at + size] + content[at:])


def _lines(content, rng):
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    at, other = _at(lines, rng), _at(lines, rng)
    kind = int(rng.integers(4))
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 2:
        lines.insert(at, lines[other])
    else:
        lines[at] = lines[at].rstrip(b"\n") + lines[other]
    return b"".join(lines)


def _fields(content, rng):
    mark = _pick(rng, [b",", b"\t", b'"', b";", b"\r", b"\0", b'""', b"\n\n", b"1e308", b"9" * 400])
    at = _at(content, rng)
    return content[:at] + mark * int(rng.integers(1, 4)) + content[at:]


def _encoding(content, rng):
    text = content.decode("utf-8", errors="replace")
    made = _pick(rng, ["utf-16", "utf-16-be", "utf-32", "cp500", "utf-8-sig"])
    return text.encode(made, errors="replace")


def _tokens(content, rng):
    """Replace a number, a word or a sign of a text by another one, or by something absurd."""
    text = content.decode("utf-8", errors="replace")
    found = list(re.finditer(r'"[^"\n]*"|[\w.+-]+|[\[\]{}=:,]', text))
    if not found:
        return content
    token, other = _pick(rng, found), _pick(rng, found)
    new = other[0] if rng.random() < 0.4 else _pick(rng, _TOKENS)
    return (text[: token.start()] + new + text[token.end() :]).encode(errors="replace")


def _page(content, rng):
    """Damage one file inside the archive that a workbook is."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            pages = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, RuntimeError):
        return _bytes(content, rng)
    chosen = _pick(rng, sorted(pages))
    pages[chosen] = _pick(rng, [_bytes, _tokens])(pages[chosen], rng)
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, page in pages.items():
            archive.writestr(name, page)
    return made.getvalue()
