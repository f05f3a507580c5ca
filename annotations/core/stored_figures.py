"""A cache of computed figures in the database, keyed by a hash of their inputs."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Count, F, Max, QuerySet, Sum
from django.db.models.functions import Mod

from annotations.models import AnnotationSet, Figures, Project

KEPT = 40
Value = TypeVar("Value")


@dataclass(frozen=True)
class FigureKind(Generic[Value]):
    """A kind of cached figure and the type of its JSON value. `keep` accepts only this type for the kind."""

    name: str


def key_of(*made_of: object) -> str:
    """Return a hash of everything that a figure depends on (JSON values)."""
    return hashlib.sha256(json.dumps(made_of, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


# A key in two parts: what was asked for, with counts that are quick to get, and the state of all that it was made of.
_ASKED = 16


def joined_key(asked: str, state: str) -> str:
    """Return a key that begins with the hash of what was asked for."""
    return asked[:_ASKED] + state[: 64 - _ASKED]


def maybe_cached(project: Project, kind: FigureKind[Any], asked: str) -> bool:
    """Whether a key that was made by `joined_key` with `asked` is stored, so that the state is worth reading."""
    return Figures.objects.filter(project=project, kind=kind.name, key__startswith=asked[:_ASKED]).exists()


# The products are taken modulo this prime, since SQLite refuses sums beyond 64 bits.
_PRIME = 1_000_003


def state_of_sets(sets: QuerySet[AnnotationSet, Any]) -> list[int]:
    """Return numbers that change when one of these annotation sets does, without reading their spans.

    A set's version rises with every change of its spans, merged labels included, and a set that is made again has
    another id.
    """
    pk, version = F("pk"), F("version")
    found = sets.order_by().aggregate(
        count=Count("pk"), last=Max("pk"), ids=Sum("pk"), squares=Sum(Mod(pk * pk, _PRIME)), versions=Sum("version"),
        products=Sum(Mod(pk * version, _PRIME)),
    )  # fmt: skip
    return [int(number or 0) for number in found.values()]


def cached_value(project: Project, kind: FigureKind[Value], key: str) -> Value | None:
    """Return the cached value, or None."""
    rows = Figures.objects.filter(project=project, kind=kind.name, key=key)
    value: Value | None = rows.values_list("value", flat=True).first()
    return value


def cached_values(project: Project, kind: FigureKind[Value], keys: Iterable[str]) -> dict[str, Value]:
    """Return the cached values by key; missing ones are left out."""
    rows = Figures.objects.filter(project=project, kind=kind.name, key__in=list(keys))
    return dict(rows.values_list("key", "value"))


def cache_value(project: Project, kind: FigureKind[Value], key: str, value: Value) -> None:
    """Cache a value, and delete the oldest values of its kind beyond KEPT."""
    Figures.objects.update_or_create(project=project, kind=kind.name, key=key, defaults={"value": value})
    same = Figures.objects.filter(project=project, kind=kind.name).order_by("-pk")
    Figures.objects.filter(pk__in=list(same.values_list("pk", flat=True)[KEPT : KEPT + 50])).delete()


def forget(project: Project, kind: FigureKind[Value], key: str) -> None:
    Figures.objects.filter(project=project, kind=kind.name, key=key).delete()
