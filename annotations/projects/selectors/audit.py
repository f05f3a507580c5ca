"""The audit trail of a project, newest event first, in keyset pages. It holds no note text."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from annotations.core.hooks import audit_names
from annotations.core.labels import COLORS
from annotations.core.services import sentences
from annotations.models import AnnotationSet, Author, CauseKind, Document, Event, Label, Membership, Project

PAGE = 50
# Longer values, such as descriptions of labels or lists of ids, are cut.
LONGEST = 120
# PostgreSQL does not keep the order of JSON keys. These keys come first, then the others by name.
FIRST = ("set", "from_set", "user", "role", "label", "category", "before", "after", "version", "format", "as")
# Ids of things that have no name, and the kind of a change, which is shown with its spans.
UNNAMED = frozenset(
    {
        *("import", "file", "judging", "calibration", "flag", "comment", "answers"),
        *("suggestion", "handover", "bulk", "cause", "span", "id", "kind"),
    }
)
# Lists of notes, shown as their number.
NOTES = ("notes", "documents")

Names = Mapping[str, Mapping[Any, str]]
"""Names by the key of an event's data, then by the value stored there."""


@dataclass(frozen=True)
class AuditLine:
    """An event. `verb` names the kind of act, `what` and `details` say it in words. `note` is null if it was erased."""

    id: int
    at: datetime
    who: str
    verb: str
    what: str
    note: int | None
    note_name: str
    details: str


@dataclass(frozen=True)
class AuditPage:
    """Lines of a page and the ids that the next pages start from."""

    lines: list[AuditLine]
    newer: int | None
    older: int | None


@dataclass(frozen=True)
class Filter:
    """Filter by verb and by person (0 for the command line)."""

    verb: str = ""
    person: int | None = None

    def __bool__(self) -> bool:
        return bool(self.verb) or self.person is not None


def people(project: Project) -> list[tuple[int, str]]:
    """Id and name of all current and former members."""
    members = Membership.objects.filter(project=project).order_by("user__username")
    return list(members.values_list("user_id", "user__username"))


def audit_page(
    project: Project, wanted: Filter, *, older_than: int | None = None, newer_than: int | None = None, size: int = PAGE
) -> AuditPage:
    """Page of events older or newer than the given event id."""
    rows = Event.objects.filter(project_id=project.pk)
    if newer_than is not None:
        rows = rows.filter(pk__gt=newer_than)
    elif older_than is not None:
        rows = rows.filter(pk__lt=older_than)
    if wanted.verb:
        rows = rows.filter(verb=wanted.verb)
    if wanted.person is not None:
        rows = rows.filter(actor_id=wanted.person) if wanted.person else rows.filter(actor__isnull=True)
    found = list(rows.select_related("actor").order_by("pk" if newer_than is not None else "-pk")[: size + 1])
    more = len(found) > size
    events = sorted(found[:size], key=lambda event: -event.pk)
    has_newer = more if newer_than is not None else older_than is not None
    has_older = more if newer_than is None else True
    return AuditPage(
        lines=_lines(project, events),
        newer=events[0].pk if events and has_newer else None,
        older=events[-1].pk if events and has_older else None,
    )


def _lines(project: Project, events: list[Event]) -> list[AuditLine]:
    notes = dict(
        Document.objects.filter(project=project, pk__in={e.document_id for e in events if e.document_id})
        .order_by()
        .values_list("pk", "name")
    )
    labels = dict(Label.objects.filter(label_set__project=project).order_by().values_list("pk", "name"))
    authors = dict(AnnotationSet.objects.filter(pk__in=_sets(events)).order_by().values_list("pk", "author__name"))
    names = _names(project, labels)
    verbs = sentences()
    return [
        AuditLine(
            id=event.pk,
            at=event.at,
            who=event.actor.get_username() if event.actor else _("command line"),
            verb=event.verb,
            what=verbs.get(event.verb, event.verb),
            note=event.document_id if event.document_id in notes else None,
            note_name=notes.get(event.document_id or 0)
            or (_("note %(pk)s, erased") % {"pk": event.document_id} if event.document_id else ""),
            details=details(_with_names(event.data, names), labels, authors),
        )
        for event in events
    ]


def _names(project: Project, labels: Mapping[int, str]) -> Names:
    """Current names of what events hold as ids."""
    authors = dict(Author.objects.filter(project=project).order_by().values_list("pk", "name"))
    members = dict(people(project))
    names: dict[str, Mapping[Any, str]] = {
        **dict.fromkeys(("author", "run", "runs"), authors),
        **dict.fromkeys(("label", "to"), labels),
        **dict.fromkeys(("first", "over", "reviewer", "annotator"), members),
    }
    for more in audit_names(project=project):
        names |= more
    return names


def _with_names(data: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """Replace ids by names."""
    return {key: _with_name(key, value, names) for key, value in data.items()}


def _with_name(key: str, value: Any, names: Names) -> Any:
    if isinstance(value, dict):
        return _with_names(value, names)
    if isinstance(value, list) and key in names:
        return [_with_name(key, one, names) for one in value]
    return names[key].get(value, value) if key in names and isinstance(value, int | str) else value


def _sets(events: list[Event]) -> set[int]:
    return {event.data[key] for event in events for key in ("set", "from_set") if isinstance(event.data.get(key), int)}


def details(data: Mapping[str, Any], labels: Mapping[int, str], authors: Mapping[int, str]) -> str:
    """Data of an event as text: spans as offsets and label, annotation sets by their author, long values cut."""
    parts = []
    before, after = data.get("before"), data.get("after")
    if _is_span(before) or _is_span(after):
        spans = [
            f"{span[0]}–{span[1]} {labels.get(span[2], '?')}" for span in (before, after) if span and _is_span(span)
        ]
        kind = data.get("kind")
        return f"{' → '.join(spans)}{f' ({kind})' if kind in ('undo', 'redo') else ''}"
    for key in sorted(data, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name)):
        value = len(data[key]) if key in NOTES and isinstance(data[key], list) else data[key]
        if key in ("set", "from_set") and isinstance(value, int):
            parts.append(_annotation_set(value, authors))
        elif key == "kind" and value in CauseKind.values:
            parts.append(f"{_('cause')}: {CauseKind(value).label}")
        elif value not in (None, "", [], {}) and key not in UNNAMED:
            parts.append(f"{key.replace('_', ' ')}: {_value(value)}")
    return ", ".join(parts)


def _annotation_set(pk: int, authors: Mapping[int, str]) -> str:
    if pk in authors:
        return _("annotations of %(name)s") % {"name": authors[pk]}
    return _("deleted annotation set %(pk)s") % {"pk": pk}


def _value(value: object) -> str:
    if isinstance(value, list):
        many = len(value) > 5 or any(isinstance(one, list | dict) for one in value)
        return f"{len(value):,}" if many else _cut(" ".join(map(str, value)))
    if isinstance(value, dict):
        return _cut("; ".join(_pair(key, one) for key, one in value.items()))
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return f"{value:,}" if isinstance(value, int) else _cut(str(value))


def _pair(key: str, value: object) -> str:
    if key == "hue" and isinstance(value, int) and value < len(COLORS):
        return f"{_('color')} {COLORS[value]}"
    return f"{key} {_value(value)}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _is_span(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(one, int) for one in value)
