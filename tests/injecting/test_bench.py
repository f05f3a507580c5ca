"""The bench: pages and API of injected errors, by what managers see and send."""

from types import SimpleNamespace

import pytest
from django.test import Client
from django.urls import reverse

from annotations.jobs.runner import run as work
from annotations.models import Author, Event, Job, Span
from models_runtime.injecting.services.starting import start_injection
from models_runtime.models import InjectedRun, RefinedItem, Refinement
from tests import factories as make
from tests.worlds.programs import Program

pytestmark = [pytest.mark.queue]


def client_of(user):
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def bench(frozen):
    """Five errors. Ann repaired the city and the ward of the first note, and removed a name that was right."""
    row = start_injection(
        version=frozen.version, actor=frozen.mia, rules=["cities", "eponyms", "wards-as-hospital"], rate=1, key="k"
    )
    work(row.job_id)
    ann = make.make_member(frozen.project, user="ann")
    ours = [(13, 15, "AGE"), (35, 41, "CITY"), (45, 49, "DATE"), (60, 67, "DOCTOR")]
    sets = make.make_set(frozen.notes[0], ann, ours, submitted=True)
    row.refresh_from_db()
    return SimpleNamespace(row=row, ann=sets.author, set=sets, **vars(frozen))


def page_of(bench, name, **query):
    args = ["ward"] if name in ("injections", "refinements") else ["ward", bench.row.pk]
    return client_of(bench.mia).get(reverse(name, args=args), query)


def test_errors_are_injected_from_the_page_once_and_a_wrong_form_keeps_its_values(frozen):
    client, url = client_of(frozen.mia), reverse("injections", args=["ward"])
    shown = client.get(url).content.decode()
    assert "No injected errors yet" in shown and "Cities as organizations or regions" in shown
    sent = {"gold": "1", "rules": ["cities", "eponyms"], "rate": "1", "seed": "3", "name": "mine", "token": "t"}
    wrong = client.post(url, sent | {"rate": "7"})
    assert wrong.status_code == 422
    assert (
        "Errors per gold span must be between 0.001 and 1.0" in wrong.content.decode()
        and 'value="mine"' in wrong.content.decode()
    )
    assert "Choose at least one rule." in client.post(url, sent | {"rules": []}).content.decode()
    assert "Choose a frozen gold version" in client.post(url, sent | {"gold": "9"}).content.decode()
    first, second = client.post(url, sent), client.post(url, sent)
    row = InjectedRun.objects.get()
    assert first["Location"] == second["Location"] == reverse("injection", args=["ward", row.pk])
    assert (row.rules, row.rate, row.seed, row.author.name) == (["cities", "eponyms"], 1.0, 3, "mine")
    assert Job.objects.count() == 1
    waiting = client.get(first["Location"]).content.decode()
    assert 'hx-trigger="every 1s"' in waiting and "Injected errors caught" not in waiting
    assert client.post(url, sent | {"token": "u"}).status_code == 422  # the name is in use
    work(row.job_id)
    assert "Nobody has gone through this copy yet" in client.get(first["Location"]).content.decode()
    job = client.get(reverse("job", args=["ward", Job.objects.get().number])).content.decode()
    assert first["Location"] in job


def test_a_project_without_gold_says_what_is_missing(db, no_redis):
    project = make.make_project("bare")
    mia = make.make_member(project, "manager", "mia")
    shown = client_of(mia).get(reverse("injections", args=["bare"])).content.decode()
    assert "No gold version yet" in shown and '<form class="form"' not in shown
    shown = client_of(mia).get(reverse("refinements", args=["bare"])).content.decode()
    assert "Nothing to refine yet" in shown


def test_the_heat_map_leads_to_the_errors(bench):
    shown = page_of(bench, "injection").content.decode()
    assert "Wards as hospitals" in shown and "1 of 1" in shown and "[2%–100%]" in shown
    assert "1 note left out" in shown
    where = reverse("injected_errors", args=["ward", bench.row.pk])
    assert f'href="{where}?author={bench.ann.pk}&amp;kind=all&amp;rule=cities"' in shown
    assert f'href="{where}?author={bench.ann.pk}&amp;kind=collateral"' in shown
    shown = page_of(bench, "injected_errors", author=bench.ann.pk, rule="cities").content.decode()
    note = reverse("note", args=["ward", bench.notes[0].pk])
    assert f'href="{note}?set={bench.set.pk}#L1"' in shown
    assert "<mark>Torino</mark>" in shown and ">caught<" in shown
    assert client_of(bench.mia).get(f"{note}?set={bench.set.pk}").status_code == 200
    assert Event.objects.filter(verb="note.read", document_id=bench.notes[0].pk, actor=bench.mia).exists()
    shown = page_of(bench, "injected_errors", author=bench.ann.pk, kind="collateral").content.decode()
    assert "<mark>Mario Rossi</mark>" in shown and "nothing marked here" in shown
    assert (
        "No span has this outcome"
        in page_of(bench, "injected_errors", author=bench.ann.pk, kind="lost").content.decode()
    )
    everything = page_of(bench, "injected_errors").content.decode()
    assert "5 spans" in everything and "<mark>Crohn</mark>" in everything and "no identifier" in everything


