"""Identification risk, with what was assumed."""

from maskmeter.risk.estimated import estimate_risk
from maskmeter.risk.known import (
    approximate_risk,
    correctly_classified_risk,
    exact_risk,
    in_sample_risk,
)
from maskmeter.risk.result import EstimatedRisk, Risk

__all__ = [
    "EstimatedRisk",
    "Risk",
    "approximate_risk",
    "correctly_classified_risk",
    "estimate_risk",
    "exact_risk",
    "in_sample_risk",
]
