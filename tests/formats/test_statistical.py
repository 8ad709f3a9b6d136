"""SPSS and Stata: a written file differs from the one that was read only in protected cells."""

from __future__ import annotations

import struct

import numpy as np
import polars as pl
import pyreadstat
import pytest

import maskmeter as mm
from formats.files import RECORDS, found, found_by_haven, survey, write_spss, write_stata
from maskmeter.formats import spss_bytes, stata_bytes

KINDS = {
    "rows.sav": lambda path: write_spss(path, row_compress=True),
    "plain.sav": write_spss,
    "deflated.zsav": lambda path: write_spss(path, compress=True),
    **{f"v{version}.dta": lambda path, version=version: write_stata(path, version) for version in range(8, 16)},
}  # fmt: skip
SWAPS = [mm.Swap("lad", 0.4), mm.Swap("town", 0.4), mm.Swap("story", 0.2)]
KEYS = ["lad", "sex", "town", "story"]


def differing(one, other):
    return [name for name in one if one[name] != other[name]]


def protected(path, steps=SWAPS):
    sample = mm.read(path, keys=KEYS, missing="category")
    release = mm.protect(sample, steps, rng=1)
    target = path.with_name(f"protected{path.suffix}")
    release.write(target)
    return release, target


@pytest.mark.parametrize("name", KINDS)
def test_metadata_and_other_columns_are_preserved(name, tmp_path):
    release, target = protected(KINDS[name](tmp_path / name))
    (before, told), (after, told_now) = found(tmp_path / name), found(target)

    assert differing(before, after) == ["lad", "town", "story"]
    assert differing(told, told_now) == []
    for key in ("lad", "town", "story"):
        assert sorted(map(str, before[key])) == sorted(map(str, after[key]))
    again = mm.read(target, keys=release.original.space, missing="category")
    assert np.array_equal(again.codes, release.released.codes)


@pytest.mark.parametrize("name", [name for name in KINDS if not name.endswith("zsav")])
def test_an_unchanged_file_is_copied_byte_for_byte(name, tmp_path):
    path = KINDS[name](tmp_path / name)
    mm.read(path, keys=KEYS, missing="category").write(tmp_path / f"same{path.suffix}")

    assert (tmp_path / f"same{path.suffix}").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        "rows.sav",
        "v14.dta",
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in ("plain.sav", "deflated.zsav", "v8.dta")
        ),
    ],
)
def test_haven_reads_the_same_metadata_and_other_columns(name, tmp_path):
    path = KINDS[name](tmp_path / name)
    if path.suffix == ".zsav" or name == "rows.sav":
        assert found(path)[1]["file_label"] == "Ein Bürgersurvey"
    _, target = protected(path)
    before, after = found_by_haven(path), found_by_haven(target)

    assert list(before) == list(after)
    changed = [name for name in before if before[name] != after[name]]
    assert changed == ["lad", "town", "story"]
    for key in changed:
        assert sorted(before[key].pop("values")) == sorted(after[key].pop("values"))
        assert before[key] == after[key]


def test_declared_missing_codes_are_categories_with_their_labels(tmp_path):
    sample = mm.read(write_spss(tmp_path / "a.sav"), keys=["sex", "lad"])

    assert sample.space["sex"].categories == (1, 2, 9)
    assert [type(value) for value in sample.space["sex"].categories] == [int] * 3
    labels = [sample.value_label("sex", value) for value in sample.space["sex"].categories]
    assert labels == ["Male", "Female", "Refused"]
    assert sample.value_label("lad", 3) == "3"
    assert sample.value_label("lad", None) == "missing"
    assert (sample.label("sex"), sample.label("income")) == ("Sex of person", "income")


