"""The settings of a refinement with a language model, on the page and through the API."""

import re
from html import unescape

import pytest
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse

from models_runtime.backends.llm.servers import read_servers
from models_runtime.models import Refinement
from tests.refining.test_commands import command
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

pytestmark = [pytest.mark.queue]


@pytest.fixture
def client(ward, settings):
    listed = {"DEIDREVIEW_LLM_SERVERS": "ward=http://127.0.0.1:9/v1", "DEIDREVIEW_LLM_WARD_MODELS": "small"}
    settings.LLM_SERVERS = read_servers(listed)
    client = Client()
    client.force_login(ward.mia)
    return client


def start(client, ward, **options):
    data = {"run": str(ward.wide.pk), "method": "agent", "model": "", "token": "t"}
    return client.post(reverse("refinements", args=["ward"]), data | options)


def test_the_page_stores_the_settings_of_each_method(ward, client, settings):
    page = check_page(client.get(reverse("refinements", args=["ward"])))
    more = page.partition("More settings")[2].partition("</details>")[0]
    assert re.findall(r"<legend>(.*?)</legend>", more)[:2] == [
        "One question per annotation",
        "Agent with a language model",
    ]
    for name in ("language", "examples", "without", "steps", "tokens"):
        assert f'name="{name}"' in more
    assert start(client, ward, without=["memory", "skills"], steps="7", tokens="9000").status_code == 302
    agent = Refinement.objects.first()
    assert (agent.switched_off, agent.language) == (["memory", "skills"], "it")
    assert (agent.params["steps"], agent.params["tokens"]) == (7, 9000)
    assert start(client, ward, method="single", language="en", examples="6", token="u").status_code == 302
    single = Refinement.objects.first()
    assert (single.language, single.params, single.gold_version) == ("en", {"examples": 6}, ward.version)
    assert start(client, ward, method="single", token="v").status_code == 302
    assert (Refinement.objects.first().language, Refinement.objects.first().params) == ("it", {"examples": 0})
    settings.LLM_SERVERS = {}
    assert "More settings" not in client.get(reverse("refinements", args=["ward"])).content.decode()


def test_errors_are_beside_their_field_and_the_form_keeps_its_values(ward, client):
    for options in (
        {"language": "fr"},
        {"method": "single", "examples": "31"},
        {"examples": "6"},
        {"method": "offline", "examples": "6"},
        {"without": ["memory", "luck"]},
        {"method": "single", "without": ["memory"]},
        {"steps": "0"},
        {"method": "single", "steps": "3"},
        {"tokens": "many"},
        {"method": "offline", "tokens": "3"},
    ):
        response = start(client, ward, **options)
        assert response.status_code == 422
        page = check_page(response)
        *_, name = options
        form = response.context["form"]
        assert form.errors.keys() == {name} and form[name].value() == options[name]
        assert form.errors[name][0] in unescape(page) and re.search(r"<details[^>]* open><summary>", page)
    assert not Refinement.objects.exists()


def test_the_api_has_the_same_settings(ward, client):
    program = Program(ward.mia)

    def post(**fields):
        answered = program.post("/projects/ward/refinements", {"run": "wide", "method": "agent"} | fields)
        return answered.status_code, [error["field"] for error in answered.json().get("errors", [])]

    assert post(without=["todo", "context"], steps=7, tokens=9000, language="en") == (202, [])
    row = Refinement.objects.get()
    assert (row.switched_off, row.language) == (["context", "todo"], "en")
    assert (row.params["steps"], row.params["tokens"]) == (7, 9000)
    assert post(without=["luck"]) == (422, ["without"])
    assert post(steps=-1) == (422, ["steps"])
    assert post(tokens=2**31) == (422, ["tokens"])
    assert post(examples=3) == (422, ["examples"])
    assert post(method="single", steps=3) == (422, ["steps"])
    assert post(method="external", without=["memory"]) == (422, ["without"])
    assert Refinement.objects.count() == 1


def test_the_command_refuses_settings_that_the_offline_agent_does_not_have(ward):
    for words in (["--examples", "3"], ["--steps", "3"], ["--tokens", "3"], ["--without", "memory"]):
        with pytest.raises(CommandError):
            command("refine", "ward", "wide", *words)
    assert not Refinement.objects.exists()
