"""The pages of models, and uploads: valid files, invalid files, and the process that opens them."""

import io
import json
import pickle
import re
import zipfile
from dataclasses import replace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse
from django.utils.html import escape

from annotations.core.errors import ServiceError
from annotations.core.templatetags.coefficients import percent
from annotations.domain.files import zips
from annotations.domain.files.zips import MOST_ENTRIES
from annotations.jobs.runner import run as work
from annotations.models import Event, Job, StoredFile
from models_runtime.backends.base import BackendError
from models_runtime.backends.files import unpack
from models_runtime.core.registry import TRAINABLE
from models_runtime.models import Run, TrainedModel
from models_runtime.training.services import trained as service
from models_runtime.training.services.training import start_training
from tests.domain.files.test_zips import archive as of_so_many
from tests.factories import make_member, make_project
from tests.worlds.checks import check_page

pytestmark = pytest.mark.queue

State = TrainedModel.State


@pytest.fixture
def manager(world, client):
    client.force_login(world.manager)
    return client


def page(name, *arguments):
    return reverse(name, args=["ward", *arguments])


def said(response):
    return [str(message) for message in response.context["messages"]]


def refused(response, form, field):
    """The errors of a field, which the page must show."""
    assert response.status_code == 422
    html = check_page(response)
    reasons = response.context[form].errors[field]
    assert all(escape(reason) in html for reason in reasons)
    return reasons


def content_of(model):
    return b"".join(bytes(chunk.data) for chunk in model.stored_file.chunks.order_by("number"))


def test_from_the_form_to_a_card_with_scores_and_a_run(world, manager):
    form = {"gold": 1, "algorithm": "ap", "name": "Ward <b>", "token": "t"}
    there = [manager.post(page("model_train"), form).url for _ in range(2)]
    model = TrainedModel.objects.get(name="Ward <b>")
    assert there == [page("model", model.pk)] * 2
    waiting = manager.get(there[0]).content.decode()
    assert 'hx-trigger="every 1s"' in waiting and "In training" in waiting
    work(model.job_id)
    fragment = manager.get(there[0], headers={"HX-Request": "true"}).content.decode()
    assert "<h1>" not in fragment and "hx-trigger" not in fragment
    shown = manager.get(there[0]).content.decode()
    for words in ("Scores on held-out notes", "plot-line", "Characters found", "16 notes, 64 spans", "Ward &lt;b&gt;"):
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


def test_f1_on_few_held_out_notes_has_its_interval(world, manager, model):
    assert model.card["held_out"] == 4
    few, f1 = model.card["scores"]["few_notes"], model.card["scores"]["levels"][0]["micro"]["f1"]
    assert few["low"] <= f1 <= few["high"]
    around = f"[{few['low']:.3f}, {few['high']:.3f}]"
    shown, listed = check_page(manager.get(page("model", model.pk))), check_page(manager.get(page("models")))
    assert shown.count(around) == 2, "in the headline and in the table of levels"
    assert listed.count(around) == 1
    for html in (shown, listed):
        assert html.count(">few notes<") == html.count("On fewer than 20 notes, the F1 of exact spans has a") == 1
    out = io.StringIO()
    call_command("models", "ward", stdout=out)
    assert f"F1 {f1:.4f} (few notes: " in out.getvalue()
    assert f"interval {few['low']:.4f} to {few['high']:.4f})" in out.getvalue()


def test_fully_masked_notes_are_shown_by_label_and_missing_in_an_older_card(world, manager, model):
    masked = [row["fully_masked"] for row in model.card["scores"]["labels"]]
    shown = check_page(manager.get(page("model", model.pk)))
    for of in (of for of in masked if of["notes"]):
        assert f"{of['all_found']} of {of['notes']}; {percent(of['low'])} to {percent(of['high'])}" in shown
    assert "Fully masked notes" in shown and any(of["notes"] for of in masked)
    for row in model.card["scores"]["labels"]:
        del row["fully_masked"]
    model.save()
    assert "; 2% to" not in check_page(manager.get(page("model", model.pk)))
    out = io.StringIO()
    call_command("models", "ward", "--json", stdout=out)
    assert [row["label"] for row in json.loads(out.getvalue())["models"][0]["labels"]]


def test_without_an_interval_the_page_says_why_or_needs_none(world, manager, model):
    pages = [page("models"), page("model", model.pk)]
    scores = dict(model.card["scores"])
    model.card["scores"] = {name: value for name, value in scores.items() if name != "few_notes"}
    model.save()
    for address in pages:
        shown = check_page(manager.get(address))
        assert ">few notes<" in shown and 'class="interval"' not in shown
    out = io.StringIO()
    call_command("models", "ward", stdout=out)
    assert "(few notes: " in out.getvalue() and "interval" in out.getvalue()
    model.card["scores"] = scores | {"notes": 20, "few_notes": None}
    model.save()
    for address in pages:
        shown = check_page(manager.get(address))
        assert "few notes" not in shown and 'class="interval"' not in shown


