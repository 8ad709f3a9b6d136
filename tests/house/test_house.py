"""Rules that the whole source tree must follow."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import maskmeter as mm
from command import run_python
from maskmeter.display import InWords

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "maskmeter"
FILES = sorted(SOURCE.rglob("*.py"))

# The flow of data: a package imports only from earlier ones.
FLOW = [
    "plurals", "types", "errors", "bounds", "optional", "checks", "streams", "files", "chart", "page", "display", "formats", "data",
    "mechanism", "loglinear", "perturb", "risk", "loss", "riskutility", "release_check", "plan", "evidence", "workflows", "studies", "app", "cli", "__main__",
]  # fmt: skip


def module_name(path):
    """Return the dotted name of a module; for an __init__, that of its package."""
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in FILES}


def imported(path):
    """Yield the maskmeter modules that a file imports, at any level."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                yield inside if inside in MODULES else node.module


# maskmeter itself imports no module before a public name is used.
PARTS = {name: path for name, path in MODULES.items() if name != "maskmeter"}
IMPORTS = {name: set(imported(path)) - {"maskmeter"} for name, path in PARTS.items()}


@pytest.mark.parametrize("importer", IMPORTS)
def test_packages_import_only_from_upstream_packages(importer):
    here = importer.split(".")[1]
    for name in IMPORTS[importer]:
        there = name.split(".")[1]
        assert there == here or FLOW.index(there) < FLOW.index(here)


def test_no_modules_import_each_other_in_a_cycle():
    """An order of all modules exists in which each follows those it imports."""
    order = list(TopologicalSorter(IMPORTS).static_order())

    assert set(order) == set(IMPORTS)


def test_the_check_finds_an_import_cycle():
    circle = IMPORTS | {"maskmeter.errors": {"maskmeter.loglinear.search"}}

    with pytest.raises(CycleError, match="cycle"):
        TopologicalSorter(circle).prepare()


