"""The evidence: what an assessment finds, what its reports tell to whom, and what a pack keeps together."""

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
from maskmeter.errors import without_warnings
from maskmeter.evidence import assess
from maskmeter.evidence.figures import Comparison, Figures, encoded, figures
from maskmeter.evidence.pack import Settings, write_pack
from maskmeter.evidence.provenance import ProvenanceFile, read_provenance
from maskmeter.evidence.sections import sections
from maskmeter.evidence.words import NOT_ASSESSED, Audience, told_counts, verdict
from maskmeter.page import Figure, Table, Text
from maskmeter.plan import Plan
from maskmeter.riskutility.finding import Target

KEYS = ["lad", "sex", "age", "ethnicity"]
SEED = 987_654_321_987
AGENCY, PUBLIC = Audience(public=False), Audience(public=True)


@pytest.fixture(scope="module")
def town():
    return mm.synthetic_census(size=200_000)


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
    target = Target.of(max_share=0.02)
    known = assess(release, loss=[("lad", "ethnicity")], target=target)
    return replace(known, options=options, chosen="RS20")


def texts(listed):
    """Yield every word of some sections, those in charts too."""
    for section in listed:
        for block in section.blocks:
            if isinstance(block, Figure):
                yield json.dumps(block.chart.to_dict())
            else:
                yield repr(block)


def test_a_scenario_sees_the_release_through_its_keys(release):
    known = assess(release, scenarios={"near": ["lad", "age"], "all": KEYS})
    near, whole = known.scenarios

    with without_warnings():  # few are unique on two keys
        assert near.risk.total == mm.estimate_risk(release.project(["lad", "age"])).total
    assert whole.risk.total == mm.estimate_risk(release).total
    assert known.worst is whole
    left_out = dict(whole.left_out)
    assert set(left_out) == set(KEYS)
    assert left_out["lad"].exact == pytest.approx(left_out["lad"].without_error)  # only lad moved


def test_a_target_must_be_met_by_the_upper_end_in_every_scenario(release):
    scenarios = {"near": ["lad", "sex"], "all": KEYS}
    known = assess(release, scenarios=scenarios, drop_one=False)
    low, high = known.worst.risk.interval

    assert replace(known, target=Target.of(max_total=high + 1)).met
    between = replace(known, target=Target.of(max_total=(low + high) / 2 + 1))
    assert not between.met
    assert "is not met in all at the upper end of the interval" in verdict(between, AGENCY)
    assert known.met is None


def test_natural_error_is_seen_in_every_scenario(sample):
    errors = mm.Misclassification({"age": mm.stay_or_move(24, stay=0.8)})
    plain, wrong = (
        assess(
            sample,
            scenarios={"a": ["age", "ethnicity"], "b": ["lad", "sex"]},
            misclassification=one,
        )
        for one in (None, errors)
    )

    assert wrong.scenarios[0].risk.total < plain.scenarios[0].risk.total
    assert wrong.scenarios[1].risk.total == pytest.approx(plain.scenarios[1].risk.total, rel=0.2)


def test_the_verdict_is_the_headline(found, release):
    risk = mm.estimate_risk(release)
    said = verdict(found, AGENCY)

    assert said.startswith(
        f"About {risk.total:.1f} of {risk.uniques:,} unique records could be matched correctly;"
        f" {risk.above(0.5)} of them with probability over one half."
    )
    assert "Without protection it would be about" in said
    assert "The target of at most 2%" in said


def test_a_file_without_uniques_has_a_verdict_and_reports(sample, tmp_path):
    pack = mm.report(sample.project(["sex"]), tmp_path / "out")

    assert pack.summary().startswith("No record is unique on the keys")
    assert (tmp_path / "out" / "internal.html").exists()


def test_the_figures_are_the_json_and_follow_their_schema(found):
    written = encoded(figures(found))
    schema = msgspec.json.schema(Figures)

    assert msgspec.json.decode(written, type=Figures) == figures(found)
    assert json.loads(written)["schema_version"] == 1
    documented = Path(__file__).parents[1] / "docs" / "assessment.schema.json"
    assert json.loads(documented.read_text(encoding="utf-8")) == json.loads(json.dumps(schema))


