"""Runs that rewrite notes: doubtful words, unknown placeholders, and the kept text with its score and export."""

import hashlib
import io
import json
import uuid

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.jobs.runner import run as work
from annotations.models import Event, Job, LabelSet, RewrittenNote, Span
from annotations.ops.services.erasing import erase_patient
from annotations.review.selectors.state import review_state
from annotations.scores.services.scoring import score, score_request
from models_runtime.backends.llm.servers import read_servers
from models_runtime.models import LlmAnswer, Run, RunItem
from models_runtime.runs.services.placeholders import map_placeholders
from tests import factories as make
from tests.backends.llm.scripted import Reply, entities, note_of, serving
from tests.worlds.checks import check_page

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]

# What the model makes of each note: the first two are the worked examples of deleted diagnoses.
NOTES = {
    "Mario Rossi, non diabetico, ha 54 anni": "[PATIENT] ha [AGE] anni",
    "Il paziente diabetico iperteso Kwame Nkrumah assume aspirina": "Il paziente [PATIENT] assume aspirina",
    "Nato a Torino, CF RSSMRA80A01H501U.": "Nato a [CITY], CF [CODICE FISCALE].",
    "Anna Verdi ha la febbre alta oggi": "[PATIENT] ha la tosse alta oggi",
    "Luca Neri torna a casa oggi": "Mi dispiace, non posso.",
}


def model(body):
    note = note_of(body)
    if note.startswith('{"passage"'):
        asked = json.loads(note)
        # It repeats its mistake.
        return entities((asked["words"], asked["tags"][0], ""))
    return Reply(NOTES[note])


@pytest.fixture
def server(settings):
    with serving(model) as running:
        listed = {"DEIDREVIEW_LLM_SERVERS": f"ward={running.url}", "DEIDREVIEW_LLM_WARD_MODELS": "small"}
        settings.LLM_SERVERS = read_servers(listed)
        yield running


@pytest.fixture
def project():
    project = make.make_project("covid", name="Covid ward", language="it")
    for number, text in enumerate(NOTES):
        make.make_note(project, text, patient_id=f"p{number}")
    return project


@pytest.fixture
def mia(project):
    return make.make_member(project, "manager", "mia")


@pytest.fixture
def client(mia):
    client = Client()
    client.force_login(mia)
    return client


def start(client, **options):
    data = {"model": "ward small", "strategy": "rewrite", "language": "it", "token": str(uuid.uuid4())}
    return client.post(reverse("run_llm", args=["covid"]), data | options)


@pytest.fixture
def run(client, server):
    start(client)
    run = Run.objects.get()
    work(run.job_id)
    assert Job.objects.get(pk=run.job_id).state == Job.State.DONE
    return run


def suggestions(run):
    rows = Span.objects.filter(annotation_set__author=run.author).select_related("annotation_set__document", "label")
    return {
        (row.annotation_set.document.text[row.start : row.end], row.label.code): row.provenance
        for row in rows.order_by("annotation_set__document_id", "start")
    }


def test_deleted_diagnoses_are_no_part_of_a_name_and_are_shown_to_the_reviewer(run, client, mia):
    found = suggestions(run)
    assert set(found) == {
        ("Mario Rossi", "PATIENT"),
        ("54", "AGE"),
        ("Kwame Nkrumah", "PATIENT"),
        ("Torino", "CITY"),
    }
    text = next(iter(NOTES))
    [start, end] = found["Mario Rossi", "PATIENT"]["removed"][0]
    assert text[start:end] == "non diabetico" and found["54", "AGE"] is None
    document = RewrittenNote.objects.order_by("document_id").first().document
    shown = review_state(document=document, author=run.author, user=mia)["suggestions"]
    assert [one.get("doubt") for one in shown] == [found["Mario Rossi", "PATIENT"], None]
    html = check_page(client.get(reverse("run", args=["covid", run.pk])))
    assert "2 suggestions have doubtful words" in html


@pytest.mark.parametrize(
    ("text", "identifier", "removed", "unsupported"),
    [
        ("Il signor Mario Rossi Diabetico Iperteso assume", "Mario Rossi", ["Diabetico Iperteso"], []),
        ("Il signor Mario Rossi Parkinson assume", "Mario Rossi", ["Parkinson"], []),
        # An unlisted word with a capital letter, which the model takes for a name together with a diagnosis.
        ("Il signor Kwame Nkrumah Diabetico assume", "Kwame Nkrumah", ["Diabetico"], ["Kwame Nkrumah"]),
    ],
)
def test_capitalized_clinical_words_are_shown_to_the_reviewer(
    client, mia, server, text, identifier, removed, unsupported
):
    document = make.make_note(make.make_project("capitals", language="it"), text)
    make.make_member(document.project, "manager", mia)
    server.script = lambda body: model(body) if "passage" in note_of(body) else Reply("Il signor [PATIENT] assume")
    data = {"model": "ward small", "strategy": "rewrite", "language": "it", "token": str(uuid.uuid4())}
    client.post(reverse("run_llm", args=["capitals"]), data)
    run = Run.objects.get()
    work(run.job_id)
    (one,) = review_state(document=document, author=run.author, user=mia)["suggestions"]
    shown = {part: [text[slice(*bounds)] for bounds in one["doubt"][part]] for part in ("removed", "unsupported")}
    assert (text[one["start"] : one["end"]], shown) == (
        identifier, {"removed": removed, "unsupported": unsupported},
    )  # fmt: skip


