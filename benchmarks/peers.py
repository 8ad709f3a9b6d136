"""Measure the all-two-way fit beside those of R's loglin, glum and scikit-learn."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

import maskmeter as mm
from samples import paper_sized
from timing import Values, best

FRACTION = 0.01
# Each stops as early as it may while tau2 is within 1e-4 of its limit.
TOLERANCE, GLUM_TOLERANCE, SKLEARN_TOLERANCE = 5e-6, 1e-3, 1e-5
RIDGE = 1e-10  # both solvers need a little: empty margins have no finite estimate


def in_r(script: str, sample: mm.Microdata, *arguments: object) -> list[float]:
    """Return the numbers that an R script of this folder prints about the cells of a sample."""
    program = shutil.which("Rscript")
    if program is None:
        raise SystemExit(
            "Rscript is missing: on Debian and Ubuntu run apt-get install r-base-core."
        )
    with tempfile.TemporaryDirectory() as folder:
        cells = Path(folder) / "cells.csv"
        mm.KeyTable.of(sample.space, sample.codes).to_frame().write_csv(cells)
        path = Path(__file__).with_name(script)
        command = [program, str(path), str(cells), *map(str, (FRACTION, *arguments))]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own script
    return [float(number) for number in done.stdout.split()]


def fit_peers() -> Values:
    """Time of the all-two-way fit, tau2 within 1e-4 of its limit, by four programs.

    Hold: a third of loglin's time for a sweep.
    """
    sample, _ = paper_sized()
    fit = mm.fit_loglinear(sample, "all-two-way", tolerance=TOLERANCE)
    taken = best(lambda: mm.fit_loglinear(sample, "all-two-way", tolerance=TOLERANCE))
    limit = mm.fit_loglinear(sample, "all-two-way", tolerance=1e-9).taus()[1]
    loglin, loglin_sweep, loglin_tau = in_r("loglin_fit.R", sample, fit.sweeps)
    table = _Table(sample)
    glum, glum_tau = table.by_glum()
    sklearn, sklearn_tau = table.by_sklearn()
    taus = {"": fit.taus()[1], "loglin": loglin_tau, "glum": glum_tau, "sklearn": sklearn_tau}
    return {
        "seconds": taken,
        "sweep": _sweep(fit),
        "sweeps": fit.sweeps,
        "loglin": loglin,
        "loglin_sweep": loglin_sweep,
        "glum": glum,
        "sklearn": sklearn,
        **{f"off_{name}".rstrip("_"): abs(tau / limit - 1) for name, tau in taus.items()},
    }


def _sweep(fit: mm.LogLinear) -> float:
    """Return the time of one more sweep of our fit."""
    from maskmeter.loglinear.fit import fit_means

    def sweeps(most: int) -> float:
        def action() -> object:
            return fit_means(fit.observed, fit.means.generators, tolerance=1e-300, most_sweeps=most)

        return best(action)

    return (sweeps(fit.sweeps) - sweeps(1)) / (fit.sweeps - 1)


class _Table:
    """All cells of a sample's keys, as generalised linear models want them."""

    def __init__(self, sample: mm.Microdata) -> None:
        import numpy as np

        sizes = sample.space.sizes
        counts: Any = np.zeros(sizes)
        np.add.at(counts, tuple(sample.codes.T.astype(np.int64)), 1)
        self.counts: Any = counts.ravel()
        levels = np.indices(sizes).reshape(len(sizes), -1)
        self.pairs: list[Any] = [
            levels[one] * sizes[other] + levels[other]
            for one, other in combinations(range(len(sizes)), 2)
        ]

    def tau2(self, mu: Any) -> float:
        """Return the sum of h2 over the sample uniques."""
        from maskmeter.loglinear.expectations import expected_inverse

        lam = mu[self.counts == 1] / FRACTION
        pi: Any = FRACTION
        return float(expected_inverse(lam, pi=pi).sum())

    def by_glum(self) -> tuple[float, float]:
        """Return the time of a fit with a categorical column for each pair of keys, and tau2."""
        from glum import GeneralizedLinearRegressor
        from tabmat import CategoricalMatrix, SplitMatrix

        found: Any = {}

        def fit() -> None:
            design = SplitMatrix([CategoricalMatrix(pair) for pair in self.pairs])
            model: Any = GeneralizedLinearRegressor(
                family="poisson", alpha=RIDGE, gradient_tol=GLUM_TOLERANCE
            )
            found["mu"] = model.fit(design, self.counts).predict(design)

        return best(fit, times=2), self.tau2(found["mu"])

    def by_sklearn(self) -> tuple[float, float]:
        """Return the time of a fit with a sparse design of the pairs of keys, and tau2."""
        from sklearn.linear_model import PoissonRegressor
        from sklearn.preprocessing import OneHotEncoder

        found: Any = {}

        def fit() -> None:
            import numpy as np

            design = OneHotEncoder(dtype=np.float64).fit_transform(np.stack(self.pairs, axis=1))
            model: Any = PoissonRegressor(
                alpha=RIDGE, solver="newton-cholesky", tol=SKLEARN_TOLERANCE
            )
            found["mu"] = model.fit(design, self.counts).predict(design)

        return best(fit, times=2), self.tau2(found["mu"])
