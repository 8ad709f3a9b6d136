"""A plan that is written is the plan that is read."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from maskmeter.perturb.entries import Move, Varying
from maskmeter.perturb.pram import PramEntries
from maskmeter.perturb.recode import RecodeEntries
from maskmeter.perturb.redraw import RedrawEntries
from maskmeter.perturb.subsample import SubsampleEntries
from maskmeter.perturb.swap import SwapEntries
from maskmeter.plan import Plan, plan_text
from maskmeter.plan.number_bands import number_bands
from maskmeter.plan.paths import with_paths
from maskmeter.plan.reading import parse_plan
from maskmeter.plan.schema import (
    AcceptedFinding,
    Candidate,
    CheckPlan,
    Data,
    ErrorPlan,
    FamilyPlan,
    LossPlan,
    ReleasePlan,
    ReportPlan,
    Scenario,
    TargetPlan,
)

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
NAMES = st.lists(TEXT, max_size=3)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SHARES = st.floats(0, 1)
VARYING = st.one_of(
    SHARES,
    st.builds(Varying, TEXT, st.dictionaries(TEXT, SHARES, max_size=3), st.none() | SHARES),
)
STEPS = st.one_of(
    st.builds(SwapEntries, TEXT | NAMES, VARYING, within=NAMES, carry=NAMES),
    st.builds(RedrawEntries, TEXT, NUMBERS, others=NAMES, label=st.none() | TEXT),
    st.builds(RecodeEntries, TEXT, groups=st.none() | st.dictionaries(TEXT, NAMES, max_size=2)),
    st.builds(
        PramEntries,
        key=TEXT,
        stay=st.none() | VARYING,
        matrix=st.none() | TEXT | st.just([[0.5, 0.5], [0.25, 0.75]]),
        forbidden=st.lists(st.builds(Move, st.none() | TEXT, TEXT | NAMES), max_size=2),
    ),
    st.builds(SubsampleEntries, SHARES),
)
LISTED = st.lists(STEPS, max_size=2)
CANDIDATES = st.lists(st.builds(Candidate, TEXT, LISTED), max_size=2)
PLANS = st.builds(
    Plan,
    data=st.builds(
        Data,
        keys=NAMES,
        fraction=st.none() | VARYING,
        weights=st.none() | TEXT,
        population=st.none() | TEXT,
        bands=st.dictionaries(TEXT, st.lists(NUMBERS, max_size=3), max_size=2),
        missing_codes=st.dictionaries(TEXT, st.lists(TEXT | NUMBERS, max_size=2), max_size=2),
        missing=st.sampled_from(["refuse", "category"]),
    ),
    scenario=st.dictionaries(TEXT, st.builds(Scenario, NAMES), max_size=2),
    step=LISTED,
    candidate=CANDIDATES,
    family=st.none() | st.builds(FamilyPlan, TEXT, within=NAMES, first=CANDIDATES),
    error=st.lists(st.builds(ErrorPlan, TEXT, TEXT, st.none() | NAMES), max_size=2),
    loss=st.builds(LossPlan, st.lists(st.tuples(TEXT, TEXT), max_size=2)),
    target=st.none() | st.builds(TargetPlan, st.none() | SHARES, max_total=st.none() | NUMBERS),
    release=st.builds(ReleasePlan, st.booleans(), NAMES, NAMES),
    check=st.builds(
        CheckPlan,
        st.lists(st.builds(AcceptedFinding, st.just("date"), TEXT, TEXT), max_size=1),
        NAMES,
    ),
    report=st.builds(ReportPlan, st.none() | TEXT, smallest_count=st.integers(1, 99)),
)


@given(PLANS)
def test_a_plan_that_is_written_is_the_plan_that_is_read(plan):
    assert parse_plan(plan_text(plan), Path("plan.toml")).plan == plan


def test_a_written_plan_has_the_tables_that_a_user_would_write():
    text = plan_text(
        Plan(
            Data(keys=["lad"], bands={"age": [0, 16]}),
            candidate=[Candidate("RS", [SwapEntries("lad", 0.2)])],
        )
    )

    assert text == (
        '[data]\nkeys = ["lad"]\n\n[data.bands]\nage = [0, 16]\n\n[[candidate]]\nlabel = "RS"\n\n'
        '[[candidate.step]]\nmethod = "swap"\nkey = "lad"\nrate = 0.2\n'
    )


@given(PLANS)
def test_every_path_of_a_plan_can_be_changed_and_nothing_else_is(plan):
    marked = with_paths(plan, lambda path: f"<{path}>")
    count = msgspec.json.encode(marked).count(b"<") - msgspec.json.encode(plan).count(b"<")
    steps = [*plan.step, *(one for some in plan.candidate for one in some.step)]
    steps += [one for some in (plan.family.first if plan.family else []) for one in some.step]
    named = [plan.data.population, *plan.check.earlier, *(one.matrix for one in plan.error)]
    named += [getattr(step, "matrix", None) for step in steps]

    assert count == sum(isinstance(one, str) for one in named)
    assert with_paths(marked, lambda path: path[1:-1]) == plan


@given(st.lists(st.floats(-1e6, 1e6) | st.integers(-100, 100), max_size=40))
def test_offered_bands_rise_and_hold_every_number(numbers):
    bounds = number_bands(np.array(numbers, dtype=float))

    assert bounds == sorted(set(bounds))
    assert len(bounds) != 1
    assert len(bounds) <= 6
    assert not bounds or bounds[0] <= min(numbers)
    assert bool(bounds) == (len(set(map(float, numbers))) > 1)
