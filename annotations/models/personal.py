import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.label import Label
from annotations.models.project import Project


class PersonalKey(models.Model):
    """A person's own keyboard shortcut for a label, instead of the project's; empty: no shortcut."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    label = models.ForeignKey(Label, models.CASCADE, related_name="personal_keys")
    key = models.CharField(max_length=1, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["user", "label"], name="one_key_per_person_and_label")]

    def __str__(self) -> str:
        return f"key {self.pk}"


class SearchKind(models.TextChoices):
    TEXT = "text", _("In the text of the notes")
    NAME = "name", _("In the names of the notes")


class Search(models.Model):
    """A person's search in a project's notes or in their names.

    The URL of the page holds only the id, because `text` may be a patient's name. Erasing a patient deletes it here.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="searches")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=4, choices=SearchKind, default=SearchKind.TEXT)
    text = models.CharField(max_length=255)
    options = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"search {self.pk}"
