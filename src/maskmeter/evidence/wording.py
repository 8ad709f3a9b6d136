"""What is said of figures: the verdict, the method, the glossary and what was not assessed.

Exact figures and figures that are rounded for the public are said in the same sentences.
"""

from __future__ import annotations

from dataclasses import dataclass

from maskmeter.errors import UnfitModelWarning
from maskmeter.evidence.audit_figures import UnchangedFigures
from maskmeter.evidence.check_figures import check_sentence
from maskmeter.evidence.schema import (
    Figures,
    MapFigures,
    RiskFigures,
    SamplingFigures,
    StepFigures,
)
from maskmeter.plurals import counted, plural
from maskmeter.risk.intruder import BY_WHOM, INFORMED

SHARE = "{share}"  # in the pattern of a step, where the share of records goes

# What colour each mark of a target has.
_TONES = {"met": "good", "met at the estimate only": "", "not met": "bad", "not assessable": "bad"}


@dataclass(frozen=True)
class Numbers:
    """How counts are said: exactly, or as multiples of what they are rounded to.

    >>> exact, rounded = Numbers(None), Numbers(10)
    >>> exact.count(2752), rounded.count(2750), rounded.count(None)
    ('2,752', 'about 2,750', 'fewer than 10')
    >>> exact.matches(83.4), exact.about(2.26), rounded.about(70.0), rounded.matches(0.0)
    ('83', 'about 2.3', 'about 70', '0')
    """

    rounded_to: int | None

    def count(self, number: int | None) -> str:
        """Return a number of records."""
        return f"{number:,}" if self.rounded_to is None else self._rounded(number)

    def matches(self, number: float | None) -> str:
        """Return an expected number of matches."""
        if self.rounded_to is not None:
            return self._rounded(number)
        exact = number or 0.0
        return f"{exact:,.0f}" if exact >= 10 else f"{exact:.1f}"

    def about(self, number: float | None) -> str:
        """Return an expected number of matches for a sentence."""
        return f"about {self.matches(number)}" if self.rounded_to is None else self.matches(number)

    def between(self, ends: tuple[float | None, float | None]) -> str:
        """Return an interval."""
        return " to ".join(map(self.matches, ends))

    def _rounded(self, number: float | None) -> str:
        if number is None:
            return f"fewer than {self.rounded_to}"
        return f"{number:,.0f}" if self.rounded_to == 1 or not number else f"about {number:,.0f}"


def percent(share: float) -> str:
    """Return a share in percent as one would say it.

    >>> percent(0.07), percent(0.12345), percent(0.0004)
    ('7%', '12.3%', '0.04%')
    """
    figure = 100 * share
    if 0 < abs(figure) < 0.1:
        return f"{figure:.1g}%"
    return f"{figure:.1f}".removesuffix(".0") + "%"


def marked(figures: Figures) -> tuple[str, str]:
    """Return the mark of a report in words, and its tone; both are empty without a target."""
    if figures.mark is None:
        return "", ""
    if figures.check is not None and not figures.check.passed:
        outcome = "Not ready" if figures.target is None else "Not met"
        return f"{outcome}: the file gives itself away", _TONES["not met"]
    words = f"Target {figures.mark}" if figures.assessable else figures.mark.capitalize()
    return words, _TONES[figures.mark]


def verdict(figures: Figures) -> str:
    """Return the outcome in a few sentences: the check and the target first, then the figure."""
    return " ".join(
        [
            *check_sentence(figures.check),
            *target_sentence(figures),
            headline(figures),
            *qualified(figures),
            *reservations(figures),
        ]
    )


def headline(figures: Figures) -> str:
    """Return the risk in one sentence, or why no figure can be given."""
    if not figures.assessable:
        return _not_assessable(figures)
    if figures.audit is not None:
        return audit_headline(figures.audit.unchanged)
    risk, say = figures.worst.risk, Numbers(figures.rounded_to)
    if risk.uniques == 0:
        return "No record is unique on the keys, so no unique match can be made."
    number, several = say.count(risk.uniques), len(figures.scenarios)
    if risk.uniques is None:
        told = f"{number} records are unique on the keys and could be matched."
    else:
        whom = "" if figures.worst.risks.same else f" {BY_WHOM[figures.worst.intruder]}"
        told = (
            f"{say.about(risk.total)} of {number} {plural(number, 'unique record')} could be matched"
            f" correctly{whom}{_sure(risk)}."
        )
    where = f"in the worst of {several} scenarios ({figures.headline}), " if several > 1 else ""
    told = where + told
    return told[0].upper() + told[1:]


