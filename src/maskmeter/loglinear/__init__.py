"""Hierarchical log-linear models of the key table: terms, components, fits, goodness."""

from maskmeter.loglinear.goodness import Goodness
from maskmeter.loglinear.model import LogLinear, fit_loglinear

__all__ = ["Goodness", "LogLinear", "fit_loglinear"]
