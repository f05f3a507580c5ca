"""BiLSTM-CRFs with stacked embeddings in the product: embeddings by name, several seeds, ablations, missing files."""

import io
import json
import statistics

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.core.stored_files import read_chunks, store_file
from annotations.domain.tokens import tokenize
from annotations.gold.services.splitting import split_version
from annotations.jobs.runner import run as work
from annotations.models import AnnotationSet, Document, Job, StoredFile
from annotations.ops.services.erasing import erase_patient
from models_runtime.core.model_files import cached
from models_runtime.core.stages import learned_from, stages
from models_runtime.models import Run, TrainedModel
from models_runtime.runs.services.runs import start_run
from models_runtime.training.services.groups import Variant, ablation, group_of, start_group
from models_runtime.training.services.model_cards import erased_since
from models_runtime.training.services.training import start_training
from tests.backends.made_vectors import as_word2vec_text, made_vectors
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

pytest.importorskip("torch")
bilstm = pytest.importorskip("models_runtime.backends.bilstm_crf.model")
characters = pytest.importorskip("models_runtime.backends.characters.model")

pytestmark = pytest.mark.queue

State = TrainedModel.State
SMALL = {"hidden": 16, "vocabulary": 10}


@pytest.fixture
def vectors(world):
    """A file of word vectors for half of the words of the notes."""
    folder = settings.DATA_DIR / "embeddings"
    folder.mkdir(parents=True, exist_ok=True)
    words = sorted(
        {word.strip(".:,").lower() for text in Document.objects.values_list("text", flat=True) for word in text.split()}
    )
    yield as_word2vec_text(folder / "small.vec", made_vectors([word for word in words if word][::2]))
    (folder / "small.vec").unlink(missing_ok=True)


@pytest.fixture
def language(trained):
    """A small character language model of the project."""
    model, job = trained(
        "l", backend="characters", algorithm="narrow", name="letters", iterations=1, settings={"width": 8}
    )
    assert (job.state, job.error) == (Job.State.DONE, "")
    return model


def page(name, *arguments):
    return reverse(name, args=["ward", *arguments])


def refused(world, why, **options):
    with pytest.raises(ServiceError, match=why) as caught:
        start_training(project=world.project, gold=1, actor=None, key="k", backend="stacked", **options)
    return caught.value.code


def test_embeddings_are_chosen_by_name_with_the_choices_in_the_errors(world):
    assert refused(world, "There are no embeddings. Copy word vectors to ") == "embeddings"
    TrainedModel.objects.create(project=world.project, name="lm", backend="characters", state=State.READY)
    assert refused(world, "There are no embeddings", settings={"embeddings": "lm"}) == "embeddings"  # it has no file


def test_a_file_that_does_not_exist_and_one_outside_the_folder(world, vectors):
    for name in ("big.vec", "../models", "/etc/passwd"):
        assert refused(world, f"no embeddings “{name}”.*: small.vec", settings={"embeddings": name}) == "embeddings"
    assert refused(world, "Choose embeddings, with commas between them: small.vec") == "embeddings"


def test_a_language_model_that_read_the_hold_out_is_refused(world, language):
    """The model learned from notes of this version that the later split holds out."""
    split_version(version=world.version, seed="other", shares={"train": 40, "dev": 30, "test": 30}, actor=None)
    code = refused(world, "“letters” learned from .* notes that this training", settings={"embeddings": "letters"})
    assert code == "embeddings"


def test_the_project_s_newest_language_model_is_the_default(world, client, language):
    """The page says so beside the empty field; without a name, the page, the command and the API use it."""
    TrainedModel.objects.create(project=world.project, name="no file", backend="characters", state=State.READY)
    client.force_login(world.manager)
    form = client.get(page("models")).context["train"]
    assert form["stacked-embeddings"].value() is None
    assert "letters. If empty, the newest language model" in form["stacked-embeddings"].help_text
    assert form["bilstm-characters"].help_text.startswith("One of: letters.")
    choices = Program(world.manager).get("/projects/ward/training-choices").json()
    assert choices["language_models"] == choices["embeddings"] == ["letters"]
    words = ["--gold", "1", "--backend", "stacked", "--iterations", "1", "--set", "hidden=16", "--name", "it"]
    call_command("train_model", "ward", *words, stdout=io.StringIO())
    row = TrainedModel.objects.get(name="it")
    assert row.params["embeddings"] == [{"name": "letters", "model": language.pk}]
    assert row.params["settings"] == {"hidden": 16}


