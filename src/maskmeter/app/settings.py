"""What the sliders of the page are set to, as steps of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import msgspec

from maskmeter.errors import InputError
from maskmeter.perturb.entries import StepEntries, as_entry, names_of
from maskmeter.perturb.pram import PramEntries
from maskmeter.perturb.recode import RecodeEntries
from maskmeter.perturb.redraw import RedrawEntries
from maskmeter.perturb.subsample import SubsampleEntries
from maskmeter.perturb.swap import SwapEntries
from maskmeter.plan import Task
from maskmeter.plurals import counted
from maskmeter.riskutility.family import Family
from maskmeter.riskutility.search import risk_before

Method: TypeAlias = Literal["redraw", "swap", "pram", "recode", "subsample"]


_NAMED = 2  # groups of a recode that its label names


@dataclass(frozen=True)
class Setting:
    """One way to protect the file: a method, and what its sliders say; what it has no use for is left.

    `rate` is the share of records to change (swap, pram) or to leave out (subsample); `rarer_than`
    is for redraws, of which `share` take part; `groups`, `bands` and `top` are for recodes.
    `aimed_at` is another key: records in its categories of higher risk are changed first. `key` may
    name several keys that move together. `first` are steps that come before.
    """

    method: Method
    key: tuple[str, ...] = ()
    rate: float = 0.1
    rarer_than: float = 100.0
    share: float = 1.0
    aimed_at: str = ""
    within: tuple[str, ...] = ()
    carry: tuple[str, ...] = ()
    bands: tuple[float, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    top: float | None = None
    first: tuple[StepEntries, ...] = ()


def fitted(setting: Setting, keys: Sequence[str]) -> Setting:
    """Return a setting that names none but these keys; one whose own key is gone takes the first.

    >>> fitted(Setting("swap", ("lad",), aimed_at="age", within=("sex", "lad")), ["lad", "sex"])
    Setting(method='swap', key=('lad',), rate=0.1, rarer_than=100.0, share=1.0, aimed_at='', within=('sex',), carry=(), bands=(), groups={}, top=None, first=())
    """
    key = tuple(one for one in setting.key if one in keys) or tuple(keys[:1])
    others = [one for one in keys if one not in key]
    return replace(
        setting,
        key=key,
        aimed_at=setting.aimed_at if setting.aimed_at in others else "",
        within=tuple(one for one in setting.within if one in others),
        first=setting.first if _known(setting.first, keys) else (),
    )


def _known(steps: Iterable[StepEntries], keys: Sequence[str]) -> bool:
    return all(key in keys for one in steps for key in one.keys_used())


def describe(setting: Setting) -> str:
    """Return what a setting does in a few words, as a label on the map.

    >>> describe(Setting("swap", ("lad",), rate=0.2, aimed_at="ethnicity"))
    'swap lad 20% aimed at ethnicity'
    """
    keys = " x ".join(setting.key)
    rate = f"{setting.rate:.1%}".replace(".0%", "%")
    recoded = f"in {counted(len(setting.bands), 'band')}" if setting.bands else ""
    if setting.groups:
        names = list(setting.groups)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        recoded = f"with {', '.join(names[:_NAMED])}{more}"
    elif setting.top is not None:
        recoded = f"topped at {setting.top:g}"
    share = "" if setting.share == 1 else f", {setting.share:.0%} of them"
    words = {
        "redraw": f"redraw {keys} < {setting.rarer_than:g}{share}",
        "swap": f"swap {keys} {rate}",
        "pram": f"PRAM {keys} {rate}",
        "recode": f"recode {keys} {recoded}",
        "subsample": f"leave out {rate}",
    }[setting.method]
    aimed = f" aimed at {setting.aimed_at}" if setting.aimed_at else ""
    within = f" within {', '.join(setting.within)}" if setting.within else ""
    carry = f" with {', '.join(setting.carry)}" if setting.carry else ""
    first = "".join(f"{_named(one)}, then " for one in setting.first)
    return f"{first}{words}{aimed}{within}{carry}"


def named(steps: Iterable[StepEntries]) -> str:
    """Return the steps of a plan in a few words.

    >>> named([SwapEntries("lad", 0.2), SubsampleEntries(0.5)])
    'swap lad 20%, then subsample keep 50%'
    """
    return ", then ".join(map(_named, steps))


def _named(step: StepEntries) -> str:
    """Return a step of a plan in a few words."""
    rates = {"rate": "", "stay": "stay ", "rarer_than": "< ", "fraction": "keep "}
    told = [
        f"{words}{value:g}" if name == "rarer_than" else f"{words}{value:.1%}".replace(".0%", "%")
        for name, words in rates.items()
        if isinstance(value := getattr(step, name, None), int | float)
    ]
    keys = " x ".join(names_of(getattr(step, "key", None)))
    return " ".join(part for part in (_method_of(step), keys, *told) if part)


def _method_of(step: StepEntries) -> str:
    return str(step.__struct_config__.tag)


def steps_of_setting(setting: Setting, task: Task) -> tuple[StepEntries, ...]:
    """Return a setting as steps of a plan; one that is aimed needs the risks before protection."""
    if setting.method != "subsample" and not setting.key:
        raise InputError("Choose the key to change.")
    if setting.aimed_at:
        return (*setting.first, _aimed(setting, task))
    key: Any = as_entry(setting.key) if setting.key else ""
    within, carry = list(setting.within), list(setting.carry)
    if setting.method == "redraw":
        made: StepEntries = RedrawEntries(key, setting.rarer_than, share=setting.share, carry=carry)
    elif setting.method == "swap":
        made = SwapEntries(key, setting.rate, within=within, carry=carry)
    elif setting.method == "pram":
        made = PramEntries(key, stay=_rest(setting.rate))
    elif setting.method == "subsample":
        made = SubsampleEntries(_rest(setting.rate))
    else:
        made = _recode(setting)
    return (*setting.first, _labelled(made, setting.first))


def _labelled(step: StepEntries, before: Sequence[StepEntries]) -> StepEntries:
    """Return a step with a label of its own, if one like it comes before."""
    names = names_of(getattr(step, "key", None))
    alike = [
        one
        for one in before
        if (_method_of(one), names_of(getattr(one, "key", None))) == (_method_of(step), names)
    ]
    if not alike:
        return step
    label = " ".join((_method_of(step), *names, str(len(alike) + 1)))
    return msgspec.structs.replace(step, label=label)


def _recode(setting: Setting) -> StepEntries:
    if len(setting.key) != 1:
        raise InputError("A recode takes one key.")
    groups = {name: list(some) for name, some in setting.groups.items()}
    return RecodeEntries(
        setting.key[0], groups=groups or None, bands=list(setting.bands) or None, top=setting.top
    )


def _aimed(setting: Setting, task: Task) -> StepEntries:
    """Return a step whose rate differs between the categories of another key, as a family has it."""
    if setting.method not in ("swap", "pram") or len(setting.key) != 1:
        raise InputError("Only a swap or PRAM of one key can be aimed at another key.")
    if setting.first:
        raise InputError("A step that is aimed at a key comes first: remove the steps before it.")
    method: Iterable[str] = (setting.method,)
    family = Family(setting.key[0], tuple(method), target=setting.aimed_at, within=setting.within)
    risk = risk_before(task.views.values())
    curve = family.curves(task.sample, risk)[f"targeted {setting.method}"]
    (step,) = curve(setting.rate)
    made = msgspec.structs.replace(step.to_plan(), label=None)
    if setting.carry:
        made = msgspec.structs.replace(made, carry=list(setting.carry))
    return made


def _rest(rate: float) -> float:
    return round(1 - rate, 10)  # 0.8, not 0.7999999999999999
