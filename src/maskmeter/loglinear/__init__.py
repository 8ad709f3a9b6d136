"""Log-linear models of the key table: shrunk margins, or terms that are fitted and searched for."""

from maskmeter.loglinear.averaging import LogLinearSearch, ModelName
from maskmeter.loglinear.choosing import DEFAULT_MODEL, FileModel, OneModel, make_model
from maskmeter.loglinear.goodness import Goodness
from maskmeter.loglinear.model import CellModel, LogLinear, fit_loglinear
from maskmeter.loglinear.search import search_loglinear
from maskmeter.loglinear.shrunk import ShrunkLogLinear, shrink_loglinear

__all__ = [
    "DEFAULT_MODEL",
    "CellModel",
    "FileModel",
    "Goodness",
    "LogLinear",
    "LogLinearSearch",
    "ModelName",
    "OneModel",
    "ShrunkLogLinear",
    "fit_loglinear",
    "make_model",
    "search_loglinear",
    "shrink_loglinear",
]
