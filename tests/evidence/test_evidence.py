"""The evidence: the findings of an assessment, its reports for each audience, and its files."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskmeter as mm
from command import run
from maskmeter.errors import ModelWarning, without_warnings
from maskmeter.evidence import assess
from maskmeter.evidence.figures import figures
from maskmeter.evidence.first_screen import top
from maskmeter.evidence.glossary import glossary
from maskmeter.evidence.pack import write_pack
from maskmeter.evidence.provenance import ProvenanceFile, read_provenance
from maskmeter.evidence.records import record_tables
from maskmeter.evidence.redaction import Policy, redact
from maskmeter.evidence.schema import Comparison, Figures, encoded
from maskmeter.evidence.sections import sections
from maskmeter.evidence.settings import Settings
from maskmeter.evidence.wording import NOT_ASSESSED, step_done
from maskmeter.page import Beside, Figure, Fold, Table
from maskmeter.perturb.methods import STEPS
from maskmeter.plan import Plan
from maskmeter.plan.schema import ReportPlan
from maskmeter.risk.target import Target
from maskmeter.studies.demo import run_demo

KEYS = ["lad", "sex", "age", "ethnicity"]
SEED = 987_654_321_987


@pytest.fixture(scope="module")
def sample(town):
    return mm.read(mm.bernoulli_sample(town, fraction=0.02, rng=3), keys=KEYS, fraction=0.02)


@pytest.fixture(scope="module")
def release(sample):
    aimed = mm.by("ethnicity", {"White British": 0.1}, otherwise=0.9)
    return mm.Swap("lad", rate=aimed, within=("sex",)).apply(sample, rng=SEED)


@pytest.fixture(scope="module")
def found(release):
    aimed = {"RS20": mm.Swap("lad", rate=0.2), "RP40": mm.Pram("lad", stay=0.6)}
    options = mm.compare(release.original, aimed, loss=("lad", "ethnicity"), rng=1)
    target = Target(max_share=0.02)
    known = assess(release, loss=[("lad", "ethnicity")], target=target)
    return replace(known, options=options, chosen="RS20")


@pytest.fixture(scope="module")
def parity():
    """Return a file whose fourth key depends on the other three only jointly."""
    rng = np.random.default_rng(1)
    a, b, c = (rng.integers(0, 12, 3000) for _ in range(3))
    frame = pl.DataFrame({"a": a, "b": b, "c": c, "d": (a + b + c) % 12})
    return mm.read(frame, keys=frame.columns, fraction=0.05)


def agency_sections(found):
    """Return the sections of the agency's report, including records."""
    return sections(figures(found), record_tables(found))


def texts(listed):
    """Yield all text in the sections, including that in charts."""
    for block in blocks_of(listed):
        yield json.dumps(block.chart.to_dict()) if isinstance(block, Figure) else repr(block)


def blocks_of(listed):
    """Yield the blocks of the sections, including folded and paired ones."""
    for section in listed:
        for block in section.blocks:
            if isinstance(block, Beside):
                yield from (block.wider, block.other)
            elif isinstance(block, Fold):
                yield from block.blocks
            else:
                yield block


def test_each_scenario_is_assessed_on_its_own_keys(release):
    known = assess(release, known={"near": ["lad", "age"], "all": KEYS})
    near, whole = known.scenarios

    with without_warnings():  # few records are unique on two keys
        seen = release.project(["lad", "age"])
        assert near.after["exact-match"].total == mm.estimate_risk(seen).total
    for intruder, risk in whole.after.items():
        assert risk.total == mm.estimate_risk(release, intruder=intruder).total
    assert whole.risk is whole.after["informed"]
    assert known.worst is whole
    left_out = dict(whole.left_out)
    assert set(left_out) == set(KEYS)
    assert left_out["lad"].risk == pytest.approx(
        left_out["lad"].without_error
    )  # only lad was changed


def test_the_keys_of_a_scenario_may_be_comma_separated_text(release):
    with without_warnings():
        known = assess(release, known={"near": "lad, age"}, drop_one=False)

    assert known.worst.keys == ("lad", "age")


