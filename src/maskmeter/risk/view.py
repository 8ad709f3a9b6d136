"""A file through some of its keys, as one intruder sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from maskmeter.checks import check_choice
from maskmeter.data.keys import KeySpace
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.errors import ColumnNotFoundError, InputError
from maskmeter.loglinear import DEFAULT_MODEL, ModelName
from maskmeter.mechanism import Mechanism, Misclassification, as_mechanism
from maskmeter.perturb import Release
from maskmeter.risk.estimation import check_method, estimate
from maskmeter.risk.intruder import EXACT_MATCH, InclusionBy, Intruder
from maskmeter.risk.known import exact
from maskmeter.risk.models import Model, Models, named
from maskmeter.risk.population import Uniques, population_of
from maskmeter.risk.released_cells import Method, ReleasedCells, fitted_file
from maskmeter.risk.result import Risk
from maskmeter.risk.sight import Sight

Errors: TypeAlias = Misclassification | Mechanism | Mapping[Any, Any] | None
Known: TypeAlias = str | Sequence[str] | Mapping[str, str | Sequence[str]] | None

ALL_KEYS = "all keys"


@dataclass(frozen=True, eq=False)
class View:
    """One file through some keys, to one intruder.

    `counts` are those of the population, in the categories of the original file; without them the
    risk is estimated by a model. `errors` are those that the original was recorded with. Views that
    come from one another share their `models`.

    >>> import maskmeter as mm
    >>> census = mm.synthetic_census(size=50_000)
    >>> people = mm.bernoulli_sample(census, fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=["lad", "age", "ethnicity"], fraction=0.05)
    >>> view = View.of(mm.Swap("lad", rate=0.2).apply(sample, rng=1))
    >>> [round(one.risk().total) for one in (view.before(), view, view.without("lad"))]
    [85, 69, 10]
    """

    release: Release
    keys: tuple[str, ...]
    counts: KeyTable | None = None
    errors: Errors = None
    models: Models = field(default_factory=Models)
    sampled_by: InclusionBy = "true"
    supposed: bool = False  # that there were no errors

    @classmethod
    def of(
        cls,
        data: Release | Microdata,
        keys: Sequence[str] = (),
        *,
        counts: KeyTable | None = None,
        errors: Errors = None,
        sampled_by: InclusionBy = "true",
        model: ModelName = DEFAULT_MODEL,
    ) -> View:
        """Return the view of a release, or of a sample as it is, through some keys or all.

        Estimates rest on the `model` of this name.
        """
        check_data(data)
        check_choice(model, ModelName, name="model")
        if counts is not None and not isinstance(counts, KeyTable):
            raise InputError(
                f"Give the population as counts (mm.count), not as a {type(counts).__name__}."
            )
        check_choice(sampled_by, InclusionBy, name="inclusion")
        release = data if isinstance(data, Release) else Release.unchanged(data)
        names = tuple(keys) or release.released.space.names
        return cls(release, names, counts, errors, Models(model), sampled_by)

    @cached_property
    def mechanism(self) -> Mechanism:
        """How the true keys came to be the released ones: errors, then protection.

        Both are composed on all keys before the keys that are not known are averaged out, once and
        over their joint distribution: what one depends on, the other may have changed. With
        recording errors that is the distribution of the population where it is known, else that of
        the records, whose keys are then not quite the true ones.
        """
        whole = self.release.mechanism
        return self._seen(whole if self.errors is None else self._recording.then(whole))

    def _seen(self, whole: Mechanism) -> Mechanism:
        """Return a mechanism on all keys as those see it who know these."""
        truth = self.release.truth
        if self.keys == truth.space.names:
            return whole
        counts = self._all_counts if self.errors is not None else None
        if counts is None:
            return whole.marginal(
                self.keys, true=truth.codes, weights=truth.amounts, times=truth.times
            )
        return whole.marginal(self.keys, true=counts.codes, times=counts.counts.astype(np.float64))

    @property
    def _recording(self) -> Mechanism:
        """The errors that the original was recorded with, by the keys of the release."""
        release, original = self.release, self.release.original
        errors = as_mechanism(self.errors, original.space)
        if not release.groups:
            return errors
        counts = None if self.counts is None else _held_by(self.counts, original.space)
        true, weights = original.codes, original.amounts
        if counts is not None:
            true, weights = counts.codes, counts.counts.astype(np.float64)
        return errors.coarsened(release.truth.space, release.groups, true=true, weights=weights)

    @property
    def _all_counts(self) -> KeyTable | None:
        """Population counts of all keys of the release, if they are known."""
        if self.counts is None:
            return None
        return _held_by(self.release.recoded(self.counts), self.release.truth.space)

    @cached_property
    def sight(self) -> Sight:
        """The released records with these keys, and what lies behind them."""
        release = self.release
        whole = self.keys == release.released.space.names
        recorded = release.truth if whole else release.truth.project(self.keys)
        if release.released is release.truth:
            released = recorded
        elif whole:
            released = release.released
        else:
            moved = release.released.project(self.keys)
            released = replace(recorded.with_codes(moved.codes), held=moved.held)
        original = release.original
        before = recorded if release.truth is original else original.project(self.keys)
        exchanged = whole and any(one.exchanged for one in release.rare)
        errors, erring = self.errors is not None, tuple[str, ...]()
        if errors:
            erring = tuple(as_mechanism(self.errors, original.space).touched)
        return Sight(released, recorded, self.mechanism, before.uniques, errors, exchanged, erring)

    @cached_property
    def population(self) -> KeyTable | None:
        """Population counts of these keys, with the category codes of the release."""
        return None if self.counts is None else self.checked(self.release.recoded(self.counts))

    def checked(self, counts: KeyTable) -> KeyTable:
        """Return counts with the keys and category codes of the release, if they may hold the sample."""
        recorded = self.sight.recorded
        if self.supposed:
            return counts.onto(recorded.space)
        recording = None if self.errors is None else lambda: self._seen(self._recording)
        return population_of(recorded, counts, recording)

    @cached_property
    def uniques(self) -> Uniques:
        """The sample uniques beside the population counts of their cells."""
        if self.population is None:
            raise InputError("This measure needs the population counts (mm.count).")
        return Uniques(self.sight, self.population, self.sampled_by)

    @property
    def method(self) -> Method:
        """How the risk is estimated: from the true counts if they are known."""
        return "em" if self.sight.truth is None else "expected"

    @cached_property
    def cells(self) -> ReleasedCells:
        """The occupied cells of the released file, whose risk is estimated."""
        return ReleasedCells(self.sight, self.method, self.sampled_by)

    def risk(
        self,
        *,
        intruder: Intruder = EXACT_MATCH,
        household: str | None = None,
        interval: Literal["model", "none"] = "model",
    ) -> Risk:
        """Return the risk from an intruder: exact when the population is known, else estimated."""
        check_choice(intruder, Intruder, name="intruder")
        if self.population is not None:
            return exact(self.uniques, intruder)
        check_method(self.sight, self.method, intruder)
        model = self.models.for_file(fitted_file(self.sight, self.method))
        return estimate(
            self.cells, model, intruder=intruder, household=household, interval=interval
        )

    def before(self) -> View:
        """Return the same keys of the file before protection; recording errors remain."""
        return self.with_release(Release.unchanged(self.release.original))

    def without_errors(self) -> View:
        """Return the view of the file as if it had been recorded without error.

        Nobody may truly have a category that only errors make: nothing is refused for it.
        """
        return replace(self, errors=None, supposed=self.errors is not None)

    def without(self, key: str) -> View:
        """Return the view of an intruder who does not know one of the keys."""
        if key not in self.keys:
            raise ColumnNotFoundError(key, self.keys, what="known key")
        return self.through([name for name in self.keys if name != key])

    def through(self, keys: str | Sequence[str]) -> View:
        """Return the view of the same file through other keys: a list, or text such as "a,b"."""
        names = self.release.truth.space.project(keys).names
        return replace(self, keys=names)

    def with_release(self, other: Release) -> View:
        """Return the same keys of another release of the file."""
        return replace(self, release=other)


def _held_by(counts: KeyTable, space: KeySpace) -> KeyTable | None:
    """Return the counts of the cells of a space; None when some of its keys were not counted."""
    if not set(space.names) <= set(counts.space.names):
        return None
    table = counts.onto(space)
    inside = (table.codes < np.array(space.sizes)).all(axis=1)
    return KeyTable.of(space, table.codes[inside], counts=table.counts[inside])


def views(
    data: Release | Microdata,
    known: Known = None,
    *,
    counts: KeyTable | None = None,
    errors: Errors = None,
    model: Model = DEFAULT_MODEL,
) -> dict[str, View]:
    """Return the view of each intruder by the name of the scenario; all share their models."""
    name = named(model)
    whole = View.of(data, counts=counts, errors=errors, model=name or DEFAULT_MODEL)
    seen = {
        name: whole.through(keys)
        for name, keys in scenarios(known, whole.release.truth.space).items()
    }
    if name is None and counts is None:
        if len(seen) > 1:
            raise InputError(
                "A fitted `model` serves one set of known keys, but `known` has several. Give the name"
                ' of a kind of model, such as "shrunk", or leave `model` out.'
            )
        (one,) = seen.values()
        one.models.take(model, one.sight, one.method)
    return seen


def scenarios(known: Known, space: KeySpace) -> dict[str, tuple[str, ...]]:
    """Return the keys of each intruder by the name of the scenario, in the order of the file.

    `known` is a list of keys, text such as "age,sex", or a dictionary of these; without it an
    intruder knows all keys.

    >>> from maskmeter.data.keys import Key
    >>> space = KeySpace([Key("sex", ["f", "m"]), Key("age", [1, 2]), Key("lad", [1, 2])])
    >>> scenarios("age, sex", space)
    {'sex, age': ('sex', 'age')}
    """
    if isinstance(known, Mapping):
        if not known:
            raise InputError("`known` must name at least one scenario.")
        return {str(name): _keys(keys, space, f"{str(name)!r}") for name, keys in known.items()}
    keys = space.names if known is None else _keys(known, space, "`known`")
    return {ALL_KEYS if keys == space.names else ", ".join(keys): keys}


def _keys(given: object, space: KeySpace, name: str) -> tuple[str, ...]:
    """Return the keys of one scenario in the order of the file."""
    listed = space.chosen(given) if isinstance(given, str) else given
    if not isinstance(listed, list | tuple) or not listed:
        raise InputError(f"{name} must name at least one key: a list, or text such as 'a,b'.")
    for key in listed:
        space.index(key)
    return tuple(key for key in space.names if key in listed)


def check_data(data: object) -> None:
    """Refuse what is neither a release nor a sample."""
    if not isinstance(data, Release | Microdata):
        raise InputError(f"Give a release or a sample (mm.read), not a {type(data).__name__}.")
