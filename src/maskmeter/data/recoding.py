"""Coarser keys and fewer records: the same file after a recode or a subsample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maskmeter.data.keys import Key, KeySpace
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.data.varying import By, averaged_fraction, mapped
from maskmeter.types import Integers


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
        pi = data.inclusion(data.codes)
        fraction = averaged_fraction(fraction.keys, space=space, codes=codes, pi=pi)
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


def recoded_counts(table: KeyTable, key: Key, group: Integers) -> KeyTable:
    """Return counts by a coarser key; `group` has the new code of each old one."""
    position = table.space.index(key.name)
    codes = table.codes.astype(np.int64)
    codes[:, position] = group[codes[:, position]]
    return KeyTable.of(with_key(table.space, key), codes, counts=table.counts)


def subsampled_records(data: Microdata, rows: Integers, fraction: float) -> Microdata:
    """Return some of the records, of which each was kept with the probability `fraction`.

    Inclusion probabilities are multiplied by it, and weights divided.
    """
    return replace(
        data.take(rows),
        fraction=None if data.fraction is None else mapped(data.fraction, lambda pi: pi * fraction),
        weights=None if data.weights is None else data.weights[rows] / fraction,
    )
