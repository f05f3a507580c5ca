"""What pages, routes and services read about records and their schemas."""

from dataclasses import dataclass
from typing import Final

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.shortcuts import get_object_or_404

from annotations import models
from annotations.core.access import Access
from annotations.core.authors import gold_author_id
from annotations.core.services import ServiceError

AUTHOR: Final = "records"
"""The author of annotation sets with the identifiers of fields: run:records."""


def schemas_of(project: models.Project) -> QuerySet[models.RecordSchema]:
    """All versions, by type, the newest first."""
    return models.RecordSchema.objects.filter(project=project).select_related(
        "created_by", "reviewed_by", "activated_by"
    )


def active_schemas(project: models.Project) -> dict[str, models.RecordSchema]:
    """The active version of each type."""
    return {row.data_type: row for row in schemas_of(project).filter(state=models.RecordSchemaState.ACTIVE)}


def schema_of(access: Access, pk: int) -> models.RecordSchema:
    """A version of the project. Raises Http404."""
    found: models.RecordSchema = get_object_or_404(schemas_of(access.project), pk=pk)
    return found


def may_review(row: models.RecordSchema, user: models.User) -> bool:
    """Whether a person may review a version: another one than added it, or a manager who works alone in the project."""
    if row.created_by_id != user.pk:
        return True
    managers = models.Membership.objects.filter(project=row.project_id, role=models.Role.MANAGER, active=True)
    return row.project.is_alone and not managers.exclude(user=user).exists()


def newest_schema(project: models.Project, data_type: str) -> models.RecordSchema:
    """The newest version of a type. Raises ServiceError `type`, with the types that there are."""
    found = schemas_of(project).filter(data_type=data_type).order_by("-number").first()
    if found is None:
        known = schemas_of(project).order_by("data_type").values_list("data_type", flat=True).distinct()
        message = f"There is no schema for the type “{data_type[:80]}”. Types: {', '.join(known) or 'none'}."
        raise ServiceError(message, code="type")
    return found


def version_before(row: models.RecordSchema) -> models.RecordSchema | None:
    """The version that a new one is compared with: the active one, else the one before it."""
    others = models.RecordSchema.objects.filter(project=row.project_id, data_type=row.data_type).exclude(pk=row.pk)
    return others.filter(state=models.RecordSchemaState.ACTIVE).first() or others.filter(number__lt=row.number).first()


def records_of(project: models.Project) -> QuerySet[models.Record]:
    """The stored records without their content, the oldest first."""
    rows = models.Record.objects.filter(project=project).select_related("schema", "document", "release")
    return rows.defer("record", "document__text", "schema__schema").order_by("pk")


def waiting_records(project: models.Project) -> QuerySet[models.Record]:
    """Records that no release holds which is not withdrawn, and no feed: each record has one way out."""
    # The relation is that of a feed's note, in a higher app.
    free = Q(release=None) | Q(release__state=models.ReleaseState.WITHDRAWN)
    return records_of(project).filter(free, document__feed_note=None)


def ready_records(
    project: models.Project, *, runs: tuple[str, ...] = (), unreviewed: bool = False
) -> QuerySet[models.Record]:
    """Waiting records of active schemas whose note is gold, or holds no free text.

    Also those whose note one of the `runs` has read, where `unreviewed`, the project or their schema says so.
    """
    submitted = models.AnnotationSet.objects.filter(
        document=OuterRef("document"), state=models.AnnotationSetState.SUBMITTED
    )
    ready = Q(has_text=False) | Q(Exists(submitted.filter(author=gold_author_id(project))))
    if runs:
        read = submitted.filter(author__project=project, author__kind=models.AuthorKind.RUN, author__name__in=runs)
        ready |= Q(Exists(read)) & (Q() if unreviewed or project.runs_decide else Q(schema__schema__unreviewed=True))
    return waiting_records(project).filter(ready, schema__state=models.RecordSchemaState.ACTIVE)


def record_of(access: Access, pk: int) -> models.Record:
    """A record of the project with its content. Raises Http404."""
    rows = models.Record.objects.filter(project=access.project).select_related("schema", "document", "release__policy")
    found: models.Record = get_object_or_404(rows, pk=pk)
    return found


def reading_authors(project: models.Project) -> list[str]:
    """The names of the runs that have read notes of waiting records."""
    read = models.AnnotationSet.objects.filter(
        document__record__in=waiting_records(project).values("pk"), author__kind=models.AuthorKind.RUN,
        state=models.AnnotationSetState.SUBMITTED,
    )  # fmt: skip
    return list(read.order_by("author__name").values_list("author__name", flat=True).distinct())


def deciding_runs(project: models.Project) -> tuple[str, ...]:
    """The runs that decide about free text where nobody names one: none, unless the project lets runs decide."""
    return tuple(name for name in reading_authors(project) if name != AUTHOR) if project.runs_decide else ()


@dataclass(frozen=True)
class RecordCounts:
    """The stored records by state: ready to be released, waiting for a review, in a release. Feeds count their own."""

    ready: int
    waiting: int
    released: int


def record_counts(project: models.Project) -> RecordCounts:
    """Count the stored records."""
    held = models.Record.objects.filter(project=project, release__isnull=False)
    released = held.exclude(release__state=models.ReleaseState.WITHDRAWN).count()
    ready = ready_records(project, runs=deciding_runs(project)).count()
    waiting = waiting_records(project).count()
    return RecordCounts(ready, waiting - ready, released)


def record_releases(project: models.Project) -> QuerySet[models.Release]:
    """The releases that hold records or files of them, the newest first, each with the `record_count` of its notes."""
    held = Exists(models.Record.objects.filter(release=OuterRef("pk"))) | Q(figures__has_key="records")
    rows = models.Release.objects.filter(held, project=project).exclude(state=models.ReleaseState.WITHDRAWN)
    return rows.annotate(record_count=Count("records")).select_related("policy").order_by("-number")
