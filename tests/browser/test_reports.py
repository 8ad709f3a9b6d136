"""The reports in a browser: no network request, every chart drawn, accessible to everyone."""

from __future__ import annotations

import pytest

import maskmeter as mm
from browser.look import browser, faults, look, show


@pytest.mark.parametrize(
    ("name", "figures"),
    [("internal/internal.html", 4), pytest.param("public.html", 0, marks=pytest.mark.slow)],
)
def test_the_reports_of_the_demonstration_have_no_faults(demo, name, figures):
    seen = look(demo / "story" / "evidence" / name)

    assert [fault for facts in seen for fault in facts.faults()] == []
    assert seen[0].figures == figures


# The lower edges of what a decision needs, in pixels from the top.
ENDS = """() => [".verdict", ".lead", ".facts", ".beside figure svg", ".beside table"].map(
  (one) => document.querySelector(`header ${one}`).getBoundingClientRect().bottom)"""


def test_the_decision_is_on_the_first_screen_and_the_page_is_short(demo):
    with browser() as started:
        shown = show(
            started, demo / "story" / "evidence" / "internal" / "internal.html", width=1200
        )

        assert max(shown.page.evaluate(ENDS)) <= 900
        assert shown.page.evaluate("document.documentElement.scrollHeight") < 6000


def test_markup_in_labels_and_titles_is_shown_as_text(tmp_path):
    people = mm.bernoulli_sample(mm.synthetic_census(size=80_000), fraction=0.05, rng=1)
    odd = people.rename({"lad": "<b>lad</b>"})
    sample = mm.read(odd, keys=[odd.columns[0], "age", "ethnicity"], fraction=0.05)
    release = mm.Swap(odd.columns[0], rate=0.2).apply(sample, rng=1)
    pack = mm.report(
        mm.assess(release),
        tmp_path,
        title="</script><script>alert(1)</script>",
        audience="internal",
    )

    assert faults(tmp_path / "internal" / "internal.html", views=[("light", 1280)]) == []
    assert pack.files[-1].name == "internal.html"
