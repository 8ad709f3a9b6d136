"""A synthetic census of the shape of the paper's: six keys, K = 538,560 cells, 1.47 million people.

Nobody in it exists. Margins are in the style of published census tables; marital status and
activity depend on age and sex, age and place on ethnic group, activity on place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter.checks import check_fraction, check_whole
from maskmeter.data.source import Source
from maskmeter.streams import AliasTable, RandomSource, seed_of, uniforms
from maskmeter.types import Array

PAPER_SIZE = 1_468_255


class _District(NamedTuple):
    share: float  # of the people, in percent
    mix: float  # size of the minority groups, against the average
    hardship: float  # unemployment and sickness, against the average


class _Ethnicity(NamedTuple):
    share: float  # of the people, in percent
    youth: float  # tilt towards the young
    gathers: float  # how much it follows the districts' mix
    marries: float  # how common marriage is, against the average


_DISTRICTS = {
    "Ashbourne Vale": _District(13.5, 0.45, 0.8),
    "Castleford": _District(13.0, 1.30, 1.3),
    "Dunmere": _District(12.0, 0.25, 1.0),
    "Eastwick": _District(11.0, 3.20, 1.6),
    "Fenland": _District(10.0, 0.18, 1.1),
    "Harrowgate": _District(9.5, 0.90, 0.7),
    "Kingsport": _District(8.5, 2.20, 1.4),
    "Marlow Heath": _District(7.5, 0.40, 0.6),
    "Northam": _District(6.0, 0.25, 1.2),
    "Oakhampton": _District(5.0, 0.50, 0.9),
    "Penrose": _District(4.0, 0.12, 1.0),
}
_SEXES = ("Female", "Male")

# Age group: share (%), in the order of age.
_AGES = {
    "0-2": 3.5, "3-4": 2.4, "5-7": 3.8, "8-9": 2.6, "10-11": 2.6, "12-14": 3.9, "15": 1.3,
    "16-17": 2.5, "18-19": 2.4, "20-24": 6.0, "25-29": 6.7, "30-34": 7.6, "35-39": 7.9,
    "40-44": 7.1, "45-49": 6.4, "50-54": 6.9, "55-59": 5.7, "60-64": 4.9, "65-69": 4.4,
    "70-74": 4.0, "75-79": 3.4, "80-84": 2.2, "85-89": 1.2, "90 and over": 0.6,
}  # fmt: skip

_ETHNICITIES = {
    "White British": _Ethnicity(87.0, 0.00, -0.10, 1.0),
    "White Irish": _Ethnicity(1.35, -0.35, 0.80, 0.9),
    "White Traveller": _Ethnicity(0.08, 0.60, 0.20, 1.2),
    "Other White": _Ethnicity(2.50, 0.15, 0.90, 0.9),
    "White and Black Caribbean": _Ethnicity(0.46, 1.10, 1.00, 0.6),
    "White and Black African": _Ethnicity(0.20, 1.00, 1.00, 0.7),
    "White and Asian": _Ethnicity(0.38, 0.95, 0.90, 0.9),
    "Other Mixed": _Ethnicity(0.32, 0.85, 0.90, 0.8),
    "Indian": _Ethnicity(1.95, 0.30, 1.20, 1.8),
    "Pakistani": _Ethnicity(1.40, 0.70, 1.30, 2.2),
    "Bangladeshi": _Ethnicity(0.55, 0.85, 1.30, 2.2),
    "Other Asian": _Ethnicity(0.50, 0.35, 1.00, 1.7),
    "Black Caribbean": _Ethnicity(1.05, 0.10, 1.30, 0.5),
    "Black African": _Ethnicity(0.95, 0.55, 1.20, 0.8),
    "Other Black": _Ethnicity(0.25, 0.70, 1.10, 0.6),
    "Chinese": _Ethnicity(0.45, 0.30, 0.80, 1.3),
    "Other": _Ethnicity(0.40, 0.35, 1.00, 1.2),
}
_MARITAL = ("Single", "Married", "Remarried", "Separated", "Divorced", "Widowed")
_ACTIVITIES = (
    "Employee, full-time", "Employee, part-time", "Self-employed", "Unemployed", "Student",
    "Retired", "Looking after home", "Permanently sick", "Other inactive", "Under 16",
)  # fmt: skip

_ADULT = 7  # the first age group that may marry and work


def synthetic_census(*, size: int = PAPER_SIZE, rng: RandomSource = 2001) -> pl.DataFrame:
    """Return a census of `size` invented people with six keys.

    >>> synthetic_census(size=1000).columns
    ['lad', 'sex', 'age', 'marital', 'ethnicity', 'activity']
    """
    check_whole(size, name="size", least=1)
    seed = seed_of(rng)

    def draw(name: str, table: Array, *given: NDArray[np.int64]) -> NDArray[np.int64]:
        rows = table.reshape(-1, table.shape[-1])
        rows = rows / rows.sum(axis=1, keepdims=True)
        row = np.ravel_multi_index(given, table.shape[:-1]) if given else np.zeros(size, np.int64)
        return AliasTable.of(rows).draw(row, uniforms(seed, name, start=0, stop=size))

    ethnicity = draw("ethnicity", _each(_ETHNICITIES, "share"))
    lad = draw("lad", _lad_given_ethnicity(), ethnicity)
    age = draw("age", _age_given_ethnicity_and_lad(), ethnicity, lad)
    sex = draw("sex", _sex_given_age(), age)
    marital = draw("marital", _marital_given_age_sex_ethnicity(), age, sex, ethnicity)
    activity = draw("activity", _activity_given_age_sex_marital_lad(), age, sex, marital, lad)
    columns = {
        "lad": (lad, tuple(_DISTRICTS)),
        "sex": (sex, _SEXES),
        "age": (age, tuple(_AGES)),
        "marital": (marital, _MARITAL),
        "ethnicity": (ethnicity, tuple(_ETHNICITIES)),
        "activity": (activity, _ACTIVITIES),
    }
    return pl.DataFrame({name: _labelled(*column) for name, column in columns.items()})


def bernoulli_sample(population: Any, *, fraction: float, rng: RandomSource = None) -> Any:
    """Return the rows of a frame that are kept, each on its own, with probability `fraction`.

    A file is read whole and comes back as a Polars frame.

    >>> len(bernoulli_sample(synthetic_census(size=1000), fraction=1.0))
    1000
    """
    check_fraction(fraction)
    given = Source.of(population)
    frame = given.columns(given.names)
    kept = uniforms(seed_of(rng), "sample", start=0, stop=len(frame)) < fraction
    return frame[np.flatnonzero(kept)].to_native()


def _labelled(codes: NDArray[np.int64], labels: tuple[str, ...]) -> pl.Series:
    return pl.Series(labels, dtype=pl.Enum(labels)).gather(codes)


def _middle_of_ages() -> Array:
    """Return an age for each group, in years."""
    firsts = np.array([int(label.split("-")[0].split()[0]) for label in _AGES], dtype=np.float64)
    middles: Array = firsts + np.append(np.diff(firsts) / 2, 3)
    return middles


def _rising(years: Array, *, start: float, width: float) -> Array:
    """Return a smooth step from 0 to 1 that is half-way at `start`."""
    return 1 / (1 + np.exp(-(years - start) / width))


def _each(table: dict[str, _District] | dict[str, _Ethnicity], name: str) -> Array:
    """Return one figure of every district or group."""
    return np.array([getattr(row, name) for row in table.values()], dtype=np.float64)


def _lad_given_ethnicity() -> Array:
    follows = _each(_ETHNICITIES, "gathers")
    table: Array = _each(_DISTRICTS, "share") * _each(_DISTRICTS, "mix") ** follows[:, None]
    return table


def _age_given_ethnicity_and_lad() -> Array:
    years = (_middle_of_ages() - 38) / 40
    lean = _each(_ETHNICITIES, "youth")[:, None] + 0.15 * np.log(_each(_DISTRICTS, "mix"))
    table: Array = np.array(list(_AGES.values())) * np.exp(-lean[:, :, None] * years)
    return table


def _sex_given_age() -> Array:
    female = 0.488 + 0.25 * _rising(_middle_of_ages(), start=82, width=6)
    return np.stack([female, 1 - female], axis=1)


def _marital_given_age_sex_ethnicity() -> Array:
    years, old = _middle_of_ages(), np.maximum(_middle_of_ages() - 55, 0)
    marries = _each(_ETHNICITIES, "marries")
    table = np.zeros((len(_AGES), len(_SEXES), len(_ETHNICITIES), len(_MARITAL)))
    for sex, (earlier, outlives) in enumerate([(1.5, 1.0), (0.0, 0.3)]):  # women, then men
        wed = _rising(years, start=28 - earlier, width=2.5)
        columns = {
            "Single": 3 * np.exp(-(years - 18) / 9) + 0.12,
            "Married": wed,
            "Remarried": 0.17 * _rising(years, start=40 - earlier, width=5),
            "Separated": 0.045 * _rising(years, start=31 - earlier, width=4) * np.exp(-old / 9),
            "Divorced": 0.19 * _rising(years, start=37 - earlier, width=5) * np.exp(-old / 9),
            "Widowed": outlives * wed * np.exp((years - 78) / 8),
        }
        table[:, sex] = np.stack([columns[name] for name in _MARITAL], axis=1)[:, None, :]
    table[..., _MARITAL.index("Married")] *= marries
    table[..., _MARITAL.index("Divorced")] /= marries
    table[:_ADULT, ..., 1:] = 0
    return table


def _activity_given_age_sex_marital_lad() -> Array:
    years = _middle_of_ages()
    table = np.zeros((len(_AGES), len(_SEXES), len(_MARITAL), len(_DISTRICTS), len(_ACTIVITIES)))
    works = _rising(years, start=19, width=2)
    for sex, (full, part, own, home, leaves) in enumerate(
        [(0.55, 0.42, 0.05, 0.20, 60.5), (1.0, 0.07, 0.17, 0.012, 63.5)]  # women, then men
    ):
        stops = _rising(years, start=leaves, width=1.8)
        columns = {
            "Employee, full-time": full * works * (1 - stops),
            "Employee, part-time": part * works * (1 - _rising(years, start=leaves + 2, width=2)),
            "Self-employed": own
            * _rising(years, start=31, width=6)
            * (1 - _rising(years, start=65, width=2)),
            "Unemployed": 0.07 * (1 - stops),
            "Student": 3 * np.exp(-(years - 17) / 2.2),
            "Retired": 3 * stops,
            "Looking after home": home * _rising(years, start=22, width=4) * (1 - 0.9 * stops),
            "Permanently sick": 0.16 * _rising(years, start=45, width=9) * (1 - stops),
            "Other inactive": 0.04 * (1 - 0.7 * stops),
            "Under 16": np.zeros(len(years)),
        }
        table[:, sex] = np.stack([columns[name] for name in _ACTIVITIES], axis=1)[:, None, None, :]
    married = [_MARITAL.index("Married"), _MARITAL.index("Remarried")]
    for name, factor in {"Employee, part-time": 1.4, "Looking after home": 1.6}.items():
        table[:, :, married, :, _ACTIVITIES.index(name)] *= factor
    hardship = _each(_DISTRICTS, "hardship")
    for name, power in {"Unemployed": 1.0, "Permanently sick": 0.8, "Self-employed": -0.4}.items():
        table[..., _ACTIVITIES.index(name)] *= hardship**power
    table[:_ADULT] = 0
    table[:_ADULT, ..., _ACTIVITIES.index("Under 16")] = 1
    return table
