"""The whole way through the page, from the file to the evidence, with a real .sav file."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import pyreadstat
import pytest

from app.browsing import LONG, TABS, elsewhere, visit
from app.served import served_here
from app.surveys import SCRIPT, write_survey
from command import run
from maskmeter.errors import without_warnings
from maskmeter.evidence.figures import figures
from maskmeter.evidence.schema import encoded
from maskmeter.evidence.wording import Numbers, percent
from maskmeter.plan import read_plan, read_task
from maskmeter.workflows import assess_task

KEYS = ("lad", "sex", "age", "ethnicity", "marital", "activity")


@dataclass
class Walk:
    """What a reader saw on the way."""

    folder: Path
    seen: dict[str, Any] = field(default_factory=dict)
    faults: dict[str, list[str]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)


def to_the_risk(reader):
    """Go from the open file to its risk."""
    reader.page.wait_for_selector("text=Choose the keys", timeout=LONG)
    reader.go("sample")
    reader.fill("fraction", 1)
    reader.go("risk")
    reader.page.wait_for_selector("#risk_next a", timeout=LONG)


def look_at(reader, walk, tab):
    """Open a tab, and note what is wrong with it."""
    reader.go(tab)
    walk.faults[tab] = reader.faults()


def protect(reader, walk):
    """Move the slider, and choose the point that it leaves by a click on the map."""
    look_at(reader, walk, "protect")
    answers = [reader.answer("rate", rate, place="protect_now") for rate in (5, 8, 12, 15, 20)]
    walk.seen["answers"] = answers
    reader.rest("rate")
    walk.seen["points"] = reader.rows("#protect_points")
    walk.seen["tried"] = reader.facts("#protect_now")
    reader.click_point("swap lad 20%")


def coupled(reader, *, after=None):
    """Return the threshold, the records above it and the matches among them, once they have changed."""
    fields = [f'#risk [data-do="{one}"]' for one in ("threshold", "records", "matches")]
    for _ in range(50):
        found = [float(reader.page.locator(one).input_value()) for one in fields]
        if after is None or all(one != old for one, old in zip(found, after, strict=True)):
            break
        reader.page.wait_for_timeout(100)
    return found


def missed(reader, pointer):
    """Return how far the line of the threshold is from the pointer; the chart follows the figures."""
    for _ in range(50):
        line = reader.page.locator("#risk_curve .mark-rule line").last.bounding_box()
        far = abs(line["y"] + line["height"] / 2 - pointer) if line else 999
        if far < 1.5:
            break
        reader.page.wait_for_timeout(100)
    return far


def walked(folder, found):
    """Return what a reader sees who goes the whole way."""
    walk = Walk(folder)
    with visit(found) as reader:
        to_the_risk(reader)
        walk.faults["risk"] = reader.faults()
        walk.seen["risk"] = reader.text("#risk_top")
        walk.seen["risk facts"] = reader.facts("#risk_top")
        walk.seen["without one"] = reader.rows("#risk_keys")
        walk.seen["above"] = reader.page.locator('[data-do="records"]').input_value()
        reader.answer("threshold", 40, place="risk_coupled")
        reader.rest("threshold")
        walk.seen["dragged"] = [coupled(reader)]
        pointer = reader.drag("risk_curve", 0.5, 0.8, 0.9)
        walk.seen["dragged"].append(coupled(reader, after=walk.seen["dragged"][0]))
        walk.seen["missed"] = missed(reader, pointer)
        walk.seen["columns"] = (look_at(reader, walk, "keys"), reader.rows("#key_columns"))[1]
        walk.seen["counts"] = reader.facts("#key_counts")
        walk.seen["bad"] = reader.page.evaluate("window.bad ?? null")
        look_at(reader, walk, "file")
        look_at(reader, walk, "sample")
        reader.go("decide")
        reader.page.locator('[data-line="save-plan"]').fill("plain.toml")
        reader.press("save-plan")
        reader.settle()
        protect(reader, walk)
        look_at(reader, walk, "check")
        reader.page.wait_for_selector("#check_next a", timeout=LONG)
        walk.seen["check"] = reader.text("#check")
        look_at(reader, walk, "decide")
        walk.seen["decide"] = reader.facts("#decide_top")
        reader.press("save-pack")
        reader.page.wait_for_selector("text=Wrote", timeout=LONG)
        reader.page.locator('[data-line="save-plan"]').fill("plan.toml")
        reader.press("save-plan")
        reader.settle()
        _back_and_forth(reader, walk)
        walk.errors, walk.elsewhere = reader.errors, elsewhere(reader.requests, found)
    return walk


def _back_and_forth(reader, walk):
    """Reload the page, cut its connection, then undo what was chosen and redo it."""
    chosen = lambda: reader.text(".about")  # noqa: E731 - it is read four times
    states = [chosen()]
    for again in ("location.reload()", "Shiny.shinyapp.$socket.close()"):
        with reader.page.expect_navigation(timeout=LONG):
            reader.page.evaluate(f"setTimeout(() => {{ {again}; }})")
        reader.page.wait_for_selector("#decide_top .lead", timeout=LONG)
        walk.seen["decide again"] = reader.facts("#decide_top")
        states.append(chosen())
    for button in ("undo", "redo"):
        reader.press(button)
        reader.settle()
        states.append(chosen())
    walk.seen["states"] = states


@pytest.fixture(scope="module")
def walk(tmp_path_factory, town):
    folder = tmp_path_factory.mktemp("walk")
    write_survey(folder / "survey.sav", town)
    with served_here(folder, folder / "survey.sav") as found:
        return walked(folder, found)


def test_no_error_no_request_to_elsewhere_and_no_fault_on_any_tab(walk):
    assert walk.errors == []
    assert walk.elsewhere == []
    assert walk.faults == {tab: [] for tab in TABS}


def test_markup_in_a_label_is_shown_as_text(walk):
    assert walk.seen["bad"] is None
    assert f"{SCRIPT} (marital)" in walk.seen["columns"]
    assert "Age <b>in bands</b> (age)" in walk.seen["columns"]


def test_the_risk_on_the_page_is_that_of_the_command(walk):
    words = (
        "assess",
        "survey.sav",
        "--plan",
        "plain.toml",
        "--out",
        "plain",
        "--json",
        "--internal",
    )
    done = run(*words, folder=walk.folder)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    (scenario,), say = told["scenarios"], Numbers(None)
    risk = scenario["risks"]["informed"]

    assert f"About {say.matches(risk['total'])} of {risk['uniques']:,} unique" in walk.seen["risk"]
    assert walk.seen["risk facts"]["Matches"].startswith(
        f"{say.matches(risk['total'])} interval {say.between(risk['interval'])}"
    )
    assert walk.seen["above"] == str(risk["above_half"])
    assert walk.seen["counts"]["Unique records"].startswith(f"{risk['uniques']:,} ")
    sizes = [f"{many:,}" for many in risk["cell_sizes"]]
    assert list(walk.seen["counts"].values())[1:5] == sizes[1:]
    rows = {
        name.rpartition("(")[2].strip(")"): row for name, row in walk.seen["without one"].items()
    }
    assert set(rows) == set(KEYS)
    for one in scenario["without_one_key"]:
        fall = percent(1 - one["total"] / risk["total"])
        assert rows[one["key"]] == [f"{one['uniques']:,}", say.matches(one["total"]), fall]


def test_the_threshold_is_dragged_in_the_curve(walk):
    before, after = walk.seen["dragged"]

    assert before[0] == 40
    assert after[0] < 12  # a tenth of the plot above its foot
    assert walk.seen["missed"] < 1.5  # pixels between the line and the pointer
    assert after[1] > before[1]
    assert after[2] > before[2]


def timeless(path):
    """Return a provenance file without the hash of a file that says when it was written."""
    entries = json.loads(path.read_text(encoding="utf-8"))
    return {name: value for name, value in entries.items() if name not in ("output_hash", "digest")}


def test_the_saved_pack_is_that_of_the_command_for_its_provenance(walk):
    made, again = walk.folder / "evidence", walk.folder / "again"
    from_made = ("--from", made / "internal" / "provenance.json")
    done = run(
        "assess",
        "survey.sav",
        *from_made,
        "--out",
        again,
        "--json",
        "--internal",
        folder=walk.folder,
    )
    assert done.returncode == 0, done.stderr
    names, others = (
        {path.relative_to(pack).as_posix() for path in pack.rglob("*.*")} for pack in (made, again)
    )

    assert names == others
    assert {"protected.sav", "public.html", "internal/assessment.json"} < names
    told = "internal/provenance.json"
    for name in names - {"protected.sav", told}:  # the file says when it was written
        assert (made / name).read_bytes() == (again / name).read_bytes(), name
    assert timeless(made / told) == timeless(again / told)
    assert pyreadstat.read_sav(made / "protected.sav")[0].equals(
        pyreadstat.read_sav(again / "protected.sav")[0]
    )
    figured = json.loads(done.stdout)
    risk, say = figured["scenarios"][0]["risks"]["informed"], Numbers(None)
    assert walk.seen["decide"]["Matches after"].startswith(f"{say.matches(risk['total'])} interval")
    assert walk.seen["decide"]["Records changed"].startswith(percent(figured["changed"]))
    exact = figured["scenarios"][0]["risks"]["exact_match"]
    tried = walk.seen["tried"]
    assert tried["Matches, informed"].startswith(f"{say.matches(risk['total'])} ")
    assert tried["by exact matching"].startswith(f"{say.matches(exact['total'])} ")
    assert tried["Information loss"].startswith(f"{figured['mean_loss']:.1f}%")
    assert tried["Records changed"] == percent(figured["changed"])


def test_the_saved_plan_is_that_of_the_pack(walk):
    plan = (walk.folder / "plan.toml").read_text(encoding="utf-8")
    kept = walk.folder / "evidence" / "internal" / "provenance.json"
    made = json.loads(kept.read_text(encoding="utf-8"))

    assert re.search(r'method = "swap"\s+key = "lad"\s+rate = 0.2', plan)
    (step,) = made["plan"]["step"]
    assert (step["method"], step["key"], step["rate"]) == ("swap", "lad", 0.2)
    assert "seed" not in plan
    # The command reads this very plan; with the seed of the pack it finds the figures of the pack.
    task, seed = (
        read_task(read_plan(walk.folder / "plan.toml"), walk.folder / "survey.sav"),
        int(made["seed"]),
    )
    with without_warnings():
        release = task.released(seed=seed)
    found = assess_task(task, release, seed=seed, progress=lambda *_: None)
    told = json.loads(
        (walk.folder / "evidence" / "internal" / "assessment.json").read_text("utf-8")
    )
    assert json.loads(encoded(figures(found))) == told


def test_a_slider_answers_and_leaves_a_point_for_each_setting(walk, capsys):
    answers = walk.seen["answers"]
    with capsys.disabled():
        print(f"\nSlider: {median(answers):.0f} ms (median of {len(answers)})")  # noqa: T201 - asked for

    assert max(answers) < 3_000
    assert {"no protection", "swap lad 20%"} == set(walk.seen["points"])


def test_the_release_check_is_passed_once_a_release_is_chosen(walk):
    assert "The release check is passed" in walk.seen["check"]


def test_a_reload_keeps_the_state_and_undo_takes_the_choice_back(walk):
    before, reloaded, connected_again, undone, redone = walk.seen["states"]

    assert before == reloaded == connected_again == redone
    assert "swap lad 20%" in before
    assert "swap" not in undone
    assert walk.seen["decide again"] == walk.seen["decide"]


def test_nothing_is_written_but_what_was_saved(walk):
    found = {path.name for path in walk.folder.iterdir()}

    assert found - {"plain", "again"} == {"survey.sav", "plain.toml", "plan.toml", "evidence"}
