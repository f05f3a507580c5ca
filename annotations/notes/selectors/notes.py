"""The list of notes in keyset pages. A page takes a few short index scans and never loads a note's text."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.enums import TextChoices
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from annotations.core.access import Access, Can, notes_for
from annotations.core.authors import IMPORTED, gold_sets, review_drafts
from annotations.core.bulk import batched, page_edges
from annotations.models import (
    AnnotationSet,
    AnnotationSetState,
    Assignment,
    AssignmentState,
    AuthorKind,
    Document,
    Flag,
)
from annotations.models.prepared import PreparedRead
from annotations.notes.selectors.comments import flag_labels, open_flags

PAGE = 50
# For filters without an index, such as notes without gold, a page looks at this many notes at most.
WINDOW = 20_000
# A first attempt looks at this many notes, which mostly fill the page.
NEAR = 1_000
# Names of authors that a row lists.
NAMES = 4

Fetch = Callable[[int | None, int | None, int], "NoteWindow"]


class Show(TextChoices):
    """Filters of the list. Their values are used in URLs."""

    ALL = "all", _("All")
    TODO = "todo", _("My open notes")
    DONE = "done", _("My submitted notes")
    GOLD = "gold", _("Gold")
    IN_REVIEW = "in-review", _("In review")
    NO_GOLD = "no-gold", _("No gold")
    READ = "read", _("Fully annotated")
    UNREAD = "unread", _("Being annotated")
    FLAGGED = "flagged", _("Flagged")


MINE = (Show.ALL, Show.TODO, Show.DONE, Show.FLAGGED)


@dataclass(frozen=True)
class NoteWindow:
    """Ids in order. `stopped` is the last id looked at, if the window ended before the page was full."""

    ids: list[int]
    stopped: int | None = None


@dataclass(frozen=True)
class NoteRow:
    """A row of the list. `own` is open, begun or done; empty if the note is not assigned to the user.

    `in_review` means that a review of the note is open, whose draft is not gold. `flag` is the reason of its flags, as
    far as the user may know.
    """

    pk: int
    name: str
    language: str
    length: int
    own: str = ""
    submitted: str = ""
    drafts: str = ""
    open: int = 0
    gold: bool = False
    in_review: bool = False
    flag: str = ""
    outcome: bool = False


@dataclass(frozen=True)
class NotePage:
    """A page and the ids that the neighboring pages start from. `beyond` is set if the requested page has no notes."""

    rows: list[NoteRow]
    previous: int | None
    next: int | None
    stopped: int | None = None
    beyond: bool = False


# Shorter titles of filters for annotators, who see only their own notes.
ANNOTATORS_WORDS = {Show.TODO: _("To do"), Show.DONE: _("Done")}


_ASSIGNED = PreparedRead(
    lambda project, user: Assignment.objects.filter(project_id=project, user_id=user).order_by().values_list("pk")[:1],
    int,
    int,
)


def choices(access: Access) -> list[Show]:
    """The filters for this user."""
    if not access.can(Can.READ_NOTES):
        return list(MINE)
    mine = access.can(Can.ANNOTATE) and _ASSIGNED.first(access.project.pk, access.user.pk)
    hidden = () if mine else (Show.TODO, Show.DONE)
    return [show for show in Show if show not in hidden]


def note_page(
    access: Access,
    show: Show,
    *,
    name: str | None = None,
    after: int | None = None,
    before: int | None = None,
    size: int = PAGE,
) -> NotePage:
    """A page of notes after or before a note's id, ordered by name if `name` is searched, else by id."""
    fetch = _by_name(access, name) if name else source(access, show)
    found = fetch(after, before, size + 1)
    more = len(found.ids) > size
    ids = found.ids[-size:] if before is not None else found.ids[:size]
    edges = page_edges(ids, after=after, before=before, more=more)
    beyond = not ids and (after is not None or before is not None)
    return NotePage(_rows(access, ids), *edges, stopped=found.stopped, beyond=beyond)


def neighbors(access: Access, show: Show, pk: int) -> tuple[int | None, int | None]:
    """Ids of the notes before and after a note in a filtered list."""
    fetch = source(access, show)
    before, after = fetch(None, pk, 1).ids, fetch(pk, None, 1).ids
    return (before[0] if before else None), (after[0] if after else None)


def source(access: Access, show: Show) -> Fetch:
    """Function that fetches the ids of a filtered list."""
    project = access.project.pk
    if show == Show.TODO:
        return _assigned(access, AssignmentState.OPEN)
    if show == Show.DONE:
        return _assigned(access, AssignmentState.DONE)
    if show == Show.FLAGGED:
        return _flagged(access)
    if not access.can(Can.READ_NOTES):
        return _merged(_assigned(access, AssignmentState.OPEN), _assigned(access, AssignmentState.DONE))
    if show == Show.GOLD:
        return _along(gold_sets(access.project), "document_id")
    if show == Show.IN_REVIEW:
        return _along(review_drafts(access.project), "document_id")
    if show == Show.NO_GOLD:
        return _walk(project, ~Exists(gold_sets(access.project).filter(document_id=OuterRef("pk"))))
    if show in (Show.READ, Show.UNREAD):
        here = Assignment.objects.filter(document_id=OuterRef("pk"))
        being_annotated = Exists(here.filter(state=AssignmentState.OPEN))
        if show == Show.UNREAD:
            return _walk(project, being_annotated)
        return _walk(project, Exists(here.filter(state=AssignmentState.DONE)) & ~being_annotated)
    return _prepared(_all, "pk", project)


