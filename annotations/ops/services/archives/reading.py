"""Import a whole project from an archive, in one transaction: everything, or nothing."""

from collections.abc import Callable
from datetime import datetime
from itertools import groupby, islice
from typing import IO, Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Value
from django.db.models.functions import Concat
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotations.core.authors import ARCHIVE, IMPORTED
from annotations.core.errors import ServiceError
from annotations.core.progress import Progress, silent
from annotations.core.spans import definitions_by_label, pairs_of
from annotations.core.suggestions import add_notes, add_strings, tally_of
from annotations.formats.files.archives import ArchiveError, ArchiveReader
from annotations.gold.selectors import hashed
from annotations.models import (
    AnnotationSet,
    Author,
    Comment,
    Document,
    GoldVersion,
    GoldVersionNote,
    Handover,
    Import,
    Label,
    LabelSet,
    NoteMetadata,
    Project,
    Role,
    Span,
    SuggestedNote,
    User,
)
from annotations.ops.events import ARCHIVE_IMPORTED
from annotations.ops.services.archives import tables
from annotations.ops.services.archives.looking import named, said
from annotations.ops.services.archives.people import accounts_here, make_account, name_of
from annotations.ops.services.archives.rows import BATCH, Lines, Row, Rows, at, some
from annotations.ops.services.archives.tables import Table
from annotations.projects.services.members import add_member
from annotations.text.attributes import AttributeDef, fitting
from annotations.text.hashes import gold_hash, string_key, text_sha256
from annotations.text.names import bad_character

# What follows when all rows of an archive are stored: links between rows, checks, and lists made of rows.


def answer_comments(rows: Rows) -> None:
    name = tables.COMMENTS.name
    for number, (line, row) in enumerate(rows.archive.rows(name), start=1):
        answers = row.get("answers")
        if answers is None:
            continue
        if answers >= number:
            raise ArchiveError("A comment can answer only an earlier one.", file=name, line=line)
        first = at(name, line, rows.keys.comment, answers)
        own = rows.keys.comment(number)
        same = Comment.objects.filter(pk=first, document__in=Comment.objects.filter(pk=own).values("document"))
        if not same.exists():
            raise ArchiveError("A comment can answer only a comment on the same note.", file=name, line=line)
        Comment.objects.filter(pk=own).update(answers=first)


def join_second_reviews(rows: Rows) -> None:
    """Store who took part in the first reviews."""
    own = Handover.objects.filter(review__document__project=rows.project).order_by("pk").values_list("pk", flat=True)
    through = Handover.people.through
    for pk, (_line, row) in zip(list(own), rows.archive.rows(tables.HANDOVERS.name), strict=True):
        people = dict.fromkeys(map(rows.keys.person, row["people"]))
        through.objects.bulk_create([through(handover_id=pk, user_id=user) for user in people])


def check_versions(rows: Rows) -> None:
    """Frozen versions that lost no note must have the content of their hash."""
    for version in GoldVersion.objects.filter(project=rows.project, erased_count=0):
        notes = GoldVersionNote.objects.filter(version=version).order_by()
        frozen = notes.values_list("document__name", "document__sha256", "spans").iterator(chunk_size=BATCH)
        found = gold_hash((name, sha256, map(hashed, spans)) for name, sha256, spans in frozen)
        if found != version.content_hash:
            raise ArchiveError(
                f"The notes and spans of gold version {version.number} don't fit its content hash.",
                file=tables.GOLD_NOTES.name,
            )


def list_for_review(rows: Rows) -> None:
    """Write the counts and lists that review keeps of suggestions."""
    runs = Author.objects.filter(project=rows.project, kind__in=Author.MODELS)
    for author in runs.values_list("pk", flat=True):
        listed = SuggestedNote.objects.filter(author=author).values("document")
        sets = AnnotationSet.objects.filter(author=author).order_by("pk").values_list("pk", "document_id")
        for batch in some(sets.iterator(chunk_size=BATCH)):
            pks = [pk for pk, _note in batch]
            add_strings(tally_of(Span.objects.filter(annotation_set__in=pks)))
            add_notes(author, dict(sets.filter(pk__in=pks, document__in=listed)))


# The first rows of an archive: people, labels and authors, which all others name; and the project itself.


