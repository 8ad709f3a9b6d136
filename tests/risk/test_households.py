"""The risk of households: counting them, bounds, results, cautions and errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import maskmeter as mm
from chance.test_households import KEYS, street
from maskmeter.data.households import Homes
from maskmeter.errors import LargeHouseholdWarning, PopulationMismatchWarning, without_warnings
from maskmeter.mechanism import joint


@pytest.fixture(scope="module")
def people():
    return street(size=4000)


@pytest.fixture(scope="module")
def table(people):
    return mm.count_households(people, keys=KEYS)


@pytest.fixture(scope="module")
def sample(people, table):
    return mm.read(drawn(people), keys=table.space, fraction=0.1)


@pytest.fixture(scope="module")
def release(sample):
    return mm.Swap("lad", rate=0.2).apply(sample, rng=1)


def drawn(people, every=10):
    return people.filter(pl.col("hid") % every == 0)


def test_households_are_counted_alike_from_files_and_every_kind_of_frame(people, table, tmp_path):
    small = people.head(2000).with_columns(note=pl.lit("never read"))
    wanted = mm.count_households(small, keys=KEYS)
    small.write_parquet(tmp_path / "people.parquet")
    texts = small.with_columns(hid=pl.format("home {}", "hid"))

    for source in (small.to_pandas(), small.to_arrow(), small.lazy(), tmp_path / "people.parquet"):
        assert mm.count_households(source, keys=KEYS) == wanted
    for source in (texts, texts.to_pandas(), small.sample(fraction=1, shuffle=True, seed=1)):
        assert mm.count_households(source, keys=KEYS) == wanted
    mixed = small.to_pandas()
    mixed["hid"] = [one if one % 2 else str(one) for one in mixed["hid"]]
    assert mm.count_households(mixed, keys=KEYS) == wanted
    assert isinstance(mm.count_households(small.to_pandas(), keys=KEYS).to_frame(), pd.DataFrame)
    assert wanted != mm.count_households(small, keys=KEYS[:2])
    assert wanted != "households"
    assert wanted.people == len(small)
    assert wanted.total == small["hid"].n_unique()
    assert f"{wanted.total:,} households of 2,000 people" in wanted.summary()


def test_a_projected_table_is_the_count_of_fewer_keys(people, table):
    few = mm.count_households(people, keys=["ethnicity", "sex"])

    assert table.project("ethnicity,sex") == few
    assert table.onto(few.space) == few
    assert table.persons == mm.count(people, keys=KEYS)


def test_invalid_households_are_rejected(people, table, sample):
    gaps = people.with_columns(hid=pl.when(pl.col("hid") > 3).then("hid"))
    missing = int(gaps["hid"].null_count())
    with pytest.raises(
        mm.MaskmeterError, match=rf"{missing} of .* records? ha.* no value for 'hid'"
    ):
        mm.count_households(gaps, keys=KEYS)
    with pytest.raises(mm.MaskmeterError, match="Did you mean 'hid'"):
        mm.count_households(people, keys=KEYS, household="hidd")
    with pytest.raises(mm.MaskmeterError, match="cannot be a key as well"):
        mm.count_households(people, keys=[*KEYS, "hid"])
    with pytest.raises(mm.MaskmeterError, match=r"households \(mm.count_households\)"):
        mm.household_risk(sample, mm.count(people, keys=KEYS))
    keyed = mm.read(people.head(100), keys=[*KEYS, "hid"], fraction=0.1)
    with pytest.raises(mm.MaskmeterError, match="cannot be a key as well"):
        mm.household_risk(keyed)
    with pytest.raises(mm.MaskmeterError, match="column 'joint_key' of its own"):
        mm.count_households(people.rename({"sex": "joint_key"}), keys=["joint_key"]).to_frame()


def test_a_known_population_gives_an_exact_total(release, table):
    risk = mm.household_risk(release, table)
    frame = risk.to_frame()

    assert risk.total == risk.at_least == risk.at_most == pytest.approx(frame["risk"].sum())
    assert risk.uniques == len(frame) == np.isfinite(risk.by_household).sum()
    assert len(risk.by_household) == risk.households
    assert risk.share == pytest.approx(risk.total / risk.unprotected)
    assert frame.columns == ["hid", "members", "risk"]
    assert 0 < risk.without_target < risk.uniques
    assert f"{risk.without_target} of the unique households" in risk.summary()
    assert "of 400 households" in repr(risk)
    assert "expected correct matches" in risk._repr_html_()
    assert risk.plot() is not None


def test_without_a_population_there_are_bounds_and_no_total(release, table):
    informed = {"intruder": "informed"}
    with without_warnings():
        bounds = mm.household_risk(release, **informed)
        members = mm.estimate_risk(release, household="hid", interval="none", **informed)
        matching = mm.household_risk(release)

    assert (matching.at_least, matching.at_most) == (0, matching.uniques)
    assert bounds.total is None
    assert bounds.share is None
    assert 0 < bounds.at_least < bounds.at_most == bounds.uniques
    assert members.household_bounds == (pytest.approx(bounds.at_least), bounds.uniques)
    assert f"at least {bounds.at_least:.1f} and at most {bounds.uniques:,}" in members.summary()
    assert bounds.to_frame().columns == ["hid", "members", "at_least"]
    assert f"at least {bounds.at_least:.1f}" in repr(bounds)
    assert "at most" in bounds._repr_html_()


def test_members_bound_the_risk_of_households_from_below_where_nothing_moved(sample, people, table):
    exact = mm.household_risk(sample, table)
    persons = mm.exact_risk(sample, mm.count(people, keys=KEYS))
    place = sample.groups("hid")
    for row, risk in zip(persons.records, persons.by_unique, strict=True):
        assert exact.by_household[place[row]] >= risk


def test_households_of_the_kind_of_the_user_come_back(people, table):
    read = mm.read(drawn(people).to_pandas(), keys=table.space, fraction=0.1)

    assert isinstance(mm.household_risk(read, table).to_frame(), pd.DataFrame)


def test_a_recode_joins_the_categories_of_the_population_too(sample, people, table):
    groups = {"north": [0, 1, 2, 3], "south": [4, 5, 6, 7, 8, 9, 10]}
    recoded = mm.Recode("lad", groups=groups).apply(sample)
    coarse = people.with_columns(lad=(pl.col("lad") > 3).cast(pl.Int64))
    by_hand = mm.count_households(coarse, keys=KEYS)
    read = mm.read(drawn(coarse), keys=by_hand.space, fraction=0.1)

    found = mm.household_risk(recoded, table)
    assert found.total == pytest.approx(mm.household_risk(read, by_hand).total)
    assert found.total < mm.household_risk(sample, table).total


def test_households_must_be_sampled_as_a_whole(sample, people, table):
    part = mm.Subsample(0.5).apply(sample, rng=1)
    with pytest.raises(mm.MaskmeterError, match="households are not whole"):
        mm.household_risk(part, table)
    by_sex = mm.by("sex", {0: 0.1, 1: 0.2})
    uneven = mm.read(drawn(people), keys=table.space, fraction=by_sex)
    assert mm.household_risk(uneven, table).total > 0  # inclusion does not matter there
    moved = mm.Swap("lad", rate=0.2).apply(uneven, rng=1)
    with pytest.raises(mm.MaskmeterError, match="fraction differs between members"):
        mm.household_risk(moved, table)
    by_place = mm.by("lad", {0: 0.05}, otherwise=0.1)
    shared = mm.read(drawn(people), keys=table.space, fraction=by_place)
    assert mm.household_risk(mm.Swap("lad", rate=0.2).apply(shared, rng=1), table).total > 0


def test_a_sample_of_people_and_not_of_households_is_warned_of(people, table):
    some = people.filter(pl.int_range(pl.len()) % 7 == 0)
    with pytest.warns(PopulationMismatchWarning, match="does not hold whole households"):
        mm.household_risk(mm.read(some, keys=table.space, fraction=0.1), table)


def institution(members):
    """A population with one house of many members, who agree on all but their district."""
    hid = np.append(np.zeros(members, dtype=np.int64), np.arange(1, 400))
    lad = np.append(np.arange(members) % 13, np.arange(399) % 13)
    age = np.append(np.zeros(members, dtype=np.int64), np.arange(399) % 5)
    return pl.DataFrame({"hid": hid, "lad": lad, "age": age})


@pytest.mark.parametrize("intruder", ["exact-match", "informed"])
def test_a_house_too_large_to_measure_counts_with_its_upper_bound(intruder):
    frame = institution(26)
    table = mm.count_households(frame, keys=["lad", "age"])
    sample = mm.read(frame, keys=table.space, fraction=0.5)
    errors = {"lad": mm.stay_or_move(13, stay=0.5)}
    with pytest.warns(LargeHouseholdWarning, match="1 household of more than twelve members"):
        risk = mm.household_risk(sample, table, intruder=intruder, misclassification=errors)

    assert risk.bounded == 1
    assert risk.by_household[0] == 1


def test_twelve_members_who_could_take_each_others_place_are_measured_exactly():
    frame = institution(12)
    table = mm.count_households(frame, keys=["lad", "age"])
    sample = mm.read(frame, keys=table.space, fraction=0.5)
    errors = {"lad": mm.stay_or_move(13, stay=0.5)}
    risk = mm.household_risk(sample, table, misclassification=errors)

    assert risk.bounded == 0
    assert risk.by_household[0] == 1  # no other house has as many members


def test_too_many_pairs_of_households_are_refused(sample, table, monkeypatch):
    monkeypatch.setattr(joint, "_MOST_PAIRS", 10)
    with pytest.raises(mm.MaskmeterError, match="pairs of households"):
        mm.household_risk(mm.Swap("lad", rate=0.2).apply(sample, rng=1), table)


@pytest.mark.parametrize("intruder", ["exact-match", "informed"])
@pytest.mark.parametrize("rate", [0.0, 0.3, 0.9])
def test_bounds_hold_the_exact_risk_of_households(sample, table, people, intruder, rate):
    """With the counts of people known, so that no model can be wrong about members."""
    data = sample if not rate else mm.Swap("lad", rate=rate).apply(sample, rng=3)
    with without_warnings():
        exact = mm.household_risk(data, table, intruder=intruder)
        members = mm.exact_risk(data, mm.count(people, keys=sample.space), intruder=intruder)
    homes = Homes.of(members.data, "hid")
    least = float(members.least_of(homes)[homes.unique].sum())

    assert least <= exact.total + 1e-9
    assert exact.total <= exact.uniques
