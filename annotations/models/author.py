from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotations.models.project import Project


class AuthorKind(models.TextChoices):
    ANNOTATOR = "annotator", _("Annotator")
    RUN = "run", _("Model run")
    REFINED = "refined", _("Refined run")
    ADJUDICATED = "adjudicated", _("Adjudicated")
    GOLD = "gold", _("Gold")
    BENCH = "bench", _("Injected errors")


class Author(models.Model):
    """The author of annotation sets in a project: a person, a model run, a refiner, an adjudicator or gold.

    Annotation sets of the kind BENCH were made to measure who finds errors. They are never reviewed, made gold, learned
    from or released.
    """

    # Kinds whose annotation sets no person has checked.
    MODELS = (AuthorKind.RUN, AuthorKind.REFINED)

    project = models.ForeignKey(Project, models.CASCADE, related_name="authors", db_index=False)
    kind = models.CharField(max_length=12, choices=AuthorKind)
    name = models.CharField(max_length=150)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="authors")
    merged_from = models.JSONField(null=True, help_text="For merged suggestions: the author ids of the merged runs.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["kind", "name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "kind", "name"], name="author_once"),
            models.UniqueConstraint(
                fields=["project", "user"],
                condition=Q(kind="annotator", user__isnull=False),
                name="one_author_per_person",
            ),
        ]

    def __str__(self) -> str:
        return self.name


# Kinds whose annotation sets can't become gold in bulk: gold itself, and sets that no person has checked.
NOT_IN_BULK = (AuthorKind.GOLD, AuthorKind.BENCH, *Author.MODELS)