def test_a_target_must_be_met_by_the_upper_end_in_every_scenario(release):
    scenarios = {"near": ["lad", "sex"], "all": KEYS}
    known = assess(release, known=scenarios, drop_one=False)
    low, high = known.worst.risk.interval

    assert replace(known, target=Target(max_total=high + 1)).met
    between = replace(known, target=Target(max_total=(low + high) / 2 + 1))
    assert not between.met
    assert between.mark == "met at the estimate only"
    assert "but not by the upper end of its interval in all." in between.summary()
    above = replace(known, target=Target(max_total=low / 2))
    assert above.mark == "not met"
    assert "is not met in all." in above.summary()
    assert known.met is None
    assert known.mark is None


def test_recording_errors_lower_the_risk_only_where_their_key_is_known(sample):
    errors = mm.Misclassification({"age": mm.stay_or_move(24, stay=0.8)})
    plain, wrong = (
        assess(
            sample,
            known={"a": ["age", "ethnicity"], "b": ["lad", "sex"]},
            misclassification=one,
        )
        for one in (None, errors)
    )

    assert wrong.scenarios[0].risk.total < plain.scenarios[0].risk.total
    assert wrong.scenarios[1].risk.total == pytest.approx(plain.scenarios[1].risk.total, rel=0.2)


def test_the_summary_starts_with_the_verdict(found, release):
    risk, matched = (mm.estimate_risk(release, intruder=one) for one in ("informed", "exact-match"))
    said = found.summary()

    assert said.startswith(
        "The target (at most 2% of the sample uniques matched correctly by an informed intruder) is"
    )
    assert (
        f"About {risk.total:.0f} of {risk.uniques:,} unique records could be matched correctly by an"
        " informed intruder; none has a better than even chance."
    ) in said
    assert f"and matches exactly would be right for about {matched.total:.1f}." in said
    assert "Without protection, about" in said


def test_a_file_without_uniques_has_a_verdict_and_reports(sample, tmp_path):
    pack = mm.report(assess(sample.project(["sex"])), tmp_path / "out")

    assert pack.summary().startswith("No record is unique on the keys")
    assert (tmp_path / "out" / "internal" / "internal.html").exists()


def test_the_report_says_when_sampling_is_not_stated():
    frame = pl.DataFrame({"a": [1, 1, 2, 3]})
    sample = mm.read(frame, keys=["a"])
    said = "".join(
        texts(agency_sections(assess(sample, population=mm.count(frame, keys=sample.space))))
    )

    assert "A file of 4 records with 1 key (3 combinations). Sampling: not stated." in said


def test_one_unique_record_outside_the_population_is_reported_in_the_singular():
    space = mm.KeySpace([mm.Key("a", (1, 2, 3))])
    original, released = (
        mm.read(pl.DataFrame({"a": [1, 1, 2, last]}), keys=space, fraction=0.5) for last in (2, 3)
    )
    redrawn = mm.Release(original, released, {"a": np.full((3, 3), 1 / 3)})
    population = mm.count(pl.DataFrame({"a": [1, 1, 1, 1, 2, 2, 2, 2]}), keys=space)
    with without_warnings():
        said = "".join(texts(agency_sections(assess(redrawn, population=population))))

    assert "1 unique record has a combination of keys that nobody in the population" in said


def test_the_figures_survive_json_and_match_the_documented_schema(found):
    written = encoded(figures(found))
    schema = msgspec.json.schema(Figures)

    assert msgspec.json.decode(written, type=Figures) == figures(found)
    assert json.loads(written)["schema_version"] == 5
    documented = Path(__file__).parents[2] / "docs" / "assessment.schema.json"
    assert json.loads(documented.read_text(encoding="utf-8")) == json.loads(json.dumps(schema))


def test_the_documented_schemas_of_the_other_files_are_current():
    docs = Path(__file__).parents[2] / "docs"
    for name, kind in (("provenance", ProvenanceFile), ("comparison", Comparison)):
        documented = json.loads((docs / f"{name}.schema.json").read_text(encoding="utf-8"))
        assert documented == json.loads(json.dumps(msgspec.json.schema(kind)))


