from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models import Author, Document, GoldVersion, Project
from annotations.models.job import Job
from annotations.models.project import Created, Table
from annotations.scores.rules.judging import RULES, STANDARD, Rules
from models_runtime.backends.refining.todo import Action
from models_runtime.refining.rules.injection import Strategy


class Refinement(Created):
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

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["project", "key"], name="refinement_key_once")]


class RefinedItem(Table):
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


class InjectedRun(Created):
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

    class Meta:
        ordering = ["-id"]

    def possible_by_rule(self) -> dict[str, int]:
        """How many errors each rule could make, by the order of the rules. PostgreSQL keeps no order in JSON."""
        return {rule: self.possible.get(rule, 0) for rule in self.rules}


class InjectedError(Table):
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
        max_length=8, choices=[(Strategy.RULE, _("Rule")), (Strategy.SYSTEMIC, _("Systemic")), (Strategy.LOG, _("Log"))]
    )

    class Meta:
        ordering = ["run", "document", "start"]
        constraints = [models.UniqueConstraint(fields=["run", "document", "start"], name="injected_error_once")]


class SystemicError(Created):
    """A cluster of rejected suggestions that a person named and accepted; `systemic:<name>` injects errors like them.

    Its examples are places in notes, and are deleted with the notes. No text is stored.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="systemic_errors", db_index=False)
    name = models.CharField(max_length=30)
    label = models.CharField(max_length=100, help_text="The code of the label that the suggestions had.")

    class Meta:
        ordering = ["project", "name"]
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="systemic_error_once")]


class SystemicExample(Table):
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


class Judging(Created):
    """A judging of an author's annotation sets by language models against a gold version. `job` is the current job.

    `prompt` and `labels` ([code, placeholder]) are copied at the start. It stores offsets, verdicts and counts, never
    note text.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="judgings")
    author = models.ForeignKey(Author, models.CASCADE, related_name="judgings")
    gold_version = models.ForeignKey(GoldVersion, models.CASCADE, related_name="judgings")
    split = models.CharField(max_length=10, blank=True)
    most_notes = models.PositiveIntegerField(null=True, help_text="At most this many notes, drawn by hash; null: all.")
    rules = models.CharField(max_length=20, default=STANDARD.key, help_text="annotations.scores.rules.judging")
    unit = models.CharField(
        max_length=20, default=STANDARD.unit.value, help_text="What one entity is: a Unit of the rules."
    )
    temperature = models.FloatField(default=STANDARD.temperature)
    threshold = models.FloatField(help_text="An entity counts where more than this share of the judges agree.")
    language = models.CharField(max_length=8)
    prompt = models.TextField()
    prompt_version = models.CharField(max_length=20)
    labels = models.JSONField(default=list)
    frozen_at = models.DateTimeField(null=True, help_text="When the judged notes and entities were fixed.")
    job = models.OneToOneField(Job, models.CASCADE, null=True, related_name="judging")

    class Meta:
        ordering = ["-id"]

    @property
    def placeholder_of(self) -> dict[str, str]:
        return dict(self.labels)

    @property
    def counted_by(self) -> Rules:
        return RULES[self.rules]


class Judge(Table):
    """One model of a judging. `stopped`: why it gets no more requests, as a sentence."""

    judging = models.ForeignKey(Judging, models.CASCADE, related_name="judges")
    position = models.PositiveSmallIntegerField()
    server = models.CharField(max_length=40)
    model = models.CharField(max_length=200)
    stopped = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["judging", "position"], name="judge_once")]

    @property
    def name(self) -> str:
        return f"{self.server}/{self.model}"


class JudgedNote(Table):
    """A note of a judging. Deleting the note deletes this row and its verdicts.

    `entities` are [start, end, label, gold, [further occurrences]]; `hidden` are the spans replaced by placeholders in
    the de-identified text.
    `beside` holds the counts of the deterministic scores by label: correct, missed, spurious. It also says whether the
    note has no usable answer of the judged model, and the hash of the text that a model rewrote (RewrittenNote).
    """

    judging = models.ForeignKey(Judging, models.CASCADE, related_name="notes", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    entities = models.JSONField()
    hidden = models.JSONField()
    beside = models.JSONField()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["judging", "document"], name="judged_note_once")]


class Judgment(Table):
    """One judge's verdicts on one note: a verdict or null for each entity; null with an error if the judge failed."""

    judge = models.ForeignKey(Judge, models.CASCADE, related_name="judgments", db_index=False)
    note = models.ForeignKey(JudgedNote, models.CASCADE, related_name="judgments")
    verdicts = models.JSONField(null=True)
    error = models.CharField(max_length=300, blank=True, help_text="A sentence for people, without note text.")

    class Meta:
        # The table was named before the model was renamed.
        db_table = "models_runtime_judgement"
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["judge", "note"], name="judgment_once")]
