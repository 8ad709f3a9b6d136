"""The state of the workbench is a list of plans with a position, and a plan file holds it."""

from __future__ import annotations

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import run_python
from maskmeter.app import changes
from maskmeter.app.history import History
from maskmeter.app.settings import Setting
from maskmeter.app.tries import AS_IT_IS, MOST, Attempt, Tries
from maskmeter.app.workbench import Workbench
from maskmeter.errors import FileError, MaskmeterError
from maskmeter.plan import Plan, read_plan
from maskmeter.plan.schema import Candidate, Data, TargetPlan
from maskmeter.riskutility.riskmap import UNCHANGED
from workbenches import KEYS, SEED, opened, write_survey


@given(st.lists(st.sampled_from([*"abcd", "undo", "redo"]), max_size=12))
def test_undo_and_redo_walk_through_the_plans_like_two_stacks(moves):
    history, done, undone = History(), [Plan()], []
    for move in moves:
        if move == "undo":
            history = history.undone()
            undone += [done.pop()] if len(done) > 1 else []
        elif move == "redo":
            history = history.redone()
            done += [undone.pop()] if undone else []
        else:
            plan = Plan(data=Data(keys=[move]))
            history = history.then(plan)
            if plan != done[-1]:
                done, undone = [*done, plan], []
        assert history.plan == done[-1]
        assert (history.can_undo, history.can_redo) == (len(done) > 1, bool(undone))


def test_a_saved_plan_has_the_map_as_candidates_and_is_opened_again(root):
    bench = opened(root)
    bench.try_setting(Setting("redraw", ("lad",), rarer_than=50), label="rare")
    bench.choose("rare")
    bench.try_setting(Setting("swap", ("lad",), rate=0.1), label="other")
    bench.apply(lambda plan: changes.with_population(plan, "survey.csv"))
    (root / "plans").mkdir()

    path = bench.save_plan("plans/mine")
    saved = read_plan(path).plan

    assert saved.data.population == "../survey.csv"
    assert saved.step == bench.plan.step
    assert [one.label for one in saved.candidate] == ["other"]
    with pytest.raises(FileError, match="already exists"):
        bench.save_plan("plans/mine.toml")
    other = Workbench(root, seed=SEED)
    other.open("survey.csv")
    other.open_plan("plans/mine.toml")
    assert other.saved_plan() == bench.saved_plan()
    again = other.map()
    assert {one.label for one in again.points} == {UNCHANGED, "other", "redraw lad < 50"}
    assert again["other"] == bench.map()["other"]
    points = again["redraw lad < 50"], bench.map()["rare"]
    assert points[0].loss == points[1].loss
    assert points[0].informed == points[1].informed


def test_a_plan_may_be_opened_before_its_file(root):
    first = opened(root)
    first.try_setting(Setting("swap", ("lad",), rate=0.1), label="one")
    first.choose("one")
    first.save_plan("early")

    bench = Workbench(root, seed=SEED)
    bench.open_plan("early.toml")
    bench.open("survey.csv")

    assert bench.plan.step == first.plan.step
    assert (bench.keys, bench.pending) == (KEYS, 0)
    assert bench.map()["swap lad 10%"].loss == first.map()["one"].loss


def test_applying_the_same_plan_again_adds_nothing_to_undo(root):
    bench = opened(root)
    undone = bench.undo()

    bench.apply(undone)

    assert bench.can_redo


@pytest.mark.parametrize(
    "path",
    [
        "../outside.csv",
        "/etc/passwd",
        "link.csv",
        "a/../../outside.csv",
        "zero\0byte",
        "folder/../..",
    ],
)
def test_no_path_outside_the_start_directory_is_read(tmp_path, path):
    start = tmp_path / "start"
    start.mkdir()
    (tmp_path / "outside.csv").write_text("sex\nf\n", encoding="utf-8")
    (start / "link.csv").symlink_to(tmp_path / "outside.csv")
    bench = Workbench(start)

    for refused in (bench.open, bench.open_plan, bench.files, bench.save_plan):
        with pytest.raises(MaskmeterError, match="outside"):
            refused(path)
    assert bench.files() == ()


def test_the_one_file_that_was_named_at_the_start_may_lie_elsewhere(root, tmp_path):
    bench = Workbench(tmp_path, allowed=root / "survey.csv")

    assert bench.open(str(root / "survey.csv")).records > 1000


