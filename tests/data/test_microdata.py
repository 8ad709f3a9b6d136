"""Reading files and frames."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import maskmeter as mm

PEOPLE = pl.DataFrame({"sex": ["m", "f", "f"], "age": [10, 2, 10], "name": ["x", "y", "z"]})
KINDS = {"polars": PEOPLE, "pandas": PEOPLE.to_pandas(), "pyarrow": PEOPLE.to_arrow()}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame_is_read_alike_and_returned_unchanged(kind):
    sample = mm.read(KINDS[kind], keys=["sex", "age"], fraction=0.1)

    assert sample.space == mm.KeySpace([mm.Key("sex", ["f", "m"]), mm.Key("age", [2, 10])])
    assert sample.codes.tolist() == [[1, 1], [0, 0], [0, 1]]
    back = sample.to_frame()
    assert type(back) is type(KINDS[kind])
    assert pl.from_arrow(back).equals(PEOPLE) if kind == "pyarrow" else back.equals(KINDS[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_differs_only_in_the_changed_codes(kind):
    sample = mm.read(KINDS[kind], keys=["age", "sex"])
    changed = sample.with_codes(np.array([[0, 0], [0, 0], [1, 0]])).to_frame()
    frame = pl.DataFrame(changed if kind != "pandas" else changed.to_dict(orient="list"))

    assert frame.columns == ["sex", "age", "name"]
    assert frame["age"].to_list() == [2, 2, 10]
    assert frame["sex"].to_list() == ["f", "f", "f"]
    assert frame["name"].to_list() == ["x", "y", "z"]


def test_lazy_frames_are_collected():
    assert len(mm.read(PEOPLE.lazy(), keys=["sex"])) == 3


def test_csv_columns_are_text_and_parquet_columns_keep_their_type(tmp_path):
    PEOPLE.write_csv(tmp_path / "people.csv")
    PEOPLE.write_parquet(tmp_path / "people.parquet")

    assert mm.read(tmp_path / "people.csv", keys=["age"]).space["age"].categories == ("2", "10")
    assert mm.read(str(tmp_path / "people.parquet"), keys=["age"]).space["age"].categories == (
        2,
        10,
    )


def test_leading_zeros_and_quotes_survive_in_csv(tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text('ward,town\n01,"St. Ives, North"\n1,Y\n', encoding="utf-8")

    space = mm.read(path, keys=["ward", "town"]).space

    assert space["ward"].categories == ("01", "1")
    assert space["town"].categories == ("St. Ives, North", "Y")


def test_a_csv_may_end_without_a_line_break_or_inside_a_quoted_field(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text('a,b\n1,"two\nlines"', encoding="utf-8")
    path.write_text('a,b\n2,x\n1,"two\nlines"', encoding="utf-8")

    assert len(mm.read(path, keys=["a"])) == 2


def test_declared_order_and_empty_categories_are_kept():
    order = ["low", "middle", "high"]
    enum = pl.DataFrame({"k": pl.Series(["high", "low"], dtype=pl.Enum(order))})
    ordered = pd.DataFrame({"k": pd.Categorical(["high", "low"], categories=order, ordered=True)})
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    arrow = pa.table(
        {"k": pa.DictionaryArray.from_arrays(pa.array([2, 0], pa.int8()), order).cast(kind)}
    )

    for frame in (enum, ordered, arrow):
        assert mm.read(frame, keys=["k"]).space["k"].categories == tuple(order)


def test_a_categorical_without_order_is_sorted_by_value():
    frame = pd.DataFrame({"k": pd.Categorical([10, 2, 10], categories=[10, 2, 5])})

    assert mm.read(frame, keys=["k"]).space["k"].categories == (2, 10)


def test_one_is_one_point_zero_and_the_text_one_but_not_the_code_zero_one():
    whole = mm.count(pl.DataFrame({"k": [1, 2, 2]}), keys=["k"])
    decimal = mm.read(pl.DataFrame({"k": [1.0, 2.0]}), keys=["k"], fraction=0.5)
    text = mm.read(pl.DataFrame({"k": ["1", "2"]}), keys=["k"], fraction=0.5)
    code = mm.read(pl.DataFrame({"k": ["01", "02"]}), keys=["k"], fraction=0.5)

    assert mm.exact_risk(decimal, whole).by_unique.tolist() == [1.0, 0.5]
    assert mm.exact_risk(text, whole).by_unique.tolist() == [1.0, 0.5]
    with pytest.raises(mm.MaskmeterError, match="holds text in the sample and numbers in the"):
        mm.exact_risk(code, whole)


def test_missing_values_can_become_a_category():
    frame = pl.DataFrame({"k": ["b", None, "a"], "x": [1.0, 2.0, float("nan")]})
    sample = mm.read(frame, keys=["k", "x"], missing="category")

    assert sample.space["k"].categories == ("a", "b", None)
    assert sample.space["x"].categories == (1.0, 2.0, None)
    assert sample.codes.tolist() == [[1, 0], [2, 1], [0, 2]]
    assert sample.to_frame()["k"].to_list() == ["b", None, "a"]


def test_inclusion_comes_from_fraction_weights_or_strata():
    frame = PEOPLE.with_columns(w=pl.Series([1.0, 2.0, 3.0]))
    codes = mm.read(frame, keys=["sex", "age"]).codes

    def inclusion(**sampling):
        return mm.read(frame, keys=["sex", "age"], **sampling).inclusion(codes).tolist()

    assert inclusion(fraction=0.25) == [0.25] * 3
    assert inclusion(weights="w") == [0.5] * 3
    assert inclusion(fraction=mm.by("sex", {"f": 0.1}, otherwise=1.0)) == [1.0, 0.1, 0.1]


def test_weights_in_a_csv_are_parsed(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sex,w\nf,1.5\nm, 2\n", encoding="utf-8")

    sample = mm.read(path, keys=["sex"], weights="w")

    assert sample.weights is not None
    assert sample.weights.tolist() == [1.5, 2.0]


def test_the_arrays_of_a_sample_are_read_only():
    sample = mm.read(PEOPLE, keys=["sex"])

    with pytest.raises(ValueError, match="read-only"):
        sample.codes[0, 0] = 0


def test_samples_with_equal_keys_and_sampling_are_equal():
    first, second = (mm.read(PEOPLE, keys=["sex"], fraction=0.1) for _ in range(2))

    assert first == second
    assert first != mm.read(PEOPLE, keys=["sex"], fraction=0.2)
    assert first != mm.read(PEOPLE, keys=["age"], fraction=0.1)
    assert first != "a sample"


def test_a_repr_shows_no_record():
    frame = pl.DataFrame({"k": ["secret-a", "secret-b", "secret-b"]})
    sample = mm.read(frame, keys=["k"], fraction=0.5)
    population = mm.count(frame, keys=["k"])
    release = mm.Release(sample, sample, {})
    shown = [sample, sample.space, population, release, mm.exact_risk(sample, population)]

    assert not any("secret" in repr(one) for one in shown)


def test_keys_may_be_a_table_a_key_space_or_any_iterable():
    population = mm.count(PEOPLE, keys=(name for name in ["sex", "age"]))

    for keys in (population, population.space, iter(["sex", "age"]), population.space.keys):
        assert mm.read(PEOPLE, keys=keys).space == population.space


@pytest.mark.parametrize(
    "column",
    [
        pd.array([1, None, 2], dtype="Int64"),
        pd.array(["a", None, "b"], dtype="string"),
        pd.array([True, None, False], dtype="boolean"),
        pd.array([1.5, None, 2.5], dtype="Float64"),
        pd.Categorical(["b", None, "a"], categories=["b", "a"], ordered=True),
        pd.date_range("2020-01-01", periods=3),
        pd.period_range("2020", periods=3, freq="Y"),
    ],
    ids=lambda column: str(column.dtype),
)
def test_pandas_types_are_preserved(column):
    frame = pd.DataFrame({"k": column, "x": [1, 2, 3]})
    sample = mm.read(frame, keys=["k"], missing="category", fraction=0.5)
    population = mm.count(frame, keys=["k"], missing="category")

    pd.testing.assert_frame_equal(sample.to_frame(), frame)
    risk = mm.exact_risk(sample, population).to_frame()
    pd.testing.assert_series_equal(risk["k"], frame["k"])


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"k": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"]))}),
        pd.DataFrame({"k": pd.Categorical(["a", "b"], categories=["a", "b"], ordered=True)}),
        pl.DataFrame({"k": pl.Series([1, 2], dtype=pl.Int8)}),
    ],
    ids=["Enum", "Categorical", "Int8"],
)
def test_a_column_is_widened_for_a_category_outside_its_type(frame):
    first, second = list(frame["k"])
    third = "c" if isinstance(first, str) else 300
    sample = mm.read(frame, keys=[mm.Key("k", [first, second, third])])

    assert list(sample.with_codes(np.array([[2], [1]])).to_frame()["k"]) == [third, second]


def test_a_sample_may_be_drawn_from_any_kind_of_frame(tmp_path):
    PEOPLE.write_csv(tmp_path / "people.csv")
    for frame in KINDS.values():
        assert type(mm.bernoulli_sample(frame, fraction=1.0)) is type(frame)
        assert len(mm.bernoulli_sample(frame, fraction=1.0)) == 3
    assert len(mm.bernoulli_sample(tmp_path / "people.csv", fraction=1.0)) == 3


def test_zero_and_minus_zero_are_one_category():
    frame = pa.table({"k": [0.0, -0.0, 1.0]})

    assert mm.read(frame, keys=["k"]).codes.ravel().tolist() == [0, 0, 1]


def test_a_matrix_of_single_precision_is_accepted():
    single = mm.stay_or_move(3, stay=0.8).astype(np.float32)

    assert mm.Misclassification({"k": single}).matrices[0][1].P.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([1, 2, 1]).cast(pl.Decimal(10, 2)),
        pl.Series([1, 2, 1]).cast(pl.Datetime("ms")),
        pl.Series([1000, 2000, 1000]).cast(pl.Datetime("ns")),
        pl.Series([1, 2, 1]).cast(pl.Duration("ms")),
        pl.Series([2**70, 1, 2**70], dtype=pl.Int128),
        pl.Series([2**63 + 1, 1, 2**63 + 1], dtype=pl.UInt64),
        pl.Series([1, 2, 1]).cast(pl.Date),
        pl.Series([1000, 2000, 1000]).cast(pl.Time),
        pl.Series([True, False, True]),
    ],
    ids=lambda column: str(column.dtype),
)
def test_columns_of_every_type_can_be_keys(column):
    frame = pl.DataFrame({"k": column})
    for source in (frame, frame.lazy()):
        sample = mm.read(source, keys=["k"])
        assert sorted(sample.codes.ravel().tolist()) in ([0, 0, 1], [0, 1, 1])
        assert sample.to_frame().equals(frame)
        assert mm.count(source, keys=["k"]).total == 3


def test_times_finer_than_a_microsecond_are_rejected():
    frame = pl.DataFrame({"k": pl.Series([1, 2, 3000]).cast(pl.Duration("ns"))})

    with pytest.raises(mm.MaskmeterError, match="finer than a microsecond"):
        mm.read(frame, keys=["k"])
