"""Taggers of Flair: equal tags on small random models, probabilities, words, and folders that are refused."""

import re
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from safetensors.torch import load_file

from annotations.text.bio import as_bio, decode
from annotations.text.spans import Token, tokenize
from models_runtime.backends import BackendError
from models_runtime.backends.flair import MOST_CHARACTERS, FlairBackend, _words
from models_runtime.backends.neural.device import CPU_BUDGET
from models_runtime.core import external
from models_runtime.core.external import flair_taggers
from tests.backends.contract import BackendContract
from tests.backends.made_flair import RECORDED, made_flair, word_tagger

MAP = {"PER": "PATIENT", "LOC": "CITY"}
TAGS = ("O", "S-PER", "B-PER", "E-PER", "I-PER", "S-LOC")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made_flair(tmp_path_factory.mktemp("flair") / "tiny")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    tag_of = {"Anna": "B-PER", "Bianchi": "E-PER", "Rovigo": "S-LOC"}
    return FlairBackend(str(word_tagger(tmp_path_factory.mktemp("names") / "n", tag_of, TAGS)), "i2b2-2014", MAP)


class TestFlairContract(BackendContract):
    words = "Anna Bianchi, nata a Rovigo.\n"
    most = 20_000
    made = "names"


@pytest.mark.parametrize("case", RECORDED["cases"])
def test_the_tags_are_those_of_flair(case, tmp_path):
    """With word vectors, reprojection and a CRF; and with two LSTM layers, lower case, and neither of these.

    The texts are written so that Flair's words and deidreview's are the same.
    """
    backend, texts = FlairBackend(str(made_flair(tmp_path / case, case)), "set", MAP), RECORDED["texts"]
    recorded, network = RECORDED["cases"][case]["tags"], backend._network
    read = network([text.split() for text in texts], "cpu")
    assert [[network.tags[tag] for tag in path.tags] for path in network.paths(read)] == recorded
    for text, tags, found in zip(texts, recorded, backend.predict(texts), strict=True):
        words = [Token(*match.span()) for match in re.finditer(r"\S+", text)]
        assert found == [replace(span, label=MAP[span.label]) for span in decode(words, as_bio(tags))]


def test_probabilities_are_those_of_all_paths(folder):
    """Each path is scored by itself; the probability of a tag is the share of the paths through it."""
    network = FlairBackend(str(folder), "set", MAP)._network
    (scores,) = network([["Anna", "di", "Rovigo"]], "cpu")
    ((path, _, probabilities),) = network.paths([scores])
    steps = network.crf["transitions"].detach().numpy()
    start, stop = (network.tags.index(name) for name in ("<START>", "<STOP>"))
    weights = {}
    for tags in product(range(len(network.tags)), repeat=3):
        ends = zip((start, *tags), (*tags, stop), strict=True)
        weights[tags] = sum(scores[at, tag] for at, tag in enumerate(tags)) + sum(steps[to, was] for was, to in ends)
    assert tuple(path) == max(weights, key=lambda tags: weights[tags])
    shares = {tags: np.exp(weight - max(weights.values())) for tags, weight in weights.items()}
    for at, tag in product(range(3), range(len(network.tags))):
        through = sum(share for tags, share in shares.items() if tags[at] == tag) / sum(shares.values())
        assert probabilities[at, tag] == pytest.approx(through, abs=1e-6)


def test_a_batch_reads_as_each_text_alone(folder):
    backend = FlairBackend(str(folder), "set", MAP)
    texts = ["Anna di Rovigo. Luca!", "", "Tel", "Anna " * 450, "1/2 e\u0301 😀 di"]
    assert backend.predict(texts) == [backend.predict([text])[0] for text in texts]
    for text, (_, marginals) in zip(texts, backend.predict_marginals(texts), strict=True):
        assert list(marginals.tokens) == tokenize(text) and marginals.marked.max(initial=0) <= 1


@pytest.mark.parametrize(("text", "words"), [
    ("il 12/03/2021, Rossi-Bianchi", "il 12/03/2021 , Rossi-Bianchi"), ("a.b@c.it e d'Anna.", "a.b@c.it e d'Anna ."),
    ("A1b2 (3) --x", "A1b2 ( 3 ) - - x"),
])  # fmt: skip
def test_words(text, words):
    tokens = tokenize(text)
    found = [text[tokens[first].start : tokens[past - 1].end] for first, past in _words(text, tokens, 0, len(tokens))]
    assert found == words.split()


def test_labels_are_mapped_and_confidences_are_probabilities(names, folder):
    (found,) = names.predict(["😀 Anna Bianchi di Rovigo"])
    shown = [(span.start, span.end, span.label, span.confidence) for span in found]
    assert shown == [(2, 14, "PATIENT", 1.0), (18, 24, "CITY", 1.0)]
    only = FlairBackend(str(folder), "set", MAP | {"LOC": None})
    assert only.labels == ("PATIENT",)
    assert {span.label for span in only.predict([RECORDED["texts"][0]])[0]} == {"PATIENT"}
    assert only.revision != FlairBackend(str(folder), "set", MAP).revision
    for wrong in ({"PER": "PATIENT"}, MAP | {"ORG": None}):
        with pytest.raises(BackendError, match=r"The label map and the tagger differ in: (LOC|ORG)"):
            FlairBackend(str(folder), "set", wrong)