class People(NamedTuple):
    """How many people an archive names, and for how many of them an account was made."""

    people: int
    accounts: int


def store_people(rows: Rows) -> People:
    """Find or make the account that stands for each person. Nobody becomes a member; roles are only checked."""
    keys: dict[str, int] = {}
    accounts = 0
    for batch in rows.batches(tables.PEOPLE):
        names = [at(tables.PEOPLE, line, name_of, row) for line, row in batch]
        here = accounts_here([name + IMPORTED for name in names])
        for (line, row), name in zip(batch, names, strict=True):
            if name in keys:
                raise ArchiveError("The user name is listed twice.", file=tables.PEOPLE, line=line)
            marked = (name + IMPORTED).lower()
            if marked not in here:
                here[marked] = at(tables.PEOPLE, line, make_account, name)
                accounts += 1
            keys[name] = here[marked].pk
            if row["member"] is not None:
                rows.values(tables.PEOPLE, line, tables.MEMBER_COLUMNS, row["member"])
    rows.keys.know_people(keys)
    return People(len(keys), accounts)


def mark_authors(rows: Rows) -> None:
    """Mark the annotators as imported, and find all authors by their names in the archive."""
    annotators = Author.objects.filter(project=rows.project, kind=Author.Kind.ANNOTATOR)
    annotators.update(name=Concat("name", Value(IMPORTED)))
    rows.keys.know_authors()


def store_project(rows: Rows) -> None:
    found = list(islice(rows.archive.rows(tables.PROJECT), 2))
    if len(found) != 1:
        raise ArchiveError("There must be exactly one row.", file=tables.PROJECT)
    line, row = found[0]
    values = rows.values(tables.PROJECT, line, tables.PROJECT_COLUMNS, row)
    seed = values["seed_from_id"]
    if seed is not None and not Author.objects.filter(pk=seed, kind__in=Author.MODELS).exists():
        raise ArchiveError("“seed_from” must be a run.", file=tables.PROJECT, line=line)
    # `update` prepares times itself.
    times = {"created_at", "archived_at"}
    values |= {name: datetime.fromisoformat(row[name]) if row.get(name) else None for name in times}
    rows.guarded(tables.PROJECT, [line], lambda: Project.objects.filter(pk=rows.project.pk).update(**values))


def merge_labels(rows: Rows) -> None:
    rows.keys.know_labels()
    into: dict[str, str] = {}
    for line, row in rows.archive.rows(tables.LABELS.name):
        if row.get("merged_into") is None:
            continue
        target = at(tables.LABELS.name, line, rows.keys.label, row["merged_into"])
        Label.objects.filter(pk=rows.keys.label(row["code"])).update(merged_into=target)
        into[row["code"]] = row["merged_into"]
    for code in into:
        seen = {code}
        while (code := into.get(code, "")) and code not in seen:
            seen.add(code)
        if code:
            raise ArchiveError("Labels are merged into each other in a circle.", file=tables.LABELS.name)


def check_codes(rows: Rows) -> None:
    """The codes that a mapping writes must not differ only in case, because readers of the files confuse them."""
    written: dict[tuple[str, str], str] = {}
    for line, row in rows.archive.rows(tables.MAPPED.name):
        code = row.get("code", "")
        if written.setdefault((row["mapping"], code.casefold()), code) != code:
            raise ArchiveError(
                "“code” differs only in case from another code of the mapping.", file=tables.MAPPED.name, line=line
            )


def merge_runs(rows: Rows) -> None:
    for line, row in rows.archive.rows(tables.AUTHORS.name):
        runs = row.get("merged_from")
        if runs is None:
            continue
        if not isinstance(runs, list):
            raise ArchiveError("“merged_from” must be null or a list.", file=tables.AUTHORS.name, line=line)
        found = [at(tables.AUTHORS.name, line, rows.keys.author, run) for run in runs]
        own = rows.keys.author([row["kind"], row["name"]])
        Author.objects.filter(pk=own).update(merged_from=found)


# The notes of an archive, and their annotation sets with spans.


Definitions = dict[int, tuple[AttributeDef, ...]]
"""The attributes of each label that has any, by label id."""