def test_the_schemas_of_the_other_files_are_documented():
    docs = Path(__file__).parents[1] / "docs"
    for name, kind in (("provenance", ProvenanceFile), ("comparison", Comparison)):
        documented = json.loads((docs / f"{name}.schema.json").read_text(encoding="utf-8"))
        assert documented == json.loads(json.dumps(msgspec.json.schema(kind)))


def test_a_report_has_its_parts_in_order(found):
    titles = [section.title for section in sections(found, AGENCY)]

    assert titles == [
        "What was assessed",
        "How the file was protected",
        "The risk",
        "The risk of single records",
        "Which keys drive the risk",
        "The model behind the estimate",
        "What protection costs",
        "The choices",
        "What was not assessed",
        "Glossary",
    ]
    words = "".join(texts(sections(found, AGENCY)))
    assert all(line in words for line in NOT_ASSESSED)
    path = next(s for s in sections(found, AGENCY) if s.title == "The model behind the estimate")
    table = next(block for block in path.blocks if isinstance(block, Table))
    assert table.head[2:4] == ("z1", "z2")
    assert len(table.rows) == len(found.worst.risk.search.path)


def test_the_agency_sees_records_and_rates_and_the_public_does_not(found):
    agency, public = ("".join(texts(sections(found, who))) for who in (AGENCY, PUBLIC))

    assert "unique records with the most risk" in agency
    assert "unique records with the most risk" not in public
    assert "Where the risk is" not in public
    assert "records changed" in agency
    assert "records changed" not in public
    assert "RS20" in agency
    assert "RS20" not in public
    assert "release 1" in public
    assert str(SEED) not in agency + public
    wanted = "".join(texts(sections(found, Audience(public=True, rates=True))))
    assert "RS20" in wanted
    assert f"{100 * found.release.changed.mean():.1f}%" in wanted


@pytest.mark.parametrize("smallest", [10, 50, 1000])
def test_the_public_report_has_no_small_count(found, smallest):
    readers = Audience(public=True, smallest=smallest)
    counted = ("unique records", "unique", "records", "over one half")
    seen = 0
    for section in sections(found, readers):
        for block in section.blocks:
            if not isinstance(block, Table):
                continue
            for position, name in enumerate(block.head):
                if name in counted:
                    for row in block.rows:
                        seen += 1
                        cell = row[position].replace(",", "").removeprefix("about ")
                        hidden = cell.startswith("fewer than") or cell == "not shown"
                        assert hidden or int(cell) == 0 or int(cell) >= smallest
    assert seen > 3
    bands = found.worst.bands(smallest)["count"].to_list()
    assert sum(bands) == found.worst.risk.uniques
    assert min(bands) >= min(smallest, sum(bands))  # no difference tells a smaller one
    said = verdict(found, readers)
    for number in re.findall(r"(?<![\d.])(\d[\d,]*) (?:unique|of them)", said):
        assert int(number.replace(",", "")) == 0 or int(number.replace(",", "")) >= smallest
    assert ("unique on the keys and could be matched" in said) == (
        found.worst.risk.uniques < smallest
    )


@given(
    risks=st.lists(
        st.sampled_from([0.0, 0.01, 0.05, 0.07, 0.1, 0.15, 0.3, 0.5, 0.6, 1.0]), min_size=1
    ),
    smallest=st.integers(0, 30),
)
def test_bands_hold_every_unique_and_none_holds_few(found, risks, smallest):
    risk = replace(found.worst.risk, by_cell=np.array(risks), records=np.arange(len(risks)))
    bands = replace(found.worst, risk=risk).bands(smallest)
    counts = bands["count"].to_list()

    assert sum(counts) == len(risks)
    assert min(counts) >= min(smallest, len(risks))
    assert (bands["low"][0], bands["high"][-1]) == (0.0, 1.0)
    assert bands["high"].to_list()[:-1] == bands["low"].to_list()[1:]
    for low, high, count in bands.iter_rows():
        assert count == sum(low < one <= high or (low == 0 == one) for one in risks)
    if not smallest:
        assert counts[-1] == risk.above(0.5)  # as the verdict counts


def test_files_whose_uniques_are_all_risky_have_a_public_report(tmp_path):
    everyone = pl.DataFrame({"a": [f"x{n}" for n in range(40)], "b": ["y", "z"] * 20})
    with without_warnings():
        pack = mm.report(mm.read(everyone, keys=["a", "b"], fraction=1.0), tmp_path / "out")

    assert (tmp_path / "out" / "public.html").exists()
    assert pack.assessment.worst.bands(10)["count"].to_list() == [40]


