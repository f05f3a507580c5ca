"""Releases, their notes and the findings of their leak gate."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.access import Access
from annotations.notes.selectors.in_context import LabelLook, label_looks
from annotations.release.rules.surrogates.measures import MEASURE_NAMES


def releases_of(project: models.Project) -> QuerySet[models.Release]:
    """The releases of a project, newest first."""
    rows = models.Release.objects.filter(project=project).order_by("-number")
    return rows.select_related("policy", "job", "created_by", "signed_by")


def release_for(access: Access, number: int) -> models.Release:
    """Return a release of the person's project by its number. Raises Http404 if there is none."""
    rows = models.Release.objects.select_related(
        "project", "policy", "job", "author", "gold_version", "created_by", "signed_by"
    )
    return get_object_or_404(rows, project=access.project, number=number)


def note_counts(release: models.Release) -> dict[str, int]:
    """Count the release's notes by state: {"pending": …, "done": …, "held": …}."""
    rows = (
        models.ReleasedNote.objects.filter(release=release).order_by().values_list("state").annotate(count=Count("id"))
    )
    counted = dict(rows)
    return {str(state): counted.get(state, 0) for state in models.ReleasedNoteState.values}


def leak_counts(release: models.Release, *, without: Sequence[int] = (), audited: bool = True) -> dict[str, int]:
    """Count the findings: {"found": …, "replaced": …, "allowed": …, "open": …}. `without`: ids of left-out notes.

    Leaks that auditors marked are findings too, unless `audited` is false.
    """
    rows = models.LeakFinding.objects.filter(note__release=release).exclude(note__document__in=without).order_by()
    if not audited:
        rows = rows.exclude(origin=models.LeakFinding.Origin.AUDIT)
    counted = dict(rows.values_list("decision").annotate(count=Count("id")))
    replaced, allowed = (
        counted.get(str(answer), 0) for answer in (models.LeakFinding.Answer.REPLACE, models.LeakFinding.Answer.ALLOW)
    )
    return {"found": sum(counted.values()), "replaced": replaced, "allowed": allowed, "open": counted.get("", 0)}


# What the pages of a release show about it: names of annotation sets, figures, what is left to do, its notes.


def open_counts(releases: Iterable[models.Release]) -> dict[int, int]:
    """The number of open findings by release id."""
    rows = models.LeakFinding.objects.filter(note__release__in=list(releases), decision="").order_by()
    return dict(rows.values_list("note__release").annotate(count=Count("pk")))


@dataclass(frozen=True)
class Figure:
    """A count by label or action, with its percentage of all spans."""

    name: str
    count: int
    percent: int
    look: LabelLook | None = None


def figures_of(release: models.Release) -> dict[str, Any] | None:
    """The stored figures of the notes that are not held back, for the page; None until the notes are counted.

    `kept` is the share of the text that is kept, in percent with one digit; empty without text.
    """
    stored: dict[str, Any] = release.figures
    if "notes" not in stored:
        return None
    characters, looks = stored.get("characters"), label_looks(release.project)
    order = {code: position for position, code in enumerate(looks)}
    labels = stored.get("spans_by_label", {}).items()
    by_label = sorted(labels, key=lambda item: (order.get(item[0], len(order)), item[0]))
    return stored | {
        "kept": f"{100 * stored.get('characters_kept', 0) / characters:.1f}" if characters else "",
        "labels": _figures([(code, n, looks.get(code) or LabelLook(code, code)) for code, n in by_label]),
        "actions": _figures([(action, n, None) for action, n in stored.get("spans_by_action", {}).items()]),
        "exceptions": _exceptions(stored.get("exceptions") or {}),
        "surrogates": _measures(stored.get("surrogates") or {}),
    }


def _measures(stored: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The measures of the surrogates (Singh et al. 2025, appendix A.7) with their names; shares in percent."""

    def shown(value: object) -> str:
        return f"{100 * value:.1f}%" if isinstance(value, float) else f"{value:,}"

    found = [(_(name), shown(stored[key])) for key, name in MEASURE_NAMES.items() if stored.get(key) is not None]
    f1 = stored.get("f1") or {}
    for key, name in (
        ("original", _("F1 of %(model)s on the original text")),
        ("released", _("F1 of %(model)s on the released text")),
    ):
        if f1.get(key) is not None:
            found.append((name % {"model": f1.get("backend", "")}, f"{f1[key]:.3f}"))
    return found


def _exceptions(stored: Mapping[str, int]) -> list[tuple[str, int]]:
    """The exceptions of the leak gate that applied, with their names and how often they did."""
    names = {
        "allowed": _("Terms that the project allows"),
        "short": _("Single letters and numbers of one or two digits"),
        "generic": _("Generic words"),
        "description": _("Words of professions, families, sex or ethnicity"),
        "lower case": _("Names written as common words"),
        "kept": _("What the policy keeps"),
        "generalized": _("What the policy made"),
        "coincidence": _("Words in surrogates of something else"),
    }
    return [(names.get(key, key), n) for key, n in stored.items() if n]


def _figures(rows: Sequence[tuple[str, int, LabelLook | None]]) -> list[Figure]:
    total = sum(n for _name, n, _look in rows)
    return [
        Figure(look.name if look else name, n, round(100 * n / total) if total else 0, look) for name, n, look in rows
    ]


def released_notes(release: models.Release) -> QuerySet[models.ReleasedNote]:
    """The notes of a release, without their texts, in the order of the release."""
    rows = models.ReleasedNote.objects.filter(release=release).select_related("document")
    return rows.defer("text", "spans", "pieces", "extra", "document__text").order_by("pk")


def around_note(note: models.ReleasedNote) -> tuple[int | None, int | None]:
    """The ids of the original notes before and after this one in its release."""
    rows = models.ReleasedNote.objects.filter(release_id=note.release_id)
    before = rows.filter(pk__lt=note.pk).order_by("-pk").values_list("document", flat=True).first()
    after = rows.filter(pk__gt=note.pk).order_by("pk").values_list("document", flat=True).first()
    return before, after


# Exported files of a release that are ready to download.


def ready_exports(release: models.Release, now: datetime | None = None) -> list[models.StoredFile]:
    """The exports of the release that have not expired, newest first."""
    jobs = models.Job.objects.filter(project=release.project_id, kind="release_export", params__release_id=release.pk)
    ids = [file for file in jobs.values_list("result__file_id", flat=True) if file]
    files = models.StoredFile.objects.filter(
        project=release.project_id, kind=models.StoredFileKind.RELEASE, pk__in=ids, expires_at__gt=now or timezone.now()
    )
    return list(files.select_related("created_by").order_by("-pk"))
