"""Runs at a masking threshold: by page, API and command; the figures of the hold-out; refusals; calibration."""

import pytest
from django.core.management import CommandError

from annotations.core.services import ServiceError
from annotations.models import GoldVersion, JobState, Span
from models_runtime.backends.marginals import is_added
from models_runtime.models import Run, TrainedModel
from models_runtime.runs.services.backends import ThresholdGoal
from models_runtime.runs.services.ensembles import MemberChoice, start_ensemble
from tests import factories as make
from tests.runs.conftest import command, finished
from tests.training.conftest import made_gold, made_model, manager, model, page, run_of, train, world
from tests.worlds.programs import Program, fields_of

__all__ = ["made_gold", "made_model", "manager", "model", "world"]

UNSURE = "Visita a Como con Gianni Verdi il 3 maggio a Lodi. Dott Bruni, Anna.\n"
LOW = {"wanted": ThresholdGoal(threshold=0.002)}


def spans_of(run):
    rows = Span.objects.filter(annotation_set__author=run.author)
    return set(rows.values_list("annotation_set__document", "start", "end", "label__code"))


def shown(client, *address):
    return client.get(page(*address)).content.decode()


def test_a_run_at_a_threshold_adds_to_the_best_path_and_says_so_everywhere(world, model, manager):
    points = TrainedModel.objects.get(pk=model.pk).card["scores"]["thresholds"]
    assert [point["threshold"] for point in points][:2] == [None, 0.5]
    recalls = [point["recall"] for point in points]
    assert recalls == sorted(recalls)
    make.make_note(world.project, UNSURE, "incerto")
    plain = run_of(world.project, model.name, "plain")
    run = run_of(world.project, model.name, "low", **LOW)
    assert run.params["threshold"] == 0.002 and run.author.name == f"{model.name}-above-0.002-1"
    assert run.revision == f"{plain.revision}-above-0.002" and spans_of(plain) < spans_of(run)
    added = Span.objects.filter(annotation_set__author=run.author, source__contains=" above ")
    assert added.count() == len(spans_of(run) - spans_of(plain))
    assert all(is_added(source) for source in added.values_list("source", flat=True))

    html = shown(manager, "run", run.pk)
    assert all(words in html for words in ("Masking threshold", "0.002", "leak-free notes"))
    assert "Masking threshold: 0.002" in shown(manager, "score", 1, run.author_id)
    assert "Masking by threshold" in shown(manager, "model", model.pk)
    program = Program(world.manager)
    found = program.get(f"/projects/ward/runs/{run.pk}").json()
    assert (found["masking_threshold"], found["on_hold_out"]) == (0.002, points[-1])
    by_api = program.get(f"/projects/ward/scores/1/{run.author_id}").json()["figures"]
    by_command = command("score", "ward", "--gold", "1", "--author", run.author.name)
    assert (by_api["masking_threshold"], by_command["masking_threshold"]) == (0.002, 0.002)
    compared = command("compare_runs", "ward", "--gold", "1", "--runs", f"{plain.author.name},{run.author.name}")
    assert [row["masking_threshold"] for row in compared["runs"]] == [None, 0.002]


def test_a_threshold_is_chosen_on_the_hold_out_by_command_page_and_api(world, model, manager):
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
    form = {"backend": f"model:{model.pk}", "token": "t", "precision": "0.95"}
    assert manager.post(page("run_start"), form).status_code == 302
    assert Run.objects.latest("pk").params == {"threshold": 0.1, "threshold_for": {"precision": 0.95}}
    program = Program(world.manager)
    assert program.post("/projects/ward/runs", {"backend": model.name, "recall": 0.95}).status_code == 202
    assert Run.objects.latest("pk").params["threshold"] == 0.1
    html = shown(manager, "runs")
    assert 'id="curves"' in html and "leak_free" in html
    refused = manager.post(page("run_start"), form | {"precision": "0.995", "token": "u"})
    assert refused.status_code == 422 and "The highest is 0.9900." in refused.content.decode()
    assert fields_of(program.post("/projects/ward/runs", {"backend": model.name, "recall": 0.999}))
    for words, why in (
        (["rules", "--threshold", "0.05"], "“rules” gives no probabilities of labels"),
        ([model.name, "--threshold", "1"], "must be between 0.001 and 0.999"),
        ([model.name, "--threshold", "0.1", "--recall", "0.9"], "Enter only one of"),
        (["ensemble", "--members", f"rules,{model.name}", "--threshold", "0.1"], "can't use a threshold: rules."),
        (["llm", "--threshold", "0.1"], "A language model gives no probabilities"),
    ):
        with pytest.raises(CommandError, match=why):
            command("run_model", "ward", *words)


def test_an_ensemble_of_models_reads_at_a_threshold_and_its_runs_are_refused(world, model):
    two, _job = train(world, key="two", algorithm="ap", iterations=4)

    def voting(key, *members, **options):
        members = [MemberChoice(name) for name in (model.name, *(members or [two.name]))]
        about = {"project": world.project, "method": "majority", "actor": None}
        return start_ensemble(**about, members=members, key=key, **options)

    plain, run = voting("plain"), voting("low", wanted=ThresholdGoal(0.005))
    for one in (plain, run):
        assert finished(one).state == JobState.DONE
    assert run.author.name == "ensemble-majority-above-0.005-1"
    assert spans_of(plain) <= spans_of(run) and run.revision == f"{plain.revision}-above-0.005"
    with pytest.raises(ServiceError, match=f"run:{plain.author.name}"):
        voting("runs", f"run:{plain.author.name}", wanted=ThresholdGoal(0.005))
    with pytest.raises(ServiceError, match="Enter a threshold"):
        voting("r", wanted=ThresholdGoal(recall=0.9))


def test_added_spans_are_calibrated_only_by_a_curve_of_their_own(world, model):
    make.make_note(world.project, UNSURE, "incerto")
    calibration = make.make_calibration(run_of(world.project, model.name, "plain"), GoldVersion.objects.get())
    make.make_member(world.project, "reviewer", "rev")
    for with_curve in (False, True):
        if with_curve:
            calibration.curves["added"] = [1.0, 1.0, -1.0]
            calibration.save()
        run = run_of(world.project, model.name, f"low-{with_curve}", **LOW)
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
