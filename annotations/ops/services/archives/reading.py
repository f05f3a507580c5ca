"""Import a whole project from an archive, in one transaction: everything, or nothing."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import Model
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.authors import ARCHIVE, IMPORTED, gold_sets
from annotations.core.bulk import batched, in_batches, insert_rows
from annotations.core.commands import progress_bar
from annotations.core.services import Progress, ServiceError, silent
from annotations.core.spans import definitions_by_label, pairs_of
from annotations.core.suggestions import add_notes, add_strings, tally_of
from annotations.formats import DETECT
from annotations.formats.files.archives import ArchiveError, ArchiveReader, is_archive
from annotations.gold.selectors import gold_spans, hashed
from annotations.ops.events import ARCHIVE_IMPORTED, ArchiveImported
from annotations.ops.services.archives import tables
from annotations.ops.services.archives.numbers import Bad, FromArchive, file_of, reserve
from annotations.ops.services.archives.shapes import writer
from annotations.ops.services.archives.staging import accounts_here, at, check_empty, make_account, name_of, named, said
from annotations.ops.services.archives.tables import MISSING, columns_of
from annotations.ops.services.archives.writing import archive_to_path
from annotations.projects.services.members import add_member
from annotations.text.attributes import AttributeDef, fitting
from annotations.text.hashes import gold_hash, string_key, text_sha256

# Rows at once. Notes and annotation sets may be large, spans are small.
BATCH: Final = 200
SPANS_AT_ONCE: Final = 5000
Row = dict[str, Any]
Lines = list[tuple[int, Row]]


def import_archive(*, file: IO[bytes], slug: str = "", actor: models.User | None = None) -> tuple[str, ArchiveImported]:
    """Make a new project from an archive; its short name is `slug`, or that of the archive. Raises ServiceError.

    Return the short name, and what was imported. The project's only member is `actor`, as a manager. Without one it
    has no member.
    """
    with said(), ArchiveReader(file, tables.NAMES) as archive:
        _verify(archive, silent)
        own, name = named(archive)
        chosen = slugify(slug or own)[:60].strip("-")
        if not chosen:
            raise ServiceError(_("Choose a short name with letters a–z or digits."), code="slug")
        with transaction.atomic():
            if models.Project.objects.filter(slug=chosen).exists():
                message = _("A project with the short name “%(slug)s” already exists. Choose another one.")
                raise ServiceError(message % {"slug": chosen}, code="exists")
            project = models.Project.objects.create(slug=chosen, name=name, created_by=actor)
            if actor is not None:
                add_member(project=project, user=actor, role=models.Role.MANAGER, actor=actor)
            return chosen, _RowLoader(archive, project, actor).everything()


def fill_project(
    *,
    project: models.Project,
    file: IO[bytes],
    actor: models.User | None,
    progress: Progress,
    finish: Callable[[Row], None],
) -> None:
    """Import an archive into an empty project, whose managers stay managers. Raises ServiceError.

    `finish` is called with the short name and the counts in the same transaction.
    """
    with said(), ArchiveReader(file, tables.NAMES) as archive:
        _verify(archive, progress)
        with transaction.atomic():
            models.Project.objects.select_for_update(no_key=True).get(pk=project.pk)
            check_empty(project)
            finish({"slug": project.slug, **_RowLoader(archive, project, actor).everything()})


def _verify(archive: ArchiveReader, progress: Progress) -> None:
    for done, name in enumerate(sorted(tables.NAMES)):
        progress(done, len(tables.NAMES) + 1)
        archive.verify(name)


class _RowLoader:
    """Stores the rows of an archive in one project, inside the caller's transaction. Raises ArchiveError."""

    def __init__(self, archive: ArchiveReader, project: models.Project, actor: models.User | None) -> None:
        self.archive, self.project, self.actor = archive, project, actor
        people, self.accounts = store_people(archive)
        keys = {model: reserve(model, self.count(model)) for model in tables.TABLES}
        self.numbers = FromArchive(keys, people)
        self.people = len(people)
        # The sets name this import, so that every place that shows them can say so.
        self.by = models.Import.objects.create(
            project=project, format=ARCHIVE, state=models.ImportState.DONE, created_by=actor, finished_at=timezone.now()
        )
        self.merged: dict[int, int] = {}
        self.codes: dict[tuple[int, str], str] = {}
        self.defined: dict[int, tuple[AttributeDef, ...]] = {}
        self.models: set[int] = set()
        # For each annotation set of a model, by primary key: its note. And the texts of notes of the present batch.
        self.suggested: dict[int, int] = {}
        self.texts: dict[int, str] = {}

    def count(self, model: type[Model]) -> int:
        return self.archive.members[file_of(model)].rows

    def everything(self) -> ArchiveImported:
        # A project that was made for the upload has labels, which those of the archive replace.
        models.Label.objects.filter(label_set__project=self.project).delete()
        models.LabelSet.objects.filter(project=self.project).delete()
        if self.count(models.LabelSet) != 1:
            raise ArchiveError("There must be exactly one row.", file=file_of(models.LabelSet))
        for model in tables.TABLES:
            self.store(model)
            if model is models.Label:
                self.check_merges()
                self.defined = definitions_by_label(self.project.pk)
        if wrong := self.numbers.wrong_later():
            raise ArchiveError("The row names a row about another note.", file=wrong[0], line=wrong[1])
        check_versions(self.project)
        link_newest_version(self.project)
        list_for_review(self.project)
        imported: ArchiveImported = {
            "notes": self.count(models.Document),
            "sets": self.count(models.AnnotationSet),
            "spans": self.count(models.Span),
            "people": self.people,
            "accounts": self.accounts,
        }
        self.by.report = {"notes": imported["notes"], "spans": imported["spans"]}
        self.by.save(update_fields=["report"])
        ARCHIVE_IMPORTED.record(actor=self.actor, project_id=self.project.pk, data=imported)
        # Last: an archived project refuses events.
        self.store_project()
        return imported

    def store(self, model: type[Model]) -> None:
        """Store a table. Rows that the database refuses are named without its own message, which may quote a note."""
        file = file_of(model)
        many = [column.field for column in columns_of(model) if column.field.many_to_many]
        writers = {field.attname: writer(field) for field in model._meta.concrete_fields}
        owned = [field.attname for field in model._meta.concrete_fields if field.related_model is models.Project]
        for batch in batched(self.archive.rows(file), SPANS_AT_ONCE if model is models.Span else BATCH):
            if model is models.Span:
                self.read_texts(batch)
            rows: list[Row] = []
            links: list[Model] = []
            for line, row in batch:
                values = self.row(model, line, row) | dict.fromkeys(owned, self.project.pk)
                for field in many:
                    links += _links(field, values["id"], values.pop(field.attname))
                rows.append(values)
            found = ([writers[name](value) for name, value in row.items()] for row in rows)
            try:
                # A COPY on PostgreSQL raises the driver's own errors.
                with transaction.atomic(), connection.wrap_database_errors:
                    insert_rows(model, list(rows[0]), found)
                    if links:
                        type(links[0])._default_manager.bulk_create(links)
            except (IntegrityError, DataError):
                raise ArchiveError(
                    "Two rows are the same, or a row contradicts another one "
                    f"(lines {batch[0][0]} to {batch[-1][0]}).",
                    file=file, line=batch[0][0],
                ) from None  # fmt: skip

    def row(self, model: type[Model], line: int, row: Row) -> Row:
        """The values of a row by attribute, with its primary key."""
        file = file_of(model)
        self.numbers.begin(file, line)
        values = values_of(self.numbers, model, file, line, row)
        if model in tables.TABLES and model is not models.NoteMetadata:
            values["id"] = self.numbers.key(model, line)
        at(file, line, self.check, model, values, row)
        self.numbers.end(model)
        return values

    def check(self, model: type[Model], values: Row, row: Row) -> None:
        """Check and complete the values of a row. Raises Bad."""
        start, end, length = values.get("start"), values.get("end"), self.numbers.length
        if length is not None and start is not None and end is not None and not start <= end <= length:
            raise Bad(_("must have “start” and “end” within the note"))
        if model is models.Label and values["merged_into_id"]:
            self.merged[values["id"]] = values["merged_into_id"]
        elif model is models.MappedLabel:
            # Readers of files confuse codes that differ only in case.
            code = values["code"]
            if self.codes.setdefault((values["mapping_id"], code.casefold()), code) != code:
                raise Bad(_("has a “code” that differs only in case from another code of the mapping"))
        elif model is models.Author:
            if values["kind"] == models.AuthorKind.ANNOTATOR:
                values["name"] = self.numbers.name(values["name"])
            elif values["kind"] in models.Author.MODELS:
                self.models.add(values["id"])
        elif model is models.Document:
            if text_sha256(values["text"]) != values["sha256"]:
                raise Bad(_("has a “sha256” that doesn't match the text"))
            values["length"] = len(values["text"])
            self.numbers.lengths.append(values["length"])
        elif model is models.AnnotationSet:
            values["imported_by_id"] = self.by.pk
            if values["author_id"] in self.models:
                self.suggested[values["id"]] = values["document_id"]
        elif model is models.Span:
            self.check_span(values)
        elif model is models.Comment and row.get("answers") and row["answers"] >= self.numbers.at[1]:
            raise Bad(_("can answer only an earlier comment"))

    def check_span(self, values: Row) -> None:
        """Check a span. Suggestions are listed by their text."""
        start, end = values["start"], values["end"]
        if start >= end:
            raise Bad(_("must have “start” before “end”"))
        attributes = pairs_of(values["attributes"])
        if attributes and fitting(attributes, self.defined.get(values["label_id"], ()))[0] != attributes:
            raise Bad(
                _(
                    "has an attribute or value that its label doesn't define. Define it for the label, then export the "
                    "project again"
                )
            )
        note = self.suggested.get(values["annotation_set_id"])
        values["string_key"] = None if note is None else string_key(self.texts[note][start:end])

    def read_texts(self, batch: Lines) -> None:
        """Read the texts of the notes in which a batch of spans has suggestions."""
        numbers = (row.get("annotation_set") for _line, row in batch)
        good = {number for number in numbers if type(number) is int and 1 <= number <= self.count(models.AnnotationSet)}
        notes = {self.suggested.get(self.numbers.key(models.AnnotationSet, number), 0) for number in good}
        self.texts = dict(models.Document.objects.filter(pk__in=notes).values_list("pk", "text"))

    def check_merges(self) -> None:
        for label in self.merged:
            seen = {label}
            while (label := self.merged.get(label, 0)) and label not in seen:
                seen.add(label)
            if label:
                raise ArchiveError("Labels are merged into each other in a circle.", file=file_of(models.Label))

    def store_project(self) -> None:
        file = file_of(models.Project)
        found = list(islice(self.archive.rows(file), 2))
        if len(found) != 1:
            raise ArchiveError("There must be exactly one row.", file=file)
        values = self.row(models.Project, *found[0])
        seed = values["seed_from_id"]
        if seed is not None and seed not in self.models:
            raise ArchiveError("“seed_from” must be a run.", file=file, line=1)
        models.Project.objects.filter(pk=self.project.pk).update(**values)


