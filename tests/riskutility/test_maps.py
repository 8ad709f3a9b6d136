"""The risk-utility map: its labels, its axes, and labels that nothing crosses."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawn import picture, struck
from maps import MAPS, WIDTHS, WORDS, releases
from maskmeter import chart
from maskmeter.chart.labels import EDGE, POINT, Box, Label, Thing, place, shorten
from maskmeter.chart.layout import HEIGHT, RANGES, Layout

SIZE = (300.0, 200.0)


def drawn(name):
    frame, chosen, target = MAPS[name]
    return chart.frontier(frame, **WORDS, chosen=chosen, target=target).to_dict()


once = cache(drawn)


def names_of(seen):
    return [one.text for one in seen.words if "label_" in one.role and "target" not in one.role]


def rows(spec):
    (found,) = spec["datasets"].values()
    return found


@pytest.mark.parametrize("name", MAPS)
def test_nothing_crosses_a_label_and_the_chosen_release_is_always_labelled(name):
    _, chosen, _ = MAPS[name]
    for width in WIDTHS:
        seen = picture(once(name), width=width)
        assert struck(seen) == [], width
        written = [one for one in names_of(seen) if one.endswith(" (chosen)")]
        assert len(written) == bool(chosen), width
        assert len(set(names_of(seen))) == len(names_of(seen)), width
        for label in written:
            start, _, end = label.removesuffix(" (chosen)").partition("…")
            assert chosen.startswith(start)
            assert chosen.endswith(end)


@pytest.mark.parametrize("name", ["sixteen", "a far end", "a crowd"])
def test_the_check_catches_labels_crossed_by_lines(name, monkeypatch):
    def points_alone(labels, things, **sizes):
        dots = [one for one in things if (one.start, one.top) == (one.end, one.bottom)]
        return place(labels, dots, **sizes)

    monkeypatch.setattr("maskmeter.chart.layout.place", points_alone)

    assert any("a line through" in one for one in struck(picture(drawn(name))))


def test_the_check_catches_labels_that_overlap(monkeypatch):
    def alone(labels, things, **sizes):
        return {
            name: spot
            for name, label in labels.items()
            for spot in place({name: label}, things, **sizes).values()
        }

    monkeypatch.setattr("maskmeter.chart.layout.place", alone)

    assert any(" on " in one for one in struck(picture(drawn("forty on the frontier"))))


@pytest.mark.parametrize("name", MAPS)
def test_only_the_frontier_and_the_chosen_release_are_labelled(name):
    frame, chosen, _ = MAPS[name]
    best = {*frame.filter("frontier")["label"], chosen}
    for row in rows(once(name)):
        named = any(row[wide.name] is not None for wide in RANGES)
        assert not named or row["label"] in best


def test_every_release_on_a_frontier_of_sixteen_is_labelled():
    frame, _, _ = MAPS["sixteen"]

    written = [one.removesuffix(" (chosen)") for one in names_of(picture(once("sixteen")))]
    assert sorted(written) == sorted(frame.filter("frontier")["label"])


def axis(spec, along):
    """Return an axis of a map; all layers share it."""
    found = [layer["encoding"].get(along, {}) for layer in spec["layer"]]
    (same,) = {str(one["scale"]) for one in found if "scale" in one}
    assert same == str(found[0]["scale"])
    return found[0]


def test_a_distant_upper_end_is_drawn_as_an_arrow_and_described():
    made = once("a far end")
    low, high = axis(made, "y")["scale"]["domain"]

    assert (low, high) == (0.0, 50.0)  # up to 800, the others would share a sixteenth of it
    assert [row["label"] for row in rows(made) if row["beyond"]] == ["swap 10%"]
    assert any(layer["mark"].get("shape") == "triangle-up" for layer in made["layer"])
    assert made["description"].endswith("Arrows mark upper ends beyond the axis.")


def test_upper_ends_are_not_cut_off_if_most_are_distant():
    frame = releases(list("abc"), [3, 2, 1], [0, 1, 2], [22, 18, 15])
    made = chart.frontier(frame, **WORDS).to_dict()

    assert not any(row["beyond"] for row in rows(made))
    assert axis(made, "y")["scale"]["domain"][1] > 22
    assert "arrow" not in made["description"]


def test_a_large_range_has_a_log_scale_and_the_axis_title_says_so():
    made = once("a huge range")
    up = axis(made, "y")

    assert up["title"] == "Risk, log scale"
    assert up["scale"]["type"] == "symlog"
    layout = Layout.of(*MAPS["a huge range"])
    heights = [HEIGHT * layout.up.share(risk) for risk in (0.0, 2.0, 10.0, 40.0, 400.0, 12000.0)]
    assert min(b - a for a, b in pairwise(heights)) > 30
    assert "log" not in axis(once("sixteen"), "y")["title"]


@pytest.mark.parametrize(
    ("risks", "target", "low"),
    [([10.0, 300.0], None, 0.0), ([262.0, 385.0], None, 250.0), ([262.0, 385.0], 14.0, 0.0)],
)
def test_the_axis_of_a_map_starts_at_0_unless_its_lower_half_would_be_empty(risks, target, low):
    frame = releases(["a", "b"], risks, [1, 2])
    line = None if target is None else (target, "Target")
    ends = axis(chart.frontier(frame, **WORDS, target=line).to_dict(), "y")["scale"]["domain"]

    assert ends[0] == pytest.approx(low)
    assert ends[1] > max(risks)


def test_the_ends_of_axes_are_round_numbers():
    frame = releases(["a", "b"], [262.123, 385.987], [1.0123, 7.9876])
    made = chart.frontier(frame, **WORDS).to_dict()

    assert axis(made, "y")["scale"]["domain"] == [250.0, 400.0]
    assert axis(made, "x")["scale"]["domain"] == [0.0, 8.75]


def test_a_map_of_one_release_without_spread_has_an_axis():
    frame = releases(["a"], [10.0], [3.0]).with_columns(
        pl.lit(float("nan")).alias("risk_sd"), pl.lit(None).alias("loss_sd")
    )
    low, high = axis(chart.frontier(frame, **WORDS).to_dict(), "y")["scale"]["domain"]

    assert low < 10.0 < high


places = st.tuples(st.floats(0, 1), st.floats(0, SIZE[1]))


@given(st.lists(st.tuples(places, st.text("abc", min_size=1, max_size=8)), min_size=1, max_size=20))
def test_labels_overlap_no_label_no_point_and_no_edge(pairs):
    points = [at for at, _ in pairs]
    dots = [Thing(x, x, y, y, POINT) for x, y in points]
    labels = {number: Label.beside([text], at) for number, (at, text) in enumerate(pairs)}
    found = place(labels, dots, widths=[SIZE[0], 200.0], height=SIZE[1])

    for width in (SIZE[0], 200.0):
        boxes = [spot.box(width) for spot in found.values()]
        others = [dot.box(width) for dot in dots]
        for number, one in enumerate(boxes):
            assert not any(one.meets(other) for other in [*boxes[number + 1 :], *others])
            assert one.left >= -EDGE
            assert one.top >= 0
            assert one.right <= width + EDGE
            assert one.bottom <= SIZE[1] + EDGE


@given(st.lists(places, min_size=1, max_size=40), st.text("abc", min_size=1, max_size=12))
def test_the_label_of_the_chosen_release_is_always_placed(points, text):
    dots = [Thing(x, x, y, y, POINT) for x, y in points]
    found = place(
        {"chosen": Label.beside([text], points[0], chosen=True)},
        dots,
        widths=[SIZE[0]],
        height=SIZE[1],
    )

    assert found["chosen"].text == text


def test_labels_without_room_are_omitted_and_earlier_ones_have_priority():
    crowd = {number: Label.beside(["release"], (0.2, 50.0)) for number in range(12)}
    found = place(crowd, [Thing(0.2, 0.2, 50.0, 50.0, POINT)], widths=[SIZE[0]], height=SIZE[1])
    full = [Thing(0.0, 1.0, 0.0, SIZE[1], 20.0)]

    assert 0 in found
    assert 11 not in found
    assert not place({"a": crowd[0]}, full, widths=[SIZE[0]], height=SIZE[1])


def test_a_shorter_name_is_used_where_a_longer_one_has_no_room():
    names = ["a name of many letters", "a name"]
    wall = [Thing(0.0, 1.0, 0.0, 0.0), Thing(0.4, 0.4, 0.0, SIZE[1])]
    found = place(
        {"a": Label.beside(names, (0.1, 50.0))}, wall, widths=[SIZE[0]], height=SIZE[1]
    )  # fmt: skip

    assert found["a"].text == "a name"


@given(st.text(max_size=60), st.integers(4, 40))
def test_a_shortened_name_has_at_most_the_allowed_letters(name, letters):
    assert len(shorten(name, letters)) <= letters


def test_boxes_that_only_touch_do_not_overlap():
    assert not Box(0, 0, 10, 10).meets(Box(10, 0, 20, 10))
    assert Box(0, 0, 10, 10).shared(Box(5, 5, 20, 20)) == 25
