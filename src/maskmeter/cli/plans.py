"""Commands about plan files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maskmeter.cli.options import delimited_by, encoded_in, sampled_at
from maskmeter.cli.terminal import print_words

if TYPE_CHECKING:
    from maskmeter.plan.starter_text import StarterPlan


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
@sampled_at
@encoded_in
@delimited_by
@click.option("--json", "as_json", is_flag=True, help="Print the guesses as JSON.")
@click.option("--quiet", is_flag=True, help="Print nothing.")
def init(
    *,
    file: Path,
    out: Path,
    fraction: float | None,
    encoding: str | None,
    delimiter: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write a commented starter plan for FILE.

    Proposes at most eight keys, bands for ages, survey weights, household numbers and a redraw of
    a place, each with its reason; the plan can be used as it is. It holds no value of the file.
    Never overwrites an existing plan.

    \b
    Examples:
      maskmeter plan init survey.sav
      maskmeter plan init survey.csv --delimiter ";" --out survey.toml
    """  # noqa: D301 - click reads \b as "keep these lines"
    from maskmeter.plan.starter import write_starter

    made = write_starter(file, out, encoding=encoding, delimiter=delimiter, fraction=fraction)
    if as_json:
        found = made.found
        step = None if made.step is None else {"key": found.redrawn, **made.step._asdict()}
        columns = [vars(one) for one in found.columns]
        click.echo(json.dumps({"plan": str(out), "redraw": step, "columns": columns}))
    elif not quiet:
        click.echo(f"Wrote {out}")
        print_words(*_told(made))
        known = fraction is not None or made.found.weights is not None
        click.echo("Review it, then run:" if known else "Review it, enter the fraction, then run:")
        click.echo(f"  maskmeter assess {file} --plan {out} --out evidence/")


def _told(made: StarterPlan) -> Iterator[str]:
    """Yield what a starter plan proposes, in a few lines."""
    keys = ", ".join(one.name for one in made.keys)
    yield f"Keys: {keys}" if keys else "No column looks like a key: enter the keys in the plan."
    if made.found.weights is not None:
        yield f"Weights: {made.found.weights}"
    if made.found.household is not None:
        yield f"Household numbers: {made.found.household}"
    if made.step is not None:
        yield f"Step: redraw of {made.found.redrawn}"
