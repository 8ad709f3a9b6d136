"""The first screen of a report: the decision, the risk, its picture and what drives it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from maskmeter.evidence.check_figures import CheckFigures, check_sentence
from maskmeter.evidence.drawings import risk_chart
from maskmeter.evidence.schema import Figures, RiskFigures
from maskmeter.evidence.sections import map_figure, reductions
from maskmeter.evidence.wording import (
    Numbers,
    headline,
    marked,
    mean_loss,
    percent,
    reservations,
    share_changed,
    target_sentence,
)
from maskmeter.page import Beside, Block, Fact, Figure, Table, Top
from maskmeter.plurals import counted
from maskmeter.risk.intruder import INFORMED


def top(figures: Figures) -> Top:
    """Return the first screen: the decision, the risk before and after, and the keys behind it."""
    said = [
        *check_sentence(figures.check),
        *target_sentence(figures),
        *_unmet(figures),
        *reservations(figures),
    ]
    held = figures.assessable
    return Top(
        headline(figures),
        *marked(figures),
        " ".join(said),
        tuple(_facts(figures)) if held else (),
        tuple(_pictures(figures)) if held else (),
    )


def of_the_file(figures: Figures) -> Figures:
    """Return the figures of a file that nobody has protected yet, without what is said of a release.

    Its verdict is about the risk alone: a release check of it would be of no release.
    """
    return replace(
        figures,
        scenarios=tuple(replace(one, unprotected=None) for one in figures.scenarios),
        check=CheckFigures(passed=True, findings=()),
        mark=None if figures.target is None else figures.target.verdict,
        changed=None,
        left_out=None,
        mean_loss=None,
    )


def _unmet(figures: Figures) -> list[str]:
    """Return why no useful release was found, where one was looked for."""
    unmet = figures.target is not None and not figures.target.met
    return [figures.choice] if figures.choice and unmet and figures.assessable else []


def _facts(figures: Figures) -> Iterator[Fact]:
    """Yield the figures of the first screen."""
    worst, target = figures.worst, figures.target
    if worst.before is not None:
        yield _fact("Matches before", worst.before, figures)
    yield _fact("Matches" if worst.before is None else "Matches after", worst.risk, figures)
    if figures.audit is not None:
        kept = figures.audit.unchanged
        told = f"{kept.unchanged:,} of {kept.uniques:,} uniques were not changed"
        yield Fact("Matches without a matrix", Numbers(None).matches(kept.total), told)
    if target is not None and target.max_record is not None and figures.largest is not None:
        told = f"target: at most {target.max_record:g}"
        yield Fact("Largest risk of a record", f"{figures.largest:.2f}", told)
    elif target is not None and target.allowed is not None:
        most = Numbers(figures.rounded_to).matches(target.allowed)
        upper = target.by == "upper" and not figures.population_known
        told = "at the upper end of the interval" if upper else "correct matches"
        yield Fact("Target", f"at most {most}", told)
    if figures.changed is not None:
        yield Fact("Records changed", share_changed(figures), f"of {figures.records:,}")
    if figures.left_out is not None:
        yield Fact("Records left out", percent(figures.left_out), "of the original records")
    if figures.mean_loss is not None:
        tables = figures.map.tables if figures.map and figures.chosen else figures.loss
        over = f"mean over {counted(len(tables), 'table')}" if tables else "mean over tables"
        yield Fact("Information loss", mean_loss(figures), over)


def _fact(name: str, risk: RiskFigures, figures: Figures) -> Fact:
    say, notes = Numbers(figures.rounded_to), []
    if figures.population_known:
        notes.append("exact")
    if risk.interval is not None:
        notes.append(f"interval {say.between(risk.interval)}")
    worst = figures.worst
    after = risk is worst.risk and worst.before is not None
    of = "the uniques before" if after else f"{say.count(risk.uniques)} uniques"
    if risk.share is None:
        notes.append(f"of {say.count(risk.uniques)} uniques")
    else:
        notes.append(f"{percent(risk.share)} of {of}")
    if not worst.risks.same and risk is worst.risk:
        other = worst.risks.of("exact-match" if worst.intruder == INFORMED else INFORMED)
        whom = "by exact matching" if worst.intruder == INFORMED else "by an informed intruder"
        notes.append(f"{say.matches(other.total)} {whom}")
    return Fact(name, say.matches(risk.total), "; ".join(notes))


def _pictures(figures: Figures) -> Iterator[Block]:
    """Yield the map, or the risk before and after, beside it the keys that drive the risk.

    Rounded figures are not drawn: a chart would show them as exact.
    """
    if figures.rounded_to is not None:
        return
    picture = (
        Figure("Expected correct matches among the unique records", risk_chart(figures))
        if figures.map is None
        else map_figure(figures.map, figures.chosen or "")
    )
    rows = reductions(figures)[: len(figures.worst.drivers)]
    few = tuple((key, total, reduction) for key, _, total, reduction in rows)
    head = ("key", "matches without it", "reduction")
    yield Beside(picture, Table("The keys that drive the risk", head, few)) if few else picture
