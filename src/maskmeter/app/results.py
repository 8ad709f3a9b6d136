"""What the page shows: frozen values, of which only the curves of risk have a figure for each record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from maskmeter.evidence.check_figures import CheckFigures
from maskmeter.evidence.schema import Figures, ScenarioFigures
from maskmeter.perturb.entries import StepEntries
from maskmeter.risk.curve import RiskCurve
from maskmeter.riskutility.assessor import Point

EntryKind: TypeAlias = Literal["folder", "data", "plan"]
WarningKind: TypeAlias = Literal["many", "determines", "kept", "missing", "constant", "codes"]


@dataclass(frozen=True)
class FileEntry:
    """A folder, a file of records or a plan below the start directory; `path` starts there."""

    path: str
    name: str
    kind: EntryKind
    size: int
    format: str = ""  # such as SPSS


@dataclass(frozen=True)
class FileColumn:
    """A column of the file, and what `plan init` makes of it; `bands` are lower bounds for numbers."""

    name: str
    label: str
    role: str  # key, weights, household, identifier, ... as the starter plan says
    why: str
    categories: int
    missing: int
    numeric: bool
    bands: tuple[float, ...] = ()

    @property
    def title(self) -> str:
        """The label, with the name behind it."""
        return f"{self.label} ({self.name})" if self.label not in ("", self.name) else self.name


@dataclass(frozen=True)
class OpenedFile:
    """The file that is open: `path` starts at the start directory, and is empty for the example."""

    path: str
    name: str
    records: int
    columns: tuple[FileColumn, ...]
    example: bool = False

    def column(self, name: str) -> FileColumn | None:
        """Return a column by its name; None if there is none."""
        return next((one for one in self.columns if one.name == name), None)


@dataclass(frozen=True)
class KeyWarning:
    """Why a ticked column may be no good key: a sentence, and what may be done.

    "many": too many categories (`bands` are offered for numbers); "determines": it tells `other`,
    which is ticked too; "kept": it is told by `other`, which is not ticked and stays in the file;
    "missing": some records have no value; "constant": all have the same; "codes": some `codes` may
    stand for missing.
    """

    kind: WarningKind
    column: str
    text: str
    other: str = ""
    bands: tuple[float, ...] = ()
    codes: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class KeyCounts:
    """How far some keys tell the records apart: records in cells of 1, 2, 3, 4, and 5 or more."""

    keys: tuple[str, ...]
    records: int
    uniques: int
    cell_sizes: tuple[int, ...]
    share: float  # of unique records


@dataclass(frozen=True)
class ExpectedMatches:
    """The correct matches to expect with some keys, before protection."""

    keys: tuple[str, ...]
    uniques: int
    total: float
    share: float
    assessable: bool


@dataclass(frozen=True)
class KeysNow:
    """What is known of the ticked keys so far; None is not known yet.

    There are no matches to expect as long as the sampling is not known: see `done`.
    """

    counts: KeyCounts | None = None
    warnings: tuple[KeyWarning, ...] | None = None
    matches: ExpectedMatches | None = None
    done: bool = False
    fault: str = ""  # why they cannot be counted


@dataclass(frozen=True)
class SamplingNow:
    """How the plan says that the file was sampled, and what that implies."""

    kind: Literal["fraction", "weights", "population", "unknown"]
    words: str
    records: int
    fraction: float | None = None  # overall
    population: float | None = None  # expected, or counted
    cautions: tuple[str, ...] = ()
    faulty: bool = False  # whether the words say why it cannot be so


@dataclass(frozen=True)
class RiskNow:
    """The risk of the file before protection: figures as `assess --json` has them, and the curve."""

    figures: Figures
    curve: RiskCurve  # of the worst scenario, for the intruder who decides

    @property
    def worst(self) -> ScenarioFigures:
        """The scenario with the most correct matches to expect."""
        return self.figures.worst

    @property
    def mark(self) -> str | None:
        """Whether the target is met; None without a target."""
        return self.figures.mark


@dataclass(frozen=True)
class Tried:
    """A way to protect the file that was tried: its steps, and its place on the map.

    Its figures of risk mean nothing unless it is `assessable`. `verdict` is that of the target, None
    without one; `meets` says that analysts can use what meets it. The point is the release itself;
    the spread of `refined` ones is that of several draws.
    """

    label: str
    steps: tuple[StepEntries, ...]
    point: Point
    verdict: str | None
    meets: bool
    refined: bool
    assessable: bool
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True)
class FoundSteps:
    """What "find it for me" found: the release of least loss, or the nearest one, and why."""

    label: str
    steps: tuple[StepEntries, ...]
    point: Point
    met: bool
    summary: str


@dataclass(frozen=True)
class Assessed:
    """The release of the plan as the command assesses it."""

    figures: Figures

    @property
    def check(self) -> CheckFigures | None:
        """The release check; None where it was not made."""
        return self.figures.check


@dataclass(frozen=True)
class SideBySide:
    """Releases next to each other: a row of figures for each fact, in words, one column each."""

    labels: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]  # name of the figure, its value in each release
    assessed: tuple[Assessed, ...]
