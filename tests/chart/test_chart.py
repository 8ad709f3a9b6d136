"""Charts: readable names, axes with ticks, and complete descriptions."""

from __future__ import annotations

import polars as pl
import pytest

from browser.samples import charts
from drawn import picture, struck
from maskmeter import chart
from maskmeter.chart.look import DARK, INK, SERIES, WIDTH, over_lines
from maskmeter.chart.plain import NAMED
from maskmeter.chart.rows import KEYS, LOWEST, MOST

WORDS = {"x": "Loss", "y": "Risk", "title": "A chart", "subtitle": "Of releases"}


def rows(drawn):
    (found,) = drawn.to_dict()["datasets"].values()
    return found


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(share * one for share, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize(
    ("colours", "paper"), [(DARK.keys(), "#ffffff"), (DARK.values(), "#12191d")]
)
def test_every_chart_colour_has_enough_contrast_with_its_background(colours, paper):
    for colour in colours:
        low, high = sorted([luminance(colour), luminance(paper)])
        assert (high + 0.05) / (low + 0.05) >= 4.5, colour


def test_every_chart_colour_has_a_counterpart_for_dark_mode():
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
def test_every_chart_has_a_title_a_description_and_a_width(name):
    spec = charts()[name].to_dict()

    assert spec["description"].startswith("A title of the chart. What it shows, in 1,234 words.")
    assert spec["title"]["text"] == "A title of the chart"
    assert all(part["width"] <= WIDTH for part in spec.get("vconcat", [spec]))


@pytest.mark.parametrize("name", charts())
def test_no_texts_of_a_chart_overlap(name):
    assert struck(picture(charts()[name].to_dict())) == []


def test_every_bar_of_risk_is_labelled_with_its_count():
    frame = pl.DataFrame({"low": [0.0, 0.5], "high": [0.5, 1.0], "count": [2779, 1]})
    bars, counts = chart.bars(frame, **WORDS).to_dict()["layer"]

    assert counts["encoding"]["text"]["field"] == "count"
    assert bars["encoding"]["x"]["scale"]["domain"][0] == 0  # bar lengths are counts
    assert "type" not in bars["encoding"]["x"]["scale"]


@pytest.mark.parametrize(("many", "title"), [(1, None), (6, "Column")])
def test_few_bars_leave_out_a_title_that_is_longer_than_they_are_high(many, title):
    names = [f"row {place}" for place in range(many)]
    frame = pl.DataFrame({"name": names, "records": [1.0] * many})
    drawn = chart.signed_bars(frame, x="Records", y="Column", title="A chart", subtitle="")

    assert drawn.to_dict()["encoding"]["y"]["title"] == title


def test_paired_dots_have_the_given_names():
    frame = pl.DataFrame({"key": ["lad", "sex"], "all": [9.0, 9.0], "without": [1.0, 7.0]})
    found = rows(chart.paired_dots(frame, names=("all keys", "without it"), **WORDS))

    assert {(row["key"], row["which"], row["value"]) for row in found} == {
        ("lad", "all keys", 9.0), ("sex", "all keys", 9.0),
        ("lad", "without it", 1.0), ("sex", "without it", 7.0),
    }  # fmt: skip


def test_long_titles_are_wrapped_and_complete():
    frame = pl.DataFrame({"area": ["North"], "change": [1.0]})
    words = WORDS | {"title": "A title " * 20, "subtitle": "What it shows " * 20}
    spec = chart.signed_bars(frame, **words).to_dict()

    assert max(len(line) for line in spec["title"]["text"]) <= 70
    assert " ".join(spec["title"]["subtitle"]) == ("What it shows " * 20).strip()
    assert spec["description"].count("A title") == 20


LONG = [
    f"Neighbourhood of residence at the time of the interview, part {number}"
    if number % 3
    else f"neighbourhood_of_residence_{number:04}"
    for number in range(30)
]


def named(number, names):
    """Return one chart of each type that has a row per name."""
    some = names[:number]
    figures = [float(one) for one in range(-3, number - 3)]
    pairs = [(one, other) for place, one in enumerate(some) for other in some[place + 1 :]]
    low = [100.0 - place / 7 for place in range(len(pairs))]
    frame = pl.DataFrame({"key": some, "all": max(figures), "without": figures})
    first, second = zip(*pairs, strict=True)
    tables = pl.DataFrame({"rows": first, "columns": second, "raad": low})
    titles = {"title": "A chart", "subtitle": "Of keys"}
    return {
        "bars": chart.signed_bars(frame.select("key", "without"), **WORDS),
        "dots": chart.paired_dots(frame, names=("with it", "without it"), **WORDS),
        "matrix": chart.matrix(tables, value="raad", **titles),
    }


@pytest.mark.parametrize("kind", ["bars", "dots", "matrix"])
@pytest.mark.parametrize("number", [6, 15, 16, 30])
def test_many_long_row_names_do_not_overlap(kind, number):
    for names in (LONG, [f"key {place}" for place in range(30)]):
        spec = named(number, names)[kind].to_dict()
        assert struck(picture(spec)) == []
        assert struck(picture(spec, width=180)) == []


def test_shortened_row_names_are_complete_in_the_data():
    written = [one.text for one in picture(named(30, LONG)["bars"].to_dict()).words]

    assert "Neighbourhood o…, part 1" in written
    assert "neighbourhood_o…nce_0003" in written
    assert {row["key"] for row in rows(named(30, LONG)["bars"])} == set(LONG)
    assert over_lines("The City and County of Somewhere", 20, 2)[1] == "of Somewhere"


def test_of_many_bars_only_those_furthest_from_0_are_drawn_in_order():
    values = [(-1) ** number * float(number % 97) for number in range(97)]
    frame = pl.DataFrame({"area": [f"area {place}" for place in range(97)], "change": values})
    drawn = chart.signed_bars(frame, **WORDS)

    kept = [row["change"] for row in rows(drawn)]
    assert kept == values[-MOST:]
    assert drawn.to_dict()["description"].endswith(f"The {MOST} furthest from 0 of 97.")


def test_a_matrix_of_too_many_keys_shows_only_its_lowest_pairs():
    small, large = (named(number, LONG)["matrix"] for number in (KEYS, 30))

    assert len(rows(small)) == KEYS * (KEYS - 1) / 2
    kept = [row["raad"] for row in rows(large)]
    assert kept == sorted(kept)
    assert len(kept) == LOWEST
    assert min(kept) == 100 - 434 / 7
    assert large.to_dict()["description"].endswith(f"The {LOWEST} lowest of 435.")


def test_numbers_of_a_matrix_are_omitted_where_they_would_overlap():
    def numbers(width):
        spec = named(KEYS, LONG)["matrix"].to_dict()
        return [one.text for one in picture(spec, width=width).words if "mark-text role-mark" in one.role]  # fmt: skip

    assert len(numbers(WIDTH)) == KEYS * (KEYS - 1) / 2
    assert numbers(250) == []


def search(z2):
    return pl.DataFrame(
        {"model": [f"{place} lad:age" for place in range(len(z2))], "z2": z2}
    ).with_columns(tau2=pl.lit(300.0) + pl.col("z2").rank(), bic=1e5, parameters=120)


PATHS = {
    "usual": [55.0, 21.0, 6.1, 1.4, -0.3, -2.2],
    "far from 0": [60_000.0 / 1.3**place for place in range(41)],
    "never good": [4.9, 4.2, 3.9, 3.2, 3.1],
    "good at once": [0.4, 0.1],
    "below 0": [-30.0, -12.0, -2.5],
    "not known": [float("nan"), float("nan")],
}


@pytest.mark.parametrize("name", PATHS)
def test_the_path_of_a_search_has_ticks_and_the_band_of_a_good_fit(name):
    drawn = chart.path(search(PATHS[name]), title="A search", subtitle="Of models").to_dict()
    seen = picture(drawn)
    above = [one.text for one in seen.words if "axis-label" in one.role and one.level]
    band = next(
        layer["encoding"]
        for layer in drawn["vconcat"][0]["layer"]
        if layer["mark"]["type"] == "rect"
    )

    assert {"\N{MINUS SIGN}1.96", "0", "1.96"} <= set(above)
    assert (band["y"]["datum"], band["y2"]["datum"]) == (-1.96, 1.96)
    assert struck(seen) == []
    asked = drawn["vconcat"][0]["layer"][-1]["encoding"]["y"]["axis"]["values"]
    assert len(asked) >= 3 + (max(map(abs, PATHS[name])) > 10)
    assert all(f"{tick:,g}".replace("-", "\N{MINUS SIGN}") in above for tick in asked)


@pytest.mark.parametrize("width", [180, WIDTH])
def test_the_models_of_a_long_search_are_numbered_not_named(width):
    spec = chart.path(
        search([2.0] * (NAMED + 20)), title="A search", subtitle="Of models"
    ).to_dict()
    for part in spec["vconcat"]:
        part["width"] = width
    seen = picture(spec)
    texts = [one.text for one in seen.words]

    assert struck(seen) == []
    assert {"0", "8", "16", "24"} <= set(texts)
    assert not any("lad:age" in one for one in texts)
    assert spec["vconcat"][1]["encoding"]["x"]["title"] == "Terms added"


@pytest.mark.parametrize("numbers", [(3, 4), (5, 8, 11, 15, 20, 25, 30), tuple(range(1, 43))])
def test_axis_labels_for_numbers_of_keys_are_whole(numbers):
    frame = pl.DataFrame({"number": numbers, "matches": [float(one) for one in numbers]})
    spec = chart.curves(frame.with_columns(error=pl.lit("no error")), **WORDS).to_dict()
    for width in (180, WIDTH):
        seen = picture(spec, width=width)
        assert struck(seen) == []
        assert not any("." in one.text for one in seen.words)


def test_a_curve_of_ranked_risks_is_an_area_from_zero():
    frame = pl.DataFrame({"rank": [1, 50, 100], "risk": [0.04, 0.01, 0.002]})
    spec = chart.ranked(frame, **WORDS).to_dict()

    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["area", "point"]
    assert spec["layer"][0]["encoding"]["y"]["scale"]["zero"]
    assert struck(picture(spec)) == []
