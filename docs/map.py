"""The picture of the README, the risk-utility map of the demonstration: python docs/map.py draws it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from maskmeter.demo import run_demo
from maskmeter.evidence.choices import choice_blocks
from maskmeter.evidence.words import Audience
from maskmeter.page import Figure

PICTURE = Path(__file__).parent / "_static" / "map.png"

if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        found = run_demo(folder).pack.assessment
    (drawn,) = (
        block.chart
        for block in choice_blocks(found, Audience(public=False))
        if isinstance(block, Figure)
    )
    drawn.save(PICTURE)
    print(f"Wrote {PICTURE}")
