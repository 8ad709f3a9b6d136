"""The plan that a release was made by."""

from __future__ import annotations

from maskmeter.data.bands import MANY
from maskmeter.loglinear import DEFAULT_MODEL, ModelName
from maskmeter.perturb import Release
from maskmeter.perturb.entries import varying_entry
from maskmeter.perturb.finish import Finish
from maskmeter.plan.schema import Data, Plan, ReleasePlan


def plan_of_release(
    release: Release, *, household: str | None = None, model: ModelName = DEFAULT_MODEL
) -> Plan:
    """Return the plan that a release was made by, as far as its file is known."""
    original, made = release.original, release.provenance
    reading = dict(original.reading)
    fraction = None if original.fraction is None else varying_entry(original.fraction)
    many = [key.name for key in original.space.keys if key.size > MANY]  # read as they are
    return Plan(
        data=Data(
            keys=list(original.space.names),
            fraction=fraction,
            household=household,
            model=model,
            codes=many,
            **reading,
        ),
        step=[] if made is None else [step.to_plan() for step in made.steps],
        release=ReleasePlan() if made is None else _finish_entries(made.finish),
    )


def _finish_entries(finish: Finish) -> ReleasePlan:
    return ReleasePlan(finish.shuffle, list(finish.drop), list(finish.renumber))