def test_the_default_language_model_has_not_read_the_hold_out(world, language):
    newer = TrainedModel.objects.get(pk=language.pk)
    newer.pk, newer.name, newer.job = None, "of another split", None
    newer.card = newer.card | {"held_out_notes": []}
    kind, project = StoredFile.Kind.MODEL, world.project
    newer.stored_file = store_file(project=project, kind=kind, name="m.zip", content=io.BytesIO(b"m"), actor=None)
    newer.save()
    given = {"project": world.project, "gold": 1, "actor": None, "backend": "stacked"}
    assert start_training(**given, key="a").params["embeddings"] == [{"name": "letters", "model": language.pk}]
    with pytest.raises(ServiceError, match="Every character language model of this project learned") as caught:
        start_training(**given, key="b", random_split=8)
    assert caught.value.code == "embeddings"


def test_a_bilstm_crf_takes_a_language_model_of_the_project(world, trained, client, language):
    """The model contains it and learns none of its own; the page names it."""
    options = {"backend": "bilstm", "algorithm": "quick", "iterations": 1, "settings": {"characters": "letters"}}
    model, job = trained("b", name="with", **options)
    assert (job.state, job.error) == (Job.State.DONE, "")
    inside = bilstm.load_model(cached(model)).characters.state_dict()
    own = characters.load_model(cached(language))[1].state_dict()
    assert inside.keys() == own.keys() and all(inside[name].equal(own[name]) for name in own)
    client.force_login(world.manager)
    shown = check_page(client.get(page("model", model.pk)))
    assert "<dt>Character language model</dt><dd>letters</dd>" in shown
    run = start_run(project=world.project, backend="with", actor=world.manager, key="r")
    work(run.job_id)
    assert AnnotationSet.objects.filter(author=run.author).count() == 22


def test_a_model_has_learned_from_the_notes_of_its_language_model(world, language):
    """Its own gold version was deleted; what its language model learned from is still known."""
    row = TrainedModel.objects.create(
        project=world.project, name="in", backend="bilstm", state=State.READY,
        params={"embeddings": [{"name": "letters", "model": language.pk}]},
    )  # fmt: skip
    assert len(learned_from(row)) == len(learned_from(language)) == language.card["notes"]
    later = TrainedModel.objects.create(project=world.project, name="later", params={"base_model": row.pk})
    assert [each.name for each in stages(later)] == ["letters", "in", "later"]
    assert not erased_since(row)
    erase_patient(project=world.project, patient_id=Document.objects.first().patient_id, actor=world.manager)
    assert erased_since(TrainedModel.objects.get(pk=row.pk))


def test_what_is_wrong_with_a_language_model_is_said_beside_it(world, trained, client, language):
    client.force_login(world.manager)
    form = {"gold": 1, "algorithm": "bilstm:quick", "token": "t", "bilstm-characters": "other"}
    bad = client.post(page("model_train"), form)
    assert bad.status_code == 422
    error = "There is no character language model “other”. Choose one of: letters."
    assert bad.context["train"].errors["bilstm-characters"] == [error]
    given = {"project": world.project, "gold": 1, "actor": None, "key": "k", "backend": "bilstm"}
    base, _ = trained("q", backend="bilstm", algorithm="quick", iterations=1, name="first")
    with pytest.raises(ServiceError, match="can't add a language model") as caught:
        start_training(**given, base=base.name, settings={"characters": "letters"})
    assert caught.value.code == "characters"
    split_version(version=world.version, seed="other", shares={"train": 40, "dev": 30, "test": 30}, actor=None)
    with pytest.raises(ServiceError, match=r"“letters” learned from .* notes that this training") as caught:
        start_training(**given, settings={"characters": "letters"})
    assert caught.value.code == "characters"
    TrainedModel.objects.filter(backend="characters").update(state=State.RETIRED)
    with pytest.raises(ServiceError, match="This project has no character language model"):
        start_training(**given, settings={"characters": "letters"})


