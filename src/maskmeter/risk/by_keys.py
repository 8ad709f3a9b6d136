"""Risk against the number of keys that an intruder knows (section 5 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import nan
from typing import Any, Literal

import polars as pl

from maskmeter import chart
from maskmeter.checks import Progress, check_choice, check_list, check_progress, shown
from maskmeter.data.frames import POLARS, FrameKind, as_kind
from maskmeter.data.keys import KeySpace
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.display import InWords
from maskmeter.errors import InputError
from maskmeter.loglinear import DEFAULT_MODEL, ModelName
from maskmeter.perturb import Release
from maskmeter.plurals import counted
from maskmeter.risk.intruder import EXACT_MATCH, Intruder
from maskmeter.risk.known import approximate
from maskmeter.risk.left_out import summed, total_without
from maskmeter.risk.result import Risk
from maskmeter.risk.view import Errors, View

Subsets = Literal["nested", "all", "drop-one"]

_MOST_SUBSETS = 2000
SUMMED = (
    "The risk without a key comes from the model of all keys, summed over that key: no model was"
    " fitted anew."
)


@dataclass(frozen=True)
class KeySubset:
    """Some keys, and the risk when an intruder knows just these.

    `risk` is (2.8), or that from an informed intruder where one was asked for. `without_error` is the same before protection or, for a file that was not
    protected, as if it had been recorded without error. Both are `estimated` when the population is
    not known. `simple` sums (2.5), and is NaN for estimates. `theta` is the misclassification of
    the experiment, else NaN. `summed` says that no model was fitted to these keys: that of one key
    more was summed over its categories.
    """

    number: int
    keys: tuple[str, ...]
    theta: float
    uniques: int
    without_error: float
    simple: float
    risk: float
    estimated: bool
    summed: bool = False

    @classmethod
    def without(cls, view: View, key: str, *, intruder: Intruder = EXACT_MATCH) -> KeySubset:
        """Return what the view of a file comes to when one of its keys is not known."""
        if not summed(view):
            return cls.of(view.without(key), intruder=intruder)
        less = view.without(key)
        uniques, risk = total_without(view, key, intruder)
        bare = total_without(view.before(), key, intruder)[1] if less.mechanism.factors else risk
        return cls(
            number=len(less.keys),
            keys=less.keys,
            theta=nan,
            uniques=uniques,
            without_error=bare,
            simple=nan,
            risk=risk,
            estimated=True,
            summed=True,
        )

    @classmethod
    def of(
        cls,
        view: View,
        risk: Risk | None = None,
        *,
        without_error: float | None = None,
        theta: float = nan,
        intruder: Intruder = EXACT_MATCH,
    ) -> KeySubset:
        """Return what an intruder's view of a file comes to; figures that are known are given."""
        risk = view.risk(intruder=intruder, interval="none") if risk is None else risk
        if without_error is None:
            bare = view.before() if view.release.mechanism.factors else view.without_errors()
            same = not view.mechanism.factors
            bare_risk = risk if same else bare.risk(intruder=intruder, interval="none")
            without_error = bare_risk.total
        known = view.population is not None
        return cls(
            number=len(view.keys),
            keys=view.keys,
            theta=theta,
            uniques=risk.uniques,
            without_error=without_error,
            simple=approximate(view.uniques, "2.5", "expected").total if known else nan,
            risk=risk.total,
            estimated=not known,
        )


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
    frame_kind: FrameKind = field(default=POLARS, repr=False, kw_only=True)

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

    def peaks(self) -> Any:
        """Return, for each theta, the number of keys at which the risk is largest."""
        return as_kind(self._peaks(), self.frame_kind)

    def _peaks(self) -> pl.DataFrame:
        frame = self._frame().with_columns(pl.col("theta").fill_nan(None))
        largest = frame.group_by("theta", maintain_order=True).agg(
            pl.col("number").sort_by("risk").last(), pl.col("risk").max()
        )
        return largest.sort("theta")

    def to_frame(self) -> Any:
        """Return a row for each set of keys."""
        return as_kind(self._frame(), self.frame_kind)

    def _frame(self) -> pl.DataFrame:
        rows = [vars(one) | {"keys": ", ".join(one.keys)} for one in self.subsets]
        return pl.DataFrame(rows)

    def summary(self) -> str:
        """Return a short account."""
        lines, kind = [], "estimated" if self.estimated else "exact"
        for theta, number, risk in self._peaks().iter_rows():
            under = "The" if theta is None else f"With theta {theta:g}: the"
            lines.append(
                f"{under} {kind} risk is largest with {counted(number, 'key')}"
                f" ({risk:.1f} correct matches)."
            )
        if any(one.summed for one in self.subsets):
            lines.append(SUMMED)
        return "\n".join(lines)

    def plot(self) -> Any:
        """Return an Altair chart of the risk against the number of keys, or without each of them."""
        y = "Estimated correct matches" if self.estimated else "Correct matches"
        if self._drops_one:
            return self._without_one_key(y)
        frame = self._frame()
        varied = frame["theta"].is_not_nan().any()
        errors = varied or any(one.risk != one.without_error for one in self.subsets)
        lines = [
            frame.select(
                "number",
                matches="risk",
                error=pl.format("theta {}", "theta")
                if varied
                else pl.lit("with errors" if errors else "no error"),
            )
        ]
        if errors and not (varied and (frame["theta"] == 0).any()):
            bare = frame.unique("keys", maintain_order=True)
            lines.append(bare.select("number", matches="without_error", error=pl.lit("no error")))
        return chart.curves(
            pl.concat(lines),
            x="Number of keys",
            y=y,
            title="Risk against the number of keys",
            subtitle=("With errors the" if errors else "The")
            + f" risk peaks at {counted(self.peak.number, 'key')}"
            + (f" (theta {self.peak.theta:g})" if self.peak.theta > 0 else ""),
        )

    @property
    def _drops_one(self) -> bool:
        """Whether these are all keys, and all but each of them."""
        most = max(one.number for one in self.subsets)
        sizes = sorted(one.number for one in self.subsets)
        return most > 1 and sizes == [*[most - 1] * most, most]

    def _without_one_key(self, x: str) -> Any:
        """Return the risk with all keys beside that without each, the most important key first."""
        whole = max(self.subsets, key=lambda one: one.number)
        rows = [
            (key, whole.risk, one.risk)
            for one in sorted(self.subsets, key=lambda one: one.risk)
            for key in whole.keys
            if one is not whole and key not in one.keys
        ]
        return chart.paired_dots(
            pl.DataFrame(rows, schema=["key", "all", "without"], orient="row"),
            names=("all keys known", "this key not known"),
            x=x,
            y="Key",
            title="Which keys drive the risk",
            subtitle=f"The risk with all {whole.number} keys, and with each of them not known",
        )


