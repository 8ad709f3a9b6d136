"""What the reports say in words: the verdict, the method, the glossary and what was left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskmeter.evidence.assessment import HALF
from maskmeter.perturb import Pram, Swap
from maskmeter.risk import EstimatedRisk
from maskmeter.strata import By

if TYPE_CHECKING:
    from maskmeter.evidence.assessment import Assessment, ScenarioRisk
    from maskmeter.microdata import Microdata
    from maskmeter.perturb.step import Step


@dataclass(frozen=True)
class Audience:
    """Who reads: the agency, or the public, who see no small count and no rate unless wanted."""

    public: bool
    smallest: int = 10
    rates: bool = False

    @property
    def shows_rates(self) -> bool:
        """Whether shares of changed records may be told."""
        return self.rates or not self.public

    def count(self, number: int) -> str:
        """Return a count of records; the public is not told a small one.

        >>> Audience(public=True).count(3), Audience(public=False).count(3)
        ('fewer than 10', '3')
        """
        return f"fewer than {self.smallest}" if self.hides(number) else f"{number:,}"

    def counts(self, numbers: list[int]) -> list[str]:
        """Return counts beside each other; the public is not told small differences either.

        >>> Audience(public=True).counts([171, 169, 2750])
        ['about 170', 'about 170', '2,750']
        """
        told = []
        for number in numbers:
            near = any(0 < abs(number - other) < self.smallest for other in numbers)
            about = round(number / self.smallest) * self.smallest
            vague = self.public and near and not self.hides(number)
            told.append(f"about {about:,}" if vague else self.count(number))
        return told

    def hides(self, number: int) -> bool:
        """Return True for a count that may not be told, nor what would tell it."""
        return self.public and 0 < number < self.smallest


def told(caution: Warning, audience: Audience) -> str:
    """Return what speaks against an estimate; the public is told without its figures.

    >>> from maskmeter.errors import FewUniquesWarning
    >>> told(FewUniquesWarning("There are 3 sample uniques."), Audience(public=True))
    'There are too few sample uniques to judge a model by.'
    """
    return str(type(caution).__doc__) if audience.public else str(caution)


def matches(number: float) -> str:
    """Return an expected number of matches as one would say it.

    >>> matches(83.4), matches(2.26)
    ('83', '2.3')
    """
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"  # noqa: PLR2004 - two digits either way


def percent(share: float) -> str:
    """Return a share in percent as one would say it.

    >>> percent(0.07), percent(0.12345), percent(0.0004)
    ('7%', '12.3%', '0.04%')
    """
    figure = 100 * share
    if 0 < abs(figure) < 0.1:  # noqa: PLR2004 - where one decimal says nothing
        return f"{figure:.1g}%"
    return f"{figure:.1f}".removesuffix(".0") + "%"


def titled(data: Microdata, name: str) -> str:
    """Return a column by its label, with its name behind it."""
    label = data.label(name)
    return name if label == name else f"{label} ({name})"


def verdict(found: Assessment, audience: Audience) -> str:
    """Return the outcome in a few sentences."""
    return " ".join([headline(found, audience), *qualified(found, audience)])


def told_counts(found: Assessment, audience: Audience) -> dict[int, str]:
    """Return how the counts of a report are told: one that differs little from another is rounded."""
    risks = [risk for one in found.scenarios for risk in (one.before, one.risk) if risk is not None]
    numbers = [len(found.released)]
    numbers += [number for risk in risks for number in (risk.uniques, risk.above(HALF))]
    return dict(zip(numbers, audience.counts(numbers), strict=True))


def headline(found: Assessment, audience: Audience) -> str:
    """Return the outcome in one sentence."""
    worst, risk, told = found.worst, found.worst.risk, told_counts(found, audience)
    if not risk.uniques:
        return "No record is unique on the keys, so that none can be matched with certainty."
    if audience.hides(risk.uniques):
        return f"{told[risk.uniques].capitalize()} records are unique on the keys and could be matched."
    several = len(found.scenarios)
    where = f"In the worst of {several} scenarios ({worst.name}), about" if several > 1 else "About"
    return (
        f"{where} {matches(risk.total)} of {told[risk.uniques].removeprefix('about ')} unique records"
        f" could be matched correctly; {told[risk.above(HALF)]} of them with probability over one half."
    )


def qualified(found: Assessment, audience: Audience) -> list[str]:
    """Return what stands beside the outcome: how sure it is, what it was, and the target."""
    worst, before, told = found.worst, found.worst.before, told_counts(found, audience)
    shown = worst.risk.uniques > 0 and not audience.hides(worst.risk.uniques)
    lines = []
    interval = worst.risk.interval
    if interval is not None and shown:
        lines.append(
            f"The approximate 95 % interval is {matches(interval[0])} to {matches(interval[1])};"
            f" {percent(worst.risk.total / len(found.released))} of all records would be matched."
        )
    if before is not None and shown and not audience.hides(before.uniques):
        lines.append(
            f"Without protection it would be about {matches(before.total)} of"
            f" {told[before.uniques]}."
        )
    if found.release is not None and not found.release.changed.any():
        lines.append("No record was changed: the protected file is the one that was read.")
    if found.target is not None:
        lines.append(_aim(found))
    if not audience.public:
        lines += _ignoring(worst)
    return lines


def _ignoring(worst: ScenarioRisk) -> list[str]:
    """Return what an intruder would gain who ignores a key that misleads."""
    if not worst.better_without:
        return []
    key, one = worst.better_without[0]
    share = percent(one.exact / one.uniques) if one.uniques else "0%"
    return [
        (
            f"An intruder who ignores {key} would do better: about {matches(one.exact)} of"
            f" {one.uniques:,} unique records ({share})."
        )
    ]


def _aim(found: Assessment) -> str:
    """Return whether the target is met, and by which figure."""
    target, estimated = found.target, isinstance(found.worst.risk, EstimatedRisk)
    failing = [
        one.name
        for one in found.scenarios
        if target is not None and one.risk.upper > target.most(one.risk.uniques)
    ]
    upper = " at the upper end of the interval" if estimated else ""
    if not failing:
        everywhere = " in every scenario" if len(found.scenarios) > 1 else ""
        return f"The target of {target} is met{everywhere}{', also' + upper if upper else ''}."
    where = f" in {', '.join(failing)}" if len(found.scenarios) > 1 else ""
    return f"The target of {target} is not met{where}{upper}."


def sampling(data: Microdata) -> str:
    """Return how the records were sampled.

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
        parts.append(f"weights that sum to {data.weights.sum():,.0f}")
    return " and ".join(parts) or "not stated"


