"""Models by commands, the API and pages: trained, uploaded, named, run, combined and retired; invalid files."""

import io
import json
import pickle
import re
from dataclasses import replace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils.html import escape

from annotations.agreement.templatetags.coefficients import percent
from annotations.core.services import ServiceError
from annotations.formats.files import zips
from annotations.formats.files.zips import MOST_ENTRIES
from annotations.jobs.runner import run as work
from annotations.models import Event, Job, StoredFile
from annotations.scores.selectors import LabelWords
from annotations.text.spans import Span
from models_runtime.backends.base import BackendError
from models_runtime.backends.files import digest, unpack_stage
from models_runtime.core.combining import models_behind
from models_runtime.core.registry import TRAINABLE
from models_runtime.models import Run, TrainedModel, TrainedModelState
from models_runtime.training.jobs.kept_models import rules_f1
from models_runtime.training.services import trained as service
from models_runtime.training.services.training import start_training
from tests import factories as make
from tests.formats.files.test_zips import archive as of_so_many
from tests.training.conftest import content_of, page
from tests.worlds.checks import check_page
from tests.worlds.commands import printed, told
from tests.worlds.programs import Program, fields_of
from tests.zips import unzipped, zipped

MODELS = "/projects/ward/models"


@pytest.fixture
def mia(world):
    return Program(world.manager)


def test_a_model_from_its_training_to_its_file(world, mia):
    choices = mia.get("/projects/ward/training-choices").json()
    assert choices["language_models"] == []
    assert {"lbfgs", "ap"} <= set(next(one for one in choices["kinds"] if one["kind"] == "crf")["algorithms"])
    answer = mia.post(MODELS, {"gold": 1, "algorithm": "ap", "iterations": 8, "name": "ours", "refit": True})
    (made,) = answer.json()["items"]
    assert (answer.status_code, made["state"], made["name"]) == (202, "training", "ours")
    assert answer.headers["Location"].endswith(f"/jobs/{made['job']}")
    work(Job.objects.get().pk)
    own = f"{MODELS}/{made['id']}"
    model = mia.get(own).json()
    assert (model["state"], model["gold"], model["held_out"], model["refit_elsewhere"]) == ("ready", 1, 4, None)
    assert (made["refit"], model["refit"]["notes"], model["refit"]["spans"]) == (None, 20, 80)
    assert model["sha256"] != model["refit"]["held_out_sha256"]
    assert model["thresholds"] == TrainedModel.objects.get().card["scores"]["thresholds"] != []
    assert model["f1"] == model["levels"]["label"]["f1"]
    stored = {row["label"]: row["fully_masked"] for row in TrainedModel.objects.get().card["scores"]["labels"]}
    assert {row["label"]: row["fully_masked"] for row in model["labels"]} == stored
    assert any(masked["notes"] for masked in stored.values())
    assert mia.patch(own, {"name": "theirs"}).json()["name"] == "theirs"
    assert fields_of(mia.patch(own, {"name": " "})) == ["name"] and mia.post(f"{own}/enough").json()["code"] == "kind"
    assert Program(world.viewer).get(f"{own}/file").status_code == 403, "a lexicon holds words of notes"
    content = b"".join(Program(world.reviewer).get(f"{own}/file").streaming_content)
    same = mia.upload(f"{MODELS}/files", {"file": SimpleUploadedFile("a.zip", content)})
    assert (same.status_code, same.json()["id"]) == (201, made["id"])
    assert (mia.post(f"{own}/retire").json()["state"], mia.get(f"{own}/file").status_code) == ("retired", 404)
    assert [one["id"] for one in mia.get(MODELS).json()["items"]] == [made["id"]]


def test_what_is_wrong_with_a_training_is_named(mia):
    for body, field in (
        ({"gold": 7}, "gold"), ({"kind": "none"}, "kind"), ({"algorithm": "none"}, "algorithm"), ({"runs": 3}, "runs"),
        ({"language": "xx"}, "language"), ({"settings": {"seed": 7}}, "settings"),
        ({"kind": "transformer", "settings": {"rate": 9, "chunks": "disjoint"}}, "settings.rate"),
    ):  # fmt: skip
        assert fields_of(mia.post(MODELS, {"gold": 1} | body)) == [field]
    parts = {"gold": 1, "kind": "stacked", "settings": {"embeddings": "none"}}
    assert fields_of(mia.post(f"{MODELS}/ablations", parts | {"groupings": [99]})) == ["groupings"]
    assert fields_of(mia.post(f"{MODELS}/ablations", parts)) == ["settings.embeddings"]
    assert fields_of(mia.upload(f"{MODELS}/files", {"file": SimpleUploadedFile("a.zip", b"x")})) == ["file"]


