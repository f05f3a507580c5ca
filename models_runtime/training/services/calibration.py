"""Start, find, describe and withdraw calibrations. The work itself is in models_runtime.training.jobs.calibration."""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Final, NamedTuple

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.access import Access
from annotations.core.services import ServiceError
from annotations.core.stored_files import CHUNK, read_chunks
from annotations.jobs.services.queue import once
from annotations.models import AuthorKind, GoldVersion, Job, Project, StoredFile, User
from annotations.scores.services.scoring import score_request
from models_runtime.backends.marginals import revision_without
from models_runtime.models import OF_MODEL, Calibration, Run, TrainedModel
from models_runtime.training.events import CALIBRATION_WITHDRAWN
from models_runtime.training.jobs.calibration import calibration_by, keep, newest
from models_runtime.training.rules.carried import BadCalibration, CarriedCalibration, as_text, from_text, vars_of
from models_runtime.training.rules.curves import Curve

# The number of points by which commands print a curve.
POINTS = 21


def calibration_for(access: Access, pk: int) -> Calibration:
    """A calibration of the project. Raises Http404."""
    rows = Calibration.objects.select_related("run__author", "model", "created_by")
    return get_object_or_404(rows, project=access.project, pk=pk)


def run_and_gold(
    project: Project, *, gold: int, author_id: int | None = None, name: str = ""
) -> tuple[Run, GoldVersion]:
    """Find the run, by author or name, and the gold version. Raises ServiceError, with the choices in its message."""
    wanted = score_request(
        project, version=gold, author_id=author_id, author=f"{AuthorKind.RUN}:{name}" if name else ""
    )
    run = Run.objects.filter(author=wanted.author).select_related("project", "author", "model").first()
    if run is None:
        message = _("%(name)s is not a run of a backend in this project, so it can't be calibrated. Choose a run.")
        raise ServiceError(message % {"name": wanted.author.name}, code="run")
    if not run.revision:
        message = _("The run “%(name)s” has not processed any note yet. Wait until it has.")
        raise ServiceError(message % {"name": run.author.name}, code="run")
    if wanted.reference.version is None:
        raise ServiceError(_("Calibration needs a frozen gold version. Enter its number."), code="version")
    return run, wanted.reference.version


def calibrate(*, project: Project, run: str, gold: int, actor: User | None) -> Calibration:
    """Calibrate in this process. Raises ServiceError, also if there are too few spans."""
    row, version = run_and_gold(project, gold=gold, name=run)
    made = calibration_by(row, version)
    with transaction.atomic():
        keep(made, actor)
    return made


@dataclass(frozen=True)
class CalibrationInUse:
    """A backend's newest calibration. `applies` tells whether it is for the current revision, so that runs use it.

    None: the revision of the backend is not known yet.
    """

    row: Calibration
    applies: bool | None


def calibration_in_use(project: Project, backend: str, revision: str) -> CalibrationInUse | None:
    """Return the calibration for this revision, else the newest for another revision, which is not applied.

    Of the latter, calibrations made in this project come first.
    """
    rows = Calibration.objects.filter(project=project, backend=backend, withdrawn_at=None).select_related("run__author")
    row = (
        rows.filter(pk=used.pk).first()
        if (used := newest(project, backend, revision))
        else rows.order_by("uploaded", "-pk").first()
    )
    return CalibrationInUse(row, row.revision in (revision, revision_without(revision))) if row else None


def withdraw(*, calibration: Calibration, actor: User | None) -> None:
    """Withdraw a calibration. New runs use the previous one, if any. Existing runs keep their confidence."""
    with transaction.atomic():
        changed = Calibration.objects.filter(pk=calibration.pk, withdrawn_at=None).update(withdrawn_at=timezone.now())
        if changed:
            CALIBRATION_WITHDRAWN.record(
                actor=actor,
                project_id=calibration.project_id,
                data={"backend": calibration.backend, "calibration": calibration.pk},
            )


def summary(row: Calibration) -> dict[str, Any]:
    """Return a calibration as commands print it."""
    before, after = row.figures["before"], row.figures["after"]
    curves = {"": row.curves["pool"]} | row.curves["labels"]
    return {
        "calibration": row.word,
        "calibration_id": row.pk,
        "backend": row.backend,
        "revision": row.revision,
        "run": row.run.author.name if row.run else None,
        "held_out": row.held_out,
        "uploaded": row.uploaded,
        "gold": row.gold_number,
        "gold_hash": row.gold_hash,
        "date": row.created_at.isoformat(timespec="seconds"),
        "notes": row.notes,
        "spans": before["spans"],
        "own_gold_spans": row.own_spans,
        "left_out": row.left_out,
        "method": row.curves["method"],
        **{name: {"before": before[name], "after": after[name]} for name in ("ece", "brier", "groups")},
        "labels": row.figures["labels"],
        "curves": {label: _points(values) for label, values in curves.items()},
    }


def _points(values: list[float]) -> list[list[float]]:
    """Return the curve with these parameters as points [raw, calibrated]."""
    curve, steps = Curve(*values), POINTS - 1
    return [[at / steps, round(curve(at / steps), 4)] for at in range(POINTS)]


def start_calibration(*, project: Project, author_id: int, gold: int, actor: User, token: str = "") -> Job:
    """Start the job that calibrates a backend with a run and a gold version. Raises ServiceError."""
    run, version = run_and_gold(project, gold=gold, author_id=author_id)
    return once("calibrate", project, {"run_id": run.pk, "gold": version.number}, actor, token)


# Calibrations in model files: added to each download, and stored when the file is uploaded somewhere.


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


def _in_use(model: TrainedModel) -> list[CarriedCalibration]:
    rows = Calibration.objects.filter(project=model.project_id, backend=f"{OF_MODEL}{model.pk}", withdrawn_at=None)
    newest: dict[str, Calibration] = {}
    for row in rows.order_by("-pk"):
        newest.setdefault(row.revision, row)
    return [CarriedCalibration(**vars_of(row)) for row in newest.values()]


@contextmanager
def apart(content: IO[bytes]) -> Iterator[tuple[IO[bytes], list[CarriedCalibration]]]:
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
            message = _("This file can't be used: its calibration belongs to another file. Download the model again.")
            raise ServiceError(message, code="format")
        copy.seek(0)
        try:
            carried = from_text(text)
        except BadCalibration as error:
            message = _("This file can't be used: its calibration can't be read. Download the model again.")
            raise ServiceError(message, code="format") from error
        yield copy, carried


def keep_carried(model: TrainedModel, carried: list[CarriedCalibration], actor: User | None) -> int:
    """Store the calibrations that came with an uploaded file, the newest last, in the caller's transaction.

    Calibrations of revisions for which the model had one already are left out, so that withdrawn ones stay withdrawn.
    Returns the number of the stored ones.
    """
    had = set(model.calibrations.order_by().values_list("revision", flat=True))
    new = [one for one in reversed(carried) if one.revision not in had]
    for one in new:
        about = {"project": model.project, "backend": f"{OF_MODEL}{model.pk}", "model": model, "created_by": actor}
        Calibration.objects.create(uploaded=True, **about, **vars_of(one))
    return len(new)
