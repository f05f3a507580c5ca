"""Runs that rewrite notes: doubtful words, unknown placeholders, and the kept text with its score and export."""

import hashlib
import json

import pytest
from django.urls import reverse

from annotations.core.services import ServiceError
from annotations.models import Event, Job, JobState, LabelSet, RewrittenNote, Span
from annotations.ops.services.erasing import erase_patient
from annotations.review.selectors.state import review_state
from annotations.scores.services.scoring import score, score_request
from models_runtime.models import LlmAnswer, Run, RunItem, RunItemState
from models_runtime.runs.services.llm import map_placeholders
from tests import factories as make
from tests.backends.llm.scripted import Reply, entities, note_of, offered
from tests.runs.conftest import asked, finished
from tests.worlds.checks import check_page

pytestmark = pytest.mark.django_db(transaction=True)

# What the model makes of each note: the first two are the worked examples of deleted diagnoses.
NOTES = {
    "Mario Rossi, non diabetico, ha 54 anni": "[PATIENT] ha [AGE] anni",
    "Il paziente diabetico iperteso Kwame Nkrumah assume aspirina": "Il paziente [PATIENT] assume aspirina",
    "Nato a Torino, CF RSSMRA80A01H501U.": "Nato a [CITY], CF [CODICE FISCALE].",
    "Anna Verdi ha la febbre alta oggi": "[PATIENT] ha la tosse alta oggi",
    "Luca Neri torna a casa oggi": "Mi dispiace, non posso.",
}
PLACEHOLDER = "placeholder:CODICE FISCALE"


def model(body):
    note = note_of(body)
    if note.startswith('{"passage"'):
        asked = json.loads(note)
        # It repeats its mistake.
        return entities((asked["words"], asked["tags"][0], ""))
    return Reply(NOTES[note])


@pytest.fixture
def server(settings):
    with offered(settings, model) as running:
        yield running


@pytest.fixture
def project():
    project = make.make_project("covid", name="Covid ward", language="it")
    for number, text in enumerate(NOTES):
        make.make_note(project, text, patient_id=f"p{number}")
    return project


def start(manager, **options):
    return asked(manager, strategy="rewrite", **options)


def ran(manager, **options):
    start(manager, **options)
    run = Run.objects.latest("pk")
    assert finished(run).state == JobState.DONE
    return run


@pytest.fixture
def run(manager, server):
    return ran(manager)


def page_of(manager, run, name="run"):
    return check_page(manager.get(reverse(name, args=["covid", run.pk])))


def suggestions(run):
    rows = Span.objects.filter(annotation_set__author=run.author).select_related("annotation_set__document", "label")
    return {
        (row.annotation_set.document.text[row.start : row.end], row.label.code): row.provenance
        for row in rows.order_by("annotation_set__document_id", "start")
    }


def test_deleted_diagnoses_are_no_part_of_a_name_and_are_shown_to_the_reviewer(run, manager, project):
    found = suggestions(run)
    assert set(found) == {
        ("Mario Rossi", "PATIENT"), ("54", "AGE"), ("Kwame Nkrumah", "PATIENT"), ("Torino", "CITY")
    }  # fmt: skip
    text = next(iter(NOTES))
    [start, end] = found["Mario Rossi", "PATIENT"]["removed"][0]
    assert text[start:end] == "non diabetico" and found["54", "AGE"] is None
    document = RewrittenNote.objects.order_by("document_id").first().document
    shown = review_state(document=document, author=run.author, user=project.memberships.get().user)["suggestions"]
    assert [one.get("doubt") for one in shown] == [found["Mario Rossi", "PATIENT"], None]
    assert "2 suggestions have doubtful words" in page_of(manager, run)


def test_the_models_text_is_kept_even_if_it_changed_a_word_but_not_a_refusal(run):
    kept = list(RewrittenNote.objects.order_by("document_id").values_list("document__text", "text", "sha256"))
    assert kept == [(*pair, hashlib.sha256(pair[1].encode()).hexdigest()) for pair in list(NOTES.items())[:4]]
    failed = RunItem.objects.filter(run=run, state=RunItemState.FAILED).order_by("document_id")
    assert [item.document.text for item in failed] == list(NOTES)[3:]
    assert "1 words or signs are missing and 1 are new" in failed[0].error


