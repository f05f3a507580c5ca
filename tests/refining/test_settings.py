"""Refinements with a language model on the page and through the API: their settings, consent, and cost."""

import re
from html import unescape

import pytest
from django.urls import reverse

from annotations.models import Import
from models_runtime.backends.llm.servers import read_servers
from models_runtime.models import Refinement
from tests.backends.llm.scripted import Reply
from tests.refining.asking import asked
from tests.refining.conftest import NOTES, PER_NOTE, refine
from tests.refining.test_by_model import honest, reviewer
from tests.worlds.checks import check_page
from tests.worlds.programs import Program


@pytest.fixture
def client(client, ward, settings):
    listed = {"SERVERS": "ward=http://127.0.0.1:9/v1 b=http://llm.example.org/v1"}
    listed |= {"WARD_MODELS": "small", "B_MODELS": "large"}
    settings.LLM_SERVERS = read_servers({f"DEIDREVIEW_LLM_{name}": value for name, value in listed.items()})
    client.force_login(ward.mia)
    return client


def start(client, ward, **options):
    data = {"run": str(ward.wide.pk), "method": "agent", "model": "", "token": "t"}
    return client.post(reverse("refinements", args=["ward"]), data | options)


def test_the_page_stores_the_settings_of_each_method(ward, client, settings):
    page = check_page(client.get(reverse("refinements", args=["ward"])))
    more = page.partition("More settings")[2].partition("</details>")[0]
    assert all(f'name="{name}"' in more for name in ("language", "examples", "preset", "without", "steps", "tokens"))
    assert start(client, ward, without=["memory", "skills"], steps="7", tokens="9000").status_code == 302
    assert "data-imported" not in check_page(client.get(reverse("refinements", args=["ward"])))
    Import.objects.create(project=ward.project, written_as="run:wide", state="done")
    assert check_page(client.get(reverse("refinements", args=["ward"]))).count("data-imported") == 1
    agent = Refinement.objects.first()
    assert (agent.switched_off, agent.language) == (["memory", "skills"], "it")
    assert (agent.params["steps"], agent.params["tokens"]) == (7, 9000)
    assert start(client, ward, method="single", language="en", examples="6", token="u").status_code == 302
    single = Refinement.objects.first()
    assert (single.language, single.params, single.gold_version) == ("en", {"examples": 6}, ward.version)
    assert start(client, ward, method="single", token="v").status_code == 302
    assert (Refinement.objects.first().language, Refinement.objects.first().params) == ("it", {"examples": 0})
    assert start(client, ward, method="single", preset="xu-2026-a2", token="w").status_code == 302
    row = Refinement.objects.first()
    assert (row.prompt_version, row.language) == ("xu-2026-a2", "en")
    assert row.prompt.startswith("You are correcting") and "PATIENT" in row.prompt
    settings.LLM_SERVERS = {}
    assert "More settings" not in client.get(reverse("refinements", args=["ward"])).content.decode()


def test_errors_are_beside_their_field_and_the_form_keeps_its_values(ward, client):
    for options in (
        {"language": "fr"}, {"method": "single", "examples": "31"}, {"method": "offline", "examples": "6"},
        {"preset": "xu-2026-a2"}, {"method": "offline", "preset": "xu-2026-a2"},
        {"method": "single", "preset": "xu-2026"}, {"without": ["memory", "luck"]}, {"steps": "0"},
        {"method": "single", "steps": "3"}, {"tokens": "many"},
    ):  # fmt: skip
        response = start(client, ward, **options)
        assert response.status_code == 422
        page = check_page(response)
        *_, name = options
        form = response.context["form"]
        assert form.errors.keys() == {name} and form[name].value() == options[name]
        assert form.errors[name][0] in unescape(page) and re.search(r"<details[^>]* open>\s*<summary>", page)
    assert not Refinement.objects.exists()


