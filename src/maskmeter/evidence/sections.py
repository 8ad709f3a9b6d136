"""The sections of a report: what is told, in which order, and to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from maskmeter import chart
from maskmeter.evidence.assessment import HALF
from maskmeter.evidence.choices import choice_blocks
from maskmeter.evidence.discreet import discreet
from maskmeter.evidence.records import record_blocks
from maskmeter.evidence.words import (
    GLOSSARY,
    NOT_ASSESSED,
    assumptions,
    matches,
    percent,
    sampling,
    step_in_words,
    titled,
    told,
    told_counts,
)
from maskmeter.page import Figure, Points, Section, Table, Terms, Text
from maskmeter.risk import EstimatedRisk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskmeter.evidence.assessment import Assessment
    from maskmeter.evidence.words import Audience
    from maskmeter.manykeys import KeySubset
    from maskmeter.microdata import Microdata
    from maskmeter.page import Block
    from maskmeter.risk import Risk


_FEW = 20  # records of a group, which a matrix of its own then nearly describes one by one


def sections(found: Assessment, audience: Audience) -> list[Section]:
    """Return the sections of a report; those that have nothing to say are left out."""
    parts = (
        ("What was assessed", _what(found, audience)),
        ("How the file was protected", _how(found, audience)),
        ("The risk", _risk(found, audience)),
        ("The risk of single records", record_blocks(found, audience)),
        ("Which keys drive the risk", _keys(found, audience)),
        ("The model behind the estimate", _model(found)),
        ("What protection costs", _loss(found, audience)),
        ("The choices", choice_blocks(found, audience)),
        ("What was not assessed", iter([Points(NOT_ASSESSED)])),
        ("Glossary", iter([Terms(GLOSSARY)])),
    )
    listed = [Section(title, tuple(blocks)) for title, blocks in parts]
    told = [section for section in listed if section.blocks]
    return [discreet(section) for section in told] if audience.public else told


def _what(found: Assessment, audience: Audience) -> Iterator[Block]:
    data = found.released
    yield Text(
        f"A file of {audience.count(len(data))} records with {len(data.space.keys)} keys"
        f" ({data.space.size:,} combinations), sampled with {sampling(data)}."
    )
    several = len(found.scenarios) > 1 or found.worst.keys != data.space.names
    yield from keys_blocks(data, {one.name: one.keys for one in found.scenarios} if several else {})
    yield Text("What the figures rest on:")
    yield Points(assumptions(found.worst, found))


def keys_blocks(data: Microdata, scenarios: Mapping[str, Sequence[str]]) -> Iterator[Block]:
    """Yield the keys of a file, and which of them are known in which scenario."""
    rows = [
        (
            titled(data, key.name),
            f"{key.size:,}",
            *("yes" if key.name in known else "" for known in scenarios.values()),
        )
        for key in data.space.keys
    ]
    caption = "The keys, and who knows them" if scenarios else "The keys an intruder may know"
    yield Table(caption, ("key", "categories", *scenarios), tuple(rows))


def _how(found: Assessment, audience: Audience) -> Iterator[Block]:
    release = found.release
    if release is None:
        return
    steps = () if release.provenance is None else release.provenance.steps
    if steps:
        yield Points(tuple(step_in_words(step, audience) for step in steps))
    if not audience.shows_rates:
        return
    yield Text(f"{percent(float(release.changed.mean()))} of the records were changed in some key.")
    few = [rate for rate in release.reported if 0 < rate.records < _FEW and rate.expected]
    if few and len(few) > len(release.reported) / 2:
        yield Text(
            f"{len(few):,} of {len(release.reported):,} groups hold fewer than {_FEW} records. A"
            " matrix for so few nearly tells who was moved: the risk of single records is then that"
            " of an intruder who knows.",
            "Caution",
        )
    if release.reported and not audience.public:
        rows = tuple(
            (
                f"{rate.step}: {rate.stratum}",
                f"{rate.records:,}",
                percent(rate.asked),
                percent(rate.expected),
                percent(rate.achieved),
            )
            for rate in release.reported
        )
        head = ("step and group", "records", "asked", "expected", "achieved")
        yield Table("Share of records changed", head, rows)


def risk_table(found: Assessment, audience: Audience) -> Table:
    """Return the risk of every scenario, before and after protection."""
    named: list[tuple[str, Risk]] = []
    for one in found.scenarios:
        if one.before is not None:
            named.append((f"{one.name}, unprotected", one.before))
        named.append((f"{one.name}, protected" if one.before else one.name, one.risk))
    told = told_counts(found, audience)
    rows = [(name, *_measured(risk, audience, told)) for name, risk in named]
    head = (
        "scenario",
        "unique records",
        "correct matches",
        "share",
        "95 % interval",
        "over one half",
    )
    return Table("Correct matches to expect among the unique records", head, tuple(rows))


def _risk(found: Assessment, audience: Audience) -> Iterator[Block]:
    yield risk_table(found, audience)
    others = found.worst.others
    if others and not audience.hides(found.worst.risk.uniques):
        exact = ("tau (2.8)", "exact, population known", matches(found.worst.risk.total))
        more = tuple((eq, meaning, f"{risk.total:,.1f}") for eq, meaning, risk in others)
        yield Table(
            "The same by the paper's equations",
            ("equation", "what it is", "matches"),
            (exact, *more),
        )
    if found.worst.risk.without_target:
        yield Text(
            f"{audience.count(found.worst.risk.without_target)} unique records are in cells where"
            " nobody in the population truly is: no target, no risk."
        )
    for caution in found.worst.risk.cautions:
        yield Text(told(caution, audience), "Caution")
    yield from _households(found, audience)


def _households(found: Assessment, audience: Audience) -> Iterator[Block]:
    """Yield the risk of households, and that a household can give a changed record away."""
    risk = found.worst.risk
    if not isinstance(risk, EstimatedRisk) or risk.household is None:
        return
    yield Text(
        f"Households: in about {matches(float(risk.by_household.sum()))} of"
        f" {audience.count(len(risk.by_household))} a correct match of some member is to be"
        " expected, counting also members who are not unique."
    )
    if found.release is not None and not audience.public:
        yield Text(
            f"The file keeps {risk.household}, and records were changed one by one: members of a"
            " household that differ where they should agree show a change. Leave the column out of"
            " the release, or number households anew within what was changed.",
            "Caution",
        )


def _measured(risk: Risk, audience: Audience, told: dict[int, str]) -> tuple[str, ...]:
    """Return the figures of a risk; where its uniques may not be told, nothing that would tell them."""
    if audience.hides(risk.uniques):
        return (told[risk.uniques], *["not shown"] * 4)
    interval = risk.interval
    return (
        told[risk.uniques],
        matches(risk.total),
        percent(risk.share),
        "exact" if interval is None else f"{matches(interval[0])} to {matches(interval[1])}",
        told[risk.above(HALF)],
    )


def _keys(found: Assessment, audience: Audience) -> Iterator[Block]:
    worst, data = found.worst, found.released
    if not worst.left_out or worst.without_one is None:
        return
    whole = worst.without_one.subsets[0]
    # Of few uniques the public is told nothing: where each match is right it would be their number.
    told = [pair for pair in worst.left_out if not audience.hides(pair[1].uniques)]
    left = sorted(told, key=lambda pair: pair[1].exact)
    if not left or audience.hides(worst.risk.uniques):
        return
    named = {key: titled(data, key) for key, _ in left}
    yield Text(
        f"If an intruder did not know {named[left[0][0]]}, about {matches(left[0][1].exact)} correct"
        f" matches would be left of {matches(whole.exact)}: no other key matters more."
    )
    frame = pl.DataFrame(
        [(named[key], whole.exact, one.exact) for key, one in left],
        schema=["key", "all", "without"],
        orient="row",
    )
    yield Figure(
        "Correct matches when one key is not known",
        chart.paired_dots(
            frame,
            names=("all keys known", "this key not known"),
            x="Correct matches to expect",
            y="Key",
            title="Which keys drive the risk",
            subtitle="The further a key's dot is to the left, the more of the risk rests on it",
        ),
    )
    yield _without_one(left, whole, named, audience)
    helping = [named[key] for key, _ in worst.better_without]
    if helping and not audience.public:
        yield Text(
            f"An intruder would do better without {' or '.join(helping)}: what was changed there"
            " misleads more than it tells.",
            "Caution",
        )


def _without_one(
    left: list[tuple[str, KeySubset]], whole: KeySubset, named: dict[str, str], audience: Audience
) -> Table:
    # Uniques with and without a key differ by few: the public is not told either.
    rows = tuple(
        (
            named[key],
            *(() if audience.public else (f"{one.uniques:,}",)),
            matches(one.exact),
            percent(1 - one.exact / whole.exact if whole.exact else 0.0),
        )
        for key, one in left
    )
    counted = () if audience.public else ("unique records",)
    head = ("key left out", *counted, "correct matches", "risk taken away")
    return Table("The risk without one key", head, rows)


def _model(found: Assessment) -> Iterator[Block]:
    risk = found.worst.risk
    if not isinstance(risk, EstimatedRisk):
        return
    for line in risk.search.summary().split("\n"):
        yield Text(line)
    if len(risk.search.path) > 1:
        yield Figure("Goodness of fit along the search: z2 near 0 is good", risk.search.plot())
    rows = tuple(
        (
            step.added or "independence",
            f"{step.parameters:,}",
            f"{step.z1:.2f}",
            f"{step.z2:.2f}",
            f"{step.tau2:,.1f}",
        )
        for step in risk.search.path
    )
    head = ("term added", "parameters", "z1", "z2", "tau2, unadjusted")
    yield Table("The models that were tried, in order", head, rows)


def _loss(found: Assessment, audience: Audience) -> Iterator[Block]:
    if found.tables:
        rows = []
        for one in found.tables:
            changes = [change for change in one.bvr.values() if np.isfinite(change)]
            between = f"{min(changes):+.1f}% to {max(changes):+.1f}%" if changes else "none"
            strength = f"{one.rcv:+.1f}%" if np.isfinite(one.rcv) else "none"
            named = f"{titled(found.released, one.rows.name)} x {titled(found.released, one.columns.name)}"
            rows.append((named, f"{one.raad:.1f}", strength, between))
        head = ("table", "RAAD", "Cramer's V", "between-row variances")
        yield Table("Information loss of the tables that were named", head, tuple(rows))
    if found.losses is None:
        return
    data = found.released
    moved = tuple(
        (
            titled(data, name),
            *((percent(share),) if audience.shows_rates else ()),
            percent(variation),
            f"{hellinger:.3f}",
        )
        for name, share, variation, hellinger in found.losses.margins().iter_rows()
        if share > 0
    )
    if moved:
        rate = ("records changed",) if audience.shows_rates else ()
        head = ("key", *rate, "total variation", "Hellinger")
        yield Table("Keys that were changed, and how far their counts moved", head, moved)
    yield Figure("RAAD of every two-way table of the keys: 100 is unchanged", found.losses.plot())
