"""The paper re-run: findings that must hold, the figures' names, and a page that needs nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import maskmeter as mm
from command import run, run_process
from maskmeter.page import Figure, Section, Table, Text, render
from maskmeter.risk import formulas
from maskmeter.studies.paper import STEPS, findings, run_paper
from maskmeter.studies.paper.rerun import map_candidates
from maskmeter.studies.paper.tables import METHODS, RATES, REDRAWN, RELEASED, Study, published


@pytest.fixture(scope="module")
def study(census, population, seed):
    people = mm.bernoulli_sample(census, fraction=0.01, rng=seed)
    return Study(mm.read(people, keys=population.space, fraction=0.01), population, seed)


@pytest.fixture(scope="module")
def table1(study):
    return dict(study.table1())


def test_findings_of_table_one_hold(table1):
    """Bounds are far from what was seen over four samples: 0.2 % where 0.5 % is allowed, 6 where 3
    is, 6 % where 15 % is; targeted designs leave less than half of the risk of random ones."""
    found = findings.of_table1(table1)
    held = [one.holds for one in found]

    assert held[:3] == [True] * 3
    assert held[4:] == [True] * 5
    assert "Not in the paper" in found[7].claim
    assert not held[3]  # (2.6) raw, under targeting: the page says why
    assert "below zero" in found[3].words


def test_table_one_has_the_papers_rows_and_ours(table1):
    for rate in RATES:
        assert list(table1[rate])[:9] == [
            "tau (2.8)", "(2.5)", "(2.6)", "(2.6) with F~_j", "(2.7)", "tau*_CC (2.9)", "(2.2)",
            "naive", "adjusted",
        ]  # fmt: skip
        rows = {name: np.array(figures) for name, figures in table1[rate].items()}
        assert all(len(figures) == len(METHODS) for figures in rows.values())
        assert np.all(rows["interval, low"] < rows["estimate, default"])
        assert np.all(rows["interval, high"] > rows["estimate, default"])


@pytest.mark.parametrize(
    ("rate", "column", "stay"), [("10%", 0, 0.9), ("20%", 0, 0.8), ("20%", 2, 0.93)]
)
def test_printed_2_6_follows_from_printed_2_5_with_released_counts(rate, column, stay):
    """All records that can be matched have one chance to stay, so F~_j is known up to its sum: of a
    targeted swap of 20 % the others always move. The sampling fraction is needed too."""
    printed = published()["table1"][rate]
    one, pi = np.ones(1), np.array([0.01])
    released = one * stay / printed["(2.5)"][column]  # a cell that stands for all
    found = formulas.small_error_probability(
        stay=stay * one, population=released, released=released, pi=pi
    )

    assert found[0] == pytest.approx(printed["(2.6)"][column], rel=0.001)
    assert found[0] == pytest.approx(printed["(2.6)"][column], abs=0.1)  # two rounded figures


def test_random_swaps_show_which_reading_of_2_6_was_printed(table1):
    found = findings.of_reading(table1, published()["table1"])
    as_printed = {rate: rows | {RELEASED: rows["(2.6)"]} for rate, rows in table1.items()}

    assert found.holds
    assert "gives 317.8 and 280.5 for the random swaps (printed 317.7 and 280.4)" in found.words
    assert not findings.of_reading(as_printed, published()["table1"]).holds  # F_j does not do


def test_estimated_risk_ranks_records_like_exact_risk(study):
    table = study.table2()

    assert table["spearman"] >= 0.85
    assert table["spearman, default"] >= 0.80
    assert np.sum(table["counts"]) == np.sum(table["default counts"]) == table["total"]
    assert findings.of_table2(table)[0].holds


def test_information_loss_grows_with_the_rate(study):
    table = study.table3()
    # Small groups and association differ here. PRAM changes the majority's variance by 1 % on
    # average with a standard deviation of 3 % (40 samples), and 10 % is allowed: fresh seeds fail
    # once in 400 runs.
    more, _, majority, _ = findings.of_table3(table)

    assert more.holds
    assert majority.holds
    assert table["10%"]["BVR White British"][2] == 0
    assert all(99 > raad > 90 for raad in table["20%"]["RAAD lad x ethnicity"])


def test_random_releases_are_dominated(study, population, seed):
    found = mm.compare(
        study.sample,
        map_candidates(study.sample),
        loss=("lad", "ethnicity"),
        measure="raad",
        associations=0,
        population=population,
        intruder="exact-match",
        replications=3,
        rng=seed,
    )

    assert len(found.points) == 17
    assert [one.holds for one in findings.of_map(found)] == [True, True]
    for rate in (2, 5, 10, 20):
        assert found[f"TS{rate}"].risk < found[f"RS{rate}"].risk
        assert found[f"TP{rate}"].risk < found[f"RP{rate}"].risk


@pytest.fixture(scope="module")
def small():
    seen = []
    paper = run_paper(scale=0.02, rng=5, progress=lambda stage, _done, _of: seen.append(stage))
    assert tuple(one for one in seen if one in STEPS) == STEPS
    assert len(seen) > 30  # the longer steps say how far they are
    return paper


def test_figures_have_the_names_of_the_published_ones(small):
    data, published = small.as_data(), small.published
    json.dumps(data, allow_nan=False)

    for part in ("table1", "table3_information_loss"):
        for rate in RATES:
            assert set(published[part][rate]) <= set(data[part][rate])
    assert "tau_star" in data["table1"]
    cross = "table2_cross_classification_20pct_random_swap"
    assert set(published[cross]) - {"rows", "columns"} <= set(data[cross])
    labels = {row["label"] for row in data["risk_utility_map"]}
    assert labels == {*published["risk_utility_map_points"], REDRAWN}
    assert all({"claim", "holds", "figure"} <= set(one) for one in data["findings"])


def test_a_smaller_census_is_compared_by_ratios_to_tau_star(small):
    ten, twenty = (one for one in small.sections()[0].blocks if isinstance(one, Table))
    rows = [row[0] for row in ten.rows]
    first, paper = ten.rows[:2]

    assert "ratios to tau*" in ten.caption
    assert "difference" not in {row.strip() for row in rows}
    assert rows.count("  paper") == 9
    assert first[1] == f"{small.table1['10%']['tau (2.8)'][0] / small.study.tau_star:.3f}"
    assert paper[1] == f"{321.6 / 358.1:.3f}"
    assert twenty.rows[1][4] == f"{133.8 / 358.1:.3f}"
    (crossed,) = (one for one in small.sections()[1].blocks if isinstance(one, Table))
    assert crossed.rows[0][1].endswith(f" ({1961 / 2831:.1%})")
    (numbers,) = (one for one in small.sections()[4].blocks if isinstance(one, Table))
    assert {row[2] for row in numbers.rows} == {""}  # uniques of the paper's size


def test_a_census_of_the_papers_size_is_compared_by_totals(small, study, table1):
    whole = replace(small, study=study, table1=table1)
    ten, _ = (one for one in whole.sections()[0].blocks if isinstance(one, Table))
    _, paper, difference = ten.rows[:3]

    assert paper == ("  paper", "321.6", "325.8", "146.3", "161.6")
    assert difference[1] == f"{table1['10%']['tau (2.8)'][0] - 321.6:+,.1f}"
    (crossed,) = (one for one in whole.sections()[1].blocks if isinstance(one, Table))
    assert crossed.rows[0][1].endswith(" (1,961)")


@pytest.mark.slow
def test_the_paper_command_gives_the_same_json_at_every_run(small):
    done = run_process("paper", "--scale", "0.02", "--seed", "5", "--json")  # it hashes otherwise

    assert done.stdout == json.dumps(small.as_data(), indent=1) + "\n"
    assert set(json.loads(done.stdout)["table1"]) == {"tau_star", "columns", "10%", "20%"}


def test_the_paper_command_prints_narrow_tables_and_writes_its_files(small, tmp_path, monkeypatch):
    asked = {}
    monkeypatch.setattr(
        "maskmeter.studies.paper.run_paper", lambda **options: asked.update(options) or small
    )
    done = run("paper", "--scale", "0.02", "--seed", "5", "--out", tmp_path / "out")

    assert (asked["scale"], asked["rng"]) == (0.02, 5)
    assert done.returncode == 0
    assert done.stderr == ""
    lines = [line for line in done.stdout.splitlines() if not line.startswith("Wrote ")]
    assert max(map(len, lines)) <= 80
    assert "tau*_CC (2.9)" in done.stdout
    assert "Holds: " in done.stdout
    wrote = re.findall(r"Wrote (.*)", done.stdout)
    assert {Path(path).name for path in wrote} == {one.name for one in (tmp_path / "out").iterdir()}


@pytest.mark.slow
def test_a_page_and_its_figures_are_written(small, tmp_path):
    written = small.write(tmp_path / "out")
    page = (tmp_path / "out" / "paper.html").read_text(encoding="utf-8")

    assert {path.name for path in written} == {
        "paper.html", "paper.json", "records.png", "records.svg", "map.png", "map.svg",
        "many_keys.png", "many_keys.svg",
    }  # fmt: skip
    assert all(path.stat().st_size > 1000 for path in written)
    assert "default-src 'none'" in page
    body = page.split("<script>")[0]
    assert body.count("<table>") == 7
    assert body.count("<figure>") == 3
    assert not re.findall(r'(?:src|href)="(?!#)', body)
    (tmp_path / "file").write_text("x")
    with pytest.raises(mm.MaskmeterError, match="Cannot write to"):
        small.write(tmp_path / "file" / "out")


def test_an_interrupted_run_leaves_nothing(small, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    charts = small.charts()
    for one in charts.values():
        monkeypatch.setattr(type(one), "save", interrupt)
    with pytest.raises(KeyboardInterrupt):
        small.write(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_text_on_the_page_is_escaped():
    chart = small_chart("</script><b>")
    blocks = (
        Text("<i>"),
        Table("<u>", ("<b>", "x"), (("<s>", "1"), ("  <q>", "2"))),
        Figure("<p>", chart),
    )
    page = render("<h1>", "<lead>", [Section("<sec>", blocks)])
    body = page.split("<script>")[0]

    for raw in ("<i>", "<u>", "<b>", "<s>", "<q>", "<lead>", "<sec>"):
        assert raw not in body
    assert "</script><b>" not in page
    assert 'class="sub"' in page


def small_chart(title):
    sample = mm.Microdata(mm.KeySpace([mm.Key("a", [1, 2])]), [[0], [1]], fraction=0.1)
    return (
        mm.exact_risk(sample, mm.KeyTable.of(sample.space, [[0], [1]]))
        .plot()
        .properties(title=title)
    )
