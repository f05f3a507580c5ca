from django.conf import settings
from django.db import models
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _


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


class Project(models.Model):
    """A project builds one gold standard: notes, a label set, members, guidelines."""

    class Distribution(models.TextChoices):
        EVERYONE = "everyone", _("Every annotator annotates every note")
        SOME = "some", _("Some annotators annotate each note")
        LIST = "list", _("I assign notes by hand")

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
    archived_at = models.DateTimeField(null=True, help_text="Since then, nobody can change the project.")
    exported_at = models.DateTimeField(null=True, help_text="When notes were first exported, by a page or a command.")
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name

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


class Membership(models.Model):
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

    def __str__(self) -> str:
        return f"membership {self.pk}: {self.role}"
