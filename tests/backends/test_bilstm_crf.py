"""The BiLSTM-CRF with a character language model, with stacked embeddings, and word vectors: contract and trainings."""

import gzip
import json
import pickle
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from safetensors.torch import load, save

from annotations.text.spans import tokenize
from models_runtime.backends import Backend, BackendError
from models_runtime.backends.bilstm_crf import word_files
from models_runtime.backends.bilstm_crf.backend import BiLstmCrfBackend
from models_runtime.backends.bilstm_crf.embeddings import words_of as from_file
from models_runtime.backends.bilstm_crf.inputs import NoteEncoder
from models_runtime.backends.bilstm_crf.model import load_model, save_model
from models_runtime.backends.bilstm_crf.training import (
    ALGORITHMS,
    STACKED,
    Hyperparameters,
    learn,
    learn_stacked,
    rate_after,
)
from models_runtime.backends.bilstm_crf.word_files import _fnv, open_words
from models_runtime.backends.characters import check as check_characters
from models_runtime.backends.characters import learn as learn_characters
from models_runtime.backends.files import WEIGHTS
from models_runtime.backends.learner import Step, TrainingTask
from models_runtime.backends.notes import groups
from models_runtime.backends.rule_tags import rules_for
from tests.backends import made_vectors
from tests.backends.contract import BackendContract
from tests.backends.made import damaged, joined, made_notes, moved_notes
from tests.zips import unzipped

pytestmark = pytest.mark.usefixtures("small_networks")
# Epochs of the character language model.
ADAPT = 2


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Backend:
    made = tmp_path_factory.mktemp("bilstm") / "model.zip"
    learn(TrainingTask([*made_notes(6), *moved_notes(6)], "meddocan", iterations=9, adapt=ADAPT), made)
    return BiLstmCrfBackend(path=str(made))


class TestBiLstmCrfContract(BackendContract):
    words = made_notes(1)[0][0]
    made = "trained"


def test_it_learns_a_long_note(tmp_path: Path) -> None:
    """The note is much longer than a sequence, so grouping, encoding, training and offsets must all be right."""
    text, spans = joined(made_notes(4))
    steps: list[Step] = []
    asked = {"iterations": 14, "adapt": ADAPT, "held_out": [(text, spans)], "report": steps.append}
    learn(TrainingTask([(text, spans)] * 2, "meddocan", **asked), tmp_path / "model.zip")
    assert BiLstmCrfBackend(str(tmp_path / "model.zip")).predict([text])[0] == spans
    assert steps[-1].f1 == 1.0 and steps[-1].loss < steps[ADAPT].loss
    assert [step.adapting for step in steps] == [True] * ADAPT + [False] * 14


def test_a_language_is_learned_from_notes_without_labels_and_can_not_be_read_back(tmp_path: Path) -> None:
    """The file contains the two LSTMs and an alphabet, not the prediction layers. Other tensors are rejected."""
    steps: list[Step] = []
    more = [text for text, _ in moved_notes(24)]
    task = TrainingTask(made_notes(6), "meddocan", iterations=5, adapt=2, unlabeled=more, report=steps.append)
    learn(replace(task, should_stop=lambda: len(steps) == 3), tmp_path / "model.zip")
    assert [step.adapting for step in steps] == [True, True, False], "it ends early on request"
    losses = [step.loss for step in steps if step.adapting]
    assert losses == sorted(losses, reverse=True)
    content = unzipped(tmp_path / "model.zip")[WEIGHTS]
    tensors = load(content)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
    assert len(header) == 1, "safetensors writes several entries in random order, so the file would not be repeatable"
    said = json.loads(header["inputs"])
    own = {name.split(".")[2] for name in tensors if name.startswith("embedding.0.")}
    assert own == {"table", "onward", "behind"}
    lacking = {name: value for name, value in tensors.items() if name != "embedding.0.onward.weight_hh_l0"}
    for some, alphabet in ((lacking, said["embeddings"][0]), (tensors, "ab"), (tensors, 1)):
        weights = save(some, {"inputs": json.dumps(said | {"embeddings": [alphabet]})})
        made = damaged(tmp_path / "model.zip", tmp_path / "bad.zip", weights__safetensors=weights)
        with pytest.raises(BackendError, match="don't fit its card"):
            BiLstmCrfBackend(str(made))


