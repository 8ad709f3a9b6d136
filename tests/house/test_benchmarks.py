"""The page of benchmarks shows what was measured, and every ratio to a peer keeps its floor."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def scripts():
    """Make the modules of the benchmarks importable."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPTS)
        yield


@pytest.fixture(scope="module")
def report(scripts):
    import report

    return report


@pytest.fixture(scope="module")
def kept(report):
    return json.loads(report.KEPT.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def floors():
    return json.loads((SCRIPTS / "floors.json").read_text(encoding="utf-8"))["floors"]


def test_the_page_shows_the_measured_figures(report, kept):
    """If this fails: python benchmarks/run.py --pages."""
    text = report.PAGE.read_text(encoding="utf-8")

    assert report.page(kept, text) == text


def test_the_page_shows_a_picture_of_each_growth(scripts, kept):
    import pictures
    from growth import AXES, points

    assert [(one["axis"], one["work"], one["size"]) for one in kept["growth"]["points"]] == points()
    for axis in AXES:
        assert pictures.picture(axis).read_bytes().startswith(b"\x89PNG")


def test_the_pictures_draw_every_point(scripts, kept):
    import pictures

    for axis in ("records", "cells", "keys"):
        points = [one for one in kept["growth"]["points"] if one["axis"] == axis]
        (drawn,) = pictures.chart(axis, points).to_dict()["datasets"].values()
        assert drawn == points


def test_ratios_come_from_the_times_beside_them(scripts, kept):
    from ratios import ratios

    assert kept["ratios"]["ratios"] == ratios(kept["ratios"]["figures"])


def test_every_ratio_is_above_its_floor_and_has_one(scripts, kept, floors):
    from ratios import RATIOS, faults

    found = kept["ratios"]["ratios"]

    assert list(found) == list(floors) == list(RATIOS)
    assert faults(found, {name: one["floor"] for name, one in floors.items()}) == []


def test_floors_follow_their_rule(floors):
    for name, one in floors.items():
        assert len(one["seen"]) >= 3, name
        assert 0.6 * min(one["seen"]) <= one["floor"] <= 0.7 * min(one["seen"]), name


def test_all_fits_that_are_compared_have_settled(kept):
    fits = kept["ratios"]["figures"]["fit_peers"]
    off = {name: value for name, value in fits.items() if name.startswith("off")}

    assert off.keys() == {"off", "off_loglin", "off_glum", "off_sklearn"}
    assert max(off.values()) < 1e-4


def check(path):
    """Run the check of the ratios that a file holds."""
    return subprocess.run(  # noqa: S603 - our own script
        [sys.executable, SCRIPTS / "check.py", "--from-last", path],
        capture_output=True,
        text=True,
        check=False,
    )


def doctored(kept, path, **ratios):
    """Write the kept benchmarks with other ratios."""
    changed = {**kept["ratios"]["ratios"], **ratios}
    text = json.dumps({"ratios": {"ratios": {k: v for k, v in changed.items() if v is not None}}})
    path.write_text(text, encoding="utf-8")
    return path


def test_the_check_passes_on_the_last_run(report):
    done = check(report.KEPT)

    assert (done.returncode, done.stderr) == (0, "")
    assert "count_polars" in done.stdout


def test_the_check_names_each_ratio_below_its_floor(kept, floors, tmp_path):
    low = {name: 0.99 * floors[name]["floor"] for name in ("fit_glum", "count_polars")}
    done = check(doctored(kept, tmp_path / "low.json", **low))

    assert done.returncode == 1
    assert [line.split()[0] for line in done.stderr.splitlines()] == list(low)
    assert "below its floor" in done.stderr


def test_the_check_names_ratios_without_floor_and_floors_without_ratio(kept, tmp_path):
    done = check(doctored(kept, tmp_path / "other.json", fit_glum=None, fit_spss=9.0))

    assert done.returncode == 1
    assert "fit_glum has a floor but was not measured." in done.stderr
    assert "fit_spss has no floor in floors.json." in done.stderr


def test_swaps_and_pram_by_hand_do_the_work_they_are_timed_for(scripts):
    import by_hand
    import maskmeter as mm

    column = mm.synthetic_census(size=20_000)["lad"].to_pandas()
    for swap in (by_hand.swap_in_pandas, by_hand.swap_in_numpy):
        swapped = swap(column, rate=0.2, seed=1)
        assert (swapped != column).mean() == pytest.approx(0.2, abs=0.001)
        assert (swapped.value_counts() == column.value_counts()).all()
    for pram in (by_hand.pram_in_pandas, by_hand.pram_in_numpy):
        redrawn = pram(column, stay=0.8, seed=1)
        # 20,000 records: eight standard errors of a share of 0.2
        assert (redrawn != column).mean() == pytest.approx(0.2, abs=8 * (0.16 / 20_000) ** 0.5)
