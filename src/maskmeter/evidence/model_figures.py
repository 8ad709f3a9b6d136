"""The figures of the model behind an estimate, and what all figures share."""

from __future__ import annotations

from math import isfinite

import msgspec

from maskmeter.loglinear import LogLinearSearch, ShrunkLogLinear
from maskmeter.loglinear.terms import spell
from maskmeter.risk import EstimatedRisk

_GAINS = 8  # terms that gained most, which a report lists


class Part(msgspec.Struct, frozen=True):
    """A part of the file; entries may be added to it."""


class ModelStep(Part, frozen=True):
    """A model on the path of the search."""

    added: str
    parameters: int
    z1: float | None
    z2: float | None
    tau1: float | None
    tau2: float | None


class TermGain(Part, frozen=True):
    """A term of an empirical-Bayes model, and its gain in log likelihood."""

    term: str
    gain: float


class ModelFigures(Part, frozen=True):
    """The log-linear model that the estimate rests on.

    `kind` is its name. `gains` are the terms of an empirical-Bayes model that gained most; `path`
    are the models that the search went through, or the score path beside an empirical-Bayes model.
    """

    kind: str
    summary: str
    terms: tuple[str, ...]
    z1: float | None
    z2: float | None
    tau1: float
    tau2: float
    gains: tuple[TermGain, ...]
    path: tuple[ModelStep, ...]


def model_figures(risk: EstimatedRisk) -> ModelFigures:
    """Return the figures of the model that an estimate rests on."""
    model = risk.model
    return ModelFigures(
        kind=model.method,
        summary=model.summary(),
        terms=tuple(model.terms),
        z1=finite(model.goodness.z1),
        z2=finite(model.goodness.z2),
        tau1=risk.tau1,
        tau2=risk.tau2,
        gains=_gains(model) if isinstance(model, ShrunkLogLinear) else (),
        path=_path(model if isinstance(model, LogLinearSearch) else model.score_path),
    )


def _gains(model: ShrunkLogLinear) -> tuple[TermGain, ...]:
    """Return the interactions that gained most."""
    listed = [one for one in model.ranked if len(one.keys) > 1 and one.gain > 0]
    return tuple(TermGain(spell(one.keys, model.data.space), one.gain) for one in listed[:_GAINS])


def _path(search: LogLinearSearch) -> tuple[ModelStep, ...]:
    """Return the models that a search went through."""
    return tuple(
        ModelStep(
            step.added,
            step.parameters,
            finite(step.z1),
            finite(step.z2),
            finite(step.tau1),
            finite(step.tau2),
        )
        for step in search.path
    )


def finite(number: float) -> float | None:
    """Return a number, None where it is not one."""
    return number if isfinite(number) else None