def test_the_models_text_is_kept_even_if_it_changed_a_word_but_not_a_refusal(run):
    kept = list(RewrittenNote.objects.order_by("document_id").values_list("document__text", "text"))
    assert kept == list(NOTES.items())[:4]
    hashes = RewrittenNote.objects.order_by("document_id").values_list("sha256", flat=True)
    assert list(hashes) == [hashlib.sha256(text.encode()).hexdigest() for _note, text in kept]
    failed = RunItem.objects.filter(run=run, state=RunItem.State.FAILED).order_by("document_id")
    assert [item.document.text for item in failed] == list(NOTES)[3:]
    assert "1 words or signs are missing and 1 are new" in failed[0].error


def test_failed_notes_count_as_nothing_found_and_the_models_own_text_is_scored(run, project, client):
    gold = make.make_author(project, kind="gold", name="gold")
    marks = [
        [(0, 11, "PATIENT"), (31, 33, "AGE")],
        [(31, 44, "PATIENT")],
        [(7, 13, "CITY")],
        [(0, 10, "PATIENT")],
        [(0, 9, "PATIENT")],
    ]
    for item, spans in zip(RunItem.objects.filter(run=run).order_by("document_id"), marks, strict=True):
        make.make_set(item.document, gold, spans, submitted=True)
    wanted = score_request(project, version=0, author_id=run.author_id)
    table = score(wanted).table
    assert (table["notes"], table["unanswered"], table["left_out"]["unread"]) == (5, 2, 0)
    exact = next(one for one in table["levels"] if (one["unit"], one["granularity"]) == ("entity", "subcategory"))
    assert (exact["micro"]["precision"], exact["micro"]["recall"]) == (1, pytest.approx(4 / 6))
    # The changed note's text has a placeholder in place of Anna Verdi; the refused note is scored as it was.
    counted = table["rewritten"]["micro"]
    assert (counted["tp"], counted["fn"]) == (5, 1)
    html = check_page(client.get(reverse("score", args=["covid", 0, run.author_id])))
    assert "no usable answer for 2 notes" in html
    out = io.StringIO()
    call_command("score", "covid", "--author", f"run:{run.author.name}", stdout=out)
    assert "Gold notes without a usable answer, scored as if nothing was found: 2" in out.getvalue()
    # A retry changes the stored figures.
    RunItem.objects.filter(run=run, document__text=list(NOTES)[4]).update(state=RunItem.State.PENDING)
    assert score(score_request(project, version=0, author_id=run.author_id)).table["unanswered"] == 1


def test_unknown_placeholders_become_suggestions_once_a_person_chooses_a_label(run, project, client, server):
    page = reverse("run_placeholders", args=["covid", run.pk])
    assert "1 span has a placeholder without a label" in check_page(client.get(reverse("run", args=["covid", run.pk])))
    html = check_page(client.get(page))
    assert "[CODICE FISCALE]" in html and "1 span" in html
    field = "placeholder:CODICE FISCALE"
    assert client.post(page, {field: "NO_SUCH"}).status_code == 422
    assert client.post(page, {field: "?"}).status_code == 302 and len(suggestions(run)) == 4
    assert client.post(page, {field: "HOSPITAL"}).status_code == 302
    assert ("RSSMRA80A01H501U", "HOSPITAL") in suggestions(run)
    assert "Nothing left to choose" in check_page(client.get(page))
    # A second click adds nothing.
    assert client.post(page, {field: "HOSPITAL"}).status_code == 302 and len(suggestions(run)) == 5
    event = Event.objects.filter(verb="run.placeholders_mapped").latest("pk")
    assert "FISCALE" not in json.dumps(event.data)
    # The next run uses the label at once.
    start(client)
    again = Run.objects.exclude(pk=run.pk).get()
    work(again.job_id)
    assert ("RSSMRA80A01H501U", "HOSPITAL") in suggestions(again)
    # The new suggestion can be reviewed like the others.
    document = RewrittenNote.objects.get(author=run.author, document__text=list(NOTES)[2]).document
    assert [one["state"] for one in review_state(document=document, author=run.author)["suggestions"]] == ["open"] * 2


