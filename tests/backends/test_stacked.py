"""The BiLSTM-CRF with stacked embeddings: contract, removed layers, annealing, resumed and second trainings."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from safetensors.torch import load, save

from annotations.domain.tokens import tokenize
from models_runtime.backends import Backend, BackendError
from models_runtime.backends.characters.child import check as check_characters
from models_runtime.backends.characters.training import learn as learn_characters
from models_runtime.backends.learner import Step, TrainingTask
from models_runtime.backends.stacked.annealing import Annealing, rate_after
from models_runtime.backends.stacked.backend import StackedBackend
from models_runtime.backends.stacked.child import check
from models_runtime.backends.stacked.model import WEIGHTS, load_model
from models_runtime.backends.stacked.training import ALGORITHMS, learn
from tests.backends.contract import BackendContract
from tests.backends.made import damaged, made_notes, moved_notes
from tests.backends.made_vectors import as_fasttext, as_word2vec_text, made_vectors

SMALL = {"hidden": 24, "batch": 4, "vocabulary": 3}


def words_of(notes):
    return sorted({text[token.start : token.end].lower() for text, _ in notes for token in tokenize(text)})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with word vectors and a language model, and the embeddings of both."""
    folder = tmp_path_factory.mktemp("embeddings")
    as_word2vec_text(folder / "words.vec", made_vectors(words_of(made_notes(16))))
    notes = [(text, []) for text, _ in [*made_notes(12), *moved_notes(12)]]
    learn_characters(TrainingTask(notes, "", iterations=3, settings={"width": 16}), folder / "characters.zip")
    return {
        "words": ["words", "words.vec", str(folder / "words.vec")],
        "characters": ["characters", "characters-1", str(folder / "characters.zip")],
        "folder": str(folder),
    }


def task_of(files, embeddings=("words", "characters"), notes=None, settings=None, **options):
    return TrainingTask(
        notes or [*made_notes(12), *moved_notes(12)],
        "meddocan",
        embeddings=[files[each] for each in embeddings],
        embeddings_folder=files["folder"],
        settings=SMALL | (settings or {}),
        **options,
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory, files) -> Backend:
    made = tmp_path_factory.mktemp("stacked") / "model.zip"
    learn(task_of(files, iterations=40, grouping=4), made)
    return StackedBackend(str(made), files["folder"])


class TestStackedContract(BackendContract):
    words = made_notes(1)[0][0]

    @pytest.fixture
    def backend(self, trained: Backend) -> Backend:
        return trained


@pytest.mark.parametrize("settings", [{"crf": False, "layers": 2}, {"lstm": False}])
def test_layers_can_be_left_out(tmp_path, files, settings):
    steps: list[Step] = []
    exact = {"dropout": 0.0, "word_dropout": 0.0}
    task = task_of(
        files, notes=made_notes(8), settings=settings | exact, iterations=15, grouping=4, report=steps.append
    )
    learn(task, tmp_path / "model.zip")
    assert steps[-1].loss < steps[0].loss / 2
    model = load_model(tmp_path / "model.zip")
    names = set(model.network.state_dict())
    assert any(name.startswith("crf.") for name in names) == settings.get("crf", True)
    assert sum(name == "onward.0.weight_hh_l0" for name in names) == settings.get("lstm", True)
    assert ("onward.1.weight_hh_l0" in names) == (settings.get("layers") == 2)
    text = made_notes(1)[0][0]
    found = StackedBackend(str(tmp_path / "model.zip")).predict([text])[0]
    assert found and all(0 <= span.confidence <= 1 for span in found)


def test_the_reprojection_is_as_wide_as_the_stack_and_can_be_left_out(tmp_path, files):
    few = {"notes": made_notes(2), "iterations": 1}
    learn(task_of(files, **few), tmp_path / "with.zip")
    with_it = load_model(tmp_path / "with.zip").network.state_dict()
    assert with_it["reprojection.weight"].shape == (8 + 32, 8 + 32)
    learn(task_of(files, settings={"reprojection": False}, **few), tmp_path / "without.zip")
    assert not any("reprojection" in name for name in load_model(tmp_path / "without.zip").network.state_dict())


