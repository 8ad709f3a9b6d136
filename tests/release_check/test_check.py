"""The release check finds files that give themselves away, and lets innocent ones pass.

The files have the structure of real ones: 10,000 records, of which 1,000 are changed.
"""

import tomllib
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import maskmeter as mm

RECORDS = 10_000
DISTRICTS = 12


def people(seed, **columns):
    """Return records with a district, a sex and an age group that are independent, in random order."""
    draws = np.random.default_rng(seed)
    frame = {
        "lad": draws.integers(DISTRICTS, size=RECORDS),
        "sex": draws.integers(2, size=RECORDS),
        "age": draws.integers(8, size=RECORDS),
    }
    return pl.DataFrame(frame | columns)


def swapped(frame, seed=1):
    sample = mm.read(frame, keys=["lad", "sex", "age"], fraction=0.1)
    return mm.Swap("lad", rate=0.1).apply(sample, rng=seed)


def only(check, kind, column=""):
    (found,) = [one for one in check.findings if (one.kind, one.column) == (kind, column)]
    return found


@pytest.mark.parametrize("blocks", [1, 25])
def test_a_sorted_or_blocked_file_undoes_a_swap_and_a_shuffled_one_does_not(blocks):
    """In blocks, districts come back: interviewers' tours, say."""
    ordered = people(1).with_columns(tour=pl.int_range(RECORDS) % blocks).sort("tour", "lad")
    found = only(mm.check_release(swapped(ordered.drop("tour"))), "order")

    assert found.changed == pytest.approx(1_000, abs=20)
    assert found.severity == "blocker"
    assert found.found > 0.9 * found.changed

    shuffled = swapped(ordered.drop("tour")).finished(shuffle=True)
    found = only(mm.check_release(shuffled), "order")
    assert found.severity == "passed"
    # No better than the method alone: five standard errors of a guess for each record.
    assert found.found - found.baseline < 5 * (2 * found.changed / DISTRICTS) ** 0.5


def test_a_kept_detailed_code_gives_away_every_change_of_its_parent():
    frame = people(2)
    ward = frame["lad"] * 10 + np.random.default_rng(3).integers(10, size=RECORDS)
    check = mm.check_release(swapped(frame.with_columns(ward=ward)))
    found = only(check, "column", "ward")

    assert (found.severity, found.found) == ("blocker", found.changed)
    assert not check.passed
    assert f"{found.changed:,} of {found.changed:,} changed values of 'lad'" in check.summary()
    assert "Drop 'ward'" in check.summary()