def test_a_placeholder_can_be_dropped(run, client):
    page = reverse("run_placeholders", args=["covid", run.pk])
    assert client.post(page, {"placeholder:CODICE FISCALE": ""}).status_code == 302
    assert len(suggestions(run)) == 4 and "Nothing left to choose" in client.get(page).content.decode()


def test_a_run_in_progress_waits_for_its_end(run, client):
    Job.objects.filter(pk=run.job_id).update(state=Job.State.RUNNING)
    page = reverse("run_placeholders", args=["covid", run.pk])
    answer = client.post(page, {"placeholder:CODICE FISCALE": "HOSPITAL"})
    assert answer.status_code == 422 and "still in progress" in answer.content.decode()
    with pytest.raises(ServiceError, match="no label"):
        Job.objects.filter(pk=run.job_id).update(state=Job.State.DONE)
        map_placeholders(run=run, labels={"CODICE FISCALE": "NOPE"}, actor=None)


def test_temperature_tokens_language_and_prompt_are_settings_of_the_run(client, project, server):
    page = check_page(client.get(reverse("run_llm", args=["covid"])))
    assert '<option value="it" selected>' in page, "the project's language"
    start(client, temperature="0.7", tokens="8192", template="Sostituisci i dati. Costo $5.\n$labels")
    run = Run.objects.get()
    work(run.job_id)
    first = server.requests[0]
    assert (first["temperature"], first["max_tokens"]) == (0.7, 8192)
    system = first["messages"][0]["content"]
    assert system.startswith("Sostituisci i dati. Costo $5.\n- [") and system == run.params["prompt"]
    assert run.params["prompt_version"].startswith("own-")
    html = check_page(client.get(reverse("run", args=["covid", run.pk])))
    assert "0.7" in html and "8,192" in html and "own-" in html
    # A sampled answer of one run is not taken for that of another.
    asked = len(server.requests)
    start(client, temperature="0.7", tokens="8192", template="Sostituisci i dati. Costo $5.\n$labels")
    work(Run.objects.exclude(pk=run.pk).get().job_id)
    assert len(server.requests) == 2 * asked


def test_settings_out_of_range_are_refused_beside_their_field(client, project, server):
    for options, words in (
        ({"temperature": "hot"}, "a number from 0 to 2"),
        ({"temperature": "2.5"}, "a number from 0 to 2"),
        ({"tokens": "9" * 5000}, "from 0 to 131072"),
        ({"template": "x" * 20_001}, "at most 20000 characters"),
    ):
        response = start(client, **options)
        assert response.status_code == 422 and words in check_page(response)
        assert response.context["form"].errors.keys() == set(options) and not Run.objects.exists()


def test_the_download_has_both_texts_and_the_prompt_if_asked(run, client, project):
    address = reverse("run_rewritten", args=["covid", run.pk])
    answer = client.get(address)
    rows = [json.loads(line) for line in b"".join(answer.streaming_content).decode().splitlines()]
    assert [(row["original"], row["deidentified"]) for row in rows] == list(NOTES.items())[:4]
    assert [row["usable"] for row in rows] == [True, True, True, False] and "prompt" not in rows[0]
    assert answer["Content-Disposition"].endswith('.jsonl"')
    [row, *_more] = b"".join(client.get(f"{address}?prompt=yes").streaming_content).decode().splitlines()
    assert json.loads(row)["prompt"] == run.params["prompt"]
    assert Event.objects.filter(verb="run.rewritten_exported").count() == 2
    out = io.StringIO()
    call_command("export_rewritten", "covid", run.author.name, stdout=out)
    assert [json.loads(line) for line in out.getvalue().splitlines()] == rows
    viewer = Client()
    viewer.force_login(make.make_member(project, "viewer", "vera"))
    assert viewer.get(address).status_code == 403


def test_a_run_that_rewrote_nothing_has_no_such_pages(client, project):
    other = Run.objects.create(project=project, author=make.make_author(project, kind="run", name="r"), backend="rules")
    for name in ("run_placeholders", "run_rewritten"):
        assert client.get(reverse(name, args=["covid", other.pk])).status_code == 404


@pytest.mark.both_databases
def test_the_kept_text_goes_with_its_note(run, project):
    erase_patient(project=project, patient_id="p0", actor=None)
    assert RewrittenNote.objects.count() == 3 and LabelSet.objects.exists()
    assert not any("Rossi" in json.dumps(found) for found in LlmAnswer.objects.values_list("found", flat=True))


def test_a_retry_replaces_the_kept_text(run, client, server):
    server.script = lambda body: Reply("[PATIENT] torna a casa oggi") if "Luca" in note_of(body) else model(body)
    client.post(reverse("run_retry", args=["covid", run.pk]))
    run.refresh_from_db()
    work(run.job_id)
    assert RewrittenNote.objects.filter(author=run.author).count() == 5
    assert ("Luca Neri", "PATIENT") in suggestions(run)