def test_an_unknown_author_rule_or_kind_is_not_found(bench):
    for query in ({"author": "0"}, {"author": "x"}, {"rule": "towns"}, {"author": str(bench.ann.pk), "kind": "no"}):
        assert page_of(bench, "injected_errors", **query).status_code == 404, query


def test_a_refinement_from_the_page_appears_with_its_reasons(bench):
    """A refinement of the copy is a column; its errors have the reasons of its decisions."""
    client, url = client_of(bench.mia), reverse("refinements", args=["ward"])
    sent = {"run": str(bench.row.author_id), "method": "offline", "gold": "", "name": "", "token": "t"}
    assert client.post(url, sent | {"method": "magic"}).status_code == 422
    assert "Choose a run from the list" in client.post(url, sent | {"run": "9999"}).content.decode()
    assert "Choose a gold version from the list" in client.post(url, sent | {"gold": "9"}).content.decode()
    assert client.post(url, sent)["Location"] == client.post(url, sent)["Location"]
    row = Refinement.objects.get()
    assert row.author.kind == Author.Kind.BENCH
    wrong = Span.objects.get(annotation_set__author=bench.row.author, annotation_set__document=bench.notes[0], start=35)
    made = make.make_set(bench.notes[0], row.author, [(35, 41, "CITY")], submitted=True)
    RefinedItem.objects.create(
        refinement=row, document=bench.notes[0], number=1, start=35, end=41, label=wrong.label.code, action="update",
        new_start=35, new_end=41, new_label="CITY", reason="A town in Piedmont.", step=1,
    )  # fmt: skip
    shown = page_of(bench, "injection").content.decode()
    assert f"author={row.author_id}&amp;kind=all" in shown and "Offline agent" in shown
    shown = page_of(bench, "injected_errors", author=row.author_id, rule="cities").content.decode()
    assert "A town in Piedmont." in shown and f"?set={made.pk}#L1" in shown


def test_the_api_gives_what_the_commands_give(bench):
    program = Program(bench.mia)
    path = "/projects/ward/injections"
    started = program.send("POST", path, {"gold": 1, "rules": ["cities"], "rate": 0.5, "name": "by-api"})
    assert started.status_code == 202 and started.json()["rules"] == ["cities"]
    assert "/jobs/" in started["Location"]
    assert [row["name"] for row in program.send("GET", path).json()["items"]] == ["by-api", "injected-1"]
    for body, field in (
        ({"gold": 7}, "gold"), ({"gold": 1, "rules": ["towns"]}, "rules"), ({"gold": 1, "rate": 0}, "rate"),
        ({"gold": 1, "name": "by-api"}, "name"),
    ):  # fmt: skip
        refused = program.send("POST", path, body)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field)
    one = f"{path}/{bench.row.pk}"
    read = program.send("GET", one).json()
    assert [author["name"] for author in read["authors"]] == ["ann"] and read["possible"]["cities"] == 2
    score = program.send("GET", f"{one}/scores/{bench.ann.pk}").json()
    assert (score["injected"], score["caught"], score["collateral"]) == (2, 2, 1)
    errors = program.send("GET", f"{one}/errors").json()["items"]
    assert len(errors) == 5 and {row["caught"] for row in errors} == {None}
    changed = program.send("GET", f"{one}/errors?author={bench.ann.pk}&kind=collateral").json()["items"]
    assert [(row["marked"], row["gold"], row["there"]) for row in changed] == [("Mario Rossi", "PATIENT", [])]
    assert program.send("GET", f"{one}/scores/{bench.gold.pk}").status_code == 404
    refined = program.send("POST", "/projects/ward/refinements", {"run": "injected-1"})
    assert refined.status_code == 202
    read = program.send("GET", f"/projects/ward/refinements/{refined.json()['id']}").json()
    assert (read["source_name"], read["gold"], read["effort"]["annotations"]) == ("injected-1", 1, 0)
    assert len(program.send("GET", "/projects/ward/refinements").json()["items"]) == 1
    refused = program.send("POST", "/projects/ward/refinements", {"run": "nothing"})
    assert refused.json()["errors"][0]["field"] == "run"


def test_a_token_that_only_reads_starts_nothing(bench):
    program = Program(bench.mia, scope="read")
    assert program.send("GET", "/projects/ward/injections").status_code == 200
    assert program.send("POST", "/projects/ward/injections", {"gold": 1}).status_code == 403
    assert program.send("POST", "/projects/ward/refinements", {"run": "injected-1"}).status_code == 403
