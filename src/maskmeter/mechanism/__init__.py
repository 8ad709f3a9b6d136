"""How keys come to be recorded wrongly: matrices, their products, and sums over true cells."""

from maskmeter.mechanism.factor import Crossed, Declared, Factor
from maskmeter.mechanism.grid import Grid
from maskmeter.mechanism.joint import JointOdds, joint_odds
from maskmeter.mechanism.matrix import Matrix, as_matrix, stay_or_move
from maskmeter.mechanism.mechanism import Mechanism, Misclassification, as_mechanism
from maskmeter.mechanism.origins import Origins, origins
from maskmeter.mechanism.rivals import Inclusion, Rivals, likeliest_sources, moved_in, rivals
from maskmeter.mechanism.validation import ValidationStudy, validation_study

__all__ = [
    "Crossed",
    "Declared",
    "Factor",
    "Grid",
    "Inclusion",
    "JointOdds",
    "Matrix",
    "Mechanism",
    "Misclassification",
    "Origins",
    "Rivals",
    "ValidationStudy",
    "as_matrix",
    "as_mechanism",
    "joint_odds",
    "likeliest_sources",
    "moved_in",
    "origins",
    "rivals",
    "stay_or_move",
    "validation_study",
]
