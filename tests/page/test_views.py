"""What a notebook shows of a result: a small table and a chart, but no record."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import altair as alt
import numpy as np
import polars as pl
import pytest

import maskmeter as mm
from maskmeter import display
from maskmeter.chart.svg import Picture, picture
from maskmeter.errors import without_warnings

SECRET, SEED = "Qz7canary", 987_654_321_987
NASTY = f"<script>alert('{SECRET}')</script> & \"co\""


def people(records=400):
    draws = np.random.default_rng(5)
    lad = draws.choice([f"{SECRET}-{n}" for n in range(6)], records)
    return pl.DataFrame(
        {
            "lad": lad,
            "age": draws.integers(0, 12, records).astype(str),
            "<b>sex</b>": draws.choice([f"{SECRET}-f", NASTY], records),
            "income": draws.normal(size=records) + (lad == f"{SECRET}-1"),
        }
    )


KEYS = ["lad", "age", "<b>sex</b>"]


@pytest.fixture(scope="module")
def world():
    population = mm.count(people(8_000), keys=KEYS)
    sample = mm.read(people(), keys=population.space, fraction=0.05)
    steps = [mm.Swap("lad", rate=0.2), mm.Pram("age", stay=0.9)]
    return population, sample, mm.protect(sample, steps, rng=SEED)


@pytest.fixture(scope="module")
def results(world, tmp_path_factory):
    population, sample, release = world
    checked = people(200).with_columns(said=pl.col("lad"))
    candidates = {"RS10": mm.Swap("lad", rate=0.1), "RS30": mm.Swap("lad", rate=0.3)}
    asked = {"loss": ("lad", "age"), "population": population, "rng": SEED, "measure": "raad"}
    with without_warnings():
        search, found = mm.search_loglinear(sample), mm.assess(release)
        return {
            "Microdata": sample,
            "KeyTable": population,
            "Release": release,
            "Risk": mm.exact_risk(release, population),
            "EstimatedRisk": mm.estimate_risk(release, search),
            "Linkage": mm.linkage_probability(release, population),
            "LinkageTrial": mm.linkage_trial(release, population, rng=1),
            "LogLinear": mm.fit_loglinear(sample, "independence"),
            "LogLinearSearch": search,
            "Loss": mm.information_loss(release, rows="lad", columns="age"),
            "Losses": mm.information_loss(release),
            "RegressionLoss": mm.regression_loss(release, "income", predictors=["lad"]),
            "RiskUtilityMap": mm.compare(sample, candidates, **asked),
            "FoundRelease": mm.find_release(
                sample, candidates=candidates, target=mm.Target(max_share=1), **asked
            ),
            "KeyCurve": mm.risk_by_keys(release, population),
            "ValidationStudy": mm.validation_study(checked, {"lad": ("lad", "said")}, keys=sample),
            "CorrectedCounts": mm.correct_counts(
                sample, "lad", misclassification={"lad": mm.stay_or_move(6, stay=0.8)}
            ),
            "PramDesign": mm.design_pram(sample, "lad", stay_at_most=0.8),
            "Assessment": found,
            "Pack": mm.report(found, tmp_path_factory.mktemp("pack"), audience="internal"),
        }


NAMES = [
    "Microdata", "KeyTable", "Release", "Risk", "EstimatedRisk", "Linkage", "LinkageTrial",
    "LogLinear", "LogLinearSearch", "Loss", "Losses", "RegressionLoss", "RiskUtilityMap",
    "FoundRelease", "KeyCurve", "ValidationStudy", "CorrectedCounts", "PramDesign", "Assessment",
    "Pack",
]  # fmt: skip
UNDRAWN = {"LogLinear", "ValidationStudy", "CorrectedCounts", "PramDesign"}  # these have no plot
BY_CATEGORY = {"Loss", "RegressionLoss"}  # their charts show categories


@pytest.fixture
def drawn(monkeypatch):
    """Return the charts that would be drawn; drawing them is slow."""
    charts = []

    def counting(chart):
        charts.append(chart.to_dict())
        return Picture("", "", "<svg ></svg>")

    monkeypatch.setattr(display, "picture", counting)
    return charts


class Checked(HTMLParser):
    """The tags and texts of a page whose tags must be closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("name", NAMES)
def test_every_result_shows_its_summary_a_table_and_its_chart(name, results, drawn):
    result = results[name]
    page = Checked(result._repr_html_())
    tags = [tag for tag, _ in page.tags]

    assert page.text[1] == result.summary().splitlines()[0]  # follows the style
    assert "table" in tags
    assert tags.count("figure") == len(drawn) == (name not in UNDRAWN)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_no_record_no_seed_and_no_tag_from_the_data(name, results, drawn):
    html = results[name]._repr_html_()

    assert str(SEED) not in html
    assert name in BY_CATEGORY or SECRET not in html
    assert "<b>" not in html
    assert not {tag for tag, _ in Checked(html).tags} & {"script", "img", "link", "iframe", "b"}
    assert not re.search(r"https?:|url\(|@import", html)
    for chart in drawn:
        assert name in BY_CATEGORY or SECRET not in str(chart)


@pytest.mark.parametrize("name", ["Risk", "EstimatedRisk", "Linkage"])
def test_a_notebook_does_not_show_the_risk_of_single_records(name, results, drawn):
    risk = results[name]
    html = risk._repr_html_()

    rows = risk.by_unique.tolist()
    assert not [value for value in rows if str(value) in html or f">{value:.4f}<" in html]
    assert len(re.findall("<tr>", html)) < 10 < len(rows)
    (chart,) = drawn
    (data,) = chart["datasets"].values()
    assert set(data[0]) == {"low", "high", "count"}


