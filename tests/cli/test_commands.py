"""The commands on a file: what they write, what they reject, and what they leave unchanged."""

from __future__ import annotations

import hashlib
import json
import resource
import shutil
from pathlib import Path

import polars as pl
import pyreadstat
import pytest

import maskmeter as mm
from command import DRAWN, INSTALLED, keep, kept, run, run_process

KEYS = ["lad", "sex", "age", "ethnicity"]
LABELS = {"lad": "Local authority district", "sex": "Sex of person", "age": "Age in bands"}
INSIDE = [f"internal/{x}" for x in ("assessment.json", "internal.html", "risk_by_record.parquet")]
PACK = [*INSIDE, "public.html"]
SECRET = "Qz7canary"


@pytest.fixture(scope="module")
def people(town):
    """Return a survey as a statistical package would store it: codes, a weight and a number."""
    drawn = mm.bernoulli_sample(town, fraction=0.02, rng=3).select(KEYS)
    codes = drawn.select(
        pl.col(name)
        .cast(pl.String)
        .cast(pl.Enum(sorted(drawn[name].cast(pl.String).unique())))
        .to_physical()
        .cast(pl.Float64)
        + 1
        for name in KEYS
    )
    return codes.with_columns(
        weight=pl.lit(50.0),
        hh=(pl.int_range(pl.len()) // 2).cast(pl.Float64),
        income=pl.int_range(pl.len()) * 1.5,
    )


def value_labels(people):
    return {
        name: {float(code): f"{name} no. {code:.0f}" for code in people[name].unique()}
        for name in KEYS
    }


def written(people, folder, ending):
    path = folder / f"survey{ending}"
    if ending == ".csv":
        people.with_columns(pl.col(KEYS).cast(pl.Int64)).write_csv(path)
    elif ending == ".parquet":
        people.with_columns(pl.col(KEYS).cast(pl.Int64)).write_parquet(path)
    else:
        write = pyreadstat.write_sav if ending == ".sav" else pyreadstat.write_dta
        labels = value_labels(people)
        if ending == ".dta":
            people = people.with_columns(pl.col(KEYS).cast(pl.Int32))
            labels = {
                name: {int(code): text for code, text in one.items()}
                for name, one in labels.items()
            }
        write(people, path, column_labels=LABELS, variable_value_labels=labels)
    return path


def planned(folder, text):
    path = folder / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return path


def run_plan(command, source, *options, plan):
    """Return what a command did with the text of a plan; it writes to `out` beside the file."""
    folder = source.parent
    paths = ("--plan", planned(folder, plan), "--out", folder / "out")
    return run(command, source, *paths, *options, drawn=DRAWN)


STEPS = """
[data]
keys = ["lad", "sex", "age", "ethnicity"]
fraction = 0.02

[[step]]
method = "swap"
key = "lad"
rate = 0.2
within = ["sex"]

[loss]
tables = [["lad", "ethnicity"]]

[target]
max_share = 0.5
"""


def files_in(folder):
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def packed(people, once):
    """Return a function from a file extension to the folder of one `assess` run on that format."""

    def fill(folder, ending):
        source, plan = written(people, folder, ending), planned(folder, STEPS)
        before = digest(source)
        out = folder / "evidence"
        keep(run("assess", source, "--plan", plan, "--out", out, drawn=DRAWN), folder)
        assert digest(source) == before

    return lambda ending: once(f"pack{ending}", lambda folder: fill(folder, ending))


@pytest.mark.parametrize("ending", [".csv", ".sav", ".dta", ".parquet"])
def test_assess_writes_the_same_figures_as_the_api(packed, ending):
    folder = packed(ending)
    source, out, done = folder / f"survey{ending}", folder / "evidence", kept(folder)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert (
        max(
            len(line) for line in done.stdout.splitlines() if not line.startswith(("Wrote", "Open"))
        )
        <= 80
    )
    names = [f"protected{ending}", "internal/provenance.json", *PACK]
    assert files_in(out) == sorted(names)

    sample = mm.read(source, keys=KEYS, fraction=0.02)
    release = mm.Swap("lad", rate=0.2, within=("sex",)).apply(sample, rng=DRAWN)
    model = mm.shrink_loglinear(sample)
    risk = mm.estimate_risk(release, model)
    informed = mm.estimate_risk(release, model, intruder="informed")
    found = json.loads((out / "internal" / "assessment.json").read_text(encoding="utf-8"))
    (scenario,) = found["scenarios"]
    assert found["schema_version"] == 5
    assert scenario["intruder"] == "informed"
    for name, one in (("exact_match", risk), ("informed", informed)):
        assert scenario["risks"][name]["total"] == one.total
        assert scenario["risks"][name]["interval"] == list(one.interval)
        assert scenario["risks"][name]["uniques"] == one.uniques
        assert scenario["unprotected"][name]["total"] == mm.estimate_risk(sample, model).total
    assert scenario["model"]["tau2"] == risk.tau2
    loss = mm.information_loss(release, rows="lad", columns="ethnicity")
    assert found["loss"][0]["raad"] == loss.raad
    assert found["changed"] == release.changed.mean()
    assert found["target"]["met"] is True
    left_out = {one["key"]: one["total"] for one in scenario["without_one_key"]}
    seen = release.project(["lad", "sex", "ethnicity"])
    without_age = mm.estimate_risk(seen, intruder="informed")
    assert left_out["age"] == pytest.approx(without_age.total)

    protected = mm.read(out / f"protected{ending}", keys=sample.space, fraction=0.02)
    assert (protected.codes == release.released.codes).all()
    assert protected.to_frame()["income"].equals(sample.to_frame()["income"])
    by_record = pl.read_parquet(out / "internal" / "risk_by_record.parquet")
    assert by_record["risk"].to_numpy() == pytest.approx(risk.by_record)
    assert by_record["informed"].to_numpy() == pytest.approx(informed.by_record)
    assert by_record["unique"].sum() == risk.uniques
    assert by_record["key lad"].to_list() == [
        release.released.space["lad"].categories[code] for code in release.released.codes[:, 0]
    ]
    page = (out / "internal" / "internal.html").read_text(encoding="utf-8")
    if ending in (".sav", ".dta"):
        assert "Local authority district (lad)" in page
        assert "ethnicity no. " in page


@pytest.mark.parametrize("ending", [".csv", ".sav", ".dta", ".parquet"])
def test_the_provenance_recreates_the_same_file(packed, tmp_path, ending):
    folder = packed(ending)
    source, one, first = folder / f"survey{ending}", folder / "evidence", kept(folder)
    made = one / "internal" / "provenance.json"
    again = run("assess", source, "--from", made, "--out", tmp_path / "two")
    elsewhere = run_process if ending == ".sav" else run  # another process has another hash seed
    alone = elsewhere("protect", source, "--from", made, "--out", tmp_path / f"three{ending}")

    for done in (first, again, alone):
        assert done.returncode == 0, done.stderr
    protected = digest(one / f"protected{ending}")
    assert digest(tmp_path / "two" / f"protected{ending}") == protected
    assert digest(tmp_path / f"three{ending}") == protected
    for name in (*INSIDE[::2], "internal/provenance.json"):
        assert digest(tmp_path / "two" / name) == digest(one / name), name
    seed = json.loads(made.read_text(encoding="utf-8"))["seed"]
    for done in (first, again, alone):
        assert seed not in done.stdout + done.stderr
    for page in ("internal/internal.html", "public.html", "internal/assessment.json"):
        assert seed not in (one / page).read_text(encoding="utf-8")
    other = run("assess", source, "--plan", folder / "plan.toml", "--out", tmp_path / "four")
    assert other.returncode == 0
    assert digest(tmp_path / "four" / f"protected{ending}") != protected  # another seed


@pytest.mark.parametrize("command", ["assess", "protect", "find"])
def test_a_release_takes_no_seed_and_the_error_says_what_to_do(packed, tmp_path, command):
    folder = packed(".csv")
    options = ("--plan", folder / "plan.toml", "--out", tmp_path / "out")
    done = run(command, folder / "survey.csv", *options, "--seed", "20260131")

    assert done.returncode == 2
    assert "takes no --seed: anyone who guesses the seed of a release can undo" in done.stderr
    assert "--from" in done.stderr
    assert "20260131" not in done.stderr
    assert "--seed" not in run(command, "--help").stdout
    assert not list(tmp_path.iterdir())


def test_every_release_has_a_seed_of_128_bits_from_the_system(packed, tmp_path):
    folder, seeds = packed(".csv"), []
    for name in ("a.csv", "b.csv"):
        plan = ("--plan", folder / "plan.toml")
        assert run("protect", folder / "survey.csv", *plan, "--out", tmp_path / name).stderr == ""
        made = json.loads((tmp_path / f"{name}.provenance.json").read_text(encoding="utf-8"))
        seeds.append(int(made["seed"]))

    assert seeds[0] != seeds[1]
    assert all(2**64 <= seed < 2**128 for seed in seeds)  # smaller with probability 2^-64


def test_a_provenance_that_does_not_match_is_rejected(packed, tmp_path):
    folder = packed(".csv")
    source, made = folder / "survey.csv", folder / "evidence" / "internal" / "provenance.json"
    other = tmp_path / "other.csv"
    other.write_bytes(source.read_bytes().replace(b"\n", b"\r\n"))
    done = run("assess", other, "--from", made, "--out", tmp_path / "two")

    assert done.returncode == 1
    assert "The release was made from another file" in done.stderr
    assert not (tmp_path / "two").exists()
    there = run("protect", source, "--from", made, "--out", made.parent.with_name("protected.csv"))
    assert there.returncode == 1
    assert "already exists" in there.stderr
    assert not (tmp_path / "b.csv").exists()
    mixed = run("assess", source, "--from", made, "--keys", "sex", "--out", tmp_path / "two")
    assert mixed.returncode == 2


def test_a_file_without_steps_is_assessed_unprotected(people, tmp_path):
    source = written(people, tmp_path, ".sav")
    done = run(
        "assess",
        source,
        "--keys",
        "lad,sex,age,ethnicity",
        "--weights",
        "weight",
        "--out",
        tmp_path / "out",
        "--json",
        "--internal",
        "--charts",
        "svg",
    )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert json.loads((tmp_path / "out" / "internal" / "assessment.json").read_text()) == found
    assert found["steps"] == []
    names = [name for name in files_in(tmp_path / "out") if "charts" not in name]
    assert names == sorted(PACK)
    assert all(
        path.suffix == ".svg" and path.stat().st_size > 1000
        for path in (tmp_path / "out" / "internal" / "charts").iterdir()
    )
    assert len(list((tmp_path / "out" / "internal" / "charts").iterdir())) >= 3
    sample = mm.read(source, keys=KEYS, weights="weight")
    risks = found["scenarios"][0]["risks"]
    assert risks["informed"]["total"] == mm.estimate_risk(sample).total
    assert risks["exact_match"]["total"] == risks["informed"]["total"]  # nothing was changed


SCENARIOS = """
[data]
fraction = 0.02
household = "hh"

[scenario.neighbour]
keys = ["lad", "sex", "age"]

[scenario.registrar]
keys = ["age", "ethnicity", "sex"]

[[step]]
method = "swap"
key = "lad"
rate = {by = "ethnicity", values = {"1" = 0.1}, otherwise = 0.5}

[report]
audience = "internal"
"""


def test_every_scenario_is_assessed_and_the_worst_is_the_headline(people, tmp_path):
    source = written(people, tmp_path, ".csv")
    done = run_plan("assess", source, plan=SCENARIOS)

    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "out" / "public.html").exists()
    found = json.loads((tmp_path / "out" / "internal" / "assessment.json").read_text())
    totals = {one["name"]: one["risks"]["informed"]["total"] for one in found["scenarios"]}
    assert list(totals) == ["neighbour", "registrar"]
    assert found["headline"] == max(totals, key=totals.get)
    assert f"In the worst of 2 scenarios ({found['headline']})" in done.stdout
    assert all(one["households"]["matched"] > 0 for one in found["scenarios"])
    frame = pl.read_parquet(tmp_path / "out" / "internal" / "risk_by_record.parquet")
    assert {"risk neighbour", "risk registrar"} < set(frame.columns)
    registrar = next(one for one in found["scenarios"] if one["name"] == "registrar")
    assert registrar["risks"]["informed"]["total"] == pytest.approx(
        registrar["unprotected"]["informed"]["total"]
    )  # lad is not known