def test_only_members_of_another_project_learn_that_a_model_has_its_gold(world, mia):
    other = make.make_project("other")
    card = {"also": [{"project": other.pk, "gold": 3}]}
    model = TrainedModel.objects.create(project=world.project, name="a", backend="crf", state="retired", card=card)
    assert mia.get(f"{MODELS}/{model.pk}").json()["also"] == [{"project": None, "gold": 3}]
    make.make_member(other, "viewer", world.manager)
    assert mia.get(f"{MODELS}/{model.pk}").json()["also"] == [{"project": "other", "gold": 3}]


def train(name):
    return told("train_model", "ward", "--gold", 1, "--algorithm", "ap", "--iterations", 5, "--name", name, "--wait")


def refused(cases, *words):
    for more, why in cases:
        with pytest.raises(CommandError, match=why):
            call_command(*words, *more)


def test_a_model_is_trained_listed_and_combined(world):
    made = train("Mine")
    assert (made["model"], made["state"], made["trouble"], made["gold"]) == ("Mine", "ready", "", 1)
    assert set(made["levels"]) == {"label", "category", "binary"} and made["f1"] == made["levels"]["label"]["f1"] > 0.5
    (listed,) = told("models", "ward")["models"]
    assert listed["sha256"] == made["sha256"]
    said = printed("models", "ward")
    assert "Mine" in said and f"F1 {made['f1']:.4f}" in said
    train("Other")
    run = told("run_model", "ward", "Other", "--wait")
    assert (run["run"], run["state"], run["done"], run["failed"]) == ("Other-1", "done", 22, 0)

    ensemble = ("run_model", "ward", "ensemble")
    found = told(*ensemble, "--members", "Mine,run:Other-1", "--method", "union", "--wait")
    assert (found["run"], found["state"], found["done"], found["left_out"]) == ("ensemble-union-1", "done", 22, 0)
    assert [member["name"] for member in found["members"] if member["revision"]] == ["Mine", "run:Other-1"]
    behind = models_behind(Run.objects.get(author__name="ensemble-union-1"))
    assert [model.name for model in behind] == ["Mine", "Other"], "their training notes don't count in scores"
    weighted = (*ensemble, "--method", "weighted", "--members")
    found = told(*weighted, "Mine,Other", "--weights", ",0.5", "--wait")
    assert [member["weight"] for member in found["members"]] == [made["f1"], 0.5]
    cases = [
        ((*weighted[2:], "Mine,rules"), "“rules” has no score"), (("ensemble",), "at least 2"),
        (("ensemble", "--members", "Mine,Other", "--weights", "1"), "There are 1 weights for 2 members"),
        (("Mine", "--members", "Other"), "can only be used with ensemble"),
    ]  # fmt: skip
    refused(cases, "run_model", "ward")
    quick = (("--algorithm", "quick"), "Add --backend spacy or --backend bilstm")
    refused([quick], "train_model", "ward", "--gold", "1")


def test_a_model_is_downloaded_uploaded_renamed_and_retired(world, model, tmp_path):
    out = tmp_path / "mine.zip"

    def models(*words):
        return told("models", "ward", *words)["models"]

    models("--download", model.name, "--to", str(out), "--by", "manager")
    assert digest(out) == model.card["sha256"] and out.stat().st_mode & 0o777 == 0o600
    assert Event.objects.get(verb="file.downloaded").actor == world.manager
    assert models("--retire", model.name)[0]["state"] == "retired"
    (made,) = models("--upload", str(out), "--name", "Theirs")
    assert (made["state"], made["sha256"]) == ("ready", model.card["sha256"])
    assert models("--rename", f"model:{made['model_id']}", "--name", "Mine")[0]["model"] == "Mine"
    assert told("run_model", "ward", "Mine", "--wait")["done"] == 22
    cases = [
        (("--download", "Mine", "--to", str(out)), "already exists"),
        (("--download", f"model:{model.pk}", "--to", str(tmp_path / "no.zip")), "has no file"),
        (("--download", "Mine"), "must be used together"),
        (("--upload", str(tmp_path / "none.zip")), "No such file"),
        (("--upload", __file__), "never opened"),
        (("--rename", "Mine", "--name", "rules"), "is reserved for a backend"),
        (("--retire", "nothing"), "Existing models: Mine"),
        (("--name", "x"), "can only be used with"),
    ]
    refused(cases, "models", "ward")
    assert not (tmp_path / "no.zip").exists()


# ── Pages ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
State = TrainedModelState


def said(response):
    return [str(message) for message in response.context["messages"]]


def shown(client, *address):
    return client.get(page(*address)).content.decode()


