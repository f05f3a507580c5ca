"""The annotations of a release for its pages: their names, and the notes that they cover."""

from collections.abc import Iterable

from django.db.models import QuerySet

from annotations.exchange.forms.exports import set_choices
from annotations.models import Document, Project, Release
from annotations.release.services.sources import ReleasedAnnotations, specs_of


def named_sets(project: Project, releases: Iterable[Release]) -> dict[int, list[str]]:
    """The chosen annotations of each release, by its id; a specification where the choice no longer exists."""
    names = {choice.spec: choice.name for choice in set_choices(project)}
    return {release.pk: [names.get(spec, spec) for spec in specs_of(release.set_spec)] for release in releases}


def covered_notes(project: Project, source: ReleasedAnnotations) -> QuerySet[Document]:
    """The notes of the project with these annotations, without their texts, in the order of their ids."""
    condition, values = source.notes()
    rows = Document.objects.filter(project=project).defer("text").order_by("pk")
    # The table has no alias in this query, so that the condition can name its column.
    return rows.extra(where=[condition], params=values)  # noqa: S610 - the condition is ours, the values are parameters
