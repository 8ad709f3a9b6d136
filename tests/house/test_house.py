"""The tree's own rules."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import maskmeter as mm

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "maskmeter"
FILES = sorted(SOURCE.rglob("*.py"))

# The flow of data: a module imports only from modules before it.
FLOW = [
    "plurals", "types", "errors", "optional", "checks", "streams", "files", "chart", "page", "display", "formats", "data",
    "mechanism", "loglinear", "perturb", "risk", "loss", "riskutility", "assessment", "plan", "evidence", "workflows", "studies", "cli", "__main__",
]  # fmt: skip


def home(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path):
    """Yield the modules of ours that a file imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("maskmeter"):
            parts = node.module.split(".")[1:]
            yield from parts[:1] or [alias.name for alias in node.names]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_only_point_upstream(path):
    here = home(path)
    if here == "__init__":
        return
    for there in imported(path):
        assert there == here or FLOW.index(there) < FLOW.index(here)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 400


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_functions_are_short(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            documented = ast.get_docstring(node) is not None
            first = node.body[1] if documented and len(node.body) > 1 else node.body[0]
            assert (node.end_lineno or 0) - first.lineno < 40, node.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_global_randomness(path):
    allowed = r"np\.random\.(?!Generator|SeedSequence|Philox)"

    assert not re.search(allowed, path.read_text(encoding="utf-8"))


def test_no_public_name_hides_a_module():
    modules = {path.stem for path in FILES}

    assert not modules & set(mm.__all__) - {"__version__"}


def test_every_public_name_can_be_fetched():
    assert all(getattr(mm, name) is not None for name in mm.__all__)
    assert dir(mm) == sorted(mm.__all__)
    with pytest.raises(AttributeError, match="no attribute 'reed'"):
        _ = mm.reed


def test_every_public_function_has_an_example_that_runs():
    functions = [getattr(mm, name) for name in mm.__all__]
    for function in functions:
        if inspect.isfunction(function):
            assert ">>>" in (function.__doc__ or ""), function.__name__


HIDDEN = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {hidden}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Hide())
"""


def run(code):
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )


def test_the_core_works_without_any_optional_library():
    optional = {"pandas", "pyarrow", "rdata", "duckdb", "hypothesis"}
    code = HIDDEN.format(hidden=optional) + (
        "import maskmeter as mm\n"
        "census = mm.synthetic_census(size=3000)\n"
        "population = mm.count(census, keys=['age', 'sex'])\n"
        "sample = mm.read(census[:100], keys=population.space, fraction=0.01)\n"
        "risk = mm.exact_risk(sample, population)\n"
        "risk.summary(), risk.to_frame(), risk.plot()\n"
    )
    done = run(code)

    assert done.returncode == 0, done.stderr


def test_a_missing_extra_is_named():
    code = HIDDEN.format(hidden={"rdata"}) + (
        "from maskmeter.optional import need\n"
        "from maskmeter.errors import OptionalDependencyError\n"
        "try:\n"
        "    need('rdata', extra='r')\n"
        "except OptionalDependencyError as error:\n"
        "    print(error)\n"
    )

    assert "pip install 'maskmeter[r]'" in run(code).stdout


def test_importing_maskmeter_loads_nothing_heavy():
    code = "import sys, maskmeter; print([m for m in ('numpy', 'polars', 'scipy') if m in sys.modules])"

    assert run(code).stdout.strip() == "[]"


def test_reading_and_risk_load_no_scipy_and_no_charts():
    code = (
        "import sys, maskmeter as mm; [getattr(mm, name) for name in mm.__all__];"
        "print([m for m in ('scipy', 'altair', 'pandas', 'click', 'rich', 'pyreadstat', 'openpyxl', 'rdata') if m in sys.modules])"
    )

    assert run(code).stdout.strip() == "[]"


def test_no_file_names_a_machine_or_a_package_host():
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
