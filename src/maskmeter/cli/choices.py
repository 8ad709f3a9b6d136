"""Commands that help to choose a release: compare candidates, or find the best of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from maskmeter.cli.files import as_format, as_pictures, out_folder, show_pack
from maskmeter.cli.options import (
    about_a_file,
    task_of,
    that_draws,
    that_keeps_its_seed,
    with_a_plan,
)
from maskmeter.cli.terminal import print_files, print_table, print_words, progress
from maskmeter.errors import warn
from maskmeter.plan import Plan
from maskmeter.riskutility import RiskUtilityMap


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

    Writes comparison.html and comparison.json. With several scenarios, each release is shown at
    its worst scenario.

    \b
    Example:
      maskmeter compare survey.sav --plan plan.toml --out comparison/
    """  # noqa: D301 - click reads \b as "keep these lines"
    from maskmeter.files import check_folder
    from maskmeter.workflows import STEPS, run_compare, settings_of

    folder = check_folder(out, "comparison.html", "comparison.json")
    with progress(STEPS, quiet=quiet) as announce:
        announce(STEPS[0])
        task = task_of(file, plan_path, given)
        settings = settings_of(task.plan.report, charts=charts)
        options, files = run_compare(task, folder, settings, seed=seed, announce=announce)
    if as_json:
        click.echo((folder / "comparison.json").read_text(encoding="utf-8"), nl=False)
        return
    print_words(options.headline, "")
    print_options(options)
    warn(options.cautions)
    print_files(files)


@click.command()
@about_a_file
@with_a_plan(required=True)
@out_folder
@as_pictures
@as_format
@that_keeps_its_seed
def find(
    *,
    file: Path,
    plan_path: Path,
    out: Path,
    charts: str | None,
    ending: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Find the release that meets the target with the least loss.

    The plan needs a [target], and either a [family], whose rates are searched, or [[candidate]]s to
    choose from. Every scenario must meet the target: by the upper end of the interval if the risk is
    estimated, or by the estimate if the plan says so. A release with a loss over 50, or with more
    than half of the records changed in a key, is not useful and is never chosen.

    Writes the evidence pack of the chosen release. If no useful release meets the target, it writes
    that of the nearest one, and the verdict says so.

    \b
    Example:
      maskmeter find survey.sav --plan plan.toml --out evidence/
    """  # noqa: D301 - click reads \b as "keep these lines"
    from maskmeter.evidence.overwrite import check_pack
    from maskmeter.files import check_folder
    from maskmeter.workflows import STEPS, run_find, settings_of

    folder = check_folder(out)

    def check(plan: Plan, seed: int | None) -> None:
        wanted = settings_of(plan.report, charts=charts, ending=ending)
        check_pack(folder, file, wanted, seed=seed)

    with progress(STEPS, quiet=quiet) as announce:
        announce(STEPS[0])
        task = task_of(file, plan_path, given, check)
        settings = settings_of(task.plan.report, charts=charts, ending=ending)
        found, pack = run_find(task, folder, settings, announce=announce)
    if not as_json:
        if pack.assessment.assessable:  # else the verdict says it
            print_words(found.summary().split("\n")[0], "")
        warn(found.tried.cautions)
    show_pack(pack, as_json=as_json)


def print_options(options: RiskUtilityMap) -> None:
    """Print the releases of a map and mark those on the frontier."""
    rows = [
        (
            point.label,
            f"{point.risk:,.1f}",
            f"{point.upper:,.1f}",
            f"{point.share:.1%}",
            f"{point.loss:.2f}",
            f"{point.changed:.1%}",
            "yes" if point.label in options.frontier else "",
        )
        for point in options.points
    ]
    head = ("release", "matches", "upper end", "share", "loss", "changed", "frontier")
    print_table("Risk and information loss", head, rows)
