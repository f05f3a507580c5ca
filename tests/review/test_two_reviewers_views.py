"""The two-person rule on the pages: the setting, both reviews, the differences, the figures."""

import json
import uuid
from types import SimpleNamespace

import pytest
from django.urls import reverse

from annotations.models import Review
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.reviewing import body, send, suggested

__all__ = ["suggested"]  # the fixture


def url(world, name, *args):
    return reverse(name, args=["covid", *args])


@pytest.fixture
def two(suggested: SimpleNamespace, sign_in: type) -> SimpleNamespace:
    """Two reviewers, rev and mia, in a project that requires a blind second review."""
    type(suggested.project).objects.update(second_review="blind")
    suggested.clients = {"rev": sign_in(suggested.rev), "mia": sign_in(suggested.mia)}
    return suggested


def post(world, who, name, **data):
    person = getattr(world, who)
    address = url(world, name, world.run.pk, world.note.pk)
    return send(world.clients[who], address, {"person": person.pk, "change_id": str(uuid.uuid4())} | data)


def decide(world, who, act, suggestion):
    data = body(world, act, user=getattr(world, who), suggestion=suggestion.pk)
    return send(world.clients[who], url(world, "review_decide", world.run.pk, world.note.pk), data)


def page(world, who):
    return world.clients[who].get(url(world, "review", world.run.pk, world.note.pk))


def data_of(answer):
    return json.loads(answer.content.decode().split('id="review-data" type="application/json">')[1].split("<")[0])


def test_the_setting_and_the_waiting_notes(two, sign_in):
    client = two.clients["mia"]
    html = check_page(client.get(url(two, "project_settings")))
    assert "A second reviewer decides without seeing" in html and "is waiting for a second reviewer" not in html
    for suggestion in (two.name, two.place):
        assert decide(two, "rev", "accept", suggestion).status == 200
    assert post(two, "rev", "review_finish", stage="first").json["next"]
    assert "1 note is waiting for a second reviewer." in check_page(client.get(url(two, "project_settings")))
    assert "1 waiting for you" in check_page(client.get(url(two, "runs")))
    assert "1 waiting for another reviewer" in check_page(two.clients["rev"].get(url(two, "runs")))
    done = two.clients["rev"].get(url(two, "review_next", two.run.pk))
    assert "needs a second reviewer" in check_page(done)
    assert (
        two.clients["mia"]
        .get(url(two, "review_next", two.run.pk))
        .url.startswith(url(two, "review", two.run.pk, two.note.pk))
    )


def test_blind_review_then_comparison_then_finished(two):
    for suggestion in (two.name, two.place):
        decide(two, "rev", "accept", suggestion)
    post(two, "rev", "review_finish", stage="first")
    waiting = page(two, "rev")
    assert "Waiting for second reviewer" in check_page(waiting) and data_of(waiting)["finished"]
    second = page(two, "mia")
    check_page(second)
    data = data_of(second)
    assert (data["stage"], data["between"]["outcome"], data["open"]) == ("second", None, 2)
    refused = post(two, "rev", "review_finish", stage="waiting")
    assert (refused.status, refused.json["error"]) == (409, "waiting")
    refused = post(two, "mia", "review_finish", stage="first")
    assert (refused.status, refused.json["error"]) == (409, "moved")
    decide(two, "mia", "accept", two.name)
    decide(two, "mia", "reject", two.place)
    answer = post(two, "mia", "review_finish", stage="second")
    assert (answer.status, answer.json["next"], answer.json["stage"]) == (200, None, "resolving")
    assert answer.json["between"]["outcome"]["suggestions"][str(two.place.pk)]
    assert "different from first reviewer" in check_page(page(two, "mia"))
    assert post(two, "mia", "review_finish", stage="resolving").json["next"]
    assert Review.objects.get().finished_by == two.mia
    html = check_page(two.clients["mia"].get(url(two, "acceptance")))
    assert "Agreement between two reviewers" in html and ">blind<" in html
    log = two.clients["mia"].get(url(two, "decisions_export", "csv"))
    assert "hand over" in b"".join(log.streaming_content).decode()


def test_strings_of_a_handed_over_note_are_unavailable_to_the_first_reviewer(two):
    for suggestion in (two.name, two.place):
        decide(two, "rev", "accept", suggestion)
    post(two, "rev", "review_finish", stage="first")
    string = make.SuggestedString.objects.get(author=two.run, label_id=two.labels["PATIENT"])
    for who, count in (("rev", 0), ("mia", 1)):
        shown = two.clients[who].get(url(two, "review_string", string.pk))
        assert shown.context["open"] == count, who
        check_page(shown)
