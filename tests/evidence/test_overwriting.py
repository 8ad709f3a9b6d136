"""Commands refuse to overwrite files before they read, draw or measure anything."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import maskmeter as mm
from maskmeter.cli.main import commands
from maskmeter.errors import without_warnings
from maskmeter.evidence.overwrite import check_file, check_pack
from maskmeter.evidence.settings import Settings
from maskmeter.plan.starter import write_starter
from maskmeter.studies.demo import run_demo

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


def other_pack(folder, *names):
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text("another")


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("command", ["assess", "find"])
class TestPacks:
    def refused(self, command, folder, said, *options):
        source, plan = folder / "survey.csv", folder / "plan.toml"
        with pytest.raises(mm.MaskmeterError, match=said):
            run(command, source, "--plan", plan, "--out", folder / "out", "--quiet", *options)

    def test_the_provenance_of_another_release_is_not_overwritten(self, command, world):
        other_pack(world[2] / "out", "provenance.json")
        self.refused(command, world[2], "provenance of another release")

    def test_files_of_another_pack_are_rejected(self, command, world):
        other_pack(world[2] / "out", "protected.sav")
        self.refused(command, world[2], r"files of another pack \(protected.sav\)")

    def test_an_old_report_that_would_become_stale_is_rejected(self, command, world):
        (world[2] / "plan.toml").write_text(PLAN + '[report]\naudience = "public"\n')
        other_pack(world[2] / "out", "internal.html", "public.html")
        self.refused(command, world[2], r"files of another pack \(internal.html\)")

    def test_old_charts_that_would_become_stale_are_rejected(self, command, world):
        other_pack(world[2] / "out")
        other_pack(world[2] / "out" / "charts", "1-map.svg")
        self.refused(command, world[2], "files of another pack .charts.1-map.svg.")
        self.refused(command, world[2], "files of another pack", "--charts", "png")

    def test_the_input_file_is_not_overwritten(self, command, world):
        folder = world[2]
        (folder / "out").mkdir()
        own = (folder / "survey.csv").rename(folder / "out" / "protected.csv")
        with pytest.raises(mm.MaskmeterError, match="holds the file that was read"):
            run(command, own, "--plan", folder / "plan.toml", "--out", folder / "out", "--quiet")

    def test_a_folder_in_the_way_is_rejected(self, command, world):
        (world[2] / "out" / "assessment.json").mkdir(parents=True)
        self.refused(command, world[2], "'assessment.json' is in the way")

    def test_a_read_only_format_is_rejected(self, command, world):
        self.refused(command, world[2], "sas7bdat", "--format", ".sas7bdat")


@pytest.mark.usefixtures("no_work")
class TestOtherCommands:
    def test_a_pack_without_steps_is_not_mixed_with_a_release(self, world):
        folder = world[2]
        other_pack(folder / "out", "protected.csv", "provenance.json")
        options = ("--keys", "lad,sex", "--fraction", "0.05", "--out", folder / "out", "--quiet")
        with pytest.raises(mm.MaskmeterError, match="files of another pack"):
            run("assess", folder / "survey.csv", *options)

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

    def test_compare_and_paper_reject_folders_in_the_way_before_any_work(self, world):
        folder = world[2]
        (folder / "comparison.html").mkdir()
        (folder / "map.png").mkdir()
        source, plan = folder / "survey.csv", folder / "plan.toml"
        with pytest.raises(mm.MaskmeterError, match=r"'comparison.html' is a folder"):
            run("compare", source, "--plan", plan, "--out", folder, "--quiet")
        with pytest.raises(mm.MaskmeterError, match=r"'map.png' is a folder"):
            run("paper", "--out", folder, "--quiet")

    def test_an_existing_plan_is_not_overwritten_and_the_file_not_read(self, world):
        folder = world[2]
        for target, said in (("plan.toml", "already exists"), ("none/plan.toml", "no such")):
            with pytest.raises(mm.MaskmeterError, match=said):
                write_starter(folder / "survey.csv", folder / target)

    @pytest.mark.parametrize("name", ["survey.csv", "plan.toml"])
    def test_the_demonstration_does_not_overwrite_files_of_others(self, tmp_path, name):
        (tmp_path / name).write_text("mine")
        with pytest.raises(mm.MaskmeterError, match=f"a {name} that this demonstration did not"):
            run_demo(tmp_path)
        assert (tmp_path / name).read_text() == "mine"

    def test_the_demonstration_does_not_overwrite_other_evidence(self, tmp_path):
        other_pack(tmp_path / "evidence", "provenance.json")
        with pytest.raises(mm.MaskmeterError, match="provenance of another release"):
            run_demo(tmp_path)

    def test_report_rejects_a_folder_with_another_pack(self, world):
        sample, release, folder = world
        other_pack(folder / "out", "provenance.json")
        with pytest.raises(mm.MaskmeterError, match="provenance of another release"):
            mm.report(assessed(release), folder / "out")
        with pytest.raises(mm.MaskmeterError, match="files of another pack"):
            mm.report(assessed(sample), folder / "out")


def test_a_demonstration_of_another_survey_does_not_overwrite_the_first(tmp_path, monkeypatch):
    class FoundError(Exception):
        pass

    def find(*_, **__):
        raise FoundError

    monkeypatch.setattr("maskmeter.studies.demo.run_find", find)
    for _ in range(2):  # the same survey may be written again
        with pytest.raises(FoundError):
            run_demo(tmp_path, size=2_000, rng=1)
    before = (tmp_path / "survey.csv").read_bytes()
    for options in ({"size": 2_000, "rng": 2}, {"size": 1_000, "rng": 1}):
        with pytest.raises(mm.MaskmeterError, match=r"a survey\.csv that this demonstration did"):
            run_demo(tmp_path, **options)

    assert (tmp_path / "survey.csv").read_bytes() == before


def test_the_same_release_may_be_written_again(world):
    sample, release, folder = world
    mm.report(assessed(release), folder / "out", audience="internal")
    again = mm.Swap("lad", rate=0.2).apply(sample, rng=SEED)
    mm.report(assessed(again), folder / "out", audience="internal")
    check_pack(folder / "out", None, Settings(audience="internal", ending="csv"), seed=SEED)

    with pytest.raises(mm.MaskmeterError, match="provenance of another release"):
        check_pack(folder / "out", None, Settings(audience="internal", ending="csv"), seed=SEED + 1)
    with pytest.raises(mm.MaskmeterError, match="provenance of another release"):
        check_pack(folder / "out", None, Settings(audience="internal", ending="csv"))


def test_a_deleted_protected_file_can_be_recreated_beside_its_provenance(world, tmp_path):
    source, plan, safe = tmp_path / "survey.csv", tmp_path / "plan.toml", tmp_path / "safe.csv"
    run("protect", source, "--plan", plan, "--out", safe, "--quiet")
    first, made = safe.read_bytes(), tmp_path / "safe.csv.provenance.json"
    safe.unlink()
    run("protect", source, "--from", made, "--out", safe, "--quiet")

    assert safe.read_bytes() == first
    with pytest.raises(mm.MaskmeterError, match="already exists"):
        check_file(safe, source)
