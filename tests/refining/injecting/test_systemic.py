"""Errors from rejected suggestions, a vocabulary, and clusters of rejected suggestions, by every door."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.jobs.runner import run as work
from annotations.models import AnnotationSet, AuthorKind, Event, Span
from annotations.ops.services.erasing import erase_patient
from models_runtime.models import InjectedRun, SystemicError, SystemicExample
from models_runtime.refining.services import injecting
from tests import factories as make
from tests.refining.conftest import inject, score_of
from tests.refining.injecting.conftest import client_of
from tests.refining.injecting.rejected import CLUBS, DRUGS, errors_of
from tests.worlds.programs import Program

pytestmark = [pytest.mark.queue]


def accept(number, name, project):
    """Accept the cluster with this number under a name."""
    key = injecting.clusters_of(project, 7)[number - 1].cluster.key
    return injecting.accept_cluster(project=project, name=name, seed=7, actor=None, key=key)


def test_errors_of_the_log_are_injected_verbatim(reviewed):
    found = inject(rules=["log"])
    assert (found.possible_by_rule(), found.injected) == ({"log": 13}, 13)
    errors = errors_of(found.author.name)
    assert errors[-1] == ("caso-new", "omeprazol", "CITY", "", "log", "log")
    assert {text for _note, text, *_rest in errors} == {*CLUBS, *DRUGS}
    # They are annotations like any other, and gold has none of them.
    there = Span.objects.filter(annotation_set__author=found.author, annotation_set__document=reviewed.last)
    assert (there.count(), set(there.values_list("source", flat=True))) == (3, {""})
    assert found.author.kind == AuthorKind.BENCH
    score = score_of(found, found.author.name)
    assert (score["by_rule"]["log"]["caught"], score["by_rule"]["log"]["injected"]) == (0, 13)
    assert list(score["by_strategy"]) == ["log"]
    assert inject(rules=["all", "log"]).possible["log"] == 13


def test_rejections_that_overlap_gold_are_no_errors(reviewed):
    gold = AnnotationSet.objects.get(author__kind="gold", document=reviewed.notes[0])
    start = reviewed.notes[0].text.index("Real Betis")
    make.make_span(gold, start, start + 4, "HOSPITAL")
    found = [one.cluster for one in injecting.clusters_of(reviewed.project, 7)]
    assert "Real Betis" not in str(found) and sum(len(one.examples) for one in found) == 11


def test_a_vocabulary_comes_from_a_csv_file(reviewed):
    terms = injecting.terms_in(
        reviewed.project, "string,label,count\nSocia,PATIENT,1\nfútbol,HOSPITAL,2\nGil,DOCTOR,1\n", "x"
    )
    found = inject(rules=[], terms=terms)
    assert found.possible_by_rule() == {"csv": 8}
    assert errors_of(found.author.name)[-2:] == [
        ("caso-new", "Socia", "PATIENT", "", "csv", "log"), ("caso-new", "fútbol", "HOSPITAL", "", "csv", "log")
    ]  # fmt: skip
    # The words of the file are not kept after the drawing.
    assert found.terms == []
    assert inject(rules=["cities", "log"], terms=terms).rules == ["cities", "log", "csv"]


def test_errors_of_a_csv_file_and_of_a_log_without_rejections(frozen):
    for content, said in (
        ("word,label\na,CITY\n", "has no column “string”"),
        ("string,label\na,CITY\nb,TOWN\n", "Line 3: There is no label “TOWN”. Use one of: "),
    ):
        with pytest.raises(ServiceError, match=said):
            injecting.terms_in(frozen.project, content, "x")
    with pytest.raises(ServiceError, match=r"no rejected suggestion yet\. Review a run first"):
        inject(rules=["log"])
    assert injecting.clusters_of(frozen.project, 7) == [] and not InjectedRun.objects.exists()


def test_a_cluster_is_accepted_and_injected_into_other_notes(reviewed):
    listed = injecting.clusters_of(reviewed.project, 7)
    assert [(one.number, one.cluster.label, len(one.cluster.examples)) for one in listed] == [
        (1, "CITY", 6), (2, "CITY", 6)
    ]  # fmt: skip
    clubs = next(one for one in listed if one.strings[0][0] in CLUBS)
    made = accept(clubs.number, "clubs", reviewed.project)
    assert (made.label, made.examples.count()) == ("CITY", 6) and accept(
        clubs.number, "clubs", reviewed.project
    ) == made
    assert Event.objects.filter(verb="systemic.accepted").count() == 1
    with pytest.raises(ServiceError, match="There is a systemic error “clubs” already"):
        accept(3 - clubs.number, "clubs", reviewed.project)
    found = inject(rules=["systemic:clubs"])
    assert errors_of(found.author.name) == [("caso-new", "Atlético Burgos", "CITY", "", "systemic:clubs", "systemic")]
    assert inject(rules=["all"]).rules[-1] == "systemic:clubs"
    # Removing it keeps the run and its figures.
    injecting.remove_systemic(project=reviewed.project, name="clubs", actor=None)
    assert score_of(found, found.author.name)["injected"] == 1
    with pytest.raises(ServiceError, match=r"Unknown: systemic:clubs"):
        inject(rules=["systemic:clubs"])


def test_erasing_a_patient_reaches_examples_and_vocabularies(reviewed):
    for number in (1, 2):
        accept(number, f"cluster-{number}", reviewed.project)
    terms = injecting.terms_in(reviewed.project, "string,label\nreal betis,CITY\nfútbol,CITY\nmoto,CITY\n", "x")
    waiting = injecting.start_injection(project=reviewed.project, gold=1, actor=None, rules=[], terms=terms, key="k")
    erase_patient(project=reviewed.project, patient_id="p0", actor=reviewed.mia)
    assert SystemicExample.objects.count() == 11
    assert "Real Betis" not in str(injecting.clusters_of(reviewed.project, 7))
    waiting.refresh_from_db()
    assert waiting.terms == [["moto", "CITY", 1]]


def test_pages_offer_all_three(reviewed):
    client = client_of(reviewed.mia)
    url, other = reverse("injections", args=["ward"]), reverse("systemic_errors", args=["ward"])
    html = client.get(url).content.decode()
    assert "Rejected suggestions" in html and other in html
    shown = client.get(other)
    assert "Real Betis" in shown.content.decode()
    assert Event.objects.filter(verb="note.read", data__what="systemic errors", actor=reviewed.mia).exists()
    key = next(one["one"].cluster.key for one in shown.context["clusters"] if "Betis" in str(one["one"].cluster))
    sent = {"key": key, "seed": "7", "name": "Clubs!"}
    wrong = client.post(other, sent)
    assert wrong.status_code == 422 and 'value="Clubs!"' in wrong.content.decode()
    stale = client.post(other, sent | {"name": "clubs", "key": "0" * 16})
    assert "New decisions changed the clusters" in stale.content.decode() and not SystemicError.objects.exists()
    assert client.post(other, sent | {"name": "clubs"})["Location"] == other
    assert "systemic:clubs" in client.get(other).content.decode()

    form = {"gold": "1", "rules": ["systemic:clubs", "log"], "rate": "1", "seed": "7", "name": "mine", "token": "t"}

    def send(content, **more):
        return client.post(url, form | {"vocabulary": SimpleUploadedFile("words.csv", content)} | more)

    refused = send(b"string,label\nSocia,TOWN\n")
    assert refused.status_code == 422 and "Line 2: There is no label “TOWN”" in refused.content.decode()
    assert send(b"string,label\nSocia,PATIENT\n").status_code == 302
    assert InjectedRun.objects.get().rules == ["systemic:clubs", "log", "csv"]
    assert "The file is not UTF-8." in send(b"\xff", rules=[], token="u").content.decode()

    assert client.post(other, {"remove": "clubs"})["Location"] == other
    assert not SystemicError.objects.exists()
    assert "no systemic error “clubs”" in client.post(other, {"remove": "clubs"}, follow=True).content.decode()


PATH = "/projects/ward/injections"


def test_a_program_accepts_a_cluster_and_injects_errors_like_it(reviewed):
    program = Program(reviewed.mia)
    listed = program.get(f"{PATH}/systemic/clusters").json()["items"]
    clubs = next(one for one in listed if one["strings"][0]["string"] in CLUBS)
    example = clubs["examples"][0]
    assert (len(listed), clubs["label"], clubs["size"]) == (2, "CITY", 6) and {"club", "fútbol"} <= set(clubs["words"])
    assert example["marked"] in CLUBS and len(example["marked"]) == example["end"] - example["start"]
    read = Event.objects.filter(verb="note.read", data__what="systemic errors", actor=reviewed.mia)
    shown = {example["note"] for one in listed for example in one["examples"]}
    assert set(read.values_list("document_id", flat=True)) == shown
    wanted = {"name": "clubs", "key": clubs["key"]}
    for wrong, status in (({"key": "0" * 16}, 409), ({"name": "Clubs!"}, 422), ({"seed": -1}, 422)):
        assert program.post(f"{PATH}/systemic", wanted | wrong).status_code == status
    made = program.post(f"{PATH}/systemic", wanted)
    assert made.status_code == 201 and made.json()["rule"] == "systemic:clubs" and made.json()["examples"] == 6
    assert program.post(f"{PATH}/systemic", wanted).json() == made.json()
    assert program.get(f"{PATH}/systemic").json()["items"] == [made.json()]
    terms = [{"string": "Socia", "label": "PATIENT"}, {"string": " fútbol ", "label": "HOSPITAL", "count": 2}]
    asked = {"gold": 1, "rules": ["systemic:clubs", "log"], "terms": terms, "rate": 1, "name": "mine"}
    wrong = [*terms, {"string": "b", "label": "TOWN"}, {"string": " ", "label": "CITY"}]
    refused = program.post(PATH, asked | {"terms": wrong}).json()
    assert [row["field"] for row in refused["errors"]] == ["terms.2.label", "terms.3.string"]
    assert program.post(PATH, {"gold": 1, "rules": []}).status_code == 422 and not InjectedRun.objects.exists()
    started = program.post(PATH, asked)
    assert (started.status_code, started.json()["rules"]) == (202, ["systemic:clubs", "log", "csv"])
    row = InjectedRun.objects.get()
    assert row.terms == [["Socia", "PATIENT", 1], ["fútbol", "HOSPITAL", 2]]
    work(row.job_id)
    found = {row[1:3] for row in errors_of("mine") if row[0] == "caso-new"}
    expected = {("Atlético Burgos", "CITY"), ("omeprazol", "CITY"), ("Socia", "PATIENT"), ("fútbol", "HOSPITAL")}
    assert found and found <= expected
    one = f"{PATH}/systemic/{made.json()['id']}"
    assert [program.delete(one).status_code for _ in range(2)] == [204, 404]
    assert not SystemicError.objects.exists()
    assert Event.objects.filter(verb="systemic.removed", actor=reviewed.mia).count() == 1
