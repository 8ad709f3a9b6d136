"""Print the figures to hold, each measured in a fresh process: `make bench`.

Times are the best of several runs, beside a plain reference in the same process where there is
one, for machines differ and are noisy. Memory is the peak resident size of the process.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import maskmeter as mm


def best(action: Callable[[], object], *, times: int = 5) -> float:
    """Return the shortest of several times, in seconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return min(taken)


def python(code: str) -> float:
    """Return how long a new interpreter takes to run some code."""
    return best(lambda: subprocess.run([sys.executable, "-c", code], check=True))  # noqa: S603 - our own code


def imports() -> str:
    """Import time against the libraries that are needed anyway (hold 1.3x), and --help."""
    names = "import maskmeter as mm; [getattr(mm, name) for name in mm.__all__]"
    ours, every = python("import maskmeter"), python(names)
    plain = python("import numpy, polars, narwhals")
    command = [sys.executable, "-m", "maskmeter", "--help"]
    shown = best(lambda: subprocess.run(command, check=True, capture_output=True))  # noqa: S603 - our own command
    return (
        f"import {ours:.3f} s, with every public name {every:.3f} s,"
        f" numpy + polars + narwhals {plain:.3f} s: {ours / plain:.2f}x and {every / plain:.2f}x;"
        f" --help {shown:.2f} s (hold 0.6 s)"
    )


def census() -> str:
    """Time of building the census (hold 5 s)."""
    import maskmeter as mm  # noqa: PLC0415 - a fresh process for each figure

    return f"{best(mm.synthetic_census, times=3):.2f} s for 1,468,255 people"


