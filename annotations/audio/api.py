"""Routes of recordings."""

from ninja import Field, File, Form, Query, Schema, UploadedFile

from annotations.audio import selectors
from annotations.audio.rules.intervals import MARGIN
from annotations.audio.rules.recognizers import POCKETSPHINX
from annotations.audio.services.regions import decide_region, mark_region
from annotations.audio.services.starting import start_recording
from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, PageAnswer, Paging, paged_rows
from annotations.core.api.routes import Answer, ApiRequest, Body, ProjectRouter, Username, named
from annotations.core.requests import takes_uploads
from annotations.jobs.api import JobItem
from annotations.models import AudioRegion, Job, Recording, RegionDecision, RegionSort

router = ProjectRouter(tags=["Recordings"])
PATH = "/projects/{slug:slug}/recordings"
ONE = "/projects/{slug:slug}/notes/{int:note}/recording"


class RecordingOptions(Schema):
    """Where the words come from, if no file of words is sent; the patient of the note; and the margin in seconds."""

    recognizer: str = POCKETSPHINX
    patient: str = ""
    margin: float = MARGIN


class RecordingItem(Answer):
    """A recording: its note, samples of each channel, samples a second, and regions that nobody has decided."""

    note: int = Field(validation_alias="document_id")
    format: str
    rate: int
    channels: int
    frames: int
    source: str
    voice: str
    margin: float
    widened: int
    open_regions: int


class RegionItem(Answer):
    """A part of a recording that is suggested for muting: seconds, cause (gap, confidence, person), and decisions."""

    id: int
    start: float
    end: float
    cause: str
    verdict: str
    sort: str
    decision: str
    decided_by: Username


class RegionBounds(Body):
    """The bounds of a part of a recording, in seconds."""

    start: float = Field(ge=0, allow_inf_nan=False)
    end: float = Field(gt=0, allow_inf_nan=False)


class RegionChange(RegionBounds):
    """Bounds, decision and sort of a region. An empty decision opens the region again."""

    decision: RegionDecision | None = None
    sort: RegionSort | None = None


@router.post(PATH, Can.MANAGE, response={202: JobItem})
@takes_uploads(Can.MANAGE)
def import_recording(
    access: Access, options: Form[RecordingOptions], file: File[UploadedFile], words: File[UploadedFile | None] = None
) -> Job:
    """Upload a recording, with or without a file of its words, and start the job that makes a note of it."""
    given = (words.name or "", words.read()) if words else None
    fields = {name: name for name in ("words", "recognizer", "margin", "patient")}
    with named({"audio": "file", "name": "file", **fields}):
        return start_recording(
            project=access.project, name=file.name or "", content=file, words=given, actor=access.user, **options.dict()
        )


@router.get(PATH, Can.READ_NOTES, response=Page[RecordingItem])
def list_recordings(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the recordings."""
    return paged_rows(request, paging, selectors.recordings(access.project).order_by("pk"), RecordingItem.from_orm)


@router.get(f"{ONE}/regions", Can.READ_NOTES, response=list[RegionItem])
def list_audio_regions(access: Access, note: int) -> list[AudioRegion]:
    """List the parts of a recording that are suggested for muting beside its words."""
    return list(_regions(access, note).regions.select_related("decided_by"))


@router.post(f"{ONE}/regions", Can.MAKE_GOLD, response={201: RegionItem})
def mark_audio_region(access: Access, note: int, body: RegionBounds) -> AudioRegion:
    """Mute a part of a recording."""
    with named({"bounds": "end"}):
        return mark_region(recording=_regions(access, note), **body.dict(), actor=access.user)


@router.patch(f"{ONE}/regions/{{int:region}}", Can.MAKE_GOLD, response=RegionItem)
def decide_audio_region(access: Access, note: int, region: int, body: RegionChange) -> AudioRegion:
    """Change the bounds of a region, or decide about it."""
    found = selectors.region_of(_regions(access, note), region)
    with named({"bounds": "end"}):
        return decide_region(
            region=found, start=body.start, end=body.end, decision=body.decision or "", sort=body.sort or "",
            actor=access.user,
        )  # fmt: skip


def _regions(access: Access, note: int) -> Recording:
    return selectors.recording_for(access, note)
