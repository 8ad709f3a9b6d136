"""Figures of the workbench are those of the command, come quickly, and can be stopped."""

from __future__ import annotations

import json
import statistics
import threading
import time
from contextlib import chdir

import msgspec
import polars as pl
import pytest

import maskmeter as mm
from command import run
from maskmeter.app import changes, map_bench
from maskmeter.app.settings import Setting
from maskmeter.app.work import Cancelled, Work
from maskmeter.app.workbench import Workbench
from maskmeter.errors import without_warnings
from maskmeter.evidence.schema import encoded
from maskmeter.plan.schema import TargetPlan
from maskmeter.risk.curve import RiskCurve
from workbenches import KEYS, SEED, opened


def printed(*arguments, folder):
    """Return the figures that `assess --json` prints, without those of the draw."""
    done = run("assess", *arguments, "--json", "--internal", folder=folder, drawn=SEED)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_risk_now_is_that_of_assess_to_the_last_digit(root, tmp_path):
    bench = opened(root)
    found = bench.risk_now(Work())
    by = ["--plan", bench.save_plan("bare")]

    told = printed("survey.csv", *by, "--out", tmp_path / "out", folder=root)
    assert json.loads(encoded(found.figures)) == told
    assert bench.risk_ready is found


def test_the_saved_pack_is_that_of_the_command_for_its_provenance(root, tmp_path):
    bench = opened(root)
    bench.apply(lambda plan: changes.with_target(plan, TargetPlan(max_share=0.1)))
    point = bench.try_setting(Setting("swap", ("lad",), rate=0.2, carry=("town",))).point
    bench.choose("swap lad 20% with town")
    found = bench.assess(Work())
    pack = bench.save_pack("pack")
    made = next(path for path in pack.files if path.name == "provenance.json")
    again = printed("survey.csv", "--from", made, "--out", tmp_path / "again", folder=root)
    names = [path.relative_to(pack.folder) for path in pack.files]

    assert json.loads(encoded(found.figures)) == json.loads(encoded(pack.figures)) == again
    assert found.figures.worst.risks.informed.total == pytest.approx(point.informed, rel=1e-12)
    upper = pytest.approx(point.informed_upper, rel=1e-12)
    assert found.figures.worst.risks.informed.interval[1] == upper
    assert found.figures.mean_loss == pytest.approx(point.loss)
    same = {"protected.csv", "assessment.json", "risk_by_record.parquet", "public.html"}
    for name in (one for one in names if one.name in same):
        assert (pack.folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    with pytest.raises(mm.errors.FileError, match="not empty"):
        bench.save_pack("pack")


def test_the_map_is_that_of_compare_with_the_same_candidates(root):
    bench = opened(root)
    bench.try_setting(Setting("swap", ("lad",), rate=0.1), label="RS")
    bench.try_setting(Setting("redraw", ("ethnicity",), rarer_than=60), label="RD")
    sample = mm.read(root / "survey.csv", KEYS, fraction=0.05, missing="category")
    steps = {"RS": mm.Swap("lad", rate=0.1), "RD": mm.Redraw("ethnicity", rarer_than=60)}
    with without_warnings():
        expected = mm.compare(sample, steps, loss=bench.saved_plan().loss.tables, rng=SEED)
    found = bench.map()

    for label in steps:
        assert found[label] == expected[label]
    assert found.tables == expected.tables
    assert "vconcat" in found.plot().to_dict() or "layer" in found.plot().to_dict()


def test_a_refined_point_is_that_of_the_release_with_its_spread_over_draws(root):
    bench = opened(root)
    first = bench.try_setting(Setting("pram", ("lad",), rate=0.1), label="one")
    refined = bench.refine("one", Work())

    assert (first.refined, refined.refined) == (False, True)
    assert refined.point.replications == 5
    assert refined.point.informed_sd > 0
    assert (refined.point.informed, refined.point.loss) == (first.point.informed, first.point.loss)
    assert bench.tried[0].point == refined.point


def test_an_aimed_swap_changes_risky_records_first(root):
    bench = opened(root)
    aimed = bench.try_setting(Setting("swap", ("lad",), rate=0.1, aimed_at="ethnicity")).point
    plain = bench.try_setting(Setting("swap", ("lad",), rate=0.1)).point

    assert aimed.informed < plain.informed


def test_points_are_measured_again_when_the_sampling_changes(root):
    bench = opened(root)
    before = bench.try_setting(Setting("swap", ("lad",), rate=0.1), label="one").point
    bench.apply(lambda plan: changes.with_fraction(plan, 0.5))

    assert (bench.tried, bench.problem()) == ((), None)
    assert bench.pending == 1
    assert bench.map()["one"].informed > before.informed
    bench.undo()
    assert bench.map()["one"] == before


@pytest.mark.parametrize("verb", ["settle", "refine", "measure"])
def test_a_plan_that_changes_during_a_draw_leaves_no_figure_of_the_one_before(
    root, monkeypatch, verb
):
    bench, setting = opened(root), Setting("swap", ("lad",), rate=0.1)
    label = bench.try_setting(setting).label
    bench.apply(lambda plan: changes.with_fraction(plan, 0.2))
    drawn, changed = map_bench.first_draw, []

    def draw(*given, **named):
        found = drawn(*given, **named)
        if not changed:
            changed.append(bench.apply(lambda plan: changes.with_fraction(plan, 0.5)))
        return found

    monkeypatch.setattr(map_bench, "first_draw", draw)
    getattr(bench, verb)(*{"settle": (setting,), "refine": (label,)}.get(verb, ()))
    found = bench.map()
    true = opened(root)
    true.apply(lambda plan: changes.with_fraction(plan, 0.5))
    true.try_setting(setting)

    assert changed
    assert found[label].informed == true.map()[label].informed
    assert {one.label for one in bench.tried} == {one.label for one in found.points}


def test_where_nothing_meets_the_target_the_plan_keeps_its_release(root):
    bench = opened(root)
    bench.try_setting(Setting("swap", ("lad",), rate=0.1), label="mine")
    bench.choose("mine")
    steps = bench.plan.step
    found = bench.find(TargetPlan(max_total=0.0001))

    assert not found.met
    assert (bench.plan.step, bench.chosen) == (steps, "mine")
    assert found.summary.endswith("Nothing is chosen: the plan keeps mine.")
    assert found.label in {one.label for one in bench.tried}


def test_what_is_found_meets_the_target_and_becomes_the_release(root):
    bench = opened(root)
    found = bench.find(TargetPlan(max_share=0.12), Work())

    assert found.met
    assert bench.assess().figures.mark == "met"
    assert bench.chosen == found.label
    assert "on the map already" not in found.summary
    assert bench.assess().figures.mean_loss == pytest.approx(found.point.loss)


def test_the_search_takes_no_name_of_a_point_and_chooses_the_least_loss_of_all(root):
    bench = opened(root)
    target = TargetPlan(max_share=0.12)
    (step,) = bench.find(target).steps
    gentle = msgspec.structs.replace(step, rarer_than=step.rarer_than * 3, share=0.05)
    other = opened(root)
    kept = other.try_steps((gentle,), label=bench.chosen)  # a name that the search gives as well
    found = other.find(target)

    points = {one.label: one for one in other.tried}
    meeting = [one for one in points.values() if one.meets]
    assert points[kept.label].point == kept.point
    assert found.label != kept.label
    assert found.point.loss == min(one.point.loss for one in meeting)


def test_keys_that_tell_apart_and_their_warnings(root):
    bench = opened(root)
    ticked = ["lad", "town", "income", "sex"]
    sample = mm.read(root / "survey.csv", ["lad", "sex"], fraction=0.05)
    counts = bench.key_counts(["lad", "sex"])
    kinds = {(one.kind, one.column, one.other) for one in bench.key_warnings(ticked)}

    assert (counts.uniques, counts.cell_sizes) == (sample.uniques, tuple(sample.cell_sizes))
    assert ("determines", "lad", "town") in kinds
    assert ("many", "income", "") in kinds
    assert bench.key_warnings(["sex"]) == ()
    expected = bench.expected_matches(KEYS)
    assert expected.total == pytest.approx(bench.risk_now().worst.risks.exact_match.total)


def run_lines(bench, folder):
    """Return the assessment that the lines of Python make of the release of a plan."""
    path = bench.folder.root / "survey.csv"
    lines = bench.python_lines().replace("'survey.csv'", repr(str(path)))
    (folder / "evidence" / "internal").mkdir(parents=True)
    kept = folder / "evidence" / "internal" / "provenance.json"
    kept.write_text(json.dumps({"seed": str(SEED)}), encoding="utf-8")
    made = {}
    with chdir(folder), without_warnings():
        exec(lines.replace("mm.report", "print"), made)  # noqa: S102 - the lines under test
    return made["found"]


def test_the_python_lines_measure_the_same_households(tmp_path):
    town = mm.synthetic_census(size=6_000).with_row_index("home")
    town = town.with_columns(home=pl.col("home") // 3)
    town.write_csv(tmp_path / "town.csv")
    town.filter(pl.col("home") % 10 == 0).write_csv(tmp_path / "survey.csv")
    bench = Workbench(tmp_path, seed=SEED)
    bench.open("survey.csv")
    bench.apply(lambda plan: changes.with_keys(plan, KEYS, bench.file))
    bench.apply(lambda plan: changes.with_population(plan, "town.csv"))
    bench.apply(lambda plan: changes.with_household(plan, "home"))
    total = bench.risk_now().worst.households.total

    assert total is not None  # exact: the households of the population are known
    assert f"match about {total:,.0f} of" in run_lines(bench, tmp_path / "again").summary()


@pytest.mark.parametrize("setting", [
    Setting("swap", ("lad",), rate=0.1, aimed_at="ethnicity", within=("sex",)),
    Setting("pram", ("lad",), rate=0.2),
    Setting("redraw", ("lad", "ethnicity"), rarer_than=900),
    Setting("subsample", rate=0.3),
])  # fmt: skip
def test_the_python_lines_make_the_same_release(root, tmp_path, setting):
    bench = opened(root)
    bench.try_setting(setting, label="one")
    bench.choose("one")
    made = run_lines(bench, tmp_path).by_record()
    share = 1 - setting.rate if setting.method == "subsample" else 1
    assert abs(len(made) / bench.file.records - share) < 0.05
    risk = bench.assess().figures.worst.risks.informed.total
    assert made.filter("unique")["informed"].sum() == pytest.approx(risk)


@pytest.mark.parametrize("verb", ["risk_now", "assess", "find", "refine", "map"])
def test_work_stops_when_it_is_cancelled(root, verb):
    bench = opened(root)
    bench.try_setting(Setting("swap", ("lad",)), label="one")
    bench.apply(lambda plan: changes.with_steps(plan, bench.tried[0].steps))
    bench.apply(lambda plan: changes.with_fraction(plan, 0.04))
    told = []

    class Stopping(Work):
        def __call__(self, *stage):
            super().__call__(*stage)
            told.append(stage)
            self.cancel()

    work = Stopping()
    given = {"find": (TargetPlan(max_share=0.05), work), "refine": ("one", work)}

    with pytest.raises(Cancelled):
        getattr(bench, verb)(*given.get(verb, (work,)))
    assert len(told) == 1
    assert bench.risk_ready is None


def test_work_in_a_thread_can_be_stopped_within_a_second(root):
    bench, work, ended = opened(root), Work(), []

    def search():
        try:
            bench.find(TargetPlan(max_share=0.01), work)
        except Cancelled:
            ended.append(time.monotonic())

    thread = threading.Thread(target=search)
    thread.start()
    while not work.stage.name:
        time.sleep(0.005)
    bench.undo()  # the page goes on
    begun = time.monotonic()
    work.cancel()
    thread.join(timeout=20)

    assert ended
    assert ended[0] - begun < 1


def test_a_slider_answers_within_300_ms_and_a_tick_within_100(tmp_path, capsys):
    """At 15,000 records; medians of processor time, which other tests do not add to."""
    bench = Workbench(tmp_path, seed=SEED)
    bench.open_example()
    keys = bench.plan.data.keys
    bench.key_counts(keys)
    ticks = [taken(lambda n=n: bench.key_counts(keys[:n])) for n in range(1, 7)]
    shown = {"tick": statistics.median(ticks)}
    for method, field, values in (
        ("swap", "rate", (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)),
        ("pram", "rate", (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)),
        ("redraw", "rarer_than", (40, 60, 80, 100, 120, 140)),
    ):
        settings = [Setting(method, ("lad",), **{field: value}) for value in values]
        bench.try_setting(settings[0], label="trying")
        times = [taken(lambda s=s: bench.try_setting(s, label="trying")) for s in settings[1:]]
        shown[method] = statistics.median(times)
    with capsys.disabled():
        print({name: f"{1000 * seconds:.0f} ms" for name, seconds in shown.items()})  # noqa: T201
    bench.close()

    assert shown.pop("tick") < 0.1
    assert max(shown.values()) < 0.3


def taken(action):
    begun = time.process_time()
    action()
    return time.process_time() - begun


def test_threshold_records_and_matches_tell_each_other(root):
    bench = opened(root)
    found = bench.risk_now()
    curve, risk = found.curve, found.worst.risks.informed

    half = curve.at_threshold(0.5)
    assert (half.records, curve.total) == (risk.above_half, pytest.approx(risk.total))
    assert curve.at_records(half.records).records <= half.records
    assert curve.at_matches(half.matches).records == half.records
    assert curve.at_records(0).records == 0
    assert RiskCurve.of([]).at_records(3) == (0.0, 0, 0.0)
    assert len(curve.thinned()) <= 400
    assert curve.plot(threshold=0.5).to_dict()


def test_the_figures_of_the_map_have_the_line_of_the_target(root):
    bench = opened(root)
    bench.try_setting(Setting("swap", ("lad",), rate=0.2))
    without = bench.map_figures()
    bench.apply(lambda plan: changes.with_target(plan, TargetPlan(max_share=0.1)))
    found = bench.map_figures()

    assert without.target is None
    uniques = bench.risk_now().worst.risk.uniques
    assert found.target == (pytest.approx(uniques / 10), "target for the upper end of the interval")
    assert [one.label for one in found.releases] == ["no protection", "swap lad 20%"]
