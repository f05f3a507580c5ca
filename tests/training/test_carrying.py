"""A model's calibration travels with its file: by page, command and API, to another project."""

import hashlib
import io
import json
import zipfile
from types import SimpleNamespace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse

from annotations.core.stored_files import open_stored
from annotations.jobs.runner import run as work
from annotations.models import Event, Span
from models_runtime.calibration.services import withdraw
from models_runtime.core.zip_comments import comment_of, with_comment, without_comment
from models_runtime.models import Calibration, Run, TrainedModel
from models_runtime.runs.services.runs import start_run
from tests import factories as make
from tests.training.conftest import made_notes
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

pytestmark = pytest.mark.queue


@pytest.fixture
def calibrated(world, trained, monkeypatch):
    """A trained model with its calibration, and another project without gold."""
    monkeypatch.setattr("annotations.domain.calibration.fitting.LEAST", 10)
    model, _ = trained(iterations=5)
    other = make.make_project("clinic")
    for number, (text, _spans) in enumerate(made_notes(3)):
        make.make_note(other, text, f"n-{number}")
    manager = make.make_member(other, "manager", "olga")
    return SimpleNamespace(model=model, made=Calibration.objects.get(), other=other, olga=manager, world=world)


def ran(project, model, user):
    run = start_run(project=project, backend=f"model:{model.pk}", actor=user, key=f"run-{model.pk}")
    work(run.job_id)
    return Run.objects.select_related("calibration", "author").get(pk=run.pk)


def stored_of(model):
    return open_stored(model.stored_file).read()


def uploaded(client, data, slug="clinic"):
    file = SimpleUploadedFile("m.zip", data)
    return client.post(reverse("model_upload", args=[slug]), {"file": file, "name": "theirs"}, follow=True)


