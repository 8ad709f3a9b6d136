"""Risk against the number of keys (section 5 of the paper): an experiment, and a user's own file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import polars as pl

from maskmeter import chart
from maskmeter.checks import (
    check_choice,
    check_list,
    check_progress,
    check_whole,
    is_number,
    shown,
)
from maskmeter.data.keys import Key, KeySpace
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.display import InWords
from maskmeter.errors import InputError, without_warnings
from maskmeter.loglinear import search_loglinear
from maskmeter.mechanism import Mechanism, Misclassification, seen_through
from maskmeter.perturb import Release
from maskmeter.plurals import counted
from maskmeter.risk import Risk, approximate_risk, estimate_risk, exact_risk
from maskmeter.risk.uniques import check_counts, check_data, known_mechanism
from maskmeter.streams import RandomSource, seed_of, uniforms

Subsets = Literal["nested", "all", "drop-one"]

_MOST_SUBSETS = 2000


@dataclass(frozen=True)
class KeySubset:
    """Some keys, and the risk when an intruder knows just these.

    `risk` is (2.8), and `without_error` the same as if nothing had been misclassified; both are
    `estimated` when the population is not known. `simple` sums (2.5), and is NaN for estimates.
    `theta` is the misclassification of the experiment, else NaN.
    """

    number: int
    keys: tuple[str, ...]
    theta: float
    uniques: int
    without_error: float
    simple: float
    risk: float
    estimated: bool


@dataclass(frozen=True, eq=False)
class KeyCurve(InWords):
    """Risk against the number of keys, with and without misclassification."""

    _shown = (
        ("number", "keys", ""),
        ("keys", "which", ""),
        ("theta", "theta", "g"),
        ("uniques", "sample uniques", ","),
        ("without_error", "matches without error", ",.1f"),
        ("simple", "by (2.5)", ",.1f"),
        ("risk", "correct matches", ",.1f"),
    )

    subsets: tuple[KeySubset, ...]

    def __repr__(self) -> str:
        """Return the headline."""
        return (
            f"KeyCurve({counted(len(self.subsets), 'set')} of keys; peak at"
            f" {counted(self.peak.number, 'key')})"
        )

    @property
    def estimated(self) -> bool:
        """Whether the population is not known, so that the risks are estimates."""
        return any(one.estimated for one in self.subsets)

    @property
    def peak(self) -> KeySubset:
        """The keys with the most risk under misclassification, if there is any."""
        with_error = [one for one in self.subsets if one.theta != 0]
        return max(with_error or self.subsets, key=lambda one: one.risk)

    def peaks(self) -> pl.DataFrame:
        """Return, for each theta, the number of keys at which the risk is largest."""
        frame = self.to_frame().with_columns(pl.col("theta").fill_nan(None))
        largest = frame.group_by("theta", maintain_order=True).agg(
            pl.col("number").sort_by("risk").last(), pl.col("risk").max()
        )
        return largest.sort("theta")

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each set of keys."""
        rows = [vars(one) | {"keys": ", ".join(one.keys)} for one in self.subsets]
        return pl.DataFrame(rows)

    def summary(self) -> str:
        """Return a short account."""
        lines, kind = [], "estimated" if self.estimated else "exact"
        for theta, number, risk in self.peaks().iter_rows():
            under = "The" if theta is None else f"With theta {theta:g}: the"
            lines.append(
                f"{under} {kind} risk is largest with {counted(number, 'key')}"
                f" ({risk:.1f} correct matches)."
            )
        return "\n".join(lines)

    def plot(self) -> Any:
        """Return an Altair chart of the risk against the number of keys."""
        frame = self.to_frame()
        varied = frame["theta"].is_not_nan().any()
        lines = [
            frame.select(
                "number",
                matches="risk",
                error=pl.format("theta {}", "theta") if varied else pl.lit("with errors"),
            )
        ]
        if not (varied and (frame["theta"] == 0).any()):
            bare = frame.unique("keys", maintain_order=True)
            lines.append(bare.select("number", matches="without_error", error=pl.lit("no error")))
        return chart.curves(
            pl.concat(lines),
            x="Number of keys",
            y="Estimated correct matches" if self.estimated else "Correct matches",
            title="Risk against the number of keys",
            subtitle=f"With errors the risk peaks at {counted(self.peak.number, 'key')}"
            + (f" (theta {self.peak.theta:g})" if self.peak.theta > 0 else ""),
        )


