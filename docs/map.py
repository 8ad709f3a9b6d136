"""The picture of the README, the risk-utility map of the demonstration: python docs/map.py draws it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from small_png import save

from maskmeter.evidence.first_screen import top
from maskmeter.page import figures
from maskmeter.studies.demo import run_demo

PICTURE = Path(__file__).parent / "_static" / "map.png"

if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        known = run_demo(folder).pack.figures
    (figure,) = figures(top(known).blocks)
    save(figure.chart, PICTURE, scale=2)
