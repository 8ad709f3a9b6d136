"""Measure one figure each: times in seconds, sizes in MB, and ratios to a plain reference.

`run.py` runs every function in a fresh process. A time is the best of several runs, and of each
run the shorter of elapsed and processor time, so that waiting for other work does not count.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, TypeAlias

import maskmeter as mm

Values: TypeAlias = dict[str, float]

ROOT = Path(__file__).parents[1]


def best(action: Callable[[], object], *, times: int = 5) -> float:
    """Return the shortest of several times, in seconds."""
    taken = []
    for _ in range(times):
        start, used = time.perf_counter(), _processor()
        action()
        taken.append(min(time.perf_counter() - start, _processor() - used))
    return min(taken)


def _processor() -> float:
    """Return the processor time of this process and of those it started, in seconds."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def python(code: str) -> float:
    """Return how long a new interpreter takes to run some code."""
    return best(lambda: subprocess.run([sys.executable, "-c", code], check=True))  # noqa: S603 - our own code


def imports() -> Values:
    """Import time against the libraries that are needed anyway (hold 1.3x), and --help (0.6 s)."""
    names = "import maskmeter as mm; [getattr(mm, name) for name in mm.__all__]"
    ours, every = python("import maskmeter"), python(names)
    plain = python("import numpy, polars, narwhals")
    command = [sys.executable, "-m", "maskmeter", "--help"]
    shown = best(lambda: subprocess.run(command, check=True, capture_output=True))  # noqa: S603 - our own command
    return {"seconds": ours, "ratio": ours / plain, "all_names": every / plain, "help": shown}


def census() -> Values:
    """Time of building the census (hold 5 s)."""
    import maskmeter as mm

    return {"seconds": best(mm.synthetic_census, times=3)}


def counting() -> Values:
    """Time of counting a Parquet file of 14.7 million rows, against bare Polars (hold 1.2x)."""
    import polars as pl

    import maskmeter as mm

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
    return {"seconds": ours, "ratio": ours / reference}


def _paper_sized() -> tuple[mm.Microdata, mm.KeyTable]:
    import maskmeter as mm

    people = mm.synthetic_census()
    population = mm.count(people, keys=people.columns)
    drawn = mm.bernoulli_sample(people, fraction=0.01, rng=1)
    return mm.read(drawn, keys=population.space, fraction=0.01), population


def _exact(keys: tuple[str, ...]) -> Values:
    import maskmeter as mm

    sample, population = _paper_sized()
    errors = mm.Misclassification(
        {name: mm.stay_or_move(population.space[name].size, stay=0.9) for name in keys}
    )

    def action() -> mm.Risk:
        return mm.exact_risk(sample, population, misclassification=errors)

    return {"seconds": best(action), "uniques": action().uniques}


def exact_one_key() -> Values:
    """Time of exact risk, one key misclassified (hold 50 ms)."""
    return _exact(("lad",))


def exact_six_keys() -> Values:
    """Time of exact risk, all six keys misclassified (hold 500 ms)."""
    return _exact(("lad", "sex", "age", "marital", "ethnicity", "activity"))


def exact_thirty_keys() -> Values:
    """Time of exact risk, 30 binary keys, N = 100,000, n = 2,000 (hold 5 s and 1 GB)."""
    import numpy as np

    import maskmeter as mm

    theta, p = 0.05, 0.2
    codes: Any = (np.random.default_rng(1).random((100_000, 30)) < p).astype(np.uint8)
    space = mm.KeySpace(mm.Key(f"x{c}", (1, 2)) for c in range(30))
    population = mm.KeyTable.of(space, codes)
    P = [[1 - theta, theta], [(1 - p) * theta / p, 1 - (1 - p) * theta / p]]
    errors = mm.Misclassification(dict.fromkeys(space.names, P))
    sample = mm.Microdata(space, errors.on(space).draw(codes[:2000], rng=1), fraction=0.02)
    return {
        "seconds": best(
            lambda: mm.exact_risk(sample, population, misclassification=errors), times=2
        )
    }


def _whole_census() -> mm.Microdata:
    import maskmeter as mm

    people = mm.synthetic_census()
    return mm.read(people, keys=people.columns, fraction=0.5)


def pram() -> Values:
    """Time of PRAM of one key of 1.47 million records (hold 0.1 s)."""
    import maskmeter as mm

    data = _whole_census()
    return {"seconds": best(lambda: mm.Pram("lad", stay=0.8).apply(data, rng=1))}


