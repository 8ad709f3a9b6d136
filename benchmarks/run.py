"""Measure every figure, each in a fresh process, and write the pages that show them.

    python benchmarks/run.py                 everything: figures, ratios to peers, growth
    python benchmarks/run.py paper demo      only these figures
    python benchmarks/run.py ratios growth   only the ratios to peers, and growth
    python benchmarks/run.py ... --write     keep what was measured, and write the pages again
    python benchmarks/run.py --pages         only write the pages and pictures again

docs/figures.json has the figures that README, documentation and help quote, with a table in
docs/tour.md; docs/benchmarks.json has ratios and growth, shown in docs/benchmarks.md.
Tests compare the texts with both.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from importlib import import_module
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
    "many_keys": (
        "default estimate of 200,000 records with 20 and with 40 keys; which of 15 drive the risk",
        "{estimate20_200000:.0f} s, {estimate40_200000:.0f} s; {drop_one:.0f} s; {peak:.0f} MB",
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
    "release_check": (
        "release check of a million records with 30 columns, a tenth of them changed",
        "{seconds:.0f} s, {peak:.0f} MB",
    ),
    "bootstrap": ("interval by 100 samples from the model", "{about:.0f} s"),
    "sixteen_releases": (
        "risk-utility map of sixteen releases, three draws each, exact and estimated",
        "{seconds:.0f} s, {estimated:.0f} s",
    ),
    "hundred_million": (
        "100 million rows by six keys: count, draw and write a PRAM, protect, assess",
        (
            "{count_seconds:.0f} s, {draw_seconds:.0f} s, {protect_seconds:.0f} s, {assess_seconds:.0f} s;"
            " {count_peak:.0f}, {draw_peak:.0f}, {protect_peak:.0f} and {assess_peak:.0f} MB"
        ),
    ),
    "assessments": (
        "`maskmeter assess` with a swap, 1 and 5 million rows; above the memory of a thousand rows",
        "{ours_1000000:.1f} s, {ours_5000000:.1f} s; {above_1000000:.0f} MB, {above_5000000:.0f} MB",
    ),
    "engines": (
        "count and PRAM of 5 million rows by six keys: Polars, DuckDB, Spark on this machine",
        (
            "{polars_count:.1f} and {polars_pram:.1f} s, {duckdb_count:.1f} and {duckdb_pram:.1f} s,"
            " {spark_count:.1f} and {spark_pram:.1f} s"
        ),
    ),
    "peers": (
        "measured once in R: PRAM and swap by sdcMicro 5.7.8, first search step of SDCNway 1.1.0",
        "{sdcmicro_pram:.1f} s, {sdcmicro_swap:.1f} s, over {sdcnway_step:.0f} min",
    ),
}
SUBJECTS = (
    "commands",
    "counting",
    "risks",
    "perturbing",
    "fits",
    "peers",
    "large",
)  # modules of measures
PARTS = ("figures", "ratios", "growth")
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


def measure(name: str) -> Callable[[], dict[str, float]]:
    """Return the function that measures a figure."""
    modules = [import_module(subject) for subject in SUBJECTS]
    return next(vars(one)[name] for one in modules if name in vars(one))  # type: ignore[no-any-return]


def measured(*name: str) -> dict[str, float]:
    """Return a figure, or a point of growth, measured in a fresh process."""
    command = [sys.executable, __file__, "--here", *name]
    # Threads that wait for a busy core count as work: with two of them glum took 3 to 26 s for the
    # same fit on a shared machine, and with one always 3 s.
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=alone)  # noqa: S603 - ourselves
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure_here(name: str, *point: str) -> None:
    """Print a figure, or a point of growth, measured in this process."""
    import resource

    import growth

    values = growth.point(name, point[0], int(point[1])) if point else measure(name)()
    values["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({key: float(f"{value:.4g}") for key, value in values.items()}))


def measure_figures(names: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return figures, and print each as it comes."""
    found = {}
    for name in names:
        found[name] = measured(name)
        told = words(name, found[name]) if name in ROWS else str(found[name])
        print(f"{measure(name).__doc__}\n    {told}", flush=True)
    return found