def test_a_population_makes_the_risk_exact(town, tmp_path):
    drawn = mm.bernoulli_sample(town, fraction=0.02, rng=3)
    drawn.write_csv(tmp_path / "survey.csv")
    town.write_csv(tmp_path / "census.csv")
    known = ("--population", tmp_path / "census.csv")
    done = run_plan("assess", tmp_path / "survey.csv", *known, "--json", plan=STEPS)

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    population = mm.count(tmp_path / "census.csv", keys=KEYS)
    sample = mm.read(tmp_path / "survey.csv", keys=population.space, fraction=0.02)
    release = mm.Swap("lad", rate=0.2, within=("sex",)).apply(sample, rng=DRAWN)
    (scenario,) = found["scenarios"]
    assert found["population_known"]
    for name, intruder in (("exact_match", "exact-match"), ("informed", "informed")):
        risk = mm.exact_risk(release, population, intruder=intruder)
        assert scenario["risks"][name]["total"] == risk.total
    right = mm.correctly_classified_risk(release, population).total
    assert {one["equation"]: one["total"] for one in scenario["other_measures"]}["(2.9)"] == right


CHOICES = (
    STEPS.replace("[[step]]", '[[candidate]]\nlabel = "swap 20%"\n[[candidate.step]]')
    + """
[[candidate]]
label = "pram 40%"
[[candidate.step]]
method = "pram"
key = "lad"
stay = 0.6
"""
)


