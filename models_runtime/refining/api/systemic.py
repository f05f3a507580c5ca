"""Routes of systemic errors: clusters of rejected suggestions, and those that a manager accepted under a name."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema
from ninja.responses import Status

from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, Paging, paged, paged_rows
from annotations.core.api.problems import named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.notes.selectors.in_context import Entry, shown_in_context
from models_runtime.models import SystemicError
from models_runtime.refining.selectors.injecting import systemic_rows
from models_runtime.refining.services.injecting.starting import MOST_SEED
from models_runtime.refining.services.injecting.systemic import (
    Numbered,
    accept_cluster,
    clusters_of,
    remove_systemic,
    rule_of,
)

router = Router(tags=["Injected errors"])
PATH = "/projects/{slug:slug}/injections/systemic"
SEED = Field(7, ge=0, le=MOST_SEED)


class SystemicItem(Schema):
    """A cluster that a manager accepted. `rule` is its name among the rules of injections; `label` a label's code.

    Examples that were erased don't count.
    """

    id: int
    name: str
    rule: str
    label: str
    examples: int
    created_by: str | None
    created_at: datetime

    @classmethod
    def of(cls, row: SystemicError) -> Self:
        return cls(
            id=row.pk, name=row.name, rule=rule_of(row), label=row.label, examples=row.examples.count(),
            created_by=row.created_by.username if row.created_by else None, created_at=row.created_at,
        )  # fmt: skip


class ClusterSeed(Schema):
    """The same seed and rejected suggestions give the same clusters."""

    seed: int = SEED


class ClusterString(Schema):
    """A string, and how many suggestions of the cluster have it."""

    string: str
    count: int


class ClusterExample(Schema):
    """A rejected suggestion in its sentence. Offsets are in code points, end-exclusive."""

    note: int
    name: str
    start: int
    end: int
    before: str
    marked: str
    after: str


class ClusterOut(Schema):
    """A cluster of similar rejected suggestions of one label. `key` stands for exactly these `size` suggestions.

    `rule` is the name of the rule if the cluster was accepted, else empty. `words` stand around the suggestions more
    often than around others. At most five strings and examples are shown.
    """

    number: int
    key: str
    label: str
    size: int
    rule: str
    words: list[str]
    strings: list[ClusterString]
    examples: list[ClusterExample]


class NewSystemic(Body):
    """`key` and `seed` of a cluster. The name has a-z, 0-9 and hyphens, and begins with a letter."""

    name: str = Field(max_length=30)
    key: str = Field(min_length=1, max_length=16)
    seed: int = SEED


@router.get(f"{PATH}/clusters", response=Page[ClusterOut])
def list_clusters(
    request: ApiRequest, slug: str, paging: Query[Paging], wanted: Query[ClusterSeed]
) -> dict[str, Any] | HttpResponseBase:
    """List clusters of rejected suggestions, the largest first. The audit log records the notes of the examples."""
    access = enter(request, slug, Can.MANAGE)
    found = clusters_of(access.project, wanted.seed)

    def fetch(after: int | None, size: int) -> Sequence[ClusterOut]:
        return _shown(access, found[after or 0 : (after or 0) + size])

    return paged(request, paging, fetch, lambda each: each, lambda each: each.number)


@router.get(PATH, response=Page[SystemicItem])
def list_systemic_errors(request: ApiRequest, slug: str, paging: Query[Paging]) -> dict[str, Any] | HttpResponseBase:
    """List the accepted systemic errors."""
    access = enter(request, slug, Can.MANAGE)
    return paged_rows(request, paging, systemic_rows(access.project), SystemicItem.of)


@router.post(PATH, response={201: SystemicItem})
def accept_systemic_error(request: ApiRequest, slug: str, body: NewSystemic) -> Status[SystemicItem]:
    """Accept a cluster under a name, so that injections can make errors like it. 409 if new decisions changed it."""
    access = enter(request, slug, Can.MANAGE)
    with named({"name": "name", "exists": "name"}):
        row = accept_cluster(
            project=access.project, name=body.name, key=body.key, seed=body.seed, actor=access.user
        )  # fmt: skip
    return Status(201, SystemicItem.of(row))


@router.delete(f"{PATH}/{{int:systemic}}", response={204: None})
def remove_systemic_error(request: ApiRequest, slug: str, systemic: int) -> Status[None]:
    """Remove an accepted systemic error. Injections with such errors keep them."""
    access = enter(request, slug, Can.MANAGE)
    row = get_object_or_404(SystemicError, project=access.project, pk=systemic)
    remove_systemic(project=access.project, name=row.name, actor=access.user)
    return Status(204, None)


def _shown(access: Access, found: Sequence[Numbered]) -> list[ClusterOut]:
    rows = [
        [one.note, f"{cluster.number} {at}", [one.start, one.end, one.label], None]
        for cluster in found
        for at, one in enumerate(cluster.examples)
    ]
    entries = {entry.kind: entry for entry in shown_in_context(access, rows, "systemic errors")}
    return [
        ClusterOut(
            number=cluster.number, key=cluster.cluster.key, label=cluster.cluster.label,
            size=len(cluster.cluster.examples), rule=cluster.rule, words=list(cluster.cluster.words),
            strings=[ClusterString(string=string, count=count) for string, count in cluster.strings],
            examples=[
                _example(one.start, one.end, entries[key])
                for at, one in enumerate(cluster.examples)
                if (key := f"{cluster.number} {at}") in entries
            ],
        )
        for cluster in found
    ]  # fmt: skip


def _example(start: int, end: int, entry: Entry) -> ClusterExample:
    return ClusterExample(
        note=entry.note, name=entry.name, start=start, end=end, before=entry.before, marked=entry.marked,
        after=entry.after,
    )  # fmt: skip