def _all(project: int) -> QuerySet[Any]:
    return Document.objects.filter(project_id=project)


def _assignments(project: int, user: int, state: str) -> QuerySet[Any]:
    return Assignment.objects.filter(project_id=project, user_id=user, state=state)


@cache
def _after(rows: Callable[..., QuerySet[Any]], key: str, limit: int, *kinds: type) -> PreparedRead:
    return PreparedRead(
        lambda after, *values: _onward(rows(*values), key, after, None).values_list(key)[:limit], int, *kinds
    )


def _prepared(rows: Callable[..., QuerySet[Any]], key: str, *values: int | str) -> Fetch:
    """Ids of `rows(*values)` along an index: what people open all day."""

    def fetch(after: int | None, before: int | None, limit: int) -> NoteWindow:
        if before is not None:
            return _along(rows(*values), key)(after, before, limit)
        found = _after(rows, key, limit, *map(type, values)).all(after or 0, *values)
        return NoteWindow([pk for (pk,) in found])

    return fetch


def _assigned(access: Access, state: AssignmentState) -> Fetch:
    return _prepared(_assignments, "document_id", access.project.pk, access.user.pk, state.value)


def _flagged(access: Access) -> Fetch:
    """Notes with open flags, along the index `flag_open_once`. Several people may have flagged one note."""
    flags = open_flags(access)
    if access.blind:
        flags = flags.filter(document__in=notes_for(access))
    return _along(flags.distinct(), "document_id")


def _onward(rows: QuerySet[Any], key: str, after: int | None, before: int | None) -> QuerySet[Any]:
    """The rows after a note in order, or those before one, backwards."""
    if before is not None:
        return rows.filter(**{f"{key}__lt": before}).order_by(f"-{key}")
    return rows.filter(**{f"{key}__gt": after or 0}).order_by(key)


def _along(rows: QuerySet[Any], key: str) -> Fetch:
    """Ids along an index that has them in order."""

    def fetch(after: int | None, before: int | None, limit: int) -> NoteWindow:
        found = _onward(rows, key, after, before)
        return NoteWindow(sorted(found.values_list(key, flat=True)[:limit]))

    return fetch


def _merged(*sources: Fetch) -> Fetch:
    def fetch(after: int | None, before: int | None, limit: int) -> NoteWindow:
        ids = sorted(pk for one in sources for pk in one(after, before, limit).ids)
        return NoteWindow(ids[-limit:] if before is not None else ids[:limit])

    return fetch


def _walk(project: int, matches: Any) -> Fetch:
    """Ids that match a condition without an index, among at most WINDOW notes."""
    notes = Document.objects.filter(project_id=project)

    def fetch(after: int | None, before: int | None, limit: int) -> NoteWindow:
        ahead, rows = before is None, _onward(notes, "pk", after, before)
        for window in (min(NEAR, WINDOW), WINDOW):
            last = next(iter(rows.values_list("pk", flat=True)[window - 1 : window]), None)
            within = rows.filter(**{"pk__lte" if ahead else "pk__gte": last}) if last is not None else rows
            ids = sorted(within.filter(matches).values_list("pk", flat=True)[:limit])
            if len(ids) == limit or last is None:
                return NoteWindow(ids)
        return NoteWindow(ids, last if ahead else None)

    return fetch


def _by_name(access: Access, text: str) -> Fetch:
    """Notes whose names contain `text`, along the index over names."""
    notes = notes_for(access)

    def fetch(after: int | None, before: int | None, limit: int) -> NoteWindow:
        rows = notes.filter(name__icontains=text)
        mark = after if before is None else before
        name = notes.filter(pk=mark).values_list("name", flat=True).first() if mark is not None else None
        if name is not None:
            rows = rows.filter(name__lt=name) if before is not None else rows.filter(name__gt=name)
        rows = rows.order_by("-name" if before is not None else "name")
        ids = list(rows.values_list("pk", flat=True)[:limit])
        return NoteWindow(ids[::-1] if before is not None else ids)

    return fetch


