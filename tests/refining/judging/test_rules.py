"""The rules of Miranda et al. 2025 from the form to the figures, beside the standard rules."""

import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotations.jobs.runner import run as work
from annotations.models import Figures, Job, JobState
from annotations.ops.services.erasing import erase_patient
from models_runtime.backends.llm.prompts import printed as printed_prompt
from models_runtime.models import JudgedNote, Judging
from models_runtime.refining.services.judging_results import discards_of, result_of
from tests.backends.llm.scripted import Reply, note_of
from tests.backends.llm.test_judging import verdicts
from tests.refining.judging.world import ask, asked, honest, ward
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

pytestmark = pytest.mark.django_db(transaction=True)
MIRANDA = "miranda-2025"


def said(body, **changed):
    return json.dumps({"entities": verdicts(body, **changed)})


def micro(judging):
    found = result_of(judging)
    return [found["majority"]["micro"][key] for key in ("tp", "fn", "fp", "discarded")]


def page(client, name, *words, query=""):
    return check_page(client.get(reverse(name, args=["covid", *words]) + query))


def test_the_preset_asks_per_label_and_text_at_its_temperature(client, settings):
    with ward(settings, honest) as server:
        judging = asked(client, rules=MIRANDA)
        shown = [json.loads(note_of(body)) for body in server.requests]
        assert {body["temperature"] for body in server.requests} == {0.7}
        assert {body["messages"][0]["content"] for body in server.requests} == {judging.prompt}
    assert (judging.rules, judging.unit, judging.temperature) == (MIRANDA, "text", 0.7)
    assert "Le annotazioni sono il riferimento" in judging.prompt
    # One question for each label and judge. The name is one entity with two occurrences.
    asked_about = [[(one["type"], one["text"], one.get("occurrences")) for one in each["entities"]] for each in shown]
    assert sorted(asked_about) == sorted(
        3 * [[("AGE", "54", None), ("AGE", "30", None)], [("CITY", "Torino", None)], [("PATIENT", "Mario Rossi", 2)]]
    )
    # The name is still readable once, so it is missed; the dose is no annotated age, so its placeholder is FP.
    assert micro(judging) == [1, 2, 1, 0]


def test_the_printed_prompt_of_the_rules(client, settings):
    """It is asked as printed, in its language, and answered as the other prompts are. Other rules have none."""
    preset = {"preset": "miranda-2025-a", "language": "es"}
    with ward(settings, honest) as server:
        judging = asked(client, rules=MIRANDA, **preset)
        assert {body["messages"][0]["content"] for body in server.requests} == {printed_prompt("miranda-2025-a")}
        refused = ask(client, **preset)
        assert (refused.status_code, list(refused.context["form"].errors)) == (422, ["preset"])
        program = Program(judging.created_by)
        body = {"author": judging.author_id, "gold": 1, "judges": ["ward one"], "preset": "miranda-2025-a"}
        assert program.post("/projects/covid/judgings", body).json()["errors"][0]["field"] == "preset"
        assert program.post("/projects/covid/judgings", body | {"rules": MIRANDA}).status_code == 202
    rows = Judging.objects.values_list("prompt_version", "language")
    assert (micro(judging), set(rows), len(rows)) == ([1, 2, 1, 0], {("miranda-2025-a", "it")}, 2)
    assert "Le possibili categorie sono" in page(client, "judge")


def test_unit_and_temperature_can_be_chosen_under_both_rules(client, settings):
    with ward(settings, honest) as server:
        standard = asked(client)
        assert {body["temperature"] for body in server.requests} == {0}
        assert len(server.requests) == 3, "one question for each judge"
        first = asked(client, unit="text", temperature="0.3")
        assert {body["temperature"] for body in server.requests[3:]} == {0.3}
        second = asked(client, rules=MIRANDA, unit="occurrence", temperature="0")
    assert (standard.rules, standard.unit, standard.temperature) == ("standard", "occurrence", 0)
    assert micro(standard) == [1, 3, 1, 0], "both occurrences of the name are entities, and are said to be readable"
    assert (first.rules, first.unit, micro(first)) == ("standard", "text", [1, 2, 1, 0])
    assert (second.rules, second.unit, second.temperature, micro(second)) == (MIRANDA, "occurrence", 0, [1, 3, 1, 0])
    assert [len(note.entities) for note in JudgedNote.objects.order_by("pk")] == [5, 4, 5]


