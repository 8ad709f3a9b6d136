"""Recodes and subsamples in written files, plans, provenance, maps and searches."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pyreadstat
import pytest

import maskmeter as mm
from command import run
from maskmeter.errors import without_warnings

KEYS = ["lad", "sex", "age"]
LOST = "only here"


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    number = 1200
    story = [f"said {code}" for code in rng.integers(0, 9, number)]
    story[5] = LOST
    return pl.DataFrame(
        {
            "lad": rng.choice([1.0, 2.0, 3.0, 4.0], number, p=[0.4, 0.3, 0.2, 0.1]),
            "sex": rng.choice(["f", "m"], number),
            "age": rng.integers(0, 90, number).astype(float),
            "story": story,
        }
    )


@pytest.fixture(scope="module")
def files(people, tmp_path_factory):
    """Return a folder with the people as CSV, Parquet, SPSS and Stata; the last two label districts."""
    folder = tmp_path_factory.mktemp("files")
    whole = people.with_columns(pl.col("lad", "age").cast(pl.Int64))
    whole.write_csv(folder / "people.csv")
    whole.write_parquet(folder / "people.parquet")
    labels = {"lad": {1: "North", 2: "South", 3: "East", 4: "West"}}
    pyreadstat.write_sav(people, folder / "people.sav", variable_value_labels=labels)
    pyreadstat.write_dta(people, folder / "people.dta", variable_value_labels=labels)
    return folder


ENDINGS = [".csv", ".parquet", ".sav", ".dta"]
GROUPS = {"small": ["3", "4"]}
STEPS = (
    mm.Recode("age", bands=[0, 16, 65]),
    mm.Recode("lad", groups=GROUPS),
    mm.Swap("lad", rate=0.3),
    mm.Subsample(0.5),
)


def shown(data, key):
    """Return what a reader sees of a key: labels where the format has them, else values."""
    texts = [data.value_label(key, one) for one in data.space[key].categories]
    return [texts[code] for code in data.codes[:, data.space.index(key)]]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_written_file_has_the_groups_and_only_the_kept_records(files, people, ending, tmp_path):
    sample = mm.read(files / f"people{ending}", keys=KEYS, fraction=0.1)
    release = mm.protect(sample, list(STEPS), rng=8)
    assert 5 not in release.kept
    with without_warnings():
        release.write(tmp_path / f"safe{ending}")
    again = mm.read(tmp_path / f"safe{ending}", keys=KEYS, fraction=0.05)

    assert len(again) == len(release.kept) < len(people)
    for key in KEYS:
        wanted = shown(release.released, key)
        assert shown(again, key) == wanted, key
    kept = people["story"].to_numpy()[release.kept]
    column = again.column("story")
    assert [column.categories[code] for code in column.codes] == kept.tolist()
    assert LOST.encode() not in (tmp_path / f"safe{ending}").read_bytes()
    labelled = ending in (".sav", ".dta")
    assert again.space["age"].categories == ((1, 2, 3) if labelled else ("0-15", "16-64", "65+"))
    first = "North" if labelled else "1"
    assert set(shown(again, "lad")) == {first, "South" if labelled else "2", "small"}


def test_to_frame_has_the_users_columns_with_groups_in_order(people):
    whole = people.with_columns(pl.col("lad").cast(pl.Int64))
    release = mm.protect(mm.read(whole, keys=KEYS, fraction=0.1), list(STEPS), rng=1)
    frame = release.released.to_frame()

    assert frame.columns == people.columns
    assert frame["age"].dtype == pl.Enum(["0-15", "16-64", "65+"])
    assert frame["story"].to_list() == people["story"].to_numpy()[release.kept].tolist()
    population = mm.count(whole, keys=KEYS)
    assert mm.exact_risk(release, population).to_frame()["age"].dtype == frame["age"].dtype


PLAN = """
[data]
keys = ["lad", "sex", "age"]
fraction = 0.1

[[step]]
method = "recode"
key = "age"
bands = [0, 16, 65]

[[step]]
method = "recode"
key = "lad"
groups = {small = ["East", "West"]}

