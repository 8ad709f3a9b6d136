"""The demonstration: a complete example on the synthetic census, from a file to its evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from maskmeter.checks import Progress
from maskmeter.data.table import KeyTable, count
from maskmeter.errors import FileError
from maskmeter.evidence import Pack
from maskmeter.evidence.overwrite import check_pack
from maskmeter.evidence.scenario import approximations
from maskmeter.evidence.settings import Settings
from maskmeter.files import check_folder, whole
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
STEPS = (
    "Building the census",
    "Drawing the sample",
    "Comparing candidates",
    "Measuring the risk",
    "Writing",
    "Comparing with the census",
)

_HEAD = """\
# The plan of the demonstration: a 1 % sample of a synthetic census and eleven ways to protect it.
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

    The risks are estimated from the sample alone; at the end they are compared with the exact risks
    from the census. `progress` is called with each of STEPS as it begins.

    >>> import tempfile
    >>> story = run_demo(tempfile.mkdtemp(), size=20_000)
    >>> [equation for equation, _, _ in story.measures]
    ['tau*', 'estimate', 'informed', '(2.8)', '(2.5)', '(2.6)', '(2.7)', '(2.9)']
    """
    seed, out = seed_of(rng), check_folder(folder, SURVEY, PLAN)
    _check_own(out, seed)
    progress(STEPS[0], 0, len(STEPS))
    census = synthetic_census(size=size)
    progress(STEPS[1], 1, len(STEPS))
    out.mkdir(parents=True, exist_ok=True)
    with whole(out / SURVEY) as unfinished:
        bernoulli_sample(census, fraction=FRACTION, rng=seed).write_csv(unfinished)
        there = out / SURVEY
        if there.exists() and there.read_bytes() != unfinished.read_bytes():
            raise _of_another(out, SURVEY)
    with whole(out / PLAN) as unfinished:
        unfinished.write_text(plan_text(), encoding="utf-8")
    task = read_task(read_plan(out / PLAN), out / SURVEY)
    settings = replace(settings_of(task.plan.report), invented=True)
    found, pack = run_find(task, out / EVIDENCE, settings, seed=seed, progress=progress)
    progress(STEPS[-1], len(STEPS) - 1, len(STEPS))
    population = count(census, keys=census.columns)
    return Demo(out, population, found, pack, _measures(found.release, population, found.risk))


def _check_own(out: Path, seed: int) -> None:
    """Refuse a folder with a survey, a plan or a pack that this demonstration did not write."""
    plan, survey = out / PLAN, out / SURVEY
    if plan.exists() and plan.read_bytes() != plan_text().encode():
        raise _of_another(out, PLAN)
    if survey.exists() and not plan.exists():
        raise _of_another(out, SURVEY)
    check_pack(out / EVIDENCE, survey, Settings(), seed=seed)


def _of_another(out: Path, name: str) -> FileError:
    return FileError(
        f"{str(out)!r} holds a {name} that this demonstration did not write. Remove it, or choose"
        " another folder."
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
