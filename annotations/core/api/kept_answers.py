"""How long answers to requests with an idempotency key are kept, and what an erasure leaves of them."""

from datetime import timedelta
from typing import Final

from django.utils import timezone

from annotations.models import ApiAnswer, Project

KEPT: Final = timedelta(hours=24)


def forget_answers() -> None:
    """Delete answers that were kept long enough."""
    ApiAnswer.objects.filter(created_at__lt=timezone.now() - KEPT).delete()


def empty_answers(*, project: Project, **_about: object) -> None:
    """Delete what answers in a project and their requests say, since they may name notes that are erased."""
    ApiAnswer.objects.filter(project=project).update(sealed=None, fingerprint="")