def test_the_defaults_are_those_of_tables_3_6_3_8_and_3_10():
    for name, batch in (("sgd", 4), ("sgd-16", 16)):
        hyper = ALGORITHMS[name]
        assert (hyper.factor, hyper.batch, hyper.word_dropout, hyper.dropout) == (0.5, batch, 0.05, 0.5)
        assert (hyper.epochs, hyper.clip, hyper.hidden, hyper.rate, hyper.least_rate) == (500, 5, 256, 0.1, 0.0001)
        assert (hyper.patience, hyper.layers) == (3, 1)


def test_the_rate_falls_after_epochs_without_a_lower_loss():
    plan = Annealing(rate=0.1, factor=0.5, patience=3)
    assert rate_after([], plan) == 0.1
    assert rate_after([3, 2, 2, 2], plan) == 0.1
    assert rate_after([3, 2, 2, 2.1, 2], plan) == 0.05
    assert rate_after([3, 2, 2, 2, 2, 2, 2], plan) == 0.05
    assert rate_after([3, 2, 2, 2, 2, 2, 2, 2], plan) == 0.025
    assert rate_after([3, 2, 2, 2, 1, 2, 2], plan) == 0.1


@pytest.mark.parametrize("anneal", ["training", "held-out"])
def test_training_ends_when_the_rate_is_too_small(tmp_path, files, anneal):
    steps: list[Step] = []
    settings = {"patience": 1, "factor": 0.01, "least_rate": 0.05, "anneal": anneal, "rate": 0.1}
    task = task_of(files, settings=settings, iterations=500, held_out=made_notes(3), report=steps.append)
    learn(task, tmp_path / "model.zip")
    assert 1 < len(steps) < 500
    losses = [step.loss if anneal == "training" else step.held_out_loss for step in steps]
    assert losses[-1] >= min(losses[:-1])
    assert losses[:-1] == sorted(losses[:-1], reverse=True)
    assert all(step.held_out_loss is None for step in steps) == (anneal == "training")


class Killed(Exception):
    pass


def test_a_killed_training_continues_and_gives_the_same_model(tmp_path, files):
    def task(name, death=0):
        def report(step):
            if step.iteration == death:
                raise Killed

        settings = {"patience": 1, "factor": 0.9}
        own = {"notes": made_notes(8), "iterations": 4, "checkpoint": tmp_path / name}
        return task_of(files, settings=settings, report=report, **own)

    whole = learn(task("one"), tmp_path / "whole.zip")
    with pytest.raises(Killed):
        learn(task("two", 3), tmp_path / "half.zip")
    assert (tmp_path / "two").exists() and not (tmp_path / "half.zip").exists()
    assert learn(task("two"), tmp_path / "again.zip") == whole
    assert (
        learn(task_of(files, notes=made_notes(8), iterations=4, settings={"seed": 8}), tmp_path / "other.zip") != whole
    )


def test_a_killed_language_model_continues_and_gives_the_same_model(tmp_path):
    def task(name, death=0, **options):
        def report(step):
            assert step.held_out_loss is not None and step.f1 is None
            if step.iteration == death:
                raise Killed

        notes, held_out = ([(text, []) for text, _ in some] for some in (made_notes(12), moved_notes(3)))
        return TrainingTask(
            notes, "", iterations=4, held_out=held_out, settings={"width": 16}, checkpoint=tmp_path / name,
            report=report, **options,
        )  # fmt: skip

    whole = learn_characters(task("one"), tmp_path / "whole.zip")
    with pytest.raises(Killed):
        learn_characters(task("two", 3), tmp_path / "half.zip")
    assert learn_characters(task("two"), tmp_path / "again.zip") == whole
    learn_characters(task("three", base=str(tmp_path / "whole.zip")), tmp_path / "more.zip")


