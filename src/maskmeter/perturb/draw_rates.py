"""How much change to expect of a PRAM, stratum by stratum, and how much there was."""

from __future__ import annotations

from dataclasses import dataclass

from maskmeter.data.keys import Codes
from maskmeter.data.microdata import Microdata
from maskmeter.errors import Caution, RateWarning
from maskmeter.mechanism import Matrix
from maskmeter.mechanism.factor import Crossed, Declared
from maskmeter.perturb.step import Rate, Strata
from maskmeter.plurals import counted
from maskmeter.types import Array

NOTICEABLE = 0.001


@dataclass(frozen=True, eq=False, repr=False)
class DrawPlan:
    """What will be drawn for one key, and how much change to expect of it."""

    names: Crossed
    strata: Strata
    declared: Declared
    matrices: list[Matrix]
    shares: Array
    asked: list[float]

    def rates(self, label: str, data: Microdata, codes: Codes, *, several: bool) -> list[Rate]:
        """Return asked-for, expected and achieved change of each stratum."""
        columns = [data.space.index(name) for name in self.names]
        moved = (codes[:, columns] != data.codes[:, columns]).any(axis=1)
        records = data.tally(self.strata.of_record, len(self.asked))
        changed = data.tally(self.strata.of_record[moved], len(self.asked), rows=moved)
        key = " x ".join(self.names)
        return [
            Rate(
                label,
                f"{key}: {name}" if several else name,
                int(records[s]),
                self.asked[s],
                float(self.shares[s] @ (1 - self.matrices[s].P.diagonal())),
                float(changed[s] / records[s]),
            )
            for s, name in enumerate(self.strata.names)
        ]


def shortfall(rates: tuple[Rate, ...]) -> tuple[Caution, ...]:
    """Return a caution when a share that was asked for is out of reach."""
    far = [rate for rate in rates if abs(rate.expected - rate.asked) > NOTICEABLE]
    if not far:
        return ()
    worst = max(far, key=lambda rate: abs(rate.expected - rate.asked))
    text = (
        f"In {len(far):,} of {counted(len(rates), 'stratum', 'strata')} no invariant matrix of this"
        f" kind reaches the share asked for: the worst is expected to leave {1 - worst.expected:.1%} unchanged where"
        f" {1 - worst.asked:.1%} was asked for. See `rates` of the release."
    )
    return (Caution(RateWarning, text),)
