"""Transformers: sub-words, chunks, groups, decoding, batches, figures by epoch, windows, targets, tags and folders."""

import json
import shutil
from dataclasses import asdict, replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from tokenizers import Tokenizer, normalizers

from annotations.text.spans import Span, tokenize
from models_runtime.backends import BackendError
from models_runtime.backends.epochs import Orders
from models_runtime.backends.learner import TrainingTask
from models_runtime.backends.neural.crf import Tags
from models_runtime.backends.neural.device import Device, Placement, Window, batches_of, chunks
from models_runtime.backends.neural.learning import IGNORED
from models_runtime.backends.token_classification import TokenClassificationBackend
from models_runtime.backends.token_classification import model as network
from models_runtime.backends.token_classification.adapting import WindowBatches
from models_runtime.backends.token_classification.backend import Columns, TransformerBackend
from models_runtime.backends.token_classification.encoding import EncodedText, Pieces, ReadingMode, parts_of
from models_runtime.backends.token_classification.model import load_model
from models_runtime.backends.token_classification.tagger import Scorer, Tagger
from models_runtime.backends.token_classification.training import HeldOut, learn, targets
from tests.backends.made import Killed, damaged, dies_at, joined, made_notes
from tests.backends.made_weights import TINY, bert_folder, tiny_bert

