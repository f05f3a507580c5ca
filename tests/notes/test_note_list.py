"""The list of notes: who sees which notes, filters, pages, and search by the name of a note."""

from unittest.mock import patch

import pytest
from django.db import connection
from django.db.models.sql.compiler import SQLCompiler
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotations.core.access import enter
from annotations.models import AnnotationSet, Assignment, AssignmentState, Flag, Search
from annotations.notes.selectors import notes as selector
from annotations.notes.selectors.notes import Show, note_page
from tests import factories as make
from tests.notes.note_pages import ROSSI, gold_of, listing, names, page_of
from tests.worlds.checks import check_page


def test_members_who_see_all_notes_see_who_annotated_them(world, sign_in):
    make.make_set(world.note, world.ann, [ROSSI], submitted=True)
    make.make_set(world.note, world.ben, [ROSSI])
    gold_of(world.note, [ROSSI])
    client = sign_in(world.vic)
    html = check_page(client.get(listing()))
    assert f'<a href="{page_of(world.note.pk)}">caso-001</a>' in html
    row = html.split("<tr>")[2]
    assert "ann</td>" in row and "ben</td>" in row and "gold</span>" in row
    html = check_page(client.get(listing(), headers={"HX-Request": "true"}), fragment=True)
    assert names(html) == ["caso-001", "caso-002"] and "<html" not in html
    for query in ("?after=x", "?after=-1", "?before=", "?after=99999999999999999999999", "?after=١"):
        assert names(client.get(listing(query)).content.decode()) == ["caso-001", "caso-002"]
    assert not names(check_page(client.get(listing("?after=999999"))))


def test_annotators_see_their_own_notes_and_state_only(world, sign_in):
    unread = make.make_note(world.project, name="caso-009")
    make.make_set(world.note, world.ben, submitted=True)
    make.make_set(world.notes[1], world.ann)
    html = check_page(sign_in(world.ann).get(listing()))
    assert names(html) == ["caso-001", "caso-002"]
    assert unread.name not in html and "ben" not in html and page_of(world.note.pk) + '"' not in html
    assert "started" in html and reverse("annotate", args=["covid", world.note.pk]) in html


@pytest.mark.both_databases
@pytest.mark.parametrize("show", list(Show))
@pytest.mark.parametrize("who", ["rev", "ann"])
def test_pages_join_without_gap_or_repeat(world, who, show):
    for n in range(3, 12):
        note = make.make_note(world.project, name=f"caso-{n:03}", annotators=[world.ann, world.rev])
        done = n % 2
        Assignment.objects.filter(document=note).update(state="done" if done else "open")
        gold = gold_of(note)
        if not n % 3:  # the draft of an open review
            AnnotationSet.objects.filter(pk=gold.pk).update(state="draft")
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
        assert "Search more notes" in html and not names(html)
        url = listing(f"?state=no-gold&after={world.notes[1].pk}")
        assert url.replace("&", "&amp;") in html
        assert names(check_page(sign_in(world.rev).get(url))) == [third.name]


def test_the_list_takes_few_queries_and_never_loads_a_text(world, sign_in):
    client = sign_in(world.mia)
    client.get(listing())

    def queries() -> list[str]:
        with CaptureQueriesContext(connection) as found:
            client.get(listing())
        return [query["sql"] for query in found]

    before = queries()
    for n in range(3, 40):
        note = make.make_note(world.project, name=f"caso-{n:03}", annotators=[world.ann, world.ben])
        make.make_set(note, world.ann, [ROSSI], submitted=True)
        gold_of(note)
    after = queries()
    assert len(after) == len(before) <= 15
    assert not any('"text"' in sql for sql in after)
    assert not any("annotations_span" in sql for sql in after)


@pytest.mark.parametrize("who", ["mia", "ann"])
def test_no_sql_of_the_list_is_written_anew(world, sign_in, who):
    client = sign_in(getattr(world, who))
    client.get(listing())
    with patch.object(SQLCompiler, "as_sql", side_effect=AssertionError("This costs more than the query itself.")):
        check_page(client.get(listing("?after=1")))


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


def test_filters(world, sign_in):
    make.make_note(world.project, name="caso-003")
    Assignment.objects.filter(document=world.note).update(state=AssignmentState.DONE)
    Assignment.objects.create(project=world.project, document=world.notes[1], user=world.rev)
    gold_of(world.note)
    for who, expected in (
        ("rev", {"all": [1, 2, 3], "gold": [1], "no-gold": [2, 3], "read": [1], "unread": [2], "nonsense": [1, 2, 3]}),
        ("rev", {"todo": [2]}),  # a reviewer with a note of their own
        ("ann", {"all": [1, 2], "todo": [2], "done": [1], "gold": [1, 2]}),
    ):
        client = sign_in(getattr(world, who))
        for show, numbers in expected.items():
            html = check_page(client.get(listing(f"?state={show}")))
            assert names(html) == [f"caso-{n:03}" for n in numbers], (who, show)


@pytest.mark.both_databases
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
    assert "No matching note names" in html
    client = sign_in(world.mia)
    assert names(check_page(client.get(client.post(listing(), {"name": "77"}).url))) == ["caso-777"]


@pytest.mark.both_databases
def test_results_of_a_search_come_in_pages(world):
    for n in range(10, 17):
        make.make_note(world.project, name=f"x-{30 - n}")
    access = enter(world.mia, "covid")
    first = note_page(access, Show.ALL, name="x-", size=3)
    second = note_page(access, Show.ALL, name="x-", after=first.next, size=3)
    assert [row.name for row in first.rows + second.rows] == ["x-14", "x-15", "x-16", "x-17", "x-18", "x-19"]
    back = note_page(access, Show.ALL, name="x-", before=second.previous, size=3)
    assert back.rows == first.rows
    assert back.previous is None


def test_an_empty_or_expired_search_shows_all(world, sign_in):
    client = sign_in(world.mia)
    assert client.post(listing(), {"name": "  "}).url == listing()
    assert "This search has expired" in check_page(client.get(listing("?found=nothing")))


def test_a_limited_number_of_searches_is_kept_and_none_in_the_session(world, sign_in):
    client = sign_in(world.mia)
    for n in range(25):
        last = client.post(listing(), {"name": f"caso-{n}"}).url
    assert Search.objects.filter(user=world.mia).count() == 20
    assert "caso-24" not in str(dict(client.session))
    # Searches by name are not listed among text searches.
    assert "caso-24" not in client.get("/projects/covid/search/").content.decode()
    assert "This search has expired" not in client.get(last).content.decode()