def test_without_the_rules_and_with_another_seed(tmp_path: Path) -> None:
    """The rules and the seed change the model, and a model without the rules reads a note with identifiers."""
    notes, files = made_notes(1), set()
    for name, settings in (("a", {}), ("c", {"seed": 8}), ("d", {"rules": False})):
        files.add(learn(TrainingTask(notes, "meddocan", iterations=1, settings=settings), tmp_path / name))
    assert len(files) == 3
    plain = BiLstmCrfBackend(str(tmp_path / "d"))
    assert plain.revision.endswith("-none") and len(plain.predict([notes[0][0]])) == 1


def test_prediction_uses_the_grouping_of_the_training(tmp_path: Path) -> None:
    text = made_notes(1)[0][0]
    for asked, grouped in ((3, 3), (0, ALGORITHMS["bilstm"].grouped)):
        made = tmp_path / f"{asked}.zip"
        learn(TrainingTask(made_notes(2), "meddocan", iterations=1, grouping=asked), made)
        assert load_model(made).card.grouped == grouped
    vocabulary = load_model(made).vocabulary
    counts = []
    for factor in (1, 2, 32):
        encoder = NoteEncoder(rules_for("meddocan"), {}, factor)
        note, tags = encoder.rule_tags(text)
        counts.append(len(encoder.items(note, tags, vocabulary)))
        assert counts[-1] == len(groups(note.text, note.tokens, factor))
    assert counts[0] > counts[1] > counts[2]


def test_a_model_whose_vocabulary_has_other_numbers_is_refused(tmp_path):
    """A number behind the last one would be a row of the next table."""
    learn(TrainingTask(made_notes(2), "meddocan", iterations=1), tmp_path / "m.zip")
    model = load_model(tmp_path / "m.zip")
    one, two, *_ = (shape := model.vocabulary.shape)
    for change in ({one: shape[two]}, {one: 1}, {one: True}):
        changed = replace(model.vocabulary, shape=shape | change)
        save_model(tmp_path / "m.zip", model.card, model.network, model.stack, changed, model.lexicon)
        with pytest.raises(BackendError, match="its weights don't fit its card"):
            load_model(tmp_path / "m.zip")


# Stacked embeddings: removed layers, annealing, second trainings, word vectors


pytest.importorskip("torch")


SMALL = {"hidden": 24, "batch": 4, "vocabulary": 3}


