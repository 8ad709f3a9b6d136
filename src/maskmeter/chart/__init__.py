"""Charts: a frame and titles in, an Altair chart out.

Nothing is computed here but where labels stand.
"""

from maskmeter.chart.intervals import intervals
from maskmeter.chart.look import DARK
from maskmeter.chart.plain import bars, curves, falling, path, ranked, scatter
from maskmeter.chart.riskmap import frontier
from maskmeter.chart.rows import matrix, paired_dots, signed_bars

__all__ = [
    "DARK",
    "bars",
    "curves",
    "falling",
    "frontier",
    "intervals",
    "matrix",
    "paired_dots",
    "path",
    "ranked",
    "scatter",
    "signed_bars",
]