def test_no_two_classes_share_a_name():
    homes = {}
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(name)
    shared = {name: places for name, places in homes.items() if len(places) > 1}

    assert shared == {}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 400


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_functions_are_short(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            documented = ast.get_docstring(node) is not None
            first = node.body[1] if documented and len(node.body) > 1 else node.body[0]
            assert (node.end_lineno or 0) - first.lineno < 40, node.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_source_uses_no_global_randomness(path):
    allowed = r"np\.random\.(?!Generator|SeedSequence|Philox)"

    assert not re.search(allowed, path.read_text(encoding="utf-8"))


def test_no_module_has_the_name_of_a_public_object():
    """Python would overwrite one with the other."""
    names = {part for name in MODULES for part in name.split(".")}

    assert not names & set(mm.__all__)


def test_every_public_name_can_be_imported():
    assert all(getattr(mm, name) is not None for name in mm.__all__)
    assert dir(mm) == sorted(mm.__all__)
    with pytest.raises(AttributeError, match="no attribute 'reed'"):
        _ = mm.reed


def test_every_public_function_has_an_example_that_runs():
    functions = [getattr(mm, name) for name in mm.__all__]
    for function in functions:
        if inspect.isfunction(function):
            assert ">>>" in (function.__doc__ or ""), function.__name__


PUBLIC_CLASSES = [one for one in map(mm.__getattr__, mm.__all__[:-1]) if inspect.isclass(one)]


def positional(function):
    """Return the number of positional arguments, without self or cls."""
    bound = not inspect.ismethod(function) and "." in function.__qualname__
    kinds = [one.kind for one in inspect.signature(function).parameters.values()]
    return sum(kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds) - bound


def test_public_functions_take_at_most_two_positional_arguments():
    functions = [one for one in map(mm.__getattr__, mm.__all__[:-1]) if inspect.isfunction(one)]

    assert [one.__name__ for one in functions if positional(one) > 2] == []


@pytest.mark.parametrize("kind", PUBLIC_CLASSES)
def test_public_methods_take_at_most_two_positional_arguments(kind):
    methods = [one for name, one in inspect.getmembers(kind, inspect.isroutine) if name[0] != "_"]
    ours = [one for one in methods if str(getattr(one, "__module__", "")).startswith("maskmeter")]

    assert [one.__name__ for one in ours if positional(one) > 2] == []


# Public classes that are not results, each with what it is.
NO_RESULTS = {
    "Key": "names a column",
    "KeySpace": "names the keys of a file",
    "By": "is a setting that varies",
    "Target": "is a setting",
    "ReleaseFinding": "is a row of a release check",
    "Family": "is a setting",
    "Swap": "is a step",
    "Pram": "is a step",
    "Recode": "is a step",
    "Redraw": "is a step",
    "Subsample": "is a step",
    "Misclassification": "is declared by the user",
    "Mechanism": "computes; its to_frame() has the matrices",
    "View": "computes; its risk() is the result",
    "Goodness": "is a part of a model, whose summary() tells it",
    "MaskmeterError": "is an error",
    "MaskmeterWarning": "is a warning",
}
# Results without a chart, each with the reason.
NO_CHART = {
    "LogLinear": "a list of terms has no shape; a search draws its path",
    "ShrunkLogLinear": "a list of terms has no shape",
    "CorrectedCounts": "counts of single categories stay out of pictures",
    "PramDesign": "shares of single categories stay out of pictures",
    "ValidationStudy": "one share for each key is a line of text",
}
RESULTS = {one.__name__: one for one in PUBLIC_CLASSES if one.__name__ not in NO_RESULTS}


def test_the_lists_of_exceptions_name_public_classes():
    assert NO_RESULTS.keys() | NO_CHART.keys() <= {one.__name__ for one in PUBLIC_CLASSES}
    assert RESULTS.keys() >= NO_CHART.keys()


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_its_views(name):
    result = RESULTS[name]

    assert callable(result.to_frame)
    assert result.summary is not InWords.summary
    assert hasattr(result, "plot") == (name not in NO_CHART)


def test_the_core_works_without_any_optional_library():
    optional = {"pandas", "pyarrow", "rdata", "duckdb", "hypothesis"}
    code = (
        "import maskmeter as mm\n"
        "census = mm.synthetic_census(size=3000)\n"
        "population = mm.count(census, keys=['age', 'sex'])\n"
        "sample = mm.read(census[:100], keys=population.space, fraction=0.01)\n"
        "risk = mm.exact_risk(sample, population)\n"
        "risk.summary(), risk.to_frame(), risk.plot()\n"
    )
    done = run_python(code, hidden=optional)

    assert done.returncode == 0, done.stderr


def test_a_missing_extra_is_named():
    code = (
        "from maskmeter.optional import need\n"
        "from maskmeter.errors import OptionalDependencyError\n"
        "try:\n"
        "    need('rdata', extra='r')\n"
        "except OptionalDependencyError as error:\n"
        "    print(error)\n"
    )

    assert "pip install 'maskmeter[r]'" in run_python(code, hidden={"rdata"}).stdout


def test_importing_maskmeter_loads_nothing_heavy():
    code = "import sys, maskmeter; print([m for m in ('numpy', 'polars', 'scipy') if m in sys.modules])"

    assert run_python(code).stdout.strip() == "[]"


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from click.testing import CliRunner; from maskmeter.cli.main import commands;"
        "done = CliRunner().invoke(commands, ['--help']);"
        "print(done.exit_code, [m for m in ('numpy', 'polars', 'scipy') if m in sys.modules])"
    )

    assert run_python(code).stdout.strip() == "0 []"


def test_reading_and_risk_load_no_scipy_and_no_charts():
    code = (
        "import sys, maskmeter as mm; [getattr(mm, name) for name in mm.__all__];"
        "print([m for m in ('scipy', 'altair', 'pandas', 'click', 'rich', 'pyreadstat', 'openpyxl', 'rdata') if m in sys.modules])"
    )

    assert run_python(code).stdout.strip() == "[]"


def test_no_file_names_a_local_path_or_a_package_host():
    traces = re.compile("[/]root/|[/]work/|[/]tmp/|[.]pyenv|pypi[.]|pythonhosted[.]")
    listed = subprocess.run(
        ["git", "ls-files"],  # noqa: S607 - wherever it is
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    texts = [
        name
        for name in listed.stdout.splitlines()
        if not name.endswith((".png", ".rds", ".sas7bdat"))
    ]
    for name in texts:
        assert not traces.search((ROOT / name).read_text(encoding="utf-8")), name