def test_labels_are_kept_when_codes_change_and_keys_are_dropped(tmp_path):
    sample = mm.read(write_spss(tmp_path / "a.sav"), keys=["sex", "lad"])
    fewer = sample.with_codes(sample.codes[::-1]).project(["sex"])

    assert fewer.label("sex") == "Sex of person"
    assert fewer.value_label("sex", 9) == "Refused"
    assert fewer.to_frame().columns == ["sex"]  # other columns would show the unprotected values


def test_a_column_with_one_value_label_keeps_its_numbers(tmp_path):
    sample = mm.read(write_spss(tmp_path / "a.sav"), keys=["age"])

    assert sample.value_label("age", 99) == "99 or more"
    assert sample.space["age"].categories[:3] == (0, 1, 2)


def test_empty_text_is_missing_and_decimals_and_dates_are_kept(tmp_path):
    path = write_spss(tmp_path / "a.sav")
    frame = mm.read(path, keys=["sex"]).to_frame()
    given = survey()

    assert frame["town"].null_count() == (given["town"] == "").sum()
    assert frame["income"].to_list() == given["income"].to_list()
    assert frame.schema["person"] == pl.Int64
    assert frame["born"].to_list() == given["born"].to_list()


def test_extended_missing_values_are_sorted_after_the_numbers(tmp_path):
    sample = mm.read(write_stata(tmp_path / "a.dta"), keys=["lad"], missing="category")

    assert sample.space["lad"].categories == ("1", "2", "3", ".a", ".z", None)
    labels = [sample.value_label("lad", value) for value in sample.space["lad"].categories]
    assert labels == ["North", "2", "3", "Refused", "Not asked", "missing"]


def test_the_declared_sort_order_ends_before_a_changed_key(tmp_path):
    for version in (11, 14, 15):
        path = write_stata(tmp_path / f"v{version}.dta", version)
        content = bytearray(path.read_bytes())
        names = list(found(path)[0])
        wide = "I" if version == 15 else "H"
        if version < 13:
            at = 109 + len(names) * 34
        else:
            at = content.index(b"<sortlist>") + len("<sortlist>")
        order = [names.index(name) + 1 for name in ("sex", "lad", "age")]
        struct.pack_into(f"<3{wide}", content, at, *order)
        path.write_bytes(content)
        _, target = protected(path, [mm.Swap("lad", 0.4)])

        kept = struct.unpack_from(f"<3{wide}", target.read_bytes(), at)
        assert kept == (order[0], 0, 0)


def test_writing_a_new_category_to_spss_warns_of_what_is_lost(tmp_path):
    path = write_spss(tmp_path / "a.sav")
    sample = mm.read(path, keys=[mm.Key("lad", range(1, 12)), "sex"])
    codes = sample.codes.copy()
    codes[0, 0] = 10
    with pytest.warns(mm.MaskmeterWarning, match="rebuilt in UTF-8 and loses alignment"):
        sample.with_codes(codes).write(tmp_path / "b.sav")
    (before, told), (after, told_now) = found(path), found(tmp_path / "b.sav")

    assert after["lad"][0] == 11.0
    assert differing(before, after) == ["lad"]
    told.pop("creation_time"), told.pop("modification_time")
    told.pop("value_labels"), told.pop("variable_to_label")  # sets of labels get new numbers
    assert differing(told, told_now) == []


