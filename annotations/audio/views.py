"""Pages of recordings: the list, the import, and the player with transcript and regions."""

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from csp.constants import NONCE, SELF
from csp.decorators import csp_update
from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotations.audio import selectors
from annotations.audio.forms import RecordingForm, RegionForm
from annotations.audio.rules.intervals import seconds_of
from annotations.audio.rules.sound import AudioMissing, library
from annotations.audio.services.regions import decide_region, mark_region
from annotations.audio.services.starting import start_recording
from annotations.core.access import Access, Can
from annotations.core.forms import attempted
from annotations.core.requests import FORM, Request, in_project, number, paged, posted, takes_uploads
from annotations.core.services import NOTE_READ, ServiceError
from annotations.core.stored_files import CHUNK
from annotations.models import AuthorKind, Recording, RegionDecision, RegionSort, StoredFile

ROWS = 50
REGIONS = 50
# A longer number than any file has bytes is no number here.
_RANGE = re.compile(r"\s*bytes\s*=(?=.?[0-9])([0-9]{0,18})-([0-9]{0,18})")
TYPES = {"FLAC": "audio/flac", "MP3": "audio/mpeg", "OGG": "audio/ogg"}


def lacking() -> str:
    """What this server lacks for recordings, as a sentence; empty if nothing."""
    try:
        library()
    except AudioMissing as error:
        return str(error)
    return ""


@in_project(Can.READ_NOTES)
def recordings(request: Request, access: Access) -> HttpResponse:
    """List the recordings with their notes."""
    rows = selectors.recordings(access.project).order_by("-pk")
    return render(request, "audio/recordings.html", {"page": paged(request, rows, ROWS), "lacking": lacking()})


@takes_uploads(Can.MANAGE)
@in_project(Can.MANAGE, *FORM)
def recording_import(request: Request, access: Access) -> HttpResponse:
    """Upload a recording, and start the job that makes a note of it."""
    form = RecordingForm(posted(request), request.FILES or None)
    start = partial(start_recording, project=access.project, actor=access.user)
    if job := attempted(form, lambda: start(**form.chosen), {"audio": "file", "name": "file", "recognizer": "folder"}):
        return redirect("job", access.slug, job.number)
    context = {"form": form, "lacking": lacking()}
    return render(request, "audio/import.html", context, status=422 if form.errors else 200)


@csp_update({"style-src": [NONCE], "media-src": [SELF]})
@in_project(Can.SEE_PROJECT)
def recording(request: Request, access: Access, pk: int) -> HttpResponse:
    """Show the player, the transcript and the regions. `set`: the annotation set that is muted, too.

    Annotators hear the recordings of notes assigned to them. They see their own spans, and no regions.
    """
    row = selectors.recording_for(access, pk)
    NOTE_READ.record(actor=access.user, project_id=access.project.pk, document_id=pk, data={})
    regions = [] if access.blind else list(row.regions.all())
    context = _context(request, access, row) | {
        "turns": selectors.turns_of(row, regions),
        "data": {
            "duration": row.duration,
            "peaks": row.peaks,
            "words": [[word.begin, word.finish] for word in selectors.words_of(row)],
        },
    }
    return render(request, "audio/recording.html", context)


def _context(request: Request, access: Access, row: Recording, problem: str = "") -> dict[str, Any]:
    """What the regions show: those of a page, and everything that is muted now."""
    sets = selectors.shown_sets(access, row)
    chosen = next((one for one in sets if one.pk == number(request.GET, "set")), None)
    if "set" not in request.GET:
        # Without a choice, what is muted should show: gold, or else the newest run.
        kinds = (AuthorKind.ANNOTATOR,) if access.blind else (AuthorKind.GOLD, AuthorKind.RUN)
        of_kinds = [[one for one in sets if one.author.kind == kind] for kind in kinds]
        chosen = next((max(some, key=lambda one: one.pk) for some in of_kinds if some), None)
    regions = [] if access.blind else list(row.regions.all())
    spans = selectors.spans_in(chosen.pk) if chosen else []
    intervals = selectors.muted_intervals(row, spans, regions=regions)
    only_open = request.GET.get("show") != "all"
    page = paged(request, [one for one in regions if not (only_open and one.decision)], REGIONS)
    state = {
        "intervals": intervals,
        "regions": [[one.pk, one.start, one.end, one.cause, selectors.is_muted(one)] for one in regions],
    }
    return {
        "recording": row,
        "note": row.document,
        "page": page,
        "only_open": only_open,
        "open_count": sum(not one.decision for one in regions),
        "sets": sets,
        "chosen": chosen,
        "state": json.dumps(state),
        "muted_seconds": seconds_of(intervals),
        "sorts": RegionSort.choices,
        "decisions": RegionDecision,
        "may_decide": access.can(Can.MAKE_GOLD),
        "query": request.GET.urlencode(),
        "problem": problem,
    }


