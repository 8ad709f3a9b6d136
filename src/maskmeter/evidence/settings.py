"""How an evidence pack is written: for whom, with which charts and in which format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from maskmeter import formats
from maskmeter.checks import check_choice, check_whole

Readers = Literal["internal", "public", "both"]
Charts = Literal["svg", "png"]


@dataclass(frozen=True)
class Settings:
    """How a pack is written."""

    title: str | None = None
    audience: Readers = "both"
    smallest_count: int = 10
    rates: bool = False
    charts: Charts | None = None
    matrix: bool = False  # whether the matrices of the release are written too
    ending: str | None = None  # of the protected file, when it is to have another format
    invented: bool = False  # nobody in the file exists: anyone may know its seed

    def __post_init__(self) -> None:
        """Check the choices."""
        check_choice(self.audience, Readers, name="audience")
        check_whole(self.smallest_count, name="smallest_count", least=1)
        if self.charts is not None:
            check_choice(self.charts, Charts, name="charts")
        if self.ending is not None:
            ending = f".{self.ending.lower().removeprefix('.')}"
            formats.check_target(f"protected{ending}", None)
            object.__setattr__(self, "ending", ending)