def test_candidates_are_compared_and_the_best_is_found(people, tmp_path):
    source = written(people, tmp_path, ".csv")
    plan = planned(tmp_path, CHOICES)
    done = run("compare", source, "--plan", plan, "--out", tmp_path / "map", "--seed", "1")

    assert done.returncode == 0, done.stderr
    assert files_in(tmp_path / "map") == [
        "internal/comparison.html",
        "internal/comparison.json",
    ]
    found = json.loads((tmp_path / "map" / "internal" / "comparison.json").read_text())
    assert [one["label"] for one in found["map"]["releases"]] == [
        "no protection",
        "swap 20%",
        "pram 40%",
    ]
    sample = mm.read(source, keys=KEYS, fraction=0.02)
    steps = {
        "swap 20%": mm.Swap("lad", rate=0.2, within=("sex",)),
        "pram 40%": mm.Pram("lad", stay=0.6),
    }
    options = mm.compare(sample, steps, loss=("lad", "ethnicity"), rng=1)
    risks = [one["risk"] for one in found["map"]["releases"][1:]]
    assert risks == [point.risk for point in options.points]
    assert max(len(line) for line in done.stdout.splitlines() if not line.startswith("Wrote")) <= 80

    allowed = 0.9 * options["swap 20%"].informed_upper
    tight = planned(tmp_path, CHOICES.replace("max_share = 0.5", f"max_total = {allowed}"))
    best = run("find", source, "--plan", tight, "--out", tmp_path / "best", "--json", drawn=DRAWN)
    assert best.returncode == 0, best.stderr
    chosen = json.loads(best.stdout)
    found = mm.find_release(
        sample,
        candidates=steps,
        target=mm.Target(max_total=allowed),
        loss=("lad", "ethnicity"),
        rng=DRAWN,
    )
    assert found.label == "pram 40%"
    assert (chosen["chosen"], chosen["target"]["met"]) == (found.label, True)
    assert chosen["scenarios"][0]["risks"]["informed"]["total"] == found.risk.total
    assert chosen["map"]["layers"] == [
        {"intruder": x.intruder, "by": x.by, "label": x.label, "matches": x.matches, "loss": x.loss}
        for x in found.layers
    ]
    again = run(
        "assess",
        source,
        "--from",
        tmp_path / "best" / "internal" / "provenance.json",
        "--out",
        tmp_path / "again",
    )
    assert again.returncode == 0, again.stderr
    assert digest(tmp_path / "again" / "protected.csv") == digest(
        tmp_path / "best" / "protected.csv"
    )

    far = planned(tmp_path, CHOICES.replace("max_share = 0.5", "max_total = 0"))
    none = run("find", source, "--plan", far, "--out", tmp_path / "none", drawn=DRAWN)
    assert none.returncode == 0
    assert "No release meets the target" in none.stdout
    assert "is not met" in none.stdout


