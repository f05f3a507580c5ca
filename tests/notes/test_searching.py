"""Search in a project's notes: only notes that the user may open, exact offsets, no text in URLs or events."""

import json
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotations.models import Document, Event, Search
from annotations.notes.selectors import searching
from annotations.notes.services.searching import purge_searches
from annotations.ops.services.erasing import erase_patient
from tests import factories as make
from tests.worlds.checks import check_page

pytestmark = pytest.mark.both_databases

SEARCH = "/projects/covid/search/"


def look(client, text="Rossi", **options):
    answer = client.post(SEARCH, {"text": text} | options)
    assert answer.status_code == 303, answer.content.decode()[-2000:]
    return client.get(answer.url)


def notes(answer):
    return {note.name: note for note in answer.context["page"].notes}


def test_the_form(world, sign_in):
    html = check_page(sign_in(world.ann).get(SEARCH))
    assert "notes assigned to you" in html
    assert "id_annotation_set" not in html
    assert "id_annotation_set" in check_page(sign_in(world.rev).get(SEARCH))


def test_hits_with_their_location(world, sign_in):
    answer = look(sign_in(world.ann), "rossi")
    html = check_page(answer)
    assert "2 matches." in html and ", 2 with matches." in html
    assert "Mario <mark>Rossi</mark>, 54 anni" in html
    (hit,) = notes(answer)["caso-001"].hits
    assert world.note.text[hit.start : hit.end] == "Rossi"
    assert f'/notes/{world.note.pk}/annotate/?at={hit.start}-{hit.end}#L1"' in html


def test_reviewers_go_to_the_page_of_the_note(world, sign_in):
    html = check_page(look(sign_in(world.rev)))
    assert f'/notes/{world.note.pk}/?at=6-11#L1"' in html


def test_offsets_are_code_points_of_the_original_text(world, sign_in):
    text = "\ufeff\r\n\U0001f600 José\r\nJose\u0301 JOSÉ\rİjosé"
    note = make.make_note(world.project, text, "wild", annotators=[world.ann])
    hits = notes(look(sign_in(world.ann), "jose", loose="on"))["wild"].hits
    assert [text[hit.start : hit.end] for hit in hits] == ["José", "Jose\u0301", "JOSÉ", "josé"]
    assert [hit.line for hit in hits] == [2, 3, 3, 4]
    assert note.length == len(text)


def test_an_annotator_finds_only_their_own_notes(world, sign_in):
    make.make_note(world.project, "Rossi again", "not-mine")
    make.make_note(world.other, "Rossi elsewhere", "elsewhere")
    assert set(notes(look(sign_in(world.ann)))) == {"caso-001", "caso-002"}
    assert set(notes(look(sign_in(world.rev)))) == {"caso-001", "caso-002", "not-mine"}
    assert notes(look(sign_in(world.vic))).keys() == notes(look(sign_in(world.mia))).keys()


def test_options(world, sign_in):
    ann = sign_in(world.ann)
    assert len(notes(look(ann, "ross"))) == 2
    assert notes(look(ann, "ross", word="on")) == {}
    assert notes(look(ann, "ROSSI", case="on")) == {}
    html = check_page(look(ann, "ROSSI", case="on", word="on"))
    assert "No matches" in html and "fewer options" in html


def test_only_unmarked_text(world, sign_in):
    text = "Rossi e Rossi e il dott. Rossi."
    note = make.make_note(world.project, text, "three", annotators=[world.ann, world.ben])
    make.make_set(note, world.ann, [(0, 5, "PATIENT"), (19, 30, "DOCTOR")])
    make.make_set(note, world.ben, [(8, 13, "PATIENT")])
    found = notes(look(sign_in(world.ann), where="unlabeled"))
    assert [hit.start for hit in found["three"].hits] == [8]
    # Notes without annotations by this user are left out: all their text is unmarked.
    assert set(found) == {"three"}
    assert [hit.start for hit in notes(look(sign_in(world.ben), where="unlabeled"))["three"].hits] == [0, 25]
    doctor = make.label_of(world.project, "DOCTOR").pk
    found = notes(look(sign_in(world.ann), where="label", label=doctor))
    assert [hit.start for hit in found["three"].hits] == [25]


def test_in_gold(world, sign_in):
    gold = make.make_author(world.project, kind="gold", name="gold")
    make.make_set(world.note, gold, [(0, 5, "PATIENT")], submitted=True)
    found = notes(look(sign_in(world.rev), where="unlabeled", annotation_set="gold"))
    assert [hit.start for hit in found["caso-001"].hits] == [6]
    # Annotators can't search gold, since it shows the annotations of others.
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")])
    assert notes(look(sign_in(world.ann), where="unlabeled", annotation_set="gold")) == {}


