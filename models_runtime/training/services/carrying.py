"""Calibrations in model files: added to each download, and stored when the file is uploaded somewhere."""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Final, NamedTuple

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.stored_files import CHUNK, read_chunks
from annotations.models import StoredFile, User
from models_runtime.models import OF_MODEL, Calibration, TrainedModel
from models_runtime.training.rules import BadCalibration, Carried, as_text, from_text

# A text at the end of a zip file, as the archive's comment (PKWARE, APPNOTE.TXT 6.3.10, section 4.3.16).
#
# A model's file carries its calibrations there: the rest of the file stays as it is, byte for byte, and readers that
# know nothing of it read the same archive.


# The last part of a zip file without a comment, which ends with the length of the comment in two bytes.
_END: Final = b"PK\x05\x06"
_END_SIZE: Final = 22
_NO_COMMENT: Final = b"\0\0"
MOST: Final = 0xFFFF


def with_comment(chunks: Iterable[bytes], comment: bytes) -> Iterator[bytes]:
    """The content of a zip file that has no comment, with this one. It gets longer by the comment's length."""
    held = b""
    for data in chunks:
        whole = held + data
        yield whole[: -len(_NO_COMMENT)]
        held = whole[-len(_NO_COMMENT) :]
    if held != _NO_COMMENT or len(comment) > MOST:
        raise ValueError("The file already has a comment, or the new one is too long.")
    yield len(comment).to_bytes(2, "little") + comment


def ends_bare(tail: bytes) -> bool:
    """Whether a file that ends with `tail` (at least 22 bytes) is a zip file without a comment."""
    end = tail[-_END_SIZE:]
    return end.startswith(_END) and end.endswith(_NO_COMMENT)


def comment_of(content: IO[bytes], beginning: bytes) -> bytes:
    """The comment of a zip file if it starts with `beginning`, else empty."""
    size = content.seek(0, 2)
    content.seek(max(0, size - MOST - _END_SIZE))
    tail = content.read()
    at = tail.find(_END)
    while at >= 0:
        comment = tail[at + _END_SIZE :]
        length = int.from_bytes(tail[at + _END_SIZE - 2 : at + _END_SIZE], "little")
        if comment.startswith(beginning) and len(comment) == length:
            return comment
        at = tail.find(_END, at + 1)
    return b""


def without_comment(content: IO[bytes], comment: bytes, copy: IO[bytes], chunk: int) -> None:
    """Write the file without its `comment` to `copy`, as it was before `with_comment`."""
    left = content.seek(0, 2) - len(comment) - len(_NO_COMMENT)
    content.seek(0)
    while left and (data := content.read(min(chunk, left))):
        copy.write(data)
        left -= len(data)
    copy.write(_NO_COMMENT)
    copy.seek(0)


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