def test_the_data_of_public_charts_hold_no_rate_and_no_more_digits_than_needed(found):
    held = [
        json.dumps(block.chart.to_dict())
        for section in sections(found, PUBLIC)
        for block in section.blocks
        if isinstance(block, Figure)
    ]
    assert len(held) >= 4
    for spec in held:
        assert '"changed"' not in spec
        assert '"share"' not in spec
        rows = [row for data in json.loads(spec)["datasets"].values() for row in data]
        figures = [value for row in rows for value in row.values() if isinstance(value, float)]
        assert all(value == float(f"{value:.3g}") for value in figures)
    agency = "".join(texts(sections(found, AGENCY)))
    assert f'"changed": {found.options["RS20"].changed}' in agency  # what would have been told


def test_the_lead_rounds_what_the_table_rounds(found):
    readers = Audience(public=True, smallest=50)
    after, before = found.worst.risk.uniques, found.worst.before.uniques
    assert 0 < after - before < 50
    told = told_counts(found, readers)
    words = verdict(found, readers) + "".join(texts(sections(found, readers)))

    assert told[after] == f"about {round(after / 50) * 50}"
    assert f"of {round(after / 50) * 50} unique records" in verdict(found, readers)
    assert not re.search(rf"(?<![\d.]){after}(?![\d.])", words)
    assert not re.search(rf"(?<![\d.]){before}(?![\d.])", words)


def test_small_differences_of_counts_are_not_told_to_the_public():
    assert PUBLIC.counts([171, 169]) == ["about 170", "about 170"]
    assert PUBLIC.counts([171, 100]) == ["171", "100"]
    assert AGENCY.counts([171, 169]) == ["171", "169"]


def test_a_key_that_misleads_is_named_to_the_agency_alone(sample):
    scrambled = mm.Pram("lad", stay=0.05).apply(sample, rng=1)
    known = assess(scrambled)

    (key, one), *_ = known.worst.better_without
    assert key == "lad"
    assert one.exact > known.worst.risk.total
    assert "An intruder who ignores lad would do better" in verdict(known, AGENCY)
    assert "ignores" not in verdict(known, PUBLIC)
    assert "better without" not in "".join(texts(sections(known, PUBLIC)))
    assert figures(known).scenarios[0].better_without[0] == "lad"


def test_agency_files_are_for_their_owner_alone(release, tmp_path):
    mm.report(release, tmp_path / "out")
    modes = {path.name: path.stat().st_mode & 0o077 for path in (tmp_path / "out").iterdir()}

    for name in ("provenance.json", "risk_by_record.parquet", "internal.html", "assessment.json"):
        assert modes[name] == 0, name


def test_what_stands_in_the_way_is_found_before_anything_is_moved(release, tmp_path):
    (tmp_path / "charts").write_text("mine")
    with pytest.raises(mm.MaskmeterError, match="'charts' is in the way"):
        mm.report(release, tmp_path, charts="svg")
    assert [path.name for path in tmp_path.iterdir()] == ["charts"]


def test_the_provenance_of_another_release_is_not_overwritten(sample, tmp_path):
    first, second = (mm.Swap("lad", rate=0.2).apply(sample, rng=seed) for seed in (1, 2))
    mm.report(first, tmp_path)
    before = (tmp_path / "provenance.json").read_bytes()
    mm.report(first, tmp_path)
    with pytest.raises(mm.MaskmeterError, match="provenance of another release"):
        mm.report(second, tmp_path)

    assert (tmp_path / "provenance.json").read_bytes() == before


def test_many_keys_are_not_left_out_one_by_one(sample, monkeypatch):
    monkeypatch.setattr("maskmeter.evidence.assessment.MOST_KEYS", 3)

    assert assess(sample).worst.left_out == []
    titles = [section.title for section in sections(assess(sample), AGENCY)]
    assert "Which keys drive the risk" not in titles


