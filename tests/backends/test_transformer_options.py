"""Options of transformers: labels of sub-words, chunks, decoding, batches, grouping, figures and models by epoch."""

import json
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from annotations.domain.spans import Span  # noqa: E402 - needs torch
from annotations.domain.tokens import tokenize  # noqa: E402
from models_runtime.backends import BackendError  # noqa: E402
from models_runtime.backends.learner import Step, TrainingTask  # noqa: E402
from models_runtime.backends.neural.device import Device, Placement  # noqa: E402
from models_runtime.backends.neural.learning import IGNORED, Loop, Plan  # noqa: E402
from models_runtime.backends.neural.tags import Tags  # noqa: E402
from models_runtime.backends.neural.windows import batches_of, chunks  # noqa: E402
from models_runtime.backends.token_classification.batching import Batching, Orders  # noqa: E402
from models_runtime.backends.token_classification.encoding import Encoded, Pieces  # noqa: E402
from models_runtime.backends.token_classification.held_out import HeldOut  # noqa: E402
from models_runtime.backends.token_classification.model import load_model  # noqa: E402
from models_runtime.backends.token_classification.reading import Reading, parts_of  # noqa: E402
from models_runtime.backends.token_classification.scoring import Scorer  # noqa: E402
from models_runtime.backends.token_classification.tagger import Tagger  # noqa: E402
from models_runtime.backends.token_classification.trained import TransformerBackend  # noqa: E402
from models_runtime.backends.token_classification.training import learn, targets  # noqa: E402
from tests.backends.made import damaged, joined, made_notes  # noqa: E402
from tests.backends.made_weights import TINY, bert_folder  # noqa: E402

CPU = Device("cpu", "CPU", 4096)
TAGS = Tags.of(["A", "B"])
NOTES = made_notes(4)


class Killed(Exception):
    pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights with so few pieces that most words have several."""
    made = tmp_path_factory.mktemp("weights") / "tiny"
    return bert_folder(made, [text for text, _ in made_notes(40)], (), positions=64, pieces=110, **TINY)


def task_of(folder: Path, **more: Any) -> TrainingTask:
    """A short training. Options that TrainingTask doesn't have are settings."""
    known = {key: more.pop(key) for key in list(more) if key in TrainingTask.__dataclass_fields__}
    asked = {"algorithm": "fresh", "iterations": 1, "base": str(folder), **known}
    return TrainingTask(
        known.pop("notes", NOTES), "set", settings=more, **{k: v for k, v in asked.items() if k != "notes"}
    )


# ── Labels of sub-words ──────────────────────────────────────────────────────────────────────────────────────────────


def anna() -> Encoded:
    """“Anna Bianchi” as the pieces An-na, a piece for the space, Bi-an-chi."""
    text = "Anna Bianchi"
    return Encoded(np.arange(6), [(0, 2), (2, 4), (4, 5), (5, 8), (8, 10), (10, 12)], list(tokenize(text)), [0, 3])


def test_every_sub_word_has_the_label_of_its_word() -> None:
    """A[i] = L[word_ids[i]]: later sub-words repeat the tag, B- included (Salierno et al. 2024, section 6)."""
    begin, inside = TAGS.number("B-B"), TAGS.number("I-B")
    spans = [Span(0, 12, "B")]
    assert targets(anna(), spans, TAGS, "every").tags == [begin, begin, IGNORED, inside, inside, inside]
    assert targets(anna(), spans, TAGS, "rest").later == [0, 1, 0, 0, 1, 1]
    assert targets(anna(), spans, TAGS, "first").tags == [begin, IGNORED, IGNORED, inside, IGNORED, IGNORED]
    assert targets(anna(), [], TAGS, "every").tags == [0, 0, IGNORED, 0, 0, 0]


def test_a_piece_of_two_words_has_the_label_of_the_first() -> None:
    both = Encoded(np.arange(1), [(0, 4)], list(tokenize("12mg")), [0, 0])
    assert targets(both, [Span(0, 2, "A")], TAGS, "every").tags == [TAGS.number("B-A")]


def test_the_choice_of_sub_words_changes_the_model(folder: Path, tmp_path: Path) -> None:
    made = {
        name: learn(task_of(folder, **settings), tmp_path / f"{name}.zip")
        for name, settings in {
            "default": {},
            "first": {"sub_words": "first"},
            "every": {"sub_words": "every"},
            "rest": {"sub_words": "rest"},
            "a half": {"sub_words": "rest", "rest": 0.5},
        }.items()
    }
    assert made.pop("default") == made["first"]
    assert len(set(made.values())) == 4


