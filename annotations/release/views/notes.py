"""A released note beside its original, and the surrogates that the pages of notes show."""

from typing import Any

from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Can, enter, note_for
from annotations.core.answers import json_answers
from annotations.core.changes import malformed
from annotations.core.events import NOTE_READ
from annotations.core.requests import Request, body_of, bounds_of
from annotations.models import Document, Label, ReleasedNote, ReleasedNoteState
from annotations.notes.selectors.in_context import label_looks
from annotations.release.selectors.about import around_note
from annotations.release.selectors.beside import beside, stored_findings, stored_pieces
from annotations.release.selectors.releases import release_for
from annotations.release.services.viewing import SURROGATES, viewed
from annotations.text.spans import Span

MOST_SPANS = 10_000


@require_safe
def release_note(request: Request, slug: str, number: int, pk: int) -> HttpResponse:
    """Show the original and the released text of a note side by side. Opening the page is recorded."""
    access = enter(request.user, slug, Can.RELEASE)
    release = release_for(access, number)
    rows = ReleasedNote.objects.filter(release=release).select_related("document")
    note = get_object_or_404(rows, document_id=pk)
    NOTE_READ.record(actor=access.user, project_id=access.project.pk, document_id=pk, data={"what": "released note"})
    findings = list(note.findings.all())
    previous, following = around_note(note)
    waiting, pieces = note.state == ReleasedNoteState.PENDING, stored_pieces(note.pieces)
    context = {
        "access": access,
        "release": release,
        "note": note,
        "rows": []
        if waiting
        else beside(
            note.document.text,
            note.text,
            pieces,
            stored_findings(findings, pieces),
            looks=label_looks(access.project),
        ),
        "findings": findings,
        "open": sum(not finding.decision for finding in findings),
        "previous": previous,
        "following": following,
    }
    return render(request, "release/note.html", context)


@require_POST
@json_answers(_("You don't have permission to see surrogates in this project."))
def note_surrogates(request: Request, slug: str, pk: int) -> HttpResponse:
    """Surrogates for spans of a note, as JSON, for a page on which the spans change.

    The request has `spans`, a list of [start, end, label id]. The answer has `texts`: [start, end, text] of each
    stretch that the spans cover. The page that asks has recorded that the note was opened.
    """
    access = enter(request.user, slug, Can.MAKE_GOLD)
    document = note_for(access, pk)
    document.project = access.project
    found = viewed(document=document, spans=_spans(document, body_of(request)), view=SURROGATES)
    texts = [[piece.start, piece.end, found.text[piece.new_start : piece.new_end]] for piece in found.pieces]
    return JsonResponse({"texts": texts})


def _spans(document: Document, body: dict[str, Any]) -> list[Span]:
    rows = body.get("spans")
    if not isinstance(rows, list) or len(rows) > MOST_SPANS:
        raise malformed(_("The field “spans” must be a list of at most %(most)s spans."), most=f"{MOST_SPANS:,}")
    codes = dict(Label.objects.filter(label_set__project=document.project).values_list("pk", "code"))
    spans = []
    for row in rows:
        if not isinstance(row, list) or len(row) != 3:
            raise malformed(_("The field “spans” must hold lists of start, end and label."))
        start, end, label = bounds_of(row)
        if not start < end <= document.length or label not in codes:
            raise malformed(_("A span is outside of the text, or its label does not exist. Reload the page."))
        spans.append(Span(start, end, codes[label]))
    return spans
