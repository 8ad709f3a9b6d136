"""An audit of two files: what was changed, and the risk of what was not, whoever protected them."""

import json
from collections import Counter
from functools import cache

import numpy as np
import polars as pl
import pytest

import maskmeter as mm
from maskmeter.errors import (
    AveragedMatrixWarning,
    InputError,
    PopulationMismatchWarning,
    UnpairedRecordsWarning,
    WeightError,
    without_warnings,
)
from protections import pram, rank_swap, suppress, survey, swap

KEYS = ["lad", "age", "sex", "job"]
FRACTION = 0.1


@cache
def world():
    """Return a population and a sample of it."""
    everybody = survey(3, records=20_000)
    return everybody, mm.bernoulli_sample(everybody, fraction=FRACTION, rng=1)


def audit(original, released, **options):
    """Return an audit; what it warns of is in it too."""
    with without_warnings():
        return mm.audit(original, released, keys=KEYS, fraction=FRACTION, **options)


def exact_audit(original, released):
    """Return an audit with the population known, which is quicker."""
    return audit(original, released, population=world()[0])


def band(ages):
    return pl.Series("age", [f"{age // 10}0s" for age in ages])


def top(ages):
    return ages.clip(upper_bound=80)


def protected(name, seed=5):
    """Return the released file, and the true values by its categories: of the sample, of all."""
    everybody, people = world()
    draws = np.random.default_rng(seed)

    def coarse(frame):
        if name == "recodes":
            return frame.with_columns(
                band(frame["age"]), frame["lad"].replace({"a": "ab", "b": "ab"})
            )
        return frame.with_columns(top(frame["age"])) if name == "top codes" else frame

    truth, true = coarse(everybody), coarse(people)
    changes = {
        "pram": lambda: [pram(true["lad"], 0.8, draws), pram(true["job"], 0.9, draws)],
        "suppression": lambda: [suppress(true["age"], 90, draws), suppress(true["lad"], 40, draws)],
        "recodes": lambda: [swap(true["lad"], 60, draws)],
        "top codes": lambda: [pram(true["sex"], 0.9, draws)],
        "swaps": lambda: [swap(true["lad"], 150, draws)],
        "rank swaps": lambda: [rank_swap(true["age"], 30, draws)],
        "noise": lambda: [
            true["income"] + draws.normal(0, 500, len(true)),
            swap(true["lad"], 9, draws),
        ],
        "synthetic": lambda: [
            pl.Series("job", draws.integers(1, 6, len(true))),
            pl.Series("income", np.round(np.exp(draws.normal(10, 0.6, len(true))), 2)),
        ],
    }
    return true.with_columns(*changes[name]()), true, truth


PROTECTIONS = [
    "pram",
    "suppression",
    "recodes",
    "top codes",
    "swaps",
    "rank swaps",
    "noise",
    "synthetic",
]


def by_hand(released, true, keys, inverse):
    """Return the risk without a matrix, record by record."""
    seen = Counter(released.select(keys).iter_rows())
    rows = zip(released.select(keys).iter_rows(), true.select(keys).iter_rows(), strict=True)
    return sum(
        inverse(row, own) for row, (cell, own) in enumerate(rows) if cell == own and seen[cell] == 1
    )


@pytest.mark.parametrize("name", PROTECTIONS)
def test_the_risk_without_a_matrix_is_that_of_a_plain_loop(name):
    released, true, truth = protected(name)
    found = audit(world()[1], released, population=world()[0])

    subsets = {None: KEYS} | {key: [one for one in KEYS if one != key] for key in KEYS}
    for left_out, keys in subsets.items():
        people = Counter(truth.select(keys).iter_rows())
        told = by_hand(released, true, keys, lambda _, cell, people=people: 1 / people[cell])
        risk = found.risk if left_out is None else found.without_key[left_out]
        assert risk.total == pytest.approx(told), left_out
        assert risk.keys == tuple(keys)


