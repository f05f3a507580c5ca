"""Runs of a language model, from the form or the command to suggestions, over HTTP with a scripted server."""

import io
import json
import re
import threading
import time
import uuid

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotations.jobs.runner import run as work
from annotations.models import AnnotationSet, Document, Event, Job, Span
from annotations.ops.services.erasing import erase_patient
from annotations.review.selectors.state import review_state
from models_runtime.backends.llm import driver, remote
from models_runtime.backends.llm.servers import read_servers
from models_runtime.core import server_capacity
from models_runtime.models import LlmAnswer, LlmUsage, Run, RunItem, ServerCapacity
from models_runtime.runs.services.llm import start_llm_run
from tests import factories as make
from tests.backends.llm.scripted import Reply, entities, note_of, serving
from tests.backends.made_weights import tiny_llama
from tests.waiting import HANGS
from tests.worlds.checks import check_page

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]
TEXT = "Mario Rossi, 54 anni, prende 54 mg. Visto a Torino."


def model(body):
    """Return the name and an invented name first, and the age once the name is masked."""
    note = note_of(body)
    if "BREAK" in note:
        return Reply("no JSON at all")
    if note.startswith("[PATIENT]"):
        return entities(("54", "AGE", "54 anni"))
    return entities(("Mario Rossi", "PATIENT", ""), ("Anna Verdi", "PATIENT", "dott. Anna Verdi"))


@pytest.fixture
def server(settings):
    with serving(model) as running:
        listed = {
            "DEIDREVIEW_LLM_SERVERS": f"ward={running.url} cloud=http://llm.example.org/v1",
            "DEIDREVIEW_LLM_WARD_MODELS": "small",
            "DEIDREVIEW_LLM_WARD_PRICE": "EUR 1000/2000",
            "DEIDREVIEW_LLM_CLOUD_MODELS": "large",
        }
        settings.LLM_SERVERS = read_servers(listed)
        yield running


@pytest.fixture
def project():
    project = make.make_project("covid", name="Covid ward")
    for number in range(3):
        make.make_note(project, f"{TEXT} {number}", patient_id=f"p{number}")
    return project


@pytest.fixture
def client(project):
    client = Client()
    client.force_login(make.make_member(project, "manager", "mia"))
    return client


def start(client, **options):
    data = {"model": "ward small", "strategy": "extract", "language": "it", "omega": "256", "passes": "2"}
    return client.post(reverse("run_llm", args=["covid"]), data | {"token": str(uuid.uuid4())} | options)


def finished(run):
    work(run.job_id)
    return Job.objects.get(pk=run.job_id)


def test_from_the_form_to_suggestions_with_counts_cost_and_prompt(client, project, server):
    page = check_page(client.get(reverse("run_llm", args=["covid"])))
    assert re.search(r'aria-current="\w+">Runs<', page)
    for words in ("llm.example.org", "without encryption", "Elenchi ogni menzione", "Prompt version 2,"):
        assert words in page
    run = Run.objects.get(pk=int(start(client).url.rstrip("/").rpartition("/")[2]))
    assert finished(run).state == Job.State.DONE
    first = AnnotationSet.objects.filter(author=run.author).order_by("document_id").first()
    spans = [(span.start, span.end, span.label.code, span.source) for span in first.spans.order_by("start")]
    assert spans == [(0, 11, "PATIENT", "small it2 pass 1"), (13, 15, "AGE", "small it2 pass 2")]
    html = check_page(client.get(reverse("run", args=["covid", run.pk])))
    for words in ("small on ward", "6 sent", "600", "3 mentions that are not in the text", "0.7200 EUR", "- PATIENT"):
        assert words in html
    assert run.params["prompt"] in [body["messages"][0]["content"] for body in server.requests]
    assert "Rossi" not in json.dumps([run.params, list(Job.objects.values_list("params", "result"))])


