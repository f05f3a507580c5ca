"""The review pages and their JSON: permissions, missing objects, methods."""

import json

import pytest

from annotations.core.events import NOTE_READ
from annotations.models import Decision, Event, Review
from tests import factories as make
from tests.worlds.pages import TEXT
from tests.worlds.reviewing import (
    NAMES,
    ask,
    body,
    suggested,
    url,
)

__all__ = ["suggested"]


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
