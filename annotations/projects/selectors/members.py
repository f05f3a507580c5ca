"""Members of a project with their progress."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from annotations.core.access import Access, lacks_second_factor, may_make_links
from annotations.core.hooks import audit_names
from annotations.core.labels import COLORS
from annotations.core.services import sentences
from annotations.models import (
    AnnotationSet,
    ApiToken,
    Assignment,
    AssignmentState,
    Author,
    CauseKind,
    Document,
    Event,
    Label,
    Membership,
    Project,
    Role,
    User,
)
from annotations.projects.selectors.projects import assigned


@dataclass(frozen=True)
class MemberRow:
    """A member with the numbers of open and done notes. Former members keep their done notes.

    `linkable` is whether the current manager may create a password link for this person.
    """

    row: Membership
    open: int
    done: int
    linkable: bool

    @property
    def annotates(self) -> bool:
        """Whether to show the counts: for annotators and everyone with assigned notes."""
        return self.row.role == Role.ANNOTATOR or bool(self.open or self.done)


def memberships(project: Project, *, active: bool) -> QuerySet[Membership]:
    """Current or former members of a project, in the order they joined."""
    return Membership.objects.filter(project=project, active=active).select_related("user").order_by("id")


def member_for(access: Access, pk: int) -> Membership:
    return get_object_or_404(Membership.objects.select_related("user"), project=access.project, pk=pk)


def members(rows: Sequence[Membership], manager: User) -> list[MemberRow]:
    """Members of these rows with their counts, for the manager who looks at them."""
    counted = Membership.objects.filter(pk__in=[row.pk for row in rows]).values_list(
        "pk", assigned(AssignmentState.OPEN), assigned(AssignmentState.DONE)
    )
    counts = {pk: (left, done) for pk, left, done in counted}
    linkable = may_make_links(manager, [row.user for row in rows])
    return [MemberRow(row, *counts[row.pk], row.user_id in linkable) for row in rows]


# When members were last active in a project.


IDLE_DAYS = 7


def activity(access: Access) -> list[Any]:
    """List the memberships with their last activity, the most recently active first, in one query.

    `last` is the time of the person's last event in the project. `idle`: the person has open notes and has done nothing
    for IDLE_DAYS days.
    """
    project = access.project
    events = Event.objects.filter(actor_id=OuterRef("user_id"), project_id=project.pk).order_by("-at").values("at")
    notes = Assignment.objects.filter(project=project, user_id=OuterRef("user_id"), state=AssignmentState.OPEN)
    # With an order, PostgreSQL walks an index to the first note, instead of searching all assignments.
    first = notes.order_by("document_id").values("document_id")
    members = Membership.objects.filter(project=project, active=True).select_related("user")
    rows: list[Any] = list(members.annotate(last=Subquery(events[:1]), open_note=Subquery(first[:1])))
    since = timezone.now() - timedelta(days=IDLE_DAYS)
    for row in rows:
        row.idle = row.open_note is not None and (row.last or row.joined_at) < since
    rows.sort(key=lambda row: (-(row.last.timestamp() if row.last else 0), row.user.username))
    return rows


# A person's tokens, for the page and the command.


TOKEN_STATES = {"valid": lazy("Valid"), "expired": lazy("Expired"), "revoked": lazy("Revoked")}


def tokens_of(user: User) -> "QuerySet[ApiToken]":
    return ApiToken.objects.filter(user=user).select_related("project").order_by("-pk")


def state_of(row: ApiToken) -> str:
    """Return the state of a token, a key of TOKEN_STATES."""
    if row.revoked_at is not None:
        return "revoked"
    return "valid" if row.expires_at > timezone.now() else "expired"


def projects_of(user: User) -> "QuerySet[Project]":
    """The projects of a person, without those that are closed until the person has a second factor."""
    found = Project.objects.filter(memberships__user=user, memberships__active=True).order_by("name", "pk")
    if lacks_second_factor(user):
        return found.none()
    return found.exclude(second_factor=True) if lacks_second_factor(user, wanted=True) else found


# The audit trail of a project, newest event first, in keyset pages. It holds no note text.


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