def test_households_that_a_swap_of_records_splits_are_counted():
    home = np.sort(np.arange(RECORDS) // 4)
    frame = people(4).with_columns(lad=pl.Series(home % DISTRICTS), home=pl.Series(home))
    frame = frame.sample(fraction=1, shuffle=True, seed=2)
    release = swapped(frame)
    found = only(mm.check_release(release, household="home"), "household", "home")

    after = release.to_frame().group_by("home").agg(pl.col("lad").n_unique())["lad"]
    assert found.severity == "blocker"
    assert f"{(after > 1).sum():,} households with one value before have several" in str(found)
    assert found.found > 0.9 * found.changed


def test_a_district_outside_its_kept_region_stands_out():
    frame = people(5).with_columns(region=pl.col("lad") // 3)
    found = only(mm.check_release(swapped(frame)), "stands-out", "region")

    # Three of four moves leave the region; the others cannot be told from those who stayed.
    assert found.severity == "blocker"
    assert 0.6 < found.share < 0.95


def test_what_the_method_itself_tells_is_not_held_against_a_column():
    """Where nobody of a category stays, the matrix says that all were changed."""
    frame = people(6)
    sample = mm.read(frame, keys=["lad", "sex", "age"], fraction=0.1)
    rate = mm.by("age", {0: 1.0}, otherwise=0.0)
    check = mm.check_release(mm.Swap("lad", rate=rate).apply(sample, rng=1))
    found = only(check, "stands-out", "age")

    assert found.found == found.baseline == found.changed
    assert found.severity == "passed"
    assert check.passed


def test_an_innocent_file_passes_in_99_of_100_draws():
    """Random order, unrelated columns: guesses are right for one in twelve or fewer."""
    passed = 0
    for seed in range(100):
        draws = np.random.default_rng(1_000 + seed)
        frame = people(
            seed, job=draws.integers(30, size=RECORDS), rent=draws.gamma(2, 400, RECORDS).round(-1)
        )
        check = mm.check_release(swapped(frame, seed))
        passed += {one.severity for one in check.findings} == {"passed"}

    assert passed >= 99


def test_a_column_that_gives_away_seven_in_ten_changes_is_a_blocker_in_99_of_100_draws():
    blocked = 0
    for seed in range(100):
        frame, draws = people(seed), np.random.default_rng(2_000 + seed)
        area = np.where(draws.random(RECORDS) < 0.7, frame["lad"], DISTRICTS + frame["sex"])
        check = mm.check_release(swapped(frame.with_columns(area=pl.Series(area)), seed))
        blocked += only(check, "column", "area").severity == "blocker"

    assert blocked >= 99


def test_few_changes_are_judged_by_their_lower_bound():
    frame = people(7).head(300).sort("lad")
    found = only(mm.check_release(swapped(frame)), "order")

    assert found.changed < 100
    assert found.severity == "blocker"
    small = people(7).head(40).sort("lad")
    found = only(mm.check_release(swapped(small)), "order")
    assert found.changed <= 4
    assert found.severity != "blocker"


def test_identifiers_values_of_their_own_and_dates_are_named():
    days = [date(1950, 1, 1) + timedelta(days=int(day)) for day in range(RECORDS)]
    frame = people(8).with_columns(
        person_id=pl.int_range(RECORDS),
        remark=pl.int_range(RECORDS).cast(pl.String) + " words",
        income=pl.int_range(RECORDS) * 1.5,
        born=pl.Series(days),
        interview=pl.Series([f"{day % 28 + 1}/{day % 12 + 1}/2026" for day in range(RECORDS)]),
        id_kind=pl.int_range(RECORDS) % 3,
    )
    check = mm.check_release(swapped(frame))
    found = {one.column: (one.kind, one.severity) for one in check.findings if not one.key}

    assert found == {
        "person_id": ("identifier", "blocker"),
        "remark": ("identifier", "blocker"),
        "income": ("near-unique", "caution"),
        "born": ("date", "caution"),
        "interview": ("date", "caution"),
    }


def test_an_accepted_finding_carries_its_reason():
    frame = people(9).with_columns(remark=pl.int_range(RECORDS).cast(pl.String) + " words")
    accept = [{"kind": "identifier", "column": "remark", "reason": "Made up for training."}]
    check = mm.check_release(swapped(frame), accept=accept)

    assert check.passed
    assert "Accepted because: Made up for training." in check.summary()
    assert repr(check).startswith("ReleaseCheck(0 blockers, 0 cautions, 1 accepted, ")


@pytest.mark.parametrize(
    ("accept", "says"),
    [
        ({"kind": "identifier", "column": "remark"}, "a `reason`"),
        ({"kind": "identifier", "column": "remark", "reason": " "}, "a `reason`"),
        ({"kind": "weather", "column": "remark", "reason": "x"}, "`kind` must be one of"),
        ({"kind": "date", "column": "sax", "reason": "x"}, "no such column among its"),
        ("remark", "a `reason`"),
    ],
)
def test_what_cannot_be_accepted_is_refused(accept, says):
    with pytest.raises(mm.MaskmeterError, match=says):
        mm.check_release(swapped(people(10).head(500)), accept=[accept])


def test_an_unknown_household_column_is_refused():
    with pytest.raises(mm.MaskmeterError, match="No column named 'hid'"):
        mm.check_release(swapped(people(10).head(500)), household="hid")


def test_a_sample_is_refused_with_the_way_to_check_it():
    sample = mm.read(people(10).head(500), keys=["lad", "sex"], fraction=0.1)

    with pytest.raises(mm.MaskmeterError, match=r"must be an mm\.Release"):
        mm.check_release(sample)


def test_records_in_an_engine_are_refused(tmp_path):
    people(10).head(500).write_parquet(tmp_path / "people.parquet")
    sample = mm.read(
        tmp_path / "people.parquet", keys=["lad", "sex"], fraction=0.1, engine="polars"
    )

    with pytest.raises(mm.MaskmeterError, match="A release check needs every record in memory"):
        mm.check_release(mm.Pram("lad", stay=0.9).apply(sample, rng=1))


def test_a_release_without_changes_has_nothing_to_give_away():
    sample = mm.read(people(11), keys=["lad", "sex", "age"], fraction=0.1)
    check = mm.check_release(mm.Release.unchanged(sample))

    assert check.passed
    assert check.findings == ()
    assert check.summary() == (
        "Release check passed: 0 blockers, 0 cautions, 0 accepted, 0 passed."
    )


def test_every_view_of_a_check_shows_the_same_findings():
    check = mm.check_release(swapped(people(12).head(2_000).sort("lad")))
    frame = check.to_frame()

    assert frame.height == len(check.findings)
    assert frame["severity"][0] == "blocker"
    drawn = str(check.plot().to_dict())
    assert "What the file gives away of lad" in drawn
    assert "'order of rows'" in drawn
    assert "'sex shows who was changed'" in drawn
    (bars,) = check.plot().to_dict()["datasets"].values()
    assert min(bar["records"] for bar in bars) == 0  # fewer than the method tells is nothing
    assert max(bar["records"] for bar in bars) > 100
    assert "Release check not passed" in check._repr_html_()


def test_missing_values_and_lists_make_no_trouble():
    holes = [None if row % 3 else "x" for row in range(500)]
    frame = (
        people(13)
        .head(500)
        .with_columns(
            hole=pl.Series(holes), lists=pl.Series([[1]] * 500), never=pl.Series([None] * 500)
        )
    )
    check = mm.check_release(swapped(frame))

    assert "hole" in {one.column for one in check.findings}
    assert "never" not in {one.column for one in check.findings}
    assert only(check, "unread", "lists").severity == "caution"


@pytest.mark.parametrize("ending", [".csv", ".sav", ".parquet"])
def test_a_file_that_is_sorted_by_a_changed_key_gives_it_away(ending, tmp_path):
    frame = pl.DataFrame({"area": sorted(list("abc") * 200), "sex": ["f", "m"] * 300})
    mm.read(frame, keys=["area"]).write(tmp_path / f"a{ending}")
    sample = mm.read(tmp_path / f"a{ending}", keys=["area", "sex"], fraction=0.1)
    orders = [
        only(mm.check_release(mm.Swap(key, 0.3).apply(sample, rng=1)), "order")
        for key in ("area", "sex")
    ]

    assert orders[0].severity == "blocker"
    assert orders[1].severity == "passed"  # every other record is a woman, who may stand anywhere


@pytest.mark.parametrize("order", [int, str], ids=["as numbers", "as text"])
def test_a_file_that_is_sorted_by_many_small_categories_gives_them_away(order, tmp_path):
    """Ten neighbours on each side would be of other categories: the nearest tell."""
    ages = sorted(map(str, [*range(5, 105)] * 6), key=order)
    pl.DataFrame({"age": ages, "sex": ["f", "m"] * 300}).write_csv(tmp_path / "a.csv")
    sample = mm.read(tmp_path / "a.csv", keys=["age", "sex"], fraction=0.1)
    release = mm.Swap("age", 0.2).apply(sample, rng=1)

    assert only(mm.check_release(release), "order").severity == "blocker"
    assert only(mm.check_release(release.finished(shuffle=True)), "order").severity == "passed"


def test_sorted_records_of_which_some_are_left_out_give_themselves_away():
    ordered = people(5).sort("lad")
    sample = mm.read(ordered, keys=["lad", "sex", "age"], fraction=0.1)
    release = mm.protect(sample, [mm.Swap("lad", 0.1), mm.Subsample(0.5)], rng=1)

    assert only(mm.check_release(release), "order").severity == "blocker"


def test_a_second_draw_of_the_same_file_exposes_the_first():
    frame = people(6).with_columns(income=np.random.default_rng(7).normal(size=RECORDS))
    first, second = swapped(frame, seed=1), swapped(frame, seed=2).finished(shuffle=True)
    check = mm.check_release(second, earlier=[first.to_frame()])
    found = only(check, "earlier", "number 1")

    assert found.severity == "blocker"
    assert found.found == pytest.approx(0.9 * found.changed, rel=0.05)  # those it had not changed
    assert "10,000 of 10,000 records are recognised in both" in str(found)
    same = mm.check_release(second, earlier=[swapped(frame, seed=2).to_frame()])
    assert only(same, "earlier", "number 1").severity == "passed"


def test_an_earlier_release_in_which_nobody_is_recognised_exposes_nothing():
    """Every combination of the other columns is shared by many records, in another order."""
    frame = people(8)
    first, second = (swapped(frame, seed=seed).finished(shuffle=True) for seed in (1, 2))
    found = only(mm.check_release(second, earlier=[first.to_frame()]), "earlier", "number 1")

    assert found.severity == "passed"
    assert "0 of 10,000 records" in str(found)


def test_an_earlier_release_of_another_file_is_refused():
    with pytest.raises(mm.MaskmeterError, match="has no column 'lad', which was changed"):
        mm.check_release(swapped(people(1)), earlier=[pl.DataFrame({"sex": [1, 2]})])


def test_a_blocker_means_not_met_whatever_the_risk():
    target = mm.Target(max_share=1.0, by="estimate")
    ordered = people(9).sort("lad")
    given_away = mm.assess(swapped(ordered), target=target, drop_one=False)
    mended = mm.assess(swapped(ordered).finished(shuffle=True), target=target, drop_one=False)

    assert (given_away.mark, given_away.met) == ("not met", False)
    assert given_away.summary().startswith("The release check is not passed, with 1 blocker")
    assert mended.mark == "met"
    reason = {"kind": "order", "column": "", "reason": "Nobody sees the order."}
    accepted = mm.assess(swapped(ordered), target=target, drop_one=False, accept=[reason])
    assert accepted.mark == "met"


def test_random_numbers_of_this_release_identify_nobody():
    frame = people(10).with_columns(pid=pl.int_range(RECORDS))
    release = swapped(frame)

    assert only(mm.check_release(release), "identifier", "pid").severity == "blocker"
    numbered = mm.check_release(release.finished(renumber=["pid"]))
    assert only(numbered, "identifier", "pid").severity == "passed"
    dropped = mm.check_release(release.finished(drop=["pid"]))
    assert not [one for one in dropped.findings if one.column == "pid"]


def test_a_finding_names_the_plan_lines_that_mend_it():
    frame = people(11).with_columns(ward=pl.col("lad") * 2 + pl.int_range(RECORDS) % 2)
    found = only(mm.check_release(swapped(frame)), "column", "ward")

    assert found.mend.lines == ('[release] drop = ["ward"]', '[[step]] carry = ["ward"]')


@pytest.mark.parametrize("ending", [".sav", ".dta", ".parquet"])
def test_dates_to_the_day_are_found_however_a_format_stores_them(ending, tmp_path):
    """SPSS and Stata store a number, and a format that shows it as a date."""
    days = np.random.default_rng(12).integers(0, 9_000, RECORDS)
    born = pl.Series([date(1980, 1, 1) + timedelta(days=int(day)) for day in days])
    frame = people(12).with_columns(
        born=born, month=born.dt.truncate("1mo"), written=born.dt.strftime("%Y%m%d").cast(pl.Int64)
    )
    mm.read(frame, keys=["lad"]).write(tmp_path / f"a{ending}")
    check = mm.check_release(swapped(tmp_path / f"a{ending}"))

    assert {one.column for one in check.findings if one.kind == "date"} == {"born", "written"}


def test_a_time_that_nobody_shares_puts_shuffled_records_back_in_their_order():
    """Districts come back in 25 tours: twenty groups of the time are too coarse to tell them."""
    ordered = people(14).with_columns(tour=pl.int_range(RECORDS) % 25).sort("tour", "lad")
    timed = ordered.drop("tour").with_columns(started=pl.int_range(RECORDS) * 3)
    check = mm.check_release(swapped(timed).finished(shuffle=True))
    found = only(check, "column", "started")

    assert only(check, "order").severity == "passed"
    assert found.severity == "blocker"
    assert found.found > 0.9 * found.changed
    any_time = np.random.default_rng(14).integers(997, size=RECORDS)
    untimed = timed.with_columns(started=pl.Series(any_time))
    check = mm.check_release(swapped(untimed).finished(shuffle=True))
    assert only(check, "column", "started").severity == "passed"


def homes(seed):
    """Return households of four who live in one district, in random order."""
    home = np.arange(RECORDS) // 4
    frame = people(seed).with_columns(lad=pl.Series(home % DISTRICTS), home=pl.Series(home))
    return frame.sample(fraction=1, shuffle=True, seed=seed)


def test_what_mends_a_household_mends_the_order_of_its_members_too():
    release = swapped(homes(15))
    kept = mm.check_release(release.finished(shuffle=True, household="home"), household="home")
    for kind, column in (("household", "home"), ("order", "")):
        found = only(kept, kind, column)
        assert found.severity == "blocker"
        assert found.mend.lines == ('[release] drop = ["home"]',)

    mended = release.finished(shuffle=True, household="home", drop=["home"])
    assert mm.check_release(mended).passed


def test_a_carried_column_does_not_hide_that_two_draws_expose_each_other():
    income = np.random.default_rng(16).normal(size=RECORDS)
    frame = people(16).with_columns(ward=pl.col("lad") * 2, income=pl.Series(income))
    sample = mm.read(frame, keys=["lad", "sex", "age"], fraction=0.1)
    step = mm.Swap("lad", rate=0.1, carry="ward")
    first, second = (mm.protect(sample, [step], rng=seed, shuffle=True) for seed in (1, 2))
    earlier = first.to_frame()

    for one in (earlier, earlier.with_columns(sex=pl.lit(0))):  # in which sex was suppressed
        found = only(mm.check_release(second, earlier=[one]), "earlier", "number 1")
        assert found.severity == "blocker"
        assert found.found > 0.8 * found.changed


@pytest.mark.parametrize(
    ("name", "values", "kind", "severity"),
    [
        ("person_id", [row // 25 for row in range(RECORDS)], "identifier", "blocker"),  # a panel
        ("last_name", [f"N{row % 3_000}" for row in range(RECORDS)], "identifier", "blocker"),
        ("code", [f"{row:08}" for row in range(RECORDS)], "identifier", "blocker"),
        ("region_id", [row % 50 for row in range(RECORDS)], "identifier", None),
        ("pay", [f"{row},5" for row in range(RECORDS)], "near-unique", "caution"),
        ("born", [f"19{row % 80 + 10}/12/{row % 28 + 1}" for row in range(RECORDS)], "date", "caution"),
        ("born", [f"{row % 28 + 1}JAN1980" for row in range(RECORDS)], "date", "caution"),
        ("born", [f"{row % 28 + 1}/12/80" for row in range(RECORDS)], "date", "caution"),
        ("grade", [f"{row % 28 + 1} of 1980" for row in range(RECORDS)], "date", None),
    ],
)  # fmt: skip
def test_identifiers_and_dates_are_told_from_codes_and_amounts(name, values, kind, severity):
    draws = np.random.default_rng(17).permutation(RECORDS)
    frame = people(17).with_columns(pl.Series(name, [values[row] for row in draws]))
    found = [one for one in mm.check_release(swapped(frame)).findings if one.kind == kind]

    assert [one.severity for one in found] == ([] if severity is None else [severity])


def applied(release, line):
    """Return the release that a plan makes with one more line: those of findings are such lines."""
    _, entry = line.split("] ", 1)
    ((name, value),) = tomllib.loads(entry).items()
    step = release.provenance.steps[0]
    if line.startswith("[[step]]"):
        step = mm.Swap("lad", rate=0.1, **{name: value})
        return mm.protect(release.original, [step], rng=1)
    return mm.protect(release.original, [step], rng=1, **{name: value})


def test_every_proposed_line_mends_its_finding():
    draws = np.random.default_rng(18)
    frame = people(18).sort("lad")
    frame = frame.with_columns(
        ward=pl.col("lad") * 2 + pl.Series(draws.integers(2, size=RECORDS)),
        region=pl.col("lad") // 4,
        pid=pl.Series(draws.permutation(RECORDS)),
    )
    release = swapped(frame)
    findings = mm.check_release(release).of("blocker")
    kinds = {(one.kind, one.column) for one in findings}

    assert kinds >= {
        ("order", ""),
        ("column", "ward"),
        ("stands-out", "region"),
        ("identifier", "pid"),
    }
    for one in findings:
        assert one.mend.lines
        for line in one.mend.lines:
            after = mm.check_release(applied(release, line))
            left = [f for f in after.findings if (f.kind, f.column) == (one.kind, one.column)]
            assert all(f.severity == "passed" for f in left), (str(one), line)
