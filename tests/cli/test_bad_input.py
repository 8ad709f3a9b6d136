"""Bad input: a clear error, nothing changed, and never a record's value in the message."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import maskmeter as mm
from rejection import SECRET, rejected

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
    """Check that an action fails with these words and leaves PEOPLE unchanged."""
    before = PEOPLE.clone()
    rejected(action, *words)
    assert before.equals(PEOPLE)


def space_of(*sizes):
    return mm.KeySpace(mm.Key(f"key{c}", range(size)) for c, size in enumerate(sizes))


@pytest.mark.parametrize("action", [mm.read, mm.count])
class TestColumns:
    def test_an_unknown_column_is_rejected(self, action):
        refuse(lambda: action(PEOPLE, keys=["ethnicty"]), "'ethnicty'", "Did you mean 'ethnicity'?")

    def test_a_key_with_one_category_is_rejected(self, action):
        refuse(lambda: action(PEOPLE, keys=["sex", "one"]), "'one'", "at least two")

    def test_keys_other_than_a_list_are_rejected(self, action):
        refuse(lambda: action(PEOPLE, keys=mm.Key("sex", ["a", "b"])), "write keys=[Key('sex'")
        refuse(lambda: action(PEOPLE, keys=3), "must be a list of column names")

    def test_comma_separated_keys_are_checked(self, action):
        refuse(lambda: action(PEOPLE, keys="sex,ethnicty"), "Did you mean 'ethnicity'?")
        refuse(lambda: action(PEOPLE, keys="sex, sex"), "'sex' more than once")
        refuse(lambda: action(PEOPLE, keys=" , "), "Give at least one key")

    def test_an_empty_list_of_keys_is_rejected(self, action):
        refuse(lambda: action(PEOPLE, keys=[]), "Give at least one key")

    def test_a_repeated_key_is_rejected(self, action):
        refuse(lambda: action(PEOPLE, keys=["sex", "sex"]), "'sex'")

    def test_missing_values_are_rejected_by_default(self, action):
        gaps = PEOPLE.with_columns(sex=pl.Series([None, f"{SECRET}-2", SECRET]))
        refuse(lambda: action(gaps, keys=KEYS), "1 of 3 records", "'sex'", 'missing="category"')

    def test_an_empty_frame_is_rejected(self, action):
        refuse(lambda: action(PEOPLE.clear(), keys=KEYS), "no records")

    def test_duplicate_columns_are_rejected(self, action):
        twice = PEOPLE.to_pandas()
        twice.columns = ["sex", "sex", "one", "w", "text"]
        refuse(lambda: action(twice, keys=["sex"]), "'sex'", "More than one column")

    def test_values_of_mixed_types_are_rejected(self, action):
        mixed = pd.DataFrame({"k": [SECRET, 1, 2.5]}, dtype=object)
        refuse(lambda: action(mixed, keys=["k"]), "'k'", "cannot be sorted together")

    def test_data_other_than_a_frame_are_rejected(self, action):
        refuse(lambda: action({"sex": [1]}, keys=["sex"]), "an object of type dict")

    def test_an_unknown_choice_for_missing_is_rejected(self, action):
        refuse(lambda: action(PEOPLE, keys=KEYS, missing="drop"), "'refuse', 'category'")

    def test_values_outside_the_given_categories_are_rejected(self, action):
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

    def test_a_missing_file_is_rejected(self, action, tmp_path):
        self.check(action, tmp_path / "none.csv", "none.csv'", "no such file")

    def test_a_folder_without_files_is_rejected(self, action, tmp_path):
        (tmp_path / "folder.csv").mkdir()
        self.check(action, tmp_path / "folder.csv", "no files in the folder")

    def test_an_unknown_extension_is_rejected(self, action, tmp_path):
        self.check(action, tmp_path / "people.docx", ".csv, .tsv", ".sav")

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_an_empty_file_is_rejected(self, action, tmp_path, ending):
        path = tmp_path / f"people.{ending}"
        path.touch()
        self.check(action, path, "the file is empty")

    def test_a_csv_with_only_a_header_is_rejected(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text("sex,age\n", encoding="utf-8")
        self.check(action, path, "no records")

    def test_a_csv_with_only_blank_lines_is_rejected(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text("\n\n", encoding="utf-8")
        self.check(action, path, "Cannot read")

    def test_a_csv_with_duplicate_column_names_is_rejected(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f"sex,age,sex\n{SECRET},1,f\nm,2,m\n", encoding="utf-8")
        self.check(action, path, "More than one column has the same name")

    def test_a_truncated_parquet_file_is_rejected(self, action, tmp_path):
        path = tmp_path / "people.parquet"
        PEOPLE.write_parquet(path)
        path.write_bytes(path.read_bytes()[:-20])
        self.check(action, path, "not a complete Parquet file")

    def test_a_damaged_parquet_file_is_rejected(self, action, tmp_path):
        path = tmp_path / "people.parquet"
        pl.concat([PEOPLE] * 1000).write_parquet(path)
        content = bytearray(path.read_bytes())
        content[4:200] = b"\xff" * 196
        path.write_bytes(content)
        self.check(action, path, "not a complete Parquet file")

    def test_a_csv_truncated_inside_a_row_is_rejected(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f"sex,age\nf,{SECRET}\nm,2\n{SECRET}", encoding="utf-8")
        self.check(action, path, "fewer than 2 fields", "cut short")

    def test_a_csv_truncated_inside_a_quoted_field_is_rejected(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f'sex,age\nf,{SECRET}\nm,"{SECRET}', encoding="utf-8")
        self.check(action, path, "Cannot read 'people.csv'")

    def test_a_csv_row_with_too_many_fields_is_rejected(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f"sex,age\nf,1\nm,2,{SECRET}\n", encoding="utf-8")
        self.check(action, path, "more than 2 fields")

    def test_a_csv_that_is_not_utf8_is_rejected(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_bytes("sex,age\nkvinna,1\nm\u00e4n,2\n".encode("latin-1"))
        self.check(action, path, "UTF-8")

    def test_a_csv_header_that_is_not_utf8_is_rejected(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_bytes("k\u00f6n,age\nf,1\nm,2\n".encode("latin-1"))
        self.check(action, path, "UTF-8")

    def test_a_compressed_file_named_csv_is_rejected(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_bytes(gzip.compress(b"sex,age\nf,1\nm,2\n" * 100))
        self.check(action, path, "Cannot read")


class TestSampling:
    @pytest.mark.parametrize("fraction", [0, -0.1, 1.5, float("nan"), "0.1", True])
    def test_a_fraction_outside_its_range_is_rejected(self, fraction):
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, fraction=fraction), "above 0 and at most 1")

    def test_a_fraction_outside_its_range_in_one_stratum_is_rejected(self):
        by = mm.by("sex", {SECRET: 2.0}, otherwise=0.1)
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, fraction=by), "above 0 and at most 1")

    def test_a_fraction_for_only_some_categories_is_rejected(self):
        by = mm.by("sex", {SECRET: 0.2})
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, fraction=by), "1 of 2 categories", "otherwise=")

    def test_a_fraction_that_varies_by_an_unknown_key_is_rejected(self):
        by = mm.by("region", {}, otherwise=0.2)
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, fraction=by), "No key named 'region'")

    @pytest.mark.parametrize("bad", [-1.0, 0.0, None, float("nan"), float("inf")])
    def test_weights_that_are_not_positive_numbers_are_rejected(self, bad):
        frame = PEOPLE.with_columns(w=pl.Series([1.0, bad, 3.0]))
        refuse(lambda: mm.read(frame, keys=KEYS, weights="w"), "1 of 3 weights", "'w'")

    def test_weights_of_another_type_are_rejected(self):
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, weights="text"), "1 of 3 weights")
        refuse(lambda: mm.read(PEOPLE.with_columns(w=True), keys=KEYS, weights="w"), "not numbers")
        enum = PEOPLE.cast({"sex": pl.Enum([SECRET, f"{SECRET}-2"])})
        refuse(lambda: mm.read(enum, keys=KEYS, weights="sex"), "holds Enum, not numbers")

    def test_an_unknown_weights_column_is_rejected(self):
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, weights="ww"), "'ww'")

    def test_weights_that_sum_to_less_than_the_sample_are_rejected(self):
        frame = PEOPLE.with_columns(w=pl.lit(0.5))
        refuse(lambda: mm.read(frame, keys=KEYS, weights="w"), "less than the number of records")

    def test_risk_without_a_fraction_or_weights_is_rejected(self):
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
    def test_invalid_matrices_are_rejected(self, matrix, words):
        refuse(lambda: mm.Misclassification({"sex": matrix}), "'sex'", words)

    def test_a_matrix_of_the_wrong_size_is_rejected(self):
        errors = mm.Misclassification({"key0": np.eye(3)})
        refuse(lambda: errors.on(space_of(2)), "3 by 3", "2 categories")

    def test_matrix_labels_that_do_not_match_are_rejected(self):
        labelled = pd.DataFrame(np.eye(2), index=["a", "b"], columns=["a", "b"])
        errors = mm.Misclassification({"key0": labelled})
        refuse(lambda: errors.on(space_of(2)), "label of row 1", "'key0'")

    def test_two_labels_for_one_category_are_rejected(self):
        labelled = pd.DataFrame(np.eye(2), index=["0", 0], columns=["0", 0])
        refuse(lambda: mm.Misclassification({"key0": labelled}), "do not name the same categories")

    def test_two_equal_labels_are_rejected(self):
        labels = pd.Index([0, False], dtype=object)
        labelled = pd.DataFrame(np.eye(2), index=labels, columns=labels)
        refuse(lambda: mm.Misclassification({"key0": labelled}), "the same label")

    def test_a_matrix_for_an_unknown_key_is_rejected(self):
        errors = mm.Misclassification({"kez0": np.eye(2)})
        refuse(lambda: errors.on(space_of(2)), "No key named 'kez0'", "Did you mean 'key0'?")

    def test_two_matrices_for_one_key_are_rejected(self):
        refuse(
            lambda: mm.Misclassification({"a": np.eye(2), ("a", "b"): np.eye(4)}), "more than one"
        )

    def test_a_matrix_that_depends_on_a_misclassified_key_is_rejected(self):
        by = mm.by("b", {}, otherwise=np.eye(2))
        refuse(lambda: mm.Misclassification({"a": by, "b": np.eye(2)}), "itself misclassified")

    def test_by_with_an_unknown_category_is_rejected(self):
        errors = mm.Misclassification(
            {"key0": mm.by("key1", {"x": np.eye(2)}, otherwise=np.eye(2))}
        )
        refuse(lambda: errors.on(space_of(2, 2)), "'x' is not one of the 2 categories of 'key1'")

    def test_by_with_tuples_of_the_wrong_length_is_rejected(self):
        refuse(lambda: mm.by(("a", "b"), {"x": 1}), "tuple of 2 categories")

    @pytest.mark.parametrize("stay", [-0.1, 1.1, float("nan")])
    def test_a_stay_outside_zero_to_one_is_rejected(self, stay):
        refuse(lambda: mm.stay_or_move(3, stay=stay), "between 0 and 1")

    def test_stay_or_move_with_one_category_is_rejected(self):
        refuse(lambda: mm.stay_or_move(1, stay=0.5), "from 2 to")

    def test_codes_out_of_range_are_rejected(self):
        refuse(lambda: mm.Microdata(space_of(2), [[2]]), "negative or too large for their key")
        refuse(lambda: mm.Microdata(space_of(2), [[-1]]), "negative or too large for their key")
        refuse(lambda: mm.Microdata(space_of(2), [[0, 0]]), "1 column, one per key")

    @pytest.mark.parametrize("rng", ["2010", 1.5, True])
    def test_an_rng_of_another_type_is_rejected(self, rng):
        mechanism = mm.Misclassification({}).on(space_of(2))
        refuse(lambda: mechanism.draw(np.array([[0]]), rng=rng), "`rng` must be")

    def test_a_negative_seed_is_rejected(self):
        mechanism = mm.Misclassification({}).on(space_of(2))
        refuse(lambda: mechanism.draw(np.array([[0]]), rng=-1), "not be a negative number")


class TestRisk:
    population = mm.count(PEOPLE, keys=KEYS)
    sample = mm.read(PEOPLE[:2], keys=population.space, fraction=0.5)

    def test_a_population_without_a_category_of_the_sample_is_rejected(self):
        fewer = mm.count(PEOPLE[1:], keys=KEYS)
        refuse(lambda: mm.exact_risk(self.sample, fewer), "1 of the 2 categories", "'ethnicity'")

    def test_a_population_without_a_key_is_rejected(self):
        fewer = mm.count(PEOPLE, keys=["sex"])
        refuse(lambda: mm.exact_risk(self.sample, fewer), "No key named 'ethnicity'")

    def test_a_population_with_more_categories_of_a_misclassified_key_is_rejected(self):
        sample = mm.read(PEOPLE[:2], keys=KEYS, fraction=0.5)
        errors = mm.Misclassification({"ethnicity": np.eye(2)})
        release = mm.Release(sample, sample, errors)
        refuse(lambda: mm.exact_risk(release, self.population), "keys=population.space")

    def test_a_population_that_was_not_counted_is_rejected(self):
        refuse(lambda: mm.exact_risk(self.sample, PEOPLE), "mm.count")

    def test_a_sample_that_was_not_read_is_rejected(self):
        refuse(lambda: mm.exact_risk(PEOPLE, self.population), "mm.read")

    def test_an_unknown_formula_is_rejected(self):
        refuse(
            lambda: mm.approximate_risk(self.sample, self.population, formula="2.4"), "'2.5', '2.6'"
        )
        refuse(lambda: mm.in_sample_risk(self.sample, formula="2.5"), "'2.2', '2.4'")

    def test_realised_counts_without_a_release_are_rejected(self):
        def action():
            mm.approximate_risk(
                self.sample, self.population, released_counts="realised", misclassification={}
            )

        refuse(action, 'released_counts="expected"')

    def test_realised_counts_of_a_population_without_the_sample_are_rejected(self):
        codes = self.sample.codes
        other = mm.KeyTable.of(self.population.space, np.array([[0, 1], [1, 0], [1, 2]]))
        sample = mm.Microdata(self.population.space, codes, fraction=0.5)

        def action():
            mm.approximate_risk(sample, other, released_counts="realised")

        refuse(action, "at least as many units as records in every cell")

    def test_a_release_that_the_misclassification_rules_out_is_rejected(self):
        moved = self.sample.with_codes(self.sample.codes[::-1])
        refuse(lambda: mm.Release(self.sample, moved, {}), "2 of 2 records", "rules out")

    def test_a_release_with_other_records_is_rejected(self):
        fewer = mm.read(PEOPLE[:1], keys=self.population.space)
        refuse(lambda: mm.Release(self.sample, fewer, {}), "same keys and records")

    def test_a_wrong_number_of_codes_is_rejected(self):
        refuse(lambda: self.sample.with_codes(np.array([[0, 0]])), "one per record")

    def test_an_empty_census_or_sample_is_rejected(self):
        refuse(lambda: mm.synthetic_census(size=0), "at least 1")
        refuse(lambda: mm.bernoulli_sample(PEOPLE, fraction=0.0), "above 0")


def test_duplicate_columns_of_an_arrow_table_are_rejected():
    twice = pa.table([pa.array([1]), pa.array([2])], names=["sex", "sex"])
    refuse(lambda: mm.read(twice, keys=["sex"]), "More than one column is named 'sex'")


class TestArguments:
    """Arguments of the wrong type give a clear error that shows no data."""

    sample = mm.read(PEOPLE, keys=KEYS, fraction=0.5)
    population = mm.count(PEOPLE, keys=KEYS)

    @pytest.mark.parametrize("keys", [None, 5, [1], [None], [["sex"]], b"ab", PEOPLE["sex"] == ""])
    def test_keys_other_than_names_are_rejected(self, keys):
        refuse(lambda: mm.read(PEOPLE, keys=keys), "list of column names")

    def test_a_column_of_data_in_place_of_a_name_is_rejected(self):
        refuse(lambda: mm.read(PEOPLE, keys=PEOPLE["sex"]), "`keys`")
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, fraction=PEOPLE["sex"]), "not a Series")
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, weights=PEOPLE["w"]), "not a Series")
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, weights=[SECRET]), "not a list")
        refuse(lambda: mm.read(PEOPLE, keys=KEYS, missing=[SECRET]), "not a list")

    @pytest.mark.parametrize("name", ["", "*", "^.*$"])
    def test_column_names_that_are_patterns_are_rejected(self, name):
        frame = PEOPLE.rename({"sex": name})
        refuse(lambda: mm.count(frame, keys=[name]), "Rename the column")

    def test_column_names_that_are_not_text_are_rejected(self):
        frame = pd.DataFrame({0: [1, 2], 1: [3, 4]})
        refuse(lambda: mm.read(frame, keys=["0"]), "must be text")

    @pytest.mark.parametrize("errors", [np.eye(2), [1], "sex", 5])
    def test_a_misclassification_other_than_a_dictionary_is_rejected(self, errors):
        refuse(
            lambda: mm.exact_risk(self.sample, self.population, misclassification=errors),
            "dictionary",
        )

    @pytest.mark.parametrize("key", [1, None, (), ("sex", 1)])
    def test_a_misclassification_of_an_invalid_key_is_rejected(self, key):
        refuse(lambda: mm.Misclassification({key: np.eye(2)}), "name of a key")

    def test_by_without_a_dictionary_is_rejected(self):
        refuse(lambda: mm.by("sex", [1, 2]), "dictionary")

    def test_by_with_a_repeated_category_is_rejected(self):
        by = mm.by("key0", {1: 0.1, "1": 0.9}, otherwise=0.5)
        refuse(lambda: mm.Microdata(space_of(2), [[0]], fraction=by), "a category twice")

    @pytest.mark.parametrize(
        "codes", [[[0.7, 0.2]], [[np.nan, 0]], [["a", "b"]], [0, 1], [[-1, 0]]]
    )
    def test_invalid_codes_are_rejected(self, codes):
        space = space_of(2, 2)
        mechanism = mm.Misclassification({"key0": np.eye(2)}).on(space)
        refuse(lambda: mm.Microdata(space, codes))
        refuse(lambda: mechanism.draw(codes, rng=1))
        refuse(lambda: mechanism.prob(released=codes, true=[[0, 0]]))
        refuse(lambda: mm.KeyTable.of(space, codes))

    def test_a_draw_with_a_negative_start_is_rejected(self):
        mechanism = mm.Misclassification({"key0": np.eye(2)}).on(space_of(2))
        refuse(lambda: mechanism.draw([[0]], rng=1, start=-1), "not be negative")

    def test_a_frame_in_place_of_keys_is_rejected(self):
        refuse(lambda: mm.Misclassification({}).on(PEOPLE), "not a DataFrame")

    def test_invalid_sampling_of_microdata_is_rejected(self):
        space = space_of(2)
        refuse(lambda: mm.Microdata(space, [[0]], fraction=7), "at most 1")
        refuse(lambda: mm.Microdata(space, [[0]], weights=[-1.0]), "not positive")
        refuse(lambda: mm.Microdata(space, [[0]], weights=[1.0, 2.0]), "one number per record")
        refuse(lambda: mm.Microdata(space, [[0]], weights=[2.0], fraction=7), "at most 1")

    def test_invalid_counts_are_rejected(self):
        refuse(lambda: mm.KeyTable.of(space_of(2), [[1]], counts=np.array([-5])), "at least 1")
        refuse(lambda: mm.KeyTable(space_of(2), np.array([0, 1]), np.array([1])), "at least 1")

    def test_invalid_keys_are_rejected(self):
        refuse(lambda: mm.KeySpace(["a"]), "mm.Key")
        refuse(lambda: mm.Key("a", None), "list of")
        refuse(lambda: mm.Key("a", [[1], [2]]), "list of")

    @pytest.mark.parametrize("size", [2.5, "x", None, True])
    def test_invalid_census_sizes_are_rejected(self, size):
        refuse(lambda: mm.synthetic_census(size=size), "whole number")

    @pytest.mark.parametrize("size", [2.5, "3", 10**7])
    def test_invalid_matrix_sizes_are_rejected(self, size):
        refuse(lambda: mm.stay_or_move(size, stay=0.5), "number of categories")

    @pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.table])
    def test_columns_of_lists_are_rejected(self, kind):
        frame = kind({"k": [[1], [2]], "x": ["a", "b"]})
        refuse(lambda: mm.read(frame, keys=["k"]))
        refuse(lambda: mm.count(frame, keys=["k"]))

    @pytest.mark.parametrize("action", [mm.read, mm.count])
    def test_a_lazy_frame_that_fails_is_rejected(self, action):
        lazy = PEOPLE.lazy().with_columns(pl.col("sex").cast(pl.Int64))
        refuse(lambda: action(lazy, keys=["sex"]), "Evaluating the data frame failed", "yourself")

    def test_a_matrix_of_complex_numbers_is_rejected(self):
        refuse(lambda: mm.Misclassification({"sex": np.eye(2) * 1j}), "complex")

    def test_a_matrix_in_a_frame_without_labels_is_rejected(self):
        frame = pl.DataFrame({"x": [0.5, 0.5], "y": [0.5, 0.5]})
        refuse(lambda: mm.Misclassification({"sex": frame}), "Give an array")

    def test_two_labels_that_match_one_category_are_rejected(self):
        labelled = pd.DataFrame(np.eye(2), index=["1", 1.0], columns=["1", 1.0])
        errors = mm.Misclassification({"year": labelled})
        space = mm.KeySpace([mm.Key("year", [1, 2])])
        refuse(lambda: errors.on(space), "Two row labels")

    def test_an_array_of_the_populations_size_is_rejected(self):
        """The array has the population's size, but its order of categories is unknown."""
        population = mm.count(pl.DataFrame({"k": ["a", "a", "b", "0"]}), keys=["k"])
        sample = mm.read(pl.DataFrame({"k": ["a", "b"]}), keys=["k"], fraction=0.5)
        errors = {"k": np.eye(3)}
        refuse(lambda: mm.exact_risk(sample, population, misclassification=errors), "2 categories")

    def test_a_mechanism_of_another_file_is_rejected_without_naming_its_categories(self):
        mechanism = mm.Misclassification({"sex": np.eye(2)}).on(self.sample)
        other = mm.read(pl.DataFrame({"sex": ["x", "y"]}), keys=["sex"], fraction=0.5)
        population = mm.count(pl.DataFrame({"sex": ["x", "y"]}), keys=["sex"])
        refuse(
            lambda: mm.exact_risk(other, population, misclassification=mechanism),
            "does not have all 2 categories of 'sex'",
        )
        assert SECRET not in repr(mechanism.on(self.sample).factors)

    def test_missing_values_that_the_given_keys_lack_are_rejected(self):
        frame = pl.DataFrame({"sex": [SECRET, None]})
        keys = mm.KeySpace([self.sample.space["sex"]])
        words = ("leave that key out", "fill its gaps", 'missing="category"')
        refuse(lambda: mm.read(frame, keys=keys, missing="category"), *words)

    def test_in_sample_risk_of_a_frame_is_rejected(self):
        refuse(lambda: mm.in_sample_risk(PEOPLE), "mm.read")

    @pytest.mark.parametrize("action", [mm.read, mm.count])
    def test_a_csv_without_a_header_does_not_show_its_first_record(self, action, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f"{SECRET},1\nx,2\n", encoding="utf-8")
        refuse(lambda: action(path, keys=["sex"]), "among 2")

    @pytest.mark.parametrize("action", [mm.read, mm.count])
    def test_an_uppercase_extension_does_not_show_the_first_record_either(self, action, tmp_path):
        path = tmp_path / "people.CSV"
        path.write_text(f"{SECRET},1\nx,2\n", encoding="utf-8")
        refuse(lambda: action(path, keys=["sex"]), "among 2")

    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_a_csv_that_ends_with_a_blank_line_is_rejected(self, end, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f"sex,age{end}f,1{end}m,2{end}{end}", encoding="utf-8", newline="")
        refuse(lambda: mm.read(path, keys=["sex"]), "ends with a blank line")

    @pytest.mark.parametrize("rows", ["f,1\nm\nm,3\n", "f,1\n\nm,3\n", 'f,"1\n2"\nm\n'])
    def test_a_csv_with_short_rows_is_rejected(self, rows, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f"sex,age\n{rows}", encoding="utf-8")
        refuse(lambda: mm.read(path, keys=["sex"]), "fewer than 2 fields")

    def test_a_csv_with_cr_line_ends_is_rejected(self, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f"sex,age\r{SECRET},1\rm,2\r", encoding="utf-8", newline="")
        refuse(lambda: mm.read(path, keys=["sex"]), "CR only")


