"""Record linkage by exact matching (the paper's appendix), and an intruder who tries it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from maskmeter import chart
from maskmeter.checks import check_choice, check_whole
from maskmeter.data.frames import POLARS, FrameKind, as_kind
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable, count
from maskmeter.display import InWords
from maskmeter.errors import CategoryError, InputError
from maskmeter.mechanism import as_mechanism
from maskmeter.perturb import Release
from maskmeter.plurals import counted, plural
from maskmeter.risk import formulas
from maskmeter.risk.intruder import EXACT_MATCH, INFORMED, Intruder
from maskmeter.risk.known import likeliest_people
from maskmeter.risk.result import Risk
from maskmeter.risk.view import Errors, View, check_data
from maskmeter.streams import RandomSource, generator, seed_of
from maskmeter.types import Array

_Z99 = 2.5758
_NO_CELLS: Array = np.zeros(0)


@dataclass(frozen=True, eq=False, repr=False)
class Linkage(Risk):
    """Fellegi-Sunter linkage by exact matching: phi is the risk of each sample unique.

    `m` and `u` are the chances that a pair agrees on the cell when both are the same unit and when
    they are not, `p` the chance that a pair drawn at random is one unit.
    """

    m: Array
    u: Array
    p: Array


def linkage_probability(
    data: Release | Microdata,
    population: KeyTable,
    *,
    register: KeyTable | None = None,
    misclassification: Errors = None,
) -> Linkage:
    """Return the chance that a link made by exact matching is right, M_jj / F~_j.

    Whatever the `register` that the intruder holds (the population itself, if none is given), it
    comes to the same: m and u depend on it, phi does not.

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"age": [1, 1, 1, 2, 2, 3]})
    >>> population = mm.count(people, keys=["age"])
    >>> sample = mm.read(people[[0, 3]], keys=population.space, fraction=1 / 3)
    >>> errors = mm.Misclassification({"age": mm.stay_or_move(3, stay=0.8)})
    >>> mm.linkage_probability(sample, population, misclassification=errors).by_unique.round(4)
    array([0.2963, 0.4   ])
    """
    view = View.of(data, counts=population, errors=misclassification)
    uniques, sight = view.uniques, view.sight
    held = uniques.counts if register is None else _register(register, view, like=population)
    m, u, p = formulas.agreement(
        stay=uniques.stay,
        released=uniques.expected,
        register=held.lookup(uniques.cells).astype(np.float64),
        register_size=held.total,
        pi=sight.recorded.inclusion(uniques.cells),
        sample_size=len(sight.released),
    )
    # m p / (m p + u (1 - p)), in which what depends on the register cancels.
    phi = formulas.simple_match_probability(stay=uniques.stay, released=uniques.expected)
    return Linkage(
        "Linkage probability (appendix)",
        sight.released,
        sight.uniques,
        formulas.no_target_no_risk(phi, uniques.own),
        without_target=int((uniques.own == 0).sum()),
        ruled=True,
        assumptions=("population counts known", "links are made by exact matching"),
        unprotected=sight.unprotected,
        m=m,
        u=u,
        p=p,
    )


@dataclass(frozen=True)
class LinkageTrial(InWords):
    """What an intruder found who matched targets with a released file.

    A target whose key is that of one record is claimed to be that record. An informed intruder
    names the likeliest person for each unique record instead, so that his targets are the records.
    `expected` is the share of right claims that the closed form expects ((2.4) for exact matching),
    `expected_simple` the one of M_jj / F~_j; `interval` holds the true share in 99 of 100 trials,
    for targets and for releases drawn anew. `tau` is the exact risk from the intruder.
    """

    _shown = (("what", "right claims", ""), ("share", "share", ".2%"))

    targets: int
    claims: int
    right: int
    interval: tuple[float, float]
    expected: float
    expected_simple: float
    tau: float
    intruder: Intruder = EXACT_MATCH
    frame_kind: FrameKind = field(default=POLARS, repr=False, kw_only=True)

    @property
    def share(self) -> float:
        """Share of claims that were right; NaN without claims."""
        return self.right / self.claims if self.claims else float("nan")

    @property
    def agrees(self) -> bool:
        """Whether the expected share lies in the interval of the observed one."""
        return self.interval[0] <= self.expected <= self.interval[1]

    def summary(self) -> str:
        """Return a short account that names no record."""
        low, high = self.interval
        if self.intruder == INFORMED:
            return (
                f"For {self.claims:,} of {counted(self.targets, 'unique record')} the likeliest person"
                f" was named, and {self.right:,} {plural(self.right, 'was', 'were')} right:"
                f" {self.share:.2%} (99 % interval {low:.2%} to {high:.2%}). Expected:"
                f" {self.expected:.2%}. The informed risk of the file is {self.tau:.1f}."
            )
        return (
            f"{self.claims:,} of {counted(self.targets, 'target')} matched exactly one record, and"
            f" {self.right:,} of these claims {plural(self.right, 'was', 'were')} right: {self.share:.2%} (99 % interval {low:.2%} to {high:.2%}). Expected by"
            f" (2.4): {self.expected:.2%}, by M_jj / F~_j: {self.expected_simple:.2%}. tau is"
            f" {self.tau:.1f}."
        )

    def to_frame(self) -> Any:
        """Return observed and expected shares, a row for each."""
        return as_kind(self._frame(), self.frame_kind)

    def _frame(self) -> pl.DataFrame:
        told = {"observed": self.share, "expected by (2.4)": self.expected}
        if self.intruder == INFORMED:
            told = {"observed": self.share, "expected": self.expected}
        else:
            told["expected by M_jj / F~_j"] = self.expected_simple
        return pl.DataFrame({"what": list(told), "share": list(told.values())})

    def plot(self) -> Any:
        """Return an Altair chart of the observed and the expected shares."""
        return chart.signed_bars(
            self._frame(),
            x="Share of claims that are right",
            y="",
            title="An intruder's trial",
            subtitle=f"{counted(self.claims, 'claim')} about {counted(self.targets, 'target')}",
        )


def linkage_trial(
    data: Release | Microdata,
    population: Any,
    *,
    intruder: Intruder = EXACT_MATCH,
    register: Any = None,
    targets: int | None = None,
    assumed: Errors = None,
    rng: RandomSource = None,
) -> LinkageTrial:
    """Return what an intruder gets right who matches known people with the released file.

    Targets are drawn from the `register` (the population, if none is given), as many as it has
    unless `targets` says otherwise. Each whose key is that of exactly one record is claimed to be
    that record. The claim is right when the record was not moved there and the target is its unit,
    which is one of the F_j units that share the key: a register is taken for a random part of the
    population. An "informed" `intruder` names the likeliest person of the register for each unique
    record; the claim is right when that person's cell is the true one, and he is the one of F_k.

    `assumed` is the misclassification that the claims are held against, in place of the release's
    own, and that an informed intruder takes for true: a wrong one shows.

    >>> import maskmeter as mm
    >>> census = mm.synthetic_census(size=100_000)
    >>> population = mm.count(census, keys=["lad", "age", "ethnicity"])
    >>> people = mm.bernoulli_sample(census, fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=population.space, fraction=0.05)
    >>> release = mm.Swap("lad", rate=0.2).apply(sample, rng=1)
    >>> mm.linkage_trial(release, population, rng=1).agrees
    True
    >>> mm.linkage_trial(release, population, intruder="informed", rng=1).agrees
    True
    """
    check_data(data)
    check_choice(intruder, Intruder, name="intruder")
    if intruder == INFORMED and targets is not None:
        raise InputError(
            "An informed intruder names a person for every unique record, so `targets` does not"
            " apply. Leave it out, or limit whom he knows with `register`."
        )
    counts = _counted(population, data)
    view = View.of(data, counts=counts)
    uniques = view.uniques
    held = uniques.counts if register is None else _register(register, view, like=counts)
    number = held.total if targets is None else check_whole(targets, name="targets", least=1)
    supposed = view if assumed is None else _as_assumed(view, data, assumed)
    draws = generator(seed_of(rng), "linkage trial")
    if intruder == INFORMED:
        return _informed_trial(view, supposed, held, draws)
    exact = supposed.risk()
    simple = formulas.simple_match_probability(
        stay=supposed.uniques.stay, released=supposed.uniques.expected
    )
    own, sight = uniques.own, uniques.sight
    stayed = (sight.recorded.codes == sight.released.codes).all(axis=1)[sight.uniques] & (own > 0)
    known = held.lookup(uniques.cells).astype(np.float64)
    # Targets who match, then the one in F_j of them who is the record's own unit.
    matched = draws.multinomial(number, np.append(known, held.total - known.sum()) / held.total)
    right = draws.binomial(matched[:-1], np.where(stayed, formulas.ratio(stayed * 1.0, own), 0))
    claims, hits, weight = int(matched[:-1].sum()), int(right.sum()), known / max(known.sum(), 1)
    return LinkageTrial(
        number,
        claims,
        hits,
        _interval(hits, claims, chance=own * exact.by_unique, share=formulas.ratio(weight, own)),
        float((weight * exact.by_unique).sum()),
        float((weight * formulas.no_target_no_risk(simple, own)).sum()),
        exact.total,
        frame_kind=data.frame_kind,
    )


def _informed_trial(
    view: View, supposed: View, held: KeyTable, draws: np.random.Generator
) -> LinkageTrial:
    """Return what an intruder gets right who names the likeliest person for each unique record."""
    counts, sight = supposed.uniques.counts, view.sight
    place, chance = likeliest_people(supposed.uniques, held.lookup(counts.codes) > 0)
    claimed = place >= 0
    named = (counts.codes[place] == sight.recorded.codes[sight.uniques]).all(axis=1) & claimed
    right = draws.random(len(place)) * counts.counts[place] < named
    claims, hits = int(claimed.sum()), int(right.sum())
    return LinkageTrial(
        len(place),
        claims,
        hits,
        _interval(hits, claims),
        float(chance[claimed].mean()) if claims else 0.0,
        float("nan"),
        supposed.risk(intruder=INFORMED).total,
        INFORMED,
        frame_kind=view.release.frame_kind,
    )


def _interval(
    hits: int, claims: int, *, chance: Array = _NO_CELLS, share: Array = _NO_CELLS
) -> tuple[float, float]:
    """Return the 99 % interval of a share: claims are drawn, and so was who stayed in each cell.

    The exact binomial interval of the claims, each end moved out by what the moves add.
    """
    from scipy.stats import beta

    if not claims:
        return 0.0, 1.0
    rate = hits / claims
    low = float(beta.ppf(0.005, hits, claims - hits + 1)) if hits else 0.0
    high = float(beta.ppf(0.995, hits + 1, claims - hits)) if hits < claims else 1.0
    moved = _Z99 * float(np.sqrt((share**2 * chance * (1 - np.minimum(chance, 1))).sum()))
    return (
        max(rate - float(np.hypot(rate - low, moved)), 0.0),
        min(rate + float(np.hypot(high - rate, moved)), 1.0),
    )


def _register(given: Any, view: View, *, like: KeyTable) -> KeyTable:
    """Return a register with the population's category codes, of which it must have some.

    It has the original categories `like` the population, and is recoded as the release was.
    """
    space = view.uniques.counts.space
    table = given if isinstance(given, KeyTable) else count(given, keys=like.space)
    known = view.release.recoded(table).onto(space)
    for position, key in enumerate(space.keys):
        if not (known.codes[:, position] < key.size).any():
            raise CategoryError(
                f"Nobody in the register has any of the population's categories of {key.name!r}. Store"
                " the column with the same values in all files."
            )
    return known


def _counted(given: Any, data: Release | Microdata) -> KeyTable:
    if isinstance(given, KeyTable):
        return given
    return count(given, keys=View.of(data).release.original.space.names)


def _as_assumed(view: View, data: Release | Microdata, errors: Errors) -> View:
    """Return the view of a release as if another mechanism had made it."""
    if not isinstance(data, Release):
        raise InputError("A linkage trial needs the true keys of the records. Give a release.")
    mechanism = as_mechanism(errors, data.truth.space)
    return view.with_release(replace(data, mechanism=mechanism))
