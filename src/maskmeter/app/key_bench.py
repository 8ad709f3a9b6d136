"""What the tabs of keys and sample show and do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from maskmeter.app.changes import with_keys, without_steps
from maskmeter.app.counting import key_counts, key_warnings
from maskmeter.app.problems import keys_of
from maskmeter.app.results import ExpectedMatches, KeyCounts, KeysNow, KeyWarning, SamplingNow
from maskmeter.app.sampling import sampling_now
from maskmeter.app.state import BenchState, silent
from maskmeter.checks import Progress
from maskmeter.errors import MaskmeterError
from maskmeter.plan import Plan


class KeyBench(BenchState):
    """The state with what is known of its keys, and of how the file was sampled."""

    def key_counts(self, keys: Sequence[str], plan: Plan | None = None) -> KeyCounts:
        """Return how far some keys tell the records apart; quick enough for every tick."""
        held, read = self._opened, self._read_as(keys, plan)
        return key_counts(held.columns, keys, read.data, held.file.records)

    def expected_matches(
        self, keys: Sequence[str], plan: Plan | None = None
    ) -> ExpectedMatches | None:
        """Return the matches to expect with some keys; None while the sampling is not known."""
        read = without_steps(self._read_as(keys, plan))
        data = read.data
        sampled = data.fraction is not None or data.weights or data.population
        if not sampled or not keys:
            return None
        views = self._opened.readings.task(read).views.values()
        risk = max((one.risk(interval="none") for one in views), key=lambda one: one.total)
        return ExpectedMatches(tuple(keys), risk.uniques, risk.total, risk.share, risk.assessable)

    def key_warnings(self, keys: Sequence[str], plan: Plan | None = None) -> tuple[KeyWarning, ...]:
        """Return why some of the ticked columns may be no good keys."""
        held = self._opened
        return key_warnings(held.columns, keys, self._read_as(keys, plan), held.file)

    def look_at_keys(self, progress: Progress | None = None) -> KeysNow:
        """Count the ticked keys, look what is wrong with them, then what matches to expect.

        `keys_now` has what is known meanwhile. The plan may change while this goes on.
        """
        told, plan = progress or silent, self.plan
        way = self._way_of_keys(plan)
        keys = plan.data.keys or keys_of(plan)  # without ticks, those of all scenarios together
        if self.unknown_keys:
            return self._note(way, KeysNow(done=True))
        told("Counting the keys", 0, 3)
        try:
            counts = self.key_counts(keys, plan)
        except MaskmeterError as error:
            return self._note(way, KeysNow(done=True, fault=str(error)))
        found = self._note(way, KeysNow(counts))
        told("Looking at the columns", 1, 3)
        found = self._note(way, replace(found, warnings=self.key_warnings(keys, plan)))
        told("Expecting matches", 2, 3)
        return self._note(way, replace(found, matches=self._expected(keys, plan), done=True))

    @property
    def keys_now(self) -> KeysNow:
        """What is known of the ticked keys so far."""
        return self._opened.keys.get(self._way_of_keys(self.plan)) or KeysNow()

    @property
    def unknown_keys(self) -> tuple[str, ...]:
        """The keys of the plan that the file does not have."""
        held = self.file
        return () if held is None else tuple(one for one in self.keys if held.column(one) is None)

    def bands_for(self, column: str) -> tuple[float, ...]:
        """Return lower bounds of bands for a column of numbers; none where it holds no numbers."""
        held = self._opened
        known = held.file.column(column)
        if known is not None and known.bands:
            return known.bands
        return held.columns.bands(column, self.plan.data)

    def categories(self, key: str) -> dict[str, str]:
        """Return a key's categories as the plan reads them, with their labels: for the page only."""
        sample = self._opened.columns.sample([key], self.plan.data)
        known = self._opened.columns.labels(key, self.plan.data)
        held = (one for one in sample.space[key].categories if one is not None)
        return {str(one): known.label_of(one) or str(one) for one in held}

    def look_at_sample(self, progress: Progress | None = None) -> SamplingNow:
        """Return how the plan says that the file was sampled, and what that implies."""
        held, plan = self._opened, without_steps(self.plan)
        way = held.readings.reading(plan)
        (progress or silent)("Looking at the sample", 0, 0)
        try:
            found = sampling_now(held.readings, plan, held.file)
        except MaskmeterError as error:
            found = SamplingNow("unknown", str(error), held.file.records, faulty=True)
        held.sampled.put(way, found)
        self._changed()
        return found

    @property
    def sampling_ready(self) -> SamplingNow | None:
        """The same if it was looked at; None at once if not."""
        held = self._opened
        return held.sampled.get(held.readings.reading(without_steps(self.plan)))

    # -- private -------------------------------------------------------------------------------

    def _expected(self, keys: Sequence[str], plan: Plan) -> ExpectedMatches | None:
        try:
            return self.expected_matches(keys, plan)
        except MaskmeterError:  # the next tab says why
            return None

    def _note(self, way: bytes, found: KeysNow) -> KeysNow:
        self._opened.keys.put(way, found)
        self._changed()
        return found

    def _way_of_keys(self, plan: Plan) -> bytes:
        reading = self._opened.readings.reading(without_steps(plan))
        return reading + repr(plan.release.drop).encode()

    def _read_as(self, keys: Sequence[str], plan: Plan | None) -> Plan:
        return with_keys(self.plan if plan is None else plan, keys, self._opened.file)
