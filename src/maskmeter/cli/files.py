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
    from maskmeter.evidence.provenance import Compared
    from maskmeter.evidence.settings import Settings
    from maskmeter.perturb import Release
    from maskmeter.plan import Plan

out_folder = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Output folder, new or empty.",
)
as_pictures = click.option(
    "--charts", type=click.Choice(["svg", "png"]), help="Also save every chart as an image."
)

as_format = click.option("--format", "ending", help="Format of the protected file, such as .csv.")
with_matrix = click.option(
    "--matrix", is_flag=True, help="Also write the release's matrices (matrix.csv)."
)
in_full = click.option(
    "--internal", is_flag=True, help="With --json, name categories of few records too."
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
@in_full
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
    internal: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Measure the risk of FILE and write the evidence pack.

    The output folder gets public.html for publication and, if the plan has steps, the protected
    file. Its folder internal is for the agency only: internal.html, assessment.json,
    risk_by_record.parquet and, with steps, provenance.json; keep that one secret. FILE is never
    modified. It may also be a folder or a quoted pattern of files, which are then counted where
    they are.

    \b
    Examples:
      maskmeter assess survey.sav --keys lad,sex,age --fraction 0.01 --out pack/
      maskmeter assess survey.sav --plan plan.toml --out pack/
      maskmeter assess survey.sav --from pack/internal/provenance.json --out b/
      maskmeter assess 'census/*.parquet' --plan plan.toml --out pack/
    """  # noqa: D301 - click reads \b as "keep these lines"
    from maskmeter.evidence.overwrite import protected_name
    from maskmeter.files import check_new_folder
    from maskmeter.workflows import STEPS, run_assess, settings_of

    check_new_folder(out, file)  # before the work
    several = is_at_source(file, given)

    def settings_for(plan: Plan) -> Settings:
        return settings_of(plan.report, charts=charts, ending=ending, matrix=matrix)

    def check(plan: Plan, _seed: int | None) -> None:
        protected_name(file, settings_for(plan).ending, several=several)

    with progress_bar(quiet=quiet) as progress:
        progress(STEPS[0], 0, len(STEPS))
        task, made = asked(file, plan_path, repeated, given, check=check)
        settings = settings_for(task.plan)
        pack = run_assess(task, out.expanduser(), settings, progress=progress, made=made)
    show_pack(pack, settings, as_json=as_json, internal=internal)


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
        release, beside, compared = run_protect(task, out, made=made)
        progress("Checking the release", 0, 0)
        check = run_check(task, release)
    warn(check_seed(release))
    _show_release(release, check, compared, (out, beside), as_json=as_json)


def _show_release(
    release: Release,
    check: CheckFigures | None,
    compared: Compared | None,
    files: tuple[Path, ...],
    *,
    as_json: bool,
) -> None:
    """Print what was changed, what the release check found and where the files are."""
    from maskmeter.evidence.check_blocks import check_words
    from maskmeter.evidence.figures import step_figures
    from maskmeter.evidence.sections import steps_table

    steps, moved, records = step_figures(release), release.changed_records, len(release.released)
    if as_json:
        told = [to_builtins(one) for one in steps]
        figures = {"changed": moved / records, "steps": told, "check": to_builtins(check)}
        figures |= {"compared": compared} if compared else {}
        click.echo(json.dumps({**figures, "files": list(map(str, files))}))
        return
    print_words(
        f"{moved:,} of {counted(records, 'record')} {plural(moved, 'was', 'were')} changed."
    )
    print_table(steps_table(steps))
    print_words(*(str(one) for one in release.rare))
    if check is not None:
        print_words("", *check_words(check), "")
    print_compared(compared)
    print_files(files)


def is_at_source(file: Path, given: dict[str, Any]) -> bool:
    """Return True when the records are not read into memory."""
    from maskmeter.plan import Where

    return Where(given.get("engine")).holds(file)


def print_compared(compared: Compared | None) -> None:
    """Print which hash shows that a release is the one that its provenance records."""
    if compared == "output_hash":
        print_words("The recreated file is the recorded one: it has the recorded output_hash.")
    elif compared is not None:
        what = {"columns_hash": "columns", "keys_hash": "keys"}[compared]
        print_words(
            f"The recreated file has the {what} of the recorded one ({compared}). Its bytes differ, as"
            " they may in another format, in one that notes the time, or with other versions."
        )


def show_pack(pack: Pack, settings: Settings, *, as_json: bool, internal: bool) -> None:
    """Print the figures of a pack and where its files are.

    As JSON they name no category that few records have, unless they are `internal`.
    """
    from maskmeter.evidence.check_blocks import check_words
    from maskmeter.evidence.redaction import withhold_small
    from maskmeter.evidence.schema import encoded
    from maskmeter.evidence.sections import cell_sizes, risk_table
    from maskmeter.riskutility.layers import layer_table

    if as_json:
        told = pack.figures
        if not internal:
            told = withhold_small(told, pack.assessment.tables, settings.smallest_count)
        click.echo(encoded(told).decode(), nl=False)
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
    print_compared(pack.compared)
    print_files(pack.files)
    reports = [path for path in pack.files if path.suffix == ".html"]
    print_words("", f"Open {reports[0]} in a browser; it works offline.")