@in_project(Can.MAKE_GOLD, "POST")
def region_mark(request: Request, access: Access, pk: int) -> HttpResponse:
    """Mute `start` to `end` (seconds)."""
    row = selectors.recording_for(access, pk)
    return _changed(request, access, row, lambda given: mark_region(recording=row, **given, actor=access.user))


@in_project(Can.MAKE_GOLD, "POST")
def region_decide(request: Request, access: Access, pk: int, region: int) -> HttpResponse:
    """Change the bounds of a region, or decide whether it is muted."""
    row = selectors.recording_for(access, pk)
    found = selectors.region_of(row, region)
    return _changed(
        request, access, row,
        lambda given: decide_region(
            region=found, **given, decision=request.POST.get("decision", ""), sort=request.POST.get("sort", ""),
            actor=access.user, seen=request.POST.get("seen"),
        ),
    )  # fmt: skip


def _changed(request: Request, access: Access, row: Recording, change: Any) -> HttpResponse:
    """Change a region as the form says, and show the regions; a page without scripts goes back to the recording."""
    form, problem = RegionForm(request.POST), ""
    if form.is_valid():
        try:
            change({"start": form.cleaned_data["start"], "end": form.cleaned_data["end"]})
        except ServiceError as error:
            problem = str(error)
    else:
        problem = _("Enter the start and the end in seconds.")
    if not request.htmx and not problem:
        return redirect("recording", access.slug, row.document_id)
    context = _context(request, access, row, problem)
    # htmx shows the answer to a refused change, too.
    return render(request, "audio/regions.html", context, status=200 if request.htmx or not problem else 422)


@in_project(Can.SEE_PROJECT)
def recording_file(request: Request, access: Access, pk: int) -> HttpResponseBase:
    """Send the recording, or the part that a well-formed header Range names. Hearing it counts as reading.

    A player asks for one part after the other: they are recorded once in an hour.
    """
    row = selectors.recording_for(access, pk)
    try:
        stored = selectors.original_of(row)
    except ServiceError as error:
        raise Http404(str(error)) from error
    asked = _RANGE.fullmatch(request.headers.get("Range", ""))
    start, end = _part(asked[1], asked[2], stored.size) if asked else (0, stored.size)
    if start >= end:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{stored.size}"})
    if start == 0 or not selectors.has_read_lately(access, pk):
        NOTE_READ.record(
            actor=access.user, project_id=access.project.pk, document_id=pk, data={"what": "recording"}
        )  # fmt: skip
    response = StreamingHttpResponse(
        _bytes(stored, start, end), status=206 if asked else 200, content_type=TYPES.get(row.format, "audio/wav")
    )
    response["Accept-Ranges"] = "bytes"
    response["Cache-Control"] = "no-store, private"
    response["Content-Disposition"] = "inline"
    response["Content-Length"] = end - start
    if asked:
        response["Content-Range"] = f"bytes {start}-{end - 1}/{stored.size}"
    return response


def _part(first: str, last: str, size: int) -> tuple[int, int]:
    """The first byte and the end (exclusive) of the part that a header asks for; empty if the file has no such part."""
    start = int(first) if first else max(0, size - int(last))
    return start, min(int(last) + 1 if first and last else size, size)


def _bytes(stored: StoredFile, start: int, end: int) -> Iterator[bytes]:
    """The bytes of a stored file, with one chunk in memory."""
    for at in range(start // CHUNK, -(-end // CHUNK)):
        data = bytes(stored.chunks.values_list("data", flat=True).get(number=at))
        yield data[max(0, start - at * CHUNK) : end - at * CHUNK]
