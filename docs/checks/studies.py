"""Long studies: estimates and intervals over many samples, and the paper's tables."""

import warnings

import numpy as np

import maskmeter as mm
from chance.test_estimates import DESIGNS, estimated, misses
from checks.worlds_of import census, census_samples
from maskmeter.studies.paper import findings
from maskmeter.studies.paper.tables import Study, published

SEED = 2010


def _samples(number):
    return census_samples(range(1000 * SEED, 1000 * SEED + number))


def default_estimate():
    """Return mean absolute errors of the default over 40 samples, before and after eight designs.

    Also that of tau1, whose truth is the number of uniques that are alone in the population.
    """
    _, population = census()
    found = {name: [] for name in ("nothing", *DESIGNS)}
    alone = []
    for run, sample in enumerate(_samples(40)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mm.MaskmeterWarning)
            model = mm.shrink_loglinear(sample)
        exact = mm.exact_risk(sample, population)
        found["nothing"].append((estimated(sample, model, interval="none").total, exact.total))
        alone.append((model.tau1, float((exact.by_unique == 1).sum())))
        for name, step in DESIGNS.items():
            release = step.apply(sample, rng=run)
            truth = mm.exact_risk(release, population).total
            found[name].append((estimated(release, model, interval="none").total, truth))
    errors = {name: 100 * misses(pairs) for name, pairs in found.items()}
    after = [error for name, error in errors.items() if name != "nothing"]
    said = {"before": errors["nothing"], "least": min(after), "most": max(after)}
    return said | {"tau1": 100 * misses(alone)} | errors


def searched_estimates():
    """Return those of the score path and of the paper's search, before misclassification."""
    _, population = census()
    found = {"score-path": [], "forward": []}
    for sample in _samples(40):
        truth = mm.exact_risk(sample, population).total
        for name, pairs in found.items():
            pairs.append((estimated(sample, name, interval="none").total, truth))
    return {name.replace("-", "_"): 100 * misses(pairs) for name, pairs in found.items()}


def paper_form():
    """Return those of the paper's form after each design, ten samples each."""
    _, population = census()
    errors = {}
    for name, step in DESIGNS.items():
        found = []
        for run, sample in enumerate(_samples(10)):
            release = step.apply(sample, rng=run)
            model = mm.search_loglinear(release, method="forward", counts="released")
            risk = estimated(release, model, method="paper", interval="none")
            found.append((risk.total, mm.exact_risk(release, population).total))
        errors[name] = 100 * misses(found)
    return {"least": min(errors.values()), "most": max(errors.values())} | errors


def coverage():
    """Return how many of 200 intervals hold the truth, and how wide they are."""
    _, population = census()
    covered, widths = 0, []
    for sample in _samples(200):
        risk = estimated(sample)
        low, high = risk.interval
        covered += low <= mm.exact_risk(sample, population).total <= high
        widths.append((high - low) / 2 / risk.tau2)
    return {"covered": int(covered), "width": 100 * float(np.mean(widths))}


def tables():
    """Return the paper's findings, with the figure that says whether each holds on one sample."""
    people, population = census()
    drawn = mm.bernoulli_sample(people, fraction=0.01, rng=SEED)
    study = Study(mm.read(drawn, keys=population.space, fraction=0.01), population, SEED)
    table1 = dict(study.table1())
    found = [
        *findings.of_table1(table1),
        findings.of_reading(table1, published()["table1"]),
        *findings.of_table2(study.table2()),
        *findings.of_table3(study.table3()),
    ]
    return {
        "tau_star": study.tau_star,
        "table1": table1,
        "findings": [
            {"claim": one.claim, "holds": one.holds, "figure": one.figure} for one in found
        ],
    }


def census_shape():
    """Return sample uniques and tau* over ten samples; the paper has 2,831 and 358.1."""
    _, population = census()
    risks = [mm.exact_risk(sample, population) for sample in census_samples(range(10))]
    return {
        "uniques": float(np.mean([risk.uniques for risk in risks])),
        "tau": float(np.mean([risk.total for risk in risks])),
    }


def many_keys():
    """Return sample uniques with 11 and 30 binary keys, and where the risk peaks."""
    curve = mm.binary_keys_experiment(keys=(5, 8, 11, 15, 20, 25, 28, 30), thetas=(0.0, 0.05, 0.1))
    uniques = {one.number: one.uniques for one in curve.subsets if one.theta == 0}
    peaks = {theta: number for theta, number, _ in curve.peaks().iter_rows()}
    return {
        "eleven": uniques[11],
        "thirty": uniques[30],
        "peak0": peaks[0.0],
        "peak5": peaks[0.05],
        "peak10": peaks[0.1],
    }
