"""A release is made again from its provenance, or the command says why it cannot be."""

from __future__ import annotations

import json

import polars as pl
import pytest

import maskmeter as mm
from command import DRAWN, run
from maskmeter.evidence.provenance import digest_of, read_provenance

PLAN = """
[data]
keys = ["lad", "sex", "age"]
fraction = 0.05
[[step]]
method = "swap"
key = "lad"
rate = 0.2
[report]
audience = "public"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a survey, its release and the provenance."""
    folder = tmp_path_factory.mktemp("repeated")
    people = mm.bernoulli_sample(mm.synthetic_census(size=10_000), fraction=0.05, rng=1)
    people.select("lad", "sex", "age").write_csv(folder / "survey.csv")
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    words = ("--plan", folder / "plan.toml", "--out", folder / "safe.csv")
    assert run("protect", folder / "survey.csv", *words).returncode == 0
    return folder


def edited(made, folder, *path, value, sealed):
    """Return a provenance file with one entry changed, with a digest that fits or the old one."""
    known = json.loads((made / "safe.csv.provenance.json").read_text(encoding="utf-8"))
    at = known
    for part in path[:-1]:
        at = at[part]
    assert isinstance(at, list) or at.get(path[-1], "not given") != value
    at[path[-1]] = value
    if sealed:
        known["digest"] = digest_of(json.dumps(known).encode())
    (folder / "edited.json").write_text(json.dumps(known), encoding="utf-8")
    return folder / "edited.json"


def refused(made, folder, file, said, command="protect"):
    out = folder / ("again.csv" if command == "protect" else "again")
    done = run(command, made / "survey.csv", "--from", file, "--out", out)

    assert done.returncode == 1, done.stdout
    assert said in done.stderr
    assert done.stderr.startswith("maskmeter: ")
    assert len(done.stderr) < 1000
    assert sorted(path.name for path in folder.iterdir()) == [file.name]


EDITS = {
    "seed": (("seed",), "3"),
    "rate of a step": (("steps", 0, "rate"), 0.1),
    "rate in the plan": (("plan", "step", 0, "rate"), 0.1),
    "output": (("output",), "other.csv"),
    "hash of the output": (("output_hash",), "sha256 0"),
    "report": (("plan", "report", "audience"), "both"),
    "smallest count": (("plan", "report", "smallest_count"), 1),
    "versions": (("versions", "maskmeter"), "0.0"),
    "digest": (("digest",), ""),
}


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("command", ["protect", "assess"])
def test_an_edited_provenance_is_refused(made, tmp_path, name, command):
    path, value = EDITS[name]
    file = edited(made, tmp_path, *path, value=value, sealed=False)

    refused(made, tmp_path, file, "is damaged or was edited", command)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("seed",), "3", "The recreated release differs"),
        (("keys_hash",), "sha256 0", "The recreated release differs"),
        (("output_hash",), "sha256 0", "The recreated file differs"),
        (("output_hash",), None, "The recreated file differs"),
        (("input_hash",), "sha256 0", "The release was made from another file"),
        (("steps", 0, "rate"), 0.1, "its steps differ from those of its plan"),
        (("plan", "step"), [], "its steps differ from those of its plan"),
        (("steps",), [], "its steps differ from those of its plan"),
    ],
)
def test_a_digest_made_to_fit_does_not_help_an_edit_of_the_release(
    made, tmp_path, path, value, said
):
    file = edited(made, tmp_path, *path, value=value, sealed=True)

    refused(made, tmp_path, file, said)


def test_a_provenance_without_steps_is_refused(made, tmp_path):
    file = edited(made, tmp_path, "steps", value=[], sealed=False)
    known = json.loads(file.read_text(encoding="utf-8"))
    known["plan"]["step"] = []
    known["digest"] = digest_of(json.dumps(known).encode())
    file.write_text(json.dumps(known), encoding="utf-8")

    for command in ("assess", "protect"):
        refused(made, tmp_path, file, "no step", command)


