import re
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotations.core.access import enter
from annotations.models import AnnotationSet, Assignment, Author, Event, Flag, Search, Verb
from annotations.notes.selectors import notes as selector
from annotations.notes.selectors.notes import Show, note_page
from annotations.notes.selectors.readings import line_at
from tests import factories as make
from tests.worlds.checks import WORDS_OF_THE_NOTE, check_page
from tests.worlds.pages import TEXT

ROSSI = (0, 11, "PATIENT")
DATE = (31, 41, "DATE")


def listing(query: str = "", slug: str = "covid") -> str:
    return reverse("notes", args=[slug]) + query


def page_of(pk: int, query: str = "", slug: str = "covid") -> str:
    return reverse("note", args=[slug, pk]) + query


def gold_of(note, spans=()) -> AnnotationSet:
    return make.make_set(note, make.make_author(note.project, kind="gold", name="gold"), spans, submitted=True)


def names(html: str) -> list[str]:
    return re.findall(r"caso-\d+(?=</a>)", html)


# ── The list ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_readers_see_who_read_what(world, sign_in):
    make.make_set(world.note, world.ann, [ROSSI], submitted=True)
    make.make_set(world.note, world.ben, [ROSSI])
    gold_of(world.note, [ROSSI])
    for who in (world.mia, world.rev, world.vic):
        html = check_page(sign_in(who).get(listing()))
        assert f'<a href="{page_of(world.note.pk)}">caso-001</a>' in html
        row = html.split("<tr>")[2]
        assert "ann</td>" in row and "ben</td>" in row and "gold</span>" in row


def test_annotators_see_their_own_notes_and_state_only(world, sign_in):
    unread = make.make_note(world.project, name="caso-009")
    make.make_set(world.note, world.ben, submitted=True)
    make.make_set(world.notes[1], world.ann)
    html = check_page(sign_in(world.ann).get(listing()))
    assert names(html) == ["caso-001", "caso-002"]
    assert unread.name not in html
    assert "ben" not in html
    assert "begun" in html
    assert reverse("annotate", args=["covid", world.note.pk]) in html
    assert page_of(world.note.pk) + '"' not in html


@pytest.mark.parametrize(
    "show, expected",
    [("all", [1, 2, 3]), ("gold", [1]), ("no-gold", [2, 3]), ("read", [1]), ("unread", [2]), ("nonsense", [1, 2, 3])],
)
def test_filters_of_readers(world, sign_in, show, expected):
    make.make_note(world.project, name="caso-003")
    Assignment.objects.filter(document=world.note).update(state=Assignment.State.DONE)
    gold_of(world.note)
    html = check_page(sign_in(world.rev).get(listing(f"?state={show}")))
    assert names(html) == [f"caso-{n:03}" for n in expected]


@pytest.mark.parametrize("show, expected", [("all", [1, 2]), ("todo", [2]), ("done", [1]), ("gold", [1, 2])])
def test_filters_of_annotators(world, sign_in, show, expected):
    Assignment.objects.filter(document=world.note, user=world.ann).update(state=Assignment.State.DONE)
    html = check_page(sign_in(world.ann).get(listing(f"?state={show}")))
    assert names(html) == [f"caso-{n:03}" for n in expected]


def test_a_reviewer_with_notes_of_their_own_may_filter_by_them(world, sign_in):
    assert "Mine to do" not in sign_in(world.rev).get(listing()).content.decode()
    Assignment.objects.create(project=world.project, document=world.note, user=world.rev)
    html = check_page(sign_in(world.rev).get(listing("?state=todo")))
    assert names(html) == ["caso-001"]
    assert reverse("annotate", args=["covid", world.note.pk]) in html


