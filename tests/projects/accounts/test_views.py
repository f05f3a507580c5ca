"""Pages of members: add, accounts and links, roles, remove, restore."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotations.models import AnnotationSetState, Assignment, AssignmentState, Event, Membership, Role, User
from annotations.projects.events import MEMBER_ADDED, MEMBER_REMOVED, RESET_LINK_MADE
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


def url(name: str, world, user: User) -> str:
    return reverse(name, args=["covid", membership(world, user).pk])


def row_of(html: str, name: str) -> str:
    return html.partition(f'<th scope="row">{name}')[2].partition("</tr>")[0]


# ── The list ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_list(world, mia, django_assert_max_num_queries):
    Assignment.objects.filter(user=world.ann, document=world.note).update(state=AssignmentState.DONE)
    for _ in range(4):
        make.make_member(world.project)
    mia.get(PAGE)  # the first request of a session saves it
    with django_assert_max_num_queries(13):
        html = check_page(mia.get(PAGE))
    row = row_of(html, "ann")
    assert '<td data-label="To do" class="num">1</td>' in row and '<td data-label="Done" class="num">1</td>' in row
    assert "Former members" not in html and "out" not in re.findall(r'<th scope="row">(\w+)', html)


def test_a_password_link_is_offered_only_where_it_may_be_made(world, mia):
    """The project created the account of ann; out is also in another project."""
    make.make_member(world.project, user=world.out)
    html, only = check_page(mia.get(PAGE)), "Password reset by administrators only"
    assert url("member_link", world, world.ann) in row_of(html, "ann") and only not in row_of(html, "ann")
    assert url("member_link", world, world.out) not in row_of(html, "out") and only in row_of(html, "out")


def test_members_and_former_members_come_in_pages(world, mia):
    here = Membership.objects.filter(project=world.project, active=True).count()
    for number in range(51 - here):
        make.make_member(world.project, user=f"here-{number:02}")
    gone = [make.make_member(world.project, user=f"gone-{number:02}") for number in range(51)]
    Membership.objects.filter(user__in=gone).update(active=False, removed_at="2026-01-01T00:00Z")
    last, first = f"here-{50 - here:02}", check_page(mia.get(PAGE))
    assert "1–50 of 51 people" in first and "1–50 of 51 former members" in first
    assert last not in first and "gone-50" not in first and "gone-00" in first
    second = check_page(mia.get(PAGE, {"page": 2}))
    assert last in second and "here-00" not in second and "gone-00" in second
    assert 'href="?page=2&amp;removed=2"' in second
    both = check_page(mia.get(PAGE, {"page": 2, "removed": 2}))
    assert last in both and "gone-50" in both and "gone-00" not in both


# ── Adding, and links ────────────────────────────────────────────────────────────────────────────────────────────────


def test_adding_an_existing_account(world, mia):
    dora = make.make_user("dora")
    for _ in range(2):
        assert mia.post(PAGE, {"username": "dora", "account": "existing", "role": "annotator"}).url == PAGE
    assert membership(world, dora).role == Role.ANNOTATOR and Assignment.objects.filter(user=dora).count() == 2
    assert Event.objects.filter(verb=MEMBER_ADDED).count() == 1
    # Otherwise the manager of a person without projects could read the notes of a project that they join later.
    response = mia.post(url("member_link", world, dora), follow=True)
    assert "not created in a project that you manage" in check_page(response)
    assert "password/reset/key" not in response.text and not Event.objects.filter(verb=RESET_LINK_MADE).exists()


def test_a_new_account_gets_a_link_shown_once(world, mia):
    response = mia.post(PAGE, {"username": "elio", "account": "new", "role": "reviewer"})
    assert (response.status_code, response["Cache-Control"]) == (200, "no-store")
    html = check_page(response)
    path = LINK.search(html)[2]
    elio = User.objects.get(username="elio")
    assert "24 hours" in html and not elio.has_usable_password() and elio.created_in == world.project
    assert membership(world, elio).role == Role.REVIEWER
    assert all(path.rpartition("-")[2].strip("/") not in str(event.data) for event in Event.objects.all())
    assert path not in check_page(mia.get(PAGE))
    # The link lets the person choose a password and sign in.
    client, new = Client(), "una frase lunga 9"
    place = client.get(path, follow=True).redirect_chain[-1][0]
    assert client.post(place, {"password1": new, "password2": new}, follow=True).status_code == 200
    elio.refresh_from_db()
    assert elio.check_password(new)


def test_a_link_for_a_forgotten_password(world, mia):
    place = url("member_link", world, world.ann)
    path = LINK.search(check_page(mia.post(place)))[2]
    assert Event.objects.get(verb=RESET_LINK_MADE).data == {"user": "ann"}
    make.make_member(world.other, "viewer", world.ann)
    assert "outside your projects" in check_page(mia.post(place, follow=True))
    assert b"no longer valid" in Client().get(path, follow=True).content
    Membership.objects.filter(user=world.ann).update(active=False)
    assert "not a member" in check_page(mia.post(place, follow=True))


def test_errors_keep_what_was_typed(world, mia):
    make.make_user("gone", is_active=False)
    before = User.objects.count(), Membership.objects.count()
    for body, words in (
        ({"username": "nobody-here"}, "No active account has exactly this user name"),
        ({"username": "gone"}, "No active account has exactly this user name"),
        ({"username": "ann", "role": "viewer"}, "is already a member (annotator)"),
        ({"username": "ANN", "account": "new"}, "is taken"),
        ({"username": "with space", "account": "new"}, "valid username"),
        ({"username": "x", "role": "king"}, "valid choice"),
    ):
        response = mia.post(PAGE, {"account": "existing", "role": "annotator"} | body)
        html, name = check_page(response).lower(), body["username"].lower()
        assert response.status_code == 422 and words.lower() in html and f'value="{name}"' in html
        assert (User.objects.count(), Membership.objects.count()) == before


# ── Roles ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name, body", [("member_role", {"role": "viewer"}), ("member_remove", {})])
def test_a_manager_can_leave_if_another_stays(world, mia, name, body):
    own = url(name, world, world.mia)
    assert "at least one manager" in check_page(mia.post(own, body, follow=True))
    assert membership(world, world.mia).role == Role.MANAGER and membership(world, world.mia).active
    make.make_member(world.project, "manager", "nora")
    assert mia.post(own, body).url == reverse("projects")
    assert mia.get(PAGE).status_code == (403 if body else 404)


# ── Removing and bringing back ───────────────────────────────────────────────────────────────────────────────────────


def test_removing_keeps_annotations(world, mia):
    cas = make.make_member(world.project, user="cas")
    submitted = make.make_set(world.note, world.ann, submitted=True)
    draft = make.make_set(world.notes[1], world.ann)
    place = url("member_remove", world, world.ann)
    assert ">ben<" in check_page(mia.get(place))  # can get the open notes
    for heir in (world.vic.pk, world.out.pk, world.ann.pk, "x", HUGE):
        response = mia.post(place, {"heir": heir})
        assert response.status_code == 422 and "not an annotator" in check_page(response)
    assert membership(world, world.ann).active
    for _ in range(2):  # a double click does no harm
        assert mia.post(place, {"heir": cas.pk}).url == PAGE
    assert not membership(world, world.ann).active
    assert Assignment.objects.filter(user=cas, state=AssignmentState.OPEN).count() == 2
    submitted.refresh_from_db()
    draft.refresh_from_db()
    assert (submitted.state, draft.state) == (AnnotationSetState.SUBMITTED, AnnotationSetState.WITHDRAWN)
    assert "Former members" in check_page(mia.get(PAGE))
    html = check_page(mia.post(url("member_role", world, world.ann), {"role": "annotator"}, follow=True))
    assert "ann was restored" in html
    draft.refresh_from_db()
    assert draft.state == AnnotationSetState.DRAFT and Event.objects.filter(verb=MEMBER_REMOVED).count() == 1