def test_notes_leave_only_with_consent(ward, client):
    """The page and the API refuse to send notes to another machine unless the person agrees."""
    sent = {"method": "single", "model": "b large"}
    refused = start(client, ward, **sent)
    assert refused.status_code == 422 and "llm.example.org" in refused.content.decode()
    assert start(client, ward, **sent, may_leave="yes").status_code == 302
    newest = Refinement.objects.first()
    assert (newest.method, newest.server, newest.model) == ("single", "b", "large")
    program, path = Program(ward.mia), "/projects/ward/refinements"
    body = {"run": "wide", "method": "single", "server": "b"}
    refused = program.post(path, body)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "may_leave")
    assert program.post(path, body | {"may_leave": True}).status_code == 202


def compared(client, first, second):
    """The rows of the table that compares two refinements, by name, and the whole page."""
    shown = client.get(reverse("refinements", args=["ward"]), {"first": first, "second": second}).content.decode()
    own = shown.split("Published figures")[0]
    rows = {
        row.split("</th>")[0]: [cell.split("</td>")[0].split(">", 1)[1] for cell in row.split("<td")[1:]]
        for row in own.split('<th scope="row">')[1:]
    }
    return rows, shown


def test_two_refinements_stand_side_by_side_with_what_the_server_counted(few, client, settings):
    """Each call has 100 tokens in and 10 out. One of the single questions is asked twice, since it was refused."""
    refused = [Reply(status=503, headers={"Retry-After": "0"})]
    calls = {"single": PER_NOTE * NOTES, "agent": 2 * NOTES}
    scripts = {"single": lambda body: refused.pop() if refused else honest(body), "agent": reviewer}
    program, ids, efforts = Program(few.mia), {}, {}
    for method, script in scripts.items():
        with asked(settings, script, WARD_PRICE="USD 2.50/10"):
            said = refine("few", method, server="ward")
        ids[method] = Refinement.objects.get(method=method).pk
        effort = efforts[method] = program.get(f"/projects/ward/refinements/{ids[method]}").json()["effort"]
        for figures in (said, effort):
            counted = [figures[name] for name in ("tokens_in", "tokens_out")]
            assert counted == [100 * calls[method], 10 * calls[method]]
        assert said["calls"] == effort["calls"] == calls[method] + (method == "single")
        assert effort["cost"] == pytest.approx(calls[method] * (2.5 * 100 + 10 * 10) / 1_000_000, abs=1e-9)
        assert effort["currency"] == "USD"
        # With one question at a time, the job takes at least as long as the answers.
        assert effort["seconds"] >= effort["answering"] - 0.01
        assert all(effort[name] == said[name] for name in ("kept", "updated", "removed"))

    # The page, in either order.
    client.force_login(few.mia)
    for first, second in (("single", "agent"), ("agent", "single")):
        rows, shown = compared(client, ids[first], ids[second])
        pair = [efforts[first], efforts[second]]
        told = [f"changed {one['updated']} and removed {one['removed']} of {one['annotations']} ann" for one in pair]
        answer, _fold, _table = shown.partition("Decisions, calls, time, tokens and cost")
        assert answer.index(told[0]) < answer.rindex(told[1]) and '<th scope="row">Calls' not in answer
        assert [cell.strip() for cell in rows["Cost"]] == [f"{one['cost']:.4f} USD" for one in pair]
        for name, row in (
            ("calls", "Calls of the language model"), ("tokens_in", "Input tokens"), ("tokens_out", "Output tokens"),
            ("kept", "Kept"), ("updated", "Changed"), ("removed", "Removed"),
        ):  # fmt: skip
            assert rows[row] == [f"{one[name]:,}" for one in pair]
    assert efforts["single"]["updated"] == NOTES and efforts["agent"]["updated"] == 0
    assert "Xu et al. 2026, table 3" in shown and "11.05" in shown
    # Each result leads to its review, also that of a client, which has no job.
    Refinement.objects.filter(pk=ids["single"]).update(job=None, method="external")
    table = client.get(reverse("refinements", args=["ward"])).content.decode().split("</table>")[0]
    for author in Refinement.objects.values_list("author", flat=True):
        assert reverse("review_next", args=["ward", author]) in table
