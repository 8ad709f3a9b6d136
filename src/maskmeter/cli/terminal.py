"""Input and output of commands: finite numbers, progress on standard error, tables of 80 columns."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maskmeter import errors

if TYPE_CHECKING:
    from maskmeter import page
    from maskmeter.checks import Progress
    from maskmeter.evidence.schema import CautionFigures


def finite(_context: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    """Raise unless a number is finite; a range lets nan through."""
    if value is not None and not isfinite(value):
        raise click.BadParameter("Give a finite number.")
    return value


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Progress]:
    """Show a bar on standard error if it is a terminal; yield a function that moves it.

    A stage of unknown length is named without moving the bar.
    """
    import rich.progress
    from rich.console import Console

    console = Console(stderr=True)
    hidden = quiet or not console.is_terminal
    with rich.progress.Progress(console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("")
        yield lambda stage, done, of: bar.update(
            task, description=stage, completed=done if of else None, total=of or None
        )


def print_table(table: page.Table) -> None:
    """Print a table of a page; columns that hold figures stand to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(title=Text(table.caption), title_justify="left")
    for name, figures in zip(table.head, table.figures(), strict=True):
        # A name that is too long is broken, never cut: names often differ at the end.
        drawn.add_column(name, justify="right" if figures else "left", overflow="fold")
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row))  # brackets in it are no markup
    Console().print(drawn)


def warn_of(cautions: Iterable[CautionFigures]) -> None:
    """Warn of the cautions about some figures; the command prints them at its end."""
    for one in cautions:
        warnings.warn(one.text, getattr(errors, one.kind), stacklevel=2)


def print_words(*lines: str) -> None:
    """Print paragraphs, wrapped to the terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    for line in lines:
        console.print(line, markup=False)


def print_files(files: Iterable[Path]) -> None:
    """Print the files written, one path per line however long."""
    for path in files:
        click.echo(f"Wrote {path}")
