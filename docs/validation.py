"""Measure the figures of the validation page, and write them into it.

    python docs/validation.py                       small checks, about a minute
    python docs/validation.py --long                the studies over many samples too, some minutes
    python docs/validation.py --peer-data FILE      the example file of SDCNway, which is not shipped
    python docs/validation.py --only studies.tables  only the check, or checks, of this name
    python docs/validation.py --page                only write the page again

What is not measured keeps the figure, the date and the command of the last time it was.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FIGURES = HERE / "validation_figures.json"
PAGE = HERE / "validation.md"
PUBLISHED = HERE.parent / "src" / "maskmeter" / "studies" / "paper" / "published.json"
RELEASED = "(2.6) with F~_j"  # the reading behind the printed row (2.6)
START, END = "<!-- written by validation.py -->", "<!-- end of what it writes -->"


@dataclass(frozen=True)
class Check:
    """A claim, how it was checked, the test that holds it, and the figure in words."""

    name: str  # module and function in checks/
    section: str
    claim: str
    how: str
    test: str
    figure: str
    kind: str = "short"


def checks() -> list[Check]:
    """Return all checks, in the order of the page."""
    rows = json.loads((HERE / "checks" / "rows.json").read_text(encoding="utf-8"))
    return [Check(section=section, **row) for section, listed in rows.items() for row in listed]


def measured(check: Check, peer_data: Path | None) -> dict[str, Any]:
    """Return what a check finds, with plain numbers."""
    from importlib import import_module

    module, function = check.name.split(".")
    run: Callable[..., dict[str, Any]] = getattr(import_module(f"checks.{module}"), function)
    found = run(peer_data) if check.kind == "peer" else run()
    return json.loads(json.dumps(found, default=float))  # type: ignore[no-any-return]


def page(figures: dict[str, Any], text: str) -> str:
    """Return the page with its tables made anew from the figures."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return before + START + "\n" + "\n".join(_tables(figures)) + "\n" + END + after


def _tables(figures: dict[str, Any]) -> Iterator[str]:
    for section, rows in groupby(checks(), key=lambda check: check.section):
        yield f"\n## {section}\n"
        yield "| Claim | Figure | How it was checked, and by which test |\n|---|---|---|"
        for check in rows:
            values = figures[check.name]["values"]
            told = {name: Figure(value) for name, value in values.items() if _plain(value)}
            figure, how = check.figure.format(**told), check.how.format(**told)
            yield f"| {check.claim} | {figure} | {how}: `{check.test}` |"
    study = figures["studies.tables"]["values"]
    yield "\n## The paper's first table, printed and here\n"
    yield "Each cell has the printed figure, then ours, with the paper's matrices and its search."
    yield (
        "The extract behind the printed ones is not public: the synthetic census only has its"
        " shape, so that the pattern should agree and not the figures.\n"
    )
    yield from _table1(study["table1"])
    yield "\n## The paper's findings on the synthetic census\n"
    yield "| Finding of the paper | Holds here | Figure |\n|---|---|---|"
    for one in study["findings"]:
        yield f"| {one['claim']} | {'yes' if one['holds'] else 'no'} | {one['figure']} |"
    yield "\n## When these figures were measured\n"
    yield "| Command | Date | Version |\n|---|---|---|"
    made = {(one["command"], one["date"], one["version"]) for one in figures.values()}
    for command, date, version in sorted(made):
        yield f"| `{command}` | {date} | {version} |"


def _table1(ours: dict[str, dict[str, list[float]]]) -> Iterator[str]:
    """Yield table 1 with printed figures before ours; the two are samples of different censuses."""
    printed = json.loads(PUBLISHED.read_text(encoding="utf-8"))["table1"]
    yield "| Rate | Measure | " + " | ".join(printed["columns"]) + " |"
    yield "|---|---|" + "---|" * len(printed["columns"])
    for rate in ours:
        rows = [(name, name) for name in printed[rate]]
        rows.insert(rows.index(("(2.7)", "(2.7)")), (RELEASED, "(2.6)"))
        for measure, in_print in rows:
            pairs = zip(printed[rate][in_print], ours[rate][measure], strict=True)
            cells = " | ".join(f"{one:,.0f} / {other:,.0f}" for one, other in pairs)
            yield f"| {rate} | {measure} | {cells} |"


class Figure(float):
    """A number that is written as 0 when it is 0, also among powers of ten."""

    def __format__(self, spec: str) -> str:
        """Return the number in words."""
        whole = self.is_integer() and not spec.endswith(("e", "f", "g"))
        if whole:
            return format(int(self), spec)
        return "0" if spec.endswith("e") and not self else super().__format__(spec)


def _plain(value: object) -> bool:
    return isinstance(value, int | float)


def main() -> None:
    """Measure what is asked for, keep the figures, and write the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--long", action="store_true")
    options.add_argument("--peer-data", type=Path)
    options.add_argument("--only", nargs="+", default=[], metavar="NAME")
    options.add_argument("--page", action="store_true")
    given = options.parse_args()
    sys.path.append(str(HERE.parent / "tests"))  # checks reuse what tests are made of
    figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    commands = {
        "short": "python docs/validation.py",
        "long": "python docs/validation.py --long",
        "peer": "python docs/validation.py --peer-data FILE",
    }
    wanted = {"short": not given.page, "long": given.long, "peer": given.peer_data is not None}
    for check in checks():
        if check.name not in given.only if given.only else not wanted[check.kind]:
            continue
        from maskmeter import __version__

        figures[check.name] = {
            "values": measured(check, given.peer_data),
            "command": commands[check.kind],
            "date": f"{datetime.now(tz=UTC):%Y-%m-%d}",
            "version": __version__,
        }
        print(check.name, figures[check.name]["values"], flush=True)
    write = partial(json.dumps, indent=1, ensure_ascii=False)
    FIGURES.write_text(write(dict(sorted(figures.items()))) + "\n", encoding="utf-8")
    PAGE.write_text(page(figures, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
