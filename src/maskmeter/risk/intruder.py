"""What an intruder knows and does, and how the sample was drawn: the choices behind every risk."""

from __future__ import annotations

from typing import Literal

Intruder = Literal["exact-match", "informed"]
InclusionBy = Literal["true", "recorded"]

EXACT_MATCH: Intruder = "exact-match"
INFORMED: Intruder = "informed"

# What each of them does, as an assumption behind a figure.
ASSUMED: dict[Intruder, str] = {
    "exact-match": "the intruder claims a match when exactly one record agrees on the keys",
    "informed": (
        "the intruder knows the method and its rates, and names the likeliest person for each unique"
        " record"
    ),
}

# Each in the words of a sentence: matched correctly ...
BY_WHOM: dict[str, str] = {
    "exact-match": "by exact matching",
    "informed": "by an informed intruder",
}
