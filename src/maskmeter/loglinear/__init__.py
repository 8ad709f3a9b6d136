"""Hierarchical log-linear models of the key table: terms, components, fits, goodness, search."""

from maskmeter.loglinear.averaging import LogLinearSearch
from maskmeter.loglinear.goodness import Goodness
from maskmeter.loglinear.model import LogLinear, fit_loglinear
from maskmeter.loglinear.search import search_loglinear

__all__ = ["Goodness", "LogLinear", "LogLinearSearch", "fit_loglinear", "search_loglinear"]