@pytest.mark.parametrize("show", list(Show))
@pytest.mark.parametrize("who", ["rev", "ann"])
def test_pages_join_without_gap_or_repeat(world, who, show):
    for n in range(3, 12):
        note = make.make_note(world.project, name=f"caso-{n:03}", readers=[world.ann, world.rev])
        done = n % 2
        Assignment.objects.filter(document=note).update(state="done" if done else "open")
        if n % 3:
            gold_of(note)
        if n % 4:
            Flag.objects.create(document=note, user=getattr(world, who), reason="unsure")
            Flag.objects.create(document=note, user=world.mia, reason="text")
    access = enter(getattr(world, who), "covid")
    whole = [row.pk for row in note_page(access, show).rows]
    assert whole
    forward, after = [], None
    while True:
        page = note_page(access, show, after=after, size=2)
        forward += [row.pk for row in page.rows]
        after = page.next
        if after is None:
            break
    assert forward == whole
    backward, before = [row.pk for row in page.rows], page.previous
    while before is not None:
        page = note_page(access, show, before=before, size=2)
        backward = [row.pk for row in page.rows] + backward
        before = page.previous
    assert backward == whole


def test_a_walk_without_an_index_stops_and_says_so(world, sign_in):
    for note in world.notes:
        gold_of(note)
    third = make.make_note(world.project, name="caso-003")
    with patch.object(selector, "WINDOW", 2):
        html = check_page(sign_in(world.rev).get(listing("?state=no-gold")))
        assert "Look further" in html and not names(html)
        url = listing(f"?state=no-gold&after={world.notes[1].pk}")
        assert url.replace("&", "&amp;") in html
        assert names(check_page(sign_in(world.rev).get(url))) == [third.name]


def test_htmx_gets_the_fragment_of_the_same_url(world, sign_in):
    html = check_page(sign_in(world.mia).get(listing(), headers={"HX-Request": "true"}), fragment=True)
    assert names(html) == ["caso-001", "caso-002"]
    assert "<html" not in html


def test_the_list_has_few_queries_whatever_its_length_and_never_reads_a_text(world, sign_in):
    client = sign_in(world.mia)
    client.get(listing())

    def queries() -> list[str]:
        with CaptureQueriesContext(connection) as found:
            client.get(listing())
        return [query["sql"] for query in found]

    before = queries()
    for n in range(3, 40):
        note = make.make_note(world.project, name=f"caso-{n:03}", readers=[world.ann, world.ben])
        make.make_set(note, world.ann, [ROSSI], submitted=True)
        gold_of(note)
    after = queries()
    assert len(after) == len(before) <= 10
    assert not any('"text"' in sql for sql in after)
    assert not any("annotations_span" in sql for sql in after)


def test_bad_places_show_the_first_page(world, sign_in):
    client = sign_in(world.mia)
    for query in ("?after=x", "?after=-1", "?before=", "?after=99999999999999999999999", "?after=١"):
        assert client.get(listing(query)).status_code == 200
    assert "No more notes" in check_page(client.get(listing("?after=999999")))


def test_empty_projects_say_what_to_do(world, sign_in):
    for note in world.notes:
        note.delete()
    assert reverse("import", args=["covid"]) in check_page(sign_in(world.mia).get(listing()))
    assert "Once a manager imports" in check_page(sign_in(world.vic).get(listing()))
    assert "Once a manager hands notes" in check_page(sign_in(world.ann).get(listing()))
    assert "Every note has gold" in check_page(sign_in(world.rev).get(listing("?state=no-gold")))


def test_the_list_is_no_strangers_business(world, sign_in, client):
    assert sign_in(world.out).get(listing()).status_code == 404
    assert sign_in(world.mia).get(listing(slug="nowhere")).status_code == 404
    assert client.get(listing()).status_code == 302
    assert sign_in(world.mia).put(listing()).status_code == 405


# ── Searching ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_search_by_name_keeps_the_words_out_of_the_url(world, sign_in):
    client = sign_in(world.mia)
    response = client.post(listing(), {"name": "SO-002"})
    assert response.status_code == 302
    assert "002" not in response.url
    html = check_page(client.get(response.url))
    assert names(html) == ["caso-002"]
    assert "SO-002" in html