@pytest.mark.parametrize("name", ["pram", "recodes", "suppression"])
def test_the_estimated_risk_sums_what_the_model_of_the_true_file_expects(name):
    released, true, _ = protected(name)
    found = audit(world()[1], released)
    with without_warnings():
        sample = mm.read(true, keys=KEYS, fraction=FRACTION)
        model = mm.estimate_risk(sample)
        fewer = mm.estimate_risk(sample.project(KEYS[1:]))

    told = by_hand(released, true, KEYS, lambda row, _: model.by_record[row])
    assert found.risk.total == pytest.approx(told, rel=1e-6)
    told = by_hand(released, true, KEYS[1:], lambda row, _: fewer.by_record[row])
    assert found.without_key["lad"].total == pytest.approx(told, rel=1e-6)
    part = np.sqrt(found.risk.total / model.total)
    ends = found.risk.total + part * (np.array(model.interval) - model.total)
    assert found.risk.interval == pytest.approx(ends, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("suppression", {"age": "90 suppressed", "lad": "40 suppressed"}),
        ("top codes", {"age": "recoded (80 to 65 categories)"}),
        ("recodes", {"age": "recoded (80 to 9 categories)"}),
    ],
)
def test_the_account_of_columns_names_what_was_done(name, words):
    released, true, _ = protected(name)
    frame = exact_audit(world()[1], released).to_frame()
    told = dict(frame.select("column", "what").iter_rows())

    assert told.items() >= words.items()
    for column in KEYS:
        pairs = zip(true[column], released[column], strict=True)
        changed = sum(a != b for a, b in pairs if b is not None)
        assert frame.row(by_predicate=pl.col("column") == column, named=True)["changed"] == changed


OWN = {
    "swap": lambda: [mm.Swap("lad", rate=0.15)],
    "pram": lambda: [mm.Pram("lad", stay=0.85), mm.Pram("job", stay=0.9)],
    "redraw": lambda: [mm.Redraw("job", rarer_than=25)],
}


def own_release(name, seed):
    """Return the exact risk of a release of ours, and what audits of it find."""
    everybody, people = world()
    population = mm.count(everybody, keys=KEYS)
    with without_warnings():
        sample = mm.read(people, keys=population.space, fraction=FRACTION)
        release = mm.protect(sample, OWN[name](), rng=seed)
        exact = mm.exact_risk(release, population)
    return exact.total, release.to_frame(), population


@pytest.mark.parametrize("name", OWN)
def test_an_audit_of_our_own_release_agrees_with_its_exact_risk(name):
    """Over ten draws, within 5 %: the means differ by chance alone, 1 % to 2 %."""
    draws = [own_release(name, seed) for seed in range(10)]
    exact = np.mean([one for one, *_ in draws])
    known = np.mean(
        [audit(world()[1], file, population=counts).risk.total for _, file, counts in draws]
    )

    assert known == pytest.approx(exact, rel=0.05)


@pytest.mark.full
@pytest.mark.parametrize("name", OWN)
def test_an_estimated_audit_of_our_own_release_is_close_to_its_exact_risk(name):
    """Over forty draws: what is left is the error of the model of one file."""
    draws = [own_release(name, seed) for seed in range(40)]
    exact = np.mean([one for one, *_ in draws])
    estimated = np.mean([audit(world()[1], file).risk.total for _, file, _ in draws])

    assert estimated == pytest.approx(exact, rel=0.05)


def cautions(found):
    return {one.kind for one in (*found.assessment.cautions, *found.assessment.private)}


def test_changes_among_the_records_at_risk_alone_are_cautioned_of():
    """A swap changes all records alike; no matrix by key tells that unique ones were changed."""
    _, people = world()
    cells = Counter(people.select(KEYS).iter_rows())
    unique = pl.Series([cells[cell] == 1 for cell in people.select(KEYS).iter_rows()])
    other = pl.col("sex").replace({"f": "m", "m": "f"})
    targeted = people.with_columns(sex=pl.when(unique).then(other).otherwise("sex"))

    assert AveragedMatrixWarning in cautions(exact_audit(people, targeted))
    assert AveragedMatrixWarning not in cautions(exact_audit(people, protected("swaps")[0]))


def test_records_that_were_left_out_are_counted_and_the_rest_is_audited():
    everybody, people = world()
    population = mm.count(everybody, keys=KEYS)
    sample = mm.read(people, keys=population.space, fraction=FRACTION)
    release = mm.protect(sample, [mm.Subsample(fraction=0.8), mm.Pram("lad", stay=0.9)], rng=3)
    found = audit(people, release.to_frame(), population=population, id="pid")

    assert found.figures.missing == len(people) - len(release.released)
    assert UnpairedRecordsWarning in cautions(found)
    assert found.release.left_out == release.left_out
    assert found.risk.total == pytest.approx(
        mm.correctly_classified_risk(release, population).total
    )


