"""Estimating risk from the sample alone: methods, results, households, cautions and errors."""

from __future__ import annotations

import gc
import re
import warnings
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pytest

import maskmeter as mm
from maskmeter import errors
from maskmeter.loglinear import cell_sums, expectations
from maskmeter.risk import expected, gathered, interval, originals, released_cells

KEYS = ["lad", "sex", "age", "marital"]


@pytest.fixture(scope="module")
def people(census):
    frame = mm.bernoulli_sample(census, fraction=0.005, rng=3)
    return frame.with_columns(household=pl.int_range(pl.len()) // 3, w=pl.lit(200.0))


@pytest.fixture(scope="module")
def sample(people):
    return mm.read(people, keys=["lad", "age", "marital", "ethnicity"], fraction=0.005)


@pytest.fixture(scope="module")
def model(sample):
    return mm.search_loglinear(sample)


@pytest.fixture(scope="module")
def release(sample):
    return mm.Pram("lad", stay=0.8).apply(sample, rng=1)


def test_without_misclassification_the_total_is_tau2(sample, model):
    risk = mm.estimate_risk(sample, model)

    assert risk.total == pytest.approx(risk.tau2, rel=1e-9)
    assert risk.naive == risk.tau2 == model.tau2
    assert risk.tau1 < risk.tau2 < risk.uniques
    assert risk.interval[0] < risk.total < risk.interval[1]
    assert risk.share == risk.total / risk.uniques


def test_every_record_has_a_risk(sample, model):
    risk = mm.estimate_risk(sample, model)
    _, place, counts = np.unique(
        sample.space.number(sample.codes), return_inverse=True, return_counts=True
    )
    size = counts[place]

    assert risk.by_record.shape == (len(sample),)
    assert np.all((risk.by_record > 0) & (risk.by_record <= 1 / size + 1e-12))
    assert np.array_equal(np.flatnonzero(size == 1), risk.records)
    assert np.array_equal(risk.by_record[risk.records], risk.by_unique)
    one = mm.fit_loglinear(sample, "independence")
    with pytest.warns(errors.WeakFitWarning):
        plain = mm.estimate_risk(sample, one)
    lam, pi = one.population_mean(sample.codes), np.full(len(sample), 0.005)
    wanted = expectations.expected_inverse_of(size.astype(float), lam, pi=pi)
    assert plain.by_record == pytest.approx(wanted)


def test_the_average_of_models_is_taken_record_by_record(sample, model):
    parts = []
    for one in model.weighted:
        lam = one.model.population_mean(sample.codes)
        pi = sample.inclusion(sample.codes)
        parts.append(one.weight * expectations.expected_inverse(lam, pi=pi, phi=one.phi))
    risk = mm.estimate_risk(sample, model)

    assert risk.by_unique == pytest.approx(sum(parts)[risk.records])


def test_a_matrix_that_changes_nothing_changes_nothing(sample, model):
    still = mm.Release(sample, sample, {"lad": np.eye(11)})
    plain = mm.estimate_risk(sample, model)

    for method in ("expected", "paper", "em"):
        risk = mm.estimate_risk(still, model, method=method, interval="none")
        # EM refits to 1e-5, and takes gamma cells for Poisson ones.
        assert risk.total == pytest.approx(plain.total, rel=2e-2 if method == "em" else 1e-6)


def test_the_paper_multiplies_by_the_chance_to_stay(release):
    fitted = mm.search_loglinear(release, counts="released", method="forward")
    risk = mm.estimate_risk(release, fitted, method="paper")
    cells = release.released.codes[risk.records]
    lam, pi = fitted.nearest.population_mean(cells), np.full(len(cells), 0.005)
    wanted = release.mechanism.stay(cells) * expectations.expected_inverse(lam, pi=pi, phi=0)

    assert risk.method == "paper"
    assert risk.by_unique == pytest.approx(wanted)
    assert risk.total < risk.naive


def test_methods_agree_with_the_exact_risk(census, population):
    sample = mm.read(
        mm.bernoulli_sample(census, fraction=0.01, rng=1), keys=population.space, fraction=0.01
    )
    release = mm.Swap("lad", rate=0.2).apply(sample, rng=1)
    exact = mm.exact_risk(release, population).total
    found = {m: mm.estimate_risk(release, method=m).total for m in ("expected", "paper", "em")}

    assert mm.estimate_risk(release).total == found["expected"]
    assert len(set(found.values())) == 3
    for total in found.values():
        assert total == pytest.approx(exact, rel=0.1)


def test_natural_error_is_estimated_by_em_or_as_the_paper_does(sample, model):
    noise = mm.Misclassification({"lad": mm.stay_or_move(11, stay=0.9)})
    options = {"misclassification": noise}
    risk = mm.estimate_risk(sample, model, **options)
    informed = mm.estimate_risk(sample, model, intruder="informed", **options)
    paper = mm.estimate_risk(sample, model, method="paper", **options)

    assert (risk.method, informed.intruder) == ("em", "informed")
    assert paper.total == pytest.approx(0.9 * model.tau2)
    assert risk.total == pytest.approx(paper.total, rel=0.15)
    assert np.all(informed.by_record >= risk.by_record)
    with pytest.raises(
        mm.MaskmeterError, match=r'needs the true keys of the sample.*method="em" or method="paper"'
    ):
        mm.estimate_risk(sample, model, method="expected", **options)
    with pytest.raises(mm.MaskmeterError, match=r'"paper" knows no informed intruder.*method="em"'):
        mm.estimate_risk(sample, model, method="paper", intruder="informed", **options)


@pytest.mark.slow
def test_many_misclassified_keys_are_estimated_too(sample, model, monkeypatch):
    keys = {"lad": 11, "age": 24, "marital": 6}
    noise = mm.Misclassification({k: mm.stay_or_move(n, stay=0.95) for k, n in keys.items()})
    mechanism = noise.on(sample)
    release = mm.Release(sample, sample.with_codes(mechanism.draw(sample.codes, rng=1)), mechanism)
    intruders, methods = ("exact-match", "informed"), ({"model": model}, {"method": "em"})
    every = [{"intruder": who, "interval": "none", **how} for who in intruders for how in methods]
    wanted = [mm.estimate_risk(release, **options) for options in every]
    monkeypatch.setattr(expected, "MOST_SOURCES", 100)
    found = [mm.estimate_risk(release, **options) for options in every]

    for one, other in zip(found, wanted, strict=True):
        assert one.total == pytest.approx(other.total, rel=2e-3)
    monkeypatch.setattr(released_cells, "LARGEST_GRID", 10)
    with pytest.raises(mm.MaskmeterError, match=r"true cells; at most 10 fit in memory.*paper"):
        mm.estimate_risk(release, model)


def test_an_informed_risk_that_is_a_bound_says_how_large_its_error_can_be(
    sample, model, monkeypatch
):
    noise = {name: mm.stay_or_move(n, stay=0.2) for name, n in (("lad", 11), ("marital", 6))}
    mechanism = mm.Misclassification(noise).on(sample)
    release = mm.Release(sample, sample.with_codes(mechanism.draw(sample.codes, rng=1)), mechanism)
    options = {"intruder": "informed", "interval": "none"}
    wanted = mm.estimate_risk(release, model, **options).total
    monkeypatch.setattr(expected, "MOST_SOURCES", 10)
    monkeypatch.setattr(gathered, "LISTED", 4)
    with pytest.warns(errors.GatheredSourcesWarning, match=r"at most \d+\.\d% too large") as told:
        bound = mm.estimate_risk(release, model, **options).total

    most = float(re.search(r"most ([\d.]+)%", str(told[0].message))[1]) / 100
    assert bound * (1 - most - 0.001) <= wanted <= bound


def test_em_that_does_not_converge_is_used_with_a_caution(release, monkeypatch):
    monkeypatch.setattr(originals, "_MOST_ROUNDS", 1)
    with pytest.warns(errors.ConvergenceWarning, match="did not converge") as caught:
        risk = mm.estimate_risk(release, "score-path", method="em")
    assert [one.kind for one in risk.cautions].count(errors.ConvergenceWarning) == 1
    assert [one.filename for one in caught] == [__file__]


def test_a_model_of_other_counts_is_rejected(release, sample, model):
    released = mm.search_loglinear(release, counts="released")
    with pytest.raises(
        mm.MaskmeterError,
        match=r'"expected" needs\. Fit it to this file with counts="original"',
    ):
        mm.estimate_risk(release, released, method="expected")
    with pytest.raises(
        mm.MaskmeterError, match=r'"paper" needs\. Fit it to this file with counts="released"'
    ):
        mm.estimate_risk(release, model, method="paper")
    with pytest.raises(mm.MaskmeterError, match="`model` must be one of 'shrunk'"):
        mm.estimate_risk(sample, "independence")
    assert mm.estimate_risk(release, released).method == "em"
    assert mm.estimate_risk(release, model).method == "expected"
    by_file = mm.search_loglinear(release.released)
    assert mm.estimate_risk(release, by_file).total == mm.estimate_risk(release, released).total


def test_weights_stand_for_the_population(people, sample):
    weighted = mm.read(people, keys=sample.space, weights="w")
    risk, plain = mm.estimate_risk(weighted), mm.estimate_risk(sample)

    assert risk.total == pytest.approx(plain.total, rel=1e-9)
    assert risk.interval == pytest.approx(plain.interval, rel=1e-6)


def test_strata_have_their_own_inclusion_probabilities(people, sample):
    """A stratum that was sampled whole adds its uniques with certainty."""
    share = mm.by("lad", {"Eastwick": 1.0}, otherwise=0.005)
    stratified = mm.read(people, keys=sample.space, fraction=share)
    with pytest.warns(errors.LargeFractionWarning, match="Up to 100%"):
        risk = mm.estimate_risk(stratified)
    whole = people["lad"].to_numpy()[risk.records] == "Eastwick"

    assert risk.by_unique[whole] == pytest.approx(1)
    assert risk.by_unique[~whole].mean() < 0.6


def test_a_household_is_at_risk_when_a_member_is(people, sample, model):
    risk = mm.estimate_risk(sample, model, household="household")
    frame = risk.households()
    first = 1 - np.prod(1 - risk.by_record[:3])

    assert frame.columns == ["household", "members", "risk"]
    assert frame["members"].sum() == len(sample)
    assert frame["household"].to_list() == people["household"].unique(maintain_order=True).to_list()
    assert frame["risk"][0] == pytest.approx(first)
    mixed = people.to_pandas().assign(
        household=[i if i % 2 else str(i) for i in range(len(people))]
    )
    alone = mm.read(mixed, keys=sample.space, fraction=0.005)
    ids = mm.estimate_risk(alone, household="household").households()
    assert isinstance(ids, pd.DataFrame)
    assert len(ids) == len(people)
    assert np.all(risk.by_household >= 0)
    assert f"of {len(frame):,} correctly" in risk.summary()


def test_invalid_household_columns_are_rejected(people, sample, model):
    with pytest.raises(mm.MaskmeterError, match="Did you mean 'household'"):
        mm.estimate_risk(sample, model, household="houshold")
    with pytest.raises(mm.MaskmeterError, match="Name the household column"):
        mm.estimate_risk(sample, model).households()
    gaps = people.with_columns(household=pl.when(pl.col("household") > 3).then("household"))
    holed = mm.read(gaps, keys=sample.space, fraction=0.005)
    with pytest.raises(mm.MaskmeterError, match=r"12 of .* records have no value for 'household'"):
        mm.estimate_risk(holed, household="household")
    for bad, word in ((True, "name of a column"), (["household"], "name of a column")):
        with pytest.raises(mm.MaskmeterError, match=word):
            mm.estimate_risk(sample, model, household=bad)
    listed = people.with_columns(household=pl.lit([1, 2]), hole=pl.lit(float("nan")))
    lists = mm.read(listed, keys=sample.space, fraction=0.005)
    with pytest.raises(mm.MaskmeterError, match="dates or booleans, not lists"):
        mm.estimate_risk(lists, household="household")
    with pytest.raises(mm.MaskmeterError, match="no value for 'hole'"):
        mm.estimate_risk(lists, household="hole")
    bare = mm.Microdata(sample.space, sample.codes, fraction=0.005)
    with pytest.raises(mm.MaskmeterError, match="do not come from a file or data frame"):
        mm.estimate_risk(bare, household="household")


def test_an_estimate_has_a_frame_a_summary_and_a_chart(sample, model):
    risk = mm.estimate_risk(sample, model)
    words = risk.summary()

    for word in (
        "Approximate 95 % interval",
        "above one half",
        "Unadjusted: tau2",
        "Score path over",
    ):
        assert word in words
    assert risk.above(0.5) == int((risk.by_unique > 0.5).sum())
    assert risk.to_frame().columns[-1] == "risk"
    assert len(risk.to_frame()) == risk.uniques
    assert risk.plot().to_dict()["title"]["text"] == "Estimated risk"
    assert "total" in repr(risk)
    with pytest.raises(mm.MaskmeterError, match="`threshold` must be a number"):
        risk.above("half")
    with pytest.raises(ValueError, match="read-only"):
        risk.by_record[0] = 1


def test_a_pandas_file_gives_a_pandas_frame(people, model):
    frame = people.to_pandas()
    sample = mm.read(frame, keys=model.nearest.data.space, fraction=0.005)
    risk = mm.estimate_risk(sample, model, household="household")

    assert isinstance(risk.to_frame(), pd.DataFrame)
    assert len(risk.households()) == frame["household"].nunique()


def test_each_kind_of_interval_contains_the_estimate(sample, model):
    plain = mm.estimate_risk(sample, model)
    drawn = mm.estimate_risk(sample, model, interval="bootstrap", replications=10, rng=1)
    again = mm.estimate_risk(sample, model, interval="bootstrap", replications=10, rng=1)

    assert mm.estimate_risk(sample, model, interval="none").interval is None
    assert drawn.interval == again.interval
    assert drawn.interval[0] < drawn.total < drawn.interval[1]
    assert drawn.interval != plain.interval
    single = mm.fit_loglinear(sample, model.terms)
    with pytest.raises(mm.MaskmeterError, match="repeats how the model was found"):
        mm.estimate_risk(sample, single, interval="bootstrap")
    with pytest.raises(mm.MaskmeterError, match="at least 10"):
        mm.estimate_risk(sample, model, interval="bootstrap", replications=2)
    low, high = mm.estimate_risk(sample, single).interval
    assert plain.interval[0] <= low < high <= plain.interval[1]


def test_a_weighted_file_can_be_bootstrapped(people, sample):
    weighted = mm.read(people, keys=sample.space, weights="w")
    risk = mm.estimate_risk(weighted, interval="bootstrap", replications=10)

    assert risk.interval[0] < risk.total < risk.interval[1]


def space_of(*sizes):
    return mm.KeySpace(mm.Key(f"key{c}", range(size)) for c, size in enumerate(sizes))


def test_a_file_without_uniques_has_no_risk():
    codes = np.repeat([[0, 0], [1, 1], [0, 1]], 20, axis=0)
    risk = mm.estimate_risk(mm.Microdata(space_of(2, 2), codes, fraction=0.1))

    assert (risk.total, risk.share, risk.uniques, risk.interval) == (0.0, 0.0, 0, (0.0, 0.0))
    assert np.all(risk.by_record < 0.05)


def test_all_records_in_one_cell():
    sample = mm.Microdata(space_of(3, 2), np.zeros((40, 2), dtype=int), fraction=0.1)
    risk = mm.estimate_risk(sample)

    assert risk.total == 0
    assert risk.by_record == pytest.approx(1 / 400, rel=0.1)


def test_one_record():
    with pytest.warns(errors.FewUniquesWarning), pytest.warns(errors.FewRecordsWarning):
        risk = mm.estimate_risk(mm.Microdata(space_of(3, 2), [[1, 1]], fraction=0.1))

    assert risk.uniques == 1
    assert 0 < risk.total < 1
    with pytest.raises(mm.MaskmeterError, match="no records"):
        mm.estimate_risk(mm.Microdata(space_of(3, 2), np.zeros((0, 2), int), fraction=0.1))


def test_every_unique_of_a_fully_sampled_population_is_certainly_matched(people, sample):
    whole = mm.read(people, keys=sample.space, fraction=1.0)
    with pytest.warns(errors.LargeFractionWarning, match="Up to 100%"):
        risk = mm.estimate_risk(whole)

    assert risk.total == pytest.approx(risk.uniques, rel=1e-12)
    assert risk.interval == pytest.approx((risk.uniques, risk.uniques))


def test_few_uniques_and_small_weights_give_cautions(people):
    small = people[:300].with_columns(w=pl.Series(np.where(np.arange(300) < 7, 0.5, 50.0)))
    weighted = mm.read(small, keys=["lad", "marital"], weights="w")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        risk = mm.estimate_risk(weighted)

    kinds = {caution.kind for caution in risk.cautions}
    assert {errors.FewUniquesWarning, errors.SmallWeightWarning} <= kinds
    assert kinds <= {one.category for one in caught}
    assert all(one.filename == __file__ for one in caught)
    assert "7 of 300 weights are below 1" in risk.summary()
    assert f"only {risk.uniques} sample uniques" in risk.summary()


def test_sampling_must_be_known(people):
    with pytest.raises(mm.MaskmeterError, match="Give `fraction` or `weights`"):
        mm.estimate_risk(mm.read(people, keys=["lad", "age"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "exact"}, "`method` must be one of"),
        ({"interval": 0.95}, "`interval` must be one of"),
        ({"rng": "x", "interval": "bootstrap"}, "`rng` must be"),
    ],
)
def test_invalid_options_are_rejected(sample, model, options, message):
    with pytest.raises(mm.MaskmeterError, match=message):
        mm.estimate_risk(sample, model, **options)