def rejected(response, form="upload", field="file"):
    """The errors of a field, which the page must show."""
    assert response.status_code == 422
    html = check_page(response)
    reasons = response.context[form].errors[field]
    assert reasons and all(escape(reason) in html for reason in reasons)
    return reasons


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
    html = manager.get(there[0]).content.decode()
    for words in ("Scores on held-out notes", "plot-line", "Characters found", "16 notes, 64 spans", "Ward &lt;b&gt;"):
        assert words in html
    assert "Ward <b>" not in html and "Ward &lt;b&gt;" in shown(manager, "models")
    assert f'value="model:{model.pk}"' in shown(manager, "runs")
    run_page = manager.post(page("run_start"), {"backend": f"model:{model.pk}", "token": "r"}).url
    work(Run.objects.get().job_id)
    html = manager.get(run_page).content.decode()
    assert "<code>run:Ward &lt;b&gt;-1</code>" in html and there[0] in html
    assert run_page in manager.get(there[0]).content.decode()


def test_few_held_out_notes_have_intervals(manager, model):
    def pages():
        return [check_page(manager.get(address)) for address in (page("model", model.pk), page("models"))]

    scores = model.card["scores"]
    few, f1 = scores["few_notes"], scores["levels"][0]["micro"]["f1"]
    assert model.card["held_out"] == 4 and few["low"] <= f1 <= few["high"]
    around = f"[{few['low']:.2f}, {few['high']:.2f}]"
    assert [html.count(around) for html in pages()] == [2, 1], "in the headline, the table of levels, and the list"
    lines = printed("models", "ward")
    assert f"F1 {f1:.4f} (few notes: " in lines and f"{few['low']:.4f} to {few['high']:.4f})" in lines
    masked = [of for row in scores["labels"] if (of := row.pop("fully_masked"))["notes"]]
    said = [f"{of['all_found']} of {of['notes']}; {percent(of['low'])} to {percent(of['high'])}" for of in masked]
    assert said and set(said) <= set(re.findall(r"\d+ of \d+; \d+% to \d+%", pages()[0]))
    # An older card has neither.
    del scores["few_notes"]
    model.save()
    assert "; 2% to" not in pages()[0] and told("models", "ward")["models"][0]["labels"]
    assert all(">few notes<" in html and 'class="interval"' not in html for html in pages())
    model.card["scores"] = scores | {"notes": 20, "few_notes": None}
    model.save()
    assert not any("few notes" in html or 'class="interval"' in html for html in pages())


def test_the_rules_are_measured_on_the_hold_out():
    labels = LabelWords(["DATE"], {"DATE": "DATE"}, {}, {}, {})
    notes = [("Seen on 12/03/2021.", [Span(8, 18, "DATE")]), ("Seen on 13/03/2021, bed 4.", [Span(24, 25, "DATE")])]
    assert rules_f1("i2b2-2014", notes, labels) == 0.5 and rules_f1("own", notes, labels) is None


@pytest.mark.parametrize(("rules", "better"), [(1.0, True), (0.0, False), (None, False)])
def test_a_model_that_is_worse_than_the_rules_says_so(manager, model, rules, better):
    scores = model.card["scores"]
    assert scores["rules_f1"] is None  # The rules don't know the labels of this project.
    scores["levels"][0]["micro"]["f1"] = None  # Nothing was found.
    model.card["scores"] = scores | {"rules_f1": rules}
    model.save()
    assert told("models", "ward")["models"][0]["better_rules"] == (rules if better else None)
    assert ("the built-in rules are better" in check_page(manager.get(page("model", model.pk)))) == better


def test_form_errors_are_shown_and_the_values_stay(manager):
    form = {"gold": 9, "algorithm": "bilstm:quick", "grouping": 4, "name": "Mine", "token": "t"}
    response = manager.post(page("model_train"), form)
    html = check_page(response)
    assert response.status_code == 422 and response.context["train"].errors.keys() == {"gold"}
    assert 'role="alert" tabindex="-1" autofocus' in html
    assert 'value="Mine"' in html and 'name="grouping" value="4"' in html
    assert re.findall(r'value="([^"]+)" required checked', html) == ["bilstm:quick"]
    form |= {"gold": 1, "adapt": "1e3"}
    for number in ("33", "x", "²", "9" * 5000):
        response = manager.post(page("model_train"), form | {"grouping": number})
        assert response.status_code == 422 and response.context["train"].errors.keys() == {"grouping", "adapt"}
        html = check_page(response)
        assert f'value="{number}"' in html and 'aria-invalid="true"' in html
    # A backend that doesn't group sentences ignores the field.
    assert manager.post(page("model_train"), form | {"grouping": "x", "algorithm": "crf:ap"}).status_code == 302


