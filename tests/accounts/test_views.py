"""Pages of members: add, accounts and links, roles, remove, restore."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotations.accounts.events import MEMBER_ADDED, MEMBER_REMOVED, RESET_LINK_MADE
from annotations.models import AnnotationSet, Assignment, Event, Membership, Role, User
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.managing import HUGE

PAGE = "/projects/covid/people/"
LINK = re.compile(r'id="link">(http://testserver(/accounts/password/reset/key/[^<]+))<')


@pytest.fixture
def mia(world, sign_in):
    return sign_in(world.mia)


def membership(world, user: User) -> Membership:
    return Membership.objects.get(project=world.project, user=user)


def url(name: str, member: Membership | int) -> str:
    return reverse(name, args=["covid", member if isinstance(member, int) else member.pk])


# ── The list ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_list(world, mia, django_assert_max_num_queries):
    Assignment.objects.filter(user=world.ann, document=world.note).update(state=Assignment.State.DONE)
    for _ in range(4):
        make.make_member(world.project)
    mia.get(PAGE)  # the first request of a session saves it
    with django_assert_max_num_queries(13):
        html = check_page(mia.get(PAGE))
    row = html[html.index('<th scope="row">ann') :]
    row = row[: row.index("</tr>")]
    assert '<td data-label="To do" class="num">1</td>' in row
    assert '<td data-label="Done" class="num">1</td>' in row
    assert "Former members" not in html
    assert "out" not in re.findall(r'<th scope="row">(\w+)', html)


def test_a_password_link_is_offered_only_where_it_may_be_made(world, mia):
    """The project created the account of ann; out is also in another project."""
    make.make_member(world.project, user=world.out)
    html = check_page(mia.get(PAGE))
    rows = {name: html[html.index(f'<th scope="row">{name}') :].split("</tr>")[0] for name in ("ann", "out")}
    assert url("member_link", membership(world, world.ann)) in rows["ann"]
    assert url("member_link", membership(world, world.out)) not in rows["out"]
    assert "Password reset by administrators only" in rows["out"]
    assert "Password reset by administrators only" not in rows["ann"]
    assert "You can create password links only for accounts" in html
    Membership.objects.get(project=world.project, user=world.out).delete()
    assert "You can create password links only for accounts" not in check_page(mia.get(PAGE))


# ── Adding ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_adding_an_existing_account(world, mia):
    make.make_user("dora")
    for _ in range(2):
        assert mia.post(PAGE, {"username": "dora", "account": "existing", "role": "annotator"}).url == PAGE
    dora = User.objects.get(username="dora")
    assert membership(world, dora).role == Role.ANNOTATOR
    assert Assignment.objects.filter(user=dora).count() == 2
    assert Event.objects.filter(verb=MEMBER_ADDED).count() == 1


def test_a_new_account_gets_a_link_shown_once(world, mia):
    response = mia.post(PAGE, {"username": "elio", "account": "new", "role": "reviewer"})
    assert response.status_code == 200
    assert response["Cache-Control"] == "no-store"
    html = check_page(response)
    assert "24 hours" in html
    path = LINK.search(html)[2]
    elio = User.objects.get(username="elio")
    assert not elio.has_usable_password()
    assert membership(world, elio).role == Role.REVIEWER
    assert all(path.rpartition("-")[2].strip("/") not in str(event.data) for event in Event.objects.all())
    assert path not in check_page(mia.get(PAGE))
    # The link lets the person choose a password and sign in.
    client = Client()
    form = client.get(path, follow=True)
    done = client.post(
        form.redirect_chain[-1][0], {"password1": "una frase lunga 9", "password2": "una frase lunga 9"}, follow=True
    )
    assert done.status_code == 200
    elio.refresh_from_db()
    assert elio.check_password("una frase lunga 9")


@pytest.mark.parametrize(
    "body, words",
    [
        ({"username": "nobody-here"}, "No active account has exactly this user name"),
        ({"username": "AN"}, "No active account has exactly this user name"),
        ({"username": ""}, "required"),
        ({"username": "x" * 151}, "at most 150"),
        ({"username": "ann", "role": "viewer"}, "is already a member (annotator)"),
        ({"username": "ann", "account": "new"}, "is taken"),
        ({"username": "ANN", "account": "new"}, "is taken"),
        ({"username": "with space", "account": "new"}, "valid username"),
        ({"username": "x", "account": "maybe"}, "valid choice"),
        ({"username": "x", "role": "king"}, "valid choice"),
    ],
)
def test_errors_keep_what_was_typed(world, mia, body, words):
    before = User.objects.count(), Membership.objects.count()
    sent = {"account": "existing", "role": "annotator"} | body
    response = mia.post(PAGE, sent)
    assert response.status_code == 422
    html = check_page(response).lower()
    assert words.lower() in html
    assert f'value="{sent["username"]}"'.lower() in html or not sent["username"]
    assert (User.objects.count(), Membership.objects.count()) == before


def test_an_inactive_account_can_not_be_added(world, mia):
    make.make_user("gone", is_active=False)
    assert mia.post(PAGE, {"username": "gone", "account": "existing", "role": "viewer"}).status_code == 422
    assert Membership.objects.filter(user__username="gone").count() == 0


# ── Links ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_link_for_a_forgotten_password(world, mia):
    html = check_page(mia.post(url("member_link", membership(world, world.ann))))
    assert LINK.search(html)
    assert Event.objects.get(verb=RESET_LINK_MADE).data == {"user": "ann"}


def test_no_link_for_an_account_with_rights_in_other_projects(world, mia):
    make.make_member(world.other, "viewer", world.ann)
    response = mia.post(url("member_link", membership(world, world.ann)), follow=True)
    assert "outside your projects" in check_page(response)
    assert "password/reset/key" not in response.content.decode()


def test_no_link_for_an_account_that_existed_before(world, mia):
    """Otherwise the manager of a person without projects could read the notes of a project that they join later."""
    make.make_user("dora")
    mia.post(PAGE, {"username": "dora", "account": "existing", "role": "viewer"})
    dora = User.objects.get(username="dora")
    response = mia.post(url("member_link", membership(world, dora)), follow=True)
    assert "not created in a project that you manage" in check_page(response)
    assert "password/reset/key" not in response.content.decode()
    assert not Event.objects.filter(verb=RESET_LINK_MADE).exists()


def test_no_link_for_a_new_account_that_joined_another_project(world, mia):
    mia.post(PAGE, {"username": "elio", "account": "new", "role": "viewer"})
    elio = User.objects.get(username="elio")
    assert elio.created_in == world.project
    place = url("member_link", membership(world, elio))
    path = LINK.search(check_page(mia.post(place)))[2]
    make.make_member(world.other, "viewer", elio)
    assert "outside your projects" in check_page(mia.post(place, follow=True))
    assert b"no longer valid" in Client().get(path, follow=True).content


def test_no_link_for_a_former_member(world, mia):
    Membership.objects.filter(user=world.ann).update(active=False)
    response = mia.post(url("member_link", membership(world, world.ann)), follow=True)
    assert "not a member" in check_page(response)


# ── Roles ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_changing_a_role(world, mia):
    member = membership(world, world.ann)
    assert "reviewer" in check_page(mia.post(url("member_role", member), {"role": "reviewer"}, follow=True))
    assert membership(world, world.ann).role == Role.REVIEWER
    assert not Assignment.objects.filter(user=world.ann, state=Assignment.State.OPEN).exists()
    check_page(mia.post(url("member_role", member), {"role": "king"}, follow=True))
    assert membership(world, world.ann).role == Role.REVIEWER


@pytest.mark.parametrize("name, body", [("member_role", {"role": "viewer"}), ("member_remove", {})])
def test_the_last_manager_stays(world, mia, name, body):
    response = mia.post(url(name, membership(world, world.mia)), body, follow=True)
    assert "at least one manager" in check_page(response)
    assert membership(world, world.mia).role == Role.MANAGER
    assert membership(world, world.mia).active


@pytest.mark.parametrize("name, body", [("member_role", {"role": "viewer"}), ("member_remove", {})])
def test_a_manager_can_leave_if_another_stays(world, mia, name, body):
    make.make_member(world.project, "manager", "nora")
    response = mia.post(url(name, membership(world, world.mia)), body)
    assert response.url == reverse("projects")
    assert mia.get(PAGE).status_code == (403 if body else 404)


# ── Removing and bringing back ───────────────────────────────────────────────────────────────────────────────────────


def test_the_page_shows_what_a_removal_affects(world, mia):
    make.make_set(world.note, world.ann, submitted=True)
    make.make_set(world.notes[1], world.ann)
    html = check_page(mia.get(url("member_remove", membership(world, world.ann))))
    assert "Remove ann from the project?" in html
    assert ">ben<" in html  # can get the open notes
    assert membership(world, world.ann).active


def test_removing_keeps_annotations(world, mia):
    cas = make.make_member(world.project, user="cas")
    submitted = make.make_set(world.note, world.ann, submitted=True)
    draft = make.make_set(world.notes[1], world.ann)
    member = membership(world, world.ann)
    for _ in range(2):  # a double click does no harm
        assert mia.post(url("member_remove", member), {"heir": cas.pk}).url == PAGE
    assert not membership(world, world.ann).active
    assert Assignment.objects.filter(user=cas, state=Assignment.State.OPEN).count() == 2
    submitted.refresh_from_db()
    draft.refresh_from_db()
    assert submitted.state == AnnotationSet.State.SUBMITTED
    assert draft.state == AnnotationSet.State.WITHDRAWN
    html = check_page(mia.get(PAGE))
    assert "Former members" in html
    assert "ann was restored" in check_page(mia.post(url("member_role", member), {"role": "annotator"}, follow=True))
    draft.refresh_from_db()
    assert draft.state == AnnotationSet.State.DRAFT
    assert Event.objects.filter(verb=MEMBER_REMOVED).count() == 1


@pytest.mark.parametrize("heir", ["vic", "out", "ann", "x", str(HUGE)])
def test_open_notes_go_to_other_annotators_only(world, mia, heir):
    heir = getattr(world, heir).pk if hasattr(world, heir) else heir
    response = mia.post(url("member_remove", membership(world, world.ann)), {"heir": heir})
    assert response.status_code == 422
    assert "not an annotator of this project" in check_page(response)
    assert membership(world, world.ann).active


# ── Pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_members_and_former_members_come_in_pages(world, mia):
    here = Membership.objects.filter(project=world.project, active=True).count()
    for number in range(51 - here):
        make.make_member(world.project, user=f"here-{number:02}")
    gone = [make.make_member(world.project, user=f"gone-{number:02}") for number in range(51)]
    Membership.objects.filter(user__in=gone).update(active=False, removed_at="2026-01-01T00:00Z")
    first = check_page(mia.get(PAGE))
    assert "1–50 of 51 people" in first and "1–50 of 51 former members" in first
    assert f"here-{50 - here:02}" not in first and "gone-50" not in first and "gone-00" in first
    second = check_page(mia.get(PAGE, {"page": 2}))
    assert f"here-{50 - here:02}" in second and "here-00" not in second and "gone-00" in second
    assert 'href="?page=2&amp;removed=2"' in second
    last = check_page(mia.get(PAGE, {"page": 2, "removed": 2}))
    assert f"here-{50 - here:02}" in last and "gone-50" in last and "gone-00" not in last
