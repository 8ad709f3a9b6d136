"""Charts: a frame and titles in, an Altair chart out.

Nothing is computed here but where labels stand.
"""

from maskmeter.chart.intervals import intervals
from maskmeter.chart.look import DARK
from maskmeter.chart.plain import bars, curves, matrix, paired_dots, path, scatter, signed_bars
from maskmeter.chart.riskmap import frontier

__all__ = [
    "DARK",
    "bars",
    "curves",
    "frontier",
    "intervals",
    "matrix",
    "paired_dots",
    "path",
    "scatter",
    "signed_bars",
]
