"""Write a whole project to an archive."""

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.bulk import in_batches
from annotations.core.services import (
    ARCHIVE_WRITTEN,
    ArchiveWritten,
    Progress,
    ServiceError,
    erasures_of,
    silent,
    unerased,
)
from annotations.core.stored_files import store_file
from annotations.exchange.services.writing import check_out
from annotations.formats.files.archives import ArchiveWriter
from annotations.models import (
    AnnotationSet,
    Author,
    AuthorKind,
    Document,
    GoldVersion,
    Membership,
    Project,
    Span,
    StoredFileKind,
    User,
)
from annotations.ops.services.archives import tables
from annotations.ops.services.archives.numbers import Gone, ToArchive, file_of
from annotations.ops.services.archives.tables import columns_of, rows_of

# Reading the database as it was at one moment, while others go on writing.
#
# A transaction of its own on a connection of its own: progress is written on the default connection meanwhile, and no
# lock is held. On SQLite a transaction that only reads sees one moment of the write-ahead log.


ALIAS: Final = "snapshot"


@contextmanager
def snapshot() -> Iterator[str]:
    """Yield the alias of a connection on which everything is as it was at the beginning of the block."""
    own = connections.create_connection(DEFAULT_DB_ALIAS)
    own.alias = ALIAS
    own.ensure_connection()
    # SQLite: a transaction that begins as a writing one would keep all others from writing.
    setattr(own, "transaction_mode", None)  # noqa: B010 - an attribute of the SQLite engine only
    connections[ALIAS] = own
    try:
        with transaction.atomic(using=ALIAS):
            if own.vendor == "postgresql":
                with own.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield ALIAS
    finally:
        own.close()
        del connections[ALIAS]


BATCH: Final = 500
Row = dict[str, Any]

# What an archive leaves out, and why; written to the manifest.
LEFT_OUT: Final = {
    "accounts": "Passwords, second factors, sessions, tokens, e-mail addresses and own shortcuts belong to people.",
    "roles of groups": "They refer to the providers of this instance.",
    "audit log": "The log says what was done on this instance. The undo history, which uses it, stays with it.",
    "jobs and imports": "Jobs, uploads, exports and reports of imports belong to this instance.",
    "originals of documents": "Notes keep their text; original files, source maps and recordings stay here.",
    "runs and models": "Suggestions are archived; settings of runs, trained models, calibrations and judgings are not.",
    "proposed removals": "The lists of refiners and the decisions on them stay; what reviewers kept is in gold.",
    "releases": "Policies, releases, audits and certificates are signed or sealed with keys of this instance.",
    "surrogates and known people": "They are encrypted with the project's key, which never leaves this instance.",
    "searches": "They hold what people typed.",
    "webhooks": "Their hosts are allowed by this instance, and their secrets never leave it.",
    "figures": "Agreement, scores, lists for review and the index of searches are computed again.",
}


# The counts of the manifest, with the files whose rows they count.
COUNTED: Final = {
    "notes": file_of(Document),
    "annotation_sets": file_of(AnnotationSet),
    "spans": file_of(Span),
    "people": tables.PEOPLE,
    "gold_versions": file_of(GoldVersion),
}


def write_archive(*, project: Project, target: IO[bytes], progress: Progress = silent) -> ArchiveWritten:
    """Write the project to `target`, a file that can be read again. Raises what `progress` raises."""
    # Whether an adjudication is up to date follows from the comparisons.
    bring_up_to_date(project)
    with ArchiveWriter(target) as archive:
        with snapshot() as using:
            writing = _RowWriter(project, using, progress)
            models: tuple[type[Model], ...] = (*tables.TABLES, Project)
            for model in models:
                archive.write(file_of(model), writing.rows(model))
            # Last, when everybody who is named somewhere is known.
            archive.write(tables.PEOPLE, writing.people())
        counts = {name: archive.members[file].rows for name, file in COUNTED.items()}
        archive.finish(
            {
                "version": settings.VERSION,
                "made_at": timezone.now().isoformat(timespec="seconds"),
                "project": {"slug": project.slug, "name": project.name},
                "counts": counts,
                "left_out": LEFT_OUT,
            }
        )
    target.seek(0)
    digest = hashlib.file_digest(target, "sha256")  # type: ignore[arg-type] # typeshed wants a BufferedReader
    return {
        "notes": counts["notes"],
        "sets": counts["annotation_sets"],
        "spans": counts["spans"],
        "sha256": digest.hexdigest(),
    }


