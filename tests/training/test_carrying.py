"""Held-out notes of a training calibrate its model, and the calibration travels with the model's file."""

import hashlib
import io
import json
import zipfile
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotations.core.services import ServiceError
from annotations.models import Event, Span
from models_runtime.models import Calibration, Run, TrainedModel
from models_runtime.training.jobs.calibration import calibration_by
from models_runtime.training.services.calibration import comment_of, with_comment, withdraw, without_comment
from tests import factories as make
from tests.held import made_once
from tests.training.conftest import build_world, content_of, made_notes, page, run_of, train
from tests.worlds.checks import check_page
from tests.worlds.programs import Program
from tests.zips import zipped

COMMENT = b"deidreview calibrations 1 "
LEAST = "models_runtime.training.rules.curves.LEAST"


def build_calibrated():
    """A trained model with its calibration, and another project without gold."""
    world = build_world()
    with patch(LEAST, 10):
        world.model, _ = train(world, iterations=5)
    world.made, world.other = Calibration.objects.get(), make.make_project("clinic")
    for number, (text, _spans) in enumerate(made_notes(3)):
        make.make_note(world.other, text, f"n-{number}")
    world.olga = make.make_member(world.other, "manager", "olga")
    return world


made_gold, world = made_once(build_calibrated, "long_lease", name="made_gold")


@pytest.fixture
def calibrated(world, monkeypatch, client):
    """That world, with `download()` by one manager and `upload(data)` by the other one."""
    monkeypatch.setattr(LEAST, 10)

    def download():
        client.force_login(world.manager)
        fetched = client.get(page("model_file", world.model.pk))
        data = b"".join(fetched.streaming_content)
        assert int(fetched["Content-Length"]) == len(data)
        return data

    def upload(data):
        client.force_login(world.olga)
        form = {"file": SimpleUploadedFile("m.zip", data), "name": "theirs"}
        answer = client.post(reverse("model_upload", args=["clinic"]), form, follow=True)
        return SimpleNamespace(status=answer.status_code, html=answer.content.decode())

    return SimpleNamespace(**vars(world), download=download, upload=upload)


def test_a_model_is_calibrated_on_held_out_notes(calibrated, client):
    model, made = calibrated.model, calibrated.made
    assert (made.held_out, made.model, made.backend) == (True, model, f"model:{model.pk}")
    assert (made.notes, made.gold_hash) == (4, calibrated.version.content_hash)
    assert 10 <= made.figures["before"]["spans"] <= 30
    pk = run_of(calibrated.project, made.backend).pk
    run = Run.objects.select_related("calibration", "author", "model__gold_version").get(pk=pk)
    assert run.full_revision == f"{made.revision}+{made.word}"
    assert not Span.objects.filter(annotation_set__author=run.author, raw_confidence=None).exists()
    client.force_login(calibrated.viewer)
    html = check_page(client.get(page("model", model.pk)))
    assert "plot-calibrated" in html and page("calibration", made.pk) in html
    assert "held out from training" in check_page(client.get(page("calibration", made.pk)))
    # Notes from which a model learned never count.
    for card_knows in (True, False):
        if not card_knows:  # a model from before cards had this field
            run.model.card.pop("held_out_notes")
        again = calibration_by(run, calibrated.version)
        assert (again.notes, again.left_out) == (4, {"test": 0, "learned": 16}) and again.revision == run.revision
    with patch.dict(run.model.card, {"held_out_notes": []}), pytest.raises(ServiceError, match="its model was trained"):
        calibration_by(run, calibrated.version)


def test_the_page_says_that_held_out_spans_are_too_few(calibrated, client, monkeypatch):
    monkeypatch.setattr(LEAST, 50)
    model, _ = train(calibrated, "few", iterations=3)
    assert not Calibration.objects.filter(model=model).exists()
    client.force_login(calibrated.viewer)
    assert "on held-out notes are too few" in check_page(client.get(page("model", model.pk)))
    run = run_of(calibrated.project, f"model:{model.pk}")
    assert run.full_revision == run.revision


def confidences(run):
    """The confidences of the first three notes, which have the same texts in both projects."""
    rows = Span.objects.filter(annotation_set__author=run.author).order_by("annotation_set__document", "start")
    notes = sorted(set(rows.values_list("annotation_set__document_id", flat=True)))[:3]
    return list(
        rows.filter(annotation_set__document__in=notes).values_list("start", "confidence", "raw_confidence")
    )  # fmt: skip