def words_of(notes):
    return sorted({text[token.start : token.end].lower() for text, _ in notes for token in tokenize(text)})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with word vectors and a language model, and the embeddings of both."""
    folder = tmp_path_factory.mktemp("embeddings")
    made_vectors.as_word2vec_text(folder / "words.vec", made_vectors.made_vectors(words_of(made_notes(16))))
    notes = [(text, []) for text, _ in [*made_notes(6), *moved_notes(6)]]
    learn_characters(TrainingTask(notes, "", iterations=2, settings={"width": 16}), folder / "characters.zip")
    return {
        "words": ["words", "words.vec", str(folder / "words.vec")],
        "characters": ["characters", "characters-1", str(folder / "characters.zip")],
        "folder": str(folder),
    }


def task_of(files, embeddings=("words", "characters"), notes=None, settings=None, **options):
    asked = {"embeddings": [files[each] for each in embeddings], "embeddings_folder": files["folder"], **options}
    return TrainingTask(notes or made_notes(2), "meddocan", settings=SMALL | (settings or {}), **asked)


@pytest.fixture(scope="module")
def stacked(tmp_path_factory, files) -> Backend:
    made = tmp_path_factory.mktemp("stacked") / "model.zip"
    notes, settings = [*made_notes(6), *moved_notes(6)], {"batch": 2, "dropout": 0.1, "word_dropout": 0.0}
    learn_stacked(task_of(files, notes=notes, settings=settings, iterations=20, grouping=4), made)
    return BiLstmCrfBackend(str(made), files["folder"])


@pytest.fixture(scope="module")
def hardly_trained(tmp_path_factory, files) -> Path:
    made = tmp_path_factory.mktemp("hardly") / "model.zip"
    learn_stacked(task_of(files, iterations=1, grouping=4), made)
    return made


class TestStackedContract(BackendContract):
    words = made_notes(1)[0][0]
    made = "stacked"


@pytest.mark.parametrize("settings", [{"crf": False, "layers": 2}, {"lstm": False, "reprojection": False}])
def test_layers_can_be_left_out(tmp_path, files, settings):
    """The reprojection is as wide as the stack."""
    steps: list[Step] = []
    asked = {"notes": made_notes(6), "settings": settings | {"dropout": 0.0, "word_dropout": 0.0}, "grouping": 4}
    learn_stacked(task_of(files, iterations=15, report=steps.append, **asked), tmp_path / "model.zip")
    assert steps[-1].loss < steps[0].loss / 2
    tensors = load_model(tmp_path / "model.zip").network.state_dict()
    assert any(name.startswith("crf.") for name in tensors) == settings.get("crf", True)
    assert ("onward.0.weight_hh_l0" in tensors) == settings.get("lstm", True)
    assert ("onward.1.weight_hh_l0" in tensors) == (settings.get("layers") == 2)
    reprojection = tensors.get("reprojection.weight")
    assert (reprojection is not None and reprojection.shape == (40, 40)) == settings.get("reprojection", True)
    found = BiLstmCrfBackend(str(tmp_path / "model.zip")).predict([made_notes(1)[0][0]])[0]
    assert found and all(0 <= span.confidence <= 1 for span in found)


@pytest.mark.parametrize(("losses", "rate"), [
    ([], 0.1), ([3, 2, 2, 2], 0.1), ([3, 2, 2, 2.1, 2], 0.05), ([3, 2, 2, 2, 2, 2, 2], 0.05),
    ([3, 2, 2, 2, 2, 2, 2, 2], 0.025), ([3, 2, 2, 2, 1, 2, 2], 0.1),
])  # fmt: skip
def test_the_rate_falls_after_epochs_without_a_lower_loss(losses, rate):
    assert rate_after(losses, Hyperparameters(rate=0.1, factor=0.5, patience=3)) == rate


@pytest.mark.parametrize("anneal", ["training", "held-out"])
def test_training_ends_when_the_rate_is_too_small(tmp_path, files, anneal):
    """A training whose epochs were chosen before runs all of them: a refit anneals by the loss on its own notes."""
    steps: list[Step] = []
    harsh = {"patience": 1, "factor": 0.1, "rate": 0.9, "least_rate": 0.5, "anneal": anneal}
    asked = {"notes": made_notes(4), "held_out": made_notes(6)[4:], "settings": harsh, "grouping": 4}
    task = task_of(files, ["words"], iterations=100, report=steps.append, **asked)
    learn_stacked(task, tmp_path / "model.zip")
    losses, ended = [step.loss if anneal == "training" else step.held_out_loss for step in steps], len(steps)
    assert 1 < ended < 100 and losses[-1] >= min(losses[:-1]) and losses[:-1] == sorted(losses[:-1], reverse=True)
    assert all(step.held_out_loss is None for step in steps) == (anneal == "training")
    steps.clear()
    learn_stacked(replace(task, stop_after=ended + 2), tmp_path / "model.zip")
    assert len(steps) == ended + 2


def test_unknown_words_need_the_file_and_its_absence_is_named(tmp_path, files):
    """The model keeps the words of its notes and the first words of the file; others are read from the file."""
    made = str(tmp_path / "m.zip")
    learn_stacked(task_of(files, ("words",), iterations=1, settings={"vocabulary": 1}), Path(made))
    (part,) = load_model(Path(made)).stack.parts
    known = words_of(made_notes(16))
    assert set(part.kept) <= {*words_of(made_notes(2)), known[0]} and known[0] in part.kept
    with_it, without = BiLstmCrfBackend(made, files["folder"]), BiLstmCrfBackend(made)
    unknown = next(word for word in known if word not in part.kept)
    vectors = [backend._stack.parts[0]._vector(unknown.upper()) for backend in (with_it, without)]
    assert vectors[0] is not None and vectors[1] is None
    assert "words.vec" not in with_it.revision and without.revision.endswith("words.vec missing")
    for content, word in ((b"a 1 2 3 4 5 6 7 8\n", "changed"), (b"PK", "unreadable")):
        (tmp_path / "words.vec").write_bytes(content)
        assert BiLstmCrfBackend(made, str(tmp_path)).revision.endswith(f"words.vec {word}")


def test_words_are_looked_up_in_four_spellings(tmp_path):
    expected = made_vectors.made_vectors(["Rossi", "rossi", "bianchi", "##", "000"])
    made_vectors.as_word2vec_text(tmp_path / "v.vec", expected)
    words = from_file("v.vec", tmp_path / "v.vec", ["Rossi", "BIANCHI", "12", "123", "Verdi"], 0)
    for form, word in (("Rossi", "Rossi"), ("ROSSI", "rossi"), ("BIANCHI", "bianchi"), ("12", "##"), ("123", "000")):
        assert words._vector(form).tolist() == expected[word]
    assert words._vector("Verdi") is None


def test_the_grouping_factor_sets_the_context_of_network_and_language_model(tmp_path, files, stacked):
    """With one sentence per sequence, another sentence changes nothing."""
    text = made_notes(1)[0][0]
    other = "Otra frase aqui.\n" + text
    learn_stacked(task_of(files, notes=made_notes(6), iterations=20, grouping=1), tmp_path / "1.zip")
    for backend, same in ((BiLstmCrfBackend(str(tmp_path / "1.zip"), files["folder"]), True), (stacked, False)):
        (alone,), (both,) = backend.predict([text]), backend.predict([other])
        behind = [(span.start - len(other) + len(text), span.confidence) for span in both]
        behind = [span for span in behind if span[0] >= 0]
        assert alone and ([(span.start, span.confidence) for span in alone] == behind) == same


def test_a_second_training_keeps_labels_words_and_embeddings_of_the_first(tmp_path, files, hardly_trained):
    second = [(text.replace("Dr.", "Visto"), [s for s in own if s.label == "FECHAS"]) for text, own in made_notes(2)]
    base = {"notes": second, "base": str(hardly_trained), "iterations": 1}
    learn_stacked(task_of(files, (), **base), tmp_path / "second.zip")
    before, after = map(load_model, (hardly_trained, tmp_path / "second.zip"))
    assert after.card.labels == before.card.labels and after.card.embeddings == before.card.embeddings
    assert after.card.grouped == before.card.grouped == 4
    assert set(before.stack.parts[0].kept) <= set(after.stack.parts[0].kept)
    with pytest.raises(BackendError, match=r"needs the word vectors words\.vec .* missing"):
        learn_stacked(task_of(files | {"folder": str(tmp_path)}, (), **base), tmp_path / "third.zip")


def test_damaged_models_are_refused(tmp_path, hardly_trained):
    card = json.loads(unzipped(hardly_trained)["card.json"])
    for change, why in (
        ({"hidden": 10**9}, "out of range"), ({"crf": 1}, "neither true nor false"),
        ({"embeddings": []}, "out of range"), ({"embeddings": [{"name": 1}]}, "missing or unknown fields"),
        ({"embeddings": [card["embeddings"][0] | {"name": "../words.vec"}]}, "no plain file name"),
        ({"embeddings": [card["embeddings"][0] | {"kind": "code"}]}, "no plain file name"),
        ({"labels": ["B", "A"]}, "sorted and distinct"),
    ):  # fmt: skip
        made = damaged(hardly_trained, tmp_path / "bad.zip", card__json=json.dumps(card | change).encode())
        with pytest.raises(BackendError, match=why):
            BiLstmCrfBackend(str(made))


def test_the_check_of_an_uploaded_file_opens_it_and_predicts(tmp_path, files, hardly_trained):
    outline = STACKED.check(hardly_trained)
    assert (outline["algorithm"], outline["notes"], outline["iterations"]) == ("sgd", 2, 1)
    language = Path(files["characters"][2])
    assert check_characters(language)["labels"] == ()
    with pytest.raises(BackendError, match="its card has another format"):
        STACKED.check(language)
    members = unzipped(language)
    content, card = members[WEIGHTS], json.loads(members["card.json"])
    for members, why in (
        ({"card__json": json.dumps(card | {"width": 17}).encode()}, "don't fit its card"),
        ({"card__json": json.dumps(card | {"width": 10**9}).encode()}, "don't fit"),
        ({"card__json": json.dumps(card | {"more": 1}).encode()}, "unknown"),
        ({"weights__safetensors": save(load(content), {"alphabet": '"ab"'})}, "don't fit its card"),
    ):
        with pytest.raises(BackendError, match=why):
            check_characters(damaged(language, tmp_path / "bad.zip", **members))


def test_tasks_without_embeddings_or_spans_are_refused(tmp_path, files):
    with pytest.raises(BackendError, match="needs embeddings"):
        learn_stacked(task_of(files, ()), tmp_path / "model.zip")
    with pytest.raises(BackendError, match="have no spans"):
        learn_stacked(task_of(files, notes=[("Nada.", [])]), Path("model.zip"))


WORDS = ["the", "Rossi", "età", "città", "New", "13", "…", "naïve"]
FORMATS = {
    "glove": made_vectors.as_glove, "text": made_vectors.as_word2vec_text, "binary": made_vectors.as_word2vec_binary,
}  # fmt: skip


@pytest.mark.parametrize("write", FORMATS.values(), ids=FORMATS)
def test_every_format_gives_the_same_vectors(tmp_path, write):
    vectors = made_vectors.made_vectors(WORDS)
    words = open_words(write(tmp_path / "words", vectors))
    assert words.dimensions == 8 and len(words.sha256) == 64
    assert words.first(3) == WORDS[:3] and words.first(99) == WORDS
    assert {word: found.tolist() for word, found in words.vectors([*WORDS, "unknown", ""]).items()} == vectors


def test_fasttext_takes_the_mean_of_word_and_n_grams(tmp_path):
    """The definition of Bojanowski et al. 2017; the hash of fastText's documented 32-bit FNV-1a."""
    vectors = made_vectors.made_vectors(WORDS)
    words = open_words(made_vectors.as_fasttext(tmp_path / "cc.it.bin", vectors))
    for word in (*WORDS, "unbekannt", "à"):
        assert np.allclose(words.vector(word), made_vectors.fasttext_vector(word, vectors), atol=0.002), word
    assert words.first(2) == WORDS[:2]
    assert (_fnv(b""), _fnv(b"a"), _fnv(b"foobar")) == (0x811C9DC5, 0xE40C292C, 0xBF9CF968)


