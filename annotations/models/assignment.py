from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.document import Document
from annotations.models.project import Project


class AssignmentState(models.TextChoices):
    OPEN = "open", _("To do")
    DONE = "done", _("Done")
    RELEASED = "released", _("Released")


class Assignment(models.Model):
    """A note assigned to an annotator. A released row keeps the history; the work stays in the annotation set."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="assignments", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="assignments", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="assignments", db_index=False)
    state = models.CharField(max_length=8, choices=AssignmentState, default=AssignmentState.OPEN)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["document", "user"], name="assigned_once")]
        indexes = [
            models.Index(fields=["project", "user", "state", "document"], name="assignment_work_list"),
            # Deletion checks and joins by person need an index that begins with the person.
            models.Index(fields=["user"], name="assignment_by_user"),
        ]

    def __str__(self) -> str:
        return f"assignment {self.pk}"
