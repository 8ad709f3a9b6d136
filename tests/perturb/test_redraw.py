"""Redrawing a key of rare records: what it refuses, says, writes and repeats."""

from __future__ import annotations

import json
import pickle

import numpy as np
import polars as pl
import pytest

import maskmeter as mm
from command import run
from maskmeter.errors import (
    ManyRareWarning,
    SmallMarginWarning,
    UnusedMarginWarning,
    without_warnings,
)
from maskmeter.evidence.provenance import read_provenance
from maskmeter.risk.view import View

KEYS = ["lad", "sex", "age", "ethnicity"]


@pytest.fixture(scope="module")
def world(town):
    people = mm.bernoulli_sample(town, fraction=0.02, rng=4)
    people = people.with_columns(
        ward=pl.col("lad") + "/" + pl.col("sex"), income=pl.int_range(pl.len())
    )
    population = mm.count(town, keys=KEYS)
    return mm.read(people, keys=population.space, fraction=0.02), population


def test_a_release_says_whom_it_reached_and_whom_it_cannot_protect(world):
    sample, _ = world
    release = mm.Redraw("lad", rarer_than=200, model="score-path").apply(sample, rng=1)
    (rare,) = release.rare

    assert rare.others == ("sex", "age", "ethnicity")
    assert set(rare.terms) >= {"age"} or any("age" in term for term in rare.terms)
    assert 0 < rare.alone < rare.records
    said = release.summary()
    assert f"redrawn for {rare.records:,} records" in said
    assert "fewer than 200 people are expected to share their other keys" in said
    assert f"About {rare.alone:,.0f} of them" in said
    assert "no redraw of lad protects" in said
    assert list(release.rates["stratum"]) == ["rare records", "other records"]


def test_carried_columns_travel_with_the_key(world, tmp_path):
    sample, _ = world
    release = mm.Redraw("lad", rarer_than=200, carry="ward").apply(sample, rng=1)
    before, after = sample.to_frame(), release.to_frame()

    moved = (before["lad"] != after["lad"]).to_numpy()
    assert moved.any()
    home = after["ward"].str.split("/").list.first()
    assert (home == after["lad"]).all()  # a ward stays in its district
    assert not (after["ward"].str.split("/").list.last() == after["sex"]).all()
    assert after["income"].equals(before["income"])
    assert sorted(after["ward"]) == sorted(before["ward"])
    for ending in (".csv", ".parquet", ".sav", ".dta"):
        release.write(tmp_path / f"out{ending}")
        written = mm.read(tmp_path / f"out{ending}", keys=[*KEYS, "ward"]).to_frame()
        assert written["ward"].to_list() == after["ward"].to_list()
    loss = mm.information_loss(release, rows="lad", columns="ward")
    assert loss.raad == pytest.approx(100)  # what belongs together stays together


def test_the_carried_file_is_copied_byte_for_byte_but_for_its_columns(world, tmp_path):
    sample, _ = world
    sample.to_frame().write_csv(tmp_path / "in.csv")
    read = mm.read(tmp_path / "in.csv", keys=KEYS, fraction=0.02)
    release = mm.Redraw("lad", rarer_than=200, carry=["ward"]).apply(read, rng=1)
    release.write(tmp_path / "out.csv")
    both = [pl.read_csv(tmp_path / name) for name in ("in.csv", "out.csv")]

    for name in both[0].columns:
        assert both[0][name].equals(both[1][name]) == (name not in ("lad", "ward"))
    sub = mm.protect(read, [mm.Redraw("lad", 200, carry="ward"), mm.Subsample(0.5)], rng=1)
    kept = sub.to_frame()
    assert (kept["ward"].str.split("/").list.first() == kept["lad"]).all()


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda: mm.Redraw("lad", rarer_than=1e-9), r"reaches 0 records.*Raise it: 5% of the"),
        (lambda: mm.Redraw("lad", rarer_than=1e9), r"reaches every record.*Lower it.*swap the key"),
        (lambda: mm.Redraw(tuple(KEYS), rarer_than=5), r"needs other keys.*Add keys"),
        (lambda: mm.Redraw("lod", rarer_than=5), "No key named 'lod'"),
        (lambda: mm.Redraw("lad", rarer_than=0), "`rarer_than` must be a number above 0"),
        (lambda: mm.Redraw("lad", rarer_than=200, share=0), "`share` must be a number"),
        (lambda: mm.Redraw("lad", rarer_than=200, share=1e-6), r"less than two.*Raise `share`"),
        (lambda: mm.Redraw("lad", 200, carry="sex"), r"'sex', which is a key.*\('lad', 'sex'\)"),
        (lambda: mm.Redraw("lad", 200, carry="region"), "No column named 'region'"),
        (
            lambda: mm.Redraw("lad", 200, carry="lad"),
            "'lad', which moves itself. Leave it out",
        ),
        (lambda: mm.Redraw("lad", 200, others=("lad",)), "`others` names 'lad', which is itself"),
        (lambda: mm.Redraw("lad", 200, others=("agee",)), "No key named 'agee'"),
        (lambda: mm.Redraw("lad", 200, carry=5), "`carry` must be a list of columns"),
        (lambda: mm.Redraw(("lad", "lad"), rarer_than=5), "tuple of different names"),
    ],
)
def test_a_redraw_that_makes_no_sense_is_refused(world, step, message):
    sample, _ = world
    with pytest.raises(mm.MaskmeterError, match=message):
        step().apply(sample, rng=1)


