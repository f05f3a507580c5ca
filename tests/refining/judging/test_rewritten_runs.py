"""Judges of runs that rewrite notes see the model's own text; a note without a usable answer counts as not found."""

import json

import pytest
from django.db import connection
from django.urls import reverse

from annotations.models import Author, Document, RewrittenNote
from annotations.text.hashes import text_sha256
from models_runtime.backends.llm.judging import part_of
from models_runtime.models import JudgedNote, Judging, LlmUsage, Run, RunItem, RunItemState
from models_runtime.refining.services.judging_results import result_of
from tests.backends.llm.scripted import note_of
from tests.refining.judging.world import AGAIN, AGE, CITY, ROSSI, asked, honest, judged_project, ward
from tests.worlds.checks import check_page

pytestmark = pytest.mark.django_db(transaction=True)
REWRITTEN = "[PATIENT], [AGE] years, prende 30 mg. Visto a Torino. [PATIENT] torna 0."
CHANGED = "Il paziente [PATIENT] ha [AGE] anni."


@pytest.fixture
def project():
    """Three notes: rewritten as it should be, rewritten with other changes, and refused by the model."""
    project = judged_project(3)
    author = Author.objects.get(kind="run")
    run = Run.objects.create(project=project, author=author, backend="llm", params={"strategy": "rewrite"})
    for note, text in zip(Document.objects.order_by("pk"), (REWRITTEN, CHANGED, ""), strict=True):
        state = RunItemState.DONE if text == REWRITTEN else RunItemState.FAILED
        RunItem.objects.create(run=run, document=note, state=state)
        if state == RunItemState.FAILED:
            note.annotation_sets.filter(author=author).delete()
        if text:
            RewrittenNote.objects.create(author=author, document=note, text=text, sha256=text_sha256(text))
    return project


def test_judges_see_the_models_text_and_failed_notes_count_as_not_found(client, settings, project):
    with ward(settings, honest) as server:
        judging = asked(client)
        seen = {json.loads(note_of(body))["deidentified"] for body in server.requests}
        assert seen == {REWRITTEN, CHANGED} and len(server.requests) == 6
    assert JudgedNote.objects.count() == 3
    result = result_of(judging)
    assert (result["notes"], result["unanswered"]) == (3, 1)
    # In the refused note, all four identifiers of gold are readable, for the judges and for the exact scores.
    refused = JudgedNote.objects.order_by("document").last()
    assert list(refused.judgments.values_list("verdicts", flat=True)) == [["FN"] * 4] * 3
    assert sorted(map(tuple, (one[:3] for one in refused.entities))) == [ROSSI, AGE, CITY, AGAIN]
    # The exact score of rewritten text counts the same text.
    changed = JudgedNote.objects.order_by("document")[1]
    assert changed.beside["rewritten"]["PATIENT"][:2] == [2, 0] and changed.beside["rewritten"]["CITY"][:2] == [1, 0]
    assert refused.beside["rewritten"]["PATIENT"][:2] == [0, 2]
    html = check_page(client.get(reverse("judging", args=["covid", judging.pk])))
    assert "The model gave no usable answer for 1 note with gold." in html
    # The model's text is stored in one place only, where it is erased with its note.
    assert "paziente" not in json.dumps(list(JudgedNote.objects.values("entities", "hidden", "beside")))


def test_a_number_of_notes_is_drawn_from_failed_notes_too(client, settings):
    with ward(settings, honest):
        assert result_of(asked(client, notes="2"))["notes"] == 2 and result_of(asked(client))["unanswered"] == 1
    failed = RunItem.objects.filter(state="failed").values("document")
    assert JudgedNote.objects.filter(document__in=failed, judging__in=Judging.objects.order_by("pk")[:1]).exists()


def test_a_note_that_was_rewritten_again_is_not_judged_on_another_text(client, settings):
    def again(body):
        RewrittenNote.objects.filter(text=CHANGED).update(text="[PATIENT].")
        connection.close()
        return honest(body)

    with ward(settings, again):
        judging = asked(client)
    errors = set(JudgedNote.objects.filter(judging=judging).values_list("judgments__error", flat=True))
    assert errors == {"", "The run rewrote this note again. Start a new judging."}


@pytest.mark.parametrize(("temperature", "repeated"), [("0", 0), ("0.7", 6)])
def test_a_repeated_judging_at_a_temperature_asks_again(client, settings, temperature, repeated):
    """At temperature 0 the same answers come from the cache; sampled verdicts are new in each judging."""
    with ward(settings, honest) as server:
        asked(client, temperature=temperature)
        before = len(server.requests)
        second = asked(client, temperature=temperature)
        assert len(server.requests) - before == repeated
    assert sum(LlmUsage.objects.filter(judge__judging=second).values_list("kept", flat=True)) == 6 - repeated


def test_the_part_of_a_rewritten_note():
    text, rewritten = "Mario Rossi ha 54,5 anni. Torna domani.", "[PATIENT] ha [AGE] anni. Torna domani."
    for start, end, part in (
        (0, 11, "[PATIENT]"), (0, 31, "[PATIENT] ha [AGE] anni. Torna"), (12, 25, "ha [AGE] anni."), (15, 19, "[AGE]"),
        (26, 39, "Torna domani."), (0, 39, rewritten),
    ):  # fmt: skip
        assert part_of(text, rewritten, start, end) == part
