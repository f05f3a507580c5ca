import uuid
from typing import Any, NoReturn

from django.conf import settings
from django.db import models
from django.db.models import Q


class Verb(models.TextChoices):
    """What happened. Kept out of the migration's choices, so that a new verb needs none."""

    PROJECT_CREATED = "project.created", "created the project"
    PROJECT_CHANGED = "project.changed", "changed the settings"
    GUIDELINES_CHANGED = "guidelines.changed", "changed the guidelines"
    MEMBER_ADDED = "member.added", "added a member"
    MEMBER_CHANGED = "member.changed", "changed a member's role"
    MEMBER_REMOVED = "member.removed", "removed a member"
    RESET_LINK_MADE = "member.reset_link", "made a password link"
    LABEL_CHANGED = "label.changed", "changed a label"
    LABEL_ADDED = "label.added", "added a label"
    LABEL_MERGED = "label.merged", "merged a label"
    NOTES_IMPORTED = "notes.imported", "imported notes"
    NOTES_ASSIGNED = "notes.assigned", "assigned notes"
    GUIDELINES_AMENDED = "guidelines.amended", "amended the guidelines"
    NOTE_READ = "note.read", "opened a note"
    NOTE_FETCHED = "note.fetched", "fetched a note ahead"
    NOTES_SEARCHED = "notes.searched", "searched the notes"
    NOTE_FLAGGED = "note.flagged", "flagged a note"
    NOTE_UNFLAGGED = "note.unflagged", "cleared a flag"
    COMMENT_ADDED = "comment.added", "commented"
    COMMENT_CHANGED = "comment.changed", "changed a comment"
    COMMENT_DELETED = "comment.deleted", "deleted a comment"
    COMMENT_RESOLVED = "comment.resolved", "settled a comment"
    KEYS_CHANGED = "keys.changed", "changed their own keys"
    PATIENTS_SET = "patients.set", "set patient ids"
    PATIENT_ERASED = "patient.erased", "erased a patient's notes"
    SPAN_CREATED = "span.created", "labelled a span"
    SPAN_CHANGED = "span.changed", "changed a span"
    SPAN_DELETED = "span.deleted", "deleted a span"
    SPANS_CREATED = "spans.created", "labelled several spans"
    SPANS_DELETED = "spans.deleted", "deleted several spans"
    SPAN_UNDO_SKIPPED = "span.undo_skipped", "left out an undo that no longer fits"
    SET_SUBMITTED = "set.submitted", "submitted a note"
    SET_REOPENED = "set.reopened", "reopened a note"
    SET_SEEDED = "set.seeded", "began from a model's spans"
    ADJUDICATED = "adjudication.decided", "adjudicated a place"
    ADJUDICATION_UNDONE = "adjudication.undone", "took an adjudication back"
    ADJUDICATION_CLOSED = "adjudication.closed", "closed a note's adjudication"
    ADJUDICATION_REOPENED = "adjudication.reopened", "reopened an adjudication"
    CAUSE_SET = "cause.set", "named a disagreement's cause"
    GOLD_MADE = "gold.made", "made a reading gold"
    GOLD_WITHDRAWN = "gold.withdrawn", "took gold back"
    GOLD_FROZEN = "gold.frozen", "froze a gold version"
    GOLD_SPLIT = "gold.split", "split a gold version"
    NOTES_EXPORTED = "notes.exported", "exported notes"
    RUN_STARTED = "run.started", "started a model run"
    CALIBRATED = "backend.calibrated", "calibrated a backend"
    CALIBRATION_WITHDRAWN = "calibration.withdrawn", "took a calibration out of use"
    JUDGING_STARTED = "judging.started", "had models judge de-identified notes"
    MODEL_TRAINED = "model.trained", "had a model trained"
    MODEL_UPLOADED = "model.uploaded", "uploaded a model"
    MODEL_RENAMED = "model.renamed", "renamed a model"
    MODEL_RETIRED = "model.retired", "retired a model"
    REVIEW_DECIDED = "review.decided", "decided on a proposal"
    REVIEW_UNDONE = "review.undone", "took a decision back"
    REVIEW_BULK_DONE = "review.bulk_done", "decided on many proposals"
    REVIEW_BULK_UNDONE = "review.bulk_undone", "took a bulk act back"
    REVIEW_REOPENED = "review.reopened", "reopened a note's review"
    REVIEW_HANDED = "review.handed_on", "reviewed a note as the first of two"
    REVIEW_TAKEN_BACK = "review.taken_back", "went on with a note that was handed on"
    REVIEW_COMPARED = "review.compared", "reviewed a note as the second of two"
    REVIEW_REVEALED = "review.revealed", "was shown what had been left out"
    REVIEW_CLOSED = "review.closed", "closed a note's review"
    FILE_DOWNLOADED = "file.downloaded", "downloaded a file"


class AppendOnly(models.QuerySet["Event"]):
    def update(self, **kwargs: Any) -> NoReturn:
        raise TypeError("events are append-only")

    def delete(self) -> NoReturn:
        raise TypeError("events are append-only")


class Event(models.Model):
    """One thing that somebody did or read. Rows are only ever added (a database trigger refuses changes).

    Ids rather than foreign keys: an event outlives what it speaks of. `data` holds offsets, labels and counts,
    never note text. Undo is read from here: `change_id` comes from the client and makes a replay harmless,
    `reverts` names the event that an undo or redo took back.
    """

    project_id = models.BigIntegerField(null=True)
    document_id = models.BigIntegerField(null=True)
    annotation_set_id = models.BigIntegerField(null=True)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", db_index=False)
    verb = models.CharField(max_length=24)
    data = models.JSONField(default=dict)
    change_id = models.UUIDField(null=True)
    reverts = models.BigIntegerField(null=True)
    at = models.DateTimeField(auto_now_add=True)

    objects = AppendOnly.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["annotation_set_id", "change_id"], condition=Q(change_id__isnull=False), name="change_once"
            )
        ]
        indexes = [
            models.Index(fields=["project_id", "id"], name="event_by_project"),
            models.Index(fields=["document_id", "id"], name="event_by_document"),
            models.Index(fields=["annotation_set_id", "id"], name="event_by_set"),
            models.Index(fields=["actor", "id"], name="event_by_actor"),
        ]

    def __str__(self) -> str:
        return f"event {self.pk}: {self.verb}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("events are append-only")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("events are append-only")


def new_change_id() -> uuid.UUID:
    return uuid.uuid4()
