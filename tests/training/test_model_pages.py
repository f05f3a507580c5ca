"""The pages of models, and files from outside: what is taken, what is refused, and by whom it is opened."""

import io
import json
import pickle
import re
import zipfile
from dataclasses import replace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.jobs.runner import run as work
from annotations.models import Event, Job, StoredFile
from models_runtime.core.registry import TRAINABLE
from models_runtime.models import Run, TrainedModel
from models_runtime.training.services import trained as service
from models_runtime.training.services.training import start_training
from tests.factories import make_member, make_project
from tests.worlds.checks import check_page

pytestmark = [pytest.mark.queue, pytest.mark.once]

State = TrainedModel.State


@pytest.fixture
def manager(world, client):
    client.force_login(world.manager)
    return client


def page(name, *arguments):
    return reverse(name, args=["ward", *arguments])


def said(response):
    return [str(message) for message in response.context["messages"]]


def content_of(model):
    return b"".join(bytes(chunk.data) for chunk in model.stored_file.chunks.order_by("number"))


def test_from_the_form_to_a_card_with_scores_and_a_run(world, manager):
    form = {"gold": 1, "algorithm": "ap", "name": "Ward <b>", "token": "t"}
    there = [manager.post(page("model_train"), form).url for _ in range(2)]
    model = TrainedModel.objects.get()
    assert there == [page("model", model.pk)] * 2
    waiting = manager.get(there[0]).content.decode()
    assert 'hx-trigger="every 1s"' in waiting and "In training" in waiting
    work(model.job_id)
    fragment = manager.get(there[0], headers={"HX-Request": "true"}).content.decode()
    assert "<h1>" not in fragment and "hx-trigger" not in fragment
    shown = manager.get(there[0]).content.decode()
    for words in ("On the notes held out", "plot-line", "Characters found", "16 notes, 64 spans", "Ward &lt;b&gt;"):
        assert words in shown
    assert "Ward <b>" not in shown
    assert "Ward &lt;b&gt;" in manager.get(page("models")).content.decode()
    assert f'value="model:{model.pk}"' in manager.get(page("runs")).content.decode()
    run_page = manager.post(page("run_start"), {"backend": f"model:{model.pk}", "token": "r"}).url
    run = Run.objects.get()
    work(run.job_id)
    shown = manager.get(run_page).content.decode()
    assert "Ward &lt;b&gt;-1" in shown and page("model", model.pk) in shown
    assert f"<code>run:{run.author.name}</code>".replace("<b>", "&lt;b&gt;") in shown
    assert run_page in manager.get(page("model", model.pk)).content.decode()


def test_a_viewer_sees_models_and_no_forms(world, client, trained):
    model, _ = trained(iterations=3)
    client.force_login(world.viewer)
    for address in (page("models"), page("model", model.pk)):
        shown = client.get(address).content.decode()
        assert "crf-1" in shown
        for words in ("Start training", "Upload", "Rename", "Retire", "Download"):
            assert words not in shown


@pytest.mark.django_db
def test_a_project_without_gold_says_the_way(client):
    client.force_login(make_member(make_project("ward"), "manager"))
    assert page("gold") in client.get(page("models")).content.decode()


def test_what_the_form_refuses_is_said(world, manager):
    form = {"gold": 9, "algorithm": "bilstm:quick", "grouping": 4, "name": "Mine", "token": "t"}
    response = manager.post(page("model_train"), form)
    assert response.status_code == 422
    html = check_page(response)
    assert 'role="alert" tabindex="-1" autofocus>There is no gold version 9; frozen versions: 1.<' in html
    assert 'value="Mine"' in html and 'min="1" max="32" value="4"' in html  # what was filled in stays
    assert re.findall(r'value="([^"]+)" required checked', html) == ["bilstm:quick"]


def test_a_model_goes_out_and_comes_in_again(world, manager, trained):
    model, _ = trained(iterations=5)
    fetched = manager.get(page("model_file", model.pk))
    data = b"".join(fetched.streaming_content)
    assert data == content_of(model) and "crf-1.zip" in fetched["Content-Disposition"]
    assert Event.objects.filter(verb="file.downloaded").count() == 1
    TrainedModel.objects.update(state=State.RETIRED)
    for _ in range(2):  # a double click is one model
        response = manager.post(
            page("model_upload"), {"file": SimpleUploadedFile("m.zip", data), "name": "mine"}, follow=True
        )
        assert said(response) == ["The model was taken."]
    brought = TrainedModel.objects.get(state=State.READY)
    assert (brought.name, brought.card["labels"], brought.card["uploaded"]) == ("mine", model.card["labels"], True)
    assert brought.card["sha256"] == model.card["sha256"]
    assert StoredFile.objects.filter(kind="model").count() == 2
    assert manager.get(page("model", brought.pk)).status_code == 200
    manager.post(page("run_start"), {"backend": f"model:{brought.pk}", "token": "r"})
    work(Run.objects.get().job_id)
    assert Job.objects.get(kind="run").state == Job.State.DONE


def zipped(**members):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "."), data)
    return made.getvalue()


