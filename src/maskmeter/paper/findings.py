"""What the paper found, and whether it holds here: one finding, one function of the figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from maskmeter.manykeys import KeyCurve
    from maskmeter.riskutility import RiskUtilityMap

    Rows = dict[str, list[float]]


@dataclass(frozen=True)
class Finding:
    """A finding of the paper in a sentence, whether it holds here, and the figure that says so."""

    claim: str
    holds: bool
    figure: str

    @property
    def words(self) -> str:
        """The finding and its figure."""
        return f"{self.claim} {self.figure}"


def of_table1(table: dict[str, Rows]) -> list[Finding]:
    """Return the findings about risk measures, then those about designs and estimates."""
    return [*_of_measures(table), *_of_designs(table)]


def _of_measures(table: dict[str, Rows]) -> list[Finding]:
    tau = _all(table, "tau (2.8)")
    close = max(float(np.abs(_all(table, name) / tau - 1).max()) for name in ("(2.5)", "(2.7)"))
    larger = _all(table, "(2.2)") / tau
    known = np.abs(_all(table, "tau*_CC (2.9)") / tau - 1).max()
    small = _all(table, "(2.6)") / tau
    return [
        Finding(
            "The approximations (2.5) and (2.7) are as good as the exact risk (2.8).",
            bool(close < 0.005),  # noqa: PLR2004 - half a percent, as on the page
            f"They differ by {close:.2%} at most.",
        ),
        Finding(
            "Supposing that the intruder knows who is in the sample (2.2) overstates the risk"
            " several times.",
            bool((larger > 3).all()),  # noqa: PLR2004 - several
            f"It is {larger.min():.1f} to {larger.max():.1f} times tau.",
        ),
        Finding(
            "The measure that knows who was moved (2.9) is close to tau.",
            bool(known < 0.15),  # noqa: PLR2004 - the noise of one release
            f"They differ by {known:.1%} at most.",
        ),
        Finding(
            "The approximation (2.6) for small misclassification is close to tau.",
            bool((np.abs(small - 1) < 0.1).all()),  # noqa: PLR2004 - a tenth
            f"It is {small.min():.2f} to {small.max():.2f} times tau: under targeted designs most"
            " records of small groups move, misclassification is not small there, and raw values"
            " of (2.6) are negative.",
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
            f"Adjusted is {kept.min():.0%} to {kept.max():.0%} of naive.",
        ),
        Finding(
            "Targeted designs leave less risk than random ones of the same rate.",
            bool((aimed.max(axis=1) < random.min(axis=1)).all()),
            f"{aimed[0].max():.0f} against {random[0].min():.0f} at 10 %,"
            f" {aimed[1].max():.0f} against {random[1].min():.0f} at 20 %.",
        ),
        Finding(
            "The risk can be estimated from the sample alone.",
            bool(ours < 0.15),  # noqa: PLR2004 - one sample
            f"The default estimate is off by {ours:.1%} at most.",
        ),
    ]


def of_table2(table: dict[str, Any]) -> list[Finding]:
    """Return the finding about the risk of single records."""
    return [
        Finding(
            "Estimated and exact risk rank records alike.",
            bool(table["spearman"] >= 0.85 and table["spearman, default"] >= 0.80),  # noqa: PLR2004 - held figures
            f"Spearman's correlation is {table['spearman']:.2f} for the paper's estimate, over uniques"
            f" that have a target, and {table['spearman, default']:.2f} for the default over all. The"
            " default gives records in cells that nobody is likely to be in a risk near 0, the"
            f" paper's form does not: over all uniques it has {table['spearman, all uniques']:.2f}.",
        )
    ]


def of_table3(table: dict[str, Rows]) -> list[Finding]:
    """Return the findings about information loss."""
    raad = {rate: np.array(rows["RAAD lad x ethnicity"]) for rate, rows in table.items()}
    majority = [abs(figure) for figure in table["10%"]["BVR White British"][2:]]
    small = [figure for rows in table.values() for figure in rows["BVR Indian"]]
    return [
        Finding(
            "More perturbation loses more.",
            bool((raad["20%"] < raad["10%"]).all()),
            f"RAAD of lad x ethnicity falls from {raad['10%'].mean():.1f} to {raad['20%'].mean():.1f}"
            " on average.",
        ),
        Finding(
            "Targeting the others leaves the between-district variance of the majority as it was.",
            bool(max(majority) < 2),  # noqa: PLR2004 - percent: PRAM keeps margins only on average
            f"It changes by {max(majority):.2f} % at most when the majority stays.",
        ),
        Finding(
            "The between-district variance of a small group falls.",
            bool(max(small) < 0),
            f"That of the Indian group changes by {min(small):.0f} to {max(small):.0f} %; a group of a"
            " few hundred records is noisy.",
        ),
    ]


def of_map(found: RiskUtilityMap) -> list[Finding]:
    """Return the finding about the risk-utility map."""
    beaten = [label for label in ("RS10", "RS20", "RP10", "RP20") if label not in found.frontier]
    return [
        Finding(
            "At equal information loss targeted releases have less risk: random ones of 10 % and"
            " 20 % are dominated.",
            len(beaten) == 4,  # noqa: PLR2004 - all of them
            f"Dominated: {', '.join(beaten)}. On the frontier: {', '.join(found.frontier)}.",
        )
    ]


def of_many_keys(curve: KeyCurve) -> list[Finding]:
    """Return the findings about the number of keys."""
    frame = curve.to_frame()
    rising = frame.filter(frame["theta"] == 0).sort("number")["exact"].diff().drop_nulls()
    turned = {
        theta: number
        for theta, number, _ in curve.peaks().iter_rows()
        if theta >= 0.05  # noqa: PLR2004 - as the paper's figure shows
    }
    last = max(frame["number"].to_list())
    most = max(frame.filter(frame["theta"] == 0)["exact"].to_list())
    return [
        Finding(
            "Without misclassification the risk rises with every key.",
            bool((rising >= 0).all()),
            f"It reaches {most:.0f} matches.",
        ),
        Finding(
            "With misclassification it rises, peaks and falls.",
            all(number < last for number in turned.values()),
            "Peaks: "
            + ", ".join(f"{number} keys at theta {theta:g}" for theta, number in turned.items())
            + "; for smaller theta it still rises.",
        ),
    ]


def _all(table: dict[str, Rows], name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a row at both rates: eight figures."""
    return np.array([figure for rows in table.values() for figure in rows[name]])
