"""Maps of releases, their frontier, and the search for a release that meets a target."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import maskmeter as mm
from maskmeter import errors
from maskmeter.cli.main import commands
from maskmeter.risk.target import Binding, Target
from maskmeter.riskutility.comparison import replication_seeds, undominated

LOSS = ("lad", "ethnicity")


@pytest.fixture(scope="module")
def world(town):
    population = mm.count(town, keys=["lad", "age", "marital", "ethnicity"])
    people = mm.bernoulli_sample(town, fraction=0.02, rng=1)
    return mm.read(people, keys=population.space, fraction=0.02), population


CANDIDATES = {
    "RS10": mm.Swap("lad", rate=0.1),
    "RS20": mm.Swap("lad", rate=0.2),
    "TS10": mm.Swap("lad", rate=mm.by("ethnicity", {"White British": 0.0}, otherwise=0.75)),
    "both": [mm.Pram("age", stay=0.9), mm.Swap("lad", rate=0.1)],
}

numbers = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=9)


@given(numbers)
def test_the_frontier_is_the_set_of_unbeaten_releases(points):
    risk, loss = (np.array(axis, dtype=float) for axis in zip(*points, strict=True))
    best = undominated(risk, loss)

    for j, (r, x) in enumerate(points):
        beaten = any((a <= r and b < x) or (a < r and b <= x) for a, b in points)
        assert best[j] == (not beaten)


def test_a_map_has_the_risks_and_losses_of_its_releases(world):
    sample, population = world
    found = mm.compare(sample, CANDIDATES, loss=LOSS, population=population, rng=5)
    (seed,) = replication_seeds(5, 1)
    release = CANDIDATES["RS20"].apply(sample, rng=seed)

    assert found["RS20"].risk == mm.exact_risk(release, population).total
    assert found["RS20"].upper == found["RS20"].risk
    losses = [mm.information_loss(release, rows=r, columns=c).worst for r, c in found.tables]
    assert found["RS20"].loss == pytest.approx(np.mean(losses))
    assert found["RS20"].changed == release.changed.mean()
    assert [point.label for point in found.points] == list(CANDIDATES)
    assert "TS10" in found.frontier
    assert found["TS10"].risk < found["RS20"].risk


def test_a_release_of_another_file_is_refused(world):
    sample, population = world
    other = mm.bernoulli_sample(mm.synthetic_census(size=200_000), fraction=0.02, rng=2)
    release = CANDIDATES["RS20"].apply(mm.read(other, keys=population.space, fraction=0.02), rng=1)

    with pytest.raises(mm.MaskmeterError, match="made from another file"):
        mm.compare(sample, {"ready": release}, loss=LOSS, population=population)


def test_replications_share_random_numbers_and_give_a_spread(world):
    sample, population = world
    twins = {"one": mm.Swap("lad", rate=0.2), "two": mm.Swap("lad", rate=0.2)}
    found = mm.compare(sample, twins, loss=LOSS, population=population, replications=3, rng=1)

    assert found["one"].risk == found["two"].risk
    assert found["one"].risk_sd > 0
    assert found["one"].loss_sd > 0
    assert found["one"].replications == 3
    again = mm.compare(sample, twins, loss=LOSS, population=population, replications=3, rng=1)
    assert again.to_frame().equals(found.to_frame())


def test_without_a_population_the_risk_is_estimated_with_one_model(world):
    sample, population = world
    exact = mm.compare(sample, CANDIDATES, loss=LOSS, population=population, rng=5)
    with errors.without_warnings():
        model = mm.search_loglinear(sample)
    seen = []
    found = mm.compare(
        sample, CANDIDATES, loss=LOSS, model=model, rng=5, progress=lambda *told: seen.append(told)
    )

    assert seen == [(label, n, len(CANDIDATES)) for n, label in enumerate(CANDIDATES, start=1)]
    for label in CANDIDATES:
        assert found[label].loss == exact[label].loss
        assert found[label].risk == pytest.approx(exact[label].risk, rel=0.25)
        assert found[label].upper > found[label].risk
    assert "estimated risk" in found.summary()
    assert "exact risk" in exact.summary()


@pytest.mark.parametrize("measure", ["worst", "raad", "rcv", "bvr"])
def test_every_measure_of_loss_is_positive_and_grows_with_the_rate(world, measure):
    sample, population = world
    tables = [LOSS, ("lad", "age")]
    found = mm.compare(
        sample, CANDIDATES, loss=tables, measure=measure, population=population, rng=5
    )

    assert all(point.loss > 0 for point in found.points)
    assert found["RS20"].loss > found["RS10"].loss


def test_the_chart_of_a_map_shows_its_releases(world):
    sample, population = world
    found = mm.compare(sample, CANDIDATES, loss=LOSS, population=population, rng=5)
    chart = found.plot().to_dict()

    assert chart["title"]["subtitle"].startswith("Frontier")
    number = len(found.frontier)
    assert (
        found.headline
        == f"{number} of 4 releases {'is' if number == 1 else 'are'} on the frontier."
    )
    (rows,) = chart["datasets"].values()
    assert {row["label"] for row in rows} == set(CANDIDATES)
    assert repr(found).startswith("RiskUtilityMap(4 releases; frontier ")
    with pytest.raises(mm.MaskmeterError, match="No release is labelled 'XX'"):
        found["XX"]


def test_a_search_finds_the_least_loss_that_meets_the_target(world):
    sample, population = world
    family = mm.Family("lad", target="ethnicity")
    share = 0.5 * mm.exact_risk(sample, population).share
    found = mm.find_release(
        sample,
        family=family,
        target=mm.Target(max_share=share),
        loss=LOSS,
        population=population,
        rng=3,
    )
    path = found.to_frame()

    assert found.met
    assert found.risk.total <= share * sample.uniques
    informed = mm.exact_risk(found.release, population, intruder="informed")
    assert informed.total == found.risk.total
    meeting = path.filter(pl.col("informed") <= share * sample.uniques)
    assert found.loss == meeting["loss"].min()
    assert found.label == meeting.sort("loss")["label"][0]
    assert {" ".join(label.split()[:2]) for label in path["label"][1:]} == {
        "random swap", "random pram", "targeted swap", "targeted pram",
    }  # fmt: skip
    assert path["label"][0] == "no protection"
    assert "loses least" in found.summary()
    assert f"{len(path)} releases were tried" in found.summary()


def test_a_rate_one_percent_lower_misses_the_target(world):
    """Bisection stops next to a rate that misses the target."""
    sample, population = world
    total = 0.6 * mm.exact_risk(sample, population).total
    found = mm.find_release(
        sample,
        family=mm.Family("lad", methods="swap"),
        target=mm.Target(max_total=total),
        loss=LOSS,
        population=population,
        rng=3,
    )
    changed = min(p.changed for p in found.tried.points if p.informed <= total)
    below = max((p for p in found.tried.points if p.changed < changed), key=lambda p: p.changed)

    assert below.changed == pytest.approx(changed - 0.01, abs=0.002)
    assert below.informed > total
    assert found.risk.total <= total


def test_an_estimated_risk_must_meet_the_target_by_its_upper_end(world):
    sample, _ = world
    with errors.without_warnings():
        model = mm.search_loglinear(sample)
    total = 0.75 * model.tau2
    found = mm.find_release(
        sample,
        family=mm.Family("lad", methods=("swap",)),
        target=mm.Target(max_total=total),
        loss=LOSS,
        model=model,
        rng=3,
    )

    assert found.risk.interval[1] <= total
    assert "upper end of the interval" in found.summary()


def test_a_release_can_be_chosen_from_candidates(world):
    sample, population = world
    found = mm.find_release(
        sample,
        candidates=CANDIDATES,
        target=mm.Target(max_total=1e9),
        loss=LOSS,
        population=population,
        rng=1,
    )

    assert found.label == min(found.tried.points, key=lambda point: point.loss).label
    drawn = found.plot().to_dict()
    assert drawn["title"]["text"] == "Risk and information loss"
    (rows,) = drawn["datasets"].values()
    assert [row["label"] for row in rows if row["chosen"]] == [found.label]
    (line,) = [layer["encoding"]["y"] for layer in drawn["layer"] if layer.get("name") == "target"]
    assert line["datum"] == found.target.allowed(found.risk.unprotected)


def test_a_target_that_no_release_meets_warns(world):
    sample, population = world
    with pytest.warns(
        errors.TargetWarning, match="No release meets the target of at most 1 correct"
    ):
        found = mm.find_release(
            sample,
            candidates=CANDIDATES,
            target=mm.Target(max_total=1),
            loss=LOSS,
            population=population,
            rng=1,
        )

    assert not found.met
    assert found.risk.total == min(point.informed for point in found.tried.points)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"family": "lad"}, "must be an mm.Family"),
        ({"family": mm.Family("lad"), "target": 0.1}, "must be an mm.Target"),
        ({"candidates": []}, "dictionary of candidates"),
        ({"candidates": {1: mm.Swap("lad", 0.1), "1": mm.Swap("lad", 0.2)}}, "have the same label"),
        ({"candidates": CANDIDATES, "progress": 3}, "`progress` must be a function"),
        ({"family": mm.Family("lad"), "loss": "lad"}, "pair of columns"),
        ({"family": mm.Family("lad"), "measure": "aad"}, "`measure` must be one of"),
        ({"family": mm.Family("lda")}, "No key named 'lda'"),
        ({"family": mm.Family("lad"), "known": {}}, "`known` must name at least one scenario"),
        ({"family": mm.Family("lad", target="sex")}, "No key named 'sex'"),
    ],
)
def test_invalid_searches_are_rejected(world, options, message):
    sample, population = world
    settings = {"target": mm.Target(max_total=5), "loss": LOSS, "population": population} | options
    with pytest.raises(mm.MaskmeterError, match=message):
        mm.find_release(sample, **settings)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "one of `max_share`, `max_total` and `max_record`, not none"),
        ({"max_share": 0.1, "max_total": 5}, "`max_record`, not several"),
        ({"max_share": 0.1, "max_record": 0.5}, "`max_record`, not several"),
        ({"max_total": -1}, "of at least 0"),
        ({"max_record": 2}, "between 0 and 1"),
        ({"max_record": 0.5, "intruder": "spy"}, "one of 'exact-match', 'informed'"),
        ({"max_share": 1.1}, "between 0 and 1"),
        ({"max_total": 5, "by": "lower"}, "`by` must be one of 'upper', 'estimate'"),
    ],
)
def test_invalid_targets_are_rejected(options, message):
    with pytest.raises(mm.MaskmeterError, match=message):
        mm.Target(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ("recode",)}, 'one or more of "swap", "pram", "subsample"'),
        ({"methods": None}, 'one or more of "swap", "pram", "subsample"'),
        ({"target": "lad"}, "another key"),
        ({"target": ("sex", "age")}, "name of one key"),
        ({"methods": "subsample", "target": "sex"}, "can be targeted"),
        ({"within": ("sex",)}, "`within` applies to swaps only"),
    ],
)
def test_invalid_families_are_rejected(options, message):
    with pytest.raises(mm.MaskmeterError, match=message):
        mm.Family("lad", **options)


def test_a_family_targets_only_methods_whose_rate_may_vary(world):
    sample, _ = world
    family = mm.Family("lad", methods=("swap", "subsample"), target="ethnicity")
    risk = np.where(sample.codes[:, sample.space.index("ethnicity")] == 0, 0.0, 1.0)
    curves = family.curves(sample, risk)

    assert list(curves) == ["random swap", "random subsample", "targeted swap"]
    assert all(isinstance(curve(0.1)[0], mm.Swap | mm.Subsample) for curve in curves.values())


def test_a_file_that_meets_the_target_is_not_changed(world):
    sample, population = world
    found = mm.find_release(
        sample,
        family=mm.Family("lad"),
        target=mm.Target(max_share=1.0),
        loss=LOSS,
        population=population,
    )

    assert found.label == "no protection"
    assert found.loss == 0
    assert not found.release.changed.any()
    assert "without protection" in found.summary()


def test_a_table_without_the_key_does_not_hide_the_loss(world):
    """The table is unchanged at every rate, so the key's associations are measured too."""
    sample, population = world
    share = 0.8 * mm.exact_risk(sample, population).share
    found = mm.find_release(
        sample,
        family=mm.Family("lad", methods="swap"),
        target=mm.Target(max_share=share),
        loss=("age", "marital"),
        population=population,
        rng=1,
    )
    meeting = found.to_frame().filter(pl.col("informed_share") <= share)

    assert found.tried.tables[0] == ("age", "marital")
    assert {rows for rows, _ in found.tried.tables[1:]} == {"lad"}
    assert found.loss == meeting["loss"].min() > 5
    fewer = meeting.filter(pl.col("changed") < found.release.changed.mean())
    assert (fewer["loss"] > found.loss).all()  # no more than the target needs, unless it costs less