class Evil:
    def __reduce__(self):
        return (print, ("opened",))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (pickle.dumps(Evil()), "pickles and other formats are never opened"),
        (zipped(data__pkl=pickle.dumps(Evil()), version="3"), "holds no card.json"),
        (b"", "empty"),
        (b"lCRF" + b"\0" * 100, "never opened"),
        (zipped(card__json="{}", lexicon__json="{}", model__crfsuite=b"lCRF"), "deidreview-crf-1"),
    ],
)
def test_what_is_no_model_is_refused(world, manager, data, why):
    manager.post(page("model_upload"), {"file": SimpleUploadedFile("m.zip", data)})
    if data:
        with pytest.raises(ServiceError, match=why):
            service.upload_model(project=world.project, content=io.BytesIO(data), actor=None)
    assert not TrainedModel.objects.exists() and not StoredFile.objects.exists()


def test_weights_that_are_damaged_are_refused(world, manager, trained):
    model, _ = trained(iterations=3)
    with zipfile.ZipFile(io.BytesIO(content_of(model))) as archive:
        members = {name.replace(".", "__"): archive.read(name) for name in archive.namelist()}
    # Of no kind that there is, of a place far outside, and no number.
    weights = members["model__crfsuite"]
    broken = zipped(**members | {"model__crfsuite": weights[:60] + b"\xff\xff\xff\x7f" * 200 + weights[860:]})
    response = manager.post(page("model_upload"), {"file": SimpleUploadedFile("m.zip", broken)}, follow=True)
    assert len(said(response)) == 1 and "damaged" in said(response)[0]
    assert said(response)[0].startswith("This file is no deidreview-crf-1 model: ")
    assert TrainedModel.objects.get() == model


@pytest.mark.parametrize(
    "counts", [{"notes": -1}, {"iterations": -3}, {"notes": 2.5}, {"notes": True}, {"notes": 10**9}]
)
def test_a_card_whose_counts_can_not_be_is_refused(world, manager, trained, counts):
    model, _ = trained(iterations=3)
    with zipfile.ZipFile(io.BytesIO(content_of(model))) as archive:
        members = {name.replace(".", "__"): archive.read(name) for name in archive.namelist()}
    changed = zipped(**members | {"card__json": json.dumps(json.loads(members["card__json"]) | counts)})
    response = manager.post(page("model_upload"), {"file": SimpleUploadedFile("m.zip", changed)}, follow=True)
    assert said(response) == ["This file is refused: its card's counts must be whole numbers from 0."]
    assert TrainedModel.objects.get() == model


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "change",
    [
        {"algorithm": "lbfgs\ud800"},
        {"algorithm": "lbfgs\0"},
        {"label_set": "meddocan\u202e"},
        {"labels": ["A\u2066B"]},
        {"labels": ["A\ud800"]},
        {"format": "deidreview-\ud800"},
        {"format": ["\ud800"]},
    ],
)
def test_a_card_with_hostile_words_is_refused(world, manager, trained, change):
    model, _ = trained(iterations=3)
    with zipfile.ZipFile(io.BytesIO(content_of(model))) as archive:
        members = {name.replace(".", "__"): archive.read(name) for name in archive.namelist()}
    changed = zipped(**members | {"card__json": json.dumps(json.loads(members["card__json"]) | change)})
    response = manager.post(page("model_upload"), {"file": SimpleUploadedFile("m.zip", changed)}, follow=True)
    assert response.status_code == 200 and len(said(response)) == 1
    assert not any(character in said(response)[0] for character in "\ud800\0\u202e\u2066")
    assert TrainedModel.objects.get() == model


def test_a_file_that_crashes_its_reader_is_refused(world, manager, trained, monkeypatch):
    model, _ = trained(iterations=3)
    crashing = replace(TRAINABLE["crf"], child="tests.training.child_that_crashes")
    monkeypatch.setitem(TRAINABLE, "crf", crashing)
    again = SimpleUploadedFile("m.zip", content_of(model))
    response = manager.post(page("model_upload"), {"file": again, "name": "again"}, follow=True)
    assert said(response) == ["This file is refused: it is damaged, opening it crashes (signal 11)."]
    assert TrainedModel.objects.get() == model


def test_more_than_an_upload_may_hold_is_refused(world, settings):
    settings.UPLOAD_MAX_BYTES = 10
    with pytest.raises(ServiceError, match="more than is taken at once"):
        service.upload_model(project=world.project, content=io.BytesIO(b"x" * 11), actor=None)


def test_renaming_and_retiring(world, manager, trained):
    model, _ = trained(iterations=3)
    start_training(project=world.project, gold=1, actor=None, key="b", name="taken")
    manager.post(page("model_rename", model.pk), {"name": " Better "})
    model.refresh_from_db()
    assert model.name == "Better"
    for name, why in (("taken", "exists already"), ("", "1 to 80"), ("rules", "means a backend")):
        response = manager.post(page("model_rename", model.pk), {"name": name}, follow=True)
        assert why in said(response)[0]
    for _ in range(2):
        manager.post(page("model_retire", model.pk))
    model.refresh_from_db()
    assert (model.state, model.name) == (State.RETIRED, "Better")
    assert Event.objects.filter(verb="model.retired").count() == 1
    assert manager.get(page("model_file", model.pk)).status_code == 404
    waiting = TrainedModel.objects.get(name="taken")
    response = manager.post(page("model_retire", waiting.pk), follow=True)
    assert "still being trained" in said(response)[0]


def test_a_model_that_can_not_be_run_says_why(world, manager, trained):
    model, _ = trained(iterations=3)
    TrainedModel.objects.update(card=model.card | {"labels": ["PLANET"]})
    assert "It has labels that this project lacks: PLANET" in manager.get(page("model", model.pk)).content.decode()
    assert "Can't be run" in manager.get(page("models")).content.decode()
