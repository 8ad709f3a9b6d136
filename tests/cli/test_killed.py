"""A killed command leaves its output whole or not at all, and its rerun succeeds."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter

import numpy as np
import pytest

import maskmeter as mm
from command import run, run_process
from killed import killed_after, killed_at_rename
from maskmeter.data.source import files_hash
from maskmeter.evidence.provenance import read_provenance

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")

PLAN = """
[data]
keys = ["lad", "sex", "age"]
fraction = 0.05
[[step]]
method = "swap"
key = "lad"
rate = 0.2
[report]
audience = "public"
"""
# Their renames: of the protected file inside what is unfinished, of all that is ready, and into
# place; protect puts the provenance there first.
RENAMES = {"protect": 5, "assess": 4}
OUTPUT = {"protect": "safe.csv", "assess": "pack"}


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """A folder with a survey and its plan."""
    folder = tmp_path_factory.mktemp("killed")
    people = mm.bernoulli_sample(mm.synthetic_census(size=10_000), fraction=0.05, rng=1)
    people.select("lad", "sex", "age").write_csv(folder / "survey.csv")
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    return folder


def names_in(folder):
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


WHOLE = {
    "protect": ["plan.toml", "safe.csv", "safe.csv.provenance.json", "survey.csv"],
    "assess": [
        "pack/internal/assessment.json",
        "pack/internal/provenance.json",
        "pack/internal/risk_by_record.parquet",
        "pack/protected.csv",
        "pack/public.html",
        "plan.toml",
        "survey.csv",
    ],
}


class Killed:
    """What a killed command left, and what its rerun makes of it."""

    def __init__(self, survey, folder, command):
        shutil.copytree(survey, folder, dirs_exist_ok=True)
        self.folder, self.command, self.out = folder, command, folder / OUTPUT[command]
        self.words = self._words("--plan", folder / "plan.toml", "--out", self.out)
        pack = command == "assess"
        self.protected = self.out / "protected.csv" if pack else self.out
        self.made = (
            self.out / "internal" / "provenance.json"
            if pack
            else folder / "safe.csv.provenance.json"
        )

    def _words(self, *options):
        return (self.command, self.folder / "survey.csv", *options, "--quiet")

    def check_whole(self):
        """Assert that the output is all there, and the record of how it was made is right."""
        assert set(WHOLE[self.command]) <= set(names_in(self.folder))
        made = read_provenance(self.made)
        assert made.output_hash == files_hash([self.protected])

    def rerun(self):
        """Return how the rerun ended: a whole output is kept and recreated, else one is made."""
        if self.out.exists():
            self.check_whole()
            before, again = self.protected.read_bytes(), self.folder / "again.csv"
            refused = run(*self.words)
            assert refused.returncode == 1
            assert "already exists" in refused.stderr
            repeated = ("--from", self.made, "--out", again)
            recreated = run("protect", self.folder / "survey.csv", *repeated, "--quiet")
            assert recreated.returncode == 0, recreated.stderr
            assert self.protected.read_bytes() == before == again.read_bytes()
            for path in self.folder.glob("again.csv*"):
                path.unlink()
            ended = "whole"
        else:
            done = run(*self.words)
            assert done.returncode == 0, done.stderr
            ended = "made again"
        self.check_whole()
        assert names_in(self.folder) == WHOLE[self.command]
        assert not list(self.folder.rglob(".*"))
        return ended


@pytest.mark.parametrize(
    ("command", "moment", "ended"),
    [
        ("protect", (5, "before"), "made again"),  # the provenance alone is in place
        ("protect", (5, "after"), "whole"),
        ("assess", (4, "before"), "made again"),
    ],
)
def test_a_command_killed_at_a_rename_can_be_run_again(survey, tmp_path, command, moment, ended):
    killed = Killed(survey, tmp_path, command)

    assert killed_at_rename(*moment, *killed.words)
    assert killed.rerun() == ended


@pytest.mark.full
@pytest.mark.parametrize("command", RENAMES)
def test_the_renames_of_a_command_are_as_many_as_are_tried(survey, tmp_path, command):
    killed = Killed(survey, tmp_path, command)

    assert not killed_at_rename(RENAMES[command] + 1, "before", *killed.words)
    killed.check_whole()


@pytest.mark.full
def test_sixty_killed_commands_lose_nothing_and_leave_nothing_in_part(survey, tmp_path, seed):
    rng, counts = np.random.default_rng(seed), Counter()
    exact = [
        (command, number, when)
        for command, most in RENAMES.items()
        for number in range(1, most + 1)
        for when in ("before", "after")
    ]
    exact += [("protect", 5, "before"), ("assess", 4, "before")]
    for turn, (command, number, when) in enumerate(exact):
        killed = Killed(survey, tmp_path / f"exact{turn}", command)
        assert killed_at_rename(number, when, *killed.words)
        counts[f"at a rename, {killed.rerun()}"] += 1
    seconds = {}
    for command in RENAMES:
        timed = Killed(survey, tmp_path / command, command)
        began = time.monotonic()
        assert run_process(*timed.words).returncode == 0
        seconds[command] = time.monotonic() - began
    turn = 0
    while sum(counts.values()) < 60:
        turn += 1
        command = list(RENAMES)[turn % 2]
        killed = Killed(survey, tmp_path / f"random{turn}", command)
        hidden, most = None, seconds[command]
        if turn % 4 < 2:  # from when it begins to write
            hidden, most = killed.folder / f".{OUTPUT[command]}.maskmeter", 0.05
        if killed_after(rng.uniform(0, most), *killed.words, hidden=hidden):
            counts[f"at random, {killed.rerun()}"] += 1
    print(f"\n60 kills: {dict(counts)}")  # noqa: T201 - with -s

    assert sum(counts.values()) == 60
    assert sum(number for name, number in counts.items() if name.startswith("at a rename")) == 20
