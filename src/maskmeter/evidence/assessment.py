"""An assessment: the risk of a file in every scenario, what drives it and what protection costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import polars as pl

from maskmeter.checks import Progress, check_choice, check_progress, shown
from maskmeter.data.frames import as_kind
from maskmeter.data.households import Homes, HouseholdTable
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.display import InWords
from maskmeter.errors import InputError, warn
from maskmeter.evidence.drawings import risk_chart
from maskmeter.evidence.figures import figures
from maskmeter.evidence.findings import Findings, record_frame
from maskmeter.evidence.household_blocks import household_words
from maskmeter.evidence.scenario import scenario_risk
from maskmeter.evidence.sections import risk_table
from maskmeter.evidence.wording import listed_figures
from maskmeter.loglinear import DEFAULT_MODEL
from maskmeter.loss import Loss, information_loss
from maskmeter.page import Table
from maskmeter.perturb import Release
from maskmeter.perturb.condensing import condensed
from maskmeter.plurals import counted
from maskmeter.release_check import ReleaseCheck, check_release
from maskmeter.risk.intruder import INFORMED, Intruder
from maskmeter.risk.models import Model
from maskmeter.risk.target import Target
from maskmeter.risk.view import Errors, Known, View, views
from maskmeter.riskutility.assessor import (
    Measure,
    Tables,
    altered_keys,
    carried_columns,
    loss_tables,
    named_tables,
)

_MANY = 100_000  # records that are counted before they are assessed


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(Findings, InWords):
    """What is known about a file that is to be released, in words, figures and a chart.

    `household` and `asked`, the two-way tables that were named, are what was asked for; a report
    writes them down with the rest.
    """

    def __repr__(self) -> str:
        """Return the headline: no record is shown."""
        several = counted(len(self.scenarios), "scenario")
        if not self.assessable:
            return f"Assessment({several}; not assessable)"
        mark = "" if self.mark is None else f"; target {self.mark}"
        return f"Assessment({several}; worst {self.worst.risk!r}{mark})"

    def summary(self) -> str:
        """Return the verdict, and what is known of households; no record is named."""
        known = figures(self)
        return "\n".join([known.verdict, *household_words(known)])

    def to_frame(self) -> Any:
        """Return a row for each scenario, intruder and figure: its value, and that before protection."""
        return as_kind(self._frame(), self.data.frame_kind)

    def by_record(self) -> Any:
        """Return a row for each record: its released keys, whether it is unique, and its risks.

        In pandas the frame has the index of the records.
        """
        return self.released.with_index(record_frame(self))

    def _frame(self) -> pl.DataFrame:
        rows = [
            (one.name, intruder, name, value, before.get(name))
            for one in figures(self).scenarios
            for intruder in get_args(Intruder)
            for bare in [one.unprotected]
            for before in [{} if bare is None else listed_figures(bare.of(intruder))]
            for name, value in listed_figures(one.risks.of(intruder)).items()
        ]
        kinds = dict.fromkeys(("scenario", "intruder", "figure"), pl.String)
        return pl.DataFrame(
            rows, schema=kinds | dict.fromkeys(("value", "unprotected"), pl.Float64), orient="row"
        )

    def plot(self) -> Any:
        """Return an Altair chart of the expected correct matches, before and after protection."""
        return risk_chart(figures(self))

    def _tables(self) -> Iterator[Table]:
        """Yield the risk of every scenario."""
        yield risk_table(figures(self))


def assess(
    data: Release | Microdata,
    *,
    known: Known = None,
    population: KeyTable | None = None,
    misclassification: Errors = None,
    loss: Tables = None,
    measure: Measure = "worst",
    target: Target | None = None,
    household: str | None = None,
    model: Model = DEFAULT_MODEL,
    households: HouseholdTable | None = None,
    drop_one: bool = True,
    accept: Iterable[Mapping[str, str]] = (),
    earlier: Iterable[Any] = (),
    progress: Progress | None = None,
) -> Assessment:
    """Return the assessment of a file, or of its release: risk in every scenario, loss, verdict.

    The release check (`mm.check_release`) is part of it, unless the records stay in an engine.

    Parameters
    ----------
    known
        The keys that an intruder knows, if not all: a list, or text such as "age,sex". Or several
        such lists by the names of their scenarios.
    population
        Counts of the true keys: then the risk is exact, else it is estimated.
    misclassification
        Errors that the file was recorded with.
    loss
        Two-way tables whose information loss is measured, beside those of the three columns that
        each changed key is associated with most.
    target
        How much risk is allowed, such as `mm.Target(max_share=0.05)`.
    household
        Column of household numbers, to measure the risk of households too.
    model
        "shrunk", "score-path" or "forward", or a fitted model, as for `mm.estimate_risk`.
    households
        Households of the population (`mm.count_households`): then their risk is exact, else it has
        bounds.
    drop_one
        Whether to measure the risk without each key as well.
    accept, earlier
        Findings of the release check that the agency accepts, and earlier releases of the same
        file, as for `mm.check_release`.

    >>> import maskmeter as mm
    >>> people = mm.bernoulli_sample(mm.synthetic_census(size=80_000), fraction=0.05, rng=1)
    >>> sample = mm.read(people, keys=["lad", "age", "ethnicity"], fraction=0.05)
    >>> found = mm.assess(sample, known={"near": ["lad", "age"], "far": ["age", "ethnicity"]})
    >>> [one.name for one in found.scenarios], found.worst.name
    (['near', 'far'], 'far')
    """
    if target is not None and not isinstance(target, Target):
        raise InputError(f"`target` must be an mm.Target, not {shown(target)}.")
    check_choice(measure, Measure, name="measure")
    check_progress(progress)
    _check_households(households, household)
    seen = views(data, known, counts=population, errors=misclassification, model=model)
    found = assessment_of(
        seen,
        loss=loss,
        measure=measure,
        target=target,
        household=household,
        households=households,
        drop_one=drop_one,
        accept=accept,
        earlier=earlier,
        given=not isinstance(model, str),
        progress=progress,
    )
    already = () if found.release is None else found.release.cautions  # when it was made
    warn(one for one in (*found.cautions, *found.private) if one not in already)
    return found


def assessment_of(
    seen: Mapping[str, View],
    *,
    loss: Tables = None,
    measure: Measure = "worst",
    target: Target | None = None,
    household: str | None = None,
    households: HouseholdTable | None = None,
    drop_one: bool = True,
    accept: Iterable[Mapping[str, str]] = (),
    earlier: Iterable[Any] = (),
    given: bool = False,
    progress: Progress | None = None,
) -> Assessment:
    """Return the assessment of a file as some intruders see it, without a warning.

    Many records are counted first, unless a model of their very file was `given`.
    """
    few = release = next(iter(seen.values())).release
    if household is not None:
        Homes.of(release.original, household)  # refused before the work, if at all
    elif len(release.released) >= _MANY and release.released.times is None and not given:
        few = condensed(release)  # its keys are all that tables of keys need
        seen = {name: view.with_release(few) for name, view in seen.items()}
    intruder = INFORMED if target is None else target.intruder
    told = progress or (lambda *_: None)
    found = []
    for number, (name, view) in enumerate(seen.items(), start=1):
        told(f"Measuring the risk: {name}", number, len(seen))
        found.append(
            scenario_risk(
                name,
                view,
                household,
                intruder=intruder,
                drop_one=drop_one,
                households=households,
                progress=told,
            )
        )
    several = release.protected and len(release.original.space.names) > 1
    losses = _tables(release, few, loss, told) if release.protected else ()
    told("Measuring the loss of all pairs of keys", 0, 0)
    pairs = information_loss(few) if several else None
    return Assessment(
        release,
        tuple(found),
        losses,
        measure,
        pairs,
        target,
        household,
        named_tables(loss),
        check=checked_release(
            release, household=household, accept=accept, earlier=earlier, progress=told
        ),
    )


def checked_release(
    release: Release,
    *,
    household: str | None,
    accept: Iterable[Mapping[str, str]] = (),
    earlier: Iterable[Any] = (),
    progress: Progress | None = None,
) -> ReleaseCheck | None:
    """Return the release check; None where the records stay in an engine.

    A household that the released file does not name is none to its readers.
    """
    if release.released.times is not None:
        return None
    kept = household if household in release.released.written_names else None
    return check_release(release, household=kept, accept=accept, earlier=earlier, progress=progress)


def _check_households(households: object, household: str | None) -> None:
    """Raise unless the households of a population come with the column that names the file's."""
    if households is None:
        return
    if not isinstance(households, HouseholdTable):
        raise InputError(
            "Give `households` as a table (mm.count_households), not as a"
            f" {type(households).__name__}."
        )
    if household is None:
        raise InputError("`households` needs the column of the file that names them: household=...")


def _tables(release: Release, few: Release, loss: Tables, progress: Progress) -> tuple[Loss, ...]:
    """Return the loss of the tables that are named, and of the strongest ones of each changed key.

    The counts of a release, `few` rows, are enough for tables of keys.
    """
    keys = altered_keys(release.original, [release])
    pairs = loss_tables(loss, release.original, keys, carried=carried_columns([release]))
    counted = set(release.original.space.names)
    found = []
    for number, (rows, columns) in enumerate(pairs):
        progress(f"Measuring the loss: {rows} x {columns}", number, len(pairs))
        held = few if {rows, columns} <= counted else release
        found.append(information_loss(held, rows=rows, columns=columns))
    return tuple(found)
