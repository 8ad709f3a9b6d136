"""What the reports say in words: the verdict, the method, the glossary and what was left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from maskmeter.assessment import HALF, Assessment, ScenarioRisk
from maskmeter.data.microdata import Microdata
from maskmeter.data.varying import By
from maskmeter.errors import UnfitModelWarning
from maskmeter.perturb import Release
from maskmeter.perturb.step import Step
from maskmeter.plurals import counted
from maskmeter.risk import EstimatedRisk, Risk
from maskmeter.risk.by_keys import KeySubset

# What colour each mark of a target has.
_TONES = {"met": "good", "met at the estimate only": "", "not met": "bad", "not assessable": "bad"}


def matches(number: float) -> str:
    """Return an expected number of matches as one would say it.

    >>> matches(83.4), matches(2.26)
    ('83', '2.3')
    """
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


def percent(share: float) -> str:
    """Return a share in percent as one would say it.

    >>> percent(0.07), percent(0.12345), percent(0.0004)
    ('7%', '12.3%', '0.04%')
    """
    figure = 100 * share
    if 0 < abs(figure) < 0.1:
        return f"{figure:.1g}%"
    return f"{figure:.1f}".removesuffix(".0") + "%"


def reduction(one: KeySubset, whole: KeySubset) -> str:
    """Return which share of the risk with all keys goes when one of them is not known."""
    return percent(1 - one.risk / whole.risk if whole.risk else 0.0)


def titled(data: Microdata, name: str) -> str:
    """Return a column by its label, with its name behind it."""
    label = data.label(name)
    return name if label == name else f"{label} ({name})"


def marked(found: Assessment) -> tuple[str, str]:
    """Return the mark of a report in words, and its tone; both are empty without a target."""
    if found.mark is None:
        return "", ""
    words = f"Target {found.mark}" if found.assessable else found.mark.capitalize()
    return words, _TONES[found.mark]


def verdict(found: Assessment) -> str:
    """Return the outcome in a few sentences: the target first, then the figure, then the cautions."""
    return " ".join([*target_sentence(found), headline(found), *qualified(found)])


def headline(found: Assessment) -> str:
    """Return the risk in one sentence, or why no figure can be given."""
    if not found.assessable:
        return _not_assessable(found)
    worst, risk = found.worst, found.worst.risk
    if not risk.uniques:
        return "No record is unique on the keys, so no unique match can be made."
    several = len(found.scenarios)
    where = f"In the worst of {several} scenarios ({worst.name}), about" if several > 1 else "About"
    sure = risk.above(HALF)
    return (
        f"{where} {matches(risk.total)} of {counted(risk.uniques, 'unique record')} could be matched correctly;"
        f" {counted(sure, 'record has', 'records have') if sure else 'no record has'} a better than"
        " even chance of a correct match."
    )


def _not_assessable(found: Assessment) -> str:
    """Return which model does not fit, and what to do about it."""
    one = next(one for one in found.scenarios if not one.risk.assessable)
    where = f"Scenario {one.name}: " if len(found.scenarios) > 1 else ""
    return where + next(str(c) for c in one.risk.cautions if c.kind is UnfitModelWarning)


def qualified(found: Assessment) -> list[str]:
    """Return the interval, the risk without protection, and whether an intruder could do better."""
    worst, before = found.worst, found.worst.before
    lines = []
    if found.assessable and worst.risk.uniques:
        if worst.risk.interval is not None:
            lines.append(
                f"The approximate 95 % interval is {spoken_interval(worst.risk)}. The expected"
                f" matches are {percent(worst.risk.total / len(found.released))} of all records."
            )
        if before is not None:
            lines.append(
                f"Without protection, about {matches(before.total)} of {before.uniques:,} could be"
                " matched correctly."
            )
    return [*lines, *reservations(found)]


def reservations(found: Assessment) -> list[str]:
    """Return what a reader of the figures must know as well."""
    lines = []
    if found.release is not None and not found.release.changed.any():
        lines.append("No record was changed: the protected file holds the original values.")
    if found.assessable and found.worst.better_without:
        lines.append(_ignoring(found.worst))
    return lines


def spoken_interval(risk: Risk) -> str:
    """Return an interval as one would say it."""
    low, high = risk.interval or (risk.total, risk.total)
    return f"{matches(low)} to {matches(high)}"


def _ignoring(worst: ScenarioRisk) -> str:
    """Return how well an intruder would do who ignores the most misleading key."""
    key, one = worst.better_without[0]
    share = percent(one.risk / one.uniques) if one.uniques else "0%"
    return (
        f"An intruder who ignores {key} would do better: about {matches(one.risk)} of"
        f" {counted(one.uniques, 'unique record')} ({share})."
    )


def target_sentence(found: Assessment) -> list[str]:
    """Return whether the target is met, by which figure and where it is not; nothing without one."""
    target, mark = found.target, found.mark
    if target is None or mark is None:
        return []
    several = len(found.scenarios) > 1
    failing = [one.name for one in found.scenarios if target.decide(one.risk).verdict == mark]
    where = f" in {', '.join(failing)}" if several else ""
    estimated = isinstance(found.worst.risk, EstimatedRisk)
    ends = {
        "met": f"is met{' in every scenario' if several else ''}"
        + (" at the upper end of the interval" if estimated else ""),
        "met at the estimate only": f"is met by the estimate but not by the upper end of its interval{where}",
        "not met": f"is not met{where}",
        "not assessable": "cannot be checked",
    }
    return [f"The target ({target}) {ends[mark]}."]


def sampling(data: Microdata, *, total: bool = True) -> str:
    """Return how the records were sampled; the sum of the weights only if `total`.

    >>> import polars as pl, maskmeter as mm
    >>> sampling(mm.read(pl.DataFrame({"sex": ["f", "m"]}), keys=["sex"], fraction=0.01))
    'a fraction of 1%'
    """
    parts = []
    if isinstance(data.fraction, By):
        parts.append(f"a fraction that differs by {', '.join(data.fraction.keys)}")
    elif data.fraction is not None:
        parts.append(f"a fraction of {percent(data.fraction)}")
    if data.weights is not None:
        summed = f"weights that sum to {data.weights.sum():,.0f}"
        parts.append(summed if total else "survey weights")
    return " and ".join(parts) or "not stated"


@dataclass(frozen=True)
class Changed:
    """What a step did: how many of the records it changed, and which share was asked for."""

    records: int
    changed: int
    asked: float

    @classmethod
    def by(cls, step: Step, release: Release) -> Changed:
        """Return what a step of a release did, over all its groups."""
        done = [rate for rate in release.reported if rate.step == step.label]
        records = sum(rate.records for rate in done)
        changed = dict(release.changed_by_step)[step.label]
        asked = sum(rate.asked * rate.records for rate in done) / max(records, 1)
        return cls(records, changed, asked)

    def __str__(self) -> str:
        """Return the share that was achieved, and the one asked for where it is another.

        >>> str(Changed(1000, 100, 0.1)), str(Changed(1000, 32, 0.1))
        ('10% of the records', '3.2% of the records (10% asked for)')
        """
        achieved, asked = percent(self.changed / max(self.records, 1)), percent(self.asked)
        return f"{achieved} of the records" + ("" if achieved == asked else f" ({asked} asked for)")


def steps_in_words(release: Release, share: Callable[[Changed], str] = str) -> tuple[str, ...]:
    """Return what each step did; `share` says how many records it changed.

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"lad": ["a", "b"] * 50, "sex": ["f", "m"] * 50})
    >>> sample = mm.read(people, keys=["lad", "sex"], fraction=0.1)
    >>> steps_in_words(mm.Swap("lad", rate=0.2).apply(sample, rng=2010))
    ('Swapping of lad: 20% of the records exchanged it with another record.',)
    """
    steps = () if release.provenance is None else release.provenance.steps
    return tuple(step.describe(share(Changed.by(step, release))) for step in steps)


def assumptions(scenario: ScenarioRisk, found: Assessment) -> tuple[str, ...]:
    """Return the assumptions behind the figures."""
    listed = [one[0].upper() + one[1:] + "." for one in scenario.risk.assumptions]
    listed.append(
        "The intruder knows the true keys of some people in the population, looks them up in the"
        " released file and claims a match when exactly one record agrees."
    )
    if scenario.keys != found.released.space.names:
        listed.append(
            "Steps and sampling fractions that depend on keys the intruder does not know are averaged"
            " over records that agree on the known keys, which is an approximation."
        )
    return tuple(dict.fromkeys(listed))


NOT_ASSESSED = (
    "Attribute disclosure: what an intruder can learn about people without matching a record.",
    "Records that are not unique on the keys: an intruder may guess among the few that agree.",
    "Columns that are not keys, above all numbers that may be known exactly, such as incomes.",
    (
        "Columns that reveal where a key was changed: household numbers, finer areas, the order of"
        " the records."
    ),
    "Other releases from the same source, which an intruder could combine with this one.",
    "Households, firms or schools as groups, unless a household column was given.",
    "How likely an attempt is, what an intruder would gain, and the harm of a wrong match.",
    "Analyses other than the tables whose information loss is shown.",
)

GLOSSARY = (
    ("Key", "A variable that an intruder may know about a person, such as sex, age or place."),
    (
        "Sample unique",
        (
            "A record whose combination of keys no other record in the file shares. Only such a"
            " record gives an intruder a single match."
        ),
    ),
    (
        "Expected correct matches (tau)",
        (
            "The expected number of sample uniques that an intruder would match with the right"
            " person if they tried all of them."
        ),
    ),
    (
        "Risk of a record",
        "The probability that matching a unique record with a person who has its keys is correct.",
    ),
    (
        "Sampling fraction",
        (
            "The share of the population in the file. The smaller it is, the more people outside"
            " the file may have the same keys."
        ),
    ),
    (
        "Swapping",
        (
            "Pairs of records exchange their values of a key, which leaves every count of that key"
            " unchanged."
        ),
    ),
    (
        "PRAM",
        (
            "The post-randomisation method: a key is redrawn with known probabilities. Invariant"
            " PRAM leaves the expected counts unchanged."
        ),
    ),
    (
        "Log-linear model and z2",
        (
            "Without population counts, a log-linear model of the key table stands in for them. z2"
            " measures how well it fits the sample uniques: far above 0 the model overstates the"
            " risk, clearly below 0 it understates it."
        ),
    ),
    (
        "Interval",
        (
            "An approximate 95 % interval for the expected correct matches, which allows for model"
            " choice and sampling."
        ),
    ),
    (
        "RAAD",
        (
            "Relative average absolute distance between the cells of a table before and after"
            " protection: 100 is unchanged, lower is more changed."
        ),
    ),
    ("RCV", "Change in Cramer's V, the strength of association in a table, in percent."),
    (
        "BVR",
        "Change in the variance between the rows of a table for one of its columns, in percent.",
    ),
    (
        "Frontier",
        "The releases that no other release beats on both risk and loss.",
    ),
)