def test_an_uploaded_model_suggests_with_the_calibration_of_the_downloaded_one(calibrated, client):
    data = calibrated.download()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None and archive.comment.startswith(COMMENT)
    assert "The model was uploaded." in calibrated.upload(data).html
    model, came = (row.objects.get(project=calibrated.other) for row in (TrainedModel, Calibration))
    assert content_of(model) == content_of(calibrated.model) and model.card["sha256"] == calibrated.model.card["sha256"]
    for name in ("curves", "word", "revision"):
        assert getattr(came, name) == getattr(calibrated.made, name)
    assert (came.uploaded, came.held_out, came.gold_version, came.run) == (True, True, None, None)
    assert Event.objects.get(verb="model.uploaded").data["calibrations"] == 1

    def shown(name, *arguments):
        return check_page(client.get(reverse(name, args=["clinic", *arguments])))

    # Before the first run, nobody knows whether the calibration applies.
    html = shown("backends")
    assert "Applied if the revision is the same." in html and "calibrated by" not in html and "Not applied" not in html
    rows = Program(calibrated.olga).get("/projects/clinic/backends").json()
    (found,) = [row["calibration"] for row in rows if row["backend"] == f"model:{model.pk}"]
    assert (found["applies"], found["uploaded"]) == (None, True)
    run = run_of(calibrated.other, f"model:{model.pk}")
    assert run.full_revision == f"{came.revision}+{came.word}"
    first = run_of(calibrated.project, f"model:{calibrated.model.pk}")
    assert confidences(run) == confidences(first) != []
    for name, pk in (("model", model.pk), ("calibration", came.pk), ("run", run.pk)):
        assert "plot-calibrated" in shown(name, pk)
    html = shown("calibration", came.pk)
    assert "of another project or installation" in html and "/gold/" not in html.split("Details")[-1]
    assert "calibrated by the model's file" in shown("backends")


def test_a_newer_download_of_the_same_model_brings_its_new_calibrations(calibrated):
    data = calibrated.download()
    calibrated.upload(data)
    model, first = (row.objects.get(project=calibrated.other) for row in (TrainedModel, Calibration))
    withdraw(calibration=first, actor=calibrated.olga)
    assert "Nothing was changed." in calibrated.upload(data).html
    calibrated.made.pk, calibrated.made.revision = None, "crf-2-later"
    calibrated.made.save(force_insert=True)
    newer = calibrated.download()
    assert "A new calibration from the file was added." in calibrated.upload(newer).html
    (added,) = Calibration.objects.filter(project=calibrated.other, withdrawn_at=None)
    assert (added.revision, added.model, added.uploaded) == ("crf-2-later", model, True), "the withdrawn one stays so"
    event = Event.objects.get(verb="model.calibrated")
    assert (event.actor, event.data) == (calibrated.olga, {"model": model.pk, "calibrations": 1})
    assert TrainedModel.objects.filter(project=calibrated.other).count() == 1
    assert "Nothing was changed." in calibrated.upload(newer).html


def test_without_a_calibration_that_fits_the_download_is_the_stored_file(calibrated, monkeypatch):
    with monkeypatch.context() as small:
        small.setattr("models_runtime.training.services.calibration.MOST", 300)
        data = calibrated.download()
    assert data == content_of(calibrated.model) and "The model was uploaded." in calibrated.upload(data).html
    withdraw(calibration=calibrated.made, actor=None)
    assert calibrated.download() == content_of(calibrated.model)


def test_a_calibration_that_is_broken_or_of_another_file_is_refused(calibrated):
    data = calibrated.download()
    own = calibrated.model.card["sha256"].encode()
    answer = calibrated.upload(data.replace(own, hashlib.sha256().hexdigest().encode()))
    assert answer.status == 422 and "belongs to another file" in answer.html
    plain, comment = content_of(calibrated.model), data[data.index(COMMENT) :]
    for old, new in ((b'"method":"beta-1"', b'"method":"beta-9"'), (b'"labels":{', b'"labels":[],"x":{')):
        assert old in comment
        answer = calibrated.upload(b"".join(with_comment([plain], comment.replace(old, new, 1))))
        assert answer.status == 422 and "can&#x27;t be read" in answer.html
    assert not TrainedModel.objects.filter(project=calibrated.other).exists()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_comment_is_added_in_a_stream_and_removed_again(size):
    plain, comment = zipped({"a.txt": "Anna " * 50}), b"begin " + json.dumps({"a": 1}).encode()
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
