"""The command that audits a released file beside its original."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from maskmeter.cli.files import as_pictures, in_full, out_folder, show_pack, with_matrix
from maskmeter.cli.options import SHOWN, Command, delimited_by, encoded_in, with_options
from maskmeter.cli.terminal import finite, print_table, print_words, progress_bar

_path = click.Path(path_type=Path, readable=False)


def _about_two_files(command: Command) -> Command:
    """Add both files, how their records are paired, and how the original was sampled."""
    return with_options(
        command,
        click.argument("original", type=_path),
        click.argument("released", type=_path),
        click.option(
            "--keys", required=True, help="Columns an intruder may know, such as lad,sex,age."
        ),
        click.option("--id", help="Column of both files in which every record has its own id."),
        click.option("--rows", type=_path, help="The risk_by_record.parquet of the release."),
        click.option(
            "--fraction",
            type=click.FloatRange(0, 1, min_open=True),
            callback=finite,
            help="Sampling fraction: the share of the population in the original.",
        ),
        click.option("--weights", help="Column of survey weights, instead of --fraction."),
        click.option(
            "--population", type=_path, help="File of the whole population; makes the risk exact."
        ),
        click.option("--household", help="Column of household numbers that both files have."),
        click.option(
            "--model",
            type=click.Choice(["shrunk", "score-path", "forward"]),
            default="shrunk",
            help="Model where the population is not known; shrunk if not given.",
        ),
        encoded_in,
        delimited_by,
        click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark of weights."),
    )


@click.command()
@_about_two_files
@out_folder
@as_pictures
@with_matrix
@in_full
@lambda command: with_options(command, *SHOWN)
def audit(
    *,
    original: Path,
    released: Path,
    out: Path,
    charts: Any,
    matrix: bool,
    internal: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Audit RELEASED beside ORIGINAL, whoever protected it.

    Says what was changed, recoded or suppressed in each column, what the file gives away, and the
    risk that is left: of unique records that were not changed, which needs no matrix, and from an
    informed intruder who knows the realised matrices. Records are paired by --id, by --rows, or by
    their order where unchanged columns prove it.

    The output folder gets the same reports as that of assess; both files stay as they are.

    \b
    Examples:
      maskmeter audit a.sav b.sav --keys lad,sex --fraction 0.01 --out audit/
      maskmeter audit a.csv b.csv --keys lad,sex --id pid --weights w --out audit/
    """  # noqa: D301 - click reads \b as "keep these lines"
    import maskmeter
    from maskmeter.evidence.audit_blocks import changes_table, paired_sentence, unchanged_table
    from maskmeter.evidence.settings import Settings
    from maskmeter.files import check_new_folder

    settings = Settings(charts=charts, matrix=matrix)
    for source in (original, released):
        check_new_folder(out, source)
    with progress_bar(quiet=quiet) as progress:
        progress("Auditing", 0, 0)
        found = maskmeter.audit(original, released, **given)
        progress("Writing", 0, 0)
        pack = maskmeter.report(found, out, charts=charts, matrix=matrix)
    if not as_json:
        print_words(paired_sentence(found.figures))
        print_table(changes_table(pack.figures))
        print_table(unchanged_table(pack.figures))
    show_pack(pack, settings, as_json=as_json, internal=internal)
