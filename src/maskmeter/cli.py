"""The command line: tables on standard output, progress and complaints on standard error."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING, NoReturn

import click

import maskmeter
from maskmeter._optional import need
from maskmeter.errors import MaskmeterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from maskmeter.demo import Demo
    from maskmeter.paper import Paper

REFUSED, INTERRUPTED = 1, 130


def _finite(_context: click.Context, _option: click.Parameter, value: float) -> float:
    """Refuse what is not a number, which a range lets through."""
    if not isfinite(value):
        message = "It must be a number."
        raise click.BadParameter(message)
    return value


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(maskmeter.__version__, prog_name="maskmeter")
def commands() -> None:
    """Measure how well misclassification protects microdata.

    \b
    Example:
      maskmeter demo
    """  # noqa: D301 - click reads \b as "keep these lines"


def _on_the_census(smallest: float) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the options of commands that draw from the synthetic census."""
    options = (
        click.option(
            "--seed", type=click.IntRange(min=0), default=2010, help="Seed of all that is drawn."
        ),
        click.option(
            "--scale",
            type=click.FloatRange(smallest, 10),
            callback=_finite,
            default=1.0,
            help="Size of the census against the paper's 1,468,255 people.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print figures for machines."),
        click.option("--quiet", is_flag=True, help="Show no progress."),
    )

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@commands.command()
@_on_the_census(smallest=0.001)
def demo(*, seed: int, scale: float, as_json: bool, quiet: bool) -> None:
    """Ask the paper's question of a synthetic census.

    Builds the census, draws a 1 % sample, lets one person in ten appear in another district, and
    prints how likely an intruder's unique match then is to be right.

    \b
    Example:
      maskmeter demo --scale 0.1 --json
    """  # noqa: D301 - click reads \b as "keep these lines"
    from maskmeter.demo import STEPS, run_demo  # noqa: PLC0415 - --help must not wait for numpy
    from maskmeter.simulate import PAPER_SIZE  # noqa: PLC0415 - the same

    size = max(1, round(PAPER_SIZE * scale))
    with _progress(STEPS, quiet=quiet) as announce:
        found = run_demo(size=size, rng=seed, announce=announce)
    if as_json:
        click.echo(json.dumps(_as_data(found), indent=1))
    else:
        _print_table(found)


@commands.command()
@click.option("--out", type=click.Path(file_okay=False), help="Where to write page, figures, JSON.")
@_on_the_census(smallest=0.01)
def paper(*, out: str | None, seed: int, scale: float, as_json: bool, quiet: bool) -> None:
    """Re-run every table and figure of the paper beside its published figures.

    Takes a minute or two. Without --out only the tables are printed.

    \b
    Example:
      maskmeter paper --out paper/
    """  # noqa: D301 - click reads \b as "keep these lines"
    from maskmeter.paper import STEPS, check_folder, run_paper  # noqa: PLC0415 - --help must not wait for numpy

    if out is not None:
        check_folder(out)  # before a minute's work
    need("vl_convert", extra="plot")
    with _progress(STEPS, quiet=quiet) as announce:
        found = run_paper(scale=scale, rng=seed, announce=announce)
        announce("Writing")
        written = found.write(out) if out is not None else []
    if as_json:
        click.echo(json.dumps(found.as_data(), indent=1))
        return
    _print_paper(found)
    for path in written:
        click.echo(f"Wrote {path}")


def main() -> NoReturn:
    """Run the command and turn every outcome into an exit code."""
    try:
        code = commands.main(standalone_mode=False)
    except click.Abort:
        click.echo("Interrupted.", err=True)
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except MaskmeterError as error:
        click.echo(f"maskmeter: {error}", err=True)
        sys.exit(REFUSED)
    except OSError as error:  # a full disk, say
        click.echo(f"maskmeter: {error.strerror}.", err=True)
        sys.exit(REFUSED)
    sys.exit(code)


@contextmanager
def _progress(steps: tuple[str, ...], *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show a bar on standard error while it is a terminal; yield what announces a step."""
    from rich.console import Console  # noqa: PLC0415 - --help must not wait for rich
    from rich.progress import Progress  # noqa: PLC0415 - the same

    console = Console(stderr=True)
    hidden = quiet or not console.is_terminal
    with Progress(console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(steps[0], total=len(steps))
        yield lambda step: bar.update(
            task, description=step, completed=steps.index(step) if step in steps else None
        )


def _print_table(found: Demo) -> None:
    from rich.console import Console  # noqa: PLC0415 - --help must not wait for rich
    from rich.table import Table  # noqa: PLC0415 - the same

    table = Table(title="Expected correct matches among sample uniques", title_justify="left")
    table.add_column("Measure")
    table.add_column("What it is")
    table.add_column("Matches", justify="right")
    table.add_column("Uniques", justify="right")
    table.add_column("Share", justify="right")
    for equation, meaning, risk in found.measures:
        table.add_row(
            equation, meaning, f"{risk.total:.1f}", f"{risk.uniques:,}", f"{risk.share:.1%}"
        )
    console = Console()
    exact = found.measures[1][2]
    sample = found.release.original
    console.print(
        f"A sample of {len(sample):,} from {found.population.total:,} people; "
        f"{found.release.changed.mean():.1%} of its records were moved to another district.\n"
    )
    console.print(table)
    console.print(
        f"\n{exact.without_target:,} of {exact.uniques:,} uniques are in cells where nobody in the "
        "population truly is: no target, no risk."
    )
    if found.estimate.interval is not None:
        low, high = found.estimate.interval
        console.print(
            f"The estimate needs no population; its approximate 95 % interval is {low:.0f} to"
            f" {high:.0f}."
        )


def _print_paper(found: Paper) -> None:
    from rich.console import Console  # noqa: PLC0415 - --help must not wait for rich
    from rich.table import Table  # noqa: PLC0415 - the same

    from maskmeter import page  # noqa: PLC0415 - the same

    console = Console()
    for section in found.sections():
        console.rule(section.title, align="left")
        for block in section.blocks:
            if isinstance(block, page.Table):
                table = Table(title=block.caption, title_justify="left")
                for position, name in enumerate(block.head):
                    table.add_column(name, justify="right" if position else "left")
                for row in block.rows:
                    table.add_row(*row)
                console.print(table)
            elif isinstance(block, page.Text):
                console.print(
                    f"{block.mark + ': ' if block.mark else ''}{block.words}", markup=False
                )


def _as_data(found: Demo) -> dict[str, object]:
    """Return the figures under the names of the equations."""
    return {
        "population": found.population.total,
        "sample": len(found.release.original),
        "moved": int(found.release.changed.sum()),
        "interval": found.estimate.interval,
        "measures": {
            equation: {
                "meaning": meaning,
                "total": risk.total,
                "share": risk.share,
                "uniques": risk.uniques,
                "without_target": risk.without_target,
                "negative": risk.negative,
            }
            for equation, meaning, risk in found.measures
        },
    }