def test_a_viewer_sees_models_and_no_forms(world, client, model):
    client.force_login(world.viewer)
    for address in (page("models"), page("model", model.pk)):
        shown = client.get(address).content.decode()
        assert "crf-1" in shown
        for words in ("Start training", "Upload", "Rename", "Retire", "Download"):
            assert words not in shown


@pytest.mark.django_db
def test_a_project_without_gold_links_to_gold(client):
    client.force_login(make_member(make_project("empty"), "manager"))
    shown = client.get(reverse("models", args=["empty"])).content.decode()
    assert reverse("gold", args=["empty"]) in shown


def test_form_errors_are_shown(world, manager):
    form = {"gold": 9, "algorithm": "bilstm:quick", "grouping": 4, "name": "Mine", "token": "t"}
    response = manager.post(page("model_train"), form)
    assert response.status_code == 422
    html = check_page(response)
    assert response.context["train"].errors == {"gold": ["There is no gold version 9. Frozen versions: 1."]}
    assert "Training was not started." in html and 'role="alert" tabindex="-1" autofocus' in html
    assert 'value="Mine"' in html and 'name="grouping" value="4"' in html  # the values entered stay
    assert re.findall(r'value="([^"]+)" required checked', html) == ["bilstm:quick"]


def test_an_invalid_number_is_an_error_of_its_field(world, manager):
    form = {"gold": 1, "algorithm": "bilstm:quick", "adapt": "1e3", "token": "t"}
    for number in ("33", "x", "²", "9" * 5000):
        response = manager.post(page("model_train"), form | {"grouping": number})
        assert response.status_code == 422 and response.context["train"].errors.keys() == {"grouping", "adapt"}
        html = check_page(response)
        assert f'value="{number}"' in html and 'aria-invalid="true"' in html
    # A backend that doesn't group sentences ignores the field.
    assert manager.post(page("model_train"), form | {"grouping": "x", "algorithm": "crf:ap"}).status_code == 302


def test_a_model_is_downloaded_and_uploaded(world, manager, model):
    fetched = manager.get(page("model_file", model.pk))
    data = b"".join(fetched.streaming_content)
    assert data == content_of(model) and "crf-1.zip" in fetched["Content-Disposition"]
    assert Event.objects.filter(verb="file.downloaded").count() == 1
    TrainedModel.objects.update(state=State.RETIRED)
    # A double click is one model.
    for message in ("The model was uploaded.", "The project already has this model. Nothing was changed."):
        response = manager.post(
            page("model_upload"), {"file": SimpleUploadedFile("m.zip", data), "name": "mine"}, follow=True
        )
        assert said(response) == [message]
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
        (pickle.dumps(Evil()), "Pickles and other formats are never opened"),
        (zipped(data__pkl=pickle.dumps(Evil()), version="3"), "contains no card.json"),
        (b"", "empty"),
        (b"lCRF" + b"\0" * 100, "never opened"),
        (zipped(card__json="{}", lexicon__json="{}", model__crfsuite=b"lCRF"), "deidreview-crf-1"),
    ],
)
def test_invalid_files_are_rejected(world, manager, model, data, why):
    response = manager.post(page("model_upload"), {"file": SimpleUploadedFile("m.zip", data), "name": "mine"})
    assert refused(response, "upload", "file") and 'value="mine"' in response.content.decode()
    if data:
        with pytest.raises(ServiceError, match=why):
            service.upload_model(project=world.project, content=io.BytesIO(data), actor=None)
    assert TrainedModel.objects.get() == model and StoredFile.objects.get() == model.stored_file


def test_an_archive_of_very_many_files_is_rejected_by_its_directory(world, manager, model):
    data = b"PK\3\4" + of_so_many(MOST_ENTRIES + 1).getvalue()
    response = manager.post(page("model_upload"), {"file": SimpleUploadedFile("m.zip", data)}, follow=True)
    # Python's own zipfile would read the whole directory before looking for the card.
    assert refused(response, "upload", "file") and "be read" in response.content.decode()
    assert TrainedModel.objects.get() == model


