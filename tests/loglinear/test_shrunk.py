"""The empirical-Bayes model: a worked example, its laws, weights and what it refuses."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import maskmeter as mm
from maskmeter import errors
from maskmeter.loglinear import choosing, make_model, posterior, shrinkage, shrunk
from maskmeter.loglinear.observed import Counted, Observed
from maskmeter.loglinear.posterior import Shrinker
from maskmeter.loglinear.shrinkage import Shrinkage
from maskmeter.risk.interval import shrunk_variance

SIZES = (3, 4, 5)
SPACE = mm.KeySpace(mm.Key(f"k{c}", range(size)) for c, size in enumerate(SIZES))
ONE, TWO, THREE = np.indices(SIZES)
TABLE = np.floor(
    12 * np.exp(-((ONE - TWO) ** 2) / 2 - (TWO - THREE) ** 2 / 3)
    + ((ONE + 2 * TWO + 3 * THREE) % 4) / 3
)
CELLS = np.argwhere(TABLE > 0)
COUNTED = Counted(SPACE, CELLS, TABLE[TABLE > 0])
SAMPLE = mm.Microdata(SPACE, np.repeat(CELLS, TABLE[TABLE > 0].astype(int), axis=0), fraction=0.1)


@pytest.fixture(scope="module")
def small(census):
    people = mm.bernoulli_sample(census, fraction=0.002, rng=4)
    return mm.read(people, keys=["lad", "age", "marital", "ethnicity"], fraction=0.002)


def quietly(made, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.MaskmeterWarning)
        return made(*args, **options)


def test_the_worked_example_has_the_stated_means():
    model = mm.shrink_loglinear(SAMPLE)
    means = model.means.table

    assert means[0, 0] == pytest.approx(
        [6.486583, 5.630364, 2.314336, 1.930049, 0.404724], abs=5e-7
    )
    assert means[0, 1] == pytest.approx(
        [8.026807, 9.217573, 4.961469, 3.410596, 0.679757], abs=1e-6
    )
    assert means[1, 2] == pytest.approx(
        [2.486894, 3.614721, 6.164269, 5.240312, 2.349862], abs=5e-7
    )
    assert means[2, 3] == pytest.approx([2.167339, 2.464291, 4.51778, 5.01781, 2.735831], abs=5e-7)
    kept = {term.keys for term in model.shrunk}
    assert kept == {(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)}


def test_the_worked_example_has_the_stated_risk():
    risk = quietly(mm.estimate_risk, SAMPLE)
    place = [
        int(np.flatnonzero((SAMPLE.codes == cell).all(axis=1))[0])
        for cell in ((0, 1, 4), (0, 2, 3), (0, 3, 3))
    ]

    assert risk.tau2 == pytest.approx(0.989628, abs=5e-7)
    assert risk.by_record[place] == pytest.approx([0.163097, 0.088722, 0.160011], abs=5e-7)
    assert shrunk_variance(risk.model) == pytest.approx(0.012516, abs=5e-7)


def test_one_pass_and_no_neighbours_give_the_stated_means(monkeypatch):
    once = Shrinkage.flat(COUNTED)
    once.go_through()
    assert once.means[0, 0] == pytest.approx(
        [6.951781, 6.19306, 2.07848, 1.746905, 0.523779], abs=5e-7
    )
    monkeypatch.setattr(shrinkage, "WIDTHS", ())
    assert Shrinkage.of(COUNTED).means[0, 0] == pytest.approx(
        [9.711146, 6.982538, 3.359448, 1.733738, 0.544523], abs=5e-7
    )


def test_counts_are_shrunk_as_stated(monkeypatch):
    counts, expected = np.array([12.0, 3.0, 0.0, 1.0]), np.full(4, 4.0)
    found = Shrinker(counts).shrink(expected)

    assert found.mean == pytest.approx([10.470494, 3.199738, 0.578946, 1.576887], abs=5e-7)
    assert found.variation == pytest.approx([0.078449, 0.250103, 1.723722, 0.518326], abs=5e-7)
    assert found.gain == pytest.approx(5.602845, abs=5e-7)
    assert found.weights == pytest.approx([0.000822, 0.003918, 0.877361, 0.117898], abs=1e-6)
    monkeypatch.setattr(posterior, "EM_STEPS", 1)
    assert Shrinker(counts).shrink(expected).weights == pytest.approx(
        [0.155374, 0.192236, 0.35297, 0.29942], abs=5e-7
    )


def test_the_posterior_is_that_of_a_mixture_of_gammas():
    """Against quadrature over each gamma density, for the weights that were learnt."""
    from scipy.integrate import quad
    from scipy.special import gammaln

    counts, expected = np.array([7.0, 0.0, 2.0]), np.array([3.0, 1.5, 2.5])
    found = Shrinker(counts).shrink(expected)

    def moment(power, n, e, c):
        """The integral of x^power Pr(n given x) over a gamma density, in y with x = y^max(c, 1)."""
        bend = max(c, 1.0)

        def part(y):
            x = y**bend
            logs = (power + 1 / c + n) * np.log(x) - np.log(y) - x * (e + 1 / c)
            return bend * np.exp(logs - gammaln(1 / c) - np.log(c) / c)

        return quad(part, 0, 60 ** (1 / bend), epsabs=0, epsrel=1e-11, limit=400)[0]

    for n, e, mean, variation in zip(counts, expected, found.mean, found.variation, strict=True):
        moments = found.weights[0] * np.exp(-e) * np.ones(3)
        for c, weight in zip(posterior.SPREADS[1:], found.weights[1:], strict=True):
            moments = moments + [weight * moment(power, n, e, c) for power in range(3)]
        assert e * moments[1] / moments[0] == pytest.approx(mean, rel=1e-8)
        assert moments[2] * moments[0] / moments[1] ** 2 - 1 == pytest.approx(variation, rel=1e-7)


def swept_both_ways(sample):
    """Means after one pass: by sweeps through smaller tables, and term by term on the whole one."""
    observed = Observed.of(sample)
    fast, plain = Shrinkage.flat(observed), Shrinkage.flat(observed)
    fast.go_through()
    means, axes = plain.means, tuple(range(plain.means.ndim))
    for order in (1, 2, 3):
        chosen = [term for term in plain._terms if len(term.keys) == order]
        for term in _in_order(axes, chosen, means.shape):
            others = tuple(a for a in axes if a not in term.keys)
            before = means.sum(axis=others)
            means = means * np.expand_dims(term.update(before) / before, others)
    return fast.means, means


def test_sweeps_through_smaller_tables_change_nothing(small):
    fast, plain = swept_both_ways(small)

    assert fast == pytest.approx(plain, rel=1e-10)


def _in_order(axes, terms, sizes):
    """Yield terms as a sweep comes to them."""
    while terms:
        lacking = [a for a in axes if any(a not in term.keys for term in terms)]
        if not lacking:
            yield from terms
            return
        over = max(lacking, key=lambda axis: sizes[axis])
        rest = tuple(a for a in axes if a != over)
        yield from _in_order(rest, [t for t in terms if over not in t.keys], sizes)
        terms = [t for t in terms if over in t.keys]


def test_means_add_up_to_the_records_and_no_cell_is_impossible(small):
    model = mm.shrink_loglinear(small)

    assert model.means.total == pytest.approx(len(small))
    assert (model.means.table > 0).all()
    assert model.terms[0] == "age:marital"
    frame = model.to_frame()
    assert frame["gain"].is_sorted(descending=True)
    assert "age:marital" in model.summary()
    assert repr(model).startswith("ShrunkLogLinear(")


def test_categories_that_nobody_has_keep_their_place():
    wider = mm.KeySpace([mm.Key("k0", range(5)), *SPACE.keys[1:]])
    means = mm.shrink_loglinear(mm.Microdata(wider, SAMPLE.codes, fraction=0.1)).means.table

    assert means.shape == (5, 4, 5)
    assert 0 < means[4].sum() < means[2].sum()


def test_the_order_of_categories_matters_but_not_that_of_keys_or_records(small):
    model = mm.shrink_loglinear(small)
    turned = mm.shrink_loglinear(small.project(["ethnicity", "marital", "age", "lad"]))
    mixed = small.take(np.random.default_rng(1).permutation(len(small)))

    assert turned.tau2 == pytest.approx(
        model.tau2, rel=2e-3
    )  # margins are updated in another order
    assert mm.shrink_loglinear(mixed).tau2 == pytest.approx(model.tau2, rel=1e-12)
    shuffled = np.random.default_rng(2).permutation(small.space["age"].size)
    codes = np.array(small.codes)
    codes[:, 1] = shuffled[codes[:, 1]]
    assert mm.shrink_loglinear(small.with_codes(codes)).tau2 != pytest.approx(model.tau2, rel=1e-3)


@pytest.mark.parametrize("model", ["shrunk", "score-path", "forward"])
def test_constant_weights_are_a_sampling_fraction(small, model):
    weighted = mm.Microdata(small.space, small.codes, weights=np.full(len(small), 500.0))
    one, other = (quietly(mm.estimate_risk, data, model) for data in (weighted, small))

    assert one.total == pytest.approx(other.total, rel=1e-9)
    assert one.by_record == pytest.approx(other.by_record, rel=1e-9)
    assert one.interval == pytest.approx(other.interval, rel=1e-9)
    assert one.tau1 == pytest.approx(other.tau1, rel=1e-9)
    assert one.model.goodness.z2 == pytest.approx(other.model.goodness.z2, rel=1e-9)


@pytest.mark.parametrize("model", ["shrunk", "score-path"])
def test_constant_weights_are_a_fraction_for_released_counts_too(small, model):
    weighted = mm.Microdata(small.space, small.codes, weights=np.full(len(small), 500.0))
    noise = mm.Misclassification({"lad": mm.stay_or_move(11, stay=0.85)})
    one, other = (
        quietly(mm.estimate_risk, data, model, misclassification=noise, intruder="informed")
        for data in (weighted, small)
    )

    assert one.method == "em"
    assert one.by_record == pytest.approx(other.by_record, rel=1e-9)
    assert one.interval == pytest.approx(other.interval, rel=1e-9)


def test_a_fraction_beside_weights_gives_the_inclusion_probabilities(small):
    uneven = np.random.default_rng(1).uniform(100, 900, len(small))
    both = mm.Microdata(small.space, small.codes, fraction=0.002, weights=uneven)

    assert quietly(mm.estimate_risk, both).total == quietly(mm.estimate_risk, small).total


def test_weights_of_one_leave_nobody_unsampled(small):
    everybody = mm.Microdata(small.space, small.codes, weights=np.ones(len(small)))
    for model in ("shrunk", "score-path"):
        risk = quietly(mm.estimate_risk, everybody, model)

        assert risk.total == pytest.approx(risk.uniques, rel=1e-12)
        assert risk.interval == pytest.approx((risk.uniques, risk.uniques), rel=1e-6)


def test_weights_below_one_count_as_one_with_a_caution(small):
    weights = np.full(len(small), 400.0)
    weights[:5] = 0.2
    ones = np.where(weights < 1, 1.0, weights)
    low, high = (mm.Microdata(small.space, small.codes, weights=w) for w in (weights, ones))
    found = quietly(mm.estimate_risk, low)
    (told,) = [one for one in found.cautions if one.kind is errors.SmallWeightWarning]

    assert re.match("5 of .* weights are below 1", str(told))
    assert found.total == quietly(mm.estimate_risk, high).total


def test_models_are_made_by_name(small):
    assert isinstance(make_model(small), mm.ShrunkLogLinear)
    assert make_model(small, "score-path").method == "score-path"
    assert make_model(small, "forward").method == "forward"
    assert mm.shrink_loglinear(small).score_path.tau2 == make_model(small, "score-path").tau2


def test_a_table_too_large_takes_the_score_path_and_says_so(small, monkeypatch):
    monkeypatch.setattr(choosing, "LARGEST_TABLE", 1000)
    monkeypatch.setattr(shrunk, "LARGEST_TABLE", 1000)
    risk = quietly(mm.estimate_risk, small)

    assert risk.model.method == "score-path"
    assert "more than the 1,000 that the empirical-Bayes model holds" in risk.summary()
    assert "the score path takes its place" in risk.model.summary()
    with pytest.raises(
        mm.MaskmeterError, match=r"Use mm\.search_loglinear, or fewer or coarser keys"
    ):
        mm.shrink_loglinear(small)


def test_large_three_way_margins_are_left_out(monkeypatch):
    monkeypatch.setattr(shrinkage, "LARGEST_MARGIN", 59)
    assert all(len(term.keys) < 3 for term in Shrinkage.flat(COUNTED).terms)
    monkeypatch.setattr(shrinkage, "LARGEST_MARGIN", 60)
    assert len(Shrinkage.flat(COUNTED).terms) == 7


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda s: mm.estimate_risk(s, "shrunken"), "`model` must be one of 'shrunk'"),
        (lambda s: mm.estimate_risk(s, 3), "or one of the names 'shrunk', 'score-path', 'forward'"),
        (lambda s: mm.search_loglinear(s, weighting="pseudo"), "the file has no weights"),
        (
            lambda s: mm.fit_loglinear(s, "independence", weighting="both"),
            "`weighting` must be one",
        ),
        (lambda s: mm.search_loglinear(s, method="score"), "`method` must be one of 'score-path'"),
        (lambda s: mm.View.of(s, model="none"), "`model` must be one of"),
        (lambda s: mm.risk_by_keys(s, model="none"), "`model` must be one of"),
        (lambda s: mm.assess(s, model="none"), "`model` must be one of"),
        (lambda _: mm.Redraw("k0", 5, model="none"), "`model` must be one of"),
        (
            lambda s: mm.estimate_risk(
                s, mm.fit_loglinear(s, "independence"), interval="bootstrap"
            ),
            "repeats how the model was found",
        ),
    ],
)
def test_models_and_methods_that_make_no_sense_are_rejected(made, message):
    with pytest.raises(mm.MaskmeterError, match=message):
        made(SAMPLE)


def test_the_bootstrap_refits_on_samples_from_the_model(small):
    weights = np.where(small.codes[:, 0] < 5, 300.0, 900.0)
    for data in (small, mm.Microdata(small.space, small.codes, weights=weights)):
        risk = quietly(mm.estimate_risk, data, interval="bootstrap", replications=10, rng=1)
        again = quietly(mm.estimate_risk, data, interval="bootstrap", replications=10, rng=1)

        assert risk.interval == again.interval
        assert risk.interval[0] < risk.total < risk.interval[1]
        assert risk.interval[1] - risk.interval[0] < risk.total
