"""The starter plan of a file: its keys, weights, step and release, and that it runs as it is."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import maskmeter as mm
from command import run
from maskmeter.data.column_roles import names_household, names_identifier, names_weights
from maskmeter.plan import read_plan, read_task
from maskmeter.plan.key_topics import topic_of
from maskmeter.plan.starter import write_starter
from rejection import SECRET as TYPED
from rejection import rejected
from survey_files import (
    RECORDS,
    SECRET,
    census_extract,
    health_register,
    labour_force_survey,
    write_election_survey,
)


def started(source, **said):
    """Return the plan that is started from a file, what it was made of and its text."""
    target = source.with_name("plan.toml")
    made = write_starter(source, target, **said)
    text = target.read_text(encoding="utf-8")
    assert SECRET not in text
    return read_plan(target).plan, made, text


def assessed(source, *options):
    return run(
        "assess", source.name, "--plan", "plan.toml", "--out", "out", "--quiet", *options,
        folder=source.parent,
    )  # fmt: skip


def saved(frame, path):
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    return path


def test_a_census_extract_gets_eight_keys_and_no_amount_among_them(tmp_path):
    source = saved(census_extract(), tmp_path / "census.csv")
    plan, made, text = started(source)

    assert len(made.found.columns) == 42
    assert plan.data.keys == [
        "sex", "age", "race", "marital stat", "country of birth self", "citizenship",
        "major occupation code", "education",
    ]  # fmt: skip
    assert plan.data.bands["age"] == [0, 16, 25, 35, 45, 55, 65, 75, 85]
    assert plan.data.weights == "instance weight"
    assert '"capital gains": an amount, which an intruder seldom knows' in text
    assert [step.key for step in plan.step] == ["country of birth self"]
    assert "no key is a place" in text
    task = read_task(read_plan(source.with_name("plan.toml")), source)
    assert mm.protect(task.sample, task.steps, rng=1).rare[0].records == made.step.reached


def test_labels_tell_the_keys_of_an_election_survey_and_scores_are_none(tmp_path):
    source = tmp_path / "election.sav"
    write_election_survey(source)
    plan, made, text = started(source)

    assert plan.data.keys == ["V10", "V12", "V11", "V14", "V13", "V15"]
    assert '"V10",  # place: neighbours and registers know it; 20 categories; label: State' in text
    assert plan.data.missing == "category"
    assert plan.data.weights is None
    assert '"V41": named like weights, but their sum is about the number of records' in text
    assert plan.release.renumber == ["caseid"]
    assert plan.release.shuffle
    (step,) = plan.step
    assert (step.key, step.carry) == ("V10", [])
    assert 0 < made.step.reached < RECORDS
    done = assessed(source, "--fraction", "0.01")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_household_survey_gets_weights_of_people_and_carries_the_state_of_a_district(
    tmp_path, ending
):
    source = saved(labour_force_survey(), tmp_path / f"survey{ending}")
    plan, _, text = started(source)

    assert plan.data.keys == [
        "Kreis", "Geschlecht", "Alter", "Familienstand", "Staatsangehoerigkeit", "Beruf",
    ]  # fmt: skip
    assert (plan.data.weights, plan.data.household) == ("phrf", "hid")
    assert 'also named like weights: "hhrf"' in text
    assert '"w": named like weights, but some are missing, infinite or not above 0' in text
    assert plan.release.renumber == ["pid"]
    assert plan.release.drop == ["hid"]  # whose members live in one Kreis
    (step,) = plan.step
    assert (step.key, step.carry) == ("Kreis", ["Bundesland"])
    assert '"Bundesland",  # Kreis tells it' in text
    if ending == ".csv":
        done = assessed(source)
        assert done.returncode == 0, done.stderr
        assert "with no blocker" in " ".join(done.stdout.split())


def test_a_register_loses_names_dates_of_birth_and_free_text(tmp_path):
    source = saved(health_register(), tmp_path / "register.parquet")
    plan, _, text = started(source)

    assert plan.data.keys == ["municipality", "gender", "birth_year", "hospital"]
    assert plan.data.codes == ["municipality"]
    assert plan.data.missing == "category"
    assert plan.data.bands["birth_year"][:2] == [1920, 1930]
    assert plan.release.drop == ["last_name", "date_of_birth", "notes"]
    assert plan.release.renumber == ["PatientID"]
    assert plan.data.weights is None
    assert '"weight": beside other measures of the body, these may be kilograms' in text
    done = assessed(source, "--fraction", "0.01")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("fraction", [0.0005, 0.02, 1.0])
def test_the_redraw_reaches_some_records_and_not_all_at_a_given_fraction(survey, fraction):
    plan, made, _ = started(survey, fraction=fraction)
    task = read_task(read_plan(survey.with_name("plan.toml")), survey)
    released = mm.protect(task.sample, task.steps, rng=1)

    assert plan.data.fraction == fraction
    assert plan.step[0].key == "lad"
    (rare,) = released.rare
    assert 0.02 * len(task.sample) <= rare.records <= 0.4 * len(task.sample)
    assert rare.records == made.step.reached


def test_the_step_holds_for_the_usual_fraction_and_says_how_to_change_it(survey):
    plan, _, text = started(survey)
    people = 100 * float(text.partition("With a fraction of f, write ")[2].split(" / f")[0])

    assert plan.data.fraction is None
    assert people == pytest.approx(plan.step[0].rarer_than, rel=0.01)


def test_finer_and_coarser_places_travel_with_the_district(tmp_path):
    rng = np.random.default_rng(5)
    district = rng.integers(0, 30, RECORDS)
    frame = pl.DataFrame(
        {
            "region": district // 6,
            "district": district,
            "parish": district * 9 + rng.integers(0, 9, RECORDS),
            "sex": rng.integers(0, 2, RECORDS),
            "age_group": rng.integers(0, 8, RECORDS),
            "ethnicity": np.minimum(rng.geometric(0.5, RECORDS), 6),
        }
    )
    plan, _, _ = started(saved(frame, tmp_path / "a.csv"))

    assert plan.data.keys == ["district", "sex", "age_group", "ethnicity"]
    assert plan.step[0].key == "district"
    assert plan.step[0].carry == ["region", "parish"]


def test_a_year_of_birth_beside_ages_in_bands_is_left_out_of_the_file(tmp_path):
    rng = np.random.default_rng(6)
    age, sex, region = (rng.integers(0, size, RECORDS) for size in (95, 2, 7))
    frame = pl.DataFrame({"age": age, "yob": 2024 - age, "region": region, "sex": sex})
    plan, _, text = started(saved(frame, tmp_path / "a.csv"))

    assert plan.data.keys == ["region", "sex", "age"]
    assert plan.release.drop == ["yob"]
    assert '"yob",  # it tells age more closely than its bands' in text


def test_columns_with_silent_names_are_keys_only_where_no_others_are(tmp_path):
    rng = np.random.default_rng(7)
    silent = {f"v{size}": rng.integers(0, size, RECORDS) for size in (3, 5, 6, 7, 9)}
    frame = pl.DataFrame(silent | {"x": rng.normal(0, 1, RECORDS)})
    plan, _, text = started(saved(frame, tmp_path / "a.csv"))
    (tmp_path / "plan.toml").unlink()
    named = frame.with_columns(sex=pl.col("v3") % 2, region=pl.col("v9"))
    known, _, _ = started(saved(named, tmp_path / "b.csv"))

    assert plan.data.keys == ["v9", "v7", "v6", "v5"]
    assert "a guess by its categories alone" in text
    assert known.data.keys == ["region", "sex"]


@pytest.fixture
def survey(town, tmp_path):
    return saved(mm.bernoulli_sample(town, fraction=0.02, rng=3), tmp_path / "survey.csv")


def test_the_disabled_parts_of_a_starter_plan_work_once_enabled(survey, tmp_path):
    text = started(survey)[2]
    left = ("# A plan", "# age = [0", "# [data.bands]", '# weights = "w"', "# household", "# popul")
    kept = [line for line in text.splitlines() if not line.startswith(left)]
    on = [
        line.removeprefix("# ")
        if line.startswith("# ") and (" = " in line or line[2] == "[")
        else line
        for line in kept
    ]
    (tmp_path / "on.toml").write_text("\n".join(on), encoding="utf-8")
    task = read_task(read_plan(tmp_path / "on.toml"), survey)

    assert len(task.steps) == 1
    assert list(task.candidates) == ["swap 20%"]
    assert task.family.target is not None
    assert task.tables
    assert task.target.max_share == 0.05
    assert list(task.scenarios) == ["keys of the plan", "neighbour"]


def test_a_file_without_usable_columns_still_gets_a_starter_plan(tmp_path):
    plan, made, text = started(saved(pl.DataFrame({"x": [1, 1, 1]}), tmp_path / "a.csv"))

    assert (plan.data.keys, plan.step, made.step) == ([], [], None)
    assert '"x": the same value in every record' in text
    assert "# No step is enabled: a redraw needs two keys" in text


def test_odd_names_labels_and_values_make_a_plan_that_can_be_read(tmp_path):
    rng = np.random.default_rng(8)
    ages = np.where(rng.random(RECORDS) < 0.05, -9, rng.integers(0, 99, RECORDS))
    frame = pl.DataFrame(
        {
            "region\ncity": rng.integers(0, 9, RECORDS),
            'se"x': rng.integers(0, 2, RECORDS),
            "age": ages,
            "count": ages,
            "*": ages,
            "w": np.where(ages > 90, np.inf, 5.0),
            "lists": [[1]] * RECORDS,
            "never": pl.Series([None] * RECORDS, dtype=pl.String),
        }
    )
    plan, made, text = started(saved(frame, tmp_path / "a.parquet"))

    assert plan.data.keys == ["region\ncity", "age"]
    assert plan.data.bands["age"][:3] == [-10, 0, 16]
    assert plan.data.weights is None
    assert made.unnamed == 1
    assert '"lists": it holds lists' in text


def test_no_plan_is_overwritten_and_no_folder_made(survey):
    started(survey)
    with pytest.raises(mm.MaskmeterError, match="already exists"):
        write_starter(survey, survey.with_name("plan.toml"))
    with pytest.raises(mm.MaskmeterError, match="no such directory"):
        write_starter(survey, survey.parent / "none" / "plan.toml")


@pytest.mark.parametrize(
    "rows",
    [
        f"{TYPED},30\nother,41\nthird,25",
        f"{TYPED},north\nother,south\n{TYPED},east",
        f"{TYPED} 1,2001-02-03\nother 2,2003-04-05",
        f"{TYPED}-01,north\nthesec-value-02,south\nanothe-value-03,west",
        f"{TYPED}@x.org,north\nother@y.org,south",
        f"{TYPED} Huber,Graz {TYPED}\nEva Maier,Linz\nUwe Dorn,Wien\nIda Kern,Wels",
        f"{TYPED},,x\nother,b,y",
    ],
)
def test_a_first_row_that_is_a_record_is_refused_and_not_shown(tmp_path, rows):
    (tmp_path / "a.csv").write_text(f"{rows}\n")

    rejected(lambda: write_starter(tmp_path / "a.csv", tmp_path / "plan.toml"), "first row looks")
    assert not (tmp_path / "plan.toml").exists()


@pytest.mark.parametrize("names", ["sex,region", "q1,q2", "Q1.2.3,code_01", ",region", "name,city"])
def test_a_first_row_of_names_is_taken_for_names(tmp_path, names):
    (tmp_path / "a.csv").write_text(f"{names}\n1,Graz\n2,Linz\n3,Wien\n4,Wels\n5,Linz\n")
    _, made, text = started(tmp_path / "a.csv")

    assert made.unnamed == names.startswith(",")
    assert ("without a usable name" in text) == names.startswith(",")


def test_the_command_shows_its_proposal_in_80_columns_and_as_json(survey):
    done = run("plan", "init", "survey.csv", folder=survey.parent)
    found = run("plan", "init", "survey.csv", "--json", "--out", "b.toml", folder=survey.parent)

    assert done.returncode == 0, done.stderr
    assert "Step: redraw of lad" in done.stdout
    assert "Review it, enter the fraction, then run:" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    told = json.loads(found.stdout)
    assert told["redraw"]["key"] == "lad"
    roles = {one["name"]: one["role"] for one in told["columns"]}
    assert roles["sex"] == "key"
    assert {"why", "topic", "categories", "missing"} <= told["columns"][0].keys()


class TestNames:
    """Names are told by their words, in several languages, and not by parts of words."""

    def test_topics(self):
        names = {
            "place": ["Region", "landkreis", "código postal", "gemeente", "województwo", "län"],
            "sex": [
                "gender",
                "Geschlecht",
                "sexe",
                "sexo",
                "sesso",
                "geslacht",
                "płeć",
                "kön",
                "køn",
            ],
            "age": ["AGE", "Alter", "âge", "edad", "età", "leeftijd", "idade", "wiek", "ålder"],
            "marital status": ["maritalStatus", "Familienstand", "état civil", "stan_cywilny"],
            "occupation": ["occ", "Beruf", "profesión", "beroep", "zawód", "yrke"],
            "citizenship": ["Staatsangehörigkeit", "Staatsangehoerigkeit", "nationalité"],
            "size of the household": ["hh_size", "Haushaltsgröße", "taille du ménage"],
            "amount": ["capital-gain", "Einkommen", "salaire", "hours worked per job"],
        }
        for topic, written in names.items():
            assert {name: topic_of(name).topic.name for name in written} == dict.fromkeys(
                written, topic
            )

    @pytest.mark.parametrize(
        "name", ["passage", "essex", "stage", "regional", "walter", "mother_sex"]
    )
    def test_parts_of_other_words_tell_nothing(self, name):
        assert topic_of(name) is None

    def test_identifiers_households_and_weights(self):
        identifiers = [
            "id",
            "PID",
            "hhid",
            "person_id",
            "caseNo",
            "e_mail",
            "Personennummer",
            "id_nr",
        ]
        assert all(map(names_identifier, identifiers))
        assert not any(map(names_identifier, ["idea", "paid", "person", "case", "width", "cid_"]))
        assert all(
            map(names_household, ["hid", "HH_ID", "household", "Haushaltsnummer", "id_ménage"])
        )
        assert not any(map(names_household, ["hh_size", "household income", "hidden"]))
        assert all(map(names_weights, ["w", "pw", "wgt2", "PHRF", "poids", "factor de expansión"]))
        assert not any(map(names_weights, ["weightless", "two", "power", "wave"]))