def test_from_the_form_with_two_seeds_to_a_run(world, client, language, vectors):
    """The stack is words and characters; the page shows both models' figures together, and warns without the file."""
    client.force_login(world.manager)
    assert "letters" in check_page(client.get(page("models")))
    form = {
        "gold": 1,
        "algorithm": "stacked:sgd",
        "iterations": 15,
        "grouping": 4,
        "runs": 2,
        "name": "it",
        "token": "t",
    }
    form |= {"stacked-embeddings": "small.vec, letters", "stacked-hidden": "16", "stacked-vocabulary": "10"}
    bad = client.post(page("model_train"), form | {"stacked-embeddings": "gone.vec"})
    assert bad.status_code == 422 and "stacked-embeddings" in bad.context["train"].errors
    there = {client.post(page("model_train"), form).url for _ in range(2)}
    first, second = TrainedModel.objects.filter(backend="stacked").order_by("pk")
    assert there == {page("model", first.pk)} and (first.name, second.name) == ("it-1", "it-2")
    assert [row.params["settings"]["seed"] for row in (first, second)] == [7, 8]
    for row in (first, second):
        work(row.job_id)
        row.refresh_from_db()
        assert row.state == State.READY, row.job.error
    assert first.card["sha256"] != second.card["sha256"]
    assert [each["name"] for each in first.card["embeddings"]] == ["small.vec", "letters"]
    assert first.card["embeddings"][1]["sha256"] == language.card["sha256"]
    (row,) = group_of(second)
    f1 = [each.card["scores"]["levels"][0]["micro"]["f1"] for each in (first, second)]
    assert row.figures["entity subcategory"].mean == pytest.approx(statistics.mean(f1))
    assert row.figures["entity subcategory"].deviation == pytest.approx(statistics.stdev(f1))
    assert row.figures["token binary"].mean > 0
    shown = check_page(client.get(page("model", first.pk)))
    assert "Trainings started together" in shown and page("model", second.pk) in shown and "±" in shown
    assert "2 trainings with different seeds" in shown
    assert "Sequences in a batch" not in shown and "small.vec" in shown and "Without them" not in shown
    run = start_run(project=world.project, backend="it-1", actor=world.manager, key="r")
    work(run.job_id)
    run.refresh_from_db()
    assert AnnotationSet.objects.filter(author=run.author).count() == 22 and "small.vec" not in run.revision
    vectors.unlink()
    assert "Without them, a run knows only the words" in check_page(client.get(page("model", first.pk)))
    TrainedModel.objects.filter(pk=language.pk).update(state=State.RETIRED)
    again = start_run(project=world.project, backend="it-2", actor=world.manager, key="s")
    work(again.job_id)
    again.refresh_from_db()
    assert "small.vec missing" in again.revision and again.job.state == Job.State.DONE
    assert Run.objects.count() == 2
    content = SimpleUploadedFile("model.zip", b"".join(read_chunks(first.stored_file)))
    TrainedModel.objects.filter(pk=first.pk).update(state=State.RETIRED, stored_file=None)
    uploaded = client.post(page("model_upload"), {"file": content, "name": "back"}, follow=True)
    html = check_page(uploaded)
    assert "Word vectors that are not in" in html and "small.vec" in html and "letters" in html


def test_the_hold_out_that_ends_a_training_is_named(world, client, trained, vectors):
    options = {"backend": "stacked", "algorithm": "sgd", "iterations": 2}
    chosen = {"embeddings": "small.vec", "anneal": "held-out", **SMALL}
    model, job = trained("a", settings=chosen, **options)
    assert (job.state, job.error) == (Job.State.DONE, "")
    client.force_login(world.manager)
    shown = check_page(client.get(page("model", model.pk)))
    assert "so the last value may be too good" in shown and "the last value is unbiased" not in shown
    assert "Perplexity" not in shown
    second, job = trained("b", base=model.name, settings={"seed": 9}, **options)
    assert (job.state, job.error) == (Job.State.DONE, "")
    assert second.card["embeddings"] == model.card["embeddings"]
    code = refused(world, "brings its own embeddings", base=model.name, settings={"embeddings": "small.vec"})
    assert code == "embeddings"


