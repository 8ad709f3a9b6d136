"""Commands that help to choose a release: compare candidates, or find the best of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maskmeter.cli.files import as_format, as_pictures, in_full, out_folder, show_pack, with_matrix
from maskmeter.cli.options import (
    about_a_file,
    task_of,
    that_draws,
    that_keeps_its_seed,
    with_a_plan,
)
from maskmeter.cli.terminal import print_files, print_table, print_words, progress_bar, warn_of

if TYPE_CHECKING:  # --help must not wait for what commands need
    from maskmeter.evidence.settings import Settings
    from maskmeter.plan import Plan


@click.command()
@about_a_file
@with_a_plan(required=True)
@out_folder
@as_pictures
@that_draws
def compare(
    *,
    file: Path,
    plan_path: Path,
    out: Path,
    charts: str | None,
    seed: int | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Compare the plan's candidates on a risk-utility map.

    Writes comparison.html and comparison.json, both for the agency only, to the folder internal in
    the output folder. With several scenarios, each release is shown at its worst scenario.

    \b
    Example:
      maskmeter compare survey.sav --plan plan.toml --out comparison/
    """  # noqa: D301 - click reads \b as "keep these lines"
    from maskmeter.evidence.drawings import option_frame
    from maskmeter.evidence.schema import encoded
    from maskmeter.files import check_new_folder
    from maskmeter.riskutility.layers import layer_table
    from maskmeter.riskutility.riskmap import map_table
    from maskmeter.workflows import STEPS, run_compare, settings_of

    check_new_folder(out, file)  # before the work
    with progress_bar(quiet=quiet) as progress:
        progress(STEPS[0], 0, len(STEPS))
        task = task_of(file, plan_path, given)
        settings = settings_of(task.plan.report, charts=charts)
        known, files = run_compare(task, out.expanduser(), settings, seed=seed, progress=progress)
    if as_json:
        click.echo(encoded(known).decode(), nl=False)
        return
    print_words(known.map.headline, "")
    frame, intruder = option_frame(known.map), known.map.intruder
    print_table(map_table(frame, measure=known.map.measure, intruder=intruder))
    if known.map.layers:
        print_table(layer_table(known.map.layers))
    warn_of(known.map.cautions)
    print_files(files)


@click.command()
@about_a_file
@with_a_plan(required=True)
@out_folder
@as_pictures
@as_format
@with_matrix
@in_full
@that_keeps_its_seed
def find(
    *,
    file: Path,
    plan_path: Path,
    out: Path,
    charts: str | None,
    ending: str | None,
    matrix: bool,
    internal: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Find the release that meets the target with the least loss.

    The plan needs a [target]. It may have [[candidate]]s to choose from, or a [family], whose rates
    are searched; with neither, a key is redrawn where few people share the others. Every scenario
    must meet the target against an intruder who knows the method, by the upper end of the interval
    if the risk is estimated, unless the plan says otherwise. A release with a loss over 50, or with
    more than half of the records changed in a key, is not useful and is never chosen.

    Writes the evidence pack of the chosen release. If no useful release meets the target, it writes
    that of the nearest one, and the verdict says so.

    \b
    Example:
      maskmeter find survey.sav --plan plan.toml --out evidence/
    """  # noqa: D301 - click reads \b as "keep these lines"
    from maskmeter.files import check_new_folder
    from maskmeter.workflows import STEPS, run_find, settings_of

    check_new_folder(out, file)  # before the work

    def settings_for(plan: Plan, _seed: int | None = None) -> Settings:
        return settings_of(plan.report, charts=charts, ending=ending, matrix=matrix)

    with progress_bar(quiet=quiet) as progress:
        progress(STEPS[0], 0, len(STEPS))
        task = task_of(file, plan_path, given, check=settings_for)
        settings = settings_for(task.plan)
        _, pack = run_find(task, out.expanduser(), settings, progress=progress)
    if not as_json:
        if pack.figures.choice and pack.figures.assessable:  # else the verdict says it
            print_words(pack.figures.choice, "")
        warn_of([] if pack.figures.map is None else pack.figures.map.cautions)
    show_pack(pack, settings, as_json=as_json, internal=internal)
