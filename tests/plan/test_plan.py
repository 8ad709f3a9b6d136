"""Plan files: their contents, and the lines of their errors."""

from __future__ import annotations

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskmeter as mm
from maskmeter.perturb.entries import varying
from maskmeter.perturb.methods import step_of
from maskmeter.plan import Plan, PlanFile, read_plan, read_task
from maskmeter.plan.faults import first_fault
from maskmeter.plan.lines import places

SECRET = "Qz7canary"


@pytest.fixture(scope="module")
def people(census):
    return mm.bernoulli_sample(census, fraction=0.02, rng=3)


@pytest.fixture
def survey(people, tmp_path):
    people.write_csv(tmp_path / "survey.csv")
    return tmp_path / "survey.csv"


def planned(folder, text):
    path = folder / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return path


WRONG = [
    ('[data]\nkeyz = ["a"]', "line 2: [data] has no entry 'keyz'", "Did you mean 'keys'?"),
    ("[dta]", "line 1: the plan has no entry 'dta'", "Did you mean 'data'?"),
    ('[data]\n\nfraction = "much"', "line 3: fraction of [data]", "a number or a table, not text"),
    (
        '[[step]]\nmethod = "swop"\nkey = "a"',
        "line 2: method",
        "'swap' or 'pram' or 'recode' or 'subsample', not 'swop'. Did",
    ),
    (
        '[[step]]\nkey = "a"',
        "line 1: [[step]] number 1 needs",
        "'method' ('redraw' or 'swap' or 'pram' or 'recode' or 'subsample')",
    ),
    ('[[step]]\nmethod = "swap"\nkey = "a"', "line 1: [[step]] number 1", "needs an entry 'rate'"),
    ('[step]\nmethod = "swap"', "line 1: [step] must be a list", "Write it as [[step]]."),
    ('[loss]\ntables = [["a"]]', "line 2: entry 1 of tables of [loss]", "a list of 2, not of 1"),
    ('[loss]\nmeasure = "rad"', "line 2: measure of [loss]", "'rcv' or 'worst', not 'rad'. Did"),
    ('[target]\nby = "lower"', "line 2: by of [target]", "'estimate' or 'upper', not 'lower'"),
    (
        "[data.bands]\nage = 3",
        "line 2: age of bands of [data]",
        "must be a list, not a whole number",
    ),
    ("[report]\nsmallest_count = 2.5", "line 2: smallest_count", "a whole number, not a number"),
    (
        '[family]\nkey = "a"\nmethods = ["swp"]',
        "line 3: entry 1 of methods",
        "'pram' or 'subsample' or 'swap'",
    ),
    (
        (
            '[[candidate]]\nlabel = "a"\nstep = []\n[[candidate]]\nlabel = "b"\n'
            '[[candidate.step]]\nmethod = "pram"\nkey = "x"\nstya = 1'
        ),
        "line 9: [[candidate.step]] number 1 has no entry 'stya'",
        "Did you mean 'stay'?",
    ),
    ("[data]\nkeys = [\n  'a',\n]\nfracton = 1", "line 5", "Did you mean 'fraction'?"),
    (
        "[data]\nweights = 2020-01-01",
        "line 2: weights of [data]",
        "text in quotes, not a date or a",
    ),
    ("[report]\nrates = 1", "line 2: rates of [report]", "true or false, not a whole number"),
    ("[data]\nfraction = true", "line 2: fraction of [data]", "a table, not true or false"),
    ("[data\nkeys = 1", "line 1: this is not valid TOML", "Put text in quotes"),
    ("[data]\nkeys = lad", "line 2: this is not valid TOML", "invalid value"),
    ("[data]\nkeys = [", "line 2: this is not valid TOML", ""),
]


@pytest.mark.parametrize(("text", "where", "what"), WRONG)
def test_an_error_names_the_file_the_line_and_what_would_work(tmp_path, text, where, what):
    with pytest.raises(mm.MaskmeterError) as caught:
        read_plan(planned(tmp_path, text))

    said = str(caught.value)
    assert said.startswith("plan.toml, ")
    assert "\n" not in said
    assert where in said
    assert what in said


ENTRIES = st.sampled_from(
    ["data", "step", "candidate", "scenario", "loss", "target", "report", "family", "error", "keys",
     "fraction", "bands", "tables", "measure", "by", "values", "otherwise", "method", "key", "rate",
     "stay", "matrix", "label", "rates", "smallest_count", "methods", "odd"]
)  # fmt: skip
VALUES = st.recursive(
    st.one_of(
        st.sampled_from(["swap", "pram", "worst", "upper", "lad", "x"]),
        st.integers(-5, 5),
        st.floats(allow_nan=False),
        st.booleans(),
        st.dates(),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ENTRIES, inner, max_size=4),
    max_leaves=12,
)