@pytest.mark.parametrize(("content", "why"), [
    (b"", "its format is unknown. Known formats: word2vec"),
    (b"just some prose that is no file of vectors\n", "its format is unknown"),
    (gzip.compress(b"a 1 2\n"), "compressed with gzip; unpack it first"),
    (b"PK\x03\x04", "is a zip archive; unpack it first"),
    (pickle.dumps({"a": [1.0]}), "is a pickle, which could run code"),
    (b"a 1 2\nb 1\n", "line 2 must have a word and 2 values"),
    (b"3 2\na 1 2\nb 3 4\n", "it has 2 words, but its first line says 3"),
    (b"2 9999\na 1 2\n", "its first line must give the number"),
    (b"2 2\na " + bytes(8) + b"\nb " + bytes(3), "it ends early; copy it again"),
    (b"9 2\na " + bytes(8), "begins no word"), (b"a 1 2\n" + b"b" * (1 << 21), "line 2 is too long"),
    (struct.pack("<ii", 793712314, 12) + b"\0" * 4, "it ends early"),
])  # fmt: skip
def test_damaged_and_foreign_files_are_refused(tmp_path, content, why):
    (tmp_path / "bad.vec").write_bytes(content)
    with pytest.raises(BackendError, match=why) as caught:
        open_words(tmp_path / "bad.vec")
    assert caught.value.permanent and str(caught.value).startswith("The word vectors bad.vec can't be read: ")


