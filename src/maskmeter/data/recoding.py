"""Coarser keys and fewer records: the same file after a recode or a subsample."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from maskmeter.data.households import HouseholdTable
from maskmeter.data.keys import Key, KeySpace, combined
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.data.varying import By, by_cell, mapped
from maskmeter.types import Integers

Counts = TypeVar("Counts", KeyTable, HouseholdTable)  # of people, or of households


def with_key(space: KeySpace, key: Key) -> KeySpace:
    """Return a key space in which a key has other categories."""
    return KeySpace(key if one.name == key.name else one for one in space.keys)


def recoded_records(data: Microdata, key: Key, group: Integers) -> Microdata:
    """Return records with a coarser key; `group` has the new code of each old one.

    A fraction that varies within the groups is averaged over the records.
    """
    space, position = with_key(data.space, key), data.space.index(key.name)
    codes = data.codes.astype(np.int64)
    codes[:, position] = group[codes[:, position]]
    fraction = data.fraction
    if isinstance(fraction, By) and key.name in fraction.keys:
        fraction = _grouped_fraction(fraction, data, key, group)
    before = data.source_codes
    if before is not None:
        before = before.astype(np.int64)
        before[:, position] = group[before[:, position]]
    return replace(
        data,
        space=space,
        codes=codes,
        fraction=fraction,
        codebook=data.codebook.recode(key.name),
        source_codes=before,
    )


def _grouped_fraction(fraction: By[float], data: Microdata, key: Key, group: Integers) -> By[float]:
    """Return the fraction of each group: records over the units they stand for.

    Where no record tells, it is the mean of what was declared.
    """
    own = data.space.project(fraction.keys)
    table, values = fraction.strata(data.space)
    pi = np.array(values)[table].ravel()
    columns = [data.space.index(name) for name in own.names]
    records = data.tally(combined(data.codes, columns, own.sizes), own.size)
    cells = own.codes(np.arange(own.size)).astype(np.int64)
    place = own.index(key.name)
    cells[:, place] = group[cells[:, place]]
    coarse = with_key(own, key)
    number = coarse.number(cells)
    held = np.where(np.bincount(number, records, coarse.size)[number] > 0, records, pi)
    share = np.bincount(number, held, coarse.size) / np.bincount(number, held / pi, coarse.size)
    every = coarse.codes(np.arange(coarse.size))
    return by_cell(coarse, every, share.tolist(), otherwise=float(pi.mean()))


def recoded_counts(table: Counts, key: Key, group: Integers) -> Counts:
    """Return counts by a coarser key; `group` has the new code of each old one."""
    position = table.space.index(key.name)
    codes = table.codes.astype(np.int64)
    codes[:, position] = group[codes[:, position]]
    return table.moved(with_key(table.space, key), codes)


def subsampled_records(data: Microdata, rows: Integers, fraction: float) -> Microdata:
    """Return some of the records, of which each was kept with the probability `fraction`.

    Inclusion probabilities are multiplied by it, and weights divided.
    """
    return thinned_records(data.take(rows), fraction)


def thinned_records(data: Microdata, fraction: float) -> Microdata:
    """Return records that were kept with the probability `fraction`, with what that does to sampling."""
    return replace(
        data,
        fraction=None if data.fraction is None else mapped(data.fraction, lambda pi: pi * fraction),
        weights=None if data.weights is None else data.weights / fraction,
        reweighted=True,
    )
