"""The four jobs of a plan: assess a file, protect it, compare candidates, find the best of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from maskmeter.checks import Progress
from maskmeter.data.engines.files import files_of, names_several
from maskmeter.data.source import files_hash
from maskmeter.errors import PlanError, without_warnings
from maskmeter.evidence.assessment import Assessment, assessment_of, checked_release
from maskmeter.evidence.check_figures import CheckFigures, check_figures
from maskmeter.evidence.figures import comparison_figures
from maskmeter.evidence.overwrite import beside, check_file
from maskmeter.evidence.pack import (
    AGENCY_ONLY,
    Pack,
    internal_folder,
    make_private,
    write_charts,
    write_pack,
    write_page,
    write_private,
)
from maskmeter.evidence.provenance import (
    Compared,
    ProvenanceFile,
    check_repeated,
    compare_output,
    provenance_of,
)
from maskmeter.evidence.schema import Comparison, encoded
from maskmeter.evidence.sections import comparison_sections
from maskmeter.evidence.settings import Settings
from maskmeter.evidence.wording import frontier_ends
from maskmeter.files import unfinished, whole_folder
from maskmeter.page import Top
from maskmeter.perturb import Release, protect
from maskmeter.perturb.entries import matrix_of
from maskmeter.perturb.step import Step
from maskmeter.plan import Plan, Task
from maskmeter.plan.job import OWN_STEPS
from maskmeter.plan.schema import ErrorPlan, ReleasePlan, ReportPlan
from maskmeter.risk.intruder import INFORMED
from maskmeter.riskutility import FoundRelease, RiskUtilityMap
from maskmeter.riskutility.assessor import Assessor, Steps, altered_keys, carried_columns
from maskmeter.riskutility.comparison import candidate_map
from maskmeter.riskutility.riskmap import UNCHANGED
from maskmeter.riskutility.search import found_release
from maskmeter.streams import seed_of

STEPS = (
    "Reading the file",
    "Protecting the file",
    "Comparing candidates",
    "Measuring the risk",
    "Writing",
)


def settings_of(
    plan: ReportPlan, *, charts: Any = None, ending: str | None = None, matrix: bool = False
) -> Settings:
    """Return how a plan wants its pack written; options of the command come on top."""
    return Settings(
        plan.title,
        plan.audience,
        plan.smallest_count,
        plan.rates,
        charts,
        matrix or plan.matrix,
        ending,
    )


def run_assess(
    task: Task,
    folder: Path,
    settings: Settings,
    *,
    progress: Progress,
    made: ProvenanceFile | None = None,
) -> Pack:
    """Return the pack of a file under its plan: protected if the plan has steps."""
    if settings.matrix and not task.steps:
        raise PlanError("The plan has no [[step]], so there is no matrix to write: add a step.")
    seed = _seed(made)
    progress(STEPS[1], 1, len(STEPS))
    found = assess_task(task, _protected(task, seed, made), seed=seed, progress=progress)
    progress(STEPS[4], 4, len(STEPS))
    return write_pack(found, folder, settings, plan=written_out(task), made=made)


def assess_task(task: Task, release: Release, *, seed: int, progress: Progress) -> Assessment:
    """Return the assessment of a plan's release, beside the map of its candidates if it has any."""
    options = None
    if task.candidates:
        task.sample.check_held("Comparing candidates")
        progress(STEPS[2], 2, len(STEPS))
        own = {OWN_STEPS: release} if task.steps else {}
        options = _compared(task, own, seed, progress)
    found = _assessed(task, release, progress, options)
    return replace(found, options=options, chosen=OWN_STEPS if options and task.steps else "")


def _protected(task: Task, seed: int, made: ProvenanceFile | None) -> Release:
    """Return the release of a plan, or the file as it is; a repeated one must agree."""
    release = task.released(seed=seed)
    if made is not None:
        check_repeated(release, made)
    return release