@pytest.mark.both_databases
def test_an_answer_is_kept_as_offsets_and_goes_with_its_note(client, project, server):
    start(client)
    finished(Run.objects.get())
    asked = len(server.requests)
    start(client)
    again = Run.objects.first()
    assert finished(again).state == Job.State.DONE and len(server.requests) == asked
    assert "6 answered from cache" in client.get(reverse("run", args=["covid", again.pk])).content.decode()
    kept = LlmAnswer.objects.all()
    assert kept.count() == 6 and "Rossi" not in json.dumps(list(kept.values("key", "found")))
    erase_patient(project=project, patient_id="p0", actor=None)
    assert LlmAnswer.objects.count() == 4 and Document.objects.count() == 2
    assert not LlmAnswer.objects.exclude(document__in=Document.objects.all()).exists()


def test_a_model_in_this_process_says_where_it_computes(client, project, settings, tmp_path, monkeypatch):
    """The tiny random model answers without valid JSON, so every note fails, but the device is recorded."""
    pytest.importorskip("transformers")
    folder = tiny_llama(tmp_path / "tiny")
    settings.LLM_SERVERS = read_servers({"DEIDREVIEW_LLM_SERVERS": f"here=file://{folder}"})
    monkeypatch.setattr("models_runtime.backends.llm.asking._TOKENS_A_CHARACTER", 0)
    monkeypatch.setattr("models_runtime.backends.llm.asking._TOKENS_OVERHEAD", 4)
    start(client, model="here tiny")
    run = Run.objects.get()
    job = finished(run)
    assert (job.state, job.queue, job.result["failed"]) == (Job.State.DONE, "llm", 3)
    html = check_page(client.get(reverse("run", args=["covid", run.pk])))
    assert (
        re.search(r"CPU \(no GPU available\), peak memory [\d.]+\s[MG]B", html) and "the notes were sent to" not in html
    )


def test_answers_stay_in_their_project(client, project, server):
    """The cache belongs to the project: the same text in another project is sent to the model again."""
    start(client)
    finished(Run.objects.get())
    asked = len(server.requests)
    other = make.make_project("other")
    make.make_note(other, f"{TEXT} 0")
    run = start_llm_run(project=other, given={"language": "it"}, may_leave=False, actor=None, key="o")
    assert finished(run).state == Job.State.DONE and len(server.requests) == asked + 2


@pytest.mark.both_databases
def test_a_note_that_is_erased_while_it_is_read_keeps_nothing_but_its_cost(client, project, server):
    def erase_first(body):
        if note_of(body) == f"{TEXT} 0":
            erase_patient(project=project, patient_id="p0", actor=None)
            connection.close()
        return model(body)

    server.script = erase_first
    start(client)
    run = Run.objects.get()
    job = finished(run)
    assert (job.state, job.result["notes"], RunItem.objects.count()) == (Job.State.DONE, 2, 2)
    assert (LlmAnswer.objects.count(), LlmUsage.objects.get(run=run).requests) == (4, len(server.requests))


def test_text_does_not_leave_the_machine_before_somebody_agreed(client, project, server):
    response = start(client, model="cloud large")
    assert response.status_code == 422 and not Run.objects.exists() and not server.requests
    html = check_page(response)
    assert "Nothing was sent" in html and "llm.example.org" in html
    assert response.context["form"].errors.keys() == {"may_leave"}
    for word in ("no", "on", ""):
        assert start(client, model="cloud large", may_leave=word).status_code == 422, "only yes is a consent"
    assert start(client, model="cloud large", may_leave="yes").status_code == 302
    html = client.get(reverse("run", args=["covid", Run.objects.get().pk])).content.decode()
    assert "the notes were sent to llm.example.org" in html


def test_only_what_is_listed_can_be_asked_for(client, project, server):
    for options, words in (
        ({"model": "http://203.0.113.5/v1 small"}, "there is no model"),
        ({"model": "ward huge"}, "there is no model"),
        ({"strategy": "guess"}, "there is no strategy"),
        ({"language": "fr"}, "there is no language"),
        ({"omega": "3"}, "enter a whole number from 16 to 4000."),
        ({"omega": "9" * 5000}, "enter a whole number from 16 to 4000."),
        ({"passes": "99"}, "enter a whole number from 1 to 4."),
        ({"overlap": "129"}, "chunks of this size can share at most 128 words."),
        ({"overlap": "-1"}, "enter a whole number from 0 to 2000."),
    ):
        response = start(client, **options)
        assert response.status_code == 422 and words in check_page(response).lower()
        (field,) = options
        assert response.context["form"].errors.keys() == {field}
        assert response.context["form"][field].value() == options[field], "the form keeps the input"
    assert not Run.objects.exists()


