"""The jobs of records. A killed worker's job starts over; nothing is stored twice."""

import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from django.db import transaction

from annotations.core.services import ServiceError, erasures_of, unerased
from annotations.core.stored_files import read_chunks, store_file
from annotations.exchange.services.writing import write_zip
from annotations.jobs.runner import Claim
from annotations.models import Project, Release, ReleasePolicy, StoredFile, StoredFileKind, User
from annotations.records.services.files import deidentify_file, write_release


def run(claim: Claim) -> dict[str, Any]:
    """De-identify an uploaded file. What has free text is stored and waits; the result has the counts, and a zip."""
    params, begun = claim.params, erasures_of(claim.project_id)
    stored = StoredFile.objects.filter(pk=params["file_id"]).first()
    if stored is None:
        raise ServiceError("The upload was deleted. Upload the file again.", code="gone")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"upload{params['ending']}"
        with source.open("wb") as file:
            for data in read_chunks(stored):
                file.write(data)
        out = Path(folder) / "out" / f"records{params['ending']}"
        out.parent.mkdir()
        report = deidentify_file(
            project=Project.objects.select_related("label_set").get(pk=claim.project_id),
            source=source,
            out=out,
            policy=ReleasePolicy.objects.get(pk=params["policy_id"], project=claim.project_id),
            actor=_actor(claim),
            data_type=params["data_type"],
            releases=False,
            progress=claim.progress,
        )
        result = _stored_zip(claim, out.parent, "records.zip", asdict(report), begun)
    stored.delete()
    return result


def run_export(claim: Claim) -> dict[str, Any]:
    """Write the records of a release as JSON Lines, with their manifest, into a stored zip."""
    begun = erasures_of(claim.project_id)
    release = Release.objects.select_related("project__label_set", "policy").get(pk=claim.params["release_id"])
    with tempfile.TemporaryDirectory() as folder:
        report = write_release(release=release, out=Path(folder) / "records.ndjson", actor=_actor(claim))
        return _stored_zip(claim, Path(folder), f"release-{release.number}-records.zip", asdict(report), begun)


def _stored_zip(claim: Claim, folder: Path, name: str, result: dict[str, Any], begun: int) -> dict[str, Any]:
    """Store the files of a folder as a zip, unless a note was erased since. Return the result with its `file_id`."""
    with tempfile.TemporaryFile() as content:
        write_zip(content, _files(folder))
        content.seek(0)
        with transaction.atomic():
            unerased(claim.project_id, begun)
            claim.fence()
            project = Project.objects.get(pk=claim.project_id)
            made = store_file(
                project=project, kind=StoredFileKind.RELEASE, name=name, content=content, actor=_actor(claim)
            )
    return result | {"file_id": made.pk}


def _files(folder: Path) -> Iterator[tuple[str, IO[bytes]]]:
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            yield path.name, file


def _actor(claim: Claim) -> User | None:
    return User.objects.filter(pk=claim.actor_id or 0).first()


def undo(params: dict[str, Any], state: str) -> None:
    """Delete the upload of a canceled or failed job. Records that it stored stay, and wait for their review."""
    StoredFile.objects.filter(pk=params["file_id"], kind=StoredFileKind.UPLOAD).delete()
