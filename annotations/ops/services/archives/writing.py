"""Write a whole project to an archive."""

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.errors import ServiceError
from annotations.core.events import ARCHIVE_WRITTEN
from annotations.core.locks import erasures_of, unerased
from annotations.core.progress import Progress, silent
from annotations.core.stored_files import store_file
from annotations.exchange.services.archives import check_out
from annotations.formats.files.archives import ArchiveWriter
from annotations.models import AnnotationSet, Document, Membership, Project, Span, StoredFile, User
from annotations.ops.services.archives import tables
from annotations.ops.services.archives.columns import Column
from annotations.ops.services.archives.names import Names
from annotations.ops.services.archives.nested import sets_in, suggestions_in
from annotations.ops.services.archives.tables import Table

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


BATCH: Final = 200
Row = dict[str, Any]

# What an archive leaves out, and why; written to the manifest.
LEFT_OUT: Final = {
    "accounts": "Passwords, second factors, sessions, tokens, e-mail addresses and own shortcuts belong to people.",
    "roles of groups": "They refer to the providers of this instance.",
    "audit log": "The log says what was done on this instance. The undo history, which uses it, stays with it.",
    "jobs and imports": "Jobs, uploads, exports and reports of imports belong to this instance.",
    "originals of documents": "Notes keep their text; original files and source maps stay on this instance.",
    "runs and models": "Suggestions are archived; settings of runs, trained models, calibrations and judgings are not.",
    "proposed removals": "The lists of refiners and the decisions on them stay; what reviewers kept is in gold.",
    "releases": "Policies, releases, audits and certificates are signed or sealed with keys of this instance.",
    "surrogates and known people": "They are encrypted with the project's key, which never leaves this instance.",
    "searches": "They hold what people typed.",
    "webhooks": "Their hosts are allowed by this instance, and their secrets never leave it.",
    "figures": "Agreement, scores and lists for review are computed again.",
}


class Written(NamedTuple):
    """Counts of an archive, and its SHA-256."""

    notes: int
    sets: int
    spans: int
    sha256: str


def write_archive(*, project: Project, target: IO[bytes], progress: Progress = silent) -> Written:
    """Write the project to `target`, a file that can be read again. Raises what `progress` raises."""
    # Whether an adjudication is up to date follows from the comparisons.
    bring_up_to_date(project)
    with ArchiveWriter(target) as archive:
        with snapshot() as using:
            writing = _Writing(project, using, progress)
            for table in (*tables.BEFORE, *tables.AFTER):
                archive.write(table.name, writing.rows(table))
            archive.write(tables.NOTES, writing.notes())
            archive.write(tables.SETS, writing.sets())
            archive.write(tables.PROJECT, writing.project())
            # Last, when everybody who is named somewhere is known.
            archive.write(tables.PEOPLE, writing.people())
        archive.finish(
            {
                "version": settings.VERSION,
                "made_at": timezone.now().isoformat(timespec="seconds"),
                "project": {"slug": project.slug, "name": project.name},
                "counts": {
                    "notes": archive.members[tables.NOTES].rows,
                    "annotation_sets": archive.members[tables.SETS].rows,
                    "spans": writing.span_count,
                    "people": archive.members[tables.PEOPLE].rows,
                    "gold_versions": archive.members[tables.GOLD_VERSIONS.name].rows,
                },
                "left_out": LEFT_OUT,
            }
        )
    target.seek(0)
    return Written(
        archive.members[tables.NOTES].rows, archive.members[tables.SETS].rows, writing.span_count,
        hashlib.file_digest(target, "sha256").hexdigest(),  # type: ignore[arg-type] # typeshed wants a BufferedReader
    )  # fmt: skip


def archive_to_path(*, project: Project, out: Path, actor: User | None, progress: Progress = silent) -> Written:
    """Write the project to a new .zip. Nothing is left if that fails. Raises ServiceError."""
    if out.suffix != ".zip":
        raise ServiceError(_("The archive must be a new file whose name ends with “.zip”."), code="out")
    check_out(out)
    begun = erasures_of(project.pk)
    with _placed(out) as target:
        written = write_archive(project=project, target=target, progress=progress)
        with transaction.atomic():
            unerased(project.pk, begun)
            _record(project, written, actor)
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
                project=project, kind=StoredFile.Kind.ARCHIVE, name=f"{project.slug}-archive.zip", content=target,
                actor=actor,
            )  # fmt: skip
            _record(project, written, actor)
    return {**written._asdict(), "file_id": stored.pk}


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
        raise ServiceError(
            _("Can't write to “%(out)s”: %(strerror)s. Nothing was written.")
            % {"out": out, "strerror": error.strerror},
            code="out",
        ) from error


