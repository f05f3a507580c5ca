"""Releases, their notes and the findings of their leak gate."""

from collections.abc import Sequence

from django.db.models import Count, QuerySet
from django.http import Http404

from annotations.core.access import Access
from annotations.models import LeakFinding, Project, Release, ReleasedNote, ReleasedNoteState


def releases_of(project: Project) -> list[Release]:
    """The releases of a project, newest first."""
    rows = Release.objects.filter(project=project).select_related("policy", "job", "created_by", "signed_by")
    return list(rows.order_by("-number"))


def release_for(access: Access, number: int) -> Release:
    """Return a release of the person's project by its number. Raises Http404 if there is none."""
    rows = Release.objects.select_related(
        "project", "policy", "job", "author", "gold_version", "created_by", "signed_by"
    )
    try:
        return rows.get(project=access.project, number=number)
    except Release.DoesNotExist:
        raise Http404("This release does not exist.") from None


def findings_of(release: Release) -> QuerySet[LeakFinding]:
    """The findings of the leak gate in a release, in the order of the release's notes."""
    return LeakFinding.objects.filter(note__release=release).order_by("note", "where", "start", "id")


def open_findings(release: Release) -> QuerySet[LeakFinding]:
    """The findings that nobody has decided yet."""
    return findings_of(release).filter(decision="")


def note_counts(release: Release) -> dict[str, int]:
    """Count the release's notes by state: {"pending": …, "done": …, "held": …}."""
    rows = ReleasedNote.objects.filter(release=release).order_by().values_list("state").annotate(count=Count("id"))
    counted = dict(rows)
    return {str(state): counted.get(state, 0) for state in ReleasedNoteState.values}


def leak_counts(release: Release, *, without: Sequence[int] = (), audited: bool = True) -> dict[str, int]:
    """Count the findings: {"found": …, "replaced": …, "allowed": …, "open": …}. `without`: ids of left-out notes.

    Leaks that auditors marked are findings too, unless `audited` is false.
    """
    rows = LeakFinding.objects.filter(note__release=release).exclude(note__document__in=without).order_by()
    if not audited:
        rows = rows.exclude(origin=LeakFinding.Origin.AUDIT)
    counted = dict(rows.values_list("decision").annotate(count=Count("id")))
    replaced, allowed = (
        counted.get(str(answer), 0) for answer in (LeakFinding.Answer.REPLACE, LeakFinding.Answer.ALLOW)
    )
    return {"found": sum(counted.values()), "replaced": replaced, "allowed": allowed, "open": counted.get("", 0)}
