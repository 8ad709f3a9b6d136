"""The models of files, by name or as they were given: each file's is made once."""

from __future__ import annotations

from typing import TypeAlias, get_args

from maskmeter.checks import check_choice
from maskmeter.data.microdata import Microdata
from maskmeter.errors import InputError
from maskmeter.loglinear import (
    DEFAULT_MODEL,
    FileModel,
    LogLinear,
    LogLinearSearch,
    ModelName,
    ShrunkLogLinear,
    make_model,
)
from maskmeter.risk.released_cells import Method, fitted_file
from maskmeter.risk.sight import Sight

Model: TypeAlias = ModelName | LogLinear | LogLinearSearch | ShrunkLogLinear


class Models:
    """The models of some files, all of one kind: each is made when it is first asked for."""

    def __init__(self, name: ModelName = DEFAULT_MODEL) -> None:
        self.name = name
        self._made: list[FileModel] = []
        self._given: FileModel | None = None

    def take(self, model: object, sight: Sight, method: Method) -> FileModel:
        """Return a given model as what an estimate rests on, if it describes what a method needs."""
        given = LogLinearSearch.of(model) if isinstance(model, LogLinear) else model
        if not isinstance(given, LogLinearSearch | ShrunkLogLinear):
            raise InputError(
                "Give a model from mm.shrink_loglinear, mm.search_loglinear or mm.fit_loglinear, or"
                f" one of the names {_NAMES}, not a {type(model).__name__}."
            )
        fitted, data = fitted_file(sight, method), given.nearest.data
        if data is not fitted and data != fitted:
            wanted = "original" if method == "expected" else "released"
            raise InputError(
                f"The model was not fitted to the {wanted} counts of this file, which method"
                f' "{method}" needs. Fit it to this file with counts="{wanted}", or leave `model`'
                " out."
            )
        self._made.append(given)
        self._given = given
        return given

    def for_file(self, sample: Microdata) -> FileModel:
        """Return the model of a file, made now unless it was made before."""
        for one in self._made:
            if one.nearest.data is sample or one.nearest.data == sample:
                return one
        if self._given is not None and self._given.nearest.data.space.names == sample.space.names:
            raise InputError(
                "The given model describes the file as it is, not the file with recoded keys or fewer"
                ' records. Give the name of a kind of model, such as "shrunk", or leave `model` out.'
            )
        self._made.append(make_model(sample, self.name))
        return self._made[-1]


_NAMES = ", ".join(map(repr, get_args(ModelName)))


def named(model: Model) -> ModelName | None:
    """Return the name of the kind of model that was asked for; None where a model was given."""
    if not isinstance(model, str):
        return None
    check_choice(model, ModelName, name="model")
    return model
