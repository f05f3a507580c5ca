"""A released note beside its original, and the surrogates that the pages of notes show."""

from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Can, enter, note_for
from annotations.core.changes import malformed
from annotations.core.events import NOTE_READ
from annotations.core.requests import Request, body_of, bounds_of
from annotations.models import ReleasedNote
from annotations.notes.selectors.in_context import label_looks
from annotations.release.selectors.about import around_note
from annotations.release.selectors.beside import beside, stored_findings, stored_pieces
from annotations.release.selectors.releases import release_for


@require_safe
def release_note(request: Request, slug: str, number: int, pk: int) -> HttpResponse:
    """Show the original and the released text of a note side by side. Opening the page is recorded."""
    access = enter(request.user, slug, Can.RELEASE)
    release = release_for(access, number)
    rows = ReleasedNote.objects.filter(release=release).select_related("document")
    note = get_object_or_404(rows, document_id=pk)
    NOTE_READ.record(
        actor=access.user, project_id=access.project.pk, document_id=pk, data={"what": "released note"}
    )
    findings = list(note.findings.all())
    previous, following = around_note(note)
    waiting = note.state == ReleasedNote.State.PENDING
    context = {
        "access": access,
        "release": release,
        "note": note,
        "rows": []
        if waiting
        else beside(
            note.document.text,
            note.text,
            stored_pieces(note.pieces),
            stored_findings(findings),
            looks=label_looks(access.project),
        ),
        "findings": findings,
        "open": sum(not finding.decision for finding in findings),
        "previous": previous,
        "following": following,
    }
    return render(request, "release/note.html", context)
