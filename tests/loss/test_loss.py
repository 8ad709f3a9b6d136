"""Information loss: measures by hand, unchanged tables, closed forms, and columns that are not keys."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2_contingency

import maskmeter as mm
from maskmeter.loss import formulas
from maskmeter.loss.associations import strongest_associations
from maskmeter.loss.regression import least_squares

tables = arrays(np.float64, (3, 4), elements=st.integers(1, 30).map(float))


@given(tables)
def test_an_unchanged_table_has_no_loss_on_any_measure(table):
    assert formulas.relative_average_absolute_distance(table, table) == 100
    assert formulas.relative_change(formulas.cramers_v(table), formulas.cramers_v(table)) in (
        0,
        pytest.approx(np.nan, nan_ok=True),
    )
    changes = formulas.relative_change(*[formulas.between_variance(table)] * 2)
    assert np.all((changes == 0) | np.isnan(changes))
    contrast = formulas.contrast_change(table, table)
    assert contrast == 0 or np.isnan(contrast)
    assert formulas.total_variation(table, table) == 0
    assert formulas.hellinger(table, table) == pytest.approx(0, abs=1e-7)


@given(tables, tables)
def test_measures_equal_the_formulas_of_the_paper(before, after):
    average = before.sum() / 12
    distance = sum(abs(a - b) for a, b in zip(after.flat, before.flat, strict=True)) / 12
    raad = formulas.relative_average_absolute_distance(before, after)
    assert raad == pytest.approx(100 * (average - distance) / average)
    assert raad <= 100

    chi2 = chi2_contingency(before, correction=False).statistic
    assert formulas.cramers_v(before) == pytest.approx(np.sqrt(chi2 / before.sum() / 2), abs=1e-9)

    assert formulas.independence_p(before, before.sum()) == pytest.approx(
        chi2_contingency(before, correction=False).pvalue, abs=1e-9
    )

    between = {"before": [], "after": []}
    for column in range(4):
        for name, table in (("before", before), ("after", after)):
            overall = table[:, column].sum() / table.sum()
            wanted = sum((row[column] / row.sum() - overall) ** 2 for row in table) / 2
            between[name].append(wanted)
            assert formulas.between_variance(table)[column] == pytest.approx(wanted)
    if sum(between["before"]) > 1e-6:
        ratio = sum(between["after"]) / sum(between["before"])
        assert formulas.contrast_change(before, after) == pytest.approx(100 * (ratio**0.5 - 1))


@given(tables, tables)
def test_distances_of_margins_are_bounded(before, after):
    variation, hellinger = (
        formulas.total_variation(before, after),
        formulas.hellinger(before, after),
    )
    assert 0 <= variation < 1
    assert hellinger**2 <= variation + 1e-12
    assert variation <= np.sqrt(2) * hellinger + 1e-12


def associated(records, size, seed=1):
    """Return two associated variables; the categories of the first are equally frequent."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(size), records // size)
    shares = rng.dirichlet(np.full(4, 3.0), size)
    columns = (rng.random(len(rows))[:, None] > shares[rows].cumsum(axis=1)[:, :-1]).sum(axis=1)
    frame = pl.DataFrame(
        {"lad": rows, "work": columns, "pay": columns * 2.0 + rng.normal(size=len(rows))}
    )
    return mm.read(frame, keys=["lad"], fraction=0.1)


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.5])
def test_the_loss_of_a_random_swap_agrees_with_closed_forms(rate, seed):
    """With 300,000 records the noise is far below the tolerance of 1.5 points."""
    sample = associated(300_000, 10)
    loss = mm.information_loss(
        mm.Swap("lad", rate=rate).apply(sample, rng=seed), rows="lad", columns="work"
    )
    rho = rate * 10 / 9  # a swapped record always changes category
    before = loss.tables[0]
    chi2 = chi2_contingency(before, correction=False).statistic
    kept = (1 - rho) ** 2
    expected = 100 * (np.sqrt((kept * chi2 + (1 - kept) * 9 * 3) / chi2) - 1)

    assert loss.rcv == pytest.approx(expected, abs=1.5)
    for change in loss.bvr.values():
        assert change == pytest.approx(100 * (kept - 1), abs=1.5)
    assert loss.rcv != pytest.approx(100 * (1 - rate - 1), abs=1.0 if rate < 0.5 else 0)


