"""The demonstration: a complete example on the synthetic census, from a file to its evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from maskmeter.checks import Progress
from maskmeter.data.table import KeyTable, count
from maskmeter.evidence import Pack
from maskmeter.evidence.scenario import approximations
from maskmeter.files import whole_folder
from maskmeter.perturb import Release
from maskmeter.plan import read_plan, read_task
from maskmeter.risk import Risk
from maskmeter.risk.intruder import INFORMED
from maskmeter.risk.view import View
from maskmeter.riskutility import FoundRelease
from maskmeter.streams import RandomSource, seed_of
from maskmeter.studies.census import PAPER_SIZE, bernoulli_sample, synthetic_census
from maskmeter.workflows import run_find, settings_of

FRACTION = 0.01
SURVEY, PLAN, EVIDENCE = "survey.csv", "plan.toml", "evidence"
SUMS = "demo.sha256"  # what the demonstration wrote, so that the next one replaces nothing else
STEPS = (
    "Building the census",
    "Drawing the sample",
    "Comparing candidates",
    "Measuring the risk",
    "Writing",
    "Comparing with the census",
)

_TITLE = "# The plan of the demonstration:"
_HEAD = f"""\
{_TITLE} a 1 % sample of a synthetic census and eleven ways to protect it.
# maskmeter find chooses the one with the least information loss among those that meet the target:
# at most 6 % of the unique records matched correctly by an intruder who knows the method.

[data]
keys = ["lad", "sex", "age", "marital", "ethnicity", "activity"]
fraction = 0.01

[loss]
tables = [["lad", "ethnicity"], ["lad", "activity"]]

[target]
max_share = 0.06
intruder = "informed"
by = "upper"

[release]
shuffle = true

[report]
title = "Disclosure risk of the demonstration survey"
"""

_AIMED = '{{by = "ethnicity", values = {{"White British" = {most}}}, otherwise = {rest}}}'


def _candidate(label: str, method: str, entry: str) -> str:
    return f"""
[[candidate]]
label = "{label}"
[[candidate.step]]
method = "{method}"
key = "lad"
{entry}
"""


def plan_text() -> str:
    """Return the plan: swapping and PRAM of the district, random and targeted, and redraws of it."""
    parts = [_HEAD]
    for percent, most, rest in ((10, 0.0, 0.8), (20, 0.07, 1.0)):
        share = percent / 100
        stays = _AIMED.format(most=round(1 - most, 2), rest=round(1 - rest, 2))
        parts += [
            _candidate(f"random swap {percent}%", "swap", f"rate = {share}"),
            _candidate(f"random PRAM {percent}%", "pram", f"stay = {1 - share}"),
            _candidate(
                f"targeted swap {percent}%", "swap", f"rate = {_AIMED.format(most=most, rest=rest)}"
            ),
            _candidate(f"targeted PRAM {percent}%", "pram", f"stay = {stays}"),
        ]
    parts += [
        _candidate(f"redraw < {bound}", "redraw", f"rarer_than = {bound}")
        for bound in (50, 120, 300)
    ]
    return "".join(parts)


@dataclass(frozen=True)
class Demo:
    """What the demonstration did; `measures` are (equation, meaning, risk) of the chosen release."""

    folder: Path
    population: KeyTable
    found: FoundRelease
    pack: Pack
    measures: tuple[tuple[str, str, Risk], ...]


def run_demo(
    folder: str | Path,
    *,
    size: int = PAPER_SIZE,
    rng: RandomSource = 2010,
    progress: Progress = lambda *_: None,
) -> Demo:
    """Return a complete example: a sample and a plan written to a folder, and their evidence.

    The folder must be new or empty, or that of a demonstration, which is replaced. The risks are estimated from the sample alone; at the end they are compared with the exact risks
    from the census. `progress` is called with each of STEPS as it begins.

    >>> import tempfile
    >>> story = run_demo(tempfile.mkdtemp(), size=20_000)
    >>> [equation for equation, _, _ in story.measures]
    ['tau*', 'estimate', 'informed', '(2.8)', '(2.5)', '(2.6)', '(2.7)', '(2.9)']
    """
    seed, out = seed_of(rng), Path(folder).expanduser()
    with whole_folder(out, is_ours=is_demo) as new:
        progress(STEPS[0], 0, len(STEPS))
        census = synthetic_census(size=size)
        progress(STEPS[1], 1, len(STEPS))
        bernoulli_sample(census, fraction=FRACTION, rng=seed).write_csv(new / SURVEY)
        (new / PLAN).write_text(plan_text(), encoding="utf-8")
        task = read_task(read_plan(new / PLAN), new / SURVEY)
        settings = replace(settings_of(task.plan.report), invented=True)
        found, pack = run_find(task, new / EVIDENCE, settings, seed=seed, progress=progress)
        files = tuple(out / path.relative_to(new) for path in pack.files)
        progress(STEPS[-1], len(STEPS) - 1, len(STEPS))
        population = count(census, keys=census.columns)
        measures = _measures(found.release, population, found.risk)
        (new / SUMS).write_text(_sums(new), encoding="utf-8")
    pack = replace(pack, folder=out / EVIDENCE, files=files)
    return Demo(out, population, found, pack, measures)


def is_demo(folder: Path) -> bool:
    """Return whether a folder holds a demonstration, and nothing that it did not write."""
    try:
        noted = (folder / SUMS).read_text(encoding="utf-8")
        begun = (folder / PLAN).read_text(encoding="utf-8").startswith(_TITLE)
        return begun and noted == _sums(folder)
    except (OSError, UnicodeDecodeError):
        return False


def _sums(folder: Path) -> str:
    """Return the hash and the name of each file in a folder, as sha256sum writes and checks them."""
    listed = sorted(path for path in folder.rglob("*") if path != folder / SUMS)
    return "".join(
        f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n"
        for path in listed
        if not path.is_dir()
    )


def _measures(
    release: Release, population: KeyTable, estimate: Risk
) -> tuple[tuple[str, str, Risk], ...]:
    view = View.of(release, counts=population)
    return (
        ("tau*", "exact, before protection", view.before().risk()),
        ("estimate", "informed, from the sample alone", estimate),
        ("informed", "exact, informed intruder", view.risk(intruder=INFORMED)),
        ("(2.8)", "tau, exact matching", view.risk()),
        *approximations(view),
    )
