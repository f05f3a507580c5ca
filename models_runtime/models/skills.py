from django.conf import settings
from django.db import models

from annotations.models import Project


class ReviewSkill(models.Model):
    """A version of a project's own text of a skill: guidance of a refining agent for a group of labels.

    The newest version of a name counts. It replaces the shipped skill of the name; an empty text switches it off.
    `labels` are codes, or `["*"]` for every label. Rows are never changed, so that all versions can be read.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="skills", db_index=False)
    name = models.CharField(max_length=40)
    version = models.PositiveIntegerField()
    labels = models.JSONField(default=list)
    text = models.TextField(blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["project", "name", "-version"]
        constraints = [models.UniqueConstraint(fields=["project", "name", "version"], name="review_skill_version_once")]

    def __str__(self) -> str:
        return f"skill {self.pk}"
