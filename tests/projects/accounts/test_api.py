"""Members of a project through the API."""

import pytest

from annotations.models import Assignment, Membership, User
from tests.factories import make_member, make_note, make_project, make_user
from tests.worlds.programs import Program

MEMBERS = "/projects/ward/members"


@pytest.fixture
def program(db) -> Program:
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
        "username": "ada", "open_notes": 1, "drafts": 0, "submitted": 0, "may_take_over": ["ben"]
    }  # fmt: skip
    removed = program.post(f"{one}/remove", {"hand_over_to": "ben"})
    assert (removed.status_code, removed.json()["handed_over"]) == (200, 1)
    assert Assignment.objects.get(user=heir).state == "open"
    assert [each["username"] for each in program.get(MEMBERS).json()["items"]] == ["mia", "ben"]
    assert [each["username"] for each in program.get(f"{MEMBERS}?active=false").json()["items"]] == ["ada"]

    restored = program.patch(one, {"role": "reviewer"})
    assert (restored.json()["role"], restored.json()["active"]) == ("reviewer", True)
    again = program.post(f"{one}/password-link")
    assert again.json()["link"] != member["link"] and again.headers["Cache-Control"] == "no-store"


def test_what_is_wrong_with_a_new_member(program):
    for body, field, says in (
        ({"username": "nobody", "role": "viewer"}, "username", "No active account"),
        ({"username": "MIA", "role": "viewer", "account": "new"}, "username", "is taken"),
        ({"username": "mia", "role": "king"}, "role", "king"),
    ):
        answer = program.post(MEMBERS, body)
        [error] = answer.json()["errors"]
        assert (answer.status_code, error["field"]) == (422, field) and says in error["reason"]
        assert Membership.objects.count() == 1


def test_the_last_manager_stays_and_an_heir_must_be_an_annotator(program):
    make_user("zoe")
    one = f"{MEMBERS}/{program.get(MEMBERS).json()['items'][0]['id']}"
    for answer in (program.post(f"{one}/remove", {}), program.patch(one, {"role": "viewer"})):
        assert (answer.status_code, answer.json()["code"]) == (409, "last-manager")
    answer = program.post(f"{one}/remove", {"hand_over_to": "zoe"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "hand_over_to")
