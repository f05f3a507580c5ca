"""Import a whole project from an archive, in one transaction: everything, or nothing."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import groupby, islice
from typing import IO, Any, Final, NamedTuple

from django.db import DataError, IntegrityError, connection, models, transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotations.archives.events import ARCHIVE_IMPORTED
from annotations.archives.services import tables
from annotations.archives.services.columns import MISSING, Column
from annotations.archives.services.keys import Bad, Keys
from annotations.archives.services.people import Person, accounts_here, make_account, name_of
from annotations.archives.services.tables import Table
from annotations.core.bulk import insert_rows
from annotations.core.errors import ServiceError
from annotations.core.progress import Progress, silent
from annotations.core.suggested_notes import add_notes
from annotations.core.suggested_strings import add_strings, tally_of
from annotations.domain.files.archives import MANIFEST, ArchiveError, ArchiveReader
from annotations.domain.hashing import gold_hash, text_sha256
from annotations.domain.names import bad_character
from annotations.domain.strings import string_key
from annotations.gold.selectors import hashed
from annotations.models import (
    AnnotationSet,
    Author,
    Comment,
    Document,
    GoldVersion,
    GoldVersionNote,
    Handover,
    Label,
    LabelSet,
    Membership,
    NoteMetadata,
    Project,
    Role,
    Span,
    SuggestedNote,
    User,
)

BATCH: Final = 200
MOST_PEOPLE: Final = 10_000
Row = dict[str, Any]
Lines = list[tuple[int, Row]]


class Found(NamedTuple):
    """What an archive says of itself, before it is imported."""

    slug: str
    name: str
    version: str
    counts: dict[str, int]
    people: list[Person]


class Imported(NamedTuple):
    slug: str
    notes: int
    sets: int
    spans: int
    people: int
    accounts: int


def look_into(file: IO[bytes]) -> Found:
    """Check the manifest and the people of an archive. Raises ServiceError (`archive`)."""
    with _said(), ArchiveReader(file, tables.NAMES) as archive:
        slug, name = _named(archive)
        listed = archive.members[tables.PEOPLE]
        if listed.rows > MOST_PEOPLE or listed.bytes > MOST_PEOPLE * 1000:
            raise ArchiveError("The archive names more than 10,000 people.", file=tables.PEOPLE)
        archive.verify(tables.PEOPLE)
        rows = [(line, row, _at(tables.PEOPLE, line, name_of, row)) for line, row in archive.rows(tables.PEOPLE)]
        here = accounts_here([name for _line, _row, name in rows])
        people = []
        for _line, row, called in rows:
            member = row["member"] if isinstance(row["member"], dict) else {}
            account = here.get(called.lower())
            people.append(
                Person(
                    called, str(member.get("role", "")), member.get("active") is True,
                    account.username if account else "",
                )
            )  # fmt: skip
        counts = archive.manifest.get("counts")
        return Found(
            slug, name, str(archive.manifest.get("version", "")),
            {key: value for key, value in counts.items() if type(value) is int} if isinstance(counts, dict) else {},
            people,
        )  # fmt: skip


def import_archive(*, file: IO[bytes], slug: str = "", actor: User | None = None) -> Imported:
    """Make a new project from an archive; its short name is `slug`, or that of the archive. Raises ServiceError."""
    with _said(), ArchiveReader(file, tables.NAMES) as archive:
        _verify(archive, silent)
        own, name = _named(archive)
        chosen = slugify(slug or own)[:60].strip("-")
        if not chosen:
            raise ServiceError(_("Choose a short name with letters a–z or digits."), code="slug")
        with transaction.atomic():
            if Project.objects.filter(slug=chosen).exists():
                raise ServiceError(
                    _("A project with the short name “%(slug)s” already exists. Choose another one.")
                    % {"slug": chosen},
                    code="exists",
                )
            project = Project.objects.create(slug=chosen, name=name, created_by=actor)
            return _Reading(archive, project, actor).everything()


def fill_project(
    *, project: Project, file: IO[bytes], actor: User | None, progress: Progress, finish: Callable[[Row], None]
) -> None:
    """Import an archive into an empty project, whose managers stay managers. Raises ServiceError.

    `finish` is called with the counts in the same transaction.
    """
    with _said(), ArchiveReader(file, tables.NAMES) as archive:
        _verify(archive, progress)
        with transaction.atomic():
            Project.objects.select_for_update(no_key=True).get(pk=project.pk)
            if Document.objects.filter(project=project).exists() or Author.objects.filter(project=project).exists():
                raise ServiceError(_("The project is not empty. Import the archive as a new project."), code="filled")
            finish(_Reading(archive, project, actor).everything()._asdict())


def _verify(archive: ArchiveReader, progress: Progress) -> None:
    for done, name in enumerate(sorted(tables.NAMES)):
        progress(done, len(tables.NAMES) + 1)
        archive.verify(name)


def _named(archive: ArchiveReader) -> tuple[str, str]:
    match archive.manifest.get("project"):
        case {"slug": str(slug), "name": str(name)} if slug and 0 < len(name) <= 120:
            return slug, name
    raise ArchiveError("“project” must give the project's slug and name.", file=MANIFEST)


class _said:
    """Turns errors of the archive into errors for the user."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ArchiveError):
            raise ServiceError(_("%(error)s Nothing was imported.") % {"error": error}, code="archive") from None