def test_a_search_looks_only_at_notes_one_may_open(world, sign_in):
    make.make_note(world.project, name="caso-777")
    make.make_note(world.other, name="caso-778")
    client = sign_in(world.ann)
    html = check_page(client.get(client.post(listing(), {"name": "77"}).url))
    assert "No note has that in its name" in html
    client = sign_in(world.mia)
    assert names(check_page(client.get(client.post(listing(), {"name": "77"}).url))) == ["caso-777"]


def test_what_a_search_finds_comes_in_pages(world):
    for n in range(10, 17):
        make.make_note(world.project, name=f"x-{30 - n}")
    access = enter(world.mia, "covid")
    first = note_page(access, Show.ALL, name="x-", size=3)
    second = note_page(access, Show.ALL, name="x-", after=first.next, size=3)
    assert [row.name for row in first.rows + second.rows] == ["x-14", "x-15", "x-16", "x-17", "x-18", "x-19"]
    back = note_page(access, Show.ALL, name="x-", before=second.previous, size=3)
    assert back.rows == first.rows
    assert back.previous is None


def test_an_empty_or_forgotten_search_shows_all(world, sign_in):
    client = sign_in(world.mia)
    assert client.post(listing(), {"name": "  "}).url == listing()
    assert "no longer kept" in check_page(client.get(listing("?found=nothing")))


def test_a_limited_number_of_searches_is_kept_and_none_in_the_session(world, sign_in):
    client = sign_in(world.mia)
    for n in range(25):
        last = client.post(listing(), {"name": f"caso-{n}"}).url
    assert Search.objects.filter(user=world.mia).count() == 20
    assert "caso-24" not in str(dict(client.session))
    # They are not among the searches of texts.
    assert "caso-24" not in client.get("/projects/covid/search/").content.decode()
    assert "no longer kept" not in client.get(last).content.decode()


# ── One note ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def read(world) -> SimpleNamespace:
    """The first note with ann's submitted reading, ben's draft, and gold that has one span of ann's two."""
    world.anns = make.make_set(world.note, world.ann, [ROSSI, DATE], submitted=True)
    world.bens = make.make_set(world.note, world.ben, [DATE])
    return world


@pytest.mark.parametrize("who", ["mia", "rev", "vic"])
def test_readers_see_the_text_with_a_reading(read, sign_in, who):
    html = check_page(sign_in(getattr(read, who)).get(page_of(read.note.pk)))
    assert 'data-label="PATIENT"' in html
    assert "draft" in html
    assert ("Make gold" in html) == (who != "vic")


def test_opening_a_note_is_an_event_without_text(read, sign_in):
    sign_in(read.vic).get(page_of(read.note.pk))
    event = Event.objects.get(verb=Verb.NOTE_READ)
    assert (event.actor, event.document_id, event.project_id) == (read.vic, read.note.pk, read.project.pk)
    assert event.data == {"set": read.anns.pk}


def test_a_tab_for_each_reading(read, sign_in):
    client = sign_in(read.rev)
    html = check_page(client.get(page_of(read.note.pk, f"?set={read.bens.pk}")))
    assert 'data-label="PATIENT"' not in html and 'data-label="DATE"' in html
    assert "has not handed this reading in" in html


def test_gold_comes_first_and_differences_are_told(read, sign_in):
    gold = gold_of(read.note, [ROSSI])
    client = sign_in(read.rev)
    assert "This is the gold: 1 span" in check_page(client.get(page_of(read.note.pk)))
    html = check_page(client.get(page_of(read.note.pk, f"?set={read.anns.pk}")))
    assert "Only in this reading" in html
    assert "Replace the gold of this note?" in html
    assert "12/03/2021" in html
    make.make_span(gold, *DATE)
    html = check_page(client.get(page_of(read.note.pk, f"?set={read.anns.pk}")))
    assert "says the same as the gold: 2 spans" in html
    assert "Replace the gold" not in html


