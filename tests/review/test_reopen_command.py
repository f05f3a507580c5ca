"""The command that reopens finished reviews."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.models import Event, Review
from annotations.review.services.finishing import finish_review
from tests.worlds.reviewing import suggested

__all__ = ["suggested"]

pytestmark = pytest.mark.django_db


def reopen(*words):
    out = io.StringIO()
    try:
        call_command("reopen_review", "covid", *words, "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue())["code"]
    return json.loads(out.getvalue())


@pytest.fixture
def finished(suggested):
    both = [suggested.name.pk, suggested.place.pk]
    finish_review(document=suggested.note, author=suggested.run, user=suggested.rev, rest=both)
    return suggested


def test_a_review_is_reopened(finished):
    name = finished.note.name
    assert reopen("rules-1", name, "--by", "rev") == {"run": "rules-1", "open": [name]}
    assert Review.objects.get().finished_at is None
    assert Event.objects.get(verb="review.reopened").actor == finished.rev


def test_all_notes_or_none(finished):
    name = finished.note.name
    # The run has no suggestions in the second note.
    assert reopen("rules-1", name, finished.notes[1].name, "--by", "rev") == "set"
    assert reopen("none", name, "--by", "rev") == "set"
    assert reopen("rules-1", "none", "--by", "rev") == "note"
    assert reopen("rules-1", name) == "by"
    assert reopen("rules-1", name, "--by", "vic") == "access"
    assert Review.objects.get().finished_at is not None
