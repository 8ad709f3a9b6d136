"""Points of the map keep their labels, their draws and their place through undo, files and faults."""

from __future__ import annotations

import pytest

from maskmeter.app import changes, readings
from maskmeter.app.tries import DRAWS, TRYING
from maskmeter.app.work import Work
from maskmeter.errors import MaskmeterError
from maskmeter.plan.schema import TargetPlan
from maskmeter.riskutility.riskmap import UNCHANGED
from workbenches import KEYS, opened, swap, write_survey

DATA = '[data]\nkeys = ["lad", "sex", "age", "ethnicity"]\nfraction = 0.05\nmissing = "category"\n'


def write_plan(folder, name, *, step=None, candidates=None):
    """Write a plan file that swaps districts at some rates."""
    text = DATA
    if step is not None:
        text += f'[[step]]\nmethod = "swap"\nkey = "lad"\nrate = {step}\n'
    for label, rate in (candidates or {}).items():
        text += f'[[candidate]]\nlabel = "{label}"\n[[candidate.step]]\n'
        text += f'method = "swap"\nkey = "lad"\nrate = {rate}\n'
    (folder / name).write_text(text, encoding="utf-8")


def rates(bench):
    """Return the rate of each point of the map, by its label."""
    bench.measure()
    return {one.label: one.steps[0].rate for one in bench.tried if one.steps}


def test_undo_and_redo_bring_the_release_of_a_plan_file_back_on_the_map(root):
    for name, rate in (("ten.toml", 0.1), ("twenty.toml", 0.2)):
        write_plan(root, name, step=rate)
    bench = opened(root)
    shown = []
    for move in (
        lambda: bench.open_plan("ten.toml"),
        lambda: bench.open_plan("twenty.toml"),
        bench.undo,
        bench.redo,
        bench.undo,
        bench.undo,
        bench.redo,
    ):
        move()
        shown.append((rates(bench).get(bench.chosen), bench.plan.step[:1]))

    assert [rate for rate, _ in shown] == [0.1, 0.2, 0.1, 0.2, 0.1, None, 0.1]
    assert all(rate is None or rate == step[0].rate for rate, step in shown)


def test_a_release_of_a_plan_stays_a_candidate_when_another_was_chosen_and_saved(root, tmp_path):
    write_plan(root, "steps.toml", step=0.1)
    bench = opened(root)
    bench.open_plan("steps.toml")
    bench.choose(bench.try_setting(swap(0.3)).label)
    saved = bench.save_plan("other")
    again = opened(root)
    again.open_plan("other.toml")

    assert sorted(rates(again).values()) == [0.1, 0.3]
    assert again.saved_plan().candidate == bench.saved_plan().candidate
    saved.unlink()


@pytest.mark.parametrize("label", [TRYING, UNCHANGED])
def test_no_plan_file_takes_the_labels_of_the_page(root, label):
    write_plan(root, "labels.toml", candidates={label: 0.4})
    bench = opened(root)
    bench.open_plan("labels.toml")
    bench.try_setting(swap(0.1), label=TRYING)

    assert rates(bench) == {TRYING: 0.1, f"{label} (2)": 0.4}
    assert [one.label for one in bench.saved_plan().candidate] == [f"{label} (2)"]


def test_candidates_of_one_plan_do_not_take_the_place_of_each_other(root):
    write_plan(root, "alike.toml", candidates={"same": 0.3, "same (2)": 0.4})
    bench = opened(root)
    bench.try_setting(swap(0.2), label="same")
    bench.open_plan("alike.toml")

    assert sorted(rates(bench).values()) == [0.2, 0.3, 0.4]
    assert len(bench.saved_plan().candidate) == 3


def test_a_file_that_cannot_be_measured_takes_no_points_off_the_map(root):
    text = DATA + '[[error]]\nkey = "sex"\nmatrix = [[0.9, 0.1], [0.1, 0.9]]\n'
    text += 'categories = ["no", "none"]\n'
    (root / "errors.toml").write_text(text, encoding="utf-8")
    bench = opened(root)
    bench.try_setting(swap(0.2))
    before = rates(bench)
    bench.open_plan("errors.toml")
    with pytest.raises(MaskmeterError):
        bench.measure()
    bench.undo()

    assert rates(bench) == before


def test_the_map_stays_while_another_program_writes_the_file(tmp_path):
    path = write_survey(tmp_path)
    whole = path.read_bytes()
    bench = opened(tmp_path)
    for rate in (0.1, 0.2):
        bench.try_setting(swap(rate))
    bench.apply(lambda plan: changes.with_fraction(plan, 0.06))

    def rewritten(*_):
        path.write_bytes(whole[: len(whole) // 3])

    bench.measure(rewritten)
    path.write_bytes(whole)
    bench.open("survey.csv")

    assert set(rates(bench)) == {"swap lad 10%", "swap lad 20%"}


def test_a_setting_that_is_tried_again_keeps_its_draws(root):
    bench = opened(root)
    label = bench.settle(swap(0.2))
    bench.refine(label)
    bench.try_setting(swap(0.2), label=TRYING)
    bench.settle(swap(0.2))
    told = []
    bench.refine(label, lambda *stage: told.append(stage))

    (point,) = (one.point for one in bench.tried if one.steps)
    assert point.replications == DRAWS
    assert len(told) == 1  # nothing was drawn again


def test_a_point_that_no_file_holds_is_work_that_is_not_saved(root, tmp_path):
    bench = opened(root)
    bench.try_setting(swap(0.3))
    bench.apply(lambda plan: changes.with_keys(plan, KEYS[1:], bench.file))
    assert bench.set_aside == ("swap lad 30%",)
    bench.save_plan("aside").unlink()
    assert bench.unsaved
    bench.undo()
    bench.save_plan("whole").unlink()

    assert not bench.unsaved


def test_what_is_wrong_with_a_plan_is_looked_for_in_the_background_alone(root, monkeypatch):
    bench = opened(root)
    bench.prepare()
    bench.apply(lambda plan: changes.with_target(plan, TargetPlan(max_share=1.5)))
    read, many = readings.read_task, []

    def counted(*given):
        many.append(given)
        return read(*given)

    monkeypatch.setattr(readings, "read_task", counted)
    assert not bench.prepared  # a window that asks reads nothing
    assert not many
    work = Work()
    bench.prepare(work)

    assert (bench.prepared, bench.ready, bench.problem().part) == (True, False, "target")
    assert work.stage.name