class _OfPage:
    """A prepared read of columns for the notes of one page. `rows(ids)` returns a queryset.

    Shorter pages repeat their last id, so that all pages use the same statement.
    """

    def __init__(
        self, columns: str, rows: Callable[..., QuerySet[Any]], *kinds: type, order: Sequence[str] = ()
    ) -> None:
        count, names = len(kinds), columns.split()

        def query(*values: Any) -> QuerySet[Any, Any]:
            return rows(values[count:], *values[:count]).order_by(*order).values_list(*names)

        self._read = PreparedRead(query, *kinds, *[int] * PAGE)

    def __call__(self, ids: list[int], *values: int | str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for some in batched(ids, PAGE):
            found += self._read.all(*values, *some, *some[-1:] * (PAGE - len(some)))
        return found


_NOTES = _OfPage("pk name language length", lambda ids: Document.objects.filter(pk__in=ids))
_OWN = _OfPage(
    "document_id state",
    lambda ids, user: Assignment.objects.filter(document_id__in=ids, user_id=user).exclude(
        state=AssignmentState.RELEASED
    ),
    int,
)
_BEGUN = _OfPage(
    "document_id",
    lambda ids, user: _sets(ids, AnnotationSetState.DRAFT).filter(
        author__user_id=user, author__kind=AuthorKind.ANNOTATOR
    ),
    int,
)
_SETS = _OfPage(
    "document_id state author__kind author__name imported_by_id",
    lambda ids: AnnotationSet.objects.filter(document_id__in=ids).exclude(state=AnnotationSetState.WITHDRAWN),
    order=("author__kind", "author__name"),
)
_OPEN = _OfPage("document_id", lambda ids: Assignment.objects.filter(document_id__in=ids, state=AssignmentState.OPEN))
_FLAGS = _OfPage(
    "document_id user_id reason",
    lambda ids: Flag.objects.filter(document_id__in=ids, cleared_at__isnull=True),
    order=("id",),
)
_ADJUDICATED = _OfPage("document_id", lambda ids, kind, state: _sets(ids, state).filter(author__kind=kind), str, str)


def _sets(ids: Sequence[int], state: str) -> QuerySet[AnnotationSet]:
    return AnnotationSet.objects.filter(document_id__in=ids, state=state)


def _rows(access: Access, ids: list[int]) -> list[NoteRow]:
    notes = {pk: (name, language, length) for pk, name, language, length in _NOTES(ids)}
    own = _own_states(access, ids)
    flags = flag_labels(access, _FLAGS(ids))
    sees_all = access.can(Can.READ_NOTES)
    outcomes = set() if sees_all else _outcomes(access, ids)
    submitted, drafts, gold, in_review = _authors(ids if sees_all else [], unnamed=access.unnamed)
    open_ = Counter(pk for (pk,) in _OPEN(ids if sees_all else []))
    return [
        NoteRow(
            pk,
            *notes[pk],
            own=own.get(pk, ""),
            submitted=_names(submitted[pk]),
            drafts=_names(drafts[pk]),
            open=open_[pk],
            gold=pk in gold,
            in_review=pk in in_review,
            flag=flags.get(pk, ""),
            outcome=pk in outcomes,
        )
        for pk in ids
        if pk in notes
    ]


def _outcomes(access: Access, ids: list[int]) -> set[int]:
    """Adjudicated notes whose outcome annotators may see."""
    if not access.project.show_outcome:
        return set()
    return {pk for (pk,) in _ADJUDICATED(ids, AuthorKind.ADJUDICATED.value, AnnotationSetState.SUBMITTED.value)}


def _own_states(access: Access, ids: list[int]) -> dict[int, str]:
    if not access.can(Can.ANNOTATE):
        return {}
    states: dict[int, str] = dict(_OWN(ids, access.user.pk))
    if not states:
        return {}
    for (pk,) in _BEGUN(ids, access.user.pk):
        if states.get(pk) == AssignmentState.OPEN:
            states[pk] = "begun"
    return states


def _authors(ids: list[int], *, unnamed: bool) -> tuple[dict[int, list[str]], dict[int, list[str]], set[int], set[int]]:
    """Authors of submitted sets and of drafts by note, the notes with gold, and those with a draft of a review.

    `unnamed` empties annotators' names.
    """
    submitted: dict[int, list[str]] = defaultdict(list)
    drafts: dict[int, list[str]] = defaultdict(list)
    gold: set[int] = set()
    in_review: set[int] = set()
    for pk, state, kind, name, imported_by in _SETS(ids):
        if kind == AuthorKind.GOLD:
            (gold if state == AnnotationSetState.SUBMITTED else in_review).add(pk)
        else:
            name = "" if unnamed and kind == AuthorKind.ANNOTATOR else name
            if name and imported_by and not name.endswith(IMPORTED):
                name += IMPORTED
            (submitted if state == AnnotationSetState.SUBMITTED else drafts)[pk].append(name)
    return submitted, drafts, gold, in_review


def _names(names: list[str]) -> str:
    if without := names.count(""):
        people = ngettext("%(n)d annotator", "%(n)d annotators", without) % {"n": without}
        names = [people, *filter(None, names)]
    if len(names) <= NAMES:
        return ", ".join(names)
    return f"{', '.join(names[: NAMES - 1])} +{len(names) - NAMES + 1}"
