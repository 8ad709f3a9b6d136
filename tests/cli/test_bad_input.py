"""Bad input: a clear error, nothing changed, and never a record's value in the message."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import maskmeter as mm

SECRET = "secret-value"
PEOPLE = pl.DataFrame(
    {
        "sex": [SECRET, f"{SECRET}-2", SECRET],
        "ethnicity": [f"{SECRET}-{i}" for i in range(3)],
        "one": [SECRET] * 3,
        "w": [1.0, 2.0, 3.0],
        "text": ["1", SECRET, "3"],
    }
)
KEYS = ["sex", "ethnicity"]


def refuse(action, *words):
    """Return the message of an action that must fail, with these words and without a value."""
    before = PEOPLE.clone()
    with pytest.raises(mm.MaskmeterError) as caught:
        action()
    message = str(caught.value)
    shown = caught.value
    while shown is not None:  # what a traceback would print as well
        assert SECRET not in str(shown)
        shown = None if shown.__suppress_context__ else (shown.__cause__ or shown.__context__)
    for word in words:
        assert word in message
    assert before.equals(PEOPLE)
    return message


def space_of(*sizes):
    return mm.KeySpace(mm.Key(f"key{c}", range(size)) for c, size in enumerate(sizes))


@pytest.mark.parametrize("action", [mm.read, mm.count])
class TestColumns:
    def test_no_such_column(self, action):
        refuse(lambda: action(PEOPLE, keys=["ethnicty"]), "'ethnicty'", "Did you mean 'ethnicity'?")

    def test_one_category(self, action):
        refuse(lambda: action(PEOPLE, keys=["sex", "one"]), "'one'", "at least two")

    def test_keys_that_are_not_a_list(self, action):
        refuse(lambda: action(PEOPLE, keys=mm.Key("sex", ["a", "b"])), "write keys=[Key('sex'")
        refuse(lambda: action(PEOPLE, keys=3), "must be a list of column names")

    def test_text_that_names_no_columns(self, action):
        refuse(lambda: action(PEOPLE, keys="sex,ethnicty"), "Did you mean 'ethnicity'?")
        refuse(lambda: action(PEOPLE, keys="sex, sex"), "'sex' more than once")
        refuse(lambda: action(PEOPLE, keys=" , "), "Give at least one key")

    def test_no_keys(self, action):
        refuse(lambda: action(PEOPLE, keys=[]), "Give at least one key")

    def test_a_key_named_twice(self, action):
        refuse(lambda: action(PEOPLE, keys=["sex", "sex"]), "'sex'")

    def test_missing_values(self, action):
        gaps = PEOPLE.with_columns(sex=pl.Series([None, f"{SECRET}-2", SECRET]))
        refuse(lambda: action(gaps, keys=KEYS), "1 of 3 records", "'sex'", 'missing="category"')

    def test_empty_frame(self, action):
        refuse(lambda: action(PEOPLE.clear(), keys=KEYS), "no records")

    def test_duplicate_columns(self, action):
        twice = PEOPLE.to_pandas()
        twice.columns = ["sex", "sex", "one", "w", "text"]
        refuse(lambda: action(twice, keys=["sex"]), "'sex'", "More than one column")

    def test_values_of_mixed_types(self, action):
        mixed = pd.DataFrame({"k": [SECRET, 1, 2.5]}, dtype=object)
        refuse(lambda: action(mixed, keys=["k"]), "'k'", "cannot be sorted together")

    def test_not_a_frame(self, action):
        refuse(lambda: action({"sex": [1]}, keys=["sex"]), "an object of type dict")

    def test_unknown_choice(self, action):
        refuse(lambda: action(PEOPLE, keys=KEYS, missing="drop"), "'refuse', 'category'")

    def test_values_that_are_not_among_the_given_categories(self, action):
        keys = [mm.Key("sex", ["a", "b"])]
        kind = pl.Enum([SECRET, f"{SECRET}-2"])
        for people in (PEOPLE, PEOPLE.cast({"sex": kind}), PEOPLE.to_pandas().astype("category")):
            refuse(
                lambda people=people: action(people, keys=keys),
                "2 of the 2 distinct values",
                "'sex'",
            )


@pytest.mark.parametrize("action", [mm.read, mm.count])
class TestFiles:
    def check(self, action, path, *words, keys=("sex",)):
        before = path.read_bytes() if path.is_file() else None
        refuse(lambda: action(path, keys=list(keys)), *words)
        assert (path.read_bytes() if path.is_file() else None) == before

    def test_no_file(self, action, tmp_path):
        self.check(action, tmp_path / "none.csv", "none.csv'", "no such file")

    def test_directory(self, action, tmp_path):
        (tmp_path / "folder.csv").mkdir()
        self.check(action, tmp_path / "folder.csv", "a folder")

    def test_unknown_ending(self, action, tmp_path):
        self.check(action, tmp_path / "people.docx", ".csv, .tsv", ".sav")

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_no_bytes(self, action, tmp_path, ending):
        path = tmp_path / f"people.{ending}"
        path.touch()
        self.check(action, path, "the file is empty")

    def test_header_only(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text("sex,age\n", encoding="utf-8")
        self.check(action, path, "no records")

    def test_blank_lines_only(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text("\n\n", encoding="utf-8")
        self.check(action, path, "Cannot read")

    def test_duplicate_column_names(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f"sex,age,sex\n{SECRET},1,f\nm,2,m\n", encoding="utf-8")
        self.check(action, path, "More than one column has the same name")

    def test_truncated_parquet(self, action, tmp_path):
        path = tmp_path / "people.parquet"
        PEOPLE.write_parquet(path)
        path.write_bytes(path.read_bytes()[:-20])
        self.check(action, path, "not a complete Parquet file")

    def test_parquet_damaged_inside(self, action, tmp_path):
        path = tmp_path / "people.parquet"
        pl.concat([PEOPLE] * 1000).write_parquet(path)
        content = bytearray(path.read_bytes())
        content[4:200] = b"\xff" * 196
        path.write_bytes(content)
        self.check(action, path, "not a complete Parquet file")

    def test_csv_cut_off_in_a_row(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f"sex,age\nf,{SECRET}\nm,2\n{SECRET}", encoding="utf-8")
        self.check(action, path, "fewer than 2 fields", "cut short")

    def test_csv_cut_off_in_a_quoted_field(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f'sex,age\nf,{SECRET}\nm,"{SECRET}', encoding="utf-8")
        self.check(action, path, "Cannot read 'people.csv'")

    def test_csv_row_with_too_many_fields(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f"sex,age\nf,1\nm,2,{SECRET}\n", encoding="utf-8")
        self.check(action, path, "more than 2 fields")

    def test_not_utf8(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_bytes("sex,age\nkvinna,1\nm\u00e4n,2\n".encode("latin-1"))
        self.check(action, path, "UTF-8")

    def test_not_utf8_in_the_header(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_bytes("k\u00f6n,age\nf,1\nm,2\n".encode("latin-1"))
        self.check(action, path, "UTF-8")

    def test_compressed_bytes_under_a_csv_name(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_bytes(gzip.compress(b"sex,age\nf,1\nm,2\n" * 100))
        self.check(action, path, "Cannot read")


class TestSampling:
    @pytest.mark.parametrize("fraction", [0, -0.1, 1.5, float("nan"), "0.1", True])
    def test_fraction_outside_its_range(self, fraction):
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, fraction=fraction), "above 0 and at most 1")

    def test_fraction_outside_its_range_in_one_stratum(self):
        by = mm.by("sex", {SECRET: 2.0}, otherwise=0.1)
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, fraction=by), "above 0 and at most 1")

    def test_fraction_for_some_categories_only(self):
        by = mm.by("sex", {SECRET: 0.2})
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, fraction=by), "1 of 2 categories", "otherwise=")

    def test_fraction_by_something_that_is_not_a_key(self):
        by = mm.by("region", {}, otherwise=0.2)
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, fraction=by), "No key named 'region'")

    @pytest.mark.parametrize("bad", [-1.0, 0.0, None, float("nan"), float("inf")])
    def test_weights_negative_or_missing(self, bad):
        frame = PEOPLE.with_columns(w=pl.Series([1.0, bad, 3.0]))
        refuse(lambda: mm.read(frame, keys=KEYS, weights="w"), "1 of 3 weights", "'w'")

    def test_weights_that_are_not_numbers(self):
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, weights="text"), "1 of 3 weights")
        refuse(lambda: mm.read(PEOPLE.with_columns(w=True), keys=KEYS, weights="w"), "not numbers")
        enum = PEOPLE.cast({"sex": pl.Enum([SECRET, f"{SECRET}-2"])})
        refuse(lambda: mm.read(enum, keys=KEYS, weights="sex"), "holds Enum, not numbers")

    def test_no_such_weights(self):
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, weights="ww"), "'ww'")

    def test_weights_that_stand_for_less_than_the_sample(self):
        frame = PEOPLE.with_columns(w=pl.lit(0.5))
        refuse(lambda: mm.read(frame, keys=KEYS, weights="w"), "less than the number of records")

    def test_risk_of_a_sample_that_does_not_say_how_it_was_drawn(self):
        population = mm.count(PEOPLE, keys=KEYS)
        sample = mm.read(PEOPLE, keys=KEYS)
        errors = {"sex": mm.stay_or_move(2, stay=0.9)}
        refuse(
            lambda: mm.exact_risk(sample, population, misclassification=errors),
            "`fraction` or `weights`",
        )


class TestMatrices:
    @pytest.mark.parametrize(
        ("matrix", "words"),
        [
            ([[0.9, 0.1]], "must be square, but it is 1 by 2"),
            ([0.5, 0.5], "must be square"),
            (0.5, "a single number"),
            ([[0.9, 0.2], [0.1, 0.9]], "row 1 sums to 1.1"),
            ([[0.9, 0.3], [0.1, 0.7]], "the transpose"),
            ([[1.1, -0.1], [0, 1]], "1 of its entries is negative"),
            ([[np.nan, 0.5], [0, 1]], "1 of its entries is not a number"),
            ([["a", "b"], ["c", "d"]], "does not hold numbers"),
            ([[1, 0], [1]], "rows of equal length"),
            (pl.DataFrame({"a": [1.0]}), "first column must hold the true categories"),
            (
                pd.DataFrame(np.eye(2), index=["a", "b"], columns=["a", "c"]),
                "do not name the same categories",
            ),
        ],
    )
    def test_not_a_misclassification_matrix(self, matrix, words):
        refuse(lambda: mm.Misclassification({"sex": matrix}), "'sex'", words)

    def test_wrong_size(self):
        errors = mm.Misclassification({"key0": np.eye(3)})
        refuse(lambda: errors.on(space_of(2)), "3 by 3", "2 categories")

    def test_labels_that_do_not_match(self):
        labelled = pd.DataFrame(np.eye(2), index=["a", "b"], columns=["a", "b"])
        errors = mm.Misclassification({"key0": labelled})
        refuse(lambda: errors.on(space_of(2)), "label of row 1", "'key0'")

    def test_two_labels_for_one_category(self):
        labelled = pd.DataFrame(np.eye(2), index=["0", 0], columns=["0", 0])
        refuse(lambda: mm.Misclassification({"key0": labelled}), "do not name the same categories")

    def test_two_labels_that_are_one_value(self):
        labels = pd.Index([0, False], dtype=object)
        labelled = pd.DataFrame(np.eye(2), index=labels, columns=labels)
        refuse(lambda: mm.Misclassification({"key0": labelled}), "the same label")

    def test_no_such_key(self):
        errors = mm.Misclassification({"kez0": np.eye(2)})
        refuse(lambda: errors.on(space_of(2)), "No key named 'kez0'", "Did you mean 'key0'?")

    def test_a_key_with_two_matrices(self):
        refuse(
            lambda: mm.Misclassification({"a": np.eye(2), ("a", "b"): np.eye(4)}), "more than one"
        )

    def test_a_matrix_that_depends_on_a_perturbed_key(self):
        by = mm.by("b", {}, otherwise=np.eye(2))
        refuse(lambda: mm.Misclassification({"a": by, "b": np.eye(2)}), "itself misclassified")

    def test_by_with_an_unknown_category(self):
        errors = mm.Misclassification(
            {"key0": mm.by("key1", {"x": np.eye(2)}, otherwise=np.eye(2))}
        )
        refuse(lambda: errors.on(space_of(2, 2)), "'x' is not one of the 2 categories of 'key1'")

    def test_by_with_tuples_of_the_wrong_length(self):
        refuse(lambda: mm.by(("a", "b"), {"x": 1}), "tuple of 2 categories")

    @pytest.mark.parametrize("stay", [-0.1, 1.1, float("nan")])
    def test_stay_that_is_no_probability(self, stay):
        refuse(lambda: mm.stay_or_move(3, stay=stay), "between 0 and 1")

    def test_stay_or_move_with_nowhere_to_go(self):
        refuse(lambda: mm.stay_or_move(1, stay=0.5), "from 2 to")

    def test_codes_that_are_not_codes(self):
        refuse(lambda: mm.Microdata(space_of(2), [[2]]), "negative or too large for their key")
        refuse(lambda: mm.Microdata(space_of(2), [[-1]]), "negative or too large for their key")
        refuse(lambda: mm.Microdata(space_of(2), [[0, 0]]), "1 column, one per key")

    @pytest.mark.parametrize("rng", ["2010", 1.5, True])
    def test_randomness_of_an_unknown_kind(self, rng):
        mechanism = mm.Misclassification({}).on(space_of(2))
        refuse(lambda: mechanism.draw(np.array([[0]]), rng=rng), "`rng` must be")

    def test_negative_seed(self):
        mechanism = mm.Misclassification({}).on(space_of(2))
        refuse(lambda: mechanism.draw(np.array([[0]]), rng=-1), "not be a negative number")


class TestRisk:
    population = mm.count(PEOPLE, keys=KEYS)
    sample = mm.read(PEOPLE[:2], keys=population.space, fraction=0.5)

    def test_population_that_lacks_a_category_seen_in_the_sample(self):
        fewer = mm.count(PEOPLE[1:], keys=KEYS)
        refuse(lambda: mm.exact_risk(self.sample, fewer), "1 of the 2 categories", "'ethnicity'")

    def test_population_that_lacks_a_key(self):
        fewer = mm.count(PEOPLE, keys=["sex"])
        refuse(lambda: mm.exact_risk(self.sample, fewer), "No key named 'ethnicity'")

    def test_population_with_more_categories_of_a_misclassified_key(self):
        sample = mm.read(PEOPLE[:2], keys=KEYS, fraction=0.5)
        errors = mm.Misclassification({"ethnicity": np.eye(2)})
        release = mm.Release(sample, sample, errors)
        refuse(lambda: mm.exact_risk(release, self.population), "keys=population.space")

    def test_population_that_was_not_counted(self):
        refuse(lambda: mm.exact_risk(self.sample, PEOPLE), "mm.count")

    def test_sample_that_was_not_read(self):
        refuse(lambda: mm.exact_risk(PEOPLE, self.population), "mm.read")

    def test_unknown_formula(self):
        refuse(
            lambda: mm.approximate_risk(self.sample, self.population, formula="2.4"), "'2.5', '2.6'"
        )
        refuse(lambda: mm.in_sample_risk(self.sample, formula="2.5"), "'2.2', '2.4'")

    def test_realised_counts_without_the_truth(self):
        def action():
            mm.approximate_risk(
                self.sample, self.population, released_counts="realised", misclassification={}
            )

        refuse(action, 'released_counts="expected"')

    def test_realised_counts_of_a_population_without_the_sample(self):
        codes = self.sample.codes
        other = mm.KeyTable.of(self.population.space, np.array([[0, 1], [1, 0], [1, 2]]))
        sample = mm.Microdata(self.population.space, codes, fraction=0.5)

        def action():
            mm.approximate_risk(sample, other, released_counts="realised")

        refuse(action, "at least as many units as records in every cell")

    def test_a_release_that_the_misclassification_rules_out(self):
        moved = self.sample.with_codes(self.sample.codes[::-1])
        refuse(lambda: mm.Release(self.sample, moved, {}), "2 of 2 records", "rules out")

    def test_a_release_with_other_records(self):
        fewer = mm.read(PEOPLE[:1], keys=self.population.space)
        refuse(lambda: mm.Release(self.sample, fewer, {}), "same keys and records")

    def test_codes_for_other_records(self):
        refuse(lambda: self.sample.with_codes(np.array([[0, 0]])), "one per record")

    def test_census_or_sample_of_no_size(self):
        refuse(lambda: mm.synthetic_census(size=0), "at least 1")
        refuse(lambda: mm.bernoulli_sample(PEOPLE, fraction=0.0), "above 0")


def test_duplicate_columns_of_an_arrow_table():
    twice = pa.table([pa.array([1]), pa.array([2])], names=["sex", "sex"])
    refuse(lambda: mm.read(twice, keys=["sex"]), "More than one column is named 'sex'")


class TestArguments:
    """Arguments of the wrong kind: a sentence, not a traceback, and no data echoed."""

    sample = mm.read(PEOPLE, keys=KEYS, fraction=0.5)
    population = mm.count(PEOPLE, keys=KEYS)

    @pytest.mark.parametrize("keys", [None, 5, [1], [None], [["sex"]], b"ab", PEOPLE["sex"] == ""])
    def test_keys_that_are_not_names(self, keys):
        refuse(lambda: mm.read(PEOPLE, keys=keys), "list of column names")

    def test_a_column_of_data_in_place_of_a_name(self):
        refuse(lambda: mm.read(PEOPLE, keys=PEOPLE["sex"]), "`keys`")
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, fraction=PEOPLE["sex"]), "not a Series")
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, weights=PEOPLE["w"]), "not a Series")
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, weights=[SECRET]), "not a list")
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, missing=[SECRET]), "not a list")

    @pytest.mark.parametrize("name", ["", "*", "^.*$"])
    def test_column_names_that_are_patterns(self, name):
        frame = PEOPLE.rename({"sex": name})
        refuse(lambda: mm.count(frame, keys=[name]), "Rename the column")

    def test_column_names_that_are_not_text(self):
        frame = pd.DataFrame({0: [1, 2], 1: [3, 4]})
        refuse(lambda: mm.read(frame, keys=["0"]), "must be text")

    @pytest.mark.parametrize("errors", [np.eye(2), [1], "sex", 5])
    def test_misclassification_that_is_not_a_dictionary(self, errors):
        refuse(
            lambda: mm.exact_risk(self.sample, self.population, misclassification=errors),
            "dictionary",
        )

    @pytest.mark.parametrize("key", [1, None, (), ("sex", 1)])
    def test_misclassification_of_what_is_not_a_key(self, key):
        refuse(lambda: mm.Misclassification({key: np.eye(2)}), "name of a key")

    def test_by_without_a_dictionary(self):
        refuse(lambda: mm.by("sex", [1, 2]), "dictionary")

    def test_by_that_names_one_category_twice(self):
        by = mm.by("key0", {1: 0.1, "1": 0.9}, otherwise=0.5)
        refuse(lambda: mm.Microdata(space_of(2), [[0]], fraction=by), "a category twice")

    @pytest.mark.parametrize(
        "codes", [[[0.7, 0.2]], [[np.nan, 0]], [["a", "b"]], [0, 1], [[-1, 0]]]
    )
    def test_codes_that_are_not_codes(self, codes):
        space = space_of(2, 2)
        mechanism = mm.Misclassification({"key0": np.eye(2)}).on(space)
        refuse(lambda: mm.Microdata(space, codes))
        refuse(lambda: mechanism.draw(codes, rng=1))
        refuse(lambda: mechanism.prob(released=codes, true=[[0, 0]]))
        refuse(lambda: mm.KeyTable.of(space, codes))

    def test_a_draw_from_a_record_before_the_first(self):
        mechanism = mm.Misclassification({"key0": np.eye(2)}).on(space_of(2))
        refuse(lambda: mechanism.draw([[0]], rng=1, start=-1), "not be negative")

    def test_putting_a_misclassification_on_a_frame(self):
        refuse(lambda: mm.Misclassification({}).on(PEOPLE), "not a DataFrame")

    def test_sampling_is_checked_wherever_it_is_given(self):
        space = space_of(2)
        refuse(lambda: mm.Microdata(space, [[0]], fraction=7), "at most 1")
        refuse(lambda: mm.Microdata(space, [[0]], weights=[-1.0]), "not positive")
        refuse(lambda: mm.Microdata(space, [[0]], weights=[1.0, 2.0]), "one number per record")
        refuse(lambda: mm.Microdata(space, [[0]], weights=[2.0], fraction=7), "at most 1")

    def test_counts_that_are_not_counts(self):
        refuse(lambda: mm.KeyTable.of(space_of(2), [[1]], counts=np.array([-5])), "at least 1")
        refuse(lambda: mm.KeyTable(space_of(2), np.array([0, 1]), np.array([1])), "at least 1")

    def test_keys_that_are_not_keys(self):
        refuse(lambda: mm.KeySpace(["a"]), "mm.Key")
        refuse(lambda: mm.Key("a", None), "list of")
        refuse(lambda: mm.Key("a", [[1], [2]]), "list of")

    @pytest.mark.parametrize("size", [2.5, "x", None, True])
    def test_sizes_that_are_not_sizes(self, size):
        refuse(lambda: mm.synthetic_census(size=size), "whole number")

    @pytest.mark.parametrize("size", [2.5, "3", 10**7])
    def test_matrices_of_no_size(self, size):
        refuse(lambda: mm.stay_or_move(size, stay=0.5), "number of categories")

    @pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.table])
    def test_columns_of_lists(self, kind):
        frame = kind({"k": [[1], [2]], "x": ["a", "b"]})
        refuse(lambda: mm.read(frame, keys=["k"]))
        refuse(lambda: mm.count(frame, keys=["k"]))

    @pytest.mark.parametrize("action", [mm.read, mm.count])
    def test_a_lazy_frame_that_fails(self, action):
        lazy = PEOPLE.lazy().with_columns(pl.col("sex").cast(pl.Int64))
        refuse(lambda: action(lazy, keys=["sex"]), "Evaluating the data frame failed", "yourself")

    def test_a_matrix_of_complex_numbers(self):
        refuse(lambda: mm.Misclassification({"sex": np.eye(2) * 1j}), "complex")

    def test_a_matrix_without_labels_in_a_frame(self):
        frame = pl.DataFrame({"x": [0.5, 0.5], "y": [0.5, 0.5]})
        refuse(lambda: mm.Misclassification({"sex": frame}), "Give an array")

    def test_a_category_without_a_label(self):
        labelled = pd.DataFrame(np.eye(2), index=["1", 1.0], columns=["1", 1.0])
        errors = mm.Misclassification({"year": labelled})
        space = mm.KeySpace([mm.Key("year", [1, 2])])
        refuse(lambda: errors.on(space), "Two row labels")

    def test_an_array_on_a_key_with_more_categories_in_the_population(self):
        """The array has the population's size, but nobody has seen that order of categories."""
        population = mm.count(pl.DataFrame({"k": ["a", "a", "b", "0"]}), keys=["k"])
        sample = mm.read(pl.DataFrame({"k": ["a", "b"]}), keys=["k"], fraction=0.5)
        errors = {"k": np.eye(3)}
        refuse(lambda: mm.exact_risk(sample, population, misclassification=errors), "2 categories")

    def test_a_mechanism_of_another_file_names_none_of_its_categories(self):
        mechanism = mm.Misclassification({"sex": np.eye(2)}).on(self.sample)
        other = mm.read(pl.DataFrame({"sex": ["x", "y"]}), keys=["sex"], fraction=0.5)
        population = mm.count(pl.DataFrame({"sex": ["x", "y"]}), keys=["sex"])
        refuse(
            lambda: mm.exact_risk(other, population, misclassification=mechanism),
            "does not have all 2 categories of 'sex'",
        )
        assert SECRET not in repr(mechanism.on(self.sample).factors)

    def test_missing_values_that_the_population_does_not_have(self):
        frame = pl.DataFrame({"sex": [SECRET, None]})
        keys = mm.KeySpace([self.sample.space["sex"]])
        refuse(lambda: mm.read(frame, keys=keys, missing="category"), 'missing="category" too')

    def test_in_sample_risk_of_a_frame(self):
        refuse(lambda: mm.in_sample_risk(PEOPLE), "mm.read")

    @pytest.mark.parametrize("action", [mm.read, mm.count])
    def test_a_csv_without_a_header_does_not_show_its_first_record(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f"{SECRET},1\nx,2\n", encoding="utf-8")
        refuse(lambda: action(path, keys=["sex"]), "among 2")

    @pytest.mark.parametrize("action", [mm.read, mm.count])
    def test_a_csv_without_a_header_and_a_loud_ending(self, action, tmp_path):
        path = tmp_path / "people.CSV"
        path.write_text(f"{SECRET},1\nx,2\n", encoding="utf-8")
        refuse(lambda: action(path, keys=["sex"]), "among 2")

    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_a_csv_that_ends_with_a_blank_line(self, end, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f"sex,age{end}f,1{end}m,2{end}{end}", encoding="utf-8", newline="")
        refuse(lambda: mm.read(path, keys=["sex"]), "ends with a blank line")

    @pytest.mark.parametrize("rows", ["f,1\nm\nm,3\n", "f,1\n\nm,3\n", 'f,"1\n2"\nm\n'])
    def test_a_csv_with_short_rows(self, rows, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f"sex,age\n{rows}", encoding="utf-8")
        refuse(lambda: mm.read(path, keys=["sex"]), "fewer than 2 fields")

    def test_a_csv_of_an_old_macintosh(self, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f"sex,age\r{SECRET},1\rm,2\r", encoding="utf-8", newline="")
        refuse(lambda: mm.read(path, keys=["sex"]), "CR only")


