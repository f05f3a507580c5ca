"""Language pre-training with masked words: its evaluation, any number of notes, and the model that is kept."""

import numpy as np
import pytest

pytest.importorskip("torch")


from models_runtime.backends import BackendError, files
from models_runtime.backends.children import SpooledTexts
from models_runtime.backends.learner import TrainingTask
from models_runtime.backends.neural.device import chunks
from models_runtime.backends.token_classification.adapting import SENTENCES, StoredPieces, sentences_of
from models_runtime.backends.token_classification.model import MASKED_FORMAT, StartingPoint, load_masked, load_model
from models_runtime.backends.token_classification.training import MASKED, learn
from models_runtime.backends.token_classification.training import learn_masked as learn_language
from tests.backends.made import NAMES, damaged, made_notes, moved_notes
from tests.backends.made_weights import tiny_bert

NOTES = made_notes(4)
MORE = [text for text, _ in moved_notes(6)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("weights") / "tiny"
    return tiny_bert(made, [text for text, _ in made_notes(40)])


def task_of(base, **more):
    return TrainingTask([(text, []) for text, _ in NOTES], "set", base=str(base), **more)


def fine_tuning(base, **more):
    return TrainingTask(NOTES, "set", algorithm="fresh", iterations=1, base=str(base), **more)


def test_its_loss_on_held_out_notes_falls_and_the_probe_shows_words_before_and_after(folder, tmp_path):
    steps = []
    asked = {"rate": 3e-3, "batch": 4, "probe": "Acude por [MASK]. | Nombre: Anna [MASK]."}
    options = {"unlabeled": MORE, "held_out": made_notes(6)[4:], "settings": asked, "report": steps.append}
    learn_language(task_of(folder, iterations=32, **options), tmp_path / "made.zip")
    assert [step.iteration for step in steps] == list(range(33)) and not any(step.adapting for step in steps)
    assert steps[-1].held_out_loss < 0.7 * steps[0].held_out_loss
    before, after = steps[0].probe, steps[-1].probe
    assert [filled["sentence"] for filled in before] == ["Acude por [MASK].", "Nombre: Anna [MASK]."]
    names = {part for name in NAMES for part in name.split()}
    known = [len(names.intersection(word for word, _ in filled[1]["words"])) for filled in (before, after)]
    assert known[1] > known[0]
    chances = [chance for _, chance in after[1]["words"]]
    assert len(chances) == 5 and chances == sorted(chances, reverse=True) and sum(chances) <= 1.001


def test_a_transformer_starts_from_a_kept_language_model(folder, tmp_path):
    language, made = tmp_path / "language.zip", tmp_path / "made.zip"
    learn_language(task_of(folder, iterations=4, settings={"rate": 4e-3}), language)
    masked, begin = load_masked(language), StartingPoint.at(language)
    assert (masked.card.format, masked.card.base, masked.card.iterations) == (MASKED_FORMAT, "tiny", 4)
    assert (begin.name, begin.labels) == ("tiny", ())
    assert learn(fine_tuning(folder), made) != learn(fine_tuning(language), made)
    networks = (load_model(made).network, masked.network, StartingPoint.at(folder).masked_lm())
    body, kept, earlier = (network.base_model.state_dict()["embeddings.word_embeddings.weight"] for network in networks)
    assert (body - kept).abs().mean() < (body - earlier).abs().mean()
    with pytest.raises(BackendError, match="is not a deidreview-transformer-1 model"):
        load_model(language)
    # Another stage of language pre-training continues from it as well. Uploaded files are checked.
    learn_language(task_of(language, iterations=1), made)
    assert load_masked(made).card.base == "tiny" and files.format_of(made) == MASKED_FORMAT
    checked = {"label_set": "", "algorithm": "masked", "labels": (), "notes": 4, "iterations": 1}
    assert MASKED.check(made) == checked
    for content in (b'{"format": "deidreview-masked-lm-1"}', b"[]"):
        with pytest.raises(BackendError):
            load_masked(damaged(made, tmp_path / "other.zip", card__json=content))


def test_the_weights_of_the_stage_in_a_training_are_kept_if_asked(folder, tmp_path):
    steps = []
    asked = {"adapt": 2, "held_out": made_notes(5)[4:], "report": steps.append}
    for kept in (False, True):
        learn(fine_tuning(folder, settings={"keep_language": kept}, **asked), tmp_path / "made.zip")
        assert (tmp_path / "language.zip").exists() is kept
    assert load_masked(tmp_path / "language.zip").card.iterations == 2
    adapting = [step for step in steps if step.adapting]
    assert [step.iteration for step in adapting] == [0, 1, 2] * 2
    assert all(step.held_out_loss is not None and len(step.probe) == len(SENTENCES["en"]) for step in adapting)


@pytest.mark.parametrize("sentence", ["Anna acude.", "[MASK] y [MASK]", "Anna [MASK] " + "acude " * 99])
def test_an_unusable_sentence_is_refused_without_being_repeated(folder, tmp_path, sentence):
    with pytest.raises(BackendError, match="exactly one") as caught:
        learn_language(task_of(folder, iterations=1, settings={"probe": sentence}), tmp_path / "made.zip")
    assert caught.value.permanent and "Anna" not in str(caught.value)
    with pytest.raises(BackendError, match="no text to learn from"):
        learn_language(TrainingTask([("", [])], "set", base=str(folder)), tmp_path / "made.zip")


def test_sentences_in_the_language_of_the_project():
    for language, of in (("it", "it"), ("it-IT", "it"), ("de", "en"), ("", "en")):
        assert sentences_of(" ", language) == list(SENTENCES[of])
    assert sentences_of("a [MASK] | b [MASK]|", "it") == ["a [MASK]", "b [MASK]"]
    assert all(sentence.count("[MASK]") == 1 for sentences in SENTENCES.values() for sentence in sentences)


# ── Any number of notes ──────────────────────────────────────────────────────────────────────────────────────────────


def test_texts_are_read_again_from_a_file_without_a_name(tmp_path):
    spooled = SpooledTexts((f"nota {number} à\n" for number in range(1000)), tmp_path)
    assert not list(tmp_path.iterdir()) and next(iter(spooled)) == "nota 0 à\n"
    assert [len(list(spooled)) for _ in range(2)] == [1000, 1000] and list(spooled)[-1] == "nota 999 à\n"


def test_pieces_are_on_disk_and_windows_are_those_of_each_text(tmp_path):
    texts = [np.arange(5), np.arange(0), np.arange(100, 123)]
    stored = StoredPieces(iter(texts), lambda count: chunks(count, 10), tmp_path)
    assert not list(tmp_path.iterdir()) and list(stored.lengths) == [5, 10, 10, 3] and len(stored) == 4
    window, encoded = stored.window(2)
    assert (len(window), encoded.pieces.tolist()) == (10, list(range(110, 120)))
    assert isinstance(stored._pieces, np.memmap)
    assert len(StoredPieces(iter([]), lambda count: chunks(count, 10), None)) == 0
