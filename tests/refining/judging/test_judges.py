"""Judges, from the form or the command to their figures. Three models answer on a scripted server, one wrongly."""

import json
import uuid

import pytest
from django.db import connection
from django.urls import reverse

from annotations.core.services import NOTE_READ
from annotations.gold.services.making import freeze, make_gold
from annotations.jobs.runner import run as work
from annotations.models import Author, Event, Job, JobState
from annotations.ops.services.erasing import erase_patient
from models_runtime.backends.llm import driver, remote
from models_runtime.models import JudgedNote, Judging, Judgment, LlmAnswer, LlmUsage
from models_runtime.refining.services.judging_results import result_of
from tests import factories as make
from tests.backends.llm.scripted import Reply, note_of, offered
from tests.backends.llm.test_judging import verdicts
from tests.refining.judging.world import ask as send
from tests.refining.judging.world import judged_project
from tests.waiting import wait_for
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = "Mario Rossi, 54 anni, prende 54 mg. Visto a Torino"
ROSSI, AGE, DOSE, CITY = (0, 11, "PATIENT"), (13, 15, "AGE"), (29, 31, "AGE"), (44, 50, "CITY")


def panel(body):
    """`good` and `fair` answer correctly; `odd` says that the name is visible and that the dose was rightly hidden."""
    if "BREAK" in note_of(body) and body["model"] == "fair":
        return Reply("no JSON at all")
    changed = {"Mario Rossi": "FN", "54": "TP"} if body["model"] == "odd" else {}
    return json.dumps({"entities": verdicts(body, **changed)})


@pytest.fixture
def server(settings):
    listed = {"SERVERS": "ward={url} lab={url} cloud=http://llm.example.org/v1", "LAB_MODELS": "good fair"}
    listed |= {"WARD_MODELS": "good fair odd", "WARD_PRICE": "EUR 1000/2000", "CLOUD_MODELS": "large"}
    with offered(settings, panel, **listed) as running:
        yield running


@pytest.fixture
def project():
    return judged_project(3, TEXT, [ROSSI, AGE, CITY], [ROSSI, AGE, DOSE])


def ask(client, *judges, **options):
    return send(client, **{"judge": judges or ("ward good", "ward fair", "ward odd")} | options)


def done(judging):
    judging.refresh_from_db()
    work(judging.job_id)
    return Job.objects.get(pk=judging.job_id)


def judged(client, *judges, **options):
    """Send the form and do the work."""
    assert ask(client, *judges, **options).status_code == 302
    judging = Judging.objects.first()
    return judging, done(judging)


def page(client, judging):
    return check_page(client.get(reverse("judging", args=["covid", judging.pk])))


def entities(client, judging, kind):
    return check_page(client.get(reverse("judging_entities", args=["covid", judging.pk]) + f"?kind={kind}"))