def test_a_note_nobody_has_read(world, sign_in):
    html = check_page(sign_in(world.rev).get(page_of(world.note.pk)))
    assert "Nobody has read this note yet" in html
    assert "Mario Rossi" in html


def test_neighbours_keep_the_filter(world, sign_in):
    third = make.make_note(world.project, name="caso-003")
    gold_of(world.notes[1])
    html = check_page(sign_in(world.rev).get(page_of(world.note.pk, "?state=no-gold")))
    assert page_of(third.pk, "?state=no-gold") in html
    assert page_of(world.notes[1].pk) not in html


def test_a_note_is_for_readers_of_its_project(read, sign_in, client):
    foreign = make.make_note(read.other, name="elsewhere")
    assert sign_in(read.ann).get(page_of(read.note.pk)).status_code == 403
    assert sign_in(read.out).get(page_of(read.note.pk)).status_code == 404
    assert client.get(page_of(read.note.pk)).status_code == 302
    for bad in (
        page_of(foreign.pk),
        page_of(999999),
        page_of(2**63),
        page_of(read.note.pk, "?set=99"),
        page_of(read.note.pk, "?set=x"),
    ):
        assert sign_in(read.mia).get(bad).status_code == 404
    assert sign_in(read.mia).post(page_of(read.note.pk)).status_code == 405
    assert Event.objects.count() == 0


def test_markup_in_a_note_stays_text(world, sign_in):
    evil = make.make_note(world.project, "<script>alert(1)</script>\r\n<b>x</b>", name="<i>evil</i>")
    html = check_page(sign_in(world.rev).get(page_of(evil.pk)))
    assert "<script>alert" not in html and "&lt;script&gt;" in html and "<i>evil" not in html


def test_a_note_takes_few_queries(read, sign_in, django_assert_max_num_queries):
    client = sign_in(read.rev)
    gold_of(read.note, [ROSSI])
    client.get(page_of(read.note.pk))
    with django_assert_max_num_queries(18):
        client.get(page_of(read.note.pk, f"?set={read.anns.pk}"))


# ── Making gold ──────────────────────────────────────────────────────────────────────────────────────────────────────


def gold_form(reading: AnnotationSet, **more: object) -> dict[str, object]:
    return {"set": reading.pk, "version": reading.version, **more}


def gold_url(pk: int, slug: str = "covid") -> str:
    return reverse("note_gold", args=[slug, pk])


def test_a_reviewer_makes_a_reading_gold(read, sign_in):
    client = sign_in(read.rev)
    response = client.post(gold_url(read.note.pk), gold_form(read.anns))
    gold = AnnotationSet.objects.get(document=read.note, author__kind=Author.Kind.GOLD)
    assert response.url == page_of(read.note.pk, f"?set={gold.pk}")
    assert gold.spans.count() == 2
    assert "is gold" in check_page(client.get(response.url))


def test_a_double_click_makes_gold_once(read, sign_in):
    client = sign_in(read.rev)
    for _ in range(2):
        assert client.post(gold_url(read.note.pk), gold_form(read.anns)).status_code == 302
    assert Event.objects.filter(verb=Verb.GOLD_MADE).count() == 1


def test_gold_and_on_to_the_next(read, sign_in):
    response = sign_in(read.rev).post(gold_url(read.note.pk), gold_form(read.anns, then="next", state="no-gold"))
    assert response.url == page_of(read.notes[1].pk, "?state=no-gold")


def test_a_draft_is_refused_in_words(read, sign_in):
    client = sign_in(read.rev)
    response = client.post(gold_url(read.note.pk), gold_form(read.bens), follow=True)
    assert "still a draft" in check_page(response)
    assert not AnnotationSet.objects.filter(author__kind=Author.Kind.GOLD).exists()