def test_failed_notes_count_as_nothing_found_and_the_models_own_text_is_scored(run, project, manager):
    marks = [
        [(0, 11, "PATIENT"), (31, 33, "AGE")], [(31, 44, "PATIENT")], [(7, 13, "CITY")], [(0, 10, "PATIENT")],
        [(0, 9, "PATIENT")],
    ]  # fmt: skip
    for item, spans in zip(RunItem.objects.filter(run=run).order_by("document_id"), marks, strict=True):
        make.make_set(item.document, "gold", spans)

    def scored():
        return score(score_request(project, version=0, author_id=run.author_id)).table

    table = scored()
    assert (table["notes"], table["unanswered"], table["left_out"]["unread"]) == (5, 2, 0)
    exact = next(one for one in table["levels"] if (one["unit"], one["granularity"]) == ("entity", "subcategory"))
    assert (exact["micro"]["precision"], exact["micro"]["recall"]) == (1, pytest.approx(4 / 6))
    # The changed note's text has a placeholder in place of Anna Verdi; the refused note is scored as it was.
    counted = table["rewritten"]["micro"]
    assert (counted["tp"], counted["fn"]) == (5, 1)
    assert "no usable answer for 2 notes" in check_page(
        manager.get(reverse("score", args=["covid", 0, run.author_id]))
    )  # fmt: skip
    # A retry changes the stored figures.
    RunItem.objects.filter(run=run, document__text=list(NOTES)[4]).update(state=RunItemState.PENDING)
    assert scored()["unanswered"] == 1


def test_unknown_placeholders_become_suggestions_once_a_person_chooses_a_label(run, manager):
    page = reverse("run_placeholders", args=["covid", run.pk])
    assert "1 span has a placeholder without a label" in page_of(manager, run)
    assert "[CODICE FISCALE]" in page_of(manager, run, "run_placeholders")
    Job.objects.filter(pk=run.job_id).update(state=JobState.RUNNING)
    answer = manager.post(page, {PLACEHOLDER: "HOSPITAL"})
    assert answer.status_code == 422 and "still in progress" in answer.content.decode()
    Job.objects.filter(pk=run.job_id).update(state=JobState.DONE)
    with pytest.raises(ServiceError, match="no label"):
        map_placeholders(run=run, labels={"CODICE FISCALE": "NOPE"}, actor=None)
    assert manager.post(page, {PLACEHOLDER: "NO_SUCH"}).status_code == 422
    assert manager.post(page, {PLACEHOLDER: "?"}).status_code == 302 and len(suggestions(run)) == 4
    for _ in range(2):  # A second click adds nothing.
        assert manager.post(page, {PLACEHOLDER: "HOSPITAL"}).status_code == 302
        assert ("RSSMRA80A01H501U", "HOSPITAL") in suggestions(run) and len(suggestions(run)) == 5
    assert "Nothing left to choose" in page_of(manager, run, "run_placeholders")
    assert "FISCALE" not in json.dumps(Event.objects.filter(verb="run.placeholders_mapped").latest("pk").data)
    # The next run uses the label at once.
    assert ("RSSMRA80A01H501U", "HOSPITAL") in suggestions(ran(manager))
    # The new suggestion can be reviewed like the others.
    document = RewrittenNote.objects.get(author=run.author, document__text=list(NOTES)[2]).document
    assert [one["state"] for one in review_state(document=document, author=run.author)["suggestions"]] == ["open"] * 2


def test_a_placeholder_can_be_dropped(run, manager):
    assert manager.post(reverse("run_placeholders", args=["covid", run.pk]), {PLACEHOLDER: ""}).status_code == 302
    assert len(suggestions(run)) == 4 and "Nothing left to choose" in page_of(manager, run, "run_placeholders")


def test_the_download_has_both_texts_and_the_prompt_if_asked(run, manager, project):
    address = reverse("run_rewritten", args=["covid", run.pk])
    answer = manager.get(address)
    rows = [json.loads(line) for line in b"".join(answer.streaming_content).decode().splitlines()]
    assert [(row["original"], row["deidentified"]) for row in rows] == list(NOTES.items())[:4]
    assert [row["usable"] for row in rows] == [True, True, True, False] and "prompt" not in rows[0]
    assert answer["Content-Disposition"].endswith('.jsonl"')
    [row, *_more] = b"".join(manager.get(f"{address}?prompt=yes").streaming_content).decode().splitlines()
    assert json.loads(row)["prompt"] == run.params["prompt"]
    assert Event.objects.filter(verb="run.rewritten_exported").count() == 2
    author = make.make_author(project, kind="run", name="r")
    other = Run.objects.create(project=project, author=author, backend="rules")
    for name in ("run_placeholders", "run_rewritten"):
        assert manager.get(reverse(name, args=["covid", other.pk])).status_code == 404, "it rewrote nothing"


@pytest.mark.both_databases
def test_the_kept_text_is_replaced_by_a_retry_and_goes_with_its_note(run, project, manager, server):
    server.script = lambda body: Reply("[PATIENT] torna a casa oggi") if "Luca" in note_of(body) else model(body)
    manager.post(reverse("run_retry", args=["covid", run.pk]))
    finished(run)
    assert RewrittenNote.objects.filter(author=run.author).count() == 5 and ("Luca Neri", "PATIENT") in suggestions(run)
    erase_patient(project=project, patient_id="p0", actor=None)
    assert RewrittenNote.objects.count() == 4 and LabelSet.objects.exists()
    assert not any("Rossi" in json.dumps(found) for found in LlmAnswer.objects.values_list("found", flat=True))
