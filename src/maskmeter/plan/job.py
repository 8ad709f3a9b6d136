"""A plan with everything it needs read: the records, the population, the errors."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from maskmeter.data.engines.files import PARQUET, EngineName, files_of, names_several
from maskmeter.data.households import HouseholdTable, count_households
from maskmeter.data.microdata import Microdata
from maskmeter.data.reading import read
from maskmeter.data.source import Source
from maskmeter.data.table import KeyTable, count
from maskmeter.errors import (
    ColumnNotFoundError,
    ManyCategoriesWarning,
    MatchError,
    PlanError,
    caught_warnings,
    without_warnings,
)
from maskmeter.mechanism import Misclassification
from maskmeter.perturb import Release
from maskmeter.perturb.entries import StepEntries, Varying, matrix_of
from maskmeter.perturb.finish import Finish
from maskmeter.perturb.methods import step_of
from maskmeter.perturb.protecting import protected
from maskmeter.perturb.step import Step
from maskmeter.plan.checking import check_against_file
from maskmeter.plan.file_keys import file_keys, reading_part
from maskmeter.plan.reading import PlanFile
from maskmeter.plan.recorded import recorded_space
from maskmeter.plan.sampling import check_share, sampled, share
from maskmeter.plan.schema import LossPlan, Plan
from maskmeter.plan.sizes import check_sizes
from maskmeter.risk.target import Target
from maskmeter.risk.view import View, views
from maskmeter.riskutility import Family
from maskmeter.riskutility.riskmap import UNCHANGED

OWN_KEYS, OWN_STEPS = "keys of the plan", "the plan's steps"
_BY_KEY = {"bands": "bands", "missing_codes": "missing codes"}  # entries of [data], in words


@dataclass(frozen=True, eq=False)
class Task:
    """A plan and the file it is about; steps, candidates and the rest are made on first use."""

    file: PlanFile
    sample: Microdata
    population: KeyTable | None
    errors: Misclassification | None
    households: HouseholdTable | None = None  # of the population, if its file names them

    @property
    def plan(self) -> Plan:
        """The plan itself."""
        return self.file.plan

    def with_plan(self, plan: Plan) -> Task:
        """Return another plan for the same records, if it reads them in the same way.

        The views of intruders, and the models behind them, are kept.
        """
        if reading_part(plan) != reading_part(self.plan):
            raise PlanError("The plan reads the file in another way: read the file again.")
        file = replace(self.file, plan=plan, lines=None, text="")
        check_against_file(file, self.sample)
        other = replace(self, file=file)
        other.__dict__["views"] = self.views  # a cached property, which needs no new model
        return other

    @property
    def scenarios(self) -> dict[str, list[str]] | None:
        """The keys of each scenario; None when all keys of the file are known.

        Those under [data] are a scenario of their own, if there are others.
        """
        own, named = self.plan.data.keys, self.plan.scenario
        if not named and set(own) >= set(self.sample.space.names):
            return None
        return {
            **({OWN_KEYS: own} if own else {}),
            **{name: one.keys for name, one in named.items()},
        }

    @cached_property
    def views(self) -> dict[str, View]:
        """The file as the intruder of each scenario sees it, before protection."""
        return views(
            self.sample,
            self.scenarios,
            counts=self.population,
            errors=self.errors,
            model=self.plan.data.model,
        )

    @cached_property
    def steps(self) -> list[Step]:
        """The steps of the plan."""
        return steps_of(self.file, ("step",), self.sample)

    @cached_property
    def candidates(self) -> dict[str, list[Step]]:
        """The candidates of the plan by their labels."""
        listed = self.plan.candidate
        labels = [one.label for one in listed]
        for number, label in enumerate(labels):
            if label in (UNCHANGED, OWN_STEPS):
                raise self.file.error(
                    ("candidate", number, "label"),
                    f"{label!r} is a reserved label: choose another.",
                )
            if label in labels[:number]:
                raise self.file.error(
                    ("candidate", number),
                    f"Two candidates have the label {label!r}: rename one.",
                )
        return {
            one.label: steps_of(self.file, ("candidate", number, "step"), self.sample)
            for number, one in enumerate(listed)
        }

    @property
    def family(self) -> Family | None:
        """The family of ways to protect a key that is to be searched."""
        one = self.plan.family
        if one is None:
            return None
        first = {
            other.label: steps_of(self.file, ("family", "first", number, "step"), self.sample)
            for number, other in enumerate(one.first)
        }
        within = tuple(one.within)
        found: Family = self.file.blame(
            ("family",),
            lambda: Family(one.key, one.methods, target=one.target, within=within, first=first),
        )
        return found

    @property
    def target(self) -> Target | None:
        """The target of risk."""
        one = self.plan.target
        if one is None:
            return None
        found: Target = self.file.blame(
            ("target",),
            lambda: Target(
                max_share=one.max_share,
                max_total=one.max_total,
                max_record=one.max_record,
                intruder=one.intruder,
                by=one.by,
            ),
        )
        return found

    @cached_property
    def finish(self) -> Finish:
        """What is done to the released file as a whole."""
        one = self.plan.release
        found: Finish = self.file.blame(
            ("release",),
            lambda: Finish.of(
                shuffle=one.shuffle,
                drop=one.drop,
                renumber=one.renumber,
                household=self.plan.data.household,
            ),
        )
        return found

    def released(self, *, seed: int) -> Release:
        """Return the release of the file after the steps, finished; the file as it is without any."""
        if not self.steps:
            return self.finished(Release.unchanged(self.sample), seed=seed)
        return self.finished(protected(self.sample, self.steps, seed=seed), seed=seed)

    def finished(self, release: Release, *, seed: int) -> Release:
        """Return a release with its file finished as the plan says."""
        finish = self.finish

        def made() -> Release:
            if release.provenance is None and finish:  # no step was made
                return protected(self.sample, [], seed=seed, finish=finish)
            return release.with_finish(finish)

        found: Release = self.file.blame(("release",), made)
        return found

    @property
    def check_options(self) -> dict[str, Any]:
        """What the release check takes: accepted findings, and earlier releases."""
        check = self.plan.check
        return {
            "accept": [msgspec.structs.asdict(one) for one in check.accept],
            "earlier": [self.file.folder / path for path in check.earlier],
        }

    @property
    def tables(self) -> list[tuple[str, str]]:
        """The tables that analysts need; the strongest associations are added to them."""
        return [(rows, columns) for rows, columns in self.plan.loss.tables]


def steps_of(file: PlanFile, place: tuple[str | int, ...], sample: Microdata) -> list[Step]:
    """Return the steps that stand at some place of a plan, for the keys of a file.

    A step sees the keys as earlier ones have recoded them.
    """
    plans: Any = file.plan
    for part in place:
        plans = plans[part] if isinstance(part, int) else getattr(plans, part)
    steps: list[Step] = []
    for number, entries in enumerate(plans):

        def made(entries: Any = entries, sample: Microdata = sample) -> tuple[Step, Microdata]:
            step = step_of(entries, sample, file.folder)
            return step, step.recoded(sample)

        step, sample = file.blame((*place, number), made)
        steps.append(step)
    return steps


class Where(NamedTuple):
    """Where the rows of files are worked on, if not in memory: an engine, and a cluster's address."""

    engine: EngineName | None = None
    master: str | None = None

    def of(self, source: Path) -> dict[str, Any]:
        """Return what `mm.read` and `mm.count` take; only Parquet can be elsewhere than in Polars."""
        elsewhere = self.engine is not None and files_of(source)[0].suffix.lower() in PARQUET
        return self._asdict() if elsewhere or self.engine == "polars" else {}

    def holds(self, source: Path) -> bool:
        """Return True when the records of a file, or of several, are not read into memory."""
        return self.engine is not None or names_several(source)


