"""Counts shrunk towards what a model says of them: empirical Bayes with a mixture of gammas.

A count n is Poisson with mean `e x`: e is what the rest of a model expects, and x, which is what
the model lacks, has a gamma distribution with mean 1. Its spread, the squared coefficient of
variation, is one of four; how often each occurs is learnt from all counts of a table together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maskmeter.types import Array

SPREADS = (0.0, 0.1, 1.0, 10.0)
EM_STEPS = 15


class Posterior(NamedTuple):
    """Posterior means of counts, their squared coefficients of variation, and the gain.

    The gain is the log likelihood of the mixture over that of Poisson counts; where there is none,
    nothing is moved. `weights` say how often each spread occurs.
    """

    mean: Array
    variation: Array
    gain: float
    weights: Array


class Shrinker:
    """Counts that are shrunk several times, each time towards other expectations.

    It keeps what does not change from time to time: the counts, and where the weights of the
    spreads have got to.

    >>> found = Shrinker(np.array([12.0, 3.0, 0.0, 1.0])).shrink(np.full(4, 4.0))
    >>> found.mean.round(6).tolist(), round(found.gain, 6)
    ([10.470494, 3.199738, 0.578946, 1.576887], 5.602845)
    """

    def __init__(self, counts: Array) -> None:
        from scipy.special import gammaln  # it takes long to import

        self.counts = counts
        self.weights = np.full(len(SPREADS), 1 / len(SPREADS))
        # log Gamma(n + 1/c) - log Gamma(1/c) + n log c: what no expectation enters.
        self._constant = [
            gammaln(counts + 1 / c) - gammaln(1 / c) + counts * np.log(c) for c in SPREADS[1:]
        ]

    def shrink(self, expected: Array) -> Posterior:
        """Return the posterior of the counts, given what is expected of each."""
        likelihood = self._log_likelihoods(expected)
        largest = likelihood.max(axis=0)
        scaled = np.exp(likelihood - largest)
        flat = scaled.reshape(len(SPREADS), -1)
        for _ in range(EM_STEPS):
            self.weights = self.weights * (flat @ (1 / (self.weights @ flat))) / flat.shape[1]
        mixed = np.tensordot(self.weights, scaled, axes=1)
        gain = float((np.log(mixed) + largest).sum())
        if gain <= 0:
            return Posterior(expected, np.zeros_like(expected), gain, self.weights)
        mean, square = np.zeros((2, *expected.shape))
        for c, weight, one in zip(SPREADS, self.weights, scaled, strict=True):
            share = weight * one / mixed
            of_spread = expected * (1 + c * self.counts) / (1 + c * expected)
            mean += share * of_spread
            square += share * of_spread**2 * (1 + c / (1 + c * self.counts))
        return Posterior(mean, square / mean**2 - 1, gain, self.weights)

    def _log_likelihoods(self, expected: Array) -> Array:
        """Return the log likelihood of each spread less that of Poisson counts, cell by cell."""
        found = np.zeros((len(SPREADS), *expected.shape))
        for row, (c, constant) in enumerate(zip(SPREADS[1:], self._constant, strict=True), start=1):
            found[row] = constant - (self.counts + 1 / c) * np.log1p(c * expected) + expected
        return found