def test_several_seeds_by_command_with_mean_and_deviation(world, vectors):
    words = ["--gold", "1", "--backend", "stacked", "--iterations", "2", "--runs", "2", "--name", "it", "--wait"]
    words += ["--set", "embeddings=small.vec", "--set", "hidden=16", "--set", "vocabulary=10"]
    out = io.StringIO()
    call_command("train_model", "ward", *words, stdout=out, stderr=io.StringIO())
    assert "Model it-1" in out.getvalue() and "Model it-2" in out.getvalue()
    assert "mean ± standard deviation: entity subcategory 0." in out.getvalue()
    with pytest.raises(CommandError, match="has no seed, so several trainings would give the same model"):
        call_command("train_model", "ward", "--gold", "1", "--runs", "2", stdout=io.StringIO())
    with pytest.raises(CommandError, match="must be between 1 and 10, not 11"):
        call_command("train_model", "ward", "--gold", "1", "--backend", "stacked", "--runs", "11", stdout=io.StringIO())


def test_an_ablation_by_command(world, client, vectors):
    words = ["--gold", "1", "--iterations", "2", "--set", "embeddings=small.vec", "--set", "hidden=16"]
    out = io.StringIO()
    call_command("ablation", "ward", *words, "--json", stdout=out, stderr=io.StringIO())
    found = json.loads(out.getvalue())["variants"]
    names = ["complete", "without CRF", "without LSTM", "without LSTM and CRF"]
    assert [row["variant"] for row in found] == names
    assert found[1]["models"] == ["ablation-without-CRF"]
    assert set(found[0]["f1"]) == {
        f"{u} {g}" for u in ("entity", "token") for g in ("subcategory", "category", "binary")
    }
    models = TrainedModel.objects.order_by("pk")
    assert [row.params["settings"].get("crf", True) for row in models] == [True, False, True, False]
    assert [row.params["settings"].get("lstm", True) for row in models] == [True, True, False, False]
    client.force_login(world.manager)
    shown = check_page(client.get(page("model", models[0].pk)))
    assert all(name in shown for name in names) and "LSTM layer" not in shown
    with pytest.raises(CommandError, match="already exists"):
        call_command("ablation", "ward", *words, stdout=io.StringIO())
    assert TrainedModel.objects.count() == 4, "all start or none"


def test_the_variants_of_an_ablation():
    found = ablation(["a.vec", "b", "c"], [1, 32])
    assert [each.name for each in found] == [
        "complete", "without a.vec", "without b", "without c", "without CRF", "without LSTM", "without LSTM and CRF",
        "SGF 1", "SGF 32",
    ]  # fmt: skip
    assert found[2].settings == {"embeddings": "a.vec, c"}
    assert (found[7].grouping, found[8].grouping) == (1, 32)
    with pytest.raises(ServiceError, match="between 1 and 32, not 33"):
        ablation(["a.vec"], [33])


def test_a_repeated_start_of_a_group_gives_the_same_models_and_a_failed_one_none(world, vectors):
    given = {"project": world.project, "gold": 1, "actor": None, "backend": "stacked"}
    given["settings"] = {"embeddings": "small.vec"}
    one, two = (start_group(key="k", runs=3, name="it", **given) for _ in range(2))
    assert one == two and TrainedModel.objects.count() == Job.objects.count() == 3
    assert {row.params["group"] for row in two} == {one[0].pk}
    with pytest.raises(ServiceError, match="already exists"):
        start_group(key="other", runs=3, name="it", **given)
    with pytest.raises(ServiceError, match="CRF layer can't be “maybe”"):
        start_group(key="third", variants=[Variant("a"), Variant("b", {"crf": "maybe"})], **given)
    assert TrainedModel.objects.count() == 3


def test_tokens_per_sequence_by_split(world):
    """Catelli 2021, table 3.7. Each note has a header sentence and another one; 32 sentences are the whole note."""
    out = io.StringIO()
    call_command("grouped_sentences", "ward", "--gold", "1", "--json", stdout=out)
    (means,) = json.loads(out.getvalue())["tokens_per_sequence"].values()
    texts = world.version.notes.values_list("document__text", flat=True)
    assert means["32"] == pytest.approx(statistics.mean(len(tokenize(text)) for text in texts))
    assert means["1"] < means["2"] <= means["32"]
    split_version(version=world.version, seed="s", shares={"train": 60, "dev": 40, "test": 0}, actor=None)
    out = io.StringIO()
    call_command("grouped_sentences", "ward", "--gold", "1", stdout=out)
    head, *rows = out.getvalue().splitlines()
    assert head.split() == ["sentences", "train", "dev", "test"] and len(rows) == 6 and "–" in rows[0]
    with pytest.raises(CommandError, match="There is no gold version 9"):
        call_command("grouped_sentences", "ward", "--gold", "9")
