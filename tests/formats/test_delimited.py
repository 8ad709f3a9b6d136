"""Delimited text: the dialect is detected where it is certain and must be given where it is not."""

from __future__ import annotations

import csv
import io
import warnings

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskmeter as mm
from rejection import SECRET, rejected

MARKS = [",", ";", "\t", "|"]
TEXTS = st.text("abcåéß\r ,;|\t\"\n'€=-0", max_size=6)


def saved(folder, text, *, name="people.csv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


@st.composite
def tables(draw):
    """Return the bytes of a file, how it was written, and its records."""
    mark = draw(st.sampled_from(MARKS))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "cp1252", "utf-16", "latin-1"]))
    texts = TEXTS.map(lambda text: text.replace("€", "e") if encoding == "latin-1" else text)
    rows = draw(st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=8))
    keys = ["north", *draw(st.lists(st.sampled_from(["north", "sø;ut,h"]), min_size=len(rows), max_size=len(rows))), "sø;ut,h"]  # fmt: skip
    rows = [("x", "y", "z"), *rows, ("u", "v", "w")]
    quoting = draw(st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=mark, quoting=quoting, lineterminator=end)
    writer.writerow(["first", "key", "second", "third"])
    writer.writerows((a, key, b, c) for (a, b, c), key in zip(rows, keys, strict=True))
    text = out.getvalue()
    if draw(st.booleans()):
        text = text.removesuffix(end)
    return text.encode(encoding), encoding, mark, keys


@given(tables())
def test_reading_and_writing_gives_the_same_bytes(tmp_path_factory, table):
    content, encoding, mark, keys = table
    folder = tmp_path_factory.mktemp("t")
    (folder / "a.csv").write_bytes(content)
    known = encoding in {"utf-8", "utf-8-sig", "utf-16"}
    options = {"delimiter": mark} if known else {"delimiter": mark, "encoding": encoding}
    sample = mm.read(folder / "a.csv", keys=["key"], **options)
    sample.write(folder / "b.csv")
    flipped = sample.with_codes(1 - sample.codes)
    flipped.write(folder / "c.csv")

    assert sample.space["key"].categories == ("north", "sø;ut,h")
    assert [sample.space["key"].categories[code] for code in sample.codes[:, 0]] == keys
    assert (folder / "b.csv").read_bytes() == content
    again = mm.read(folder / "c.csv", keys=["key"], **options)
    assert again.codes.tolist() == (1 - sample.codes).tolist()
    others = ["first", "second", "third"]
    assert again.to_frame().select(others).equals(sample.to_frame().select(others))
    again.with_codes(sample.codes).write(folder / "d.csv")
    assert (folder / "d.csv").read_bytes() == content


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("ending", ["csv", "txt"])
def test_the_delimiter_is_detected_and_kept(mark, ending, tmp_path):
    text = (
        mark.join(["sex", "town", "w"])
        + "\n"
        + f'f{mark}"a, b; c | d"{mark}1\n'
        + f"m{mark}x{mark}2\n"
    )
    path = saved(tmp_path, text, name=f"people.{ending}")
    sample = mm.read(path, keys=["sex", "town"], weights="w")
    sample.with_codes(sample.codes[::-1]).write(tmp_path / "out.csv")

    assert sample.space["town"].categories == ("a, b; c | d", "x")
    assert mm.count(path, keys=["sex"]).total == 2
    written = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert written[1] == f"m{mark}x{mark}1"


def test_quotes_do_not_reveal_which_fields_were_changed(tmp_path):
    rows = ["York", '"Bath, north"', '"York"', '"Bath, north"', "", '""', '"York"'] * 10
    path = saved(tmp_path, "key,n\n" + "".join(f"{key},{n}\n" for n, key in enumerate(rows)))
    sample = mm.read(path, keys=["key"], missing="category")
    release = mm.Swap("key", 0.5).apply(sample, rng=1)
    release.write(tmp_path / "out.csv")
    written = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()[1:]
    fields = [line.rpartition(",")[0] for line in written]

    assert set(fields) == {"York", '"Bath, north"', ""}
    again = mm.read(tmp_path / "out.csv", keys=sample.space, missing="category")
    assert again.codes.tolist() == release.released.codes.tolist()


def test_an_empty_field_alone_in_its_row_does_not_become_a_blank_line(tmp_path):
    path = saved(tmp_path, 'key\n""\na\nb\n""\n')
    sample = mm.read(path, keys=["key"], missing="category")
    sample.with_codes(sample.codes[[1, 0, 3, 2]]).write(tmp_path / "out.csv")

    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == 'key\na\n""\n""\nb\n'


@pytest.mark.parametrize(
    "field", [f'"12" {SECRET}"', f'6" {SECRET}', f'{SECRET}"', f'"{SECRET}" ', f'"the "{SECRET}""']
)
def test_undoubled_quotes_inside_a_field_are_rejected(field, tmp_path):
    text = f"name,key,x\n{field},York,0\nZ,Bath,1\n{field},York,2\nY,Bath,3\nQ,York,4\n"
    path = saved(tmp_path, text)
    rejected(lambda: mm.read(path, keys=["key"]), "quotation mark")
    rejected(lambda: mm.count(path, keys=["key"]), "quotation mark")


