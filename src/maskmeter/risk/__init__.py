"""Identification risk, with what was assumed."""

from maskmeter.risk.known import (
    approximate_risk,
    correctly_classified_risk,
    exact_risk,
    in_sample_risk,
)
from maskmeter.risk.result import Risk

__all__ = [
    "Risk",
    "approximate_risk",
    "correctly_classified_risk",
    "exact_risk",
    "in_sample_risk",
]
