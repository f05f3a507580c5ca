"""Guidance for agents: the page and the command, versions, conflicts, and who may see them."""

import json

import pytest
from django.urls import reverse

from annotations.models import Event, Role
from annotations.ops.selectors.free_texts import free_texts
from models_runtime.models import ReviewSkill
from models_runtime.refining.selectors import skills_of
from tests import factories as make
from tests.worlds.programs import Program


@pytest.fixture
def project(db):
    return make.make_project("covid")


@pytest.fixture
def manager(project, client):
    user = make.make_member(project, Role.MANAGER, "maria")
    client.force_login(user)
    return user


def url(name="locations"):
    return reverse("skill", args=["covid", name])


def save(client, **fields):
    return client.post(url(), {"labels": "CITY", "text": "# Places\nNo towns.", "seen_version": 0} | fields)


def page_of(client, *args, name="skills"):
    return client.get(reverse(name, args=["covid", *args])).content.decode()


def test_a_manager_changes_a_shipped_text_and_sees_all_versions(client, project, manager):
    assert "Names of people" in page_of(client) and "cisura silviana" in page_of(client, "locations", name="skill")
    assert save(client).status_code == 302
    assert save(client, text="# Places\nTowns too.", seen_version=1).status_code == 302
    page = page_of(client, "locations", name="skill")
    assert "No towns." in page and "Towns too." in page and "maria" in page
    assert [row.version for row in ReviewSkill.objects.filter(project=project)] == [2, 1]
    now = skills_of(project)["locations"]
    assert (now.text, now.version, now.title, now.labels) == ("# Places\nTowns too.", "own-2", "Places", {"CITY"})
    said = Event.objects.filter(verb="skill.changed").latest("id").data
    assert said["version"] == 2 and "Towns" not in json.dumps(said)
    # An erasure lists the texts.
    (found,) = (text for text in free_texts(project) if "agents" in str(text.what))
    assert found.count == 2 and found.url == reverse("skills", args=["covid"])


def test_a_conflict_overwrites_nothing(client, project, manager):
    save(client)
    answer = save(client, text="# Mine")
    page = answer.content.decode()
    assert answer.status_code == 422 and "Someone saved version 1" in page and "# Mine" in page and "No towns." in page
    assert ReviewSkill.objects.count() == 1
    assert save(client).status_code == 302 and ReviewSkill.objects.count() == 1  # a double click


@pytest.mark.parametrize("fields", [{"labels": "TOWN"}, {"labels": ""}, {"text": "x" * 20_001}])
def test_what_is_refused(client, project, manager, fields):
    answer = save(client, **fields)
    assert answer.status_code == 422 and answer.context["form"].errors and not ReviewSkill.objects.exists()


def test_an_empty_text_switches_the_guidance_off(client, project, manager):
    save(client, text="")
    assert "locations" not in skills_of(project) and "review" in skills_of(project) and "Not used" in page_of(client)


PATH = "/projects/covid/skills"


def test_a_program_lists_reads_and_writes_guidance_in_versions(project, manager):
    program, one = Program(manager), f"{PATH}/locations"

    def listed():
        return {row["name"]: row for row in program.get(PATH).json()}["locations"]

    assert (listed()["title"], listed()["version"]) == ("Locations", 0)
    read = program.get(one)
    assert "cisura silviana" in read.json()["text"] and read["ETag"] == '"0"'
    assert program.get(f"{one}/versions").json() == []
    assert program.patch(one, {"text": "# Places"}).status_code == 428
    saved = program.patch(one, {"text": "# Places"}, if_match='"0"')
    assert (saved.status_code, saved.json()["version"], saved["ETag"]) == (200, 1, '"1"')
    assert saved.json()["labels"] == read.json()["labels"]
    assert program.patch(one, {"text": "# Late"}, if_match='"0"').status_code == 412
    for _ in range(2):
        assert program.patch(one, {"labels": ["*"]}, if_match="*").json()["version"] == 2
    rows = program.get(f"{one}/versions").json()
    assert [(row["version"], row["text"], row["created_by"]) for row in rows] == [
        (version, "# Places", "maria") for version in (2, 1)
    ]
    assert program.patch(one, {"text": ""}, if_match='"2"').json()["text"] == ""
    assert listed()["off"] and "locations" not in skills_of(project)
    assert Event.objects.filter(verb="skill.changed", actor=manager).count() == 3


def test_a_program_adds_guidance_once(project, manager):
    program = Program(manager)
    new = {"name": "genes", "labels": ["HOSPITAL"], "text": "# Genes\nNever identifiers."}
    made = program.post(PATH, new)
    assert (made.status_code, made.json()) == (201, new | {"version": 1})
    for change, field in (
        ({}, "name"), ({"name": "locations"}, "name"), ({"name": "Genes"}, "name"),
        ({"name": "drugs", "labels": ["TOWN"]}, "labels"), ({"name": "drugs", "text": "x" * 20_001}, "text"),
    ):  # fmt: skip
        refused = program.post(PATH, new | change)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field)
    assert ReviewSkill.objects.count() == 1
