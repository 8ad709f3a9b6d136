"""maskmeter: how much protection microdata really have after misclassification.

Nouns, in the order in which data flow:

- `Key`: a variable that an intruder may know, with its categories.
- `Microdata`: the records of a file as category codes, and how they were sampled (`read`).
- `KeyTable`: how many units of a population are in each cell of the keys (`count`).
- `By`: a value that varies with the categories of keys (`by`).
- `Mechanism`: how true keys come to be released ones; matrices are P[true, released].
- `Step`: a way to protect a file: `Redraw`, `Swap`, `Pram`, `Recode`, `Subsample`.
- `Release`: a file before and after its steps, and the mechanism between (`protect`).
- `LogLinear`: a model of the sample's counts (`search_loglinear`, `fit_loglinear`).
- `View`: one file through some keys, to one intruder.
- `Risk`: the probability of a correct match of each sample unique, and their sum tau.
- `Loss`: what analysts lose in a table (`information_loss`, `regression_loss`).
- `Assessment`: all of it for a release, and whether it meets a `Target` (`assess`).

Verbs: `read` a file, `protect` it, `assess` the release and `report` it; or `compare` candidates and
`find_release`. With population counts the risk is exact (`exact_risk`), else estimated
(`estimate_risk`). Everything is fetched when it is first used, so that importing is quick.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

__version__ = "0.1.0"

# The stub beside this file says where each public name lives.
_HOME = {
    alias.name: node.module or ""
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}

__all__ = [*_HOME, "__version__"]  # noqa: PLE0604 - the names are the keys above


def __getattr__(name: str) -> object:
    """Fetch a public name where it is first used, so that importing maskmeter is quick."""
    if name not in _HOME:
        raise AttributeError(f"module 'maskmeter' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