def test_maps_and_searches_give_the_cautions_of_their_model(world):
    sample, _ = world
    weak = mm.fit_loglinear(sample, ["lad:ethnicity", "lad:age"])
    assert 2 < abs(weak.goodness.z2) < 8
    with pytest.warns(errors.WeakFitWarning):
        found = mm.compare(sample, CANDIDATES, loss=LOSS, model=weak, rng=5)
    assert len(found.cautions) == 1
    assert "Caution: z2 is" in found.summary()
    with pytest.warns(errors.WeakFitWarning):
        chosen = mm.find_release(
            sample,
            candidates=CANDIDATES,
            target=mm.Target(max_total=1e9),
            loss=LOSS,
            model=weak,
            rng=5,
        )
    assert "Caution: z2 is" in chosen.summary()


def test_a_model_that_does_not_fit_gives_no_risk_and_no_choice(world):
    sample, _ = world
    unfit = mm.fit_loglinear(sample, "independence")
    assert unfit.goodness.z2 > 8
    with pytest.warns(errors.UnfitModelWarning):
        found = mm.compare(sample, CANDIDATES, loss=LOSS, model=unfit, rng=5)
    with pytest.warns(errors.UnfitModelWarning):
        chosen = mm.find_release(
            sample,
            candidates=CANDIDATES,
            target=mm.Target(max_total=1e9),
            loss=LOSS,
            model=unfit,
            rng=5,
        )
    with pytest.warns(errors.UnfitModelWarning):
        risk = mm.estimate_risk(sample, unfit)

    first = "The risk is not assessable with these keys: "
    assert found.headline.startswith(first)
    assert found.summary().startswith(first)
    assert not chosen.met
    assert chosen.verdict == "not assessable"
    assert chosen.summary().startswith(first)
    assert len(chosen.tried.points) == 1
    assert not risk.assessable
    assert risk.summary().startswith(first)


