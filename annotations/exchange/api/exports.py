"""Routes of exports: what can be exported, preview, start, the files that are ready, downloads."""

import uuid
from datetime import datetime

from django.core.exceptions import PermissionDenied
from django.http import Http404, StreamingHttpResponse
from django.utils.translation import gettext as _
from ninja import Field, Schema

from annotations.core.access import Access, Can, closed_to
from annotations.core.answers import attachment
from annotations.core.api.mount import sends
from annotations.core.api.routes import Answer, ApiRequest, Body, Problem, ProjectRouter, Username, invalid, named
from annotations.core.services import ServiceError
from annotations.core.tokenizers import KINDS
from annotations.exchange import selectors
from annotations.exchange.forms.exports import set_choices
from annotations.exchange.services.exporting import ExportOrder
from annotations.exchange.services.label_mappings import ExportLabels, WrittenLabel, labels_in_words, written_lines
from annotations.exchange.services.staged import start_export, unknown_set
from annotations.exchange.services.writing import ExportOptions
from annotations.formats import FORMATS
from annotations.gold.services.splitting import LAYOUTS
from annotations.jobs.api import JobItem
from annotations.models import Job, Project
from annotations.notes.selectors.notes import PAGE

router = ProjectRouter(tags=["Export"])
PATH = "/projects/{slug:slug}/exports"
FIELDS = {
    "set": "set", "version": "set", "split": "split", "format": "format", "tokenizer": "tokenizer",
    "options": "format", "mapping": "mapping", "labels": "map_labels", "code": "map_labels", "case": "map_labels",
    "unmapped": "mapping", "notes": "notes",
}  # fmt: skip


class FileItem(Answer):
    """A stored file, which can be downloaded until `expires_at`. `size` is in bytes."""

    id: int
    name: str
    size: int
    sha256: str
    created_by: Username
    created_at: datetime
    expires_at: datetime | None


class ExportChoices(Schema):
    """What can be exported: annotation sets, formats, splits, tokenizers, and label mappings by name."""

    sets: list[str]
    formats: list[str]
    splits: list[str]
    tokenizers: list[str]
    mappings: list[str]


class OtherCodes(Body):
    """Other codes for labels, as `export_documents` takes them.

    `mapping` names a label mapping. `map_labels` gives the code to write for a label, and `skip_labels` leaves out the
    spans of labels.
    """

    mapping: str = Field("", max_length=80)
    map_labels: dict[str, str] = {}
    skip_labels: list[str] = Field([], max_length=500)

    def chosen(self, project: Project) -> ExportLabels:
        """Return the codes to write. Raises Problem (422)."""
        if bad := [label for label, code in self.map_labels.items() if "=" in code]:
            raise invalid(*((f"map_labels.{label}", _("A code can't have “=”.")) for label in bad))
        with named(FIELDS):
            return labels_in_words(
                project, mapping=self.mapping, skipped=self.skip_labels,
                mapped=[f"{label}={code}" for label, code in self.map_labels.items()],
            )  # fmt: skip


class NewExport(OtherCodes):
    """What to export, as the export page takes it.

    `split`: folders, train, dev or test, for a gold version with a split. `layer`: for XMI, CAS JSON and WebAnno TSV,
    the type and feature of the spans in INCEpTION, such as webanno.custom.PHI:kind; empty for named entities.
    `notes`: only these notes, by their ids; empty for all.
    """

    set: str = Field(max_length=200)
    format: str
    split: str = ""
    sentences: bool = False
    spaced: bool = False
    tokenizer: str = ""
    layer: str = ""
    notes: list[int] = Field([], max_length=PAGE)


class ExportPreview(Schema):
    """How many spans would be written, by written code. Equal spans of merged labels are still counted twice."""

    spans: int
    written: list[WrittenLabel]


@router.get(f"{PATH}/choices", Can.EXPORT, response=ExportChoices)
def export_choices(access: Access) -> ExportChoices:
    """List what can be exported, and how."""
    return ExportChoices(
        sets=[choice.spec for choice in set_choices(access.project, without=access.closed_kinds)],
        formats=list(FORMATS), splits=list(LAYOUTS), tokenizers=list(KINDS),
        mappings=[one.name for one in selectors.mappings_of(access.project)],
    )  # fmt: skip


@router.post(f"{PATH}/preview", Can.EXPORT, response=ExportPreview)
def preview_export(access: Access, body: NewExport) -> ExportPreview:
    """Count the spans that an export would write, by written label. Nothing is stored."""
    order = _order(access, body)
    with named(FIELDS):
        wanted = order.check(access.project)
        lines = written_lines(access.project, selectors.spans_by_label(wanted), order.labels)
    return ExportPreview(spans=sum(line.spans for line in lines if line.code), written=lines)


@router.post(PATH, Can.EXPORT, response={202: JobItem})
def new_export(access: Access, body: NewExport) -> Job:
    """Start an export. The job's result has the id of the file to download."""
    order = _order(access, body)
    with named(FIELDS):
        return start_export(project=access.project, actor=access.user, token=uuid.uuid4().hex, **vars(order))


@router.get("/projects/{slug:slug}/files", Can.EXPORT, response=list[FileItem])
def list_files(access: Access) -> list[FileItem]:
    """List the exports that can be downloaded, the newest first, at most 100."""
    return [FileItem.from_orm(one) for one in selectors.ready_files(access.project, without=access.closed_kinds)]


@router.get(
    "/projects/{slug:slug}/files/{int:file}", Can.EXPORT, response={200: None}, openapi_extra=sends("application/zip")
)  # fmt: skip
def download_file(request: ApiRequest, access: Access, file: int) -> StreamingHttpResponse:
    """Download an export, or the export of a release. The audit log records it."""
    stored = selectors.file_for(access, file)
    if stored is None:
        reason = selectors.why_withdrawn(access.project, file)
        raise Problem(404, "deleted", reason) if reason else Http404("This file does not exist.")
    return attachment(request, access, stored)


@router.get(
    "/projects/{slug:slug}/notes/{int:note}/original", Can.EXPORT, response={200: None},
    openapi_extra=sends("application/octet-stream"),
)  # fmt: skip
def download_original(request: ApiRequest, access: Access, note: int) -> StreamingHttpResponse:
    """Download the document from which a note was extracted. The audit log records it."""
    return attachment(request, access, selectors.original_of(access, note), note=note)


def _order(access: Access, body: NewExport) -> ExportOrder:
    """Check what is asked for. Raises Problem (422), PermissionDenied."""
    if closed_to(access, spec=body.set):
        raise PermissionDenied("You may not export these annotation sets.")
    writing = ExportOptions(sentences=body.sentences, spaced=body.spaced, tokenizer=body.tokenizer, layer=body.layer)
    labels = body.chosen(access.project)
    order = ExportOrder(body.set, body.format, body.split, writing, labels, tuple(body.notes))
    with named(FIELDS):
        try:
            order.check(access.project)
        except ServiceError as error:
            raise unknown_set() if error.code == "set" else error from None
    return order
