"""How the records of a plan were sampled: a fraction, or what a population tells of it."""

from __future__ import annotations

import warnings
from dataclasses import replace

from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.errors import PlanError, PopulationMismatchWarning
from maskmeter.perturb.entries import Varying, varying
from maskmeter.plurals import counted

_OFF = 1.2  # times: what a fraction may differ from the share that a population tells


def sampled(sample: Microdata, fraction: Varying) -> Microdata:
    """Return records whose sampling fraction differs between groups."""
    return replace(sample, fraction=varying(fraction, sample))


def share(sample: Microdata, population: KeyTable | None) -> float:
    """Return the share of the population in the file, when no fraction is given."""
    if population is None:
        raise PlanError(
            "The sampling fraction is not given: use --fraction or --weights, or fraction or"
            " weights under [data] in the plan."
        )
    if population.total < len(sample):
        raise PlanError(
            f"The population has only {counted(population.total, 'unit')}, the file"
            f" {counted(len(sample), 'record')}:"
            " give the population that the file was sampled from."
        )
    return len(sample) / population.total


def check_share(sample: Microdata, population: KeyTable) -> None:
    """Warn when the fraction or weights disagree with the size of the population."""
    told = len(sample) / population.total
    given = sample.sampled_share
    if not 1 / _OFF < given / told < _OFF:
        warnings.warn(
            f"The file holds {told:.3g} of the population's units, but the fraction or the weights"
            f" say {given:.3g}: give the population that the file was sampled from, or correct them.",
            PopulationMismatchWarning,
            stacklevel=2,
        )
