import uuid

from django.conf import settings
from django.db import models

from annotations.models.label import Label
from annotations.models.project import Project


class PersonalKey(models.Model):
    """The key that one person uses for a label instead of the project's; empty: none."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    label = models.ForeignKey(Label, models.CASCADE, related_name="personal_keys")
    key = models.CharField(max_length=1, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["user", "label"], name="one_key_per_person_and_label")]

    def __str__(self) -> str:
        return f"key {self.pk}"


class Search(models.Model):
    """What a person looked for in a project's notes. The page's address holds only the id: what is sought is a name."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="searches")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    text = models.CharField(max_length=200)
    options = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"search {self.pk}"