def values_of(numbers: FromArchive, model: type[Model], file: str, line: int, row: Row) -> Row:
    """The values of a row by attribute. Raises ArchiveError."""
    found: Row = {}
    columns = columns_of(model)
    taken = 0
    for column in columns:
        value = row.get(column.key, MISSING)
        if value is not MISSING:
            taken += 1
            try:
                value = column.shape(value, numbers)
            except Bad as error:
                raise ArchiveError(f"“{column.key}” {error}.", file=file, line=line) from None
        elif (value := column.default) is MISSING:
            raise ArchiveError(f"The row lacks “{column.key}”.", file=file, line=line)
        found[column.field.attname] = value
    if taken < len(row):
        unknown = set(row) - {column.key for column in columns}
        shown = ", ".join(sorted(key for key in unknown if key.isidentifier())[:5])
        raise ArchiveError(f"The row has unknown keys: {shown}.", file=file, line=line)
    return found


def store_people(archive: ArchiveReader) -> tuple[dict[str, int], int]:
    """Find or make the account that stands for each person. Return them by name, and the number of new ones.

    Nobody becomes a member; roles are only checked.
    """
    found: dict[str, int] = {}
    accounts = 0
    for batch in batched(archive.rows(tables.PEOPLE), BATCH):
        names = [at(tables.PEOPLE, line, name_of, row) for line, row in batch]
        here = accounts_here([name + IMPORTED for name in names])
        for (line, row), name in zip(batch, names, strict=True):
            if name in found:
                raise ArchiveError("The user name is listed twice.", file=tables.PEOPLE, line=line)
            marked = (name + IMPORTED).lower()
            if marked not in here:
                here[marked] = at(tables.PEOPLE, line, make_account, name)
                accounts += 1
            found[name] = here[marked].pk
            if isinstance(row["member"], dict):
                values_of(FromArchive({}, {}), models.Membership, tables.PEOPLE, line, row["member"])
            elif row["member"] is not None:
                raise ArchiveError("“member” must be an object or null.", file=tables.PEOPLE, line=line)
    return found, accounts


