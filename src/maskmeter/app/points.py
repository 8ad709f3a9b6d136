"""Points of the map as HTML: the figures of one, and the table of all with their buttons."""

from __future__ import annotations

from htmltools import Tag, TagList, tags

from maskmeter.app.blocks import facts
from maskmeter.app.controls import button
from maskmeter.app.results import Tried
from maskmeter.app.tries import TRYING
from maskmeter.evidence.wording import Numbers, percent
from maskmeter.page import Fact
from maskmeter.riskutility.riskmap import UNCHANGED


def figures_of(one: Tried, *, unique: bool, former: bool) -> Tag:
    """Return the figures of the setting that is tried; shares are of the `unique` records, if any.

    `former` ones are of a setting before, while that of the controls is measured.
    """
    say, point = Numbers(None), one.point
    spread = one.refined and point.loss_sd > 0  # a recode is the same in every draw
    drawn = f"± {point.loss_sd:.1f} over {point.replications} draws" if spread else ""
    informed, exact = (
        percent(share) if unique else "" for share in (point.informed_share, point.share)
    )
    matches = say.matches(point.informed), say.matches(point.risk)
    if not one.assessable:
        matches, informed, exact = ("–", "–"), "not assessable", "not assessable"  # noqa: RUF001
    listed = [
        Fact("Matches, informed", matches[0], informed),
        Fact("by exact matching", matches[1], exact),
        Fact("Information loss", f"{point.loss:.1f}%", drawn),
        Fact("Records changed", percent(point.changed)),
    ]
    if point.left_out:
        listed.append(Fact("Records left out", percent(point.left_out)))
    marked = None
    if one.verdict is not None:
        tone = "good" if one.verdict == "met" else "bad"
        marked = tags.p(f"Target {one.verdict}", class_=f"verdict {tone}")
    said = (tags.p(words, class_="aside caution") for words in one.cautions)
    title = one.label.capitalize() if one.label == TRYING else one.label
    return tags.div(
        tags.h3("Being measured" if former else title),
        marked,
        facts(listed),
        *said,
        class_="former" if former else None,
    )


def points_table(
    caption: str, head: tuple[str, ...], rows: tuple[tuple[str, ...], ...], chosen: str
) -> TagList:
    """Return the points as a table, each with the buttons that choose it or take it away."""
    last = len(head) - 1
    drawn = tags.table(
        tags.caption(caption),
        tags.thead(
            tags.tr(
                *(
                    tags.th(name, scope="col", class_=None if place in (0, last) else "figure")
                    for place, name in enumerate(head)
                ),
                tags.th(tags.span("what to do", class_="unseen"), scope="col"),
            )
        ),
        tags.tbody(*(_point(row, chosen) for row in rows)),
    )
    return TagList(tags.div(drawn, class_="wide", tabindex="0", role="group", aria_label=caption))


def _point(row: tuple[str, ...], chosen: str) -> Tag:
    label = row[0]
    figures = (tags.td(cell, class_="figure") for cell in row[1:-1])
    buttons: list[Tag] = []
    if label != (chosen or UNCHANGED):
        buttons.append(
            button("Choose", "choose", label, kind="quiet", aria_label=f"Choose {label}")
        )
    if label != UNCHANGED:
        buttons.append(
            button("Remove", "forget", label, kind="quiet", aria_label=f"Remove {label}")
        )
    return tags.tr(
        tags.th(label, scope="row"),
        *figures,
        tags.td(row[-1]),
        tags.td(tags.span(*buttons, class_="buttons")),
        class_="on" if label == chosen else None,
    )