def swap() -> Values:
    """Time of swapping one key of 1.47 million records (hold 2 s)."""
    import maskmeter as mm

    data = _whole_census()
    steps = {
        "seconds": mm.Swap("lad", 0.2),
        "of_sex": mm.Swap("sex", 0.2),
        "within": mm.Swap("lad", 0.2, within=("age", "sex", "marital")),
        "all": mm.Swap("lad", 1.0),
    }
    return {name: best(partial(step.apply, data, rng=1), times=3) for name, step in steps.items()}


def streamed_pram() -> Values:
    """Time of PRAM of 100 million records, in parts, against a bare numpy alias draw (hold 2x)."""
    import numpy as np

    import maskmeter as mm

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
    return {"seconds": taken, "ratio": taken / reference}


def fit_all_two_way() -> Values:
    """Time of the all-two-way fit, tau2 within 1e-3 of its limit (hold 0.5 s)."""
    import numpy as np

    import maskmeter as mm

    sample, _ = _paper_sized()
    taken = best(lambda: mm.fit_loglinear(sample, "all-two-way"), times=3)
    model = mm.fit_loglinear(sample, "all-two-way")
    limit = mm.fit_loglinear(sample, "all-two-way", tolerance=1e-9).taus()[1]
    off = abs(model.taus()[1] / limit - 1)
    targets = [(term, model.observed.margin(term)) for term in model.means.generators]
    table: Any = np.ones(sample.space.sizes)

    def dense_sweep() -> None:
        for term, target in targets:
            others = tuple(axis for axis in range(table.ndim) if axis not in term)
            margin = table.sum(axis=others, keepdims=True)
            scale = target.reshape(margin.shape) / np.maximum(margin, 1e-300)
            np.multiply(table, scale, out=table)

    dense = best(dense_sweep, times=3)
    return {
        "seconds": taken,
        "sweeps": model.sweeps,
        "ratio": taken / model.sweeps / dense,
        "off": off,
    }


def default_estimate() -> Values:
    """Time of the default estimate with its interval, over that of the score path and of R's loglin.

    Hold: at most the time of the score path, and a tenth of a forward search with loglin, all in
    one run.
    """
    import maskmeter as mm

    sample, _ = _paper_sized()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.MaskmeterWarning)
        ours = best(lambda: mm.estimate_risk(sample))
        path = best(lambda: mm.estimate_risk(sample, "score-path"))
    with tempfile.TemporaryDirectory() as folder:
        table = mm.KeyTable.of(sample.space, sample.codes)
        cells = Path(folder) / "cells.csv"
        table.to_frame().write_csv(cells)
        script = Path(__file__).with_name("loglin_search.R")
        told = subprocess.run(  # noqa: S603 - our own code
            ["Rscript", script, cells, "0.01"],  # noqa: S607 - R is where the user has it
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
    loglin, fits = float(told[0]), float(told[1])
    return {
        "seconds": ours,
        "over_path": ours / path,
        "loglin": loglin,
        "fits": fits,
        "over_loglin": ours / loglin,
    }


def search() -> Values:
    """Time of the score path (hold 1 s)."""
    import maskmeter as mm

    sample, _ = _paper_sized()
    return {"seconds": best(lambda: mm.search_loglinear(sample), times=3)}


def forward_search() -> Values:
    """Time of the paper's search to abs(z2) < 1.96 (42 fits; R's loglin takes 10 s: hold 1 s)."""
    import maskmeter as mm

    sample, _ = _paper_sized()
    short = partial(mm.search_loglinear, sample, method="forward", enough=1.96)
    whole = partial(mm.search_loglinear, sample, method="forward")
    return {"seconds": best(short, times=3), "to_the_end": best(whole, times=2)}


def search_of_many_keys() -> Values:
    """Time of the score path of 15,000 records with 12 and with 25 keys."""
    import numpy as np

    import maskmeter as mm

    rng, records, found = np.random.default_rng(1), 15_000, {}
    sizes = np.resize([2, 5, 3, 8, 4], 25)
    kind = rng.integers(0, 4, records)  # of people: what makes keys depend on each other
    chances = [rng.dirichlet(np.ones(size), 4).cumsum(axis=1) for size in sizes]
    drawn = [(rng.random((records, 1)) > chance[kind, :-1]).sum(axis=1) for chance in chances]
    for number in (12, 25):
        space = mm.KeySpace(mm.Key(f"key{c}", range(sizes[c])) for c in range(number))
        data = mm.Microdata(space, np.stack(drawn[:number], axis=1), fraction=0.01)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mm.MaskmeterWarning)
            found[f"keys{number}"] = best(partial(mm.search_loglinear, data), times=1)
    return found


