from typing import Any, NoReturn

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Verb(models.TextChoices):
    """What happened. Not the choices of a field, so that a new verb needs no migration."""

    PROJECT_CREATED = "project.created", _("created the project")
    PROJECT_CHANGED = "project.changed", _("changed the settings")
    GUIDELINES_CHANGED = "guidelines.changed", _("changed the guidelines")
    MEMBER_ADDED = "member.added", _("added a member")
    MEMBER_CHANGED = "member.changed", _("changed a member's role")
    MEMBER_REMOVED = "member.removed", _("removed a member")
    RESET_LINK_MADE = "member.reset_link", _("created a password link")
    LABEL_CHANGED = "label.changed", _("changed a label")
    LABEL_ADDED = "label.added", _("added a label")
    LABEL_MERGED = "label.merged", _("merged a label")
    NOTES_IMPORTED = "notes.imported", _("imported notes")
    NOTES_ASSIGNED = "notes.assigned", _("assigned notes")
    GUIDELINES_AMENDED = "guidelines.amended", _("amended the guidelines")
    NOTE_READ = "note.read", _("opened a note")
    NOTE_FETCHED = "note.fetched", _("loaded a note in advance")
    NOTES_SEARCHED = "notes.searched", _("searched the notes")
    NOTE_FLAGGED = "note.flagged", _("flagged a note")
    NOTE_UNFLAGGED = "note.unflagged", _("cleared a flag")
    COMMENT_ADDED = "comment.added", _("commented")
    COMMENT_CHANGED = "comment.changed", _("changed a comment")
    COMMENT_DELETED = "comment.deleted", _("deleted a comment")
    COMMENT_RESOLVED = "comment.resolved", _("resolved a comment")
    KEYS_CHANGED = "keys.changed", _("changed their own keyboard shortcuts")
    PATIENTS_SET = "patients.set", _("set patient ids")
    PATIENT_ERASED = "patient.erased", _("erased a patient's notes")
    SPAN_CREATED = "span.created", _("labeled a span")
    SPAN_CHANGED = "span.changed", _("changed a span")
    SPAN_DELETED = "span.deleted", _("deleted a span")
    SPANS_CREATED = "spans.created", _("labeled several spans")
    SPANS_DELETED = "spans.deleted", _("deleted several spans")
    SPAN_UNDO_SKIPPED = "span.undo_skipped", _("skipped an undo that no longer applies")
    SET_SUBMITTED = "set.submitted", _("submitted a note")
    SET_REOPENED = "set.reopened", _("reopened a note")
    SET_SEEDED = "set.seeded", _("began from a model's spans")
    ADJUDICATED = "adjudication.decided", _("adjudicated a location")
    ADJUDICATION_UNDONE = "adjudication.undone", _("undid an adjudication")
    ADJUDICATION_CLOSED = "adjudication.closed", _("finished a note's adjudication")
    ADJUDICATION_REOPENED = "adjudication.reopened", _("reopened an adjudication")
    CAUSE_SET = "cause.set", _("set a disagreement's cause")
    GOLD_MADE = "gold.made", _("made an annotation set gold")
    GOLD_WITHDRAWN = "gold.withdrawn", _("withdrew gold")
    GOLD_FROZEN = "gold.frozen", _("froze a gold version")
    GOLD_SPLIT = "gold.split", _("split a gold version")
    NOTES_EXPORTED = "notes.exported", _("exported notes")
    RUN_STARTED = "run.started", _("started a model run")
    CALIBRATED = "backend.calibrated", _("calibrated a backend")
    CALIBRATION_WITHDRAWN = "calibration.withdrawn", _("withdrew a calibration")
    JUDGING_STARTED = "judging.started", _("started a judging of de-identified notes")
    MODEL_TRAINED = "model.trained", _("trained a model")
    MODEL_UPLOADED = "model.uploaded", _("uploaded a model")
    MODEL_RENAMED = "model.renamed", _("renamed a model")
    MODEL_RETIRED = "model.retired", _("retired a model")
    REVIEW_DECIDED = "review.decided", _("decided on a suggestion")
    REVIEW_UNDONE = "review.undone", _("undid a decision")
    REVIEW_BULK_DONE = "review.bulk_done", _("decided on many suggestions")
    REVIEW_BULK_UNDONE = "review.bulk_undone", _("undid a bulk act")
    REVIEW_REOPENED = "review.reopened", _("reopened a note's review")
    REVIEW_HANDED = "review.handed_on", _("finished the first of two reviews")
    REVIEW_TAKEN_BACK = "review.taken_back", _("continued a review that was waiting for a second reviewer")
    REVIEW_COMPARED = "review.compared", _("finished the second of two reviews")
    REVIEW_REVEALED = "review.revealed", _("was shown a planted leak")
    REVIEW_CLOSED = "review.closed", _("finished a note's review")
    FILE_DOWNLOADED = "file.downloaded", _("downloaded a file")


class AppendOnly(models.QuerySet["Event"]):
    def update(self, **kwargs: Any) -> NoReturn:
        raise TypeError("Events are append-only.")

    def delete(self) -> NoReturn:
        raise TypeError("Events are append-only.")


class Event(models.Model):
    """One act or read of a person. Rows are append-only (a database trigger refuses changes).

    Events hold ids, not foreign keys, because they are kept after the rows they refer to are deleted. `data` holds ids,
    offsets, labels and counts: never note text or text that a person typed, since nothing can be erased here. Undo
    uses the events: `change_id` comes from the client and makes a replay harmless; `reverts` is the event that an undo
    or redo reverts.
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
            raise TypeError("Events are append-only.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("Events are append-only.")