def test_households_that_show_a_change_are_cautioned_about(sample):
    frame = sample.to_frame().with_columns(hh=pl.int_range(pl.len()) // 2)
    read = mm.read(frame, keys=KEYS, fraction=0.02)
    swapped = mm.Swap("lad", rate=0.2).apply(read, rng=1)
    said = "".join(texts(sections(assess(swapped, household="hh"), AGENCY)))

    assert "members of a household that differ" in said


def test_cautions_are_told_to_the_public_without_their_counts(sample):
    few = mm.read(sample.to_frame()[:60], keys=KEYS, fraction=0.02)
    known = assess(few, drop_one=False)
    agency, public = (
        [
            block.words
            for section in sections(known, who)
            for block in section.blocks
            if isinstance(block, Text) and block.mark == "Caution"
        ]
        for who in (AGENCY, PUBLIC)
    )

    assert len(agency) == len(public) > 0
    assert any(re.search(r"\d", line) for line in agency)
    assert not any(re.search(r"\d", line) for line in public)


def test_report_writes_what_it_says(release, tmp_path):
    pack = mm.report(release, tmp_path / "new" / "out", loss=[("lad", "age")], charts="png")

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
    made = read_provenance(tmp_path / "new" / "out" / "provenance.json")
    assert made.seed == str(SEED)
    assert made.plan.data.keys == KEYS
    frame = pl.read_parquet(tmp_path / "new" / "out" / "protected.parquet")
    assert frame.equals(release.released.to_frame())


def test_a_release_put_together_by_hand_has_no_provenance(sample, tmp_path):
    errors = mm.Misclassification({"sex": mm.stay_or_move(2, stay=0.9)}).on(sample)
    moved = sample.with_codes(errors.draw(sample.codes, rng=1))
    pack = mm.report(mm.Release(sample, moved, errors), tmp_path / "out")

    assert "provenance.json" not in [path.name for path in pack.files]
    assert "protected.parquet" in [path.name for path in pack.files]


def test_what_a_format_loses_is_kept_with_the_pack(tmp_path):
    import pyreadstat  # noqa: PLC0415 - only this test writes SPSS

    frame = pl.DataFrame({"sex": [1.0, 2.0] * 50, "lad": [float(n % 5) for n in range(100)]})
    labels = {"sex": {1.0: "Male", 2.0: "Female"}}
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels=labels)
    read = mm.read(tmp_path / "a.sav", keys=["sex", "lad"], fraction=0.1)
    swapped = mm.Swap("lad", rate=0.2).apply(read, rng=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pack = mm.report(swapped, tmp_path / "same")
    known = assess(swapped)
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
        ({"scenarios": {"a": []}}, "'a' must be a list of at least one key"),
        ({"scenarios": {"a": "lad"}}, "'a' must be a list of at least one key"),
        ({"scenarios": {"a": ["lat"]}}, "Did you mean 'lad'"),
        ({"max_share": 2}, "`max_share` must be a number"),
        ({"max_share": 0.1, "max_total": 3}, "one of the two"),
        ({"household": "hh"}, "'hh'"),
        ({"progress": 3}, "`progress` must be a function"),
    ],
)
def test_reports_that_cannot_be_made_leave_nothing(release, tmp_path, options, said):
    with pytest.raises(mm.MaskmeterError, match=re.escape(said)):
        mm.report(release, tmp_path / "out", **options)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_to(release, tmp_path):
    (tmp_path / "file").write_text("x")
    for folder in (tmp_path / "file", tmp_path / "file" / "out"):
        with pytest.raises(mm.MaskmeterError, match="Cannot write to"):
            mm.report(release, folder)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"schema_version": 1}', "\x00"])
def test_what_is_no_provenance_is_refused(tmp_path, text):
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(mm.MaskmeterError, match="not a provenance"):
        read_provenance(tmp_path / "p.json")
    with pytest.raises(mm.MaskmeterError, match="no such file"):
        read_provenance(tmp_path / "none.json")


def test_records_of_all_scenarios_stand_beside_each_other(release):
    known = assess(release, scenarios={"near": ["lad", "age"], "all": KEYS}, drop_one=False)
    frame = known.by_record()

    assert frame.columns == [
        "record",
        *(f"key {name}" for name in KEYS),
        "unique",
        "risk",
        "risk near",
        "risk all",
    ]
    assert frame["risk"].equals(frame["risk all"].alias("risk"))
    assert np.array_equal(frame["risk near"], known.scenarios[0].risk.by_record)


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
    assert known.worst.risk.total == mm.exact_risk(release, population).total
