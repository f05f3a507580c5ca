"""Members: roles, removal without loss of work, restoring, one-time links."""

import pytest
from django.http import Http404
from django.utils import timezone

from annotations import models
from annotations.core import access
from annotations.core.services import ServiceError
from annotations.core.spans import own_set
from annotations.projects.events import MEMBER_ADDED
from annotations.projects.services import members
from tests.factories import change, make_member, make_note, make_project, make_set, make_user, reread

pytestmark = pytest.mark.django_db
DRAFT, SUBMITTED, WITHDRAWN = (
    models.AnnotationSetState.DRAFT, models.AnnotationSetState.SUBMITTED, models.AnnotationSetState.WITHDRAWN,
)  # fmt: skip


@pytest.fixture
def project(db):
    return make_project()


@pytest.fixture
def boss(project):
    return make_member(project, models.Role.MANAGER)


@pytest.fixture
def anna(project):
    return make_member(project, models.Role.ANNOTATOR, "anna")


def add(project, user, role=models.Role.ANNOTATOR, actor=None):
    return members.add_member(project=project, user=user, role=role, actor=actor)


def remove(project, user, **more):
    return members.remove_member(project=project, user=user, actor=None, **more)


def test_a_new_annotator_gets_every_note_once(project):
    note, anna = make_note(project), make_user("anna")
    outside = models.Author.objects.create(project=project, kind=models.AuthorKind.ANNOTATOR, name="anna")
    for _ in range(2):
        add(project, anna)
    assert list(models.Assignment.objects.values_list("document", "user")) == [(note.pk, anna.pk)]
    assert models.Membership.objects.count() == models.Event.objects.filter(verb=MEMBER_ADDED).count() == 1
    assert reread(outside).user == anna, "the annotations imported under their name"
    with pytest.raises(ServiceError, match="manager, reviewer, annotator, viewer"):
        add(project, make_user(), "boss")


@pytest.mark.parametrize("role", [models.Role.REVIEWER, models.Role.MANAGER])
def test_whoever_joins_gets_the_annotations_imported_under_their_name(project, role):
    outside = models.Author.objects.create(project=project, kind=models.AuthorKind.ANNOTATOR, name="rita")
    mine, rita = make_set(make_note(project), outside, [(0, 11, "PATIENT")]), make_user("rita")
    add(project, rita, role)
    assert own_set(mine.document_id, rita) == mine


def test_with_n_annotators_per_note_a_new_annotator_gets_notes_that_lack_annotators():
    project = make_project(distribution="some", annotators_per_note=1)
    make_note(project, "read", annotators=[make_member(project)])
    unread, anna = make_note(project, "unread"), make_user()
    add(project, anna)
    assert [row.document for row in models.Assignment.objects.filter(user=anna)] == [unread]


def test_removal_keeps_annotations_and_restoring_the_member_restores_them(project, boss):
    anna = make_user("anna")
    finished, begun, untouched = (make_note(project, f"text {n}") for n in range(3))
    add(project, anna)
    done = make_set(finished, anna, [(0, 4, "PATIENT")], submitted=True, submitted_at="2026-01-01T00:00Z")
    draft = make_set(begun, anna, [(0, 4, "PATIENT")])
    models.Assignment.objects.filter(document=finished).update(state=models.AssignmentState.DONE)

    preview = members.removal_preview(project=project, user=anna)
    assert (preview["open_notes"], preview["drafts"], preview["submitted"]) == (2, 1, 1)
    remove(project, anna)
    done.refresh_from_db()
    draft.refresh_from_db()
    assert (done.state, draft.state, draft.spans.count()) == (SUBMITTED, WITHDRAWN, 1)
    with pytest.raises(Http404):
        access.enter(anna, project.slug)

    add(project, anna)
    assert reread(draft).state == DRAFT
    open_notes = models.Assignment.objects.filter(user=anna, state=models.AssignmentState.OPEN)
    assert {row.document_id for row in open_notes} == {begun.pk, untouched.pk}


def test_open_notes_can_be_reassigned(project, boss, anna):
    bruno = make_member(project)
    make_note(project, "one", annotators=[anna, bruno])
    only_anna = make_note(project, "two", annotators=[anna])
    assert remove(project, anna, hand_over_to=bruno)["handed_over"] == 1
    assert models.Assignment.objects.get(user=bruno, document=only_anna).state == models.AssignmentState.OPEN