def schooled(records=2000, seed=1):
    """Return people whose education depends strongly on age and decides their work."""
    rng = np.random.default_rng(seed)

    def near(centre, size, spread):
        chance = np.exp(-((np.arange(size) - centre[:, None]) ** 2) / spread)
        until = np.cumsum(chance / chance.sum(axis=1, keepdims=True), axis=1)
        return (rng.random(records)[:, None] > until[:, :-1]).sum(axis=1)

    region = rng.choice(12, p=np.linspace(3, 1, 12) / 24, size=records)
    age = rng.integers(0, 12, records)
    taught = np.clip(6 - 0.45 * age + 0.1 * region + rng.normal(0, 0.7, records), 0, 7)
    education = near(taught, 8, 0.6)
    columns = {"education": education, "region": region, "age": age, "sex": rng.integers(0, 2, records)}  # fmt: skip
    return pl.DataFrame({**columns, "work": near(0.7 * education, 6, 0.8)})


@pytest.fixture(scope="module")
def school():
    sample = mm.read(schooled(), keys=["education", "region", "age", "sex"], fraction=0.05)
    with errors.without_warnings():
        return sample, mm.search_loglinear(sample)


SWAPS = mm.Family("education", methods="swap", target="region")


def test_a_release_that_loses_too_much_is_not_recommended(school):
    """A swap of 85 % loses only 6.1 by RAAD of education by region, but 89 % of V with work."""
    sample, model = school
    target = mm.Target(max_share=0.005, intruder="exact-match")
    settings = {"family": SWAPS, "target": target, "model": model, "rng": 1}
    with pytest.warns(errors.TargetWarning, match="No useful release in this family meets"):
        found = mm.find_release(sample, loss=("education", "region"), **settings)

    assert not found.met
    assert found.verdict == "not met"
    assert found.binds == Binding("estimate")
    assert max(found.release.changed_by_key.values()) <= 0.5
    assert found.loss <= 50
    assert found.label == found.nearest[0]
    assert {label.rsplit(" ", 1)[0] for label in found.nearest} == {"targeted swap", "random swap"}
    assert found.ruined
    for label in found.ruined:
        assert found.tried[label].loss > 50 or found.tried[label].changed > 0.5
    assert "Nearest useful: targeted swap" in found.summary()
    assert "What exceeds the target is the estimate." in found.summary()


