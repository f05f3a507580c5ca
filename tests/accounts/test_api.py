"""Members of a project through the API."""

import pytest

from annotations.models import Assignment, Membership, User
from tests.factories import make_member, make_note, make_project, make_user
from tests.worlds.programs import Program

pytestmark = pytest.mark.django_db
MEMBERS = "/projects/ward/members"


@pytest.fixture
def program() -> Program:
    return Program(make_member(make_project("ward"), "manager", "mia"))


def test_a_member_from_the_first_day_to_the_last(program):
    """A new account with a link, another role, a preview, and the removal with its heir."""
    made = program.post(MEMBERS, {"username": "ada", "role": "annotator", "account": "new"})
    assert made.status_code == 201
    member = made.json()
    assert member["link"].startswith("http://testserver/accounts/password/reset/key/")
    project = program.token.user.memberships.get().project
    heir = make_member(project, "annotator", "ben")
    make_note(project, annotators=[User.objects.get(username="ada")])

    one = f"{MEMBERS}/{member['id']}"
    assert program.get(f"{one}/removal").json() == {
        "username": "ada", "open_notes": 1, "drafts": 0, "submitted": 0, "may_take_over": ["ben"],
    }  # fmt: skip
    removed = program.post(f"{one}/remove", {"hand_over_to": "ben"})
    assert (removed.status_code, removed.json()["handed_over"]) == (200, 1)
    assert Assignment.objects.get(user=heir).state == "open"
    assert [each["username"] for each in program.get(MEMBERS).json()["items"]] == ["mia", "ben"]
    assert [each["username"] for each in program.get(f"{MEMBERS}?active=false").json()["items"]] == ["ada"]

    restored = program.patch(one, {"role": "reviewer"})
    assert (restored.json()["role"], restored.json()["active"]) == ("reviewer", True)
    again = program.post(f"{one}/password-link")
    assert again.json()["link"] != member["link"]
    assert again.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("body", "field", "says"),
    [
        ({"username": "nobody", "role": "viewer"}, "username", "No active account"),
        ({"username": "mia", "role": "viewer"}, "username", "already a member"),
        ({"username": "MIA", "role": "viewer", "account": "new"}, "username", "is taken"),
        ({"username": "a b", "role": "viewer", "account": "new"}, "username", "valid username"),
        ({"username": "mia", "role": "king"}, "role", "king"),
    ],
)
def test_what_is_wrong_with_a_new_member(program, body, field, says):
    answer = program.post(MEMBERS, body)
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert error["field"] == field
    assert says in error["reason"]
    assert Membership.objects.count() == 1


def test_the_last_manager_stays(program):
    [mia] = program.get(MEMBERS).json()["items"]
    for answer in (
        program.post(f"{MEMBERS}/{mia['id']}/remove", {}),
        program.patch(f"{MEMBERS}/{mia['id']}", {"role": "viewer"}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "last-manager")


def test_an_heir_must_be_an_annotator(program):
    make_user("zoe")
    [mia] = program.get(MEMBERS).json()["items"]
    answer = program.post(f"{MEMBERS}/{mia['id']}/remove", {"hand_over_to": "zoe"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "hand_over_to"
