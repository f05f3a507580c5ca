"""Members: roles, removal without loss of work, restoring, one-time links."""

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils import timezone

from annotations.accounts.events import MEMBER_ADDED
from annotations.accounts.services import members
from annotations.core import access
from annotations.core.errors import ServiceError
from annotations.models import AnnotationSet, Assignment, Author, Event, Membership, Role
from tests.factories import make_member, make_note, make_project, make_set, make_user

pytestmark = pytest.mark.django_db
DRAFT, SUBMITTED, WITHDRAWN = AnnotationSet.State.DRAFT, AnnotationSet.State.SUBMITTED, AnnotationSet.State.WITHDRAWN


def test_a_new_annotator_gets_every_note():
    project = make_project()
    note = make_note(project)
    anna = make_user("anna")
    members.add_member(project=project, user=anna, role=Role.ANNOTATOR)
    assert list(Assignment.objects.values_list("document", "user")) == [(note.pk, anna.pk)]


def test_with_n_annotators_per_note_a_new_annotator_gets_notes_that_lack_annotators():
    project = make_project(distribution="some", annotators_per_note=1)
    bruno = make_member(project)
    make_note(project, "read", annotators=[bruno])
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
    assert Event.objects.filter(verb=MEMBER_ADDED).count() == 1


def test_removal_keeps_annotations_and_restoring_the_member_restores_them():
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


def test_open_notes_can_be_reassigned():
    project = make_project()
    make_member(project, Role.MANAGER)
    anna, bruno = make_member(project), make_member(project)
    make_note(project, "one", annotators=[anna, bruno])
    only_anna = make_note(project, "two", annotators=[anna])
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


def test_a_new_member_gets_the_annotations_imported_under_their_name():
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


@pytest.mark.parametrize("by", ["manager", "command line"])
@pytest.mark.parametrize("kind", ["administrator", "other project", "nothing"])
def test_a_link_is_void_once_the_account_has_other_rights(client, kind, by):
    """The holder of the link was entitled to the account with the rights that it had then."""
    project = make_project()
    boss, anna = make_member(project, Role.MANAGER), make_member(project, Role.ANNOTATOR, "anna")
    path = members.reset_link_path(project=project, user=anna, actor=boss if by == "manager" else None)
    if kind == "administrator":
        anna.is_staff = True
        anna.save()
    elif kind == "other project":
        members.add_member(project=make_project(), user=anna, role=Role.MANAGER)
    page = client.get(path, follow=True)
    assert (b"no longer valid" in page.content) == (kind != "nothing")


@pytest.mark.parametrize("kind", ["administrator", "other project", "once in another project", "inactive manager"])
def test_a_manager_makes_no_link_for_somebody_with_rights_elsewhere(kind):
    project = make_project()
    boss, victim = make_member(project, Role.MANAGER), make_member(project)
    if kind == "administrator":
        victim.is_staff = True
        victim.save()
    elif kind == "inactive manager":
        boss.is_active = False
    else:
        other = make_project()
        make_member(other, Role.MANAGER)
        make_member(other, Role.MANAGER, victim)
        if kind.startswith("once"):
            members.remove_member(project=other, user=victim, actor=None)
    with pytest.raises(ServiceError, match="outside your projects"):
        members.reset_link_path(project=project, user=victim, actor=boss)


def test_a_manager_makes_no_link_for_an_account_that_existed_before():
    """Otherwise the manager could sign in as a person who joins other projects later."""
    project = make_project()
    boss = make_member(project, Role.MANAGER)
    for known in (make_user("vera"), make_member(make_project(), user="vito")):
        Membership.objects.filter(user=known).delete()
        members.add_member(project=project, user=known, role=Role.VIEWER, actor=boss)
        with pytest.raises(ServiceError, match="not created in a project that you manage"):
            members.reset_link_path(project=project, user=known, actor=boss)