def read_to_protect(file: PlanFile, source: Path, where: Where) -> Task:
    """Return a plan that is only to protect a file: of an engine, what its steps need is counted."""
    data, steps = file.plan.data, file.plan.step
    varying = data.fraction.keys_used() if isinstance(data.fraction, Varying) else ()
    needed = list(dict.fromkeys([*(key for step in steps for key in step.keys_used()), *varying]))
    known = data.fraction is not None or data.weights is not None
    if not where.holds(source) or not needed or not known or any(map(_needs_all, steps)):
        return read_task(file, source, where)
    _checked_keys(file, source)
    told = {
        entry: {name: said for name, said in getattr(data, entry).items() if name in needed}
        for entry in _BY_KEY
    }
    less = msgspec.structs.replace(data, keys=needed, read=[], population=None, **told)
    plan = msgspec.structs.replace(file.plan, data=less, scenario={}, loss=LossPlan(), error=[])
    read = read_task(replace(file, plan=plan), source, where)
    return replace(read, file=file)


def _needs_all(step: StepEntries) -> bool:
    return step.needs_every_key


def read_task(file: PlanFile, source: Path, where: Where = Where()) -> Task:  # noqa: B008 - it is frozen
    """Return a plan with the file, the population and the errors it names, all read."""
    plan, data = file.plan, file.plan.data
    keys = _checked_keys(file, source)
    reading: dict[str, Any] = {
        "missing": data.missing,
        "missing_codes": data.missing_codes or None,
        "bands": {name: list(bounds) for name, bounds in data.bands.items()} or None,
    }
    dialect = {"encoding": data.encoding, "delimiter": data.delimiter, "decimal": data.decimal}
    population = households = None
    if data.population is not None:
        counted = file.folder / data.population
        population = file.blame(
            ("data", "population"),
            lambda: count(counted, keys=keys, **reading, **where.of(counted)),
        )
        households = file.blame(
            ("data", "population"), lambda: _households(counted, keys, data.household, reading)
        )
    reading |= dialect
    space = recorded_space(file, source, population.space, reading) if population else keys
    also = [name for pair in plan.loss.tables for name in pair]
    sample = _read(file, source, space, reading | where._asdict() | {"also": also})
    if isinstance(data.fraction, Varying):
        sample = file.blame(("data", "fraction"), lambda: sampled(sample, data.fraction))
    elif data.fraction is None and data.weights is None:
        sample = replace(sample, fraction=share(sample, population))
    elif population is not None:
        check_share(sample, population)
    check_against_file(file, sample)
    return Task(file, sample, population, _errors(file, sample), households)