def test_a_family_is_searched(people, tmp_path):
    source = written(people, tmp_path, ".parquet")
    text = (
        STEPS.split("[[step]]", maxsplit=1)[0]
        + '[family]\nkey = "lad"\nmethods = ["swap"]\n[loss]\ntables = [["lad", "age"]]\n[target]\nmax_share = 0.1\n'
    )
    done = run_plan("find", source, plan=text)

    assert done.returncode == 0, done.stderr
    assert "random swap" in done.stdout
    assert (tmp_path / "out" / "protected.parquet").exists()


def test_plan_init_writes_a_plan_that_works(people, tmp_path):
    written(people, tmp_path, ".sav")
    done = run("plan", "init", "survey.sav", folder=tmp_path)
    twice = run("plan", "init", "survey.sav", folder=tmp_path)
    used = run("assess", "survey.sav", "--plan", "plan.toml", "--out", "out", folder=tmp_path)

    assert done.returncode == 0, done.stderr
    text = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    assert "Local authority district" in text
    assert 'weights = "weight"' in text
    assert twice.returncode == 1
    assert "already exists" in twice.stderr
    assert used.returncode == 0, used.stderr


def bad(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return path


GOOD = b"lad,sex,w\n" + b"".join(f"{n % 4},{n % 2},{n % 5 + 1}\n".encode() for n in range(60))
NUMBERS = b"lad,sex\n" + b"".join(f"{n * 7 % 997},{n % 2}\n".encode() for n in range(900))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.csv", b"", "the file is empty"),
        ("latin.csv", GOOD.replace(b"3,", b"\xe9t\xe9,"), "UTF-8"),
        ("ragged.csv", GOOD.replace(b"3,1,4\n", b"3,1\n", 1), "fewer than"),
        ("long.csv", GOOD.replace(b"3,1,4\n", b"3,1,4,5\n", 1), "Cannot read"),
        ("broken.sav", b"$FL2@(#) not a file", "Cannot read 'broken.sav'"),
        ("broken.dta", GOOD, "Cannot read 'broken.dta'"),
        ("broken.parquet", GOOD, "Cannot read 'broken.parquet'"),
        ("broken.xlsx", GOOD, "Cannot read 'broken.xlsx'"),
        ("zero.csv", GOOD.replace(b",5\n", b",0\n"), "not positive"),
        ("what.doc", GOOD, "Cannot tell the format"),
    ],
)
def test_bad_files_are_rejected_in_one_line_and_nothing_is_written(tmp_path, name, content, said):
    source = bad(tmp_path, name, content)
    done = run("assess", source, "--keys", "lad,sex", "--weights", "w", "--out", tmp_path / "out")

    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.startswith("maskmeter: ")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
    assert source.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_folders_missing_files_and_unknown_keys_are_rejected(tmp_path):
    source = bad(tmp_path, "a.csv", GOOD)
    (tmp_path / "empty").mkdir()
    cases = [
        ([tmp_path / "empty", "--keys", "lad", "--fraction", "0.1"], "no files in the folder"),
        ([tmp_path / "none.csv", "--keys", "lad", "--fraction", "0.1"], "there is no such file"),
        ([source, "--keys", "lads,sex", "--fraction", "0.1"], "Did you mean 'lad'?"),
        (
            [source, "--keys", "lad", "--fraction", "0.1", "--plan", tmp_path / "no.toml"],
            "no such file",
        ),
        ([source, "--keys", "lad"], "--fraction or --weights"),
        ([source, "--fraction", "0.1"], "maskmeter plan init"),
    ]
    for arguments, said in cases:
        done = run("assess", *arguments, "--out", tmp_path / "out")
        assert done.returncode == 1, arguments
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "empty"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["assess"],
        ["assess", "a.csv"],
        ["assess", "a.csv", "--keys", "a", "--fraction", "2", "--out", "x"],
        ["assess", "a.csv", "--keys", "a", "--fraction", "nan", "--out", "x"],
        ["protect", "a.csv", "--out", "b.csv"],
        ["compare", "a.csv", "--out", "x"],
        ["plan"],
        ["asess", "a.csv"],
        ["demo", "--scale", "nan"],
    ],
)
def test_usage_errors_exit_with_two(tmp_path, arguments):
    done = run(*arguments, folder=tmp_path)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_key_with_many_numbers_needs_bands_or_codes(tmp_path, ending):
    source = bad(tmp_path, "a.csv", NUMBERS)
    if ending == ".parquet":
        pl.read_csv(source).write_parquet(tmp_path / "a.parquet")
        source = tmp_path / "a.parquet"
    start = '[data]\nkeys = ["lad", "sex"]\nfraction = 0.1\n'
    step = '[[step]]\nmethod = "swap"\nkey = "lad"\nrate = 0.1\n'
    plan = planned(tmp_path, start + step)
    advised = run("assess", source, "--plan", plan, "--out", tmp_path / "one")
    plan.write_text(start + 'codes = ["lad"]\n' + step, encoding="utf-8")
    codes = run("assess", source, "--plan", plan, "--out", tmp_path / "codes")
    plan.write_text(start + "[data.bands]\nlad = [0, 100, 500]\n" + step, encoding="utf-8")
    banded = run("assess", source, "--plan", plan, "--out", tmp_path / "two")

    assert advised.returncode == 1
    assert advised.stderr.startswith("maskmeter: plan.toml, line 2: Key 'lad' has")
    assert "[data.bands] with lad =" in advised.stderr
    assert advised.stderr.count("\n") == 1
    assert not (tmp_path / "one").exists()
    assert codes.returncode == 0, codes.stderr
    assert banded.returncode == 0, banded.stderr
    written = tmp_path / "two" / f"protected{ending}"
    protected = pl.read_csv(written) if ending == ".csv" else pl.read_parquet(written)
    assert set(protected["lad"]) == {"0-99", "100-499", "500+"}


