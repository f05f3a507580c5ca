"""Figures that are kept under a hash of what they were made of: one place that reads, writes and forgets them."""

import hashlib
import json
from typing import Any

from annotations.models import Figures, Project

KEPT = 40


def key_of(*made_of: Any) -> str:
    """A hash of everything that a figure depends on (JSON values)."""
    return hashlib.sha256(json.dumps(made_of, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def kept(project: Project, kind: str, key: str) -> Any:
    """What was kept, or None."""
    return Figures.objects.filter(project=project, kind=kind, key=key).values_list("value", flat=True).first()


def keep(project: Project, kind: str, key: str, value: Any) -> None:
    """Keep a value; the oldest of the kind beyond KEPT are forgotten."""
    Figures.objects.update_or_create(project=project, kind=kind, key=key, defaults={"value": value})
    same = Figures.objects.filter(project=project, kind=kind).order_by("-pk")
    Figures.objects.filter(pk__in=list(same.values_list("pk", flat=True)[KEPT : KEPT + 50])).delete()


def forget(project: Project, kind: str, key: str) -> None:
    Figures.objects.filter(project=project, kind=kind, key=key).delete()