# ── Links ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def link(project, user, actor):
    return members.reset_link_path(project=project, user=user, actor=actor)


def opens(client, path):
    return b"no longer valid" not in client.get(path, follow=True).content


def send(client, opened, password):
    client.post(opened.redirect_chain[-1][0], {"password1": password, "password2": password}, follow=True)


@pytest.mark.parametrize("by", ["manager", "command line"])
def test_a_link_is_void_once_the_account_has_other_rights(client, project, boss, anna, by):
    """The holder of the link was entitled to the account with the rights that it had then."""

    def path():
        return link(project, anna, boss if by == "manager" else None)

    before = path()
    assert opens(client, before)
    change(anna, is_staff=True)
    assert not opens(client, before)
    change(anna, is_staff=False)
    before = path()
    add(make_project(), anna, models.Role.MANAGER)
    assert not opens(client, before)


@pytest.mark.parametrize("kind", ["administrator", "other project", "once in another project", "inactive manager"])
def test_a_manager_makes_no_link_for_somebody_with_rights_elsewhere(project, boss, anna, kind):
    if kind == "administrator":
        change(anna, is_staff=True)
    elif kind == "inactive manager":
        boss.is_active = False
    else:
        other = make_project()
        make_member(other, models.Role.MANAGER)
        make_member(other, models.Role.MANAGER, anna)
        if kind.startswith("once"):
            remove(other, anna)
    with pytest.raises(ServiceError, match="outside your projects"):
        link(project, anna, boss)
    assert link(project, anna, None), "whoever uses the command line has access to the database anyway"


def test_a_manager_makes_no_link_for_an_account_that_existed_before(project, boss):
    """Otherwise the manager could sign in as a person who joins other projects later."""
    known = make_member(make_project(), user="vito")
    models.Membership.objects.filter(user=known).delete()
    add(project, known, models.Role.VIEWER, boss)
    with pytest.raises(ServiceError, match="not created in a project that you manage"):
        link(project, known, boss)


def test_a_manager_of_all_its_projects_makes_a_link(project, boss, anna):
    second = make_project()
    for role, person in ((models.Role.MANAGER, boss), (models.Role.VIEWER, anna)):
        make_member(second, role, person)
    assert link(second, anna, boss)


def test_a_manager_makes_a_link_for_an_account_that_was_never_used(project, boss):
    new = make_user("vera")
    add(project, new, models.Role.VIEWER, boss)
    with pytest.raises(ServiceError, match="not created in a project"):
        link(project, new, boss)
    new.set_unusable_password()
    new.save()
    assert link(project, new, boss)
    change(new, last_login=timezone.now())
    with pytest.raises(ServiceError, match="not created in a project"):
        link(project, new, boss)


@pytest.mark.parametrize("kind", ["demoted", "removed", "switched off", "another manager", "once elsewhere", "nothing"])
def test_a_link_works_only_while_its_creator_has_the_right_to_create_it(client, project, boss, anna, kind):
    make_member(project, models.Role.MANAGER)
    path = link(project, anna, boss)
    opened = client.get(path, follow=True)
    if kind == "demoted":
        add(project, boss, models.Role.VIEWER)
    elif kind == "removed":
        remove(project, boss)
    elif kind == "switched off":
        change(boss, is_active=False)
    elif kind == "another manager":  # The roles of other members don't matter.
        make_member(project, models.Role.MANAGER)
    elif kind == "once elsewhere":
        other = make_project()
        make_member(other, models.Role.MANAGER)
        add(other, anna, models.Role.VIEWER)
        remove(other, anna)
    works = kind in ("nothing", "another manager")
    assert opens(client, path) == works
    send(client, opened, "a-brand-new-secret")
    assert reread(anna).check_password("a-brand-new-secret") == works, "also if the link was opened before"


def test_the_creator_of_a_link_can_not_be_changed(client, project, boss, anna):
    path = link(project, anna, boss)
    front, _, key = path.rpartition("/key/")
    uid, maker, rest = key.split("-", 2)
    assert maker == str(boss.pk)
    for other in ("0", "", "x", str(boss.pk + 1)):
        assert not opens(client, f"{front}/key/{uid}-{other}-{rest}")
    assert opens(client, path)
