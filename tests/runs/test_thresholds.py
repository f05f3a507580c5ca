"""Runs at a masking threshold: by page, API and command; the figures of the hold-out; refusals; calibration."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.jobs.runner import run as work
from annotations.models import GoldVersion, Job, Span
from models_runtime.backends.marginals import is_added
from models_runtime.models import Run, TrainedModel
from models_runtime.runs.services.ensembles import MemberChoice, start_ensemble
from models_runtime.runs.services.runs import start_run
from models_runtime.runs.services.thresholds import Wanted
from tests import factories as make
from tests.training.conftest import made_gold, make_job, no_redis, trained, world
from tests.worlds.programs import Program

__all__ = ["made_gold", "make_job", "no_redis", "trained", "world"]

pytestmark = pytest.mark.queue


def done(run):
    work(Job.objects.get(run=run).pk)
    run.refresh_from_db()
    assert run.job.state == Job.State.DONE, run.job.error
    return run


def spans_of(run):
    rows = Span.objects.filter(annotation_set__author=run.author)
    return set(rows.values_list("annotation_set__document", "start", "end", "label__code"))


def command(*words):
    out = io.StringIO()
    call_command(*words, "--json", stdout=out, stderr=io.StringIO())
    return json.loads(out.getvalue().splitlines()[-1])


def test_a_run_at_a_threshold_adds_to_the_best_path_and_says_so_everywhere(world, trained, client):
    model, _job = trained(iterations=4)
    points = TrainedModel.objects.get(pk=model.pk).card["scores"]["thresholds"]
    assert [point["threshold"] for point in points][:2] == [None, 0.5]
    recalls = [point["recall"] for point in points]
    assert recalls == sorted(recalls)
    make.make_note(world.project, "Visita a Como con Gianni Verdi il 3 maggio a Lodi. Dott Bruni, Anna.\n", "incerto")
    plain = done(start_run(project=world.project, backend=model.name, actor=None, key="plain"))
    run = done(
        start_run(project=world.project, backend=model.name, actor=None, key="low", wanted=Wanted(threshold=0.002))
    )
    assert run.params["threshold"] == 0.002
    assert run.author.name == f"{model.name}-above-0.002-1"
    assert run.revision == f"{plain.revision}-above-0.002"
    assert spans_of(plain) < spans_of(run)
    added = Span.objects.filter(annotation_set__author=run.author, source__contains=" above ")
    assert added.count() == len(spans_of(run) - spans_of(plain))
    assert all(is_added(source) for source in added.values_list("source", flat=True))

    client.force_login(world.manager)
    page = client.get(reverse("run", args=["ward", run.pk])).content.decode()
    assert "Masking threshold" in page
    assert "0.002" in page
    assert "leak-free notes" in page
    shown = Program(world.manager).get(f"/projects/ward/runs/{run.pk}").json()
    assert (shown["masking_threshold"], shown["on_hold_out"]) == (0.002, points[-1])
    score = client.get(reverse("score", args=["ward", 1, run.author_id])).content.decode()
    assert "Masking threshold: 0.002" in score
    by_api = Program(world.manager).get(f"/projects/ward/scores/1/{run.author_id}").json()["figures"]
    by_command = command("score", "ward", "--gold", "1", "--author", run.author.name)
    assert (by_api["masking_threshold"], by_command["masking_threshold"]) == (0.002, 0.002)
    compared = command("compare_runs", "ward", "--gold", "1", "--runs", f"{plain.author.name},{run.author.name}")
    assert [row["masking_threshold"] for row in compared["runs"]] == [None, 0.002]
    card = client.get(reverse("model", args=["ward", model.pk])).content.decode()
    assert "Masking by threshold" in card
    assert "Figures as a table" in card


def test_a_threshold_is_chosen_on_the_hold_out_by_command_page_and_api(world, trained, client):
    model, _job = trained(algorithm="ap", iterations=2)
    points = [
        {"threshold": None, "recall": 0.9, "precision": 1.0, "leak_free": 0.5},
        {"threshold": 0.1, "recall": 0.95, "precision": 0.99, "leak_free": 0.8},
        {"threshold": 0.01, "recall": 0.99, "precision": 0.9, "leak_free": 0.9},
    ]
    row = TrainedModel.objects.get(pk=model.pk)
    row.card["scores"]["thresholds"] = points
    row.save(update_fields=["card"])
    told = command("run_model", "ward", model.name, "--recall", "0.96", "--wait")
    assert (told["masking_threshold"], told["on_hold_out"]) == (0.01, points[2])
    client.force_login(world.manager)
    program = Program(world.manager)
    form = {"backend": f"model:{model.pk}", "token": "t", "precision": "0.95"}
    assert client.post(reverse("run_start", args=["ward"]), form).status_code == 302
    assert Run.objects.latest("pk").params == {"threshold": 0.1, "threshold_for": {"precision": 0.95}}
    body = {"backend": model.name, "recall": 0.95}
    assert program.post("/projects/ward/runs", body).status_code == 202
    assert Run.objects.latest("pk").params["threshold"] == 0.1
    page = client.get(reverse("runs", args=["ward"])).content.decode()
    assert 'id="curves"' in page
    assert "leak_free" in page
    refused = client.post(reverse("run_start", args=["ward"]), form | {"precision": "0.995", "token": "u"})
    assert refused.status_code == 422
    assert "The highest is 0.9900." in refused.content.decode()
    problem = program.post("/projects/ward/runs", {"backend": model.name, "recall": 0.999})
    assert problem.status_code == 422
    assert "No threshold of" in problem.content.decode()


def test_what_gives_no_probabilities_is_refused(world, trained):
    model, _job = trained(algorithm="ap", iterations=2)
    for words, why in (
        (["rules", "--threshold", "0.05"], "“rules” gives no probabilities of labels"),
        ([model.name, "--threshold", "1"], "must be between 0.001 and 0.999"),
        ([model.name, "--threshold", "0.1", "--recall", "0.9"], "Enter only one of"),
        (["ensemble", "--members", f"rules,{model.name}", "--threshold", "0.1"], "can't use a threshold: rules."),
        (["llm", "--threshold", "0.1"], "A language model gives no probabilities"),
    ):
        with pytest.raises(CommandError, match=why):
            command("run_model", "ward", *words)


def test_an_ensemble_of_models_reads_at_a_threshold_and_its_runs_are_refused(world, trained):
    one, _job = trained(algorithm="ap", iterations=2)
    two, _job = trained(key="two", algorithm="ap", iterations=4)
    members = [MemberChoice(one.name), MemberChoice(two.name)]
    plain = done(start_ensemble(project=world.project, members=members, method="majority", actor=None, key="plain"))
    run = done(
        start_ensemble(
            project=world.project, members=members, method="majority", actor=None, key="low", wanted=Wanted(0.005)
        )
    )
    assert run.author.name == "ensemble-majority-above-0.005-1"
    assert spans_of(plain) <= spans_of(run)
    assert run.revision == f"{plain.revision}-above-0.005"
    of_runs = [MemberChoice(one.name), MemberChoice(f"run:{plain.author.name}")]
    with pytest.raises(ServiceError, match=f"run:{plain.author.name}"):
        start_ensemble(
            project=world.project, members=of_runs, method="majority", actor=None, key="runs", wanted=Wanted(0.005)
        )
    with pytest.raises(ServiceError, match="Enter a threshold"):
        start_ensemble(
            project=world.project, members=members, method="majority", actor=None, key="r", wanted=Wanted(recall=0.9)
        )


def test_added_spans_are_calibrated_only_by_a_curve_of_their_own(world, trained):
    model, _job = trained(iterations=4)
    make.make_note(world.project, "Visita a Como con Gianni Verdi il 3 maggio a Lodi. Dott Bruni, Anna.\n", "incerto")
    plain = done(start_run(project=world.project, backend=model.name, actor=None, key="plain"))
    calibration = make.make_calibration(plain, GoldVersion.objects.get())
    make.make_member(world.project, "reviewer", "rev")
    for with_curve in (False, True):
        if with_curve:
            calibration.curves["added"] = [1.0, 1.0, -1.0]
            calibration.save()
        key = f"low-{with_curve}"
        run = done(
            start_run(project=world.project, backend=model.name, actor=None, key=key, wanted=Wanted(threshold=0.002))
        )
        assert run.calibration == calibration
        rows = Span.objects.filter(annotation_set__author=run.author)
        added, others = rows.filter(source__contains=" above "), rows.exclude(source__contains=" above ")
        assert added and others and not others.filter(raw_confidence=None)
        assert added.filter(raw_confidence=None).count() == (0 if with_curve else added.count())
        by = ("--by", "rev", "--preview")
        found = command("review_bulk", "ward", run.author.name, "--least", "0", "--with-gold", *by)["precision"]
        counted = rows if with_curve else others
        assert 0 < found["calibrated"] <= counted.count() and found["count"] <= rows.count()
        assert (found["calibrated"] == found["count"]) == with_curve
