"""Maps that are hard to draw: crowds, far ends, long names, one release, nothing but zeros."""

from __future__ import annotations

import numpy as np
import polars as pl

WORDS = {"x": "Loss", "y": "Risk", "title": "A map", "subtitle": "Of releases"}
WIDTHS = (200, 269, 300, 389, 470, 560)
LONG = "target for the upper end of the interval"


def on_frontier(risk, loss):
    """Return which points no other beats."""
    points = list(zip(risk, loss, strict=True))
    return [
        not any(a <= x and b <= y and (a < x or b < y) for a, b in points) for x, y in points
    ]  # fmt: skip


def releases(labels, risk, loss, upper=None, spread=0.0):
    """Return releases as a map takes them."""
    risk, loss = [float(one) for one in risk], [float(one) for one in loss]
    return pl.DataFrame(
        {
            "label": labels,
            "risk": risk,
            "risk_sd": spread,
            "upper": risk if upper is None else [float(one) for one in upper],
            "loss": loss,
            "loss_sd": spread / 20,
            "frontier": on_frontier(risk, loss),
        }
    )


def _sixteen():
    labels = [f"{kind}{rate}" for kind in ("RS", "RP", "TS", "TP") for rate in (2, 5, 10, 20)]
    risk = [385, 372, 343, 287, 384, 371, 344, 290, 371, 345, 310, 262, 369, 347, 308, 266]
    loss = [1.9, 4.4, 8.1, 14.9, 2.1, 4.7, 8.6, 15.8, 2.2, 5.3, 9.4, 16.3, 2.5, 5.6, 9.9, 17.2]
    return releases(labels, risk, loss, spread=3.0), "TS20", (278.0, "target")


def _forty(noise):
    draws = np.random.default_rng(3)
    labels = [f"targeted swap of neighbourhood {rate} %" for rate in range(1, 41)]
    loss = np.sort(draws.uniform(0, 30, 40))
    risk = 300 * np.exp(-loss / 9) + draws.uniform(0, noise, 40)
    return releases(labels, risk, loss, 1.5 * risk + 30), labels[17], (90.0, LONG)


def _crowd():
    draws = np.random.default_rng(4)
    labels = [f"release {number}" for number in range(40)]
    risk, loss = 100 + draws.normal(0, 1, 40), 10 + draws.normal(0, 0.1, 40)
    return releases(labels, risk, loss, risk + draws.uniform(20, 90, 40)), labels[7], (101.0, LONG)


def _far_end():
    labels = ["no protection", "swap 5%", "swap 10%", "swap 20%", "PRAM 20%"]
    frame = releases(labels, [30.1, 20, 12, 1.6, 4], [0, 2, 4, 9, 8], [44, 33, 800, 22, 15])
    return frame, "swap 20%", (25.0, LONG)


def _huge_range():
    labels = ["no protection", *(f"swap {rate}%" for rate in (1, 2, 5, 10, 20, 50, 100))]
    risk, loss = [12000, 900, 400, 40, 10, 2, 0.5, 0], [0, 1, 2, 4, 6, 9, 20, 85]
    return releases(labels, risk, loss, [1.2 * one + 3 for one in risk]), "swap 20%", (20.0, LONG)


def _long_names():
    name = "neighbourhood of residence, coarse, as in the 2017 wave of the survey, swapped 20%"
    labels = ["no protection", name, name.replace("20%", "30%"), "x"]
    frame = releases(labels, [50, 30, 20, 35], [0, 6, 8, 7], [66, 40, 30, 45])
    return frame, name, (33.0, LONG)


def _alike():
    rates = (2, 5, 10, 20, 30, 50)
    labels = [f"swap of neighbourhoods within precincts, {rate}% of records" for rate in rates]
    risk, loss = [238, 224, 201, 185, 154, 103], [1.5, 2.9, 4.6, 7.8, 10.5, 15.2]
    return releases(labels, risk, loss, [1.07 * one for one in risk]), labels[3], (57.0, LONG)


OWN, NONE = "steps of the plan", "no protection"
MAPS = {
    "sixteen": _sixteen(),
    "forty": _forty(noise=40.0),
    "forty on the frontier": _forty(noise=0.0),
    "a crowd": _crowd(),
    "a far end": _far_end(),
    "a huge range": _huge_range(),
    "long names": _long_names(),
    "names that begin and end alike": _alike(),
    "equal points": (releases([NONE, OWN, "a", "b"], [10] * 4, [0] * 4, [12] * 4), OWN, (11.0, "target")),
    "one release": (releases([OWN], [10], [3], [12]), OWN, None),
    "risk 0": (releases([NONE, OWN], [10, 0], [0, 4], [12, 0]), OWN, (0.0, "target")),
    "nothing but 0": (releases([NONE, OWN], [0, 0], [0, 0]), OWN, (5.0, "target")),
    "no choice": (_sixteen()[0], "", None),
}  # fmt: skip