def store_notes(rows: Rows) -> int:
    count = 0
    columns = [*tables.NOTE_COLUMNS, *tables.METADATA_COLUMNS]
    about = {column.attname for column in tables.METADATA_COLUMNS}
    for batch in rows.batches(tables.NOTES):
        notes: list[tuple[int, Row]] = []
        known: dict[str, Row] = {}
        for line, row in batch:
            values = rows.values(tables.NOTES, line, columns, row)
            if bad_character(values["name"]) or not values["name"]:
                raise ArchiveError("The name of the note is not allowed.", file=tables.NOTES, line=line)
            if text_sha256(values["text"]) != values["sha256"]:
                raise ArchiveError("“sha256” doesn't fit the text.", file=tables.NOTES, line=line)
            known[values["name"]] = {key: values.pop(key) for key in about}
            values |= {"length": len(values["text"]), "project_id": rows.project.pk}
            notes.append((line, values))
        rows.insert(tables.NOTES, Document, notes)
        rows.keys.begin(known)
        metadata = [
            (0, {"document_id": rows.keys.take_note(name).pk, **values})
            for name, values in known.items()
            if any(values.values())
        ]
        rows.insert(tables.NOTES, NoteMetadata, metadata)
        count += len(notes)
    return count


def store_sets(rows: Rows, by: Import) -> tuple[int, int]:
    """Store the annotation sets. Returns how many sets and spans there are."""
    sets = spans = 0
    defined = definitions_by_label(rows.project.pk)
    models_of = set(Author.objects.filter(project=rows.project, kind__in=Author.MODELS).values_list("pk", flat=True))
    for batch in rows.batches(tables.SETS):
        # A gold span may name a suggestion of the same batch, which must be stored first.
        for _kind, same in groupby(batch, key=_kind_of):
            some = list(same)
            sets += len(some)
            spans += _store_some_sets(rows, some, models_of, defined, by)
    return sets, spans


def _store_some_sets(rows: Rows, batch: Lines, models_of: set[int], defined: Definitions, by: Import) -> int:
    """Store annotation sets with their spans. Returns how many spans there are."""
    rows.keys.begin(row["note"] for _line, row in batch if isinstance(row.get("note"), str))
    sets, spans = [], []
    for line, row in batch:
        listed = row.pop("spans", None)
        if not isinstance(listed, list):
            raise ArchiveError("“spans” must be a list.", file=tables.SETS, line=line)
        sets.append((line, rows.values(tables.SETS, line, tables.SET_COLUMNS, row) | {"imported_by_id": by.pk}))
        spans.append(listed)
    rows.insert(tables.SETS, AnnotationSet, sets)
    suggested = {values["document_id"] for _line, values in sets if values["author_id"] in models_of}
    texts = dict(Document.objects.filter(pk__in=suggested).values_list("pk", "text"))
    found: Lines = []
    for (line, values), (_line, row), listed in zip(sets, batch, spans, strict=True):
        note = rows.keys.take_note(row["note"])
        own = rows.keys.annotation_set(values["author_id"])
        text = texts[note.pk] if values["author_id"] in models_of else None
        for span in listed:
            found.append((line, _span(rows, line, span, note.length, text, defined)))
            found[-1][1]["annotation_set_id"] = own
    rows.insert(tables.SETS, Span, found)
    return len(found)


def _span(rows: Rows, line: int, span: Any, length: int, text: str | None, defined: Definitions) -> Row:
    """The values of a span in a note of `length` code points. Suggestions are listed by their text."""
    if not isinstance(span, dict):
        raise ArchiveError("Each span must be an object.", file=tables.SETS, line=line)
    found = rows.values(tables.SETS, line, tables.SPAN_COLUMNS, span)
    if not found["start"] < found["end"] <= length:
        raise ArchiveError("A span is empty or not within the note.", file=tables.SETS, line=line)
    attributes = pairs_of(span.get("attributes"))
    if attributes and fitting(attributes, defined.get(found["label_id"], ()))[0] != attributes:
        raise ArchiveError(
            "A span has an attribute or value that its label doesn't define. Define it for the label, then export "
            "the project again.",
            file=tables.SETS, line=line,
        )  # fmt: skip
    found["string_key"] = None if text is None else string_key(text[found["start"] : found["end"]])
    return found