@pytest.mark.parametrize("share", [0.02, 0.03, 0.05, 0.1])
@pytest.mark.parametrize("target", ["region", "age"])
def test_no_release_that_meets_the_target_is_better_than_the_one_found(school, share, target):
    """It has the least loss of all releases tried, and none has less risk at no more loss."""
    sample, model = school
    family = mm.Family("education", target=target)
    with errors.without_warnings(errors.TargetWarning):
        found = mm.find_release(
            sample, family=family, target=mm.Target(max_share=share), model=model, rng=1
        )
    path, most = found.to_frame(), share * sample.uniques  # uniques of the unprotected file
    useful = path.filter(pl.col("changed") <= 0.5, pl.col("loss") <= 50)
    meeting = useful.filter(pl.col("informed_upper") <= most)

    assert found.met == (len(meeting) > 0)
    if found.met:
        assert found.loss == meeting["loss"].min()
    best = undominated(useful["informed_upper"].to_numpy(), useful["loss"].to_numpy())
    assert found.label in useful.filter(best)["label"]
    assert len(path) <= 1 + 3 * 4 * 8  # the steps of bisection over all rates, for each layer


def test_the_summary_says_when_the_interval_decides(school):
    sample, model = school
    settings = {"family": SWAPS, "model": model, "rng": 1}
    upper = mm.find_release(sample, target=mm.Target(max_share=0.06), **settings)
    lenient = mm.Target(max_share=0.06, by="estimate")
    estimate = mm.find_release(sample, target=lenient, **settings)

    assert (upper.met, upper.verdict) == (True, "met")
    matched, alone, strict = upper.layers
    assert strict.label == upper.label
    assert upper.tried[alone.label].informed_share <= 0.06
    assert upper.tried[alone.label].informed_upper > 0.06 * sample.uniques
    assert upper.tried[matched.label].share <= 0.06
    assert matched.loss <= alone.loss < strict.loss  # each layer costs
    assert "The interval decided, not the estimate: by the estimate alone" in upper.summary()
    assert (estimate.met, estimate.verdict) == (True, "met at the estimate only")
    assert estimate.label == alone.label
    assert estimate.loss < upper.loss
    assert "meets the target, but the upper end of its interval does not" in estimate.summary()