def test_the_worst_measure_detects_loss_that_raad_misses(census, seed):
    """Means of ten draws are within six standard errors of means of sixty.

    For a swap of all records 100 - RAAD is 23, but differences between districts fall by 83 %.
    """
    people = mm.bernoulli_sample(census, fraction=0.01, rng=2010)
    sample = mm.read(people, keys=["lad", "ethnicity"], fraction=0.01)
    aimed = mm.by("ethnicity", {"White British": 0.07}, otherwise=1.0)
    measured = {  # rate: worst, its deviation in one draw, 100 - RAAD
        0.1: (10.7, 1.10, 2.6), 0.2: (21.5, 1.41, 4.8), 0.5: (54.1, 2.30, 11.5),
        1.0: (83.0, 2.04, 22.6), aimed: (3.8, 0.23, 3.8),
    }  # fmt: skip
    for rate, (worst, deviation, distance) in measured.items():
        step = mm.Swap("lad", rate=rate)
        releases = [step.apply(sample, rng=seed + draw) for draw in range(10)]
        losses = [mm.information_loss(one, rows="lad", columns="ethnicity") for one in releases]
        found = np.mean([one.worst for one in losses])
        assert found == pytest.approx(worst, abs=6 * deviation / np.sqrt(10))
        assert 100 - np.mean([one.raad for one in losses]) == pytest.approx(distance, abs=1.0)


