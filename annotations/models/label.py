from django.db import models
from django.db.models import Q

from annotations.models.project import Project


class LabelSet(models.Model):
    """The labels of one project, copied from a shipped label set and edited afterwards."""

    project = models.OneToOneField(Project, models.CASCADE, related_name="label_set")
    key = models.CharField(max_length=40, help_text="The shipped label set that it was copied from.")
    name = models.CharField(max_length=80)
    source = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return self.name


class Category(models.Model):
    """A group of labels, which share its hue and underline style."""

    label_set = models.ForeignKey(LabelSet, models.CASCADE, related_name="categories")
    code = models.CharField(max_length=60)
    name = models.CharField(max_length=80)
    hue = models.PositiveSmallIntegerField(help_text="0 to 11, a step on the OKLCH color wheel.")
    position = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ["position", "id"]
        constraints = [models.UniqueConstraint(fields=["label_set", "code"], name="category_code_once")]

    def __str__(self) -> str:
        return self.name


class Label(models.Model):
    """A type of personal data. `code` is ASCII (brat's grammar for types); people see `name`."""

    label_set = models.ForeignKey(LabelSet, models.CASCADE, related_name="labels")
    category = models.ForeignKey(Category, models.PROTECT, related_name="labels")
    code = models.CharField(max_length=60)
    name = models.CharField(max_length=80)
    hotkey = models.CharField(max_length=1, blank=True)
    description = models.TextField(blank=True)
    placeholder = models.CharField(max_length=60, help_text="Replaces the span in redacted text.")
    position = models.PositiveSmallIntegerField()
    attributes = models.JSONField(
        default=list,
        blank=True,
        help_text="What its spans may have: a list of {name, values}; without values, boolean.",
    )
    merged_into = models.ForeignKey("self", models.CASCADE, null=True, related_name="merged_from")

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            models.UniqueConstraint(fields=["label_set", "code"], name="label_code_once"),
            models.UniqueConstraint(
                fields=["label_set", "name"], condition=Q(merged_into__isnull=True), name="label_name_once"
            ),
            models.UniqueConstraint(
                fields=["label_set", "hotkey"],
                condition=Q(merged_into__isnull=True) & ~Q(hotkey=""),
                name="label_hotkey_once",
            ),
        ]

    def __str__(self) -> str:
        return self.name
