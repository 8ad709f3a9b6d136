"""Pages in a browser: no network request, no text cut off, accessible to everyone."""

from __future__ import annotations

import re
from itertools import pairwise

import polars as pl
import pytest

import maskmeter as mm
from browser.look import VIEWS, browser, faults, show
from browser.samples import charts, page
from maskmeter import chart
from maskmeter.chart.labels import text_width
from maskmeter.page import Fact, Figure, Fold, Section, Table, Text, Top, render

ONE = VIEWS[:1]


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "everything.html"
    path.write_text(page(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return a page with every plot of the package, from a small census."""
    census = mm.synthetic_census(size=20_000)
    population = mm.count(census, keys=["lad", "sex", "age", "ethnicity"])
    people = mm.bernoulli_sample(census, fraction=0.05, rng=1)
    sample = mm.read(people, keys=population.space, fraction=0.05)
    release = mm.Swap("lad", rate=0.2).apply(sample, rng=1)
    candidates = {f"RS{rate}": mm.Swap("lad", rate=rate / 100) for rate in (2, 5, 10, 20)}
    plots = {
        "Risk of records": mm.exact_risk(release, population),
        "Releases": mm.compare(sample, candidates, loss=("lad", "age"), population=population),
        "Keys": mm.risk_by_keys(release, population, subsets="all"),
        "Model": mm.search_loglinear(sample),
        "Trial": mm.linkage_trial(release, population, rng=1),
        "One table": mm.information_loss(release, rows="lad", columns="ethnicity"),
        "All tables": mm.information_loss(release),
    }
    sections = [
        Section(name, (Text(one.summary()), Figure(f"{name}, drawn.", one.plot())))
        for name, one in plots.items()
    ]
    path = tmp_path_factory.mktemp("results") / "results.html"
    path.write_text(render("Results", "What was found.", sections), encoding="utf-8")
    return path


def test_every_block_and_chart_has_no_faults(everything):
    assert faults(everything) == []


@pytest.mark.slow
def test_plots_of_real_results_have_no_faults(results):
    assert faults(results) == []


def bare(body, head=""):
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>T</title>{head}</head>'
        f"<body><main><h1>A page</h1>{body}</main></body></html>"
    )


SVG = '<svg width="300" height="60"><g class="mark-group role-axis">{}</g></svg>'
DRAWN = bare(f'<figure><div role="img" aria-label="A chart">{SVG}</div></figure>')


def drawn(texts):
    return DRAWN.format(texts)


BROKEN = {
    "a picture from elsewhere": (
        bare('<img alt="A picture" src="https://example.org/x.png">'),
        "request: https://example.org/x.png",
    ),
    "an error in the console": (bare("<script>console.error('lost')</script>"), "error: lost"),
    "a script that fails": (bare("<script>missing()</script>"), "missing is not defined"),
    "a picture without words": (bare('<img src="data:,">'), "accessibility: image-alt"),
    "grey on white": (bare('<p style="color: #999">Words</p>'), "accessibility: color-contrast"),
    "a page that is too wide": (bare('<p style="width: 1500px">Words</p>'), "sideways"),
    "a figure without its chart": (bare("<figure></figure>"), "0 of 1 figures are drawn"),
    "a chart without words": (
        bare(f"<figure>{SVG.format('')}</figure>"),
        "no words for a screen reader",
    ),
    "labels on labels": (
        drawn('<text x="9" y="30">RS20</text><text x="20" y="32">RP20</text>'),
        '"RS20" on "RP20"',
    ),
    "a line through a label": (
        drawn(
            '<g class="mark-rule role-mark"><line x1="0" y1="26" x2="90" y2="26"/></g>'
            '<g class="label_wide"><text x="9" y="30">RS20</text></g>'
        ),
        'a line through "RS20"',
    ),
    "a label that is cut": (drawn('<text x="290" y="30">Ethnicity</text>'), 'cuts "Ethnicity"'),
    "a label that is shortened": (drawn('<text x="9" y="30">Ethn…</text>'), 'cuts "Ethn…"'),
    "a faint axis": (drawn('<text x="9" y="30" fill="#999">10</text>'), 'faint: "10"'),
}


@pytest.mark.parametrize("what", BROKEN)
def test_the_check_catches_a_broken_page(what, tmp_path):
    html, complaint = BROKEN[what]
    (tmp_path / "broken.html").write_text(html, encoding="utf-8")

    found = faults(tmp_path / "broken.html", views=ONE)

    assert any(complaint in one for one in found), found


def test_the_check_accepts_a_sound_page(tmp_path):
    html = drawn('<text x="9" y="30">RS20</text><text x="90" y="30">RP20</text>')
    (tmp_path / "whole.html").write_text(html, encoding="utf-8")

    assert faults(tmp_path / "whole.html") == []


def test_the_policy_of_a_page_blocks_requests_and_added_scripts(tmp_path):
    path = tmp_path / "page.html"
    figure = Figure("A map.", charts()["map of sixteen"])
    html = render("T", "L", [Section("S", (figure,))])
    added = "<script>window.added = true; fetch('https://example.org/')</script></main>"
    path.write_text(html.replace("</main>", added), encoding="utf-8")
    with browser() as started:
        shown = show(started, path)
        asked = shown.page.evaluate("fetch('https://example.org/').catch(() => 'refused')")

        assert shown.page.evaluate("window.added") is None
        assert asked == "refused"
        assert shown.requests == []
        assert any("script" in one and "policy" in one.lower() for one in shown.errors)


NASTY = (
    "</script><script>window.bad = 1</script>",
    "<!--<script>",
    "<img src=x onerror='window.bad = 1'>",
    "{{ 7 * 7 }}",
    "\\22 } body { display: none } \"'",
)


def test_markup_in_any_text_is_shown_as_text(tmp_path):
    path = tmp_path / "nasty.html"
    frame = pl.DataFrame({"area": NASTY, "change": [1.0, 2.0, 3.0, -4.0, 5.0]})
    words = " ".join(NASTY)
    titles = {"x": words, "y": words, "title": words, "subtitle": words}
    blocks = (Text(words, mark=words), Table(words, ("a", words), ((words, words),)))
    figure = Figure(words, chart.signed_bars(frame, **titles))
    section = Section(words, (*blocks, figure))
    first = Top(words, words, "bad", words, (Fact(words, words, words),))
    folded = Section(words, (*section.blocks, Fold(words, blocks)))
    html = render(words, first, [folded] * 3, classification=words, footer=words)
    path.write_text(html, encoding="utf-8")
    with browser() as started:
        shown = show(started, path)

        assert shown.errors == []
        assert shown.page.evaluate("window.bad") is None
        assert (
            shown.page.locator("img, body > script ~ :not(script, #vg-tooltip-element)").count()
            == 0
        )
        assert shown.page.title() == words
        assert shown.page.locator(".classification").text_content() == words
        assert shown.page.locator("figure svg").count() == 3
        assert shown.page.locator("td").first.text_content() == words


def test_charts_follow_light_dark_and_print_colours(everything):
    def ink(page):
        return page.evaluate(
            "[...document.querySelectorAll('figure svg .role-axis-label text')]"
            ".map(one => getComputedStyle(one).fill)"
        )

    with browser() as started:
        page = show(started, everything, scheme="dark").page
        dark = ink(page)
        page.emulate_media(color_scheme="light")
        light = ink(page)
        page.emulate_media(color_scheme="dark", media="print")
        printed = ink(page)

    assert set(dark) == {"rgb(230, 235, 238)"}
    assert set(light) == set(printed) == {"rgb(27, 42, 51)"}


def test_printing_omits_controls_and_repeats_table_heads(everything):
    with browser() as started:
        page = show(started, everything, scheme="dark").page
        page.set_viewport_size({"width": 672, "height": 900})  # A4 within its margins
        page.wait_for_timeout(1000)
        page.emulate_media(media="print")

        assert not page.locator("nav, .save").filter(visible=True).count()
        assert page.evaluate("getComputedStyle(document.querySelector('thead')).display") == (
            "table-header-group"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= 672
        sheets = page.pdf(prefer_css_page_size=True)

    assert sheets.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", sheets)) > 3
    assert re.search(rb"/MediaBox\s*\[0 0 59[45]\.\d+ 84[12]", sheets)  # A4


def test_a_screen_reader_gets_one_described_picture_per_chart(everything):
    with browser() as started:
        page = show(started, everything).page
        pictures = page.get_by_role(
            "img", name="A title of the chart. What it shows, in 1,234 words."
        )

        assert pictures.count() == len(charts())
        assert "1,509" not in page.locator("main").aria_snapshot()
        assert page.get_by_role("button", name="Save as PNG: Figure: bars.").count() == 1


def test_pictures_are_saved_in_light_colours_with_their_titles(everything, tmp_path):
    with browser() as started:
        page = show(started, everything, scheme="dark").page
        for kind in ("SVG", "PNG"):
            with page.expect_download() as saved:
                page.get_by_role("button", name=f"Save as {kind}: Figure: bars.").click()
            saved.value.save_as(tmp_path / kind)
            assert saved.value.suggested_filename == f"figure1.{kind.lower()}"

    picture = (tmp_path / "SVG").read_text(encoding="utf-8")
    assert "A title of the chart" in picture
    assert chart.DARK.keys() & set(re.findall(r"#[0-9a-f]{6}", picture))
    assert "var(" not in picture
    assert (tmp_path / "PNG").read_bytes().startswith(b"\x89PNG")


def test_the_keyboard_can_skip_to_the_content_and_shows_the_focus(everything):
    with browser() as started:
        page = show(started, everything).page
        page.keyboard.press("Tab")
        first = page.evaluate("document.activeElement.textContent")
        page.keyboard.press("Enter")
        then = page.evaluate("document.activeElement.id")
        page.keyboard.press("Tab")
        ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")

    assert first == "Skip to the content"
    assert then == "content"
    assert ring == "solid"


def test_headings_are_smaller_than_the_verdict_and_linked_from_the_contents(everything):
    with browser() as started:
        page = show(started, everything).page
        sizes = [
            float(page.evaluate(f"parseFloat(getComputedStyle(document.querySelector('{one}')).fontSize)"))
            for one in (".lead", "main h2", "h1")
        ]  # fmt: skip
        page.get_by_role("link", name="An end").click()

        assert page.evaluate("location.hash") == "#section3"
        assert page.get_by_role("navigation", name="Contents").get_by_role("link").count() == 3
        assert page.get_by_role("contentinfo").text_content() == "Written by maskmeter."

    assert all(first > second for first, second in pairwise(sizes))


def test_a_page_without_charts_has_no_script(tmp_path):
    html = render("T", "L", [Section("S", (Text("Words."),))])
    (tmp_path / "words.html").write_text(html, encoding="utf-8")

    assert "<script" not in html
    assert "script-src" not in html
    assert faults(tmp_path / "words.html") == []


def test_the_estimated_width_of_labels_is_an_upper_bound(tmp_path):
    (tmp_path / "words.html").write_text(bare("<p>Words</p>"), encoding="utf-8")
    texts = [
        "no protection", "RS20", "targeted swap of neighbourhood 20 % (chosen)", "PRAM: WOMEN, 75+", "miniature", "女性 20%",
        "target for the upper end of the interval", "neighbourhood_of_residence_2017", "Gemütliche Straße", "1,234,567",
    ]  # fmt: skip
    with browser() as started:
        page = show(started, tmp_path / "words.html").page
        measure = """([texts, font]) => {
          const pen = document.createElement("canvas").getContext("2d");
          pen.font = font;
          return texts.map((text) => pen.measureText(text).width);
        }"""
        for bold, font in ((False, "12px system-ui"), (True, "bold 12px system-ui")):
            wide = page.evaluate(measure, [texts, font])
            reckoned = [text_width(text, bold=bold) for text in texts]
            assert all(a <= b for a, b in zip(wide, reckoned, strict=True))
            assert all(
                a >= 0.6 * b for a, b in zip(wide, reckoned, strict=True)
            )  # an estimate that is always too wide fails
