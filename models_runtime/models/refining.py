from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models import Author, Document, GoldVersion, Project
from annotations.models.job import Job
from models_runtime.backends.refining.todo import Action


class Refinement(models.Model):
    """A refinement of a run's suggestions, or of injected errors. `author` has its results as annotation sets.

    `gold_version` is what the offline agent learned from, or has the examples of a language model: for a note, only the
    gold of other patients. An external client decides without a job. The counts grow with every answer of the model.
    """

    class Method(models.TextChoices):
        OFFLINE = "offline", _("Offline agent")
        SINGLE = "single", _("Language model, one question per annotation")
        AGENT = "agent", _("Agent with a language model")
        EXTERNAL = "external", _("Client over MCP")

    project = models.ForeignKey(Project, models.CASCADE, related_name="refinements")
    source = models.ForeignKey(Author, models.CASCADE, related_name="refinements")
    author = models.OneToOneField(Author, models.CASCADE, related_name="refinement")
    method = models.CharField(max_length=8, choices=Method)
    gold_version = models.ForeignKey(GoldVersion, models.SET_NULL, null=True, related_name="+")
    params = models.JSONField(default=dict)
    revision = models.CharField(max_length=120, blank=True, help_text="Everything that the decisions depend on.")
    server = models.CharField(max_length=40, blank=True, help_text="Name of the listed server. Empty without a model.")
    model = models.CharField(max_length=200, blank=True)
    language = models.CharField(max_length=8, blank=True, help_text="Language of the prompt.")
    prompt = models.TextField(blank=True, help_text="The system message, copied at the start.")
    prompt_version = models.CharField(max_length=20, blank=True)
    switched_off = models.JSONField(default=list, help_text="Names of the agent's components that are not used.")
    calls = models.PositiveIntegerField(default=0, help_text="Questions that the model answered.")
    seconds = models.FloatField(default=0, help_text="Time spent on answers, summed over simultaneous questions.")
    tokens_in = models.PositiveBigIntegerField(default=0)
    tokens_out = models.PositiveBigIntegerField(default=0)
    unreadable = models.PositiveIntegerField(default=0, help_text="Answers that could not be read.")
    not_applied = models.PositiveIntegerField(default=0, help_text="Updates that could not be applied.")
    job = models.OneToOneField(Job, models.CASCADE, null=True, related_name="refinement")
    key = models.CharField(  # noqa: DJ001, all refinements with a job have none
        max_length=120, null=True, help_text="Idempotency key of a refinement without a job. With one, its job has it."
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["project", "key"], name="refinement_key_once")]

    def __str__(self) -> str:
        return f"refinement {self.pk}"


class RefinedItem(models.Model):
    """One annotation of the source on the to-do list of a note: open, or with a decision.

    `number` counts the note's annotations from 1 in the order of the text, `step` its decisions. Labels are codes,
    offsets code points, end-exclusive. Deleting the note deletes its list.
    """

    refinement = models.ForeignKey(Refinement, models.CASCADE, related_name="items", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    number = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    label = models.CharField(max_length=100)
    action = models.CharField(
        max_length=6, blank=True, choices=[(one.value, one.value) for one in Action], help_text="Empty while open."
    )
    new_start = models.PositiveIntegerField(null=True)
    new_end = models.PositiveIntegerField(null=True)
    new_label = models.CharField(max_length=100, blank=True)
    reason = models.CharField(max_length=500, blank=True)
    step = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["refinement", "document", "number"]
        constraints = [models.UniqueConstraint(fields=["refinement", "document", "number"], name="refined_item_once")]
        indexes = [models.Index(fields=["refinement", "action"], name="refined_item_by_action")]

    def __str__(self) -> str:
        return f"refined item {self.pk}"
