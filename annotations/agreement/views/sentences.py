"""Disagreements by sentence, as a page and as CSV: one row for each sentence, one column for each annotator."""

from itertools import islice
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseClientRefresh

from annotations.agreement.selectors.disagreements import Filters
from annotations.agreement.selectors.sentences import PAGE, columns, sentence_lines, sentences, used_columns
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.agreement.views.disagreements import (
    AT_ONCE,
    IN_STEPS,
    comparing,
    filters_of,
    offered,
    pair_of,
    query_of,
)
from annotations.core.access import Access, Can, enter
from annotations.core.answers import csv_answer
from annotations.core.events import FILE_DOWNLOADED, record_reads
from annotations.core.requests import Request


@require_safe
def disagreement_sentences(request: Request, slug: str) -> HttpResponse:
    """Show a page of sentences. Notes with changed annotations are compared first, if many with a progress bar."""
    access = enter(request.user, slug, Can.READ_NOTES)
    left = bring_up_to_date(access.project, seconds=IN_STEPS if request.htmx else AT_ONCE)
    if request.htmx:
        return HttpResponseClientRefresh() if not left else comparing(request, access, left)
    filters, notice = filters_of(request, access)
    context: dict[str, Any] = {"access": access, "left": left, "notice": notice, "query": query_of(filters)}
    if not left:
        context |= _page(request, access, filters)
    return render(request, "agreement/sentences.html", context | offered(access, filters))


def _page(request: Request, access: Access, filters: Filters) -> dict[str, Any]:
    after = pair_of(request.GET, "after")
    found = list(islice(sentences(access.project, filters, hidden=access.unnamed, after=after), PAGE + 1))
    shown = found[:PAGE]
    notes = (one.note.pk for one in shown)
    record_reads(actor=access.user, project_id=access.project.pk, notes=notes, what="disagreements")
    last = shown[-1].stretch if len(found) > PAGE else None
    return {
        "sentences": shown,
        "columns": used_columns(shown, columns(access.project, hidden=access.unnamed)),
        "first": after is None,
        "next": f"{last.document_id}-{last.last}" if last else "",
        "narrowed": bool(query_of(filters)) or after is not None,
    }


@require_safe
def sentences_export(request: Request, slug: str) -> HttpResponse | StreamingHttpResponse:
    """The sentences that pass the filters, as CSV. The download is recorded as an event."""
    access = enter(request.user, slug, Can.EXPORT)
    filters, _notice = filters_of(request, access)
    if bring_up_to_date(access.project, seconds=AT_ONCE):
        messages.info(request, _("The annotations are still being compared. Download the table after that."))
        return redirect("disagreement_sentences", slug)
    FILE_DOWNLOADED.record(actor=access.user, project_id=access.project.pk, data={"sentences": "csv"})
    lines = sentence_lines(access.project, filters, hidden=access.unnamed)
    return csv_answer(lines, f"{slug}-disagreements-{timezone.localdate().isoformat()}.csv")
