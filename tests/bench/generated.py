"""A large project made by the database itself (PostgreSQL): INSERT … SELECT over generate_series."""

from dataclasses import dataclass
from typing import Any

from django.db import connection, models

from annotations.models import (
    AnnotationSet,
    Assignment,
    Author,
    Document,
    Event,
    GoldVersion,
    GoldVersionNote,
    Job,
    Label,
    Membership,
    Project,
    Role,
    Span,
    User,
    Verb,
)
from annotations.projects.services.projects import create_project

READERS = ("ann", "ben", "cle")
# Shares of the notes: read by the first two of three annotators, begun by them, made gold, read by a model.
READ, BEGUN, GOLD, RUN = 0.60, 0.62, 0.30, 0.10
SPANS_EACH = 32
# Characters of text that a span stands for; the text is longer than all of them.
STEP = 6
BODY = "'Paciente ' || i || repeat(' acude por dolor y fiebre', 12)"
STATES = "CASE WHEN i <= {read} THEN '{then}' ELSE '{other}' END"


@dataclass(frozen=True)
class Large:
    """What was made: the project, its people, and places in the middle of it."""

    project: Project
    manager: User
    annotator: User
    # A note that has gold, one that the annotator has submitted only, one they have begun, one they have not opened.
    gold: int
    read: int
    begun: int
    unread: int
    run: Author
    notes: int
    spans: int


def insert_select(model: type[models.Model], values: dict[str, str], source: str) -> int:
    """Rows of `model` from a FROM clause; columns that are not given get the model's own defaults. How many."""
    quote = connection.ops.quote_name
    columns, expressions, parameters = [], [], []
    for field in model._meta.concrete_fields:
        if field.column in values:
            expression = values[field.column]
        elif field.primary_key or (field.null and not field.has_default()):
            continue
        elif isinstance(field, models.DateTimeField):
            expression = "now()"
        else:
            expression = "%s"
            parameters.append(field.get_db_prep_save(field.get_default(), connection))
        columns.append(quote(field.column))
        expressions.append(expression)
    table = quote(model._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(expressions)} FROM {source}", parameters
        )
        return int(cursor.rowcount)


def make(notes: int, *, projects: int = 20) -> Large:
    """One project of `notes` notes with three annotators' readings, a run, gold, a frozen version and the events of
    all that, between `projects` small ones."""
    with connection.cursor() as cursor:
        # The rows are right by construction; checking ten million references one by one takes longer than making them.
        cursor.execute("SET session_replication_role = replica")
    try:
        _small_projects(projects)
        large = _large_project(notes)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = DEFAULT")
    with connection.cursor() as cursor:
        # What autovacuum would have done by the time a project is that large.
        cursor.execute("VACUUM ANALYZE")
    return large


def _notes(project: Project, count: int) -> int:
    """Gives the number before the first note's id."""
    values = {
        "project_id": str(project.pk),
        "name": "'note-' || lpad(i::text, 7, '0')",
        "sha256": f"md5('{project.pk}-' || i) || md5('x{project.pk}-' || i)",
        "length": "length(body)",
        "patient_id": "'patient-' || i / 5",
        "text": "body",
    }
    insert_select(Document, values, f"(SELECT i, {BODY} AS body FROM generate_series(1, {count}) AS i) AS made")
    first = Document.objects.filter(project=project).aggregate(first=models.Min("pk"))["first"]
    return int(first) - 1


def _small_projects(count: int) -> None:
    for number in range(count):
        project = create_project(name=f"Small {number}", label_set_key="it-4")
        before = _notes(project, 20)
        author = Author.objects.create(project=project, kind=Author.Kind.GOLD, name="gold")
        _sets(author, "generate_series(1, 20) AS i", before, "'submitted'")
        _spans(project, author, 5)


def _sets(author: Author, source: str, before: int, state: str) -> None:
    values = {
        "document_id": f"i + {before}",
        "author_id": str(author.pk),
        "state": state,
        "version": "1",
        "submitted_at": f"CASE WHEN {state} = 'submitted' THEN now() END",
    }
    insert_select(AnnotationSet, values, source)