def test_an_unmet_target_names_the_figure_and_scenario_that_exceed_it(world):
    sample, population = world
    scenarios = {"near": ["lad", "age"], "far": ["lad", "age", "ethnicity"]}
    settings = {"candidates": {"RS10": CANDIDATES["RS10"]}, "rng": 1}
    near, far = (mm.exact_risk(sample.project(k), population.project(k)).total for k in scenarios.values())  # fmt: skip
    with pytest.warns(
        errors.TargetWarning, match="What exceeds the target is the risk in the scenario far"
    ):
        exact = mm.find_release(
            sample,
            target=mm.Target(max_total=near + 1),
            known=scenarios,
            population=population,
            **settings,
        )
    assert near + 1 < far
    assert exact.binds == Binding("risk", ("far",))
    with errors.without_warnings():
        before = mm.find_release(
            sample, target=mm.Target(max_total=1e9), known=scenarios, **settings
        )
        total = before.tried["RS10"].informed + 0.1
        estimated = mm.find_release(
            sample, target=mm.Target(max_total=total), known=scenarios, **settings
        )
    assert estimated.binds == Binding("upper end of the interval", ("far",))
    assert estimated.verdict == "met at the estimate only"
    assert [one.label for one in estimated.layers] == ["RS10", "RS10", None]
    assert "By the estimate alone RS10 (loss" in estimated.summary()


def test_a_target_has_three_verdicts_and_the_worst_scenario_decides(school):
    sample, model = school
    risk = mm.estimate_risk(sample, model)
    low, middle, high = 0.0, (risk.total + risk.upper) / 2, risk.upper
    verdicts = [Target(max_total=most).decide(risk).verdict for most in (low, middle, high)]

    assert verdicts == ["not met", "met at the estimate only", "met"]
    assert [Target(max_total=m).decide(risk).met for m in (low, middle, high)] == [False, False, True]  # fmt: skip
    lenient = [Target(max_total=m, by="estimate") for m in (low, middle, high)]
    assert [one.decide(risk).met for one in lenient] == [False, True, True]
    assert [one.decide(risk).verdict for one in lenient] == verdicts
    safe = mm.estimate_risk(sample.project(["sex"]))
    assert Target(max_total=middle).decide(safe).verdict == "met"
    assert (
        Target(max_total=middle).decide({"safe": safe, "risky": risk}).verdict
        == "met at the estimate only"
    )
    assert str(Target(max_total=1)) == "at most 1 correct match by an informed intruder"


