"""Measure the figures that README, documentation and help quote, each in a fresh process.

    python benchmarks/run.py                    print all figures beside what they must hold
    python benchmarks/run.py paper demo         only some of them
    python benchmarks/run.py paper --write      keep them in docs/figures.json, and in the table
                                                of docs/tour.md
    python benchmarks/run.py --table            only write that table again

A test compares the texts with docs/figures.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
KEPT, PAGE = ROOT / "docs" / "figures.json", ROOT / "docs" / "tour.md"
START, END = "<!-- written by benchmarks/run.py -->", "<!-- end of what it writes -->"

# What was done, and the figure in words; `peak` is the largest memory of the process in MB.
ROWS = {
    "demo": ("`maskmeter demo`", "{about:.0f} s, {disk:.0f} MB on disk"),
    "paper": ("`maskmeter paper`", "{about:.0f} s, {peak:.0f} MB"),
    "suite": ("`make test`", "{minutes:.0f} minutes"),
    "packages": (
        "packages to run, and to develop",
        "{run:.0f} of {run_disk:,.0f} MB, {develop:.0f} of {develop_disk:,.0f} MB",
    ),
    "imports": (
        "`import maskmeter`, `maskmeter --help`",
        "{seconds:.2f} s ({ratio:.1f} times numpy, polars and narwhals), {help:.2f} s",
    ),
    "census": ("build the synthetic census", "{seconds:.1f} s"),
    "counting": (
        "count 14.7 million rows by six keys",
        "{seconds:.1f} s, {ratio:.1f} times bare Polars",
    ),
    "exact_one_key": ("exact risk, one key misclassified", "{ms:.0f} ms"),
    "exact_six_keys": ("exact risk, all six keys misclassified", "{ms:.0f} ms"),
    "exact_thirty_keys": (
        "exact risk, 30 binary keys, 100,000 people, 2,000 records",
        "{seconds:.1f} s, {peak:.0f} MB",
    ),
    "swap": (
        "swap of one key of 1.47 million records: 20 %, 20 % within 288 control cells, all",
        "{seconds:.1f} s, {within:.1f} s, {all:.1f} s",
    ),
    "pram": ("PRAM of one key of 1.47 million records", "{seconds:.2f} s"),
    "streamed_pram": (
        "PRAM of 100 million records, in parts",
        "{seconds:.1f} s, {peak:.0f} MB, {ratio:.1f} times a bare numpy alias draw",
    ),
    "fit_all_two_way": ("all-two-way log-linear fit", "{seconds:.1f} s"),
    "default_estimate": (
        "default estimate, 538,560 cells; over the score path and a forward search with R's loglin",
        "{seconds:.1f} s; {over_path:.2f} and {over_loglin:.2f} times the time",
    ),
    "search": ("score path, 538,560 cells", "{seconds:.1f} s"),
    "forward_search": (
        "paper's search to abs(z2) < 1.96, and to its end",
        "{seconds:.1f} s, {to_the_end:.1f} s",
    ),
    "search_of_many_keys": (
        "score path of 15,000 records with 12 and with 25 keys",
        "{keys12:.0f} s, {keys25:.0f} s",
    ),
    "estimate": (
        "estimate after a swap, its interval",
        "{seconds:.2f} s, {interval:.2f} s more; {peak:.0f} MB with reading and model",
    ),
    "informed": (
        "informed risk over exact matching: exact with one key and with six, estimated with its model",
        "{one:.2f}, {six:.2f} and {estimated:.2f} times the time",
    ),
    "find_redraw": (
        "find a redraw without a family: one key is enough, two keys are needed",
        "{seconds:.0f} s, {two:.0f} s",
    ),
    "bootstrap": ("interval by 100 samples from the model", "{about:.0f} s"),
    "sixteen_releases": (
        "risk-utility map of sixteen releases, three draws each, exact and estimated",
        "{seconds:.0f} s, {estimated:.0f} s",
    ),
    "peers": (
        "measured once in R: PRAM and swap by sdcMicro 5.7.8, first search step of SDCNway 1.1.0",
        "{sdcmicro_pram:.1f} s, {sdcmicro_swap:.1f} s, over {sdcnway_step:.0f} min",
    ),
}
ON_REQUEST = ("suite",)
ELSEWHERE = ("peers",)  # in R, with packages that are not installed here


def words(name: str, values: dict[str, float]) -> str:
    """Return a figure in words; `about` are seconds, from 10 on in tens, as runs vary."""
    seconds = values.get("seconds", 0.0)
    about = round(seconds, -1 if seconds >= 10 else 0)
    more = {"about": about, "ms": 1000 * seconds, "minutes": seconds / 60}
    return ROWS[name][1].format(**values, **more)


def page(kept: dict[str, Any], text: str) -> str:
    """Return a page whose table is made anew from the figures that were kept."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    rows = [
        f"| {work} | {words(name, kept[name]['values'])} |"
        for name, (work, _) in ROWS.items()
        if name in kept
    ]
    table = "\n".join(["| work | time and memory |", "|---|---|", *rows])
    return f"{before}{START}\n{table}\n{END}{after}"


def measured(name: str) -> dict[str, float]:
    """Return a figure, measured in a fresh process."""
    command = [sys.executable, __file__, "--here", name]
    # Threads of linear algebra that wait for a busy core would count as work.
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=alone)  # noqa: S603 - ourselves
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure_here(name: str) -> None:
    """Print a figure, measured in this process."""
    import resource

    import measures

    values = getattr(measures, name)()
    values["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(values))


def main() -> None:
    """Measure what is asked for, print it and keep it."""
    options = argparse.ArgumentParser(description=__doc__)
    here = [name for name in ROWS if name not in ELSEWHERE]
    options.add_argument("names", nargs="*", metavar="name", help=", ".join(here))
    options.add_argument("--write", action="store_true")
    options.add_argument("--table", action="store_true")
    options.add_argument("--here", choices=here, help=argparse.SUPPRESS)
    given = options.parse_args()
    for name in given.names:
        if name not in here:
            options.error(f"{name!r} is none of {', '.join(here)}")
    if given.here:
        measure_here(given.here)
        return
    import measures
    from maskmeter import __version__

    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    usual = [] if given.table else [name for name in here if name not in ON_REQUEST]
    for name in given.names or usual:
        values = measured(name)
        print(f"{getattr(measures, name).__doc__}\n    {words(name, values)}", flush=True)
        kept[name] = {
            "values": {key: float(f"{value:.4g}") for key, value in values.items()},
            "command": f"python benchmarks/run.py {name} --write",
            "date": f"{datetime.now(tz=UTC):%Y-%m-%d}",
            "version": __version__,
        }
    if given.write or given.table:
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(kept, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
