"""Calibrations in model files: added to each download, and stored when the file is uploaded somewhere."""

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Final, NamedTuple

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.stored_files import CHUNK, read_chunks
from annotations.models import StoredFile, User
from models_runtime.core.zip_comments import MOST, comment_of, ends_bare, with_comment, without_comment
from models_runtime.models import OF_MODEL, Calibration, TrainedModel
from models_runtime.training.rules import BadCalibration, Carried, as_text, from_text

# What the comment of a model file starts with: a version of the format; the sha256 of the file without it follows.
BEGINNING: Final = b"deidreview calibrations 1 "


class Content(NamedTuple):
    """A file to download: its parts, and its size in bytes."""

    chunks: Iterator[bytes]
    size: int


def content_of(model: TrainedModel, stored: StoredFile) -> Content:
    """The model's file with the calibrations that its runs use: the newest one of each revision."""
    carried = _in_use(model)
    # The last 22 bytes may be in the last two chunks.
    ends = b"".join(
        bytes(data) for data in reversed(stored.chunks.order_by("-number").values_list("data", flat=True)[:2])
    )
    start = BEGINNING + stored.sha256.encode() + b"\n"
    text = as_text(carried, longest=MOST - len(start))
    if not text or not ends_bare(ends):
        return Content(read_chunks(stored), stored.size)
    comment = start + text
    return Content(with_comment(read_chunks(stored), comment), stored.size + len(comment))


def _in_use(model: TrainedModel) -> list[Carried]:
    rows = Calibration.objects.filter(project=model.project_id, backend=f"{OF_MODEL}{model.pk}", withdrawn_at=None)
    newest: dict[str, Calibration] = {}
    for row in rows.order_by("-pk"):
        newest.setdefault(row.revision, row)
    return [
        Carried(
            revision=row.revision, held_out=row.held_out, gold_number=row.gold_number, gold_hash=row.gold_hash,
            notes=row.notes, own_spans=row.own_spans, left_out=row.left_out, curves=row.curves, figures=row.figures,
        )
        for row in newest.values()
    ]  # fmt: skip


@contextmanager
def apart(content: IO[bytes]) -> Iterator[tuple[IO[bytes], list[Carried]]]:
    """A model file without its calibrations, as it was before the download, and the calibrations.

    Raises ServiceError `format` if they can't be read or belong to another file.
    """
    comment = comment_of(content, BEGINNING)
    content.seek(0)
    if not comment:
        yield content, []
        return
    digest, _line, text = comment.removeprefix(BEGINNING).partition(b"\n")
    with tempfile.TemporaryFile() as copy:
        without_comment(content, comment, copy, CHUNK)
        if hashlib.file_digest(copy, "sha256").hexdigest().encode() != digest:
            raise ServiceError(
                _("This file can't be used: its calibration belongs to another file. Download the model again."),
                code="format",
            )
        copy.seek(0)
        try:
            carried = from_text(text)
        except BadCalibration as error:
            raise ServiceError(
                _("This file can't be used: its calibration can't be read. Download the model again."), code="format"
            ) from error
        yield copy, carried


def keep_carried(model: TrainedModel, carried: list[Carried], actor: User | None) -> int:
    """Store the calibrations that came with an uploaded file, the newest last, in the caller's transaction.

    Calibrations of revisions for which the model had one already are left out, so that withdrawn ones stay withdrawn.
    Returns the number of the stored ones.
    """
    had = set(model.calibrations.order_by().values_list("revision", flat=True))
    new = [one for one in reversed(carried) if one.revision not in had]
    for one in new:
        Calibration.objects.create(
            project=model.project, backend=f"{OF_MODEL}{model.pk}", revision=one.revision, model=model,
            held_out=one.held_out, uploaded=True, gold_number=one.gold_number, gold_hash=one.gold_hash,
            notes=one.notes, own_spans=one.own_spans, left_out=one.left_out, curves=one.curves, figures=one.figures,
            created_by=actor,
        )  # fmt: skip
    return len(new)
