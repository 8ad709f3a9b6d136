"""What a release does to a linear regression: coefficients and their intervals before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskmeter import chart
from maskmeter.checks import is_number
from maskmeter.data.frames import POLARS, FrameKind, as_kind
from maskmeter.display import InWords
from maskmeter.errors import ColumnNotFoundError, InputError
from maskmeter.loss.formulas import interval_overlap
from maskmeter.loss.variables import VariableChange
from maskmeter.perturb import Release
from maskmeter.perturb.release import check_release
from maskmeter.plurals import counted
from maskmeter.types import Array

_Z = 1.96
_MOST_LEVELS = 300


@dataclass(frozen=True, eq=False)
class RegressionLoss(InWords):
    """Ordinary least squares before and after: a name, two coefficients and standard errors each.

    Categories are compared with the first one of their variable.
    """

    _shown = (
        ("coefficient", "coefficient", ""),
        ("before", "before", ",.4g"),
        ("after", "after", ",.4g"),
        ("overlap", "overlap of 95 % intervals", ".2f"),
    )

    response: str
    names: tuple[str, ...]
    before: Array
    after: Array
    errors_before: Array
    errors_after: Array
    frame_kind: FrameKind = field(default=POLARS, repr=False, kw_only=True)

    def __repr__(self) -> str:
        """Return the headline."""
        return (
            f"RegressionLoss({self.response}: {counted(len(self.names), 'coefficient')}, attenuation"
            f" {self.attenuation:.2f}, {counted(int((self.overlap < 0).sum()), 'interval')} apart)"
        )

    @property
    def attenuation(self) -> float:
        """Slope of the coefficients after against those before: 1 is unchanged, 0 all is lost.

        The intercept is left out, and coefficients count by their precision before.
        """
        weight = 1 / self.errors_before[1:] ** 2
        one, two = self.before[1:], self.after[1:]
        return float((weight * one * two).sum() / (weight * one**2).sum())

    @property
    def overlap(self) -> Array:
        """Share that the 95 % intervals before and after have in common; negative when apart."""
        spans = [
            (b - _Z * e, b + _Z * e)
            for b, e in ((self.before, self.errors_before), (self.after, self.errors_after))
        ]
        return interval_overlap(spans[0], spans[1])

    def to_frame(self) -> Any:
        """Return a row for each coefficient."""
        return as_kind(self._frame(), self.frame_kind)

    def _frame(self) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "coefficient": self.names,
                "before": self.before,
                "after": self.after,
                "error_before": self.errors_before,
                "error_after": self.errors_after,
                "overlap": self.overlap,
            }
        )

    def summary(self) -> str:
        """Return a short account."""
        apart, common = int((self.overlap < 0).sum()), np.maximum(self.overlap, 0).mean()
        return (
            f"Regression of {self.response} on {counted(len(self.names) - 1, 'term')}: coefficients keep"
            f" {self.attenuation:.0%} of their size; 95 % intervals overlap by"
            f" {common:.0%} on average; {counted(apart, 'pair does', 'pairs do')} not overlap."
        )

    def plot(self) -> Any:
        """Return an Altair chart of how much each coefficient changes."""
        return chart.signed_bars(
            self._frame().select("coefficient", change=pl.col("after") - pl.col("before")),
            x="Change in the coefficient",
            y="Coefficient",
            title=f"Regression of {self.response}",
            subtitle=f"Coefficients keep {self.attenuation:.0%} of their size",
        )


def regression_loss(
    data: Release, response: str, *, predictors: Sequence[str], numeric: Sequence[str] = ()
) -> RegressionLoss:
    """Return what a release does to the linear regression of a column on others.

    Predictors are categorical, unless they are named in `numeric`; the response is a number.
    Records with a missing number are left out, and weights are not used. A recoded predictor has
    its groups in both regressions; a recoded number cannot be used.

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"lad": ["a", "b"] * 100, "income": [1.0, 3.1, 1.2, 2.9] * 50})
    >>> sample = mm.read(people, keys=["lad"], fraction=0.1)
    >>> release = mm.Swap("lad", rate=0.2).apply(sample, rng=1)
    >>> round(mm.regression_loss(release, "income", predictors=["lad"]).attenuation, 2)
    0.6
    """
    check_release(data)
    data.original.check_held("A regression")
    if isinstance(predictors, str) or not predictors:
        raise InputError("`predictors` must be a list of columns.")
    for name in numeric:
        if name not in predictors:
            raise ColumnNotFoundError(name, tuple(predictors), what="predictor")
    y = VariableChange.of(data, response)
    values = (_numbers(y, y.before), _numbers(y, y.after))
    names, designs = _designs(data, predictors, numeric)
    fits = []
    for number, X in zip(values, designs, strict=True):
        whole = np.isfinite(number) & np.isfinite(X).all(axis=1)
        fits.append(least_squares(X[whole], number[whole]))
    (before, errors_before), (after, errors_after) = fits
    return RegressionLoss(
        response,
        names,
        before,
        after,
        errors_before,
        errors_after,
        frame_kind=data.frame_kind,
    )


def least_squares(X: Array, y: Array) -> tuple[Array, Array]:
    """Return the coefficients of ordinary least squares and their standard errors.

    >>> least_squares(np.array([[1.0, 0], [1, 1], [1, 2], [1, 3]]), np.array([1.0, 3, 5, 8]))[0].round(6)
    array([0.8, 2.3])
    """
    if len(y) <= X.shape[1] or np.linalg.matrix_rank(X) < X.shape[1]:
        raise InputError(
            f"The regression has {counted(X.shape[1], 'coefficient')} for"
            f" {counted(len(y), 'complete record')}, or its"
            " predictors are collinear, before or after. Use fewer or coarser predictors."
        )
    if np.ptp(y) == 0:
        raise InputError("The response is the same for all records. Choose a response that varies.")
    coefficients: Array = np.linalg.lstsq(X, y)[0].astype(np.float64)
    rest = y - X @ coefficients
    variance = float(rest @ rest) / (len(y) - X.shape[1])
    if variance <= 1e-12 * float(np.var(y)):
        raise InputError(
            "The predictors fit the response perfectly, so intervals have no width. Leave one out."
        )
    errors: Array = np.sqrt(variance * np.diag(np.linalg.inv(X.T @ X)))
    return coefficients, errors


def _designs(
    release: Release, predictors: Sequence[str], numeric: Sequence[str]
) -> tuple[tuple[str, ...], tuple[Array, Array]]:
    """Return names of the coefficients, and the design before and after."""
    names = ["intercept"]
    columns = [(np.ones(len(release.original)), np.ones(len(release.released)))]
    for name in predictors:
        variable = VariableChange.of(release, name)
        if name in numeric:
            names.append(name)
            codes = (variable.before, variable.after)
            columns.append((_numbers(variable, codes[0]), _numbers(variable, codes[1])))
            continue
        if variable.size_after > _MOST_LEVELS:
            raise InputError(
                f"{name!r} has {variable.size_after:,} categories, too many for a regression."
                " Name it in `numeric` if it is a number, or use a coarser one."
            )
        categories, before = variable.categories, variable.before
        if variable.spread is not None:
            categories = release.released.space[name].categories
            before = variable.spread.argmax(axis=0)[before]
        present = np.unique(np.concatenate([before, variable.after]))
        for code, category in [(code, categories[code]) for code in present[1:]]:
            names.append(f"{name}: {category}")
            pair = (before == code, variable.after == code)
            columns.append((pair[0].astype(np.float64), pair[1].astype(np.float64)))
    first, second = zip(*columns, strict=True)
    return tuple(names), (np.column_stack(first), np.column_stack(second))


def _numbers(variable: VariableChange, codes: NDArray[np.integer]) -> Array:
    """Return the values of a variable whose categories are numbers, perhaps written as text."""
    if variable.spread is not None:
        raise InputError(
            f"{variable.name!r} was recoded, so the release has no numbers of it. Leave it out."
        )
    values = []
    for category in variable.categories:
        try:
            values.append(np.nan if category is None else float(category))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise InputError(f"{variable.name!r} must be numeric.") from None
    if not any(is_number(value) and np.isfinite(value) for value in values):
        raise InputError(f"{variable.name!r} must be numeric, but it has no finite number.")
    numbers: Array = np.array(values)[codes]
    return numbers
