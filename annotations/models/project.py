from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Role(models.TextChoices):
    """What a member may do; the table of rights is in annotations.core.access."""

    MANAGER = "manager", _("Manager")
    REVIEWER = "reviewer", _("Reviewer")
    ANNOTATOR = "annotator", _("Annotator")
    VIEWER = "viewer", _("Viewer")


class SecondReview(models.TextChoices):
    """Whether a note whose proposals a person reviewed needs a second one before it is gold."""

    OFF = "off", _("One reviewer is enough")
    OPEN = "open", _("A second reviewer looks through the first one's decisions")
    BLIND = "blind", _("A second reviewer decides without seeing the first one's decisions")


class PlantedShare(models.IntegerChoices):
    """In how many of the notes under review a known identifier is left out of the proposals, in percent."""

    OFF = 0, _("In no note")
    FIVE = 5, _("In about 1 note of 20")
    TEN = 10, _("In about 1 note of 10")
    TWENTY = 20, _("In about 1 note of 5")


class Project(models.Model):
    """One gold standard in the making: notes, a label set, people, guidelines."""

    class Distribution(models.TextChoices):
        EVERYONE = "everyone", _("Every annotator reads every note")
        SOME = "some", _("Some annotators read each note")
        LIST = "list", _("I choose who reads what")

    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    language = models.CharField(max_length=8, blank=True, help_text="Default for notes that name none.")
    guidelines = models.TextField(blank=True, help_text="Markdown; annotators see it beside the note.")
    guidelines_version = models.PositiveIntegerField(default=0)
    distribution = models.CharField(max_length=10, choices=Distribution, default=Distribution.EVERYONE)
    readers_per_note = models.PositiveSmallIntegerField(
        default=2, help_text="Used when some annotators read each note."
    )
    seed_from = models.ForeignKey(
        "annotations.Author",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The run whose spans annotators begin from; none: they read blind.",
    )
    unanimous_passes = models.BooleanField(
        default=False, help_text="What all annotators of a note said needs no adjudicator."
    )
    anonymous_adjudication = models.BooleanField(default=False, help_text="Adjudicators don't see who said what.")
    show_outcome = models.BooleanField(
        default=True, help_text="Annotators see what became of their spans once a note is adjudicated."
    )
    second_review = models.CharField(max_length=5, choices=SecondReview, default=SecondReview.OFF)
    planted_share = models.PositiveSmallIntegerField(
        choices=PlantedShare, default=PlantedShare.OFF, help_text="Percent of the notes under review."
    )
    erasures = models.PositiveIntegerField(default=0, help_text="How many times a patient was erased here.")
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person's role in one project. A removed member keeps the row: their work names them."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role)
    active = models.BooleanField(default=True)
    joined_at = models.DateTimeField(auto_now_add=True)
    removed_at = models.DateTimeField(null=True)
    read_others_until = models.DateTimeField(
        null=True, help_text="When this person last gave up a role that reads every note."
    )

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="one_membership_per_person")]

    def __str__(self) -> str:
        return f"membership {self.pk}: {self.role}"