def test_an_unwritable_folder_and_a_full_disk_leave_nothing(people, tmp_path):
    source = written(people, tmp_path, ".csv")
    plan = planned(tmp_path, STEPS)
    locked = tmp_path / "locked"
    locked.mkdir()
    (locked / "file").write_text("mine")
    blocked = run("assess", source, "--plan", plan, "--out", locked / "file" / "out")
    assert blocked.returncode == 1
    assert "Cannot write" in blocked.stderr

    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    for command, out in (("assess", tmp_path / "out"), ("protect", tmp_path / "out.csv")):
        full = run_process(command, source, "--plan", plan, "--out", out, preexec_fn=small)
        assert full.returncode == 1, full.stderr
        assert "File too large" in full.stderr
        assert "Traceback" not in full.stderr
        assert not out.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["locked", "plan.toml", "survey.csv"]


def test_a_pack_overwrites_neither_another_pack_nor_its_source(packed, tmp_path):
    shutil.copytree(packed(".csv"), tmp_path, dirs_exist_ok=True)
    source, plan, out = tmp_path / "survey.csv", tmp_path / "plan.toml", tmp_path / "evidence"
    made = out / "internal" / "provenance.json"
    before = {name: digest(out / name) for name in files_in(out)}
    again = [
        run("assess", source, "--plan", plan, "--out", out),
        run("assess", source, "--from", made, "--out", out),
        run("assess", source, "--keys", "lad,sex", "--fraction", "0.02", "--out", out),
        run("assess", source, "--plan", plan, "--out", tmp_path),
        run("assess", source, "--plan", plan, "--out", made),
        run("protect", source, "--plan", plan, "--out", source),
    ]

    assert [done.returncode for done in again] == [1, 1, 1, 1, 2, 1]
    assert all("already exists and is not empty" in done.stderr for done in again[:4])
    assert "file that was read" in again[-1].stderr
    assert {name: digest(out / name) for name in files_in(out)} == before