def check_versions(project: models.Project) -> None:
    """Frozen versions that lost no note must have the content of their hash."""
    for version in models.GoldVersion.objects.filter(project=project, erased_count=0):
        notes = models.GoldVersionNote.objects.filter(version=version).order_by()
        frozen = notes.values_list("document__name", "document__sha256", "spans").iterator(chunk_size=BATCH)
        found = gold_hash((name, sha256, map(hashed, spans)) for name, sha256, spans in frozen)
        if found != version.content_hash:
            raise ArchiveError(
                f"The notes and spans of gold version {version.number} don't fit its content hash.",
                file=file_of(models.GoldVersionNote),
            )


def link_newest_version(project: models.Project) -> None:
    """Note in the newest version which gold still has its spans, so that only other gold counts as changed later."""
    version = project.gold_versions.order_by("-number").first()
    for notes in in_batches(models.GoldVersionNote.objects.filter(version=version), BATCH):
        sets = gold_sets(project).filter(document__in=[note.document_id for note in notes])
        golds = {document: (pk, number) for document, pk, number in sets.values_list("document_id", "pk", "version")}
        current = gold_spans([pk for pk, _number in golds.values()])
        same = [
            note
            for note in notes
            if (gold := golds.get(note.document_id))
            and sorted(map(hashed, current[gold[0]])) == sorted(map(hashed, note.spans))
        ]
        for note in same:
            note.gold, note.gold_number = golds[note.document_id]
        models.GoldVersionNote.objects.bulk_update(same, ["gold", "gold_number"])
        # A database trigger has marked all gold, but no note of the version without gold.
        marks = models.ChangedGold.objects.filter(project_id=project.pk)
        marks.filter(document_id__in=[note.document_id for note in notes]).delete()
        marks.bulk_create(
            models.ChangedGold(project_id=project.pk, document_id=note.document_id)
            for note in notes
            if note.gold is None
        )