def test_unknown_words_need_the_file_and_its_absence_is_named(tmp_path, files):
    """The model keeps the words of its notes and the first words of the file; others are read from the file."""
    learn(task_of(files, ("words",), notes=made_notes(2), iterations=1, settings={"vocabulary": 1}), tmp_path / "m.zip")
    learned = set(words_of(made_notes(2)))
    (part,) = load_model(tmp_path / "m.zip").stack.parts
    first = words_of(made_notes(16))[0]
    assert set(part.kept) <= learned | {first} and first in part.kept
    with_it, without = StackedBackend(str(tmp_path / "m.zip"), files["folder"]), StackedBackend(str(tmp_path / "m.zip"))
    unknown = next(word for word in words_of(made_notes(16)) if word not in part.kept)
    vectors = [backend._stack.parts[0]._vector(unknown.upper()) for backend in (with_it, without)]
    assert vectors[0] is not None and vectors[1] is None
    assert "words.vec" not in with_it.revision and without.revision.endswith("words.vec missing")
    (tmp_path / "words.vec").write_text("a 1 2 3 4 5 6 7 8\n")
    assert StackedBackend(str(tmp_path / "m.zip"), str(tmp_path)).revision.endswith("words.vec changed")
    (tmp_path / "words.vec").write_bytes(b"PK")
    assert StackedBackend(str(tmp_path / "m.zip"), str(tmp_path)).revision.endswith("words.vec unreadable")


def test_words_are_looked_up_in_four_spellings(tmp_path):
    as_word2vec_text(tmp_path / "v.vec", made_vectors(["Rossi", "rossi", "bianchi", "##", "000"]))
    from models_runtime.backends.stacked.embeddings import words_of as from_file

    words = from_file("v.vec", tmp_path / "v.vec", ["Rossi", "BIANCHI", "12", "123", "Verdi"], 0)
    expected = made_vectors(["Rossi", "rossi", "bianchi", "##", "000"])
    for form, word in (("Rossi", "Rossi"), ("ROSSI", "rossi"), ("BIANCHI", "bianchi"), ("12", "##"), ("123", "000")):
        assert words._vector(form).tolist() == expected[word]
    assert words._vector("Verdi") is None


def test_the_grouping_factor_sets_the_context_of_network_and_language_model(tmp_path, files):
    """With one sentence per sequence, another sentence changes nothing."""
    text = made_notes(1)[0][0]
    other = "Otra frase aqui.\n" + text
    for grouping, same in ((1, True), (32, False)):
        made = tmp_path / f"{grouping}.zip"
        learn(task_of(files, notes=made_notes(8), iterations=30, grouping=grouping), made)
        backend = StackedBackend(str(made), files["folder"])
        alone = [(span.start, span.confidence) for span in backend.predict([text])[0]]
        behind = [(span.start - len(other) + len(text), span.confidence) for span in backend.predict([other])[0]]
        behind = [span for span in behind if span[0] >= 0]
        assert alone and (alone == behind) == same


def test_a_second_training_keeps_labels_words_and_embeddings_of_the_first(tmp_path, files):
    first = made_notes(8)
    learn(task_of(files, notes=first, iterations=1, grouping=4), tmp_path / "first.zip")
    second = [(text.replace("Dr.", "Visto"), [s for s in spans if s.label == "FECHAS"]) for text, spans in first]
    again = task_of(files, (), notes=second, iterations=1, base=str(tmp_path / "first.zip"))
    learn(again, tmp_path / "second.zip")
    before, after = (load_model(tmp_path / name) for name in ("first.zip", "second.zip"))
    assert after.card.labels == before.card.labels and after.card.embeddings == before.card.embeddings
    assert after.card.grouped == 4 and set(before.stack.parts[0].kept) <= set(after.stack.parts[0].kept)
    gone = TrainingTask(second, "meddocan", base=str(tmp_path / "first.zip"), embeddings_folder=str(tmp_path))
    with pytest.raises(BackendError, match=r"needs the word vectors words\.vec .* missing"):
        learn(gone, tmp_path / "third.zip")


def test_fasttext_with_sub_words_gives_every_word_a_vector(tmp_path, files):
    as_fasttext(tmp_path / "it.bin", made_vectors(words_of(made_notes(4))))
    own = {"words": ["words", "it.bin", str(tmp_path / "it.bin")], "folder": str(tmp_path)}
    learn(task_of(own, ("words",), notes=made_notes(4), iterations=1), tmp_path / "model.zip")
    backend = StackedBackend(str(tmp_path / "model.zip"), str(tmp_path))
    assert backend._stack.parts[0]._vector("neverseenbefore") is not None


