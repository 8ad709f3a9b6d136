"""What a benchmark ran on: the machine, its system and the versions, and nothing that names it."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = (
    "maskmeter", "numpy", "scipy", "polars", "narwhals", "pandas", "duckdb", "glum", "scikit-learn",
)  # fmt: skip


def described() -> dict[str, Any]:
    """Return date, processor, memory in GB, system and versions."""
    return {
        "date": f"{datetime.now(tz=UTC):%Y-%m-%d}",
        "cores": os.cpu_count(),
        "processor": _processor(),
        "memory": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "system": _system(),
        "python": platform.python_version(),
        "r": _r(),
        "packages": {name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    """Return the name of the processor, or else its kind."""
    told = Path("/proc/cpuinfo")
    text = told.read_text(encoding="utf-8") if told.exists() else ""
    found = re.search(r"model name\s*: (.+)", text)
    return found[1].strip() if found else platform.machine()


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return f"{platform.system()} {platform.release()}"


def _r() -> str:
    command = ["Rscript", "-e", "cat(as.character(getRversion()))"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 - our own words
