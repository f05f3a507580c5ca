"""Search in notes, on the page, through the API and by command: only notes that one may open, and no text is kept."""

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotations.models import Event, Search
from annotations.notes.selectors import searching
from annotations.notes.services.searching import purge_searches
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

pytestmark = pytest.mark.both_databases

SEARCH = "/projects/covid/search/"


def look(client, text="Rossi", **options):
    answer = client.post(SEARCH, {"text": text} | options)
    assert answer.status_code == 303, answer.content.decode()[-2000:]
    return client.get(answer.url)


def notes(answer):
    return {note.name: note for note in answer.context["page"].notes}


def test_hits_with_their_location(world, sign_in):
    ann, rev = sign_in(world.ann), sign_in(world.rev)
    assert "id_annotation_set" not in check_page(ann.get(SEARCH))
    assert "id_annotation_set" in check_page(rev.get(SEARCH))
    answer = look(ann, "rossi")
    assert "Mario <mark>Rossi</mark>, 54 anni" in check_page(answer)
    (hit,) = notes(answer)["caso-001"].hits
    assert world.note.text[hit.start : hit.end] == "Rossi"
    assert f'/notes/{world.note.pk}/annotate/?at={hit.start}-{hit.end}#L1"' in answer.content.decode()
    assert f'/notes/{world.note.pk}/?at=6-11#L1"' in check_page(look(rev))
    for client in (sign_in(world.ben), sign_in(world.mia), sign_in(world.out)):
        assert client.get(answer.request["PATH_INFO"]).status_code == 404, "only its author sees a search"
    event = Event.objects.filter(verb="notes.searched").earliest("pk")
    assert (event.actor, event.project_id, event.data["hits"]) == (world.ann, world.project.pk, 2)
    assert "ossi" not in json.dumps(event.data) and "ossi" not in answer.request["PATH_INFO"]
    assert "searched the notes" in sign_in(world.mia).get(reverse("audit", args=["covid"])).content.decode()


def test_offsets_are_code_points_of_the_original_text(world, sign_in):
    text = "\ufeff\r\n\U0001f600 José\r\nJose\u0301 JOSÉ\rİjosé"
    note = make.make_note(world.project, text, "wild", annotators=[world.ann])
    hits = notes(look(sign_in(world.ann), "jose", loose="on"))["wild"].hits
    assert [text[hit.start : hit.end] for hit in hits] == ["José", "Jose\u0301", "JOSÉ", "josé"]
    assert [hit.line for hit in hits] == [2, 3, 3, 4]
    assert note.length == len(text)


def test_options(world, ann):
    assert len(notes(look(ann, "ross"))) == 2
    assert notes(look(ann, "ross", word="on")) == notes(look(ann, "ROSSI", case="on")) == {}
    assert "No matches" in check_page(look(ann, "ROSSI", case="on", word="on"))
    make.make_note(world.project, "<img src=x onerror=alert(1)> Rossi <b>", "markup", annotators=[world.ann])
    html = check_page(look(ann, "<img src=x"))
    assert "<mark>&lt;img src=x</mark> onerror=alert(1)&gt;" in html and "<img src" not in html


def test_only_unmarked_text(world, sign_in):
    note = make.make_note(world.project, "Rossi e Rossi e il dott. Rossi.", "three", annotators=[world.ann, world.ben])
    make.make_set(note, world.ann, [(0, 5, "PATIENT"), (19, 30, "DOCTOR")])
    make.make_set(note, world.ben, [(8, 13, "PATIENT")])
    ann, doctor = sign_in(world.ann), make.label_of(world.project, "DOCTOR").pk

    def starts(client, **options):
        return {name: [hit.start for hit in found.hits] for name, found in notes(look(client, **options)).items()}

    # Notes without annotations by this user are left out: all their text is unmarked.
    assert starts(ann, where="unlabeled") == {"three": [8]}
    assert starts(sign_in(world.ben), where="unlabeled")["three"] == [0, 25]
    assert starts(ann, where="label", label=doctor)["three"] == [25]
    make.make_set(world.note, make.make_author(world.project, kind="gold"), [(0, 5, "PATIENT")], submitted=True)
    assert starts(sign_in(world.rev), where="unlabeled", annotation_set="gold") == {"caso-001": [6]}
    # Annotators can't search gold, since it shows the annotations of others.
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")])
    assert "caso-001" not in starts(ann, where="unlabeled", annotation_set="gold")


