"""One trial: a damaged input, given to a command, and what must hold of what it does."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import numpy as np

from command import run
from fuzz.damage import damaged
from fuzz.worlds import CANARIES, ENDINGS, write_worlds

INPUTS = (*ENDINGS, ".toml", ".toml", ".json")
SECONDS = 10
SAS = Path(__file__).parents[1] / "formats" / "r" / "people.sas7bdat"


def fill(folder):
    """Fill a folder with whole inputs."""
    write_worlds(folder)
    shutil.copy(SAS, folder / "whole.sas7bdat")


def trial(number, seed, whole, folder):
    """Return the exit code of a command on the damaged input of some number."""
    rng = np.random.default_rng([seed, number])
    ending = INPUTS[number % len(INPUTS)]
    words = _prepared(ending, number // len(INPUTS), rng, whole, folder)
    there, began = _files(folder), time.monotonic()
    done = run(*words, folder=folder)
    took, left = time.monotonic() - began, _files(folder) - there
    told = f"input {number} of seed {seed} ({ending}): {words[0]} {done.returncode} {done.stderr}"
    assert done.returncode in {0, 1, 2}, told
    assert "Traceback" not in done.stderr, told
    assert not any(canary in done.stderr for canary in CANARIES), told
    assert done.returncode == 0 or (done.stderr and not left), f"{told} left {left}"
    assert not any(Path(name).name.startswith(".") for name in left), f"{told} left {left}"
    assert took < SECONDS, f"{told} took {took:.1f} s"
    return done.returncode


def _prepared(ending, turn, rng, whole, folder):
    """Write a damaged input, and return the words of a command that reads it."""
    name = {".toml": "plan.toml", ".json": "provenance.json"}.get(ending, f"whole{ending}")
    (folder / f"bad{ending}").write_bytes(damaged((whole / name).read_bytes(), ending, rng))
    bad, out = f"bad{ending}", "safe.csv"
    if ending == ".toml":
        asked = (whole / "whole.csv", "--plan", bad)
    elif ending == ".json":
        asked = (whole / "whole.csv", "--from", bad)
    else:
        asked = (bad, "--plan", whole / "plan.toml")
        if turn % 3 == 1:
            return ("plan", "init", bad, "--out", "new.toml")
        out = f"safe{ending}" if turn % 2 and ending not in {".rds", ".sas7bdat"} else out
    if turn % 3 == 0:
        return ("assess", *asked, "--out", "pack", "--quiet")
    return ("protect", *asked, "--out", out, "--quiet")


def _files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}