def test_without_an_association_only_raad_counts():
    """For two independent columns V and contrast measure only noise."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"lad": rng.integers(0, 5, 2000), "coin": rng.integers(0, 2, 2000)})
    sample = mm.read(frame, keys=["lad"], fraction=0.1)
    loss = mm.information_loss(
        mm.Swap("lad", rate=0.5).apply(sample, rng=1), rows="lad", columns="coin"
    )

    assert not loss.significant
    assert max(abs(loss.rcv), abs(loss.contrast)) > 30
    assert loss.worst == 100 - loss.raad < 10
    assert loss.summary().endswith("The association was not significant in the original file.")


def test_a_weighted_table_equals_that_of_repeated_records():
    """A record of weight 3 counts as three; the association test uses Kish's effective size."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"lad": rng.integers(0, 4, 500), "sex": rng.integers(0, 2, 500)})
    frame = frame.with_columns(work=pl.col("lad") // 2 + pl.col("sex"), w=rng.integers(1, 5, 500))
    moved = frame.with_columns(lad=pl.Series(rng.permutation(frame["lad"].to_numpy())))

    def release(before, after, weights=None):
        sample = mm.read(before, keys=["lad"], weights=weights)
        released = mm.read(after, keys=sample.space, weights=weights)
        return mm.Release(sample, released, {"lad": mm.stay_or_move(4, stay=0.25)})

    people = (one.select(pl.all().repeat_by("w").explode()) for one in (frame, moved))
    mixed = release(frame, moved, "w"), release(*people), release(frame, moved)
    losses = [mm.information_loss(one, rows="lad", columns="work") for one in mixed]
    weighted, repeated, unweighted = losses

    for one, other in zip(weighted.tables, repeated.tables, strict=True):
        assert one.tolist() == other.tolist()
    assert (weighted.raad, weighted.worst) == (repeated.raad, repeated.worst)
    assert weighted.raad != unweighted.raad
    w = frame["w"].to_numpy()
    effective = w.sum() ** 2 / (w**2).sum()
    assert weighted.rows.records == pytest.approx(effective)
    assert effective < 500 == unweighted.rows.records
    assert weighted.significant
    # A permutation preserves the counts of records, but not the weighted counts.
    margins = [mm.information_loss(one, variables=["lad", "work"]).margins() for one in mixed]
    assert [one["total_variation"][0] > 0 for one in margins] == [True, True, False]


def test_the_strongest_associations_are_found(census):
    """Keys and other columns are searched, except weights, lists, constants and very many categories."""
    people = mm.bernoulli_sample(census, fraction=0.01, rng=1).with_columns(
        weight=pl.when(pl.col("lad") == "Penrose").then(90.0).otherwise(110.0),
        street=pl.col("lad").cast(pl.String) + (pl.int_range(pl.len()) % 20).cast(pl.String),
        county=pl.col("lad").cast(pl.String).str.slice(0, 1),
        nothing=pl.lit(1),
        lists=pl.concat_list(pl.lit(1)),
    )
    sample = mm.read(people, keys=["lad", "sex", "age"], weights="weight")

    assert strongest_associations(sample, ["lad"], number=1) == (("lad", "county"),)
    three = strongest_associations(sample, ["lad"], number=3)
    assert three[1] == ("lad", "ethnicity")
    pairs = strongest_associations(sample, ["age", "sex"], number=2)
    assert pairs[0] == ("age", "activity")
    assert {rows for rows, _ in pairs} == {"age", "sex"}
    assert strongest_associations(sample, ["lad"], number=0) == ()
    listed = strongest_associations(sample, sample.space.names, number=9)
    assert len({frozenset(pair) for pair in listed}) == len(listed)
    assert not {"weight", "street", "nothing", "lists"} & {name for pair in listed for name in pair}


def test_a_key_without_associations_is_paired_with_its_strongest_column():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({name: rng.integers(0, 3, 300) for name in ("lad", "sex", "work")})
    sample = mm.read(frame, keys=["lad", "sex"], fraction=0.1)

    assert len(strongest_associations(sample, ["lad"], number=3)) == 1
    alone = mm.read(frame.select("lad"), keys=["lad"], fraction=0.1)
    assert strongest_associations(alone, ["lad"], number=3) == ()
    with pytest.raises(mm.MaskmeterError, match="No table to measure the loss on"):
        mm.compare(alone, {"swap": mm.Swap("lad", rate=0.1)})


def test_the_losses_of_all_pairs_name_the_worst_table(census):
    people = mm.bernoulli_sample(census, fraction=0.01, rng=1)
    sample = mm.read(people, keys=["lad", "sex", "age"], fraction=0.01)
    release = mm.Pram("age", stay=0.7).apply(sample, rng=1)
    losses = mm.information_loss(release)
    frame, margins = losses.to_frame(), losses.margins()

    assert len(frame) == 3
    assert {frame["rows"][0], frame["columns"][0]} == {"sex", "age"}
    assert losses.worst.worst == frame["worst"].max()
    unchanged = frame.filter((pl.col("rows") == "lad") & (pl.col("columns") == "sex"))
    assert unchanged["raad"].item() == 100
    assert margins["changed"].to_list()[:2] == [0, 0]
    assert margins["changed"][2] == pytest.approx(0.3, abs=0.02)
    assert 0 < margins["hellinger"][2] < margins["changed"][2]
    assert "Worst: sex x age" in losses.summary()
    assert "Records changed: age " in losses.summary()
    wider = mm.information_loss(release, variables=["age", "activity", "marital"])
    assert len(wider.tables) == 3
    assert repr(wider).startswith("Losses(3 tables; worst age x")


def test_columns_that_are_not_keys_can_be_compared(census):
    people = mm.bernoulli_sample(census, fraction=0.01, rng=1)
    sample = mm.read(people, keys=["lad"], fraction=0.01)
    release = mm.Swap("lad", rate=0.3).apply(sample, rng=1)
    loss = mm.information_loss(release, rows="lad", columns="ethnicity")

    assert 80 < loss.raad < 100
    assert loss.moved == pytest.approx(
        (100 - loss.raad) / 2
    )  # both tables have the same number of records
    assert loss.rcv < 0
    assert set(loss.bvr) == set(people["ethnicity"].unique())
    assert loss.to_frame().columns == [
        "table",
        "raad",
        "moved",
        "rcv",
        "contrast",
        "worst",
        "column",
        "bvr",
    ]
    assert loss.summary().startswith(
        f"lad x ethnicity: loss {loss.worst:.1f} (0 is unchanged). RAAD"
    )
    other = mm.information_loss(release, rows="sex", columns="age")
    assert (other.raad, other.rcv, other.contrast, other.worst) == (100, 0, 0, 0)


def test_a_swap_attenuates_a_regression(seed):
    sample = associated(60_000, 5)
    release = mm.Swap("lad", rate=0.4).apply(sample, rng=seed)
    loss = mm.regression_loss(release, "pay", predictors=["lad"])
    rho = 0.4 * 5 / 4

    assert loss.attenuation == pytest.approx(1 - rho, abs=0.05)
    assert loss.overlap.min() < 0.5
    assert loss.names[:2] == ("intercept", "lad: 1")
    assert loss.to_frame().shape == (5, 6)
    assert "Regression of pay on 4 terms: coefficients keep" in loss.summary()
    same = mm.regression_loss(release, "pay", predictors=["work"], numeric=["work"])
    assert (same.attenuation, same.overlap.tolist()) == (pytest.approx(1), pytest.approx([1, 1]))


def test_least_squares_agrees_with_the_textbook_formulas():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=50), rng.normal(size=50)
    coefficients, errors = least_squares(np.column_stack([np.ones(50), x]), y)
    slope = ((x - x.mean()) * y).sum() / ((x - x.mean()) ** 2).sum()
    rest = y - coefficients[0] - slope * x

    assert coefficients[1] == pytest.approx(slope)
    assert errors[1] == pytest.approx(np.sqrt((rest**2).sum() / 48 / ((x - x.mean()) ** 2).sum()))