def test_all_releases_of_a_map_are_measured_on_the_same_tables(school):
    """Each key that a candidate changes adds its associations, or its strongest column."""
    sample, model = school
    steps = {"one": mm.Swap("education", rate=0.1), "two": mm.Pram("sex", stay=0.9)}
    own = {"made": mm.Swap("region", rate=0.1).apply(sample, rng=1)}
    found = mm.compare(sample, {**own, **steps}, model=model, rng=1)

    assert set(found.tables[:2]) == {("education", "work"), ("education", "age")}
    assert [rows for rows, _ in found.tables[2:]] == ["region", "sex"]  # no significant association
    assert found.summary().startswith("3 releases by estimated risk (by an informed intruder) and information loss (%), the mean over education x")  # fmt: skip
    named = mm.compare(sample, steps, loss=("work", "education"), model=model, rng=1)
    assert named.tables[0] == ("work", "education")
    assert ("education", "work") not in named.tables
    alone = mm.compare(
        sample, steps, loss=("work", "education"), associations=0, model=model, rng=1
    )
    assert alone.tables == (("work", "education"),)
    assert alone["two"].loss == 0
    with pytest.raises(mm.MaskmeterError, match="No table to measure the loss on"):
        mm.compare(sample, steps, associations=0, model=model)
    with pytest.raises(mm.MaskmeterError, match="`associations` must be a whole number"):
        mm.compare(sample, steps, associations=-1, model=model)


def crowded():
    """Return people of whom nine in ten live in one place, so few can be paired for a swap."""
    places = pl.Series("place", np.repeat(["a", "b", "c"], [1800, 100, 100]))
    return schooled().with_columns(places)


@pytest.fixture(scope="module")
def lopsided():
    return mm.read(crowded(), keys=["place", "age", "sex"], fraction=0.05)


def test_a_map_warns_when_fewer_records_were_swapped_than_requested(lopsided):
    steps = {"half": mm.Swap("place", rate=0.5), "none": mm.Pram("age", stay=0.9)}
    with pytest.warns(errors.RateWarning, match="half: 200 records were swapped where 1,000"):
        found = mm.compare(lopsided, steps, replications=3, rng=1)
    short = [one for one in found.cautions if one.kind is errors.RateWarning]

    assert len(short) == 1  # three draws warn once
    assert "Caution: half: 200 records were swapped where 1,000" in found.summary()
    with pytest.warns(errors.RateWarning):
        made = {"own": mm.Swap("place", rate=0.5).apply(lopsided, rng=1)}
    with pytest.warns(errors.RateWarning, match="own: 200 records"):
        mm.compare(lopsided, {"none": steps["none"], **made}, rng=1)


def test_a_search_warns_only_about_its_choice_and_the_nearest_releases(lopsided):
    with pytest.warns(errors.RateWarning):
        candidates = mm.find_release(
            lopsided,
            candidates={"half": mm.Swap("place", rate=0.5)},
            target=mm.Target(max_total=1e9),
            rng=1,
        )
    assert candidates.label == "no protection"
    assert str(candidates.tried.cautions[-1]).startswith("half: 200 records")
    before = candidates.tried["no protection"].upper
    with errors.without_warnings():
        family = mm.find_release(
            lopsided,
            family=mm.Family("place", methods="swap"),
            target=mm.Target(max_total=0.95 * before),
            rng=1,
        )
    short = [str(one) for one in family.tried.cautions if one.kind is errors.RateWarning]
    assert all(one.split(":")[0] in (family.label, *family.nearest) for one in short)


PLAN = """
[data]
keys = ["place", "age", "sex", "region"]
fraction = 0.05
[[candidate]]
label = "half"
[[candidate.step]]
method = "swap"
key = "place"
rate = 0.5
[target]
max_total = 1000
by = "estimate"
"""


@pytest.mark.parametrize(("command", "said"), [("compare", "half"), ("find", "without protection")])
def test_compare_and_find_need_no_tables_and_pass_on_warnings(tmp_path, command, said):
    crowded().write_csv(tmp_path / "survey.csv")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    out = tmp_path / "out"
    given = [command, tmp_path / "survey.csv", "--plan", tmp_path / "plan.toml", "--out", out]
    with pytest.warns(errors.RateWarning, match="half: 200 records were swapped where 1,000"):
        done = CliRunner().invoke(commands, [*map(str, given), "--quiet"])

    assert done.exit_code == 0, done.output
    assert said in done.output