def test_without_servers_the_page_says_how(client, project, settings):
    settings.LLM_SERVERS = {}
    assert "DEIDREVIEW_LLM_SERVERS" in check_page(client.get(reverse("run_llm", args=["covid"])))
    assert start(client).status_code == 422


def test_one_note_that_fails_is_its_own_and_the_others_are_asked_once(client, project, server):
    make.make_note(project, "BREAK this note")
    start(client)
    run = Run.objects.get()
    job = finished(run)
    assert (job.state, job.result["notes"], job.result["failed"]) == (Job.State.DONE, 3, 1)
    assert RunItem.objects.get(state=RunItem.State.FAILED).error == "The model's answer is not the requested JSON."
    assert len(server.requests) == 7


def test_a_server_that_refuses_the_key_ends_the_run_and_what_is_left_is_worked_on_later(client, project, server):
    server.script = lambda body: Reply(status=401)
    start(client)
    run = Run.objects.get()
    job = finished(run)
    assert (job.state, job.error) == (Job.State.FAILED, "The server “ward” rejected the key (401). Check the key.")
    html = check_page(client.get(reverse("run", args=["covid", run.pk])))
    assert f"{len(server.requests)} sent" in html and "0.0000 EUR" in html
    server.script = model
    client.post(reverse("run_retry", args=["covid", run.pk]))
    run.refresh_from_db()
    assert finished(run).state == Job.State.DONE and LlmUsage.objects.filter(run=run).exists()


def test_a_run_that_is_canceled_asks_nothing_again_and_says_what_it_cost(client, project, server, monkeypatch):
    monkeypatch.setattr(driver, "TICK", 0.02)
    start(client)
    run = Run.objects.get()

    stopped = threading.Event()
    monkeypatch.setattr(remote.RemoteCompletion, "stop", lambda self: (stopped.set(), self._over.set()))

    def cancels(body):
        Job.objects.filter(pk=run.job_id).update(cancel_requested=True)
        connection.close()
        if note_of(body).endswith("0"):
            stopped.wait(HANGS)
            return model(body)
        return Reply(status=503, headers={"Retry-After": "50"})

    server.script = cancels
    assert finished(run).state == Job.State.CANCELED
    assert len(server.requests) <= 3 and LlmUsage.objects.get(run=run).requests == len(server.requests)
    # The answer to the open request has been paid for, so it is stored for the next run.
    assert LlmAnswer.objects.count() == 1


@pytest.mark.both_databases
def test_a_servers_limit_holds_over_all_workers(client, project, server, settings, monkeypatch):
    monkeypatch.setattr(server_capacity, "LOOK_EVERY", 0)
    ward = settings.LLM_SERVERS["ward"]
    first, second = server_capacity.SharedCapacity(ward), server_capacity.SharedCapacity(ward)
    assert (first.take(0), second.take(0)) == (4, 0)
    # As its requests end, the first worker gives up the slots beyond its share.
    assert (first.take(3), second.take(0), first.take(2), second.take(1)) == (3, 1, 2, 2)
    first.leave()
    assert second.take(2) == 4
    second.leave()
    # A worker with three of the four slots leaves one. If the worker is lost, all are free once its lease expires.
    ServerCapacity.objects.update(seats={"0" * 32: [3, time.time() - 3600]})
    assert first.take(0) == 4
    first.leave()
    ServerCapacity.objects.update(seats={"0" * 32: [3, time.time() + 3600]})

    def slowly(body):
        time.sleep(0.1)  # long enough for a second request to arrive
        return model(body)

    server.script = slowly
    start(client)
    assert finished(Run.objects.get()).state == Job.State.DONE
    assert (server.most_at_once, list(ServerCapacity.objects.get().seats)) == (1, ["0" * 32])


def test_a_server_that_is_listed_no_more_is_said(client, project, server, settings):
    start(client)
    settings.LLM_SERVERS = {}
    run = Run.objects.get()
    assert "No language model is available" in finished(run).error
    assert "no longer configured" in client.get(reverse("run", args=["covid", run.pk])).content.decode()


