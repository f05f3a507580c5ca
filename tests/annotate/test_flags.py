"""Flags: raised with a reason, shown in lists, cleared by their author or a reviewer."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from django.urls import reverse

from annotations.models import Assignment, AssignmentState, Event, Flag, User
from tests import factories as make
from tests.annotate.test_views import client_of, post

pytestmark = pytest.mark.django_db


def flag(world: SimpleNamespace, user: User, act: str = "raise", **data: Any) -> Any:
    path = reverse("flag", args=["covid", world.note.pk])
    return post(client_of(user), path, {"act": act, "reason": "text"} | data)


def seen(world: SimpleNamespace, user: User) -> list[tuple[str, str, bool]]:
    answer = client_of(user).get(reverse("talk", args=["covid", world.note.pk]))
    return [(item["by"], item["reason"], item["own"]) for item in answer.json()["flags"]]


def listed(world: SimpleNamespace, user: User, state: str = "") -> str:
    return client_of(user).get(reverse("notes", args=["covid"]) + state).content.decode()


def test_a_flag_and_who_sees_it(world: SimpleNamespace) -> None:
    assert flag(world, world.ann, text="Half of it is missing").status_code == 200
    assert flag(world, world.rev, reason="unsure").status_code == 200
    assert seen(world, world.ann) == [("ann", "text", True)]
    assert seen(world, world.ben) == []
    assert seen(world, world.rev) == [("rev", "unsure", True), ("ann", "text", False)]
    assert seen(world, world.vic) == [("ann", "text", False), ("rev", "unsure", False)]


def test_one_open_flag_for_each_person(world: SimpleNamespace) -> None:
    for _ in range(2):
        flag(world, world.ann)
    flag(world, world.ann, reason="language")
    assert Flag.objects.get().reason == "language"
    assert Event.objects.filter(verb="note.flagged").count() == 2
    flag(world, world.ann, "clear", flag=Flag.objects.get().pk)
    flag(world, world.ann)
    assert Flag.objects.count() == 2
    assert seen(world, world.ann) == [("ann", "text", True)]


def test_clearing(world: SimpleNamespace) -> None:
    flag(world, world.ann, text="Secretword <b>")
    pk = Flag.objects.get().pk
    assert flag(world, world.ben, "clear", flag=pk).status_code == 404
    assert flag(world, world.vic, "clear", flag=pk).status_code == 403
    for _ in range(2):
        assert flag(world, world.rev, "clear", flag=pk).status_code == 200
    row = Flag.objects.get()
    assert row.cleared_by == world.rev and row.cleared_at is not None
    assert seen(world, world.ann) == []
    assert Event.objects.filter(verb="note.unflagged").count() == 1
    assert flag(world, world.rev, "clear", flag=10**12).status_code == 404
    assert "ecretword" not in json.dumps(list(Event.objects.values_list("data", flat=True)))


def test_refused(world: SimpleNamespace) -> None:
    for data, error in (
        ({"reason": "boredom"}, "reason"), ({"reason": None}, "reason"), ({"reason": "other"}, "text"),
        ({"text": "x" * 501}, "text"), ({"text": "a\0"}, "malformed"), ({"text": ["x"]}, "text"),
    ):  # fmt: skip
        answer = flag(world, world.ann, **data)
        assert (answer.status_code, answer.json()["error"]) == (400, error), data
    assert not Flag.objects.exists()


def test_without_script(world: SimpleNamespace) -> None:
    """A form redirects to its page with the error message."""
    path = reverse("flag", args=["covid", world.note.pk])
    answer = client_of(world.ann).post(path, {"act": "raise", "reason": "other"}, follow=True)
    assert answer.redirect_chain == [(reverse("annotate", args=["covid", world.note.pk]) + "#flags", 302)]
    assert "describe the problem" in answer.content.decode()
    client_of(world.rev).post(path, {"act": "raise", "reason": "other", "text": "Look"})
    assert Flag.objects.get().text == "Look"


def test_the_lists_of_notes(world: SimpleNamespace) -> None:
    other = make.make_note(world.project, "Other.", "caso-002", annotators=[world.ann])
    for person in (world.ann, world.rev):
        assert "caso-001" not in listed(world, person, "?state=flagged")
    flag(world, world.ann)
    assert "flagged</span>" not in listed(world, world.ben)
    for person in (world.ann, world.rev):
        assert "flagged</span>" in listed(world, person)
    flag(world, world.ben, reason="unsure")
    assert "2 people" in listed(world, world.rev) and "2 people" not in listed(world, world.ann)
    flag(world, world.rev)
    for person in (world.ann, world.rev):
        html = listed(world, person, "?state=flagged")
        assert html.count("caso-001</a>") == 1 and other.name not in html
    # The note's page keeps the filter for the next note.
    page = reverse("note", args=["covid", world.note.pk])
    assert client_of(world.rev).get(f"{page}?state=flagged").status_code == 200
    Assignment.objects.filter(user=world.ann).update(state=AssignmentState.RELEASED)
    assert "caso-001" not in listed(world, world.ann, "?state=flagged")
    assert "caso-001" in listed(world, world.rev, "?state=flagged")
