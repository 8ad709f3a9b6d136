"""A release put together from two files: the recodes between them, and the realised matrices."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import polars as pl

from maskmeter.data.keys import Key
from maskmeter.data.microdata import Microdata
from maskmeter.data.recoding import recoded_records, thinned_records, with_key
from maskmeter.data.source import Source
from maskmeter.data.table import KeyTable
from maskmeter.errors import Caution, InputError, PopulationMismatchWarning, UnpairedRecordsWarning
from maskmeter.formats.numbers import number_in
from maskmeter.formats.numbers import plain as plain_number
from maskmeter.mechanism import Misclassification
from maskmeter.perturb import Recode, Release
from maskmeter.perturb.matrices import realised
from maskmeter.perturb.step import check_matrix_size
from maskmeter.plurals import counted, plural
from maskmeter.release_check.alignment import Alignment
from maskmeter.release_check.comparison import ComparedColumn
from maskmeter.types import Integers

_NO_RECORD = -2  # the code of a category that no record has


class PairRelease(NamedTuple):
    """The release between two files.

    `recoded` are all original records in the categories of the release, without those that only
    the released file has: what a model is fitted to.
    """

    release: Release
    recoded: Microdata


def pair_release(
    sample: Microdata,
    source: Source,
    compared: Mapping[str, tuple[ComparedColumn, pl.Series]],
    pairs: Alignment,
    *,
    population: KeyTable | None = None,
) -> PairRelease:
    """Return the release that turns a sample into the file of `source`.

    `compared` has each key with what it was recoded to, and its column in the released file. The
    matrix of a key that was changed has the frequencies P[true, released] of these very records.
    Categories that only a `population` has are recoded as the numbers around them.
    """
    keys, sizes = [], sample.space.sizes
    for name, (column, released) in compared.items():
        values = _Values.of(sample, name, column, released)
        elsewhere: tuple[Hashable, ...] = ()
        if population is not None and name in population.space.names:
            elsewhere = population.space[name].categories
        made = column.change.recoded
        keys.append(_recoded(values, sample, elsewhere) if made else _not_recoded(values))
        sample = _with(sample, keys[-1].key)
    whole = sample
    for one in keys:
        if one.group is not None:
            whole = recoded_records(whole, one.coarser, one.group)
    truth, kept = _kept(whole, pairs)
    codes = np.stack([one.released for one in keys], axis=1)
    codes[pairs.released] = _missing_alike(codes[pairs.released], truth, compared, pairs)
    there = Microdata(
        truth.space, codes, codebook=source.codebook, source=source, source_codes=codes
    )
    moved = there.take(pairs.released) if pairs.added else there
    release = Release(
        sample,
        moved,
        _matrices(truth, moved).on(truth).fitted_to_counts(),
        truth=truth,
        groups={one.key.name: one.group for one in keys if one.group is not None},
        kept=kept,
        recodes=tuple(one.recode for one in keys if one.recode is not None),
        cautions=(*(text for one in keys for text in _apart(population, one)), *_unpaired(pairs)),
    )
    recoded = whole
    for one, size in zip(keys, sizes, strict=True):
        recoded = _without_new(recoded, one, size)
    return PairRelease(release, recoded)


def _without_new(whole: Microdata, one: _PairedKey, size: int) -> Microdata:
    """Return records without the categories that only the release has; the first `size` are old."""
    old = np.arange(size) if one.group is None else np.unique(one.group[:size])
    if len(old) in (1, one.coarser.size):
        return whole
    key = Key(one.key.name, [one.coarser.categories[code] for code in old])
    place = np.zeros(one.coarser.size, dtype=np.int64)
    place[old] = np.arange(len(old))
    return recoded_records(whole, key, place)


def _kept(whole: Microdata, pairs: Alignment) -> tuple[Microdata, Integers | None]:
    """Return the true records in the order of the release, and their rows if these are others."""
    rows = pairs.original
    if not pairs.missing and np.array_equal(rows, np.arange(len(whole))):
        return whole, None
    truth = whole.take(rows)
    return thinned_records(truth, len(rows) / len(whole)) if pairs.missing else truth, rows


def _missing_alike(
    codes: Integers,
    truth: Microdata,
    compared: Mapping[str, tuple[ComparedColumn, pl.Series]],
    pairs: Alignment,
) -> Integers:
    """Return released codes in which a value that is missing in both files has its original code."""
    both = [
        (column.values.one[pairs.original] < 0) & (column.values.other[pairs.released] < 0)
        for column, _ in compared.values()
    ]
    return np.where(np.stack(both, axis=1), truth.codes, codes)


def _matrices(truth: Microdata, released: Microdata) -> Misclassification:
    """Return the transition frequencies of every key in which a record differs from the truth."""
    matrices = {}
    for position, key in enumerate(truth.space.keys):
        true, seen = truth.codes[:, position], released.codes[:, position]
        if (true != seen).any():
            check_matrix_size([key], strata=1)
            moves = np.zeros((key.size, key.size), dtype=np.int64)
            np.add.at(moves, (true, seen), 1)
            P, records = realised(moves), moves.sum(axis=1)
            # Nobody truly has what only came by changes, such as missing by suppression: whoever
            # sees it knows that it was changed.
            new = (records == 0) & (moves.sum(axis=0) > 0)
            matrices[key.name] = np.where(new[:, None], records / len(true), P)
    return Misclassification(matrices)


def _unpaired(pairs: Alignment) -> Iterator[Caution]:
    """Yield that some records are in one of the files only."""
    if pairs.missing:
        text = (
            f"{counted(pairs.missing, 'original record')} {plural(pairs.missing, 'is', 'are')} not in"
            " the released file. The figures take those that are for a random part of the file."
        )
        yield Caution(UnpairedRecordsWarning, text, "")
    if pairs.added:
        text = (
            f"{counted(pairs.added, 'released record')} {plural(pairs.added, 'has', 'have')} no"
            f" original and {plural(pairs.added, 'is', 'are')} left out of the figures."
        )
        yield Caution(UnpairedRecordsWarning, text, "")


class _PairedKey(NamedTuple):
    """A key of both files."""

    key: Key  # of the original, with categories that only the released file has
    recode: Recode | None
    released: Integers  # code of each released record, by the categories of the release
    coarser: Key  # as released
    group: Integers | None = None  # code in the release of each original one


class _Values(NamedTuple):
    """The values of a key in both files, by the codes that they share."""

    key: Key  # of the original
    own: Integers  # code of each original category: -1 for missing, -2 where no record has it
    seen: Integers  # code of each released record
    image: Integers  # code that each code was recoded to
    shown: Mapping[int, Hashable]  # value of each code: as released, else as it was

    @classmethod
    def of(
        cls, sample: Microdata, name: str, column: ComparedColumn, released: pl.Series
    ) -> _Values:
        """Return the values of a key; `released` is its column in the released file."""
        key, (one, other, *_) = sample.space[name], column.values
        own = np.full(key.size, _NO_RECORD)
        own[sample.codes[:, sample.space.index(name)]] = one
        codes, rows = np.unique(other, return_index=True)
        shown = dict(zip(own.tolist(), key.categories, strict=True))
        shown |= dict(zip(codes.tolist(), released.gather(rows).to_list(), strict=True))
        found = cls(key, own, other, column.image, shown)
        if len(np.union1d(codes, found.images)) < 2:
            raise InputError(
                f"Key {name!r} has one value in the released file, so that it tells nobody apart."
                " Leave it out of `keys`."
            )
        return found

    @property
    def images(self) -> Integers:
        """What each original category became; negative where it is missing or no record has it."""
        return np.where(self.own >= 0, self.image[np.maximum(self.own, 0)], self.own)


def _not_recoded(values: _Values) -> _PairedKey:
    """Return a key with the categories of the original, and new ones that only the release has."""
    key = values.key
    place = {int(code): at for at, code in reversed(list(enumerate(values.own)))}
    categories = list(key.categories)
    codes, where = np.unique(values.seen, return_inverse=True)
    for code in codes.tolist():
        if code not in place:
            value = None if code < 0 else values.shown[code]
            known = key.position(value)  # declared, but without a record
            place[code] = known if known >= 0 else len(categories)
            categories += [] if known >= 0 else [value]
    wider = Key(key.name, categories)
    return _PairedKey(wider, None, np.array([place[code] for code in codes.tolist()])[where], wider)


def _recoded(values: _Values, sample: Microdata, elsewhere: Iterable[Hashable]) -> _PairedKey:
    """Return a key whose categories became others; `elsewhere` are those of a population."""
    key, images = values.key, values.images
    labels = {code: _text(values.shown[code]) for code in np.unique(images[images >= 0]).tolist()}
    groups: dict[str, list[Hashable]] = {label: [] for label in labels.values()}
    for category, image in zip(key.categories, images.tolist(), strict=True):
        if image >= 0:
            groups[labels[image]].append(category)
    categories = list(key.categories)
    taken = set(map(_text, categories))
    for code in np.unique(values.seen[values.seen >= 0]).tolist():
        if code not in labels:  # no category became it: it came by a change
            own = _text(values.shown[code])
            labels[code] = f"{own} (released)" if own in taken else own
            categories.append(labels[code])
            groups[labels[code]] = [labels[code]]
    if (values.seen < 0).any() and (values.own != -1).all():
        categories.append(None)
    unseen = [one for one, code in zip(key.categories, images, strict=True) if code == _NO_RECORD]
    unseen += [one for one in elsewhere if one is not None and key.position(one) < 0]
    for one in dict.fromkeys(unseen):
        groups.get(_group_of(one, values, labels), []).append(one)
    wider, step = Key(key.name, categories), Recode(key.name, groups=groups)
    coarser, group = step.grouping(wider, _with(sample, wider))
    absent = group[wider.position(None)] if None in categories else group[values.own == -1][:1]
    place = np.full(len(values.image) + 1, absent if np.size(absent) else 0)
    for code, label in labels.items():
        place[code + 1] = coarser.position(label)
    return _PairedKey(wider, step, place[values.seen + 1], coarser, group)


def _group_of(category: Hashable, values: _Values, labels: Mapping[int, str]) -> str:
    """Return the group of a category that no record has: that of the numbers around it, or its own."""
    own, number = _text(category), number_in(_text(category))
    numbers = [number_in(_text(one)) for one in values.key.categories]
    known = sorted(
        (one, labels[code])
        for one, code in zip(numbers, values.images.tolist(), strict=True)
        if one is not None and code >= 0
    )
    if number is None or own in labels.values() or not known:
        return own
    at = bisect_left(known, number, key=itemgetter(0))
    around = {label for _, label in known[max(at - 1, 0) : at + 1]}
    (label, *others) = around
    joined = sum(one == label for _, one in known) > 1
    return label if joined and not others else own


def _apart(population: KeyTable | None, one: _PairedKey) -> Iterator[Caution]:
    """Yield that nothing tells what some categories of the population were recoded to."""
    name, recode = one.key.name, one.recode
    if population is None or recode is None or name not in population.space.names:
        return
    margin = population.project([name])
    placed = {member for _, members in recode.groups for member in members}
    categories = margin.space[name].categories
    alone = [at for at, other in enumerate(categories) if other is not None and other not in placed]
    units = int(margin.counts[np.isin(margin.codes[:, 0], alone)].sum())
    if units:
        text = (
            f"{counted(units, 'unit')} of the population {plural(units, 'is', 'are')} in"
            f" {counted(len(alone), 'category', 'categories')} of {name!r} that no original record"
            " has: nothing tells what they were recoded to, and they are kept apart."
        )
        yield Caution(PopulationMismatchWarning, text)


def _with(sample: Microdata, key: Key) -> Microdata:
    return replace(sample, space=with_key(sample.space, key))


def _text(value: Hashable) -> str:
    """Return a value as text: 1.0 as 1."""
    return str(plain_number(value))