def test_messages_show_no_record_values_and_html_in_titles_is_escaped(tmp_path):
    label = f"<script>alert('{SECRET}')</script>"
    rows = [f"=cmd|{SECRET},f", *(f"{n % 9},{'fm'[n % 2]}" for n in range(80))]
    source = bad(tmp_path, "a.csv", ("lad,sex\n" + "\n".join(rows) + "\n").encode())
    text = f'[data]\nkeys = ["lad", "sex"]\nfraction = 0.1\n[report]\ntitle = "{label}"\n[[step]]\nmethod = "swap"\nkey = "lad"\nrate = 0.3\n'
    done = run_plan("assess", source, plan=text)

    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stdout + done.stderr
    page = (tmp_path / "out" / "internal" / "internal.html").read_text(encoding="utf-8")
    assert label not in page
    assert f"&lt;script&gt;alert(&#39;{SECRET}&#39;)&lt;/script&gt;" in page
    assert (
        f"=cmd|{SECRET}" in (tmp_path / "out" / "protected.csv").read_text()
    )  # values of records are copied unchanged
    public = (tmp_path / "out" / "public.html").read_text(encoding="utf-8")
    assert f"=cmd|{SECRET}" not in public


def test_every_command_has_help_with_an_example_and_shell_completion():
    for command in (
        ["assess"],
        ["protect"],
        ["compare"],
        ["find"],
        ["plan"],
        ["plan", "init"],
        ["demo"],
        ["paper"],
        ["completion"],
    ):
        done = run(*command, "--help")
        assert done.returncode == 0
        assert "Example" in done.stdout
        assert f"maskmeter {' '.join(command)}" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80
    for shell in ("bash", "zsh", "fish"):
        assert "_MASKMETER_COMPLETE" in run("completion", shell).stdout
    asked = {"COMP_WORDS": "maskmeter as", "COMP_CWORD": "1"}
    offered = run_process(command=INSTALLED, env={"_MASKMETER_COMPLETE": "bash_complete", **asked})
    assert "assess" in offered.stdout


