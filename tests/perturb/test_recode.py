"""Recoding and subsampling: on their own, and before, after and between swaps and PRAM."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pyreadstat
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import maskmeter as mm
import oracle
from maskmeter.errors import without_warnings
from worlds import worlds

KEYS = ["lad", "sex", "age"]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(7)
    number = 6000
    return pl.DataFrame(
        {
            "lad": rng.choice(list("abcdef"), number, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05]),
            "sex": rng.choice(["f", "m"], number),
            "age": rng.integers(0, 90, number),
            "work": rng.choice(["yes", "no"], number),
        }
    )


@pytest.fixture(scope="module")
def sample(people):
    return mm.read(people[:1500], keys=KEYS, fraction=0.25)


@pytest.fixture(scope="module")
def population(people):
    return mm.count(people, keys=KEYS)


@pytest.fixture(scope="module")
def banded(people):
    """Return the sample and the population, read in bands of age."""
    bands = {"age": [0, 16, 65]}
    sample = mm.read(people[:1500], keys=KEYS, fraction=0.25, bands=bands)
    return sample, mm.count(people, keys=KEYS, bands=bands)


BANDS = mm.Recode("age", bands=[0, 16, 65])
GROUPS = mm.Recode("lad", groups={"east": ["d", "e"], "rest": ["f"]})
TOP = mm.Recode("age", top=80)


class TestRecode:
    def test_bands_groups_and_top_codes_merge_categories_in_order(self, sample):
        bands, groups, top = (one.apply(sample).released.space for one in (BANDS, GROUPS, TOP))

        assert bands["age"].categories == ("0-15", "16-64", "65+")
        assert groups["lad"].categories == ("a", "b", "c", "east", "rest")
        assert top["age"].categories == (*map(str, range(80)), "80+")

    def test_numbers_stored_as_text_can_be_banded(self):
        data = mm.read(pl.DataFrame({"age": ["9", "10", "100"]}), keys=["age"], fraction=0.5)
        coarse = mm.Recode("age", bands=[0, 10, 50]).apply(data).released

        assert coarse.space["age"].categories == ("0-9", "10-49", "50+")
        assert coarse.codes[:, 0].tolist() == [0, 1, 2]

    def test_missing_values_stay_missing(self):
        data = mm.read(
            pl.DataFrame({"age": [1, 20, None]}), keys=["age"], fraction=0.5, missing="category"
        )

        assert BANDS.apply(data).released.space["age"].categories == ("0-15", "16-64", None)

    def test_file_and_population_are_recoded_alike(self, sample, population, banded):
        release = BANDS.apply(sample)

        assert release.changed.sum() == 0
        assert release.truth is not release.original
        assert mm.exact_risk(release, population).total == pytest.approx(
            mm.exact_risk(*banded).total
        )
        with without_warnings():
            found, wanted = mm.estimate_risk(release), mm.estimate_risk(banded[0])
        assert found.total == pytest.approx(wanted.total)
        assert found.unprotected == sample.uniques

    def test_categories_found_only_in_the_population_are_recoded(self, sample):
        more = pl.DataFrame({"lad": list("aaab"), "sex": list("fffm"), "age": [95, 120, 5, 5]})
        counts = BANDS.apply(sample).recoded(mm.count(more, keys=KEYS))

        assert counts.lookup(np.array([[0, 0, counts.space["age"].code("65+")]])).tolist() == [2]

    @pytest.mark.parametrize("design", ["swap", "PRAM of groups", "within groups"])
    def test_a_recode_and_a_step_equal_that_step_on_the_recoded_file(
        self, sample, population, banded, design
    ):
        step = {
            "swap": mm.Swap("lad", rate=0.3),
            "PRAM of groups": mm.Pram("age", stay=0.7),
            "within groups": mm.Swap("lad", rate=mm.by("age", {"65+": 0.9}, otherwise=0.1)),
        }[design]
        found = mm.protect(sample, [BANDS, step], rng=3)
        wanted = step.apply(banded[0], rng=3)

        assert np.array_equal(found.released.codes, wanted.released.codes)
        assert found.changed.sum() == wanted.changed.sum() > 0
        assert mm.exact_risk(found, population).by_unique == pytest.approx(
            mm.exact_risk(wanted, banded[1]).by_unique
        )

    def test_two_recodes_of_one_key_are_applied_in_order(self, sample, population):
        wider = mm.Recode("age", groups={"grown up": ["16-64", "65+"]}, label="wider")
        release = mm.protect(sample, [BANDS, wider], rng=1)
        one = mm.Recode("age", bands=[0, 16]).apply(sample)

        assert release.released.space["age"].categories == ("0-15", "grown up")
        assert np.array_equal(release.groups["age"], one.groups["age"])
        assert mm.exact_risk(release, population).total == pytest.approx(
            mm.exact_risk(one, population).total
        )

    @pytest.mark.parametrize(
        "before",
        [mm.Pram("age", stay=0.5), mm.Swap("lad", rate=0.2, within=("age",))],
        ids=["changed", "needed"],
    )
    def test_recoding_a_key_after_a_step_that_uses_it_is_rejected(self, sample, before):
        with without_warnings(), pytest.raises(mm.MaskmeterError, match="Recode first"):
            mm.protect(sample, [before, BANDS], rng=1)

    def test_recording_errors_are_averaged_over_groups(self, sample, population, banded):
        """Rows are averaged over the records of a group; here all rows of a group agree."""
        errors = np.eye(90)
        errors[:16, :16], errors[:16, 16] = 0.8 * np.eye(16), 0.2
        release = BANDS.apply(sample)
        found = mm.exact_risk(release, population, misclassification={"age": errors})
        grouped = {"age": [[0.8, 0.2, 0], [0, 1, 0], [0, 0, 1]]}
        wanted = mm.exact_risk(*banded, misclassification=grouped)

        assert found.by_unique == pytest.approx(wanted.by_unique)

    def test_the_loss_of_a_recode_is_measured_on_the_original_categories(self, sample):
        release = mm.Recode("lad", groups={"both": ["a", "b"]}).apply(sample)
        loss = mm.information_loss(release, rows="lad", columns="work")
        before, after = loss.tables

        assert before.shape == after.shape == (6, 2)
        assert after.sum(axis=1) == pytest.approx(before.sum(axis=1))  # the margin is published
        joined, share = before[:2].sum(axis=0), before[:2].sum(axis=1) / before[:2].sum()
        assert after[:2] == pytest.approx(share[:, None] * joined)
        assert after[2:] == pytest.approx(before[2:])
        assert mm.information_loss(release).margins()["total_variation"].to_list() == [0, 0, 0]

    def test_a_regression_uses_the_groups_before_and_after(self, sample):
        release = mm.protect(sample, [GROUPS, mm.Swap("lad", rate=0.2)], rng=1)
        loss = mm.regression_loss(release, "age", predictors=["lad"])

        assert loss.names == ("intercept", "lad: b", "lad: c", "lad: east", "lad: rest")
        with pytest.raises(mm.MaskmeterError, match="was recoded"):
            mm.regression_loss(BANDS.apply(sample), "age", predictors=["lad"])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, "one of `groups`, `bands` and `top`"),
            ({"bands": [0, 5], "top": 5}, "one of `groups`, `bands` and `top`"),
            ({"top": "5"}, "`top` must be a number"),
            ({"bands": [5, 0]}, "from low to high"),
            ({"groups": {}}, "`groups` must be a dictionary"),
            ({"groups": {"x": []}}, "`groups` must be a dictionary"),
            ({"groups": {"x": ["a"], "y": ["a"]}}, "names a category twice"),
        ],
    )
    def test_invalid_recodes_are_rejected(self, options, message):
        with pytest.raises(mm.MaskmeterError, match=message):
            mm.Recode("lad", **options)

    @pytest.mark.parametrize(
        ("step", "message"),
        [
            (mm.Recode("lad", bands=[0, 5]), "6 categories of 'lad' are not numbers"),
            (mm.Recode("age", bands=[10, 50]), "10 categories of 'age' are below the first bound"),
            (mm.Recode("age", bands=[0, 100]), "leaves one category"),
            (mm.Recode("age", top=100), "No category of 'age' reaches 100"),
            (mm.Recode("lad", groups={"x": ["z"]}), "'z' is not one of the 6 categories"),
            (mm.Recode("lad", groups={"a": ["b"]}), "also a category outside its group"),
            (mm.Recode("job", top=100), "No key named 'job'"),
        ],
    )
    def test_recodes_that_do_not_fit_the_file_are_rejected(self, sample, step, message):
        with pytest.raises(mm.MaskmeterError, match=message):
            step.apply(sample)

    def test_a_fraction_that_varies_within_groups_is_averaged(self, people):
        fraction = mm.by("age", dict.fromkeys(range(16), 0.1), otherwise=0.4)
        data = mm.read(people[:1500], keys=KEYS, fraction=fraction)
        coarse = mm.Recode("age", bands=[0, 30]).apply(data).released
        young = data.codes[:, 2] < 30
        pi = coarse.inclusion(coarse.codes)

        units = (1 / data.inclusion(data.codes))[young].sum()
        assert np.unique(pi[young]) == pytest.approx(young.sum() / units)
        assert np.unique(pi[~young]) == pytest.approx(0.4)


class TestSubsample:
    def test_inclusion_is_multiplied_and_weights_are_divided(self, people):
        weighted = people[:1500].with_columns(w=pl.lit(4.0))
        data = mm.read(weighted, keys=KEYS, weights="w", fraction=0.25)
        release = mm.Subsample(0.4).apply(data, rng=1)

        assert len(release.original) == 1500
        assert len(release.released) == len(release.kept)
        assert 500 < len(release.kept) < 700
        assert np.array_equal(release.released.codes, data.codes[release.kept])
        assert release.released.fraction == pytest.approx(0.1)
        assert set(release.released.weights.tolist()) == {10.0}
        assert release.rates.row(0)[3:] == pytest.approx((0.6, 0.6, 1 - len(release.kept) / 1500))

    def test_the_risk_is_that_of_the_kept_records(self, people, population):
        data = mm.read(people[:1500], keys=KEYS, fraction=0.25)
        release = mm.Subsample(0.5).apply(data, rng=2)
        alone = mm.Microdata(data.space, data.codes[release.kept], fraction=0.125)

        assert mm.exact_risk(release, population).by_unique == pytest.approx(
            mm.exact_risk(alone, population).by_unique
        )
        with without_warnings():
            found, wanted = mm.estimate_risk(release), mm.estimate_risk(alone)
        assert found.total == pytest.approx(wanted.total)
        assert found.unprotected == data.uniques

    def test_a_subsample_composes_with_other_steps_in_any_order(self, sample, population):
        swap, half = mm.Swap("lad", rate=0.3), mm.Subsample(0.5)
        after = mm.protect(sample, [swap, half, TOP], rng=1)
        before = mm.protect(sample, [half, TOP, swap], rng=1)

        assert np.array_equal(after.kept, before.kept)
        assert after.released.codes.shape == before.released.codes.shape
        assert np.array_equal(
            after.released.codes[:, 0], swap.apply(sample, rng=1).released.codes[after.kept, 0]
        )
        for one in (after, before):
            assert mm.exact_risk(one, population).uniques == one.released.uniques
            assert (one.mechanism.prob(true=one.truth.codes, released=one.released.codes) > 0).all()

    def test_tables_are_scaled_up_before_loss_is_measured(self, people, sample):
        release = mm.Subsample(0.5).apply(sample, rng=1)
        before, after = mm.information_loss(release, rows="lad", columns="work").tables

        assert before.sum() == 1500
        assert after.sum() == pytest.approx(1500)
        kept = sample.codes[release.kept, 0]
        assert after.sum(axis=1) == pytest.approx(np.bincount(kept, minlength=6) * 1500 / len(kept))
        weighted = people[:1500].with_columns(w=pl.Series(np.linspace(1, 9, 1500)))
        data = mm.read(weighted, keys=KEYS, weights="w")
        tables = mm.information_loss(
            mm.Subsample(0.5).apply(data, rng=1), rows="lad", columns="sex"
        ).tables
        assert tables[0].sum() == pytest.approx(tables[1].sum())

    def test_an_empty_subsample_is_rejected(self):
        data = mm.read(pl.DataFrame({"sex": ["f", "m"]}), keys=["sex"], fraction=0.5)

        with pytest.raises(mm.MaskmeterError, match="keeps none of the records"):
            mm.Subsample(1e-9).apply(data, rng=1)
        with pytest.raises(mm.MaskmeterError, match="above 0 and at most 1"):
            mm.Subsample(0)


@given(worlds(most_units=5), st.integers(0, 3), st.integers(0, 2**10))
def test_exact_risk_after_all_steps_equals_the_definition(world, key, halves):
    """A recode joins the two halves of each category; errors and a subsample follow.

    The bits of `halves` decide which half of a category each person has.
    """
    assume(key < len(world.sizes) and len(world.cells) > 1)
    name, c = world.names[key], Fraction(3, 4)
    fine = mm.KeySpace(
        mm.Key(name, [f"{one}{half}" for one in old.categories for half in "ab"])
        if position == key
        else old
        for position, old in enumerate(world.space.keys)
    )

    def split(cells):
        codes = np.array(cells)
        codes[:, key] = 2 * codes[:, key] + (halves >> np.arange(len(codes))) % 2
        return codes

    pi_name, pi = world.names[world.pi_key], [float(one) for one in world.pi]
    known = {one: pi[code // (2 if key == world.pi_key else 1)]
             for code, one in enumerate(fine[pi_name].categories)}  # fmt: skip
    data = mm.Microdata(fine, split(world.cells), fraction=mm.by(pi_name, known))
    population = mm.KeyTable.of(fine, split(world.units))
    groups = {one: [f"{one}a", f"{one}b"] for one in world.space.keys[key].categories}
    errors = [
        mm.Pram(names, matrix=declared, invariant=False)
        for names, declared in world.errors.matrices
    ]
    steps = [mm.Recode(name, groups=groups), *errors]
    with without_warnings():
        whole = mm.protect(data, steps, rng=halves)
        try:
            part = mm.protect(data, [*steps, mm.Subsample(float(c))], rng=halves)
        except mm.MaskmeterError:
            reject()  # no record was kept
    for release, share in ((whole, Fraction(1)), (part, c)):
        with without_warnings():  # the population is smaller than the sample
            found = mm.exact_risk(release, population)
        seen = found.data.codes[found.records].tolist()
        wanted = [
            oracle.identification_risk(
                tuple(cell),
                world.units,
                misclassify=world.misclassify,
                include=lambda one, share=share: share * world.include(one),
            )
            for cell in seen
        ]
        assert found.by_unique == pytest.approx([one or 0 for one in wanted], abs=1e-12)


class TestWhatRecodesLeaveAlone:
    def test_codes_declared_missing_are_missing_unless_they_are_grouped(self, tmp_path):
        people = pl.DataFrame({"age": [5.0, 20.0, 40.0, 85.0, 99.0] * 20})
        pyreadstat.write_sav(
            people,
            tmp_path / "a.sav",
            variable_value_labels={"age": {99: "Refused"}},
            missing_ranges={"age": [99]},
        )
        data = mm.read(tmp_path / "a.sav", keys=["age"], fraction=0.1)
        recoded = {
            name: mm.Recode("age", **how).apply(data).released.space["age"].categories
            for name, how in {
                "bands": {"bands": [0, 30, 65]},
                "top": {"top": 40},
                "groups": {"groups": {"young": [5, 20]}},
                "own": {"groups": {"unknown": [85, 99]}},
            }.items()
        }

        assert recoded["bands"] == ("0-29", "30-64", "65+", None)
        assert recoded["top"] == ("5", "20", "40+", None)
        assert recoded["groups"] == ("young", "40", "85", None)
        assert recoded["own"] == ("5", "20", "40", "unknown")

    def test_a_group_may_have_the_name_of_a_member(self, sample):
        step = mm.Recode("lad", groups={"a": ["a", "b"]})

        assert step.apply(sample).released.space["lad"].categories == ("a", "c", "d", "e", "f")
        with pytest.raises(mm.MaskmeterError, match="`groups` must be a dictionary"):
            mm.Recode("lad", groups={" ": ["a", "b"]})

    def test_a_population_may_store_whole_numbers_as_others(self, people, sample):
        counts = mm.count(people.with_columns(pl.col("age").cast(pl.Float64)), keys=KEYS)
        release = TOP.apply(sample)

        assert mm.exact_risk(release, counts).total == pytest.approx(
            mm.exact_risk(release, mm.count(people, keys=KEYS)).total
        )

    def test_errors_of_what_is_not_joined_keep_their_matrices(self, sample, population):
        """An error that differs by every age is known for all ages but the two that were joined."""
        by_age = {age: mm.stay_or_move(2, stay=1 - age / 200) for age in range(90)}
        errors = mm.Misclassification({"sex": mm.by("age", by_age)})
        release = mm.Recode("age", groups={"old": [88, 89]}).apply(sample)
        mechanism = mm.View.of(release, counts=population, errors=errors).mechanism
        (factor,) = mechanism.factors

        assert factor.by == (2,)
        for age in range(88):
            cell = np.array([[0, 0, age]])
            assert mechanism.stay(cell) == pytest.approx(1 - age / 200)
        women = population.codes[:, 1] == 0
        shares = np.bincount(population.codes[women, 2], population.counts[women])[88:]
        joined = 1 - shares @ np.array([88, 89]) / shares.sum() / 200
        assert mechanism.stay(np.array([[0, 0, 88]])) == pytest.approx(joined)

    def test_categories_without_records_have_the_matrix_that_was_given(self):
        space = mm.KeySpace([mm.Key("age", [1, 2, 3, 4]), mm.Key("sex", "fm")])
        given = np.array([[0.7, 0.1, 0.1, 0.1], [0, 1, 0, 0], [0.2, 0.2, 0.6, 0], [0, 0, 0, 1]])
        errors = mm.Misclassification({"age": given})
        data = mm.Microdata(space, [[0, 0], [3, 1]], fraction=0.5)
        release = mm.Recode("age", groups={"two or three": [2, 3]}).apply(data)
        (factor,) = mm.View.of(release, errors=errors).mechanism.factors

        assert factor.P[0] == pytest.approx(
            np.array([[0.7, 0.2, 0.1], [0.1, 0.9, 0], [0, 0, 1]])  # evenly, where nobody is
        )

    def test_a_loss_may_be_measured_after_moves_into_a_group_that_nobody_had(self):
        space = mm.KeySpace([mm.Key("lad", "abcd"), mm.Key("sex", "fm")])
        codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
        data = mm.Microdata(space, codes, fraction=0.5)
        steps = [
            mm.Recode("lad", groups={"both": ["c", "d"]}),
            mm.Pram("lad", matrix=mm.stay_or_move(3, stay=0.4), invariant=False),
        ]
        release = mm.protect(data, steps, rng=1)
        before, after = mm.information_loss(release, rows="lad", columns="sex").tables

        assert before.shape == after.shape == (4, 2)
        assert after.sum() == pytest.approx(before.sum())
        assert after[2] == pytest.approx(after[3])
        assert after[2].sum() > 0
