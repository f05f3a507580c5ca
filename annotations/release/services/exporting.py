"""Export a release: as a stored file by a job, or to a folder or zip by the command."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.services import Progress, ServiceError, check_choice, erasures_of, silent, unerased
from annotations.core.stored_files import store_file
from annotations.exchange.rules import Relabeler, written_set
from annotations.exchange.selectors import target_of
from annotations.exchange.services.exporting import label_definitions
from annotations.exchange.services.label_mappings import ExportLabels
from annotations.exchange.services.writing import write_to_path, write_zip
from annotations.formats.notes import Loss, OutNote
from annotations.jobs.runner import Claim
from annotations.jobs.services.queue import cancel, once
from annotations.release.events import RELEASE_EXPORTED, RELEASE_WITHDRAWN, ReleaseExported, ReleaseWithdrawn
from annotations.release.selectors.recordings import has_recordings, lost, lost_recordings
from annotations.release.services.files import RELEASE_FORMATS, WITHOUT_SPANS, WrittenLabels, out_note, release_files
from annotations.release.services.recordings import released_recordings
from annotations.release.services.settling import edition_of, released_notes, settle

EXPORT = "release_export"
BATCH = 250
LISTED = 10
Placed = TypeVar("Placed")


def start_release_export(
    *,
    release: models.Release,
    format: str,
    actor: models.User,
    token: str = "",
    leave_out: bool = False,
    labels: ExportLabels | None = None,
) -> models.Job:
    """Start an export. The same `token` (one per form) gives the same job.

    `labels`: other codes for labels. Notes with open findings are held back. With `leave_out` the export leaves them
    out; without, it is refused. Raises ServiceError: `format`, `state` unless the release is prepared, `held`,
    `recording` with the notes whose recordings were deleted, and `unmapped` with the labels that a mapping lacks.
    """
    check_export(release, format, leave_out=leave_out)
    if labels is not None:
        labels.by_code(release.project)
    params: dict[str, Any] = {"release_id": release.pk, "format": format}
    if leave_out:
        params["leave_out"] = True
    if labels is not None and labels.differ:
        params["labels"] = labels.as_params()
    return once(EXPORT, release.project, params, actor, token)


def check_export(release: models.Release, format: str, *, leave_out: bool) -> None:
    """Raise ServiceError where the release can't be exported now, as `start_release_export` says."""
    unknown = _("There is no format “%(name)s”. Choose one of: %(choices)s.")
    check_choice(format, RELEASE_FORMATS, unknown, code="format")
    if release.state not in (models.ReleaseState.PREPARED, models.ReleaseState.SIGNED):
        message = _("Release %(number)s can't be exported. Its state is: %(state)s.")
        raise ServiceError(message % {"number": release.number, "state": release.get_state_display()}, code="state")
    if not release.note_count:
        message = _("Release %(number)s has no notes. Its records are in the files that its certificate lists.")
        raise ServiceError(message % {"number": release.number}, code="empty")
    if not leave_out and release.open_findings:
        raise ServiceError(
            _("The leak gate has findings that nobody has decided. Decide them, or leave out the notes with findings."),
            code="held",
        )
    going = lost_recordings(release).filter(state=models.ReleasedNoteState.DONE)
    if problem := lost(list(going.values_list("name", flat=True)[:LISTED])):
        raise ServiceError(problem, code="recording")


def run_release_export(claim: Claim) -> dict[str, Any]:
    """Write an export as a stored zip file and return its counts with its `file_id`.

    After a crash the job starts over: a partial file is never committed. Raises ServiceError; ErasedMeanwhile if a note
    was erased meanwhile.
    """
    params, format = claim.params, str(claim.params["format"])
    release = models.Release.objects.select_related("project__label_set", "policy").get(pk=params["release_id"])
    actor = models.User.objects.filter(pk=claim.actor_id or 0).first()
    labels = ExportLabels.from_params(params["labels"]) if "labels" in params else None
    export = ReleaseExport(release, format, bool(params.get("leave_out")), claim.progress, labels)
    with tempfile.TemporaryFile() as content:
        write_zip(content, export.files())
        content.seek(0)
        # The file's name has nothing of the project's, which may name a hospital.
        about = {"kind": models.StoredFileKind.RELEASE, "name": f"release-{release.number}-{format}.zip"}
        place = partial(store_file, project=release.project, content=content, actor=actor, **about)
        stored = export.finish(place, actor)
    return export.counts() | {"file_id": stored.pk}


def export_release_to_path(
    *,
    release: models.Release,
    out: Path,
    format: str,
    actor: models.User | None = None,
    labels: ExportLabels | None = None,
    beside: Mapping[str, bytes] | None = None,
) -> dict[str, Any]:
    """Write an export to a new or empty folder, or to a .zip, and return its counts.

    Notes that are held back are left out. `beside` are further files that the signed list of files covers, by name.
    Nothing half-written remains. Raises ServiceError; ErasedMeanwhile if a note was erased meanwhile.
    """
    export = ReleaseExport(release, format, True, silent, labels, beside)
    write_to_path(out, export.files(), lambda place: export.finish(place, actor))
    return export.counts()


