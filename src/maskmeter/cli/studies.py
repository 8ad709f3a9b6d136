"""Commands that draw from the synthetic census: the demonstration and the paper."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maskmeter.cli.options import SHOWN, with_options
from maskmeter.cli.terminal import finite, print_files, print_table, print_words, progress_bar

if TYPE_CHECKING:  # --help must not wait for what commands need
    from maskmeter.studies.demo import Demo
    from maskmeter.studies.paper import Paper


def _on_the_census(smallest: float) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the options of commands that draw from the synthetic census."""
    seed = click.option(
        "--seed", type=click.IntRange(min=0), default=2010, show_default=True, help="Random seed."
    )
    scale = click.option(
        "--scale",
        type=click.FloatRange(smallest, 10),
        callback=finite,
        default=1.0,
        show_default=True,
        help="Size of the census; 1 is the paper's 1,468,255 people.",
    )
    return lambda command: with_options(command, seed, scale, *SHOWN)


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="maskmeter-demo",
    show_default=True,
    help="New folder for survey, plan and evidence, or that of a demo to replace.",
)
@_on_the_census(smallest=0.01)
def demo(*, out: str, seed: int, scale: float, as_json: bool, quiet: bool) -> None:
    """Run a complete example on a synthetic census.

    Draws a 1 % sample from a synthetic census, compares eleven ways to protect it, chooses the one
    with the least information loss among those that meet a risk target, and writes the evidence
    pack. The risks are estimated from the sample alone; at the end they are compared with the exact
    risks, which need the census.

    \b
    Example:
      maskmeter demo --out story/
    """  # noqa: D301 - click reads \b as "keep these lines"
    from maskmeter.studies.census import PAPER_SIZE
    from maskmeter.studies.demo import run_demo

    with progress_bar(quiet=quiet) as progress:
        found = run_demo(out, size=round(PAPER_SIZE * scale), rng=seed, progress=progress)
    if as_json:
        click.echo(json.dumps(_as_data(found), indent=1))
    else:
        _print_story(found)


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    help="New or empty folder for page, figures and JSON.",
)
@_on_the_census(smallest=0.01)
def paper(*, out: str | None, seed: int, scale: float, as_json: bool, quiet: bool) -> None:
    """Re-run the paper's tables beside the published ones.

    Runs every table and figure of Shlomo and Skinner (2010) on the synthetic census, which takes
    about 20 s at full size. Without --out, prints the tables only.

    \b
    Example:
      maskmeter paper --out paper/
    """  # noqa: D301 - click reads \b as "keep these lines"
    from maskmeter.files import check_new_folder
    from maskmeter.studies.paper import run_paper

    if out is not None:
        check_new_folder(Path(out))  # before the work
    with progress_bar(quiet=quiet) as progress:
        found = run_paper(scale=scale, rng=seed, progress=progress)
        progress("Writing", 0, 0)
        written = found.write(out) if out is not None else []
    if as_json:
        click.echo(json.dumps(found.as_data(), indent=1))
        return
    _print_paper(found)
    print_files(written)


def _print_story(found: Demo) -> None:
    from maskmeter.evidence.check_blocks import check_words
    from maskmeter.page import Table
    from maskmeter.riskutility.layers import layer_table
    from maskmeter.riskutility.riskmap import map_frame, map_table
    from maskmeter.studies.demo import PLAN, SUMS, SURVEY

    sample = found.found.release.original
    print_words(
        f"A survey of {len(sample):,} people from a census of {found.population.total:,}, and"
        f" {len(found.found.tried.points) - 1} ways to protect it:",
        "",
    )
    tried = found.found.tried
    intruder, chosen = tried.intruder, found.found.label
    print_table(
        map_table(map_frame(tried), measure=tried.measure, intruder=intruder, chosen=chosen)
    )
    print_table(layer_table(found.found.layers))
    print_words("", found.found.summary().split("\n")[0], "", found.pack.summary(), "")
    if found.pack.figures.check is not None:
        print_words(*check_words(found.pack.figures.check), "")
    rows = tuple(
        (
            equation,
            meaning,
            "-" if risk.negative else f"{risk.total:,.1f}",
            f"{risk.uniques:,}",
            "-" if risk.negative else f"{risk.share:.1%}",
        )
        for equation, meaning, risk in found.measures
    )
    head = ("measure", "meaning", "matches", "uniques", "share")
    caption = "Expected correct matches: the estimate and exact figures from the census"
    print_table(Table(caption, head, rows))
    own = (found.folder / name for name in (SURVEY, PLAN, SUMS))
    print_files((*own, *found.pack.files))
    report = next(path for path in found.pack.files if path.name == "internal.html")
    print_words("", f"The report is {report}; open it in a browser.")


def _print_paper(found: Paper) -> None:
    from maskmeter import page

    for section in found.sections():
        print_words(f"\n{section.title}")
        for block in section.blocks:
            if isinstance(block, page.Table):
                print_table(block)
            elif isinstance(block, page.Text):
                print_words(f"{block.mark + ': ' if block.mark else ''}{block.words}")


def _as_data(found: Demo) -> dict[str, object]:
    """Return the figures under the names of the equations."""
    release = found.found.release
    return {
        "population": found.population.total,
        "sample": len(release.original),
        "chosen": found.found.label,
        "moved": int(release.changed.sum()),
        "verdict": found.pack.summary(),
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
        "files": [str(path) for path in found.pack.files],
    }
