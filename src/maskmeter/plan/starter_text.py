"""The text of a starter plan: entries and comments, with the reason beside each line."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import indent, wrap
from typing import NamedTuple

from maskmeter.data.bands import MANY
from maskmeter.perturb.methods import STEPS
from maskmeter.perturb.redraw import Redraw
from maskmeter.plan.column_guesses import ColumnGuess
from maskmeter.plan.key_choice import Proposal
from maskmeter.plurals import counted

USUAL_FRACTION = 0.01  # for which the redraw is chosen where nothing tells another
_WIDTH = 100
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")  # that names and labels may hold and a comment may not


class FirstStep(NamedTuple):
    """The redraw that a starter plan enables: for whom, and how many records that reaches."""

    rarer_than: float
    reached: int


@dataclass(frozen=True)
class StarterPlan:
    """What a starter plan says of a file."""

    name: str
    records: int
    found: Proposal
    step: FirstStep | None = None
    fraction: float | None = None
    reading: tuple[tuple[str, str], ...] = ()  # how the text file is read, as the user said
    coded: tuple[str, ...] = ()  # lines on codes for missing
    unnamed: int = 0  # columns without a name, or with one that is read as a pattern

    @property
    def keys(self) -> list[ColumnGuess]:
        """The proposed keys, best known first."""
        return self.found.of("key")


def starter_text(plan: StarterPlan) -> str:
    """Return the text of a starter plan."""
    columns = len(plan.found.columns) + plan.unnamed
    lines = [
        f"# A plan for {plan.name}: {counted(plan.records, 'record')}, {counted(columns, 'column')}.",
        "# Lines starting with # are disabled. To enable an entry, remove the #.",
        "# Run it with: maskmeter assess FILE --plan THIS --out evidence/",
        "",
        *_data(plan),
        "",
        *_bands(plan.keys),
        "",
        *plan.coded,
        *_step(plan),
        "",
        *_release(plan),
        "",
        *_rest(plan),
    ]
    return "\n".join(_CONTROL.sub(" ", line) for line in lines) + "\n"


def _data(plan: StarterPlan) -> list[str]:
    """Return how the file is read: its keys, the columns that are none, and its sampling."""
    household = plan.found.household
    return [
        "[data]",
        "# Columns that an intruder may know about a person, best known first: at most eight, guessed",
        "# from names, labels and counts. Remove columns an intruder cannot know; add missing ones.",
        *_listed("keys", [(key.name, key.comment) for key in plan.keys]),
        *_not_keys(plan),
        *_sampling(plan),
        *[f"{entry} = {_quoted(value)}" for entry, value in plan.reading],
        *_codes(plan.keys),
        *_missing_values(plan.keys),
        f"household = {_quoted(household)}  # the risk of households is measured too"
        if household
        else '# household = "hh"                  # column of household numbers, for household risk',
        '# population = "census.parquet"     # file of the whole population; makes the risk exact',
    ]


def _listed(entry: str, columns: Sequence[tuple[str, str]]) -> list[str]:
    """Return an entry that lists columns, each on its line with a comment."""
    width = max((len(_quoted(name)) for name, _ in columns), default=0) + 1
    lines = [f"    {_quoted(name) + ',':<{width}}  # {told}" for name, told in columns]
    return [f"{entry} = [", *lines, "]"]


def _not_keys(plan: StarterPlan) -> list[str]:
    told = [
        f"#   {_quoted(one.name)}: {one.why}" for one in plan.found.columns if one.role != "key"
    ]
    if plan.unnamed:
        told.append(
            f"#   {counted(plan.unnamed, 'column')} without a usable name: give each a name, or remove"
            " it. Row numbers would undo `shuffle`."
        )
    return ["# Columns that are not keys, and why:", *told] if told else []


def _sampling(plan: StarterPlan) -> list[str]:
    found = [one.name for one in plan.found.of("weights")]
    others = [name for name in found if name != plan.found.weights]
    also = f"; also named like weights: {', '.join(map(_quoted, others))}" if others else ""
    lines = []
    if plan.fraction is not None:
        lines.append(f"fraction = {plan.fraction:g}  # the share of the population in the file")
    if plan.found.weights is not None:
        why = f"numbers above 0 with a sum above the number of records{also}"
        lines.append(f"weights = {_quoted(plan.found.weights)}  # {why}")
    if lines:
        return lines
    return [
        "# Give the share of the population in the file, or a column of survey weights:",
        f"# fraction = {USUAL_FRACTION:g}",
        '# weights = "w"',
    ]


def _codes(keys: Sequence[ColumnGuess]) -> list[str]:
    """Return the keys of many numbers that are codes and no measurements."""
    names = [key.name for key in keys if key.numeric and not key.bands and key.categories > MANY]
    return [f"codes = {_quoted(names)}  # their numbers are codes of categories"] if names else []


def _missing_values(keys: Sequence[ColumnGuess]) -> list[str]:
    """Return how values that are missing are treated."""
    if not any(key.missing for key in keys):
        return []
    return [
        "# Some records have no value for a key. Count this as a category, or recode the file.",
        'missing = "category"',
    ]


def _bands(keys: Sequence[ColumnGuess]) -> list[str]:
    lines = [
        "# Lower bounds of the bands that keys of numbers are put into; the protected file holds the",
        "# bands in place of the numbers.",
    ]
    banded = [key for key in keys if key.bands]
    if not banded:
        return [*lines, "# [data.bands]", "# age = [0, 16, 25, 45, 65]"]
    return [*lines, "[data.bands]", *(f"{_quoted(key.name)} = {key.bands}" for key in banded)]


def _step(plan: StarterPlan) -> list[str]:
    """Return the redraw that is enabled, or why none is, and the other methods."""
    found, step = plan.found, plan.step
    lines = [
        "# How to protect the file, step by step. Without steps, the file is assessed as it is."
    ]
    if found.redrawn is None or step is None:
        why = (
            found.why_redrawn
            if found.redrawn is None
            else "by the counts in the file all records are about equally rare"
        )
        lines += [f"# No step is enabled: {why}.", "# [[step]]", *_example(Redraw, "# ", plan)]
    else:
        carried = found.of("carried")
        lines += [
            *_commented(f"The key to redraw is {found.redrawn}: {found.why_redrawn}."),
            *_commented(_who_is_reached(plan, step)),
            *(_commented(_split_homes(found)) if found.household else ()),
            "[[step]]",
            'method = "redraw"',
            f"key = {_quoted(found.redrawn)}",
            f"rarer_than = {step.rarer_than:g}",
        ]
        if carried:
            lines += _commented("They travel with it: left in place, they would give it away.")
            lines += _listed("carry", [(one.name, one.why) for one in carried])
    others = [
        line for one in STEPS if one is not Redraw for line in ("##", *_example(one, "## ", plan))
    ]
    return [*lines, "", "## Other methods:", *others[1:]]


def _who_is_reached(plan: StarterPlan, step: FirstStep) -> str:
    reached = f"{counted(step.reached, 'record')} of {plan.records:,}"
    exchange = f"{reached}, whose other keys fewer than rarer_than people share, exchange it."
    if plan.fraction is not None or plan.found.weights is not None:
        return exchange
    return (
        f"If {USUAL_FRACTION:g} of the population is in the file, {exchange} With a fraction of f,"
        f" write {step.rarer_than * USUAL_FRACTION:.3g} / f in its place."
    )


def _split_homes(found: Proposal) -> str:
    differ = f"Members of a household may then differ in {found.redrawn}."
    if found.shared:
        return f"{differ} So that nobody sees it, {found.household} is left out of the file below."
    return (
        f"{differ} If the release check finds that this gives values away, move {found.household} from"
        " renumber to drop."
    )


def _release(plan: StarterPlan) -> list[str]:
    """Return what is done to the file as a whole: order, numbers, and columns that name people."""
    homes = [(one.name, one.why) for one in plan.found.of("household")]
    numbered = [(one.name, one.why) for one in plan.found.of("identifier")]
    personal = [(one.name, one.why) for one in plan.found.of("personal")]
    if plan.found.shared and plan.step is not None:
        why = f"members of a household would show the {plan.found.redrawn} of one another"
        personal += [(name, why) for name, _ in homes]
    else:
        numbered = [*homes, *numbered]
    lines = [
        "# What is done to the file as a whole.",
        "[release]",
        "# Rows in a random order: in the order of the file, neighbours would give a redrawn value away.",
        "shuffle = true",
    ]
    if numbered:
        lines += ["# New random numbers in place of these; or move them to drop."]
        lines += _listed("renumber", numbered)
    if personal:
        lines += ["# Columns that are left out of the protected file."]
        lines += _listed("drop", personal)
    return lines


def _commented(text: str) -> list[str]:
    return wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_long_words=False)


_PARTS = """\
# Sets of keys that different intruders know. Each is assessed; the worst is the headline.
# [scenario.neighbour]
# keys = [FIRST, SECOND]