def measure_growth() -> list[dict[str, Any]]:
    """Return the points of growth, and print each as it comes."""
    from growth import points

    found = []
    for axis, work, size in points():
        values = measured(axis, work, str(size))
        print(f"{work}, {size:,} {axis}: {values}", flush=True)
        found.append({"axis": axis, "work": work, "size": size, **values})
    return found


def keep_figures(found: dict[str, dict[str, float]]) -> None:
    """Keep figures that the texts quote."""
    from maskmeter import __version__

    kept = _read(KEPT)
    for name, values in found.items():
        if name in ROWS:
            kept[name] = {
                "values": values,
                "command": f"python benchmarks/run.py {name} --write",
                "date": f"{datetime.now(tz=UTC):%Y-%m-%d}",
                "version": __version__,
            }
    _write(KEPT, kept)


def keep_benchmarks(**parts: dict[str, Any]) -> None:
    """Keep ratios or growth, each with what it was measured on."""
    from machine import described
    from report import KEPT as BENCHMARKS

    on = {name: {"on": described(), **part} for name, part in parts.items()}
    _write(BENCHMARKS, _read(BENCHMARKS) | on)


def write_pages() -> None:
    """Write the tables of all pages, and the pictures, from what was kept."""
    import pictures
    import report
    import scale

    for path, made in ((PAGE, page), (scale.PAGE, scale.page)):
        path.write_text(made(_read(KEPT), path.read_text(encoding="utf-8")), encoding="utf-8")
    kept = _read(report.KEPT)
    pictures.draw(kept["growth"]["points"])
    text = report.page(kept, report.PAGE.read_text(encoding="utf-8"))
    report.PAGE.write_text(text, encoding="utf-8")


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _write(path: Path, kept: dict[str, Any]) -> None:
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Measure what is asked for, print it and keep it."""
    given = options()
    if given.here:
        measure_here(*given.here)
        return
    if not given.pages:
        measure_and_keep(given.names, write=given.write)
    if given.write or given.pages:
        write_pages()


def options() -> argparse.Namespace:
    """Return what the command line asks for."""
    offered = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [*PARTS, *(name for name in ROWS if name not in ELSEWHERE)]
    offered.add_argument("names", nargs="*", metavar="name", help=", ".join(names))
    offered.add_argument("--write", action="store_true")
    offered.add_argument("--pages", action="store_true")
    offered.add_argument("--here", nargs="+", help=argparse.SUPPRESS)
    given = offered.parse_args()
    for name in given.names:
        if name not in names:
            offered.error(f"{name!r} is none of {', '.join(names)}")
    return given


def measure_and_keep(names: list[str], *, write: bool) -> None:
    """Measure some figures and parts, or everything, and keep each part once it is complete."""
    from ratios import MEASURED, ratios

    parts = [name for name in names if name in PARTS] if names else list(PARTS)
    wanted = [name for name in names if name not in PARTS]
    if "figures" in parts:
        wanted += [name for name in ROWS if name not in (*ELSEWHERE, *ON_REQUEST)]
    if "ratios" in parts:
        wanted += MEASURED
    found = measure_figures(dict.fromkeys(wanted))
    if write:
        keep_figures(found)
    if "ratios" in parts:
        compared = {name: found[name] for name in MEASURED}
        print("\n".join(f"{name}: {ratio}" for name, ratio in ratios(compared).items()))
        if write:
            keep_benchmarks(ratios={"ratios": ratios(compared), "figures": compared})
    if "growth" in parts:
        grown = measure_growth()
        if write:
            keep_benchmarks(growth={"points": grown})


if __name__ == "__main__":
    main()