def step_in_words(step: Step, audience: Audience) -> str:
    """Return what a step does.

    >>> step_in_words(Swap("lad", rate=0.2, within=("sex",)), Audience(public=False))
    'Swapping of lad: 20% of the records exchange it with another record of the same sex.'
    """
    if isinstance(step, Swap):
        within = f" of the same {' and '.join(step.within)}" if step.within else ""
        who = _share(step.rate, audience)
        return (
            f"Swapping of {' and '.join(step.key)}: {who} exchange it with another record{within}."
        )
    if isinstance(step, Pram):
        keys = ", ".join(" and ".join(names) for names in step.targets)
        kind = "Invariant PRAM" if step.invariant else "PRAM"
        if step.stay is None:
            return f"{kind} of {keys}: it is redrawn from a given matrix."
        left = step.stay.map(lambda stay: 1 - stay) if isinstance(step.stay, By) else 1 - step.stay
        return f"{kind} of {keys}: it is redrawn so that {_share(left, audience)} change."
    return f"{step.label}."


def _share(rate: Any, audience: Audience) -> str:  # noqa: ANN401 - a number or By
    if not audience.shows_rates:
        return "some records"
    if isinstance(rate, By):
        return f"a share of the records that differs by {' and '.join(rate.keys)}"
    return f"{percent(rate)} of the records"


def assumptions(scenario: ScenarioRisk, found: Assessment) -> tuple[str, ...]:
    """Return what the figures rest on."""
    listed = [one[0].upper() + one[1:] + "." for one in scenario.risk.assumptions]
    listed.append(
        "The intruder knows the true keys of some people of the population, matches them with the"
        " released file and claims a match when exactly one record agrees."
    )
    if scenario.keys != found.released.space.names:
        listed.append(
            "Steps, and sampling fractions, that depend on keys which the intruder does not know"
            " count with their average over records that are alike in what is known: an"
            " approximation."
        )
    return tuple(dict.fromkeys(listed))


NOT_ASSESSED = (
    "Attribute disclosure: what can be learnt about people without matching them to one record.",
    "Records that are not unique on the keys, as a route to a match with one of a few.",
    "Variables outside the keys, above all numbers such as incomes that may be known exactly.",
    (
        "Columns outside the keys that tell where a key was changed: household numbers, finer areas, the"
        " order of the records."
    ),
    "Other releases from the same source, which could be put beside this one.",
    "Households, firms or schools as groups, unless a column of households was named.",
    "Whether an intruder would try, what they would gain, and harm from a wrong match.",
    "Analyses other than the tables whose information loss is shown.",
)

GLOSSARY = (
    ("Key", "A variable that an intruder may know about a person: sex, age, place and the like."),
    (
        "Sample unique",
        (
            "A record whose combination of keys no other record of the file has. Only such a record"
            " gives an intruder one match."
        ),
    ),
    (
        "Expected correct matches (tau)",
        (
            "How many sample uniques an intruder would match with the right person, on average, if all"
            " of them were tried."
        ),
    ),
    (
        "Risk of a record",
        "The probability that the match of a unique record with a person who has its keys is right.",
    ),
    (
        "Sampling fraction",
        (
            "The share of the population that is in the file. The smaller it is, the more people"
            " outside the file may have the same keys."
        ),
    ),
    (
        "Swapping",
        (
            "Pairs of records exchange the value of a key, so that every count of that key stays as it"
            " was."
        ),
    ),
    (
        "PRAM",
        (
            "The post-randomisation method: a key is redrawn with known probabilities. It is invariant"
            " when the counts stay as they were on average."
        ),
    ),
    (
        "Log-linear model and z2",
        (
            "Without the counts of the population a model of the key table stands in for them. z2 tells"
            " whether it describes the sample uniques: far above 0 it overstates the risk, clearly"
            " below 0 it understates it."
        ),
    ),
    (
        "Interval",
        (
            "An approximate 95 % interval for the expected correct matches, which allows for the choice"
            " of the model and for sampling."
        ),
    ),
    (
        "RAAD",
        (
            "Relative average absolute distance of the cells of a table: 100 is unchanged, lower is"
            " further away."
        ),
    ),
    ("RCV", "Change of Cramer's V, the strength of the association of a table, in percent."),
    (
        "BVR",
        "Change, in percent, of the variance between the rows of a table, for one of its columns.",
    ),
    (
        "Frontier",
        "The releases that no other release beats on both risk and loss.",
    ),
)
