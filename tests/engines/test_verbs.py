"""Verbs about records in an engine: right by their counts, or refused; never by their rows."""

from __future__ import annotations

import numpy as np
import pytest

import maskmeter as mm
from engines.places import KEYS, people, write_parts
from maskmeter.data.engines.files import files_of
from maskmeter.errors import ColumnNotFoundError, InputError, PerturbationError

FRAME = people(3000)
pytestmark = pytest.mark.filterwarnings("ignore::maskmeter.errors.MaskmeterWarning")


@pytest.fixture
def both(tmp_path):
    folder = write_parts(FRAME, tmp_path, 3)
    options = {"keys": KEYS, "fraction": 0.05, "id": "person"}
    return mm.read(FRAME, **options), mm.read(folder, **options)


def test_a_designed_matrix_is_that_of_the_records(both):
    here, there = (mm.design_pram(one, "lad", stay_at_most=0.8) for one in both)

    assert np.allclose(here.P, there.P)


def test_the_units_that_records_stand_for_are_those_of_the_records(both):
    here, there = both

    assert there.expected_population == pytest.approx(here.expected_population)


@pytest.mark.parametrize(
    "verb",
    [
        lambda one: mm.compare(one.original, {"a": mm.Swap("lad", 0.2)}, loss=("lad", "sex")),
        lambda one: mm.find_release(one.original, target=mm.Target(max_share=0.1)),
        lambda one: mm.correct_counts(one, rows="lad"),
        lambda one: mm.regression_loss(one, "income", predictors=["lad"]),
        lambda one: mm.Release(one.original, _other(one.original), one.mechanism),
    ],
)
def test_what_needs_every_record_is_refused(both, verb):
    _, there = both
    release = mm.Pram("lad", stay=0.8).apply(there, rng=1)

    with pytest.raises(InputError, match="every record in memory"):
        verb(release)


def _other(sample):
    (folder,) = {path.parent for path in sample.source.files}
    return mm.read(folder, keys=KEYS, fraction=0.05, id="person")


def test_a_redraw_carries_neither_weights_nor_columns_that_are_not_there(tmp_path):
    folder = write_parts(FRAME, tmp_path, 2)
    sample = mm.read(folder, keys=KEYS, weights="weight", id="person")
    options = {"rarer_than": 500, "others": ["age", "sex"]}
    with pytest.raises(PerturbationError, match="weights"):
        mm.Redraw("lad", carry=["weight"], **options).apply(sample)
    with pytest.raises(ColumnNotFoundError, match="'nope'"):
        mm.Redraw("lad", carry=["nope"], **options).apply(sample)


def test_weights_after_two_subsamples_are_those_of_memory(tmp_path):
    steps = [mm.Subsample(0.7, label="one"), mm.Subsample(0.9, label="two")]
    options = {"keys": KEYS, "weights": "weight", "id": "person"}
    frames = [
        mm.protect(mm.read(one, **options), steps, rng=1).to_frame().sort("person")
        for one in (FRAME, write_parts(FRAME, tmp_path, 3))
    ]

    assert frames[0].equals(frames[1])


def test_the_hash_of_a_release_is_the_same_in_memory_and_with_other_keys(both):
    here, there = both
    steps = [mm.Pram("sex", stay=0.9), mm.Pram("lad", stay=0.8)]
    turned = mm.read(FRAME, keys=["sex", "lad"], fraction=0.05, id="person")

    assert len({mm.protect(one, steps, rng=1).keys_hash() for one in (here, there, turned)}) == 1


def test_unfinished_folders_and_marks_of_other_programs_are_no_files(tmp_path):
    folder = write_parts(FRAME, tmp_path, 2)
    for name in (".safe-x1", "_temporary/0", "deeper"):
        (folder / name).mkdir(parents=True)
        FRAME[:5].write_parquet(folder / name / "a.parquet")
    (folder / "_SUCCESS").touch()

    assert [path.name for path in files_of(folder)] == ["00.parquet", "01.parquet", "a.parquet"]
