"""Which columns of a file are proposed as keys, which one is redrawn, and what travels with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import log

import polars as pl

from maskmeter.checks import Progress
from maskmeter.data.column_roles import names_weights
from maskmeter.data.source import is_usable_name
from maskmeter.formats.codebook import Codebook
from maskmeter.plan.column_facts import ColumnFacts
from maskmeter.plan.column_guesses import (
    ColumnGuess,
    JudgedColumn,
    best_weights,
    first_guesses,
)
from maskmeter.plan.key_topics import AGE, BIRTH_YEAR, INSTITUTION, PLACE, SEX

MOST_KEYS = 8
_ENOUGH = 2  # keys with a known topic, beside which no others are needed
_FILLED = 4  # keys, where too few have a known topic
_RECORDS_EACH = 25  # of a place: about five of them are rare, and exchange their place
_MOST_REDRAWN = 150
_USUAL = 10  # categories of a key
_CLOSE = 0.9  # share of the errors of a guess that a column must spare, so that it tells another
_TELLING = 0.5  # the same for another column about places


@dataclass(frozen=True)
class Proposal:
    """What a starter plan proposes: the columns, the key to redraw and why, and what it carries."""

    columns: tuple[ColumnGuess, ...]
    weights: str | None = None
    household: str | None = None
    redrawn: str | None = None
    why_redrawn: str = ""
    shared: bool = False  # by the members of a household: they tell the redrawn key of one another

    def of(self, *roles: str) -> list[ColumnGuess]:
        """Return the columns of some roles, keys in the order of their rank."""
        return [one for role in roles for one in self.columns if one.role == role]


def columns_of(
    frame: pl.DataFrame, codebook: Codebook, progress: Progress = lambda *_: None
) -> Proposal:
    """Return what every column of a file is guessed to be, keys first and the best known before others.

    >>> frame = pl.DataFrame({"id": range(40), "wgt": [1.5] * 40, "sex": ["f", "m"] * 20})
    >>> found = columns_of(frame, Codebook())
    >>> [(one.name, one.role) for one in found.columns], found.weights
    ([('sex', 'key'), ('id', 'identifier'), ('wgt', 'weights')], 'wgt')
    """
    named = [name for name in frame.columns if is_usable_name(name)]
    facts = []
    for number, one in enumerate(named):
        progress("Looking at the columns", number, len(named))
        facts.append(ColumnFacts.of(frame[one], codebook[one]))
    columns = first_guesses(facts)
    keys = _ranked_keys(columns)
    redrawn, why = _redrawn(keys)
    tied = {} if redrawn is None else _tied(frame, redrawn, [*columns, *keys], progress)
    weights = best_weights([one for one in columns if one.guess.role == "weights"])
    household = next((one.name for one in columns if one.guess.role == "household"), None)
    kept = [one for one in keys if one.name not in tied]
    listed = {one.name: one for one in kept}
    others = (_other(one, keys, tied) for one in columns if one.name not in listed)
    guesses = (*(one.guess for one in kept), *(one.guess for one in others))
    name = None if redrawn is None else redrawn.name
    shared = name is not None and household is not None and tells(frame, household, name) > _TELLING
    return Proposal(guesses, weights, household, name, why, shared)


def _ranked_keys(columns: Sequence[JudgedColumn]) -> list[JudgedColumn]:
    """Return at most eight keys, one of each topic, from well known to less so."""
    by_topic: dict[str, list[JudgedColumn]] = {}
    for one in columns:
        if one.match is not None:
            by_topic.setdefault(one.match.topic.name, []).append(one)
    if AGE.name in by_topic:
        by_topic.pop(BIRTH_YEAR.name, None)
    best = [min(some, key=_preference) for some in by_topic.values()]
    best.sort(key=lambda one: -one.match.fit)  # type: ignore[union-attr]
    keys = [one.as_key() for one in best[:MOST_KEYS]]
    return keys if len(keys) >= _ENOUGH else [*keys, *_unknown(columns, _FILLED - len(keys))]


def _unknown(columns: Sequence[JudgedColumn], room: int) -> list[JudgedColumn]:
    """Return columns of categories whose names say nothing, those that tell most people apart first."""
    rest = [one for one in columns if one.match is None and one.guess.role == "other"]
    rest = [one for one in rest if not one.guess.topic and not one.facts.dates]
    rest = [one for one in rest if not one.facts.nested]
    rest.sort(key=lambda one: -one.facts.effective)
    why = "a guess by its categories alone: remove it if an intruder cannot know it"
    return [one.as_key(why) for one in rest[:room]]


def _preference(one: JudgedColumn) -> tuple[float, ...]:
    """Return the order among columns of one topic: the best name, then the most useful categories."""
    match, facts = one.match, one.facts
    fit = -round(match.fit, 1) if match is not None else 0.0
    if match is not None and match.topic in (PLACE, INSTITUTION):
        remote = match.fit < 0.5 * match.topic.known
        return (remote, -useful_categories(facts), facts.distinct, fit)
    # Single years come before groups of ages: left in the file beside these, they would tell more.
    return (not one.guess.bands, fit, not facts.labelled, abs(log(facts.distinct / _USUAL)))


def useful_categories(facts: ColumnFacts) -> int:
    """Return how many categories a place has if records can exchange it, else 0."""
    few = facts.distinct * _RECORDS_EACH <= facts.present
    return facts.distinct if few and facts.distinct <= _MOST_REDRAWN else 0


def _redrawn(keys: Sequence[JudgedColumn]) -> tuple[JudgedColumn | None, str]:
    """Return the key to redraw, and why: a place if there is one."""
    if len(keys) < 2:
        return (
            None,
            "a redraw needs two keys: one to exchange, and others by which records are rare",
        )
    topics = [(one, None if one.match is None else one.match.topic) for one in keys]
    for wanted in (PLACE, INSTITUTION):
        for one, topic in topics:
            if topic is wanted and one.facts.effective >= 2:
                return one, f"a {wanted.name}; tables without it stay as they are"
    others = [one for one, topic in topics if topic not in (SEX, AGE, BIRTH_YEAR)]
    fit = [one for one in others if 2 < one.facts.distinct <= _MOST_REDRAWN]
    chosen = max(fit or others or list(keys), key=lambda one: one.facts.effective)
    return chosen, "no key is a place, and of the others this one tells most people apart"


def _tied(
    frame: pl.DataFrame,
    redrawn: JudgedColumn,
    columns: Sequence[JudgedColumn],
    progress: Progress,
) -> dict[str, str]:
    """Return the columns that tell the redrawn key or that it tells, and the reason."""
    found = {}
    coded = cache(lambda name: _coded(frame[name]))
    # A key comes twice.
    spared = cache(lambda a, b: tells(pl.DataFrame({"a": coded(a), "b": coded(b)}), "a", "b"))
    for number, one in enumerate(columns):
        progress("Comparing the columns", number, len(columns))
        skipped = one.name == redrawn.name or one.facts.nested or one.facts.distinct < 2
        # Of numbers in bands only the bands are released, and single years tell too much by chance.
        if (
            skipped
            or one.guess.bands
            or one.guess.role in ("identifier", "personal", "household", "weights")
            or names_weights(one.name)
        ):
            continue
        place = one.guess.topic in (PLACE.name, INSTITUTION.name)
        least = _TELLING if place and one.guess.role != "key" else _CLOSE
        if spared(one.name, redrawn.name) >= least:
            found[one.name] = f"it tells {redrawn.name}"
        elif spared(redrawn.name, one.name) >= _CLOSE:
            found[one.name] = f"{redrawn.name} tells it"
    return found


def _coded(values: pl.Series) -> pl.Series:
    """Return texts as numbers, which are quicker to tell apart."""
    return values.cast(pl.Categorical).to_physical() if values.dtype == pl.String else values


def tells(frame: pl.DataFrame, column: str, other: str) -> float:
    """Return the share of the errors in guessing one column that knowing another column spares.

    A record is guessed by the commonest value among the others that agree with it (the lambda of
    Goodman and Kruskal, each record left out in turn).

    >>> frame = pl.DataFrame({"ward": list("aabbccdd"), "town": list("xxxxyyyy"), "sex": list("fmfmfmfm")})
    >>> tells(frame, "ward", "town"), tells(frame, "sex", "town"), tells(frame, "town", "ward")
    (1.0, 0.0, 0.0)
    """
    pairs = frame.select(a=pl.col(column), b=pl.col(other)).group_by("a", "b").len("n")
    top = pl.col("n").sort(descending=True)
    groups = pairs.group_by("a").agg(
        first=top.first(), second=top.get(1, null_on_oob=True).fill_null(0)
    )
    sure = groups.filter(pl.col("first") - 1 > pl.col("second"))
    hits = float(sure["first"].sum()) / len(frame)
    usual = float(pairs.group_by("b").agg(pl.col("n").sum())["n"].max()) / len(frame)  # type: ignore[arg-type]
    return max((hits - usual) / (1 - usual), 0.0) if usual < 1 else 0.0


def _other(one: JudgedColumn, keys: Sequence[JudgedColumn], tied: dict[str, str]) -> JudgedColumn:
    """Return a column that is no key, with the reason."""
    if one.name in tied:
        return one.told("carried", tied[one.name])
    if one.match is None:
        return one
    topic = one.match.topic
    ages = (AGE, BIRTH_YEAR)
    for key in keys:
        known = None if key.match is None else key.match.topic
        if known is topic or (topic in ages and known in ages):
            if key.guess.bands and one.guess.bands:
                return one.told("personal", f"it tells {key.name} more closely than its bands")
            return one.told("other", f"about the same as {key.name}, which is a key")
    return one.told("other", f"{topic.name}: less widely known than the keys")