def test_later_sub_words_with_full_weight_are_as_every_sub_word_and_with_none_as_the_first(
    folder: Path, tmp_path: Path
) -> None:
    def weight(name: str, **settings: Any) -> Any:
        learn(task_of(folder, **settings), tmp_path / f"{name}.zip")
        return load_model(tmp_path / f"{name}.zip").network.classifier.weight

    every, full = weight("every", sub_words="every"), weight("full", sub_words="rest", rest=1)
    first, none = weight("first", sub_words="first"), weight("none", sub_words="rest", rest=0)
    assert torch.allclose(every, full, atol=1e-5) and torch.allclose(first, none, atol=1e-5)


# ── Chunks and grouping ──────────────────────────────────────────────────────────────────────────────────────────────


def test_disjoint_chunks_are_full_but_the_last_and_every_piece_is_in_one() -> None:
    """K = ⌈|S| / L⌉ (Salierno et al. 2024, section 6)."""
    found = chunks(1300, 510)
    assert [(window.start, window.past) for window in found] == [(0, 510), (510, 1020), (1020, 1300)]
    assert all((window.kept, window.kept_past) == (window.start, window.past) for window in found)
    assert chunks(0, 510) == []


def test_runs_read_in_chunks_as_the_training_did(folder: Path, tmp_path: Path) -> None:
    note = joined(made_notes(8))
    for chosen in ("overlapping", "disjoint"):
        learn(task_of(folder, notes=[note], chunks=chosen), tmp_path / f"{chosen}.zip")
        assert load_model(tmp_path / f"{chosen}.zip").card.chunks == chosen
        backend = TransformerBackend(str(tmp_path / f"{chosen}.zip"))
        windows = backend._tagger._scorer.windows(backend._tagger._pieces.encode(note[0]))
        shared = [a.past - b.start for a, b in pairwise(windows)]
        assert len(windows) > 3 and (set(shared) == {0} if chosen == "disjoint" else min(shared) > 10)
    # A model that continues from another one reads as that one, unless the training chooses otherwise.
    learn(task_of(tmp_path / "disjoint.zip", decoding="argmax"), tmp_path / "next.zip")
    assert load_model(tmp_path / "next.zip").card.reading == Reading("disjoint", "argmax", 0)


def test_groups_of_sentences_are_sequences_of_their_own(folder: Path) -> None:
    text = "Uno aqui. Dos aqui.\nTres aqui. Cuatro aqui. Cinco aqui."
    for factor, firsts in (
        (1, ["Uno", "Dos", "Tres", "Cuatro", "Cinco"]),
        (2, ["Uno", "Tres", "Cinco"]),
        (32, ["Uno"]),
    ):
        encoded = Pieces((folder / "tokenizer.json").read_text(), factor).encode(text)
        assert [encoded.parts[0][0], encoded.parts[-1][1]] == [0, len(encoded.pieces)]
        assert all(a[1] == b[0] for a, b in pairwise(encoded.parts))
        found = [text[encoded.bounds[start][0] :].split()[0] for start, _ in encoded.parts]
        assert found == firsts
    assert Pieces((folder / "tokenizer.json").read_text()).encode(text).parts == [(0, len(encoded.pieces))]


def test_a_group_of_more_pieces_than_fit_is_cut() -> None:
    scorer = Scorer(SimpleNamespace(), ([7], [8]), most=10, pad=0, disjoint=True)
    windows = scorer.windows(Encoded(np.arange(20), [], [], [], [(0, 3), (3, 20)]))
    assert [(window.start, window.past) for window in windows] == [(0, 3), (3, 11), (11, 19), (19, 20)]


def test_a_piece_of_two_words_at_the_end_of_a_group_is_in_one_group() -> None:
    text = "Uno 1.\n2 dos"
    tokens = list(tokenize(text))
    assert parts_of(text, tokens, [0, 1, 1, 1, 2], 3, 1) == [(0, 1), (1, 3)]