def test_read_only_formats_are_written_in_one_that_keeps_labels(tmp_path):
    source = Path(__file__).parents[1] / "formats" / "r" / "people.rds"
    plan = planned(
        tmp_path,
        '[data]\nkeys = ["sex", "question"]\nfraction = 0.1\nmissing = "category"\n[[step]]\nmethod = "swap"\nkey = "sex"\nrate = 0.5\n',
    )
    own = run("assess", source, "--plan", plan, "--out", tmp_path / "own", drawn=DRAWN)
    other = run(
        "assess",
        source,
        "--plan",
        plan,
        "--out",
        tmp_path / "other",
        "--format",
        "csv",
        drawn=DRAWN,
    )
    never = run("assess", source, "--plan", plan, "--out", tmp_path / "never", "--format", ".rds")

    assert own.returncode == other.returncode == 0, own.stderr + other.stderr
    assert (tmp_path / "own" / "protected.sav").exists()
    assert (tmp_path / "other" / "protected.csv").exists()
    assert "Caution: Writing 'protected.csv' loses information" in other.stderr
    assert never.returncode == 1
    assert "maskmeter reads R files but does not write them" in never.stderr
    assert not (tmp_path / "never").exists()


def test_the_command_recreates_a_release_written_from_python(people, tmp_path):
    source = written(people, tmp_path, ".sav")
    fraction = mm.by("sex", {1: 0.02}, otherwise=0.03)
    sample = mm.read(source, keys=KEYS, fraction=fraction)
    steps = [mm.Swap("lad", rate=0.2, within=("sex",)), mm.Pram("age", stay=0.9)]
    mm.report(mm.assess(mm.protect(sample, steps, rng=5)), tmp_path / "one")
    made = tmp_path / "one" / "internal" / "provenance.json"
    done = run("protect", source, "--from", made, "--out", tmp_path / "again.sav")

    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("Caution: The seed of this release is so small")
    assert digest(tmp_path / "again.sav") == digest(tmp_path / "one" / "protected.sav")