def binary_keys_experiment(
    *,
    population: int = 100_000,
    sample: int = 2_000,
    keys: Sequence[int] = (5, 8, 11, 15, 20, 25, 30),
    p: float = 0.2,
    thetas: Sequence[float] = (0.0, 0.01, 0.05, 0.1),
    rng: RandomSource = 2010,
    progress: Callable[[KeySubset], object] | None = None,
) -> KeyCurve:
    """Return the risk of a sample with more and more independent binary keys.

    Each key is 2 with probability p. A 1 is recorded as 2 with probability theta, and a 2 as 1
    with (1 - p) theta / p, so that the margin stays as it is.

    >>> import maskmeter as mm
    >>> curve = mm.binary_keys_experiment(population=5_000, sample=200, keys=(4, 10), thetas=(0.0, 0.1))
    >>> [(one.number, one.theta) for one in curve.subsets]
    [(4, 0.0), (4, 0.1), (10, 0.0), (10, 0.1)]
    """
    check_whole(population, name="population", least=2)
    check_whole(sample, name="sample", least=1)
    check_progress(progress)
    most = max(check_whole(one, name="keys", least=1) for one in check_list(keys, name="keys"))
    if not is_number(p) or not 0 < p < 1 or sample > population:
        raise InputError(
            "`p` must be between 0 and 1, and the sample no larger than the population."
        )
    matrices = {theta: _binary_matrix(theta, p) for theta in check_list(thetas, name="thetas")}
    seed = seed_of(rng)
    words = [uniforms(seed, f"key {c}", start=0, stop=population) for c in range(most)]
    units = (np.stack(words, axis=1) < p).astype(np.uint8)
    chosen = np.argsort(uniforms(seed, "sample", start=0, stop=population))[:sample]
    found = []
    for number in keys:
        space = KeySpace(Key(f"key{c + 1}", (1, 2)) for c in range(number))
        table = KeyTable.of(space, units[:, :number])
        original = Microdata(space, units[chosen, :number], fraction=sample / population)
        bare = exact_risk(original, table).total
        for theta, P in matrices.items():
            errors = Misclassification(dict.fromkeys(space.names, P) if theta else {}).on(space)
            moved = original.with_codes(errors.draw(original.codes, rng=seed))
            release = Release(original, moved, errors)
            found.append(_known(_Part(release, None, original), table, float(theta), bare))
            if progress is not None:
                progress(found[-1])
    return KeyCurve(tuple(found))


def risk_by_keys(
    data: Release | Microdata,
    population: KeyTable | None = None,
    *,
    subsets: Subsets = "nested",
    order: str | Sequence[str] | None = None,
    misclassification: Any = None,
    progress: Callable[[KeySubset], object] | None = None,
) -> KeyCurve:
    """Return the risk of a file when an intruder knows only some of its keys.

    Parameters
    ----------
    population
        Counts of the true keys; without them every set of keys has a search and an estimate.
    subsets
        "nested" adds one key after the other, in the file's order or in that of `order`; "all"
        goes through every set of keys, and "drop-one" through all keys and all but one of them.
        Misclassification that depends on a key outside a set is averaged over the records.

    >>> import maskmeter as mm
    >>> census = mm.synthetic_census(size=50_000)
    >>> population = mm.count(census, keys=["sex", "lad", "age", "ethnicity"])
    >>> people = mm.bernoulli_sample(census, fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=population.space, fraction=0.05)
    >>> release = mm.Swap("lad", rate=0.2).apply(sample, rng=1)
    >>> [one.uniques for one in mm.risk_by_keys(release, population).subsets]
    [0, 0, 64, 352]
    """
    check_data(data)
    check_choice(subsets, Subsets, name="subsets")
    released, original, mechanism = known_mechanism(data, misclassification)
    if population is not None:
        check_counts(population)
    check_progress(progress)
    names = _ordered(released, order)
    before = data.original if isinstance(data, Release) else data
    found = []
    for chosen in _chosen(names, subsets):
        part = _projected(released, original, mechanism, chosen, before)
        table = None if population is None else population.project(list(chosen))
        found.append(_estimated(part) if table is None else _known(part, table, float("nan")))
        if progress is not None:
            progress(found[-1])
    return KeyCurve(tuple(found))


