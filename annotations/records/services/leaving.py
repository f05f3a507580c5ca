"""How files of records leave: with a release, and with a signed manifest that lists them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from annotations.models import Project, RecordSchema, Release, ReleasePolicy, ReleaseState, User
from annotations.records.rules.reader import content_hash
from annotations.records.selectors import active_schemas
from annotations.release.rules.certificates.content import RecordSchemaHash, RecordsFile, ReleasedRecords
from annotations.release.services.certificates.people import name_of
from annotations.release.services.certificates.signing import sign_files
from annotations.release.services.starting import release_records

SIGNATURE: Final = ".sig"
"""What the name of a manifest's signature has behind that of the manifest."""


@dataclass(frozen=True)
class WrittenFile:
    """A new file, and how many records were written to it and held back from it."""

    path: Path
    records: int
    held: int


def leave(
    *,
    project: Project,
    policy: ReleasePolicy,
    files: Sequence[WrittenFile],
    counts: Mapping[str, object],
    manifest: Path,
    release: Release | None,
    direct: bool,
    actor: User | None,
) -> tuple[Release | None, list[str]]:
    """Let new files leave with a release, and write their manifest, which has no text of a record, and its signature.

    `release`: that of their notes, if they have any. `direct`: they hold records without a note, which need a release
    of their own where that of the notes is signed. Returns the release, and the SHA-256 of each file.
    """
    rows = [
        RecordsFile(records=one.records, held_back=one.held, bytes=one.path.stat().st_size, sha256=_sha256(one.path))
        for one in files
    ]
    schemas = [_hashed(row) for row in active_schemas(project).values()]
    if direct or (release is not None and release.state == ReleaseState.PREPARED):
        records = ReleasedRecords(schemas=schemas, files=rows)
        release = release_records(project=project, policy=policy, records=records, release=release, actor=actor)
    content = {
        **counts,
        "policy": {"slug": policy.slug, "version": policy.version},
        "schemas": schemas,
        "release": {"number": release.number, "content_hash": release.content_hash} if release else None,
        "files": [
            {"name": file.path.name, "bytes": row["bytes"], "sha256": row["sha256"]}
            for file, row in zip(files, rows, strict=True)
        ],
    }
    data = json.dumps(content, ensure_ascii=False, indent=1).encode() + b"\n"
    manifest.with_name(manifest.name + SIGNATURE).write_bytes(sign_files(hashlib.sha256(data).digest()))
    manifest.write_bytes(data)
    return release, [row["sha256"] for row in rows]


def _hashed(row: RecordSchema) -> RecordSchemaHash:
    found = RecordSchemaHash(data_type=row.data_type, number=row.number, sha256=content_hash(row.schema))
    if row.created_by and row.created_by == row.reviewed_by:
        found["one_person"] = name_of(row.created_by)
    return found


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
