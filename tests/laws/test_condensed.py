"""Laws of condensed releases: counts give every record the figures that it has by itself."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import maskmeter as mm
from maskmeter.evidence import assessment

KEYS = ["lad", "sex", "age", "ethnicity"]
STEPS = {
    "swap": [mm.Swap("lad", rate=0.2)],
    "as it is": [],
    "subsample": [mm.Pram("age", stay=0.9), mm.Subsample(0.8)],
    "recode": [mm.Recode("age", groups={"child": ["0-2", "3-4", "5-7"]}), mm.Swap("lad", rate=0.2)],
    "redraw": [mm.Redraw("lad", rarer_than=100)],
}
pytestmark = pytest.mark.filterwarnings("ignore::maskmeter.errors.MaskmeterWarning")


@pytest.fixture(scope="module", params=[False, True], ids=["fraction", "weights"])
def sample(request):
    people = mm.bernoulli_sample(mm.synthetic_census(size=80_000), fraction=0.05, rng=1)
    people = people.with_columns(
        w=pl.Series(np.random.default_rng(1).choice([15.0, 25.0], len(people)))
    )
    sampled = {"weights": "w"} if request.param else {"fraction": 0.05}
    return mm.read(people, keys=KEYS, **sampled)


@pytest.mark.parametrize("name", STEPS)
def test_an_assessment_of_counts_is_that_of_the_records(sample, name, monkeypatch):
    data = mm.protect(sample, STEPS[name], rng=2) if STEPS[name] else sample
    known = {"all": KEYS, "few": ["lad", "age", "ethnicity"]}
    found = []
    for many in (10**9, 1):
        monkeypatch.setattr(assessment, "_MANY", many)
        found.append(mm.assess(data, known=known, target=mm.Target(max_share=0.1)))
    whole, counted = found

    assert np.allclose(whole.to_frame()["value"], counted.to_frame()["value"], rtol=1e-8)
    assert counted.loss == pytest.approx(whole.loss) if whole.loss else counted.loss is None
    assert counted.worst.risk.to_frame()["record"].equals(whole.worst.risk.to_frame()["record"])
    if STEPS[name]:
        before, after = (one.worst.before["exact-match"].to_frame() for one in found)
        assert before.drop("risk").equals(after.drop("risk"))
    for one, other in zip(whole.by_record(), counted.by_record(), strict=True):
        if one.dtype == pl.Float64:
            assert np.allclose(one.to_numpy(), other.to_numpy(), rtol=1e-8, equal_nan=True)
        else:
            assert one.equals(other)
