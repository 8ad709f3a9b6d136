"""Why a search stopped early: the internal report gives the reason, the public one does not."""

from __future__ import annotations

import html
import warnings

import numpy as np
import pytest

import maskmeter as mm
from maskmeter import errors
from maskmeter.loglinear import search
from maskmeter.loglinear.search import search_models

SPACE = mm.KeySpace(mm.Key(f"key{c}", range(size)) for c, size in enumerate((12, 8, 6)))


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(2)
    logs = 0.8 * sum(rng.normal(0, 1, shape) for shape in ((12, 8, 1), (1, 8, 6), (12, 1, 6)))
    means = np.exp(logs).ravel()
    counts = rng.poisson(means / means.sum() * 4000)
    codes = SPACE.codes(np.repeat(np.arange(len(means)), counts))
    return mm.Microdata(SPACE, codes, fraction=0.05)


def out_of_size(patch):
    patch.setattr(search, "LARGEST_COMPONENT", 80)


def out_of_terms(patch):
    patch.setitem(search_models.__kwdefaults__, "most_terms", 1)


@pytest.mark.parametrize(
    ("limited", "said"),
    [
        (out_of_size, ("no other term could be tried.", "too large to fit: ")),
        (out_of_terms, ("after adding 1 term, the maximum allowed.",)),
    ],
)
def test_only_the_internal_report_says_why_the_search_stopped(
    sample, tmp_path, monkeypatch, limited, said
):
    limited(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.MaskmeterWarning)
        mm.report(mm.assess(sample, model="score-path"), tmp_path / "pack")

    internal, public = (
        html.unescape((tmp_path / "pack" / f"{name}.html").read_text(encoding="utf-8"))
        for name in ("internal/internal", "public")
    )
    assert all(words in internal for words in ("The search stopped after", *said))
    assert "stopped after" not in public
    assert str(errors.ExhaustedSearchWarning.__doc__) in public
    for page in (internal, public):
        assert "every term" not in page
        assert "most_terms" not in page
