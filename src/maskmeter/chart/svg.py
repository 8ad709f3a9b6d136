"""Charts as inline SVG: a picture without scripts, in colours that a style sheet may change."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any, NamedTuple

from maskmeter.chart.look import DARK, Chart

INK, SOFT, LINE = "#1b2a33", "#55636b", "#d5dbdf"
COLOURS = {INK: "#e6ebee", SOFT: "#a9b5bc", LINE: "#3a474f", **DARK}  # each, and its like on dark
_FONT = "system-ui, sans-serif"
_DRAWN = 0.92  # of the size that room was made for: the reader's font may be wider than ours
_CONFIG: dict[str, Any] = {
    "font": _FONT,
    "background": None,
    "aria": False,  # a picture has one description, not one for each mark
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": 600,
        "domainColor": SOFT,
        "tickColor": SOFT,
        "gridColor": LINE,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titlePadding": 12,
        "labelLimit": 220,
    },
    "legend": {
        "orient": "top",
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "columnPadding": 24,
    },
    "text": {"font": _FONT, "fontSize": 12},
}


class Picture(NamedTuple):
    """A chart as inline SVG, with its titles apart: a page wraps them where a picture cuts them."""

    title: str
    subtitle: str
    svg: str


def picture(drawn: Chart) -> Picture:
    """Return a chart as a picture that needs no network.

    Its colours are variables, `--mm-0` and on in the order of COLOURS, and as drawn without them.
    """
    import vl_convert

    spec = drawn.to_dict(validate=False)
    titles = spec.pop("title", {})
    text: str = vl_convert.vegalite_to_svg(spec, config=_CONFIG, allowed_base_urls=[])
    for place, colour in enumerate(COLOURS):
        text = text.replace(f'="{colour}"', f'="var(--mm-{place}, {colour})"')
    text = re.sub(
        r'font-size="(\d+)px"', lambda size: f'font-size="{_DRAWN * int(size[1]):g}px"', text
    )
    # Several pictures share a page: what one of them refers to must be its own.
    own = f"mm{sha256(text.encode()).hexdigest()[:12]}-"
    text = re.sub(r'\bid="|url\(#|(?<=href="#)', lambda found: found[0] + own, text)
    return Picture(titles.get("text", ""), titles.get("subtitle", ""), text)
