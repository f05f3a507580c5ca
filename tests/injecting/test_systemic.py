"""Errors from rejected suggestions, a CSV file, and clusters of rejected suggestions, by commands and pages."""

import io
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotations.models import AnnotationSet, Author, Event, Span
from annotations.ops.services.erasing import erase_patient
from models_runtime.injecting.services.starting import start_injection, terms_in
from models_runtime.models import InjectedRun, SystemicError, SystemicExample
from tests import factories as make
from tests.injecting.rejected import CLUBS, DRUGS, errors_of

pytestmark = [pytest.mark.queue]


def command(*words):
    out = io.StringIO()
    call_command(*map(str, words), "--json", stdout=out)
    return json.loads(out.getvalue())


def inject(*words):
    return command("inject_errors", "ward", "--gold", 1, "--rate", "1", *words)


def test_errors_of_the_log_are_injected_verbatim(reviewed):
    found = inject("--from-log", "--by", "mia")
    assert (found["possible"], found["injected"]) == ({"log": 13}, 13)
    errors = errors_of(found["run"])
    assert errors[-1] == ("caso-new", "omeprazol", "CITY", "", "log", "log")
    assert {text for _note, text, *_rest in errors} == {*CLUBS, *DRUGS}
    # They are annotations like any other, and gold has none of them.
    there = Span.objects.filter(annotation_set__author__name=found["run"], annotation_set__document=reviewed.last)
    assert (there.count(), set(there.values_list("source", flat=True))) == (3, {""})
    assert Author.objects.get(name=found["run"]).kind == Author.Kind.BENCH
    score = command("score_injection", "ward", found["run"], "--author", found["run"])
    assert (score["by_rule"]["log"]["caught"], score["by_rule"]["log"]["injected"]) == (0, 13)
    assert list(score["by_strategy"]) == ["log"]
    assert inject("--rules", "all", "--from-log")["possible"]["log"] == 13
    assert inject("--rules", "log")["possible"] == {"log": 13}


def test_rejections_that_overlap_gold_are_no_errors(reviewed):
    gold = AnnotationSet.objects.get(author__kind="gold", document=reviewed.notes[0])
    start = reviewed.notes[0].text.index("Real Betis")
    make.make_span(gold, start, start + 4, "HOSPITAL")
    found = command("systemic_errors", "ward")["clusters"]
    assert "Real Betis" not in str(found) and sum(one["size"] for one in found) == 11


def test_a_vocabulary_comes_from_a_csv_file(reviewed, tmp_path):
    file = tmp_path / "words.csv"
    file.write_text("string,label,count\nSocia,PATIENT,1\nfútbol,HOSPITAL,2\nGil,DOCTOR,1\n")
    found = inject("--from-csv", file)
    assert found["possible"] == {"csv": 8}
    assert errors_of(found["run"])[-2:] == [
        ("caso-new", "Socia", "PATIENT", "", "csv", "log"), ("caso-new", "fútbol", "HOSPITAL", "", "csv", "log"),
    ]  # fmt: skip
    # The words of the file are not kept after the drawing.
    assert InjectedRun.objects.get().terms == []
    both = inject("--rules", "cities", "--from-log", "--from-csv", file)
    assert list(both["possible"]) == ["cities", "log", "csv"]


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        ("word,label\na,CITY\n", "vocabulary", "has no column “string”"),
        ("string,label\na,CITY\nb,TOWN\n", "vocabulary", "Line 3: There is no label “TOWN”. Use one of: "),
        (None, "path", "Can't read"),
    ],
)
def test_errors_of_a_csv_file(reviewed, tmp_path, content, code, said):
    file = tmp_path / "words.csv"
    if content:
        file.write_text(content)
    out = io.StringIO()
    with pytest.raises(CommandError, match=said):
        call_command("inject_errors", "ward", "--gold", "1", "--from-csv", str(file), "--json", stdout=out)
    assert json.loads(out.getvalue())["code"] == code
    assert not InjectedRun.objects.exists()


def test_a_log_without_rejections_is_refused(frozen):
    with pytest.raises(CommandError, match=r"no rejected suggestion yet\. Review a run first"):
        call_command("inject_errors", "ward", "--gold", "1", "--from-log")
    assert command("systemic_errors", "ward") == {"clusters": [], "accepted": []}


