"""SPSS and Stata files with more in them than their records."""

from __future__ import annotations

import struct

import pytest

import maskmeter as mm
from formats.files import RECORDS, write_spss, write_stata
from maskmeter.formats import stata_bytes

SPSS = {
    "rows.sav": lambda path: write_spss(path, row_compress=True),
    "plain.sav": write_spss,
    "deflated.zsav": lambda path: write_spss(path, compress=True),
}
STATA = {
    f"v{version}.dta": lambda path, version=version: write_stata(path, version)
    for version in (8, 10, 12, 13, 14, 15)
}
COUNT_AT = 80  # where the header of an SPSS file has its number of records


def refused(path):
    """Return what is said of a file that is not read."""
    with pytest.raises(mm.MaskmeterError, match="Cannot read") as caught:
        mm.read(path, keys=["sex"])
    return str(caught.value)


def with_count(content, records):
    return content[:COUNT_AT] + struct.pack("<i", records) + content[COUNT_AT + 4 :]


@pytest.mark.parametrize("name", [*SPSS, *STATA])
@pytest.mark.parametrize("more", [lambda content: content, lambda _: b"York", lambda _: bytes(4)])
def test_bytes_behind_the_counted_records_are_refused(name, more, tmp_path):
    path = (SPSS | STATA)[name](tmp_path / name)
    content = path.read_bytes()
    path.write_bytes(content + more(content))
    if name == "rows.sav" and not more(content).strip(b"\0"):
        assert (
            len(mm.read(path, keys=["sex"])) == RECORDS
        )  # packed records are filled up with zeros
        return

    said = refused(path)
    assert "does not fit its number of records (400), by " in said
    assert "save the file again in the program that made it" in said


@pytest.mark.parametrize("name", [*SPSS, *STATA])
def test_the_end_of_a_line_behind_the_records_holds_nothing(name, tmp_path):
    path = (SPSS | STATA)[name](tmp_path / name)
    path.write_bytes(path.read_bytes() + b"\n")

    assert len(mm.read(path, keys=["sex"])) == RECORDS


@pytest.mark.parametrize("name", SPSS)
class TestCountOfSpss:
    def test_records_that_are_not_counted_are_refused(self, name, tmp_path):
        path = SPSS[name](tmp_path / name)
        content = path.read_bytes()
        for records in (RECORDS - 1, 100):
            path.write_bytes(with_count(content, records))
            assert f"number of records ({records})" in refused(path)

    def test_without_a_count_a_file_is_read_to_its_end(self, name, tmp_path):
        path = SPSS[name](tmp_path / name)
        content = path.read_bytes()
        path.write_bytes(with_count(content, -1))
        sample = mm.read(path, keys=["sex", "lad"])
        release = mm.Swap("lad", 0.4).apply(sample, rng=1)
        release.write(tmp_path / f"b{path.suffix}")

        assert len(sample) == RECORDS
        assert sample.to_frame().equals(
            mm.read(SPSS[name](tmp_path / name), keys=["sex"]).to_frame()
        )
        again = mm.read(tmp_path / f"b{path.suffix}", keys=["sex", "lad"])
        assert again.codes.tolist() == release.released.codes.tolist()

    def test_without_a_count_more_behind_the_end_is_refused(self, name, tmp_path):
        path = SPSS[name](tmp_path / name)
        content = with_count(path.read_bytes(), -1)
        path.write_bytes(content + content)
        refused(path)


@pytest.mark.parametrize("version", [8, 12, 13, 14, 15])
def test_records_that_a_stata_file_does_not_count_are_refused(version, tmp_path):
    path = write_stata(tmp_path / "a.dta", version)
    content = bytearray(path.read_bytes())
    at = 6 if version < 13 else content.index(b"<N>") + 3
    struct.pack_into("<i", content, at, RECORDS - 1)
    path.write_bytes(content)
    refused(path)


@pytest.mark.parametrize("version", [8, 12, 13, 14, 15])
def test_labels_of_stata_are_no_uncounted_records(version, tmp_path):
    content = write_stata(tmp_path / "a.dta", version).read_bytes()

    assert b"Not asked" in content[-400:]
    assert stata_bytes.beyond(content, RECORDS) == b""
    assert stata_bytes.beyond(content + b"x", RECORDS) == b"x"
