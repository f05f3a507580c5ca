"""What scores, certificates, queues and uploaded files say of trainings, refits above all."""

import io
import json
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db.models.functions import Now
from django.urls import reverse

from annotations.core.hooks import models_of
from annotations.jobs.runner import run as work
from annotations.jobs.runner import take
from annotations.jobs.services.sweep import sweep
from annotations.models import Job
from models_runtime.models import Run, TrainedModel
from models_runtime.refining.services.starting import start_refinement
from models_runtime.runs.services.ensembles import MemberChoice, start_ensemble
from models_runtime.runs.services.merging import review_together
from models_runtime.runs.services.runs import start_run
from models_runtime.training.services.training import start_training
from tests import factories as make
from tests.worlds.programs import Program

pytestmark = pytest.mark.queue


def done(row):
    work(row.job_id)
    assert Job.objects.get(pk=row.job_id).state == Job.State.DONE, Job.objects.get(pk=row.job_id).error
    return row.author


def printed(*words):
    out = io.StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def test_a_score_says_on_page_command_and_api_that_the_model_was_trained_on_these_notes(world, trained, client):
    plain, _ = trained(key="plain", iterations=2)
    refit, _ = trained(key="refit", refit=True, iterations=2)
    about = {"project": world.project, "actor": world.manager}
    ran = {key: done(start_run(**about, backend=f"model:{model.pk}", key=key)) for key, model in
           (("plain", plain), ("refit", refit))}  # fmt: skip
    other = make.make_author(world.project, kind="run", name="other")
    source = ran["refit"].name
    refined = start_refinement(**about, source=source, method="external", key="refined").author
    for note in world.version.notes.select_related("document"):
        for author in (other, refined):
            make.make_set(note.document, author, submitted=True)
    members = [MemberChoice(f"model:{plain.pk}"), MemberChoice(f"model:{refit.pk}")]
    expected = {
        other: 0,
        ran["plain"]: 16,
        ran["refit"]: 20,
        done(review_together(**about, runs=[other.name, source], key="merged")): 20,
        done(start_ensemble(**about, members=members, method="union", key="both")): 20,
        refined: 20,
    }
    client.force_login(world.manager)
    program = Program(world.manager)
    for author, notes in expected.items():
        sentence = (
            f"The model of {author.name} was trained on {notes} of these notes, so its figures are too optimistic. "
            "Score it on other notes."
        )
        page = client.get(reverse("score", args=["ward", 1, author.pk])).content.decode()
        assert (sentence in page, "was trained on" in page) == (notes > 0, notes > 0), author
        said = printed("score", "ward", "--gold", "1", "--author", author.name).splitlines()
        assert (sentence in said) == (notes > 0), author
        figures = json.loads(printed("score", "ward", "--gold", "1", "--author", author.name, "--json"))
        assert figures["notes_learned_from"] == notes, author
        figures = program.get(f"/projects/ward/scores/1/{author.pk}").json()["figures"]
        assert figures["notes_learned_from"] == notes, author


def test_a_certificate_counts_the_notes_that_a_refitted_model_learned_from(world, trained):
    model, _ = trained(refit=True, iterations=2)
    run = start_run(project=world.project, backend=f"model:{model.pk}", actor=world.manager, key="r")
    (used,) = next(filter(None, models_of(author=Run.objects.get(pk=run.pk).author)))
    assert (used.model, used.notes, used.spans) == (model.name, 20, 80)


def test_an_uploaded_file_of_a_refitted_model_says_which_notes_chose_its_iterations(world, trained, client):
    model, _ = trained(refit=True, iterations=2)
    client.force_login(world.manager)
    data = b"".join(client.get(reverse("model_file", args=["ward", model.pk])).streaming_content)
    client.post(reverse("model_retire", args=["ward", model.pk]))  # an upload of the same file would be this model
    client.post(reverse("model_upload", args=["ward"]), {"file": SimpleUploadedFile("m.zip", data), "name": "copy"})
    copy = TrainedModel.objects.get(name="copy")
    html = client.get(reverse("model", args=["ward", copy.pk])).content.decode()
    assert "20 notes elsewhere. 4 of them chose the iterations, so figures on them are too optimistic." in html
    again = b"".join(client.get(reverse("model_file", args=["ward", copy.pk])).streaming_content)
    assert again == data, "the next installation gets the same statement"
    rows = {row["model"]: row for row in json.loads(printed("models", "ward", "--json"))["models"]}
    assert (rows["copy"]["refit_elsewhere"], rows[model.name]["refit_elsewhere"]) == (4, None)
    assert rows["copy"]["thresholds"] == [] != rows[model.name]["thresholds"]


def test_the_queues_say_that_a_training_lost_its_worker(transactional_db, world, client, request):
    request.getfixturevalue("redis_server")
    model = start_training(project=world.project, gold=1, actor=world.manager, key="k")
    take(model.job_id)
    Job.objects.filter(pk=model.job_id).update(lease_until=Now() - timedelta(seconds=1))
    out = io.StringIO()
    with pytest.raises(CommandError, match=r"no worker is running: cpu \(1\)"):
        call_command("queues", stdout=out)
    assert (
        "cpu: No cpu worker is running: manage.py work --queue cpu; jobs: 0 running, 0 waiting, 1 lost its worker\n"
        in out.getvalue()
    )
    client.force_login(world.manager)

    def page():
        return client.get(reverse("model", args=["ward", model.pk])).content.decode()

    assert (
        "Waiting for a worker to continue" in page() and "The worker was lost, and no cpu worker is running" in page()
    )
    sweep()  # A relay puts the job back on the queue, and still no worker takes it.
    out = io.StringIO()
    with pytest.raises(CommandError, match=r"no worker is running: cpu \(1\)"):
        call_command("queues", stdout=out)
    assert "jobs: 0 running, 1 waiting (the oldest for" in out.getvalue() and "lost" not in out.getvalue()
    assert "Waiting for a worker to continue" in page() and "No cpu worker is running" in page()
