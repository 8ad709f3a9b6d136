"""Several steps, one release: composition, streams, provenance, and the written file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import maskmeter as mm
from maskmeter import files
from maskmeter.errors import FileError, RateWarning
from worlds import FILE_SPACE as SPACE

RNG = np.random.default_rng(4)
DATA = mm.Microdata(
    SPACE, np.column_stack([RNG.integers(0, size, 2000) for size in SPACE.sizes]), fraction=0.1
)
AGE, LAD = mm.Pram("age", 0.8), mm.Swap("lad", 0.3, within=("sex",))


def test_steps_on_different_keys_are_independent():
    release = mm.protect(DATA, [AGE, LAD], rng=1)
    alone = [step.apply(DATA, rng=1) for step in (AGE, LAD)]
    cells = SPACE.codes(np.arange(SPACE.size))

    for column, one in ((3, alone[0]), (0, alone[1])):
        assert np.array_equal(release.released.codes[:, column], one.released.codes[:, column])
    assert release.mechanism.stay(cells) == pytest.approx(
        alone[0].mechanism.stay(cells) * alone[1].mechanism.stay(cells)
    )
    assert len(release.rates) == 3


def test_adding_or_reordering_steps_does_not_change_other_draws():
    sex = mm.Pram("ward", 0.7)
    orders = ([AGE, sex], [sex, AGE], [mm.Swap("lad", 0.2), sex, AGE])
    released = [mm.protect(DATA, steps, rng=5).released.codes for steps in orders]

    for other in released[1:]:
        assert np.array_equal(other[:, [1, 3]], released[0][:, [1, 3]])


def test_two_steps_on_one_key_multiply_their_matrices():
    first = mm.Pram("lad", 0.8, label="first")
    second = mm.Pram("lad", mm.by("sex", {0: 0.9, 1: 0.6}), label="second")
    release = mm.protect(DATA, [first, second], rng=1)
    one = first.apply(DATA, rng=1)
    other = second.apply(one.released, rng=1)
    P = one.mechanism.factors[0].P[0]

    factor, after = release.mechanism.factors[0], other.mechanism.factors[0]
    for sex in range(2):
        wanted = P @ after.P[after.division.of([sex])]
        assert factor.P[factor.division.of([sex])] == pytest.approx(wanted)
    assert np.array_equal(release.released.codes, other.released.codes)


def test_transitions_follow_the_composed_matrix_of_two_steps(seed):
    """Transition frequencies over 500 releases, with six standard errors (false alarm 2e-9 each)."""
    steps = [mm.Pram("lad", 0.8, label="first"), mm.Pram("lad", 0.7, label="second")]
    true = DATA.codes[:, 0].astype(int)
    moves = np.zeros((4, 4))
    expected = np.zeros((4, 4))
    for run in range(500):
        release = mm.protect(DATA, steps, rng=seed + run)
        moves += np.bincount(true * 4 + release.released.codes[:, 0], minlength=16).reshape(4, 4)
        expected += np.bincount(true, minlength=4)[:, None] * release.mechanism.factors[0].P[0]
    error = np.sqrt(expected)

    assert np.all(np.abs(moves - expected) < 6 * error)
    wrong = expected.sum(axis=1)[:, None] * np.eye(4) * 0.8 + 0.2 * expected
    assert not np.all(np.abs(moves - wrong) < 6 * error)


def test_provenance_keeps_the_seed_and_never_shows_it():
    release = mm.protect(DATA, [AGE], rng=987654321)

    assert release.provenance is not None
    assert release.provenance.seed == 987654321
    assert release.provenance.steps == (AGE,)
    assert release.provenance.input_hash.startswith("keys sha256 ")
    assert dict(release.provenance.versions)["maskmeter"] == mm.__version__
    assert "987654321" not in repr(release) + repr(release.provenance)
    again = mm.protect(DATA, release.provenance.steps, rng=release.provenance.seed)
    assert again.released == release.released


def test_releases_without_a_seed_differ():
    first, second = (AGE.apply(DATA) for _ in range(2))

    assert first.released != second.released


PEOPLE = pl.DataFrame(
    {
        "id": [f"{number:03}" for number in range(60)],
        "lad": ["North, upper", 'the "South"', "East"] * 20,
        "income": [1.5, 2.25, None] * 20,
        "sex": pl.Series(["f", "m"] * 30, dtype=pl.Enum(["m", "f"])),
    }
)
SWAP = mm.Swap("lad", 0.5, within=("sex",))


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def read_back(path):
    return (
        pl.read_parquet(path)
        if path.suffix == ".parquet"
        else pl.read_csv(path, infer_schema=False)
    )


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.table])
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_written_file_has_the_users_columns_with_only_the_key_changed(kind, ending, tmp_path):
    people = {pl.DataFrame: PEOPLE, pd.DataFrame: PEOPLE.to_pandas(), pa.table: PEOPLE.to_arrow()}[
        kind
    ]
    release = SWAP.apply(mm.read(people, keys=["sex", "lad"]), rng=1)
    path = tmp_path / f"protected{ending}"
    release.write(path)
    written = read_back(path)
    before = PEOPLE.with_columns(pl.col("sex").cast(str))

    assert written.columns == PEOPLE.columns
    assert written["id"].to_list() == PEOPLE["id"].to_list()
    assert written["income"].cast(float).to_list() == PEOPLE["income"].to_list()
    assert written["sex"].cast(str).to_list() == before["sex"].to_list()
    moved = written["lad"].cast(str) != PEOPLE["lad"]
    assert moved.to_list() == release.changed.tolist()
    assert 28 <= moved.sum() <= 32
    assert names_in(tmp_path) == [path.name]


def test_types_are_preserved_in_parquet(tmp_path):
    PEOPLE.write_parquet(tmp_path / "people.parquet")
    release = SWAP.apply(mm.read(tmp_path / "people.parquet", keys=["lad", "sex"]), rng=1)
    release.write(tmp_path / "protected.parquet")

    assert pl.read_parquet(tmp_path / "protected.parquet").schema == PEOPLE.schema


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_csv_differs_from_its_input_only_in_the_changed_fields(end, last, mark, tmp_path):
    rows = [
        f'{number:03}, spaced ,"North, upper"," "" ",x'
        if number % 2
        else f'{number:03},,South,"two{end}lines",'
        for number in range(40)
    ]
    text = mark + end.join(["id,note,lad,quoted,last", *rows]) + (end if last else "")
    source, path = tmp_path / "people.csv", tmp_path / "protected.csv"
    source.write_text(text, encoding="utf-8", newline="")
    release = mm.Swap("lad", 0.5).apply(mm.read(source, keys=["lad"]), rng=1)
    release.write(path)
    written = path.read_bytes().decode()

    expected = (
        mark
        + end.join(
            [
                "id,note,lad,quoted,last",
                *(
                    row.replace('"North, upper"', "\x00")
                    .replace("South", '"North, upper"')
                    .replace("\x00", "South")  # quotes would reveal the original value
                    if changed
                    else row
                    for row, changed in zip(rows, release.changed, strict=True)
                ),
            ]
        )
        + (end if last else "")
    )
    assert release.changed.sum() == 20
    assert written == expected


def test_a_csv_written_as_parquet_has_the_same_values(tmp_path):
    PEOPLE.write_csv(tmp_path / "people.csv")
    release = SWAP.apply(mm.read(tmp_path / "people.csv", keys=["lad", "sex"]), rng=1)
    release.write(tmp_path / "protected.parquet")
    release.write(tmp_path / "protected.csv")

    one, other = (read_back(tmp_path / f"protected.{ending}") for ending in ("csv", "parquet"))
    assert one.equals(other)


class TestWriting:
    """A write is complete or absent, and never changes the input."""

    @pytest.fixture
    def source(self, tmp_path):
        path = tmp_path / "people.csv"
        PEOPLE.write_csv(path)
        return path

    @pytest.fixture
    def release(self, source):
        return SWAP.apply(mm.read(source, keys=["lad", "sex"]), rng=1)

    @pytest.mark.parametrize("spelling", ["people.csv", "../{folder}/people.csv"])
    def test_the_input_is_never_overwritten(self, release, source, tmp_path, spelling):
        before = source.read_bytes()
        with pytest.raises(FileError, match="the file that was read"):
            release.write(tmp_path / spelling.format(folder=tmp_path.name))
        assert source.read_bytes() == before

    def test_the_input_is_not_overwritten_through_a_hard_link(self, release, source, tmp_path):
        (tmp_path / "link.csv").hardlink_to(source)
        with pytest.raises(FileError, match="the file that was read"):
            release.write(tmp_path / "link.csv")

    def test_an_unknown_extension_is_rejected(self, release, tmp_path):
        with pytest.raises(FileError, match="Known extensions"):
            release.write(tmp_path / "protected.docx")

    def test_a_missing_folder_is_rejected(self, release, tmp_path):
        with pytest.raises(FileError, match="no such folder"):
            release.write(tmp_path / "nowhere" / "protected.csv")

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_a_failure_half_way_leaves_the_old_file(self, release, tmp_path, ending, monkeypatch):
        path = tmp_path / f"protected.{ending}"
        path.write_text("old", encoding="utf-8")
        before = names_in(tmp_path)

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(files, "_sync_file", full)
        with pytest.raises(FileError, match="No space left on device"):
            release.write(path)
        assert path.read_text(encoding="utf-8") == "old"
        assert names_in(tmp_path) == before

    def test_the_error_about_an_unsupported_column_quotes_no_record(self, tmp_path):
        frame = pl.DataFrame({"lad": ["a", "b"] * 4, "thing": [["secret"]] * 8})
        release = mm.Swap("lad", 0.5).apply(mm.read(frame, keys=["lad"]), rng=1)
        with pytest.raises(FileError, match="cannot store column 'thing'") as caught:
            release.write(tmp_path / "protected.csv")
        assert "secret" not in str(caught.value)
        assert names_in(tmp_path) == []

    def test_an_input_that_changed_since_it_was_read_is_rejected(self, release, source, tmp_path):
        source.write_text(source.read_text(encoding="utf-8") + "x", encoding="utf-8")
        with pytest.raises(FileError, match="Read it again"):
            release.write(tmp_path / "protected.csv")

    def test_a_new_file_has_default_permissions(self, release, tmp_path):
        release.write(tmp_path / "protected.csv")
        (tmp_path / "plain").touch()

        assert (tmp_path / "protected.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode

    def test_the_provenance_has_the_hash_of_the_input_file(self, release, source):
        from hashlib import sha256

        assert release.provenance is not None
        assert release.provenance.input_hash.endswith(sha256(Path(source).read_bytes()).hexdigest())

    def test_an_old_file_keeps_its_permissions(self, release, tmp_path):
        path = tmp_path / "protected.csv"
        path.touch(mode=0o600)
        release.write(path)

        assert path.stat().st_mode & 0o777 == 0o600

    def test_a_symbolic_link_is_followed(self, release, tmp_path):
        (tmp_path / "other").mkdir()
        target, link = tmp_path / "other" / "protected.csv", tmp_path / "link.csv"
        target.touch()
        link.symlink_to(target)
        release.write(link)

        assert link.is_symlink()
        assert target.read_bytes()

    def test_the_input_is_recognised_from_another_working_folder(
        self, source, tmp_path, monkeypatch
    ):
        monkeypatch.chdir(tmp_path)
        release = SWAP.apply(mm.read("people.csv", keys=["lad", "sex"]), rng=1)
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "people.csv").touch()
        monkeypatch.chdir(tmp_path / "sub")

        with pytest.raises(FileError, match="the file that was read"):
            release.write("../people.csv")
        release.write("protected.csv")
        assert source.is_file()

    @pytest.mark.parametrize("path", [None, 3, b"x.csv", ["x.csv"], "x" * 300 + ".csv", "x\0.csv"])
    def test_invalid_paths_are_rejected(self, release, path):
        with pytest.raises(FileError):
            release.write(path)

    def test_an_input_that_was_deleted_is_rejected(self, release, source, tmp_path):
        source.unlink()
        (tmp_path / "protected.csv").touch()
        with pytest.raises(FileError, match="Read it again"):
            release.write(tmp_path / "protected.csv")


def test_later_changes_to_a_frame_do_not_reach_the_written_file(tmp_path):
    frame = pd.DataFrame({"k": list("ab") * 20, "n": range(40)})
    release = mm.Swap("k", 0.2).apply(mm.read(frame, keys=["k"]), rng=1)
    frame["n"] = -1
    release.write(tmp_path / "m.csv")

    assert read_back(tmp_path / "m.csv")["n"].to_list() == [str(n) for n in range(40)]


def test_a_header_with_doubled_quotes_is_read_and_written(tmp_path):
    path = tmp_path / "q.csv"
    path.write_text('"a ""quoted"" name",x\nf,1\nm,2\nf,3\nm,4\n', encoding="utf-8")
    release = mm.Swap('a "quoted" name', 0.5).apply(mm.read(path, keys=['a "quoted" name']), rng=1)
    release.write(tmp_path / "out.csv")

    assert (tmp_path / "out.csv").read_text(encoding="utf-8").startswith('"a ""quoted"" name",x\n')


def test_a_key_that_was_not_swapped_can_be_corrected():
    release = mm.protect(DATA, [mm.Pram("age", 0.8), mm.Swap("lad", 0.2)], rng=1)

    assert mm.correct_counts(release, "age").estimate.sum() == pytest.approx(2000)
    assert mm.correct_counts(release, "age").to_frame().columns == [
        "age", "released", "estimate", "standard_error"
    ]  # fmt: skip


def test_no_repr_shows_data():
    frame = pl.DataFrame({"k": ["secret-a", "secret-b"] * 20, "g": ["secret-c", "secret-d"] * 20})
    sample = mm.read(frame.with_columns(k=pl.col("k").reverse()), keys=["k"], fraction=0.5)
    sample = mm.read(
        frame.sample(fraction=1.0, shuffle=True, seed=1).with_columns(g=frame["g"]), keys=["k", "g"]
    )
    release = mm.Swap("k", 0.2, within=("g",)).apply(sample, rng=1)
    corrected = mm.correct_counts(mm.Pram("k", 0.9).apply(sample, rng=1), "k")
    shown = [sample.source, release, release.reported, release.provenance, corrected]

    assert not any("secret" in repr(one) for one in shown)


def test_fingerprints_differ_between_files():
    other = DATA.with_codes(DATA.codes[::-1])

    assert DATA.fingerprint() != other.fingerprint()
    assert DATA.fingerprint() == mm.Microdata(SPACE, np.ascontiguousarray(DATA.codes)).fingerprint()


def test_a_mechanism_with_strata_applies_to_a_file_without_some_strata():
    small = mm.KeySpace(
        [mm.Key("lad", range(4)), *(mm.Key(k, [0, 1]) for k in ("ward", "sex", "age"))]
    )
    other = mm.Microdata(small, [[0, 0, 0, 0], [1, 0, 1, 1]], fraction=0.5)
    mechanism = mm.Swap("lad", 0.3, within=("age",)).apply(DATA, rng=1).mechanism
    twice = mm.protect(
        DATA,
        [mm.Swap("lad", 0.2, within=("age",)), mm.Swap("lad", 0.2, within=("sex",), label="z")],
        rng=1,
    ).mechanism

    for one in (mechanism, twice):
        assert np.array_equal(one.on(small).stay(other.codes), one.stay(other.codes))


def test_two_swaps_of_one_key_can_be_assessed_with_a_wider_population():
    wider = mm.KeySpace([*SPACE.keys[:3], mm.Key("age", range(5))])
    population = mm.KeyTable.of(wider, np.vstack([DATA.codes, [[0, 0, 0, 4]]]))
    steps = [mm.Swap("lad", 0.2, within=("age",)), mm.Swap("lad", 0.2, within=("sex",), label="z")]
    release = mm.protect(DATA, steps, rng=1)

    assert mm.exact_risk(release, population).total >= 0


def test_a_release_keeps_the_warnings_of_its_steps():
    """The warning is given once, and every projection of the release keeps it."""
    people = pl.DataFrame({"lad": ["a"] * 90 + ["b"] * 10, "sex": ["f", "m"] * 50})
    sample = mm.read(people, keys=["lad", "sex"], fraction=0.1)
    with pytest.warns(RateWarning) as caught:
        release = mm.protect(sample, [mm.Pram("sex", 0.9), mm.Swap("lad", 0.6)], rng=1)

    assert len(caught) == 1
    (caution,) = release.cautions
    assert caution.kind is RateWarning
    assert str(caution).startswith("12 records were swapped where 60 were asked for.")
    assert release.project(["lad"]).cautions == release.cautions
    assert mm.protect(sample, [mm.Pram("sex", 0.9)], rng=1).cautions == ()
    assert release.changed_by_key["lad"] == 0.12


def test_steps_name_the_keys_they_change():
    assert mm.Swap(("lad", "ward"), 0.1, within=("sex",)).altered_keys == ("lad", "ward")
    assert mm.Pram(["age", ("lad", "ward")], 0.8).altered_keys == ("age", "lad", "ward")
