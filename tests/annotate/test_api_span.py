"""A span saved through the API: what it asks the database, and which projects its token reaches."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotations.models import Assignment, Event, Membership, Project, Role, Span
from tests.factories import make_member, make_note, make_project
from tests.worlds.programs import Program

pytestmark = pytest.mark.django_db


@pytest.fixture
def note():
    project = make_project("ward")
    return make_note(project, annotators=[make_member(project, user="ann")])


@pytest.fixture
def program(note):
    return Program(note.assignments.get().user, "write", note.project)


def save(program, note, start, end):
    body = {"start": start, "end": end, "label": "PATIENT"}
    return program.post(f"/projects/{note.project.slug}/notes/{note.pk}/annotations/spans", body)


def test_a_further_span_asks_each_thing_once(note, program):
    assert save(program, note, 0, 5).status_code == 201
    with CaptureQueriesContext(connection) as queries:
        assert save(program, note, 6, 11).status_code == 201
    asked = [query["sql"] for query in queries if not query["sql"].startswith(("SAVEPOINT", "RELEASE"))]
    # Token with person, membership with project, note, label, own set, span, room, version, archived, event; on
    # PostgreSQL also the lock on the labels.
    assert len(asked) == (11 if connection.vendor == "postgresql" else 10), asked
    # The rules of access need few columns.
    assert not any(f'"{column}"' in each for each in asked for column in ("guidelines", "joined_at", "sha256")), asked
    assert Span.objects.count() == 2
    assert Event.objects.filter(verb="span.created", project_id=note.project_id).count() == 2


def test_a_right_that_ends_holds_for_the_next_span(note, program):
    assert save(program, note, 0, 5).status_code == 201
    note.assignments.update(state=Assignment.State.RELEASED)
    assert save(program, note, 6, 11).status_code == 404
    note.assignments.update(state=Assignment.State.OPEN)
    for change, status in (({"role": Role.VIEWER}, 403), ({"role": Role.ANNOTATOR, "active": False}, 404)):
        Membership.objects.update(**change)
        assert save(program, note, 6, 11).status_code == status
    Membership.objects.update(active=True)
    for change in ({"archived_at": timezone.now()}, {"archived_at": None, "second_factor": True}):
        Project.objects.filter(pk=note.project_id).update(**change)
        assert save(program, note, 6, 11).status_code == 403
    assert Span.objects.count() == 1


def test_a_token_of_one_project_saves_in_no_other_one_of_the_person(note, program):
    other = make_note(make_project("other"), annotators=[note.assignments.get().user])
    path = f"/projects/other/notes/{other.pk}/annotations"
    for role in (Role.ANNOTATOR, Role.VIEWER):
        # As for a person who is no member: also where the person's own role would be answered with 403.
        Membership.objects.update_or_create(
            project=other.project, user=note.assignments.get().user, defaults={"role": role}
        )
        assert save(program, other, 0, 5).status_code == 404
        assert program.get(path).status_code == 404
    assert not Span.objects.exists()
