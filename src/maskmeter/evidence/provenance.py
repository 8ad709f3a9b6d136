"""The provenance file of a release: what the agency needs to recreate it."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import msgspec

from maskmeter.bounds import PROVENANCE, read_small
from maskmeter.data.engines.files import files_of
from maskmeter.data.source import files_hash
from maskmeter.errors import PlanError
from maskmeter.evidence.schema import CONFIDENTIAL
from maskmeter.formats import columnar, csv
from maskmeter.perturb import Release
from maskmeter.perturb.methods import StepPlan
from maskmeter.plan.schema import Plan
from maskmeter.plurals import counted

VERSION = 4
_LONGEST = 100  # digits of a seed
# Endings of files that are the same byte for byte whenever the same versions write them.
_SAME_BYTES = (*csv.FORMAT.endings, *columnar.PARQUET.endings)

Compared = Literal["output_hash", "columns_hash", "keys_hash"]


class RareFigures(msgspec.Struct, frozen=True):
    """The records for whom a step redrew a key: the bound, and the terms of the model behind it."""

    step: str
    keys: tuple[str, ...]
    others: tuple[str, ...]
    rarer_than: float
    terms: tuple[str, ...]
    records: int


class ProvenanceFile(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    tag_field="confidential",
    tag=CONFIDENTIAL,
):
    """All of `provenance.json`; `plan` has what was asked, `steps` what was done.

    The `digest` shows damage and edits. It is no signature: who edits the file on purpose can
    compute it again.
    """

    schema_version: int
    seed: str  # text: other programs round numbers of this size
    input: str
    input_hash: str
    output: str | None
    output_hash: str | None
    keys_hash: str  # of the released keys, whatever the format
    columns_hash: str | None  # of all released columns, for formats whose bytes may differ
    steps: list[StepPlan]
    rare: list[RareFigures]  # for whom a step redrew a key
    plan: Plan
    versions: dict[str, str]
    digest: str = ""  # of everything else in the file


def provenance_of(
    release: Release, *, plan: Plan, source: Path | None, output: Path | None
) -> ProvenanceFile:
    """Return how a release was made and which file it gave."""
    made = release.provenance
    if made is None:
        raise PlanError(
            "This release was assembled by hand, so there is no record of how it was made."
        )
    known = ProvenanceFile(
        schema_version=VERSION,
        seed=str(made.seed),
        input=_named(release) if source is None else source.name,
        input_hash=made.input_hash,
        output=None if output is None else output.name,
        output_hash=None if output is None else files_hash(files_of(output)),
        keys_hash=release.keys_hash(),
        columns_hash=_columns_hash(release, output),
        steps=[step.to_plan() for step in made.steps],
        rare=[
            RareFigures(one.step, one.keys, one.others, one.bound, one.terms, one.records)
            for one in release.rare
        ],
        plan=plan,
        versions=dict(made.versions),
    )
    return msgspec.structs.replace(known, digest=digest_of(msgspec.json.encode(known)))


def digest_of(content: bytes) -> str:
    """Return a hash of all entries of a provenance file but the digest, whatever their order."""
    entries = msgspec.json.decode(content, type=dict[str, Any])
    entries.pop("digest", None)
    return f"sha256 {sha256(msgspec.json.encode(entries, order='sorted')).hexdigest()}"


def _columns_hash(release: Release, output: Path | None) -> str | None:
    """Return a hash of all columns, None where the bytes of the file tell or records are elsewhere."""
    bytes_tell = output is not None and output.suffix.lower() in _SAME_BYTES
    held = release.released.at_source is None
    return release.released.column_hash() if held and not bytes_tell else None


def _named(release: Release) -> str:
    """Return the name of the only file that records in an engine came from, or how many there are."""
    source = release.original.source
    files = () if source is None else source.files
    return files[0].name if len(files) == 1 else counted(len(files), "file") if files else ""


class _Versioned(msgspec.Struct):
    """What every version of the file begins with."""

    schema_version: int
    seed: str  # which only a provenance has


def read_provenance(path: str | Path) -> ProvenanceFile:
    """Return a provenance file that was written before."""
    path = Path(path)
    try:
        content = read_small(path, most=PROVENANCE)
        version = msgspec.json.decode(content, type=_Versioned).schema_version
        if version != VERSION:
            raise _other_version(path, version)
        found = msgspec.json.decode(content, type=ProvenanceFile)
    except OSError as error:
        raise PlanError(f"Cannot read {str(path)!r}: {str(error.strerror).lower()}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise PlanError(
            f"Cannot read {path.name!r}: it is not a provenance.json that maskmeter wrote."
        ) from None
    if digest_of(content) != found.digest:
        raise PlanError(
            f"{path.name!r} is damaged or was edited: its digest is not that of its entries. Use the"
            " file as maskmeter wrote it."
        )
    if not (found.seed.isascii() and found.seed.isdecimal()) or len(found.seed) > _LONGEST:
        raise PlanError(f"The seed in {path.name!r} is not a number: the file was edited.")
    return found


def _other_version(path: Path, version: int) -> PlanError:
    return PlanError(
        f"{path.name!r} has schema version {version}, but this maskmeter reads version {VERSION}:"
        " recreate its release with the maskmeter that wrote it, or protect the file again."
    )


def check_repeated(release: Release, made: ProvenanceFile) -> None:
    """Refuse a recreated release that differs from the one the provenance records."""
    if release.keys_hash() != made.keys_hash:
        raise PlanError(
            "The recreated release differs from the one the provenance records: the provenance was"
            " edited, or another version made the release (maskmeter"
            f" {made.versions.get('maskmeter', 'unknown')})."
        )


def compare_output(again: ProvenanceFile, made: ProvenanceFile) -> Compared:
    """Return which hash shows that a recreated file is the recorded one; raise if it is not.

    The keys were compared before. A file in another format has other bytes, and so may one whose
    format notes the time, or that other versions wrote or another engine divided; but its columns
    are the same.
    """
    if again.output_hash == made.output_hash:
        return "output_hash"
    ending, recorded = (Path(one.output or "").suffix.lower() for one in (again, made))
    same_bytes = ending == recorded in _SAME_BYTES
    hashes = {again.columns_hash, made.columns_hash}
    same_columns = None not in hashes and len(hashes) == 1
    if again.versions == made.versions and (same_bytes or len(hashes - {None}) > 1):
        raise PlanError(
            "The recreated file differs from the one the provenance records, though its keys are"
            " the same: the provenance was edited, or another version of a library reads the input"
            " in another way."
        )
    return "columns_hash" if same_columns else "keys_hash"