def test_a_rebuilt_stata_file_keeps_values_labels_and_missing_values(tmp_path):
    path = write_stata(tmp_path / "a.dta")
    sample = mm.read(path, keys=[mm.Key("sex", [1, 2, 9, 10])])
    codes = sample.codes.copy()
    codes[0, 0] = 3
    with pytest.warns(
        mm.MaskmeterWarning, match="stores whole numbers as long and others as double"
    ):
        sample.with_codes(codes).write(tmp_path / "b.dta")
    (before, told), (after, told_now) = found(path), found(tmp_path / "b.dta")

    assert differing(before, after) == ["sex"]
    same = ("column_names_to_labels", "variable_value_labels", "missing_user_values", "file_label")
    assert all(told[name] == told_now[name] for name in (*same, "original_variable_types"))


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_columns_of_every_type_can_be_written(ending, tmp_path):
    frame = pl.DataFrame(
        {
            "k": ["a", "b"] * 10,
            "level": pl.Series(["low", "high"] * 10, dtype=pl.Enum(["low", "mid", "high"])),
            "kind": pl.Series(["x", "y"] * 10, dtype=pl.Categorical),
            "big": [2**40, None] * 10,
            "yes": [True, None] * 10,
            "nan": [float("nan"), 1.5] * 10,
            "when": pl.Series([1, None] * 10).cast(pl.Date),
            "then": pl.Series([1_500_000, None] * 10).cast(pl.Datetime("us")),
            "text": [None, "ü" * 3000] * 10,
        }
    )
    mm.read(frame, keys=["k"]).write(tmp_path / f"a{ending}")
    values, meta = pyreadstat.read_sav(tmp_path / "a.sav") if ending == ".sav" else pyreadstat.read_dta(tmp_path / "a.dta")  # fmt: skip

    assert meta.variable_value_labels["level"] == {1: "low", 2: "mid", 3: "high"}
    assert values["level"].tolist()[:2] == [1, 3]
    assert values["big"].tolist()[0] == 2**40
    assert values["nan"].isna().tolist()[:2] == [True, False]
    assert str(values["when"][0]) == "1970-01-02"
    assert values["text"][1] == "ü" * 3000


def test_categories_whose_labels_are_too_long_for_spss_are_rejected(tmp_path):
    texts = ["ä" * 61, "ä" * 61 + "b"]
    frame = pl.DataFrame({"k": pl.Series(texts * 5, dtype=pl.Enum(texts))})
    with pytest.raises(mm.MaskmeterError, match="over 120 bytes"):
        mm.read(frame, keys=["k"]).write(tmp_path / "a.sav")


def test_a_written_file_is_read_back_with_the_same_records(tmp_path):
    path = write_spss(tmp_path / "a.sav")
    sample = mm.read(path, keys=["sex", "lad"], fraction=0.1)
    with pytest.warns(mm.MaskmeterWarning, match="cannot store missing-value declarations"):
        sample.write(tmp_path / "b.dta")
    other = mm.read(tmp_path / "b.dta", keys=["sex", "lad"], fraction=0.1)

    assert other == sample
    assert other.value_label("sex", 9) == "Refused"
    assert len(other) == RECORDS
    values, _ = pyreadstat.read_dta(tmp_path / "b.dta", disable_datetime_conversion=False)
    given, _ = pyreadstat.read_sav(path)
    assert values["born"].tolist() == given["born"].tolist()


def test_the_encoding_of_an_old_stata_file_can_be_given(tmp_path):
    frame = pl.DataFrame({"town": ["Lodz", "York"], "n": [1, 2]})
    pyreadstat.write_dta(frame, tmp_path / "a.dta", version=12)
    content = (tmp_path / "a.dta").read_bytes().replace(b"Lodz", "Łódź".encode("cp1250"))
    (tmp_path / "a.dta").write_bytes(content)
    sample = mm.read(tmp_path / "a.dta", keys=["town"], encoding="windows-1250")
    sample.with_codes(1 - sample.codes).write(tmp_path / "b.dta")

    assert sample.space["town"].categories == ("York", "Łódź")
    again = mm.read(tmp_path / "b.dta", keys=["town"], encoding="cp1250")
    assert again.codes.ravel().tolist() == [0, 1]