def audit_headline(risk: UnchangedFigures) -> str:
    """Return the risk of unique records that were not changed: it needs no matrix."""
    told = Numbers(None).about(risk.total)
    of = counted(risk.uniques, "unique released record")
    return (
        f"{told[0].upper()}{told[1:]} of {of} could be matched correctly by exact matching:"
        f" {risk.unchanged:,} of them {plural(risk.unchanged, 'was', 'were')} not changed."
    )


def _sure(risk: RiskFigures) -> str:
    """Return how many records are matched correctly more often than not, where that is known."""
    sure = risk.above_half
    if sure is None:
        return ""
    have = f"{sure:,} {plural(sure, 'has', 'have')}" if sure else "none has"
    return f"; {have} a better than even chance"


def _not_assessable(figures: Figures) -> str:
    """Return which model does not fit, and what to do about it."""
    unfit = [
        (one.name, caution.text)
        for one in figures.scenarios
        for caution in one.cautions
        if caution.kind == UnfitModelWarning.__name__
    ]
    name, text = unfit[0]
    return f"Scenario {name}: {text}" if len(figures.scenarios) > 1 else text


def qualified(figures: Figures) -> list[str]:
    """Return the interval and the risk without protection, as far as they are known."""
    risk, before = figures.worst.risk, figures.worst.before
    if not figures.assessable or not risk.uniques:
        return []
    say, lines = Numbers(figures.rounded_to), []
    if risk.interval is not None:
        lines.append(f"The approximate 95 % interval is {say.between(risk.interval)}.")
        if risk.share is not None and risk.total is not None:
            of_all = percent(risk.total / figures.records)
            lines.append(f"The expected matches are {of_all} of all records.")
    lines += _other_intruder(figures)
    if before is not None and before.assessable and before.uniques:
        lines.append(
            f"Without protection, {say.about(before.total)} of {say.count(before.uniques)} could be"
            " matched correctly."
        )
    return lines


def _other_intruder(figures: Figures) -> list[str]:
    """Return what the intruder who does not decide would get right, if that is something else."""
    worst, say = figures.worst, Numbers(figures.rounded_to)
    if worst.risks.same:
        return []
    if worst.intruder == INFORMED:
        other = f"would be right for {say.about(worst.risks.exact_match.total)}"
        return [f"An intruder who does not know the method and matches exactly {other}."]
    other = f"would be right for {say.about(worst.risks.informed.total)}"
    return [f"An intruder who knows the method {other}."]


def reservations(figures: Figures) -> list[str]:
    """Return what a reader of the figures must know as well."""
    lines = []
    if figures.check is None:
        lines.append("The release check was not made: the records stay in an engine.")
    if figures.changed == 0:
        lines.append("No record was changed: the protected file holds the original values.")
    if figures.check is not None and figures.check.of("caution"):
        lines.append(
            f"The release check has {counted(len(figures.check.of('caution')), 'caution')}."
        )
    ignored = figures.worst.better_without if figures.assessable else ()
    for one in ignored[:1]:
        say = Numbers(figures.rounded_to)
        number = say.count(one.uniques)
        lines.append(
            f"An intruder who ignores {figures.title(one.key)} would do better:"
            f" {say.about(one.total)} of {number} {plural(number, 'unique record')}."
        )
    return lines


def target_sentence(figures: Figures) -> list[str]:
    """Return whether the risk meets the target, by which figure and where not; nothing without one."""
    target = figures.target
    if target is None:
        return []
    mark = target.verdict
    several = len(figures.scenarios) > 1
    interval = not figures.population_known and target.max_record is None
    at_the_end = " at the upper end of the interval" if interval else ""
    where = f" in {', '.join(target.failing)}" if several else ""
    ends = {
        "met": f"is met{' in every scenario' if several else ''}{at_the_end}",
        "met at the estimate only": f"is met by the estimate but not by the upper end of its interval{where}",
        "not met": f"is not met{where}",
        "not assessable": "cannot be checked",
    }
    told = [f"The target ({target.words}) {ends[mark]}."]
    largest = figures.largest
    if target.max_record is not None and largest is not None and mark != "not assessable":
        told.append(f"The largest risk of a record is {largest:.2f}.")
    return told


