"""The list of notes: who sees which notes, filters, pages, and search by the name of a note."""

import re
from unittest.mock import patch

import pytest
from django.db import connection
from django.db.models.sql.compiler import SQLCompiler
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotations import models
from annotations.core.access import enter
from annotations.core.services import NOTE_READ
from annotations.core.stored_files import open_stored
from annotations.exchange.events import NOTES_EXPORTED
from annotations.jobs.runner import run as run_job
from annotations.notes.selectors import notes as selector
from annotations.notes.selectors.in_context import line_at
from annotations.notes.selectors.notes import Show, note_page
from tests import factories as make
from tests.notes.note_pages import DATE, ROSSI, gold_of, listing, names, page_of
from tests.worlds.checks import check_page
from tests.worlds.commands import printed
from tests.worlds.programs import Program
from tests.zips import unzipped


def test_members_who_see_all_notes_see_who_annotated_them(world, vic):
    make.make_set(world.note, world.ann, [ROSSI], submitted=True)
    make.make_set(world.note, world.ben, [ROSSI])
    gold_of(world.note, [ROSSI])
    html = check_page(vic.get(listing()))
    assert f'<a href="{page_of(world.note.pk)}">caso-001</a>' in html
    row = html.split("<tr>")[2]
    assert "ann</td>" in row and "ben</td>" in row and "gold</span>" in row
    html = check_page(vic.get(listing(), headers={"HX-Request": "true"}), fragment=True)
    assert names(html) == ["caso-001", "caso-002"] and "<html" not in html
    for query in ("?after=x", "?after=-1", "?before=", "?after=99999999999999999999999", "?after=١"):
        assert names(vic.get(listing(query)).content.decode()) == ["caso-001", "caso-002"]
    assert not names(check_page(vic.get(listing("?after=999999"))))


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
        models.Assignment.objects.filter(document=note).update(state="done" if n % 2 else "open")
        gold = gold_of(note)
        if not n % 3:  # the draft of an open review
            models.AnnotationSet.objects.filter(pk=gold.pk).update(state="draft")
        if n % 4:
            models.Flag.objects.create(document=note, user=getattr(world, who), reason="unsure")
            models.Flag.objects.create(document=note, user=world.mia, reason="text")
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


def test_the_list_takes_few_queries_and_never_loads_a_text(world, mia):
    mia.get(listing())

    def queries() -> list[str]:
        with CaptureQueriesContext(connection) as found:
            mia.get(listing())
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
    models.Assignment.objects.filter(document=world.note).update(state=models.AssignmentState.DONE)
    models.Assignment.objects.create(project=world.project, document=world.notes[1], user=world.rev)
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
def test_a_search_by_name_keeps_the_words_out_of_the_url(world, mia):
    response = mia.post(listing(), {"name": "SO-002"})
    assert response.status_code == 302
    assert "002" not in response.url
    html = check_page(mia.get(response.url))
    assert names(html) == ["caso-002"]
    assert "SO-002" in html


def test_a_search_looks_only_at_notes_one_may_open(world, sign_in):
    make.make_note(world.project, name="caso-777")
    make.make_note(world.other, name="caso-778")
    client = sign_in(world.ann)
    assert "No matching note names" in check_page(client.get(client.post(listing(), {"name": "77"}).url))
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


def test_an_empty_or_expired_search_shows_all(world, mia):
    assert mia.post(listing(), {"name": "  "}).url == listing()
    assert "This search has expired" in check_page(mia.get(listing("?found=nothing")))


def test_a_limited_number_of_searches_is_kept_and_none_in_the_session(world, mia):
    for n in range(25):
        last = mia.post(listing(), {"name": f"caso-{n}"}).url
    assert models.Search.objects.filter(user=world.mia).count() == 20
    assert "caso-24" not in str(dict(mia.session))
    # Searches by name are not listed among text searches.
    assert "caso-24" not in mia.get("/projects/covid/search/").content.decode()
    assert "This search has expired" not in mia.get(last).content.decode()


# ── The page of one note with its annotation sets ──


def test_members_who_see_all_notes_see_the_text_with_annotations(annotated, rev, sign_in):
    for who in ("mia", "rev", "vic"):
        html = check_page(sign_in(getattr(annotated, who)).get(page_of(annotated.note.pk)))
        assert 'data-label="PATIENT"' in html and ("Make gold" in html) == (who != "vic")
    event = models.Event.objects.filter(verb=NOTE_READ).latest("pk")
    assert (event.actor, event.document_id) == (annotated.vic, annotated.note.pk)
    assert event.data == {"set": annotated.anns.pk}
    html = check_page(rev.get(page_of(annotated.note.pk, f"?set={annotated.bens.pk}")))
    assert 'data-label="PATIENT"' not in html and 'data-label="DATE"' in html
    assert "Mario Rossi" in check_page(rev.get(page_of(annotated.notes[1].pk)))


def test_gold_comes_first_and_differences_are_shown(annotated, rev):
    gold = gold_of(annotated.note, [ROSSI])
    assert re.search("Gold since <time [^<]*</time>: 1 span[.]", check_page(rev.get(page_of(annotated.note.pk))))
    html = check_page(rev.get(page_of(annotated.note.pk, f"?set={annotated.anns.pk}")))
    assert "Only in these annotations" in html and "Replace the gold" in html and "12/03/2021" in html
    make.make_span(gold, *DATE)
    html = check_page(rev.get(page_of(annotated.note.pk, f"?set={annotated.anns.pk}")))
    assert "match the gold: 2 spans" in html and "Replace gold" not in html


