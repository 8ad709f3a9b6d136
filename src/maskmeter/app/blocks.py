"""Blocks of our reports as HTML of the page: the same words and tables, without their charts."""

from __future__ import annotations

from collections.abc import Iterable

from htmltools import Tag, TagChild, TagList, tags

from maskmeter.page import Beside, Block, Fact, Fold, Points, Table, Terms, Text, Top


def shown(blocks: Iterable[Block]) -> TagList:
    """Return blocks as HTML; a chart has an output of its own and is left out."""
    return TagList(*(_block(one) for one in blocks))


def _block(block: Block) -> TagChild:
    drawn: TagChild = None
    if isinstance(block, Text):
        drawn = _text(block)
    elif isinstance(block, Points):
        drawn = tags.ul(*(tags.li(one) for one in block.sentences))
    elif isinstance(block, Terms):
        listed = (tags.div(tags.dt(term), tags.dd(said)) for term, said in block.meanings)
        drawn = tags.dl(*listed)
    elif isinstance(block, Table):
        drawn = table(block)
    elif isinstance(block, Fold):
        drawn = tags.details(tags.summary(block.title), shown(block.blocks))
    elif isinstance(block, Beside):
        drawn = shown((block.wider, block.other))
    return drawn


def _text(block: Text) -> Tag:
    if not block.mark:
        return tags.p(block.words)
    mark = tags.strong(f"{block.mark}.", class_=f"mark {block.mark.lower()}")
    aside = f"aside {block.mark.lower()}" if block.mark in ("Caution", "Note") else None
    return tags.p(mark, " ", block.words, class_=aside)


def table(block: Table) -> Tag:
    """Return a table; columns of figures stand to the right."""
    right = ["figure" if one else None for one in block.figures()]
    head = (
        tags.th(cell, scope="col", class_=kind)
        for cell, kind in zip(block.head, right, strict=True)
    )
    drawn = tags.table(
        tags.caption(block.caption),
        tags.thead(tags.tr(*head)),
        tags.tbody(*(_row(cells, right) for cells in block.rows)),
    )
    return tags.div(drawn, class_="wide", tabindex="0", role="group", aria_label=block.caption)


def _row(cells: tuple[str, ...], right: list[str | None]) -> Tag:
    rest = (tags.td(cell, class_=kind) for cell, kind in zip(cells[1:], right[1:], strict=True))
    about = "sub" if cells[0].startswith(" ") else None
    return tags.tr(tags.th(cells[0], scope="row"), *rest, class_=about)


def first(top: Top, *, heading: str = "") -> TagList:
    """Return the mark, the sentence to read and the figures below it."""
    parts: list[TagChild] = []
    if heading:
        parts.append(tags.h3(heading))
    if top.mark:
        parts.append(tags.p(top.mark, class_=f"verdict {top.tone}".strip()))
    parts.append(tags.p(top.lead, class_="lead"))
    if top.facts:
        parts.append(facts(top.facts))
    if top.under:
        parts.append(tags.p(top.under, class_="under"))
    return TagList(*parts)


def facts(listed: Iterable[Fact]) -> Tag:
    """Return figures in a row, each under its name."""
    return tags.dl(
        *(
            tags.div(
                tags.dt(one.name),
                tags.dd(tags.strong(one.figure), tags.span(one.note) if one.note else None),
            )
            for one in listed
        ),
        class_="facts",
    )