def test_a_cluster_is_accepted_and_injected_into_other_notes(reviewed):
    listed = command("systemic_errors", "ward", "--by", "mia")
    assert listed == command("systemic_errors", "ward") and listed["accepted"] == []
    assert [(one["number"], one["label"], one["size"]) for one in listed["clusters"]] == [
        (1, "CITY", 6),
        (2, "CITY", 6),
    ]
    read = Event.objects.filter(verb="note.read", data__what="systemic errors").values_list("document_id", flat=True)
    assert set(read) == {example["note"] for one in listed["clusters"] for example in one["examples"]}
    clubs = next(one for one in listed["clusters"] if one["strings"][0]["string"] in CLUBS)
    assert {"club", "fútbol"} <= set(clubs["words"])
    made = command("systemic_errors", "ward", "--accept", clubs["number"], "--name", "clubs", "--by", "mia")
    assert made == {"rule": "systemic:clubs", "label": "CITY", "examples": 6} | {
        "accepted": [{"rule": "systemic:clubs", "label": "CITY", "examples": 6}]
    }
    assert made == command("systemic_errors", "ward", "--accept", clubs["number"], "--name", "clubs")
    assert Event.objects.filter(verb="systemic.accepted").count() == 1
    found = inject("--rules", "systemic:clubs")
    assert errors_of(found["run"]) == [
        ("caso-new", "Atlético Burgos", "CITY", "", "systemic:clubs", "systemic"),
    ]  # fmt: skip
    assert list(inject("--rules", "all")["possible"])[-1] == "systemic:clubs"
    # Removing it keeps the run and its figures.
    assert command("systemic_errors", "ward", "--remove", "clubs")["accepted"] == []
    assert command("score_injection", "ward", found["run"], "--author", found["run"])["injected"] == 1
    with pytest.raises(CommandError, match=r"Unknown: systemic:clubs"):
        inject("--rules", "systemic:clubs")


def test_errors_of_the_command(reviewed):
    for words, code in (
        (["--accept", "1"], "name"),
        (["--accept", "1", "--name", "Clubs!"], "name"),
        (["--accept", "9", "--name", "clubs"], "cluster"),
        (["--remove", "clubs"], "name"),
        (["--seed", "-1"], "seed"),
        (["--by", "vic"], "access"),
    ):
        out = io.StringIO()
        with pytest.raises(CommandError):
            call_command("systemic_errors", "ward", *words, "--json", stdout=out)
        assert json.loads(out.getvalue())["code"] == code, words
    assert not SystemicError.objects.exists()


def test_a_name_in_use(reviewed):
    command("systemic_errors", "ward", "--accept", "1", "--name", "clubs")
    with pytest.raises(CommandError, match="There is a systemic error “clubs” already"):
        command("systemic_errors", "ward", "--accept", "2", "--name", "clubs")


def test_erasing_a_patient_reaches_examples_and_vocabularies(reviewed):
    for number in (1, 2):
        command("systemic_errors", "ward", "--accept", number, "--name", f"cluster-{number}")
    terms = terms_in(reviewed.project, "string,label\nreal betis,CITY\nfútbol,CITY\nmoto,CITY\n", "x")
    waiting = start_injection(version=reviewed.version, actor=None, rules=[], terms=terms, key="k")
    erase_patient(project=reviewed.project, patient_id="p0", actor=reviewed.mia)
    assert SystemicExample.objects.count() == 11
    assert "Real Betis" not in json.dumps(command("systemic_errors", "ward"))
    waiting.refresh_from_db()
    assert waiting.terms == [["moto", "CITY", 1]]


def test_pages_offer_all_three(reviewed):
    client = Client()
    client.force_login(reviewed.mia)
    url, other = reverse("injections", args=["ward"]), reverse("systemic_errors", args=["ward"])
    page = client.get(url).content.decode()
    assert "Rejected suggestions" in page and other in page
    shown = client.get(other)
    assert "Real Betis" in (text := shown.content.decode()) and "Words around them:" in text
    assert Event.objects.filter(verb="note.read", data__what="systemic errors", actor=reviewed.mia).exists()
    key = next(one["one"].cluster.key for one in shown.context["clusters"] if "Betis" in str(one["one"].cluster))
    sent = {"key": key, "seed": "7", "name": "Clubs!"}
    wrong = client.post(other, sent)
    assert (wrong.status_code, "begin with a lowercase letter" in wrong.content.decode()) == (422, True)
    assert 'value="Clubs!"' in wrong.content.decode()
    stale = client.post(other, sent | {"name": "clubs", "key": "0" * 16})
    assert "New decisions changed the clusters" in stale.content.decode() and not SystemicError.objects.exists()
    assert client.post(other, sent | {"name": "clubs"})["Location"] == other
    assert "systemic:clubs" in client.get(other).content.decode()

    assert "Systemic: clubs" in client.get(url).content.decode()
    file = SimpleUploadedFile("words.csv", b"string,label\nSocia,TOWN\n")
    form = {"gold": "1", "rules": ["systemic:clubs", "log"], "rate": "1", "seed": "7", "name": "mine", "token": "t"}
    refused = client.post(url, form | {"vocabulary": file})
    assert refused.status_code == 422 and "Line 2: There is no label “TOWN”" in refused.content.decode()
    file = SimpleUploadedFile("words.csv", b"string,label\nSocia,PATIENT\n")
    assert client.post(url, form | {"vocabulary": file}).status_code == 302
    assert InjectedRun.objects.get().rules == ["systemic:clubs", "log", "csv"]
    file = SimpleUploadedFile("words.csv", b"\xff")
    only = {**form, "rules": [], "token": "u", "vocabulary": file}
    assert "The file is not UTF-8." in client.post(url, only).content.decode()
    assert "Choose at least one rule." in client.post(url, form | {"rules": [], "token": "u"}).content.decode()

    assert client.post(other, {"remove": "clubs"})["Location"] == other
    assert not SystemicError.objects.exists()
    assert "no systemic error “clubs”" in client.post(other, {"remove": "clubs"}, follow=True).content.decode()