@given(data=st.dictionaries(ENTRIES, VALUES, max_size=4))
def test_a_plan_has_a_fault_exactly_when_its_types_are_wrong(data):
    """The path of a fault leads to an entry of the plan."""
    fault = first_fault(data, {})
    try:
        msgspec.convert(data, Plan)
    except msgspec.ValidationError:
        assert fault is not None
        for part in fault.place:
            data = data[part]
    else:
        assert fault is None


@pytest.mark.parametrize(
    ("data", "sound"),
    [
        ({"step": [{"method": "swap", "key": "a", "rate": 1}]}, True),
        ({"step": [{"method": "swap", "key": ["a"], "rate": {"by": "b", "values": {}}}]}, True),
        ({"step": [{"method": "swap", "key": 3, "rate": 1}]}, False),
        ({"loss": {"tables": [["a", "b"]], "measure": "raad"}}, True),
        ({"loss": {"tables": [["a", 2]]}}, False),
        ({"scenario": {"any": {"keys": ["a"]}}, "family": {"key": "a", "methods": []}}, True),
    ],
)
def test_faults_agree_with_the_types_for_examples_of_each_section(data, sound):
    assert (first_fault(data, {}) is None) == sound
    if sound:
        assert msgspec.convert(data, Plan)


def test_invalid_plan_files_are_rejected(tmp_path):
    with pytest.raises(mm.MaskmeterError, match="no such file"):
        read_plan(tmp_path / "none.toml")
    with pytest.raises(mm.MaskmeterError, match="it is a directory"):
        read_plan(tmp_path)
    (tmp_path / "latin.toml").write_bytes("[data]\n# Größe".encode("latin-1"))
    with pytest.raises(mm.MaskmeterError, match="text in UTF-8"):
        read_plan(tmp_path / "latin.toml")


def test_line_numbers_are_found_in_any_spelling_of_toml():
    text = '[data]\n"keys" = [ # [\n "a", "]",\n]\n[data . bands]\nage = {a = "}"}\n[[x]]\n[[x.y]]\nb=1\n[[x]]\n[[x.y]]\n'
    found = places(text)

    assert found[("data", "keys")] == 2
    assert found[("data", "bands", "age")] == 6
    assert found[("x", 0, "y", 0, "b")] == 9
    assert found[("x", 1, "y", 0)] == 11


PLAN = """
[data]
keys = ["age", "sex"]
fraction = {by = "sex", values = {"Male" = 0.01}, otherwise = 0.03}

[scenario.near]
keys = ["lad", "sex", "age"]

[[step]]
method = "swap"
key = "lad"
rate = {by = ["sex", "ethnicity"], values = {Male = {"White British" = 0.1}}, otherwise = 0.5}
within = ["marital"]

[[step]]
method = "pram"
keys = ["age", "activity"]
stay = 0.9

[[step]]
method = "pram"
key = "marital"
matrix = "marital.csv"
invariant = false
label = "own"

[[error]]
key = "sex"
matrix = [[0.99, 0.01], [0.02, 0.98]]
categories = ["Male", "Female"]

[loss]
measure = "raad"

[target]
max_total = 12
by = "estimate"
"""


@pytest.fixture
def task(survey, people, tmp_path):
    names = sorted(people["marital"].unique())
    P = mm.stay_or_move(len(names), stay=0.95)
    header = ["marital", *names]
    rows = [[name, *map(str, row)] for name, row in zip(names, P, strict=True)]
    text = "\n".join(",".join(row) for row in [header, *rows])
    (tmp_path / "marital.csv").write_text(text + "\n", encoding="utf-8")
    return read_task(read_plan(planned(tmp_path, PLAN)), survey)


