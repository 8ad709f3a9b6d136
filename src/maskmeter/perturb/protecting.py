"""Protecting a file: its steps are applied in order, and what they did is kept with the release."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version

import numpy as np

from maskmeter.data.microdata import Microdata, check_microdata
from maskmeter.errors import Caution, PerturbationError, warn
from maskmeter.mechanism import Mechanism
from maskmeter.perturb.finish import Finish
from maskmeter.perturb.release import Provenance, Release
from maskmeter.perturb.step import Perturbed, RareRecords, Rate, Step
from maskmeter.streams import RandomSource, seed_of
from maskmeter.types import Integers


def protect(
    data: Microdata,
    steps: Sequence[Step],
    *,
    rng: RandomSource = None,
    shuffle: bool = False,
    drop: Iterable[str] = (),
    renumber: Iterable[str] = (),
    household: str | None = None,
) -> Release:
    """Return the release of a file to which some steps were applied, in order.

    Each step draws from random streams of its own, named by its label, so that adding or
    reordering steps changes no other step's draws. At the end rows may be shuffled and columns
    dropped or renumbered, as by `release.finished`. Keep the release confidential: it holds the
    original and the seed.

    >>> import polars as pl, maskmeter as mm
    >>> people = pl.DataFrame({"lad": ["a", "b"] * 50, "sex": ["f"] * 50 + ["m"] * 50})
    >>> sample = mm.read(people, keys=["lad", "sex"], fraction=0.1)
    >>> release = mm.protect(sample, [mm.Swap("lad", rate=0.2, within=("sex",))], rng=2010)
    >>> int(release.changed.sum())
    20
    """
    check_microdata(data)
    finish = Finish.of(shuffle=shuffle, drop=drop, renumber=renumber, household=household)
    return protected(data, steps, seed=seed_of(rng), finish=finish)


def protected(
    data: Microdata,
    steps: Sequence[Step],
    *,
    seed: int,
    finish: Finish = Finish(),  # noqa: B008 - it is frozen
) -> Release:
    """Return the release of a file after some steps and a finish; there must be one of these."""
    steps = _checked_steps(steps, finish)
    current, truth, kept = data, data, np.arange(len(data.codes))
    recodes, rare = tuple[Step, ...](), tuple[RareRecords, ...]()
    mechanism, groups = Mechanism(data.space), dict[str, Integers]()
    reported: list[Rate] = []
    cautions: list[Caution] = []
    changed: list[tuple[str, int]] = []
    for step in steps:
        done = _performed(step, current, truth, mechanism, seed)
        changed.append((step.label, _changed(current, done)))
        mechanism = _composed(mechanism, current, done)
        current, truth = done.data, done.truth
        groups |= _after(groups, done.groups)
        recodes += (step,) if done.groups else ()
        rare += () if done.rare is None else (done.rare,)
        kept = kept if done.rows is None else kept[done.rows]
        reported += done.rates
        cautions += done.cautions
    warn(cautions, stacklevel=4)
    made = Release(
        data,
        current,
        mechanism,
        Provenance(steps, seed, data.fingerprint(), _versions()),
        tuple(reported),
        tuple(cautions),
        tuple(changed),
        truth,
        groups,
        None if len(kept) == len(data.codes) else kept,
        recodes,
        rare,
    )
    return made.with_finish(finish)


def _composed(mechanism: Mechanism, before: Microdata, done: Perturbed) -> Mechanism:
    """Return what lies between the truth and the file after one more step."""
    # A recode leaves the earlier matrices as they are: they touch other keys.
    mechanism = mechanism.on(done.data.space)
    if done.rows is not None or len(done.data) < len(before):
        # Who was left out is not known: margins hold no longer.
        mechanism = mechanism.without_margins()
    return mechanism if done.mechanism is None else mechanism.then(done.mechanism)


def _after(before: Mapping[str, Integers], groups: Mapping[str, Integers]) -> dict[str, Integers]:
    """Return the group of each original category of keys that were recoded, some of them again."""
    return {
        name: group[before[name]] if name in before else group for name, group in groups.items()
    }


def _performed(
    step: Step, current: Microdata, truth: Microdata, mechanism: Mechanism, seed: int
) -> Perturbed:
    """Return a file after one more step, which must not recode what earlier ones depend on."""
    perturb = step.perturb if current.at_source is None else step.perturb_at_source
    done = perturb(current, truth, seed=seed)
    if done.data.space != current.space:
        needed = {c for factor in mechanism.factors for c in factor.needed}
        taken = {current.space.names[c] for c in needed} & set(step.altered_keys)
        if taken:
            raise PerturbationError(
                f"{taken.pop()!r} is recoded after a step that changes it or depends on it. Recode"
                " first."
            )
    return done


def _changed(before: Microdata, done: Perturbed) -> int:
    """Return how many records a step moved or left out; a recode changes none."""
    if len(done.data) < len(before):
        return len(before) - len(done.data)
    if done.data.space != before.space:
        return 0
    if done.moved is not None:
        return done.moved
    return int((done.data.codes != before.codes).any(axis=1).sum())


def _checked_steps(given: Sequence[Step], finish: Finish) -> tuple[Step, ...]:
    listed = isinstance(given, list | tuple)
    steps = tuple(given) if listed else ()
    if not listed or not (steps or finish) or not all(isinstance(step, Step) for step in steps):
        raise PerturbationError("Give a list of steps, such as [mm.Swap(...), mm.Pram(...)].")
    labels = [step.label for step in steps]
    if len(set(labels)) < len(labels):
        repeated = next(label for label in labels if labels.count(label) > 1)
        raise PerturbationError(
            f"Two steps are labelled {repeated!r} and would use the same random numbers."
            " Give each step a label of its own."
        )
    return steps


@cache  # reading the packages' own files takes as long as a swap
def _versions() -> tuple[tuple[str, str], ...]:
    packages = ("maskmeter", "numpy", "polars", "narwhals")
    return (("python", platform.python_version()), *((name, version(name)) for name in packages))
