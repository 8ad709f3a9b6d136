"""Names of files and folders that somebody chose to do harm, and folders that are moved meanwhile."""

from __future__ import annotations

import shlex
import sys

import pytest

from maskmeter.app import changes
from maskmeter.app.command_lines import UNTYPED
from maskmeter.app.workbench import Workbench
from maskmeter.errors import FileError, InputError, MaskmeterError
from workbenches import KEYS, SEED, opened, write_survey

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")


def named(folder, name):
    """Return a workbench with the survey open under a name."""
    write_survey(folder).rename(folder / name)
    bench = Workbench(folder, seed=SEED)
    bench.open(name)
    bench.apply(lambda plan: changes.with_keys(plan, KEYS, bench.file))
    bench.apply(lambda plan: changes.with_fraction(plan, 0.05))
    return bench


@pytest.mark.parametrize("name", ["two\nlines.csv", "clear\x15the line.csv", "\u202eleft.csv"])
def test_no_command_is_shown_that_a_terminal_would_run(tmp_path, name):
    bench = named(tmp_path, name)

    assert bench.command_line() == bench.repeat_line() == UNTYPED
    assert bench.python_lines().isascii()


@pytest.mark.parametrize("name", ["--out=x.csv", "-h.csv", "$(touch x).csv", "it's.csv"])
def test_a_shown_command_names_the_file_and_no_option(tmp_path, name):
    bench = named(tmp_path, name)
    words = shlex.split(bench.command_line())

    assert words[2] in (name, f"./{name}")
    assert not words[2].startswith("-")
    assert len(words) == 7


@pytest.mark.parametrize("name", [".", "..", " ", "two\nlines", "./", "evil\x1b[0m"])
def test_nothing_is_saved_under_what_is_no_name(tmp_path, name):
    write_survey(tmp_path)
    bench = opened(tmp_path)
    for save in (bench.save_plan, bench.save_pack):
        with pytest.raises(FileError):
            save(name)

    assert [one.name for one in tmp_path.iterdir()] == ["survey.csv"]


def test_a_space_that_breaks_no_line_is_part_of_a_name(tmp_path):
    bench = named(tmp_path, "Umfrage\u00a02019.csv")
    bench.save_plan("Plan\u00a02019")

    assert "Umfrage" in bench.command_line()


def test_a_pack_is_not_written_into_a_folder_that_was_moved_meanwhile(tmp_path):
    start, outside = tmp_path / "start", tmp_path / "outside"
    (start / "folder").mkdir(parents=True)
    outside.mkdir()
    write_survey(start)
    bench = opened(start)

    def moved(*_):
        if not (start / "folder").is_symlink():
            (start / "folder").rename(start / "away")
            (start / "folder").symlink_to(outside, target_is_directory=True)

    with pytest.raises(FileError, match=r"outside|changed meanwhile"):
        bench.save_pack("folder/pack", moved)
    assert not list(outside.iterdir())


def test_a_population_that_leads_elsewhere_by_now_is_not_read(tmp_path):
    start = tmp_path / "start"
    start.mkdir()
    path = write_survey(start)
    for folder in (start, tmp_path):
        (folder / "people.csv").write_bytes(path.read_bytes())
    bench = opened(start)
    bench.apply(lambda plan: changes.with_population(plan, "people.csv"))
    bench.look_at_sample()
    (start / "people.csv").unlink()
    (start / "people.csv").symlink_to(tmp_path / "people.csv")

    assert bench.look_at_sample().faulty
    assert "outside" in bench.look_at_sample().words
    with pytest.raises(MaskmeterError, match="outside"):
        bench.risk_now()


def test_names_that_are_no_text_are_not_listed_and_enter_no_plan(tmp_path):
    write_survey(tmp_path)
    with open(bytes(tmp_path) + b"/bad\xff.csv", "wb") as file:  # noqa: PTH123 - a path is text
        file.write(b"sex\nf\n")
    bench = opened(tmp_path)
    before = bench.plan

    assert [one.name for one in bench.files()] == ["survey.csv"]
    for column in ("\ud800", {"a": 1}, ["sex"]):
        with pytest.raises(InputError, match="nothing that a plan can say"):
            bench.apply(lambda plan, column=column: changes.with_household(plan, column))
    assert bench.plan == before


def test_a_name_that_is_too_long_is_refused_in_words(tmp_path):
    write_survey(tmp_path)
    with pytest.raises(FileError):
        opened(tmp_path).open("x" * 5000)
