"""Route of the search in the texts of notes."""

from typing import Literal, Self

from ninja import Field, Router, Schema

from annotations.core.api.problems import named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.notes.api import label_coded
from annotations.notes.selectors.searching import NoteHits, Options
from annotations.notes.services.searching import LONGEST, search_at_once
from annotations.text.numbers import MAX_ID

router = Router(tags=["Notes"])


class NoteSearch(Body):
    """What to search for, in the notes after the id `after`.

    `where`: everywhere, only unmarked text, or only spans with the `label`, a code. `annotations` are the person's own
    or gold, as far as `where` needs them.
    """

    text: str = Field(min_length=1, max_length=LONGEST)
    word: bool = False
    case: bool = False
    ignore_accents: bool = False
    where: Literal["all", "unlabeled", "label"] = "all"
    label: str = Field("", max_length=60)
    annotations: Literal["own", "gold"] = "own"
    after: int = Field(0, ge=0, le=MAX_ID)


class HitItem(Schema):
    """A hit with the text around it. Offsets are code points, end-exclusive; `line` counts from 1."""

    start: int
    end: int
    line: int
    before: str
    found: str
    after: str


class FoundNote(Schema):
    """A note with its first 10 hits, and the number of all hits in it."""

    note: int
    name: str
    count: int
    hits: list[HitItem]

    @classmethod
    def of(cls, one: NoteHits) -> Self:
        hits = [
            HitItem(start=hit.start, end=hit.end, line=hit.line, before=hit.before, found=hit.found, after=hit.after)
            for hit in one.hits
        ]
        return cls(note=one.pk, name=one.name, count=one.count, hits=hits)


class SearchResults(Schema):
    """At most 25 notes with hits. `looked` counts the notes searched. `next` is the next `after`; null at the end."""

    notes: list[FoundNote]
    looked: int
    next: int | None


@router.post("/projects/{slug:slug}/search", response=SearchResults)
def search_notes(request: ApiRequest, slug: str, body: NoteSearch) -> SearchResults:
    """Search the texts of the notes that the person may open. Words are in the body; the audit log has counts only."""
    access = enter(request, slug)
    label = label_coded(access.project, body.label) if body.where == "label" and body.label else None
    options = Options(
        case=body.case, accents=not body.ignore_accents, word=body.word, where=body.where, label=label,
        annotation_set=body.annotations,
    )  # fmt: skip
    with named({"text": "text", "label": "label", "annotations": "annotations"}):
        found = search_at_once(access=access, text=body.text, options=options, after=body.after)
    return SearchResults(notes=[FoundNote.of(one) for one in found.notes], looked=found.looked, next=found.next)
