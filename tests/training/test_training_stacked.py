"""BiLSTM-CRFs with stacked embeddings in the product: embeddings by name, several seeds, ablations, missing files."""

import io
import statistics

import pytest
from django.conf import settings
from django.core.management.base import CommandError

from annotations.core.services import ServiceError
from annotations.core.stored_files import store_file
from annotations.gold.services.splitting import split_version
from annotations.models import AnnotationSet, Document, Job, JobState, StoredFileKind
from annotations.ops.services.erasing import erase_patient
from annotations.text.spans import tokenize
from models_runtime.core.model_files import cached
from models_runtime.core.stages import learned_from, stages
from models_runtime.models import TrainedModel, TrainedModelState
from models_runtime.training.services.groups import Variant, ablation, start_group
from models_runtime.training.services.model_cards import erased_since
from models_runtime.training.services.training import start_training
from tests.backends.made_vectors import as_word2vec_text, made_vectors
from tests.held import fresh
from tests.training.conftest import page, refused, run_of, train
from tests.worlds.checks import check_page
from tests.worlds.commands import printed as command
from tests.worlds.commands import told
from tests.worlds.programs import Program

pytest.importorskip("torch")
bilstm = pytest.importorskip("models_runtime.backends.bilstm_crf.model")
characters = pytest.importorskip("models_runtime.backends.characters")


State = TrainedModelState


@pytest.fixture
def vectors(world):
    """A file of word vectors for half of the words of the notes."""
    folder = settings.DATA_DIR / "embeddings"
    folder.mkdir(parents=True, exist_ok=True)
    texts = Document.objects.values_list("text", flat=True)
    words = sorted({word.strip(".:,").lower() for text in texts for word in text.split()} - {""})
    yield as_word2vec_text(folder / "small.vec", made_vectors(words[::2]))
    (folder / "small.vec").unlink(missing_ok=True)


def build_language(world):
    options = {"backend": "characters", "algorithm": "narrow", "iterations": 1, "settings": {"width": 8}}
    return train(world, "l", name="letters", **options)[0]


@pytest.fixture(scope="module")
def made_language(once, made_gold):
    return once(lambda: build_language(made_gold))


@pytest.fixture
def language(world, made_language):
    """A small character language model of the project, which all later tests of the module see."""
    return fresh(made_language, lambda: build_language(world))


def model_like(other, **fields):
    """A copy of a model, with a file of its own."""
    copy = TrainedModel.objects.get(pk=other.pk)
    file = {"project": copy.project, "kind": StoredFileKind.MODEL, "name": "m.zip", "content": io.BytesIO(b"m")}
    for name, value in {"pk": None, "job": None, "stored_file": store_file(**file, actor=None), **fields}.items():
        setattr(copy, name, value)
    copy.save()


def stacked(why, world, **given):
    """Check that a stack is refused."""
    assert refused(world, why, backend="stacked", settings=given) == "embeddings"


def test_embeddings_are_chosen_by_name_with_the_choices_in_the_errors(world, request):
    stacked("There are no embeddings. Copy word vectors to ", world)
    TrainedModel.objects.create(project=world.project, name="lm", backend="characters", state=State.READY)
    stacked("There are no embeddings", world, embeddings="lm")  # It has no file.
    request.getfixturevalue("vectors")
    for name in ("big.vec", "../models", "/etc/passwd"):
        stacked(f"no embeddings “{name}”.*: small.vec", world, embeddings=name)
    stacked("Choose embeddings, separated by commas: small.vec", world)


def test_the_variants_of_an_ablation():
    found = ablation(["a.vec", "b", "c"], [1, 32])
    assert [each.name for each in found] == [
        "complete", "without a.vec", "without b", "without c", "without CRF", "without LSTM", "without LSTM and CRF",
        "SGF 1", "SGF 32",
    ]  # fmt: skip
    assert found[2].settings == {"embeddings": "a.vec, c"} and (found[7].grouping, found[8].grouping) == (1, 32)
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
    for words, why in (
        (["--runs", "2"], "has no seed, so several trainings would give the same model"),
        (["--runs", "11", "--backend", "stacked"], "must be between 1 and 10, not 11"),
    ):
        with pytest.raises(CommandError, match=why):
            command("train_model", "ward", "--gold", "1", *words)
    assert TrainedModel.objects.count() == 3


def test_an_ablation_by_a_program(world, manager, vectors):
    program, asked = Program(world.manager), {"gold": 1, "kind": "stacked", "iterations": 1, "name": "ablation"}
    asked |= {"settings": {"embeddings": "small.vec", "hidden": 16}}
    assert len(program.post("/projects/ward/models/ablations", asked).json()["items"]) == 4
    models = TrainedModel.objects.order_by("pk")
    layers = [[row.params["settings"].get(layer, True) for layer in ("crf", "lstm")] for row in models]
    assert layers == [[True, True], [False, True], [True, False], [False, False]]
    shown = check_page(manager.get(page("model", models[0].pk)))
    assert all(name in shown for name in ("complete", "without CRF", "without LSTM", "without LSTM and CRF"))
    assert program.post("/projects/ward/models/ablations", asked).json()["errors"][0]["field"] == "name"
    assert TrainedModel.objects.count() == 4, "all start or none"


