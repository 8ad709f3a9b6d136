"""How the file was sampled, as the plan says, and what that implies."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from maskmeter.app.readings import Readings
from maskmeter.app.results import OpenedFile, SamplingNow
from maskmeter.evidence.figures import sampling_figures
from maskmeter.evidence.wording import sampling
from maskmeter.plan import Plan
from maskmeter.plan.schema import LossPlan

_UNKNOWN = "The sampling is not known yet."


def sampling_now(readings: Readings, plan: Plan, file: OpenedFile) -> SamplingNow:
    """Return how the plan says that the file was sampled; without keys, any column will do for it."""
    data = plan.data
    if data.fraction is None and data.weights is None and data.population is None:
        return SamplingNow("unknown", _UNKNOWN, file.records)
    if not data.keys and not plan.scenario:
        few = min(file.columns, key=lambda one: one.categories)
        own = msgspec.structs.replace(data, keys=[few.name], missing="category")
        plan = msgspec.structs.replace(plan, data=own, loss=LossPlan())
    task = readings.task(plan)
    sample = task.sample
    population = (
        sample.expected_population if task.population is None else float(task.population.total)
    )
    kind = "weights" if data.weights is not None else "fraction"
    cautions = (*_no_weights(file, data.weights), *readings.cautions(plan))
    return SamplingNow(
        "population" if data.population is not None else kind,  # type: ignore[arg-type]
        sampling(sampling_figures(sample)),
        len(sample),
        sample.sampled_share,
        population,
        cautions,
    )


def _no_weights(file: OpenedFile, name: str | None) -> Iterator[str]:
    """Yield that a column of weights looks like something else."""
    column = None if name is None else file.column(name)
    if column is not None and column.role in ("household", "identifier", "personal"):
        yield (
            f"{column.title} looks like something else than weights: {column.why}. Weights say how"
            " many people each record stands for."
        )
