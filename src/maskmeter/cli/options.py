"""Options shared by the commands about a file, and how they override the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from maskmeter.cli.terminal import finite

if TYPE_CHECKING:  # --help must not wait for what commands need
    from maskmeter.evidence.provenance import ProvenanceFile
    from maskmeter.plan import Plan, PlanFile, Task, Where

Command: TypeAlias = Callable[..., None]
Check: TypeAlias = "Callable[[Plan, int | None], object]"


def _tab(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """Accept the word "tab" for a tab."""
    return "\t" if value in ("tab", "\\t") else value


SHOWN = (
    click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON."),
    click.option("--quiet", is_flag=True, help="Show no progress bar."),
)
encoded_in = click.option("--encoding", help="Encoding of a text file, if it is not UTF-8.")
delimited_by = click.option(
    "--delimiter", callback=_tab, help="Delimiter of a text file: , ; | or tab."
)
sampled_at = click.option(
    "--fraction",
    type=click.FloatRange(0, 1, min_open=True),
    callback=finite,
    help="Sampling fraction: the share of the population in the file.",
)


def about_a_file(command: Command) -> Command:
    """Add the file argument and the options on how to read it."""
    return with_options(
        command,
        click.argument("file", type=click.Path(path_type=Path, readable=False)),
        click.option("--keys", help="Columns an intruder may know, such as lad,sex,age."),
        sampled_at,
        click.option("--weights", help="Column of survey weights, instead of --fraction."),
        click.option(
            "--population",
            type=click.Path(path_type=Path, readable=False),
            help="File of the whole population; makes the risk exact.",
        ),
        click.option(
            "--model",
            type=click.Choice(["shrunk", "score-path", "forward"]),
            help="Model where the population is not known; shrunk if not given.",
        ),
        click.option(
            "--missing",
            type=click.Choice(["refuse", "category"]),
            help="How to treat records without a value for a key.",
        ),
        click.option("--id", help="Column in which every record has its own id; draws go by it."),
        encoded_in,
        delimited_by,
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            help="Decimal mark of weights and banded keys.",
        ),
    )


def at_a_source(command: Command) -> Command:
    """Add where the rows of files are worked on."""
    return with_options(
        command,
        click.option(
            "--engine",
            type=click.Choice(["polars", "duckdb", "spark"]),
            help="Leave the records there; several files stay in polars if not given.",
        ),
        click.option("--master", help="Address of a Spark cluster, such as spark://host:7077."),
    )


def with_a_plan(*, required: bool) -> Callable[[Command], Command]:
    """Add the plan."""
    return click.option(
        "--plan",
        "plan_path",
        type=click.Path(path_type=Path, readable=False),
        required=required,
        help="Plan file. Command-line options override it.",
    )


def _no_seed(_context: click.Context, _option: click.Parameter, value: str | None) -> None:
    """Explain why there is no --seed to users who know it from other commands."""
    if value is not None:
        raise click.UsageError(
            "This command takes no --seed: anyone who guesses the seed of a release can undo its"
            " protection. The system draws the seed, and provenance.json records it. To recreate"
            " the release, give that file to assess or protect with --from."
        )


def that_keeps_its_seed(command: Command) -> Command:
    """Add the display options and refuse --seed: the system draws it."""
    refused = click.option("--seed", hidden=True, expose_value=False, callback=_no_seed)
    return with_options(command, refused, *SHOWN)


def that_draws(command: Command) -> Command:
    """Add the display options and --seed, for results that are never published."""
    seed = click.option(
        "--seed",
        type=click.IntRange(min=0),
        help="Random seed; the system draws one if not given.",
    )
    return with_options(command, seed, *SHOWN)


repeatable = click.option(
    "--from",
    "repeated",
    type=click.Path(path_type=Path, readable=False),
    help="Recreate the release recorded in this provenance.json.",
)


def with_options(command: Command, *options: Callable[[Command], Command]) -> Command:
    """Add options, the first of them first in the help."""
    for option in reversed(options):
        command = option(command)
    return command


def task_of(
    file: Path,
    plan_path: Path | None,
    given: dict[str, Any],
    check: Check = lambda *_: None,
    *,
    only_protect: bool = False,
) -> Task:
    """Return the task of a plan and a file; command-line options override the plan.

    `check` is called with the plan, and the seed if it is known, before the file is read. What is
    read is enough to assess the file, unless it is `only_protect`ed.
    """
    from maskmeter.plan import Plan, PlanFile, read_plan, read_task, read_to_protect

    where = _where(given)
    known = PlanFile(Plan()) if plan_path is None else read_plan(plan_path)
    wanted = _overridden(known, given)
    check(wanted.plan, None)
    return (read_to_protect if only_protect else read_task)(wanted, file, where)


def _where(given: dict[str, Any]) -> Where:
    """Take from the options where the rows are worked on, and return it."""
    from maskmeter.plan import Where

    where = Where(given.pop("engine", None), given.pop("master", None))
    if where.master is not None and where.engine != "spark":
        raise click.UsageError("--master is the address of a Spark cluster: give --engine spark.")
    return where


def repeated_task(
    file: Path,
    repeated: Path,
    plan_path: Path | None,
    given: dict[str, Any],
    *,
    check: Check,
    only_protect: bool = False,
) -> tuple[Task, ProvenanceFile]:
    """Return the task that a provenance file records; the file must be the same one."""
    from maskmeter.evidence.provenance import read_provenance
    from maskmeter.plan import PlanFile, read_task, read_to_protect
    from maskmeter.workflows import check_same_file

    where = _where(given)
    others = [name for name, value in given.items() if value is not None and name != "population"]
    if plan_path is not None or others:
        raise click.UsageError(
            "--from recreates a release as recorded: remove --plan and the options on how to read"
            " the file."
        )
    made = read_provenance(repeated)
    check_same_file(file, made)
    check(made.plan, int(made.seed))
    read = read_to_protect if only_protect else read_task
    return read(_overridden(PlanFile(made.plan), given), file, where), made


def asked(
    file: Path,
    plan_path: Path | None,
    repeated: Path | None,
    given: dict[str, Any],
    *,
    check: Check,
    only_protect: bool = False,
) -> tuple[Task, ProvenanceFile | None]:
    """Return the task of a plan, or the one that a provenance file records."""
    if repeated is None:
        return task_of(file, plan_path, given, check, only_protect=only_protect), None
    return repeated_task(file, repeated, plan_path, given, check=check, only_protect=only_protect)


def _overridden(known: PlanFile, given: dict[str, Any]) -> PlanFile:
    """Return a plan with command-line options in place of its entries; --keys removes scenarios."""
    import msgspec

    entries: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    plan = known.plan
    if "keys" in entries:
        entries["keys"] = [name.strip() for name in entries["keys"].split(",") if name.strip()]
        plan = msgspec.structs.replace(plan, scenario={})
    if "population" in entries:
        entries["population"] = str(entries["population"].absolute())
    sampled = {"fraction", "weights"}
    if len(sampled & entries.keys()) == 1:  # it takes the place of the other
        entries |= dict.fromkeys(sampled - entries.keys())
    data = msgspec.structs.replace(plan.data, **entries)
    return replace(known, plan=msgspec.structs.replace(plan, data=data))