def run_protect(
    task: Task, path: Path, *, made: ProvenanceFile | None = None
) -> tuple[Release, Path, Compared | None]:
    """Return the release of a file, written with its provenance beside it.

    The provenance is in place first, so that no release is without one. Of a release that is made
    again, return too which hash shows it to be the recorded one.
    """
    if not task.steps and not task.finish:
        raise PlanError("The plan has no [[step]]: add one to protect the file.")
    source, seed = task.sample.path, _seed(made)
    several = task.sample.at_source is not None
    target = check_file(path, source, seed=seed, several=several)
    release = _protected(task, seed, made)
    with unfinished(target, beside(target)) as folder:
        release.write(folder / target.name)
        known = provenance_of(
            release, plan=written_out(task), source=source, output=folder / target.name
        )
        compared = None if made is None else compare_output(known, made)
        write_private(folder / beside(target).name, encoded(known))
        check_file(path, source, seed=seed, several=several)  # another run may have been faster
    return release, beside(path.with_name(target.name)), compared


def run_check(task: Task, release: Release) -> CheckFigures | None:
    """Return what the release check finds; None where the records stay in an engine."""
    found = checked_release(release, household=task.plan.data.household, **task.check_options)
    return None if found is None else check_figures(found)


def run_compare(
    task: Task, folder: Path, settings: Settings, *, seed: int | None, progress: Progress
) -> tuple[Comparison, tuple[Path, ...]]:
    """Return the figures of a plan's candidates, and the files that show them."""
    if not task.candidates:
        raise PlanError("The plan has no [[candidate]]: add some to compare.")
    task.sample.check_held("Comparing candidates")
    progress(STEPS[2], 2, len(STEPS))
    seed = seed_of(seed)
    with without_warnings():  # the map keeps what they say
        own = {OWN_STEPS: protect(task.sample, task.steps, rng=seed)} if task.steps else {}
    options = _compared(task, own, seed, progress)
    progress(STEPS[4], 4, len(STEPS))
    known = comparison_figures(options, task.sample, task.scenarios or {}, task.target)
    listed = comparison_sections(known)
    with whole_folder(folder) as new:
        inside = internal_folder(new)
        title = settings.title or "Risk and information loss of the candidates"
        page = inside / "comparison.html"
        first = Top(known.map.headline, under=frontier_ends(known.map))
        write_page(page, title, first, listed, AGENCY_ONLY)
        write_private(inside / "comparison.json", encoded(known))
        if settings.charts is not None:
            write_charts(listed, inside, settings.charts)
        make_private(page)
        names = [path.relative_to(new) for path in sorted(new.rglob("*.*"))]
    return known, tuple(folder / name for name in names)


def run_find(
    task: Task, folder: Path, settings: Settings, *, progress: Progress, seed: int | None = None
) -> tuple[FoundRelease, Pack]:
    """Return the release with the least loss that meets the plan's target, and its pack."""
    drawn = seed_of(seed)
    found = search_task(task, seed=drawn, progress=progress)
    release = task.finished(found.release, seed=drawn)
    chosen = replace(
        _assessed(task, release, progress, found.tried),
        options=found.tried,
        chosen=found.label,
        choice=found.summary().split("\n")[0],
    )
    progress(STEPS[4], 4, len(STEPS))
    steps = () if found.release.provenance is None else found.release.provenance.steps
    return found, write_pack(chosen, folder, settings, plan=written_out(task, steps))


def search_task(task: Task, *, seed: int, progress: Progress) -> FoundRelease:
    """Return the release with the least loss that meets the plan's target, and all that were tried."""
    task.sample.check_held("Finding a release")
    target, family = task.target, task.family
    candidates = {**({OWN_STEPS: task.steps} if task.steps else {}), **task.candidates}
    if target is None:
        raise PlanError("The plan has no [target]: give max_share, max_total or max_record there.")
    if family is not None and task.steps:
        raise PlanError(
            "The plan has both a [family] and [[step]]s, which a search would leave out: move them to"
            " [[family.first]], or remove one of them."
        )
    if family is not None and task.candidates:
        raise PlanError("The plan has both a [family] and [[candidate]]s: remove one of them.")
    progress(STEPS[2], 2, len(STEPS))
    changed = family.altered_keys if family else altered_keys(task.sample, candidates.values())
    return found_release(
        assessor_of(task, changed, candidates.values()),
        target,
        family=family,
        candidates=candidates or None,
        seed=seed,
        progress=progress,
    )