def test_a_manager_of_all_its_projects_makes_a_link():
    project, second = make_project(), make_project()
    boss, anna = make_member(project, Role.MANAGER), make_member(project, Role.ANNOTATOR, "anna")
    for role, person in ((Role.MANAGER, boss), (Role.VIEWER, anna)):
        make_member(second, role, person)
    assert members.reset_link_path(project=second, user=anna, actor=boss)


@pytest.mark.parametrize("used", ["never", "password", "signed in"])
def test_a_manager_makes_a_link_for_an_account_that_was_never_used(used):
    project = make_project()
    boss, new = make_member(project, Role.MANAGER), make_user("vera")
    if used != "password":
        new.set_unusable_password()
    if used == "signed in":
        new.last_login = timezone.now()
    new.save()
    members.add_member(project=project, user=new, role=Role.VIEWER, actor=boss)
    if used == "never":
        assert members.reset_link_path(project=project, user=new, actor=boss)
    else:
        with pytest.raises(ServiceError, match="not created in a project"):
            members.reset_link_path(project=project, user=new, actor=boss)


def test_the_command_line_makes_a_link_for_any_member():
    """Its user has access to the database anyway."""
    project = make_project()
    vera = make_member(project, Role.VIEWER, make_user("vera"))
    make_member(make_project(), Role.MANAGER, vera)
    assert members.reset_link_path(project=project, user=vera, actor=None)


def by(client, path):
    return b"no longer valid" not in client.get(path, follow=True).content


@pytest.mark.parametrize("kind", ["demoted", "removed", "switched off", "another manager", "once elsewhere", "nothing"])
def test_a_link_works_only_while_its_creator_has_the_right_to_create_it(client, kind):
    project = make_project()
    boss, anna = make_member(project, Role.MANAGER), make_member(project, Role.ANNOTATOR, "anna")
    make_member(project, Role.MANAGER)
    path = members.reset_link_path(project=project, user=anna, actor=boss)
    if kind == "demoted":
        members.add_member(project=project, user=boss, role=Role.VIEWER)
    elif kind == "removed":
        members.remove_member(project=project, user=boss, actor=None)
    elif kind == "switched off":
        boss.is_active = False
        boss.save()
    elif kind == "another manager":
        # The roles of other members don't matter.
        make_member(project, Role.MANAGER)
    elif kind == "once elsewhere":
        other = make_project()
        make_member(other, Role.MANAGER)
        members.add_member(project=other, user=anna, role=Role.VIEWER)
        members.remove_member(project=other, user=anna, actor=None)
    assert by(client, path) == (kind in ("nothing", "another manager"))


def test_an_opened_link_is_void_once_its_creator_lost_the_right(client):
    project = make_project()
    boss, anna = make_member(project, Role.MANAGER), make_member(project, Role.ANNOTATOR, "anna")
    make_member(project, Role.MANAGER)
    opened = client.get(members.reset_link_path(project=project, user=anna, actor=boss), follow=True)
    members.remove_member(project=project, user=boss, actor=None)
    new = {"password1": "a-brand-new-secret", "password2": "a-brand-new-secret"}
    client.post(opened.redirect_chain[-1][0], new)
    anna.refresh_from_db()
    assert not anna.check_password("a-brand-new-secret")


def test_the_creator_of_a_link_can_not_be_changed(client):
    project = make_project()
    boss, anna = make_member(project, Role.MANAGER), make_member(project, Role.ANNOTATOR, "anna")
    path = members.reset_link_path(project=project, user=anna, actor=boss)
    front, _, key = path.rpartition("/key/")
    uid, maker, rest = key.split("-", 2)
    assert maker == str(boss.pk)
    for other in ("0", "", "x", str(boss.pk + 1)):
        assert not by(client, f"{front}/key/{uid}-{other}-{rest}")
    assert by(client, path)


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
    mine, other = make_note(project, annotators=[anna]), make_note(project, "another")
    entered = access.enter(anna, project.slug)
    assert access.note_for(entered, mine.pk) == mine
    with pytest.raises(Http404):
        access.note_for(entered, other.pk)
