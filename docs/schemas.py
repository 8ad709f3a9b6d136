"""Write the JSON Schemas of the files of a pack again, from the types they are made with."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from maskmeter.evidence.provenance import ProvenanceFile
from maskmeter.evidence.schema import Comparison, Figures

if __name__ == "__main__":
    kinds = {"assessment": Figures, "comparison": Comparison, "provenance": ProvenanceFile}
    for name, kind in kinds.items():
        text = json.dumps(msgspec.json.schema(kind), indent=1)
        path = Path(__file__).with_name(f"{name}.schema.json")
        path.write_text(text + "\n", encoding="utf-8")
        print(f"Wrote {path.name}")
