"""Erase the published decisions of erased notes."""

from collections.abc import Collection
from typing import Any

from django.db.models import Q

from annotations.models import Project, PublishedDecision, PublishedState


def erase_published(*, project: Project, notes: Collection[int], **about: Any) -> None:
    """Delete the published decisions that belong, or may belong, to these notes: pairs, and those with a candidate.

    Those that were not compared yet are deleted too, since nobody knows whose they are.
    """
    own = Q(document__in=notes) | Q(candidates__document__in=notes) | Q(state=PublishedState.NEW)
    found = PublishedDecision.objects.filter(own, project=project).order_by().values("pk")
    PublishedDecision.objects.filter(pk__in=list(found.values_list("pk", flat=True))).delete()
