"""How keys come to be recorded wrongly: matrices, their products, and sums over true cells."""

from maskmeter.misclassification.grid import Grid
from maskmeter.misclassification.matrix import Matrix, as_matrix, stay_or_move
from maskmeter.misclassification.product import Mechanism, Misclassification, as_mechanism
from maskmeter.misclassification.seen import seen_through
from maskmeter.misclassification.spread import Rivals, moved_in, rivals
from maskmeter.misclassification.validation import ValidationStudy, validation_study

__all__ = [
    "Grid",
    "Matrix",
    "Mechanism",
    "Misclassification",
    "Rivals",
    "ValidationStudy",
    "as_matrix",
    "as_mechanism",
    "moved_in",
    "rivals",
    "seen_through",
    "stay_or_move",
    "validation_study",
]
