"""Errors and warnings: what is wrong, what was found, what would work.

No message holds a record's value or a category found in the data: columns are named, records are
counted, and what the caller typed may be echoed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from threading import RLock

from maskmeter.plurals import counted, plural


class MaskmeterError(Exception):
    """The base class of all errors that maskmeter raises."""


class InputError(MaskmeterError, ValueError):
    """An argument is invalid."""


class ColumnNotFoundError(MaskmeterError, LookupError):
    """A named column or key does not exist."""

    def __init__(
        self,
        name: str,
        columns: Sequence[str],
        *,
        what: str = "column",
        listed: bool = True,
        named: bool = True,
    ) -> None:
        self.name = name
        if not named:  # the header may be a record
            super().__init__(
                f"No {what} named {name!r} among {len(columns):,}. Check that the first row of the"
                " file holds the column names."
            )
            return
        spelled = {column.lower(): column for column in columns}
        # Where a first row names the columns it may be a record: only a slip of the pen is mended.
        cutoff = 0.6 if listed else 0.8
        near = get_close_matches(str(name).lower(), list(spelled), n=1, cutoff=cutoff)
        hint = f" Did you mean {spelled[near[0]]!r}?" if near else ""
        if not listed:
            super().__init__(f"No {what} named {name!r} among {len(columns):,}.{hint}")
            return
        offer = ", ".join(columns[:12]) + (", ..." if len(columns) > 12 else "")
        super().__init__(f"No {what} named {name!r}; there are {offer}.{hint}")


class DuplicateColumnError(MaskmeterError, ValueError):
    """Several columns have the same name."""

    def __init__(self, names: Iterable[str] | None) -> None:
        if names is None:  # they may be values of a record
            super().__init__(
                "More than one column has the same name. Check that the first row of the file"
                " holds the column names, each of them once."
            )
            return
        listed = ", ".join(repr(name) for name in names)
        super().__init__(
            f"More than one column is named {listed}. Give each column a different name."
        )


class MissingValuesError(MaskmeterError, ValueError):
    """Some records have no value for a key."""

    def __init__(self, column: str, *, missing: int, records: int) -> None:
        super().__init__(
            f"{missing:,} of {counted(records, 'record')} {plural(missing, 'has', 'have')} no value for"
            f" {column!r}. Recode {plural(missing, 'it', 'them')} first, or treat missing as a"
            ' category: missing="category" (--missing category).'
        )


class CategoryError(MaskmeterError, ValueError):
    """The categories of a key are invalid, or unknown to the key."""


class MatchError(CategoryError):
    """A key has values of other types in two files, and they do not match one to one."""

    def __init__(
        self,
        key: str,
        kinds: tuple[str, str],
        here: tuple[int, int],
        there: tuple[int, int],
        files: tuple[str, str] = ("this file", "the given categories"),
    ) -> None:
        self.key, self.kinds, self.here, self.there = key, kinds, here, there
        what = f"Key {key!r} holds {kinds[0]} in {files[0]} and {kinds[1]} in {files[1]}"
        if here[0]:
            why = _unmatched(*here, *files)
        elif there[0]:
            why = _unmatched(*there, *reversed(files))
        else:
            why = "these can be matched in more than one way"
        super().__init__(
            f"{what}, and {why}. Text matches numbers only if every value is plainly written, such"
            ' as "1" and not "01" for 1, or is the value label of one code. Store the column with the'
            " same values in both, and list codes for missing values under `missing_codes`."
        )

    def between(self, one: str, other: str) -> MatchError:
        """Return the same error with the names of both files."""
        return MatchError(self.key, self.kinds, self.here, self.there, (one, other))


def _unmatched(lost: int, values: int, here: str, there: str) -> str:
    """Say how many values of one file match none of the other.

    >>> _unmatched(1, 3, "a.csv", "b.sav")
    '1 of the 3 distinct values in a.csv matches none in b.sav'
    """
    return (
        f"{lost:,} of the {counted(values, 'distinct value')} in {here}"
        f" {plural(lost, 'matches', 'match')} none in {there}"
    )


class MatrixError(MaskmeterError, ValueError):
    """A matrix is not a valid P[true, released]: square, with rows that sum to 1."""


class PerturbationError(MaskmeterError, ValueError):
    """A file cannot be perturbed as asked."""


class WeightError(MaskmeterError, ValueError):
    """Weights or a sampling fraction are invalid or missing."""


class FileError(MaskmeterError, OSError):
    """A file cannot be read or written."""


class EngineError(MaskmeterError, RuntimeError):
    """The engine that holds the records cannot be started, or failed."""


class PlanError(MaskmeterError, ValueError):
    """A plan file has an invalid entry."""


class OptionalDependencyError(MaskmeterError, ImportError):
    """A feature needs an optional library that is not installed."""


class MaskmeterWarning(UserWarning):
    """The result was computed, but it may mislead."""


_CATCHING = RLock()  # Python keeps its filters for all threads: one at a time may change them


@contextmanager
def without_warnings(kind: type[MaskmeterWarning] = MaskmeterWarning) -> Iterator[None]:
    """Silence maskmeter's own warnings where their content is reported in another way."""
    with _CATCHING, warnings.catch_warnings():
        warnings.simplefilter("ignore", kind)
        yield