def test_doubled_quotes_and_quoted_line_ends_are_read(tmp_path):
    path = saved(tmp_path, 'name,key\r\n"12"" screen",York\r\n"""a""\n""b""",Bath\r\n"",York')

    assert len(mm.read(path, keys=["key"])) == 3


def test_a_field_may_have_200000_characters(tmp_path):
    path = saved(tmp_path, f"key,note\na,{'x' * 200_000}\nb,y\n")

    assert len(mm.read(path, keys=["key"])) == 2


def test_the_file_extension_decides_between_tabs_and_commas(tmp_path):
    path = saved(tmp_path, "sex\ttown, or so\nf\ta\nm\tb\n", name="people.tsv")
    sample = mm.read(path, keys=["sex", "town, or so"])
    sample.write(tmp_path / "out.csv")
    mm.read(tmp_path / "out.csv", keys=["sex"]).write(tmp_path / "again.tab")

    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == 'sex,"town, or so"\nf,a\nm,b\n'
    assert (tmp_path / "again.tab").read_bytes() == path.read_bytes()


def test_an_ambiguous_delimiter_must_be_given(tmp_path):
    path = saved(tmp_path, f"a;b,c\n1;2,3\n4;{SECRET},6\n")
    rejected(lambda: mm.read(path, keys=["b"]), "comma and semicolon", "delimiter=','")

    assert mm.read(path, keys=["b,c"], delimiter=";").space.names == ("b,c",)
    assert mm.read(path, keys=["c"], delimiter=",").space["c"].categories == ("3", "6")


def test_a_single_column_needs_no_delimiter(tmp_path):
    assert len(mm.read(saved(tmp_path, "sex\nf\nm\nf\n"), keys=["sex"])) == 3


@pytest.mark.parametrize("mark", MARKS)
def test_malformed_rows_are_rejected_with_every_delimiter(mark, tmp_path):
    head = mark.join(["sex", "age"]) + "\n" + mark.join(["f", "1"]) + "\n"
    for name, rest, words in [
        ("short.csv", f"{SECRET}\n", "fewer than 2 fields"),
        ("long.csv", mark.join(["m", "2", SECRET]) + "\n", "more than 2 fields"),
        (
            "both.csv",
            mark.join(["m", "2", SECRET]) + f"\n{SECRET}\n",
            "rows differ in their number of fields",
        ),
        ("cut.csv", f'm{mark}"{SECRET}', "Cannot read"),
        ("blank.csv", f"m{mark}2\n\n", "blank line"),
    ]:
        path = saved(tmp_path, head + rest, name=name)
        rejected(lambda path=path: mm.read(path, keys=["sex"]), words)
        rejected(lambda path=path: mm.read(path, keys=["sex"], delimiter=mark), words)


def test_an_encoding_other_than_utf8_must_be_given(tmp_path):
    path = saved(tmp_path, "town,sex\nMalmö,f\nÅbo,m\n", encoding="cp1252")
    rejected(lambda: mm.read(path, keys=["town"]), "UTF-8", "such as cp1252", "--encoding")

    sample = mm.read(path, keys=["town"], encoding="windows-1252")
    assert sample.space["town"].categories == ("Malmö", "Åbo")
    assert mm.count(path, keys=["town"], encoding="cp1252").total == 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_byte_order_mark_is_not_repeated(encoding, tmp_path):
    path = saved(tmp_path, "town,sex\nMalmö,f\nÅbo,m\n", encoding=encoding)
    for options in ({}, {"encoding": encoding}):
        sample = mm.read(path, keys=["town"], **options)
        sample.with_codes(1 - sample.codes).write(tmp_path / "out.csv")
        text = (tmp_path / "out.csv").read_bytes().decode(encoding)
        assert text == "town,sex\nÅbo,f\nMalmö,m\n"


def test_a_wrong_encoding_is_rejected(tmp_path):
    path = saved(tmp_path, "town,sex\nMalmö,f\nÅbo,m\n")
    rejected(lambda: mm.read(path, keys=["town"], encoding="utf-16-le"), "not text in the encoding")
    rejected(lambda: mm.read(path, keys=["town"], encoding="utf-16"), "utf-16-be")
    rejected(lambda: mm.read(path, keys=["town"], encoding="shift_jis"), "not text in the encoding")


@pytest.mark.parametrize("encoding", ["klingon", "zip", 3, ""])
def test_an_invalid_encoding_is_rejected(encoding):
    frame = pl.DataFrame({"k": ["a", "b"]})
    rejected(
        lambda: mm.read(frame, keys=["k"], encoding=encoding),
        "`encoding` must name a text encoding",
    )


