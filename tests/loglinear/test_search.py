"""The two searches: which terms they add, when they stop, and what they return."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

import maskmeter as mm
from maskmeter import errors
from maskmeter.loglinear import cell_sums, search
from maskmeter.loglinear.search import _around_zero, _nearest, _weights

SIZES = (12, 8, 6, 5)
SPACE = mm.KeySpace(mm.Key(f"key{c}", range(size)) for c, size in enumerate(SIZES))


def sample_of(pairs, *, seed, size=8000, strength=0.9, space=SPACE, fraction=0.05):
    """A sample from a population with interactions of these keys, of two or three at a time."""
    rng = np.random.default_rng(seed)
    logs = np.zeros(space.sizes)
    for term in [(c,) for c in range(len(space.sizes))] + list(pairs):
        shape = [n if axis in term else 1 for axis, n in enumerate(space.sizes)]
        scale = 0.8 if len(term) == 1 else strength
        logs = logs + scale * rng.normal(0, 1, shape)
    means = np.exp(logs).ravel()
    counts = rng.poisson(means / means.sum() * size)
    return mm.Microdata(
        space, space.codes(np.repeat(np.arange(len(means)), counts)), fraction=fraction
    )


@pytest.mark.parametrize("method", ["score-path", "forward"])
def test_the_interactions_of_the_population_are_found(method):
    sample = sample_of([(0, 1), (2, 3)], seed=1)
    found = mm.search_loglinear(sample, method=method)
    added = {step.added for step in found.path[1:3]}

    assert added == {"key0:key1", "key2:key3"}
    assert abs(found.goodness.z2) < 1.96
    assert not found.exhausted


def score_by_definition(sample, model, term):
    """G2 of observed against fitted margins less log(n) ddf, over the whole table."""
    f = np.bincount(SPACE.number(sample.codes), minlength=SPACE.size).reshape(SIZES)
    fitted = model.means.dense()
    others = tuple(axis for axis in range(4) if axis not in term)
    o, e = f.sum(axis=others), fitted.sum(axis=others)
    gain = 2 * (o[o > 0] * np.log(o[o > 0] / e[o > 0])).sum()
    ddf = 0
    for size in range(len(term) + 1):
        for part in combinations(term, size):
            rest = tuple(axis for axis in range(4) if axis not in part)
            ddf += (-1) ** (len(term) - size) * np.count_nonzero(f.sum(axis=rest))
    return gain - np.log(len(sample)) * max(ddf, 1)


def test_every_step_of_the_score_path_adds_the_term_with_the_best_score():
    sample = sample_of([(0, 1), (1, 2), (0, 2), (2, 3)], seed=2)
    path = mm.search_loglinear(sample).path

    for here, there in pairwise(path):
        held = {tuple(term.split(":")) for term in here.model.terms}
        pairs = [
            pair
            for pair in combinations(range(4), 2)
            if not any({f"key{k}" for k in pair} <= set(term) for term in held)
        ]
        assert pairs, "three-way terms come only when no two-way term is left"
        scores = {pair: score_by_definition(sample, here.model, pair) for pair in pairs}
        best = max(scores, key=scores.get)
        assert there.added == ":".join(f"key{k}" for k in best)


def test_three_way_terms_are_ranked_by_their_scores_too():
    sample = sample_of([(0, 1, 2)], seed=4, strength=2.0, size=20_000)
    path = mm.search_loglinear(sample).path
    (position,) = [i for i, step in enumerate(path) if step.added == "key0:key1:key2"]
    before = path[position - 1].model
    scores = {t: score_by_definition(sample, before, t) for t in combinations(range(4), 3)}

    assert before.terms == tuple(f"key{a}:key{b}" for a, b in combinations(range(4), 2))
    assert max(scores, key=scores.get) == (0, 1, 2)


def test_the_score_path_stops_when_bic_rises_and_a_model_is_good_enough():
    for seed in range(4):
        found = mm.search_loglinear(sample_of([(0, 1), (1, 2), (2, 3)], seed=seed))
        bic, z2 = [step.bic for step in found.path], [step.z2 for step in found.path]
        assert bic[-1] >= bic[-2]
        assert min(z2) <= 1
        for stop in range(2, len(bic)):  # it could not have stopped before
            assert not (bic[stop - 1] >= bic[stop - 2] and min(z2[:stop]) <= 1)


def test_the_forward_path_brings_z2_closer_at_each_step_and_no_other_term_would():
    sample = sample_of([(0, 1), (1, 2), (2, 3)], seed=3, size=3000)
    path = mm.search_loglinear(sample, method="forward").path
    off = [abs(step.z2) for step in path]

    assert off == sorted(off, reverse=True)
    first = {
        pair: abs(mm.fit_loglinear(sample, [f"key{pair[0]}:key{pair[1]}"]).goodness.z2)
        for pair in combinations(range(4), 2)
    }
    assert path[1].added == "key{}:key{}".format(*min(first, key=first.get))


def test_the_forward_search_can_stop_when_it_is_good_enough():
    sample = sample_of([(0, 1), (1, 2), (2, 3)], seed=3)
    whole = mm.search_loglinear(sample, method="forward")
    short = mm.search_loglinear(sample, method="forward", enough=1.96)

    assert len(short.path) <= len(whole.path)
    assert abs(short.goodness.z2) < 1.96
    assert all(abs(step.z2) > 1.96 for step in short.path[:-1])


def test_three_way_terms_follow_when_two_way_terms_are_not_enough():
    sample = sample_of([(0, 1, 2)], seed=4, strength=2.0, size=20_000)
    found = mm.search_loglinear(sample)

    assert any(step.added == "key0:key1:key2" for step in found.path)


def test_estimates_a_and_b_average_the_documented_models():
    sample = sample_of([(0, 1), (1, 2), (2, 3)], seed=5)
    found = mm.search_loglinear(sample)
    z2 = [step.z2 for step in found.path]
    a = [one for one in found.weighted if one.estimate == "A"]
    (b,) = [one for one in found.weighted if one.estimate == "B"]
    best = min(found.path, key=lambda step: step.bic)

    assert sum(one.weight for one in found.weighted) == pytest.approx(1)
    assert sum(one.weight for one in a) == pytest.approx(0.5)
    assert b.model.terms == best.model.terms
    assert b.phi == b.model.goodness.overdispersion
    if any(one > 0 >= two for one, two in pairwise(z2)):
        average = sum(2 * one.weight * one.model.goodness.z2 for one in a)
        assert average == pytest.approx(0, abs=1e-9)
    assert abs(found.goodness.z2) == min(map(abs, z2))


def test_weights_interpolate_z2_to_zero():
    assert _around_zero([5.0, 1.0, -3.0, 2.0]) == [1, 2]
    assert _around_zero([5.0, 1.0]) == [1]
    assert _weights([1.0, -3.0]) == pytest.approx([0.75, 0.25])
    assert _weights([1.0]) == [1.0]
    assert _nearest([float("nan"), -2.0, 1.5]) == 2


def test_searching_twice_gives_the_same_result():
    sample = sample_of([(0, 1), (2, 3)], seed=6)
    one, other = mm.search_loglinear(sample), mm.search_loglinear(sample)

    assert one.to_frame().equals(other.to_frame())
    assert one.tau2 == other.tau2


def test_progress_is_called_with_every_step():
    seen = []
    for method in ("score-path", "forward"):
        seen.clear()
        found = mm.search_loglinear(
            sample_of([(0, 1)], seed=7),
            method=method,
            progress=lambda step: seen.append(step.added),
        )
        assert seen == [step.added for step in found.path]


def test_a_search_has_a_frame_a_summary_and_a_chart():
    found = mm.search_loglinear(sample_of([(0, 1), (2, 3)], seed=8))
    frame = found.to_frame()

    assert frame.columns == [
        "added", "parameters", "deviance", "bic", "z1", "z2", "tau1", "tau2",
    ]  # fmt: skip
    assert len(frame) == len(found.path)
    assert "Score path over" in found.summary()
    assert "key0:key1" in repr(found)
    chart = found.plot().to_dict()
    assert len(chart["vconcat"]) == 2
    assert "usermeta" not in chart


def test_a_release_is_searched_by_the_counts_asked_for():
    release = mm.Pram("key0", 0.5).apply(sample_of([(0, 1), (2, 3)], seed=9), rng=1)

    assert mm.search_loglinear(release).nearest.data is release.original
    released = mm.search_loglinear(release, counts="released")
    assert released.nearest.data is release.released


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("LARGEST_COMPONENT", "not tried because their tables are too large to fit: "),
        ("_MOST_WORK", "not tried because they are too slow to fit: "),
    ],
)
def test_untried_terms_are_listed_with_their_reason(monkeypatch, limit, said):
    sample = sample_of([(0, 1), (1, 2), (0, 2), (2, 3)], seed=2)
    monkeypatch.setattr(search, limit, 100)
    with pytest.warns(errors.ExhaustedSearchWarning, match="no other term could be tried"):
        found = mm.search_loglinear(sample)

    skipped = found.too_large + found.too_slow
    assert "key0:key1" not in skipped  # 96 cells
    for step in found.path:
        assert max(table.size for table in step.model.means.components) <= 100
    assert bool(found.too_large) == (limit == "LARGEST_COMPONENT")
    assert bool(found.too_slow) == (limit == "_MOST_WORK")
    assert f"{len(skipped)} terms were {said}{', '.join(skipped)}." in found.summary()
    assert found.summary().count("not tried") == 1


def test_large_and_slow_terms_are_listed_separately(monkeypatch):
    sample = sample_of([(0, 1), (1, 2), (0, 2), (2, 3)], seed=2)
    model = mm.fit_loglinear(sample, [])
    tables = {f"key{a}:key{b}": SIZES[a] * SIZES[b] for a, b in combinations(range(4), 2)}
    slow, large = sorted(tables.values())[-2:]  # the two largest tables
    monkeypatch.setattr(search, "LARGEST_COMPONENT", large - 1)
    monkeypatch.setattr(search, "_MOST_WORK", slow - 1)
    with pytest.warns(errors.ExhaustedSearchWarning):
        found = mm.search_loglinear(sample, most_terms=0)

    assert model.terms == found.terms
    assert found.too_large == tuple(name for name, size in tables.items() if size >= large)
    assert found.too_slow == tuple(name for name, size in tables.items() if size == slow)
    said = found.summary()
    assert (
        f"1 term was not tried because its table is too large to fit: {found.too_large[0]}." in said
    )
    assert f"1 term was not tried because it is too slow to fit: {found.too_slow[0]}." in said


def test_a_search_that_reaches_its_limit_of_terms_says_so():
    sample = sample_of([(0, 1), (1, 2), (0, 2), (2, 3)], seed=2)
    said = "The search stopped after adding 1 term, the maximum allowed."
    with pytest.warns(errors.ExhaustedSearchWarning, match=said + ".*Raise `most_terms`"):
        found = mm.search_loglinear(sample, most_terms=1)

    assert found.exhausted
    assert found.stop == "most terms"
    assert said in found.summary()
    # estimate_risk, plans and commands have no such option.
    with pytest.warns(errors.ModelWarning) as caught:
        risk = mm.estimate_risk(sample, found)
    (caution,) = [one for one in risk.cautions if one.kind is errors.ExhaustedSearchWarning]
    assert str(caution).startswith(said)
    assert str(caution).endswith("Use coarser or fewer keys.")
    assert not [one for one in caught if "most_terms" in str(one.message)]


@pytest.mark.parametrize("method", ["score-path", "forward"])
def test_a_finished_search_does_not_mention_stopping(method):
    found = mm.search_loglinear(sample_of([(0, 1)], seed=3), method=method)

    assert found.stop == "settled"
    assert found.stopped == ""
    assert "stopped" not in found.summary()


def test_a_file_of_the_whole_population_needs_no_search():
    sample = sample_of([(0, 1)], seed=3)
    everybody = mm.Microdata(sample.space, sample.codes, fraction=1.0)

    assert mm.search_loglinear(everybody).stop == "whole population"


def test_many_keys_are_searched_without_a_full_table():
    """K = 4^13 = 67 million cells, of which no table is made."""
    space = mm.KeySpace(mm.Key(f"key{c}", range(4)) for c in range(13))
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 4, (1500, 13))
    codes[:, 1] = np.where(rng.random(1500) < 0.7, codes[:, 0], codes[:, 1])
    found = mm.search_loglinear(mm.Microdata(space, codes, fraction=0.1))

    assert space.size > cell_sums.MOST_CELLS
    assert found.path[1].added == "key0:key1"
    assert found.goodness.draws == cell_sums.DRAWS
    assert "standard error" in found.summary()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "scores"}, "`method` must be one of"),
        ({"enough": -1}, "`enough` must be"),
        ({"enough": float("nan")}, "`enough` must be"),
        ({"progress": 5}, "`progress` must be a function"),
        ({"counts": "both"}, "`counts` must be one of"),
        ({"most_terms": 2.5}, "whole number"),
    ],
)
def test_invalid_options_are_rejected(options, message):
    with pytest.raises(mm.MaskmeterError, match=message):
        mm.search_loglinear(sample_of([], seed=1, size=100), **options)
