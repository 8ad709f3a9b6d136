"""What a fresh install must do on any system: `python tests/smoke.py`. It needs maskmeter alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory

import maskmeter as mm

COMMAND = shutil.which("maskmeter", path=sysconfig.get_path("scripts")) or "maskmeter"
PLAN = """
[data]
keys = ["lad", "sex", "age"]
fraction = 0.01

[[step]]
method = "swap"
key = "lad"
rate = 0.2
"""
ENDINGS = (".parquet", ".arrow", ".sav", ".dta", ".xlsx")


def run(*arguments: object, code: int = 0) -> None:
    """Run the command as installed, which must end with a code and without a traceback."""
    done = subprocess.run(  # noqa: S603 - our own command
        [COMMAND, *map(str, arguments)], capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    said = (done.stdout + done.stderr).decode(errors="replace")
    assert done.returncode == code, f"{arguments} ended with {done.returncode}:\n{said}"
    assert "Traceback" not in said, said
    print("did", *arguments[:2], flush=True)  # noqa: T201 - so that it is not silent


def protect(survey: Path, folder: Path) -> None:
    """Protect a file in every format, and again from its provenance."""
    plan = folder / "plan.toml"
    plan.write_text(PLAN, encoding="utf-8")
    run("protect", survey, "--plan", plan, "--out", folder / "safe.csv")
    made = folder / "safe.csv.provenance.json"
    run("protect", survey, "--from", made, "--out", folder / "again.csv")
    assert (folder / "safe.csv").read_bytes() == (folder / "again.csv").read_bytes()
    sample = mm.read(survey, keys=["lad", "sex", "age"], fraction=0.01)
    release = mm.Swap("lad", rate=0.2).apply(sample)
    for ending in ENDINGS:
        for _ in range(2):  # the second takes the place of the first
            release.write(folder / f"safe{ending}")
        again = mm.read(folder / f"safe{ending}", keys=["lad", "sex", "age"], fraction=0.01)
        assert len(again) == len(sample), ending
        print("wrote and read", ending, flush=True)  # noqa: T201 - the same


def main() -> None:
    """Go through what a new user does."""
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        os.chdir(folder)
        run("--version")
        run("demo", "--scale", "0.02", "--out", folder / "story")
        survey = folder / "story" / "survey.csv"
        assert (folder / "story" / "evidence" / "internal" / "internal.html").stat().st_size > 0
        run("plan", "init", survey, "--out", folder / "started.toml")
        keys = ("--keys", "lad,sex,age", "--fraction", "0.01")
        run("assess", survey, *keys, "--charts", "png", "--out", folder / "evidence")
        protect(survey, folder)
        run("assess", folder / "nowhere.csv", *keys, "--out", folder / "none", code=1)
        run("assess", survey, "--seed", "1", "--out", folder / "none", code=2)
        os.chdir(Path(__file__).parent)  # a folder in use is not removed everywhere
    print(f"maskmeter {mm.__version__} works with Python {sys.version.split()[0]}")  # noqa: T201 - the same


if __name__ == "__main__":
    main()
