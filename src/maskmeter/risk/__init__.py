"""Identification risk, with what was assumed."""

from maskmeter.risk.estimation import estimate_risk
from maskmeter.risk.known import (
    approximate_risk,
    correctly_classified_risk,
    exact_risk,
    in_sample_risk,
)
from maskmeter.risk.linkage import Linkage, LinkageTrial, linkage_probability, linkage_trial
from maskmeter.risk.result import EstimatedRisk, Risk

__all__ = [
    "EstimatedRisk",
    "Linkage",
    "LinkageTrial",
    "Risk",
    "approximate_risk",
    "correctly_classified_risk",
    "estimate_risk",
    "exact_risk",
    "in_sample_risk",
    "linkage_probability",
    "linkage_trial",
]