def test_a_worker_counts_the_files_of_a_model_too(model, tmp_path, monkeypatch):
    file = tmp_path / "m.zip"
    file.write_bytes(content_of(model))
    assert len(unpack(file, "deidreview-crf-1", "model.crfsuite")[2])
    monkeypatch.setattr(zips, "MOST_ENTRIES", 2)
    with pytest.raises(BackendError, match="it must contain exactly"):
        unpack(file, "deidreview-crf-1", "model.crfsuite")


def test_damaged_weights_are_rejected(world, manager, model):
    with zipfile.ZipFile(io.BytesIO(content_of(model))) as archive:
        members = {name.replace(".", "__"): archive.read(name) for name in archive.namelist()}
    # Weights with an unknown type, ids out of range, and values that are no numbers.
    weights = members["model__crfsuite"]
    broken = zipped(**members | {"model__crfsuite": weights[:60] + b"\xff\xff\xff\x7f" * 200 + weights[860:]})
    response = manager.post(page("model_upload"), {"file": SimpleUploadedFile("m.zip", broken)})
    (why,) = refused(response, "upload", "file")
    assert why.startswith("This file is not a deidreview-crf-1 model: ") and "damaged" in why
    assert TrainedModel.objects.get() == model


@pytest.fixture
def upload_with(world, manager, model):
    """`upload_with(counts)`: upload a trained model again, with other values in its card. Return the reasons."""
    with zipfile.ZipFile(io.BytesIO(content_of(model))) as archive:
        members = {name.replace(".", "__"): archive.read(name) for name in archive.namelist()}

    def upload(change):
        changed = zipped(**members | {"card__json": json.dumps(json.loads(members["card__json"]) | change)})
        response = manager.post(page("model_upload"), {"file": SimpleUploadedFile("m.zip", changed)})
        assert TrainedModel.objects.get() == model
        return refused(response, "upload", "file")

    return upload


def test_a_card_with_impossible_counts_is_rejected(upload_with):
    for counts in ({"notes": -1}, {"iterations": -3}, {"notes": 2.5}, {"notes": True}, {"notes": 10**9}):
        (why,) = upload_with(counts)
        assert "counts" in why


def test_a_card_with_hostile_texts_is_rejected(upload_with):
    for change in (
        {"algorithm": "lbfgs\ud800"},
        {"algorithm": "lbfgs\0"},
        {"label_set": "meddocan\u202e"},
        {"labels": ["A\u2066B"]},
        {"format": "deidreview-\ud800"},
        {"format": ["\ud800"]},
    ):
        (why,) = upload_with(change)
        assert not any(character in why for character in "\ud800\0\u202e\u2066")


def test_a_file_that_crashes_the_child_is_rejected(world, manager, model, monkeypatch):
    crashing = replace(TRAINABLE["crf"], child="tests.training.child_that_crashes")
    monkeypatch.setitem(TRAINABLE, "crf", crashing)
    again = SimpleUploadedFile("m.zip", content_of(model))
    response = manager.post(page("model_upload"), {"file": again, "name": "again"})
    assert refused(response, "upload", "file") == ["This file can't be used: opening it crashes (signal 11)."]
    assert TrainedModel.objects.get() == model


def test_too_large_uploads_are_rejected(world, settings):
    settings.UPLOAD_MAX_BYTES = 10
    with pytest.raises(ServiceError, match="The file is too large"):
        service.upload_model(project=world.project, content=io.BytesIO(b"x" * 11), actor=None)


def test_renaming_and_retiring(world, manager, model):
    start_training(project=world.project, gold=1, actor=None, key="b", name="taken")
    manager.post(page("model_rename", model.pk), {"name": " Better "})
    model.refresh_from_db()
    assert model.name == "Better"
    for name, why in (("taken", "already exists"), ("", "is required"), ("rules", "is reserved for a backend")):
        response = manager.post(page("model_rename", model.pk), {"name": name})
        assert why in refused(response, "rename", "name")[0]
        assert response.context["rename"]["name"].value() == name
    for _ in range(2):
        manager.post(page("model_retire", model.pk))
    model.refresh_from_db()
    assert (model.state, model.name) == (State.RETIRED, "Better")
    assert Event.objects.filter(verb="model.retired").count() == 1
    assert manager.get(page("model_file", model.pk)).status_code == 404
    waiting = TrainedModel.objects.get(name="taken")
    response = manager.post(page("model_retire", waiting.pk), follow=True)
    assert "still being trained" in said(response)[0]


def test_a_model_that_can_not_be_run_says_why(world, manager, model):
    TrainedModel.objects.update(card=model.card | {"labels": ["PLANET"]})
    assert (
        "This model has labels that the project doesn&#x27;t have: PLANET"
        in manager.get(page("model", model.pk)).content.decode()
    )
    assert "Can't run" in manager.get(page("models")).content.decode()
