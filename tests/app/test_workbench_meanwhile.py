"""What is changed while work goes on is not undone by it, and nobody waits for what another reads."""

from __future__ import annotations

import time
from threading import Event, Thread

import pytest

from maskmeter.app import changes, map_bench, readings
from maskmeter.app.readings import Recent
from maskmeter.app.settings import Setting
from maskmeter.app.state import TRYING
from maskmeter.app.workbench import Workbench
from maskmeter.errors import InputError
from maskmeter.plan.schema import TargetPlan
from maskmeter.riskutility.riskmap import UNCHANGED
from workbenches import SEED, opened, swap


@pytest.fixture
def meanwhile(monkeypatch):
    """Do something once, as soon as the point with a label was drawn."""

    def after(label, change):
        draw, done = map_bench.first_draw, []

        def drawn(attempt, *given, **options):
            found = draw(attempt, *given, **options)
            if attempt.label == label and not done:
                done.append(change())
            return found

        monkeypatch.setattr(map_bench, "first_draw", drawn)
        return done

    return after


def test_a_point_that_is_removed_while_it_is_measured_does_not_come_back(root, meanwhile):
    bench = opened(root)
    for rate in (0.1, 0.2):
        bench.try_setting(swap(rate))
    bench.apply(lambda plan: changes.with_fraction(plan, 0.2))
    done = meanwhile("swap lad 20%", lambda: bench.forget("swap lad 20%"))
    bench.measure()

    assert done
    assert {one.label for one in bench.tried} == {UNCHANGED, "swap lad 10%"}


def test_a_plan_that_is_opened_during_a_measurement_has_its_own_release_under_its_label(
    root, meanwhile
):
    for name, rate in (("first", 0.1), ("second", 0.3)):
        saved = opened(root)
        saved.try_setting(swap(rate), label="same")
        saved.save_plan(name)
    bench = opened(root)
    bench.open_plan("first.toml")
    done = meanwhile("same", lambda: bench.open_plan("second.toml"))
    bench.measure()
    bench.measure()

    assert done
    assert bench.saved_plan().candidate == bench.plan.candidate
    assert bench.plan.candidate[0].step[0].rate == 0.3
    assert next(one for one in bench.tried if one.label == "same").point.changed > 0.25


def test_a_plan_takes_no_label_of_a_point_that_was_tried(root):
    saved = opened(root)
    saved.try_setting(swap(0.3), label="mine")
    saved.save_plan("mine")
    bench = opened(root)
    own = bench.try_setting(swap(0.1), label="mine")
    bench.open_plan("mine.toml")
    bench.measure()

    assert {one.label: one.steps[0].rate for one in bench.tried if one.steps} == {
        "mine": 0.1,
        "mine (2)": 0.3,
    }
    bench.undo()
    assert next(one for one in bench.tried if one.steps).steps == own.steps


def search(bench, change):
    """Look for a release, and do something as soon as the search has begun."""
    done = []

    def told(*_):
        if not done:
            done.append(change())

    return bench.find(TargetPlan(max_share=0.12), told)


def test_a_target_that_is_changed_during_a_search_stays_and_nothing_is_chosen(root):
    bench = opened(root)
    bench.apply(lambda plan: changes.with_target(plan, TargetPlan(max_share=0.12)))
    strict = TargetPlan(max_share=0.03)

    with pytest.raises(InputError, match="nothing is chosen"):
        search(bench, lambda: bench.apply(lambda plan: changes.with_target(plan, strict)))

    assert bench.plan.target == strict
    assert not bench.plan.step


def test_a_release_that_is_chosen_during_a_search_stays(root):
    bench = opened(root)
    bench.try_setting(swap(0.1))
    with pytest.raises(InputError, match="nothing is chosen: choose a point of the map"):
        search(bench, lambda: bench.choose("swap lad 10%"))

    assert bench.chosen == "swap lad 10%"
    assert any("redraw" in one.label for one in bench.tried)  # what was found is on the map


def test_the_map_counts_as_work_until_it_is_saved(root):
    bench = Workbench(root, seed=SEED)
    bench.open_example()
    fresh = bench.unsaved
    key = bench.keys[0]
    bench.try_setting(Setting("swap", (key,), rate=0.1), label=TRYING)
    moving = bench.unsaved
    bench.try_setting(Setting("swap", (key,), rate=0.1))
    tried = bench.unsaved
    bench.save_plan("work")
    saved = bench.unsaved
    bench.try_setting(Setting("swap", (key,), rate=0.2))
    bench.close()

    assert (fresh, moving, tried, saved, bench.unsaved) == (False, False, True, False, True)


def test_what_is_no_longer_held_is_read_again_before_it_is_shown(root, monkeypatch):
    bench = opened(root)
    bench.prepare()
    for fraction in (0.06, 0.07, 0.08, 0.09, 0.1):
        bench.apply(lambda plan, fraction=fraction: changes.with_fraction(plan, fraction))
        bench.prepare()
    for _ in range(5):
        bench.undo()
    monkeypatch.setattr(readings, "read_task", pytest.fail)  # nobody reads it here

    assert not bench.prepared
    assert (bench.ready, bench.tried, bench.pending) == (False, (), 0)


def test_what_is_held_is_shown_while_another_plan_is_read(root, monkeypatch):
    bench, begun, go_on = opened(root), Event(), Event()
    bench.prepare()
    read = readings.read_task

    def slow(*given):
        begun.set()
        assert go_on.wait(20)
        return read(*given)

    monkeypatch.setattr(readings, "read_task", slow)
    bench.apply(lambda plan: changes.with_fraction(plan, 0.3))
    reading = Thread(target=bench.prepare)
    reading.start()
    assert begun.wait(20)
    bench.undo()
    bench.apply(lambda plan: changes.with_target(plan, TargetPlan(max_share=0.1)))
    before = time.monotonic()
    ready = bench.ready
    seconds = time.monotonic() - before
    go_on.set()
    reading.join()

    assert ready
    assert seconds < 1


def test_two_threads_make_one_value_of_a_kind_and_do_not_wait_for_another_kind():
    held, made, go_on = Recent(4), [], Event()

    def make():
        made.append(1)
        assert go_on.wait(20)
        return "slow"

    threads = [Thread(target=held.made, args=("slow", make)) for _ in range(3)]
    for one in threads:
        one.start()
    assert held.made("other", lambda: "quick") == "quick"
    go_on.set()
    for one in threads:
        one.join()

    assert (held.get("slow"), len(made)) == ("slow", 1)
