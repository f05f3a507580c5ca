"""The rules of Miranda et al. 2025 from the form or the command to the figures, beside the standard rules."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.jobs.runner import run as work
from models_runtime.judging.services.results import result_of
from models_runtime.models import JudgedNote, Judging
from tests import factories as make
from tests.backends.llm.scripted import Reply, note_of
from tests.backends.llm.test_judging import verdicts
from tests.judging.world import TEXT, ask, asked, honest, judged_project, ward
from tests.worlds.checks import check_page

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]
MIRANDA = "miranda-2025"


@pytest.fixture
def project():
    return judged_project()


@pytest.fixture
def client(project, client):
    client.force_login(make.make_member(project, "manager", "mia"))
    return client


def said(body, **changed):
    return json.dumps({"entities": verdicts(body, **changed)})


def micro(judging):
    found = result_of(judging)
    return [found["majority"]["micro"][key] for key in ("tp", "fn", "fp", "discarded")]


def page(client, name, *words):
    return check_page(client.get(reverse(name, args=["covid", *words])))


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


def test_the_standard_rules_stay_the_default(client, settings):
    with ward(settings, honest) as server:
        judging = asked(client)
        assert {body["temperature"] for body in server.requests} == {0}
        assert len(server.requests) == 3, "one question for each judge"
    assert (judging.rules, judging.unit, judging.temperature) == ("standard", "occurrence", 0)
    assert micro(judging) == [1, 3, 1, 0], "both occurrences of the name are entities, and both are said to be readable"


def test_unit_and_temperature_can_be_chosen_under_both_rules(client, settings):
    with ward(settings, honest) as server:
        first = asked(client, unit="text", temperature="0.3")
        assert {body["temperature"] for body in server.requests} == {0.3}
        second = asked(client, rules=MIRANDA, unit="occurrence", temperature="0")
    assert (first.rules, first.unit, micro(first)) == ("standard", "text", [1, 2, 1, 0])
    assert (second.rules, second.unit, second.temperature, micro(second)) == (MIRANDA, "occurrence", 0, [1, 3, 1, 0])
    assert [len(note.entities) for note in JudgedNote.objects.order_by("pk")] == [4, 5]


def test_one_tp_of_three_judges_is_no_majority_if_all_judges_asked_count(client, settings):
    """Two judges don't answer. By the standard rules, the verdict of the third one counts."""
    with ward(settings, lambda body: honest(body) if body["model"] == "one" else Reply("no JSON")):
        standard, miranda = asked(client), asked(client, rules=MIRANDA)
    assert micro(standard) == [1, 3, 1, 0]
    assert micro(miranda) == [0, 0, 0, 4]
    assert "the majority of the judges who answered counts" in page(client, "judging", standard.pk)
    assert "judges without an answer count as judges without a vote" in page(client, "judging", miranda.pk)


def test_fp_can_win_for_a_gold_entity(client, settings):
    def script(body):
        return said(body, Torino="FP") if body["model"] != "three" else honest(body)

    with ward(settings, script):
        standard, miranda = asked(client), asked(client, rules=MIRANDA)
    assert micro(standard) == [1, 2, 1, 1], "two of three verdicts on the town are FP, which can't win"
    assert micro(miranda) == [1, 1, 2, 0]


def test_the_example_of_the_document(client, settings):
    """Section 4.2.2: two FN and one TP are FN; FN, FP and TP are discarded."""
    verdict = {"one": "FN", "two": "FN", "three": "TP"}
    with ward(settings, lambda body: said(body, Torino=verdict[body["model"]])):
        assert micro(asked(client, rules=MIRANDA)) == [1, 2, 1, 0]
    verdict["two"] = "FP"
    with ward(settings, lambda body: said(body, Torino=verdict[body["model"]])):
        judging = asked(client, rules=MIRANDA, temperature="0.8")
    assert micro(judging) == [1, 1, 1, 1]
    assert page_of_kind(client, judging, "discarded").count("<mark>Torino</mark>") == 1


def page_of_kind(client, judging, kind):
    return check_page(client.get(reverse("judging_entities", args=["covid", judging.pk]) + f"?kind={kind}"))


def test_pages_name_the_rules_and_say_what_they_count(client, settings):
    with ward(settings, honest):
        html = page(client, "judge")
        assert "Standard rules" in html and "Rules of Miranda et al. 2025" in html
        assert "more than the threshold of all judges asked" in html
        assert "more than the threshold of the judges who answered" in html
        assert "Le annotazioni sono il riferimento" in html and "Giudichi quanto bene" in html
        judging = asked(client, rules=MIRANDA)
    html = page(client, "judging", judging.pk)
    assert "Rules of Miranda et al. 2025. Entities: each text with its label, once per note. Temperature 0.7." in html
    assert "Standard rules" not in html and "more than the threshold of all judges asked" in html
    assert "Accuracy" in html and "0.2500" in html
    assert "2 occurrences" in page_of_kind(client, judging, "FN")


def test_a_missed_verdict_is_asked_for_again_by_the_same_rules(client, settings):
    with ward(settings, lambda body: honest(body) if body["model"] == "one" else Reply("no JSON")) as server:
        judging = asked(client, rules=MIRANDA)
        server.script = honest
        before = len(server.requests)
        client.post(reverse("judging_again", args=["covid", judging.pk]))
        judging.refresh_from_db()
        work(judging.job_id)
        assert {body["temperature"] for body in server.requests[before:]} == {0.7}
    assert micro(judging) == [1, 2, 1, 0]


def test_errors_are_beside_their_field_and_nothing_is_sent(client, settings):
    with ward(settings, honest) as server:
        for options in ({"rules": "2025"}, {"unit": "word"}, *({"temperature": one} for one in ("warm", "3", "nan"))):
            response = ask(client, **options)
            check_page(response)
            assert response.status_code == 422 and response.context["form"].errors.keys() == options.keys()
        assert not Judging.objects.exists() and not server.requests


def test_the_command(project, settings):
    def run(*words):
        out = io.StringIO()
        judges = [f"--judge=ward/{name}" for name in ("one", "two", "three")]
        call_command("judge", "covid", "--gold=1", "--author=run", *judges, *words, stdout=out)
        return out.getvalue()

    def script(body):
        return said(body, **{"54": {"one": "TP", "two": "FN", "three": "FP"}[body["model"]]})

    with ward(settings, script) as server:
        printed = json.loads(run(f"--rules={MIRANDA}", "--temperature=0.5", "--json"))
        assert {body["temperature"] for body in server.requests} == {0.5}
        words = run(f"--rules={MIRANDA}", "--unit=occurrence")
        assert "Rules: miranda-2025, entity: occurrence, temperature 0.7" in words
        assert "few judges agree: 1 (AGE 1 of 2)" in words and "accuracy 0.0000 (0 removed" in words
        with pytest.raises(CommandError, match="temperature can't be -1"):
            run("--temperature=-1")
    assert (printed["rules"], printed["unit"], printed["temperature"]) == (MIRANDA, "text", 0.5)
    assert printed["majority"]["micro"]["accuracy"] == 0 and printed["discarded"] == 1


def test_no_text_is_stored_with_the_entities(client, settings):
    with ward(settings, honest):
        asked(client, rules=MIRANDA)
    stored = json.dumps(JudgedNote.objects.get().entities)
    assert "Rossi" not in stored and [52, 63] in json.loads(stored)[0][4] and TEXT[52:63] == "Mario Rossi"