def test_a_plan_is_read_into_steps_scenarios_errors_and_a_target(task):
    swap, pram, own = task.steps

    assert task.sample.space.names == ("age", "sex", "lad", "marital", "ethnicity", "activity")
    assert task.scenarios == {
        "keys of the plan": ["age", "sex"],
        "near": ["lad", "sex", "age"],
    }
    assert swap.within == ("marital",)
    assert dict(swap.rate.values) == {("Male", "White British"): 0.1}
    assert swap.rate.otherwise == 0.5
    assert pram.targets == (("age",), ("activity",))
    assert own.label == "own"
    assert own.matrix.P.diagonal() == pytest.approx(0.95)
    assert task.errors.matrices[0][1].categories == ("Male", "Female")
    assert (task.target.max_total, task.target.by) == (12, "estimate")
    assert (task.plan.loss.measure, Plan().loss.measure) == ("raad", "worst")
    male = task.sample.space["sex"].code("Male")
    pi = task.sample.inclusion(task.sample.codes)
    assert set(pi[task.sample.codes[:, 1] == male]) == {0.01}


def test_steps_survive_a_round_trip_through_json(task):
    for step in task.steps:
        again = step_of(
            msgspec.json.decode(msgspec.json.encode(step.to_plan()), type=type(step.to_plan())),
            task.sample,
            task.file.folder,
        )
        assert repr(again) == repr(step)
        assert again == step


def test_forbidden_moves_and_crossed_keys_survive_a_round_trip(task):
    steps = [
        mm.Pram("marital", stay=0.8, forbidden=[("Single", "Widowed"), (..., "Married")]),
        mm.Pram(("sex", "marital"), stay=0.9),
        mm.Swap(("sex", "marital"), rate=0.1, description="nominal"),
    ]
    for step in steps:
        assert step_of(step.to_plan(), task.sample, task.file.folder) == step


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('method = "swap"\nkey = "lad"\nrate = 1.5', "`rate` must be a number between 0 and 1"),
        ('method = "pram"\nstay = 0.5', "Give PRAM either `key`"),
        ('method = "pram"\nkey = "lad"', "needs either `stay` or `matrix`"),
        ('method = "pram"\nkey = "lad"\nmatrix = "no.csv"', "there is no such file"),
        ('method = "pram"\nkey = "lad"\nmatrix = "survey.csv"', "must hold a matrix"),
        (
            'method = "swap"\nkey = "lad"\nrate = {by = "sex", values = {Mole = 0.1}}',
            "'Mole' is not",
        ),
        (
            'method = "swap"\nkey = "lad"\nrate = {by = ["sex", "age"], values = {Male = 0.1}}',
            "tables nested 2 deep",
        ),
    ],
)
def test_an_invalid_step_is_reported_with_its_line(survey, tmp_path, entry, said):
    text = f'[data]\nkeys = ["lad", "sex", "age"]\nfraction = 0.02\n\n[[step]]\n{entry}\n'
    task = read_task(read_plan(planned(tmp_path, text)), survey)

    with pytest.raises(mm.MaskmeterError) as caught:
        _ = task.steps
    assert str(caught.value).startswith("plan.toml, line ")
    assert said in str(caught.value)


def test_categories_may_be_named_by_their_labels(tmp_path):
    import pyreadstat

    frame = pl.DataFrame({"sex": [1.0, 2.0] * 50, "lad": [float(n % 5) for n in range(100)]})
    labels = {"sex": {1.0: "Male", 2.0: "Female"}}
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels=labels)
    text = (
        '[data]\nkeys = ["lad", "sex"]\nfraction = 0.1\n[[step]]\nmethod = "swap"\nkey = "lad"\n'
        'rate = {by = "sex", values = {"Female" = 0.2, "1" = 0.1}}\n'
    )
    task = read_task(read_plan(planned(tmp_path, text)), tmp_path / "a.sav")

    assert dict(task.steps[0].rate.values) == {(2,): 0.2, (1,): 0.1}


def test_the_error_for_a_plan_without_keys_or_sampling_says_what_to_add(survey, tmp_path):
    with pytest.raises(mm.MaskmeterError, match=r"maskmeter plan init survey\.csv"):
        read_task(PlanFile(Plan()), survey)
    with pytest.raises(mm.MaskmeterError, match="--fraction or --weights"):
        read_task(read_plan(planned(tmp_path, '[data]\nkeys = ["sex", "age"]')), survey)


def test_the_fraction_follows_from_the_population(survey, census, people, tmp_path):
    census.write_parquet(tmp_path / "census.parquet")
    text = '[data]\nkeys = ["sex", "age"]\npopulation = "census.parquet"'
    task = read_task(read_plan(planned(tmp_path, text)), survey)

    assert task.population.total == len(census)
    assert task.sample.fraction == len(people) / len(census)


def test_a_constant_rate_stays_a_number(task):
    assert varying(0.2, task.sample) == 0.2
