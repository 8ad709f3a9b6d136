"""The gallery has a picture of every result, drawn by the code beside it."""

from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path

import pytest

import maskmeter as mm

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "gallery.md").read_text(encoding="utf-8")
PICTURES = sorted((DOCS / "_static" / "gallery").glob("*.png"))
PLOTTED = [name for name in mm.__all__ if hasattr(getattr(mm, name), "plot")]


def missing(page):
    """Return the public results that no section of a page names beside a picture."""
    sections = [one for one in re.split(r"^##+ ", page, flags=re.MULTILINE) if "_static/" in one]
    return [name for name in PLOTTED if not any(f"`{name}`" in one for one in sections)]


def test_every_public_result_with_a_chart_is_in_the_gallery():
    assert {"Risk", "RiskUtilityMap", "Audit", "Pack"} <= set(PLOTTED)
    assert missing(PAGE) == []


def test_a_result_without_its_picture_is_found():
    assert missing(re.sub(r"!\[.*?\]\(_static/gallery/audit\.png\)", "", PAGE)) == ["Audit"]


def test_every_picture_of_the_gallery_is_small_and_shown_once():
    shown = re.findall(r"!\[[^\]]{20,}\]\(_static/gallery/(\w+)\.png\)", PAGE)

    assert sorted(shown) == [path.stem for path in PICTURES]
    assert all(path.stat().st_size < 60_000 for path in PICTURES)


@pytest.fixture
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    import gallery
    import small_png

    return gallery, small_png


def test_a_picture_shows_the_chart_that_the_code_before_it_made(scripts):
    gallery, _ = scripts
    page = (
        "```python\n>>> chart = 1\n\n```\n![One](_static/gallery/one.png)\n"
        "```python\n>>> chart = (\n...     chart_of_two := 2\n... )\n\n```\n![Two](_static/gallery/two.png)\n"
    )

    assert list(gallery.drawn(page)) == [
        ("_static/gallery/one.png", 1),
        ("_static/gallery/two.png", 2),
    ]
    with pytest.raises(KeyError):  # a picture needs code of its own
        list(gallery.drawn(page.replace("chart = (", "other = (")))


def test_packing_a_picture_keeps_its_pixels(scripts):
    _, small_png = scripts

    def chunk(kind, body):
        return small_png._chunk((kind, body))

    head = struct.pack(">IIBBBBB", 200, 200, 8, 0, 0, 0, 0)
    pixels = bytes(201 * 200)
    loose = zlib.compress(pixels, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", loose[:9]), chunk(b"IDAT", loose[9:])]
    png = b"\x89PNG\r\n\x1a\n" + b"".join(parts) + chunk(b"IEND", b"")
    small = small_png.packed(png)

    assert len(small) < 200
    (body,) = (body for kind, body in small_png._chunks(small) if kind == b"IDAT")
    assert zlib.decompress(body) == pixels
    assert [kind for kind, _ in small_png._chunks(small)] == [b"IHDR", b"IDAT", b"IEND"]
