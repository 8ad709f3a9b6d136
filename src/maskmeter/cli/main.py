"""The command, its subcommands and their exit codes."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import NoReturn

import click
from click.shell_completion import get_completion_class

import maskmeter
from maskmeter.errors import MaskmeterError, MaskmeterWarning

REFUSED, INTERRUPTED = 1, 130

_COMMANDS = {
    "assess": "files",
    "protect": "files",
    "compare": "choices",
    "find": "choices",
    "audit": "audits",
    "plan": "plans",
    "demo": "studies",
    "paper": "studies",
    "app": "page",
    "completion": "main",
}


class _Commands(click.Group):
    """Subcommands that are imported on first use, so that --help is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's own
        if cmd_name not in _COMMANDS:
            return None
        found: click.Command = getattr(
            import_module(f"maskmeter.cli.{_COMMANDS[cmd_name]}"), cmd_name
        )
        return found


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(maskmeter.__version__, prog_name="maskmeter")
def commands() -> None:
    """Measure the disclosure risk of microdata after swapping, PRAM or recording error.

    \b
    Examples:
      maskmeter demo
      maskmeter plan init survey.sav
      maskmeter assess survey.sav --plan plan.toml --out evidence/
    """  # noqa: D301 - click reads \b as "keep these lines"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a shell completion script.

    \b
    Example:
      maskmeter completion bash >> ~/.bashrc
    """  # noqa: D301 - click reads \b as "keep these lines"
    found = get_completion_class(shell)
    if found is None:  # pragma: no cover - click knows all three
        raise click.UsageError(f"{shell} is not known.")
    click.echo(found(commands, {}, "maskmeter", "_MASKMETER_COMPLETE").source())


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command and turn every outcome into an exit code; `args` stand in for sys.argv."""
    gc.set_threshold(100_000, 50, 50)  # libraries make many objects to stay: look at them seldom
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MaskmeterWarning)
        with _ended_like_interrupted():
            code = _run(args)
    cautions = (one.message for one in caught if issubclass(one.category, MaskmeterWarning))
    for caution in dict.fromkeys(map(str, cautions)):  # once each, and not into the progress bar
        click.echo(f"Caution: {caution}", err=True)
    sys.exit(code)


@contextmanager
def _ended_like_interrupted() -> Iterator[None]:
    """Let a request to end be one to interrupt: what is unfinished is then removed.

    So does a terminal that is closed, unless the command was told to go on, as nohup does.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        named = [getattr(signal, one, None) for one in ("SIGTERM", "SIGHUP")]  # Windows lacks one
        before = {one: signal.getsignal(one) for one in named if one is not None}
    apart = (signal.SIG_IGN, None)  # None: it is handled outside Python
    before = {one: handler for one, handler in before.items() if handler not in apart}
    for one in before:
        signal.signal(one, signal.default_int_handler)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _run(args: Sequence[str] | None) -> int:
    """Run the command; return its exit code."""
    try:
        return int(commands.main(args, prog_name="maskmeter", standalone_mode=False) or 0)
    except click.Abort:
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except MaskmeterError as error:
        click.echo(f"maskmeter: {error}", err=True)
    except MemoryError:
        click.echo("maskmeter: not enough memory for this file and plan.", err=True)
    except OSError as error:  # a full disk, say
        click.echo(
            f"maskmeter: {error.strerror or 'a file could not be read or written'}.", err=True
        )
    return REFUSED
