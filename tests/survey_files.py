"""Files as agencies have them, made up: a census extract, an election survey, a labour force survey."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyreadstat

RECORDS = 1500
SECRET = "Qz7canary"


class Maker:
    """Columns of random values that hold SECRET wherever they are texts."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def codes(self, categories, first=1):
        return self.rng.integers(first, first + categories, RECORDS)

    def texts(self, categories):
        return [f"{SECRET}{code}" for code in self.codes(categories)]

    def amounts(self):
        return np.round(self.rng.lognormal(7, 1, RECORDS), 2)

    def weights(self):
        return np.round(self.rng.uniform(200, 900, RECORDS), 3)


def census_extract():
    """Return 42 columns of a census: most have few categories, and few of them are widely known."""
    make = Maker(1)
    few = {
        "class of worker": 9, "education": 17, "enroll in edu inst last wk": 3, "marital stat": 7,
        "major industry code": 24, "major occupation code": 15, "race": 5, "hispanic origin": 10,
        "sex": 2, "member of a labor union": 3, "reason for unemployment": 6,
        "full or part time employment stat": 8, "tax filer stat": 6,
        "region of previous residence": 6, "state of previous residence": 51,
        "detailed household and family stat": 38, "detailed household summary in household": 8,
        "migration code-change in msa": 10, "migration code-change in reg": 9,
        "migration code-move within reg": 10, "live in this house 1 year ago": 3,
        "migration prev res in sunbelt": 4, "family members under 18": 5,
        "country of birth father": 43, "country of birth mother": 43, "country of birth self": 43,
        "citizenship": 5, "fill inc questionnaire for veteran's admin": 3, "income": 2,
    }  # fmt: skip
    numbers = {
        "detailed industry recode": 52, "detailed occupation recode": 47,
        "num persons worked for employer": 7, "own business or self employed": 3,
        "veterans benefits": 3, "weeks worked in year": 53, "year": 2,
    }  # fmt: skip
    some = {
        name: np.where(make.rng.random(RECORDS) < 0.9, 0, make.codes(90) * 101)
        for name in ("wage per hour", "capital gains", "capital losses", "dividends from stocks")
    }
    return pl.DataFrame(
        {"age": make.codes(91, first=0)}
        | {name: make.texts(size) for name, size in few.items()}
        | {name: make.codes(size, first=0) for name, size in numbers.items()}
        | some
        | {"instance weight": make.weights()}
    )


def write_election_survey(path):
    """Write a survey whose columns are told by their labels alone, with continuous scores."""
    make = Maker(2)
    coded = {
        "V10": ("State of residence", 20), "V12": ("Respondent gender", 2),
        "V13": ("Marital status", 6), "V14": ("Race/ethnicity of respondent", 6),
        "V15": ("Highest level of education", 12), "V20": ("Party identification", 7),
        "V21": ("Should federal spending on child care be increased?", 5),
        "V22": ("How important is religion in your life?", 4),
        "V23": ("Family income", 28),
    }  # fmt: skip
    ages = np.where(make.rng.random(RECORDS) < 0.02, 999, make.codes(70, first=18))
    frame = {"caseid": np.arange(RECORDS) + 1.0, "V11": ages * 1.0}
    labels = {"caseid": "Case ID", "V11": "Age of respondent in years"}
    values = {}
    for name, (label, size) in coded.items():
        frame[name], labels[name] = make.codes(size) * 1.0, label
        values[name] = {code + 1.0: f"{SECRET}{code}" for code in range(size)}
    for number, who in enumerate(("Democrats", "Republicans", "Hispanics", "Christians")):
        name = f"V3{number}"
        frame[name] = np.round(np.clip(make.rng.normal(50, 25, RECORDS), 0, 100))
        labels[name] = f"Feeling thermometer: {who}"
    frame["V40"], labels["V40"] = make.rng.normal(0, 1, RECORDS), "Left-right score"
    frame["V41"], labels["V41"] = make.rng.uniform(0.5, 1.5, RECORDS), "Post-election weight"
    pyreadstat.write_sav(
        pl.DataFrame(frame),
        path,
        column_labels=labels,
        variable_value_labels=values,
        missing_ranges={"V11": [999]},
    )


def labour_force_survey():
    """Return a survey of households with German names; every district lies in one state."""
    make = Maker(3)
    home = np.repeat(np.arange(RECORDS), make.rng.integers(1, 5, RECORDS))[:RECORDS]
    district = make.codes(24, first=0)[home]
    return pl.DataFrame(
        {
            "hid": home + 10_000,
            "pid": np.arange(RECORDS) + 500_000,
            "Bundesland": district // 4,
            "Kreis": district,
            "Geschlecht": make.codes(2),
            "Alter": make.codes(96, first=0),
            "Familienstand": make.codes(5),
            "Staatsangehoerigkeit": make.codes(7),
            "Beruf": make.codes(30),
            "Nettoeinkommen": make.amounts(),
            "hhrf": make.weights(),
            "phrf": make.weights(),
            "w": make.codes(3, first=0),
        }
    )


def health_register():
    """Return a register with names, dates, kilograms and free text, and some missing values."""
    make = Maker(4)
    days = [f"{1930 + n % 80}-{n % 12 + 1:02}-{n % 28 + 1:02}" for n in range(RECORDS)]
    return pl.DataFrame(
        {
            "PatientID": [f"{SECRET}{n}" for n in range(RECORDS)],
            "last_name": [f"{SECRET}{n}" for n in range(RECORDS)],
            "date_of_birth": days,
            "birth_year": make.codes(90, first=1920),
            "gender": [None if n % 50 == 0 else f"{SECRET}{n % 2}" for n in range(RECORDS)],
            "municipality": make.codes(150),
            "weight": np.round(make.rng.normal(75, 12, RECORDS), 1),
            "height": np.round(make.rng.normal(170, 10, RECORDS)),
            "hospital": make.texts(12),
            "notes": [
                f"{SECRET} came in with a complaint that has the number {n}" for n in range(RECORDS)
            ],
        }
    )
