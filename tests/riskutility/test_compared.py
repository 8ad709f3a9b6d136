"""The page of `maskmeter compare`: one line on top, and a map that shows the target."""

from __future__ import annotations

import json
import re

import pytest

import maskmeter as mm
from maskmeter.plan import read_plan
from maskmeter.plan.job import read_task
from maskmeter.workflows import run_compare, settings_of

KEYS = ["lad", "sex", "age", "ethnicity"]
CANDIDATES = "".join(
    f'[[candidate]]\nlabel = "swap of local authority districts {rate}%"\n'
    f'[[candidate.step]]\nmethod = "swap"\nkey = "lad"\nrate = {rate / 100}\n'
    for rate in (1, 2, 3, 5, 8, 10, 15, 20, 30, 40)
)


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    folder = tmp_path_factory.mktemp("survey")
    town = mm.synthetic_census(size=100_000)
    town.write_csv(folder / "town.csv")
    mm.bernoulli_sample(town, fraction=0.02, rng=1).write_csv(folder / "survey.csv")
    return folder


def compared(folder, *, target="", scenarios=""):
    data = f'[data]\nkeys = {KEYS}\nfraction = 0.02\npopulation = "town.csv"\n'
    loss = '[loss]\ntables = [["lad", "ethnicity"]]\nmeasure = "raad"\n'
    plan = folder / "plan.toml"
    plan.write_text(data + scenarios + CANDIDATES + loss + target, encoding="utf-8")
    task = read_task(read_plan(plan), folder / "survey.csv")
    out = folder / f"out{len(list(folder.iterdir()))}"
    known, _ = run_compare(
        task, out, settings_of(task.plan.report), seed=1, progress=lambda *_: None
    )
    return task, known.map, (out / "internal" / "comparison.html").read_text(encoding="utf-8")


def lines(page):
    """Return the risks at which the maps of a page draw a target line."""
    specs = json.loads(re.search(r"const specs = (.*);", page)[1])
    layers = [layer for spec in specs for layer in spec["layer"]]
    return [one["encoding"]["y"]["datum"] for one in layers if one.get("name") == "target"]


def test_the_heading_of_a_comparison_is_one_line(survey):
    _, options, page = compared(survey)
    (lead,) = re.findall(r'<p class="lead">(.*)</p>', page)

    assert lead == options.headline
    assert len(lead) <= 50  # letters per line at this size on a screen of 1,200 pixels
    assert len(options.frontier) > 3
    (under,) = re.findall(r'<p class="under">(.*)</p>', page)
    assert [label for label in options.frontier if label + " (" in under] == [
        options.frontier[0], options.frontier[-1]
    ]  # fmt: skip
    assert lines(page) == []


def test_the_map_of_a_comparison_shows_the_target(survey):
    task, _, page = compared(survey, target="[target]\nmax_share = 0.05\n")
    uniques = (task.sample.to_frame().group_by(KEYS).len()["len"] == 1).sum()

    assert lines(page) == [pytest.approx(0.05 * uniques)]
    assert lines(compared(survey, target="[target]\nmax_total = 7.5\n")[2]) == [7.5]


def test_a_target_share_has_no_line_if_scenarios_differ_in_their_uniques(survey):
    near = '[scenario.near]\nkeys = ["lad", "age"]\n'

    assert lines(compared(survey, scenarios=near, target="[target]\nmax_share = 0.05\n")[2]) == []
    assert lines(compared(survey, scenarios=near, target="[target]\nmax_total = 9.0\n")[2]) == [9.0]
