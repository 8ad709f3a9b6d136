"""Releases next to each other: the figures that a decision rests on, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from maskmeter.app.results import Assessed, SideBySide
from maskmeter.evidence.check_figures import checked
from maskmeter.evidence.schema import Figures, RiskFigures
from maskmeter.evidence.wording import mean_loss, share_changed, step_done

_NONE = "-"


def beside(labels: tuple[str, ...], found: tuple[Assessed, ...]) -> SideBySide:
    """Return releases next to each other."""
    known = [one.figures for one in found]
    rows = [(name, tuple(said(one) for one in known)) for name, said in _FACTS]
    rows += list(_margins(known))
    return SideBySide(labels, tuple(rows), found)


def _matches(risk: RiskFigures) -> str:
    if not risk.assessable or risk.total is None:
        return "not assessable"
    if risk.interval is None:
        return f"{risk.total:,.1f}"
    low, high = risk.interval
    return f"{risk.total:,.1f} ({low:,.1f} to {high:,.1f})"


def _share(one: Figures) -> str:
    share = one.worst.risk.share
    return _NONE if share is None or not one.worst.risk.assessable else f"{share:.1%}"


def _steps(one: Figures) -> str:
    return " ".join(step_done(step) for step in one.steps) or "no protection"


_FACTS: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("what was done", _steps),
    ("target", lambda one: _NONE if one.target is None else one.mark or _NONE),
    ("correct matches, informed intruder", lambda one: _matches(one.worst.risks.informed)),
    ("correct matches, exact matching", lambda one: _matches(one.worst.risks.exact_match)),
    ("share of the unique records", _share),
    (
        "largest risk of a record",
        lambda one: _NONE if one.largest is None else f"{one.largest:.2f}",
    ),
    ("records changed", lambda one: "none" if one.changed is None else share_changed(one)),
    ("information loss", lambda one: _NONE if one.mean_loss is None else mean_loss(one)),
    ("release check", lambda one: "not made" if one.check is None else checked(one.check)),
)


def _margins(known: list[Figures]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield how far the counts of each changed key moved in each release."""
    moved = [{margin.key: margin for margin in one.margins} for one in known]
    for key in dict.fromkeys(
        name for one in moved for name, margin in one.items() if margin.changed
    ):
        said = (f"{one[key].total_variation:.2%}" if key in one else _NONE for one in moved)
        yield f"counts of {key} that moved", tuple(said)
