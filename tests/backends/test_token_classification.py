"""Transformers: contract, windows, other tag schemes, a long note, unusable folders."""

import pytest
import torch
import transformers

from models_runtime.backends import BackendError
from models_runtime.backends.learner import TrainingTask
from models_runtime.backends.neural.crf import Tags
from models_runtime.backends.neural.learning import IGNORED
from models_runtime.backends.token_classification import TokenClassificationBackend
from models_runtime.backends.token_classification.adapting import PieceMasker
from models_runtime.backends.token_classification.backend import TransformerBackend
from models_runtime.backends.token_classification.encoding import Pieces
from models_runtime.backends.token_classification.model import StartingPoint, load_model, read_network
from models_runtime.backends.token_classification.training import learn
from tests.backends.contract import BackendContract
from tests.backends.made import joined, made_notes, moved_notes
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
