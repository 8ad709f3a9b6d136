"""Swapping, PRAM and what they cost."""

import warnings
from collections import Counter

import numpy as np
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare

import maskmeter as mm
from chance.test_perturbation import ORIGINAL, SPACE, matchings
from chance.test_told_counts import DESIGNS, studied
from checks.worlds_of import gathered
from loss.test_loss import associated
from maskmeter.loss import formulas
from maskmeter.perturb import matrices
from maskmeter.perturb.pairing import pair
from maskmeter.streams import generator
from worlds import files

QUIET = mm.MaskmeterWarning


def swaps():
    """Return by how much swaps within control groups change margins, and rows of matrices miss 1."""

    def deviations(data, rate, seed):

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QUIET)
            try:
                release = mm.Swap("lad", rate, within=("sex",)).apply(data, rng=seed)
            except mm.MaskmeterError:  # nobody in the group has another district
                return
        before, after = (one.codes.astype(int) for one in (release.original, release.released))
        margins = [np.bincount(c[:, 0] * 2 + c[:, 2], minlength=8) for c in (before, after)]
        mechanism = release.mechanism
        P = mechanism.factors[0].P if mechanism.factors else np.eye(4)[None]
        yield np.abs(margins[0] - margins[1]).max(), np.abs(P.sum(axis=2) - 1).max()

    rates = st.sampled_from([0.05, 0.2, 0.5, 1.0])
    found = np.array(gathered(deviations, files(), rates, st.integers(0, 999), examples=200))
    return {"margins": int(found[:, 0].max()), "rows": found[:, 1].max(), "files": len(found)}


def small_strata():
    """Return how far tau and the informed risk are from counted matches in small strata, in percent."""
    found = {}
    for name, step in DESIGNS.items():
        tau, printed, informed, _, known, right, _ = studied(
            step, fraction=0.01, seed=2010, draws=400
        )
        key = name.split()[0].lower()
        found[f"{key}_now"] = 100 * (tau.mean() / known.mean() - 1)
        found[f"{key}_fraction"] = 100 * (printed.mean() / known.mean() - 1)
        found[f"{key}_informed"] = 100 * (informed.mean() / right.mean() - 1)
    return found


