"""SPSS and Stata files with hidden bytes: the file is rejected, or the bytes are not copied."""

from __future__ import annotations

import re
import struct

import polars as pl
import pyreadstat
import pytest

import maskmeter as mm
from formats.files import RECORDS, found, write_spss, write_stata
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
COUNT_AT = 80  # where the header of an SPSS file stores the number of records


def refused(path):
    """Return the error message for a file that cannot be read."""
    with pytest.raises(mm.MaskmeterError, match="Cannot read") as caught:
        mm.read(path, keys=["sex"])
    return str(caught.value)


def with_count(content, records):
    return content[:COUNT_AT] + struct.pack("<i", records) + content[COUNT_AT + 4 :]


@pytest.mark.parametrize("name", [*SPSS, *STATA])
@pytest.mark.parametrize("more", [lambda content: content, lambda _: b"York", lambda _: bytes(4)])
def test_bytes_after_the_counted_records_are_rejected(name, more, tmp_path):
    path = (SPSS | STATA)[name](tmp_path / name)
    content = path.read_bytes()
    path.write_bytes(content + more(content))
    if name == "rows.sav" and not more(content).strip(b"\0"):
        assert len(mm.read(path, keys=["sex"])) == RECORDS  # packed records are padded with zeros
        return

    said = refused(path)
    assert "does not fit its number of records (400). It has " in said
    assert "Save the file again in the program that made it" in said


@pytest.mark.parametrize("name", [*SPSS, *STATA])
def test_a_line_end_after_the_records_is_allowed(name, tmp_path):
    path = (SPSS | STATA)[name](tmp_path / name)
    path.write_bytes(path.read_bytes() + b"\n")

    assert len(mm.read(path, keys=["sex"])) == RECORDS


@pytest.mark.parametrize("name", SPSS)
class TestRecordCountOfSpss:
    def test_a_count_below_the_number_of_records_is_rejected(self, name, tmp_path):
        path = SPSS[name](tmp_path / name)
        content = path.read_bytes()
        for records in (RECORDS - 1, 100):
            path.write_bytes(with_count(content, records))
            assert f"number of records ({records})" in refused(path)

    def test_a_file_without_a_count_is_read_to_its_end(self, name, tmp_path):
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

    def test_bytes_after_the_end_are_rejected_without_a_count(self, name, tmp_path):
        path = SPSS[name](tmp_path / name)
        content = with_count(path.read_bytes(), -1)
        path.write_bytes(content + content)
        refused(path)


@pytest.mark.parametrize("version", [8, 12, 13, 14, 15])
def test_a_stata_file_with_uncounted_records_is_rejected(version, tmp_path):
    path = write_stata(tmp_path / "a.dta", version)
    content = bytearray(path.read_bytes())
    at = 6 if version < 13 else content.index(b"<N>") + 3
    struct.pack_into("<i", content, at, RECORDS - 1)
    path.write_bytes(content)
    refused(path)


@pytest.mark.parametrize("version", [8, 12, 13, 14, 15])
def test_stata_labels_are_not_taken_for_uncounted_records(version, tmp_path):
    content = write_stata(tmp_path / "a.dta", version).read_bytes()

    assert b"Not asked" in content[-400:]
    assert stata_bytes.beyond(content, RECORDS) == b""
    assert stata_bytes.beyond(content + b"x", RECORDS) == b"x"


def released(path, name="b"):
    """Write a file in which the key `k` is in reverse order, and return its bytes."""
    sample = mm.read(path, keys=["k"])
    target = path.with_stem(name)
    sample.with_codes(sample.codes[::-1]).write(target)
    return target.read_bytes()


@pytest.mark.parametrize("version", [8, 12, 13, 14, 15])
def test_leftovers_of_a_longer_text_in_a_stata_field_are_not_copied(version, tmp_path):
    frame = pl.DataFrame({"k": ["ab", "cdefgh"], "town": ["x" * 9, "York"]})
    pyreadstat.write_dta(frame, tmp_path / "clean.dta", version=version)
    clean = (tmp_path / "clean.dta").read_bytes()
    left = clean.replace(b"ab\0\0\0\0", b"ab\0efg").replace(b"York\0\0\0\0\0", b"York\0\0ark")
    (tmp_path / "a.dta").write_bytes(left)

    assert left != clean
    assert released(tmp_path / "a.dta") == released(tmp_path / "clean.dta")