# Candidates to compare on a risk-utility map (maskmeter compare) or to choose from (maskmeter find).
# [[candidate]]
# label = "swap 20%"
# [[candidate.step]]
# method = "swap"
# key = FIRST
# rate = 0.20

# maskmeter find chooses among the steps above and the candidates. Disable them, and it searches for
# the key and the threshold of a redraw; or let it search the rates of other methods:
# [family]
# key = FIRST
# methods = ["swap", "pram"]
# target = SECOND  # move records first in its categories of highest risk

# Two-way tables that analysts need. Information loss is the mean over these tables and the three
# strongest associations of each changed key.
# [loss]
# tables = [[FIRST, SECOND]]
# measure = "worst"                   # largest change in cells, Cramer's V or group differences

# The risk you allow: correct matches as a share of the file's unique records before protection,
# max_total as a number, or max_record for the risk of any record.
# [target]
# max_share = 0.05
# intruder = "informed"               # who knows the method, or "exact-match" as in the paper
# by = "upper"                        # compare the upper end of the interval, or the "estimate"

[report]
audience = "both"                     # or "internal" or "public"
smallest_count = 10                   # the public report shows no smaller count, except zero
"""


def _rest(plan: StarterPlan) -> list[str]:
    """Return the disabled parts, with keys of the file in their examples."""
    return _with_keys(_PARTS, plan).splitlines()


def _example(method: type, prefix: str, plan: StarterPlan) -> list[str]:
    text = f'method = "{method.method}"\n{method.example}'  # type: ignore[attr-defined]
    return indent(_with_keys(text, plan), prefix).splitlines()


def _with_keys(text: str, plan: StarterPlan) -> str:
    """Return a text with keys of the file for FIRST and SECOND: the redrawn one first."""
    ranked = sorted(plan.keys, key=lambda key: (key.name != plan.found.redrawn, -key.categories))
    names = [_quoted(key.name) for key in ranked]
    first, second = (*names, '"place"', '"group"')[:2]
    return text.replace("FIRST", first).replace("SECOND", second)


def _quoted(text: object) -> str:
    return json.dumps(text, ensure_ascii=False)
