"""Finishing a release: shuffled rows, dropped columns, new numbers, and columns that travel."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from scipy.stats import chisquare

import maskmeter as mm
from conftest import FALSE_ALARM
from maskmeter.errors import FormatWarning, InputError, MaskmeterError, PerturbationError
from maskmeter.evidence.findings import record_frame

KEYS = ["lad", "sex", "age", "ethnicity"]


@pytest.fixture(scope="module")
def people():
    """A file in households, sorted by district, with a ward in each and weights as text has them."""
    census = mm.bernoulli_sample(mm.synthetic_census(size=100_000), fraction=0.04, rng=3)
    texts = census.select(pl.col(KEYS).cast(pl.String)).sort("lad")
    row = pl.int_range(pl.len())
    return texts.with_columns(
        ward=pl.col("lad") + pl.when(row % 2 == 0).then(pl.lit(" N")).otherwise(pl.lit(" S")),
        pid=row * 7 + 1000,
        hid=pl.when(row % 50 == 0).then(None).otherwise(row // 3),
        w=pl.concat_str(50 + row % 9, pl.lit(".50")),
    )


@pytest.fixture(scope="module")
def files(people, tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    people.write_csv(folder / "people.csv")
    numbers = people.with_columns(pl.col("w").cast(pl.Float64)).to_pandas()
    pyreadstat.write_sav(numbers, folder / "people.sav")
    pyreadstat.write_dta(numbers, folder / "people.dta")
    people.write_parquet(folder / "people.parquet")
    return folder


def swapped(source, *, carry=(), **finish):
    sample = mm.read(source, keys=KEYS, fraction=0.04)
    return mm.protect(sample, [mm.Swap("lad", rate=0.2, carry=carry)], rng=7, **finish)


def whole(people):
    """The file without missing households, for tests that keep these together."""
    return people.with_columns(hid=pl.int_range(pl.len()) // 3)


@pytest.mark.parametrize("ending", ["csv", "sav", "dta", "parquet"])
def test_a_shuffled_file_has_the_records_of_the_same_release_as_it_stands(files, ending, tmp_path):
    source = files / f"people.{ending}"
    plain, shuffled = swapped(source), swapped(source, shuffle=True)
    for name, release in (("plain", plain), ("shuffled", shuffled)):
        release.write(tmp_path / f"{name}.{ending}")
    one, other = (
        mm.read(tmp_path / f"{name}.{ending}", keys=KEYS).to_frame()
        for name in ("plain", "shuffled")
    )

    assert other.equals(one[shuffled.kept])
    assert not other.equals(one)


def test_every_line_of_a_shuffled_csv_is_one_of_the_file_in_order_byte_for_byte(files, tmp_path):
    source = files / "people.csv"
    swapped(source).write(tmp_path / "plain.csv")
    swapped(source, shuffle=True).write(tmp_path / "shuffled.csv")
    plain, shuffled = (
        (tmp_path / name).read_bytes().splitlines(keepends=True)
        for name in ("plain.csv", "shuffled.csv")
    )

    assert shuffled[0] == plain[0]
    assert sorted(shuffled) == sorted(plain)
    assert shuffled != plain


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_a_shuffled_statistical_file_is_copied_in_its_bytes_and_not_rebuilt(
    files, ending, tmp_path, recwarn
):
    swapped(files / f"people.{ending}", shuffle=True).write(tmp_path / f"shuffled.{ending}")

    assert not [one for one in recwarn if issubclass(one.category, FormatWarning)]
    assert (tmp_path / f"shuffled.{ending}").stat().st_size == (
        files / f"people.{ending}"
    ).stat().st_size or ending == "sav"


def test_a_shuffled_stata_file_no_longer_claims_to_be_sorted(files, tmp_path):
    content = bytearray((files / "people.dta").read_bytes())
    at = content.index(b"<sortlist>") + len(b"<sortlist>")
    content[at : at + 2] = (1).to_bytes(2, "little")
    source = tmp_path / "sorted.dta"
    source.write_bytes(content)
    swapped(source, shuffle=True).write(tmp_path / "shuffled.dta")
    written = (tmp_path / "shuffled.dta").read_bytes()
    at = written.index(b"<sortlist>") + len(b"<sortlist>")

    assert written[at : at + 2] == b"\0\0"


def test_shuffling_changes_no_figure(people):
    plain, shuffled = swapped(people), swapped(people, shuffle=True)
    risks = [mm.estimate_risk(one, intruder="informed") for one in (plain, shuffled)]

    assert shuffled.changed_records == plain.changed_records
    assert risks[1].total == pytest.approx(risks[0].total, rel=1e-12)
    assert not shuffled.thinned
    assert mm.information_loss(shuffled, rows="lad", columns="age").raad == pytest.approx(
        mm.information_loss(plain, rows="lad", columns="age").raad
    )


def test_the_rows_of_both_files_stand_beside_the_risk_of_each_record(people):
    release = swapped(people, shuffle=True)
    frame = record_frame(mm.assess(release, drop_one=False))

    assert frame["record"].to_list() == list(range(len(people)))
    original = people[frame["original_record"].to_numpy()]
    assert original["age"].to_list() == frame["key age"].to_list()
    assert "original_record" not in record_frame(mm.assess(swapped(people), drop_one=False)).columns


def test_the_order_is_drawn_by_the_seed_alone(people):
    one, same = swapped(people, shuffle=True), swapped(people, shuffle=True)

    assert np.array_equal(one.kept, same.kept)
    assert one.to_frame().equals(same.to_frame())


def test_records_with_ids_come_in_the_same_order_from_every_order(people):
    frames = []
    for given in (people, people.reverse()):
        sample = mm.read(given, keys=KEYS, fraction=0.04, id="pid")
        release = mm.protect(sample, [mm.Swap("lad", rate=0.2)], rng=7, shuffle=True)
        frames.append(release.to_frame())

    assert frames[0].equals(frames[1])


def test_members_of_a_household_stay_together_and_in_order(people):
    release = swapped(whole(people), shuffle=True, household="hid")
    homes = release.to_frame()["hid"].to_numpy()
    starts = np.flatnonzero(np.diff(homes, prepend=-1))

    assert len(starts) == len(np.unique(homes))
    assert (np.diff(release.kept)[np.diff(homes) == 0] == 1).all()
    assert not np.array_equal(homes, np.sort(homes))


def test_every_household_is_equally_likely_to_come_first():
    """Chi-square with FALSE_ALARM; the power half: the largest coming first by their size is seen."""
    sizes = np.repeat([0, 1, 2, 3], [1, 2, 3, 6])
    people = pl.DataFrame({"hid": sizes, "sex": ["f", "m"] * 6})
    sample, first = mm.read(people, keys=["sex"], fraction=0.5), np.zeros(4)
    for seed in range(600):
        release = mm.protect(sample, [], rng=seed, shuffle=True, household="hid")
        first[release.to_frame()["hid"][0]] += 1

    assert chisquare(first).pvalue > FALSE_ALARM
    assert chisquare(600 * np.bincount(sizes) / 12).pvalue < FALSE_ALARM


@pytest.mark.parametrize("ending", ["csv", "sav", "dta", "parquet"])
@pytest.mark.filterwarnings("ignore::maskmeter.errors.FormatWarning")  # what a rebuilt file loses
def test_new_numbers_tell_the_same_records_apart_and_nothing_else(files, ending, tmp_path):
    release = swapped(files / f"people.{ending}", renumber=["pid", "hid"])
    target = tmp_path / f"numbered.{ending}"
    release.write(target)
    before = mm.read(files / f"people.{ending}", keys=KEYS).to_frame()
    after = mm.read(target, keys=KEYS).to_frame()
    for name in ("pid", "hid"):
        old, new = before[name].cast(pl.Float64), after[name].cast(pl.Float64)
        pairs = pl.DataFrame({"old": old, "new": new}).unique().drop_nulls()

        assert new.null_count() == old.null_count()
        assert pairs["old"].n_unique() == pairs["new"].n_unique() == len(pairs)
        assert pairs["new"].is_between(1, 2**52).all()
        assert after[name].dtype == before[name].dtype
        assert abs(np.corrcoef(pairs["old"], pairs["new"])[0, 1]) < 0.25
    others = [name for name in before.columns if name not in ("pid", "hid", "lad")]
    assert after.select(others).equals(before.select(others))


def test_the_same_ids_get_the_same_numbers_in_every_file_of_a_seed(people):
    half = people[::2]
    texts = half.with_columns(pl.col("pid").cast(pl.String))
    numbers = [
        swapped(one, renumber=["pid"]).to_frame()["pid"].cast(pl.Int64)
        for one in (people, half, texts)
    ]

    assert numbers[1].equals(numbers[0].gather_every(2))
    assert numbers[2].equals(numbers[1])


@pytest.mark.parametrize("kind", [pl.Int64, pl.String, pl.Categorical])
@pytest.mark.parametrize("like", ["polars", "pandas", "arrow"])
def test_new_numbers_are_no_categories(people, kind, like):
    frame = people.with_columns(pl.col("hid").fill_null(0).cast(pl.String).cast(kind))
    given = {"polars": frame, "pandas": frame.to_pandas(), "arrow": frame.to_arrow()}[like]
    made = swapped(given, renumber=["hid"]).to_frame()["hid"]
    values = pl.Series(made.to_list() if like != "arrow" else made.to_pylist())

    assert values.dtype == (pl.Int64 if kind == pl.Int64 else pl.String)
    assert "category" not in str(getattr(made, "dtype", made.type if like == "arrow" else ""))


def test_a_column_that_holds_no_ids_cannot_be_numbered_anew(people):
    dated = people.with_columns(born=pl.date(1980, 1, 1), pay=pl.int_range(pl.len()) / 7)
    for name in ("born", "pay"):
        with pytest.raises(InputError, match=f"`renumber` names '{name}', which holds neither"):
            swapped(dated, renumber=[name])


def test_members_of_a_household_whose_number_is_dropped_do_not_stand_together(people):
    release = swapped(whole(people), shuffle=True, household="hid", drop=["hid"])
    homes = whole(people)["hid"].to_numpy()[release.kept]

    assert (np.diff(homes) == 0).mean() < 0.01
    assert "together" not in " ".join(release.provenance.finish.describe(named=True))


def test_many_categories_of_a_shuffled_pandas_frame_do_not_tell_the_old_order(people):
    names = [f"n{row:05}" for row in np.random.default_rng(1).permutation(len(people))]
    frame = people.to_pandas().assign(name=pd.Categorical(names, categories=names))
    levels = pd.Categorical(frame["sex"], categories=["Male", "Female"])
    released = swapped(frame.assign(sex=levels), shuffle=True).to_frame()

    assert list(released["name"].cat.categories) == sorted(names)
    assert list(released["sex"].cat.categories) == ["Male", "Female"]


def test_a_note_that_names_a_dropped_column_is_dropped_too(people, tmp_path):
    notes = ["About pid and its register.", "About sampling."]
    pyreadstat.write_sav(people.to_pandas(), tmp_path / "a.sav", note=notes)
    with pytest.warns(FormatWarning):
        swapped(tmp_path / "a.sav", drop=["pid"]).write(tmp_path / "b.sav")
    written = pyreadstat.read_sav(tmp_path / "b.sav")[1]

    assert [note.strip() for note in written.notes] == ["About sampling."]


def test_a_dropped_column_is_nowhere_in_the_written_file(files, tmp_path):
    release = swapped(files / "people.csv", drop=["ward", "pid"], shuffle=True)
    release.write(tmp_path / "less.csv")
    written = (tmp_path / "less.csv").read_bytes()

    assert written.splitlines()[0] == b"lad,sex,age,ethnicity,hid,w"
    assert b" N" not in written
    assert mm.read(tmp_path / "less.csv", keys=KEYS).to_frame().equals(release.to_frame())


def test_weights_keep_their_text_when_records_are_shuffled(files, tmp_path):
    sample = mm.read(files / "people.csv", keys=KEYS, weights="w")
    release = mm.protect(sample, [mm.Swap("lad", rate=0.2)], rng=7, shuffle=True)
    release.write(tmp_path / "weighted.csv")
    texts = pl.read_csv(tmp_path / "weighted.csv", infer_schema=False)["w"]

    assert texts.str.ends_with(".50").all()
    assert texts.cast(pl.Float64).to_list() == release.released.weights.tolist()


def test_the_index_of_a_shuffled_pandas_frame_does_not_tell_the_old_order(people):
    frame = people.to_pandas().set_index(pd.Index(range(500, 500 + len(people))))

    assert swapped(frame).to_frame().index[0] == 500
    assert list(swapped(frame, shuffle=True).to_frame().index) == list(range(len(people)))


def test_the_dictionary_of_a_shuffled_arrow_table_does_not_tell_the_old_order(people):
    names = pa.array([f"n{row:05}" for row in range(len(people))]).dictionary_encode()
    table = people.to_arrow().append_column("name", names)
    released = swapped(table, shuffle=True).to_frame()["name"]

    assert released.to_pylist()[:3] == released.chunk(0).dictionary.to_pylist()[:3]
    assert released.to_pylist()[:3] != ["n00000", "n00001", "n00002"]


def test_a_ward_that_travels_with_its_district_stays_in_it(people):
    left, carried = swapped(people), swapped(people, carry="ward")
    frames = [one.to_frame() for one in (left, carried)]
    fits = [frame["ward"].str.starts_with(frame["lad"]) for frame in frames]

    assert (~fits[0]).sum() == left.changed_records > 0
    assert fits[1].all()
    assert sorted(frames[1]["ward"]) == sorted(people["ward"])
    assert "carry=('ward',)" in repr(carried.provenance.steps[0])


@pytest.mark.parametrize(
    ("finish", "words"),
    [
        ({"drop": ["lad"]}, "`drop` names 'lad', which is a key"),
        ({"renumber": ["sex"]}, "`renumber` names 'sex', which is a key"),
        ({"drop": ["wrad"]}, "Did you mean 'ward'"),
        ({"drop": ["pid"], "renumber": ["pid"]}, "to be dropped and to be renumbered"),
        ({"shuffle": "yes"}, "`shuffle` must be True or False"),
        ({"drop": [3]}, "`drop` must be a list of columns"),
        ({"shuffle": True, "household": "hid"}, "have no value for 'hid'"),
    ],
)
def test_a_finish_that_cannot_be_made_is_refused(people, finish, words):
    with pytest.raises(MaskmeterError, match=words):
        swapped(people, **finish)


def test_the_weights_cannot_be_numbered_anew(people):
    weighted = people.with_columns(pl.col("w").cast(pl.Float64))
    sample = mm.read(weighted, keys=KEYS, weights="w")
    with pytest.raises(InputError, match="the weights"):
        mm.protect(sample, [], renumber=["w"])


def test_a_carried_column_cannot_be_a_key_or_the_weights(people):
    with pytest.raises(PerturbationError, match=r"Move the keys together: mm\.Swap"):
        swapped(people, carry="age")
    with pytest.raises(PerturbationError, match="moves itself"):
        swapped(people, carry="lad")


def test_nothing_to_do_is_refused(people):
    with pytest.raises(PerturbationError, match="Give a list of steps"):
        mm.protect(mm.read(people, keys=KEYS, fraction=0.1), [])


def test_a_release_is_finished_once_and_only_with_its_seed(people):
    release = swapped(people, drop=["pid"])
    by_hand = mm.Release(release.original, release.original, mm.Misclassification({}))

    with pytest.raises(InputError, match="finished already"):
        release.finished(shuffle=True)
    with pytest.raises(InputError, match="has no seed"):
        by_hand.finished(shuffle=True)


def test_a_table_of_loss_with_a_dropped_column_is_refused(people):
    release = swapped(people, drop=["ward"])
    with pytest.raises(InputError, match="was dropped from the released file"):
        mm.information_loss(release, rows="lad", columns="ward")