def test_cells_are_counted_by_their_size():
    space = mm.KeySpace([mm.Key("age", range(8))])
    sizes = [1, 1, 2, 3, 4, 5, 9]
    sample = mm.Microdata(space, np.repeat(np.arange(7), sizes)[:, None], fraction=0.1)

    assert sample.cell_sizes == (2, 2, 3, 4, 14)
    assert sample.uniques == 2
    assert sum(sample.cell_sizes) == len(sample)
    assert mm.KeyTable.of(space, sample.codes).cell_sizes == sample.cell_sizes
    table = "".join(Checked(sample._repr_html_()).text)
    for told in ("2 (8.0%)", "3 (12.0%)", "4 (16.0%)", "14 (56.0%)"):
        assert told in table


def test_counts_of_cells_agree_with_the_definition(world):
    _, sample, release = world
    for data in (sample, release.released):
        rows = [tuple(row) for row in data.codes.tolist()]
        sizes = np.array([min(rows.count(row), 5) for row in rows])
        assert data.cell_sizes == tuple((sizes == size).sum() for size in range(1, 6))


def test_a_repr_says_how_many_records_are_unique_on_which_keys(world):
    _, sample, release = world
    changed = int(release.changed.sum())

    assert repr(sample) == (
        f"Microdata(400 records, {sample.uniques} unique on lad (6), age (12), <b>sex</b> (2))"
    )
    assert repr(release).startswith(f"Release(400 records, {changed} changed, ")
    assert f"{sample.uniques} before, {release.released.uniques} after" in release.summary()


def test_a_release_says_how_many_records_each_step_changed(world, drawn):
    _, sample, release = world
    first = mm.Swap("lad", rate=0.2).apply(sample, rng=SEED)
    (swap, moved), (pram, redrawn) = release.changed_by_step

    assert (swap, pram) == ("swap lad", "pram age")
    assert first.changed_by_step == (("swap lad", moved),)
    assert moved == first.changed.sum() == 80
    assert redrawn == (release.released.codes[:, 1] != sample.codes[:, 1]).sum()
    text = Checked(release._repr_html_()).text
    assert text[text.index("swap lad") + 1] == "80 (20.0%)"
    assert text[text.index("pram age") + 1].startswith(f"{redrawn} (")
    by_hand = mm.Release(sample, sample, {})
    assert by_hand.changed_by_step == ()
    assert "0 of 400 records (0.0%) were changed;" in by_hand.summary()


def test_long_tables_are_shortened_and_the_caption_says_so():
    frame = pl.DataFrame({"label": [f"r{n}" for n in range(30)], "risk": [1.0] * 30})
    table = display.listed(frame, [("label", "release", ""), ("risk", "risk", ".1f")])

    assert len(table.rows) == 12
    assert table.caption == "The first 12 of 30 rows; to_frame() has them all."


def test_the_chosen_release_is_the_first_row_of_the_table(results, drawn):
    found = results["FoundRelease"]
    table, layers = found._tables()

    assert table.rows[0][0] == found.label
    assert len(layers.rows) == 3


def test_a_result_is_shown_even_if_its_chart_cannot_be_drawn(results, monkeypatch):
    def broken(_):
        raise RuntimeError

    monkeypatch.setattr(display, "picture", broken)
    html = results["Risk"]._repr_html_()

    assert "expected correct matches" in html
    assert "<svg" not in html
    assert "<figure" not in html


def test_nothing_is_drawn_until_a_notebook_asks(world, drawn):
    population, _, release = world
    risk = mm.exact_risk(release, population)
    assert repr(risk), risk.summary()

    assert not drawn


@pytest.fixture(scope="module")
def pictures(world):
    """Return two pictures: one with names from the file on an axis, one with a legend."""
    _, _, release = world
    loss = mm.information_loss(release, rows="lad", columns="<b>sex</b>")
    return loss._repr_html_(), release._repr_html_()


def test_a_picture_has_no_script_and_needs_no_network(pictures):
    for html in pictures:
        tags = Checked(html).tags
        assert "path" in {tag for tag, _ in tags}
        assert not {tag for tag, _ in tags} & {"script", "image", "foreignobject", "a", "use"}
        own = [attributes.get("xmlns", "") for _, attributes in tags]
        links = [v for _, attributes in tags for v in attributes.values() if "://" in (v or "")]
        assert all(link.startswith("http://www.w3.org/") for link in links)
        assert own.count("http://www.w3.org/2000/svg") == 1
        assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]
    assert "&lt;script&gt;alert" in pictures[0]


def test_a_picture_takes_the_colours_of_a_light_and_a_dark_notebook(pictures):
    for html in pictures:
        svg = html[html.index("<svg") :]
        used = set(re.findall(r'(?:fill|stroke)="([^"]+)"', svg))
        bare = {one for one in used if one.startswith("#")}
        assert not bare
        assert any(one.startswith("var(--mm-") for one in used)
        style = html[: html.index("</style>")]
        for number in {re.match(r"var\((--mm-\d+)", one)[1] for one in used if "var(" in one}:
            assert (
                style.count(f"{number}: ") == 4
            )  # light and dark, each by the system and by the notebook


def test_pictures_do_not_share_ids():
    """Pictures in a notebook share one page, so one must not use the clip path of another."""
    drawn = [
        picture(
            alt.Chart(pl.DataFrame({"x": [1], "y": [y]})).mark_bar(clip=True).encode(x="x", y="y")
        )
        for y in (1, 2)
    ]
    names = [set(re.findall(r'\bid="([^"]+)"', one.svg)) for one in drawn]

    assert all(names)
    assert not names[0] & names[1]
    for one, own in zip(drawn, names, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", one.svg)) == own
