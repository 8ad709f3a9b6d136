"""Steps that protect a file, and the release that knows what was done to it."""

from maskmeter.perturb.correction import CorrectedCounts, correct_counts
from maskmeter.perturb.design import PramDesign, design_pram
from maskmeter.perturb.pram import Pram
from maskmeter.perturb.protecting import protect
from maskmeter.perturb.recode import Recode
from maskmeter.perturb.redraw import Redraw
from maskmeter.perturb.release import Provenance, Release
from maskmeter.perturb.subsample import Subsample
from maskmeter.perturb.swap import Swap

__all__ = [
    "CorrectedCounts",
    "Pram",
    "PramDesign",
    "Provenance",
    "Recode",
    "Redraw",
    "Release",
    "Subsample",
    "Swap",
    "correct_counts",
    "design_pram",
    "protect",
]
