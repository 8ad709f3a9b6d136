"""The equations of Shlomo and Skinner (2010), section 2: one equation, one function.

Every argument is an array over released cells j: `stay` is M_jj, `population` F_j, `released` the
released count F~_j, `pi` the inclusion probability.
"""

from __future__ import annotations

import numpy as np

from maskmeter.mechanism import Rivals
from maskmeter.types import Array


def ratio(over: Array, under: Array) -> Array:
    """Return over / under, and 0 where nothing is below.

    All denominators here count units that may be released in cell j: where there are none, or
    where the cell keeps none of its own (M_jj = 0), no match is right.

    >>> ratio(np.array([0.0, 1.0]), np.array([0.0, 4.0])).tolist()
    [0.0, 0.25]
    """
    return np.divide(over, under, out=np.zeros(np.broadcast(over, under).shape), where=under != 0)


def no_target_no_risk(risk: Array, population: Array) -> Array:
    """Return the risk, 0 where nobody in the population has the released key.

    The risk is conditional on a target unit in cell j; when F_j = 0 there is none, and the printed
    ratios are not probabilities (they can exceed 100).

    >>> no_target_no_risk(np.array([40.0, 0.2]), np.array([0.0, 5.0])).tolist()
    [0.0, 0.2]
    """
    return np.where(population > 0, risk, 0.0)


def match_probability(*, stay: Array, population: Array, rivals: Rivals, pi: Array) -> Array:
    """Return Pr(A = B) for a unique match, eq. (2.4).

    `[M_jj / (1 - pi_j M_jj)] / sum_k F_k M_jk / (1 - pi_j M_jk)` or, where inclusion goes by the
    true cell, `o_jj / sum_k F_k o_jk` with `o_jk = pi_k M_jk / (1 - pi_k M_jk)`. Numerator and
    denominator are multiplied by (1 - pi_j M_jj) so that the limit pi_j M_jj = 1 needs no case of
    its own. A rival that is released in j for sure leaves no chance to a unit that is not; between
    units that all are, the match is right in one case of their number.
    """
    missed = 1 - pi * stay
    risk = ratio(stay, population * stay + missed * rivals.weighted)
    among_certain = ratio((missed <= 0).astype(float), population + rivals.certain)
    return np.where(rivals.certain > 0, among_certain, risk)


def likeliest_probability(*, stay: Array, population: Array, rivals: Rivals, pi: Array) -> Array:
    """Return the chance that a unique record is the person it most likely is.

    `max over k with F_k >= 1 of o_jk / sum_l F_l o_jl`, `o_jk = pi_k M_jk / (1 - pi_k M_jk)`: the
    risk from an intruder who knows the matrix. Units that are released in j for sure, the own
    cell's among them, leave no chance to any other.
    """
    certain, total = all_weights(stay=stay, population=population, rivals=rivals, pi=pi)
    own = np.where(population > 0, ratio(stay, 1 - pi * stay), 0.0)
    risk = ratio(np.maximum(own, rivals.likeliest), total)
    return np.where(certain > 0, ratio(np.ones_like(certain), certain), risk)


def all_weights(
    *, stay: Array, population: Array, rivals: Rivals, pi: Array
) -> tuple[Array, Array]:
    """Return how many units are released in j for sure, and the weights of all others together.

    `sum_l F_l o_jl / pi_j`, the own cell among them.

    >>> none = Rivals(*np.zeros((3, 1)))
    >>> half = np.array([0.5])
    >>> all_weights(stay=half, population=4 * half, rivals=none, pi=half)
    (array([0.]), array([1.33333333]))
    """
    missed = 1 - pi * stay
    certain = rivals.certain + np.where(missed <= 0, population, 0.0)
    return certain, population * ratio(stay, missed) + rivals.weighted


def simple_match_probability(*, stay: Array, released: Array) -> Array:
    """Return M_jj / F~_j, eq. (2.5), for small sampling fractions.

    >>> simple_match_probability(stay=np.array([0.9]), released=np.array([3.0])).tolist()
    [0.3]
    """
    return ratio(stay, released)


def small_error_probability(*, stay: Array, population: Array, released: Array, pi: Array) -> Array:
    """Return eq. (2.6), for small misclassification. It is negative where that is not small.

    `(1/F_j) (1 - [F~_j - F_j M_jj] / [F_j M_jj / (1 - pi_j M_jj)])`; the paper prints F_jj for F_j.
    Multiplied out, so that M_jj = 0 gives 0. With F~_j as `population` too it is the reading behind
    the paper's first table, `(1/F~_j) (1 - [1 - M_jj] (1 - pi_j M_jj) / M_jj)`.

    >>> one = np.array([1.0])
    >>> small_error_probability(stay=0.9 * one, population=2 * one, released=2 * one, pi=0 * one).round(4)
    array([0.4444])
    """
    moved = released - population * stay
    return ratio(population * stay - moved * (1 - pi * stay), population**2 * stay)


def diagonal_match_probability(
    *, stay: Array, population: Array, released: Array, pi: Array
) -> Array:
    """Return eq. (2.7), which needs only the diagonal of the matrix.

    `[M_jj / (1 - pi_j M_jj)] / [F_j pi_j M_jj^2 / (1 - pi_j M_jj) + F~_j]`, multiplied by
    (1 - pi_j M_jj) above and below; the paper prints pi without its subscript.

    >>> one = np.array([1.0])
    >>> diagonal_match_probability(stay=one, population=4 * one, released=4 * one, pi=0.5 * one)
    array([0.25])
    """
    return ratio(stay, population * pi * stay**2 + released * (1 - pi * stay))


def in_sample_match_probability(*, stay: Array, sample: Array, moved_in: Array) -> Array:
    """Return eq. (2.2), of Gouweleeuw et al., for an intruder who knows that B is in the sample.

    `M_jj f_j / sum_k M_jk f_k`, with the counts f of the original sample.

    >>> in_sample_match_probability(stay=np.array([0.5]), sample=np.array([1.0]), moved_in=np.array([1.5]))
    array([0.25])
    """
    return ratio(stay * sample, stay * sample + moved_in)


def agreement(
    *,
    stay: Array,
    released: Array,
    register: Array,
    register_size: int,
    pi: Array,
    sample_size: int,
) -> tuple[Array, Array, Array]:
    """Return m(j), u(j) and p of linkage by exact matching (appendix).

    For a pair of a record and a unit of the register, drawn at random: m is the chance that both
    have cell j when they are the same unit, u when they are not, p that they are.
    `m = M_jj f_j / n*`, `u = (pi F~_j f_j - pi M_jj f_j) / (n n* - pi n*)`, `p = pi / n`, where f_j
    of the n* units of the register are in the cell.

    >>> one = np.ones(1)
    >>> agreement(stay=one, released=2 * one, register=one, register_size=4, pi=0.5 * one, sample_size=2)
    (array([0.25]), array([0.08333333]), array([0.25]))
    """
    m = stay * register / register_size
    pairs = (sample_size - pi) * register_size
    u = ratio(pi * (released - stay) * register, pairs)
    return m, u, pi / sample_size