def estimate() -> Values:
    """Time of an estimate after a swap, of its interval (hold 0.2 s), and memory (hold 400 MB)."""
    import maskmeter as mm

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
    model = mm.shrink_loglinear(release)
    bare = best(lambda: mm.estimate_risk(release, model, interval="none"))
    whole = best(lambda: mm.estimate_risk(release, model))
    return {"seconds": bare, "interval": max(whole - bare, 0.0)}


def informed() -> Values:
    """Time of the informed risk over that of exact matching (hold 1.5)."""
    import maskmeter as mm

    sample, population = _paper_sized()
    found = {}
    for name, keys in (("one", ("lad",)), ("six", population.space.names)):
        P = {key: mm.stay_or_move(population.space[key].size, stay=0.9) for key in keys}
        errors = mm.Misclassification(P)

        def exact(intruder: Any, errors: mm.Misclassification = errors) -> object:
            return mm.exact_risk(sample, population, intruder=intruder, misclassification=errors)

        found[name] = _ratio(exact)
    release = mm.Swap("lad", rate=0.2).apply(sample, rng=1)
    found["estimated"] = _ratio(lambda one: mm.estimate_risk(release, intruder=one))
    return found


def _ratio(action: Callable[[Any], object]) -> float:
    """Return the time for an informed intruder over that for exact matching."""
    return best(lambda: action("informed")) / best(lambda: action("exact-match"))


def find_redraw() -> Values:
    """Time to find a redraw at the paper's size, with one key and with two."""
    import maskmeter as mm

    sample, _ = _paper_sized()
    easy, hard = (mm.Target(max_share=share) for share in (0.06, 0.03))
    return {
        "seconds": best(lambda: mm.find_release(sample, target=easy, rng=1), times=1),
        "two": best(lambda: mm.find_release(sample, target=hard, rng=1), times=1),
    }


def bootstrap() -> Values:
    """Time of an interval by 100 samples from the model (hold 60 s)."""
    import maskmeter as mm

    sample, _ = _paper_sized()
    model = mm.shrink_loglinear(sample)
    return {"seconds": best(lambda: mm.estimate_risk(sample, model, interval="bootstrap"), times=1)}


def sixteen_releases() -> Values:
    """Time of the paper's map of sixteen releases, three draws each (hold 30 s)."""
    import maskmeter as mm
    from maskmeter.studies.paper.rerun import map_candidates

    sample, population = _paper_sized()
    candidates = map_candidates(sample)
    axis = {"loss": ("lad", "ethnicity"), "measure": "raad", "associations": 0}
    options: Any = {**axis, "replications": 3, "rng": 1}
    exact = best(lambda: mm.compare(sample, candidates, population=population, **options), times=1)
    estimated = best(lambda: mm.compare(sample, candidates, **options), times=1)
    return {"seconds": exact, "estimated": estimated}


def paper() -> Values:
    """Time and memory of `maskmeter paper` at full scale (hold 60 s and 2 GB)."""
    from maskmeter.studies.paper import run_paper

    with tempfile.TemporaryDirectory() as folder:
        return {"seconds": best(lambda: run_paper().write(folder), times=1)}


def demo() -> Values:
    """Time of `maskmeter demo`, and the disk that its files take."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "maskmeter", "demo", "--out", folder]
        taken = best(lambda: subprocess.run(command, check=True, capture_output=True), times=1)  # noqa: S603 - our own command
        files = [path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()]
    return {"seconds": taken, "disk": sum(files) / 1e6}


def packages() -> Values:
    """Count the packages that running needs, and that development needs, and their disk."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    run = _needed(project["dependencies"])
    develop = run | _needed([*extras["dev"], *extras["r"]])
    return {
        "run": len(run),
        "run_disk": sum(run.values()) / 1e6,
        "develop": len(develop),
        "develop_disk": sum(develop.values()) / 1e6,
    }


def _needed(wanted: list[str]) -> dict[str, float]:
    """Return the installed packages that some requirements bring, and their size in bytes."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found: dict[str, float] = {}
    queue = [Requirement(one) for one in wanted]
    while queue:
        one = queue.pop()
        name = canonicalize_name(one.name)
        if name in found or name == "maskmeter":
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:  # for another system or Python
            continue
        paths = [Path(str(package.locate_file(file))) for file in package.files or ()]
        found[name] = sum(path.stat().st_size for path in paths if path.is_file())
        for text in package.requires or ():
            more = Requirement(text)
            kinds = one.extras or {""}
            if more.marker is None or any(more.marker.evaluate({"extra": kind}) for kind in kinds):
                queue.append(more)
    return found


def suite() -> Values:
    """Time of `make test` (hold 5 minutes)."""
    command = ["make", "test"]
    run = partial(subprocess.run, command, cwd=ROOT, check=True, stdout=sys.stderr)
    return {"seconds": best(run, times=1)}
