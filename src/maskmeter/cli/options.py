"""Options that the commands about a file share, and how they win over the plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maskmeter.cli.terminal import finite

if TYPE_CHECKING:
    from collections.abc import Callable

    from maskmeter.evidence.provenance import ProvenanceFile
    from maskmeter.plan import Plan, PlanFile, Task

    Command = Callable[..., None]
    Check = Callable[[Plan, int | None], object]


def _tab(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """Let a tab be written as a word."""
    return "\t" if value in ("tab", "\\t") else value


SHOWN = (
    click.option("--json", "as_json", is_flag=True, help="Print figures for machines."),
    click.option("--quiet", is_flag=True, help="Show no progress."),
)
encoded_in = click.option("--encoding", help="Encoding of a text file, if it is not UTF-8.")
delimited_by = click.option(
    "--delimiter", callback=_tab, help="Delimiter of a text file: , ; | or tab."
)


def about_a_file(command: Command) -> Command:
    """Add the file and the options that say how it is read."""
    return with_options(
        command,
        click.argument("file", type=click.Path(path_type=Path, readable=False)),
        click.option("--keys", help="Columns an intruder may know, with commas: lad,sex,age."),
        click.option(
            "--fraction",
            type=click.FloatRange(0, 1, min_open=True),
            callback=finite,
            help="Share of the population that is in the file.",
        ),
        click.option("--weights", help="Column of survey weights, in place of a fraction."),
        click.option(
            "--population",
            type=click.Path(path_type=Path, readable=False),
            help="File of the whole population: then the risk is exact.",
        ),
        click.option("--missing", type=click.Choice(["refuse", "category"]), help="Missing keys."),
        encoded_in,
        delimited_by,
        click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark of weights."),
    )


def with_a_plan(*, required: bool) -> Callable[[Command], Command]:
    """Add the plan."""
    return click.option(
        "--plan",
        "plan_path",
        type=click.Path(path_type=Path, readable=False),
        required=required,
        help="Plan file; what is given on the command line wins over it.",
    )


def _no_seed(_context: click.Context, _option: click.Parameter, value: str | None) -> None:
    """Tell those who know the option from elsewhere why it is not here."""
    if value is not None:
        message = (
            "There is no --seed here: whoever guesses the seed of a release can undo its"
            " protection. The system draws one, and the provenance keeps it: give that file to"
            " assess or protect with --from to make the same release again."
        )
        raise click.UsageError(message)


def that_keeps_its_seed(command: Command) -> Command:
    """Add how much is shown; the seed comes from the system."""
    refused = click.option("--seed", hidden=True, expose_value=False, callback=_no_seed)
    return with_options(command, refused, *SHOWN)


def that_draws(command: Command) -> Command:
    """Add the seed of what nobody gets to see but the agency, and how much is shown."""
    seed = click.option(
        "--seed",
        type=click.IntRange(min=0),
        help="Seed of all that is drawn; without it the system draws one.",
    )
    return with_options(command, seed, *SHOWN)


repeatable = click.option(
    "--from",
    "repeated",
    type=click.Path(path_type=Path, readable=False),
    help="Provenance of a release, to make the same one again.",
)


def with_options(command: Command, *options: Callable[[Command], Command]) -> Command:
    """Add options, the first of them first in the help."""
    for option in reversed(options):
        command = option(command)
    return command


def task_of(
    file: Path, plan_path: Path | None, given: dict[str, Any], check: Check = lambda *_: None
) -> Task:
    """Return what a plan asks of a file, with what is given on the command line.

    `check` is called with the plan, and the seed if that is known, before the file is read.
    """
    from maskmeter.plan import Plan, PlanFile, read_plan, read_task  # noqa: PLC0415 - --help must not wait for numpy

    known = PlanFile(Plan()) if plan_path is None else read_plan(plan_path)
    wanted = _overridden(known, given)
    check(wanted.plan, None)
    return read_task(wanted, file)


def repeated_task(
    file: Path,
    repeated: Path,
    plan_path: Path | None,
    given: dict[str, Any],
    *,
    check: Check,
) -> tuple[Task, ProvenanceFile]:
    """Return what a provenance file says was asked of a file, which must be the same one."""
    from maskmeter.evidence.jobs import check_same_file  # noqa: PLC0415 - --help must not wait for numpy
    from maskmeter.evidence.provenance import read_provenance  # noqa: PLC0415 - the same
    from maskmeter.plan import PlanFile, read_task  # noqa: PLC0415 - the same

    others = [name for name, value in given.items() if value is not None and name != "population"]
    if plan_path is not None or others:
        message = (
            "--from repeats a release as it was: leave out --plan and the options that say how the"
            " file is read."
        )
        raise click.UsageError(message)
    made = read_provenance(repeated)
    check(made.plan, int(made.seed))
    task = read_task(_overridden(PlanFile(made.plan), given), file)
    check_same_file(task, made)
    return task, made


def asked(
    file: Path,
    plan_path: Path | None,
    repeated: Path | None,
    given: dict[str, Any],
    *,
    check: Check,
) -> tuple[Task, ProvenanceFile | None]:
    """Return what is asked of a file: by a plan, or as it was done before."""
    if repeated is None:
        return task_of(file, plan_path, given, check), None
    return repeated_task(file, repeated, plan_path, given, check=check)


def _overridden(known: PlanFile, given: dict[str, Any]) -> PlanFile:
    """Return a plan with what is given in place of what it says; scenarios give way to keys."""
    import msgspec  # noqa: PLC0415 - --help must not wait for it

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
