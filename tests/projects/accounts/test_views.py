"""Pages of members: add, accounts and links, roles, remove, restore."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotations.models import Assignment, AssignmentState, Event, Membership, Role, User
from annotations.projects.events import MEMBER_ADDED, RESET_LINK_MADE
from tests import factories as make
from tests.worlds.checks import check_page

PAGE = "/projects/covid/people/"
LINK = re.compile(r'id="link">(http://testserver(/accounts/password/reset/key/[^<]+))<')


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


def test_a_link_for_a_forgotten_password(world, mia):
    place = url("member_link", world, world.ann)
    path = LINK.search(check_page(mia.post(place)))[2]
    assert Event.objects.get(verb=RESET_LINK_MADE).data == {"user": "ann"}
    make.make_member(world.other, "viewer", world.ann)
    assert "outside your projects" in check_page(mia.post(place, follow=True))
    assert b"no longer valid" in Client().get(path, follow=True).content
    Membership.objects.filter(user=world.ann).update(active=False)
    assert "not a member" in check_page(mia.post(place, follow=True))


# ── Roles ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name, body", [("member_role", {"role": "viewer"}), ("member_remove", {})])
def test_a_manager_can_leave_if_another_stays(world, mia, name, body):
    own = url(name, world, world.mia)
    assert "at least one manager" in check_page(mia.post(own, body, follow=True))
    assert membership(world, world.mia).role == Role.MANAGER and membership(world, world.mia).active
    make.make_member(world.project, "manager", "nora")
    assert mia.post(own, body).url == reverse("projects")
    assert mia.get(PAGE).status_code == (403 if body else 404)
