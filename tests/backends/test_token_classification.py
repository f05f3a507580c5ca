"""Transformers: contract, windows, other tag schemes, a long note; and language pre-training with masked words."""

import numpy as np
import pytest
import torch
import transformers

from models_runtime.backends import BackendError, files
from models_runtime.backends.children import SpooledTexts
from models_runtime.backends.learner import TrainingTask
from models_runtime.backends.neural.crf import Tags
from models_runtime.backends.neural.device import chunks
from models_runtime.backends.neural.learning import IGNORED
from models_runtime.backends.token_classification import TokenClassificationBackend
from models_runtime.backends.token_classification.adapting import SENTENCES, PieceMasker, StoredPieces, sentences_of
from models_runtime.backends.token_classification.backend import TransformerBackend
from models_runtime.backends.token_classification.encoding import Pieces
from models_runtime.backends.token_classification.model import (
    MASKED_FORMAT,
    StartingPoint,
    load_masked,
    load_model,
    read_network,
)
from models_runtime.backends.token_classification.training import MASKED, learn
from models_runtime.backends.token_classification.training import learn_masked as learn_language
from tests.backends.contract import BackendContract
from tests.backends.made import NAMES, damaged, joined, made_notes, moved_notes
from tests.backends.made_weights import TINY, lookup_tagger, tiny_bert