def test_invalid_searches(world, ann):
    for body in (
        {}, {"text": "  "}, {"text": "x" * 201}, {"text": "x", "where": "nowhere"}, {"text": "x", "where": "label"},
        {"text": "x", "where": "label", "label": 10**30},
    ):  # fmt: skip
        assert ann.post(SEARCH, body).status_code == 422, body
    assert not Search.objects.exists()


def test_a_search_is_deleted_after_a_day(world, ann):
    url = ann.post(SEARCH, {"text": "Rossi"}).url
    assert "Rossi" in check_page(ann.get(SEARCH))
    Search.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert ann.get(url).status_code == 404
    assert "Rossi" not in ann.get(SEARCH).content.decode()
    ann.post(SEARCH, {"text": "Verdi"})
    assert [row.text for row in Search.objects.all()] == ["Verdi"]
    Search.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert purge_searches() == 1


def test_pages_by_note(world, ann, monkeypatch):
    monkeypatch.setattr(searching, "NOTES", 1)
    answer = look(ann)
    url = answer.request["PATH_INFO"]
    second = ann.get(f"{url}?after={answer.context['page'].next}")
    assert [set(notes(page)) for page in (answer, second)] == [{"caso-001"}, {"caso-002"}]
    assert "No more matches" in check_page(ann.get(f"{url}?after={second.context['page'].next}"))
    assert ann.get(f"{url}?after=x").status_code == 200


def test_a_large_project_answers_in_steps(world, ann, monkeypatch):
    monkeypatch.setattr(searching, "CHARACTERS", 10)
    answer = look(ann, "Zanetti")
    assert "1 note searched" in check_page(answer)
    url = answer.request["PATH_INFO"]
    assert ann.get(f"{url}?after={world.notes[0].pk}").context["page"].next == world.notes[1].pk
    assert "Continue search" not in check_page(ann.get(f"{url}?after={world.notes[1].pk}"))


def test_many_hits_in_a_note_are_counted(world, sign_in):
    make.make_note(world.project, "Rossi " * 30, "many", annotators=[world.ann])
    answer = look(sign_in(world.ann))
    many = notes(answer)["many"]
    assert (many.count, len(many.hits)) == (30, searching.HITS)
    assert "and 20 more in this note" in check_page(answer)


API_SEARCH = "/projects/covid/search"


@pytest.fixture
def searched(world):
    world.text = "\ufeff\r\n\U0001f600 José Rossi"
    world.wild = make.make_note(world.project, world.text, "wild")
    return world


def names(found):
    return {note["name"] for note in found["notes"]}


def test_the_api_finds_what_the_person_may_open(searched):
    reviewer = Program(searched.rev)
    (note,) = reviewer.post(API_SEARCH, {"text": "jose", "ignore_accents": True}).json()["notes"]
    (hit,) = note["hits"]
    assert (note["note"], note["count"], hit["line"]) == (searched.wild.pk, 1, 2)
    assert searched.text[hit["start"] : hit["end"]] == "José" == hit["found"]
    assert names(reviewer.post(API_SEARCH, {"text": "rossi"}).json()) >= {"caso-001", "wild"}
    assert "wild" not in names(Program(searched.ann).post(API_SEARCH, {"text": "rossi"}).json())
    assert not Search.objects.exists()
    events = Event.objects.filter(verb="notes.searched")
    assert events.count() == 3
    assert not any("ossi" in json.dumps(event.data) or "jose" in json.dumps(event.data) for event in events)


def test_a_page_reads_few_notes_more_than_it_shows(world, ann, monkeypatch):
    for number in range(30):
        make.make_note(world.project, f"Rossi {number}", f"more-{number:02}", annotators=[world.ann])
    monkeypatch.setattr(searching, "BATCH", 2)
    monkeypatch.setattr(searching, "NOTES", 3)
    url = ann.post(SEARCH, {"text": "Rossi"}).url
    with CaptureQueriesContext(connection) as queries:
        page = ann.get(url).context["page"]
    assert [note.name for note in page.notes] == ["caso-001", "caso-002", "more-00"]
    read = [query["sql"] for query in queries if "annotations_document" in query["sql"] and '"text"' in query["sql"]]
    # No cursor: outside a transaction, PostgreSQL copies all rows before the first is read.
    assert len(read) == 2 and all("LIMIT" in sql and "CURSOR" not in sql for sql in read)
    rest = [note.name for note in ann.get(f"{url}?after={page.next}").context["page"].notes]
    assert rest == ["more-01", "more-02", "more-03"]