def _spans(project: Project, author: Author, each: int) -> int:
    labels = list(Label.objects.filter(label_set__project=project).order_by("pk").values_list("pk", flat=True))
    values = {
        "annotation_set_id": "reading.id",
        "start": f"k * {STEP}",
        "end": f"k * {STEP} + 4",
        "label_id": f"{labels[0]} + mod(reading.id + k, {len(labels)})",
    }
    source = f"annotations_annotationset AS reading, generate_series(0, {each - 1}) AS k"
    return insert_select(Span, values, f"{source} WHERE reading.author_id = {author.pk}")


def _person(project: Project, name: str, role: str) -> User:
    user = User.objects.create_user(username=name)
    Membership.objects.create(project=project, user=user, role=role)
    return user


def _large_project(notes: int) -> Large:
    project = create_project(name="Large", label_set_key="meddocan", slug="large")
    manager = _person(project, "max", Role.MANAGER)
    people = [_person(project, name, Role.ANNOTATOR) for name in READERS]
    before = _notes(project, notes)
    read, begun, gold, run = (int(notes * share) for share in (READ, BEGUN, GOLD, RUN))
    for person in people:
        state = STATES.format(read=read if person is not people[2] else 0, then="done", other="open")
        values = {"project_id": str(project.pk), "document_id": f"i + {before}", "user_id": str(person.pk)}
        insert_select(Assignment, values | {"state": state}, f"generate_series(1, {notes}) AS i")
    kind = Author.Kind.ANNOTATOR
    authors = [
        Author.objects.create(project=project, kind=kind, name=person.username, user=person) for person in people[:2]
    ]
    for author in authors:
        submitted = STATES.format(read=read, then="submitted", other="draft")
        _sets(author, f"generate_series(1, {begun}) AS i", before, submitted)
    authors.append(Author.objects.create(project=project, kind=Author.Kind.GOLD, name="gold"))
    _sets(authors[-1], f"generate_series(1, {gold}) AS i", before, "'submitted'")
    authors.append(Author.objects.create(project=project, kind=Author.Kind.RUN, name="rules"))
    _sets(authors[-1], f"generate_series(1, {run}) AS i", before, "'submitted'")
    spans = sum(_spans(project, author, SPANS_EACH) for author in authors)
    _history(project, people, authors[2])
    return Large(
        project=project,
        manager=manager,
        annotator=people[0],
        gold=before + gold // 2,
        read=before + (gold + read) // 2,
        begun=before + (read + begun) // 2 + 1,
        unread=before + (begun + notes) // 2,
        run=authors[3],
        notes=notes,
        spans=spans,
    )


def _history(project: Project, people: list[User], gold: Author) -> None:
    """Events of reading and labelling, a frozen version, jobs."""
    for person in people[:2]:
        common = {"project_id": str(project.pk), "actor_id": str(person.pk), "document_id": "reading.document_id"}
        mine = "annotations_annotationset AS reading JOIN annotations_author AS author ON author.id = reading.author_id"
        mine += " {} WHERE author.user_id = " + str(person.pk)
        insert_select(Event, common | {"verb": f"'{Verb.NOTE_READ}'"}, mine.format(""))
        made: dict[str, Any] = {
            "verb": f"'{Verb.SPAN_CREATED}'",
            "annotation_set_id": "reading.id",
            "change_id": "gen_random_uuid()",
            "data": "jsonb_build_object('kind', 'create', 'span', k, 'after', jsonb_build_array(k, k, k))",
        }
        insert_select(Event, common | made, mine.format("CROSS JOIN generate_series(1, 4) AS k"))
    version = GoldVersion.objects.create(project=project, number=1, content_hash="x" * 64, note_count=0, span_count=0)
    insert_select(
        GoldVersionNote,
        {"version_id": str(version.pk), "document_id": "reading.document_id", "spans": "'[[0, 4, \"FECHAS\", null]]'"},
        f"annotations_annotationset AS reading WHERE reading.author_id = {gold.pk}",
    )
    values = {"project_id": str(project.pk), "kind": "'export'", "key": "'made-' || i", "state": "'done'"}
    insert_select(Job, values, "generate_series(1, 5000) AS i")