# A window of the small network holds 30 pieces of text.
POSITIONS = 32


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Weights trained elsewhere: a small BERT, a tokenizer that would truncate texts, its own tags."""
    texts = [text for text, _ in made_notes(40)]
    names = ["O", "B-PER", "I-PER", "S-CITY", "DAY"]
    return tiny_bert(tmp_path_factory.mktemp("weights") / "tiny-bert", texts, names, positions=POSITIONS)


LONG = joined(made_notes(7))
"""A note of more than five windows."""


def task_of(folder, notes, epochs, **more):
    return TrainingTask(notes, "meddocan", algorithm="fresh", iterations=epochs, base=str(folder), **more)


@pytest.fixture(scope="module")
def made_by_heart(tmp_path_factory):
    return tmp_path_factory.mktemp("transformer") / "model.zip"


@pytest.fixture(scope="module")
def by_heart(folder, made_by_heart):
    steps = []
    learn(task_of(folder, [LONG] * 2, 30, held_out=[LONG], report=steps.append), made_by_heart)
    return TransformerBackend(str(made_by_heart)), steps


@pytest.fixture(scope="module")
def steady(folder, tmp_path_factory):
    made = tmp_path_factory.mktemp("steady") / "model.zip"
    learn(task_of(folder, [*made_notes(8), *moved_notes(8)], 16), made)
    return TransformerBackend(str(made))


class TestTransformerContract(BackendContract):
    words = made_notes(1)[0][0]
    made = "steady"


def test_it_learns_a_note_of_more_than_five_windows(folder, by_heart):
    (backend, steps), (text, spans) = by_heart, LONG
    assert len(Pieces((folder / "tokenizer.json").read_text()).encode(text).pieces) > 5 * (POSITIONS - 2)
    assert backend.predict([text])[0] == spans and steps[-1].f1 == 1.0


def test_the_language_is_learned_from_notes_without_labels_too(folder, tmp_path):
    more = [text for text, _ in moved_notes(2)]
    asked = [{"adapt": 1}, {"adapt": 1, "unlabeled": more}, {"unlabeled": more}, {}]
    made = [learn(task_of(folder, made_notes(2), 1, **each), tmp_path / "made.zip") for each in asked]
    assert made[0] != made[1] and made[2] == made[3] != made[0], "only with pre-training"


def test_only_pieces_of_the_text_are_masked():
    torch.manual_seed(3)
    ids = torch.randint(5, 600, (200, 30))
    there = (torch.arange(30) < torch.randint(3, 31, (200, 1))).long()
    shown, right = PieceMasker(4, 600, (1, 1))(ids, there)
    asked = right != IGNORED
    last = there.sum(dim=1) - 1
    assert not asked[:, 0].any() and not asked[torch.arange(200), last].any() and not (asked & (there == 0)).any()
    assert asked.any(dim=1).all() and (shown[~asked] == ids[~asked]).all() and (right[asked] == ids[asked]).all()
    assert 0.13 < asked.sum() / (there.sum() - 400) < 0.20 and 0.7 < (shown[asked] == 4).float().mean() < 0.9


@pytest.mark.usefixtures("by_heart")
def test_attention_is_torch_s_own_where_the_architecture_has_it(folder, made_by_heart, tmp_path):
    """For networks from a folder, new ones, and our own files. DeBERTa has no SDPA, and must work too."""
    begins = [StartingPoint.at(path) for path in (folder, made_by_heart)]
    bert = [read_network(folder), load_model(made_by_heart).network]
    bert += [network for begin in begins for network in (begin.network(Tags.of(["PER"])), begin.masked_lm())]
    assert {network.config._attn_implementation for network in bert} == {"sdpa"}
    config = transformers.DebertaV2Config(vocab_size=600, max_position_embeddings=POSITIONS, **TINY)
    transformers.DebertaV2ForMaskedLM(config).save_pretrained(tmp_path / "deberta")
    (tmp_path / "deberta" / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    for base, made in (("deberta", "first.zip"), ("first.zip", "second.zip")):
        learn(task_of(tmp_path / base, made_notes(2), 1, adapt=1), tmp_path / made)
    assert TransformerBackend(str(tmp_path / "second.zip")).predict([LONG[0]])


def test_tags_of_other_models_are_mapped(folder):
    labels = {"PER": "NOMBRE_SUJETO_ASISTENCIA", "CITY": "TERRITORIO", "DAY": None}
    backend = TokenClassificationBackend(str(folder), "meddocan", labels)
    assert backend.labels == ("NOMBRE_SUJETO_ASISTENCIA", "TERRITORIO")
    assert {span.label for span in backend.predict([LONG[0]])[0]} <= set(backend.labels)
    for wrong, words in (({"PER": "A", "CITY": None}, "lacks labels of the model: DAY"),
                         (labels | {"ORG": None}, "has no labels ORG")):  # fmt: skip
        with pytest.raises(BackendError, match=words):
            TokenClassificationBackend(str(folder), "meddocan", wrong)


TEXT = "\U0001f600 Anna Maria Bianchi,\u00a0di Rovigo. Luca Luca 😀 Roma"
# The pieces of the names in TEXT with their tags in BIOES. `##chi` never decides: its word has the tag of `Bian`.
IN_BIOES = {
    "Anna": "B-PER", "Maria": "I-PER", "Bian": "E-PER", "##chi": "O",
    "Rovigo": "S-LOC", "Luca": "S-PER", "Roma": "S-LOC",
}  # fmt: skip
SCHEMES = {
    "BIOES": {}, "BILOU": {"E": "L", "S": "U"}, "BIO": {"E": "I", "S": "B"}, "IOB1": {"B": "I", "E": "I", "S": "I"},
    "IO": {"B": "I", "E": "I", "S": "I"}, "plain": {"B": "", "I": "", "E": "", "S": ""},
}  # fmt: skip


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_tags_of_every_scheme_are_read_as_the_same_spans(scheme, tmp_path):
    """Offsets are code points also after an emoji. Only BIO, BIOES and BILOU part neighbors with one label."""

    def named(tag):
        mark, _, label = tag.partition("-")
        return "O" if tag == "O" else f"{SCHEMES[scheme].get(mark, mark)}-{label}".removeprefix("-")

    tag_of = {piece: named(tag) for piece, tag in IN_BIOES.items()} | dict.fromkeys((",", ".", "di"), "O")
    tags = ["O", *sorted(set(tag_of.values()) - {"O"}), *(["B-PER", "B-LOC"] if scheme == "IOB1" else [])]
    folder = lookup_tagger(tmp_path / scheme, tag_of, tags)
    (spans,) = TokenClassificationBackend(str(folder), "set", {"PER": "NAME", "LOC": "CITY"}).predict([TEXT])
    luca = [("Luca", "NAME")] * 2 if scheme in ("BIO", "BIOES", "BILOU") else [("Luca Luca", "NAME")]
    expected = [("Anna Maria Bianchi", "NAME"), ("Rovigo", "CITY"), *luca, ("Roma", "CITY")]
    assert [(TEXT[span.start : span.end], span.label) for span in spans] == expected
    assert min(span.confidence or 0 for span in spans) >= 0.999


# Language pre-training with masked words: its evaluation, any number of notes, and the model that is kept


NOTES = made_notes(4)
MORE = [text for text, _ in moved_notes(6)]


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    made = tmp_path_factory.mktemp("weights") / "tiny"
    return tiny_bert(made, [text for text, _ in made_notes(40)])


def language_task(base, **more):
    return TrainingTask([(text, []) for text, _ in NOTES], "set", base=str(base), **more)


def fine_tuning(base, **more):
    return TrainingTask(NOTES, "set", algorithm="fresh", iterations=1, base=str(base), **more)


def test_its_loss_on_held_out_notes_falls_and_the_probe_shows_words_before_and_after(weights, tmp_path):
    steps = []
    asked = {"rate": 3e-3, "batch": 4, "probe": "Acude por [MASK]. | Nombre: Anna [MASK]."}
    options = {"unlabeled": MORE, "held_out": made_notes(6)[4:], "settings": asked, "report": steps.append}
    learn_language(language_task(weights, iterations=32, **options), tmp_path / "made.zip")
    assert [step.iteration for step in steps] == list(range(33)) and not any(step.adapting for step in steps)
    assert steps[-1].held_out_loss < 0.7 * steps[0].held_out_loss
    before, after = steps[0].probe, steps[-1].probe
    assert [filled["sentence"] for filled in before] == ["Acude por [MASK].", "Nombre: Anna [MASK]."]
    names = {part for name in NAMES for part in name.split()}
    known = [len(names.intersection(word for word, _ in filled[1]["words"])) for filled in (before, after)]
    assert known[1] > known[0]
    chances = [chance for _, chance in after[1]["words"]]
    assert len(chances) == 5 and chances == sorted(chances, reverse=True) and sum(chances) <= 1.001


def test_a_transformer_starts_from_a_kept_language_model(weights, tmp_path):
    language, made = tmp_path / "language.zip", tmp_path / "made.zip"
    learn_language(language_task(weights, iterations=4, settings={"rate": 4e-3}), language)
    masked, begin = load_masked(language), StartingPoint.at(language)
    assert (masked.card.format, masked.card.base, masked.card.iterations) == (MASKED_FORMAT, "tiny", 4)
    assert (begin.name, begin.labels) == ("tiny", ())
    assert learn(fine_tuning(weights), made) != learn(fine_tuning(language), made)
    networks = (load_model(made).network, masked.network, StartingPoint.at(weights).masked_lm())
    body, kept, earlier = (network.base_model.state_dict()["embeddings.word_embeddings.weight"] for network in networks)
    assert (body - kept).abs().mean() < (body - earlier).abs().mean()
    with pytest.raises(BackendError, match="is not a deidreview-transformer-1 model"):
        load_model(language)
    # Another stage of language pre-training continues from it as well. Uploaded files are checked.
    learn_language(language_task(language, iterations=1), made)
    assert load_masked(made).card.base == "tiny" and files.format_of(made) == MASKED_FORMAT
    checked = {"label_set": "", "algorithm": "masked", "labels": (), "notes": 4, "iterations": 1}
    assert MASKED.check(made) == checked
    for content in (b'{"format": "deidreview-masked-lm-1"}', b"[]"):
        with pytest.raises(BackendError):
            load_masked(damaged(made, tmp_path / "other.zip", card__json=content))


def test_the_weights_of_the_stage_in_a_training_are_kept_if_asked(weights, tmp_path):
    steps = []
    asked = {"adapt": 2, "held_out": made_notes(5)[4:], "report": steps.append}
    for kept in (False, True):
        learn(fine_tuning(weights, settings={"keep_language": kept}, **asked), tmp_path / "made.zip")
        assert (tmp_path / "language.zip").exists() is kept
    assert load_masked(tmp_path / "language.zip").card.iterations == 2
    adapting = [step for step in steps if step.adapting]
    assert [step.iteration for step in adapting] == [0, 1, 2] * 2
    assert all(step.held_out_loss is not None and len(step.probe) == len(SENTENCES["en"]) for step in adapting)


@pytest.mark.parametrize("sentence", ["Anna acude.", "[MASK] y [MASK]", "Anna [MASK] " + "acude " * 99])
def test_an_unusable_sentence_is_refused_without_being_repeated(weights, tmp_path, sentence):
    with pytest.raises(BackendError, match="exactly one") as caught:
        learn_language(language_task(weights, iterations=1, settings={"probe": sentence}), tmp_path / "made.zip")
    assert caught.value.permanent and "Anna" not in str(caught.value)
    with pytest.raises(BackendError, match="no text to learn from"):
        learn_language(TrainingTask([("", [])], "set", base=str(weights)), tmp_path / "made.zip")


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