def test_from_the_form_to_figures_entities_and_costs(client, project, server):
    assert "No verdicts yet" in check_page(client.get(reverse("judgings", args=["covid"])))
    html = check_page(client.get(reverse("judge", args=["covid"]) + "?gold=1"))
    assert "llm.example.org" in html and "Giudichi quanto bene" in html
    token = str(uuid.uuid4())
    assert ask(client, token=token).url == ask(client, token=token).url
    judging = Judging.objects.get()
    assert "every 1s" in page(client, judging)
    job = done(judging)
    assert (job.state, job.done, job.total, job.queue) == (JobState.DONE, 9, 9, "llm")
    # The prompt is in the chosen language, and the page shows it.
    assert {body["messages"][0]["content"] for body in server.requests} == {judging.prompt}
    html = page(client, judging)
    # By majority, each of the three notes has two true positives (name, age), a miss (town) and a false alarm (dose).
    shown = ("ward/good", "12 entities in 3 notes", "EUR", "Krippendorff", "0.67", judging.prompt.splitlines()[0])
    assert all(words in html for words in shown)
    assert "majority of three judges, NAME: F1" in html.split("Published figures")[1]
    # The answer and the way to the entities come first; the tables are folded.
    answer, _folds, folded = html.partition('<div class="card folds">')
    assert "The judges find 3 of 12 entities still readable, in 3 notes" in " ".join(answer.split())
    assert "With so few notes" in answer and "?kind=FN" in answer and "Scores by label" not in answer
    assert "<details open" not in folded and folded.index("<details>") < folded.index("Scores by label")
    assert check_page(client.get(reverse("job", args=["covid", job.number]))).count("Show verdicts") == 1
    assert "ward/odd" in check_page(client.get(reverse("judgings", args=["covid"])))
    shown = entities(client, judging, "FN")
    assert shown.count("<mark>Torino</mark>") == 3 and "<mark>Mario Rossi</mark>" not in shown
    assert entities(client, judging, "FP").count("<mark>54</mark>") == 3
    assert "No entities" in entities(client, judging, "discarded")
    assert Event.objects.filter(verb=NOTE_READ, data={"what": "judges"}).count() == 6
    assert client.get(reverse("judging_entities", args=["covid", judging.pk]) + "?kind=x").status_code == 404
    # No stored row contains text, and rows are deleted with their note.
    stored: list = [[job.params, job.result], *JudgedNote.objects.values_list("entities", "hidden", "beside")]
    stored += [*Judgment.objects.values_list("verdicts"), *LlmAnswer.objects.values_list("found")]
    words = json.dumps([list(one) for one in stored]) + json.dumps([event.data for event in Event.objects.all()])
    assert "Rossi" not in words and "Torino" not in words
    assert (JudgedNote.objects.count(), Judgment.objects.count(), LlmAnswer.objects.count()) == (3, 9, 9)
    erase_patient(project=project, patient_id="p0", actor=None)
    assert (JudgedNote.objects.count(), Judgment.objects.count(), LlmAnswer.objects.count()) == (2, 6, 6)
    assert "8 entities in 2 notes" in page(client, judging)


def test_figures_on_few_notes_and_on_copied_gold_are_marked(client, project, server):
    """In the first version, gold is independent of the run; in the second, one note's gold was taken from it."""
    first, _job = judged(client, "ward good")
    few, f1 = result_of(first)["few_notes"], result_of(first)["spans"]["micro"]["f1"]
    assert (few["low"], few["high"]) == (f1, f1), "all notes are alike"
    html = page(client, first)
    assert html.count(f"[{few['low']:.2f}, {few['high']:.2f}]") == 1
    assert html.count(">few notes<") == 5, "beside each F1 of the headline, the comparison and the labels"
    run = Author.objects.get(kind="run")
    note = project.documents.get(name="n0")
    make_gold(document=note, annotation_set=run.annotation_sets.get(document=note), actor=None, replace=True)
    freeze(project=project, actor=None)
    second, _job = judged(client, "ward good", gold="2")
    said = "3 of the 9 gold spans were copied from run"
    assert said in page(client, second) and said not in page(client, first)
    assert (result_of(first)["own_gold_spans"], result_of(second)["own_gold_spans"]) == (0, 3)
    # Answers of the two unchanged notes were stored, so only the changed one was asked for again.
    usage = [result_of(judging)["judges"][0]["usage"] for judging in (first, second)]
    assert [(one["requests"], one["kept"]) for one in usage] == [(3, 0), (1, 2)] and float(usage[0]["cost"]) == 0.36
    assert len(server.requests) == 4


@pytest.mark.parametrize(("judges", "options"), [(("ward good", "ward odd"), {}), ((), {"threshold": "0.7"})])
def test_without_a_majority_an_entity_is_discarded_and_listed(client, project, server, judges, options):
    """A higher threshold discards what two of three agree on."""
    judging, _job = judged(client, *judges, **options)
    found = result_of(judging)
    assert (found["discarded"], found["majority"]["micro"]["tp"]) == (6, 3)
    shown = entities(client, judging, "discarded")
    assert shown.count("<mark>Mario Rossi</mark>") == 3 and shown.count("<mark>54</mark>") == 3
    assert "ward/good" in shown and "FP" in shown


def test_a_stopped_judge_is_shown_and_the_others_count(client, project, server):
    server.script = lambda body: Reply(status=401) if body["model"] == "fair" else panel(body)
    judging, job = judged(client)
    assert job.state == JobState.DONE and job.result["answers"] == 6
    html = page(client, judging)
    assert "ward/fair stopped after 0 notes" in html and "rejected the key (401)" in html
    assert "12 entities are in notes that not all 3 judges answered" in html
    # Once the judge is available again, only the missing verdicts are requested.
    server.script = panel
    asked = len(server.requests)
    client.post(reverse("judging_again", args=["covid", judging.pk]))
    assert done(judging).state == JobState.DONE and len(server.requests) == asked + 3
    assert "stopped after" not in page(client, judging) and Judgment.objects.exclude(verdicts__isnull=True).count() == 9