def _households(
    source: Path, keys: list[str], household: str | None, reading: dict[str, Any]
) -> HouseholdTable | None:
    """Return the households of a population whose file has the column that names them."""
    if household is None or household not in Source.of(source).names:
        return None
    with without_warnings(ManyCategoriesWarning):  # said when people were counted
        return count_households(source, keys, household=household, **reading)


def _checked_keys(file: PlanFile, source: Path) -> list[str]:
    """Return the keys to read, of which there must be some in every scenario."""
    keys = file_keys(file.plan)
    if not keys:
        raise PlanError(
            "No keys are given: use --keys a,b,c, or keys = [...] under [data] in a plan. To write a"
            f" starter plan, run: maskmeter plan init {source.name}"
        )
    check_sizes(file, len(keys))
    for name, one in file.plan.scenario.items():
        if not one.keys:
            raise file.error(("scenario", name, "keys"), f"The scenario {name!r} has no keys.")
    own = file.plan.data.keys
    for key, times in Counter(own).items():
        if times > 1:
            raise file.error(("data", "keys"), f"`keys` names {key!r} more than once.")
    for entry, words in _BY_KEY.items():
        for key in getattr(file.plan.data, entry):
            if key not in keys:
                raise file.error(
                    ("data", entry, key), f"{key!r} has {words} but is not a key: add it to `keys`."
                )
    return keys


def _read(file: PlanFile, source: Path, keys: Any, reading: dict[str, Any]) -> Microdata:
    """Return the records; refuse a key of hundreds of numbers unless the plan lists it in codes."""
    data = file.plan.data
    fraction = None if isinstance(data.fraction, Varying) else data.fraction
    with caught_warnings(ManyCategoriesWarning) as caught:
        try:
            sample = read(
                source, keys, weights=data.weights, fraction=fraction, id=data.id, **reading
            )
        except ColumnNotFoundError as error:
            raise file.named(error.name, error) from None
        except MatchError as error:
            other = error.between(source.name, Path(data.population or "the plan").name)
            raise file.error(("data", "population"), other) from None
    for one in caught:
        name = getattr(one.message, "key", "")
        if name and name not in data.codes:
            raise file.named(
                name,
                (
                    f"Key {name!r} has {sample.space[name].size:,} distinct numbers, so nearly every"
                    f" record would be unique. Put it into bands: [data.bands] with {name} = [0, 16, 65]"
                    f" in a plan. If the numbers are codes, write codes = [{name!r}] under [data]."
                ),
            )
    return sample


def _errors(file: PlanFile, sample: Microdata) -> Misclassification | None:
    """Return the errors that the file was recorded with."""
    if not file.plan.error:
        return None
    keys = [one.key for one in file.plan.error]
    for number, key in enumerate(keys):
        file.blame(("error", number), lambda key=key: sample.space.index(key))
        if key in keys[:number]:
            raise file.error(("error", number), f"{key!r} has two [[error]]s: give one.")
    matrices = {
        one.key: file.blame(
            ("error", number), lambda one=one: matrix_of(one.matrix, one.categories, file.folder)
        )
        for number, one in enumerate(file.plan.error)
    }
    return Misclassification(matrices)
