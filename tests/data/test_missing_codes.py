"""Missing codes: values such as "NA" and -9 that count as missing, and what is written for them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyreadstat
import pytest

import maskmeter as mm
from maskmeter.plan.release_plan import plan_of_release

RECORDS = 600
MARITAL = ["1", "2", "3", "NA", " -9", "-9", ""]
CODES = {"marital": ["NA", -9]}


def survey(seed=17):
    """Return records as texts; the commonest missing value is -9, the first is "NA"."""
    draws = np.random.default_rng(seed)
    marital = draws.choice(MARITAL, RECORDS, p=[0.4, 0.2, 0.2, 0.05, 0.02, 0.1, 0.03])
    marital[0] = "NA"
    return pl.DataFrame(
        {
            "lad": draws.integers(0, 6, RECORDS).astype(str),
            "marital": marital,
            "sex": draws.choice(["f", "m"], RECORDS),
        }
    )


def numbered(frame):
    """Return the same records with whole numbers for marital status; "NA" and empty are null."""
    texts = pl.col("marital").str.strip_chars()
    return frame.with_columns(texts.cast(pl.Int64, strict=False))


def read(source, **options):
    told = {"keys": ["lad", "marital"], "fraction": 0.1, "missing": "category"}
    return mm.read(source, **(told | {"missing_codes": CODES} | options))


KINDS = {
    "polars": lambda frame: frame,
    "polars enum": lambda frame: frame.with_columns(pl.col("marital").cast(pl.Enum(MARITAL[:-1]))),
    "pandas": lambda frame: frame.to_pandas(),
    "pandas categorical": lambda frame: frame.to_pandas().astype({"marital": "category"}),
    "pandas numbers": lambda frame: numbered(frame).to_pandas(),
    "pandas mixed": lambda frame: numbered(frame).to_pandas().astype(object),
    "arrow": lambda frame: frame.to_arrow(),
    "arrow dictionary": lambda frame: frame.with_columns(
        pl.col("marital").cast(pl.Categorical)
    ).to_arrow(),
    "numbers": numbered,
}


@pytest.mark.parametrize("kind", KINDS)
def test_codes_are_missing_whatever_kind_of_frame_holds_them(kind):
    frame = KINDS[kind](survey().filter(pl.col("marital") != ""))
    sample = read(frame)
    key = sample.space["marital"]

    assert [None if one is None else int(one) for one in key.categories] == [1, 2, 3, None]
    lacking = (sample.codes[:, 1] == 3).sum()
    assert lacking == survey()["marital"].is_in(["NA", " -9", "-9"]).sum()
    with pytest.raises(mm.MaskmeterError, match=f"{lacking} of"):
        read(frame, missing="refuse")


def test_a_population_counts_codes_as_missing_too():
    counts = mm.count(survey(), keys=["marital"], missing="category", missing_codes=CODES)

    assert counts.space["marital"].categories == ("", "1", "2", "3", None)
    assert counts.counts[-1] == survey()["marital"].is_in(["NA", " -9", "-9"]).sum()


def test_codes_are_taken_out_before_numbers_are_put_into_bands():
    ages = pl.DataFrame({"age": ["30", "99", "-9", "NA", "70", "17"]})
    given = {"keys": ["age"], "bands": {"age": [0, 18, 65]}, "missing": "category"}
    for frame in (ages, ages.with_columns(pl.col("age").cast(pl.Int64, strict=False))):
        sample = mm.read(frame, **given, missing_codes={"age": [99, -9, "NA"]})
        assert sample.to_frame()["age"].to_list() == ["18-64", None, None, None, "65+", "0-17"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "sav"])
def test_an_untouched_key_keeps_all_its_codes(tmp_path, ending):
    source = written(tmp_path / f"in.{ending}")
    release = mm.Swap("lad", rate=0.3).apply(read(source), rng=1)
    release.write(tmp_path / f"out.{ending}")

    before, after = (whole(tmp_path / f"{name}.{ending}") for name in ("in", "out"))
    assert after["marital"].equals(before["marital"])
    assert (after["lad"] != before["lad"]).sum() > 100


@pytest.mark.parametrize("ending", ["csv", "parquet", "sav"])
def test_a_changed_key_has_one_code_for_missing_so_that_none_tells_who_was_changed(
    tmp_path, ending
):
    source = written(tmp_path / f"in.{ending}")
    release = mm.Pram("marital", stay=0.7).apply(read(source), rng=1)
    release.write(tmp_path / f"out.{ending}")

    found = whole(tmp_path / f"out.{ending}")["marital"]
    lacking = release.released.codes[:, 1] == 3
    assert lacking.sum() > 80
    assert (release.changed & lacking).sum() > 10
    assert set(found.filter(lacking.tolist())) == {"-9" if ending == "csv" else -9}
    again = read(tmp_path / f"out.{ending}")
    assert again.space["marital"].size == 4
    assert (again.codes == release.released.codes).all()


def written(path):
    """Write the survey as a file of some format."""
    frame = survey()
    if path.suffix == ".csv":
        path.write_text("\n".join(",".join(row) for row in [frame.columns, *frame.rows()]))
    elif path.suffix == ".sav":
        labels = {"marital": {1.0: "single", -9.0: "No answer"}}
        pyreadstat.write_sav(numbered(frame), path, variable_value_labels=labels)
    else:
        numbered(frame).write_parquet(path)
    return path


def whole(path):
    if path.suffix == ".csv":
        return pl.read_csv(path, infer_schema=False)
    return mm.read(path, keys=["lad"]).to_frame()


def test_a_label_names_the_code_that_is_missing(tmp_path):
    source = written(tmp_path / "in.sav")
    by_label = read(source, missing_codes={"marital": ["No answer"]})

    assert by_label == read(source, missing_codes={"marital": [-9]})
    assert by_label.space["marital"].categories == (1, 2, 3, None)


def test_a_label_of_two_codes_is_refused(tmp_path):
    frame = pl.DataFrame({"marital": [1.0, 2.0, 8.0, 9.0]})
    labels = {"marital": {8.0: "No answer", 9.0: "No answer"}}
    pyreadstat.write_sav(frame, tmp_path / "in.sav", variable_value_labels=labels)

    with pytest.raises(mm.MaskmeterError, match="'No answer', which 2 values have"):
        mm.read(tmp_path / "in.sav", ["marital"], missing_codes={"marital": ["No answer"]})


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        ({"sex": ["NA"]}, "names 'sex', which is not one of the keys"),
        ({"marital": "NA"}, "of 'marital' must be a list of texts or numbers"),
        ({"marital": []}, "of 'marital' must be a list"),
        ({"marital": [None]}, "of 'marital' must be a list"),
        ({"marital": [True]}, "of 'marital' must be a list"),
        (["NA"], "must be a dictionary of lists"),
    ],
)
def test_codes_that_name_no_key_or_no_values_are_refused(codes, said):
    with pytest.raises(mm.MaskmeterError, match=said):
        read(survey(), missing_codes=codes)


def test_a_release_remembers_its_codes_in_the_plan_that_made_it():
    release = mm.Pram("marital", stay=0.7).apply(read(survey()), rng=1)
    assert plan_of_release(release).data.missing_codes == CODES
    assert "missing_codes" not in dict(read(survey(), missing_codes=None).reading)