def _at(name: str, line: int, read: Callable[..., Any], *values: Any) -> Any:
    """Call `read`, and say where the row is if it can't be taken."""
    try:
        return read(*values)
    except Bad as error:
        raise ArchiveError(f"The row {error}.", file=name, line=line) from None


class _Reading:
    """Stores the rows of an archive in one project, inside the caller's transaction."""

    def __init__(self, archive: ArchiveReader, project: Project, actor: User | None) -> None:
        self._archive, self._project, self._actor = archive, project, actor
        self._keys = Keys(project)
        self._spans = 0
        self._accounts = 0
        self._people = 0

    def everything(self) -> Imported:
        self._store_people()
        # A project that was made for the upload has labels, which those of the archive replace.
        Label.objects.filter(label_set__project=self._project).delete()
        LabelSet.objects.filter(project=self._project).delete()
        for table in tables.BEFORE:
            self._store(table)
            if table is tables.LABELS:
                self._merge_labels()
            if table is tables.MAPPED:
                self._check_codes()
            if table is tables.AUTHORS:
                self._keys.know_authors()
                self._merge_runs()
        notes = self._store_notes()
        sets = self._store_sets()
        for table in tables.AFTER:
            self._store(table)
        self._answer_comments()
        self._join_second_reviews()
        self._check_versions()
        self._list_for_review()
        imported = Imported(self._project.slug, notes, sets, self._spans, self._people, self._accounts)
        counts = {key: value for key, value in imported._asdict().items() if key != "slug"}
        ARCHIVE_IMPORTED.record(actor=self._actor, project_id=self._project.pk, data=counts)  # type: ignore[arg-type]
        # Last: an archived project refuses events.
        self._store_project()
        return imported

    # ── People and the project ───────────────────────────────────────────────────────────────────────────────────────
    def _store_people(self) -> None:
        keys: dict[str, int] = {}
        managers = set(Membership.objects.filter(project=self._project).values_list("user_id", flat=True))
        for batch in self._batches(tables.PEOPLE):
            names = [_at(tables.PEOPLE, line, name_of, row) for line, row in batch]
            here = accounts_here(names)
            members = []
            for (line, row), name in zip(batch, names, strict=True):
                if name in keys:
                    raise ArchiveError("The user name is listed twice.", file=tables.PEOPLE, line=line)
                user = here.get(name.lower())
                if user is None:
                    user = _at(tables.PEOPLE, line, make_account, name, self._project)
                    self._accounts += 1
                    here[name.lower()] = user
                keys[name] = user.pk
                self._people += 1
                if row["member"] is None:
                    continue
                values = self._values(tables.PEOPLE, line, tables.MEMBER_COLUMNS, row["member"])
                # Whoever imports the archive stays the manager of the project.
                if user.pk not in managers:
                    own = {"user_id": user.pk, "project_id": self._project.pk, "provided_by": ""}
                    members.append((line, {**own, **values}))
            self._insert(tables.PEOPLE, Membership, members)
        self._keys.know_people(keys)

    def _store_project(self) -> None:
        rows = list(islice(self._archive.rows(tables.PROJECT), 2))
        if len(rows) != 1:
            raise ArchiveError("There must be exactly one row.", file=tables.PROJECT)
        line, row = rows[0]
        values = self._values(tables.PROJECT, line, tables.PROJECT_COLUMNS, row)
        seed = values["seed_from_id"]
        if seed is not None and not Author.objects.filter(pk=seed, kind__in=Author.MODELS).exists():
            raise ArchiveError("“seed_from” must be a run.", file=tables.PROJECT, line=line)
        # `update` prepares times itself.
        times = {"created_at", "archived_at"}
        values |= {name: datetime.fromisoformat(row[name]) if row.get(name) else None for name in times}
        self._guarded(tables.PROJECT, [line], lambda: Project.objects.filter(pk=self._project.pk).update(**values))
        if not Membership.objects.filter(project=self._project, role=Role.MANAGER, active=True).exists():
            raise ArchiveError("A project needs at least one active manager.", file=tables.PEOPLE)

    # ── Labels and authors ───────────────────────────────────────────────────────────────────────────────────────────
    def _merge_labels(self) -> None:
        self._keys.know_labels()
        into: dict[str, str] = {}
        for line, row in self._archive.rows(tables.LABELS.name):
            if row.get("merged_into") is None:
                continue
            target = _at(tables.LABELS.name, line, self._keys.label, row["merged_into"])
            Label.objects.filter(pk=self._keys.label(row["code"])).update(merged_into=target)
            into[row["code"]] = row["merged_into"]
        for code in into:
            seen = {code}
            while (code := into.get(code, "")) and code not in seen:
                seen.add(code)
            if code:
                raise ArchiveError("Labels are merged into each other in a circle.", file=tables.LABELS.name)

    def _check_codes(self) -> None:
        """The codes that a mapping writes must not differ only in case, because readers of the files confuse them."""
        written: dict[tuple[str, str], str] = {}
        for line, row in self._archive.rows(tables.MAPPED.name):
            code = row.get("code", "")
            if written.setdefault((row["mapping"], code.casefold()), code) != code:
                raise ArchiveError(
                    "“code” differs only in case from another code of the mapping.", file=tables.MAPPED.name, line=line
                )

    def _merge_runs(self) -> None:
        for line, row in self._archive.rows(tables.AUTHORS.name):
            runs = row.get("merged_from")
            if runs is None:
                continue
            if not isinstance(runs, list):
                raise ArchiveError("“merged_from” must be null or a list.", file=tables.AUTHORS.name, line=line)
            found = [_at(tables.AUTHORS.name, line, self._keys.author, run) for run in runs]
            own = self._keys.author([row["kind"], row["name"]])
            Author.objects.filter(pk=own).update(merged_from=found)

    # ── Notes and annotation sets ────────────────────────────────────────────────────────────────────────────────────
    def _store_notes(self) -> int:
        count = 0
        columns = [*tables.NOTE_COLUMNS, *tables.METADATA_COLUMNS]
        about = {column.attname for column in tables.METADATA_COLUMNS}
        for batch in self._batches(tables.NOTES):
            notes: list[tuple[int, Row]] = []
            known: dict[str, Row] = {}
            for line, row in batch:
                values = self._values(tables.NOTES, line, columns, row)
                if bad_character(values["name"]) or not values["name"]:
                    raise ArchiveError("The name of the note is not allowed.", file=tables.NOTES, line=line)
                if text_sha256(values["text"]) != values["sha256"]:
                    raise ArchiveError("“sha256” doesn't fit the text.", file=tables.NOTES, line=line)
                known[values["name"]] = {key: values.pop(key) for key in about}
                values |= {"length": len(values["text"]), "project_id": self._project.pk}
                notes.append((line, values))
            self._insert(tables.NOTES, Document, notes)
            self._keys.begin(known)
            metadata = [
                (0, {"document_id": self._keys.take_note(name).pk, **values})
                for name, values in known.items()
                if any(values.values())
            ]
            self._insert(tables.NOTES, NoteMetadata, metadata)
            count += len(notes)
        return count

    def _store_sets(self) -> int:
        count = 0
        models_of = set(
            Author.objects.filter(project=self._project, kind__in=Author.MODELS).values_list("pk", flat=True)
        )
        for batch in self._batches(tables.SETS):
            # A gold span may name a suggestion of the same batch, which must be stored first.
            for _kind, same in groupby(batch, key=_kind_of):
                count += self._store_some_sets(list(same), models_of)
        return count

    def _store_some_sets(self, batch: Lines, models_of: set[int]) -> int:
        self._keys.begin(row["note"] for _line, row in batch if isinstance(row.get("note"), str))
        sets, spans = [], []
        for line, row in batch:
            listed = row.pop("spans", None)
            if not isinstance(listed, list):
                raise ArchiveError("“spans” must be a list.", file=tables.SETS, line=line)
            sets.append((line, self._values(tables.SETS, line, tables.SET_COLUMNS, row)))
            spans.append(listed)
        self._insert(tables.SETS, AnnotationSet, sets)
        suggested = {values["document_id"] for _line, values in sets if values["author_id"] in models_of}
        texts = dict(Document.objects.filter(pk__in=suggested).values_list("pk", "text"))
        rows = []
        for (line, values), (_line, row), listed in zip(sets, batch, spans, strict=True):
            note = self._keys.take_note(row["note"])
            own = self._keys.annotation_set(values["author_id"])
            text = texts[note.pk] if values["author_id"] in models_of else None
            for span in listed:
                if not isinstance(span, dict):
                    raise ArchiveError("Each span must be an object.", file=tables.SETS, line=line)
                found = self._values(tables.SETS, line, tables.SPAN_COLUMNS, span)
                if not found["start"] < found["end"] <= note.length:
                    raise ArchiveError("A span is empty or not within the note.", file=tables.SETS, line=line)
                found["string_key"] = None if text is None else string_key(text[found["start"] : found["end"]])
                rows.append((line, {"annotation_set_id": own, **found}))
        self._insert(tables.SETS, Span, rows)
        self._spans += len(rows)
        return len(sets)

    # ── All other tables ─────────────────────────────────────────────────────────────────────────────────────────────
    def _store(self, table: Table) -> None:
        constant: Row = {}
        if table.constant == "project_id":
            constant = {"project_id": self._project.pk}
        elif table.constant:
            owner = LabelSet.objects.filter(project=self._project).first()
            if owner is None:
                raise ArchiveError("There must be exactly one row.", file=tables.LABEL_SET.name)
            constant = {table.constant: owner.pk}
        key: Any = table.model._meta.pk
        for batch in self._batches(table.name):
            names = {row["note"] for _line, row in batch if isinstance(row.get("note"), str)}
            self._keys.begin(names)
            rows = []
            for line, row in batch:
                values = self._values(table.name, line, table.columns, row) | constant
                if table.numbered:
                    values[key.attname] = key.get_db_prep_save(self._keys.number(table.numbered), connection)
                rows.append((line, values))
            self._insert(table.name, table.model, rows)

    def _answer_comments(self) -> None:
        name = tables.COMMENTS.name
        for number, (line, row) in enumerate(self._archive.rows(name), start=1):
            answers = row.get("answers")
            if answers is None:
                continue
            if answers >= number:
                raise ArchiveError("A comment can answer only an earlier one.", file=name, line=line)
            first = _at(name, line, self._keys.comment, answers)
            own = self._keys.comment(number)
            same = Comment.objects.filter(pk=first, document__in=Comment.objects.filter(pk=own).values("document"))
            if not same.exists():
                raise ArchiveError("A comment can answer only a comment on the same note.", file=name, line=line)
            Comment.objects.filter(pk=own).update(answers=first)

    def _join_second_reviews(self) -> None:
        """Store who took part in the first reviews."""
        own = (
            Handover.objects.filter(review__document__project=self._project).order_by("pk").values_list("pk", flat=True)
        )
        through = Handover.people.through
        for pk, (_line, row) in zip(list(own), self._archive.rows(tables.HANDOVERS.name), strict=True):
            people = dict.fromkeys(map(self._keys.person, row["people"]))
            through.objects.bulk_create([through(handover_id=pk, user_id=user) for user in people])

    def _check_versions(self) -> None:
        """Frozen versions that lost no note must have the content of their hash."""
        for version in GoldVersion.objects.filter(project=self._project, erased_count=0):
            notes = GoldVersionNote.objects.filter(version=version).order_by()
            rows = notes.values_list("document__name", "document__sha256", "spans").iterator(chunk_size=BATCH)
            found = gold_hash((name, sha256, map(hashed, spans)) for name, sha256, spans in rows)
            if found != version.content_hash:
                raise ArchiveError(
                    f"The notes and spans of gold version {version.number} don't fit its content hash.",
                    file=tables.GOLD_NOTES.name,
                )

    def _list_for_review(self) -> None:
        """Write the counts and lists that review keeps of suggestions."""
        runs = Author.objects.filter(project=self._project, kind__in=Author.MODELS)
        for author in runs.values_list("pk", flat=True):
            listed = SuggestedNote.objects.filter(author=author).values("document")
            sets = AnnotationSet.objects.filter(author=author).order_by("pk").values_list("pk", "document_id")
            for some in _some(sets.iterator(chunk_size=BATCH)):
                pks = [pk for pk, _note in some]
                add_strings(tally_of(Span.objects.filter(annotation_set__in=pks)))
                add_notes(author, dict(sets.filter(pk__in=pks, document__in=listed)))

    # ── Rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _values(self, name: str, line: int, columns: list[Column], row: Any) -> Row:
        """The values of a row by attribute, ready to be stored."""
        if not isinstance(row, dict):
            raise ArchiveError("The row must be an object.", file=name, line=line)
        if unknown := set(row) - {column.key for column in columns}:
            shown = ", ".join(sorted(key for key in unknown if key.isidentifier())[:5])
            raise ArchiveError(f"The row has unknown keys: {shown}.", file=name, line=line)
        found: Row = {}
        for column in columns:
            value = row.get(column.key, column.default)
            if value is MISSING:
                raise ArchiveError(f"The row lacks “{column.key}”.", file=name, line=line)
            try:
                stored = column.into(self._keys, value)
            except Bad as error:
                raise ArchiveError(f"“{column.key}” {error}.", file=name, line=line) from None
            if column.attname:
                found[column.attname] = stored
        note = self._keys.note
        start, end = found.get("start"), found.get("end")
        if note is not None and start is not None and end is not None and not start <= end <= note.length:
            raise ArchiveError("“start” and “end” must be within the note.", file=name, line=line)
        return found

    def _batches(self, name: str) -> Iterator[Lines]:
        yield from _some(self._archive.rows(name))

    def _insert(self, name: str, model: type[models.Model], rows: list[tuple[int, Row]]) -> None:
        if not rows:
            return
        columns = list(rows[0][1])
        found = ([row[column] for column in columns] for _line, row in rows)
        self._guarded(name, [line for line, _row in rows], lambda: insert_rows(model, columns, found))

    def _guarded(self, name: str, lines: list[int], write: Callable[[], object]) -> None:
        """Write, and say where the rows are that the database refuses. Its own message may quote a note."""
        try:
            # A COPY on PostgreSQL raises the driver's own errors.
            with transaction.atomic(), connection.wrap_database_errors:
                write()
        except (IntegrityError, DataError):
            raise ArchiveError(
                f"Two rows are the same, or a row contradicts another one (lines {lines[0]} to {lines[-1]}).",
                file=name, line=lines[0],
            ) from None  # fmt: skip


def _kind_of(numbered: tuple[int, Row]) -> Any:
    """The kind of the author of a row, to group rows by."""
    author = numbered[1].get("author")
    return author[0] if isinstance(author, list) and author else None


def _some(rows: Iterable[Any]) -> Iterator[list[Any]]:
    waiting = iter(rows)
    while batch := list(islice(waiting, BATCH)):
        yield batch