[[step]]
method = "swap"
key = "lad"
rate = {by = "age", values = {"65+" = 0.6}, otherwise = 0.2}

[[step]]
method = "subsample"
fraction = 0.5

[[candidate]]
label = "swap alone"
[[candidate.step]]
method = "swap"
key = "lad"
rate = 0.2

[[candidate]]
label = "bands alone"
[[candidate.step]]
method = "recode"
key = "age"
bands = [0, 20, 40, 60]

[loss]
tables = [["lad", "age"]]
"""


def test_a_plan_with_recodes_a_swap_and_a_subsample_can_be_repeated(files, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    survey = str(files / "people.sav")
    done = run("assess", survey, "--plan", "plan.toml", "--out", "pack", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    made = json.loads(
        (tmp_path / "pack" / "internal" / "provenance.json").read_text(encoding="utf-8")
    )
    again = run(
        "assess", survey, "--from", "pack/internal/provenance.json", "--out", "b", folder=tmp_path
    )
    first, second = (
        mm.read(tmp_path / name / "protected.sav", keys=KEYS) for name in ("pack", "b")
    )

    assert again.returncode == 0, again.stderr
    assert np.array_equal(first.codes, second.codes)
    assert [one["method"] for one in made["steps"]] == ["recode", "recode", "swap", "subsample"]
    words = [one["pattern"] for one in found["steps"]]
    assert words[0] == "Recoding of age: in 3 bands."
    assert words[3] == "Subsampling: {share} were left out at random."
    assert found["records"] == len(first) < 1200
    labels = {one["label"] for one in found["map"]["releases"]}
    assert labels == {"no protection", "the plan's steps", "swap alone", "bands alone"}
    risks = {one["label"]: one for one in found["map"]["releases"]}
    assert risks["bands alone"]["risk"] < risks["no protection"]["risk"]
    assert risks["bands alone"]["changed"] == 0
    assert risks["bands alone"]["loss"] > 0
    page = (tmp_path / "pack" / "public.html").read_text(encoding="utf-8")
    assert "Recoding of age: in 3 bands." in page
    assert "Subsampling: some records were left out at random." in page


def test_a_map_can_compare_recodes_swaps_and_subsamples(people):
    sample = mm.read(people, keys=KEYS, fraction=0.1)
    ways = {
        "bands": mm.Recode("age", bands=[0, 16, 65]),
        "half": mm.Subsample(0.5),
        "swap": mm.Swap("lad", rate=0.3),
        "bands and swap": [mm.Recode("age", bands=[0, 16, 65]), mm.Swap("lad", rate=0.3)],
    }
    population = mm.count(pl.concat([people] * 10), keys=KEYS)
    found = mm.compare(sample, ways, population=population, loss=("lad", "age"), rng=1)

    risk = {label: found[label].risk for label in ways}
    assert risk["bands and swap"] <= risk["bands"] < risk["swap"]
    assert found["bands"].changed == 0 < found["bands"].loss
    assert found["half"].loss > 0
    assert mm.compare(
        sample, {"half": mm.Subsample(0.5)}, population=population, rng=1
    ).tables  # a subsample affects the tables of all keys


def test_a_search_may_recode_before_it_swaps(people):
    sample = mm.read(people, keys=KEYS, fraction=0.1)
    population = mm.count(pl.concat([people] * 10), keys=KEYS)
    bare = mm.exact_risk(sample, population)
    finer = {"bands": mm.Recode("age", bands=[*range(0, 90, 10)])}
    family = mm.Family("lad", methods=("swap", "subsample"), first=finer)
    target = mm.Target(max_total=0.2 * bare.total)
    with without_warnings():
        found = mm.find_release(sample, family=family, target=target, population=population, rng=1)
        alone = mm.find_release(
            sample, family=mm.Family("lad", "swap"), target=target, population=population, rng=1
        )

    labels = found.to_frame()["label"].to_list()
    assert labels[0] == "no protection"
    for kind in ("random swap", "random subsample", "bands"):
        assert any(label.startswith(kind) for label in labels)
    assert found.met
    assert found.label == "bands"
    assert alone.loss > found.loss or not alone.met


def test_invalid_alternatives_are_rejected():
    with pytest.raises(mm.MaskmeterError, match="dictionary of steps"):
        mm.Family("lad", first={"bands": []})
    with pytest.raises(mm.MaskmeterError, match="neither `target` nor `within`"):
        mm.Family("lad", "subsample", within=("sex",))


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".sav", ".dta", ".xlsx"])
def test_weights_of_a_subsample_are_written_as_they_count(people, tmp_path, ending):
    weighted = people.with_columns(w=pl.Series(np.linspace(1, 9, len(people)).round(2)))
    sample = mm.read(weighted, keys=KEYS, weights="w")
    release = mm.Subsample(0.25).apply(sample, rng=1)
    with without_warnings():
        release.write(tmp_path / f"safe{ending}")
    again = mm.read(tmp_path / f"safe{ending}", keys=KEYS, weights="w")

    assert again.weights == pytest.approx(release.released.weights)
    assert again.weights.sum() == pytest.approx(sample.weights.sum(), rel=0.2)
    kept = weighted["w"].to_numpy()[release.kept]
    assert again.weights == pytest.approx(kept / 0.25)


def test_weights_keep_the_decimal_mark_of_their_file(people, tmp_path):
    texts = [f"{one:.2f}".replace(".", ",") for one in np.linspace(1, 9, len(people))]
    people.with_columns(w=pl.Series(texts)).write_csv(tmp_path / "a.csv", separator=";")
    sample = mm.read(tmp_path / "a.csv", keys=KEYS, weights="w")
    mm.Subsample(0.5).apply(sample, rng=1).write(tmp_path / "b.csv")
    text = (tmp_path / "b.csv").read_text(encoding="utf-8").splitlines()[1]

    assert "," in text.split(";")[-1]
    assert mm.read(tmp_path / "b.csv", keys=KEYS, weights="w").weights.min() >= 2


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".sav", ".csv"])
def test_declared_categories_of_dropped_records_are_dropped(people, tmp_path, kind, ending):
    jobs = pl.Series("job", ["cook", "clerk"] * 600).scatter(5, "primeminister")
    frame = people.with_columns(jobs.cast(pl.Enum(["cook", "primeminister", "clerk"])))
    given = {"polars": frame, "pandas": frame.to_pandas(), "pyarrow": frame.to_arrow()}[kind]
    release = mm.Subsample(0.5).apply(mm.read(given, keys=KEYS, fraction=0.1), rng=8)
    assert 5 not in release.kept
    with without_warnings():
        release.write(tmp_path / f"safe{ending}")

    assert b"primeminister" not in (tmp_path / f"safe{ending}").read_bytes()
    shown = release.to_frame()
    assert "primeminister" not in repr(pl.DataFrame(shown).schema)
    if kind == "pandas":
        assert list(shown["job"].cat.categories) == ["cook", "clerk"]


def test_recoded_keys_of_files_without_labels_are_labelled_in_formats_that_have_them(
    people, tmp_path
):
    release = mm.Recode("age", top=80).apply(mm.read(people, keys=KEYS, fraction=0.1))
    for ending in (".sav", ".dta"):
        release.write(tmp_path / f"safe{ending}")
        again = mm.read(tmp_path / f"safe{ending}", keys=KEYS)
        assert shown(again, "age") == shown(release.released, "age")


def test_a_report_on_a_recode_or_a_subsample_does_not_say_that_nothing_changed(people):
    sample = mm.read(people, keys=KEYS, fraction=0.1)
    with without_warnings():
        for step in (mm.Recode("age", bands=[0, 40]), mm.Subsample(0.5)):
            found = mm.assess(step.apply(sample, rng=1), drop_one=False)
            assert "No record was changed" not in found.summary()
        still = mm.assess(mm.Swap("lad", rate=0.0).apply(sample, rng=1), drop_one=False)
    assert "No record was changed" in still.summary()