def risk_by_keys(
    data: Release | Microdata,
    population: KeyTable | None = None,
    *,
    subsets: Subsets = "nested",
    known: str | Sequence[str] | None = None,
    intruder: Intruder = EXACT_MATCH,
    misclassification: Errors = None,
    model: ModelName = DEFAULT_MODEL,
    progress: Progress | None = None,
) -> KeyCurve:
    """Return the risk of a file when an intruder knows only some of its keys.

    Parameters
    ----------
    population
        Counts of the true keys; without them every set of keys has a model and an estimate.
    subsets
        "nested" adds one key after the other, "all" goes through every set of keys, and "drop-one"
        through all keys and all but one of them. Misclassification that depends on a key outside a
        set is averaged over the records. With many keys "drop-one" fits one model and sums it over
        the key that is left out; the result says so.
    known
        The keys that an intruder may know, in the order in which they are added; by default those
        of the file.
    intruder
        As for `mm.exact_risk`.
    model
        The kind of model, by name, as for `mm.estimate_risk`.

    >>> import maskmeter as mm
    >>> census = mm.synthetic_census(size=50_000)
    >>> population = mm.count(census, keys=["sex", "lad", "age", "ethnicity"])
    >>> people = mm.bernoulli_sample(census, fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=population.space, fraction=0.05)
    >>> release = mm.Swap("lad", rate=0.2).apply(sample, rng=1)
    >>> [one.uniques for one in mm.risk_by_keys(release, population).subsets]
    [0, 0, 64, 352]
    """
    check_choice(subsets, Subsets, name="subsets")
    check_choice(intruder, Intruder, name="intruder")
    check_progress(progress)
    view = View.of(data, counts=population, errors=misclassification, model=model)
    names = _ordered(view.keys, known, view.release.truth.space)
    whole, sets = view.through(names), list(_chosen(names, subsets))
    found = []
    for number, keys in enumerate(sets, start=1):
        if subsets == "drop-one" and number > 1:
            found.append(KeySubset.without(whole, names[number - 2], intruder=intruder))
        else:
            found.append(KeySubset.of(view.through(keys), intruder=intruder))
        if progress is not None:
            progress(", ".join(keys), number, len(sets))
    return KeyCurve(tuple(found), frame_kind=data.frame_kind)


def _ordered(
    names: tuple[str, ...], known: str | Sequence[str] | None, space: KeySpace
) -> tuple[str, ...]:
    """Return the keys in the order in which they are added."""
    if known is None:
        return names
    listed = check_list(
        list(space.chosen(known)) if isinstance(known, str) else known, name="known"
    )
    if len(set(listed)) < len(listed):
        raise InputError(f"`known` must be a list of different keys, not {shown(known)}.")
    for name in listed:
        space.index(name)
    return tuple(listed)


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
            ' assessed. Name fewer keys in `known`, or use subsets="nested".'
        )
    for number in range(1, len(names) + 1):
        yield from combinations(names, number)