def test_a_folder_that_was_named_at_the_start_may_lie_elsewhere(root, tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "start").mkdir()
    lines = (root / "survey.csv").read_text(encoding="utf-8")
    (tmp_path / "parts" / "one.csv").write_text(lines, encoding="utf-8")
    bench = Workbench(tmp_path / "start", allowed=tmp_path / "parts")

    assert bench.open(str(tmp_path / "parts")).records > 1000
    with pytest.raises(MaskmeterError, match="outside"):
        bench.open(str(tmp_path))


def test_files_lists_folders_then_what_can_be_opened(root):
    (root / "more").mkdir(exist_ok=True)
    (root / "notes.txt~").write_text("x", encoding="utf-8")
    (root / ".hidden.csv").write_text("x", encoding="utf-8")
    found = Workbench(root).files()

    assert found[0].kind == "folder"
    assert ("survey.csv", "data") in [(one.path, one.kind) for one in found]
    assert not [one for one in found if one.name in ("notes.txt~", ".hidden.csv")]


def test_a_plan_that_lacks_something_says_what(root):
    bench = Workbench(root)
    said = [bench.problem()]
    bench.open("survey.csv")
    assert bench.prepared  # there is nothing to read as yet
    bench.apply(lambda plan: changes.with_keys(plan, [], bench.file))
    said.append(bench.problem())
    bench.apply(lambda plan: changes.with_keys(plan, KEYS, bench.file))
    said.append(bench.problem())
    bench.apply(lambda plan: changes.with_keys(plan, [*KEYS, "income"], bench.file))
    bench.apply(lambda plan: changes.with_fraction(plan, 0.05))
    assert not bench.prepared
    said.append(bench.problem())
    assert bench.prepared
    assert not bench.ready
    bands = bench.bands_for("income")
    bench.apply(lambda plan: changes.with_bands(plan, "income", bands))
    bench.apply(lambda plan: changes.with_population(plan, "nowhere.csv"))
    said.append(bench.problem())
    bench.undo()

    assert [one.words.split()[0] for one in said] == ["No", "Tick", "Say", "Key", "Cannot"]
    assert [one.tab for one in said] == ["file", "keys", "sample", "keys", "sample"]
    assert bench.problem() is None
    assert bench.ready
    assert bench.look_at_sample().population == pytest.approx(20 * bench.file.records)


def test_opening_another_file_starts_anew(root):
    bench = opened(root)
    bench.try_setting(Setting("swap", ("lad",)), label="one")

    bench.open("survey.csv")

    assert (bench.tried, bench.can_undo) == ((), False)


def test_chosen_names_the_point_whose_steps_the_plan_has(root):
    bench = opened(root)
    bench.try_setting(Setting("swap", ("lad",), rate=0.1))

    assert bench.chosen == UNCHANGED
    bench.choose("swap lad 10%")
    assert bench.chosen == "swap lad 10%"
    bench.apply(lambda plan: msgspec.structs.replace(plan, step=[plan.step[0], plan.step[0]]))
    assert bench.chosen == ""


def test_the_workbench_imports_no_ui():
    done = run_python(
        "import sys, maskmeter.app.workbench\n"
        "print(sorted({'shiny', 'htmltools', 'uvicorn', 'starlette'} & sys.modules.keys()))"
    )

    assert done.stdout == "[]\n", done.stderr


def test_undoing_an_opened_plan_takes_its_points_off_the_map_again(root):
    saved = opened(root)
    saved.try_setting(Setting("swap", ("lad",), rate=0.1), label="from the file")
    saved.save_plan("candidates")
    bench = opened(root)
    bench.try_setting(Setting("swap", ("lad",), rate=0.2), label="own")
    bench.open_plan("candidates.toml")
    labels = [{one.label for one in bench.map().points}]
    bench.undo()
    labels.append({one.label for one in bench.map().points})
    bench.redo()
    labels.append({one.label for one in bench.map().points})

    assert labels == [
        {UNCHANGED, "own", "from the file"},
        {UNCHANGED, "own"},
        {UNCHANGED, "own", "from the file"},
    ]


def test_a_release_that_is_mended_has_a_point_of_its_own(root):
    bench = opened(root)
    label = bench.try_setting(Setting("swap", ("lad",), rate=0.3)).label
    bench.choose(label)
    finding = next(one for one in bench.assess().check.findings if one.column == "town")
    line = next(one for one in finding.lines if "carry" in one)
    bench.mend(finding, line)

    assert bench.chosen == f"{label} with town"
    found = bench.map()
    assert found[bench.chosen].informed == found[label].informed
    assert found[bench.chosen].loss < found[label].loss  # what belongs together stays so
    assert bench.undo().step != bench.redo().step
    bench.choose(label)
    assert bench.chosen == label


