"""The review pages: content, next note, and numbers of queries."""

from annotations.core.events import NOTE_READ
from annotations.models import Author, Event, Review
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.pages import TEXT
from tests.worlds.reviewing import url


def test_the_page_holds_the_note_and_the_suggestions(suggested, sign_in):
    """Label keys that the page uses itself are not offered."""
    suggested.project.label_set.labels.filter(name="CITY").update(hotkey="a")
    suggested.project.label_set.labels.filter(name="DATE").update(hotkey="E")
    answer = sign_in(suggested.rev).get(url(suggested, "review"))
    assert "0 of 1 reviewed" in check_page(answer)
    data = answer.context["data"]
    assert [(p["start"], p["end"], p["state"], p["source"]) for p in data["suggestions"]] == [
        (0, 11, "open", "rule.of.mine"), (44, 50, "open", "rule.of.mine")
    ]  # fmt: skip
    assert (data["text"], data["person"]) == (TEXT, suggested.rev.pk)
    assert (data["finished"], data["open"], data["gold"]) == (False, 2, [])
    event = Event.objects.get(verb=NOTE_READ)
    assert (event.actor, event.document_id) == (suggested.rev, suggested.note.pk)
    keys = {label["name"]: label["key"] for label in answer.context["labels"]}
    assert (keys["CITY"], keys["DATE"], keys["PATIENT"]) == ("", "", "1")


def test_next_starts_over_and_ends_on_a_final_page(suggested, sign_in):
    client, second = sign_in(suggested.rev), suggested.notes[1]
    make.make_set(second, suggested.run, [], submitted=True)
    first_url, second_url = url(suggested, "review"), url(suggested, "review", note=second.pk)
    where = url(suggested, "review_next")
    for query, there in (
        ("", first_url), (f"?after={suggested.note.pk}", second_url), (f"?after={second.pk}", first_url),
        ("?after=x", first_url), ("?after=" + "9" * 30, first_url),
    ):  # fmt: skip
        assert client.get(where + query).url == there
    finished = {"author": suggested.run, "finished_at": "2026-01-01T00:00:00Z", "finished_by": suggested.rev}
    for note in (suggested.note, second):
        Review.objects.create(document=note, **finished)
    assert "The review of all 2 notes is finished" in check_page(client.get(where))
    assert "Reviewed" in check_page(client.get(first_url))


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