@contextmanager
def caught_warnings(kind: type[MaskmeterWarning]) -> Iterator[list[warnings.WarningMessage]]:
    """Yield a list that warnings go into, of which those of a kind are never left out."""
    with _CATCHING, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", kind)
        yield caught


@dataclass(frozen=True)
class Caution:
    """Why a result may mislead: a kind of warning, what the agency reads and what the public may read.

    The public reads the description of the kind unless it is given another text, or "" for nothing.

    >>> Caution(MaskmeterWarning, "2 of 9 records found no partner.").public_text
    'The result was computed, but it may mislead.'
    """

    kind: type[MaskmeterWarning]
    text: str
    public_text: str = None  # type: ignore[assignment] # filled in below

    def __post_init__(self) -> None:
        """Take the description of the kind where the public has no text of its own."""
        if self.public_text is None:
            object.__setattr__(self, "public_text", str(self.kind.__doc__))

    def __str__(self) -> str:
        """Return what the agency reads."""
        return self.text


def warn(cautions: Iterable[Caution], *, stacklevel: int = 3) -> None:
    """Warn the caller of a public function of each caution in its result."""
    for caution in cautions:
        warnings.warn(caution.text, caution.kind, stacklevel=stacklevel)


class FormatWarning(MaskmeterWarning):
    """The output format cannot store everything that was read."""


class BandsWarning(MaskmeterWarning):
    """Some keys were assessed in bands: the figures hold for a file that has these bands."""


class ManyCategoriesWarning(MaskmeterWarning):
    """A numeric key has so many distinct values that nearly every record is unique on it."""

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class PopulationMismatchWarning(MaskmeterWarning):
    """Some cells hold more records of the sample than units of the population."""


class UnpairedRecordsWarning(MaskmeterWarning):
    """Some records are only in one of the original and the released file."""


class AveragedMatrixWarning(MaskmeterWarning):
    """Records were changed where the realised matrices of the keys do not tell."""


class LargeHouseholdWarning(MaskmeterWarning):
    """Some households are too large to measure, and count with the most that their risk can be."""


class RateWarning(MaskmeterWarning):
    """Fewer records could be changed than the rate asks for."""


class ManyRareWarning(MaskmeterWarning):
    """A redraw changes a key in more than half of the records."""


class SmallMarginWarning(MaskmeterWarning):
    """Few records exchanged the values of a key: their counts, which are kept, tell much."""


class UnevenWeightsWarning(MaskmeterWarning):
    """Weights differ by a perturbed key, but one sampling fraction stands for all records."""


class UnusedMarginWarning(MaskmeterWarning):
    """The informed risk leaves out what the kept counts of exchanged values tell."""


class GuessableSeedWarning(MaskmeterWarning):
    """The seed of a release is small enough to be found by trying numbers."""


class NegativeRiskWarning(MaskmeterWarning):
    """Approximation (2.6) gave negative risks because misclassification is not small."""


class TargetWarning(MaskmeterWarning):
    """None of the releases tried meets the risk target."""


class ModelWarning(MaskmeterWarning):
    """A model-based estimate may mislead."""


class ConvergenceWarning(ModelWarning):
    """Fitting stopped before it converged."""


class ParametersWarning(ModelWarning):
    """A model has more parameters than the table has occupied cells."""


class WeakFitWarning(ModelWarning):
    """The model fits poorly, so the estimated risk may be too high or too low."""


class UnfitModelWarning(ModelWarning):
    """The log-linear model does not describe the file, so that no estimate of its risk holds."""


class HeavyErrorsWarning(ModelWarning):
    """Recording errors leave too little in the file to tell the true counts."""


class FewRecordsWarning(ModelWarning):
    """The file has too few records for the model to show all dependence between keys."""


class FewUniquesWarning(ModelWarning):
    """The file has too few sample uniques to test the fit of a model."""


class LargeFractionWarning(ModelWarning):
    """The sampling fraction is too large for the Poisson model to estimate risk well."""


class SmallWeightWarning(ModelWarning):
    """Some weights are below 1: a record cannot represent less than one unit."""


class ExhaustedSearchWarning(ModelWarning):
    """The model search stopped before it found a good fit."""


class GatheredSourcesWarning(ModelWarning):
    """Released cells may come from too many true ones to look at each: the risk is a bound."""