@pytest.mark.parametrize("options", [{"delimiter": ":"}, {"delimiter": []}, {"decimal": "'"}])
def test_invalid_delimiters_and_decimal_marks_are_rejected(options):
    frame = pl.DataFrame({"k": ["a", "b"]})
    rejected(lambda: mm.count(frame, keys=["k"], **options), "must be")


def test_a_category_outside_the_encoding_is_rejected_and_nothing_is_written(tmp_path):
    path = saved(tmp_path, "town\nMalmö\nÅbo\n", encoding="latin-1")
    sample = mm.read(path, keys=[mm.Key("town", ["Malmö", "Åbo", "Łódź"])], encoding="latin-1")
    moved = sample.with_codes(sample.codes + 1)
    rejected(lambda: moved.write(tmp_path / "out.csv"), "iso8859-1")

    assert [file.name for file in tmp_path.iterdir()] == ["people.csv"]


class TestDecimals:
    def weights(self, folder, *values, mark=";", **options):
        text = f"k{mark}w\n" + "".join(f'{"ab"[row % 2]}{mark}"{one}"\n' for row, one in enumerate(values))  # fmt: skip
        return mm.read(saved(folder, text), keys=["k"], weights="w", **options).weights.tolist()

    def test_commas_are_decimal_marks_if_there_are_no_points(self, tmp_path):
        assert self.weights(tmp_path, "1,5", " 2", "1234,5") == [1.5, 2.0, 1234.5]
        assert self.weights(tmp_path, "1.5", "2") == [1.5, 2.0]

    def test_an_ambiguous_decimal_comma_must_be_declared(self, tmp_path):
        rejected(lambda: self.weights(tmp_path, "1,234", "5"), 'decimal=","', "'w'")
        rejected(lambda: self.weights(tmp_path, "+1,234", "5"), 'decimal=","', "'w'")
        assert self.weights(tmp_path, "1,234", "5", decimal=",") == [1.234, 5.0]

    def test_points_in_a_column_with_decimal_commas_are_rejected(self, tmp_path):
        rejected(
            lambda: self.weights(tmp_path, "1.234", "5,5", decimal=","),
            "1 value of 'w' has a point",
        )
        path = saved(tmp_path, "k;n\na;1.5\nb;2,5\n")
        bands = {"n": [0, 2]}
        rejected(lambda: mm.read(path, keys=["n"], bands=bands, decimal=","), "has a point")

    def test_a_value_with_a_point_and_a_comma_is_not_a_number(self, tmp_path):
        rejected(lambda: self.weights(tmp_path, "1.234,5", "2"), "1 of 2 weights")


class TestHeaders:
    """No message quotes the first row of a file that may lack a header."""

    def test_a_spelling_hint_does_not_quote_it(self, tmp_path):
        for text in (
            f"{SECRET},1\nother,2\n{SECRET},3\n",
            f"{SECRET},x\n{SECRET},y\nother,x\n",
            f"{SECRET},\nother,x\n",
        ):
            path = saved(tmp_path, text)
            for name in ("secret-valu", "secret_value"):
                rejected(lambda name=name, path=path: mm.read(path, keys=[name]), "first row")
                rejected(lambda name=name, path=path: mm.count(path, keys=[name]), "first row")

    def test_a_duplicate_column_error_does_not_quote_it(self, tmp_path):
        for text in (f"{SECRET},1,{SECRET}\nother,2,x\n", f"{SECRET},{SECRET}\nother,x\n"):
            path = saved(tmp_path, text)
            rejected(lambda path=path: mm.read(path, keys=["k"]), "first row")

    def test_an_unknown_column_error_does_not_quote_it(self, tmp_path):
        path = saved(tmp_path, f"{SECRET},north\nother,south\nthird,east\n")
        sample = mm.read(path, keys=["north"])
        rejected(lambda: sample.column("age"), "among 2")
        rejected(lambda: mm.read(path, keys=["age"]), "among 2")
        rejected(lambda: mm.read(path, keys=["secret_age"]), "among 2")

    def test_errors_about_weights_and_other_columns_do_not_quote_it(self, tmp_path):
        path = saved(tmp_path, f"{SECRET},1\nother,2\nthird,3\n")
        rejected(lambda: mm.read(path, keys=["1"], weights="secret-valu"), "first row")
        rejected(lambda: mm.read(path, keys=["1"]).column("secret-valu"), "first row")

    def test_real_column_names_are_still_suggested(self, tmp_path):
        path = saved(tmp_path, f"ethnicity,age\n{SECRET},1\nother,2\n")
        rejected(lambda: mm.read(path, keys=["ethnicty"]), "Did you mean 'ethnicity'?")


def test_an_enum_is_written_as_text_without_a_warning(tmp_path):
    frame = pl.DataFrame({"k": pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"]))})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mm.read(frame, keys=["k"]).write(tmp_path / "k.txt")

    assert (tmp_path / "k.txt").read_text(encoding="utf-8") == "k\na\nb\n"
