"""What a release costs analysts: distances between tables before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, overload

import numpy as np
import polars as pl

from maskmeter import chart
from maskmeter.checks import check_list
from maskmeter.data.frames import POLARS, FrameKind, as_kind
from maskmeter.display import InWords
from maskmeter.errors import InputError
from maskmeter.loss import formulas
from maskmeter.loss.variables import VariableChange, occupied, tables
from maskmeter.perturb import Release
from maskmeter.perturb.release import check_release
from maskmeter.plurals import counted
from maskmeter.types import Array


@dataclass(frozen=True, eq=False)
class Loss(InWords):
    """Information loss of one two-way table.

    `raad` (ideal 100) is how close the cells are, `rcv` (ideal 0) the change of Cramer's V in
    percent, `bvr` (ideal 0) the change of the between-row variance of each column in percent,
    `contrast` (ideal 0) the change of the differences between rows in percent, `moved` (ideal 0)
    the percent of the table that lies in other cells. `worst` is the largest distance of RAAD, RCV
    and contrast from their ideals.
    """

    _shown = (("column", "column", ""), ("bvr", "change of between-row variance (%)", "+.1f"))

    rows: VariableChange
    columns: VariableChange
    frame_kind: FrameKind = field(default=POLARS, repr=False, kw_only=True)

    def __repr__(self) -> str:
        """Return the headline: no cell is shown."""
        return f"Loss({self.name}: {self.worst:.1f}; RAAD {self.raad:.1f}, RCV {self.rcv:.1f})"

    @property
    def name(self) -> str:
        """The table in words."""
        return f"{self.rows.name} x {self.columns.name}"

    @cached_property
    def tables(self) -> tuple[Array, Array]:
        """The table before and after."""
        return tables(self.rows, self.columns)

    @cached_property
    def raad(self) -> float:
        """100 less the average absolute distance of a cell, in percent of the average cell."""
        return formulas.relative_average_absolute_distance(*self.tables)

    @cached_property
    def moved(self) -> float:
        """Percent of the table that lies in other cells than before: its total variation distance."""
        return 100 * formulas.total_variation(*(table.ravel() for table in self.tables))

    @cached_property
    def rcv(self) -> float:
        """Change of Cramer's V in percent; NaN when there was no association to lose."""
        before, after = (formulas.cramers_v(occupied(table)) for table in self.tables)
        return float(formulas.relative_change(before, after))

    @cached_property
    def bvr(self) -> dict[Any, float]:
        """Change in percent of the between-row variance of every column category."""
        before, after = (formulas.between_variance(table) for table in self.tables)
        changes = formulas.relative_change(before, after).tolist()
        return dict(zip(self.columns.categories, changes, strict=True))

    @cached_property
    def contrast(self) -> float:
        """Change in percent of the differences between rows (A); NaN when there were none."""
        return formulas.contrast_change(*self.tables)

    @cached_property
    def significant(self) -> bool:
        """Whether the original association is: chi-square test, p < 0.001.

        With weights the test has Kish's effective number of records.
        """
        return formulas.associated(occupied(self.tables[0]), self.rows.records)

    @cached_property
    def worst(self) -> float:
        """Largest of 100 - RAAD, abs(RCV) and abs(A), in percent: 0 is unchanged.

        RCV and A are included only where the original association is significant: where there was
        none they measure noise.
        """
        distances = [100 - self.raad]
        if self.significant:
            distances += [abs(self.rcv), abs(self.contrast)]
        return max(distances)

    def summary(self) -> str:
        """Return a short account that shows no cell."""
        changes = np.array([value for value in self.bvr.values() if np.isfinite(value)])
        between = (
            f" Between-row variances change by {changes.min():+.1f}% to {changes.max():+.1f}%."
            if len(changes)
            else ""
        )
        weak = (
            "" if self.significant else " The association was not significant in the original file."
        )
        return (
            f"{self.name}: loss {self.worst:.1f} (0 is unchanged). RAAD {self.raad:.1f}, Cramer's V"
            f" {self.rcv:+.1f}%, differences between rows {self.contrast:+.1f}%.{between}{weak}"
        )

    def to_frame(self) -> Any:
        """Return a row for each column category: its BVR beside the measures of the table."""
        return as_kind(self._frame(), self.frame_kind)

    def _frame(self) -> pl.DataFrame:
        names = [str(category) for category in self.bvr]
        measures = ("raad", "moved", "rcv", "contrast", "worst")
        return pl.DataFrame(
            {"table": self.name}
            | {measure: getattr(self, measure) for measure in measures}
            | {"column": names, "bvr": list(self.bvr.values())}
        )

    def plot(self) -> Any:
        """Return an Altair chart of BVR by column category."""
        return chart.signed_bars(
            self._frame().select("column", "bvr"),
            x="Change in the between-row variance (%)",
            y=self.columns.name,
            title=f"Information loss of {self.name}",
            subtitle=f"RAAD {self.raad:.1f} (ideal 100), Cramer's V {self.rcv:+.1f}% (ideal 0)",
        )