class TestPerturbation:
    space = mm.KeySpace([mm.Key("lad", "abc"), mm.Key("sex", "fm"), mm.Key("age", [1, 2])])
    data = mm.Microdata(
        space, np.column_stack([np.arange(60) % 3, np.arange(60) % 2, np.arange(60) // 30])
    )

    @pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), "0.1", True, None, [0.1]])
    def test_invalid_rates_are_rejected(self, rate):
        refuse(lambda: mm.Swap("lad", rate), "between 0 and 1")
        refuse(lambda: mm.Swap("lad", mm.by("sex", {"f": rate})), "between 0 and 1")

    @pytest.mark.parametrize("stay", [-0.1, 1.1, float("nan"), "0.1"])
    def test_invalid_stay_and_blend_are_rejected(self, stay):
        refuse(lambda: mm.Pram("lad", stay), "between 0 and 1")
        refuse(lambda: mm.Pram("lad", 0.5, blend=stay), "between 0 and 1")
        refuse(lambda: mm.design_pram(self.data, "lad", stay_at_most=stay), "between 0 and 1")

    def test_pram_needs_either_stay_or_a_matrix(self):
        refuse(lambda: mm.Pram("lad"), "either `stay` or `matrix`")
        refuse(lambda: mm.Pram("lad", 0.8, matrix=np.eye(3)), "either `stay` or `matrix`")

    @pytest.mark.parametrize("step", [mm.Swap("ladd", 0.1), mm.Pram("ladd", 0.9)])
    def test_a_step_on_an_unknown_key_is_rejected(self, step):
        refuse(lambda: step.apply(self.data), "No key named 'ladd'", "Did you mean 'lad'?")

    def test_strata_by_the_perturbed_key_are_rejected(self):
        refuse(lambda: mm.Swap("lad", mm.by("lad", {"a": 0.1}, otherwise=0.0)), "itself perturbed")
        refuse(lambda: mm.Swap("lad", 0.1, within=("lad",)), "itself perturbed")
        refuse(lambda: mm.Pram("lad", mm.by("lad", {"a": 0.1}, otherwise=0.0)), "itself perturbed")

    def test_unknown_categories_are_rejected(self):
        step = mm.Swap("lad", mm.by("sex", {"x": 0.1}, otherwise=0.5))
        refuse(lambda: step.apply(self.data), "'x' is not one of the 2 categories of 'sex'")
        refuse(lambda: mm.Swap("lad", mm.by("sex", {"f": 0.1})).apply(self.data), "1 of 2")
        forbidden = mm.Pram("lad", 0.5, forbidden=[("a", "z")])
        refuse(lambda: forbidden.apply(self.data), "'z' is not one of the 3 categories of 'lad'")
        refuse(
            lambda: mm.design_pram(self.data, "lad", stay_at_most={"z": 0.5}), "'z' is not one of"
        )

    def test_forbidden_moves_other_than_pairs_are_rejected(self):
        refuse(lambda: mm.Pram("lad", 0.5, forbidden=["abc"]), "(true, released)")
        crossed = mm.Pram(("lad", "sex"), 0.5, forbidden=[("a", "b")])
        refuse(lambda: crossed.apply(self.data), "must name 2 categories on each side")

    def test_steps_with_the_same_label_are_rejected(self):
        refuse(
            lambda: mm.protect(self.data, [mm.Swap("lad", 0.1), mm.Swap("lad", 0.2)]),
            "label of its own",
        )

    @pytest.mark.parametrize("steps", [[], mm.Swap("lad", 0.1), ["swap"], None])
    def test_invalid_lists_of_steps_are_rejected(self, steps):
        refuse(lambda: mm.protect(self.data, steps), "list of steps")

    def test_a_step_on_a_frame_is_rejected(self):
        refuse(lambda: mm.Swap("lad", 0.1).apply(PEOPLE), "mm.read")

    @pytest.mark.parametrize("step", [mm.Swap("lad", 0.1), mm.Pram("lad", 0.9)])
    def test_fewer_than_two_records_are_rejected(self, step):
        one = mm.Microdata(self.space, [[0, 0, 0]])
        refuse(lambda: step.apply(one), "at least two records")

    @pytest.mark.parametrize("step", [mm.Swap, mm.Pram])
    def test_a_stratum_with_a_single_category_is_rejected(self, step):
        codes = self.data.codes.copy()
        codes[codes[:, 1] == 1, 0] = 2
        data = mm.Microdata(self.space, codes)
        aimed = step("lad", mm.by("sex", {"m": 0.5}, otherwise=0.0 if step is mm.Swap else 1.0))
        refuse(lambda: aimed.apply(data), "same category of 'lad'")

    def test_counts_that_cannot_be_corrected_are_rejected(self):
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

    def test_designs_that_are_too_large_are_rejected(self):
        space = mm.KeySpace([mm.Key("place", range(1500))])
        data = mm.Microdata(space, np.arange(1500)[:, None])
        refuse(lambda: mm.design_pram(data, "place", stay_at_most=0.5), "at most 1,000")

    def test_bounds_by_category_for_crossed_keys_are_rejected(self):
        refuse(
            lambda: mm.design_pram(self.data, ("lad", "sex"), stay_at_most={"a": 0.5}), "one number"
        )

    @pytest.mark.parametrize("key", [None, 3, (), ("lad", 3), [["lad"]], b"lad", ("lad", "lad")])
    def test_keys_not_given_by_name_are_rejected(self, key):
        refuse(lambda: mm.Swap(key, 0.1), "by name")
        refuse(lambda: mm.Pram([key], 0.9), "by name")
        refuse(lambda: mm.design_pram(self.data, key, stay_at_most=0.5), "by name")

    def test_other_invalid_arguments_are_rejected(self):
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

    def test_crossed_keys_too_large_for_memory_are_rejected(self):
        space = mm.KeySpace([mm.Key("a", range(300)), mm.Key("b", range(300))])
        data = mm.Microdata(space, np.column_stack([np.arange(300), np.arange(300)]))
        for step in (mm.Swap(("a", "b"), 0.2), mm.Pram(("a", "b"), 0.8)):
            refuse(
                lambda step=step: step.apply(data), "90,000 categories", "too many to fit in memory"
            )

    def test_control_keys_that_leave_no_pairs_are_rejected(self):
        codes = np.column_stack([np.arange(60) % 3, np.arange(60) % 2, np.arange(60) // 30])
        space = mm.KeySpace([*self.space.keys, mm.Key("same", "abc")])
        data = mm.Microdata(space, np.column_stack([codes, codes[:, 0]]))
        refuse(
            lambda: mm.Swap("lad", 0.5, within=("same",)).apply(data), "No records can be paired"
        )

    def test_unknown_choices_are_rejected(self):
        refuse(lambda: mm.Swap("lad", 0.1, description="exact"), "'balanced', 'nominal'")
        refuse(lambda: mm.design_pram(self.data, "lad", stay_at_most=0.5, cost="x"), "'changes'")
