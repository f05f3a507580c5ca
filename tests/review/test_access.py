"""The review pages and their JSON: permissions, missing objects, methods."""

import json

import pytest
from django.test import Client

from annotations.core.events import NOTE_READ
from annotations.models import Decision, Event, Review
from tests import factories as make
from tests.worlds.pages import TEXT
from tests.worlds.reviewing import (
    JSON,
    LOOKS,
    NAMES,
    ask,
    body,
    suggested,
    url,
)

__all__ = ["suggested"]


@pytest.mark.parametrize("name", NAMES)
def test_permissions(suggested, sign_in, name):
    for person, status in (("vic", 403), ("ann", 403), ("out", 404)):
        user = getattr(suggested, person)
        answer = ask(sign_in(user), name, suggested, user)
        assert answer.status_code == status, person
        if name in JSON:
            assert set(answer.json()) == {"error", "message"}
    assert not Decision.objects.exists()
    for person in ("rev", "mia"):
        user = getattr(suggested, person)
        if name in ("review_finish", "review_reopen"):
            Review.objects.all().delete()
            Decision.objects.all().delete()
        answer = ask(sign_in(user), name, suggested, user)
        expected = {"review_next": 302, "review_finish": 409, "review_reopen": 302}.get(name, 200)
        assert answer.status_code == expected, person


@pytest.mark.parametrize("name", NAMES)
def test_without_sign_in(suggested, name):
    answer = ask(Client(), name, suggested, suggested.rev)
    assert answer.status_code == (401 if name in ("review_decide", "review_finish", "review_reopen") else 302)


@pytest.mark.parametrize("name", NAMES)
def test_missing_objects_are_404(suggested, sign_in, name):
    """Runs of other projects, authors that are not runs, and notes that the run has not processed or not finished."""
    client = sign_in(suggested.rev)
    other_run = make.make_author(suggested.other, kind="run", name="rules-9")
    far = make.make_note(suggested.other, TEXT)
    make.make_set(far, other_run, [(0, 5, "PATIENT")], submitted=True)
    annotator = make.make_author(suggested.project, suggested.ann)
    for author in (other_run.pk, annotator.pk, 10**6, 2**63):
        assert ask(client, name, suggested, suggested.rev, author=author).status_code == 404
    if name == "review_next":
        return
    make.make_set(suggested.notes[1], suggested.run, [(0, 11, "PATIENT")])
    for note in (suggested.notes[1].pk, far.pk, 10**6, 2**63):
        assert ask(client, name, suggested, suggested.rev, note=note).status_code == 404
    assert not Review.objects.exists()
    assert not Event.objects.filter(verb=NOTE_READ).exists()


@pytest.mark.parametrize("name", NAMES)
def test_wrong_method(suggested, sign_in, name):
    client = sign_in(suggested.rev)
    wrong = client.post if name in LOOKS else client.get
    assert wrong(url(suggested, name)).status_code == 405


def test_a_form_token_is_required(suggested, sign_in):
    client = sign_in(suggested.rev, enforce_csrf_checks=True)
    answer = client.post(url(suggested, "review_decide"), json.dumps(body(suggested)), content_type="application/json")
    assert answer.status_code == 403
    assert not Decision.objects.exists()
    token = client.get(url(suggested, "review_state")).json()["csrf"]
    answer = client.post(
        url(suggested, "review_decide"), json.dumps(body(suggested)), content_type="application/json",
        headers={"X-CSRFToken": token},
    )  # fmt: skip
    assert answer.status_code == 200
