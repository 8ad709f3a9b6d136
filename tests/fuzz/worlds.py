"""Whole inputs of every kind, before they are damaged; their records hold canaries."""

from __future__ import annotations

import gzip
import json

import polars as pl
import pyreadstat

from command import run
from formats.r_files import data_frame, reals, texts

CANARIES = ("Qzcanary", "731077")  # in the texts and in the numbers of records
RECORDS = 120
KEYS = ("town", "sex", "income")
ENDINGS = (
    ".csv", ".tsv", ".parquet", ".arrow", ".feather", ".sav", ".zsav", ".dta", ".xpt", ".sas7bdat", ".xlsx", ".rds",
)  # fmt: skip

PLAN = """# how the file is read, and how it was sampled
[data]
keys = ["town", "sex"]
read = ["income"]
fraction = 0.1
missing = "category"
codes = ["income"]

[scenario.neighbour]
keys = ["town"]

[[step]]
method = "swap"
key = "town"
rate = 0.2
within = ["sex"]

[[step]]
method = "pram"
key = "sex"
stay = 0.9

[loss]
tables = [["town", "sex"]]
measure = "worst"

[target]
max_share = 0.5

[release]
shuffle = true

[report]
title = "A trial"
smallest_count = 3
"""


def people():
    """Return records in which every value of a column is a canary."""
    rows = range(RECORDS)
    return pl.DataFrame(
        {
            "town": [f"Qzcanary{row * row % 5}" for row in rows],
            "sex": [1 + row // 3 % 2 for row in rows],
            "income": [7310770 + row % 7 for row in rows],
            "note": [f"Qzcanary-note-{row}" for row in rows],
        }
    )


def write_worlds(folder):
    """Write a whole file of every format to a folder, with a plan and a provenance for them."""
    frame = people()
    frame.write_csv(folder / "whole.csv")
    frame.write_csv(folder / "whole.tsv", separator="\t")
    frame.write_parquet(folder / "whole.parquet")
    frame.write_ipc(folder / "whole.arrow")
    frame.write_ipc(folder / "whole.feather", compression="zstd")
    labels = {"sex": {1: "Male", 2: "Female"}}
    pyreadstat.write_sav(frame, folder / "whole.sav", variable_value_labels=labels)
    pyreadstat.write_sav(frame, folder / "whole.zsav", compress=True)
    pyreadstat.write_dta(frame, folder / "whole.dta", variable_value_labels=labels)
    pyreadstat.write_xport(frame, folder / "whole.xpt")
    frame.to_pandas().to_excel(folder / "whole.xlsx", index=False)
    columns = {one.name: (texts if one.dtype == pl.String else reals)(one) for one in frame}
    (folder / "whole.rds").write_bytes(gzip.compress(data_frame(columns, RECORDS)))
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    done = run("protect", folder / "whole.csv", "--plan", folder / "plan.toml", "--out", folder / "safe.csv")  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = json.loads((folder / "safe.csv.provenance.json").read_text(encoding="utf-8"))
    (folder / "provenance.json").write_text(json.dumps(made, indent=1), encoding="utf-8")
