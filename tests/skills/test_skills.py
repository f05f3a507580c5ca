"""Guidance for agents: the page and the command, versions, conflicts, and who may see them."""

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from annotations.models import Event, Role
from annotations.ops.selectors.free_texts import free_texts
from models_runtime.models import ReviewSkill
from models_runtime.skills.selectors import skills_of
from tests import factories as make
from tests.worlds.programs import Program

pytestmark = pytest.mark.django_db


@pytest.fixture
def project():
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


def test_a_manager_changes_a_shipped_text_and_sees_all_versions(client, project, manager):
    page = client.get(reverse("skills", args=["covid"])).content.decode()
    assert "Names of people" in page and "Shipped" in page
    assert "cisura silviana" in client.get(url()).content.decode()
    assert save(client).status_code == 302
    assert save(client, text="# Places\nTowns too.", seen_version=1).status_code == 302
    page = client.get(url()).content.decode()
    assert "You are editing version 2." in page and "No towns." in page and "Towns too." in page and "maria" in page
    assert [row.version for row in ReviewSkill.objects.filter(project=project)] == [2, 1]
    now = skills_of(project)["locations"]
    assert (now.text, now.version, now.title, now.labels) == ("# Places\nTowns too.", "own-2", "Places", {"CITY"})
    said = Event.objects.filter(verb="skill.changed").latest("id").data
    assert said["version"] == 2 and "Towns" not in json.dumps(said)


def test_a_conflict_overwrites_nothing(client, project, manager):
    save(client)
    answer = save(client, text="# Mine")
    page = answer.content.decode()
    assert answer.status_code == 422 and "Someone saved version 1" in page and "# Mine" in page and "No towns." in page
    assert ReviewSkill.objects.count() == 1
    assert save(client).status_code == 302 and ReviewSkill.objects.count() == 1  # a double click


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"labels": "TOWN"}, "There is no label “TOWN”."),
        ({"labels": ""}, "Name at least one label, or * for all."),
        ({"text": "x" * 20_001}, "20"),
    ],
)
def test_what_is_refused(client, project, manager, fields, sentence):
    answer = save(client, **fields)
    assert answer.status_code == 422 and sentence in answer.content.decode() and not ReviewSkill.objects.exists()


def test_an_empty_text_switches_the_guidance_off(client, project, manager):
    save(client, text="")
    assert "locations" not in skills_of(project) and "review" in skills_of(project)
    assert "Not used" in client.get(reverse("skills", args=["covid"])).content.decode()


def test_an_address_that_is_no_name(client, project, manager):
    assert client.get(url("Places")).status_code == 404


def test_the_command_lists_prints_and_replaces(project, tmp_path, capsys):
    def run(*arguments):
        call_command("skills", "covid", *arguments, "--json")
        return json.loads(capsys.readouterr().out)

    assert {row["name"] for row in run()["skills"]} >= {"review", "locations", "dates-ages"}
    file = tmp_path / "genes.md"
    file.write_text("# Genes\nNever identifiers.", encoding="utf-8")
    made = run("genes", "--from", str(file), "--labels", "HOSPITAL")
    assert made == {"name": "genes", "version": 1, "labels": ["HOSPITAL"], "text": "# Genes\nNever identifiers."}
    assert run("genes") == made and skills_of(project)["genes"].version == "own-1"
    with pytest.raises(CommandError, match="must begin with a lowercase letter"):
        run("Genes", "--from", str(file), "--labels", "HOSPITAL")
    with pytest.raises(CommandError, match="Give the NAME"):
        run("--from", str(file))


def test_an_erasure_lists_the_texts(client, project, manager):
    assert not [text for text in free_texts(project) if "agents" in str(text.what)]
    save(client)
    (found,) = (text for text in free_texts(project) if "agents" in str(text.what))
    assert found.count == 1 and found.url == reverse("skills", args=["covid"])


PATH = "/projects/covid/skills"


def test_a_program_lists_reads_and_writes_guidance_in_versions(project, manager):
    program = Program(manager)
    rows = {row["name"]: row for row in program.get(PATH).json()}
    assert rows["locations"]["title"] == "Locations" and rows["locations"]["version"] == 0
    read = program.get(f"{PATH}/locations")
    assert "cisura silviana" in read.json()["text"] and read["ETag"] == '"0"'
    assert program.get(f"{PATH}/locations/versions").json() == []
    assert program.patch(f"{PATH}/locations", {"text": "# Places"}).status_code == 428
    saved = program.patch(f"{PATH}/locations", {"text": "# Places"}, if_match='"0"')
    assert (saved.status_code, saved.json()["version"], saved["ETag"]) == (200, 1, '"1"')
    assert saved.json()["labels"] == read.json()["labels"]
    assert program.patch(f"{PATH}/locations", {"text": "# Late"}, if_match='"0"').status_code == 412
    assert program.patch(f"{PATH}/locations", {"labels": ["*"]}, if_match="*").json()["version"] == 2
    assert program.patch(f"{PATH}/locations", {"labels": ["*"]}, if_match="*").json()["version"] == 2
    rows = program.get(f"{PATH}/locations/versions").json()
    assert [(row["version"], row["text"], row["created_by"]) for row in rows] == [
        (2, "# Places", "maria"), (1, "# Places", "maria"),
    ]  # fmt: skip
    assert program.patch(f"{PATH}/locations", {"text": ""}, if_match='"2"').json()["text"] == ""
    assert {row["name"]: row["off"] for row in program.get(PATH).json()}["locations"]
    assert "locations" not in skills_of(project)
    assert Event.objects.filter(verb="skill.changed", actor=manager).count() == 3


def test_a_program_adds_guidance_once(project, manager):
    program = Program(manager)
    new = {"name": "genes", "labels": ["HOSPITAL"], "text": "# Genes\nNever identifiers."}
    made = program.post(PATH, new)
    assert (made.status_code, made.json()) == (201, new | {"version": 1})
    for body, field in (
        (new, "name"), (new | {"name": "locations"}, "name"), (new | {"name": "Genes"}, "name"),
        (new | {"name": "drugs", "labels": ["TOWN"]}, "labels"),
        (new | {"name": "drugs", "text": "x" * 20_001}, "text"),
    ):  # fmt: skip
        refused = program.post(PATH, body)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field)
    assert program.get(f"{PATH}/drugs").status_code == 404
    assert program.patch(f"{PATH}/drugs", {"text": "# Drugs"}, if_match="*").status_code == 404
    assert program.get(f"{PATH}/drugs/versions").status_code == 404
    assert ReviewSkill.objects.count() == 1