class TestPerturbation:
    space = mm.KeySpace([mm.Key("lad", "abc"), mm.Key("sex", "fm"), mm.Key("age", [1, 2])])
    data = mm.Microdata(
        space, np.column_stack([np.arange(60) % 3, np.arange(60) % 2, np.arange(60) // 30])
    )

    @pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), "0.1", True, None, [0.1]])
    def test_rates_that_are_none(self, rate):
        refuse(lambda: mm.Swap("lad", rate), "between 0 and 1")
        refuse(lambda: mm.Swap("lad", mm.by("sex", {"f": rate})), "between 0 and 1")

    @pytest.mark.parametrize("stay", [-0.1, 1.1, float("nan"), "0.1"])
    def test_stay_and_blend_that_are_none(self, stay):
        refuse(lambda: mm.Pram("lad", stay), "between 0 and 1")
        refuse(lambda: mm.Pram("lad", 0.5, blend=stay), "between 0 and 1")
        refuse(lambda: mm.design_pram(self.data, "lad", stay_at_most=stay), "between 0 and 1")

    def test_pram_without_a_matrix_or_with_two(self):
        refuse(lambda: mm.Pram("lad"), "either `stay` or `matrix`")
        refuse(lambda: mm.Pram("lad", 0.8, matrix=np.eye(3)), "either `stay` or `matrix`")

    @pytest.mark.parametrize("step", [mm.Swap("ladd", 0.1), mm.Pram("ladd", 0.9)])
    def test_no_such_key(self, step):
        refuse(lambda: step.apply(self.data), "No key named 'ladd'", "Did you mean 'lad'?")

    def test_strata_by_the_key_itself(self):
        refuse(lambda: mm.Swap("lad", mm.by("lad", {"a": 0.1}, otherwise=0.0)), "itself perturbed")
        refuse(lambda: mm.Swap("lad", 0.1, within=("lad",)), "itself perturbed")
        refuse(lambda: mm.Pram("lad", mm.by("lad", {"a": 0.1}, otherwise=0.0)), "itself perturbed")

    def test_unknown_categories(self):
        step = mm.Swap("lad", mm.by("sex", {"x": 0.1}, otherwise=0.5))
        refuse(lambda: step.apply(self.data), "'x' is not one of the 2 categories of 'sex'")
        refuse(lambda: mm.Swap("lad", mm.by("sex", {"f": 0.1})).apply(self.data), "1 of 2")
        forbidden = mm.Pram("lad", 0.5, forbidden=[("a", "z")])
        refuse(lambda: forbidden.apply(self.data), "'z' is not one of the 3 categories of 'lad'")
        refuse(
            lambda: mm.design_pram(self.data, "lad", stay_at_most={"z": 0.5}), "'z' is not one of"
        )

    def test_forbidden_moves_that_are_not_pairs(self):
        refuse(lambda: mm.Pram("lad", 0.5, forbidden=["abc"]), "(true, released)")
        crossed = mm.Pram(("lad", "sex"), 0.5, forbidden=[("a", "b")])
        refuse(lambda: crossed.apply(self.data), "must name 2 categories on each side")

    def test_steps_of_one_name(self):
        refuse(lambda: mm.protect(self.data, [mm.Swap("lad", 0.1), mm.Swap("lad", 0.2)]), "label=")

    @pytest.mark.parametrize("steps", [[], mm.Swap("lad", 0.1), ["swap"], None])
    def test_no_steps(self, steps):
        refuse(lambda: mm.protect(self.data, steps), "list of steps")

    def test_no_microdata(self):
        refuse(lambda: mm.Swap("lad", 0.1).apply(PEOPLE), "mm.read")

    @pytest.mark.parametrize("step", [mm.Swap("lad", 0.1), mm.Pram("lad", 0.9)])
    def test_fewer_than_two_records(self, step):
        one = mm.Microdata(self.space, [[0, 0, 0]])
        refuse(lambda: step.apply(one), "at least two records")

    @pytest.mark.parametrize("step", [mm.Swap, mm.Pram])
    def test_a_stratum_with_a_single_category(self, step):
        codes = self.data.codes.copy()
        codes[codes[:, 1] == 1, 0] = 2
        data = mm.Microdata(self.space, codes)
        aimed = step("lad", mm.by("sex", {"m": 0.5}, otherwise=0.0 if step is mm.Swap else 1.0))
        refuse(lambda: aimed.apply(data), "same category of 'lad'")

    def test_correction_of_what_cannot_be_corrected(self):
        flat = {"lad": np.full((3, 3), 1 / 3)}
        refuse(
            lambda: mm.correct_counts(self.data, "lad", misclassification=flat),
            "cannot be inverted",
        )
        refuse(
            lambda: mm.correct_counts(self.data, "lad", columns="lad", misclassification={}),
            "two different columns",
        )
        refuse(
            lambda: mm.correct_counts(self.data, "led", misclassification={}), "Did you mean 'lad'?"
        )
        refuse(lambda: mm.correct_counts(PEOPLE, "sex"), "released file")
        release = mm.Swap("lad", 0.2).apply(self.data, rng=1)
        refuse(lambda: mm.correct_counts(release, "lad"), "for PRAM only")

    def test_designs_that_are_too_large(self):
        space = mm.KeySpace([mm.Key("place", range(1500))])
        data = mm.Microdata(space, np.arange(1500)[:, None])
        refuse(lambda: mm.design_pram(data, "place", stay_at_most=0.5), "at most 1,000")

    def test_bounds_for_crossed_keys(self):
        refuse(
            lambda: mm.design_pram(self.data, ("lad", "sex"), stay_at_most={"a": 0.5}), "one number"
        )

    @pytest.mark.parametrize("key", [None, 3, (), ("lad", 3), [["lad"]], b"lad", ("lad", "lad")])
    def test_keys_that_are_not_keys(self, key):
        refuse(lambda: mm.Swap(key, 0.1), "by name")
        refuse(lambda: mm.Pram([key], 0.9), "by name")
        refuse(lambda: mm.design_pram(self.data, key, stay_at_most=0.5), "by name")

    def test_other_arguments_of_the_wrong_kind(self):
        refuse(lambda: mm.Swap("lad", 0.1, within=3), "by name")
        refuse(lambda: mm.Swap("lad", 0.1, label=3), "must be text")
        refuse(lambda: mm.Pram([], 0.9), "one or more different keys")
        refuse(lambda: mm.Pram(["lad", "lad"], 0.9), "one or more different keys")
        refuse(lambda: mm.Pram("lad", 0.9, invariant="no"), "True or False")
        refuse(lambda: mm.Pram("lad", 0.9, blend=0.5, invariant=False), "Leave it out")
        refuse(lambda: mm.Pram(["lad", "sex"], 0.9, forbidden=[("a", "b")]), "one key")
        refuse(lambda: mm.Pram("lad", 0.9, forbidden=None), "list of moves")
        refuse(lambda: mm.design_pram(PEOPLE, "sex", stay_at_most=0.5), "mm.read")
        refuse(
            lambda: mm.design_pram(self.data, "lad", stay_at_most=0.5, forbidden=["ab"]),
            "list of moves",
        )
        unhashable = mm.Pram("lad", 0.5, forbidden=[("a", ["b"])])
        refuse(lambda: unhashable.apply(self.data), "a list is not one of")
        refuse(lambda: mm.protect(self.data, [mm.Swap]), "list of steps")
        refuse(lambda: mm.by(None, {}), "name of a key")
        refuse(
            lambda: mm.correct_counts(self.data, ["lad"], misclassification={}), "names of columns"
        )
        refuse(lambda: mm.correct_counts(self.data, "lad"), "with its `misclassification`")

    def test_crossed_keys_that_do_not_fit_in_memory(self):
        space = mm.KeySpace([mm.Key("a", range(300)), mm.Key("b", range(300))])
        data = mm.Microdata(space, np.column_stack([np.arange(300), np.arange(300)]))
        for step in (mm.Swap(("a", "b"), 0.2), mm.Pram(("a", "b"), 0.8)):
            refuse(
                lambda step=step: step.apply(data), "90,000 categories", "too many to fit in memory"
            )

    def test_control_keys_that_leave_nobody_to_pair(self):
        codes = np.column_stack([np.arange(60) % 3, np.arange(60) % 2, np.arange(60) // 30])
        space = mm.KeySpace([*self.space.keys, mm.Key("same", "abc")])
        data = mm.Microdata(space, np.column_stack([codes, codes[:, 0]]))
        refuse(
            lambda: mm.Swap("lad", 0.5, within=("same",)).apply(data), "No records can be paired"
        )

    def test_unknown_choices(self):
        refuse(lambda: mm.Swap("lad", 0.1, description="exact"), "'balanced', 'nominal'")
        refuse(lambda: mm.design_pram(self.data, "lad", stay_at_most=0.5, cost="x"), "'changes'")
