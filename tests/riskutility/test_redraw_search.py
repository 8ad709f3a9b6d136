"""The search for a redraw, targets for an informed intruder, and what each layer costs."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import maskmeter as mm
from command import run
from maskmeter.errors import TargetWarning, without_warnings
from maskmeter.risk.view import View
from maskmeter.riskutility.redraws import keys_to_redraw, least_matches, pair_to_redraw, told

KEYS = ["lad", "sex", "age", "ethnicity"]


@pytest.fixture(scope="module")
def world(town):
    people = mm.bernoulli_sample(town, fraction=0.02, rng=4)
    population = mm.count(town, keys=KEYS)
    return mm.read(people, keys=population.space, fraction=0.02), population


def test_the_least_reachable_risk_is_the_sum_over_people_with_the_same_other_keys(world):
    sample, population = world
    view = View.of(sample, counts=population)
    cells = sample.codes[view.sight.uniques]
    for keys in (("lad",), ("age", "ethnicity")):
        others = [name for name in KEYS if name not in keys]
        people = population.project(others).lookup(cells[:, [KEYS.index(one) for one in others]])
        assert least_matches(view, keys) == pytest.approx((1 / people).sum())
        estimated = least_matches(View.of(sample), keys)
        assert estimated == pytest.approx((1 / people).sum(), rel=0.25)
    everybody = least_matches(view, tuple(KEYS))
    assert everybody == pytest.approx(len(cells) * 0.02 / len(sample))


def test_keys_are_ranked_by_their_fall_and_a_pair_holds_the_first(world):
    sample, population = world
    views = {"all": View.of(sample, counts=population)}
    singles = keys_to_redraw(sample, views)
    first, pair = singles[0], pair_to_redraw(singles[0], views)
    least = {name: least_matches(views["all"], (name,)) for name in KEYS}

    assert [one.keys[0] for one in singles] == sorted(KEYS, key=least.get)
    assert [one.least for one in singles] == sorted(least.values())
    assert len(pair.keys) == 2
    assert set(first.keys) < set(pair.keys)
    assert pair.least < first.least
    bounds = first.bounds
    assert bounds == sorted(bounds)
    sizes = [first.step(bound).apply(sample, rng=1).rare[0].records for bound in bounds[-5:]]
    assert sizes == sorted(set(sizes))  # each divides the records differently


def test_without_a_family_a_redraw_is_found_and_explained(world):
    sample, population = world
    target = mm.Target(max_share=0.06)
    found = mm.find_release(sample, target=target, population=population, rng=1)
    (step,) = found.release.provenance.steps

    assert found.met
    assert isinstance(step, mm.Redraw)
    assert found.risk.intruder == "informed"
    assert found.risk.total <= 0.06 * sample.uniques
    informed = mm.exact_risk(found.release, population, intruder="informed")
    assert informed.total == found.risk.total
    (rare,) = found.release.rare
    key = " and ".join(step.key)
    first, why, left = found.reason.removesuffix(".").split(". ")
    assert first.startswith(f"It redraws {key} for the ")
    changed = found.release.changed.mean()
    assert first.endswith(
        f"fewer than {rare.bound:g} people share, which changes {changed:.1%} of all records"
    )
    assert float(f"{rare.bound:.3g}") == rare.bound
    assert why.startswith("A redraw of ")
    assert key not in why
    least = least_matches(View.of(sample, counts=population), step.key)
    assert left.startswith(f"Redrawn for everybody, {key} would leave {least:.0f} of ")
    assert found.reason in found.summary()
    # The next lower bound misses the target, or loses more.
    kind = found.label.rsplit(" < ", 1)[0]
    lower = [p for p in found.tried.points if p.label.startswith(kind) and p.changed < found.tried[found.label].changed]  # fmt: skip
    assert all(p.informed > 0.06 * sample.uniques or p.loss > found.loss for p in lower)


def test_no_redraw_of_another_key_meets_the_target_and_loses_less(world):
    """Which key lowers the risk most says little about which loses least: all that may do are searched."""
    sample, population = world
    target = mm.Target(max_share=0.08)
    found = mm.find_release(sample, target=target, population=population, rng=1)
    singles = keys_to_redraw(sample, {"all": View.of(sample, counts=population)})
    others = {
        f"{one.label} < {bound:g}": one.step(bound)
        for one in singles
        for bound in one.bounds[5 :: len(one.bounds) // 15 + 1]
    }
    with without_warnings():
        tables = list(found.tried.tables)
        grid = mm.compare(sample, others, population=population, loss=tables, rng=1)
    allowed = 0.08 * sample.uniques
    good = [one for one in grid.points if one.informed <= allowed]

    assert found.met
    assert len({one.label.split(" < ")[0] for one in good}) > 1  # there was a choice
    assert min(one.loss for one in good) > 0.97 * found.loss


def test_two_keys_are_tried_together_when_one_cannot_reach_the_target(world):
    sample, population = world
    views = {"all": View.of(sample, counts=population)}
    first = keys_to_redraw(sample, views)[0]
    block = pair_to_redraw(first, views)
    with without_warnings():
        target = mm.Target(max_total=0.9 * first.least)
        found = mm.find_release(sample, target=target, population=population, rng=1)
        both = block.step(block.bounds[len(block.bounds) // 2]).apply(sample, rng=1)
    kinds = {label.rsplit(" < ", 1)[0] for label in found.to_frame()["label"]}

    assert kinds == {"no protection", first.label, block.label}
    assert not any(found.tried[one].informed < 0.9 * first.least for one in found.nearest)
    said = told(block, both, before=80.0)
    assert said.startswith(f"It redraws {' and '.join(block.keys)} for the ")
    assert f"No key alone does it. Of all pairs with {first.keys[0]}, " in said


def test_keys_that_nobody_knows_make_no_record_rare(world):
    sample, population = world
    scenarios = {"near": ["lad", "age", "ethnicity"]}
    views = {"near": View.of(sample, ("lad", "age", "ethnicity"), counts=population)}
    first = keys_to_redraw(sample, views)[0]
    step = first.step(first.bounds[len(first.bounds) // 2])
    with without_warnings():
        release = step.apply(sample, rng=1)
        found = mm.find_release(sample, target=mm.Target(max_share=0.05), known=scenarios, rng=1)

    assert "sex" not in (*step.key, *step.others)
    assert release.rare[0].others == step.others
    (redraw,) = found.release.provenance.steps
    assert "sex" not in redraw.others
    assert mm.Redraw.from_plan(redraw.to_plan(), sample, folder=None) == redraw


def test_layers_cost_more_and_more(world):
    sample, _ = world
    with without_warnings():
        found = mm.find_release(sample, target=mm.Target(max_share=0.08), rng=1)
    matched, informed, upper = found.layers

    assert [(one.intruder, one.by) for one in found.layers] == [
        ("exact-match", "estimate"),
        ("informed", "estimate"),
        ("informed", "upper"),
    ]
    assert matched.loss <= informed.loss <= upper.loss
    assert found.tried[matched.label].share <= 0.08
    assert found.tried[informed.label].informed_share <= 0.08
    assert found.tried[upper.label].informed_upper <= 0.08 * sample.uniques
    frame = found.to_frame()
    assert frame.filter(pl.col("share") <= 0.08, pl.col("loss") < matched.loss).is_empty()


def test_a_target_for_single_records_looks_at_those_that_share_a_cell_too(world):
    sample, population = world
    release = mm.Redraw("lad", rarer_than=300).apply(sample, rng=1)
    for risk in (
        mm.exact_risk(release, population, intruder="informed"),
        mm.estimate_risk(release, intruder="informed"),
    ):
        assert risk.largest >= risk.by_unique.max()
        assert mm.Target(max_record=risk.largest).decide(risk).verdict == "met"
        below = mm.Target(max_record=risk.largest * 0.99).decide(risk)
        assert below.verdict == "not met"
        assert str(below.binds) == "the largest risk of a record"
    assert "no record with a chance above 0.5" in str(mm.Target(max_record=0.5))


def test_a_target_for_single_records_names_the_worst_scenario(world):
    sample, _ = world
    scenarios = {"many": ["lad", "age", "ethnicity"], "few": ["sex", "age"]}
    candidates = {"redraw": mm.Redraw("lad", rarer_than=100)}
    with without_warnings():
        target = mm.Target(max_record=0.05)
        found = mm.find_release(
            sample, target=target, candidates=candidates, known=scenarios, rng=1
        )
    risks = {
        name: mm.estimate_risk(found.release.project(keys), intruder="informed")
        for name, keys in scenarios.items()
    }
    largest = max(risk.largest for risk in risks.values())
    assert found.largest == pytest.approx(largest, rel=0.05)
    assert f"{found.largest:.2f} in the first of them" in found.summary()
    assert "in this family" not in found.summary()


def test_records_in_shared_cells_decide_where_no_record_is_unique():
    """Two records in a cell of two people: whoever is named is right in one case of two."""
    space = mm.KeySpace([mm.Key("lad", "ab"), mm.Key("age", [1, 2])])
    codes = np.array([[0, 0], [0, 0], [1, 1], [1, 1], [1, 1]])
    sample = mm.Microdata(space, codes, fraction=0.5)
    population = mm.KeyTable.of(space, np.repeat([[0, 0], [1, 1]], [2, 9], axis=0))
    risk = mm.exact_risk(sample, population)

    assert risk.uniques == 0
    assert risk.total == 0
    assert risk.largest == pytest.approx(1 / 2)
    with without_warnings():
        assert (
            mm.assess(sample, population=population, target=mm.Target(max_record=0.4)).met is False
        )


def test_the_target_refuses_the_risk_from_another_intruder(world):
    sample, population = world
    release = mm.Swap("lad", rate=0.2).apply(sample, rng=1)
    with pytest.raises(mm.MaskmeterError, match=r'intruder="informed", but the risk was measured'):
        mm.Target(max_share=0.05).decide(mm.exact_risk(release, population))
    assert (
        mm.Target(max_share=1.0).decide(mm.exact_risk(sample, population)).met
    )  # all are the same


def test_the_command_finds_a_redraw_without_a_family(world, tmp_path):
    sample, _ = world
    sample.to_frame().write_csv(tmp_path / "people.csv")
    plan = '[data]\nkeys = ["lad", "sex", "age", "ethnicity"]\nfraction = 0.02\n[target]\nmax_share = 0.08\n'
    (tmp_path / "plan.toml").write_text(plan, encoding="utf-8")
    done = run("find", "people.csv", "--plan", "plan.toml", "--out", "best", folder=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "It redraws" in done.stdout.replace("\n", " ")
    assert "What each layer of the target costs" in done.stdout
    found = json.loads(
        (tmp_path / "best" / "internal" / "assessment.json").read_text(encoding="utf-8")
    )
    assert found["target"]["met"]
    assert [one["intruder"] for one in found["map"]["layers"]] == [
        "exact-match",
        "informed",
        "informed",
    ]
    assert found["scenarios"][0]["risks"]["informed"]["interval"][1] <= 0.08 * sample.uniques
    listed = max(len(line) for line in done.stdout.splitlines() if not line.startswith("Wrote"))
    assert listed <= 80


def test_a_table_of_a_key_and_what_travels_with_it_is_not_measured(world):
    """It never changes: a release would seem to lose nothing."""
    sample, _ = world
    frame = sample.to_frame().with_columns(
        region=pl.col("lad").cast(pl.String).str.slice(0, 3), ward=pl.col("lad").cast(pl.String)
    )
    read = mm.read(frame, keys=sample.space, fraction=0.02)
    plain = mm.Redraw("lad", rarer_than=300)
    carry = mm.Redraw("lad", rarer_than=300, carry=("region", "ward"))
    with without_warnings():
        found = mm.compare(read, {"plain": plain, "carry": carry}, rng=1)
        release = carry.apply(read, rng=1)
        assessed = mm.assess(release, drop_one=False)

    assert not {"region", "ward"} & {name for pair in found.tables for name in pair}
    assert found["carry"].loss == pytest.approx(found["plain"].loss)
    assert assessed.loss > 1


def test_a_key_that_cannot_be_redrawn_for_some_leaves_the_search_to_others():
    """All share the other key of ethnic group with as many people: no bound tells who is rare."""
    groups = ["a"] * 250 + ["b"] * 125 + list("cdefghi") * 3 + list("jklm")
    people = pl.DataFrame({"eth": groups, "lad": ["n", "e", "s", "w"] * 100})
    sample = mm.read(people, keys=["eth", "lad"], fraction=0.01)
    first, second = keys_to_redraw(sample, {"all": View.of(sample)})
    assert (first.keys, first.bounds, second.keys) == (("eth",), [], ("lad",))
    assert second.bounds
    with without_warnings():
        found = mm.find_release(sample, target=mm.Target(max_total=0.001), rng=1)
        loose = mm.Target(max_total=0.2, by="estimate")
        met = mm.find_release(sample, target=loose, rng=1)

    assert any(label.startswith("redraw lad < ") for label in found.to_frame()["label"])
    assert not found.met
    assert "another key" not in found.reason  # it was not tried for everybody
    assert met.met
    assert "No redraw of another key would meet the target." in met.reason


def test_a_file_with_one_key_has_nothing_to_redraw(world):
    sample, _ = world
    alone = mm.read(sample.to_frame(), keys=["age", "lad"], fraction=0.02).project(["age"])
    assert keys_to_redraw(alone, {"all": View.of(alone)}) == ()
    pair = mm.read(sample.to_frame(), keys=["age", "lad"], fraction=0.02)
    seen = {"all": View.of(pair)}
    assert pair_to_redraw(keys_to_redraw(pair, seen)[0], seen) is None
    with pytest.warns(TargetWarning, match="No useful release"):
        mm.find_release(pair, target=mm.Target(max_total=0), rng=1)
