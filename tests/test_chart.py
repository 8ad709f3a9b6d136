"""Charts: labels that meet nothing, axes that fit, words that survive."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from browser.samples import charts, releases
from maskmeter import chart
from maskmeter.chart.labels import LETTER, LINE, POINT, Box, place
from maskmeter.chart.look import DARK, INK, LINES, SERIES, WIDTH

WORDS = {"x": "Loss", "y": "Risk", "title": "A map", "subtitle": "Of releases"}
SIZE = (300.0, 200.0)


def box(point, label, spot):
    left = (
        point[0]
        + spot.dx
        - LETTER * len(label) * {"left": 0, "center": 0.5, "right": 1}[spot.align]
    )
    middle = point[1] + spot.dy
    return Box(left, middle - LINE / 2, left + LETTER * len(label), middle + LINE / 2)


@given(
    st.lists(
        st.tuples(
            st.tuples(st.floats(0, SIZE[0]), st.floats(0, SIZE[1])), st.text("abc", min_size=1, max_size=8)
        ),
        min_size=1,
        max_size=20,
    )
)  # fmt: skip
def test_labels_meet_no_label_no_point_and_no_edge(pairs):
    points, labels = zip(*pairs, strict=True)
    spots = place(points, labels, size=SIZE)
    boxes = [box(*one) for one in zip(points, labels, spots, strict=True) if one[2] is not None]
    dots = [Box(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in points]

    for place_of, one in enumerate(boxes):
        assert not any(one.meets(other) for other in [*boxes[place_of + 1 :], *dots])
        assert min(one.left, one.top) >= 0
        assert one.right <= SIZE[0]
        assert one.bottom <= SIZE[1]


def test_a_label_that_finds_no_room_is_left_out_and_the_first_come_first():
    crowd = [(50.0, 50.0)] * 12
    spots = place(crowd, ["release"] * 12, size=SIZE)

    assert spots[0] is not None
    assert spots[-1] is None
    assert place([(50.0, 50.0)], ["a"], size=SIZE, taken=[Box(0, 0, *SIZE)]) == [None]


def rows(drawn):
    (found,) = drawn.to_dict()["datasets"].values()
    return found


def test_a_map_names_sixteen_releases_and_marks_the_choice():
    drawn = chart.frontier(releases(), **WORDS, chosen="TS20", target=(278.0, "Target"))
    found = rows(drawn)

    assert found[0]["written"] == "TS20 (chosen)"
    assert all(row["wide"] is not None for row in found)
    assert sum(row["narrow"] is not None for row in found) >= 15  # on half the width, of sixteen
    marks = [layer["mark"]["type"] for layer in drawn.to_dict()["layer"]]
    assert marks[-2:] == ["rule", "text"]
    assert drawn.to_dict()["layer"][-2]["encoding"]["y"]["datum"] == 278.0


@pytest.mark.parametrize(
    ("risks", "target", "low"),
    [([10.0, 300.0], None, 0.0), ([262.0, 385.0], None, 252.16), ([262.0, 385.0], 10.0, 0.0)],
)
def test_the_axis_of_a_map_begins_at_0_unless_its_lower_half_were_empty(risks, target, low):
    frame = releases()[:2].with_columns(risk=pl.Series(risks), risk_sd=0.0)
    line = None if target is None else (target, "Target")
    drawn = chart.frontier(frame, **WORDS, target=line).to_dict()
    (ends,) = {
        tuple(layer["encoding"]["y"]["scale"]["domain"])
        for layer in drawn["layer"]
        if "scale" in layer["encoding"].get("y", {})
    }

    assert ends[0] == pytest.approx(low)
    assert ends[1] > max(risks)


def test_a_map_of_one_release_without_spread_has_an_axis():
    frame = releases()[:1].with_columns(risk_sd=float("nan"), loss_sd=None)
    drawn = chart.frontier(frame, **WORDS).to_dict()
    low, high = drawn["layer"][0]["encoding"]["y"]["scale"]["domain"]

    assert low < frame["risk"][0] < high


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(share * one for share, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize(
    ("colours", "paper"), [(DARK.keys(), "#ffffff"), (DARK.values(), "#12191d")]
)
def test_every_colour_of_charts_can_be_read_on_its_paper(colours, paper):
    for colour in colours:
        low, high = sorted([luminance(colour), luminance(paper)])
        assert (high + 0.05) / (low + 0.05) >= 4.5, colour


def test_every_colour_that_charts_use_has_its_like_in_the_dark():
    used = {one for drawn in charts().values() for one in colours_in(drawn.to_dict())}

    assert {INK, *SERIES} <= set(DARK)
    assert used <= set(DARK)


def colours_in(spec):
    if isinstance(spec, dict):
        for name, value in spec.items():
            if name != "datasets":
                yield from colours_in(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from colours_in(value)
    elif isinstance(spec, str) and spec.startswith("#"):
        yield spec


@pytest.mark.parametrize("name", charts())
def test_every_chart_says_what_it_is_and_how_wide(name):
    spec = charts()[name].to_dict()

    assert spec["description"] == "A title of the chart. What it shows, in 1,234 words."
    assert spec["title"]["text"] == "A title of the chart"
    assert all(part["width"] <= WIDTH for part in spec.get("vconcat", [spec]))


def test_every_bar_of_risk_has_its_count_beside_it():
    frame = pl.DataFrame({"low": [0.0, 0.5], "high": [0.5, 1.0], "count": [2779, 1]})
    bars, counts = chart.bars(frame, **WORDS).to_dict()["layer"]

    assert counts["encoding"]["text"]["field"] == "count"
    assert bars["encoding"]["x"]["scale"]["domain"][0] == 0  # lengths are counts
    assert "type" not in bars["encoding"]["x"]["scale"]


def test_dots_are_paired_under_the_names_given():
    frame = pl.DataFrame({"key": ["lad", "sex"], "all": [9.0, 9.0], "without": [1.0, 7.0]})
    found = rows(chart.paired_dots(frame, names=("all keys", "without it"), **WORDS))

    assert {(row["key"], row["which"], row["value"]) for row in found} == {
        ("lad", "all keys", 9.0), ("sex", "all keys", 9.0),
        ("lad", "without it", 1.0), ("sex", "without it", 7.0),
    }  # fmt: skip


def test_long_names_go_over_lines():
    frame = pl.DataFrame(
        {"area": ["The City and County of Somewhere", "North"], "change": [1.0, 2.0]}
    )
    spec = chart.signed_bars(frame, **WORDS).to_dict()

    assert spec["encoding"]["y"]["axis"]["labelExpr"] == LINES
    assert spec["height"] == 72
