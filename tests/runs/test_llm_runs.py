"""Runs of a language model, from the form or the command to suggestions, over HTTP with a scripted server."""

import json
import re
import threading
import time
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.urls import reverse

from annotations.models import AnnotationSet, Document, Event, Job, JobState, Span
from annotations.ops.services.erasing import erase_patient
from annotations.review.selectors.state import review_state
from models_runtime.backends.llm import driver, remote
from models_runtime.backends.llm.servers import read_servers
from models_runtime.core import llm as server_capacity
from models_runtime.models import LlmAnswer, LlmUsage, Run, RunItem, RunItemState, ServerCapacity
from models_runtime.runs.services.llm import start_llm_run
from tests import factories as make
from tests.backends.llm.scripted import Reply, entities, note_of, offered
from tests.backends.llm.test_strategies import label_of
from tests.backends.made_weights import tiny_llama
from tests.runs.conftest import asked, command, finished
from tests.waiting import HANGS
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

pytestmark = pytest.mark.django_db(transaction=True)
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
    servers = "ward={url} cloud=http://llm.example.org/v1"
    with offered(settings, model, SERVERS=servers, WARD_PRICE="EUR 1000/2000", CLOUD_MODELS="large") as running:
        yield running


@pytest.fixture
def project():
    project = make.make_project("covid", name="Covid ward")
    for number in range(3):
        make.make_note(project, f"{TEXT} {number}", patient_id=f"p{number}")
    return project


def start(manager, **options):
    return asked(manager, **{"strategy": "extract", "omega": "256", "passes": "2"} | options)


def started(manager, **options):
    answer = start(manager, **options)
    assert answer.status_code == 302, answer.content
    return Run.objects.latest("pk")


def form_of(manager):
    return check_page(manager.get(reverse("run_llm", args=["covid"])))


def page_of(manager, run):
    return check_page(manager.get(reverse("run", args=["covid", run.pk])))


def test_from_the_form_to_suggestions_with_counts_cost_and_prompt(manager, server):
    html = form_of(manager)
    assert re.search(r'aria-current="\w+">\s*Runs\s*<', html)
    for words in ("llm.example.org", "without encryption", "Elenchi ogni menzione", "Prompt version 2,"):
        assert words in html
    run = started(manager)
    assert finished(run).state == JobState.DONE
    first = AnnotationSet.objects.filter(author=run.author).order_by("document_id").first()
    spans = [(span.start, span.end, span.label.code, span.source) for span in first.spans.order_by("start")]
    assert spans == [(0, 11, "PATIENT", "small it2 pass 1"), (13, 15, "AGE", "small it2 pass 2")]
    html = page_of(manager, run)
    for words in ("small on ward", "6 sent", "600", "3 mentions that are not in the text", "0.7200 EUR", "- PATIENT"):
        assert words in html
    assert run.params["prompt"] in [body["messages"][0]["content"] for body in server.requests]
    assert "Rossi" not in json.dumps([run.params, list(Job.objects.values_list("params", "result"))])


@pytest.mark.both_databases
def test_an_answer_is_kept_as_offsets_in_its_project_and_goes_with_its_note(manager, project, server):
    finished(started(manager))
    asked = len(server.requests)
    again = started(manager)
    assert finished(again).state == JobState.DONE and len(server.requests) == asked
    assert "6 answered from cache" in page_of(manager, again)
    kept = LlmAnswer.objects.all()
    assert kept.count() == 6 and "Rossi" not in json.dumps(list(kept.values("key", "found")))
    # The same text in another project is sent to the model again.
    other = make.make_project("other")
    make.make_note(other, f"{TEXT} 0")
    run = start_llm_run(project=other, given={"language": "it"}, may_leave=False, actor=None, key="o")
    assert finished(run).state == JobState.DONE and len(server.requests) == asked + 2
    erase_patient(project=project, patient_id="p0", actor=None)
    assert LlmAnswer.objects.filter(document__project=project).count() == 4 and project.documents.count() == 2
    assert not LlmAnswer.objects.exclude(document__in=Document.objects.all()).exists()


def test_a_model_in_this_process_says_where_it_computes(manager, settings, tmp_path, monkeypatch):
    """The tiny random model answers without valid JSON, so every note fails, but the device is recorded."""
    pytest.importorskip("transformers")
    folder = tiny_llama(tmp_path / "tiny")
    settings.LLM_SERVERS = read_servers({"DEIDREVIEW_LLM_SERVERS": f"here=file://{folder}"})
    monkeypatch.setattr("models_runtime.backends.llm.asking._TOKENS_A_CHARACTER", 0)
    monkeypatch.setattr("models_runtime.backends.llm.asking._TOKENS_OVERHEAD", 4)
    run = started(manager, model="here tiny")
    job = finished(run)
    assert (job.state, job.queue, job.result["failed"]) == (JobState.DONE, "llm", 3)
    html = page_of(manager, run)
    assert re.search(r"CPU \(no GPU available\), peak memory [\d.]+\s[MG]B", html)
    assert "the notes were sent to" not in html


