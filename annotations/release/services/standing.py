"""Standing releases: a series of releases to which notes are added as they come, with a certificate for each part.

Every part is a release of its own, so that the leak gate, decisions, audits, signing and erasing work as for any other.
While a part is open, notes are added to it. Surrogates, shifted dates and neutral names depend on the project's key and
index, so they are the same in all parts; the leak gate also looks for what is labeled in notes of earlier parts.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from django.db import transaction
from django.db.models import F, Q
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.services import ServiceError, keep_labels, silent
from annotations.exchange.services.writing import Content
from annotations.jobs.services.queue import LIVE, continue_with_more, key_of
from annotations.release.events import RELEASE_EXTENDED
from annotations.release.services.batches import NOTES, extras_of, mark_of, preparer_of, rows_and_siblings
from annotations.release.services.certificates.signing import certify
from annotations.release.services.exporting import ReleaseExport
from annotations.release.services.policies import read_policy
from annotations.release.services.preparing import Preparer
from annotations.release.services.settling import dropped, erase_from_releases
from annotations.release.services.sources import source_of
from annotations.release.services.starting import enqueue_job, start_release

FORMAT: Final = "text"
State = models.ReleasedNoteState


def start_part(
    *, project: models.Project, set_spec: str, policy: models.ReleasePolicy, notes: Collection[int],
    first: models.Release | None, actor: models.User | None,
) -> models.Release:  # fmt: skip
    """Start the next part of a standing release with these notes. `first` is its first part; None: this one is.

    Raises ServiceError as `start_release`.
    """
    with transaction.atomic():
        release = start_release(project=project, set_spec=set_spec, policy=policy, actor=actor, only=notes)
        if first is not None:
            release.continues = first
            release.save(update_fields=["continues"])
    return release


def add_notes(*, release: models.Release, notes: Collection[int], actor: models.User | None) -> int:
    """Add notes to a prepared part, and start its job again. Return how many were added.

    The patients' other notes in this part are prepared again with them, since the gate may now find more in those.
    Raises ServiceError `state` unless the part is prepared, its job has ended, and it is not signed.
    """
    with transaction.atomic():
        keep_labels(release.project_id)
        models.Project.objects.select_for_update(no_key=True).get(pk=release.project_id)
        rows = models.Release.objects.select_for_update(of=("self",)).select_related("project", "policy", "job")
        locked = rows.get(pk=release.pk)
        # A job that is about to end no longer looks for notes.
        if locked.state != models.ReleaseState.PREPARED or (locked.job and locked.job.state in LIVE):
            message = _("Notes can be added to a release that is prepared and not signed. This one is: %(state)s.")
            raise ServiceError(message % {"state": locked.get_state_display()}, code="state")
        there = models.ReleasedNote.objects.filter(release=locked)
        new = models.Document.objects.filter(project=locked.project_id, pk__in=list(notes)).order_by("patient_id", "pk")
        new = new.exclude(pk__in=there.filter(document__in=list(notes)).values("document"))
        found = list(new.values_list("pk", "name", "patient_id"))
        if not found:
            return 0
        patients = {patient for _pk, _name, patient in found if patient}
        there.filter(document__patient_id__in=patients).update(state=State.PENDING)
        models.ReleasedNote.objects.bulk_create(
            [models.ReleasedNote(release=locked, document_id=pk, name=name) for pk, name, _patient in found],
            batch_size=500,
        )
        locked.state, locked.note_count = models.ReleaseState.PREPARING, locked.note_count + len(found)
        locked.content_hash, locked.revision = "", locked.revision + 1
        locked.figures |= {"surrogates": dropped(locked.figures.get("surrogates") or {})}
        if locked.job is None:
            locked.job = enqueue_job(locked, key_of("release", f"{locked.pk}-more"), actor, locked.note_count)
        else:
            continue_with_more(locked.job)
        locked.save(update_fields=["state", "note_count", "content_hash", "revision", "figures", "job"])
        RELEASE_EXTENDED.record(
            actor=actor, project_id=locked.project_id, data={"release": locked.number, "notes": len(found)}
        )
    return len(found)


def take_out(*, release: models.Release, only: Collection[int] | None = None) -> list[int]:
    """Take the notes with open findings, or `only` these, out of a prepared part, so that a later part can have them.

    Returns their ids.
    """
    with transaction.atomic():
        locked = models.Release.objects.select_for_update(of=("self",)).get(pk=release.pk)
        rows = models.ReleasedNote.objects.filter(release=locked)
        rows = rows.filter(state=State.HELD) if only is None else rows.filter(document__in=only)
        notes = list(rows.values_list("document_id", flat=True))
        if locked.state == models.ReleaseState.PREPARED and notes:
            rows.delete()
            models.Release.objects.filter(pk=locked.pk).update(
                note_count=F("note_count") - len(notes), content_hash="", revision=F("revision") + 1
            )
            return notes
    return []


def exposed(*, first: models.Release, spec: str, notes: Collection[int]) -> list[models.ReleasedNote]:
    """The notes of signed parts in which the leak gate finds what new notes of their patients are labeled with.

    `first`: the first part; `spec`: the annotations of the new notes. What somebody has answered is no finding here.
    """
    new = list(models.Document.objects.filter(project=first.project_id, pk__in=list(notes)).exclude(patient_id=""))
    signed = models.ReleasedNote.objects.filter(
        Q(release=first) | Q(release__continues=first), release__state=models.ReleaseState.SIGNED, state=State.DONE,
        document__patient_id__in={note.patient_id for note in new},
    )  # fmt: skip
    found: list[models.ReleasedNote] = []
    for part in models.Release.objects.filter(pk__in=signed.values("release")).select_related(
        "project__label_set", "policy"
    ):
        preparer = preparer_of(part)
        source = source_of(part.project, spec)
        labeled = Preparer(part.project, read_policy(part.policy.rules), source).originals([(one, ()) for one in new])
        ids = list(signed.filter(release=part).order_by("pk").values_list("pk", flat=True))
        for at in range(0, len(ids), NOTES):
            rows, siblings = rows_and_siblings(part, ids[at : at + NOTES])
            own = preparer.originals([(row.document, extras_of(row)) for row in [*rows, *siblings]])
            prepared = preparer.prepare(own[: len(rows)], [*own[len(rows) :], *labeled])
            answers = models.LeakFinding.objects.filter(note__in=rows).exclude(decision="").select_related("note")
            answered = {(one.note.document_id, mark_of(one)) for one in answers}
            leaking = {one.pk for one in prepared if any((one.pk, mark_of(each)) not in answered for each in one.found)}
            found += [row for row in rows if row.document_id in leaking]
    return found


def take_leaking(rows: Sequence[models.ReleasedNote]) -> None:
    """Take notes out of signed parts, whose next certificates then count them as erased, in the caller's transaction.

    Their rows, findings and audit's marks go, so that a later part can have the notes.
    """
    for part in models.Release.objects.filter(pk__in={row.release_id for row in rows}).select_related("project"):
        notes = [row.document_id for row in rows if row.release_id == part.pk]
        erase_from_releases(project=part.project, notes=notes, patient="", only=part)
        models.ReleasedNote.objects.filter(release=part, document__in=notes).delete()


def certificate_due(release: models.Release) -> bool:
    """Whether a part has no certificate, or notes were erased since its newest one."""
    newest = release.certificates.order_by("-number").first()
    return newest is None or release.erasures.filter(at__gte=newest.signed_at).exists()


def publish_part(
    *, release: models.Release, actor: models.User | None, store: Callable[[int, Mapping[str, bytes]], object]
) -> None:
    """Sign a part if that is due, and give `store` the certificate's number and the files beside those of the notes.

    These are the certificate as JSON and PDF, and the signed list of all files. `store` is called in the transaction
    that checks that no note was erased meanwhile. Raises ServiceError as `sign`, and ErasedMeanwhile.
    """
    if certificate_due(release):
        certify(release, actor)
        release.refresh_from_db()
    newest: models.Certificate = release.certificates.order_by("-number")[0]
    beside = {"certificate.json": bytes(newest.json), "certificate.pdf": bytes(newest.pdf)}
    export = ReleaseExport(release, FORMAT, True, silent, None, beside)
    notes = {f"{name}.txt" for name in _names(release)}
    files = {name: _content(content) for name, content in export.files() if name not in notes}
    export.finish(lambda: store(newest.number, files), actor)


def _names(release: models.Release) -> Sequence[str]:
    return list(models.ReleasedNote.objects.filter(release=release, state=State.DONE).values_list("name", flat=True))


def _content(content: Content) -> bytes:
    if isinstance(content, bytes):
        return content
    content.seek(0)
    return content.read()
