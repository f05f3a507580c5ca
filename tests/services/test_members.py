"""People: roles, removal without loss, coming back, one-time links."""

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404

from annotations import access
from annotations.models import AnnotationSet, Assignment, Author, Event, Membership, Role, Verb
from annotations.services import members
from annotations.services.errors import ServiceError
from tests.factories import make_member, make_note, make_project, make_set, make_user

pytestmark = pytest.mark.django_db
DRAFT, SUBMITTED, WITHDRAWN = AnnotationSet.State.DRAFT, AnnotationSet.State.SUBMITTED, AnnotationSet.State.WITHDRAWN


def test_a_new_annotator_gets_every_note():
    project = make_project()
    note = make_note(project)
    anna = make_user("anna")
    members.add_member(project=project, user=anna, role=Role.ANNOTATOR)
    assert list(Assignment.objects.values_list("document", "user")) == [(note.pk, anna.pk)]


def test_with_n_readers_a_new_annotator_gets_what_still_lacks_readers():
    project = make_project(distribution="some", readers_per_note=1)
    bruno = make_member(project)
    make_note(project, "read", readers=[bruno])
    unread = make_note(project, "unread")
    anna = make_user()
    members.add_member(project=project, user=anna, role=Role.ANNOTATOR)
    assert [row.document for row in Assignment.objects.filter(user=anna)] == [unread]


def test_unknown_role_names_the_choices():
    with pytest.raises(ServiceError, match="manager, reviewer, annotator, viewer"):
        members.add_member(project=make_project(), user=make_user(), role="boss")


def test_adding_twice_is_one_membership_and_one_event():
    project, anna = make_project(), make_user()
    for _ in range(2):
        members.add_member(project=project, user=anna, role=Role.ANNOTATOR)
    assert Membership.objects.count() == 1
    assert Event.objects.filter(verb=Verb.MEMBER_ADDED).count() == 1


def test_removal_keeps_the_work_and_coming_back_restores_it():
    project = make_project()
    make_member(project, Role.MANAGER)
    anna = make_user("anna")
    finished, begun, untouched = (make_note(project, f"text {n}") for n in range(3))
    members.add_member(project=project, user=anna, role=Role.ANNOTATOR)
    done = make_set(finished, anna, [(0, 4, "PATIENT")], submitted=True, submitted_at="2026-01-01T00:00Z")
    draft = make_set(begun, anna, [(0, 4, "PATIENT")])
    Assignment.objects.filter(document=finished).update(state=Assignment.State.DONE)

    preview = members.removal_preview(project=project, user=anna)
    assert (preview["open_notes"], preview["drafts"], preview["submitted"]) == (2, 1, 1)
    members.remove_member(project=project, user=anna, actor=None)

    done.refresh_from_db()
    draft.refresh_from_db()
    assert (done.state, draft.state) == (SUBMITTED, WITHDRAWN)
    assert draft.spans.count() == 1
    with pytest.raises(Http404):
        access.enter(anna, project.slug)

    members.add_member(project=project, user=anna, role=Role.ANNOTATOR)
    draft.refresh_from_db()
    assert draft.state == DRAFT
    open_notes = Assignment.objects.filter(user=anna, state=Assignment.State.OPEN)
    assert {row.document_id for row in open_notes} == {begun.pk, untouched.pk}


def test_open_notes_can_be_handed_over():
    project = make_project()
    make_member(project, Role.MANAGER)
    anna, bruno = make_member(project), make_member(project)
    make_note(project, "one", readers=[anna, bruno])
    only_anna = make_note(project, "two", readers=[anna])
    result = members.remove_member(project=project, user=anna, actor=None, hand_over_to=bruno)
    assert result["handed_over"] == 1
    assert Assignment.objects.get(user=bruno, document=only_anna).state == Assignment.State.OPEN


def test_the_last_manager_stays():
    project = make_project()
    boss = make_member(project, Role.MANAGER)
    with pytest.raises(ServiceError, match="at least one manager"):
        members.remove_member(project=project, user=boss, actor=boss)
    with pytest.raises(ServiceError, match="at least one manager"):
        members.add_member(project=project, user=boss, role=Role.VIEWER)


def test_somebody_imported_under_that_name_finds_their_readings():
    project = make_project()
    outside = Author.objects.create(project=project, kind=Author.Kind.ANNOTATOR, name="anna")
    anna = make_user("anna")
    members.add_member(project=project, user=anna, role=Role.ANNOTATOR)
    outside.refresh_from_db()
    assert outside.user == anna


def test_a_link_sets_a_new_password_once(client):
    project = make_project()
    boss, anna = make_member(project, Role.MANAGER), make_member(project, Role.ANNOTATOR, "anna")
    path = members.reset_link_path(project=project, user=anna, actor=boss)
    page = client.get(path, follow=True)
    assert page.status_code == 200
    target = page.redirect_chain[-1][0]
    new = {"password1": "a-brand-new-secret", "password2": "a-brand-new-secret"}
    client.post(target, new, follow=True)
    anna.refresh_from_db()
    assert anna.check_password("a-brand-new-secret")
    client.logout()
    client.get(path, follow=True)
    client.post(target, {"password1": "yet-another-secret", "password2": "yet-another-secret"}, follow=True)
    anna.refresh_from_db()
    assert anna.check_password("a-brand-new-secret"), "the link worked twice"


@pytest.mark.parametrize("kind", ["administrator", "other project", "nothing"])
def test_a_link_is_void_once_the_account_has_other_rights(client, kind):
    """Whoever holds the link was entitled to the account as it was, not as it has become."""
    project = make_project()
    boss, anna = make_member(project, Role.MANAGER), make_member(project, Role.ANNOTATOR, "anna")
    path = members.reset_link_path(project=project, user=anna, actor=boss)
    if kind == "administrator":
        anna.is_staff = True
        anna.save()
    elif kind == "other project":
        members.add_member(project=make_project(), user=anna, role=Role.MANAGER)
    page = client.get(path, follow=True)
    assert (b"no longer valid" in page.content) == (kind != "nothing")


@pytest.mark.parametrize("kind", ["administrator", "other project"])
def test_a_manager_makes_no_link_for_somebody_with_rights_elsewhere(kind):
    project = make_project()
    boss, victim = make_member(project, Role.MANAGER), make_member(project)
    if kind == "administrator":
        victim.is_staff = True
        victim.save()
    else:
        make_member(make_project(), Role.MANAGER, victim)
    with pytest.raises(ServiceError, match="outside the projects you manage"):
        members.reset_link_path(project=project, user=victim, actor=boss)


def test_access_says_404_to_strangers_and_403_to_members_without_the_right():
    project = make_project()
    viewer = make_member(project, Role.VIEWER)
    with pytest.raises(Http404):
        access.enter(make_user(), project.slug)
    with pytest.raises(PermissionDenied):
        access.enter(viewer, project.slug, access.Can.MANAGE)


def test_annotators_reach_only_their_own_notes():
    project = make_project()
    anna = make_member(project)
    mine, other = make_note(project, readers=[anna]), make_note(project, "another")
    entered = access.enter(anna, project.slug)
    assert access.note_for(entered, mine.pk) == mine
    with pytest.raises(Http404):
        access.note_for(entered, other.pk)
