"""Categories that only recording errors make, which the population cannot tell a plan of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from maskmeter.data.keys import Key, KeySpace
from maskmeter.data.ordering import merged_values
from maskmeter.data.recoding import with_key
from maskmeter.data.table import count
from maskmeter.errors import MaskmeterError, without_warnings
from maskmeter.perturb.entries import matrix_of
from maskmeter.plan.reading import PlanFile


def recorded_space(
    file: PlanFile, source: Path, space: KeySpace, reading: dict[str, Any]
) -> KeySpace:
    """Return the keys of a population, with categories that only the file has where errors say so.

    They belong to a key when its [[error]] has a matrix for just these categories and the
    population's. The file is refused later if they do not.
    """
    for number, one in enumerate(file.plan.error):
        if one.key not in space.names:
            continue
        matrix = file.blame(
            ("error", number), lambda one=one: matrix_of(one.matrix, one.categories, file.folder)
        )
        key = space[one.key]
        if len(matrix.P) > key.size:
            every = _with_recorded(key, source, reading)
            space = with_key(space, every) if every.size == len(matrix.P) else space
    return space


def _with_recorded(key: Key, source: Path, reading: dict[str, Any]) -> Key:
    """Return a key with the categories of a file too, as it was if these cannot be read or joined."""
    own = {
        entry: {name: said for name, said in (reading[entry] or {}).items() if name == key.name}
        for entry in ("bands", "missing_codes")
    }
    try:
        with without_warnings():
            held = count(source, keys=[key.name], **reading | own)
        return Key(key.name, merged_values(key.categories, held.space[key.name].categories))
    except (MaskmeterError, TypeError):  # TypeError: numbers here, text there
        return key