def _kind_of(numbered: tuple[int, Row]) -> Any:
    """The kind of the author of a row, to group rows by."""
    author = numbered[1].get("author")
    return author[0] if isinstance(author, list) and author else None


class Imported(NamedTuple):
    slug: str
    notes: int
    sets: int
    spans: int
    people: int
    accounts: int


def import_archive(*, file: IO[bytes], slug: str = "", actor: User | None = None) -> Imported:
    """Make a new project from an archive; its short name is `slug`, or that of the archive. Raises ServiceError.

    Its only member is `actor`, as a manager. Without one it has no member.
    """
    with said(), ArchiveReader(file, tables.NAMES) as archive:
        _verify(archive, silent)
        own, name = named(archive)
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
            if actor is not None:
                add_member(project=project, user=actor, role=Role.MANAGER, actor=actor)
            return _everything(Rows(archive, project), actor)


def fill_project(
    *, project: Project, file: IO[bytes], actor: User | None, progress: Progress, finish: Callable[[Row], None]
) -> None:
    """Import an archive into an empty project, whose managers stay managers. Raises ServiceError.

    `finish` is called with the counts in the same transaction.
    """
    with said(), ArchiveReader(file, tables.NAMES) as archive:
        _verify(archive, progress)
        with transaction.atomic():
            Project.objects.select_for_update(no_key=True).get(pk=project.pk)
            if Document.objects.filter(project=project).exists() or Author.objects.filter(project=project).exists():
                raise ServiceError(_("The project is not empty. Import the archive as a new project."), code="filled")
            finish(_everything(Rows(archive, project), actor)._asdict())


def _verify(archive: ArchiveReader, progress: Progress) -> None:
    for done, name in enumerate(sorted(tables.NAMES)):
        progress(done, len(tables.NAMES) + 1)
        archive.verify(name)


def _everything(rows: Rows, actor: User | None) -> Imported:
    people, accounts = store_people(rows)
    # A project that was made for the upload has labels, which those of the archive replace.
    Label.objects.filter(label_set__project=rows.project).delete()
    LabelSet.objects.filter(project=rows.project).delete()
    for table in tables.BEFORE:
        _store(rows, table)
        if table is tables.LABELS:
            merge_labels(rows)
        if table is tables.MAPPED:
            check_codes(rows)
        if table is tables.AUTHORS:
            mark_authors(rows)
            merge_runs(rows)
    # The sets name this import, so that every place that shows them can say so.
    by = Import.objects.create(
        project=rows.project, format=ARCHIVE, state=Import.State.DONE, created_by=actor, finished_at=timezone.now()
    )
    notes = store_notes(rows)
    sets, spans = store_sets(rows, by)
    for table in tables.AFTER:
        _store(rows, table)
    answer_comments(rows)
    join_second_reviews(rows)
    check_versions(rows)
    list_for_review(rows)
    imported = Imported(rows.project.slug, notes, sets, spans, people, accounts)
    by.report = {"notes": notes, "spans": spans}
    by.save(update_fields=["report"])
    counts = {key: value for key, value in imported._asdict().items() if key != "slug"}
    ARCHIVE_IMPORTED.record(actor=actor, project_id=rows.project.pk, data=counts)  # type: ignore[arg-type]
    # Last: an archived project refuses events.
    store_project(rows)
    return imported


def _store(rows: Rows, table: Table) -> None:
    constant: Row = {}
    if table.constant == "project_id":
        constant = {"project_id": rows.project.pk}
    elif table.constant:
        owner = LabelSet.objects.filter(project=rows.project).first()
        if owner is None:
            raise ArchiveError("There must be exactly one row.", file=tables.LABEL_SET.name)
        constant = {table.constant: owner.pk}
    key: Any = table.model._meta.pk
    for batch in rows.batches(table.name):
        names = {row["note"] for _line, row in batch if isinstance(row.get("note"), str)}
        rows.keys.begin(names)
        found: Lines = []
        for line, row in batch:
            values = rows.values(table.name, line, table.columns, row) | constant
            if table.numbered:
                values[key.attname] = key.get_db_prep_save(rows.keys.number(table.numbered), connection)
            found.append((line, values))
        rows.insert(table.name, table.model, found)
