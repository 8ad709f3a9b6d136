"""The paper's experiment with many binary keys (its section 5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maskmeter.checks import (
    Progress,
    check_list,
    check_number,
    check_progress,
    check_whole,
    is_number,
)
from maskmeter.data.keys import Key, KeySpace
from maskmeter.data.microdata import Microdata
from maskmeter.data.table import KeyTable
from maskmeter.errors import InputError
from maskmeter.mechanism import Misclassification
from maskmeter.perturb import Release
from maskmeter.risk.by_keys import KeyCurve, KeySubset
from maskmeter.risk.view import View
from maskmeter.streams import RandomSource, seed_of, uniforms


def binary_keys_experiment(
    *,
    population: int = 100_000,
    sample: int = 2_000,
    keys: Sequence[int] = (5, 8, 11, 15, 20, 25, 30),
    p: float = 0.2,
    thetas: Sequence[float] = (0.0, 0.01, 0.05, 0.1),
    rng: RandomSource = 2010,
    progress: Progress | None = None,
) -> KeyCurve:
    """Return the risk of a sample with more and more independent binary keys.

    Each key is 2 with probability p. A 1 is recorded as 2 with probability theta, and a 2 as 1
    with (1 - p) theta / p, so that the margin stays as it is.

    >>> import maskmeter as mm
    >>> curve = mm.binary_keys_experiment(population=5_000, sample=200, keys=(4, 10), thetas=(0.0, 0.1))
    >>> [(one.number, one.theta) for one in curve.subsets]
    [(4, 0.0), (4, 0.1), (10, 0.0), (10, 0.1)]
    """
    check_whole(population, name="population", least=2)
    check_whole(sample, name="sample", least=1)
    check_progress(progress)
    most = max(check_whole(one, name="keys", least=1) for one in check_list(keys, name="keys"))
    check_number(p, name="p", above=0, below=1)
    if sample > population:
        raise InputError("The sample must be no larger than the population.")
    matrices = {theta: _binary_matrix(theta, p) for theta in check_list(thetas, name="thetas")}
    seed = seed_of(rng)
    words = [uniforms(seed, f"key {c}", start=0, stop=population) for c in range(most)]
    units = (np.stack(words, axis=1) < p).astype(np.uint8)
    chosen = np.argsort(uniforms(seed, "sample", start=0, stop=population))[:sample]
    found = []
    for number in keys:
        space = KeySpace(Key(f"key{c + 1}", (1, 2)) for c in range(number))
        table = KeyTable.of(space, units[:, :number])
        original = Microdata(space, units[chosen, :number], fraction=sample / population)
        bare = View.of(original, counts=table).risk().total
        for theta, P in matrices.items():
            errors = Misclassification(dict.fromkeys(space.names, P) if theta else {}).on(space)
            moved = original.with_codes(errors.draw(original.codes, rng=seed))
            release = Release(original, moved, errors)
            view = View.of(release, counts=table)
            found.append(KeySubset.of(view, theta=float(theta), without_error=bare))
            if progress is not None:
                progress(f"{number} keys", len(found), len(keys) * len(matrices))
    return KeyCurve(tuple(found))


def _binary_matrix(theta: float, p: float) -> list[list[float]]:
    """Return P[true, released] of a binary key whose margin it leaves as it is."""
    back = (1 - p) * theta / p if is_number(theta) else float("nan")
    if not 0 <= back <= 1:
        raise InputError(
            f"Each of `thetas` must be between 0 and {min(1.0, p / (1 - p)):g} when p is {p:g}."
        )
    return [[1 - theta, theta], [back, 1 - back]]