def test_one_value_the_weights_and_arrays_are_refused(world):
    sample, _ = world
    frame = sample.to_frame()
    rare = pl.col("ethnicity") != "White British"
    lad = pl.col("lad").cast(pl.String)
    alike = frame.with_columns(lad=pl.when(rare).then(pl.lit("one")).otherwise(lad))
    read = mm.read(alike, keys=["lad", "ethnicity"], fraction=0.02)
    with pytest.raises(mm.MaskmeterError, match="have the same value of lad, so an exchange"):
        mm.Redraw("lad", rarer_than=20_000).apply(read, rng=1)
    weighted = frame.with_columns(w=pl.lit(50.0))
    read = mm.read(weighted, keys=KEYS, weights="w")
    with pytest.raises(mm.MaskmeterError, match="names the weights"):
        mm.Redraw("lad", rarer_than=200, carry="w").apply(read, rng=1)
    bare = mm.Microdata(sample.space, sample.codes, fraction=0.02)
    with pytest.raises(mm.MaskmeterError, match="have no columns to carry"):
        mm.Redraw("lad", rarer_than=200, carry="ward").apply(bare, rng=1)
    only = mm.read(frame, keys=["lad"], fraction=0.02)
    with pytest.raises(mm.MaskmeterError, match="needs other keys, by which records are rare"):
        mm.Redraw("lad", rarer_than=5).apply(only, rng=1)


def test_few_rare_records_for_each_category_are_a_caution_for_the_agency(world):
    sample, population = world
    with pytest.warns(SmallMarginWarning, match=r"fewer than 5 each.*informed risk includes this"):
        release = mm.Redraw("lad", rarer_than=10).apply(sample, rng=1)
    assert all(not one.public_text for one in release.cautions)
    view = View.of(release, counts=population)
    here, _ = view.uniques.exchanged.inside(view.uniques.cells)
    known = view.risk(intruder="informed").by_unique[here]
    people = population.project(KEYS[1:]).lookup(view.uniques.cells[here][:, 1:])
    assert known.sum() > 1.1 * (1 / people).sum()  # the margin tells much