def test_a_report_has_its_sections_in_order(found):
    listed = agency_sections(found)

    assert [section.title for section in listed] == [
        "The risk",
        "Does the file give itself away?",
        "How the file was protected",
        "What was assessed",
        "Which keys drive the risk",
        "The risk of single records",
        "Information loss",
        "The releases compared",
        "The model behind the estimate",
        "What was not assessed",
        "Glossary",
    ]
    words = "".join(texts(listed))
    assert all(line in words for line in NOT_ASSESSED)
    assert "unique records at highest risk" in words
    assert str(SEED) not in words
    part = next(s for s in listed if s.title == "The model behind the estimate")
    gains, table = (block for block in blocks_of([part]) if isinstance(block, Table))
    assert gains.rows[0][0] == found.worst.risk.model.terms[0]
    assert any(isinstance(block, Fold) and table in block.blocks for block in part.blocks)
    assert table.head[2:4] == ("z1", "z2")
    assert len(table.rows) == len(found.worst.risk.model.score_path.path)


def test_the_first_screen_shows_the_decision(found):
    first = top(figures(found))

    assert first.mark == f"Target {found.mark}"
    facts = {fact.name: fact for fact in first.facts}
    assert list(facts) == [
        "Matches before",
        "Matches after",
        "Target",
        "Records changed",
        "Information loss",
    ]
    low, high = found.worst.before["informed"].interval
    assert facts["Matches before"].note.startswith(f"interval {low:.0f} to {high:.0f}")
    matched = found.worst.after["exact-match"].total
    assert facts["Matches after"].note.endswith(
        f"of the uniques before; {matched:.1f} by exact matching"
    )
    (both,) = first.blocks
    assert "RS20" in json.dumps(both.wider.chart.to_dict())
    assert len(both.other.rows) == 3
    least = min(found.worst.left_out, key=lambda pair: pair[1].risk)
    assert both.other.rows[0][0] == least[0]


def test_without_candidates_the_first_screen_shows_the_risk_before_and_after(found, sample):
    drawn = json.dumps(top(figures(replace(found, options=None))).blocks[0].wider.chart.to_dict())

    for risk in (*found.worst.before.values(), *found.worst.after.values()):
        assert str(risk.total)[:8] in drawn
    alone = top(figures(assess(sample)))
    assert alone.mark == ""
    assert [fact.name for fact in alone.facts] == ["Matches"]


def test_a_model_that_does_not_fit_gives_no_number(parity):
    with pytest.warns(ModelWarning) as warned:
        known = assess(parity, drop_one=False, target=Target(max_share=0.02))
    assert "not assessable with these keys" in str(warned[0].message)
    first = top(figures(known))

    z2 = known.worst.risk.model.goodness.z2
    assert abs(z2) > 8
    assert known.mark == "not assessable"
    assert not known.met
    assert first.lead.startswith("The risk is not assessable with these keys: the log-linear model")
    assert f"z2 is {z2:.1f}" in first.lead
    assert first.mark == "Not assessable"
    assert first.facts == first.blocks == ()
    assert "could be matched correctly" not in known.summary()
    assert "cannot be checked" in known.summary()
    assert not figures(known).scenarios[0].risk.assessable


def test_exact_risk_does_not_need_a_model_that_fits(parity):
    population = mm.count(pl.concat([parity.to_frame()] * 4), keys=parity.space)

    assert assess(parity, population=population, drop_one=False).assessable


def test_the_report_gives_the_share_of_records_actually_swapped(sample):
    """Nearly everybody lives in one district, so few of the requested pairs can be made."""
    frame = sample.to_frame().with_columns(
        lad=pl.when(pl.int_range(pl.len()) % 40 > 0).then(pl.lit("a")).otherwise(pl.lit("b"))
    )
    read = mm.read(frame, keys=KEYS, fraction=0.02)
    with without_warnings():
        short = mm.Swap("lad", rate=0.5).apply(read, rng=1)
    known = assess(short, drop_one=False)
    share = f"{100 * short.changed.mean():.1f}%"
    told = next(block for block in blocks_of(agency_sections(known)) if "Swapping" in repr(block))

    assert short.changed.mean() < 0.1
    assert told.sentences == (
        f"Swapping of lad: {share} of the records (50% asked for) exchanged it with another record.",
    )
    (step,) = figures(known).steps
    assert step_done(step) == told.sentences[0]
    assert (step.changed, step.asked) == pytest.approx((short.changed.mean(), 0.5))
    said = [
        block.words for block in blocks_of(agency_sections(known)) if getattr(block, "mark", "")
    ]
    assert any("records were swapped where" in words for words in said)
    assert any("records were swapped where" in one.text for one in figures(known).cautions)