def test_undo_brings_the_candidates_of_an_earlier_plan_file_back(root):
    for name, rate in (("first", 0.1), ("second", 0.3)):
        saved = opened(root)
        saved.try_setting(Setting("swap", ("lad",), rate=rate), label="same label")
        saved.save_plan(name)
    bench = opened(root)
    bench.open_plan("first.toml")
    first = bench.map()["same label"]
    bench.open_plan("second.toml")
    assert bench.map()["same label"] != first
    bench.undo()

    assert bench.map()["same label"] == first
    assert bench.saved_plan().candidate == bench.plan.candidate


def test_a_saved_plan_has_no_family_beside_releases_and_the_command_takes_it(root):
    bench = opened(root)
    family = '[data]\nkeys = ["lad", "sex"]\nfraction = 0.05\n[family]\nkey = "lad"\n'
    (root / "family.toml").write_text(family, encoding="utf-8")
    bench.open_plan("family.toml")
    kept = bench.saved_plan().family
    bench.try_setting(Setting("swap", ("lad",), rate=0.1), label="one")
    saved = bench.save_plan("with-points")

    assert kept is not None
    assert (read_plan(saved).plan.family, bench.plan.family) == (None, kept)


def test_a_candidate_of_a_column_that_is_no_key_is_saved_again(root):
    text = (
        '[data]\nkeys = ["lad", "sex"]\nfraction = 0.05\n[[candidate]]\nlabel = "other column"\n'
        '[[candidate.step]]\nmethod = "swap"\nkey = "ethnicity"\nrate = 0.1\n'
    )
    (root / "other.toml").write_text(text, encoding="utf-8")
    bench = opened(root)
    bench.open_plan("other.toml")

    assert "other column" not in {one.label for one in bench.map().points}
    assert bench.set_aside == ("other column",)
    assert [one.label for one in bench.saved_plan().candidate] == ["other column"]


def test_a_map_that_is_full_takes_what_a_plan_brings_and_what_it_has_already():
    listed = [Candidate(f"given {number}", []) for number in range(MOST + 5)]
    full = Tries().with_points(Plan(candidate=listed)).with_attempt(AS_IT_IS)
    own = Tries({f"own {number}": Attempt(f"own {number}", ()) for number in range(MOST)})

    assert len(full.attempts) == MOST + 6
    assert len(own.with_attempt(Attempt("own 3", ())).attempts) == MOST
    with pytest.raises(MaskmeterError, match="remove some first"):
        own.with_attempt(Attempt("one more", ()))


def test_points_of_a_key_that_is_unticked_wait_until_it_is_ticked_again(root):
    bench = opened(root)
    bench.apply(lambda plan: changes.with_keys(plan, [*KEYS, "income"], bench.file))
    bench.apply(lambda plan: changes.with_bands(plan, "income", bench.bands_for("income")))
    bench.try_setting(Setting("swap", ("income",), rate=0.1), label="income")
    bench.apply(lambda plan: changes.with_keys(plan, KEYS, bench.file))

    assert bench.problem() is None
    assert {one.label for one in bench.map().points} == {UNCHANGED}
    assert bench.saved_plan().candidate == []
    bench.undo()
    assert {one.label for one in bench.map().points} == {UNCHANGED, "income"}


def test_settings_that_differ_never_share_a_label(root):
    bench = opened(root)
    names = tuple(bench.categories("age"))
    labels = [
        bench.settle(Setting("recode", ("age",), groups={"some": names[start : start + 3]}))
        for start in (0, 3, 0)
    ]

    assert labels == [
        "recode age with some",
        "recode age with some (2)",
        "recode age with some",
    ]
    assert len(bench.tried) == 2


def test_an_impossible_target_of_a_plan_file_is_a_problem_and_no_fault(root):
    bench = opened(root)
    bench.apply(lambda plan: changes.with_target(plan, TargetPlan(max_share=1.5)))

    found = bench.problem()

    assert (found.tab, bench.tried, bench.pending, bench.risk_ready) == ("risk", (), 0, None)
    assert "max_share" in found.words


def test_a_file_that_is_written_anew_is_counted_anew(tmp_path):
    path = write_survey(tmp_path)
    bench = opened(tmp_path)
    bench.try_setting(Setting("swap", ("lad",), rate=0.1), label="one")
    before = bench.look_at_keys().counts
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(lines[:1001]) + "\n", encoding="utf-8")
    after = bench.look_at_keys().counts
    problem = bench.problem()
    plan = bench.plan
    bench.open("survey.csv")

    assert (before.records > 1500, after.records) == (True, 1000)
    assert (problem.tab, "open it again" in problem.words) == ("file", True)
    assert (bench.file.records, bench.plan, bench.problem()) == (1000, plan, None)
    assert bench.pending == 1
    assert {one.label for one in bench.map().points} == {UNCHANGED, "one"}
    path.unlink()
    assert bench.problem().words == "survey.csv is no longer there."


