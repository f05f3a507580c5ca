from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotations.models.review import Review


class Handover(models.Model):
    """A note's review between two people: the first has closed it, a second one reviews it again (the two-person rule).

    `outcome` is what the first said: `{proposals: {id: [start, end, label] or null where rejected}, others: [places]}`.
    `kept` is what a blind second must not see, to be put back where the first takes the note back.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("Waits for the second reviewer")
        SETTLING = "settling", _("The two differ; the second settles it")
        DONE = "done", _("Closed by both")
        BACK = "back", _("Taken back by the first")

    ACTIVE = (State.WAITING, State.SETTLING)

    review = models.ForeignKey(Review, models.CASCADE, related_name="handovers", db_index=False)
    state = models.CharField(max_length=8, choices=State, default=State.WAITING)
    blind = models.BooleanField(help_text="The second sees nothing of what the first decided, until both have.")
    first = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+", db_index=False)
    first_at = models.DateTimeField(auto_now_add=True)
    people = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="+", help_text="Whoever had a hand in the first review."
    )
    outcome = models.JSONField()
    kept = models.JSONField(null=True)
    second = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", db_index=False)
    second_at = models.DateTimeField(null=True)
    # Of the second's own review, before anything was settled: proposals and other spans, and how many are alike.
    compared = models.PositiveIntegerField(default=0)
    alike = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["review"], condition=Q(state__in=["waiting", "settling"]), name="handed_over_once"
            )
        ]
        indexes = [models.Index(fields=["review", "state"], name="handover_by_review")]

    def __str__(self) -> str:
        return f"handover {self.pk}: {self.state}"
