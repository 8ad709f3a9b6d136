"""Small files that stand for enormous ones, by name: each writes what a command is then given."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import struct
import zipfile
from io import BytesIO

import openpyxl
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat

from formats.r_files import HEAD, data_frame, number, symbol, tail

PEOPLE = "sex,age,w\n" + "".join(f"{row % 2},{row % 9},{{w}}\n" for row in range(400))
HUGE = 50 << 30  # bytes of a file without blocks on the disk
_OPEN = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}
_SHEET = "xl/worksheets/sheet1.xml"


def r_zeros(path, packed, megabytes=300):
    """Write a data frame of so many megabytes of zeros."""
    records = megabytes << 17
    with _OPEN[packed](path, "wb") as file:
        file.write(HEAD + number(0x313) + number(1) + number(14) + number(records))
        for _ in range(megabytes):
            file.write(bytes(1 << 20))
        file.write(tail(["sex"], records))


def r_members(path, packed):
    """Write 48 GB of zeros that no data frame begins with: one packed piece, many times."""
    piece = BytesIO()
    with _OPEN[packed](piece, "wb") as file:
        file.write(bytes(1 << 24))
    path.write_bytes(piece.getvalue() * 3000)


def r_texts(path):
    missing = number(16) + number(1 << 20) + (number(9) + number(-1)) * (1 << 20)
    path.write_bytes(gzip.compress(data_frame({"sex": missing}, 1 << 20)))


def r_sequence(path):
    """Write the numbers from one to two thousand million, as R stores 1:2e9."""
    kind = number(2) + symbol("compact_intseq") + number(2) + symbol("base") + number(2) + number(13) + number(1) + number(13) + number(254)  # fmt: skip
    ends = number(14) + number(3) + struct.pack(">3d", 2e9, 1, 1) + number(254)
    path.write_bytes(gzip.compress(data_frame({"sex": number(238) + kind + ends}, 2_000_000_000)))


def r_deep(path):
    path.write_bytes(gzip.compress(HEAD + (number(19) + number(1)) * 100_000 + number(254)))


def workbook(path, *rows):
    """Write a workbook whose sheet has these pieces of XML below a row of names."""
    made, first = BytesIO(), b'<row r="1"><c r="A1" t="inlineStr"><is><t>sex</t></is></c></row>'
    openpyxl.Workbook().save(made)
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name != _SHEET:
                new.writestr(name, old.read(name))
        with new.open(_SHEET, "w") as sheet:
            sheet.write(b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>')  # fmt: skip
            for row in (first, *rows, b"</sheetData></worksheet>"):
                sheet.write(row)


def sparse(path, beginning=b""):
    with path.open("wb") as file:
        file.write(beginning)
        file.truncate(HUGE)


def parquet_runs(path):
    """Write sixty million records that are all alike, in runs."""
    table = pa.table({"sex": pa.DictionaryArray.from_arrays(pa.nulls(20_000_000, pa.int8()), ["a"])})  # fmt: skip
    with pq.ParquetWriter(path, table.schema) as writer:
        for _ in range(3):
            writer.write_table(table)


def arrow_nulls(path):
    table = pa.table({"sex": pa.nulls(2_000_000_000)})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def arrow_claim(path):
    """Write a packed buffer that says it unpacks to 2^56 bytes."""
    pl.DataFrame({"sex": [1, 2] * 500}).write_ipc(path, compression="zstd")
    content = path.read_bytes()
    assert struct.pack("<q", 8000) in content
    path.write_bytes(content.replace(struct.pack("<q", 8000), struct.pack("<q", 2**56)))


def spss_claim(path):
    """Write four records that are said to be a thousand million."""
    pyreadstat.write_sav(pl.DataFrame({"sex": [1, 2, 1, 2]}), path, compress=path.suffix == ".zsav")
    content = path.read_bytes()
    path.write_bytes(content[:80] + struct.pack("<i", 10**9) + content[84:])


def stata_claim(path):
    pyreadstat.write_dta(pl.DataFrame({"sex": [1, 2, 1, 2]}), path, version=10)
    content = path.read_bytes()
    path.write_bytes(content[:6] + struct.pack("<i", 2**31 - 1) + content[10:])


DATA = {
    **{f"{packed}.rds": lambda path, packed=packed: r_zeros(path, packed, 40) for packed in _OPEN},
    **{f"{packed}-members.rds": lambda path, packed=packed: r_members(path, packed) for packed in _OPEN},
    "texts.rds": r_texts,
    "sequence.rds": r_sequence,
    "deep.rds": r_deep,
    "rows.xlsx": lambda path: workbook(path, b"<row><c><v>1</v></c></row>" * 400_000),
    "far.xlsx": lambda path: workbook(path, b'<row r="2000000000"><c r="A2000000000"><v>1</v></c></row>'),
    "wide.xlsx": lambda path: workbook(path, *(b'<row><c r="XFD%d"/></row>' % row for row in range(2, 9_000))),
    "blank.xlsx": lambda path: workbook(path, b" " * (1 << 26)),
    "line.csv": sparse,
    "line-later.csv": lambda path: sparse(path, b"sex,age\n1,2\n"),
    "line-quoted.csv": lambda path: sparse(path, b'sex,age\n1,"'),
    "line-wide.csv": lambda path: sparse(path, b"\xff\xfe"),
    "nothing.xlsx": sparse,
    "nothing.rds": sparse,
    "nothing.parquet": sparse,
    "nothing.sav": sparse,
    "runs.parquet": parquet_runs,
    "nulls.arrow": arrow_nulls,
    "claim.arrow": arrow_claim,
    "claim.sav": spss_claim,
    "claim.zsav": spss_claim,
    "claim.dta": stata_claim,
}  # fmt: skip

_BASE = '[data]\nkeys = ["sex"]\nfraction = 0.1\n'
PLANS = {
    "deep lists": "a = " + "[" * 100_000,
    "deep tables": "a = " + "{a=" * 100_000,
    "deep names": ".".join("a" * 50_000) + " = 1",
    "300,000 keys": "[data]\nkeys = [" + ",".join(f'"k{key}"' for key in range(300_000)) + "]\n",
    "30,000 keys": "[data]\nkeys = [" + ",".join(f'"k{key}"' for key in range(30_000)) + "]\n",
    "2,000 scenarios": _BASE + "".join(f'[scenario.s{one}]\nkeys = ["sex"]\n' for one in range(2_000)),
    "a number of 5,000 digits": _BASE.replace("0.1", "1" * 5_000),
    "a number of 4,000 bits": _BASE + "[report]\nsmallest_count = 0x" + "f" * 1_000,
    "2 MB": _BASE + "# a comment\n" * (1 << 18),
}  # fmt: skip
PROVENANCES = {
    "deep lists": '{"schema_version": 3, "a": ' + "[" * 500_000,
    "deep tables": '{"a":' * 300_000,
    "a version of 5,000 digits": '{"schema_version": ' + "9" * 5_000 + "}",
}


def special(folder):
    """Return what can be opened but is no regular file, where the system has such."""
    os.mkfifo(folder / "pipe")
    return [folder / "pipe", "/dev/zero"]