def test_losses_have_charts(census):
    people = mm.bernoulli_sample(census, fraction=0.005, rng=1)
    sample = mm.read(people, keys=["lad", "sex", "ethnicity"], fraction=0.005)
    release = mm.Swap("lad", rate=0.3).apply(sample, rng=1)
    one = mm.information_loss(release, rows="lad", columns="ethnicity")
    every = mm.information_loss(release)

    assert one.plot().to_dict()["mark"]["type"] == "bar"
    assert len(every.plot().to_dict()["layer"]) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": "lad"}, "both `rows` and `columns`"),
        ({"rows": "lad", "columns": "works"}, "Did you mean 'work'"),
        ({"variables": ["lad"]}, "at least two"),
        ({"variables": "lad"}, "`variables` must be a list"),
        ({"rows": "lad", "columns": "one"}, "same value of 'one'"),
    ],
)
def test_invalid_tables_are_rejected(options, message):
    frame = pl.DataFrame({"lad": ["a", "b"] * 4, "work": ["x", "y"] * 4, "one": [1] * 8})
    release = mm.Swap("lad", rate=0.5).apply(mm.read(frame, keys=["lad"], fraction=0.1), rng=1)
    with pytest.raises(mm.MaskmeterError, match=message):
        mm.information_loss(release, **options)


@pytest.mark.parametrize(
    ("response", "predictors", "message"),
    [
        ("work", ["lad"], "'work' must be numeric"),
        ("pay", "lad", "a list of columns"),
        ("pay", ["lad", "twin"], "predictors are collinear"),
        ("pays", ["lad"], "Did you mean 'pay'"),
    ],
)
def test_invalid_regressions_are_rejected(response, predictors, message):
    frame = pl.DataFrame(
        {"lad": ["a", "b"] * 4, "work": ["x", "y"] * 4, "pay": range(8), "twin": ["u", "v"] * 4}
    )
    still = mm.read(frame, keys=["lad"], fraction=0.1)
    release = mm.Release(still, still, {})
    with pytest.raises(mm.MaskmeterError, match=message):
        mm.regression_loss(release, response, predictors=predictors)


