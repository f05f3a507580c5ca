"""The review pages and their JSON: who may, what is not there, which method."""

import json

import pytest
from django.test import Client

from annotations.models import Decision, Event, Review, Verb
from tests import factories as make
from tests.worlds.pages import TEXT
from tests.worlds.reviewing import (
    JSON,
    LOOKS,
    NAMES,
    ask,
    body,
    proposed,
    url,
)

__all__ = ["proposed"]


@pytest.mark.parametrize("name", NAMES)
def test_who_may(proposed, sign_in, name):
    for person, status in (("vic", 403), ("ann", 403), ("out", 404)):
        user = getattr(proposed, person)
        answer = ask(sign_in(user), name, proposed, user)
        assert answer.status_code == status, person
        if name in JSON:
            assert set(answer.json()) == {"error", "message"}
    assert not Decision.objects.exists()
    for person in ("rev", "mia"):
        user = getattr(proposed, person)
        if name in ("review_close", "review_reopen"):
            Review.objects.all().delete()
            Decision.objects.all().delete()
        answer = ask(sign_in(user), name, proposed, user)
        expected = {"review_next": 302, "review_close": 409, "review_reopen": 302}.get(name, 200)
        assert answer.status_code == expected, person


@pytest.mark.parametrize("name", NAMES)
def test_nobody_signed_in(proposed, name):
    answer = ask(Client(), name, proposed, proposed.rev)
    assert answer.status_code == (401 if name in ("review_decide", "review_close", "review_reopen") else 302)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_there(proposed, sign_in, name):
    """Runs of other projects, authors that are no runs; notes that the run has not read, or only begun."""
    client = sign_in(proposed.rev)
    theirs = make.make_author(proposed.other, kind="run", name="rules-9")
    far = make.make_note(proposed.other, TEXT)
    make.make_set(far, theirs, [(0, 5, "PATIENT")], submitted=True)
    annotator = make.make_author(proposed.project, proposed.ann)
    for author in (theirs.pk, annotator.pk, 10**6, 2**63):
        assert ask(client, name, proposed, proposed.rev, author=author).status_code == 404
    if name == "review_next":
        return
    make.make_set(proposed.notes[1], proposed.run, [(0, 11, "PATIENT")])
    for note in (proposed.notes[1].pk, far.pk, 10**6, 2**63):
        assert ask(client, name, proposed, proposed.rev, note=note).status_code == 404
    assert not Review.objects.exists()
    assert not Event.objects.filter(verb=Verb.NOTE_READ).exists()


@pytest.mark.parametrize("name", NAMES)
def test_the_wrong_method(proposed, sign_in, name):
    client = sign_in(proposed.rev)
    wrong = client.post if name in LOOKS else client.get
    assert wrong(url(proposed, name)).status_code == 405


def test_a_form_token_is_asked_for(proposed, sign_in):
    client = sign_in(proposed.rev, enforce_csrf_checks=True)
    answer = client.post(url(proposed, "review_decide"), json.dumps(body(proposed)), content_type="application/json")
    assert answer.status_code == 403
    assert not Decision.objects.exists()
    token = client.get(url(proposed, "review_state")).json()["csrf"]
    answer = client.post(
        url(proposed, "review_decide"), json.dumps(body(proposed)), content_type="application/json",
        headers={"X-CSRFToken": token},
    )  # fmt: skip
    assert answer.status_code == 200
