"""The steps that there are, by the method that a plan names them by. A new step is one more here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, Union

from maskmeter.data.microdata import Microdata
from maskmeter.perturb.entries import StepEntries
from maskmeter.perturb.pram import Pram
from maskmeter.perturb.recode import Recode
from maskmeter.perturb.redraw import Redraw
from maskmeter.perturb.step import Step
from maskmeter.perturb.subsample import Subsample
from maskmeter.perturb.swap import Swap

STEPS: tuple[type[Step], ...] = (Redraw, Swap, Pram, Recode, Subsample)

SEARCHED = {one.method: one for one in STEPS if one.searched}

if TYPE_CHECKING:
    StepPlan = StepEntries
    SearchedMethod = str
else:  # of as many as there are
    StepPlan = Union[tuple(one.entries for one in STEPS)]  # noqa: UP007
    SearchedMethod = Literal[tuple(SEARCHED)]


def step_of(entries: StepEntries, sample: Microdata, folder: Path) -> Step:
    """Return the step that a plan describes, for a file; categories may be named by their labels."""
    (method,) = (one for one in STEPS if isinstance(entries, one.entries))
    return method.from_plan(entries, sample, folder=folder)