def test_the_map_includes_the_release_that_was_drawn(people, tmp_path):
    source = written(people, tmp_path, ".csv")
    candidate = '[[candidate]]\nlabel = "pram"\n[[candidate.step]]\nmethod = "pram"\nkey = "lad"\nstay = 0.7\n'
    plan = planned(tmp_path, STEPS + candidate)
    first = run("assess", source, "--plan", plan, "--out", tmp_path / "one", "--json")
    made = tmp_path / "one" / "internal" / "provenance.json"
    again = run("assess", source, "--from", made, "--out", tmp_path / "two", "--json")

    assert first.returncode == 0, first.stderr
    assert again.stdout == first.stdout  # every draw is repeated
    found = json.loads(first.stdout)
    options = {one["label"]: one for one in found["map"]["releases"]}
    assert list(options) == ["no protection", "the plan's steps", "pram"]
    risks, bare = (found["scenarios"][0][name] for name in ("risks", "unprotected"))
    assert options[found["chosen"]]["risk"] == risks["exact_match"]["total"]
    assert options[found["chosen"]]["informed"] == risks["informed"]["total"]
    assert options["no protection"]["risk"] == bare["exact_match"]["total"]


def test_find_checks_the_target_in_every_scenario(people, tmp_path):
    source = written(people, tmp_path, ".parquet")
    text = """
[data]
fraction = 0.02
[scenario.neighbour]
keys = ["lad", "sex", "age"]
[scenario.registrar]
keys = ["lad", "age", "ethnicity"]
[family]
key = "lad"
methods = ["swap"]
[loss]
tables = [["lad", "age"]]
[target]
max_total = 6
"""
    done = run_plan("find", source, "--json", plan=text)

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    uppers = [one["risks"]["informed"]["interval"][1] for one in found["scenarios"]]
    assert found["target"]["met"] == (max(uppers) <= 6)
    chosen = next(one for one in found["map"]["releases"] if one["label"] == found["chosen"])
    assert chosen["informed_upper"] == pytest.approx(max(uppers))


def test_mistakes_in_a_plan_are_reported_with_their_lines(people, tmp_path):
    source = written(people, tmp_path, ".csv")
    start = '[data]\nkeys = ["lad", "sex"]\nfraction = 0.02\n'
    error = '[[error]]\nkey = "sex"\nmatrix = [[0.9, 0.1], [0.1, 0.9]]\ncategories = [1, 2]\n'
    cases = {
        start + '[[step]]\nmethod = "swap"\nkey = "lad"\nrate = 2\n': "line 7: `rate` must be",
        start + '[scenario.a]\nkeys = ["lat"]\n': "line 5: No column named 'lat'",
        start + '[loss]\ntables = [["lad", "aeg"]]\n': "line 5: No column named 'aeg'",
        start + error + error: "line 8: 'sex' has two [[error]]s",
        start + error.replace('"sex"', '"sax"'): "No key named 'sax'",
        start
        + '[loss]\ntables = [["lad", "income"]]\n': "line 5: Column 'income' has 4,028 distinct values, too many",
        start + '[loss]\ntables = [["lad", "lad"]]\n': "line 5: A table needs two columns",
        start + "[data.bands]\nage = [0, 5]\n": "line 5: 'age' has bands but is not a key",
        start.replace('"sex"]', '"sex", "lad"]'): "line 2: `keys` names 'lad' more than once",
        start
        + '[[candidate]]\nlabel = "no protection"\nstep = []\n': "line 5: 'no protection' is a reserved label",
    }
    for text, said in cases.items():
        done = run_plan("assess", source, plan=text)
        assert done.returncode == 1, text
        assert said in done.stderr
    good = run_plan("assess", source, plan=start + error)
    assert good.returncode == 0, good.stderr
