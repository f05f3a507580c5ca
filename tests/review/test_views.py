"""The review pages: what they hold, which note is next, what they cost."""

from annotations.models import Author, Event, Review, Verb
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.pages import TEXT
from tests.worlds.reviewing import (
    decide,
    proposed,
    url,
)

__all__ = ["decide", "proposed"]


def test_the_page_holds_the_note_and_what_was_proposed(proposed, sign_in):
    answer = sign_in(proposed.rev).get(url(proposed, "review"))
    html = check_page(answer)
    assert "Mario Rossi" in html
    assert "0 of 1 reviewed" in html
    data = answer.context["data"]
    assert data["text"] == TEXT
    assert [(p["start"], p["end"], p["state"], p["source"]) for p in data["proposals"]] == [
        (0, 11, "open", "rule.of.mine"),
        (44, 50, "open", "rule.of.mine"),
    ]
    assert data["person"] == proposed.rev.pk
    assert (data["closed"], data["open"], data["gold"]) == (False, 2, [])
    event = Event.objects.get(verb=Verb.NOTE_READ)
    assert (event.actor, event.document_id) == (proposed.rev, proposed.note.pk)


def test_the_page_escapes_what_is_hostile(world, sign_in):
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


def test_keys_of_labels_that_the_page_needs_itself_are_not_offered(proposed, sign_in):
    proposed.project.label_set.labels.filter(name="CITY").update(hotkey="a")
    proposed.project.label_set.labels.filter(name="DATE").update(hotkey="E")
    keys = {
        label["name"]: label["key"] for label in sign_in(proposed.rev).get(url(proposed, "review")).context["labels"]
    }
    assert (keys["CITY"], keys["DATE"], keys["PATIENT"]) == ("", "", "1")


def test_next_goes_round_and_ends_on_a_page_that_says_so(proposed, sign_in):
    client = sign_in(proposed.rev)
    second = proposed.notes[1]
    make.make_set(second, proposed.run, [], submitted=True)
    first_url, second_url = url(proposed, "review"), url(proposed, "review", note=second.pk)
    where = url(proposed, "review_next")
    assert client.get(where).url == first_url
    assert client.get(f"{where}?after={proposed.note.pk}").url == second_url
    assert client.get(f"{where}?after={second.pk}").url == first_url
    for nonsense in ("x", "-1", "9" * 30, ""):
        assert client.get(f"{where}?after={nonsense}").url == first_url
    html = client.get(second_url).content.decode()
    assert f'href="{first_url}"' in html
    now = proposed.name.annotation_set.submitted_at
    for note in (proposed.note, second):
        Review.objects.create(
            document=note, author=proposed.run, closed_at="2026-01-01T00:00:00Z", closed_by=proposed.rev
        )
    assert now is None
    assert "All 2 notes were read to the end" in check_page(client.get(where))
    assert "Reviewed" in check_page(client.get(first_url))


def test_a_run_that_has_read_nothing_yet(world, sign_in):
    world.run = make.make_author(world.project, kind="run", name="rules-2")
    assert "Nothing to review in rules-2 yet" in check_page(sign_in(world.rev).get(url(world, "review_next")))


def test_queries_don_t_grow(proposed, sign_in, decide, django_assert_max_num_queries):
    client = sign_in(proposed.rev)
    decide("accept")
    gold = Author.objects.get(kind="gold")
    reading = proposed.name.annotation_set
    with django_assert_max_num_queries(30):  # on PostgreSQL one more than on SQLite
        decide("reject", seen=["accepted", 0, 11, proposed.labels["PATIENT"]])
    for start in range(20, 40):
        make.make_span(reading, start, start + 1, "DATE")
        make.make_span(gold.annotation_sets.get(), start, start + 1, "CITY")
    with django_assert_max_num_queries(30):
        decide("accept", seen=["rejected"])
    with django_assert_max_num_queries(26):
        client.get(url(proposed, "review"))