def test_an_uploaded_model_suggests_with_the_calibration_of_the_downloaded_one(calibrated, client):
    client.force_login(calibrated.world.manager)
    fetched = client.get(reverse("model_file", args=["ward", calibrated.model.pk]))
    data = b"".join(fetched.streaming_content)
    assert int(fetched["Content-Length"]) == len(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None and archive.comment.startswith(b"deidreview calibrations 1 ")
    client.force_login(calibrated.olga)
    assert "The model was uploaded." in uploaded(client, data).content.decode()
    model = TrainedModel.objects.get(project=calibrated.other)
    assert stored_of(model) == stored_of(calibrated.model) and model.card["sha256"] == calibrated.model.card["sha256"]
    came = Calibration.objects.get(project=calibrated.other)
    assert (came.curves, came.word, came.revision) == (
        calibrated.made.curves, calibrated.made.word, calibrated.made.revision,
    )  # fmt: skip
    assert (came.uploaded, came.held_out, came.gold_version, came.run) == (True, True, None, None)
    assert Event.objects.get(verb="model.uploaded").data["calibrations"] == 1
    assert before_the_first_run(client, calibrated.olga, model) == (None, True)
    run = ran(calibrated.other, model, calibrated.olga)
    assert run.full_revision == f"{came.revision}+{came.word}"
    first = ran(calibrated.world.project, calibrated.model, calibrated.world.manager)
    assert confidences(run) == confidences(first) != []
    for name, pk in (("model", model.pk), ("calibration", came.pk), ("run", run.pk)):
        html = check_page(client.get(reverse(name, args=["clinic", pk])))
        assert "plot-calibrated" in html
    html = check_page(client.get(reverse("calibration", args=["clinic", came.pk])))
    assert "of another project or installation" in html and "/gold/" not in html.split("Details")[-1]
    assert "calibrated by the model's file" in check_page(client.get(reverse("backends", args=["clinic"])))
    html = check_page(client.get(reverse("model", args=["clinic", model.pk])))
    assert "A run applies it if the revision is the same." in html


def before_the_first_run(client, user, model):
    """What the API says of the calibration. The page doesn't call it applied yet."""
    html = check_page(client.get(reverse("backends", args=["clinic"])))
    assert "calibration from the model's file" in html and "Applied if the revision is the same." in html
    assert "calibrated by" not in html and "Not applied" not in html
    rows = Program(user).get("/projects/clinic/backends").json()
    (found,) = [row["calibration"] for row in rows if row["backend"] == f"model:{model.pk}"]
    return found["applies"], found["uploaded"]


def test_a_newer_download_of_the_same_model_brings_its_new_calibrations(calibrated, client):
    client.force_login(calibrated.world.manager)
    there = reverse("model_file", args=["ward", calibrated.model.pk])
    data = b"".join(client.get(there).streaming_content)
    client.force_login(calibrated.olga)
    uploaded(client, data)
    model, first = TrainedModel.objects.get(project=calibrated.other), Calibration.objects.get(project=calibrated.other)
    withdraw(calibration=first, actor=calibrated.olga)
    assert "already has this model. Nothing was changed." in uploaded(client, data).content.decode()
    calibrated.made.pk, calibrated.made.revision = None, "crf-2-later"
    calibrated.made.save(force_insert=True)
    client.force_login(calibrated.world.manager)
    newer = b"".join(client.get(there).streaming_content)
    client.force_login(calibrated.olga)
    assert "A new calibration from the file was added." in uploaded(client, newer).content.decode()
    (added,) = Calibration.objects.filter(project=calibrated.other, withdrawn_at=None)
    assert (added.revision, added.model, added.uploaded) == ("crf-2-later", model, True), "the withdrawn one stays so"
    event = Event.objects.get(verb="model.calibrated")
    assert (event.actor, event.data) == (calibrated.olga, {"model": model.pk, "calibrations": 1})
    assert TrainedModel.objects.filter(project=calibrated.other).count() == 1
    assert "Nothing was changed." in uploaded(client, newer).content.decode()


def test_without_a_calibration_that_fits_the_download_is_the_stored_file(calibrated, client, monkeypatch):
    monkeypatch.setattr("models_runtime.training.services.carrying.MOST", 300)
    client.force_login(calibrated.world.manager)
    fetched = client.get(reverse("model_file", args=["ward", calibrated.model.pk]))
    data = b"".join(fetched.streaming_content)
    assert data == stored_of(calibrated.model) and int(fetched["Content-Length"]) == len(data)
    client.force_login(calibrated.olga)
    assert "The model was uploaded." in uploaded(client, data).content.decode()


def confidences(run):
    """The confidences of the first three notes, which have the same texts in both projects."""
    notes = sorted(set(Span.objects.filter(annotation_set__author=run.author).values_list(
        "annotation_set__document_id", flat=True
    )))[:3]  # fmt: skip
    rows = Span.objects.filter(annotation_set__author=run.author, annotation_set__document__in=notes)
    return list(rows.order_by("annotation_set__document", "start").values_list("start", "confidence", "raw_confidence"))


def test_by_command_and_api(calibrated, tmp_path):
    path, out = tmp_path / "m.zip", io.StringIO()
    call_command(
        "models", "ward", "--download", calibrated.model.name, "--to", str(path), "--by", "manager", stdout=out
    )
    call_command("models", "clinic", "--upload", str(path), "--name", "one", "--by", "olga", stdout=out)
    assert Calibration.objects.get(project=calibrated.other).word == calibrated.made.word
    program = Program(calibrated.olga)
    (listed,) = program.get("/projects/clinic/calibrations").json()["items"]
    assert (listed["uploaded"], listed["name"]) == (True, calibrated.made.word)
    (model,) = program.get("/projects/clinic/models").json()["items"]
    again = b"".join(program.get(f"/projects/clinic/models/{model['id']}/file").streaming_content)
    assert again == path.read_bytes(), "the calibration travels on"
    sent = program.upload("/projects/clinic/models/files", {"file": SimpleUploadedFile("m.zip", again)})
    assert (sent.status_code, sent.json()["id"], Calibration.objects.count()) == (201, model["id"], 2)


def test_a_withdrawn_calibration_stays_behind(calibrated, client):
    withdraw(calibration=calibrated.made, actor=None)
    client.force_login(calibrated.world.manager)
    fetched = client.get(reverse("model_file", args=["ward", calibrated.model.pk]))
    assert b"".join(fetched.streaming_content) == stored_of(calibrated.model)


def test_a_calibration_that_is_broken_or_of_another_file_is_refused(calibrated, client):
    client.force_login(calibrated.world.manager)
    data = b"".join(client.get(reverse("model_file", args=["ward", calibrated.model.pk])).streaming_content)
    client.force_login(calibrated.olga)
    own = calibrated.model.card["sha256"].encode()
    answer = uploaded(client, data.replace(own, hashlib.sha256().hexdigest().encode()))
    assert answer.status_code == 422 and "belongs to another file" in answer.content.decode()
    start = data.index(b"deidreview calibrations 1 ")
    plain, comment = stored_of(calibrated.model), data[start:]
    for old, new in ((b'"method":"beta-1"', b'"method":"beta-9"'), (b'"labels":{', b'"labels":[],"x":{')):
        assert old in comment
        answer = uploaded(client, b"".join(with_comment([plain], comment.replace(old, new, 1))))
        assert answer.status_code == 422 and "can&#x27;t be read" in answer.content.decode()
    assert not TrainedModel.objects.filter(project=calibrated.other).exists()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_comment_is_added_in_a_stream_and_removed_again(size):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("a.txt", "Anna " * 50)
    plain, comment = made.getvalue(), b"begin " + json.dumps({"a": 1}).encode()
    parts = [plain[at : at + size] for at in range(0, len(plain), size)]
    whole = io.BytesIO(b"".join(with_comment(parts, comment)))
    with zipfile.ZipFile(whole) as archive:
        assert archive.comment == comment and archive.read("a.txt") == b"Anna " * 50
    assert comment_of(whole, b"begin") == comment and comment_of(whole, b"other") == b""
    copy = io.BytesIO()
    without_comment(whole, comment, copy, 8)
    assert copy.read() == plain and comment_of(copy, b"begin") == b""
    with pytest.raises(ValueError, match="already has a comment"):
        list(with_comment([whole.getvalue()], b"x"))
