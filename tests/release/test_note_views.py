"""The views of a note: original, masked and with surrogates; on the note's page, and as JSON for the review."""

import json

import pytest
from django.urls import reverse

from annotations.models import SurrogateEntity
from tests import factories as make
from tests.worlds.checks import check_page


@pytest.fixture
def reader(clinic, sign_in):
    clinic.client = sign_in(clinic.vic)
    clinic.page = reverse("note", args=["covid", clinic.notes[0].pk])
    return clinic


def text_of(html: str) -> str:
    return html.split('<div class="note is-plain"')[1].split('<div class="stack">')[0]


def test_the_masked_view_has_placeholders_and_none_of_the_labeled_text(reader):
    html = check_page(reader.client.get(reader.page + "?view=masked"))
    shown = text_of(html)
    assert ">[PATIENT]</span>" in shown and ">[CITY]</span>" in shown and "Il sig. Rossi torna a casa." in shown
    assert "Mario" not in shown and "Torino" not in shown
    assert '<a href="?view=masked" aria-current="page">Masked</a>' in html


def test_the_view_of_surrogates_changes_names_and_stores_nothing(reader):
    shown = text_of(check_page(reader.client.get(reader.page + "?view=surrogates")))
    assert "Mario" not in shown and "[PATIENT]" not in shown and "12/03/2021" not in shown
    assert not SurrogateEntity.objects.exists()


def test_the_view_goes_along_to_other_notes_and_annotation_sets(reader):
    run = make.make_author(reader.project, kind="run", name="rules-1")
    chosen = make.make_set(reader.notes[0], run, [(0, 11, "PATIENT")], submitted=True)
    html = check_page(reader.client.get(reader.page + "?view=masked"))
    assert f'{reverse("note", args=["covid", reader.notes[1].pk])}?view=masked"' in html
    assert f'?set={chosen.pk}&amp;view=masked"' in html
    html = check_page(reader.client.get(reader.page + "?view=%22onclick"))
    assert "onclick" not in html.split("<main")[1].split("note-views")[0]
    html = check_page(reader.client.get(f"{reader.page}?set={chosen.pk}&view=masked"))
    shown = text_of(html)
    assert ">[PATIENT]</span>" in shown and "Torino" in shown and f"?set={chosen.pk}&amp;view=surrogates" in html
    note = make.make_note(reader.project, "Nothing here.")
    assert "note-views" not in check_page(reader.client.get(reverse("note", args=["covid", note.pk])))


# ── Surrogates as JSON ────────────────────────────────────────────────────────────────────────────────────────────────


def ask(client, clinic, spans):
    path = reverse("note_surrogates", args=["covid", clinic.notes[0].pk])
    return client.post(path, json.dumps({"spans": spans, "person": clinic.rev.pk}), content_type="application/json")


def test_the_review_gets_a_surrogate_for_each_stretch(clinic, sign_in):
    client, label = sign_in(clinic.rev), clinic.labels["PATIENT"].pk
    response = ask(client, clinic, [[0, 11, label], [6, 11, label]])
    assert response.status_code == 200
    ((start, end, text),) = response.json()["texts"]
    assert (start, end) == (0, 11) and text and "Rossi" not in text
    kept = ask(client, clinic, [[0, 11, clinic.labels["COUNTRY"].pk]]).json()
    assert kept["texts"] == [[0, 11, None]], "nothing of the note is read without a record"
    lists = ([[0, 11]], [[0, 11, "PATIENT"]], [[11, 0, 1]], [[0, 9999, 1]], [[0, 11, 0]], [7], [[0, 0, 1]])
    for spans in (None, "all", *lists):
        response = ask(client, clinic, spans)
        assert (response.status_code, response.json()["error"]) == (400, "malformed")