@pytest.mark.both_databases
def test_a_note_that_is_erased_while_it_is_read_keeps_nothing_but_its_cost(manager, project, server):
    def erase_first(body):
        if note_of(body) == f"{TEXT} 0":
            erase_patient(project=project, patient_id="p0", actor=None)
            connection.close()
        return model(body)

    server.script = erase_first
    run = started(manager)
    job = finished(run)
    assert (job.state, job.result["notes"], RunItem.objects.count()) == (JobState.DONE, 2, 2)
    assert (LlmAnswer.objects.count(), LlmUsage.objects.get(run=run).requests) == (4, len(server.requests))


def test_text_does_not_leave_the_machine_before_somebody_agreed(manager, server):
    response = start(manager, model="cloud large")
    assert response.status_code == 422 and not Run.objects.exists() and not server.requests
    assert "llm.example.org" in check_page(response) and response.context["form"].errors.keys() == {"may_leave"}
    for word in ("no", "on", ""):
        assert start(manager, model="cloud large", may_leave=word).status_code == 422, "only yes is a consent"
    run = started(manager, model="cloud large", may_leave="yes")
    assert "the notes were sent to llm.example.org" in page_of(manager, run)


def test_only_what_is_listed_can_be_asked_for(manager, server):
    for field, value in (
        ("model", "http://203.0.113.5/v1 small"), ("model", "ward huge"), ("strategy", "guess"), ("language", "fr"),
        ("omega", "3"), ("omega", "9" * 5000), ("passes", "99"), ("overlap", "129"), ("overlap", "-1"),
    ):  # fmt: skip
        response = start(manager, **{field: value})
        form = response.context["form"]
        assert response.status_code == 422 and check_page(response)
        assert form.errors.keys() == {field} and form[field].value() == value, "the form keeps the input"
    assert not Run.objects.exists()


def test_a_server_that_is_not_listed_or_listed_no_more_is_said(manager, server, settings):
    run = started(manager)
    settings.LLM_SERVERS = {}
    assert "No language model is available" in finished(run).error and "no longer configured" in page_of(manager, run)
    assert "DEIDREVIEW_LLM_SERVERS" in form_of(manager) and start(manager).status_code == 422


def test_one_note_that_fails_is_its_own_and_the_others_are_asked_once(manager, project, server):
    make.make_note(project, "BREAK this note")
    job = finished(started(manager))
    assert (job.state, job.result["notes"], job.result["failed"]) == (JobState.DONE, 3, 1)
    assert "not the requested JSON" in RunItem.objects.get(state=RunItemState.FAILED).error
    assert len(server.requests) == 7


def test_a_server_that_refuses_the_key_ends_the_run_and_what_is_left_is_worked_on_later(manager, server):
    server.script = lambda body: Reply(status=401)
    run = started(manager)
    job = finished(run)
    assert job.state == JobState.FAILED and "“ward” rejected the key (401)" in job.error
    html = page_of(manager, run)
    assert f"{len(server.requests)} sent" in html and "0.0000 EUR" in html
    server.script = model
    manager.post(reverse("run_retry", args=["covid", run.pk]))
    assert finished(run).state == JobState.DONE and LlmUsage.objects.filter(run=run).exists()


def test_a_run_that_is_canceled_asks_nothing_again_and_says_what_it_cost(manager, server, monkeypatch):
    monkeypatch.setattr(driver, "TICK", 0.02)
    run, stopped = started(manager), threading.Event()
    monkeypatch.setattr(remote.RemoteCompletion, "stop", lambda self: (stopped.set(), self._over.set()))

    def cancels(body):
        Job.objects.filter(pk=run.job_id).update(cancel_requested=True)
        connection.close()
        if note_of(body).endswith("0"):
            stopped.wait(HANGS)
            return model(body)
        return Reply(status=503, headers={"Retry-After": "50"})

    server.script = cancels
    assert finished(run).state == JobState.CANCELED
    assert len(server.requests) <= 3 and LlmUsage.objects.get(run=run).requests == len(server.requests)
    # The answer to the open request has been paid for, so it is stored for the next run.
    assert LlmAnswer.objects.count() == 1


@pytest.mark.both_databases
def test_a_servers_limit_holds_over_all_workers(manager, server, settings, monkeypatch):
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
    assert finished(started(manager)).state == JobState.DONE
    assert (server.most_at_once, list(ServerCapacity.objects.get().seats)) == (1, ["0" * 32])


def test_settings_of_extraction_from_the_form(manager, project, server):
    """The settings are stored with the run, shown on its page, and part of its revision."""
    project.label_set.labels.filter(code="AGE").update(description="Only ages in years.")
    first = started(manager, overlap="16", every_pass="on", descriptions="on", passes="4")
    second = started(manager)
    for run, settings in ((first, [16, True, True]), (second, [0, False, False])):
        assert [run.params[name] for name in ("overlap", "every_pass", "descriptions")] == settings
        assert ("Only ages in years." in run.params["prompt"]) == settings[2] and finished(run).state == JobState.DONE
    assert "256-16x4-every" in first.revision and first.revision != second.revision
    # The third pass finds nothing in any of the three notes, and the fourth one asks again.
    html = page_of(manager, first)
    assert "12 sent" in html and "also after a pass that found nothing" in html and "Words shared by chunks" in html
    assert "Words shared by chunks" not in page_of(manager, second)