def test_our_own_row_numbers_pair_a_shuffled_release(tmp_path):
    everybody, people = world()
    population = mm.count(everybody, keys=KEYS)
    sample = mm.read(people.drop("pid"), keys=population.space, fraction=FRACTION)
    with without_warnings():
        release = mm.protect(sample, [mm.Swap("lad", rate=0.1)], rng=3, shuffle=True)
        mm.report(mm.assess(release, population=population), tmp_path)
    numbers = tmp_path / "internal" / "risk_by_record.parquet"
    found = audit(people.drop("pid"), release.to_frame(), population=population, rows=numbers)

    assert found.columns[0].changed == release.changed_records
    assert found.risk.total == pytest.approx(
        mm.correctly_classified_risk(release, population).total
    )
    with pytest.raises(InputError, match="Nothing proves"):
        audit(people.drop("pid"), release.to_frame())


def test_every_format_and_frame_gives_the_same_audit(tmp_path):
    _, people = world()
    released = protected("suppression")[0]
    for name, frame in (("one", people), ("other", released)):
        frame.write_csv(tmp_path / f"{name}.csv")
        with without_warnings():
            mm.read(frame, keys=["sex"]).write(tmp_path / f"{name}.sav")
    expected = exact_audit(people, released)
    pairs = [
        (tmp_path / "one.csv", tmp_path / "other.csv"),
        (tmp_path / "one.sav", tmp_path / "other.csv"),
        (tmp_path / "one.sav", tmp_path / "other.sav"),
        (people.to_pandas(), released.to_pandas()),
        (people, tmp_path / "other.csv"),
    ]
    for one, other in pairs:
        found = exact_audit(one, other)
        assert found.columns == expected.columns
        assert found.risk == expected.risk
    frame = exact_audit(people.to_pandas(), released).to_frame()
    assert type(frame).__module__.startswith("pandas")


def test_a_population_in_another_format_is_matched_by_value(tmp_path):
    everybody, people = world()
    released = protected("top codes")[0]
    everybody.write_csv(tmp_path / "all.csv")

    assert audit(people, released, population=tmp_path / "all.csv").risk == (
        audit(people, released, population=everybody).risk
    )


def test_numbers_that_only_the_population_has_are_recoded_as_their_neighbours():
    """Nobody in the sample is 81 or 95, but the top code is for them too."""
    everybody, people = world()
    lacking = people.filter(~pl.col("age").is_in([81, 95]))
    released = lacking.with_columns(
        top(lacking["age"]), swap(lacking["lad"], 50, np.random.default_rng(1))
    )
    found = audit(lacking, released, population=everybody)
    truth, true = (
        everybody.with_columns(top(everybody["age"])),
        lacking.with_columns(top(lacking["age"])),
    )
    counts = Counter(truth.select(KEYS).iter_rows())

    told = by_hand(released, true, KEYS, lambda _, cell: 1 / counts[cell])
    assert found.risk.total == pytest.approx(told)
    assert PopulationMismatchWarning not in cautions(found)


def test_categories_of_the_population_whose_recode_is_not_known_stay_apart():
    everybody, people = world()
    lacking = people.filter(pl.col("lad") != "c")
    released = lacking.with_columns(lacking["lad"].replace({"a": "north", "b": "north"}))
    with pytest.warns(
        PopulationMismatchWarning, match=r"units of the population are in 1 category of 'lad'"
    ):
        found = mm.audit(lacking, released, keys=KEYS, fraction=FRACTION, population=everybody)

    assert found.release.released.space["lad"].size == 6


def test_a_survey_with_weights_is_audited_by_them():
    _, people = world()
    weighted = people.with_columns(w=pl.lit(10.0) + pl.int_range(pl.len()) % 5)
    released = weighted.with_columns(swap(weighted["lad"], 100, np.random.default_rng(2)))
    with without_warnings():
        found = mm.audit(weighted, released, keys=KEYS, weights="w")

    assert found.release.original.weights.sum() == weighted["w"].sum()
    assert found.risk.total > 0


def test_an_audit_has_its_views():
    found = exact_audit(world()[1], protected("pram")[0])

    assert "lad (key): " in found.summary()
    assert "Without any matrix: " in found.summary()
    assert "The release check is not passed" in found.summary()  # it has ids
    assert found.check.of("blocker")[0].column == "pid"
    assert found.to_frame().height == 6
    assert "Records changed or suppressed" in found.plot().to_json()
    assert "job" in found._repr_html_()
    assert repr(found).startswith("Audit(")


