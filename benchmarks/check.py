"""Fail when a ratio to a peer is below its floor.

python benchmarks/check.py                measure every ratio, then compare
python benchmarks/check.py --from-last    compare those of the last run, in docs/benchmarks.json
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ratios import MEASURED, faults, floors, ratios
from report import KEPT, short
from run import measured


def main() -> int:
    """Print every ratio beside its floor, and return 1 if one is below."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--from-last",
        nargs="?",
        type=Path,
        const=KEPT,
        metavar="FILE",
        help="measure nothing; FILE is docs/benchmarks.json unless given",
    )
    given = options.parse_args()
    if given.from_last:
        found = json.loads(given.from_last.read_text(encoding="utf-8"))["ratios"]["ratios"]
    else:
        found = ratios({name: measured(name) for name in MEASURED})
    least = floors()
    for name, ratio in found.items():
        print(f"{name:18}{short(ratio):>8}   floor {short(least.get(name, 0.0))}")
    told = faults(found, least)
    for fault in told:
        print(fault, file=sys.stderr)
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