def test_neighbors_keep_the_filter(world, sign_in):
    third = make.make_note(world.project, name="caso-003")
    gold_of(world.notes[1])
    html = check_page(sign_in(world.rev).get(page_of(world.note.pk, "?state=no-gold")))
    assert page_of(third.pk, "?state=no-gold") in html
    assert page_of(world.notes[1].pk) not in html


def test_an_unknown_annotation_set_is_404(annotated, sign_in):
    foreign = make.make_set(make.make_note(annotated.other), make.make_author(annotated.other))
    for wrong in (99, "x", foreign.pk):
        assert sign_in(annotated.mia).get(page_of(annotated.note.pk, f"?set={wrong}")).status_code == 404
    assert models.Event.objects.count() == 0


def test_a_note_takes_few_queries(annotated, rev, django_assert_max_num_queries):
    gold_of(annotated.note, [ROSSI])
    rev.get(page_of(annotated.note.pk))
    with django_assert_max_num_queries(24):
        rev.get(page_of(annotated.note.pk, f"?set={annotated.anns.pk}"))


def test_lines_are_counted_as_on_the_page():
    assert [line_at("a\r\nb\rc\nd", offset) for offset in (0, 1, 3, 5, 7)] == [1, 1, 2, 3, 4]


# ── The ticks in the list of notes: assign, export and delete several at once ──


LIST, ASSIGN, DELETE = (reverse(name, args=["covid"]) for name in ("notes", "notes_assign", "notes_delete"))


def test_ticked_notes_are_assigned(world, sign_in):
    mia, notes = sign_in(world.mia), [note.pk for note in world.notes]
    assert check_page(mia.get(LIST)).count('name="notes"') == len(notes)
    assert 'name="notes"' not in check_page(sign_in(world.rev).get(LIST))
    models.Assignment.objects.all().delete()
    mia.post(ASSIGN, {"notes": notes[:1], "annotator": world.ann.pk})
    assert models.Assignment.objects.get().document_id == notes[0]
    assert "No note is ticked" in check_page(mia.post(ASSIGN, {"annotator": world.ann.pk}, follow=True))
    assert "Assign 2 notes" in check_page(mia.post(ASSIGN, {"notes": notes, "annotator": world.rev.pk}))
    assert models.Assignment.objects.count() == 1


def test_ticked_notes_are_deleted_after_a_look(world, sign_in):
    mia, notes = sign_in(world.mia), [note.pk for note in world.notes]
    html = check_page(mia.post(DELETE, {"notes": notes}))
    assert all(note.name in html for note in world.notes) and models.Document.objects.filter(pk__in=notes).count() == 2
    assert "2 notes were deleted" in check_page(mia.post(DELETE, {"notes": notes, "do": "delete"}, follow=True))
    assert not models.Document.objects.filter(pk__in=notes).exists()
    assert "No note is ticked" in check_page(mia.post(DELETE, {}, follow=True))


EXPORT, START, PREVIEW = (
    reverse(name, args=["covid"]) for name in ("notes_export", "job_start_export", "export_preview")
)


def test_only_the_ticked_notes_are_exported(world, sign_in, tmp_path, no_redis):
    mia, notes = sign_in(world.mia), [note.pk for note in world.notes]
    third = make.make_note(world.project, "Carla", "third")
    for note in (world.notes[0], third):
        make.make_set(note, world.ann, [(0, 4, "PATIENT")], submitted=True)
    assert "No note is ticked" in check_page(mia.post(EXPORT, {}, follow=True))
    html = check_page(mia.post(EXPORT, {"notes": notes}, follow=True))
    assert "Only 2 ticked notes are exported" in html and html.count('type="hidden" name="notes"') == 2
    wanted = {"set": "annotator:ann", "format": "text", "notes": notes, "token": "a"}
    assert f"&amp;notes={notes[0]},{notes[1]}" in check_page(mia.post(PREVIEW, wanted))
    mia.post(START, wanted)
    job = models.Job.objects.get()
    run_job(job.pk)
    names = unzipped(open_stored(models.StoredFile.objects.get()))
    assert [name for name in names if name.endswith(".txt")] == [f"{world.notes[0].name}.txt"]
    assert models.Event.objects.get(verb=NOTES_EXPORTED).data["chosen_notes"] == 2
    assert "of 2 ticked notes" in check_page(mia.get(reverse("job", args=["covid", job.number])))
    lonely = check_page(mia.post(START, wanted | {"notes": notes[1:], "token": "b"}, follow=True))
    assert "has none of the chosen notes" in lonely and "Only 1 ticked note is exported" in lonely
    body, api = {"set": "annotator:ann", "format": "text"}, Program(world.mia)
    assert api.post("/projects/covid/exports/preview", body | {"notes": [third.pk]}).json()["spans"] == 1
    for refused in ([0], [third.pk] * 51):
        answer = api.post("/projects/covid/exports", body | {"notes": refused})
        assert [error["field"] for error in answer.json()["errors"]] == ["notes"]
    words = ["--format", "text", "--set", "annotator:ann", "--note", "third"]
    report = printed("export_documents", "covid", tmp_path / "out", *words)
    assert {"set: annotator:ann", "format: text", "notes: 1"} <= set(report.splitlines())