def test_the_hold_out_that_ends_a_training_is_named(world, manager, trained, vectors):
    chosen = {"embeddings": "small.vec", "anneal": "held-out", "hidden": 16, "vocabulary": 10}
    model, job = trained("a", backend="stacked", algorithm="sgd", iterations=2, settings=chosen)
    assert (job.state, job.error) == (JobState.DONE, "")
    shown = check_page(manager.get(page("model", model.pk)))
    assert "so the last value may be too good" in shown and "the last value is unbiased" not in shown
    given = {"backend": "stacked", "algorithm": "sgd", "iterations": 1, "base": model.name}
    second, job = trained("b", settings={"seed": 9}, **given)
    assert (job.state, job.error) == (JobState.DONE, "") and second.card["embeddings"] == model.card["embeddings"]
    assert refused(world, "brings its own embeddings", settings={"embeddings": "small.vec"}, **given) == "embeddings"


def test_tokens_per_sequence_by_split(world):
    """Catelli 2021, table 3.7. Each note has a header sentence and another one; 32 sentences are the whole note."""
    (means,) = told("grouped_sentences", "ward", "--gold", 1)["tokens_per_sequence"].values()
    texts = world.version.notes.values_list("document__text", flat=True)
    assert means["32"] == pytest.approx(statistics.mean(len(tokenize(text)) for text in texts))
    assert means["1"] < means["2"] <= means["32"]
    split_version(version=world.version, seed="s", shares={"train": 60, "dev": 40, "test": 0}, actor=None)
    head, *rows = command("grouped_sentences", "ward", "--gold", "1").splitlines()
    assert head.split() == ["sentences", "train", "dev", "test"] and len(rows) == 6 and "–" in rows[0]
    with pytest.raises(CommandError, match="There is no gold version 9"):
        command("grouped_sentences", "ward", "--gold", "9")


def test_the_project_s_newest_language_model_is_the_default(world, manager, language):
    """The page says so beside the empty field; without a name, the page, the command and the API use it."""
    TrainedModel.objects.create(project=world.project, name="no file", backend="characters", state=State.READY)
    form = manager.get(page("models")).context["train"]
    assert form["stacked-embeddings"].value() is None and "letters" in form["stacked-embeddings"].help_text
    assert form["bilstm-characters"].help_text.startswith("One of: letters.")
    choices = Program(world.manager).get("/projects/ward/training-choices").json()
    assert choices["language_models"] == choices["embeddings"] == ["letters"]
    command("train_model", "ward", "--gold", "1", "--backend", "stacked", "--set", "hidden=16", "--name", "it")
    params = TrainedModel.objects.get(name="it").params
    assert params["embeddings"] == [{"name": "letters", "model": language.pk}] and params["settings"] == {"hidden": 16}


def test_the_default_language_model_has_not_read_the_hold_out(world, language):
    model_like(language, name="of another split", card=language.card | {"held_out_notes": []})
    given = {"project": world.project, "gold": 1, "actor": None, "backend": "stacked"}
    assert start_training(**given, key="a").params["embeddings"] == [{"name": "letters", "model": language.pk}]
    why = "Every character language model of this project learned"
    assert refused(world, why, backend="stacked", random_split=8) == "embeddings"


def test_a_bilstm_crf_takes_a_language_model_of_the_project(world, trained, manager, language):
    """The model contains it and learns none of its own; the page names it."""
    options = {"backend": "bilstm", "algorithm": "quick", "iterations": 1, "settings": {"characters": "letters"}}
    model, job = trained("b", name="with", **options)
    assert (job.state, job.error) == (JobState.DONE, "")
    inside = bilstm.load_model(cached(model)).stack.networks[0].state_dict()
    own = characters.load_model(cached(language))[1].state_dict()
    assert inside.keys() == own.keys() and all(inside[name].equal(own[name]) for name in own)
    assert "<dd>letters</dd>" in check_page(manager.get(page("model", model.pk)))
    run = run_of(world.project, "with")
    assert AnnotationSet.objects.filter(author=run.author).count() == 22


def test_a_model_has_learned_from_the_notes_of_its_language_model(world, language):
    """Its own gold version was deleted; what its language model learned from is still known."""
    row = TrainedModel.objects.create(
        project=world.project, name="in", backend="bilstm", state=State.READY,
        params={"embeddings": [{"name": "letters", "model": language.pk}]},
    )  # fmt: skip
    assert len(learned_from(row)) == len(learned_from(language)) == language.card["notes"]
    later = TrainedModel.objects.create(project=world.project, name="later", params={"base_model": row.pk})
    assert [each.name for each in stages(later)] == ["letters", "in", "later"] and not erased_since(row)
    erase_patient(project=world.project, patient_id=Document.objects.first().patient_id, actor=world.manager)
    assert erased_since(TrainedModel.objects.get(pk=row.pk))


def test_what_is_wrong_with_a_language_model_is_said_beside_it(world, manager, language):
    form = {"gold": 1, "algorithm": "bilstm:quick", "token": "t", "bilstm-characters": "other"}
    bad = manager.post(page("model_train"), form)
    assert bad.status_code == 422
    error = "There is no character language model “other”. Choose one of: letters."
    assert bad.context["train"].errors["bilstm-characters"] == [error]
    given = {"backend": "bilstm", "settings": {"characters": "letters"}}
    model_like(language, name="first", backend="bilstm")
    assert refused(world, "can't add a language model", base="first", **given) == "characters"
    # The model learned from notes of this version that a later split holds out.
    split_version(version=world.version, seed="other", shares={"train": 40, "dev": 30, "test": 30}, actor=None)
    why = r"“letters” learned from .* notes that this training"
    assert refused(world, why, **given) == "characters"
    stacked(why, world, embeddings="letters")
    TrainedModel.objects.filter(backend="characters").update(state=State.RETIRED)
    assert refused(world, "This project has no character language model", **given) == "characters"