def test_the_grouping_is_that_of_the_training(folder: Path, tmp_path: Path) -> None:
    shas = {}
    for grouping in (0, 1, 2):
        shas[grouping] = learn(task_of(folder, grouping=grouping), tmp_path / f"{grouping}.zip")
        model = load_model(tmp_path / f"{grouping}.zip")
        assert model.card.grouped == grouping
        parts = len(model.pieces.encode(NOTES[0][0]).parts)
        assert (parts == 1) == (grouping == 0)
    assert len(set(shas.values())) == 3
    # With its sentences alone, a group is read without what comes before it.
    backend = TransformerBackend(str(tmp_path / "1.zip"))
    scores = [
        backend._tagger._scorer.scores([backend._tagger._pieces.encode(text)], backend.placement)[0]
        for text in ("Ingreso: 01/03/2020.\n", "Nombre: Anna Bianchi.\nIngreso: 01/03/2020.\n")
    ]
    assert np.allclose(scores[0], scores[1][-len(scores[0]) :], atol=1e-4)


def test_a_model_of_a_newer_version_is_refused(folder: Path, tmp_path: Path) -> None:
    learn(task_of(folder), tmp_path / "made.zip")
    card = load_model(tmp_path / "made.zip").card
    for change in ({"chunks": "spirals"}, {"decoding": "beam"}, {"grouped": -1}, {"grouped": True}, {"grouped": "2"}):
        content = json.dumps(asdict(card) | change).encode()
        with pytest.raises(BackendError) as caught:
            load_model(damaged(tmp_path / "made.zip", tmp_path / "other.zip", card__json=content))
        assert caught.value.permanent
    old = {key: value for key, value in asdict(card).items() if key not in ("chunks", "decoding", "grouped")}
    earlier = damaged(tmp_path / "made.zip", tmp_path / "old.zip", card__json=json.dumps(old).encode())
    assert load_model(earlier).card.reading == Reading()


# ── Decoding ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("decoding", "found"), [("path", [(0, 12, "A")]), ("argmax", [(5, 12, "A")])])
def test_the_likeliest_tag_of_each_word_or_the_best_valid_path(
    decoding: str, found: list[tuple[int, int, str]]
) -> None:
    scores = np.full((2, len(TAGS)), np.log(1e-6), dtype=np.float32)
    for row, chances in zip(scores, ({"O": 0.6, "B-A": 0.4}, {"I-A": 0.9, "O": 0.05}), strict=True):
        for tag, chance in chances.items():
            row[TAGS.number(tag)] = np.log(chance)
    pieces = SimpleNamespace(encode=lambda text: Encoded(np.arange(2), [], list(tokenize(text)), [0, 1]))
    scorer = SimpleNamespace(scores=lambda texts, placement: [scores])
    tagger = Tagger(pieces, scorer, TAGS, lambda rows: rows, "s", decoding)
    (spans,) = tagger.stream(["Anna Bianchi"], Placement(CPU))
    assert [(span.start, span.end, span.label) for span in spans] == found


# ── Batches ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_batch_has_the_chosen_number_of_sequences() -> None:
    assert batches_of([5, 9, 7, 1, 3], 2) == [[1, 2], [0, 4], [3]]
    assert Batching(100, windows=2).cut([5, 9, 7]) == [[1, 2], [0]]
    assert Batching(20).changed({"batch": 3, "accumulation": 2}) == Batching(20, 3, 2)
    orders = Orders(3, lambda epoch: [[epoch]] * (epoch + 1))
    assert (len(orders), orders.steps, orders[2], list(orders[1:])) == (3, 6, [[2]] * 3, [[[1]] * 2, [[2]] * 3])


def test_accumulated_gradients_are_those_of_the_whole_batch() -> None:
    """The items have different weights, so that the mean of the parts' means would be another gradient."""
    shown, weights = torch.arange(15.0).reshape(5, 3), torch.tensor([1.0, 5.0, 2.0, 1.0, 3.0])

    def trained(parts: int) -> tuple[Any, list[float], list[int]]:
        torch.manual_seed(1)
        network, sizes = torch.nn.Linear(3, 1), []

        def loss(numbers: list[int]) -> Any:
            sizes.append(len(numbers))
            each = network(shown[numbers]).square().flatten()
            return (each * weights[numbers]).sum() / weights[numbers].sum()

        loop = Loop(
            network, loss, Plan(1e-2, warm_up=1), CPU,
            steps=2, parts=parts, weigh=lambda numbers: float(weights[numbers].sum()),
        )  # fmt: skip
        losses = [loss for _ in range(2) for loss in loop.epoch([[0, 1, 2, 3, 4]])]
        return network.weight, losses, sizes

    whole, parts = trained(1), trained(3)
    assert whole[2] == [5, 5] and parts[2] == [2, 2, 1] * 2
    assert torch.allclose(whole[0], parts[0], atol=1e-6) and parts[1] == pytest.approx(whole[1], rel=1e-5)


