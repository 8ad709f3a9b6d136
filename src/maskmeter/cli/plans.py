"""Commands about plan files."""

from __future__ import annotations

import json
from pathlib import Path

import click

from maskmeter.cli.options import delimited_by, encoded_in


@click.group()
def plan() -> None:
    """Write a starter plan file.

    \b
    Example:
      maskmeter plan init survey.sav
    """  # noqa: D301 - click reads \b as "keep these lines"


@plan.command()
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default="plan.toml",
    show_default=True,
    help="The plan file to write.",
)
@encoded_in
@delimited_by
@click.option("--json", "as_json", is_flag=True, help="Print the guesses as JSON.")
@click.option("--quiet", is_flag=True, help="Print nothing.")
def init(
    *,
    file: Path,
    out: Path,
    encoding: str | None,
    delimiter: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write a commented starter plan for FILE.

    Lists columns with few categories as keys, with their number of categories, and flags columns
    with too many. Never overwrites an existing plan.

    \b
    Examples:
      maskmeter plan init survey.sav
      maskmeter plan init survey.csv --delimiter ";" --out survey.toml
    """  # noqa: D301 - click reads \b as "keep these lines"
    from maskmeter.plan.starter import write_starter

    columns = write_starter(file, out, encoding=encoding, delimiter=delimiter)
    if as_json:
        click.echo(json.dumps({"plan": str(out), "columns": [vars(one) for one in columns]}))
    elif not quiet:
        click.echo(f"Wrote {out}")
        weighted = any(column.role == "weights" for column in columns)
        told = "Review it" if weighted else "Review it and enter its fraction or weights"
        click.echo(f"{told}, then run: maskmeter assess {file} --plan {out} --out evidence/")