def pairings():
    """Return p-values of pairings against a uniform draw, and against one that favours a pairing."""
    categories, strata = [0, 0, 1, 1, 2, 2], 100_000
    owner = np.repeat(np.arange(strata), 6)
    pairs = pair(np.tile(categories, strata), owner, rng=generator(2010, "pairings"))
    pairs = np.sort(pairs[np.argsort(pairs[:, 0] // 6, kind="stable")] % 6, axis=1)
    seen = Counter(frozenset(map(tuple, three)) for three in pairs.reshape(strata, 3, 2).tolist())
    admissible = [
        one for one in matchings(range(6)) if all(categories[a] != categories[b] for a, b in one)
    ]
    counts, uneven = np.array([seen[one] for one in admissible]), np.ones(len(admissible))
    uneven[0] = 1.1
    off = chisquare(counts, uneven / uneven.sum() * strata).pvalue
    return {"p": chisquare(counts).pvalue, "power": off, "pairings": len(admissible)}


def balanced():
    """Return how far average flows are from two matrices, in standard errors."""
    sizes = np.array([400, 300, 200, 100])
    space = mm.KeySpace([mm.Key("lad", range(4))])
    data = mm.Microdata(space, np.repeat(np.arange(4), sizes)[:, None])
    moves = np.zeros((1500, 4, 4))
    for run in range(1500):
        now = mm.Swap("lad", 0.5).apply(data, rng=2010 + run).released.codes[:, 0].astype(int)
        moves[run] = np.bincount(data.codes[:, 0] * 4 + now, minlength=16).reshape(4, 4)
    error, off = moves.std(axis=0) / np.sqrt(1500), ~np.eye(4, dtype=bool)

    def distance(P):
        return np.abs((moves.mean(axis=0) - sizes[:, None] * P)[off] / error[off]).max()

    return {
        "balanced": distance(matrices.balanced(sizes, sizes // 2)),
        "nominal": distance(matrices.nominal(sizes, rate=0.5)),
    }


def invariance():
    """Return the largest p R* - p over random files, for solved and given blends."""

    def deviations(data, stay, blend, seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QUIET)
            release = mm.Pram("lad", stay, blend=blend).apply(data, rng=seed)
        p = np.bincount(data.codes[:, 0], minlength=4) / len(data)
        for factor in release.mechanism.factors:
            yield np.abs(p @ factor.P[0] - p).max()

    strategies = (
        files(),
        st.sampled_from([0.0, 0.5, 0.8]),
        st.sampled_from([None, 0.55, 1.0]),
        st.integers(0, 999),
    )
    found = gathered(deviations, *strategies, examples=200)
    return {"largest": max(found), "files": len(found)}


def draws():
    """Return p-values of a million draws against the rows of the release's matrix, and against others."""
    space = mm.KeySpace([mm.Key("lad", range(4)), mm.Key("sex", range(2))])
    rng = np.random.default_rng(3)
    lad = rng.choice(4, 1_000_000, p=[0.4, 0.3, 0.2, 0.1])
    codes = np.column_stack([lad, rng.integers(0, 2, 1_000_000)])
    step = mm.Pram("lad", mm.by("sex", {0: 0.8, 1: 0.5}))
    release = step.apply(mm.Microdata(space, codes), rng=2010)
    factor = release.mechanism.factors[0]
    right, wrong = [], []
    for sex in range(2):
        for true in range(4):
            here = (codes[:, 1] == sex) & (codes[:, 0] == true)
            counts = np.bincount(release.released.codes[here, 0], minlength=4)
            row = factor.P[factor.division.of([sex]), true]
            off = row.copy()
            off[true] *= 0.9
            right.append(chisquare(counts, row * counts.sum()).pvalue)
            wrong.append(chisquare(counts, off / off.sum() * counts.sum()).pvalue)
    return {"p": min(right), "power": max(wrong)}


def corrected():
    """Return how often 95 % intervals of corrected counts, and of raw ones, hold the original counts."""
    truth = mm.KeyTable.of(SPACE, ORIGINAL.codes).project(["lad", "sex"]).dense()
    step = mm.Pram(["lad", "sex"], 0.8, invariant=False)
    inside = raw = 0.0
    for run in range(1000):
        found = mm.correct_counts(step.apply(ORIGINAL, rng=run), "lad", columns="sex")
        inside += (np.abs(found.estimate - truth) < 1.96 * found.standard_error).mean()
        raw += (np.abs(found.released - truth) < 1.96 * found.standard_error).mean()
    return {"coverage": inside / 10, "raw": raw / 10}


def designed():
    """Return how far designed matrices are from the margins and bounds that were asked for."""
    rng, off, over = np.random.default_rng(1), 0.0, 0.0
    for _ in range(50):
        size = int(rng.integers(3, 9))
        counts = rng.integers(5, 100, size)
        space = mm.KeySpace([mm.Key("lad", range(size))])
        data = mm.Microdata(space, np.repeat(np.arange(size), counts)[:, None])
        largest = counts.max() / counts.sum()
        bound = max(0.8, 1.02 - (1 - largest) / largest)  # what the largest category can give
        design = mm.design_pram(data, "lad", stay_at_most=min(bound, 1.0))
        p = counts / counts.sum()
        off = max(off, float(np.abs(p @ design.P - p).max()))
        over = max(over, float((design.P.diagonal() - min(bound, 1.0)).max()))
    return {"margins": off, "bounds": max(over, 0.0)}


def measures():
    """Return how far RAAD, Cramer's V and between-row variances are from those by hand."""
    rng, worst = np.random.default_rng(5), 0.0
    for _ in range(200):
        before, after = rng.integers(1, 31, (2, 3, 4)).astype(float)
        average = before.sum() / 12
        distance = sum(abs(a - b) for a, b in zip(after.flat, before.flat, strict=True)) / 12
        raad = 100 * (average - distance) / average
        v = np.sqrt(chi2_contingency(before, correction=False).statistic / before.sum() / 2)
        overall = before.sum(axis=0) / before.sum()
        between = [
            sum((row[c] / row.sum() - overall[c]) ** 2 for row in before) / 2 for c in range(4)
        ]
        found = formulas.relative_average_absolute_distance(before, after)
        worst = max(
            worst,
            abs(found - raad),
            abs(formulas.cramers_v(before) - v),
            np.abs(formulas.between_variance(before) - between).max(),
        )
    return {"largest": worst}


def closed_forms():
    """Return how far RCV and BVR after random swaps are from their closed forms, in points."""
    sample, worst = associated(300_000, 10), [0.0, 0.0]
    for rate in (0.1, 0.2, 0.5):
        release = mm.Swap("lad", rate=rate).apply(sample, rng=2010)
        loss = mm.information_loss(release, rows="lad", columns="work")
        chi2 = chi2_contingency(loss.tables[0], correction=False).statistic
        kept = (1 - rate * 10 / 9) ** 2
        rcv = 100 * (np.sqrt((kept * chi2 + (1 - kept) * 9 * 3) / chi2) - 1)
        bvr = max(abs(change - 100 * (kept - 1)) for change in loss.bvr.values())
        worst = [max(worst[0], abs(loss.rcv - rcv)), max(worst[1], bvr)]
    return {"rcv": worst[0], "bvr": worst[1]}


def worst_measure():
    """Return the loss of district by ethnic group after swaps of a census sample: means of 60 draws."""
    people = mm.bernoulli_sample(mm.synthetic_census(), fraction=0.01, rng=2010)
    sample = mm.read(people, keys=["lad", "ethnicity"], fraction=0.01)
    aimed = mm.by("ethnicity", {"White British": 0.07}, otherwise=1.0)
    rates = {"10": 0.1, "20": 0.2, "50": 0.5, "100": 1.0, "aimed": aimed}
    found = {}
    for name, rate in rates.items():
        draws = [mm.Swap("lad", rate=rate).apply(sample, rng=seed) for seed in range(60)]
        losses = [mm.information_loss(one, rows="lad", columns="ethnicity") for one in draws]
        found[f"worst_{name}"] = np.mean([one.worst for one in losses])
        found[f"distance_{name}"] = 100 - np.mean([one.raad for one in losses])
    return found
