"""Errors and warnings: what is wrong, what was found, what would work.

No message holds a record's value or a category found in the data: columns are named, records are
counted, and what the caller typed may be echoed.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING

from maskmeter._plural import counted, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class MaskmeterError(Exception):
    """Every mistake that maskmeter reports."""


class InputError(MaskmeterError, ValueError):
    """An argument cannot be used as it was given."""


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
                f"No {what} named {name!r} among {len(columns):,}. Does the first row of the file"
                " hold the names of its columns?"
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
        offer = ", ".join(columns[:12]) + (", ..." if len(columns) > 12 else "")  # noqa: PLR2004 - one line of names
        super().__init__(f"No {what} named {name!r}; there are {offer}.{hint}")


class DuplicateColumnError(MaskmeterError, ValueError):
    """Two columns have the same name."""

    def __init__(self, names: Iterable[str] | None) -> None:
        if names is None:  # they may be values of a record
            super().__init__(
                "More than one column has the same name. Does the first row of the file hold the"
                " names of its columns? Each must be unique."
            )
            return
        listed = ", ".join(repr(name) for name in names)
        super().__init__(
            f"More than one column is named {listed}. Rename them so that each is unique."
        )


class MissingValuesError(MaskmeterError, ValueError):
    """Some records have no value for a key."""

    def __init__(self, column: str, *, missing: int, records: int) -> None:
        super().__init__(
            f"{missing:,} of {counted(records, 'record')} {plural(missing, 'has', 'have')} no value for"
            f" {column!r}. Recode {plural(missing, 'it', 'them')}, or make"
            ' missing a category of its own: missing="category" (--missing category).'
        )


class CategoryError(MaskmeterError, ValueError):
    """The categories of a key do not suit what is asked of them."""


class MatrixError(MaskmeterError, ValueError):
    """A matrix is not a usable P[true, released]."""


class PerturbationError(MaskmeterError, ValueError):
    """A file cannot be perturbed as asked."""


class WeightError(MaskmeterError, ValueError):
    """Weights or sampling fractions that cannot be used."""


class FileError(MaskmeterError, OSError):
    """A file cannot be read."""


class PlanError(MaskmeterError, ValueError):
    """A plan file says something that cannot be done."""


class OptionalDependencyError(MaskmeterError, ImportError):
    """A library that only some features need is not installed."""


class MaskmeterWarning(UserWarning):
    """The answer stands but may mislead."""


@contextmanager
def without_warnings(kind: type[MaskmeterWarning] = MaskmeterWarning) -> Iterator[None]:
    """Hold back our own warnings, where what they say is said elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kind)
        yield


class FormatWarning(MaskmeterWarning):
    """A format cannot hold all that was read from another."""


class SortedRecordsWarning(FormatWarning):
    """The records stand in the order of a key, so that changed ones stand out of place."""


class ManyCategoriesWarning(MaskmeterWarning):
    """A key of numbers has so many values that nearly everyone is alone with theirs."""

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class PopulationMismatchWarning(MaskmeterWarning):
    """The population has fewer units than the sample in some cells."""


class RateWarning(MaskmeterWarning):
    """Fewer records could be changed than were asked for."""


class GuessableSeedWarning(MaskmeterWarning):
    """The seed of a release is small enough to be found by trying numbers."""


class NegativeRiskWarning(MaskmeterWarning):
    """Approximation (2.6) was used where misclassification is not small."""


class TargetWarning(MaskmeterWarning):
    """No release that was tried meets the target of risk."""


class ModelWarning(MaskmeterWarning):
    """An estimate that rests on a model may mislead."""


class ConvergenceWarning(ModelWarning):
    """Fitting stopped before it had settled."""


class ParametersWarning(ModelWarning):
    """A model has more parameters than the table has occupied cells."""


class WeakFitWarning(ModelWarning):
    """The goodness of fit says that the model misstates the risk."""


class FewUniquesWarning(ModelWarning):
    """There are too few sample uniques to judge a model by."""


class LargeFractionWarning(ModelWarning):
    """So much of the population was sampled that a Poisson model has little to say."""


class SmallWeightWarning(ModelWarning):
    """Some weights are below one, as if records stood for less than themselves."""


class ExhaustedSearchWarning(ModelWarning):
    """The search for a model stopped before the fit was good."""
