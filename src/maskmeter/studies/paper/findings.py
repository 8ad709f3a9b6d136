"""The findings of the paper, and whether they hold here: one function per table or figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from maskmeter.risk.by_keys import KeyCurve
from maskmeter.riskutility import RiskUtilityMap
from maskmeter.studies.paper.tables import RATES, REDRAWN, RELEASED

Rows: TypeAlias = dict[str, list[float]]


@dataclass(frozen=True)
class Finding:
    """A finding of the paper in a sentence, whether it holds here, and the figure that shows it."""

    claim: str
    holds: bool
    figure: str

    @property
    def words(self) -> str:
        """The finding and its figure."""
        return f"{self.claim} {self.figure}"


def of_table1(table: dict[str, Rows]) -> list[Finding]:
    """Return the findings about risk measures, then those about designs and estimates."""
    return [*_of_measures(table), *_of_designs(table), *_of_intruders(table)]


def of_reading(table: dict[str, Rows], printed: dict[str, Rows]) -> Finding:
    """Return which counts the printed row (2.6) was computed from, judged by the random designs.

    In a random swap all records have the same chance to stay: (2.6) with F~_j is a multiple of (2.5).
    """
    found, wanted = [], []
    for rate in RATES:
        ratio = np.array(table[rate][RELEASED][:2]) / np.array(table[rate]["(2.5)"][:2])
        found.append(ratio * printed[rate]["(2.5)"][:2])
        wanted.append(printed[rate]["(2.6)"][:2])
    (swaps, pram), (printed_swaps, printed_pram) = np.transpose(found), np.transpose(wanted)
    return Finding(
        "The printed row (2.6) was computed with the released count F~_j in place of F_j.",
        bool(np.abs(swaps / printed_swaps - 1).max() < 0.001),
        f"With F~_j, the printed row (2.5) gives {_two(swaps)} for the random swaps (printed"
        f" {_two(printed_swaps)}) and {_two(pram)} for random PRAM (printed {_two(printed_pram)}),"
        " where the chance to stay varies between districts. This explains why the printed row stays"
        " close to tau for random designs. Neither reading gives the printed figures of the targeted"
        " designs, except for the swap of 20 %.",
    )


def _two(figures: np.ndarray[Any, np.dtype[np.float64]]) -> str:
    return " and ".join(f"{figure:.1f}" for figure in figures)


def _of_measures(table: dict[str, Rows]) -> list[Finding]:
    tau = _all(table, "tau (2.8)")
    close = max(float(np.abs(_all(table, name) / tau - 1).max()) for name in ("(2.5)", "(2.7)"))
    larger = _all(table, "(2.2)") / tau
    known = np.abs(_all(table, "tau*_CC (2.9)") / tau - 1).max()
    small = _all(table, "(2.6)") / tau
    return [
        Finding(
            "The approximations (2.5) and (2.7) are as good as the exact risk (2.8).",
            bool(close < 0.005),
            f"They differ from it by at most {close:.2%}.",
        ),
        Finding(
            "Assuming that the intruder knows who is in the sample (2.2) overstates the risk"
            " several times over.",
            bool((larger > 3).all()),
            f"It is {larger.min():.1f} to {larger.max():.1f} times tau.",
        ),
        Finding(
            "The measure that uses who was moved (2.9) is close to tau.",
            bool(known < 0.15),
            f"They differ by at most {known:.1%}.",
        ),
        Finding(
            "The approximation (2.6) for small misclassification is close to tau.",
            bool((np.abs(small - 1) < 0.1).all()),
            f"It is {small.min():.2f} to {small.max():.2f} times tau, and within a tenth of tau in"
            f" {int((np.abs(small - 1) < 0.1).sum())} of {len(small)} designs. It is not clipped:"
            " where most records of small groups move, the units moved into a cell outnumber its own"
            " and the values fall far below zero.",
        ),
    ]


def _of_designs(table: dict[str, Rows]) -> list[Finding]:
    tau = _all(table, "tau (2.8)").reshape(2, 4)
    random, aimed = tau[:, :2], tau[:, 2:]
    kept = _all(table, "adjusted") / _all(table, "naive")
    ours = np.abs(_all(table, "estimate, default") / _all(table, "tau, balanced matrix") - 1).max()
    return [
        Finding(
            "Adjusting for misclassification lowers the naive estimate.",
            bool((kept < 1).all()),
            f"The adjusted estimate is {kept.min():.0%} to {kept.max():.0%} of the naive one.",
        ),
        Finding(
            "Targeted designs leave less risk than random ones of the same rate.",
            bool((aimed.max(axis=1) < random.min(axis=1)).all()),
            f"At most {aimed[0].max():.0f} against at least {random[0].min():.0f} at 10 %, and"
            f" {aimed[1].max():.0f} against {random[1].min():.0f} at 20 %.",
        ),
        Finding(
            "The risk can be estimated from the sample alone.",
            bool(ours < 0.15),
            f"The default estimate is off by at most {ours:.1%}.",
        ),
    ]


def _of_intruders(table: dict[str, Rows]) -> list[Finding]:
    """Return what the paper did not ask: how the designs do against one who knows the method."""
    tau, informed = (_all(table, name).reshape(2, 4) for name in ("tau (2.8)", "informed intruder"))
    gain = tau[1, 0] / tau[1, 2], informed[1, 0] / informed[1, 2]  # random over targeted swap, 20 %
    ours = np.abs(
        _all(table, "informed estimate, default") / _all(table, "informed, balanced matrix") - 1
    ).max()
    return [
        Finding(
            "Not in the paper: against an intruder who knows the method, targeting gains far less.",
            bool(gain[1] < 2 < gain[0]),
            f"At 20 % a targeted swap leaves {gain[0]:.1f} times fewer correct matches than a random"
            f" one by exact matching, and {gain[1]:.1f} times fewer against an informed intruder"
            f" ({informed[1, 2]:.0f} matches, where tau says {tau[1, 2]:.0f}): where nobody stays, the"
            " released value says who is not meant.",
        ),
        Finding(
            "Not in the paper: the informed risk can be estimated from the sample alone too.",
            bool(ours < 0.15),
            f"The estimate is off by at most {ours:.1%}.",
        ),
    ]


def of_table2(table: dict[str, Any]) -> list[Finding]:
    """Return the finding about the risk of single records."""
    return [
        Finding(
            "Estimated and exact risk rank the records alike.",
            bool(table["spearman"] >= 0.85 and table["spearman, default"] >= 0.80),
            f"Spearman's correlation is {table['spearman']:.2f} for the paper's estimate over uniques"
            f" with a target, and {table['spearman, default']:.2f} for the default over all uniques."
            " The default gives a risk near 0 to records in cells that are probably empty in the"
            " population; the paper's estimate does not, and its correlation over all uniques is"
            f" {table['spearman, all uniques']:.2f}.",
        )
    ]


def of_table3(table: dict[str, Rows]) -> list[Finding]:
    """Return the findings about information loss; columns are two random designs, two targeted."""
    raad = {rate: np.array(rows["RAAD lad x ethnicity"]) for rate, rows in table.items()}
    lower = int((raad["20%"] < raad["10%"]).sum())
    rcv = {rate: np.array(rows["RCV lad x ethnicity"]) for rate, rows in table.items()}
    random, aimed = (np.concatenate([one[part] for one in rcv.values()]) for part in _HALVES)
    majority = np.abs(table["10%"]["BVR White British"])
    aside = majority[2:].max()
    small = np.array([figure for rows in table.values() for figure in rows["BVR Indian"]])
    return [
        Finding(
            "More perturbation loses more information.",
            lower == raad["10%"].size,
            f"RAAD of lad x ethnicity is lower at 20 % in {lower} of {raad['10%'].size} designs"
            f" ({raad['10%'].mean():.1f} and {raad['20%'].mean():.1f} on average).",
        ),
        Finding(
            "Targeting costs the association of district and ethnic group as much as random"
            " perturbation does.",
            bool(np.abs(aimed.mean() / random.mean() - 1) < 0.5),
            f"Cramer's V changes by {aimed.mean():.1f} % on average under targeting and by"
            f" {random.mean():.1f} % at random. The difference: most of the association in this"
            " census is between the majority and all other groups, and targeted designs keep that.",
        ),
        Finding(
            "Targeting the other groups leaves the between-district variance of the majority"
            " unchanged.",
            bool(aside < majority[:2].mean() / 2),
            f"At 10 % it changes by at most {aside:.1f} % under targeting and by"
            f" {majority[:2].mean():.1f} % at random: a swap within the other groups keeps the size of"
            " each district exactly, PRAM on average.",
        ),
        Finding(
            "The between-district variance of a small group falls.",
            bool(np.nanmax(small) < 0),
            f"That of the Indian group changes by {np.nanmin(small):.0f} to {np.nanmax(small):.0f} %.",
        ),
    ]


def of_map(found: RiskUtilityMap) -> list[Finding]:
    """Return the finding about the risk-utility map."""
    aimed = [point for point in found.points if point.label.startswith("T")]
    beaten = [
        label
        for label in ("RS10", "RS20", "RP10", "RP20")
        if any(one.risk < found[label].risk and one.loss <= found[label].loss for one in aimed)
    ]
    return [
        Finding(
            "At equal information loss, targeted releases have less risk: they dominate the random"
            " ones of 10 % and 20 %.",
            len(beaten) == 4,
            f"A targeted release beats {', '.join(beaten) or 'none of them'} on both axes. On the"
            f" frontier: {', '.join(found.frontier)}.",
        ),
        _of_redraw(found),
    ]


def _of_redraw(found: RiskUtilityMap) -> Finding:
    """Return how the redraw of rare records compares with the paper's best design."""
    redrawn, aimed = found[REDRAWN], found["TS20"]
    return Finding(
        "Not in the paper: redrawing the district where few people share the other keys leaves less"
        " risk than the targeted swap of 20 % to an informed intruder, with fewer changes.",
        redrawn.informed <= aimed.informed and redrawn.changed < aimed.changed / 2,
        f"{redrawn.informed:.0f} correct matches with {redrawn.changed:.1%} of the records changed,"
        f" against {aimed.informed:.0f} with {aimed.changed:.1%}. On the frontier of an informed"
        f" intruder: {', '.join(found.frontiers['informed'])}.",
    )


def of_many_keys(curve: KeyCurve) -> list[Finding]:
    """Return the findings about the number of keys."""
    frame = curve.to_frame()
    bare = frame.filter(frame["theta"] == 0).sort("number")["risk"]
    last = max(frame["number"].to_list())
    peaks = {theta: number for theta, number, _ in curve.peaks().iter_rows() if theta > 0}
    told = ", ".join(f"{number} keys at theta {theta:g}" for theta, number in peaks.items())
    return [
        Finding(
            "Without misclassification the risk rises with every key.",
            bool(bare.is_sorted()),
            f"It reaches {bare.max():.0f} matches.",
        ),
        Finding(
            "With misclassification it rises, peaks and falls: by 30 keys it has turned down for"
            " theta of 0.05 and more.",
            all(number < last for theta, number in peaks.items() if theta >= 0.05),
            f"The risk is largest with {told}. Near its peak each curve is flat compared with the"
            " noise of one sample.",
        ),
    ]


_HALVES = (slice(0, 2), slice(2, 4))  # random designs, targeted ones


def _all(table: dict[str, Rows], name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a row at both rates: eight figures."""
    return np.array([figure for rows in table.values() for figure in rows[name]])
