"""Commands about plan files."""

from __future__ import annotations

import json
from pathlib import Path

import click

from maskmeter.cli.options import delimited_by, encoded_in


@click.group()
def plan() -> None:
    """Start a plan file.

    \b
    Example:
      maskmeter plan init survey.sav
    """  # noqa: D301 - click reads \b as "keep these lines"


@plan.command()
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write it; without it the plan is written to plan.toml.",
)
@encoded_in
@delimited_by
@click.option("--json", "as_json", is_flag=True, help="Print what was guessed for machines.")
@click.option("--quiet", is_flag=True, help="Print nothing.")
def init(
    *,
    file: Path,
    out: Path | None,
    encoding: str | None,
    delimiter: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write a commented starter plan for FILE.

    Columns with few categories are guessed to be keys, with their number of categories; columns
    with too many are flagged. An existing plan is never overwritten.

    \b
    Examples:
      maskmeter plan init survey.sav
      maskmeter plan init survey.csv --delimiter ";" --out survey.toml
    """  # noqa: D301 - click reads \b as "keep these lines"
    from maskmeter.plan.starter import write_starter  # noqa: PLC0415 - --help must not wait for numpy

    target = out or Path("plan.toml")
    columns = write_starter(file, target, encoding=encoding, delimiter=delimiter)
    if as_json:
        click.echo(json.dumps({"plan": str(target), "columns": [vars(one) for one in columns]}))
    elif not quiet:
        click.echo(f"Wrote {target}")
        click.echo(f"Read it, then run: maskmeter assess {file} --plan {target} --out evidence/")