def test_data_other_than_a_release_are_rejected():
    with pytest.raises(mm.MaskmeterError, match="Give a release"):
        mm.information_loss(pl.DataFrame())
    with pytest.raises(mm.MaskmeterError, match="Give a release"):
        mm.regression_loss(pl.DataFrame(), "pay", predictors=["lad"])


def test_loss_can_be_measured_on_columns_of_every_type(census):
    """Missing values, declared orders, dates and nullable types work; a repr shows no value."""
    frame = mm.bernoulli_sample(census, fraction=0.001, rng=1).to_pandas()
    size = len(frame)
    frame["nullable"] = pd.array([1, None] * (size // 2) + [1] * (size % 2), dtype="Int64")
    frame["level"] = pd.Categorical(["lo", "mid", "hi"] * (size // 3) + ["hi"] * (size % 3), ["lo", "mid", "hi"], ordered=True)  # fmt: skip
    frame["day"] = pd.date_range("2026-01-01", periods=size).normalize()
    frame["lists"] = [[1]] * size
    sample = mm.read(frame, keys=["lad", "sex"], fraction=0.001)
    release = mm.Swap("lad", rate=0.3).apply(sample, rng=1)

    for name in ("nullable", "level", "day"):
        assert mm.information_loss(release, rows="lad", columns=name).raad < 100
    loss = mm.information_loss(release, rows="lad", columns="level")
    assert list(loss.bvr) == ["lo", "mid", "hi"]
    assert repr(loss.columns) == "VariableChange(level: 3 categories)"
    with pytest.raises(mm.MaskmeterError, match=r"'lists'|lists"):
        mm.information_loss(release, rows="lad", columns="lists")
    with pytest.raises(mm.MaskmeterError, match="No column named"):
        mm.information_loss(release, rows=["lad"], columns="sex")


def test_a_fully_lost_association_changes_by_minus_100_percent():
    frame = pl.DataFrame({"lad": ["a", "b"] * 50, "sex": ["f", "m"] * 50})
    sample = mm.read(frame, keys=["lad", "sex"], fraction=0.1)
    one = np.array([[1.0, 0.0], [1.0, 0.0]])
    moved = sample.with_codes(np.column_stack([np.zeros(100, int), sample.codes[:, 1]]))
    loss = mm.information_loss(mm.Release(sample, moved, {"lad": one}), rows="lad", columns="sex")

    assert loss.rcv == -100
    assert set(loss.bvr.values()) == {-100.0}


@pytest.mark.parametrize(
    ("response", "options", "message"),
    [
        ("same", {}, "same for all records"),
        ("exact", {}, "fit the response perfectly"),
        ("pay", {"numeric": ["zzz"]}, "No predictor named 'zzz'"),
    ],
)
def test_degenerate_regressions_are_rejected(response, options, message):
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "lad": ["a", "b"] * 50,
            "same": [1] * 100,
            "exact": [1, 2] * 50,
            "pay": rng.normal(size=100),
        }
    )
    still = mm.read(frame, keys=["lad"], fraction=0.1)
    with pytest.raises(mm.MaskmeterError, match=message):
        mm.regression_loss(mm.Release(still, still, {}), response, predictors=["lad"], **options)


def test_a_predictor_with_hundreds_of_categories_is_rejected():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"lad": ["a", "b"] * 500, "pay": rng.normal(size=1000), "wide": rng.normal(size=1000)}
    )
    still = mm.read(frame, keys=["lad"], fraction=0.1)
    release = mm.Release(still, still, {})
    with pytest.raises(mm.MaskmeterError, match="Name it in `numeric`"):
        mm.regression_loss(release, "pay", predictors=["wide"])
    assert (
        mm.regression_loss(release, "pay", predictors=["wide"], numeric=["wide"]).attenuation == 1
    )
