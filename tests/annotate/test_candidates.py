"""What the annotate page offers in a note: candidates of the rules, and strings that the person labeled before."""

import json
from uuid import uuid4

import pytest
from django.conf import settings

from annotations.models import AnnotationSet, Label, Project
from tests import factories as make

TEXT = "Seen by Dr. van den Berg on 07/04/2017. Mrs Mary Smith, 54 years, lives in Boston."


@pytest.fixture
def ward(db):
    project = make.make_project("ward")
    ann, ben = make.make_member(project, user="ann"), make.make_member(project, user="ben")
    note = make.make_note(project, TEXT, "n1", annotators=[ann, ben], language="en")
    return project, ann, ben, note


def doctor():
    return Label.objects.get(name="DOCTOR").pk


def offered(client, user, note):
    client.force_login(user, backend=settings.AUTHENTICATION_BACKENDS[-1])
    answer = client.get(f"/projects/ward/notes/{note.pk}/candidates")
    assert answer.status_code == 200
    return answer.json()


def test_the_rules_propose_only_if_the_project_says_so(ward, client):
    project, ann, _ben, note = ward
    assert offered(client, ann, note) | {"person": 0} == {"candidates": [], "strings": [], "shown": False, "person": 0}
    Project.objects.filter(pk=project.pk).update(candidates=True)
    answer = offered(client, ann, note)
    names = dict(Label.objects.values_list("pk", "name"))
    found = [(TEXT[start:end], names[label]) for start, end, label in answer["candidates"]]
    assert answer["shown"] and ("Mary Smith", "PATIENT") in found and ("van den Berg", "DOCTOR") in found
    # What is annotated with candidates in sight is not blind.
    change = {"kind": "create", "start": 0, "end": 4, "label": doctor(), "quote": "Seen", "change_id": str(uuid4())}
    body = json.dumps(change | {"person": ann.pk})
    answer = client.post(f"/projects/ward/notes/{note.pk}/changes", body, content_type="application/json")
    assert answer.status_code == 200 and not AnnotationSet.objects.get().blind
    assert found == sorted(found, key=lambda each: TEXT.index(each[0]))


def test_strings_are_those_of_the_same_person_in_other_notes(ward, client):
    project, ann, ben, note = ward
    patient = Label.objects.get(name="PATIENT").pk
    berg, mary = (TEXT.index("van den Berg"), TEXT.index("Mary Smith"))
    others = [make.make_note(project, TEXT, f"other{at}", annotators=[ann, ben]) for at in range(2)]
    for at, other in enumerate(others):
        spans = [(berg, berg + 12, "DOCTOR")] + [(mary, mary + 10, "PATIENT")] * at
        make.make_set(other, ann, spans=spans)
    make.make_set(note, ben, spans=[(mary, mary + 10, "DOCTOR")])
    make.make_set(note, ann, spans=[(0, 4, "PATIENT")])
    wanted = [["van den Berg", doctor(), 2], ["Mary Smith", patient, 1]]
    assert offered(client, ann, note)["strings"] == wanted
    # A note that the person may no longer open says nothing any more, and another person's work never does.
    others[1].assignments.filter(user=ann).update(state="released")
    assert offered(client, ann, note)["strings"] == [["van den Berg", doctor(), 1]]
    assert offered(client, ben, others[0])["strings"] == [["Mary Smith", doctor(), 1]]