REPEATED = [
    each | {"characters": [each["characters"][0], *each["characters"][:-1]]} if "characters" in each else each
    for each in RECORDED["cases"]["crf"]["config"]["embeddings"]
]


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "other"}, {"tags": ["O", "S-PER"]}, {"embeddings": []}, {"embeddings": [{"kind": "words"}] * 3},
        {"embeddings": REPEATED},  # The rows of all other characters would be those of others, without any error.
        {"reproject": False}, {"crf": False},
    ],
)  # fmt: skip
def test_unusable_configurations(changes, tmp_path):
    with pytest.raises(BackendError, match="can't be used") as caught:
        FlairBackend(str(made_flair(tmp_path / "t", **changes)), "set", MAP)
    assert caught.value.permanent


def test_batches_and_sentences_are_limited_in_characters(names, monkeypatch):
    """A word of a hundred letters takes as much memory as twenty of five."""
    given = []
    plain = names._network.forward

    def forward(sentences, device):
        given.append(sentences)
        return plain(sentences, device)

    monkeypatch.setattr(names._network, "forward", forward)
    text = f"{'a' * 150} " * 80
    (marked,) = names.predict_marginals([text + "Anna Bianchi"])
    assert [text.label for text in marked[0]] == ["PATIENT"] and len(marked[1].tokens) == 82
    sizes = [[sum(map(len, words)) for words in sentences] for sentences in given]
    assert sum(map(sum, sizes)) == 80 * 150 + 11 and all(max(batch) <= MOST_CHARACTERS for batch in sizes)
    assert all(sum(batch) <= CPU_BUDGET for batch in sizes)


@pytest.mark.parametrize(("tags", "labels"), [
    (["<unk>", "O", "E-MAIL", "PER"], {"E-MAIL": "EMAIL", "PER": "PATIENT"}),
    (["O", "B_PER", "I_PER", "<START>"], {"PER": "PATIENT"}), (["O", "B-PER", "M-PER", "E-PER"], {"PER": "PATIENT"}),
])  # fmt: skip
def test_the_list_and_the_backend_read_the_same_labels(tags, labels, tmp_path, monkeypatch):
    monkeypatch.setattr(external, "weights_home", lambda: tmp_path)
    tag_of = dict(zip(["un", "di", "Anna", "Maria"], tags, strict=True))
    word_tagger(tmp_path / "t", tag_of, sorted(tags, key=lambda tag: tag != "O"))
    assert [tagger.labels for tagger in flair_taggers()] == [tuple(sorted(labels))]
    spans = FlairBackend(str(tmp_path / "t"), "set", labels).predict(["Anna un Anna Maria"])[0]
    assert spans and {span.label for span in spans} <= set(labels.values())


def _class(name):
    """Stands for one of Flair's classes, which are told apart by their type."""
    return type(name, (SimpleNamespace,), {})


def test_the_script_of_the_documentation_writes_what_is_read(tmp_path, monkeypatch):
    """The script runs with stand-ins for Flair's objects, which have what a recorded tagger had."""
    stand_ins = {name: _class(name) for name in ("FlairEmbeddings", "StackedEmbeddings", "WordEmbeddings")}
    monkeypatch.setitem(sys.modules, "flair", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "flair.embeddings", SimpleNamespace(**stand_ins))
    monkeypatch.setitem(sys.modules, "flair.models", SimpleNamespace(SequenceTagger=None))
    page = (Path(__file__).parents[2] / "docs" / "flair.md").read_text(encoding="utf-8")
    script = {"__name__": "convert"}
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], script)
    recorded = RECORDED["cases"]["crf"]
    config = recorded["config"]

    def dictionary(items):
        return SimpleNamespace(item2idx={item.encode(): at for at, item in enumerate(items)})

    def embedding(number, each):
        if each["kind"] == "words":
            vocab = {word: at for at, word in enumerate(recorded["words"][str(number)])}
            return stand_ins["WordEmbeddings"](layer_norm=None, field=None, vocab=vocab)
        model = SimpleNamespace(
            proj=None, is_forward_lm=each["forward"], dictionary=dictionary(each["characters"]),
            document_delimiter=each["start"],
        )  # fmt: skip
        return stand_ins["FlairEmbeddings"](
            tokenized_lm=True, with_whitespace=each["after_space"], is_lower=each["lower"], lm=model
        )

    state = load_file(made_flair(tmp_path / "made") / "model.safetensors")
    parts = [embedding(number, each) for number, each in enumerate(config["embeddings"])]
    tagger = SimpleNamespace(
        embeddings=stand_ins["StackedEmbeddings"](embeddings=parts), label_dictionary=dictionary(config["tags"]),
        reproject_embeddings=config["reproject"], use_rnn=config["lstm"], use_crf=config["crf"], rnn_type="LSTM",
        bidirectional=True, train_initial_hidden_state=False,
        state_dict=lambda: state | {"embeddings.list_embedding_1.lm.decoder.weight": torch.zeros(2)},
    )  # fmt: skip
    script["convert"](tagger, tmp_path / "converted")
    one, two = (
        FlairBackend(str(tmp_path / name), "set", MAP).predict(RECORDED["texts"]) for name in ("made", "converted")
    )
    assert one == two != [[]] * 3
    with pytest.raises(SystemExit, match="bidirectional LSTMs"):
        script["convert"](SimpleNamespace(**vars(tagger) | {"rnn_type": "GRU"}), tmp_path / "refused")
