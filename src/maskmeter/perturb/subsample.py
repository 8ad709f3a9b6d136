"""Subsampling: only some of the records are released."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from maskmeter.checks import check_fraction
from maskmeter.data.at_source import AtSource
from maskmeter.data.microdata import Microdata
from maskmeter.data.recoding import subsampled_records, thinned_records
from maskmeter.data.recounting import parts_at_source, recounted
from maskmeter.data.varying import By
from maskmeter.errors import InputError, PerturbationError
from maskmeter.perturb.changes import Thinned
from maskmeter.perturb.entries import StepEntries
from maskmeter.perturb.protecting import protect
from maskmeter.perturb.release import Release
from maskmeter.perturb.step import Perturbed, Rate, Step, as_label
from maskmeter.streams import RandomSource, uniforms_of

_LEAST = 0.01  # of the records, which a search leaves in the file


class SubsampleEntries(StepEntries, tag="subsample", frozen=True):
    """A random part of the records is kept."""

    fraction: float
    label: str | None = None

    def keys_used(self) -> Iterator[str]:
        """Yield nothing: no key matters."""
        yield from ()


@dataclass(frozen=True, init=False)
class Subsample(Step):
    """Keep each record with a probability; the others are left out of the release.

    The inclusion probabilities of the sample are multiplied by it, and weights divided, so that an
    intruder is less sure that somebody is in the file.

    Parameters
    ----------
    fraction
        The probability that a record is kept.
    label
        The name of the step and of its random stream.

    >>> import maskmeter as mm
    >>> people = mm.synthetic_census(size=1000)
    >>> sample = mm.read(people, keys=["age", "sex"], fraction=0.1)
    >>> release = mm.Subsample(0.5).apply(sample, rng=1)
    >>> len(release.original), release.released.fraction
    (1000, 0.05)
    """

    method: ClassVar[str] = "subsample"
    term: ClassVar[tuple[str, str]] = (
        "Subsampling",
        "Only a random part of the records is released, so that nobody can be sure to be in it.",
    )
    entries: ClassVar[type[StepEntries]] = SubsampleEntries
    searched: ClassVar[bool] = True
    targeted: ClassVar[bool] = False
    example: ClassVar[str] = "fraction = 0.50"

    fraction: float
    label: str

    def __init__(self, fraction: float, *, label: str | None = None) -> None:
        object.__setattr__(self, "fraction", check_fraction(fraction))
        object.__setattr__(self, "label", as_label(label, "subsample"))

    @property
    def altered_keys(self) -> tuple[str, ...]:
        """No key is changed."""
        return ()

    def describe(self, share: str) -> str:
        """Return what the step did; `share` says how many records are not released.

        >>> Subsample(0.5).describe("50% of the records")
        'Subsampling: 50% of the records were left out at random.'
        """
        return f"Subsampling: {share} were left out at random."

    def to_plan(self) -> SubsampleEntries:
        """Return the step as a plan writes it."""
        return SubsampleEntries(self.fraction, self.label)

    @classmethod
    def from_plan(cls, entries: SubsampleEntries, sample: Microdata, *, folder: Path) -> Subsample:  # noqa: ARG003
        """Return the step that a plan describes."""
        return cls(entries.fraction, label=entries.label)

    @classmethod
    def at_rate(cls, key: str, rate: float | By[float], *, within: tuple[str, ...]) -> Subsample:
        """Return the step that leaves out a share of the records, but for one in a hundred."""
        if isinstance(rate, By) or within:
            raise InputError(
                f"A family of {key!r} that subsamples has neither `target` nor `within`."
            )
        return cls(max(1 - rate, _LEAST))

    def apply(self, data: Microdata, *, rng: RandomSource = None) -> Release:
        """Return the release of a file with only this step applied."""
        return protect(data, [self], rng=rng)

    def perturb(self, data: Microdata, truth: Microdata, *, seed: int) -> Perturbed:
        """Return the records that are kept; nobody is misclassified."""
        rows = np.flatnonzero(uniforms_of(seed, self.label, data.numbers) < self.fraction)
        rates = self._rates(len(rows), len(data))
        kept = subsampled_records(data, rows, self.fraction)
        true = kept if truth is data else subsampled_records(truth, rows, self.fraction)
        return Perturbed(kept, true, rates=rates, rows=rows)

    def perturb_at_source(self, data: Microdata, truth: Microdata, *, seed: int) -> Perturbed:
        """Return the same of records that stay in an engine."""
        engine, at = parts_at_source(data)
        at.check_ids(engine)
        found = recounted(data, truth, Thinned(self.fraction, seed, self.label))
        rates = self._rates(len(found.after), len(data))
        kept, true = (
            replace(thinned_records(one, self.fraction), at_source=_thinner(one, self.fraction))
            for one in (found.after, found.truth)
        )
        return Perturbed(kept, true, rates=rates)

    def _rates(self, kept: int, records: int) -> tuple[Rate, ...]:
        """Return how many records were to be left out, and were; some must be kept."""
        if not kept:
            raise PerturbationError(
                f"{self.label!r} keeps none of the records. Use a larger fraction."
            )
        asked = 1 - self.fraction
        return (Rate(self.label, "all records", records, asked, asked, 1 - kept / records),)


def _thinner(data: Microdata, fraction: float) -> AtSource | None:
    """Return how records are found in an engine, of which a share is kept."""
    at = data.at_source
    return None if at is None else replace(at, shares=(*at.shares, fraction))
