"""The rules of Miranda et al. 2025 from the form to the figures, beside the standard rules."""

import json

import pytest
from django.urls import reverse

from annotations.jobs.runner import run as work
from models_runtime.backends.llm.prompts import printed as printed_prompt
from models_runtime.models import JudgedNote, Judging
from models_runtime.refining.services.judging_results import result_of
from tests.backends.llm.scripted import Reply, note_of
from tests.backends.llm.test_judging import verdicts
from tests.refining.judging.world import ask, asked, honest, judged_project, ward
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

pytestmark = pytest.mark.django_db(transaction=True)
MIRANDA = "miranda-2025"


@pytest.fixture
def project():
    return judged_project()


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