def counting() -> str:
    """Time of counting a Parquet file of 14.7 million rows, against bare Polars (hold 1.2x)."""
    import polars as pl  # noqa: PLC0415 - the same

    import maskmeter as mm  # noqa: PLC0415 - the same

    make = (
        "import maskmeter as mm, polars as pl, sys;"
        "pl.concat([mm.synthetic_census()] * 10).write_parquet(sys.argv[1])"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "census.parquet"
        subprocess.run([sys.executable, "-c", make, path], check=True)  # noqa: S603 - our own code
        lazy = pl.scan_parquet(path)
        names = lazy.collect_schema().names()

        def plain() -> object:
            return lazy.group_by(names).len().collect(engine="streaming")

        reference = best(plain)
        ours = best(lambda: mm.count(path, keys=names))
    return f"{ours:.2f} s, Polars {reference:.2f} s: {ours / reference:.2f}x"


def _paper_sized() -> tuple[mm.Microdata, mm.KeyTable]:
    import maskmeter as mm  # noqa: PLC0415 - the same

    people = mm.synthetic_census()
    population = mm.count(people, keys=people.columns)
    drawn = mm.bernoulli_sample(people, fraction=0.01, rng=1)
    return mm.read(drawn, keys=population.space, fraction=0.01), population


def _exact(keys: tuple[str, ...]) -> str:
    import maskmeter as mm  # noqa: PLC0415 - the same

    sample, population = _paper_sized()
    errors = mm.Misclassification(
        {name: mm.stay_or_move(population.space[name].size, stay=0.9) for name in keys}
    )

    def action() -> mm.Risk:
        return mm.exact_risk(sample, population, misclassification=errors)

    return f"{1000 * best(action):.1f} ms for {action().uniques:,} uniques"


def exact_one_key() -> str:
    """Time of exact risk, one key misclassified (hold 50 ms)."""
    return _exact(("lad",))


def exact_six_keys() -> str:
    """Time of exact risk, all six keys misclassified (hold 500 ms)."""
    return _exact(("lad", "sex", "age", "marital", "ethnicity", "activity"))


def exact_thirty_keys() -> str:
    """Time of exact risk, 30 binary keys, N = 100,000, n = 2,000 (hold 10 s and 1 GB)."""
    import numpy as np  # noqa: PLC0415 - the same

    import maskmeter as mm  # noqa: PLC0415 - the same

    theta, p = 0.05, 0.2
    codes: Any = (np.random.default_rng(1).random((100_000, 30)) < p).astype(np.uint8)
    space = mm.KeySpace(mm.Key(f"x{c}", (1, 2)) for c in range(30))
    population = mm.KeyTable.of(space, codes)
    P = [[1 - theta, theta], [(1 - p) * theta / p, 1 - (1 - p) * theta / p]]
    errors = mm.Misclassification(dict.fromkeys(space.names, P))
    sample = mm.Microdata(space, errors.on(space).draw(codes[:2000], rng=1), fraction=0.02)
    taken = best(lambda: mm.exact_risk(sample, population, misclassification=errors), times=1)
    return f"{taken:.2f} s"


def _whole_census() -> mm.Microdata:
    import maskmeter as mm  # noqa: PLC0415 - the same

    people = mm.synthetic_census()
    return mm.read(people, keys=people.columns, fraction=0.5)


def pram() -> str:
    """Time of PRAM of one key of 1.47 million records (hold 0.1 s)."""
    import maskmeter as mm  # noqa: PLC0415 - the same

    data = _whole_census()
    return f"{1000 * best(lambda: mm.Pram('lad', stay=0.8).apply(data, rng=1)):.0f} ms"


def swap() -> str:
    """Time of swapping one key of 1.47 million records (hold 2 s)."""
    import maskmeter as mm  # noqa: PLC0415 - the same

    data = _whole_census()
    steps = {
        "20 %": mm.Swap("lad", 0.2),
        "20 % of sex": mm.Swap("sex", 0.2),
        "20 % within age, sex and marital status": mm.Swap(
            "lad", 0.2, within=("age", "sex", "marital")
        ),
        "all": mm.Swap("lad", 1.0),
    }
    taken = []
    for name, step in steps.items():
        seconds = best(partial(step.apply, data, rng=1), times=3)
        taken.append(f"{name} {seconds:.2f} s")
    return ", ".join(taken)


def streamed_pram() -> str:
    """Time of PRAM of 100 million records, in parts, against a bare numpy alias draw (hold 2x)."""
    import numpy as np  # noqa: PLC0415 - the same

    import maskmeter as mm  # noqa: PLC0415 - the same

    size, part, parts = 11, 1_000_000, 100
    space = mm.KeySpace([mm.Key("lad", range(size))])
    codes: Any = np.random.default_rng(1).integers(0, size, (part, 1), dtype=np.uint8)
    mechanism = mm.Pram("lad", stay=0.8).mechanism(mm.KeyTable.of(space, codes))

    def ours() -> None:
        for start in range(0, part * parts, part):
            mechanism.draw(codes, rng=1, start=start)

    keep, other = mechanism.factors[0].alias.keep, mechanism.factors[0].alias.other

    def bare() -> None:
        rng = np.random.default_rng(1)
        for _ in range(parts):
            scaled = rng.random(part) * size
            column = scaled.astype(np.int64)
            place = codes[:, 0].astype(np.int64) * size + column
            np.where(scaled - column < keep[place], column, other[place]).astype(np.uint8)

    reference, taken = best(bare, times=1), best(ours, times=1)
    return f"{taken:.1f} s, bare {reference:.1f} s: {taken / reference:.2f}x"


def fit_all_two_way() -> str:
    """Time of the all-two-way fit, tau2 within 1e-3 of its limit (hold 0.5 s)."""
    import numpy as np  # noqa: PLC0415 - the same

    import maskmeter as mm  # noqa: PLC0415 - the same
    from maskmeter.loglinear.result import unadjusted  # noqa: PLC0415 - the same

    sample, _ = _paper_sized()
    taken = best(lambda: mm.fit_loglinear(sample, "all-two-way"), times=3)
    model = mm.fit_loglinear(sample, "all-two-way")
    limit = unadjusted(mm.fit_loglinear(sample, "all-two-way", tolerance=1e-9), phi=0)[1]
    off = abs(unadjusted(model, phi=0)[1] / limit - 1)
    targets = [(term, model.observed.margin(term)) for term in model.means.generators]
    table: Any = np.ones(sample.space.sizes)

    def dense_sweep() -> None:
        for term, target in targets:
            others = tuple(axis for axis in range(table.ndim) if axis not in term)
            margin = table.sum(axis=others, keepdims=True)
            scale = target.reshape(margin.shape) / np.maximum(margin, 1e-300)
            np.multiply(table, scale, out=table)

    dense = best(dense_sweep, times=3)
    return (
        f"{taken:.2f} s for {model.sweeps} sweeps ({1000 * taken / model.sweeps:.1f} ms each, dense"
        f" numpy {1000 * dense:.1f} ms), tau2 off by {off:.0e}"
    )


def search() -> str:
    """Time of the default search (hold 1 s)."""
    import maskmeter as mm  # noqa: PLC0415 - the same

    sample, _ = _paper_sized()
    return f"{best(lambda: mm.search_loglinear(sample), times=3):.2f} s"


def forward_search() -> str:
    """Time of the paper's search to abs(z2) < 1.96 (42 fits; R's loglin takes 10 s: hold 1 s)."""
    import maskmeter as mm  # noqa: PLC0415 - the same

    sample, _ = _paper_sized()
    short = partial(mm.search_loglinear, sample, method="forward", enough=1.96)
    whole = partial(mm.search_loglinear, sample, method="forward")
    return f"{best(short, times=3):.2f} s; until z2 comes no closer {best(whole, times=2):.2f} s"


def estimate() -> str:
    """Peak memory of read, search and estimate after a swap (hold 400 MB), and their times."""
    import maskmeter as mm  # noqa: PLC0415 - the same

    make = (
        "import maskmeter as mm, sys;"
        "mm.bernoulli_sample(mm.synthetic_census(), fraction=0.01, rng=1).write_csv(sys.argv[1])"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "survey.csv"
        subprocess.run([sys.executable, "-c", make, path], check=True)  # noqa: S603 - our own code
        keys = ["lad", "sex", "age", "marital", "ethnicity", "activity"]
        sample = mm.read(path, keys=keys, fraction=0.01)
        release = mm.Swap("lad", rate=0.2).apply(sample, rng=1)
    model = mm.search_loglinear(release)
    bare = best(lambda: mm.estimate_risk(release, model, interval="none"))
    whole = best(lambda: mm.estimate_risk(release, model))
    return f"estimate {bare:.2f} s, its interval {whole - bare:.3f} s more (hold 0.2 s)"


def bootstrap() -> str:
    """Time of an interval by 100 searches (hold 60 s)."""
    import maskmeter as mm  # noqa: PLC0415 - the same

    sample, _ = _paper_sized()
    model = mm.search_loglinear(sample)
    taken = best(lambda: mm.estimate_risk(sample, model, interval="bootstrap"), times=1)
    return f"{taken:.1f} s"


def sixteen_releases() -> str:
    """Time of the paper's map of sixteen releases, three draws each (hold 30 s)."""
    import maskmeter as mm  # noqa: PLC0415 - the same
    from maskmeter.paper.rerun import map_candidates  # noqa: PLC0415 - the same

    sample, population = _paper_sized()
    candidates = map_candidates(sample)
    axis = {"loss": ("lad", "ethnicity"), "measure": "raad", "associations": 0}
    options: Any = {**axis, "replications": 3, "rng": 1}
    exact = best(lambda: mm.compare(sample, candidates, population=population, **options), times=1)
    estimated = best(lambda: mm.compare(sample, candidates, **options), times=1)
    return f"exact risk {exact:.1f} s, estimated risk {estimated:.1f} s"


def paper() -> str:
    """Time and memory of `maskmeter paper` at full scale (hold 3 minutes and 2 GB)."""
    from maskmeter.paper import run_paper  # noqa: PLC0415 - the same

    with tempfile.TemporaryDirectory() as folder:
        return f"{best(lambda: run_paper().write(folder), times=1):.0f} s"


FIGURES = (
    imports,
    census,
    counting,
    exact_one_key,
    exact_six_keys,
    exact_thirty_keys,
    pram,
    swap,
    streamed_pram,
    fit_all_two_way,
    search,
    forward_search,
    estimate,
    bootstrap,
    sixteen_releases,
    paper,
)


def main() -> None:
    """Run one figure in this process, or each of them in a fresh one."""
    wanted = sys.argv[1:]
    if wanted:
        figure = next(one for one in FIGURES if one.__name__ == wanted[0])
        result = figure()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{figure.__doc__}\n    {result}; peak memory {peak:,.0f} MB", flush=True)
        return
    for one in FIGURES:
        subprocess.run([sys.executable, __file__, one.__name__], check=True)  # noqa: S603 - ourselves


if __name__ == "__main__":
    main()