@given(
    risks=st.lists(
        st.sampled_from([0.0, 0.01, 0.05, 0.07, 0.1, 0.15, 0.3, 0.5, 0.6, 1.0]), min_size=1
    ),
)
def test_risk_bands_contain_every_unique_record(found, risks):
    risk = replace(found.worst.risk, by_unique=np.array(risks), records=np.arange(len(risks)))
    bands = replace(found.worst, after={"informed": risk}).bands()
    counts = bands["count"].to_list()

    assert sum(counts) == len(risks)
    assert (bands["low"][0], bands["high"][-1]) == (0.0, 1.0)
    assert bands["high"].to_list()[:-1] == bands["low"].to_list()[1:]
    for low, high, count in bands.iter_rows():
        assert count == sum(low < one <= high or (low == 0 == one) for one in risks)
    assert counts[-1] == risk.above(0.5)  # the count in the verdict


def test_a_misleading_key_is_named(sample):
    scrambled = mm.Pram("lad", stay=0.05).apply(sample, rng=1)
    known = assess(scrambled, target=Target(max_share=0.1, intruder="exact-match"))

    (key, one), *_ = known.worst.better_without
    assert key == "lad"
    assert one.risk > known.worst.risk.total
    assert "An intruder who ignores lad would do better" in known.summary()
    assert "An intruder who ignores lad would do better" in top(figures(known)).under
    assert figures(known).worst.better_without[0].key == "lad"
    assert not assess(scrambled).worst.better_without  # who knows the method is not misled


def test_agency_files_are_readable_only_by_their_owner(release, tmp_path):
    mm.report(assess(release), tmp_path / "out")
    inside = tmp_path / "out" / "internal"
    modes = {path.name: path.stat().st_mode & 0o077 for path in (inside, *inside.iterdir())}

    for name in (
        "internal",
        "provenance.json",
        "risk_by_record.parquet",
        "internal.html",
        "assessment.json",
    ):
        assert modes[name] == 0, name