def sampling(how: SamplingFigures) -> str:
    """Return how the records were sampled.

    >>> sampling(SamplingFigures(0.01, (), True, None))
    'a fraction of 1% and survey weights'
    """
    parts = []
    if how.varies_by:
        parts.append(f"a fraction that differs by {', '.join(how.varies_by)}")
    elif how.fraction is not None:
        parts.append(f"a fraction of {percent(how.fraction)}")
    if how.weights_total is not None:
        parts.append(f"weights that sum to {how.weights_total:,.0f}")
    elif how.weighted:
        parts.append("survey weights")
    return " and ".join(parts) or "not stated"


def step_done(step: StepFigures) -> str:
    """Return what a step did: the share it achieved, and the one asked for where it is another.

    >>> pattern = "Swapping of lad: {share} exchanged it with another record."
    >>> step_done(StepFigures("swap lad", pattern, 1000, asked=0.1, expected=0.1, changed=0.032))
    'Swapping of lad: 3.2% of the records (10% asked for) exchanged it with another record.'
    """
    if step.changed is None:
        return step.pattern
    share = f"{percent(step.changed)} of the records"
    if step.asked is None:
        share = f"about {share}"
    elif percent(step.asked) != percent(step.changed):
        share += f" ({percent(step.asked)} asked for)"
    return step.pattern.replace(SHARE, share)


def share_changed(figures: Figures) -> str:
    """Return the share of all records that were changed in at least one key."""
    rounded = figures.rounded_to is not None and figures.changed
    return ("about " if rounded else "") + percent(figures.changed or 0.0)


def mean_loss(figures: Figures) -> str:
    """Return the mean loss of the tables in percent."""
    loss = figures.mean_loss or 0.0
    return f"{loss:.1f}%" if figures.rounded_to is None else f"at most {loss:.0f}%"


def frontier_ends(known: MapFigures) -> str:
    """Return which releases have the least loss and the least risk, in a sentence."""
    by_label = {one.label: one for one in known.releases}
    ends = [by_label[label] for label in (known.frontier[0], known.frontier[-1])]
    least, safest = (
        f"{one.label} ({Numbers(None).matches(matches)} correct matches, loss {one.loss:.1f})"
        for one in ends
        for matches in [one.informed if known.intruder == INFORMED else one.risk]
    )
    if least == safest:
        return f"It is {least}."
    return f"The frontier runs from the least loss, {least}, to the least risk, {safest}."


def listed_figures(risk: RiskFigures) -> dict[str, float | None]:
    """Return the figures of a risk measure by their names, without those of a model that does not fit."""
    low, high = risk.interval or (None, None)
    held = risk.assessable
    return {
        "unique records": risk.uniques,
        "correct matches": risk.total if held else None,
        "share": risk.share if held else None,
        "lower end of the interval": low if held else None,
        "upper end of the interval": high if held else None,
        "largest risk of a record": risk.largest if held else None,
        "unique records with a risk over 0.5": risk.above_half if held else None,
        "unique records with a risk over 0.2": risk.above_fifth if held else None,
    }


NOT_ASSESSED = (
    "Attribute disclosure: what an intruder can learn about people without matching a record.",
    "Records that are not unique on the keys: an intruder may guess among the few that agree.",
    "Columns that are not keys, above all numbers that may be known exactly, such as incomes.",
    "How likely an attempt is, what an intruder would gain, and the harm of a wrong match.",
    "Analyses other than the tables whose information loss is shown.",
)

NOT_GROUPED = "Households, firms or schools as groups."
NOT_CHECKED = (
    "Columns that reveal where a key was changed: household numbers, finer areas, the order of the"
    " records."
)
NOT_COMPARED = "Other releases from the same source, which an intruder could combine with this one."