def test_invalid_searches(world, sign_in):
    client = sign_in(world.ann)
    for body in (
        {}, {"text": "  "}, {"text": "x" * 201}, {"text": "x", "where": "nowhere"}, {"text": "x", "where": "label"},
        {"text": "x", "where": "label", "label": 10**30},
    ):  # fmt: skip
        assert client.post(SEARCH, body).status_code == 422, body
    assert not Search.objects.exists()


def test_hostile_text_is_only_text(world, sign_in):
    make.make_note(world.project, "<img src=x onerror=alert(1)> Rossi <b>", "markup", annotators=[world.ann])
    html = check_page(look(sign_in(world.ann), "<img src=x"))
    assert "<mark>&lt;img src=x</mark> onerror=alert(1)&gt;" in html
    assert "<img src" not in html


# ── Whose a search is, and for how long ──────────────────────────────────────────────────────────────────────────────


def test_only_its_author_sees_a_search(world, sign_in):
    url = sign_in(world.ann).post(SEARCH, {"text": "Rossi"}).url
    for person in (world.ben, world.mia, world.out):
        assert sign_in(person).get(url).status_code == 404
    assert sign_in(world.ann).get(url).status_code == 200


def test_a_search_is_deleted_after_a_day(world, sign_in):
    ann = sign_in(world.ann)
    url = ann.post(SEARCH, {"text": "Rossi"}).url
    assert "Rossi" in check_page(ann.get(SEARCH))
    Search.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert ann.get(url).status_code == 404
    assert "Rossi" not in ann.get(SEARCH).content.decode()
    ann.post(SEARCH, {"text": "Verdi"})
    assert [row.text for row in Search.objects.all()] == ["Verdi"]
    Search.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert purge_searches() == 1


def test_an_erasure_deletes_the_projects_searches(world, sign_in):
    sign_in(world.ann).post(SEARCH, {"text": "Rossi"})
    Document.objects.filter(pk=world.note.pk).update(patient_id="P1")
    erase_patient(project=world.project, patient_id="P1", actor=world.mia)
    assert not Search.objects.exists()


def test_an_event_says_that_a_search_was_made(world, sign_in):
    answer = look(sign_in(world.ann), "Rossi", word="on")
    event = Event.objects.get(verb="notes.searched")
    assert (event.actor, event.project_id, event.data["hits"], event.data["word"]) == (
        world.ann, world.project.pk, 2, True,
    )  # fmt: skip
    assert "ossi" not in json.dumps(event.data)
    assert "ossi" not in answer.request["PATH_INFO"]
    audit = sign_in(world.mia).get(reverse("audit", args=["covid"])).content.decode()
    assert "searched the notes" in audit


# ── In steps ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_pages_by_note(world, sign_in, monkeypatch):
    monkeypatch.setattr(searching, "NOTES", 1)
    ann = sign_in(world.ann)
    answer = look(ann)
    assert set(notes(answer)) == {"caso-001"}
    check_page(answer)
    url = answer.request["PATH_INFO"]
    second = ann.get(f"{url}?after={answer.context['page'].next}")
    assert set(notes(second)) == {"caso-002"}
    last = ann.get(f"{url}?after={second.context['page'].next}")
    assert "No more matches" in check_page(last)
    assert ann.get(f"{url}?after=x").status_code == 200


def test_a_large_project_answers_in_steps(world, sign_in, monkeypatch):
    monkeypatch.setattr(searching, "CHARACTERS", 10)
    ann = sign_in(world.ann)
    answer = look(ann, "Zanetti")
    html = check_page(answer)
    assert "1 note searched" in html and "Continue search" in html
    url = answer.request["PATH_INFO"]
    after = ann.get(f"{url}?after={world.notes[0].pk}")
    assert after.context["page"].next == world.notes[1].pk
    assert "Continue search" not in check_page(ann.get(f"{url}?after={world.notes[1].pk}"))


def test_many_hits_in_a_note_are_counted(world, sign_in):
    make.make_note(world.project, "Rossi " * 30, "many", annotators=[world.ann])
    answer = look(sign_in(world.ann))
    many = notes(answer)["many"]
    assert (many.count, len(many.hits)) == (30, searching.HITS)
    assert "and 20 more in this note" in check_page(answer)
