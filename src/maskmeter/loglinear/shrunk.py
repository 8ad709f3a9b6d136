"""The default model: every margin of one, two and three keys, shrunk by empirical Bayes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import polars as pl

from maskmeter.data.frames import as_kind
from maskmeter.data.microdata import Microdata
from maskmeter.errors import InputError
from maskmeter.loglinear.averaging import LogLinearSearch, WeightedModel
from maskmeter.loglinear.means import DenseMeans
from maskmeter.loglinear.model import CellModel
from maskmeter.loglinear.observed import (
    BothFiles,
    Counts,
    Observed,
    check_records,
    chosen_file,
)
from maskmeter.loglinear.search import search_models
from maskmeter.loglinear.shrinkage import Margins, Shrinkage, ShrunkTerm
from maskmeter.loglinear.terms import spell
from maskmeter.plurals import counted

LARGEST_TABLE = 50_000_000  # cells that are held at once
_NAMED = 5  # terms that a summary names


@dataclass(frozen=True, eq=False, repr=False)
class ShrunkLogLinear(CellModel):
    """A log-linear model of all margins of one, two and three keys, by empirical Bayes.

    No terms are chosen: each is shrunk towards what the rest of the model expects of it, as far as
    the counts of the file suggest. With weights the units that were not sampled are modelled in the
    same way beside the records.
    """

    _shown = (("term", "term", ""), ("gain", "gain in log likelihood", ",.1f"))
    method: ClassVar = "shrunk"
    name: ClassVar[Literal["shrunk"]] = "shrunk"

    means: DenseMeans
    unsampled: DenseMeans | None = field(default=None, kw_only=True)
    shrunk: tuple[ShrunkTerm, ...] = field(kw_only=True)
    unsampled_shrunk: tuple[ShrunkTerm, ...] | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, data: Microdata) -> Self:
        """Return the model of a file, without warnings."""
        check_records(data)
        observed = Observed.of(data)
        return cls.fitted(data, observed, sampled=observed, unsampled=observed.unsampled)

    @classmethod
    def fitted(
        cls, data: Microdata, observed: Observed, *, sampled: Margins, unsampled: Margins | None
    ) -> Self:
        """Return the model of a file by the margins of its records and of the unsampled units."""
        space, shrinkage = data.space, Shrinkage.of(sampled)
        rest = None if unsampled is None else Shrinkage.of(unsampled)
        return cls(
            data,
            DenseMeans(space, shrinkage.means),
            observed,
            unsampled=None if rest is None else DenseMeans(space, rest.means),
            shrunk=shrinkage.terms,
            unsampled_shrunk=None if rest is None else rest.terms,
        )

    def __repr__(self) -> str:
        """Return the number of terms and the fit: no cell is shown."""
        return f"ShrunkLogLinear({counted(len(self.shrunk), 'term')}: z2 {self.goodness.z2:.2f})"

    @property
    def nearest(self) -> ShrunkLogLinear:
        """The model whose fit counts: this one."""
        return self

    @cached_property
    def weighted(self) -> tuple[WeightedModel[ShrunkLogLinear], ...]:
        """The models that an estimate averages: this one alone."""
        return (WeightedModel(self),)

    @property
    def terms(self) -> tuple[str, ...]:
        """Interactions that gained anything, in words, the largest gain first."""
        gained = [one for one in self.ranked if one.gain > 0 and len(one.keys) > 1]
        return tuple(spell(one.keys, self.data.space) for one in gained)

    @cached_property
    def ranked(self) -> tuple[ShrunkTerm, ...]:
        """All terms, the largest gain first."""
        return tuple(sorted(self.shrunk, key=lambda one: -one.gain))

    @property
    def exact_sums(self) -> bool:
        """Whether sums over all cells are worked out: always, for all cells are held."""
        return True

    @property
    def tau1(self) -> float:
        """Expected number of sample uniques that are population uniques."""
        return self._taus[0]

    @property
    def tau2(self) -> float:
        """Expected number of correct matches among sample uniques."""
        return self._taus[1]

    @cached_property
    def _taus(self) -> tuple[float, float]:
        return self.taus()

    @cached_property
    def score_path(self) -> LogLinearSearch:
        """The path of models that a search by scores goes through, to look at beside this one."""
        return search_models(self.data)

    def summary(self) -> str:
        """Return a short account in words."""
        good, named = self.goodness, ", ".join(self.terms[:_NAMED])
        told = f" Interactions that gained most: {named}." if named else ""
        return (
            "Empirical-Bayes log-linear model of all margins of one, two and three keys:"
            f" z1 {good.z1:.2f}, z2 {good.z2:.2f}.{told}"
        )

    def to_frame(self) -> Any:
        """Return a row for each term, the largest gain first.

        The gain is in log likelihood, against the model without the term; 0 where the counts show
        nothing that the other terms do not explain.
        """
        return as_kind(self._frame(), self.data.frame_kind)

    def _frame(self) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "term": [spell(one.keys, self.data.space) for one in self.ranked],
                "gain": [one.gain for one in self.ranked],
            }
        )


def shrink_loglinear(
    data: BothFiles | Microdata, *, counts: Counts = "original"
) -> ShrunkLogLinear:
    """Return the empirical-Bayes log-linear model of a file's keys: the default, no search.

    It starts from a flat table, goes four times through all margins of one, two and three keys, and
    replaces each by its posterior mean given what the rest of the model says of it. The order of
    categories matters: neighbours borrow strength from each other.

    Parameters
    ----------
    data
        A sample, or a release: then `counts` says which of its files.

    >>> import maskmeter as mm
    >>> census = mm.synthetic_census(size=50_000)
    >>> people = mm.bernoulli_sample(census, fraction=0.1, rng=1)
    >>> sample = mm.read(people, keys=["sex", "age", "marital"], fraction=0.1)
    >>> mm.shrink_loglinear(sample).terms
    ('age:marital', 'sex:marital', 'sex:age')
    """
    chosen = chosen_file(data, counts)
    if chosen.space.size > LARGEST_TABLE:
        raise InputError(
            f"The keys have {chosen.space.size:,} cells; at most {LARGEST_TABLE:,} are modelled at"
            " once. Use mm.search_loglinear, or fewer or coarser keys."
        )
    return ShrunkLogLinear.of(chosen)