def archive_to_path(*, project: Project, out: Path, actor: User | None, progress: Progress = silent) -> ArchiveWritten:
    """Write the project to a new .zip. Nothing is left if that fails. Raises ServiceError."""
    if out.suffix != ".zip":
        raise ServiceError(_("The archive must be a new file whose name ends with “.zip”."), code="out")
    check_out(out)
    begun = erasures_of(project.pk)
    with _placed(out) as target:
        written = write_archive(project=project, target=target, progress=progress)
        with transaction.atomic():
            unerased(project.pk, begun)
            ARCHIVE_WRITTEN.record(actor=actor, project_id=project.pk, data=written)
    return written


def store_archive(*, project: Project, actor: User | None, progress: Progress) -> dict[str, Any]:
    """Write the project to a stored file, which managers can download, and return its counts and `file_id`."""
    begun = erasures_of(project.pk)
    with tempfile.TemporaryFile() as target:
        written = write_archive(project=project, target=target, progress=progress)
        target.seek(0)
        with transaction.atomic():
            unerased(project.pk, begun)
            stored = store_file(
                project=project, kind=StoredFileKind.ARCHIVE, name=f"{project.slug}-archive.zip", content=target,
                actor=actor,
            )  # fmt: skip
            ARCHIVE_WRITTEN.record(actor=actor, project_id=project.pk, data=written)
    return {**written, "file_id": stored.pk}


@contextmanager
def _placed(out: Path) -> Iterator[IO[bytes]]:
    """Yield a file beside `out`, which becomes `out` at the end of the block; only its owner can read it."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as folder:
            part = Path(folder) / "part.zip"
            part.touch(mode=0o600)
            with part.open("r+b") as target:
                yield target
            part.replace(out)
    except OSError as error:
        message = _("Can't write to “%(out)s”: %(strerror)s. Nothing was written.")
        raise ServiceError(message % {"out": out, "strerror": error.strerror}, code="out") from error


class _RowWriter:
    """Yields the rows of each table of one project, as they were at one moment."""

    def __init__(self, project: Project, using: str, progress: Progress) -> None:
        self._project, self._using, self._progress = project, using, progress
        self._numbers = ToArchive(project, using, lambda model: rows_of(model, project, using))
        self._done, self._total = 0, sum(rows_of(model, project, using).count() for model in tables.TABLES)

    def rows(self, model: type[Model]) -> Iterator[Row]:
        """The rows of a table. A row whose main subject was deleted is left out."""
        self._progress(self._done, self._total)
        rows = rows_of(model, self._project, self._using)
        values = rows.values(*{"pk", *(column.path for column in columns_of(model))})
        for row in chain.from_iterable(in_batches(values, BATCH)):
            try:
                yield self._row(model, row)
            except Gone:
                continue
            finally:
                self._done += 1
                if self._done % BATCH == 0:
                    self._progress(self._done, self._total)

    def people(self) -> Iterator[Row]:
        """The members in the order in which they joined, then everybody else who is named in the archive."""
        members = rows_of(Membership, self._project, self._using)
        listed = set()
        for row in members.values("user_id", *(column.path for column in columns_of(Membership))):
            listed.add(row["user_id"])
            yield {"name": self._numbers.person(row["user_id"]), "member": self._row(Membership, row)}
        others = sorted(name for pk, name in self._numbers.people.items() if pk not in listed)
        yield from ({"name": name, "member": None} for name in others)

    def _row(self, model: type[Model], row: Row) -> Row:
        found = {}
        for column in columns_of(model):
            value = row[column.path]
            if column.field.many_to_many:
                value = sorted(column.shape(self._people_of(column.field, value), self._numbers))
            else:
                value = column.shape(value, self._numbers)
            if value != column.default:
                found[column.key] = value
        if model is Author and found["kind"] == AuthorKind.ANNOTATOR:
            found["name"] = self._numbers.name(found["name"])
        return found

    def _people_of(self, field: Any, pk: int) -> list[int]:
        rows = field.remote_field.through.objects.using(self._using).filter(**{field.m2m_field_name(): pk})
        return list(rows.values_list("user_id", flat=True))
