"""The review pages: content, next note, and numbers of queries."""

from django.utils.html import strip_tags

from annotations.core.events import NOTE_READ
from annotations.models import Author, Event, Review
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.pages import TEXT
from tests.worlds.reviewing import (
    decide,
    send,
    suggested,
    url,
)

__all__ = ["decide", "suggested"]


def test_the_page_holds_the_note_and_the_suggestions(suggested, sign_in):
    answer = sign_in(suggested.rev).get(url(suggested, "review"))
    html = check_page(answer)
    assert "Mario Rossi" in html
    assert "0 of 1 reviewed" in html
    data = answer.context["data"]
    assert data["text"] == TEXT
    assert [(p["start"], p["end"], p["state"], p["source"]) for p in data["suggestions"]] == [
        (0, 11, "open", "rule.of.mine"),
        (44, 50, "open", "rule.of.mine"),
    ]
    assert data["person"] == suggested.rev.pk
    assert (data["finished"], data["open"], data["gold"]) == (False, 2, [])
    event = Event.objects.get(verb=NOTE_READ)
    assert (event.actor, event.document_id) == (suggested.rev, suggested.note.pk)


def test_the_page_escapes_hostile_text(world, sign_in):
    text = "Sig. <script>alert(1)</script> </script><!-- ' \" & \u2028 \U0001f9ec Rossi"
    note = make.make_note(world.project, text, "<b>name</b>")
    world.run = make.make_author(world.project, kind="run", name="<i>run</i>")
    world.note = note
    make.make_set(note, world.run, [(5, 13, "PATIENT")], submitted=True)
    answer = sign_in(world.rev).get(url(world, "review"))
    html = check_page(answer)
    assert "<script>alert" not in html
    assert "<b>name</b>" not in html
    assert "<i>run</i>" not in html
    assert answer.context["data"]["text"] == text


def test_label_keys_that_the_page_uses_itself_are_not_offered(suggested, sign_in):
    suggested.project.label_set.labels.filter(name="CITY").update(hotkey="a")
    suggested.project.label_set.labels.filter(name="DATE").update(hotkey="E")
    keys = {
        label["name"]: label["key"] for label in sign_in(suggested.rev).get(url(suggested, "review")).context["labels"]
    }
    assert (keys["CITY"], keys["DATE"], keys["PATIENT"]) == ("", "", "1")


def test_next_starts_over_and_ends_on_a_final_page(suggested, sign_in):
    client = sign_in(suggested.rev)
    second = suggested.notes[1]
    make.make_set(second, suggested.run, [], submitted=True)
    first_url, second_url = url(suggested, "review"), url(suggested, "review", note=second.pk)
    where = url(suggested, "review_next")
    assert client.get(where).url == first_url
    assert client.get(f"{where}?after={suggested.note.pk}").url == second_url
    assert client.get(f"{where}?after={second.pk}").url == first_url
    for nonsense in ("x", "-1", "9" * 30, ""):
        assert client.get(f"{where}?after={nonsense}").url == first_url
    html = client.get(second_url).content.decode()
    assert f'href="{first_url}"' in html
    now = suggested.name.annotation_set.submitted_at
    for note in (suggested.note, second):
        Review.objects.create(
            document=note, author=suggested.run, finished_at="2026-01-01T00:00:00Z", finished_by=suggested.rev
        )
    assert now is None
    assert "The review of all 2 notes is finished" in check_page(client.get(where))
    assert "Reviewed" in check_page(client.get(first_url))


def test_a_run_without_processed_notes(world, sign_in):
    world.run = make.make_author(world.project, kind="run", name="rules-2")
    html = check_page(sign_in(world.rev).get(url(world, "review_next")))
    assert "No notes to review in rules-2 yet" in strip_tags(html)


def test_queries_don_t_grow(suggested, sign_in, decide, django_assert_max_num_queries):
    client = sign_in(suggested.rev)
    decide("accept")
    gold = Author.objects.get(kind="gold")
    annotation_set = suggested.name.annotation_set
    with django_assert_max_num_queries(34):  # on PostgreSQL one more than on SQLite
        decide("reject", seen=["accepted", 0, 11, suggested.labels["PATIENT"]])
    for start in range(20, 40):
        make.make_span(annotation_set, start, start + 1, "DATE")
        make.make_span(gold.annotation_sets.get(), start, start + 1, "CITY")
    with django_assert_max_num_queries(34):
        decide("accept", seen=["rejected"])
    with django_assert_max_num_queries(32):
        client.get(url(suggested, "review"))


def test_the_json_of_a_request_is_checked_strictly(suggested, sign_in):
    client = sign_in(suggested.rev)
    address = url(suggested, "review_finish")
    for field, value in (("with_gold", "yes"), ("with_gold", None), ("with_doubtful", "yes")):
        answer = send(client, address, {"person": suggested.rev.pk, "stage": "first", field: value})
        assert (answer.status, answer.json["error"]) == (400, "malformed")
        assert answer.json["suggestions"], "the answer includes the current state"
