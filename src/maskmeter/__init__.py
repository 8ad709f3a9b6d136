"""maskmeter: how much protection microdata really have after misclassification."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskmeter.errors import MaskmeterError as MaskmeterError
    from maskmeter.errors import MaskmeterWarning as MaskmeterWarning
    from maskmeter.evidence import Pack as Pack
    from maskmeter.evidence import report as report
    from maskmeter.keys import Key as Key
    from maskmeter.keys import KeySpace as KeySpace
    from maskmeter.loglinear import LogLinear as LogLinear
    from maskmeter.loglinear import LoglinearSearch as LoglinearSearch
    from maskmeter.loglinear import fit_loglinear as fit_loglinear
    from maskmeter.loglinear import search_loglinear as search_loglinear
    from maskmeter.manykeys import KeyCurve as KeyCurve
    from maskmeter.manykeys import binary_keys_experiment as binary_keys_experiment
    from maskmeter.manykeys import risk_by_keys as risk_by_keys
    from maskmeter.microdata import Microdata as Microdata
    from maskmeter.microdata import read as read
    from maskmeter.misclassification import Misclassification as Misclassification
    from maskmeter.misclassification import ValidationStudy as ValidationStudy
    from maskmeter.misclassification import stay_or_move as stay_or_move
    from maskmeter.misclassification import validation_study as validation_study
    from maskmeter.perturb import Pram as Pram
    from maskmeter.perturb import Release as Release
    from maskmeter.perturb import Swap as Swap
    from maskmeter.perturb import correct_counts as correct_counts
    from maskmeter.perturb import design_pram as design_pram
    from maskmeter.perturb import protect as protect
    from maskmeter.risk import EstimatedRisk as EstimatedRisk
    from maskmeter.risk import Risk as Risk
    from maskmeter.risk import approximate_risk as approximate_risk
    from maskmeter.risk import correctly_classified_risk as correctly_classified_risk
    from maskmeter.risk import estimate_risk as estimate_risk
    from maskmeter.risk import exact_risk as exact_risk
    from maskmeter.risk import in_sample_risk as in_sample_risk
    from maskmeter.risk import linkage_probability as linkage_probability
    from maskmeter.risk import linkage_trial as linkage_trial
    from maskmeter.riskutility import Family as Family
    from maskmeter.riskutility import FoundRelease as FoundRelease
    from maskmeter.riskutility import RiskUtilityMap as RiskUtilityMap
    from maskmeter.riskutility import compare as compare
    from maskmeter.riskutility import find_release as find_release
    from maskmeter.simulate import bernoulli_sample as bernoulli_sample
    from maskmeter.simulate import synthetic_census as synthetic_census
    from maskmeter.strata import by as by
    from maskmeter.table import KeyTable as KeyTable
    from maskmeter.table import count as count
    from maskmeter.utility import Loss as Loss
    from maskmeter.utility import Losses as Losses
    from maskmeter.utility import RegressionLoss as RegressionLoss
    from maskmeter.utility import information_loss as information_loss
    from maskmeter.utility import regression_loss as regression_loss

__version__ = "0.1.0"

_HOME = {
    "EstimatedRisk": "risk",
    "Family": "riskutility",
    "FoundRelease": "riskutility",
    "Key": "keys",
    "KeyCurve": "manykeys",
    "KeySpace": "keys",
    "KeyTable": "table",
    "LogLinear": "loglinear",
    "LoglinearSearch": "loglinear",
    "Loss": "utility",
    "Losses": "utility",
    "MaskmeterError": "errors",
    "MaskmeterWarning": "errors",
    "Microdata": "microdata",
    "Misclassification": "misclassification",
    "Pack": "evidence",
    "Pram": "perturb",
    "RegressionLoss": "utility",
    "Release": "perturb",
    "Risk": "risk",
    "RiskUtilityMap": "riskutility",
    "Swap": "perturb",
    "ValidationStudy": "misclassification",
    "approximate_risk": "risk",
    "bernoulli_sample": "simulate",
    "binary_keys_experiment": "manykeys",
    "by": "strata",
    "compare": "riskutility",
    "correct_counts": "perturb",
    "correctly_classified_risk": "risk",
    "count": "table",
    "design_pram": "perturb",
    "estimate_risk": "risk",
    "exact_risk": "risk",
    "find_release": "riskutility",
    "fit_loglinear": "loglinear",
    "in_sample_risk": "risk",
    "information_loss": "utility",
    "linkage_probability": "risk",
    "linkage_trial": "risk",
    "protect": "perturb",
    "read": "microdata",
    "regression_loss": "utility",
    "report": "evidence",
    "risk_by_keys": "manykeys",
    "search_loglinear": "loglinear",
    "stay_or_move": "misclassification",
    "synthetic_census": "simulate",
    "validation_study": "misclassification",
}

__all__ = [*_HOME, "__version__"]  # noqa: PLE0604 - the names are the keys above


def __getattr__(name: str) -> object:
    """Fetch a public name where it is first used, so that importing maskmeter is quick."""
    if name not in _HOME:
        raise AttributeError(f"module 'maskmeter' has no attribute {name!r}")
    value = getattr(import_module(f"maskmeter.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
