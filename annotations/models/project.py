from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

# What all tables share.


class Table(models.Model):
    """A row is shown by its kind and number, for example in the administration: never by text of a note."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.pk}"


class Created(Table):
    """A row knows who made it, and when. Rows that a command made are nobody's."""

    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True


class Role(models.TextChoices):
    """A member's role. The rights of each role are in annotations.core.access."""

    MANAGER = "manager", _("Manager")
    REVIEWER = "reviewer", _("Reviewer")
    ANNOTATOR = "annotator", _("Annotator")
    VIEWER = "viewer", _("Viewer")


class SecondReview(models.TextChoices):
    """Whether a reviewed note needs a second reviewer before it becomes gold."""

    OFF = "off", _("One reviewer is enough")
    OPEN = "open", _("A second reviewer checks the first one's decisions")
    BLIND = "blind", _("A second reviewer decides without seeing the first one's decisions")


class PlantedShare(models.IntegerChoices):
    """The percentage of notes under review that get a planted leak."""

    OFF = 0, _("In no note")
    FIVE = 5, _("In about 1 note of 20")
    TEN = 10, _("In about 1 note of 10")
    TWENTY = 20, _("In about 1 note of 5")


class Project(Created):
    """A project builds one gold standard: notes, a label set, members, guidelines."""

    class Distribution(models.TextChoices):
        EVERYONE = "everyone", _("Every annotator annotates every note")
        SOME = "some", _("Some annotators annotate each note")
        LIST = "list", _("I assign notes by hand")
        MANAGERS = "managers", _("Managers annotate, without other annotators")

    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    language = models.CharField(
        max_length=8, blank=True, help_text="The language of notes that are imported without one."
    )
    guidelines = models.TextField(blank=True, help_text="Markdown, shown to annotators beside the note.")
    guidelines_version = models.PositiveIntegerField(default=0)
    distribution = models.CharField(max_length=10, choices=Distribution, default=Distribution.EVERYONE)
    annotators_per_note = models.PositiveSmallIntegerField(
        default=2, help_text="Used when some annotators annotate each note."
    )
    notes_per_annotator = models.PositiveIntegerField(
        null=True, blank=True, help_text="The most notes that the rule assigns to one annotator."
    )
    idle_days = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="An annotator who is idle for this long loses their open notes."
    )
    seed_from = models.ForeignKey(
        "annotations.Author",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The run whose spans annotators begin from; without one they annotate blind.",
    )
    candidates = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Annotators see what the rules find, and are then not blind.",
    )
    unanimous_passes = models.BooleanField(default=False, help_text="Unanimous annotations need no adjudicator.")
    anonymous_adjudication = models.BooleanField(
        default=False, help_text="Adjudicators don't see the names of annotators."
    )
    show_outcome = models.BooleanField(default=True, help_text="Annotators see the adjudicated result of their notes.")
    second_review = models.CharField(max_length=5, choices=SecondReview, default=SecondReview.OFF)
    planted_share = models.PositiveSmallIntegerField(
        choices=PlantedShare, default=PlantedShare.OFF, help_text="Percent of the notes under review."
    )
    last_job_number = models.PositiveIntegerField(
        default=0, help_text="The number of the project's latest job. It never decreases, so no number is given twice."
    )
    erasures = models.PositiveIntegerField(
        default=0, help_text="How many times notes were erased in this project: a patient's, or a deleted note."
    )
    second_factor = models.BooleanField(
        default=False, help_text="Members see the project only in sessions with a second factor."
    )
    mcp_clients = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Managers' MCP clients, such as language models elsewhere, may read notes.",
    )
    runs_decide = models.BooleanField(
        default=False, db_default=False, help_text="Model runs decide about free text of records, without a reviewer."
    )
    archived_at = models.DateTimeField(null=True, help_text="Since then, nobody can change the project.")
    exported_at = models.DateTimeField(null=True, help_text="When notes were first exported, by a page or a command.")

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_alone(self) -> bool:
        """Whether the managers annotate, without other annotators."""
        return self.distribution == self.Distribution.MANAGERS

    @cached_property
    def imported_authors(self) -> frozenset[int]:
        """The ids of the authors of whom files or an archive brought annotation sets.

        An archive's annotators say so by their names, until they take over their work.
        """
        done = self.imports.filter(state="done").values_list("format", "written_as", "finished_at")
        rows = list(done)
        specs = {spec for _format, spec, _at in rows}
        archived = [at for format, _spec, at in rows if format == "archive" and at]
        return frozenset(
            pk
            for pk, kind, name, made in (self.authors.values_list("pk", "kind", "name", "created_at") if rows else ())
            if (kind if kind == "gold" else f"{kind}:{name}") in specs
            or (kind != "annotator" and any(made <= at for at in archived))
        )


class Membership(Table):
    """A person's role in one project. The row of a removed member is kept, because their work refers to them."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role)
    active = models.BooleanField(default=True)
    joined_at = models.DateTimeField(auto_now_add=True)
    removed_at = models.DateTimeField(null=True)
    provided_by = models.CharField(
        max_length=40, blank=True, help_text="The provider whose groups give this role; empty: a person gave it."
    )
    read_others_until = models.DateTimeField(
        null=True, help_text="When this person last lost a role that may read every note."
    )

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="one_membership_per_person")]

    def get_role_display(self) -> str:  # type: ignore[no-redef]  # the stubs have Django's own method
        """As Django's own method, which walks through all choices on every page."""
        return str(Role(self.role).label)


class LabelSet(Table):
    """The labels of one project, copied from a shipped label set and edited afterwards."""

    project = models.OneToOneField(Project, models.CASCADE, related_name="label_set")
    key = models.CharField(max_length=40, help_text="The shipped label set that it was copied from.")
    name = models.CharField(max_length=80)
    source = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return self.name


class Category(Table):
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


class Label(Table):
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
    identifier = models.CharField(
        max_length=20, blank=True, default="", db_default="", help_text="The identifier type of an own label, if given."
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


class ProjectKey(Table):
    """The secret key of a project, sealed with the key of the instance (annotations.core.sealing).

    What a release must keep secret is sealed with it or derived from it: the index of surrogates, the patient master,
    hashes, and the offsets of dates. It is deleted with its project, and all that it seals becomes unreadable.
    """

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="+")
    sealed = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)


class SigningKey(Table):
    """An Ed25519 key of the instance, with which it signs certificates. `sealed` holds the private key.

    The newest key signs. Older ones are kept, so that older certificates can be verified.
    """

    public = models.BinaryField(max_length=32)
    sealed = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]


class Deletion(Table):
    """A project that is being deleted: nobody sees it any more, and its rows are deleted one batch after another.

    A trigger lets the events of such a project be deleted (migration 0031): no foreign key. The last batch deletes this
    row too.
    """

    project_id = models.BigIntegerField(primary_key=True)

    class Meta:
        ordering = ["project_id"]


class LabelMapping(Created):
    """How exports write the labels of a project. `target` is the key of a shipped label set; empty: any codes."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="label_mappings", db_index=False)
    name = models.CharField(max_length=80)
    target = models.CharField(max_length=40, blank=True)

    class Meta:
        ordering = ["name", "id"]
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="label_mapping_name_once")]


class MappedLabel(Table):
    """The code that a mapping writes for a label; empty: the spans of the label are left out."""

    mapping = models.ForeignKey(LabelMapping, models.CASCADE, related_name="rows", db_index=False)
    label = models.ForeignKey(Label, models.CASCADE, related_name="+")
    code = models.CharField(max_length=60, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["mapping", "label"], name="mapped_label_once")]