def test_data_that_is_not_a_file_is_rejected():
    with pytest.raises(mm.MaskmeterError, match="Give a release or a sample"):
        mm.estimate_risk(pl.DataFrame())


def stratified(*, weighted):
    """One file, with inclusion probabilities alone or also with weights that are their inverse."""
    rng = np.random.default_rng(4)
    space = space_of(4, 5, 4, 3)
    codes = np.column_stack([rng.integers(0, size, 1500) for size in space.sizes])
    share = mm.by("key0", {0: 0.5}, otherwise=0.02)
    weights = np.where(codes[:, 0] == 0, 2.0, 50.0) if weighted else None
    return mm.Microdata(space, codes, fraction=share, weights=weights)


def dense_projection(model):
    """v2 by a design matrix: the squared length of the projection of the slope, weights mu."""
    space = model.data.space
    cells = space.codes(np.arange(space.size))
    lam, pi = model.at(cells)
    mu, nu = lam * pi, lam * (1 - pi)
    slope = -np.exp(-mu) * ((1 - np.exp(-nu)) / nu - np.exp(-nu))
    columns = []
    for term in model.means.generators:
        place = np.ravel_multi_index([cells[:, k] for k in term], [space.sizes[k] for k in term])
        columns.append(np.eye(int(np.prod([space.sizes[k] for k in term])))[place])
    X = np.concatenate(columns, axis=1)
    root = np.sqrt(mu)
    fitted = X @ np.linalg.lstsq(root[:, None] * X, root * slope)[0]
    return (mu * fitted**2).sum()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "terms",
    [
        ["key0:key1", "key0:key2", "key0:key3"],
        ["key0:key1", "key0:key2", "key1:key2", "key0:key3"],
        "all-two-way",
    ],
)
def test_the_variance_of_fitted_parameters_is_a_weighted_projection(terms, weighted):
    model = mm.fit_loglinear(stratified(weighted=weighted), terms, tolerance=1e-9)

    assert interval.fit_variance(model) == pytest.approx(dense_projection(model), rel=2e-3)