def _known(data: _Part, population: KeyTable, theta: float, bare: float | None = None) -> KeySubset:
    with without_warnings():
        exact = exact_risk(data.assessed, population, misclassification=data.errors)
        simple = approximate_risk(data.assessed, population, misclassification=data.errors)
        bare = exact_risk(data.before, population).total if bare is None else bare
    return _subset(exact, theta, bare, simple=simple.total)


def _estimated(data: _Part) -> KeySubset:
    with without_warnings():
        model = search_loglinear(data.before)
        bare = estimate_risk(data.before, model, interval="none")
        serves = model if isinstance(data.assessed, Release) else None  # the truth is known
        risk = estimate_risk(data.assessed, serves, misclassification=data.errors, interval="none")
    return _subset(risk, float("nan"), bare.total)


def _subset(
    risk: Risk, theta: float, without_error: float, *, simple: float | None = None
) -> KeySubset:
    """Return a set of keys with its risks; without `simple` they are estimates."""
    names = risk.data.space.names
    return KeySubset(
        number=len(names),
        keys=tuple(names),
        theta=theta,
        uniques=risk.uniques,
        without_error=without_error,
        simple=float("nan") if simple is None else simple,
        risk=risk.total,
        estimated=simple is None,
    )


def _ordered(data: Microdata, order: str | Sequence[str] | None) -> tuple[str, ...]:
    listed = data.space.chosen(order) if isinstance(order, str) else order
    names = data.space.names if listed is None else tuple(check_list(listed, name="order"))
    if len(set(names)) < len(names):
        raise InputError(f"`order` must be a list of different keys, not {shown(order)}.")
    for name in names:
        data.space.index(name)
    return names


def _chosen(names: tuple[str, ...], subsets: Subsets) -> Iterator[tuple[str, ...]]:
    if subsets == "nested":
        yield from (names[:number] for number in range(1, len(names) + 1))
        return
    if subsets == "drop-one":
        yield names
        if len(names) > 1:
            yield from (tuple(one for one in names if one != left_out) for left_out in names)
        return
    if 2 ** len(names) > _MOST_SUBSETS:
        raise InputError(
            f"{len(names)} keys have {2 ** len(names) - 1:,} subsets; at most {_MOST_SUBSETS:,} can be"
            ' assessed. Name fewer keys in `order`, or use subsets="nested".'
        )
    for number in range(1, len(names) + 1):
        yield from combinations(names, number)


@dataclass(frozen=True)
class _Part:
    """A file seen through some of its keys."""

    assessed: Release | Microdata
    errors: Misclassification | None
    before: Microdata


def _projected(
    released: Microdata,
    original: Microdata | None,
    mechanism: Mechanism,
    names: tuple[str, ...],
    before: Microdata,
) -> _Part:
    """Return the file with some keys only; what depends on others is averaged over the records."""
    if original is not None:
        seen = Release(original, released, mechanism).project(names)
        return _Part(seen, None, seen.original)
    errors = seen_through(mechanism, names, true=released.codes, weights=released.weights)
    return _Part(released.project(names), errors, before.project(names))


def _binary_matrix(theta: float, p: float) -> list[list[float]]:
    """Return P[true, released] of a binary key whose margin it leaves as it is."""
    back = (1 - p) * theta / p if is_number(theta) else float("nan")
    if not 0 <= back <= 1:
        raise InputError(
            f"Each of `thetas` must be between 0 and {min(1.0, p / (1 - p)):g} when p is {p:g}."
        )
    return [[1 - theta, theta], [back, 1 - back]]