def test_damaged_models_are_refused(tmp_path, files):
    learn(task_of(files, notes=made_notes(2), iterations=1), tmp_path / "model.zip")
    with zipfile.ZipFile(tmp_path / "model.zip") as archive:
        content, card = archive.read(WEIGHTS), json.loads(archive.read("card.json"))
    tensors = load(content)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
    inside = json.loads(header["embeddings"])
    lacking = {name: value for name, value in tensors.items() if name != "network.out.weight"}
    for some, said in ((lacking, inside), (tensors, inside[:1]), (tensors, [inside[0][:-1], inside[1]]), (tensors, 1)):
        weights = save(some, {"embeddings": json.dumps(said)})
        made = damaged(tmp_path / "model.zip", tmp_path / "bad.zip", weights__safetensors=weights)
        with pytest.raises(BackendError, match="don't fit its card"):
            StackedBackend(str(made))
    for change, why in (
        ({"hidden": 10**9}, "out of range"),
        ({"crf": 1}, "neither true nor false"),
        ({"embeddings": []}, "out of range"),
        ({"embeddings": [{"name": 1}]}, "missing or unknown fields"),
        ({"embeddings": [card["embeddings"][0] | {"name": "../words.vec"}]}, "no plain file name"),
        ({"embeddings": [card["embeddings"][0] | {"kind": "code"}]}, "no plain file name"),
        ({"labels": ["B", "A"]}, "sorted and distinct"),
    ):
        made = damaged(tmp_path / "model.zip", tmp_path / "bad.zip", card__json=json.dumps(card | change).encode())
        with pytest.raises(BackendError, match=why):
            StackedBackend(str(made))


def test_the_check_of_an_uploaded_file_opens_it_and_predicts(tmp_path, files):
    learn(task_of(files, notes=made_notes(2), iterations=1), tmp_path / "model.zip")
    outline = check(tmp_path / "model.zip")
    assert (outline["algorithm"], outline["notes"], outline["iterations"]) == ("sgd", 2, 1)
    language = Path(files["characters"][2])
    assert check_characters(language)["labels"] == ()
    with pytest.raises(BackendError, match="its card has another format"):
        check(language)
    with zipfile.ZipFile(language) as archive:
        content, card = archive.read(WEIGHTS), json.loads(archive.read("card.json"))
    for change, why in (
        ({"width": 17}, "don't fit its card"),
        ({"width": 10**9}, "don't fit"),
        ({"more": 1}, "unknown"),
    ):
        made = damaged(language, tmp_path / "bad.zip", card__json=json.dumps(card | change).encode())
        with pytest.raises(BackendError, match=why):
            check_characters(made)
    made = damaged(language, tmp_path / "bad.zip", weights__safetensors=save(load(content), {"alphabet": '"ab"'}))
    with pytest.raises(BackendError, match="don't fit its card"):
        check_characters(made)


def test_tasks_without_embeddings_or_spans_are_refused(tmp_path, files):
    with pytest.raises(BackendError, match="needs embeddings"):
        learn(task_of(files, ()), tmp_path / "model.zip")
    with pytest.raises(BackendError, match="have no spans"):
        learn(task_of(files, notes=[("Nada.", [])]), Path("model.zip"))


def test_a_training_whose_epochs_were_chosen_before_runs_all_of_them(tmp_path, files):
    """A refit anneals by the loss on its own notes, which must not end it before the chosen epoch."""
    harsh = {"patience": 1, "factor": 0.1, "rate": 0.9, "least_rate": 0.5}
    steps: list[Step] = []
    task = task_of(
        files, ["words"], notes=made_notes(6), settings=harsh, iterations=40, grouping=4, report=steps.append
    )
    learn(task, tmp_path / "model.zip")
    ended = len(steps)
    assert ended < 40
    steps.clear()
    learn(replace(task, stop_after=ended + 2), tmp_path / "model.zip")
    assert len(steps) == ended + 2