def test_settings_of_extraction_from_the_form(client, project, server):
    """The settings are stored with the run, shown on its page, and part of its revision."""
    page = check_page(client.get(reverse("run_llm", args=["covid"])))
    assert re.search(r'name="descriptions"[^>]* checked', page) and not re.search(
        r'name="every_pass"[^>]* checked', page
    )
    project.label_set.labels.filter(code="AGE").update(description="Only ages in years.")
    start(client, overlap="16", every_pass="on", descriptions="on", passes="4")
    start(client)
    first, second = Run.objects.order_by("pk")
    assert [first.params[name] for name in ("overlap", "every_pass", "descriptions")] == [16, True, True]
    assert [second.params[name] for name in ("overlap", "every_pass", "descriptions")] == [0, False, False]
    assert "Only ages in years." in first.params["prompt"] and "Only ages in years." not in second.params["prompt"]
    for run in (first, second):
        assert finished(run).state == Job.State.DONE
        run.refresh_from_db()
    assert "256-16x4-every" in first.revision and first.revision != second.revision
    # The third pass finds nothing in any of the three notes, and the fourth one asks again.
    html = check_page(client.get(reverse("run", args=["covid", first.pk])))
    assert "12 sent" in html and "also after a pass that found nothing" in html and "Words shared by chunks" in html
    html = check_page(client.get(reverse("run", args=["covid", second.pk])))
    assert "without the descriptions of labels" in html and "Words shared by chunks" not in html


def test_a_mention_without_a_place_is_suggested_at_all_places_and_the_reviewer_sees_why(client, project, server):
    server.script = lambda body: entities(("54", "AGE", "")) if "54" in note_of(body) else entities()
    start(client, passes="1")
    run = Run.objects.get()
    assert finished(run).state == Job.State.DONE
    note = Document.objects.order_by("pk").first()
    doubt = {"removed": [], "unsupported": [], "places": 2}
    mia = project.memberships.get().user
    shown = review_state(document=note, author=run.author, user=mia)["suggestions"]
    assert [(one["start"], one.get("doubt")) for one in shown] == [(13, doubt), (29, doubt)]
    html = check_page(client.get(reverse("run", args=["covid", run.pk])))
    assert "3 mentions could mean several places in their notes." in html and "ambiguous location" not in html
    # A run of an earlier version left such mentions out.
    del run.params["overlap"]
    run.save(update_fields=["params"])
    html = check_page(client.get(reverse("run", args=["covid", run.pk])))
    assert "3 mentions with an ambiguous location" in html and "could mean several places" not in html


def test_the_command(project, server):
    def run(*words):
        out = io.StringIO()
        call_command("run_model", "covid", *words, stdout=out)
        return out.getvalue()

    printed = run("llm", "--server=ward", "--model=small", "--strategy=extract", "--language=it", "--wait", "--json")
    result = json.loads(printed)
    assert (result["done"], result["failed"], result["state"]) == (3, 0, "done")
    assert result["usage"]["requests"] == 6 and float(result["usage"]["cost"]) == 0.72
    again = json.loads(run("llm", "--server=ward", "--model=small", "--language=it", "--wait", "--json"))["usage"]
    assert (again["requests"], again["kept"], float(again["cost"])) == (0, 6, 0)
    run("llm", "--language=it", "--overlap=20", "--every-pass", "--without-descriptions", "--name=own")
    params = Run.objects.get(author__name="own").params
    assert [params[name] for name in ("overlap", "every_pass", "descriptions")] == [20, True, False]
    with pytest.raises(CommandError, match="Overlap must be a whole number from 0 to 16, not “17”"):
        run("llm", "--omega=32", "--overlap=17")
    with pytest.raises(CommandError, match="--every-pass, --without-descriptions can only be used with llm"):
        run("rules", "--every-pass", "--without-descriptions")
    with pytest.raises(CommandError, match="There is no server"):
        run("llm", "--server=http://203.0.113.5")
    with pytest.raises(CommandError, match="Confirm that"):
        run("llm", "--server=cloud")
    with pytest.raises(CommandError, match="can only be used with llm"):
        run("rules", "--server=ward")
    assert Span.objects.filter(annotation_set__author__kind="run").count() == 12
    assert not any("Rossi" in json.dumps(event.data) for event in Event.objects.all())
