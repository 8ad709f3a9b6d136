"""The controls of one way to protect a file, and what each of them changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from htmltools import Tag, TagChild, TagList, tags

from maskmeter.app.controls import (
    button,
    choice,
    entry,
    given_number,
    given_numbers,
    group,
    number,
    slider,
    tick,
)
from maskmeter.app.results import FileColumn
from maskmeter.app.settings import Setting
from maskmeter.errors import InputError
from maskmeter.formats.numbers import number_in

METHODS = {
    "swap": "Swap between pairs of records",
    "pram": "Redraw at random (PRAM)",
    "redraw": "Redraw rare records only",
    "recode": "Join categories",
    "subsample": "Leave out some records",
}
AIMED = ("swap", "pram")  # methods whose rate may differ between categories
ANY = "any record"
REST = "settle"  # what a slider of a setting asks for when it comes to rest
_MOST_SHOWN = 60  # categories that can be ticked to be joined


def setting_form(
    setting: Setting,
    columns: Sequence[FileColumn],
    categories: Mapping[str, str],
    *,
    joined: Sequence[str] = (),
    after: str = "",
) -> Tag:
    """Return the controls of a setting; `columns` are the keys, `categories` those of its key.

    `joined` are the categories ticked to be joined; `after` names other steps that come first.
    """
    parts: list[TagChild] = [choice("Method", "method", METHODS, chosen=setting.method)]
    titles = {one.name: one.title for one in columns}
    key = setting.key[0] if setting.key else ""
    if setting.method != "subsample":
        parts.append(choice("Key", "setting-key", titles, chosen=key))
    others = {name: title for name, title in titles.items() if name != key}
    if setting.method in AIMED:
        parts.append(_rate("Records to change", setting, 50))
        parts.append(choice("Aimed at", "aimed", {"": ANY} | others, chosen=setting.aimed_at))
    if setting.method == "swap":
        parts.append(_within(setting, others))
    if setting.method == "redraw":
        parts += _rare(setting)
    if setting.method == "subsample":
        parts.append(_rate("Records to leave out", setting, 90))
    if setting.method == "recode":
        # Neither numbers in bands nor codes with labels can be put into bands.
        plain = all(number_in(one) is not None and one == said for one, said in categories.items())
        parts += _joined(setting, categories, joined, numeric=plain)
    if after:
        parts.append(tick(f"After {after}", "after", "after", on=bool(setting.first)))
    return group("A way to protect the file", *parts)


def _rate(words: str, setting: Setting, high: int) -> Tag:
    value = round(100 * setting.rate, 1)
    return slider(words, "rate", value, low=0.5, high=high, step=0.5, unit="%", rest=REST)


def _within(setting: Setting, others: Mapping[str, str]) -> Tag:
    boxes = (
        tick(title, "within", name, on=name in setting.within) for name, title in others.items()
    )
    return tags.details(
        tags.summary("Only between records that agree in"),
        *boxes,
        {"open": "open"} if setting.within else {},
    )


def _rare(setting: Setting) -> list[TagChild]:
    return [
        slider(
            "Rare: fewer people share the other keys than",
            "rarer",
            setting.rarer_than,
            low=5,
            high=1000,
            step=5,
            rest=REST,
        ),
        number("The threshold as a number", "rarer-than", setting.rarer_than, min="0"),
        slider(
            "Of these",
            "rare-share",
            100 * setting.share,
            low=5,
            high=100,
            step=5,
            unit="%",
            rest=REST,
        ),
    ]


def _joined(
    setting: Setting, categories: Mapping[str, str], joined: Sequence[str], *, numeric: bool
) -> list[TagChild]:
    """Return the controls of a recode; numbers can be put into bands."""
    parts: list[TagChild] = []
    if numeric:
        bands = ", ".join(f"{one:g}" for one in setting.bands)
        parts += [
            entry("Bands, by their lower bounds", "bounds", bands, note="Such as 0, 16, 30."),
            number("Or all from this number upwards", "from-top", setting.top),
        ]
    if 0 < len(categories) <= _MOST_SHOWN:
        taken = {one for names in setting.groups.values() for one in names}
        free = {one: label for one, label in categories.items() if one not in taken}
        boxes = (tick(label, "join", one, on=one in joined) for one, label in free.items())
        made = (
            tags.li(
                f"{name}: {', '.join(categories.get(one, one) for one in names)} ",
                button("Part them", "part", name, kind="quiet", aria_label=f"Part {name}"),
            )
            for name, names in setting.groups.items()
        )
        line = f"join-them {' '.join(setting.key)}"
        name = tags.input(type="text", data_line=line, autocomplete="off")
        parts.append(
            tags.details(
                tags.summary(
                    "Or join categories by hand" if numeric else "Join categories by hand"
                ),
                tags.ul(*made),
                tags.div(*boxes, class_="ticks"),
                tags.label(tags.span("Name of the new category"), name, class_="field"),
                button("Join the ticked ones", "join-them", data_from=line),
                {"open": "open"} if setting.groups or joined or not numeric else {},
            )
        )
    elif not numeric:
        words = (
            f"It has {len(categories):,} categories, too many to tick: write groups into a plan."
        )
        parts.append(tags.p(words, class_="under"))
    return parts


def entries_of(action: str, value: Any, setting: Setting) -> dict[str, Any]:
    """Return which entries of a setting an action changes, and to what.

    >>> entries_of("rate", "20", Setting("swap"))
    {'rate': 0.2}
    """
    if action in _SHARES:
        return {_SHARES[action]: given_number(value) / 100}
    if action in ("rarer", "rarer-than"):
        return {"rarer_than": _positive(value)}
    if action == "aimed":
        return {"aimed_at": str(value)}
    if action == "within":
        kept = tuple(one for one in setting.within if one != value["name"])
        return {"within": (*kept, value["name"]) if value["on"] else kept}
    return {"groups": {}, "bands": (), "top": None} | _anew(action, value, setting)


def _positive(value: Any) -> float:
    words = "Give a number of people above 0."
    found = given_number(value, else_say=words)
    if found <= 0:
        raise InputError(words)
    return found


def _anew(action: str, value: Any, setting: Setting) -> dict[str, Any]:
    """Return the entries of an action after which categories have to be joined anew."""
    if action == "method":
        aimed = setting.aimed_at if value in AIMED else ""
        return {
            "method": value,
            "aimed_at": aimed,
            "within": setting.within if value == "swap" else (),
        }
    if action == "setting-key":
        return {"key": (str(value),), "aimed_at": ""}
    if action == "from-top":
        return {"top": given_number(value) if str(value).strip() else None}
    return {"bands": given_numbers(str(value))}


_SHARES = {"rate": "rate", "rare-share": "share"}
# A slider leaves its point on the map when it rests; a method or a key is where a setting begins.
MOVING = ("method", "setting-key", "rate", "rarer", "rare-share")
ACTIONS = (*MOVING, "aimed", "within", "rarer-than", "bounds", "from-top")


def joined_to(
    setting: Setting, name: str, categories: Sequence[str], known: Mapping[str, str]
) -> Setting:
    """Return a recode that also joins some categories under a new name; `known` are all of the key."""
    if not name.strip():
        raise InputError("Name the new category first.")
    if not categories:
        raise InputError("Tick the categories that are to be joined first.")
    others = {one: label for one, label in known.items() if one not in categories}
    if name.strip() in {*others, *others.values()}:
        raise InputError("Another category has this name already: choose a new one.")
    groups = {**setting.groups, name.strip(): tuple(categories)}
    return replace(setting, groups=groups, bands=(), top=None)


def parted(setting: Setting, name: str) -> Setting:
    """Return a recode that leaves the categories of a group apart."""
    kept = {one: names for one, names in setting.groups.items() if one != name}
    return replace(setting, groups=kept)


def complete(setting: Setting) -> bool:
    """Return whether a setting can be tried.

    >>> complete(Setting("swap", ("lad",))), complete(Setting("recode", ("age",)))
    (True, False)
    """
    if setting.method == "subsample":
        return True
    if setting.method == "recode" and not (
        setting.groups or setting.bands or setting.top is not None
    ):
        return False
    return bool(setting.key)


def note() -> TagList:
    """Return what the map shows."""
    return TagList(
        tags.p(
            "Each point is a release: the lower, the safer; the further left, the more useful. A"
            " click on a point makes it the release of the plan.",
            class_="under",
        )
    )