def written_out(task: Task, steps: Sequence[Step] | None = None) -> Plan:
    """Return a plan that stands alone: its matrices written out, its paths whole."""
    plan, folder = task.plan, task.file.folder
    population = plan.data.population
    earlier = [str((folder / path).resolve()) for path in plan.check.earlier]
    data = msgspec.structs.replace(
        plan.data,
        population=None if population is None else str((folder / population).resolve()),
    )
    errors = []
    for one in plan.error:
        matrix = matrix_of(one.matrix, one.categories, folder)
        names: list[str | float | list[str]] | None = None
        if matrix.categories is not None:
            names = [str(name) for name in matrix.categories]
        errors.append(ErrorPlan(one.key, matrix.P.tolist(), names))
    return msgspec.structs.replace(
        plan,
        data=data,
        error=errors,
        check=plan.check if not earlier else msgspec.structs.replace(plan.check, earlier=earlier),
        step=[step.to_plan() for step in (task.steps if steps is None else steps)],
        candidate=[
            msgspec.structs.replace(
                one, step=[step.to_plan() for step in task.candidates[one.label]]
            )
            for one in plan.candidate
        ],
    )


def check_same_file(file: Path, made: ProvenanceFile) -> None:
    """Refuse to repeat a release with another file than the one it was made from."""
    there = names_several(file) or file.exists()
    if there and files_hash(files_of(file)) != made.input_hash:
        raise PlanError(
            "The release was made from another file: the hash of this file differs from the one in"
            " the provenance."
        )
    if msgspec.json.encode(made.steps) != msgspec.json.encode(made.plan.step):
        raise PlanError("The provenance was edited: its steps differ from those of its plan.")
    if not made.steps and made.plan.release == ReleasePlan():
        raise PlanError("The provenance was edited: it records no step.")


def _seed(made: ProvenanceFile | None) -> int:
    """Return the seed of a release that is made again, or one that the system draws."""
    return seed_of(None if made is None else int(made.seed))


def _assessed(
    task: Task, release: Release, progress: Progress, options: RiskUtilityMap | None
) -> Assessment:
    """Return the assessment of a release, its loss measured on the tables of its map if it has one."""
    progress(STEPS[3], 3, len(STEPS))
    return assessment_of(
        {name: view.with_release(release) for name, view in task.views.items()},
        loss=task.tables if options is None else options.tables,
        measure=task.plan.loss.measure,
        target=task.target,
        household=task.plan.data.household,
        households=task.households,
        **task.check_options,
        progress=progress,
    )


def assessor_of(
    task: Task, changed: Sequence[str], candidates: Iterable[Steps | Release]
) -> Assessor:
    """Return what measures the candidates of a plan; `changed` are the keys that some of them alter."""
    return Assessor.of(
        task.sample,
        task.views,
        changed,
        loss=task.tables,
        measure=task.plan.loss.measure,
        carried=carried_columns(candidates) | set(task.plan.release.drop),
    )


def _compared(
    task: Task, releases: dict[str, Release], seed: int, progress: Progress
) -> RiskUtilityMap:
    """Return the map of the candidates beside some releases and the file as it is."""
    candidates = {UNCHANGED: None, **releases, **task.candidates}
    every: list[Steps | Release] = [*releases.values(), *task.candidates.values()]
    changed = altered_keys(task.sample, every)
    target = task.target
    return candidate_map(
        assessor_of(task, changed, every),
        candidates,
        [seed],
        intruder=INFORMED if target is None else target.intruder,
        target=target,
        progress=progress,
    )
