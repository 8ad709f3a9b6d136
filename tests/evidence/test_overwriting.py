"""Commands refuse to overwrite files before they read, draw or measure anything."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import maskmeter as mm
from maskmeter.cli.main import commands
from maskmeter.errors import without_warnings
from maskmeter.evidence import Pack
from maskmeter.evidence.overwrite import check_file
from maskmeter.plan.starter import write_starter
from maskmeter.studies.demo import _sums, run_demo

PLAN = """
[data]
keys = ["lad", "sex", "age"]
fraction = 0.05
[[step]]
method = "swap"
key = "lad"
rate = 0.2
[loss]
tables = [["lad", "sex"]]
[target]
max_share = 0.5
[[candidate]]
label = "a"
[[candidate.step]]
method = "swap"
key = "lad"
rate = 0.1
"""
SEED = 2**100 + 1


@pytest.fixture(scope="module")
def survey():
    census = mm.synthetic_census(size=10_000)
    people = mm.bernoulli_sample(census, fraction=0.05, rng=1)
    return people.select("lad", "sex", "age").write_csv()


@pytest.fixture
def world(survey, tmp_path):
    """Return a sample from a file, a release of it, and the folder with the file and a plan."""
    (tmp_path / "survey.csv").write_text(survey)
    (tmp_path / "plan.toml").write_text(PLAN)
    sample = mm.read(tmp_path / "survey.csv", keys="lad,sex,age", fraction=0.05)
    return sample, mm.Swap("lad", rate=0.2).apply(sample, rng=SEED), tmp_path


@pytest.fixture
def no_work(monkeypatch):
    """Fail the test as soon as a file is read or a census is made."""

    def worked(*_, **__):
        pytest.fail("the work began before the refusal")

    for name in (
        "maskmeter.plan.read_task",
        "maskmeter.studies.demo.synthetic_census",
        "maskmeter.studies.paper.run_paper",
        "maskmeter.evidence.pack.write_pack",
    ):
        monkeypatch.setattr(name, worked)
    monkeypatch.setattr("maskmeter.plan.starter.Source", SimpleNamespace(of=worked))


def assessed(data):
    with without_warnings():
        return mm.assess(data, drop_one=False)


def run(*arguments):
    return commands.main(list(map(str, arguments)), standalone_mode=False)


def filled(folder, name="protected.sav"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("another")


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("command", ["assess", "find", "compare"])
class TestFolders:
    def refused(self, command, folder, said, *options, out="out"):
        source, plan = folder / "survey.csv", folder / "plan.toml"
        with pytest.raises(mm.MaskmeterError, match=said):
            run(command, source, "--plan", plan, "--out", folder / out, "--quiet", *options)

    @pytest.mark.parametrize("name", ["protected.sav", "internal", ".hidden", "notes.txt"])
    def test_a_folder_that_holds_anything_is_refused_and_kept(self, command, world, name):
        filled(world[2] / "out", name)
        self.refused(command, world[2], "already exists and is not empty")

        assert (world[2] / "out" / name).read_text() == "another"

    def test_the_folder_of_the_input_is_refused(self, command, world):
        self.refused(command, world[2], "already exists and is not empty", out=".")

    def test_a_place_in_a_file_is_refused(self, command, world):
        self.refused(command, world[2], "is not a folder", out="plan.toml/out")

    def test_a_folder_that_nobody_may_write_to_is_refused(self, command, world, monkeypatch):
        monkeypatch.setattr("os.access", lambda *_: False)  # who is root may write everywhere
        self.refused(command, world[2], "a folder that you may not write to")


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("command", ["assess", "find"])
def test_a_read_only_format_is_refused(command, world):
    options = ("--out", world[2] / "out", "--quiet", "--format", ".sas7bdat")
    with pytest.raises(mm.MaskmeterError, match="sas7bdat"):
        run(command, world[2] / "survey.csv", "--plan", world[2] / "plan.toml", *options)


@pytest.mark.usefixtures("no_work")
class TestOtherCommands:
    @pytest.mark.parametrize(
        ("name", "there", "said"),
        [
            ("safe.csv", "safe.csv", "already exists"),
            ("safe.csv", "safe.csv.provenance.json", "provenance of another release"),
            ("survey.csv", None, "is the file that was read"),
            ("none/safe.csv", None, "no such folder"),
        ],
    )
    def test_protect_rejects_its_output_path_before_any_work(self, world, name, there, said):
        folder = world[2]
        if there is not None:
            (folder / there).write_text("another")
        source, plan = folder / "survey.csv", folder / "plan.toml"
        with pytest.raises(mm.MaskmeterError, match=said):
            run("protect", source, "--plan", plan, "--out", folder / name, "--quiet")

    def test_paper_refuses_a_folder_that_is_not_empty(self, world):
        with pytest.raises(mm.MaskmeterError, match="already exists and is not empty"):
            run("paper", "--out", world[2], "--quiet")

    def test_an_existing_plan_is_not_overwritten_and_the_file_not_read(self, world):
        folder = world[2]
        for target, said in (("plan.toml", "already exists"), ("none/plan.toml", "no such")):
            with pytest.raises(mm.MaskmeterError, match=said):
                write_starter(folder / "survey.csv", folder / target)

    @pytest.mark.parametrize("name", ["survey.csv", "plan.toml", "evidence"])
    def test_the_demonstration_does_not_replace_files_of_others(self, tmp_path, name):
        (tmp_path / name).write_text("mine")
        with pytest.raises(mm.MaskmeterError, match="already exists and is not empty"):
            run_demo(tmp_path)
        assert (tmp_path / name).read_text() == "mine"

    def test_report_refuses_a_folder_with_another_pack(self, world):
        sample, release, folder = world
        filled(folder / "out")
        for data in (sample, release):
            with pytest.raises(mm.MaskmeterError, match="already exists and is not empty"):
                mm.report(assessed(data), folder / "out")


@pytest.fixture
def quick_demo(monkeypatch):
    """Let the demonstration write its survey and plan, and a page in the place of its evidence."""

    def find(task, folder, settings, **_):
        (folder / "internal").mkdir(parents=True)
        page = folder / "internal" / "internal.html"
        page.write_text("the report")
        pack = Pack(folder, (page,), None, None)
        return SimpleNamespace(release=None, risk=None), pack

    monkeypatch.setattr("maskmeter.studies.demo.run_find", find)
    monkeypatch.setattr("maskmeter.studies.demo._measures", lambda *_: ())
    return lambda folder, rng: run_demo(folder, size=2_000, rng=rng)


def test_the_demonstration_replaces_its_own_folder(quick_demo, tmp_path):
    out = tmp_path / "demo"
    first = quick_demo(out, 1)
    before = (out / "survey.csv").read_bytes()
    second = quick_demo(out, 2)

    assert (out / "survey.csv").read_bytes() != before
    assert first.pack.files == second.pack.files == (out / "evidence/internal/internal.html",)
    assert second.pack.files[0].is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]


@pytest.mark.parametrize("change", ["added", "edited", "removed", "hidden", "another plan"])
def test_a_demonstration_that_somebody_worked_on_is_not_replaced(quick_demo, tmp_path, change):
    out = tmp_path / "demo"
    quick_demo(out, 1)
    if change == "added":
        (out / "evidence" / "notes.txt").write_text("mine")
    elif change == "edited":
        (out / "survey.csv").write_text("mine")
    elif change == "removed":
        (out / "demo.sha256").unlink()
    elif change == "hidden":
        (out / ".notes").write_text("mine")
    else:  # with hashes that are right
        (out / "plan.toml").write_text("mine")
        (out / "demo.sha256").write_text(_sums(out))
    before = {path: path.is_file() and path.read_bytes() for path in out.rglob("*")}
    with pytest.raises(mm.MaskmeterError, match="already exists and is not empty"):
        quick_demo(out, 2)

    assert {path: path.is_file() and path.read_bytes() for path in out.rglob("*")} == before


def test_a_deleted_protected_file_can_be_recreated_beside_its_provenance(world, tmp_path):
    source, plan, safe = tmp_path / "survey.csv", tmp_path / "plan.toml", tmp_path / "safe.csv"
    run("protect", source, "--plan", plan, "--out", safe, "--quiet")
    first, made = safe.read_bytes(), tmp_path / "safe.csv.provenance.json"
    safe.unlink()
    run("protect", source, "--from", made, "--out", safe, "--quiet")

    assert safe.read_bytes() == first
    with pytest.raises(mm.MaskmeterError, match="already exists"):
        check_file(safe, source)
