"""The pictures of the gallery, drawn by the code of its page: python docs/gallery.py [NAME ...]."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from doctest import DocTestParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from small_png import save

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "gallery.md"
_PART = re.compile(
    r"^```python\n(?P<code>.*?)^```$|\]\((?P<picture>_static/gallery/\w+\.png)\)",
    re.MULTILINE | re.DOTALL,
)


def drawn(page: str) -> Iterator[tuple[str, Any]]:
    """Yield each picture of a page with the chart that the code before it made."""
    names: dict[str, Any] = {}
    for part in _PART.finditer(page):
        if part["picture"]:
            yield part["picture"], names.pop("chart")
        else:
            for example in DocTestParser().get_examples(part["code"]):
                exec(example.source, names)  # noqa: S102 - the code of our own page


if __name__ == "__main__":
    wanted = set(sys.argv[1:])
    with TemporaryDirectory() as folder:
        os.chdir(folder)  # one example writes a pack
        for picture, chart in drawn(PAGE.read_text(encoding="utf-8")):
            path = DOCS / picture
            if not wanted or path.stem in wanted:
                save(chart, path)