def test_a_mention_without_a_place_is_suggested_at_all_places_and_the_reviewer_sees_why(manager, project, server):
    server.script = lambda body: entities(("54", "AGE", "")) if "54" in note_of(body) else entities()
    run = started(manager, passes="1")
    assert finished(run).state == JobState.DONE
    doubt = {"removed": [], "unsupported": [], "places": 2}
    note, mia = Document.objects.order_by("pk").first(), project.memberships.get().user
    shown = review_state(document=note, author=run.author, user=mia)["suggestions"]
    assert [(one["start"], one.get("doubt")) for one in shown] == [(13, doubt), (29, doubt)]
    assert "3 mentions could mean several places in their notes, or" in page_of(manager, run)
    # A run of an earlier version left such mentions out.
    del run.params["overlap"]
    run.save(update_fields=["params"])
    assert "3 mentions with an ambiguous location" in page_of(manager, run)


FINDS = {"PATIENT": ("Mario Rossi", ""), "AGE": ("54", "54 anni"), "CITY": ("Torino", "")}
QUESTIONS = sorted((label, str(number)) for label in [*FINDS, "DATE"] for number in range(3))


@pytest.fixture
def by_label(manager, project, server, settings):
    """A run that asks about each of four labels, one question after the other. One label has a description."""

    def answers(body):
        label = label_of(body)
        words, near = FINDS.get(label, ("", ""))
        return entities((words, label, near)) if words else entities()

    server.script = answers
    settings.LLM_SERVERS["ward"] = replace(settings.LLM_SERVERS["ward"], at_once=1)
    project.label_set.labels.exclude(code__in=[*FINDS, "DATE"]).delete()
    project.label_set.labels.filter(code="AGE").update(description="Only ages in years.")
    return started(manager, strategy="by_label", passes="1", descriptions="on")


def questions(server):
    return sorted((label_of(body), note_of(body)[-1]) for body in server.requests)


def test_each_label_is_asked_about_by_itself(by_label, manager, project, server):
    # A description that is changed after the start has no part in the run.
    project.label_set.labels.filter(code="AGE").update(description="Changed.")
    finished(by_label)
    assert questions(server) == QUESTIONS
    first = AnnotationSet.objects.filter(author=by_label.author).order_by("document_id").first()
    spans = [(span.start, span.end, span.label.code) for span in first.spans.order_by("start")]
    assert spans == [(0, 11, "PATIENT"), (13, 15, "AGE"), (44, 50, "CITY")]
    html = page_of(manager, by_label)
    assert "about each of 4 labels, in each chunk and pass" in html and "1 pass over chunks" in html
    assert "12 sent" in html and "- $labels" not in html and "$labels" in html
    messages = {label_of(body): body["messages"][0]["content"] for body in server.requests}
    assert [label for label, message in messages.items() if "Only ages in years." in message] == ["AGE"]
    assert not any("Changed." in message for message in messages.values())


def test_the_command_and_the_api(project, server):
    llm = ("run_model", "covid", "llm", "--language=it")
    result = command(*llm, "--server=ward", "--model=small", "--strategy=extract", "--wait")
    assert (result["done"], result["failed"], result["state"]) == (3, 0, "done")
    assert result["usage"]["requests"] == 6 and float(result["usage"]["cost"]) == 0.72
    again = command(*llm, "--server=ward", "--model=small", "--wait")["usage"]
    assert (again["requests"], again["kept"], float(again["cost"])) == (0, 6, 0)
    command(*llm, "--overlap=20", "--every-pass", "--without-descriptions")
    params = Run.objects.latest("pk").params
    assert [params[name] for name in ("overlap", "every_pass", "descriptions")] == [20, True, False]
    command("run_model", "covid", "llm", "--preset=miranda-2025", "--examples")
    params = Run.objects.latest("pk").params
    assert [params[name] for name in ("strategy", "prompt_version", "examples")] == ["rewrite", "miranda-2025", True]
    assert "TESTO" not in params["prompt"] and "Sei un assistente" in params["prompt"]
    body = {"server": "ward", "model": "small", "strategy": "by_label", "language": "it", "omega": 4000, "passes": 1}
    program = Program(make.make_member(project, "manager"))
    assert program.post("/projects/covid/runs/language-models", body).status_code == 202
    assert Run.objects.latest("pk").params["strategy"] == "by_label"
    for words, why in (
        (["llm", "--omega=32", "--overlap=17"], "a whole number from 0 to 16, not “17”"),
        (["rules", "--every-pass", "--server=ward"], "can only be used with llm"),
        (["llm", "--server=http://203.0.113.5"], "There is no server"),
        (["llm", "--server=cloud"], "Confirm that"),
    ):
        with pytest.raises(CommandError, match=why):
            call_command("run_model", "covid", *words)
    assert Span.objects.filter(annotation_set__author__kind="run").count() == 12
    assert not any("Rossi" in json.dumps(event.data) for event in Event.objects.all())
