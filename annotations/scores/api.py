"""Routes of scores: authors that can be scored against gold, the figures of one, its errors and their causes."""

from functools import partial
from typing import Any, Literal, Self

from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from ninja import Field, Query, Schema

from annotations.core.access import Access, Can, authors_for
from annotations.core.answers import csv_answer
from annotations.core.api.mount import sends
from annotations.core.api.paging import Page, PageAnswer, Paging
from annotations.core.api.routes import ApiRequest, Body, Problem, ProjectRouter, invalid, named
from annotations.jobs.api import JobItem
from annotations.models import CauseKind, Job, Project
from annotations.notes.api.in_context import paged_in_context
from annotations.notes.selectors.in_context import Entry
from annotations.scores.rules.causes import ErrorId
from annotations.scores.rules.errors import ErrorType
from annotations.scores.selectors import AuthorNotes, Reference, authors_with_notes, note_languages
from annotations.scores.services.asking import plain_request, score_now, start_score
from annotations.scores.services.errors import (
    ErrorFilters,
    ListedErrors,
    about_score,
    change_error_cause,
    export_errors,
)
from annotations.scores.services.scoring import Error, Score, ScoreRequest, score_request
from annotations.text.names import MAX_ID

router = ProjectRouter(tags=["Scores"])
PATH = "/projects/{slug:slug}/scores/{int:version}/{int:author}"
FIELDS = {name: name for name in ("split", "into", "threshold", "types", "tokenizer", "language")} | {"mapping": "into"}


class ScorableOut(Schema):
    """An author, and the numbers of submitted notes, and of those that have gold in this version (`shared`).

    `imported`: files or an archive brought annotations of this author.
    """

    author: int
    name: str
    kind: str
    submitted: int
    shared: int
    imported: bool

    @classmethod
    def of(cls, row: AuthorNotes, project: Project) -> Self:
        return cls(
            author=row.author.pk, name=row.author.name, kind=row.author.kind, submitted=row.submitted,
            shared=row.shared, imported=row.author.pk in project.imported_authors,
        )  # fmt: skip


class Scorable(Schema):
    """The gold version (0: the current gold) and the authors that can be scored against it."""

    version: int
    items: list[ScorableOut]


class GoldChoice(Schema):
    """`gold` is the number of a version, by default the newest; 0 is the current gold."""

    gold: int | None = Field(None, ge=0, le=2**31 - 1)
    language: str = Field("", max_length=8)


class ScoreChoices(Schema):
    """What to score: a split, notes in one language, labels of another set (`into`), and a tokenizer.

    `threshold` is the lowest similarity of texts with tolerance, from 0 to 1. `types` are labels and categories for
    which all-or-nothing recall is computed once more.
    """

    split: str = Field("", max_length=20)
    into: str = Field("", max_length=60)
    threshold: float | None = Field(None, ge=0, le=1)
    types: list[str] = Field([], max_length=200)
    tokenizer: str = Field("", max_length=40)
    language: str = Field("", max_length=20)


class NewScore(ScoreChoices, Body):
    pass


class ScoreOut(Schema):
    """The figures, as the command `score --json` gives them: rates by level, label and category, and errors."""

    figures: dict[str, Any]


class ErrorsWanted(ScoreChoices):
    """Which errors to list. `cause` may be `none`, for errors without a cause; `label` is of either span."""

    kind: ErrorType | Literal[""] = ""
    label: str = Field("", max_length=60)
    gold: str = Field("", max_length=60)
    predicted: str = Field("", max_length=60)
    category: str = Field("", max_length=60)
    cause: CauseKind | Literal["", "none"] = ""
    note: int | None = Field(None, ge=0, le=MAX_ID)

    def chosen(self) -> ErrorFilters:
        return ErrorFilters(self.kind, self.label, self.gold, self.predicted, self.category, self.cause, self.note)


class ErrorSpan(Schema):
    """Offsets in code points, end-exclusive, and the code of a label."""

    start: int
    end: int
    label: str


class ErrorOut(Schema):
    """An error in its sentence: the span of gold and that of the author; null where one has none.

    `error` names it where causes are set.
    """

    error: str
    note: int
    name: str
    kind: str
    line: int
    before: str
    marked: str
    after: str
    gold: ErrorSpan | None
    predicted: ErrorSpan | None
    causes: list[str]


class NewCause(Body):
    """A cause of an error: its key, and whether the error has it. The choices are those of the score."""

    error: str = Field(max_length=200)
    cause: str = Field(max_length=20)
    present: bool = True


