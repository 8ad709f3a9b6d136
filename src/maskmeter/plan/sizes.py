"""How much a plan may ask for: so many keys, scenarios, steps and candidates, and no more."""

from __future__ import annotations

from maskmeter.plan.lines import Path as Place
from maskmeter.plan.reading import PlanFile

_MOST = {"keys": 1000, "scenarios": 100, "steps": 100, "candidates": 1000}


def check_sizes(file: PlanFile, keys: int) -> None:
    """Refuse a plan that would take days; `keys` are those of the file, of scenarios and of steps."""
    plan = file.plan
    steps = [len(plan.step), *(len(one.step) for one in plan.candidate)]
    counts: tuple[tuple[Place, str, int], ...] = (
        (("data", "keys"), "keys", keys),
        (("scenario",), "scenarios", len(plan.scenario)),
        (("step",), "steps", max(steps)),
        (("candidate",), "candidates", len(plan.candidate)),
    )
    for place, what, found in counts:
        if found > _MOST[what]:
            raise file.error(
                place,
                f"{found:,} {what} are too many: at most {_MOST[what]:,} can be assessed at once."
                " Name those that matter.",
            )