def test_accumulation_gives_the_same_model_and_other_batches_and_rates_another(folder: Path, tmp_path: Path) -> None:
    def weights(**settings: Any) -> Any:
        learn(task_of(folder, algorithm="weighted", iterations=2, **settings), tmp_path / "made.zip")
        return load_model(tmp_path / "made.zip").network.classifier.weight.clone()

    whole = weights(batch=4, rate=1e-3)
    assert torch.allclose(weights(batch=4, rate=1e-3, accumulation=4), whole, atol=1e-4)
    assert not torch.allclose(weights(batch=1, rate=1e-3), whole, atol=1e-4)
    assert not torch.allclose(weights(batch=4, rate=1e-2), whole, atol=1e-4)


# ── Figures and models by epoch ──────────────────────────────────────────────────────────────────────────────────────


def test_figures_of_tokens_and_sub_words() -> None:
    """Six sub-words of two words; the second word is wrong, and one sub-word of the first."""
    scores = np.full((6, len(TAGS)), -9.0, dtype=np.float32)
    for row, tag in zip(scores, ("B-A", "O", "O", "O", "O", "O"), strict=True):
        row[TAGS.number(tag)] = 0
    pieces, scorer = SimpleNamespace(encode=lambda text: anna()), SimpleNamespace(scores=lambda *more: [scores])
    gold = [Span(0, 12, "A")]
    for sub_words, of_pieces in (
        ("first", None),
        ("every", {"accuracy": 0.2, "precision": 1.0, "recall": 0.2, "f1": 0.3333}),
    ):
        tagger = Tagger(pieces, scorer, TAGS, lambda rows: rows, "")

        def right(encoded: Encoded, spans: Any, sub_words: str = sub_words) -> Any:
            return targets(encoded, spans, TAGS, sub_words).tags if sub_words == "every" else None

        found = HeldOut([("Anna Bianchi", gold)], tagger, Placement(CPU), right).figures()
        assert found["tokens"] == {"accuracy": 0.5, "precision": 1.0, "recall": 0.5, "f1": 0.6667}
        assert (found["pieces"], found["f1"]) == (of_pieces, 0.0)
    # A label that the model doesn't have counts as missed, also as a sub-word.
    unknown = HeldOut([("Anna Bianchi", [Span(0, 12, "C")])], tagger, Placement(CPU), right).figures()
    assert unknown["tokens"]["recall"] == 0 and unknown["pieces"]["recall"] == 0
    assert HeldOut([], tagger, Placement(CPU), right).figures() == {}


def test_each_epoch_reports_figures_and_leaves_a_model_even_after_a_kill(folder: Path, tmp_path: Path) -> None:
    steps: list[Step] = []
    asked = {"iterations": 4, "held_out": made_notes(6)[4:], "checkpoints": True, "sub_words": "every"}

    def dies(step: Step) -> None:
        if step.iteration == 3:
            raise Killed

    (tmp_path / "whole").mkdir()
    whole = task_of(folder, checkpoint=tmp_path / "whole" / "checkpoint", report=steps.append, **asked)
    sha = learn(whole, tmp_path / "whole.zip")
    assert all(0 <= step.tokens["accuracy"] <= 1 and step.pieces["recall"] is not None for step in steps)
    (tmp_path / "killed").mkdir()
    killed = replace(whole, checkpoint=tmp_path / "killed" / "checkpoint")
    with pytest.raises(Killed):
        learn(replace(killed, report=dies), tmp_path / "half.zip")
    again: list[Step] = []
    assert learn(replace(killed, report=again.append), tmp_path / "again.zip") == sha
    assert again == steps
    for epoch in (1, 2, 3):
        files = [tmp_path / name / f"epoch-{epoch}.zip" for name in ("whole", "killed")]
        assert files[0].read_bytes() == files[1].read_bytes()
        assert load_model(files[0]).card.iterations == epoch
        assert len(TransformerBackend(str(files[0])).predict([NOTES[0][0]])) >= 0
    assert not (tmp_path / "whole" / "epoch-4.zip").exists()  # The model itself is that of the last epoch.
    learn(task_of(folder, iterations=2), tmp_path / "plain.zip")
    assert not (tmp_path / "epoch-1.zip").exists()
