"""Commands that make evidence about one file, or its protected copy."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins

from maskmeter.cli.options import (
    about_a_file,
    asked,
    at_a_source,
    repeatable,
    that_keeps_its_seed,
    with_a_plan,
)
from maskmeter.cli.terminal import print_files, print_table, print_words, progress_bar, warn_of
from maskmeter.errors import FormatWarning, warn
from maskmeter.plurals import counted, plural

if TYPE_CHECKING:  # --help must not wait for what commands need
    from maskmeter.evidence import Pack
    from maskmeter.evidence.check_figures import CheckFigures
    from maskmeter.perturb import Release
    from maskmeter.plan import Plan

out_folder = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Output folder (created if missing).",
)
as_pictures = click.option(
    "--charts", type=click.Choice(["svg", "png"]), help="Also save every chart as an image."
)

as_format = click.option("--format", "ending", help="Format of the protected file, such as .csv.")
with_matrix = click.option(
    "--matrix", is_flag=True, help="Also write the release's matrices (matrix.csv)."
)


@click.command()
@about_a_file
@at_a_source
@with_a_plan(required=False)
@repeatable
@out_folder
@as_pictures
@as_format
@with_matrix
@that_keeps_its_seed
def assess(
    *,
    file: Path,
    plan_path: Path | None,
    repeated: Path | None,
    out: Path,
    charts: str | None,
    ending: str | None,
    matrix: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Measure the risk of FILE and write the evidence pack.

    The output folder gets public.html for publication and, for the agency only, internal.html,
    assessment.json and risk_by_record.parquet. If the plan has steps, it also gets the protected
    file and provenance.json; keep provenance.json secret. FILE is never modified. It may also be a
    folder or a quoted pattern of files, which are then counted where they are.

    \b
    Examples:
      maskmeter assess survey.sav --keys lad,sex,age --fraction 0.01 --out pack/
      maskmeter assess survey.sav --plan plan.toml --out pack/
      maskmeter assess survey.sav --from pack/provenance.json --out again/
      maskmeter assess 'census/*.parquet' --plan plan.toml --out pack/
    """  # noqa: D301 - click reads \b as "keep these lines"
    from maskmeter.evidence.overwrite import check_pack
    from maskmeter.files import check_folder
    from maskmeter.workflows import STEPS, run_assess, settings_of

    folder = check_folder(out)  # before the work
    several = is_at_source(file, given)

    def check(plan: Plan, seed: int | None) -> None:
        wanted = settings_of(plan.report, charts=charts, ending=ending, matrix=matrix)
        files = ("protected", "provenance") if plan.step else ()
        check_pack(folder, file, wanted, release=files, seed=seed, several=several)

    with progress_bar(quiet=quiet) as progress:
        progress(STEPS[0], 0, len(STEPS))
        task, made = asked(file, plan_path, repeated, given, check=check)
        settings = settings_of(task.plan.report, charts=charts, ending=ending, matrix=matrix)
        pack = run_assess(task, folder, settings, progress=progress, made=made)
    show_pack(pack, as_json=as_json)


@click.command()
@about_a_file
@at_a_source
@with_a_plan(required=False)
@repeatable
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="The protected file; its ending sets the format. For several files, a new folder.",
)
@that_keeps_its_seed
def protect(
    *,
    file: Path,
    plan_path: Path | None,
    repeated: Path | None,
    out: Path,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Apply the steps of a plan to FILE; nothing else changes.

    Writes the protected file to OUT, and the seed, hashes, versions and steps to
    OUT.provenance.json. Keep that file, and keep it secret: --from recreates OUT from it. FILE may
    also be a folder or a quoted pattern of files: OUT is then a new folder of Parquet files.

    \b
    Examples:
      maskmeter protect survey.sav --plan plan.toml --out safe.sav
      maskmeter protect survey.sav --from safe.sav.provenance.json --out b.sav
      maskmeter protect 'census/*.parquet' --plan p.toml --id pid --out safe/
    """  # noqa: D301 - click reads \b as "keep these lines"
    from maskmeter.evidence.overwrite import check_file
    from maskmeter.evidence.pack import check_seed
    from maskmeter.workflows import STEPS, run_check, run_protect

    if (plan_path is None) == (repeated is None):
        raise click.UsageError("Give either --plan, or --from to recreate a release.")
    several = is_at_source(file, given)
    with progress_bar(quiet=quiet) as progress:
        progress(STEPS[0], 0, len(STEPS))
        task, made = asked(
            file,
            plan_path,
            repeated,
            given,
            check=lambda _, seed: check_file(out, file, seed=seed, several=several),
            only_protect=True,
        )
        progress(STEPS[1], 1, len(STEPS))
        release, beside = run_protect(task, out, made=made)
        progress("Checking the release", 0, 0)
        check = run_check(task, release)
    warn(check_seed(release))
    _show_release(release, check, (out, beside), as_json=as_json)


def _show_release(
    release: Release, check: CheckFigures | None, files: tuple[Path, ...], *, as_json: bool
) -> None:
    """Print what was changed, what the release check found and where the files are."""
    from maskmeter.evidence.check_blocks import check_words
    from maskmeter.evidence.figures import step_figures
    from maskmeter.evidence.sections import steps_table

    steps, moved, records = step_figures(release), release.changed_records, len(release.released)
    if as_json:
        told = [to_builtins(one) for one in steps]
        figures = {"changed": moved / records, "steps": told, "check": to_builtins(check)}
        click.echo(json.dumps({**figures, "files": list(map(str, files))}))
        return
    print_words(
        f"{moved:,} of {counted(records, 'record')} {plural(moved, 'was', 'were')} changed."
    )
    print_table(steps_table(steps))
    print_words(*(str(one) for one in release.rare))
    if check is not None:
        print_words("", *check_words(check), "")
    print_files(files)


def is_at_source(file: Path, given: dict[str, Any]) -> bool:
    """Return True when the records are not read into memory."""
    from maskmeter.plan import Where

    return Where(given.get("engine")).holds(file)


def show_pack(pack: Pack, *, as_json: bool) -> None:
    """Print the figures of a pack and where its files are."""
    from maskmeter.evidence.check_blocks import check_words
    from maskmeter.evidence.schema import encoded
    from maskmeter.evidence.sections import cell_sizes, risk_table
    from maskmeter.riskutility.layers import layer_table

    if as_json:
        click.echo(encoded(pack.figures).decode(), nl=False)
        return
    print_words(pack.summary(), "")
    print_table(risk_table(pack.figures))
    if pack.figures.layers:
        print_table(layer_table(pack.figures.layers))
    print_table(cell_sizes(pack.figures))
    if pack.figures.check is not None:
        print_words("", *check_words(pack.figures.check), "")
    warn_of((*pack.figures.cautions, *pack.figures.worst.cautions))
    for lost in pack.lost:
        warnings.warn(lost, FormatWarning, stacklevel=2)
    print_files(pack.files)
    reports = [path for path in pack.files if path.suffix == ".html"]
    print_words("", f"Open {reports[0]} in a browser; it works offline.")
