"""Self-contained pages: titles, tables and charts in, one offline HTML file out.

Nothing of ours is known here. The chart library is inlined once, a policy in the page forbids every
request, and chart menus offer pictures only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from maskmeter._optional import need

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Text:
    """A paragraph; `mark` is a word before it, such as "Holds"."""

    words: str
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of words under a head; the first column names the row, indented if it belongs to the last."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Figure:
    """An Altair chart with a caption; its own description is what a screen reader says of it."""

    caption: str
    chart: Any


Block: TypeAlias = Text | Table | Figure


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    blocks: tuple[Block, ...] = field(default_factory=tuple)


def render(title: str, lead: str, sections: Sequence[Section]) -> str:
    """Return a page as one HTML file that needs nothing else.

    >>> page = render("A title", "What it is.", [Section("One", (Text("Words & more."),))])
    >>> "Words &amp; more." in page and "https:" not in page
    True
    """
    jinja2 = need("jinja2", extra="plot")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.tests["of"] = lambda block, kind: type(block).__name__ == kind
    specs = [
        _spec(block.chart)
        for section in sections
        for block in section.blocks
        if isinstance(block, Figure)
    ]
    return str(
        environment.from_string(_PAGE).render(
            title=title,
            lead=lead,
            sections=sections,
            style=_STYLE,
            bundle=_bundle() if specs else "",
            specs=json.dumps(specs).replace("</", "<\\/"),
        )
    )


@cache
def _bundle() -> str:
    """Return the chart library as one script, which takes a second to put together."""
    bundle: str = need("vl_convert", extra="plot").javascript_bundle()
    return bundle.replace("</script", "<\\/script")


def _spec(chart: Any) -> dict[str, Any]:  # noqa: ANN401 - an Altair chart
    """Return a chart for the page: transparent, so that light and dark both suit."""
    spec: dict[str, Any] = chart.to_dict()
    spec["background"] = "transparent"
    spec.pop("$schema", None)
    return spec


_STYLE = """
:root { color-scheme: light dark; --ink: #1b2a33; --soft: #55636b; --line: #d5dbdf; --paper: #fff;
  --good: #1f6f43; --bad: #9a3412; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebee; --soft: #a9b5bc; --line: #3a474f;
  --paper: #12191d; --good: #7fd1a5; --bad: #f2a883; } }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 60rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; }
.lead { font-size: 1.1rem; margin: 0 0 1.5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: .35rem; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child { text-align: left; font-weight: 600; }
tbody th, tbody td { border-bottom: 0; border-top: 1px solid var(--line); }
tr.sub th, tr.sub td { border-top: 0; padding-block: 0 .15rem; color: var(--soft); font-weight: 400; font-size: .92em; }
tr.sub th { padding-left: 1.7rem; }
thead th { border-bottom: 2px solid var(--soft); vertical-align: bottom; }
figure { margin: 1.5rem 0; }
figcaption { color: var(--soft); margin-top: .35rem; }
.mark { font-weight: 700; margin-right: .4em; }
.mark.holds { color: var(--good); }
.mark.differs { color: var(--bad); }
@media (prefers-color-scheme: dark) { .vega-embed svg { filter: invert(.88) hue-rotate(180deg); } }
@media print { body { max-width: none; padding: 0; } h2 { break-after: avoid; }
  figure, table { break-inside: avoid; } details.vega-actions, summary { display: none; } }
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>{{ style | safe }}</style>
</head>
<body>
<header>
<h1>{{ title }}</h1>
<p class="lead">{{ lead }}</p>
</header>
<main>
{% set ns = namespace(figure=0) %}
{% for section in sections %}
<section>
<h2>{{ section.title }}</h2>
{% for block in section.blocks %}
{% if block is of("Text") %}
<p>{% if block.mark %}<span class="mark {{ block.mark | lower }}">{{ block.mark }}.</span>{% endif %}{{ block.words }}</p>
{% elif block is of("Table") %}
<div class="wide" tabindex="0" role="region" aria-label="{{ block.caption }}">
<table>
<caption>{{ block.caption }}</caption>
<thead><tr>{% for cell in block.head %}<th scope="col">{{ cell }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in block.rows %}
<tr{% if row[0].startswith(" ") %} class="sub"{% endif %}><th scope="row">{{ row[0] }}</th>{% for cell in row[1:] %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody>
</table>
</div>
{% else %}
<figure>
<div class="wide" tabindex="0" role="group" aria-label="{{ block.caption }}"><div id="figure{{ ns.figure }}"></div></div>
<figcaption>{{ block.caption }}</figcaption>
</figure>
{% set ns.figure = ns.figure + 1 %}
{% endif %}
{% endfor %}
</section>
{% endfor %}
</main>
{% if bundle %}
<script>{{ bundle | safe }}</script>
<script>
const specs = {{ specs | safe }};
const actions = {export: {svg: true, png: true}, source: false, compiled: false, editor: false};
specs.forEach((spec, i) => vegaEmbed("#figure" + i, spec, {renderer: "svg", actions: actions}));
</script>
{% endif %}
</body>
</html>
"""