def list_for_review(project: models.Project) -> None:
    """Write the counts and lists that review keeps of suggestions."""
    for author in models.Author.objects.filter(project=project, kind__in=models.Author.MODELS).values_list(
        "pk", flat=True
    ):
        listed = models.SuggestedNote.objects.filter(author=author).values("document")
        sets = models.AnnotationSet.objects.filter(author=author).values_list("pk", "document_id")
        for batch in in_batches(sets, BATCH):
            pks = [pk for pk, _note in batch]
            add_strings(tally_of(models.Span.objects.filter(annotation_set__in=pks)))
            add_notes(author, dict(sets.filter(pk__in=pks, document__in=listed)))


def _links(field: Any, own: int, people: Iterable[int]) -> list[Model]:
    names = (field.m2m_field_name(), field.m2m_reverse_field_name())
    return [
        field.remote_field.through(**{f"{names[0]}_id": own, f"{names[1]}_id": other})
        for other in dict.fromkeys(people)
    ]


# Archives by a path on this machine, for commands: write one, make a project from one, and say what was done.


WHOLE: Final = "archive"
"""The name of the format, as used for `--format`."""


def export_to(*, project: models.Project, out: Path, actor: models.User | None) -> dict[str, Any]:
    """Write an archive to a new file. Raises ServiceError."""
    out = out.absolute()
    with progress_bar("Exporting") as progress:
        written = archive_to_path(project=project, out=out, actor=actor, progress=progress)
    return {"file": str(out), **written}


def import_from(*, path: Path, slug: str, actor: models.User | None) -> dict[str, Any]:
    """Make a new project from an archive; an empty `slug` takes the short name in the archive. Raises ServiceError."""
    try:
        with path.open("rb") as file:
            project, imported = import_archive(file=file, slug=slug, actor=actor)
    except OSError as error:
        raise ServiceError(f"Can't read “{path}”: {error.strerror}.", code="path") from error
    return {"project": project, **imported}


def is_whole(path: Path, format: str) -> bool:
    """Whether a path is to be read as a whole project: by its format, or if that is to be detected, by its content."""
    if format != DETECT or not path.is_file():
        return format == WHOLE
    with path.open("rb") as file:
        return is_archive(file)


def check_alone(given: Mapping[str, object]) -> None:
    """Raise ServiceError if options of the command, by their names, were given. They don't fit a whole project."""
    named = [option for option, value in given.items() if value]
    if named:
        raise ServiceError(
            _("An archive holds a whole project, so these options can't be used with it: %(options)s. Leave them out.")
            % {"options": ", ".join(named)},
            code="options",
        )