def test_long_stata_texts_can_be_swapped(tmp_path):
    frame = pl.DataFrame({"town": ["x" * 3000, "y"] * 20, "n": range(40)})
    pyreadstat.write_dta(frame, tmp_path / "a.dta")
    release = mm.Swap("town", 0.5).apply(mm.read(tmp_path / "a.dta", keys=["town"]), rng=1)
    with pytest.warns(mm.MaskmeterWarning, match="was rebuilt"):
        release.write(tmp_path / "b.dta")
    (before, _), (after, _) = found(tmp_path / "a.dta"), found(tmp_path / "b.dta")

    moved = [one != other for one, other in zip(before["town"], after["town"], strict=True)]
    assert moved == release.changed.tolist()
    assert before["n"] == after["n"]


def long_texts(path):
    """Return the long texts that Stata stores after the records, each with its record number."""
    content = path.read_bytes()
    assert content.count(b"<strls>") == 1
    wide = {b"117": "<II", b"118": "<IQ", b"119": "<IQ"}[content[28:31]]
    size = struct.calcsize(wide)
    parts = content[content.index(b"<strls>") + 7 : content.index(b"</strls>")].split(b"GSO")[1:]
    return [
        (struct.unpack_from(wide, part)[1], part[size + 5 :].rstrip(b"\0").decode())
        for part in parts
    ]


@pytest.mark.parametrize("version", [13, 14, 15])
def test_the_record_numbers_of_long_stata_texts_do_not_reveal_who_had_them(version, tmp_path):
    towns = [f"{n:02}" + "x" * 3000 for n in range(10)] * 2
    texts = pl.DataFrame({"town": towns, "other": ["y" * 4000, ""] * 10, "n": range(20)})
    pyreadstat.write_dta(texts, tmp_path / "a.dta", version=version, file_label="a <map> of towns")
    sample = mm.read(tmp_path / "a.dta", keys=["town"])
    codes = sample.codes.copy()
    codes[codes == 3] = 5  # a text that no record has any more
    with pytest.warns(mm.MaskmeterWarning, match="was rebuilt"):
        sample.with_codes(codes[::-1]).write(tmp_path / "b.dta")
    values, _ = found(tmp_path / "b.dta")

    wanted = [towns[5] if town == towns[3] else town for town in reversed(towns)]
    assert values["town"] == wanted
    assert values["other"] == texts["other"].to_list()
    held = long_texts(tmp_path / "b.dta")
    assert towns[3] not in dict(map(reversed, held))
    for row, text in held:
        assert text in (values["town"][row - 1], values["other"][row - 1])
    assert len(held) == 9 + 2
    again = mm.read(tmp_path / "b.dta", keys=["town"])
    with pytest.warns(mm.MaskmeterWarning, match="was rebuilt"):
        again.with_codes(again.codes[::-1]).write(tmp_path / "c.dta")
    assert found(tmp_path / "c.dta")[0]["town"] == wanted[::-1]


def test_a_stata_file_with_a_wrong_number_of_records_is_not_rewritten_in_place(tmp_path):
    path = write_stata(tmp_path / "a.dta")
    assert stata_bytes.rewritten(path.read_bytes(), RECORDS, {}) == path.read_bytes()
    assert stata_bytes.rewritten(path.read_bytes(), RECORDS - 1, {}) is None


@pytest.mark.parametrize("module", [spss_bytes, stata_bytes])
@pytest.mark.parametrize("fault", [lambda content: content, lambda content: content[:-40]])
def test_a_faulty_copy_is_replaced_by_a_rebuilt_file(module, fault, tmp_path, monkeypatch):
    make, ending = (write_spss, ".sav") if module is spss_bytes else (write_stata, ".dta")
    path = make(tmp_path / f"a{ending}")
    monkeypatch.setattr(module, "rewritten", lambda content, *_: fault(content))
    sample = mm.read(path, keys=["sex"])
    release = mm.Swap("sex", 0.4).apply(sample, rng=1)
    with pytest.warns(mm.MaskmeterWarning, match="was rebuilt"):
        release.write(tmp_path / f"b{ending}")

    again = mm.read(tmp_path / f"b{ending}", keys=["sex"])
    assert again.codes.tolist() == release.released.codes.tolist()