class ReleaseExport:
    """One export of the notes that are not held back."""

    def __init__(
        self,
        release: models.Release,
        format: str,
        leave_out: bool,
        progress: Progress,
        labels: ExportLabels | None,
        beside: Mapping[str, bytes] | None = None,
    ) -> None:
        labels = labels or ExportLabels()
        self._beside = beside or {}
        self._begun = erasures_of(release.project_id)
        self._release = settle(release=release)
        check_export(release, format, leave_out=leave_out)
        self._format = format
        self._leave_out = leave_out
        self._progress = progress
        self._labels, self._codes = labels, labels.by_code(release.project)
        self._relabeler = Relabeler(self._codes) if labels.differ else None
        self._total = released_notes(release).count()
        self._held = models.ReleasedNote.objects.filter(release=release, state=models.ReleasedNoteState.HELD).count()
        self._notes = self._spans = 0

    def files(self) -> Iterator[tuple[str, Any]]:
        definitions = label_definitions(self._release.project, merged=True)
        if self._labels.differ:
            definitions = written_set(definitions, self._codes, target_of(self._labels.target))
        written = WrittenLabels({label: code for label, code in self._codes.items() if code}, definitions)

        def at_end() -> dict[str, Any]:
            """What the manifest says of labels written in another way. A mapping's name stays inside."""
            return {"labels": relabeled} if (relabeled := self._relabeled()) else {}

        recordings = released_recordings(self._release, self._codes)
        return release_files(self._format, self._out_notes(), written, self._about(), at_end, self._beside, recordings)

    def finish(self, place: Callable[[], Placed], actor: models.User | None) -> Placed:
        """Put the files into their place, in the transaction that checks that nothing changed since the export began.

        Returns what `place` returns. Raises ServiceError, and ErasedMeanwhile.
        """
        with transaction.atomic():
            self._check_still()
            placed = place()
            self._record(actor)
        return placed

    def _check_still(self) -> None:
        unerased(self._release.project_id, self._begun)
        now = models.Release.objects.select_for_update(of=("self",)).get(pk=self._release.pk)
        check_export(now, self._format, leave_out=self._leave_out)
        if now.revision != self._release.revision:
            raise ServiceError(
                _("Findings of this release were decided during the export, so nothing was stored. Start it again."),
                code="changed",
            )

    def _record(self, actor: models.User | None) -> None:
        data: ReleaseExported = {**self._counted()}
        if relabeled := self._relabeled():
            data |= {"mapping": self._labels.mapping, "left_out": relabeled["left_out"], "merged": relabeled["merged"]}
        RELEASE_EXPORTED.record(actor=actor, project_id=self._release.project_id, data=data)

    def counts(self) -> dict[str, Any]:
        return {**self._counted(), "labels": self._relabeled()}

    def _counted(self) -> ReleaseExported:
        return {
            "release": self._release.number,
            "format": self._format,
            "notes": self._notes,
            "spans": self._spans,
            "held_back": self._held,
            "content_hash": self._release.content_hash,
        }

    def _relabeled(self) -> dict[str, Any] | None:
        """Spans by written code, and how many were left out or merged; None where labels are those of the project."""
        told = self._relabeler
        if told is None:
            return None
        return {"written": dict(told.written), "left_out": told.left_out.total(), "merged": told.merged}

    def _about(self) -> dict[str, Any]:
        """The head of the manifest. It has no text that a person typed, but for the short name of the policy."""
        release, policy = self._release, self._release.policy
        return {
            "release": release.number,
            "format": self._format,
            "notes": self._total,
            "held_back": self._held,
            "erased": release.erased_count,
            "policy": {"slug": policy.slug, "version": policy.version},
            "gold_version": release.gold_version.number if release.gold_version else None,
            "content_hash": release.content_hash,
            "text_hash": release.figures.get("text_hash", ""),
            "edition": edition_of(release),
            **({"voice": "kept"} if has_recordings(release) else {}),
        }

    def _out_notes(self) -> Iterator[tuple[OutNote, list[Loss]]]:
        """The notes in the order of their names, since the order of the rows tells which notes are of one patient."""
        ids = list(released_notes(self._release).order_by("name").values_list("pk", flat=True))
        columns = ["name", "text", "span_count"]
        if self._format not in WITHOUT_SPANS:
            columns.append("spans")
        self._progress(0, self._total)
        for at in range(0, len(ids), BATCH):
            rows = models.ReleasedNote.objects.filter(pk__in=ids[at : at + BATCH]).order_by("name")
            for name, text, count, *spans in rows.values_list(*columns):
                self._notes += 1
                whole = out_note(name, text, spans[0] if spans else [])
                note, losses = self._relabeler.note(whole) if self._relabeler else (whole, [])
                self._spans += len(list(note.spans)) if spans else count
                yield note, losses
            self._progress(min(at + BATCH, self._total), self._total)


# Withdraw a release, so that it is exported no more.


def withdraw(*, release: models.Release, actor: models.User | None) -> models.Release:
    """Withdraw a release in any state, stop its jobs and delete its stored exports. Withdrawing twice does no harm.

    The released texts, the hash and the certificate stay, so that files that were handed over can still be verified.
    """
    with transaction.atomic():
        models.Project.objects.select_for_update(no_key=True).get(pk=release.project_id)
        locked = models.Release.objects.select_for_update(of=("self",)).get(pk=release.pk)
        if locked.state != models.ReleaseState.WITHDRAWN:
            locked.state = models.ReleaseState.WITHDRAWN
            locked.save(update_fields=["state"])
            # Those of a higher feature, too, such as of records.
            exports = models.Job.objects.filter(
                Q(kind__endswith="_export", params__release_id=release.pk)
                | Q(kind="records", result__release=release.number),
                project=release.project_id,
            )
            files = [job.result["file_id"] for job in exports if "file_id" in job.result]
            stored = models.StoredFile.objects.filter(
                project=release.project_id, kind=models.StoredFileKind.RELEASE, pk__in=files
            )
            _deleted, by_type = stored.delete()
            for job in [*exports, *([locked.job] if locked.job else [])]:
                cancel(job)
            data: ReleaseWithdrawn = {"release": release.number, "files": by_type.get(models.StoredFile._meta.label, 0)}
            RELEASE_WITHDRAWN.record(actor=actor, project_id=release.project_id, data=data)
    release.refresh_from_db()
    return release