def test_values_that_are_no_numbers_are_refused_when_they_are_read(tmp_path):
    """Of a word that is there twice, the first vector counts. GloVe's largest file has words with spaces."""
    (tmp_path / "a.vec").write_text("a 1 2\n. . 3 4\nb 1 x\nc nan 1\na 7 8\n")
    words = open_words(tmp_path / "a.vec")
    assert words.vector("a").tolist() == [1, 2] and words.vector(". .").tolist() == [3, 4]
    for word, why in (("b", "a value of word number 3 is not a number"), ("c", "not finite")):
        with pytest.raises(BackendError, match=why):
            words.vector(word)


def test_other_and_cut_fasttext_models_are_refused(tmp_path):
    for options, why in (
        ({"version": 11}, "its fastText version is 11, not 12; export its vectors as .vec"),
        ({"pruned": 0}, r"it is a quantized fastText model \(.ftz\)"),
        ({"quantized": True}, r"it is a quantized fastText model \(.ftz\)"),
    ):
        with pytest.raises(BackendError, match=why):
            open_words(made_vectors.as_fasttext(tmp_path / "m.bin", made_vectors.made_vectors(WORDS), **options))
    content = made_vectors.as_fasttext(tmp_path / "m.bin", made_vectors.made_vectors(WORDS)).read_bytes()
    for size in (70, 100, 200, len(content) - 1):
        (tmp_path / "cut.bin").write_bytes(content[:size])
        with pytest.raises(BackendError, match=r"can't be read"):
            open_words(tmp_path / "cut.bin")


def test_too_many_words_and_none(tmp_path, monkeypatch):
    with pytest.raises(BackendError, match="No such file"):
        open_words(tmp_path / "gone.vec")
    monkeypatch.setattr(word_files, "MOST_WORDS", 3)
    with pytest.raises(BackendError, match="more than 3 words"):
        open_words(made_vectors.as_glove(tmp_path / "g.txt", made_vectors.made_vectors(WORDS)))