def _record(project: Project, written: Written, actor: User | None) -> None:
    ARCHIVE_WRITTEN.record(
        actor=actor,
        project_id=project.pk,
        data={"notes": written.notes, "sets": written.sets, "spans": written.spans, "sha256": written.sha256},
    )


class _Writing:
    """Yields the rows of each table of one project, as they were at one moment."""

    def __init__(self, project: Project, using: str, progress: Progress) -> None:
        self._project, self._using, self._progress = project, using, progress
        self._names = Names(project, using)
        self.span_count = 0
        self._done = 0
        self._total = (
            Document.objects.using(using).filter(project=project).count()
            + AnnotationSet.objects.using(using).filter(document__project=project).count()
        )

    def rows(self, table: Table) -> Iterator[Row]:
        found = table.model._default_manager.using(self._using).filter(**{table.project: self._project.pk})
        paths = [column.path for column in table.columns]
        values = found.annotate(**table.annotate).order_by(*table.order).values(*paths)
        for batch in _batches(values.iterator(chunk_size=BATCH)):
            self._names.look_up(
                (pk for row in batch for pk in table.spans(row)), (pk for row in batch for pk in table.sets(row))
            )
            for row in batch:
                found_row = self._row(table.columns, row)
                if not table.needs or found_row[table.needs] is not None:
                    yield found_row

    def notes(self) -> Iterator[Row]:
        columns = [*tables.NOTE_COLUMNS, *tables.METADATA_COLUMNS]
        notes = Document.objects.using(self._using).filter(project=self._project).order_by("pk")
        for row in notes.values(*(column.path for column in columns)).iterator(chunk_size=BATCH):
            # A note without metadata is the same as one whose metadata are empty.
            empty = {column.path: row[column.path] or "" for column in tables.METADATA_COLUMNS}
            yield self._row(columns, row | empty)
            self._done += 1
            if self._done % BATCH == 0:
                self._progress(self._done, self._total)

    def sets(self) -> Iterator[Row]:
        """The annotation sets with their spans; each kind of author after those that its spans may name."""
        every = AnnotationSet.objects.using(self._using).filter(document__project=self._project)
        paths = ["pk", *(column.path for column in tables.SET_COLUMNS)]
        for kind in tables.RANKS:
            sets = every.filter(author__kind=kind).order_by("pk").values(*paths)
            for batch in _batches(sets.iterator(chunk_size=BATCH)):
                spans = self._spans([row["pk"] for row in batch])
                for row in batch:
                    yield {**self._row(tables.SET_COLUMNS, row), "spans": spans.get(row["pk"], [])}
                self._done += len(batch)
                self._progress(self._done, self._total)

    def _spans(self, sets: list[int]) -> dict[int, list[Row]]:
        paths = ["annotation_set_id", *(column.path for column in tables.SPAN_COLUMNS)]
        rows = list(
            Span.objects.using(self._using)
            .filter(annotation_set__in=sets)
            .order_by("annotation_set_id", "start", "end", "pk")
            .values(*paths)
        )
        self._names.look_up(
            (pk for row in rows for pk in suggestions_in(row["provenance"])),
            (pk for row in rows for pk in sets_in(row["provenance"])),
        )
        found: dict[int, list[Row]] = {}
        for row in rows:
            values = self._row(tables.SPAN_COLUMNS, row)
            short = {
                column.key: values[column.key] for column in tables.SPAN_COLUMNS if values[column.key] != column.default
            }
            found.setdefault(row["annotation_set_id"], []).append(short)
        self.span_count += len(rows)
        return found

    def project(self) -> Iterator[Row]:
        rows = Project.objects.using(self._using).filter(pk=self._project.pk)
        for row in rows.values(*(column.path for column in tables.PROJECT_COLUMNS)):
            yield self._row(tables.PROJECT_COLUMNS, row)

    def people(self) -> Iterator[Row]:
        """The members in the order in which they joined, then everybody else who is named in the archive."""
        members = Membership.objects.using(self._using).filter(project=self._project).order_by("pk")
        paths = ["user_id", *(column.path for column in tables.MEMBER_COLUMNS)]
        listed = set()
        for row in members.values(*paths):
            listed.add(row["user_id"])
            yield {"name": self._names.person(row["user_id"]), "member": self._row(tables.MEMBER_COLUMNS, row)}
        others = sorted(name for pk, name in self._names.people.items() if pk not in listed)
        yield from ({"name": name, "member": None} for name in others)

    def _row(self, columns: list[Column], row: Row) -> Row:
        return {column.key: column.out(self._names, row[column.path]) for column in columns}


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while batch := list(islice(rows, BATCH)):
        yield batch
