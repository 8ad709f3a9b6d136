"""Figures that must not change unnoticed: a new value needs its reason in CHANGELOG.md."""

from __future__ import annotations

import json

import pytest

from golden.figures import FOLDER, WORLDS, golden

_CLOSE = 1e-6  # relative: another build of numpy may differ by this


def differences(found, stored, path=""):
    """Return the paths at which two sets of figures differ."""
    if isinstance(found, dict) and isinstance(stored, dict):
        names = sorted(found.keys() | stored.keys())
        return [
            one
            for name in names
            for one in differences(found.get(name), stored.get(name), f"{path}/{name}")
        ]
    same = found == stored
    if isinstance(found, float | list) and isinstance(stored, float | list):
        same = found == pytest.approx(stored, rel=_CLOSE)
    return [] if same else [f"{path}: {found!r}, stored {stored!r}"]


@pytest.mark.parametrize("name", WORLDS)
def test_golden_figures_equal_the_stored_ones(name):
    stored = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))

    assert differences(golden(name), stored) == []


def test_the_check_finds_a_changed_figure_a_missing_one_and_a_changed_hash():
    stored = {"exact": 10.0, "interval": [9.0, 11.0], "sha256": "ab"}

    assert differences(stored | {"exact": 10.0 + 1e-8}, stored) == []
    assert len(differences(stored | {"exact": 10.001}, stored)) == 1
    assert len(differences(stored | {"interval": [9.0, 11.1]}, stored)) == 1
    assert len(differences(stored | {"sha256": "ac"}, stored)) == 1
    assert len(differences({"exact": 10.0}, stored)) == 2