CPU = Device("cpu", "CPU", 4096)
TAGS = Tags.of(["A", "B"])
NOTES = made_notes(4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Weights with so few pieces that most words have several."""
    made = tmp_path_factory.mktemp("weights") / "tiny"
    return bert_folder(made, [text for text, _ in made_notes(40)], (), positions=64, pieces=110, **TINY)


def task_of(folder, notes=NOTES, **more):
    """A short training. Options that TrainingTask doesn't have are settings."""
    known = {key: more.pop(key) for key in list(more) if key in TrainingTask.__dataclass_fields__}
    asked = {"algorithm": "fresh", "iterations": 1, "base": str(folder)} | known
    return TrainingTask(notes, "set", settings=more, **asked)


# ── Labels of sub-words ──────────────────────────────────────────────────────────────────────────────────────────────


def anna():
    """“Anna Bianchi” as the pieces An-na, a piece for the space, Bi-an-chi."""
    text = "Anna Bianchi"
    return EncodedText(np.arange(6), [(0, 2), (2, 4), (4, 5), (5, 8), (8, 10), (10, 12)], list(tokenize(text)), [0, 3])


def test_every_sub_word_has_the_label_of_its_word():
    """A[i] = L[word_ids[i]]: later sub-words repeat the tag, B- included (Salierno et al. 2024, section 6)."""
    begin, inside = TAGS.number("B-B"), TAGS.number("I-B")
    spans = [Span(0, 12, "B")]
    assert targets(anna(), spans, TAGS, "every").tags == [begin, begin, IGNORED, inside, inside, inside]
    assert targets(anna(), spans, TAGS, "rest").later == [0, 1, 0, 0, 1, 1]
    assert targets(anna(), spans, TAGS, "first").tags == [begin, IGNORED, IGNORED, inside, IGNORED, IGNORED]
    assert targets(anna(), [], TAGS, "every").tags == [0, 0, IGNORED, 0, 0, 0]
    # A piece of two words has the label of the first.
    both = EncodedText(np.arange(1), [(0, 4)], list(tokenize("12mg")), [0, 0])
    assert targets(both, [Span(0, 2, "A")], TAGS, "every").tags == [TAGS.number("B-A")]


def test_the_choice_of_sub_words_changes_the_model(folder, tmp_path):
    """Later sub-words with full weight are as every sub-word, and with none as the first."""
    made, weights = {}, {}
    for name, settings in {
        "default": {}, "first": {"sub_words": "first"}, "every": {"sub_words": "every"}, "rest": {"sub_words": "rest"},
        "full": {"sub_words": "rest", "rest": 1}, "none": {"sub_words": "rest", "rest": 0},
    }.items():  # fmt: skip
        made[name] = learn(task_of(folder, **settings), tmp_path / f"{name}.zip")
        weights[name] = load_model(tmp_path / f"{name}.zip").network.classifier.weight
    assert made["default"] == made["first"] and len({made[name] for name in ("first", "every", "rest")}) == 3
    assert torch.allclose(weights["every"], weights["full"], atol=1e-5)
    assert torch.allclose(weights["first"], weights["none"], atol=1e-5)


# ── Chunks and grouping ──────────────────────────────────────────────────────────────────────────────────────────────


def test_disjoint_chunks_are_full_but_the_last_and_every_piece_is_in_one():
    """K = ⌈|S| / L⌉ (Salierno et al. 2024, section 6)."""
    found = chunks(1300, 510)
    assert [(window.start, window.past) for window in found] == [(0, 510), (510, 1020), (1020, 1300)]
    assert all((window.kept, window.kept_past) == (window.start, window.past) for window in found)
    assert chunks(0, 510) == []


def test_runs_read_in_chunks_as_the_training_did(folder, tmp_path):
    note = joined(made_notes(4))
    for chosen in ("overlapping", "disjoint"):
        learn(task_of(folder, notes=[note], chunks=chosen), tmp_path / f"{chosen}.zip")
        assert load_model(tmp_path / f"{chosen}.zip").card.chunks == chosen
        backend = TransformerBackend(str(tmp_path / f"{chosen}.zip"))
        windows = backend._tagger.scorer.windows(backend._tagger.pieces.encode(note[0]))
        shared = [a.past - b.start for a, b in pairwise(windows)]
        assert len(windows) > 3 and (set(shared) == {0} if chosen == "disjoint" else min(shared) > 10)
    # A model that continues from another one reads as that one, unless the training chooses otherwise.
    learn(task_of(tmp_path / "disjoint.zip", decoding="argmax"), tmp_path / "next.zip")
    assert load_model(tmp_path / "next.zip").card.reading == ReadingMode("disjoint", "argmax", 0)


def test_groups_of_sentences_are_sequences_of_their_own(folder):
    text, tokenizer = (
        "Uno aqui. Dos aqui.\nTres aqui. Cuatro aqui. Cinco aqui.",
        (folder / "tokenizer.json").read_text(),
    )
    for factor, firsts in ((1, "Uno Dos Tres Cuatro Cinco"), (2, "Uno Tres Cinco"), (32, "Uno")):
        encoded = Pieces(tokenizer, factor).encode(text)
        assert [encoded.parts[0][0], encoded.parts[-1][1]] == [0, len(encoded.pieces)]
        assert all(a[1] == b[0] for a, b in pairwise(encoded.parts))
        assert [text[encoded.bounds[start][0] :].split()[0] for start, _ in encoded.parts] == firsts.split()
    assert Pieces(tokenizer).encode(text).parts == [(0, len(encoded.pieces))]
    scorer = Scorer(SimpleNamespace(), ([7], [8]), most=10, pad=0, disjoint=True)
    windows = scorer.windows(EncodedText(np.arange(20), [], [], [], [(0, 3), (3, 20)]))
    assert [(window.start, window.past) for window in windows] == [(0, 3), (3, 11), (11, 19), (19, 20)]
    # A piece of two words at the end of a group is in one group.
    text = "Uno 1.\n2 dos"
    assert parts_of(text, list(tokenize(text)), [0, 1, 1, 1, 2], 3, 1) == [(0, 1), (1, 3)]


def test_a_model_of_a_newer_version_is_refused(folder, tmp_path):
    learn(task_of(folder), tmp_path / "made.zip")
    card = load_model(tmp_path / "made.zip").card
    for change in ({"chunks": "spirals"}, {"decoding": "beam"}, {"grouped": -1}, {"grouped": True}, {"grouped": "2"}):
        content = json.dumps(asdict(card) | change).encode()
        with pytest.raises(BackendError) as caught:
            load_model(damaged(tmp_path / "made.zip", tmp_path / "other.zip", card__json=content))
        assert caught.value.permanent
    old = {key: value for key, value in asdict(card).items() if key not in ("chunks", "decoding", "grouped")}
    earlier = damaged(tmp_path / "made.zip", tmp_path / "old.zip", card__json=json.dumps(old).encode())
    assert load_model(earlier).card.reading == ReadingMode()


# ── Decoding ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("decoding", "found"), [("path", [(0, 12, "A", 0.4)]), ("argmax", [(5, 12, "A", 0.9)])])
def test_the_likeliest_tag_of_each_word_or_the_best_valid_path(decoding, found):
    rows = [{"O": 0.6, "B-A": 0.4}, {"I-A": 0.9, "O": 0.05}]
    assert tagged("Anna Bianchi", [0, 1], rows, decoding=decoding) == found


# ── Batches ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_batch_has_the_chosen_number_of_sequences():
    assert batches_of([5, 9, 7, 1, 3], 2) == [[1, 2], [0, 4], [3]]
    assert WindowBatches(100, windows=2).cut([5, 9, 7]) == [[1, 2], [0]]
    assert WindowBatches(20).changed({"batch": 3, "accumulation": 2}) == WindowBatches(20, 3, 2)
    orders = Orders(3, lambda epoch: [[epoch]] * (epoch + 1))
    assert (len(orders), orders.steps, orders[2]) == (3, 6, [[2]] * 3)


def test_accumulation_gives_the_same_model_and_other_batches_and_rates_another(folder, tmp_path):
    def weights(**settings):
        learn(task_of(folder, algorithm="weighted", iterations=2, **settings), tmp_path / "made.zip")
        return load_model(tmp_path / "made.zip").network.classifier.weight.clone()

    whole = weights(batch=4, rate=1e-3)
    assert torch.allclose(weights(batch=4, rate=1e-3, accumulation=4), whole, atol=1e-4)
    assert not torch.allclose(weights(batch=1, rate=1e-3), whole, atol=1e-4)
    assert not torch.allclose(weights(batch=4, rate=1e-2), whole, atol=1e-4)


# ── Figures and models by epoch ──────────────────────────────────────────────────────────────────────────────────────


def test_figures_of_tokens_and_sub_words():
    """Six sub-words of two words; the second word is wrong, and one sub-word of the first."""
    scores = np.full((6, len(TAGS)), -9.0, dtype=np.float32)
    for row, tag in zip(scores, ("B-A", "O", "O", "O", "O", "O"), strict=True):
        row[TAGS.number(tag)] = 0
    pieces, scorer = SimpleNamespace(encode=lambda text: anna()), SimpleNamespace(scores=lambda *more: [scores])
    tagger = Tagger(pieces, scorer, TAGS, lambda rows: rows, "")

    def figures(sub_words, label="A"):
        def right(encoded, spans):
            return targets(encoded, spans, TAGS, sub_words).tags if sub_words == "every" else None

        return HeldOut([("Anna Bianchi", [Span(0, 12, label)])], tagger, Placement(CPU), right).figures()

    first, every, unknown = figures("first"), figures("every"), figures("every", "C")
    assert first["tokens"] == every["tokens"] == {"accuracy": 0.5, "precision": 1.0, "recall": 0.5, "f1": 0.6667}
    assert first["pieces"] is None and first["f1"] == every["f1"] == 0.0
    assert every["pieces"] == {"accuracy": 0.2, "precision": 1.0, "recall": 0.2, "f1": 0.3333}
    # A label that the model doesn't have counts as missed, also as a sub-word.
    assert unknown["tokens"]["recall"] == unknown["pieces"]["recall"] == 0


def test_each_epoch_reports_figures_and_leaves_a_model_even_after_a_kill(folder, tmp_path):
    steps = []
    asked = {"iterations": 3, "held_out": made_notes(5)[4:], "checkpoints": True, "sub_words": "every"}

    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    whole = task_of(folder, checkpoint=tmp_path / "whole" / "checkpoint", report=steps.append, **asked)
    sha = learn(whole, tmp_path / "whole.zip")
    assert all(0 <= step.tokens["accuracy"] <= 1 and step.pieces["recall"] is not None for step in steps)
    killed = replace(whole, checkpoint=tmp_path / "killed" / "checkpoint")
    with pytest.raises(Killed):
        learn(replace(killed, report=dies_at(2)), tmp_path / "half.zip")
    again = []
    assert learn(replace(killed, report=again.append), tmp_path / "again.zip") == sha and again == steps
    for epoch in (1, 2):
        one, two = (tmp_path / name / f"epoch-{epoch}.zip" for name in ("whole", "killed"))
        assert one.read_bytes() == two.read_bytes() and load_model(one).card.iterations == epoch
        TransformerBackend(str(one)).predict([NOTES[0][0]])
    assert not (tmp_path / "whole" / "epoch-3.zip").exists()  # The model itself is that of the last epoch.


class Echo(torch.nn.Module):
    """Returns each piece's own id as its score, so that tests see which piece was scored where."""

    def forward(self, input_ids, attention_mask):
        return SimpleNamespace(logits=torch.stack([input_ids.float(), -input_ids.float()], dim=2))


def encoded(count):
    return EncodedText(np.arange(count), [], [], [])


@pytest.fixture(scope="module")
def tagging(tmp_path_factory):
    made = tmp_path_factory.mktemp("weights") / "tiny"
    return tiny_bert(made, [text for text, _ in made_notes(40)], ["O", "B-PER", "I-PER"])


# ── Windows ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_windows_hold_512_pieces_and_share_128():
    """Special pieces count among the 512. Models with a longer input get no longer windows (Salierno et al. 2024)."""
    for positions, most in ((8192, 512), (512, 512), (64, 64)):
        assert network.room(SimpleNamespace(max_position_embeddings=positions, model_type="bert")) == most
    found = Scorer(Echo(), ([7], [8]), most=512, pad=0).windows(encoded(3000))
    assert {len(window) for window in found} == {510} and min(a.past - b.start for a, b in pairwise(found)) >= 128


def test_each_piece_has_its_own_scores():
    scorer, counts = Scorer(Echo(), ([7000], [8000]), most=64, pad=0), (5, 400, 0)
    for rows, count in zip(scorer.scores(list(map(encoded, counts)), Placement(CPU)), counts, strict=True):
        difference = rows[:, 0] - rows[:, 1] if count else np.zeros(0)
        assert difference.tolist() == pytest.approx([2.0 * at for at in range(count)], abs=0.01)


def test_a_piece_without_a_window_is_an_error(monkeypatch):
    scorer = Scorer(Echo(), ([], []), most=64, pad=0)
    monkeypatch.setattr(scorer, "windows", lambda text: [Window(0, 60, 0, 60), Window(40, 99, 61, 99)])
    with pytest.raises(BackendError, match="no window contains it") as caught:
        scorer.scores([encoded(99)], Placement(CPU))
    assert caught.value.permanent


def test_a_tokenizer_s_own_changes(tagging):
    """Its padding and truncation are switched off. Letters that it drops would never be classified."""
    tokenizer = Tokenizer.from_file(str(tagging / "tokenizer.json"))
    plain = Pieces(tokenizer.to_str()).encode(NOTES[0][0])
    tokenizer.enable_padding(length=500)
    tokenizer.enable_truncation(8)
    assert Pieces(tokenizer.to_str()).encode(NOTES[0][0]).pieces.tolist() == plain.pieces.tolist()
    assert 8 < len(plain.pieces) < 500
    tokenizer.normalizer = normalizers.Replace("x", "")
    pieces = Pieces(tokenizer.to_str())
    assert len(pieces.encode("Anna y Eva").tokens) == 3
    with pytest.raises(BackendError, match="skips the character at 5"):
        pieces.encode("Anna x Eva")


def test_padding_does_not_change_scores(tagging):
    """Padding is masked, and the special pieces are around each window."""
    tagger = TokenClassificationBackend(str(tagging), "set", {"PER": "A"})._tagger
    pieces = [tagger.pieces.encode(text) for text in (NOTES[0][0], "Anna", NOTES[1][0] * 3)]
    shown = tagger.scorer.inputs([(Window(0, 4, 0, 4), text) for text in pieces], CPU)["input_ids"]
    assert shown[:, 0].tolist() == [2] * 3 and shown[:, 5].tolist() == [3] * 3
    for text, rows in zip(pieces, tagger.scorer.scores(pieces, Placement(CPU)), strict=True):
        assert np.abs(tagger.scorer.scores([text], Placement(CPU))[0] - rows).max() < 1e-4


# ── Training ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_first_pieces_of_tokens_are_targets_in_the_window_that_predicts_them():
    text = "Anna Bianchi"
    whole = EncodedText(np.arange(5), [(0, 2), (2, 4), (5, 8), (8, 10), (10, 12)], list(tokenize(text)), [0, 2])
    right = targets(whole, [Span(0, 12, "B")], TAGS).tags
    begin, inside = TAGS.number("B-B"), TAGS.number("I-B")
    assert right == [begin, IGNORED, inside, IGNORED, IGNORED]
    scorer = Scorer(Echo(), ([7], [8]), most=64, pad=0)
    windows = [Window(0, 3, 0, 2), Window(1, 5, 2, 5)]
    assert scorer.targets([(window, right) for window in windows], CPU).tolist() == [
        [IGNORED, begin, IGNORED, IGNORED, IGNORED, IGNORED],
        [IGNORED, IGNORED, inside, IGNORED, IGNORED, IGNORED],
    ]


def test_held_out_notes_are_not_learned_in_training_or_pre_training(tagging, tmp_path):
    task = TrainingTask(NOTES[:2], "set", iterations=1, base=str(tagging), adapt=1)
    evaluated = replace(task, held_out=made_notes(6)[4:])
    assert learn(task, tmp_path / "a.zip") == learn(evaluated, tmp_path / "a.zip")


# ── Tags ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def tagged(text, first, rows, barred=None, **options):
    """The spans of a text whose pieces have these tag probabilities."""
    scores = np.full((len(rows), len(TAGS)), np.log(1e-6), dtype=np.float32)
    for row, chances in zip(scores, rows, strict=True):
        for tag, chance in chances.items():
            row[TAGS.number(tag)] = np.log(chance)
    pieces = SimpleNamespace(encode=lambda text: EncodedText(np.arange(len(rows)), [], list(tokenize(text)), first))
    scorer = SimpleNamespace(scores=lambda texts, placement: [scores])
    tagger = Tagger(pieces, scorer, TAGS, lambda found: found, "s", barred=barred, **options)
    (spans,) = tagger.stream([text], Placement(CPU))
    return [(span.start, span.end, span.label, span.confidence) for span in spans]


UNLIKELY = [{"O": 0.6, "B-A": 0.4}, {"I-A": 0.9, "O": 0.05, "B-A": 0.05}]
FOREIGN = Columns(["O", "B-A", "I-A", "B-B", "I-B"], {"A": "A", "B": "B"}).barred


@pytest.mark.parametrize(
    ("text", "rows", "barred", "found"),
    [
        # The confidence is that of the least confident token.
        ("Anna Bianchi ha", [{"B-A": 0.9, "O": 0.1}, {"I-A": 0.6, "O": 0.4}, {"O": 1.0}], None, [(0, 12, "A", 0.6)]),
        ("Anna Bianchi", UNLIKELY, None, [(0, 12, "A", 0.4)]),  # tags are valid even if the likeliest are not
        # A span of another's model starts without B only where B is very unlikely.
        ("Anna Bianchi", UNLIKELY, FOREIGN, [(0, 12, "A", 0.4)]),
        ("Anna Bianchi", [{"O": 1.0}, {"I-A": 0.9, "O": 0.01}], FOREIGN, [(5, 12, "A", 0.9)]),
        ("Anna Bianchi", [{"O": 0.9}, {"I-A": 0.6, "O": 0.4}], FOREIGN, []),
        ("12mg", [{"B-A": 0.9, "O": 0.1}], None, [(0, 4, "A", 0.9)]),  # two tokens in one piece are one span
    ],
)
def test_spans_and_confidences_of_tags(text, rows, barred, found):
    assert tagged(text, [0, 0] if text == "12mg" else list(range(len(rows))), rows, barred) == found


# ── Folders ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_revision_depends_on_weights_and_map(tagging, tmp_path):
    def revision(path, label="A"):
        return TokenClassificationBackend(str(path), "set", {"PER": label}).revision

    again = shutil.copytree(tagging, tmp_path / "tiny")
    one = revision(tagging)
    assert revision(again) == one != revision(tagging, "B")
    content = bytearray((again / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (again / "model.safetensors").write_bytes(content)
    assert revision(again) != one


def test_a_pickle_beside_safetensors_is_not_opened(tagging, tmp_path):
    """The tagging passes the check because of another safetensors file; the library would choose the pickle."""
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((tagging / name).read_bytes())
    (tmp_path / "other.safetensors").write_bytes((tagging / "model.safetensors").read_bytes())
    torch.save(network.read_network(tagging).state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(BackendError, match="can't be read") as caught:
        TokenClassificationBackend(str(tmp_path), "set", {"PER": "A"})
    assert caught.value.permanent


@pytest.mark.parametrize("kind", [network.AutoModelForTokenClassification, network.AutoModelForMaskedLM])
def test_loading_a_folder_runs_no_code_and_downloads_nothing(kind, tagging, monkeypatch):
    asked = {}

    def watched(cls, place, **options):
        asked.update(options)
        raise OSError

    monkeypatch.setattr(kind, "from_pretrained", classmethod(watched))
    with pytest.raises(BackendError):
        network.read_network(tagging, kind)
    assert (asked["trust_remote_code"], asked["local_files_only"], asked["use_safetensors"]) == (False, True, True)
