"""Identification risk, with what was assumed."""

from maskmeter.risk.households import HouseholdRisk
from maskmeter.risk.joint_keys import household_risk
from maskmeter.risk.linkage import Linkage, LinkageTrial, linkage_probability, linkage_trial
from maskmeter.risk.measures import (
    approximate_risk,
    correctly_classified_risk,
    estimate_risk,
    exact_risk,
    in_sample_risk,
)
from maskmeter.risk.result import EstimatedRisk, Risk
from maskmeter.risk.view import View

__all__ = [
    "EstimatedRisk",
    "HouseholdRisk",
    "Linkage",
    "LinkageTrial",
    "Risk",
    "View",
    "approximate_risk",
    "correctly_classified_risk",
    "estimate_risk",
    "exact_risk",
    "household_risk",
    "in_sample_risk",
    "linkage_probability",
    "linkage_trial",
]
