from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotations.models.review import Review


class HandoverState(models.TextChoices):
    WAITING = "waiting", _("Waiting for the second reviewer")
    RESOLVING = "resolving", _("The second reviewer resolves differences")
    DONE = "done", _("Finished by both reviewers")
    UNDONE = "undone", _("Continued by the first reviewer")


class Handover(models.Model):
    """A review passed from the first reviewer, who has finished it, to a second one (the two-person rule).

    `outcome` holds the first reviewer's decisions: `{suggestions: {id: [start, end, label], null if rejected}, others:
    [bounds]}`. `kept` holds what a blind second reviewer must not see; it is restored if the first reviewer continues.
    """

    ACTIVE = (HandoverState.WAITING, HandoverState.RESOLVING)

    review = models.ForeignKey(Review, models.CASCADE, related_name="handovers", db_index=False)
    state = models.CharField(max_length=9, choices=HandoverState, default=HandoverState.WAITING)
    blind = models.BooleanField(
        help_text="The second reviewer doesn't see the first one's decisions until both have finished."
    )
    first = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+", db_index=False)
    first_at = models.DateTimeField(auto_now_add=True)
    people = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="+", help_text="Everybody who took part in the first review."
    )
    outcome = models.JSONField()
    kept = models.JSONField(null=True)
    second = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", db_index=False)
    second_at = models.DateTimeField(null=True)
    # Counts from the second review before differences were resolved: items compared, and items decided equally.
    compared = models.PositiveIntegerField(default=0)
    equal = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["review"], condition=Q(state__in=["waiting", "resolving"]), name="handed_over_once"
            )
        ]
        indexes = [models.Index(fields=["review", "state"], name="handover_by_review")]

    def __str__(self) -> str:
        return f"handover {self.pk}: {self.state}"