@dataclass(frozen=True, eq=False)
class Losses(InWords):
    """Information loss of all two-way tables of some variables, and of their margins."""

    _shown = (
        ("rows", "rows", ""),
        ("columns", "columns", ""),
        ("raad", "RAAD", ".1f"),
        ("rcv", "change of Cramer's V (%)", "+.1f"),
    )

    variables: tuple[VariableChange, ...]
    tables: tuple[Loss, ...]

    def __repr__(self) -> str:
        """Return the headline: no cell is shown."""
        return f"Losses({counted(len(self.tables), 'table')}; worst {self.worst.name}: {self.worst.worst:.1f})"

    @cached_property
    def worst(self) -> Loss:
        """The table that loses most."""
        return max(self.tables, key=lambda table: table.worst)

    @property
    def frame_kind(self) -> FrameKind:
        """The kind of frame that comes back."""
        return self.tables[0].frame_kind

    def to_frame(self) -> Any:
        """Return a row for each table, the worst first."""
        return as_kind(self._frame(), self.frame_kind)

    def _frame(self) -> pl.DataFrame:
        ranked = sorted(self.tables, key=lambda table: -table.worst)
        return pl.DataFrame(
            {
                "rows": [table.rows.name for table in ranked],
                "columns": [table.columns.name for table in ranked],
                "worst": [table.worst for table in ranked],
                "raad": [table.raad for table in ranked],
                "rcv": [table.rcv for table in ranked],
                "contrast": [table.contrast for table in ranked],
            }
        )

    def margins(self) -> Any:
        """Return, for each variable, the share of records changed and distances of its margin."""
        return as_kind(margin_frame(self.variables), self.frame_kind)

    def summary(self) -> str:
        """Return a short account that shows no cell."""
        moved = ", ".join(f"{one.name} {one.changed:.1%}" for one in self.variables if one.changed)
        return (
            f"{counted(len(self.tables), 'two-way table')}. Worst: {self.worst.summary()}\n"
            f"Records changed: {moved or 'none'}."
        )

    def plot(self) -> Any:
        """Return an Altair chart of RAAD for every pair of variables, in their order."""
        order = [variable.name for variable in self.variables]
        place = {name: number for number, name in enumerate(order)}
        frame = self._frame().sort(
            pl.col("rows").replace_strict(place), pl.col("columns").replace_strict(place)
        )
        lowest = min(self.tables, key=lambda table: table.raad)
        return chart.matrix(
            frame,
            value="raad",
            title="Information loss of all two-way tables",
            subtitle=f"RAAD, 100 is unchanged; lowest {lowest.name} ({lowest.raad:.1f})",
        )


def margin_frame(variables: Sequence[VariableChange]) -> pl.DataFrame:
    """Return a row for each variable: the share of records changed and distances of its margin."""
    pairs = [variable.margins() for variable in variables]
    return pl.DataFrame(
        {
            "variable": [variable.name for variable in variables],
            "changed": [variable.changed for variable in variables],
            "total_variation": [formulas.total_variation(*pair) for pair in pairs],
            "hellinger": [formulas.hellinger(*pair) for pair in pairs],
        }
    )


@overload
def information_loss(data: Release, *, rows: str, columns: str) -> Loss: ...
@overload
def information_loss(data: Release, *, variables: Sequence[str] | None = None) -> Losses: ...
def information_loss(
    data: Release,
    *,
    rows: str | None = None,
    columns: str | None = None,
    variables: Sequence[str] | None = None,
) -> Loss | Losses:
    """Return what a release costs those who analyse two-way tables of it.

    Name `rows` and `columns` for one table: keys, or any other columns of your file. Without them
    all pairs of `variables` are compared (all keys, if none are named). Tables are weighted if the
    file has weights.

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"lad": ["a", "b"] * 50, "sex": ["f"] * 30 + ["m"] * 70})
    >>> sample = mm.read(people, keys=["lad", "sex"], fraction=0.1)
    >>> release = mm.Swap("lad", rate=0.2).apply(sample, rng=2010)
    >>> mm.information_loss(release, rows="lad", columns="sex").raad
    96.0
    """
    check_release(data)
    if rows is not None and columns is not None and variables is None:
        table = VariableChange.of(data, rows), VariableChange.of(data, columns)
        return _loss(*table, kind=data.frame_kind)
    if rows is not None or columns is not None:
        raise InputError("Name both `rows` and `columns` for one table, or neither for all tables.")
    names = data.original.space.names
    if variables is not None:
        names = tuple(check_list(variables, name="variables"))
    if len(set(names)) < max(len(names), 2):
        raise InputError("`variables` must be a list of at least two different columns.")
    found = tuple(VariableChange.of(data, name) for name in names)
    kind = data.frame_kind
    pairs = tuple(_loss(one, other, kind=kind) for one, other in combinations(found, 2))
    return Losses(found, pairs)


def _loss(rows: VariableChange, columns: VariableChange, *, kind: FrameKind) -> Loss:
    for variable in (rows, columns):
        if variable.size < 2:
            raise InputError(
                f"Every record has the same value of {variable.name!r}. Choose a column that varies."
            )
    return Loss(rows, columns, frame_kind=kind)
