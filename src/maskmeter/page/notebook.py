"""What a notebook shows of a result: a line, small tables and a picture, in one piece of HTML.

It brings its own colours for light and dark notebooks, has no script and asks for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from maskmeter.chart.svg import COLOURS, Picture
from maskmeter.page import Table

_LIGHT, _DARK = (
    "; ".join(f"--mm-{place}: {colour}" for place, colour in enumerate(colours))
    for colours in (COLOURS, COLOURS.values())
)
_DAY, _NIGHT = f"{{ --mm-paper: #fff; {_LIGHT} }}", f"{{ --mm-paper: #12191d; {_DARK} }}"
# The first three colours are those of words, of softer words and of lines. Notebooks style all
# tables, so that ours must insist.
STYLE = f"""
.maskmeter {_DAY}
@media (prefers-color-scheme: dark) {{ .maskmeter {_NIGHT} }}
[data-jp-theme-light=true] .maskmeter, .vscode-light .maskmeter {_DAY}
[data-jp-theme-light=false] .maskmeter, .vscode-dark .maskmeter {_NIGHT}
.maskmeter {{ box-sizing: border-box; width: fit-content; max-width: 100%; padding: .6rem .9rem;
  overflow-x: auto; background: var(--mm-paper); color: var(--mm-0);
  font: 14px/1.45 system-ui, sans-serif; }}
.maskmeter p {{ margin: .3rem 0 !important; max-width: 46rem; color: var(--mm-1); }}
.maskmeter p.lead {{ color: var(--mm-0); font-weight: 600; }}
.maskmeter table {{ margin: .6rem 0 !important; border-collapse: collapse; border: 0 !important;
  background: none !important; color: inherit; font: inherit; font-variant-numeric: tabular-nums; }}
.maskmeter caption {{ text-align: left; color: var(--mm-1); padding: 0 0 .2rem; }}
.maskmeter tr {{ background: none !important; }}
.maskmeter th, .maskmeter td {{ padding: .15rem 1.1rem .15rem 0 !important; border: 0 !important;
  border-bottom: 1px solid var(--mm-2) !important; text-align: left !important; color: inherit;
  background: none !important; font-weight: 400; vertical-align: top; white-space: normal;
  max-width: 34rem; }}
.maskmeter thead th {{ color: var(--mm-1); border-bottom-color: var(--mm-1) !important;
  vertical-align: bottom; }}
.maskmeter .figure {{ text-align: right !important; }}
.maskmeter tbody th, .maskmeter td.figure {{ white-space: nowrap; }}
.maskmeter figure {{ margin: .8rem 0 !important; }}
.maskmeter figcaption {{ text-align: left; font: inherit; color: var(--mm-1); }}
.maskmeter figcaption * {{ display: block; }}
.maskmeter figcaption strong {{ color: var(--mm-0); }}
.maskmeter svg {{ display: block; max-width: 100%; height: auto; overflow: visible; }}
"""


def fragment(
    lead: str, tables: Sequence[Table], drawn: Picture | None = None, notes: Sequence[str] = ()
) -> str:
    """Return a result as HTML that stands in a notebook.

    >>> from maskmeter.page import Table
    >>> shown = fragment("A & B", [Table("", ("", ""), (("<records>", "2"),))])
    >>> "A &amp; B" in shown, "&lt;records&gt;" in shown
    (True, True)
    """
    parts = [
        f"<style>{STYLE}</style>",
        f'<p class="lead">{escape(lead)}</p>' if lead else "",
        *map(_table, tables),
        _figure(drawn) if drawn is not None else "",
        *(f"<p>{escape(note)}</p>" for note in notes),
    ]
    return f'<div class="maskmeter">{"".join(parts)}</div>'


def _figure(drawn: Picture) -> str:
    """Return a picture under its titles, which are also what a screen reader says of it."""
    said = escape(". ".join(filter(None, drawn[:2])))
    image = drawn.svg.replace("<svg ", f'<svg role="img" aria-label="{said}" ', 1)
    titles = f"<strong>{escape(drawn.title)}</strong><span>{escape(drawn.subtitle)}</span>"
    return f"<figure><figcaption>{titles}</figcaption>{image}</figure>"


def _table(table: Table) -> str:
    """Return a table as HTML; one whose head is empty has none."""
    kinds = [' class="figure"' if figure else "" for figure in table.figures()]
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    heads = "".join(
        f'<th scope="col"{kind}>{escape(head)}</th>'
        for head, kind in zip(table.head, kinds, strict=True)
    )
    head = f"<thead><tr>{heads}</tr></thead>" if any(table.head) else ""
    rows = "".join(f"<tr>{_row(row, kinds)}</tr>" for row in table.rows)
    return f"<table>{caption}{head}<tbody>{rows}</tbody></table>"


def _row(cells: Sequence[str], kinds: Sequence[str]) -> str:
    first = f'<th scope="row">{escape(cells[0])}</th>'
    rest = zip(cells[1:], kinds[1:], strict=True)
    return first + "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in rest)
