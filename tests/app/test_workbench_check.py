"""Each line that mends a finding does mend it, and two releases stand side by side."""

from __future__ import annotations

import pytest

from maskmeter.app import changes
from maskmeter.app.settings import Setting
from maskmeter.errors import PlanError
from maskmeter.riskutility.riskmap import UNCHANGED
from workbenches import opened, write_survey


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sorted")
    write_survey(folder, sort=True)
    return folder


def swapped(root):
    """Return a workbench with a swap in a sorted file, nothing done about its order and columns."""
    bench = opened(root)
    bench.apply(lambda plan: type(plan)(data=plan.data))
    bench.try_setting(Setting("swap", ("lad",), rate=0.2), label="one")
    bench.choose("one")
    return bench


def worst(bench, kind):
    check = bench.assess().check
    return next(
        (one for one in check.findings if one.kind == kind and one.severity == "blocker"), None
    )


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("order", "[release] shuffle = true"),
        ("column", '[release] drop = ["town"]'),
        ("column", '[[step]] carry = ["town"]'),
        ("identifier", '[release] drop = ["pid"]'),
        ("identifier", '[release] renumber = ["pid"]'),
    ],
)
def test_the_line_of_a_finding_mends_it(root, kind, line):
    bench = swapped(root)
    if kind == "column":  # the order would tell as much
        bench.mend(worst(bench, "order"), "[release] shuffle = true")
    check = bench.assess().check
    found = next(
        one
        for one in check.findings
        if one.kind == kind and line in one.lines and one.severity != "passed"
    )

    bench.mend(found, line)
    after = [
        one.severity
        for one in bench.assess().check.findings
        if (one.kind, one.key, one.column) == (found.kind, found.key, found.column)
    ]
    assert set(after) <= {"passed"}
    bench.undo()
    assert found in bench.assess().check.findings


def test_a_finding_is_accepted_for_a_reason_only(root):
    bench = swapped(root)
    found = worst(bench, "order")
    with pytest.raises(PlanError, match="reason"):
        bench.mend(found, "")

    bench.mend(found, "", reason="the file is shown to nobody")
    after = [one for one in bench.assess().check.findings if one.kind == "order"]
    assert [(one.severity, one.reason) for one in after] == [
        ("accepted", "the file is shown to nobody")
    ]


def test_two_releases_stand_side_by_side_with_their_own_figures(root):
    bench = swapped(root)
    bench.try_setting(
        Setting("recode", ("age",), groups={"some": tuple(bench.categories("age"))[:8]}),
        label="two",
    )
    told = []
    found = bench.side_by_side(["one", "two", UNCHANGED], lambda *stage: told.append(stage))
    rows = dict(found.rows)

    assert rows["records changed"][0] == "20%"
    assert rows["target"] == ("-", "-", "-")  # there is none, whatever the check says
    assert rows["what was done"][2] == "no protection"
    for one, words in zip(found.assessed, rows["correct matches, informed intruder"], strict=True):
        assert words.startswith(f"{one.figures.worst.risks.informed.total:,.1f} (")
    assert ("Assessing two", 1, 3) in told
    assert bench.plan.step == list(bench.tried[0].steps)


def test_dropping_a_column_ends_its_travels_and_what_was_accepted_of_it(root):
    bench = swapped(root)
    found = next(one for one in bench.assess().check.findings if one.column == "town" and one.lines)
    bench.mend(found, '[[step]] carry = ["town"]')
    bench.mend(found, "", reason="towns are known anyway")
    bench.mend(found, '[release] drop = ["town"]')

    assert bench.plan.step[0].carry == []
    assert bench.plan.check.accept == []
    assert bench.problem() is None
    with pytest.raises(PlanError, match="by itself"):
        bench.mend(found, '[[step]] forbidden = [{from = "...", to = "..."}]')
    bench.apply(lambda plan: changes.with_steps(plan, []))
    with pytest.raises(PlanError, match="No step"):
        bench.mend(found, '[[step]] carry = ["town"]')
