from typing import Any, NoReturn

from django.conf import settings
from django.db import models
from django.db.models import Q


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