def test_a_folder_that_is_not_empty_is_left_as_it_is(release, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(mm.MaskmeterError, match="already exists and is not empty"):
        mm.report(assess(release), tmp_path, charts="svg")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_agency_files_say_first_that_they_are_confidential(release, tmp_path):
    mm.report(assess(release, drop_one=False), tmp_path / "out")
    inside = tmp_path / "out" / "internal"

    for name in ("assessment.json", "provenance.json"):
        first, said = next(iter(json.loads((inside / name).read_text(encoding="utf-8")).items()))
        assert (first, said) == ("confidential", "for the agency only"), name
    held = pl.read_parquet_metadata(inside / "risk_by_record.parquet")
    assert held["confidential"] == "for the agency only"
    page = (inside / "internal.html").read_text(encoding="utf-8")
    assert "Confidential: for the agency only" in page
    public = {path.name for path in (tmp_path / "out").iterdir() if path.is_file()}
    assert public == {"protected.parquet", "public.html"}


def test_with_many_keys_the_risk_without_each_key_is_not_measured(sample, monkeypatch):
    monkeypatch.setattr("maskmeter.evidence.scenario.MOST_KEYS", 3)

    assert assess(sample).worst.left_out == []
    said = "".join(texts(agency_sections(assess(sample))))
    assert "Not measured: with 4 keys" in said
    assert "The risk without one key" not in said


def test_a_finding_tells_of_households_that_a_change_splits(sample):
    frame = sample.to_frame().sort("lad").with_columns(hh=pl.int_range(pl.len()) // 3)
    read = mm.read(frame, keys=KEYS, fraction=0.02)
    swapped = mm.Swap("lad", rate=0.2).apply(read, rng=1)
    said = "".join(texts(agency_sections(assess(swapped, household="hh"))))

    assert "The household ('hh') gives away" in said
    assert "with one value before have several" in said


def test_report_writes_exactly_the_files_it_lists(release, tmp_path):
    pack = mm.report(assess(release, loss=[("lad", "age")]), tmp_path / "new" / "out", charts="png")

    assert [path.name for path in pack.files[:6]] == [
        "protected.parquet",
        "provenance.json",
        "risk_by_record.parquet",
        "assessment.json",
        "internal.html",
        "public.html",
    ]
    assert all(path.suffix == ".png" for path in pack.files[6:])
    assert sorted(pack.files) == sorted(p for p in (tmp_path / "new").rglob("*") if p.is_file())
    assert repr(pack) == f"Pack({str(tmp_path / 'new' / 'out')!r}, {len(pack.files)} files)"
    made = read_provenance(tmp_path / "new" / "out" / "internal" / "provenance.json")
    assert made.seed == str(SEED)
    assert made.plan.data.keys == KEYS
    frame = pl.read_parquet(tmp_path / "new" / "out" / "protected.parquet")
    assert frame.equals(release.released.to_frame())


def test_a_release_built_by_hand_has_no_provenance(sample, tmp_path):
    errors = mm.Misclassification({"sex": mm.stay_or_move(2, stay=0.9)}).on(sample)
    moved = sample.with_codes(errors.draw(sample.codes, rng=1))
    pack = mm.report(assess(mm.Release(sample, moved, errors)), tmp_path / "out")

    assert "provenance.json" not in [path.name for path in pack.files]
    assert "protected.parquet" in [path.name for path in pack.files]


def test_a_pack_records_what_its_format_loses(tmp_path):
    import pyreadstat

    frame = pl.DataFrame({"sex": [1.0, 2.0] * 50, "lad": [float(n % 5) for n in range(100)]})
    labels = {"sex": {1.0: "Male", 2.0: "Female"}}
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels=labels)
    read = mm.read(tmp_path / "a.sav", keys=["sex", "lad"], fraction=0.1)
    swapped = mm.Swap("lad", rate=0.2).apply(read, rng=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        known = assess(swapped)
        pack = mm.report(known, tmp_path / "same")
    other = write_pack(known, tmp_path / "other", Settings(ending="csv"), plan=Plan())

    assert pack.lost == ()
    assert "value labels" in other.lost[0]
    assert (tmp_path / "other" / "protected.csv").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"audience": "all"}, "`audience` must be one of"),
        ({"smallest_count": 0}, "`smallest_count` must be a whole number"),
        ({"charts": "gif"}, "`charts` must be one of"),
        ({"options": "RS20"}, "`options` must be a map (mm.compare)"),
    ],
)
def test_invalid_report_options_are_rejected_and_nothing_is_written(found, tmp_path, options, said):
    with pytest.raises(mm.MaskmeterError, match=re.escape(said)):
        mm.report(found, tmp_path / "out", **options)
    assert not list(tmp_path.iterdir())


def test_report_rejects_anything_but_an_assessment_of_a_release(release, sample, tmp_path):
    with pytest.raises(mm.MaskmeterError, match=r"Give an assessment \(mm.assess\), not a Release"):
        mm.report(release, tmp_path / "out")
    with pytest.raises(mm.MaskmeterError, match="this file was not protected"):
        mm.report(assess(sample, drop_one=False), tmp_path / "out", matrix=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"known": {"a": []}}, "'a' must name at least one key"),
        ({"known": {"a": " , "}}, "'a' must name at least one key"),
        ({"known": {"a": "lad,lat"}}, "Did you mean 'lad'"),
        ({"known": {"a": ["lat"]}}, "Did you mean 'lad'"),
        ({"target": 0.1}, "`target` must be an mm.Target"),
        ({"household": "hh"}, "'hh'"),
        ({"progress": 3}, "`progress` must be a function"),
        ({"loss": "lad"}, "`loss` must be a pair of columns"),
    ],
)
def test_invalid_options_of_assess_are_rejected(release, options, said):
    with pytest.raises(mm.MaskmeterError, match=re.escape(said)):
        assess(release, **options)


def test_the_provenance_records_the_options_of_assess_and_report(release, tmp_path):
    known = {"near": ["lad", "age"], "all": KEYS}
    target = mm.Target(max_share=0.2, by="estimate")
    with without_warnings():
        what = assess(
            release, known=known, loss=("lad", "age"), measure="raad", target=target, drop_one=False
        )
    mm.report(what, tmp_path, title="Ours", smallest_count=20, rates=True, matrix=True)
    plan = read_provenance(tmp_path / "internal" / "provenance.json").plan

    assert {name: one.keys for name, one in plan.scenario.items()} == known
    assert (plan.data.keys, plan.data.read) == ([], KEYS)
    assert (plan.loss.tables, plan.loss.measure) == ([("lad", "age")], "raad")
    assert (plan.target.max_share, plan.target.by) == (0.2, "estimate")
    assert plan.report == ReportPlan("Ours", "both", 20, rates=True, matrix=True)