def test_a_judge_that_fails_on_a_note_fails_only_there(client, project, server):
    note = make.make_note(project, "BREAK Mario Rossi")
    for kind in ("gold", "run"):
        make.make_set(note, Author.objects.get(kind=kind), [(6, 17, "PATIENT")], submitted=True)
    freeze(project=project, actor=None)
    judging, job = judged(client, gold="2")
    assert (job.state, job.result["failed"], job.result["answers"]) == (JobState.DONE, 1, 11)
    assert "gave no readable answer on 1 note" in page(client, judging)
    assert Judgment.objects.get(verdicts__isnull=True).error == "The model's answer is not the requested JSON."


def test_where_no_judge_answers_the_job_fails_and_can_be_started_again(client, project, server, monkeypatch):
    monkeypatch.setattr(remote, "TRIES", 1)
    server.script = lambda body: Reply(status=500)
    judging, job = judged(client, "ward good")
    assert job.state == JobState.FAILED and "No judge answered" in job.error
    server.script = panel
    client.post(reverse("job_retry", args=["covid", job.number]))
    assert done(judging).state == JobState.DONE and "12 entities in 3 notes" in page(client, judging)


def test_a_canceled_judging_keeps_its_verdicts_and_can_continue(client, project, server, monkeypatch):
    """A request that waits for its next attempt ends at once without another one. Its costs so far are counted."""
    monkeypatch.setattr(driver, "TICK", 0.02)
    ask(client)
    judging = Judging.objects.get()

    def cancel_after_three(body):
        if body["model"] == "good":
            return panel(body)
        wait_for(lambda: Judgment.objects.count() == 3, what="the others", progress=Judgment.objects.count)
        Job.objects.filter(pk=judging.job_id).update(cancel_requested=True)
        connection.close()
        return Reply(status=429, headers={"Retry-After": "50"})

    server.script = cancel_after_three
    assert done(judging).state == JobState.CANCELED and len(server.requests) <= 3 + 4
    assert sum(LlmUsage.objects.values_list("requests", flat=True)) == len(server.requests)
    assert Judgment.objects.count() == 3 and "stopped after" not in page(client, judging)
    server.script = panel
    client.post(reverse("judging_again", args=["covid", judging.pk]))
    assert done(judging).state == JobState.DONE and Judgment.objects.count() == 9


def test_errors_say_what_is_wrong_and_nothing_is_sent(client, project, server):
    """The form keeps the input."""
    for options in (
        {"judge": ["http://203.0.113.5/v1 x"]}, {"judge": []}, {"judge": ["cloud large"]}, {"gold": "7"}, {"gold": "0"},
        {"author": "99999"}, {"threshold": "0.3"}, {"language": "fr"}, {"threshold": "x"}, {"notes": "9" * 5000},
        {"gold": "x"}, {"rules": "2025"}, {"unit": "word"}, {"temperature": "warm"}, {"temperature": "3"},
        {"temperature": "nan"},
    ):  # fmt: skip
        response = ask(client, **options)
        check_page(response)
        form, (field,) = response.context["form"], options
        assert response.status_code == 422
        assert form.errors.keys() == {"may_leave" if options == {"judge": ["cloud large"]} else field}, options
        assert form[field].value() == options[field]
    assert not Judging.objects.exists() and not server.requests


def test_a_program_asks_again_for_missing_verdicts(client, project, server):
    program, path = Program(make.make_member(project, "manager", "max")), "/projects/covid/judgings"
    server.script = lambda body: Reply(status=401) if body["model"] == "fair" else panel(body)
    judging, _job = judged(client)
    (listed,) = program.get(path).json()["items"]
    assert (listed["id"], listed["state"], len(listed["judges"])) == (judging.pk, "done", 3)
    stopped = [bool(one["stopped"]) for one in program.get(f"{path}/{judging.pk}").json()["result"]["judges"]]
    assert stopped == [False, True, False]
    server.script, before = panel, len(server.requests)
    assert program.post(f"{path}/{judging.pk}/again").status_code == 202
    assert done(judging).state == JobState.DONE and len(server.requests) == before + 3