def test_the_pack_of_an_audit_has_reports_and_no_protected_file(tmp_path):
    released = protected("suppression")[0]
    pack = mm.report(exact_audit(world()[1], released), tmp_path, matrix=True)
    names = {path.name for path in pack.files}
    internal = (tmp_path / "internal" / "internal.html").read_text(encoding="utf-8")
    held = json.loads((tmp_path / "internal" / "assessment.json").read_text(encoding="utf-8"))[
        "audit"
    ]

    assert names == {
        "risk_by_record.parquet",
        "assessment.json",
        "internal.html",
        "public.html",
        "matrix.csv",
    }
    assert "What was changed" in internal
    assert "90 suppressed" in internal
    assert "The risk without a matrix" in internal
    assert {one["name"]: one["suppressed"] for one in held["columns"]}["age"] == 90


def test_the_public_is_not_told_what_was_changed_where(tmp_path):
    """Counts by column would tell where to look; columns that are no keys are not even named."""
    released = protected("suppression")[0].with_columns(
        protected("synthetic")[0]["income"], extra=pl.lit(1)
    )
    renamed = {"income": "wages", "pid": "number"}
    mm.report(exact_audit(world()[1].rename(renamed), released.rename(renamed)), tmp_path)
    public = (tmp_path / "public.html").read_text(encoding="utf-8")

    for word in (
        "What was changed",
        "suppressed",
        "wages",
        "extra",
        "without a matrix",
        "number</",
    ):
        assert word not in public


def test_the_realised_matrix_has_the_frequencies_of_these_records():
    released, true, _ = protected("pram")
    found = exact_audit(world()[1], released)
    moves = Counter(zip(true["lad"], released["lad"], strict=True))
    own = Counter(true["lad"])

    for key, _, before, after, chance in found.release.mechanism.to_frame().iter_rows():
        if key == "lad":
            assert chance == pytest.approx(moves[before, after] / own[before])


def test_suppressed_values_show_and_are_no_finding_of_the_release_check():
    """Everybody sees that they are missing, which the method tells too."""
    found = exact_audit(world()[1].drop("pid"), protected("suppression")[0].drop("pid"))
    shown = [one for one in found.check.findings if one.kind == "stands-out"]

    assert {one.key for one in shown} == {"lad", "age"}
    assert all(one.found == one.baseline == one.changed for one in shown)
    assert found.check.passed


def test_two_files_that_are_the_same_are_refused():
    _, people = world()
    with pytest.raises(
        InputError, match=r"No record was changed: all 1,972 records agree in 6 common col"
    ):
        audit(people, people)


@pytest.mark.parametrize("which", ["original", "released"])
def test_a_key_that_a_file_lacks_is_refused(which):
    released, people = protected("swaps")[0], world()[1]
    if which == "original":
        people = people.drop("job")
    else:
        released = released.drop("job")

    with pytest.raises(InputError, match=f"'job'.* It is the {which} file that lacks it"):
        audit(people, released)


def test_a_key_with_one_released_value_is_refused():
    _, people = world()
    with pytest.raises(InputError, match="'lad' has one value in the released file"):
        audit(people, people.with_columns(lad=pl.lit("all")))


def test_a_key_that_is_suppressed_in_every_record_is_audited():
    _, people = world()
    found = exact_audit(people, people.with_columns(lad=pl.lit(None, dtype=pl.String)))

    assert found.risk.total == 0
    assert found.without_key["lad"].total > 0


def test_a_file_without_records_is_refused():
    _, people = world()
    with pytest.raises(InputError, match=r"The released file has no records\."):
        audit(people, people.clear(), id="pid")


def test_a_household_column_must_be_in_both_files():
    _, people = world()
    homes = people.with_columns(hid=pl.int_range(pl.len()) // 3)
    with pytest.raises(InputError, match=r"'hid'.* It is the released file that lacks it"):
        audit(homes, protected("swaps")[0], household="hid")


def test_sampling_must_be_known():
    _, people = world()
    with pytest.raises(WeightError, match="give `fraction` or `weights`"), without_warnings():
        mm.audit(people, protected("swaps")[0], keys=KEYS)