@pytest.mark.parametrize("model", ["shrunk", "score-path"])
def test_a_report_on_some_known_keys_is_made_again_by_the_command(sample, tmp_path, model):
    sample.write(tmp_path / "survey.csv")
    survey = mm.read(tmp_path / "survey.csv", keys=KEYS, fraction=0.05)
    release = mm.Swap("lad", rate=0.2).apply(survey, rng=2**100)
    with without_warnings():
        found = mm.assess(release, known=["ethnicity", "age", "lad"], model=model)
    first = mm.report(found, tmp_path / "one")
    made = tmp_path / "one" / "internal" / "provenance.json"
    done = run("assess", tmp_path / "survey.csv", "--from", made, "--out", tmp_path / "two")

    assert done.returncode == 0, done.stderr
    for name in ("protected.csv", "internal/assessment.json", "internal/provenance.json"):
        assert (tmp_path / "two" / name).read_bytes() == (first.folder / name).read_bytes()


def test_a_report_on_a_key_of_many_numbers_is_made_again_by_the_command(tmp_path):
    rng, survey = np.random.default_rng(1), tmp_path / "survey.csv"
    towns = {"town": rng.integers(1000, 1300, 3000), "area": rng.choice(list("abcd"), 3000)}
    pl.DataFrame(towns).write_csv(survey)
    with without_warnings():
        sample = mm.read(survey, keys=["town", "area"], fraction=0.1)
        release = mm.Swap("area", rate=0.2).apply(sample)
        mm.report(assess(release, drop_one=False), tmp_path / "one")
    made = tmp_path / "one" / "internal" / "provenance.json"
    done = run("protect", survey, "--from", made, "--out", tmp_path / "again.csv")

    assert done.returncode == 0, done.stderr
    protected = tmp_path / "one" / "protected.csv"
    assert (tmp_path / "again.csv").read_bytes() == protected.read_bytes()


def test_matrices_are_written_readable_only_by_their_owner(release, tmp_path):
    pack = mm.report(assess(release, drop_one=False), tmp_path, matrix=True)
    frame = pl.read_csv(tmp_path / "internal" / "matrix.csv")
    sums = frame.group_by("key", "stratum", "true").agg(pl.col("probability").sum())

    assert tmp_path / "internal" / "matrix.csv" in pack.files
    assert (tmp_path / "internal" / "matrix.csv").stat().st_mode & 0o077 == 0
    assert frame.columns == ["key", "stratum", "true", "released", "probability"]
    assert sums["probability"].to_numpy() == pytest.approx(1)
    P = release.mechanism.factors[0].P
    assert np.sort(frame["probability"]) == pytest.approx(np.sort(P[P > 0]))


def test_an_assessment_has_the_views_of_every_result(found, sample):
    frame = found.to_frame()
    values = {(who, figure): value for _, who, figure, value, _ in frame.iter_rows()}
    worst = found.worst

    assert frame.columns == ["scenario", "intruder", "figure", "value", "unprotected"]
    for intruder, risk in worst.after.items():
        assert values[intruder, "correct matches"] == risk.total
        assert values[intruder, "unique records"] == risk.uniques
        assert values[intruder, "largest risk of a record"] == risk.largest
    assert frame["unprotected"][1] == worst.before["exact-match"].total
    assert found.summary() == figures(found).verdict
    assert repr(found).startswith("Assessment(1 scenario; worst EstimatedRisk(")
    drawn = json.dumps(found.plot().to_dict())
    assert all(str(risk.total)[:8] in drawn for risk in worst.after.values())
    assert assess(sample, drop_one=False).to_frame()["unprotected"].null_count() == 16


def test_figures_contain_no_record_value_and_no_seed(tmp_path):
    frame = pl.DataFrame({"lad": [f"Qz7{n % 9}" for n in range(300)], "age": range(300)})
    read = mm.read(frame.with_columns(pl.col("age") % 40), keys=["lad", "age"], fraction=0.1)
    with without_warnings():
        known = figures(assess(mm.Swap("lad", rate=0.2).apply(read, rng=SEED)))
    written = encoded(msgspec.structs.replace(known, loss=())).decode()  # BVR is listed by category

    assert "Qz7" not in written
    assert str(SEED) not in written


