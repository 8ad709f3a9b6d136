"""Long studies in simulated populations: 100 samples of each world and design, with their counts."""

from chance.test_coverage import plausible
from populations import SMALL, WORLDS
from trials import DESIGNS, PERTURBATIONS, WEIGHTED, Summary, before, quietly, weighted_trials

NUMBER = 100
FIRST = 10_000  # seeds that no test uses


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


def few_records():
    """Return coverage in files of 1,000 and 2,000 records, and how often a miss was cautioned of."""
    found = [Summary.of(quietly(before, name, seed) for seed in _seeds()) for name in SMALL]
    for name, one in zip(SMALL, found, strict=True):
        print(f"{name:35} {one}, {one.missed_and_cautioned} misses cautioned of", flush=True)
    return {
        "covered": sum(one.covered for one in found),
        "trials": sum(one.trials for one in found),
        "cautioned": sum(one.missed_and_cautioned for one in found),
        "missed": sum(one.trials - one.covered for one in found),
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
