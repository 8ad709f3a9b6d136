"""Plan files in: TOML to a checked plan, with errors that name the file, the line and the choices."""

from __future__ import annotations

import errno
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from maskmeter.bounds import PLAN, read_small
from maskmeter.errors import MaskmeterError, PlanError
from maskmeter.plan.faults import first_fault
from maskmeter.plan.lines import Path as Place
from maskmeter.plan.lines import line_of, places
from maskmeter.plan.schema import Plan

# A hundred names with dots between them: the reader takes the square of their number in memory.
_DEEP = re.compile(r"""(?<![\w-])(?>(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){100}""")


@dataclass(frozen=True)
class PlanFile:
    """A plan, its file and the lines of its entries, so that later errors can name the line."""

    plan: Plan
    path: Path | None = None
    lines: dict[Place, int] | None = None
    text: str = ""

    @property
    def folder(self) -> Path:
        """Where the paths in the plan start."""
        return Path() if self.path is None else self.path.parent

    def error(self, place: Place, reason: object) -> PlanError:
        """Return an error about an entry of the plan."""
        if self.path is None:
            return PlanError(str(reason))
        line = line_of(place, self.lines or {})
        at = "" if line is None else f", line {line}"
        return PlanError(f"{self.path.name}{at}: {reason}")

    def blame(self, place: Place, action: Any) -> Any:
        """Return the result of an action; its errors name an entry of the plan."""
        try:
            return action()
        except MaskmeterError as error:
            entry = re.search(r"`(\w+)`", str(error))  # the message may name it
            named = (*place, entry[1]) if entry else place
            raise self.error(named if named in (self.lines or {}) else place, error) from None

    def named(self, name: str, reason: object) -> PlanError:
        """Return an error about a name that stands somewhere in the plan."""
        quoted = (f'"{name}"', f"'{name}'")
        rows = enumerate(self.text.splitlines(), start=1)
        line = next((row for row, text in rows if any(one in text for one in quoted)), None)
        if self.path is None or line is None:
            return PlanError(str(reason))
        return PlanError(f"{self.path.name}, line {line}: {reason}")


def read_plan(path: str | Path) -> PlanFile:
    r"""Return the plan in a TOML file.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "plan.toml"
    >>> _ = path.write_text('[data]\nkeys = ["sex"]\nfracton = 0.1')
    >>> read_plan(path)
    Traceback (most recent call last):
    maskmeter.errors.PlanError: plan.toml, line 3: [data] has no entry 'fracton'; ...
    """
    path = Path(path)
    return parse_plan(_text(path), path)


def parse_plan(text: str, path: Path) -> PlanFile:
    """Return the plan that a text holds; errors name the file at `path`, where its own paths start."""
    data = _parsed(path, text)
    lines = places(text)
    fault = first_fault(data, lines)
    if fault is not None:
        raise PlanFile(Plan(), path, lines).error(fault.place, fault.reason)
    try:
        return PlanFile(msgspec.convert(data, Plan), path, lines, text)
    except msgspec.ValidationError:  # pragma: no cover - the faults above cover all types
        raise PlanError(f"{path.name} is not a valid plan.") from None


def _parsed(path: Path, text: str) -> dict[str, Any]:
    nested = PlanError(
        f"{path.name} is not a valid plan: its lists or tables stand inside each other far deeper"
        " than any plan needs."
    )
    if _DEEP.search(text):
        raise nested
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax(path, text, str(error)) from None
    except RecursionError:
        raise nested from None
    except ValueError:  # Python refuses to read it
        raise PlanError(f"{path.name} is not a valid plan: a number has too many digits.") from None


def _text(path: Path) -> str:
    try:
        content = read_small(path, most=PLAN).decode()
        return content.replace("\r\n", "\n").replace("\r", "\n")  # as text files are read
    except UnicodeDecodeError:
        raise PlanError(f"Cannot read {path.name!r}: a plan must be text in UTF-8.") from None
    except OSError as error:
        reason = "it is a directory" if path.is_dir() else str(error.strerror).lower()
        large = " Keep matrices in files of their own." if error.errno == errno.EFBIG else ""
        raise PlanError(f"Cannot read the plan {str(path)!r}: {reason}.{large}") from None


def _syntax(path: Path, text: str, reason: str) -> PlanError:
    """Return what is wrong with a file that is not TOML."""
    found = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", reason)
    said = reason[: found.start()] if found else reason
    line = (found and found[1]) or len(text.splitlines())
    hint = " Put text in quotes; write tables as [name], lists of tables as [[name]]."
    return PlanError(f"{path.name}, line {line}: this is not valid TOML: {said.lower()}.{hint}")