HOSTILE = {
    "negative seed": (("seed",), "-1"),
    "seed in another notation": (("seed",), "1e5"),
    "seed in other digits": (("seed",), "٣"),
    "seed of 6,000 digits": (("seed",), "9" * 6000),
    "empty seed": (("seed",), ""),
    "seed that is a number": (("seed",), 12),
    "rate of a text": (("steps", 0, "rate"), "much"),
    "steps that are a text": (("steps",), "swap"),
    "steps that are null": (("steps",), None),
    "many steps": (("steps",), [{"method": "swap"}] * 10**5),
    "unknown method": (("steps", 0, "method"), "erase"),
    "keys that are numbers": (("plan", "data", "keys"), [1, 2]),
    "fraction beyond one": (("plan", "data", "fraction"), 1e308),
    "fraction of nobody": (("plan", "data", "fraction"), -1),
    "no keys": (("plan", "data", "keys"), []),
    "unknown keys": (("plan", "data", "keys"), ["no such column"] * 3),
    "many keys": (("plan", "data", "keys"), [f"key{n}" for n in range(1000)]),
    "negative smallest count": (("plan", "report", "smallest_count"), -5),
    "versions that are a list": (("versions",), [1]),
    "population that is nowhere": (("plan", "data", "population"), "/no/such/file.csv"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_entries_are_refused_in_a_sentence(made, tmp_path, name):
    path, value = HOSTILE[name]
    file = edited(made, tmp_path, *path, value=value, sealed=True)

    refused(made, tmp_path, file, "", command="assess")


@pytest.mark.parametrize("text", ["NaN", "1e999", "-Infinity", "{", '"' * 3])
def test_numbers_that_are_none_are_refused_in_a_sentence(made, tmp_path, text):
    known = (made / "safe.csv.provenance.json").read_text(encoding="utf-8")
    file = tmp_path / "edited.json"
    file.write_text(known.replace('"rate": 0.2', f'"rate": {text}'), encoding="utf-8")

    refused(made, tmp_path, file, "not a provenance.json that maskmeter wrote")


def test_the_order_and_the_spacing_of_entries_do_not_matter(made, tmp_path):
    known = json.loads((made / "safe.csv.provenance.json").read_text(encoding="utf-8"))
    file = tmp_path / "reordered.json"
    file.write_text(json.dumps(dict(reversed(known.items()))), encoding="utf-8")

    assert read_provenance(file) == read_provenance(made / "safe.csv.provenance.json")


def test_the_command_says_which_hash_it_compared(made, tmp_path):
    words = ("protect", made / "survey.csv", "--from", made / "safe.csv.provenance.json")
    same = run(*words, "--out", tmp_path / "again.csv")
    other = run(*words, "--out", tmp_path / "again.parquet")
    told = run(*words, "--out", tmp_path / "third.csv", "--json")
    first = run(*words, "--out", tmp_path / "first.sav")
    again = ("--from", tmp_path / "first.sav.provenance.json", "--out", tmp_path / "second.dta")
    labelled = run("protect", made / "survey.csv", *again)
    pack = run("assess", *words[1:], "--out", tmp_path / "pack")

    for done in (same, other, told, first, labelled, pack):
        assert done.returncode == 0, done.stderr
    assert "it has the recorded output_hash" in same.stdout
    assert "it has the recorded output_hash" in pack.stdout
    assert "(keys_hash). Its bytes differ" in " ".join(other.stdout.split())
    assert json.loads(told.stdout)["compared"] == "output_hash"
    assert "has the columns of the recorded one (columns_hash)" in " ".join(labelled.stdout.split())
    assert "compared" not in json.loads(first_protect(made, tmp_path).stdout)


def first_protect(made, folder):
    words = ("--plan", made / "plan.toml", "--out", folder / "new.csv", "--json")
    return run("protect", made / "survey.csv", *words)


RARE = """
[data]
keys = ["lad", "group"]
fraction = 0.1
[[step]]
method = "swap"
key = "lad"
rate = {by = "group", values = {"Rare9" = 0.5, "Often" = 0.1}, otherwise = 0.2}
[loss]
tables = [["lad", "group"]]
[target]
max_share = 0.001
"""
PRAM = """
[[candidate]]
label = "pram"
[[candidate.step]]
method = "pram"
key = "lad"
stay = 0.9
"""


@pytest.fixture
def rare(tmp_path):
    """A survey in which 9 records have a category, 10 another, and its plan."""
    group = ["Rare9"] * 9 + ["Rare10"] * 10 + ["Other"] * 90 + ["Often"] * 291
    lads = [f"L{n % 4}" for n in range(396)] + [f"M{n}" for n in range(4)]  # four are unique
    frame = pl.DataFrame({"lad": lads, "group": group})
    frame.with_columns(weight=pl.lit(50.0)).write_csv(tmp_path / "survey.csv")
    (tmp_path / "plan.toml").write_text(RARE, encoding="utf-8")
    return tmp_path / "survey.csv", tmp_path / "plan.toml", tmp_path


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("command", ["assess", "find"])
def test_printed_figures_name_no_category_that_few_records_have(rare, command, weighted):
    source, plan, folder = rare
    if command == "find":
        plan.write_text(RARE.replace("[[step]]", "[[candidate]]\nlabel='swap'\n[[candidate.step]]"))
    options = ("--weights", "weight") if weighted else ()
    words = (command, source, "--plan", plan, *options, "--json")
    told = run(*words, "--out", folder / "one", drawn=DRAWN)
    full = run(*words, "--out", folder / "two", "--internal", drawn=DRAWN)

    assert (told.returncode, full.returncode) == (0, 0), told.stderr + full.stderr
    assert "Rare9" not in told.stdout + told.stderr
    assert "Rare10" in told.stdout  # as many as the threshold
    assert "Often" in told.stdout
    assert "Rare9" in full.stdout
    kept = folder / "two" / "internal" / "assessment.json"
    assert kept.read_text(encoding="utf-8") == full.stdout
    if command == "assess":
        groups = [one["group"] for one in json.loads(told.stdout)["groups"]]
        assert groups == ["withheld", "group: Often", "group: other"]


def test_the_threshold_of_the_plan_decides_which_categories_are_few(rare):
    source, plan, folder = rare
    plan.write_text(RARE + "[report]\nsmallest_count = 11\n")
    told = run("assess", source, "--plan", plan, "--json", "--out", folder / "one")

    assert told.returncode == 0, told.stderr
    assert "Rare" not in told.stdout


def test_what_protect_and_compare_print_names_no_category(rare):
    source, plan, folder = rare
    plan.write_text(RARE + PRAM)
    one = run("protect", source, "--plan", plan, "--json", "--out", folder / "safe.csv")
    two = run("compare", source, "--plan", plan, "--json", "--out", folder / "map")

    for done in (one, two):
        assert done.returncode == 0, done.stderr
        assert not [name for name in ("Rare9", "Rare10", "Often", "L1") if name in done.stdout]