MEMBERS = ("card.json", "lexicon.json", "model.crfsuite")


class Evil:
    def __reduce__(self):
        return (print, ("opened",))


def test_invalid_files_are_rejected(world, manager, model, settings):
    for data, why in (
        (pickle.dumps(Evil()), "Pickles and other formats are never opened"),
        (zipped({"data.pkl": pickle.dumps(Evil()), "version": "3"}), "contains no card.json"),
        (b"", ""),
        (b"lCRF" + b"\0" * 100, "never opened"),
        (zipped(dict.fromkeys(MEMBERS, "{}")), "deidreview-crf-1, deidreview-spacy-1"),
        # Python's own zipfile would read the whole directory before looking for the card.
        (b"PK\3\4" + of_so_many(MOST_ENTRIES + 1).getvalue(), "be read"),
    ):
        response = manager.post(page("model_upload"), {"file": SimpleUploadedFile("m.zip", data), "name": "mine"})
        assert why in rejected(response)[0] or not data
        assert 'value="mine"' in response.content.decode()
        assert TrainedModel.objects.get() == model and StoredFile.objects.get() == model.stored_file
    settings.UPLOAD_MAX_BYTES = 10
    with pytest.raises(ServiceError, match="The file is too large"):
        service.upload_model(project=world.project, content=io.BytesIO(b"x" * 11), actor=None)


def test_a_worker_counts_the_files_of_a_model_too(model, tmp_path, monkeypatch):
    file = tmp_path / "m.zip"
    file.write_bytes(content_of(model))
    assert len(unpack_stage(file, "deidreview-crf-1", "model.crfsuite")[2])
    monkeypatch.setattr(zips, "MOST_ENTRIES", 2)
    with pytest.raises(BackendError, match="it must contain exactly"):
        unpack_stage(file, "deidreview-crf-1", "model.crfsuite")


def test_changed_members_of_a_file_are_rejected(manager, model):
    """Damaged weights, and a card with impossible counts or hostile texts."""
    members = unzipped(content_of(model))

    def upload(name, data):
        file = SimpleUploadedFile("m.zip", zipped(members | {name: data}))
        (why,) = rejected(manager.post(page("model_upload"), {"file": file}))
        assert TrainedModel.objects.get() == model
        return why

    # Weights with an unknown type, ids out of range, and values that are no numbers.
    weights = members["model.crfsuite"]
    assert "damaged" in upload("model.crfsuite", weights[:60] + b"\xff\xff\xff\x7f" * 200 + weights[860:])
    card = json.loads(members["card.json"])
    for counts in ({"notes": -1}, {"notes": 2.5}, {"notes": True}, {"notes": 10**9}):
        assert "counts" in upload("card.json", json.dumps(card | counts))
    for texts in ({"algorithm": "lbfgs\0"}, {"label_set": "it\u202e"}, {"labels": ["A\u2066"]}, {"format": ["\ud800"]}):
        why = upload("card.json", json.dumps(card | texts))
        assert not any(character in why for character in "\ud800\0\u202e\u2066")


def test_a_file_that_crashes_the_child_is_rejected(manager, model, monkeypatch):
    crashing = replace(TRAINABLE["crf"], learner="tests.training.child_that_crashes.LEARNER")
    monkeypatch.setitem(TRAINABLE, "crf", crashing)
    again = SimpleUploadedFile("m.zip", content_of(model))
    assert "(signal 11)" in rejected(manager.post(page("model_upload"), {"file": again, "name": "again"}))[0]
    assert TrainedModel.objects.get() == model


def test_renaming_and_retiring(world, manager, model):
    waiting = start_training(project=world.project, gold=1, actor=None, key="b", name="taken")
    manager.post(page("model_rename", model.pk), {"name": " Better "})
    for name, why in (("taken", "already exists"), ("", "is required"), ("rules", "is reserved for a backend")):
        response = manager.post(page("model_rename", model.pk), {"name": name})
        assert why in rejected(response, "rename", "name")[0] and response.context["rename"]["name"].value() == name
    for _ in range(2):
        manager.post(page("model_retire", model.pk))
    assert (make.reread(model).state, model.name) == (State.RETIRED, "Better")
    assert Event.objects.filter(verb="model.retired").count() == 1
    assert manager.get(page("model_file", model.pk)).status_code == 404
    assert "still being trained" in said(manager.post(page("model_retire", waiting.pk), follow=True))[0]


def test_a_model_that_can_not_be_run_says_why(manager, model):
    TrainedModel.objects.update(card=model.card | {"labels": ["PLANET"]})
    assert "PLANET" in shown(manager, "model", model.pk) and "Can't run" in shown(manager, "models")