def test_other_gold_is_replaced_only_when_said_so(read, sign_in):
    gold = gold_of(read.note, [ROSSI])
    client = sign_in(read.rev)
    response = client.post(gold_url(read.note.pk), gold_form(read.anns), follow=True)
    assert "replace it explicitly" in check_page(response)
    assert gold.spans.count() == 1
    client.post(gold_url(read.note.pk), gold_form(read.anns, replace=1, gold_version=gold.version))
    assert gold.spans.count() == 2


def test_stale_pages_change_nothing(read, sign_in):
    gold = gold_of(read.note, [ROSSI])
    client = sign_in(read.rev)
    stale = [
        gold_form(read.anns, version=read.anns.version + 1),
        gold_form(read.anns, replace=1, gold_version=gold.version + 1),
        {"set": read.anns.pk},
    ]
    for form in stale:
        assert "nothing was done" in client.post(gold_url(read.note.pk), form, follow=True).content.decode()
    withdraw = reverse("note_gold_withdraw", args=["covid", read.note.pk])
    client.post(withdraw, {"gold_version": gold.version + 1})
    assert list(gold.spans.values_list("start", "end")) == [ROSSI[:2]]


def test_gold_is_taken_back_once(read, sign_in):
    gold = gold_of(read.note, [ROSSI])
    client = sign_in(read.rev)
    withdraw = reverse("note_gold_withdraw", args=["covid", read.note.pk])
    assert "taken back" in client.post(withdraw, {"gold_version": gold.version}, follow=True).content.decode()
    assert "has no gold" in client.post(withdraw, {"gold_version": gold.version}, follow=True).content.decode()
    assert Event.objects.filter(verb=Verb.GOLD_WITHDRAWN).count() == 1


@pytest.mark.parametrize("who, status", [("ann", 403), ("vic", 403), ("out", 404)])
def test_others_make_no_gold(read, sign_in, who, status):
    client = sign_in(getattr(read, who))
    withdraw = reverse("note_gold_withdraw", args=["covid", read.note.pk])
    assert client.post(gold_url(read.note.pk), gold_form(read.anns)).status_code == status
    assert client.post(withdraw).status_code == status
    assert not AnnotationSet.objects.filter(author__kind=Author.Kind.GOLD).exists()


def test_gold_of_wrong_notes_and_methods(read, sign_in):
    client = sign_in(read.rev)
    foreign = make.make_set(make.make_note(read.other), make.make_author(read.other), submitted=True)
    assert client.post(gold_url(read.notes[1].pk), gold_form(read.anns)).status_code == 404
    assert client.post(gold_url(foreign.document_id), gold_form(foreign)).status_code == 404
    assert client.post(gold_url(read.note.pk), gold_form(foreign)).status_code == 404
    assert client.get(gold_url(read.note.pk)).status_code == 405
    assert client.get(reverse("note_gold_withdraw", args=["covid", read.note.pk])).status_code == 405


def test_no_event_holds_text(read, sign_in):
    client = sign_in(read.rev)
    client.get(page_of(read.note.pk))
    client.post(gold_url(read.note.pk), gold_form(read.anns))
    said = str(list(Event.objects.values_list("data", flat=True)))
    assert not any(word in said for word in WORDS_OF_THE_NOTE)


@pytest.mark.parametrize("offset, line", [(0, 1), (1, 1), (3, 2), (5, 3), (7, 4)])
def test_lines_are_counted_as_they_are_drawn(offset, line):
    assert line_at("a\r\nb\rc\nd", offset) == line
    assert TEXT


@pytest.mark.parametrize("show", list(Show))
@pytest.mark.parametrize("who", ["rev", "ann"])
def test_every_filter_walks_an_index(world, who, show):
    if connection.vendor == "postgresql":
        pytest.skip("PostgreSQL rightly scans tables this small")
    access = enter(getattr(world, who), "covid")
    with CaptureQueriesContext(connection) as found:
        note_page(access, show, after=1)
        note_page(access, show, before=10_000)
    for query in found:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            plan = [row[3] for row in cursor.fetchall()]
        assert not any(step.startswith("SCAN") for step in plan), (query["sql"], plan)