class CausesOut(Schema):
    causes: list[str]


@router.get("/projects/{slug:slug}/scores", Can.READ_NOTES, response=Scorable)
def list_scorable_authors(access: Access, wanted: Query[GoldChoice]) -> Scorable:
    """List the authors that can be scored against a gold version."""
    reference = Reference.of(access.project, wanted.gold)
    if wanted.language and wanted.language not in note_languages(access.project):
        raise invalid(("language", _("This project has no notes in this language.")))
    rows = authors_with_notes(reference, authors_for(access), language=wanted.language)
    return Scorable(version=reference.number, items=[ScorableOut.of(row, access.project) for row in rows])


@router.get(PATH, Can.READ_NOTES, response=ScoreOut)
def read_score(access: Access, version: int, author: int, wanted: Query[ScoreChoices]) -> ScoreOut:
    """Read the figures of an author against gold (version 0: the current gold). Long scores need a job first (409)."""
    asked = _asked(access, version, author, wanted)
    found = _found(asked)
    return ScoreOut(figures={**found.table, **about_score(asked, found)})


@router.post(f"{PATH}/jobs", Can.READ_NOTES, response={202: JobItem})
def start_score_job(access: Access, version: int, author: int, body: NewScore) -> Job:
    """Start the job that computes a long score."""
    return start_score(wanted=_asked(access, version, author, body), actor=access.user)


@router.get(f"{PATH}/errors", Can.READ_NOTES, response=Page[ErrorOut])
def list_score_errors(
    request: ApiRequest, access: Access, version: int, author: int, paging: Query[Paging], filters: Query[ErrorsWanted]
) -> PageAnswer:
    """List the errors of a score in their sentences. The audit log records the notes."""
    listed = _listed(access, version, author, filters)
    return paged_in_context(request, paging, access, listed.rows, list, partial(_error, listed), "score")


@router.get(f"{PATH}/errors/csv", Can.EXPORT, openapi_extra=sends("text/csv"))
def export_score_errors(
    access: Access, version: int, author: int, filters: Query[ErrorsWanted]
) -> StreamingHttpResponse:
    """Download the errors of a score as CSV. The audit log records it."""
    listed = _listed(access, version, author, filters)
    lines, name = export_errors(project=access.project, actor=access.user, listed=listed)
    return csv_answer(lines, name)


@router.post(f"{PATH}/errors/causes", Can.MAKE_GOLD, response=CausesOut)
def set_error_cause(
    access: Access, version: int, author: int, wanted: Query[ScoreChoices], body: NewCause
) -> CausesOut:
    """Add a cause to an error, or remove it."""
    asked = _asked(access, version, author, wanted)
    found = _found(asked)
    with named({"kind": "cause", "error": "error"}):
        causes = change_error_cause(
            wanted=asked, found=found, error=body.error, kind=body.cause, present=body.present, user=access.user
        )
    return CausesOut(causes=sorted(causes))


# ── Shared ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _asked(access: Access, version: int, author: int, wanted: ScoreChoices) -> ScoreRequest:
    """Return the score that is asked for. Raises Http404, and Problem (422) for an unknown choice."""
    plain_request(access, version, author)
    choices = wanted.model_dump(include=set(ScoreChoices.model_fields), exclude_none=True)
    with named(FIELDS):
        return score_request(access.project, version=version, author_id=author, **choices)


def _found(asked: ScoreRequest) -> Score:
    found = score_now(asked)
    if found is None or not found.table["notes"]:
        raise Problem(409, "no-score", _("There is no score yet: it needs a job, or there are no notes to compare."))
    return found


def _listed(access: Access, version: int, author: int, filters: ErrorsWanted) -> ListedErrors:
    asked = _asked(access, version, author, filters)
    return ListedErrors.of(asked, _found(asked), filters.chosen())


def _error(listed: ListedErrors, row: Error, entry: Entry) -> ErrorOut:
    one = ErrorId.of(row)
    gold, predicted = (ErrorSpan(start=at[0], end=at[1], label=at[2]) if at else None for at in row[2:])
    return ErrorOut(
        error=str(one), note=entry.note, name=entry.name, kind=str(row[1]), line=entry.line, before=entry.before,
        marked=entry.marked, after=entry.after, gold=gold, predicted=predicted,
        causes=sorted(listed.causes.get(one, ())),
    )  # fmt: skip
