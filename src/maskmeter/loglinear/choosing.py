"""Models by name: what is made where no model is given."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from maskmeter.data.microdata import Microdata
from maskmeter.loglinear.averaging import LogLinearSearch, ModelName
from maskmeter.loglinear.model import LogLinear
from maskmeter.loglinear.search import search_models
from maskmeter.loglinear.shrunk import LARGEST_TABLE, ShrunkLogLinear

OneModel: TypeAlias = ShrunkLogLinear | LogLinear
FileModel: TypeAlias = ShrunkLogLinear | LogLinearSearch  # whatever an estimate can rest on

DEFAULT_MODEL: ModelName = "shrunk"


def make_model(data: Microdata, name: ModelName = DEFAULT_MODEL) -> FileModel:
    """Return the model of a file by its name, without warnings.

    Where the table is too large to be shrunk, the score path takes its place and says so.
    """
    if name != "shrunk":
        return search_models(data, method=name)
    if data.space.size <= LARGEST_TABLE:
        return ShrunkLogLinear.of(data)
    instead = (
        f"The keys have {data.space.size:,} cells, more than the {LARGEST_TABLE:,} that the"
        " empirical-Bayes model holds: the score path takes its place."
    )
    return replace(search_models(data), instead=instead)