def test_the_glossary_has_the_methods_that_were_used_each_once(sample):
    steps = [mm.Recode("ethnicity", groups=_halves(sample)), mm.Pram("lad", 0.8)]
    with without_warnings():
        release = mm.protect(sample, [*steps, mm.Pram("age", 0.9), mm.Subsample(0.9)], rng=1)
        known, bare = figures(assess(release, drop_one=False)), figures(assess(sample))
    methods = {step.term[0] for step in STEPS}

    for told in (known, redact(known, Policy())):
        words = [word for word, _ in glossary(told)]
        assert [one for one in words if one in methods] == ["Recoding", "PRAM", "Subsampling"]
    assert not methods & {word for word, _ in glossary(bare)}


def _halves(sample):
    return {"others": list(sample.space["ethnicity"].categories[1:])}


def test_a_report_to_an_unwritable_folder_is_rejected(release, tmp_path):
    (tmp_path / "file").write_text("x")
    for folder in (tmp_path / "file", tmp_path / "file" / "out"):
        with pytest.raises(mm.MaskmeterError, match="Cannot write to"):
            mm.report(assess(release), folder)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"schema_version": 4}', "\x00", "[" * 10**5])
def test_invalid_provenance_files_are_rejected(tmp_path, text):
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(mm.MaskmeterError, match="not a provenance"):
        read_provenance(tmp_path / "p.json")
    with pytest.raises(mm.MaskmeterError, match="no such file"):
        read_provenance(tmp_path / "none.json")


def test_the_error_for_an_older_provenance_says_what_to_do(release, tmp_path):
    mm.report(assess(release, drop_one=False), tmp_path)
    path = tmp_path / "internal" / "provenance.json"
    older = json.loads(path.read_text(encoding="utf-8")) | {"schema_version": 1}
    path.write_text(json.dumps(older))
    with pytest.raises(mm.MaskmeterError, match=r"version 1, .* with the maskmeter that wrote it"):
        read_provenance(path)


def test_by_record_has_one_risk_column_per_scenario(release):
    known = assess(release, known={"near": ["lad", "age"], "all": KEYS}, drop_one=False)
    frame = known.by_record()

    assert frame.columns == [
        "record",
        *(f"key {name}" for name in KEYS),
        "unique",
        "risk",
        "informed",
        "risk near",
        "informed near",
        "risk all",
        "informed all",
    ]
    assert frame["risk"].equals(frame["risk all"].alias("risk"))
    assert np.array_equal(frame["informed near"], known.scenarios[0].risk.by_record)
    assert (frame["informed"] >= frame["risk"]).all()


def test_exact_risk_is_null_for_records_that_are_not_unique(town, release):
    population = mm.count(town, keys=release.original.space)
    known = assess(release, population=population, drop_one=False)
    frame = known.by_record()

    assert frame["risk"].null_count() == (~frame["unique"]).sum()
    assert [equation for equation, _, _ in known.worst.others] == [
        "(2.5)",
        "(2.6)",
        "(2.7)",
        "(2.9)",
    ]
    for intruder, risk in known.worst.after.items():
        assert risk.total == mm.exact_risk(release, population, intruder=intruder).total


@pytest.mark.parametrize(
    ("seed", "guessable"), [(20260131, True), (2**64 - 1, True), (2**64, False)]
)
def test_a_guessable_seed_is_a_caution_only_for_the_agency(sample, tmp_path, seed, guessable):
    made = mm.Swap("lad", rate=0.1).apply(sample, rng=seed)
    pack = mm.report(assess(made, drop_one=False), tmp_path)
    told = {
        "internal/internal.html": guessable,
        "internal/assessment.json": guessable,
        "public.html": False,
    }

    for name, expected in told.items():
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert ("seed of this release is so small" in text) == expected, name
        assert str(seed) not in text
    assert any("trying numbers" in caution for caution in pack.cautions) == guessable
    assert str(seed) not in " ".join(pack.cautions)


def test_the_fixed_seed_of_the_demonstration_gives_no_caution(tmp_path):
    story = run_demo(tmp_path, size=20_000)

    assert story.found.release.provenance.seed == 2010
    assert not any("seed" in caution for caution in story.pack.cautions)
