"""The risk of households from an intruder who knows all their members."""

import numpy as np

import maskmeter as mm
import oracle
from chance.test_households import studied
from checks.worlds_of import gathered
from worlds import household_worlds


def enumeration():
    """Return how far the risk of households is from a count of every pattern, for both intruders."""

    def deviations(world):
        if not world.released:
            return
        together = oracle.together(world.misclassify)
        told = {"misclassify": together, "include": world.include_home}
        measures = {
            "exact-match": oracle.household_risk,
            "informed": oracle.informed_household_risk,
        }
        for intruder, measure in measures.items():
            risk = mm.household_risk(
                world.file, world.households, intruder=intruder, misclassification=world.errors
            )
            for home, found in zip(world.released, risk.by_household, strict=True):
                yield abs(found - (measure(home, world.homes, **told) or 0.0))

    found = gathered(deviations, household_worlds(), examples=200)
    return {"largest": max(found), "households": len(found)}


def simulation():
    """Return the matches of whole households that are expected and counted, and those of members."""
    exact, informed, wrong, wrong_informed, right, right_informed, members, *_ = studied(2010)
    return {
        "exact": 100 * (exact.mean() / right.mean() - 1),
        "informed": 100 * (informed.mean() / right_informed.mean() - 1),
        "wrong": 100 * abs(wrong.mean() / right.mean() - 1),
        "wrong_informed": 100 * abs(wrong_informed.mean() / right_informed.mean() - 1),
        "matched": float(np.mean(right_informed)),
        "members": float(np.mean(members)),
    }