def test_plans_and_provenance_hold_the_bound_and_the_terms(world, tmp_path):
    sample, _ = world
    sample.to_frame().write_csv(tmp_path / "people.csv")
    text = """
[data]
keys = ["lad", "sex", "age", "ethnicity"]
fraction = 0.02
[[step]]
method = "redraw"
key = "lad"
rarer_than = 200
carry = ["ward"]
model = "score-path"
[target]
max_record = 0.9
"""
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    source, plan = tmp_path / "people.csv", tmp_path / "plan.toml"
    done = run("assess", source, "--plan", plan, "--out", tmp_path / "one")
    assert done.returncode == 0, done.stderr
    made = read_provenance(tmp_path / "one" / "internal" / "provenance.json")
    (rare,) = made.rare
    assert (rare.rarer_than, rare.keys, rare.others) == (200, ("lad",), ("sex", "age", "ethnicity"))
    assert rare.terms
    assert 0 < rare.records < len(sample)
    found = json.loads(
        (tmp_path / "one" / "internal" / "assessment.json").read_text(encoding="utf-8")
    )
    assert found["target"]["max_record"] == 0.9
    assert "The largest risk of a record is" in found["verdict"]
    assert "alone in the population" in found["steps"][0]["note"]
    public = (tmp_path / "one" / "public.html").read_text(encoding="utf-8")
    assert "alone in the population" not in public
    assert "Redrawing of lad (and ward with it)" in public
    again = run(
        "protect",
        source,
        "--from",
        tmp_path / "one" / "internal" / "provenance.json",
        "--out",
        tmp_path / "b.csv",
    )
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "one" / "protected.csv").read_bytes()
    assert "were redrawn for" in again.stdout


def test_a_redraw_composes_with_other_steps(world):
    sample, population = world
    steps = [mm.Recode("age", groups={"young": list(sample.space["age"].categories[:6])})]
    release = mm.protect(sample, [*steps, mm.Redraw("lad", rarer_than=200)], rng=1)
    risks = [mm.exact_risk(release, population, intruder=who).total for who in ("exact-match", "informed")]  # fmt: skip
    assert 0 < risks[0] < risks[1] < mm.exact_risk(sample, population).total
    with without_warnings():
        both = mm.protect(sample, [mm.Redraw("lad", 200), mm.Pram("sex", stay=0.9)], rng=1)
    assert both.mechanism.factors[0].name == "lad x sex"
    assert both.mechanism.factors[0].margin is None  # another change has met it
    with pytest.warns(UnusedMarginWarning, match="may be some percent too low"):
        after = mm.exact_risk(both, population, intruder="informed").total
    with pytest.warns(UnusedMarginWarning):
        mm.estimate_risk(both, intruder="informed")
    assert after < mm.exact_risk(release, population, intruder="informed").total * 1.5
    halved = mm.protect(sample, [mm.Redraw("lad", 200), mm.Subsample(0.5)], rng=1)
    assert halved.mechanism.factors[0].margin is None  # nobody knows whose records were left out
    with pytest.raises(mm.MaskmeterError, match="recoded after a step that changes it or depends"):
        mm.protect(sample, [mm.Redraw("lad", 200), *steps], rng=1)


def test_categories_that_only_the_population_has_are_rare(world):
    """A population may have more categories of the other keys, in another order."""
    sample, population = world
    release = mm.Redraw("lad", rarer_than=200).apply(sample, rng=1)
    keys = [mm.Key(one.name, one.categories[::-1]) for one in sample.space.keys[::-1]]
    more = mm.KeySpace([mm.Key("ethnicity", (*keys[0].categories, "new")), *keys[1:]])
    moved = population.onto(mm.KeySpace(more.keys[::-1])).project([key.name for key in more.keys])
    unseen = mm.KeyTable.of(more, np.array([[keys[0].size, 0, 0, 0]]), counts=np.array([3]))
    codes = np.vstack([moved.onto(more).codes, unseen.codes])
    both = mm.KeyTable.of(more, codes, counts=np.append(moved.onto(more).counts, 3))
    for intruder in ("exact-match", "informed"):
        wanted = mm.exact_risk(release, population, intruder=intruder).total
        assert mm.exact_risk(release, both, intruder=intruder).total == pytest.approx(wanted)
    mechanism = release.mechanism.on(more)
    assert mechanism.factors[0].stratum(unseen.codes).tolist() == [1]
    frame = release.mechanism.to_frame()
    assert set(frame["stratum"]) == {
        "fewer than 200 people share the other keys",
        "at least 200 people share the other keys",
    }