def test_the_variance_of_fitted_parameters_is_estimated_from_draws(monkeypatch):
    """A tenth off at most: the cells of a small table are drawn thousands of times each."""
    data = stratified(weighted=False)
    exact = interval.fit_variance(mm.fit_loglinear(data, "all-two-way"))
    monkeypatch.setattr(cell_sums, "MOST_CELLS", 1)
    model = mm.fit_loglinear(data, "all-two-way")

    assert model.all_cells().draws == cell_sums.DRAWS
    assert interval.fit_variance(model) == pytest.approx(exact, rel=0.1)


def test_the_variance_by_chance_is_that_of_drawn_populations(sample):
    model = mm.fit_loglinear(sample, "independence")
    lam, pi = model.at(model.observed.uniques)
    draws = np.random.default_rng(1).poisson((1 - pi) * lam, (4000, len(lam)))
    total = (1 / (1 + draws)).sum(axis=1)

    assert interval.chance_variance(model) == pytest.approx(total.var(), rel=0.1)
    assert interval.standard_error(model) ** 2 == pytest.approx(
        interval.chance_variance(model)
        + interval.fit_variance(model)
        + model.goodness.b2_variance / 4
    )


def test_weights_that_are_inverse_inclusion_change_nothing():
    plain, weighted = stratified(weighted=False), stratified(weighted=True)
    terms = ["key0:key1", "key0:key2", "key0:key3"]
    noise = {"key1": mm.stay_or_move(5, stay=0.7)}
    found = []
    for data in (plain, weighted):
        model = mm.fit_loglinear(data, terms)
        for method in ("paper", "em"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", mm.MaskmeterWarning)
                risk = mm.estimate_risk(data, model, misclassification=noise, method=method)
            found.append([risk.total, *risk.interval])

    assert found[0] == pytest.approx(found[2], rel=1e-6)
    assert found[1] == pytest.approx(found[3], rel=1e-3)


def test_bootstrap_samples_are_drawn_as_the_file_was(seed):
    for weighting in (None, "unsampled", "pseudo"):
        data = stratified(weighted=weighting is not None)
        model = mm.fit_loglinear(data, "independence", weighting=weighting or "unsampled")
        rng = np.random.default_rng(seed)
        drawn = [interval.drawn_sample(model, rng) for _ in range(40)]
        counts = np.mean([np.bincount(one.codes[:, 0]) for one in drawn], axis=0)

        assert counts == pytest.approx(np.bincount(data.codes[:, 0]), rel=0.05)
        assert (drawn[0].weights is not None) == (model.unsampled is not None)


def test_a_bootstrap_of_a_tiny_file():
    tiny = mm.Microdata(space_of(3, 3), [[0, 0], [1, 1], [2, 1]], fraction=0.5)
    with pytest.warns(mm.MaskmeterWarning):
        risk = mm.estimate_risk(tiny, interval="bootstrap", replications=20)

    assert risk.interval[0] <= risk.total <= risk.interval[1]


def test_uniques_created_by_the_release_have_an_interval_around_their_risk():
    codes = np.array([[0, 0]] * 3 + [[1, 1]] * 3)
    sample = mm.Microdata(space_of(2, 2), codes, fraction=0.2)
    moved = sample.with_codes([[0, 1], *codes[1:].tolist()])
    release = mm.Release(sample, moved, {"key1": mm.stay_or_move(2, stay=0.9)})
    for kind in ("model", "bootstrap"):
        with pytest.warns(mm.MaskmeterWarning):
            risk = mm.estimate_risk(release, interval=kind, replications=10)
        assert risk.interval[0] <= risk.total <= risk.interval[1]


def test_em_has_converged_when_it_says_so(sample, monkeypatch):
    heavy = mm.Misclassification({"lad": mm.stay_or_move(11, stay=0.4)})
    moved = sample.with_codes(heavy.on(sample).draw(sample.codes, rng=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.MaskmeterWarning)
        model = mm.search_loglinear(moved)
        options = {"misclassification": heavy, "method": "em", "interval": "none"}
        found = mm.estimate_risk(moved, model, **options).total
        monkeypatch.setattr(originals, "_SETTLED", 1e-5)
        limit = mm.estimate_risk(moved, model, **options).total

    assert found == pytest.approx(limit, rel=0.01)


def test_recording_errors_come_before_those_of_the_release(sample, census):
    natural = mm.Misclassification({"age": mm.stay_or_move(24, stay=0.9)})
    release = mm.Pram("lad", stay=0.8).apply(sample, rng=1)
    population = mm.count(census, keys=sample.space)
    (of_lad,) = release.mechanism.factors
    both = mm.Misclassification(dict(natural.matrices) | {"lad": of_lad.P[0]})
    given = {"inclusion": "recorded"}  # a matrix by hand does not tell the counts
    wanted = mm.exact_risk(release.released, population, misclassification=both, **given).total

    found = mm.exact_risk(release, population, misclassification=natural, **given).total
    assert found == pytest.approx(wanted)
    risk = mm.estimate_risk(release, misclassification=natural)
    assert risk.method == "em"
    assert risk.total < mm.estimate_risk(release, method="em").total
    twice = mm.exact_risk(
        release, population, misclassification={"lad": mm.stay_or_move(11, stay=0.9)}
    )
    assert twice.total < mm.exact_risk(release, population).total


def test_a_value_that_is_never_recorded_is_rejected(sample):
    P = np.eye(11)
    P[:, 5], P[5, 4] = 0, 1
    for method in ("paper", "em"):
        with pytest.raises(mm.MaskmeterError, match="'lad' that the misclassification rules out"):
            mm.estimate_risk(sample, misclassification={"lad": P}, method=method)


def test_files_of_a_release_are_sampled_alike(sample):
    other = mm.Microdata(sample.space, sample.codes, fraction=0.1)
    with pytest.raises(mm.MaskmeterError, match="same fraction and weights"):
        mm.Release(sample, other, {})


def test_weights_that_differ_by_a_perturbed_key_are_a_caution(town):
    """With known counts one fraction stands for all and the risk is too low; estimates need none."""
    names = sorted(set(town["lad"].cast(pl.String)))
    shares = {name: 0.12 if number < 3 else 0.05 for number, name in enumerate(names)}
    rate = town["lad"].cast(pl.String).replace_strict(shares)
    kept = pl.Series(np.random.default_rng(1).random(len(town)) < rate.to_numpy())
    people = town.with_columns(w=1 / rate).filter(kept)
    keys = ["lad", "sex", "age", "ethnicity"]
    sample = mm.read(people, keys=keys, weights="w")
    with errors.without_warnings():
        release = mm.Redraw("lad", rarer_than=200).apply(sample, rng=1)
        risk = mm.estimate_risk(release, intruder="informed")
        exact = mm.exact_risk(release, mm.count(town, keys=sample.space))
        told = mm.read(people, keys=keys, weights="w", fraction=mm.by("lad", shares))
        informed = mm.Redraw("lad", rarer_than=200).apply(told, rng=1)
        of_age = mm.Swap("age", rate=0.2).apply(sample, rng=1)
        others = [mm.estimate_risk(one) for one in (informed, of_age)]
        swap = mm.Swap("lad", rate=0.2).apply(sample, rng=1)
        population = mm.count(town, keys=sample.space)
        others.append(mm.exact_risk(swap, population))  # the counts that a swap keeps tell it
        printed = mm.exact_risk(swap, population, inclusion="recorded")
        known = mm.exact_risk(informed, population, intruder="informed")

    for one in (exact, printed):
        assert errors.UnevenWeightsWarning in [caution.kind for caution in one.cautions]
    assert risk.total == pytest.approx(known.total, rel=0.1)
    for one in (risk, *others):
        assert errors.UnevenWeightsWarning not in [caution.kind for caution in one.cautions]


def test_shared_cells_without_a_factor_are_counted(release, monkeypatch):
    factors = released_cells.shared_factors

    def some_undefined(*args, **options):
        return factors(*args, **options)._replace(undefined=2)

    assert mm.estimate_risk(release).undefined == 0
    monkeypatch.setattr(released_cells, "shared_factors", some_undefined)
    risk = mm.estimate_risk(release)
    assert risk.undefined >= 2
    assert "of several records fewer people are expected than there are records" in risk.summary()


@pytest.mark.parametrize("kind", ["shrunk", "score-path"])
def test_models_and_their_records_are_not_kept_alive(people, sample, kind):
    data = mm.read(people, keys=sample.space, fraction=0.005)
    risk = mm.estimate_risk(data, kind)
    gone = weakref.ref(risk.model.nearest)
    del risk, data
    gc.collect()

    assert gone() is None


def test_errors_leave_an_interval_even_where_everybody_is_in_the_file(people, sample):
    whole = mm.read(people, keys=sample.space, fraction=1.0)
    noise = mm.Misclassification({"lad": mm.stay_or_move(11, stay=0.8)})
    with errors.without_warnings():
        risk = mm.estimate_risk(whole, misclassification=noise)

    assert risk.interval[0] < 0.95 * risk.total


def test_errors_that_hide_the_truth_are_a_caution(sample):
    for stay, told in ((0.15, True), (0.8, False)):
        noise = mm.Misclassification({"lad": mm.stay_or_move(11, stay=stay)})
        with errors.without_warnings():
            risk = mm.estimate_risk(sample, misclassification=noise, interval="none")
        assert (errors.HeavyErrorsWarning in [one.kind for one in risk.cautions]) == told
        assert risk.assumptions[0].endswith("with the errors that lad was recorded with")


def test_equal_weights_give_the_bootstrap_of_a_fraction(people, sample):
    weighted = mm.read(people, keys=sample.space, weights="w")
    options = {"interval": "bootstrap", "replications": 10, "rng": 1}
    with errors.without_warnings():
        one, other = (mm.estimate_risk(data, **options) for data in (weighted, sample))

    assert one.interval == pytest.approx(other.interval, rel=1e-9)


def test_a_given_model_serves_no_candidate_with_recoded_keys(sample):
    steps = [mm.Recode("age", groups={"young": sample.space["age"].categories[:9]})]
    with pytest.raises(mm.MaskmeterError, match="not the file with recoded keys or fewer records"):
        mm.compare(sample, {"coarse": steps}, model=mm.shrink_loglinear(sample), rng=1)