def test_a_population_of_several_files_is_counted_anew_when_one_changes(root):
    people = pl.read_csv(root / "survey.csv")
    parts = root / "parts"
    parts.mkdir()
    for part in (1, 2):
        pl.concat([people] * part).write_csv(parts / f"p{part}.csv")
    bench = opened(root)
    bench.apply(lambda plan: changes.with_population(plan, "parts/*.csv"))
    found = [bench.look_at_sample().population]
    risk = bench.risk_now().worst.risks.exact_match.total
    pl.concat([people] * 8).write_csv(parts / "p2.csv")
    found.append(bench.look_at_sample().population)
    lower = bench.risk_now().worst.risks.exact_match.total
    people.write_csv(parts / "p3.csv")
    found.append(bench.look_at_sample().population)

    assert found == [len(people) * many for many in (3, 9, 10)]
    assert lower < 0.5 * risk
    (parts / "p4.csv").symlink_to(root.parent / "elsewhere.csv")
    (root.parent / "elsewhere.csv").write_text("a\n1\n", encoding="utf-8")
    assert "outside" in bench.problem().words


def test_a_pattern_or_a_folder_leads_to_no_file_outside(tmp_path):
    start, secret = tmp_path / "start", tmp_path / "secret.csv"
    (start / "parts").mkdir(parents=True)
    secret.write_text("sex,age\nf,1\nm,2\n", encoding="utf-8")
    for link in (start / "link.csv", start / "parts" / "link.csv"):
        link.symlink_to(secret)
    bench = Workbench(start)

    for path in ("lin*.csv", "li[n]k.csv", "parts", "parts/*.csv"):
        with pytest.raises(MaskmeterError, match="outside"):
            bench.open(path)
        with pytest.raises(MaskmeterError, match="outside"):
            bench.apply(lambda plan, path=path: changes.with_population(plan, path))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('[[error]]\nkey = "age"\nmatrix = "nowhere.csv"\n', "error"),
        ('[loss]\ntables = [["lad", "nowhere"]]\n', "loss.tables"),
        ('[check]\nearlier = ["nowhere.csv"]\n', "check.earlier"),
        ('[release]\ndrop = ["nowhere"]\n', "release.drop"),
        ('[release]\nrenumber = ["nowhere"]\n', "release.renumber"),
        ('[data]\nhousehold = "nowhere"\n', "data.household"),
        ('[data]\nread = ["nowhere"]\n', "data.read"),
        ("[data.bands]\nlad = [0, 10]\n", "data.bands"),
        ("[target]\nmax_share = 1.5\n", "target"),
        ('[[step]]\nmethod = "swap"\nkey = "age"\nrate = 2\n', "step"),
    ],
)
def test_a_part_of_a_plan_that_does_not_fit_the_file_can_be_taken_out(root, text, part):
    data = '[data]\nkeys = ["lad", "sex", "age"]\nfraction = 0.05\n'
    whole = data + text.removeprefix("[data]\n")
    (root / "faulty.toml").write_text(whole, encoding="utf-8")
    bench = opened(root)
    bench.open_plan("faulty.toml")
    problem = bench.problem()
    assert problem is not None
    assert problem.part == part
    bench.apply(lambda plan: changes.without_part(plan, problem.part))

    assert bench.problem() is None
    bench.undo()
    assert bench.problem() == problem


def test_nothing_is_saved_outside_the_start_directory_or_among_files_that_are_read(root, tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "one.csv").write_bytes((root / "survey.csv").read_bytes())
    bench = Workbench(root, allowed=parts, seed=SEED)
    bench.open(str(parts))
    bench.apply(lambda plan: changes.with_fraction(plan, 0.05))
    for save in (bench.save_plan, bench.save_pack):
        with pytest.raises(FileError, match="lies outside the folder where the app was started"):
            save(str(parts / "saved"))

    within = Workbench(tmp_path, seed=SEED)
    within.open("parts")
    within.apply(lambda plan: changes.with_fraction(plan, 0.05))
    for save in (within.save_plan, within.save_pack):
        with pytest.raises(FileError, match="is the folder that is read"):
            save("parts/saved")
    assert [one.name for one in parts.iterdir()] == ["one.csv"]
