"""The terms that a report uses, and what they mean."""

from __future__ import annotations

from maskmeter.evidence.schema import Figures


def glossary(figures: Figures) -> tuple[tuple[str, str], ...]:
    """Return the terms that a report on these figures uses, and what they mean."""
    used = [*_TERMS, *dict.fromkeys(one.term for one in figures.steps if one.term is not None)]
    if figures.worst.model is not None:
        used += _MODEL_TERMS
    if figures.loss:
        used += _LOSS_TERMS
    if figures.map is not None:
        used += _MAP_TERMS
    return tuple(used)


_TERMS = (
    ("Key", "A variable that an intruder may know about a person, such as sex, age or place."),
    (
        "Sample unique",
        (
            "A record whose combination of keys no other record in the file shares. Only such"
            " a record gives an intruder a single match."
        ),
    ),
    (
        "Expected correct matches (tau)",
        (
            "The expected number of sample uniques that an intruder would match with the right"
            " person if they tried all of them."
        ),
    ),
    (
        "Exact matching",
        (
            "An intruder who claims a match when exactly one record agrees with a person on all keys."
            " He takes every released value for true."
        ),
    ),
    (
        "Informed intruder",
        (
            "An intruder who knows how the file was protected and at which rates, and names the"
            " likeliest person for each unique record. He is right at least as often."
        ),
    ),
    (
        "Risk of a record",
        "The probability that the person whom an intruder names for a record is the right one.",
    ),
    (
        "Sampling fraction",
        (
            "The share of the population in the file. The smaller it is, the more people"
            " outside the file may have the same keys."
        ),
    ),
    (
        "Interval",
        (
            "An approximate 95 % interval for the expected correct matches, which allows for"
            " sampling and for the model."
        ),
    ),
)

_MODEL_TERMS = (
    (
        "Log-linear model and z2",
        (
            "Without population counts, a log-linear model of the key table stands in for"
            " them. z2 measures how well it fits the sample uniques: far above 0 the model"
            " overstates the risk, clearly below 0 it understates it."
        ),
    ),
)

_LOSS_TERMS = (
    (
        "RAAD",
        (
            "Relative average absolute distance between the cells of a table before and after"
            " protection: 100 is unchanged, lower is more changed."
        ),
    ),
    ("RCV", "Change in Cramer's V, the strength of association in a table, in percent."),
    (
        "BVR",
        ("Change in the variance between the rows of a table for one of its columns, in percent."),
    ),
)

_MAP_TERMS = (("Frontier", "The releases that no other release beats on both risk and loss."),)
