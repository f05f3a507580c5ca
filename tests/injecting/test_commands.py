"""Injecting errors and scoring who catches them, by the commands."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.domain.injecting.rules import Rule
from annotations.models import AnnotationSet, Author, Event, Job, Span
from annotations.ops.services.erasing import erase_patient
from models_runtime.injecting.services.starting import start_injection
from models_runtime.models import InjectedError, InjectedRun
from tests import factories as make

pytestmark = [pytest.mark.queue]


def command(*words):
    out = io.StringIO()
    call_command(*map(str, words), "--json", stdout=out)
    return json.loads(out.getvalue())


def inject(*words):
    return command("inject_errors", "ward", "--gold", 1, *words)


def spans_of(author):
    rows = Span.objects.filter(annotation_set__author__name=author)
    return {
        (note, start, end, label)
        for note, start, end, label in rows.values_list("annotation_set__document__name", "start", "end", "label__code")
    }


def test_all_rules_on_every_gold_span(frozen):
    found = inject("--rules", "all", "--rate", "1", "--seed", "7", "--by", "mia")
    assert (found["run"], found["injected"], found["spans"], found["notes"]) == ("injected-1", 8, 8, 2)
    assert found["possible"] == {
        "common-words": 1, "values-as-age": 1, "pressures-as-date": 2, "cities": 2, "wards-as-hospital": 2,
        "patient-doctor": 4, "age-date": 2, "hospital-as-organization": 0, "places": 0, "eponyms": 1,
    }  # fmt: skip
    assert list(found["possible"]) == list(Rule)
    gold, injected = spans_of("gold"), spans_of("injected-1")
    errors = InjectedError.objects.all()
    assert len(injected - gold) == errors.count() == 8
    assert len(gold - injected) == errors.exclude(was="").count()
    # Nothing of an annotation set tells what is an error.
    assert set(Span.objects.filter(annotation_set__author__name="injected-1").values_list("source", "provenance")) == {
        ("", None)
    }
    assert Author.objects.get(name="injected-1").kind == Author.Kind.BENCH
    event = Event.objects.get(verb="errors.injected")
    assert (event.actor, event.data["seed"], event.data["gold"]) == (frozen.mia, 7, 1)


def test_the_seed_decides_and_gold_stays(frozen):
    before = spans_of("gold")
    first, second, third = (inject("--rate", "0.5", "--seed", seed)["run"] for seed in (7, 7, 8))
    assert spans_of(first) == spans_of(second) != spans_of(third)
    assert spans_of("gold") == before
    assert inject("--rate", "0.001")["injected"] == 1


def test_scoring_by_rule(frozen):
    run = inject("--rate", "1", "--rules", "cities,eponyms,wards-as-hospital")["run"]
    assert command("score_injection", "ward", run, "--author", run) | {"by_rule": {}, "by_strategy": {}} == {
        "run": run, "author": run, "gold": 1, "notes": 2, "left_out": 0, "injected": 5, "caught": 0, "share": 0.0,
        "interval": [0.0, pytest.approx(0.52182, abs=1e-4)], "lost": 0, "untouched": 6, "collateral": 0,
        "collateral_share": 0.0, "by_rule": {}, "by_strategy": {},
    }  # fmt: skip
    # Ann repairs the first note's city, removes its ward and an untouched name, and has not read the second note.
    ann = make.make_member(frozen.project, user="ann")
    ours = [(13, 15, "AGE"), (35, 41, "CITY"), (45, 49, "DATE"), (60, 67, "DOCTOR")]
    make.make_set(frozen.notes[0], ann, ours, submitted=True)
    found = command("score_injection", "ward", run, "--author", "ann", "--by", "mia")
    assert (found["notes"], found["left_out"]) == (1, 1)
    assert (found["injected"], found["caught"], found["lost"]) == (2, 2, 0)
    assert (found["untouched"], found["collateral"]) == (4, 1)
    assert {rule: (row["caught"], row["injected"]) for rule, row in found["by_rule"].items()} == {
        "cities": (1, 1), "wards-as-hospital": (1, 1),
    }  # fmt: skip
    out = io.StringIO()
    call_command("score_injection", "ward", run, "--author", "ann", stdout=out)
    assert out.getvalue().splitlines() == [
        "ann on injected-1: caught 2 of 2 (100.00%), 95% interval 15.8% to 100.0%, 0 identifiers lost",
        "Collateral: 1 of 4 (25.00%) untouched gold spans changed",
        "  cities                     1 of 1 (100.00%), 95% interval 2.5% to 100.0%",
        "  wards-as-hospital          1 of 1 (100.00%), 95% interval 2.5% to 100.0%",
        "Notes that ann has not submitted, left out: 1",
    ]


def test_errors_of_the_command(frozen):
    for words, code in (
        (["--gold", "2"], "version"),
        (["--rules", "cities,towns"], "rules"),
        (["--rules", " "], "rules"),
        (["--rate", "0"], "rate"),
        (["--rate", "nan"], "rate"),
        (["--seed", "-1"], "seed"),
        (["--by", "vic"], "access"),
        (["--by", "nobody"], "user"),
    ):
        out = io.StringIO()
        given = words if "--gold" in words else ["--gold", "1", *words]
        with pytest.raises(CommandError):
            call_command("inject_errors", "ward", *given, "--json", stdout=out)
        assert json.loads(out.getvalue())["code"] == code, words
    assert not InjectedRun.objects.exists() and not Job.objects.exists()


def test_a_name_in_use_and_unknown_names(frozen):
    inject("--name", "mine")
    with pytest.raises(CommandError, match=r"named “mine” already exists"):
        inject("--name", "mine")
    with pytest.raises(CommandError, match=r"no run of injected errors “theirs”. Runs: mine"):
        command("score_injection", "ward", "theirs", "--author", "ann")
    with pytest.raises(CommandError, match=r"No author “ann” has submitted notes of “mine”. Authors: mine"):
        command("score_injection", "ward", "mine", "--author", "ann")


def test_a_double_click_injects_once_and_an_unfinished_run_is_not_scored(frozen):
    first, second = (start_injection(version=frozen.version, actor=frozen.mia, key="k") for _ in range(2))
    assert first.pk == second.pk
    assert (InjectedRun.objects.count(), Job.objects.count()) == (1, 1)
    frozen_ann = make.make_member(frozen.project, user="ann")
    make.make_set(frozen.notes[0], frozen_ann, [], submitted=True)
    with pytest.raises(CommandError, match="not complete yet"):
        command("score_injection", "ward", "injected-1", "--author", "ann")


def test_erasing_a_patient_reaches_errors_and_sets(frozen):
    run = inject("--rate", "1")["run"]
    assert InjectedError.objects.filter(document=frozen.notes[0]).exists()
    erase_patient(project=frozen.project, patient_id="p1", actor=frozen.mia)
    assert set(InjectedError.objects.values_list("document__name", flat=True)) == {"case-2"}
    assert AnnotationSet.objects.filter(author__name=run).count() == 1
    assert command("score_injection", "ward", run, "--author", run)["notes"] == 1
