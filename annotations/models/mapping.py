from django.conf import settings
from django.db import models

from annotations.models.label import Label
from annotations.models.project import Project


class LabelMapping(models.Model):
    """How exports write the labels of a project. `target` is the key of a shipped label set; empty: any codes."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="label_mappings", db_index=False)
    name = models.CharField(max_length=80)
    target = models.CharField(max_length=40, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "id"]
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="label_mapping_name_once")]

    def __str__(self) -> str:
        return f"label mapping {self.pk}"


class MappedLabel(models.Model):
    """The code that a mapping writes for a label; empty: the spans of the label are left out."""

    mapping = models.ForeignKey(LabelMapping, models.CASCADE, related_name="rows", db_index=False)
    label = models.ForeignKey(Label, models.CASCADE, related_name="+")
    code = models.CharField(max_length=60, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["mapping", "label"], name="mapped_label_once")]

    def __str__(self) -> str:
        return f"label {self.label_id} in label mapping {self.mapping_id}"
