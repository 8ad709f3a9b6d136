"""Maps of releases, their frontier, and the search for a release that meets a target."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskmeter as mm
from maskmeter import errors
from maskmeter.riskutility.comparison import replication_seeds, undominated

LOSS = ("lad", "ethnicity")


@pytest.fixture(scope="module")
def world():
    census = mm.synthetic_census(size=200_000)
    population = mm.count(census, keys=["lad", "age", "marital", "ethnicity"])
    people = mm.bernoulli_sample(census, fraction=0.02, rng=1)
    return mm.read(people, keys=population.space, fraction=0.02), population


CANDIDATES = {
    "RS10": mm.Swap("lad", rate=0.1),
    "RS20": mm.Swap("lad", rate=0.2),
    "TS10": mm.Swap("lad", rate=mm.by("ethnicity", {"White British": 0.0}, otherwise=0.75)),
    "both": [mm.Pram("age", stay=0.9), mm.Swap("lad", rate=0.1)],
}

numbers = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=9)


@given(numbers)
def test_the_frontier_holds_whatever_nothing_beats(points):
    risk, loss = (np.array(axis, dtype=float) for axis in zip(*points, strict=True))
    best = undominated(risk, loss)

    for j, (r, x) in enumerate(points):
        beaten = any((a <= r and b < x) or (a < r and b <= x) for a, b in points)
        assert best[j] == (not beaten)


def test_a_map_holds_exact_risks_and_losses(world):
    sample, population = world
    found = mm.compare(sample, CANDIDATES, loss=LOSS, population=population, rng=5)
    (seed,) = replication_seeds(5, 1)
    release = CANDIDATES["RS20"].apply(sample, rng=seed)

    assert found["RS20"].risk == mm.exact_risk(release, population).total
    assert found["RS20"].upper == found["RS20"].risk
    raad = mm.information_loss(release, rows="lad", columns="ethnicity").raad
    assert found["RS20"].loss == pytest.approx(100 - raad)
    assert found["RS20"].changed == release.changed.mean()
    assert [point.label for point in found.points] == list(CANDIDATES)
    assert "TS10" in found.frontier
    assert found["TS10"].risk < found["RS20"].risk


def test_replications_share_their_random_numbers_and_have_a_spread(world):
    sample, population = world
    twins = {"one": mm.Swap("lad", rate=0.2), "two": mm.Swap("lad", rate=0.2)}
    found = mm.compare(sample, twins, loss=LOSS, population=population, replications=3, rng=1)

    assert found["one"].risk == found["two"].risk
    assert found["one"].risk_sd > 0
    assert found["one"].loss_sd > 0
    assert found["one"].replications == 3
    again = mm.compare(sample, twins, loss=LOSS, population=population, replications=3, rng=1)
    assert again.to_frame().equals(found.to_frame())


def test_without_a_population_the_risk_is_estimated_by_one_search(world):
    sample, population = world
    exact = mm.compare(sample, CANDIDATES, loss=LOSS, population=population, rng=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.MaskmeterWarning)
        model = mm.search_loglinear(sample)
    seen = []
    found = mm.compare(sample, CANDIDATES, loss=LOSS, model=model, rng=5, progress=seen.append)

    assert [point.label for point in seen] == list(CANDIDATES)
    for label in CANDIDATES:
        assert found[label].loss == exact[label].loss
        assert found[label].risk == pytest.approx(exact[label].risk, rel=0.25)
        assert found[label].upper > found[label].risk
    assert "estimated risk" in found.summary()
    assert "exact risk" in exact.summary()


@pytest.mark.parametrize("measure", ["raad", "rcv", "bvr"])
def test_every_measure_is_a_distance_from_an_unchanged_table(world, measure):
    sample, population = world
    tables = [LOSS, ("lad", "age")]
    found = mm.compare(
        sample, CANDIDATES, loss=tables, measure=measure, population=population, rng=5
    )

    assert all(point.loss > 0 for point in found.points)
    assert found["RS20"].loss > found["RS10"].loss


def test_a_map_draws_what_it_holds(world):
    sample, population = world
    found = mm.compare(sample, CANDIDATES, loss=LOSS, population=population, rng=5)
    chart = found.plot().to_dict()

    assert chart["title"]["subtitle"].startswith("Frontier")
    (rows,) = chart["datasets"].values()
    assert {row["label"] for row in rows} == set(CANDIDATES)
    assert repr(found).startswith("RiskUtilityMap(4 releases; frontier ")
    assert found._repr_html_().startswith("<p>4 releases")
    with pytest.raises(mm.MaskmeterError, match="No release is labelled 'XX'"):
        found["XX"]


def test_the_least_loss_that_meets_the_target_is_found(world):
    sample, population = world
    family = mm.Family("lad", target="ethnicity")
    share = 0.5 * mm.exact_risk(sample, population).share
    found = mm.find_release(
        sample, family=family, max_share=share, loss=LOSS, population=population, rng=3
    )
    path = found.path

    assert found.met
    assert found.risk.share <= share
    assert mm.exact_risk(found.release, population).total == found.risk.total
    meeting = path.filter(pl.col("share") <= share)
    assert found.loss == meeting["loss"].min()
    assert found.label == meeting.sort("loss")["label"][0]
    assert {label.rsplit(" ", 1)[0] for label in path["label"][1:]} == {
        "random swap", "random pram", "targeted swap", "targeted pram",
    }  # fmt: skip
    assert path["label"][0] == "no protection"
    assert "loses least" in found.summary()
    assert f"{len(path)} releases were tried" in found.summary()


def test_one_percent_less_would_not_do(world):
    """Bisection ends beside a rate that misses the target."""
    sample, population = world
    total = 0.6 * mm.exact_risk(sample, population).total
    found = mm.find_release(
        sample,
        family=mm.Family("lad", methods="swap"),
        max_total=total,
        loss=LOSS,
        population=population,
        rng=3,
    )
    rate = int(found.label.split()[-1].rstrip("%"))

    assert found.tried[f"random swap {rate - 1}%"].risk > total
    assert found.risk.total <= total


def test_an_estimated_risk_must_meet_the_target_by_its_upper_end(world):
    sample, _ = world
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.MaskmeterWarning)
        model = mm.search_loglinear(sample)
    total = 0.6 * model.tau2
    found = mm.find_release(
        sample,
        family=mm.Family("lad", methods=("swap",)),
        max_total=total,
        loss=LOSS,
        model=model,
        rng=3,
    )

    assert found.risk.interval[1] <= total
    assert "upper end of the interval" in found.summary()


def test_candidates_can_be_chosen_from(world):
    sample, population = world
    found = mm.find_release(
        sample, candidates=CANDIDATES, max_total=1e9, loss=LOSS, population=population, rng=1
    )

    assert found.label == min(found.tried.points, key=lambda point: point.loss).label
    assert found.plot().to_dict()["title"]["text"] == "Risk and information loss"


def test_a_target_that_nothing_meets_is_said(world):
    sample, population = world
    with pytest.warns(
        errors.TargetWarning, match="No release meets the target of at most 1 correct"
    ):
        found = mm.find_release(
            sample, candidates=CANDIDATES, max_total=1, loss=LOSS, population=population, rng=1
        )

    assert not found.met
    assert found.risk.total == min(point.risk for point in found.tried.points)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "`family` to search, or `candidates`"),
        ({"family": "lad"}, "must be an mm.Family"),
        ({"family": mm.Family("lad"), "max_share": 0.1}, "one of the two"),
        ({"candidates": []}, "dictionary of candidates"),
        ({"candidates": {1: mm.Swap("lad", 0.1), "1": mm.Swap("lad", 0.2)}}, "read the same"),
        ({"candidates": CANDIDATES, "progress": 3}, "`progress` must be a function"),
        ({"family": mm.Family("lad"), "loss": "lad"}, "pair of columns"),
        ({"family": mm.Family("lad"), "measure": "aad"}, "`measure` must be one of"),
        ({"family": mm.Family("lad"), "max_total": -1}, "from 0 to inf"),
        ({"family": mm.Family("lad", target="sex")}, "No key named 'sex'"),
    ],
)
def test_searches_that_are_none(world, options, message):
    sample, population = world
    settings = {"max_total": 5, "loss": LOSS, "population": population} | options
    with pytest.raises(mm.MaskmeterError, match=message):
        mm.find_release(sample, **settings)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ("recode",)}, '"swap", "pram" or both'),
        ({"methods": None}, '"swap", "pram" or both'),
        ({"target": "lad"}, "another key"),
        ({"target": ("sex", "age")}, "name of one key"),
        ({"within": ("sex",)}, "`within` is for swaps"),
    ],
)
def test_families_that_are_none(options, message):
    with pytest.raises(mm.MaskmeterError, match=message):
        mm.Family("lad", **options)


def test_a_file_that_meets_the_target_is_left_alone(world):
    sample, population = world
    found = mm.find_release(
        sample, family=mm.Family("lad"), max_share=1.0, loss=LOSS, population=population
    )

    assert found.label == "no protection"
    assert found.loss == 0
    assert not found.release.changed.any()
    assert "without protection" in found.summary()
    assert found._repr_html_().startswith("<p>The file meets")


def test_no_more_is_moved_than_it_takes(world):
    """A table that does not see the key is unchanged at every rate: the lowest one is chosen."""
    sample, population = world
    share = 0.8 * mm.exact_risk(sample, population).share
    found = mm.find_release(
        sample,
        family=mm.Family("lad", methods="swap"),
        max_share=share,
        loss=("age", "marital"),
        population=population,
        rng=1,
    )
    rates = found.path.filter(pl.col("share") <= share)["changed"]

    assert found.loss == 0
    assert found.release.changed.mean() == rates.min()


def test_what_speaks_against_the_estimates_is_said(world):
    sample, _ = world
    weak = mm.fit_loglinear(sample, "independence")
    with pytest.warns(errors.WeakFitWarning):
        found = mm.compare(sample, CANDIDATES, loss=LOSS, model=weak, rng=5)
    assert len(found.cautions) == 1
    assert "Caution: z2 is" in found.summary()
    with pytest.warns(errors.WeakFitWarning):
        chosen = mm.find_release(
            sample, candidates=CANDIDATES, max_total=1e9, loss=LOSS, model=weak, rng=5
        )
    assert "Caution: z2 is" in chosen.summary()
