"""What one prepared query reads for a request decides as the plain queries of the access rules do."""

from itertools import product

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils import timezone

from annotations.core.access import Can, SecondFactorMissing, enter, note_for
from annotations.core.entrance import entering
from annotations.models import Assignment, AssignmentState, DocumentSource, Membership, Role, User
from tests import factories as make

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def house(db):
    """Two projects with members of every role, one of each removed, with assignments in every state or none."""
    project, other = make.make_project("ward"), make.make_project("other")
    notes = [make.make_note(project, "one"), make.make_note(project, "two"), make.make_note(other, "one")]
    DocumentSource.objects.create(document=notes[0], name="one.pdf", kind="pdf", places=[[0, 3, "p. 1"]])
    people = [make.make_user("stranger")]
    for role, state in product(Role.values, [None, *AssignmentState.values]):
        person = make.make_member(project, role, f"{role}-{state}")
        people.append(person)
        if state:
            Assignment.objects.create(project=project, document=notes[0], user=person, state=state)
            make.make_member(other, role, person)
    for role in Role.values:
        person = make.make_member(project, role, f"removed-{role}")
        Membership.objects.filter(user=person).update(active=False)
        people.append(person)
    return project, notes, people


def outcome_of(person, slug, note, right):
    """What a request gets: the refusal, or the rows that views use."""
    try:
        access = enter(person, slug, right)
        found = note_for(access, note, with_source=True)
    except (Http404, SecondFactorMissing, PermissionDenied) as error:
        return type(error)
    source = getattr(found, "source", None)
    return [
        {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
        for row in (access.user, access.membership, access.project, found, *([source] if source else []))
    ]


@pytest.mark.parametrize("closed", [{}, {"archived_at": timezone.now()}, {"second_factor": True}], ids=str)
def test_both_ways_agree(house, closed):
    project, notes, people = house
    type(project).objects.update(**closed)
    seen = set()
    places = [("ward", notes[0].pk), ("ward", notes[2].pk), ("ward", 10**17), ("other", notes[2].pk), ("none", 1)]
    for person, (slug, note) in product(people, places):
        for right in (Can.SEE_PROJECT, Can.ANNOTATE):
            plain = outcome_of(User.objects.get(pk=person.pk), slug, note, right)
            known = entering(person.pk, f"/projects/{slug}/notes/{note}/annotate/")
            quick = outcome_of(known or User.objects.get(pk=person.pk), slug, note, right)
            assert quick == plain, (person.username, slug, note, right)
            seen.add(plain if isinstance(plain, type) else len(plain))
    refused = {SecondFactorMissing} if "second_factor" in closed else {4, 5, PermissionDenied}
    assert seen >= {Http404, *refused}


def test_a_right_that_is_withdrawn_is_gone_with_the_next_reading(house, django_assert_num_queries):
    _project, notes, people = house
    person = next(one for one in people if one.username == "annotator-open")
    path = f"/api/v1/projects/ward/notes/{notes[0].pk}"
    with django_assert_num_queries(1):
        known = entering(person.pk, path)
        access = enter(known, "ward", Can.ANNOTATE)
        assert note_for(access, notes[0].pk, with_source=True).source.name == "one.pdf"
    Assignment.objects.filter(user=person).update(state=AssignmentState.RELEASED)
    with pytest.raises(Http404):
        note_for(access, notes[0].pk)
    Membership.objects.filter(user=person).update(active=False)
    assert entering(person.pk, path) is None
    with pytest.raises(Http404):
        enter(known, "ward")