@pytest.mark.parametrize("unknown", ["sex", "age", "ethnicity", "lad"])
def test_an_intruder_who_lacks_a_key_knows_how_likely_somebody_is_rare(world, unknown):
    """Twenty draws: (2.8) against what knowing who moved, (2.9), gives on average.

    Within 8 % or three standard errors: a false alarm in at most 3 of 1,000 fresh seeds each.
    """
    sample, population = world
    found = []
    for seed in range(20):
        release = mm.Redraw("lad", rarer_than=300).apply(sample, rng=seed)
        view = View.of(release, counts=population).without(unknown)
        kept = (view.sight.recorded.codes == view.sight.released.codes).all(axis=1)
        right = kept[view.sight.uniques] / np.maximum(view.uniques.own, 1)
        found.append((view.risk().total, right.sum()))
    expected, counted = np.mean(found, axis=0)
    error = np.std(np.diff(found, axis=1), ddof=1) / np.sqrt(len(found))

    assert abs(expected - counted) <= max(0.08 * counted, 3 * error)


@pytest.mark.parametrize("bound", [5, 10, 40, 200, 1000])
@pytest.mark.parametrize("known", ["lad,age", "lad,sex,ethnicity", "lad"])
def test_a_redraw_can_be_seen_through_any_keys(world, bound, known):
    """What seldom happens is not ruled out: every release through some keys is possible."""
    sample, _ = world
    with without_warnings():
        release = mm.Redraw("lad", rarer_than=bound).apply(sample, rng=1)
    seen = release.project(known)
    chance = seen.mechanism.prob(true=seen.truth.codes, released=seen.released.codes)

    assert (chance > 0).all()
    assert seen.changed.sum() == release.changed.sum()


def test_a_block_that_is_known_in_part_looks_like_a_redraw_of_that_part(world):
    sample, population = world
    seen = ["lad", "sex", "age"]
    with without_warnings(SmallMarginWarning):
        block = mm.Redraw(("lad", "ethnicity"), rarer_than=4000).apply(sample, rng=1)
        alone = mm.Redraw("lad", rarer_than=4000, others=("sex", "age")).apply(sample, rng=1)
    cells = population.project(seen).codes

    assert block.rare[0].others == alone.rare[0].others == ("sex", "age")
    stay = [one.project(seen).mechanism.stay(cells) for one in (block, alone)]
    assert 0 < stay[1].min() < stay[1].max() == 1
    np.testing.assert_allclose(*stay, atol=1e-12)


def test_redraws_that_depend_on_one_another_are_refused_before_memory_runs_out():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({f"k{n}": rng.integers(0, 8, 3000) for n in range(8)})
    sample = mm.read(frame, keys=frame.columns, fraction=0.1)
    with (
        without_warnings(),
        pytest.raises(mm.MaskmeterError, match="depend on one another and need one matrix"),
    ):
        mm.protect(
            sample, [mm.Redraw("k0", rarer_than=0.0145), mm.Redraw("k1", rarer_than=0.0145)], rng=1
        )


def test_a_result_can_be_stored_and_read_again(world):
    sample, population = world
    release = mm.Redraw("lad", rarer_than=200).apply(sample, rng=1)
    risk = mm.exact_risk(release, population, intruder="informed")
    again = pickle.loads(pickle.dumps(risk))  # noqa: S301 - our own

    assert again.total == risk.total
    assert again.largest == risk.largest


def test_a_redraw_of_most_records_is_cautioned_about():
    """As with a threshold that was made for a smaller sampling fraction."""
    people = mm.bernoulli_sample(mm.synthetic_census(size=40_000), fraction=0.1, rng=1)
    sample = mm.read(people, keys=["lad", "sex", "age"], fraction=0.1)
    with pytest.warns(ManyRareWarning, match="more than half"):
        mm.Redraw("lad", rarer_than=1_500).apply(sample, rng=1)


def test_a_release_of_two_redrawn_keys_is_assessed_without_either(town):
    people = mm.bernoulli_sample(town, fraction=0.02, rng=1)
    sample = mm.read(people, keys=["lad", "sex", "age", "ethnicity"], fraction=0.02)
    with without_warnings(SmallMarginWarning):
        release = mm.Redraw(("lad", "ethnicity"), rarer_than=3000).apply(sample, rng=1)
    view = View.of(release)

    for key in ("lad", "ethnicity"):
        assert 0 < view.without(key).risk(intruder="informed").total < view.before().risk().total
