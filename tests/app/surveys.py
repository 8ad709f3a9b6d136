"""Files that the page is tried with."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyreadstat

import maskmeter as mm

SCRIPT = "<script>window.bad = 1</script>"


def write_survey(path, people, *, fraction=0.01):
    """Write a sample of people as SPSS has it, with labels, an identifier and amounts."""
    sample = mm.bernoulli_sample(people, fraction=fraction, rng=7)
    rng = np.random.default_rng(7)
    sample = sample.with_columns(
        pid=pl.Series(rng.permutation(len(sample)) + 1),
        income=pl.Series(rng.integers(9_000, 90_000, len(sample)).astype(float)),
    )
    labels = {"lad": "District", "age": "Age <b>in bands</b>", "marital": SCRIPT}
    pyreadstat.write_sav(sample.to_pandas(), str(path), column_labels=labels)
    return len(sample)
