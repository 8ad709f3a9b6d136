"""Long studies in simulated populations: 100 samples of each world and design, with their counts."""

from chance.test_coverage import plausible
from populations import SMALL, WORLDS
from trials import DESIGNS, PERTURBATIONS, WEIGHTED, Summary, before, quietly, weighted_trials

NUMBER = 100
FIRST = 10_000  # seeds that no test uses
LOW = 0.1  # relative error of an estimate that is clearly too low


def _seeds():
    return range(FIRST, FIRST + NUMBER)


def worlds():
    """Return coverage and errors in six worlds, before and after misclassification."""
    covered, errors, half_widths = {}, {}, {}
    for name in WORLDS:
        for how, run in PERTURBATIONS.items():
            found = Summary.of(quietly(run, name, seed) for seed in _seeds())
            print(f"{name:20} {how:12} {found}", flush=True)
            covered[f"{name}, {how}"] = found.covered
            errors[f"{name}, {how}"] = 100 * found.error
            half_widths[f"{name}, {how}"] = 100 * found.half_width
    plain = [error for name, error in errors.items() if "order two" not in name]
    return {
        "least": min(covered.values()),
        "all": sum(covered.values()),
        "trials": NUMBER * len(covered),
        "below": sum(not plausible(one, NUMBER, 0.92) for one in covered.values()),
        "error_least": min(plain),
        "error_most": max(plain),
        "covered": covered,
        "errors": errors,
        "half_widths": half_widths,
    }


def order_two():
    """Return bias and coverage under strong dependence between three keys, also of the score path."""
    name = "chain of order two"
    ours = Summary.of(quietly(before, name, seed) for seed in _seeds())
    searched = Summary.of(quietly(searched_before, name, seed) for seed in _seeds())
    return {
        "bias": 100 * ours.bias,
        "covered": ours.covered,
        "score_bias": 100 * searched.bias,
        "score_covered": searched.covered,
    }


def searched_before(name, seed):
    """Return the estimate of a sample by the score path."""
    return before(name, seed, model="score-path")


def few_records():
    """Return coverage in files of 1,000 and 2,000 records, and how often low estimates are told."""
    found = {name: [quietly(before, name, seed) for seed in _seeds()] for name in SMALL}
    for name, listed in found.items():
        print(f"{name:35} {Summary.of(listed)}", flush=True)
    every = [one for listed in found.values() for one in listed]
    low = [one.cautioned for one in every if one.error < -LOW]
    return {
        "covered": sum(one.covered for one in every),
        "trials": len(every),
        "cautioned": sum(low),
        "low": len(low),
    }


def weights():
    """Return coverage and errors of weighted samples, by design, before and after a swap."""
    covered, errors = {}, {}
    for design in DESIGNS:
        for name in WEIGHTED:
            listed = [quietly(weighted_trials, name, design, seed) for seed in _seeds()]
            for how in listed[0]:
                found = Summary.of(one[how] for one in listed)
                print(f"{design:28} {name:20} {how:15} {found}", flush=True)
                covered[f"{design}, {name}, {how}"] = found.covered
                errors[f"{design}, {name}, {how}"] = 100 * found.error
    return {
        "least": min(covered.values()),
        "all": sum(covered.values()),
        "trials": NUMBER * len(covered),
        "error": sum(errors.values()) / len(errors),
        "error_most": max(errors.values()),
        "covered": covered,
        "errors": errors,
    }