@pytest.mark.parametrize("version", [8, 12, 13, 14, 15])
def test_leftovers_after_stata_names_formats_and_labels_are_not_copied(version, tmp_path):
    clean = write_stata(tmp_path / "clean.dta", version).read_bytes()
    texts = rb"(town|income|A survey|Sex of person|%td|lad0|sex1)"
    left, times = re.subn(texts + rb"\0{5}", rb"\1\0Oslo", clean)
    at = 109 + 34 * 8 if version < 13 else left.index(b"<sortlist>") + len("<sortlist>")
    wide = 4 if version == 15 else 2
    order = left[at : at + 8 * wide] + (7).to_bytes(wide, "little")  # after the terminating zero
    (tmp_path / "a.dta").write_bytes(left[:at] + order + left[at + len(order) :])
    for name in ("a", "clean"):
        mm.read(tmp_path / f"{name}.dta", keys=["sex"]).write(tmp_path / f"{name}-copy.dta")

    assert times == 8 + (version < 13)  # old versions store the file label in such a field too
    assert (tmp_path / "clean-copy.dta").read_bytes() == clean
    assert (tmp_path / "a-copy.dta").read_bytes() == clean


def with_note(content, version, left):
    """Return a Stata file with a note whose name and text are followed by leftover bytes."""
    wide = 129 if version > 13 else 33
    names = [name.ljust(wide, b"\0") for name in (b"_dta", b"note1\0" + left)]
    note = b"".join(names) + b"a note\0" + left
    size = struct.pack("<i", len(note))
    if version < 13:
        at = stata_bytes._layout(content).start - 5  # before the empty note that ends the list
        return content[:at] + b"\1" + size + note + content[at:]
    note = b"<ch>" + size + note + b"</ch>"
    places_at = content.index(b"<map>") + len("<map>")
    places = list(struct.unpack_from("<14q", content, places_at))
    places[9:] = [place + len(note) for place in places[9:]]
    at = content.index(b"</characteristics>")
    moved = content[:places_at] + struct.pack("<14q", *places) + content[places_at + 112 : at]
    return moved + note + content[at:]


@pytest.mark.parametrize("version", [8, 12, 13, 14, 15])
def test_leftovers_after_stata_notes_are_not_copied(version, tmp_path):
    content = write_stata(tmp_path / "a.dta", version).read_bytes()
    (tmp_path / "a.dta").write_bytes(with_note(content, version, b"Oslo"))
    mm.read(tmp_path / "a.dta", keys=["sex"]).write(tmp_path / "b.dta")

    assert (tmp_path / "b.dta").read_bytes() == with_note(content, version, bytes(4))


def test_leftovers_after_variable_labels_are_not_copied_if_stata_13_omits_their_offset(tmp_path):
    path = write_stata(tmp_path / "a.dta", 13)
    content = bytearray(path.read_bytes())
    at = content.index(b"<map>") + len("<map>") + 7 * 8
    content[at : at + 8] = bytes(8)
    path.write_bytes(bytes(content).replace(b"Sex of person\0\0\0\0", b"Sex of person\0old"))
    mm.read(path, keys=["sex"]).write(tmp_path / "b.dta")

    assert (tmp_path / "b.dta").read_bytes() == bytes(content)


@pytest.mark.parametrize("options", [{}, {"row_compress": True}])
def test_bytes_beyond_the_width_of_an_spss_text_are_not_copied(options, tmp_path):
    path = tmp_path / "a.sav"
    frame = pl.DataFrame({"k": ["abcde", "fghij"], "long": ["L" * 300, "M" * 300], "n": [1.5, 2]})
    pyreadstat.write_sav(frame, path, **options)
    clean, content = released(path), path.read_bytes()
    left = content.replace(b"abcde   ", b"abcdeXYZ").replace(b"LLLLLLL ", b"LLLLLLL?", 1)
    path.write_bytes(left)

    assert {one ^ other for one, other in zip(left, content, strict=True)} > {0}
    assert released(path) == clean


@pytest.mark.parametrize("version", [13, 14, 15])
def test_a_stata_text_that_no_record_refers_to_is_not_copied(version, tmp_path):
    texts = ["a" * 3000, "b" * 3000, "c" * 3000]
    frame = pl.DataFrame({"k": ["x", "y", "x"], "story": texts})
    path = tmp_path / "a.dta"
    pyreadstat.write_dta(frame, path, version=version)
    content = bytearray(path.read_bytes())
    start = content.index(b"<data>") + len("<data>")
    size = (content.index(b"</data>") - start) // 3
    content[start + 3 * size - 8 : start + 3 * size] = bytes(
        8
    )  # the last record no longer refers to its text
    path.write_bytes(content)
    assert texts[2].encode() in path.read_bytes()

    with pytest.warns(mm.MaskmeterWarning, match="was rebuilt"):
        after = released(path)
    assert texts[2].encode() not in after
    assert found(tmp_path / "b.dta")[0]["story"] == [*texts[:2], ""]
