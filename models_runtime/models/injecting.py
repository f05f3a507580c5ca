from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models import Author, Document, GoldVersion, Project
from annotations.models.job import Job
from models_runtime.refining.rules.injection import Strategy


class InjectedRun(models.Model):
    """A frozen gold version with errors that we put there. `author` has its annotation sets, of the kind BENCH.

    `possible` counts all errors that each rule could make; `injected` is how many were drawn, null before the drawing.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="injected_runs")
    author = models.OneToOneField(Author, models.CASCADE, related_name="injected_run")
    gold_version = models.ForeignKey(GoldVersion, models.CASCADE, related_name="injected_runs")
    rules = models.JSONField(help_text="Rule names, in their order of priority (models_runtime.refining.rules.rules).")
    rate = models.FloatField(help_text="Errors per gold span, from 0.001 to 1.")
    seed = models.BigIntegerField()
    terms = models.JSONField(
        default=list, help_text="Strings of a CSV file, [string, label, count], until the errors are drawn."
    )
    possible = models.JSONField(default=dict)
    injected = models.PositiveIntegerField(null=True)
    job = models.OneToOneField(Job, models.CASCADE, null=True, related_name="injected_run")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"injected run {self.pk}"

    def possible_by_rule(self) -> dict[str, int]:
        """How many errors each rule could make, by the order of the rules. PostgreSQL keeps no order in JSON."""
        return {rule: self.possible.get(rule, 0) for rule in self.rules}


class InjectedError(models.Model):
    """One error of an injected run: a wrong label on a gold span, or a span that is not gold.

    Stored apart from the span, which must not tell anybody that it is an error. Offsets in code points, end-exclusive.
    """

    run = models.ForeignKey(InjectedRun, models.CASCADE, related_name="errors", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    label = models.CharField(max_length=100, help_text="The wrong label's code.")
    was = models.CharField(max_length=100, blank=True, help_text="The gold label's code; empty: no gold overlaps it.")
    rule = models.CharField(max_length=40)
    strategy = models.CharField(
        max_length=8,
        choices=[(Strategy.RULE, _("Rule")), (Strategy.SYSTEMIC, _("Systemic")), (Strategy.LOG, _("Log"))],
    )

    class Meta:
        ordering = ["run", "document", "start"]
        constraints = [models.UniqueConstraint(fields=["run", "document", "start"], name="injected_error_once")]

    def __str__(self) -> str:
        return f"injected error {self.pk}"


class SystemicError(models.Model):
    """A cluster of rejected suggestions that a person named and accepted; `systemic:<name>` injects errors like them.

    Its examples are places in notes, and are deleted with the notes. No text is stored.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="systemic_errors", db_index=False)
    name = models.CharField(max_length=30)
    label = models.CharField(max_length=100, help_text="The code of the label that the suggestions had.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["project", "name"]
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="systemic_error_once")]

    def __str__(self) -> str:
        return f"systemic error {self.pk}"


class SystemicExample(models.Model):
    """The place of a rejected suggestion. Offsets in code points, end-exclusive."""

    error = models.ForeignKey(SystemicError, models.CASCADE, related_name="examples", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()

    class Meta:
        ordering = ["error", "document", "start"]
        constraints = [
            models.UniqueConstraint(fields=["error", "document", "start", "end"], name="systemic_example_once")
        ]

    def __str__(self) -> str:
        return f"example {self.pk} of a systemic error"