def test_one_tp_of_three_judges_is_no_majority_if_all_judges_asked_count(client, settings):
    """Two judges don't answer. By the standard rules, the verdict of the third one counts.

    Missing verdicts are asked for again by the same rules.
    """
    with ward(settings, lambda body: honest(body) if body["model"] == "one" else Reply("no JSON")) as server:
        standard, miranda = asked(client), asked(client, rules=MIRANDA)
        assert (micro(standard), micro(miranda)) == ([1, 3, 1, 0], [0, 0, 0, 4])
        assert "the majority of the judges who answered counts" in page(client, "judging", standard.pk)
        assert "judges without an answer count as judges without a vote" in page(client, "judging", miranda.pk)
        server.script = honest
        before = len(server.requests)
        client.post(reverse("judging_again", args=["covid", miranda.pk]))
        miranda.refresh_from_db()
        work(miranda.job_id)
        assert {body["temperature"] for body in server.requests[before:]} == {0.7}
    assert micro(miranda) == [1, 2, 1, 0]


# The list of judgings: accuracy, and discarded entities by judging and label (Miranda et al. 2025, figure 2).


two_notes = pytest.mark.parametrize("project", [2], indirect=True)


def divided(body):
    """The judges disagree on every age that gold has."""
    return said(body, **{"54": {"one": "TP", "two": "FN", "three": "FP"}[body["model"]]})


def listed(client):
    """The cells of the table, by row."""
    html = check_page(client.get(reverse("judgings", args=["covid"])))
    table = re.search(r'<table class="heat-map discards">(.*?)</table>', html, re.DOTALL)
    if table is None:
        return []
    rows = re.findall(r"<tr>(.*?)</tr>", table[1], re.DOTALL)
    return [
        [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in re.split(r"</t[dh]>", row)][:-1] for row in rows
    ]


def queries_of_list(client):
    listed(client)  # stores the figures
    with CaptureQueriesContext(connection) as queries:
        listed(client)
    return len(queries)


@two_notes
def test_the_list_counts_discarded_entities_by_judging_and_label(client, settings):
    """A judging that is still working is not in the table, and more judgings need no more queries."""
    assert listed(client) == []
    with ward(settings, divided):
        working = asked(client)
        Job.objects.filter(pk=working.job_id).update(state=JobState.RUNNING)
        assert listed(client) == [] and not Figures.objects.filter(kind="judging-discards").exists()
        Job.objects.filter(pk=working.job_id).update(state=JobState.DONE)
        few = queries_of_list(client)
        asked(client, rules="miranda-2025")
    assert queries_of_list(client) == few
    head, second, first = listed(client)
    assert head == ["Annotations of", "Accuracy", "PATIENT", "CITY", "AGE", "All labels"]
    assert second[0].endswith("Rules of Miranda et al. 2025") and first[0].endswith("Standard rules")
    assert second[1:] == ["0.00", "0 of 2", "0 of 2", "2 of 4", "2 of 8"]
    assert first[1:] == ["0.00", "0 of 4", "0 of 2", "2 of 4", "2 of 10"]


@two_notes
def test_figures_are_stored_until_the_verdicts_change(client, project, settings):
    with ward(settings, honest):
        judging = asked(client)
    assert listed(client)[1][1:] == ["0.20", "0 of 4", "0 of 2", "0 of 4", "0 of 10"]
    stored = Figures.objects.filter(kind="judging-discards")
    key = stored.values_list("key", flat=True).get()
    with CaptureQueriesContext(connection) as queries:
        discards_of(project, [judging])
    assert len(queries) <= 4 and stored.get().key == key
    erase_patient(project=project, patient_id="p0", actor=None)
    assert not stored.filter(key=key).exists(), "figures about erased notes are deleted"
    assert listed(client)[1][1:] == ["0.20", "0 of 2", "0 of 1", "0 of 2", "0 of 5"]
