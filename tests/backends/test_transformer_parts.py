"""Parts of the transformers: windows, targets, skipped pieces, mapped tags, folders."""

import shutil
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tokenizers import Tokenizer, normalizers  # noqa: E402 - as torch

from annotations.domain.spans import Span  # noqa: E402 - needs torch
from annotations.domain.tokens import tokenize  # noqa: E402
from models_runtime.backends import BackendError  # noqa: E402
from models_runtime.backends.learner import TrainingTask  # noqa: E402
from models_runtime.backends.neural.device import Device, Placement  # noqa: E402
from models_runtime.backends.neural.learning import IGNORED  # noqa: E402
from models_runtime.backends.neural.tags import Tags  # noqa: E402
from models_runtime.backends.neural.windows import Window  # noqa: E402
from models_runtime.backends.token_classification import TokenClassificationBackend, network  # noqa: E402
from models_runtime.backends.token_classification.encoding import Encoded, Pieces  # noqa: E402
from models_runtime.backends.token_classification.foreign import LITTLE, Columns  # noqa: E402
from models_runtime.backends.token_classification.model import load_model  # noqa: E402
from models_runtime.backends.token_classification.scoring import Scorer  # noqa: E402
from models_runtime.backends.token_classification.tagger import Tagger  # noqa: E402
from models_runtime.backends.token_classification.training import learn, targets  # noqa: E402
from tests.backends.made import made_notes  # noqa: E402
from tests.backends.made_weights import tiny_bert  # noqa: E402

CPU = Device("cpu", "CPU", 4096)
TAGS = Tags.of(["A", "B"])
NOTES = made_notes(4)


class Echo(torch.nn.Module):
    """Returns each piece's own id as its score, so that tests see which piece was scored where."""

    def forward(self, input_ids: Any, attention_mask: Any) -> Any:
        return SimpleNamespace(logits=torch.stack([input_ids.float(), -input_ids.float()], dim=2))


def encoded(count: int) -> Encoded:
    return Encoded(np.arange(count), [], [], [])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("weights") / "tiny"
    return tiny_bert(made, [text for text, _ in made_notes(40)], ["O", "B-PER", "I-PER"])


# ── Windows ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_windows_hold_512_pieces_and_share_128() -> None:
    """Special pieces count among the 512. Models with a longer input get no longer windows (Salierno et al. 2024)."""
    for positions, most in ((8192, 512), (512, 512), (64, 64)):
        config = SimpleNamespace(max_position_embeddings=positions, model_type="bert")
        assert network.room(config) == most
    found = Scorer(Echo(), ([7], [8]), most=512, pad=0).windows(encoded(3000))
    assert {len(window) for window in found} == {510}
    assert min(a.past - b.start for a, b in pairwise(found)) >= 128


def test_each_piece_has_its_own_scores() -> None:
    scorer = Scorer(Echo(), ([7000], [8000]), most=64, pad=0)
    for rows, count in zip(
        scorer.scores([encoded(5), encoded(400), encoded(0)], Placement(CPU)), (5, 400, 0), strict=True
    ):
        assert len(rows) == count
        difference = rows[:, 0] - rows[:, 1] if count else np.zeros(0)
        assert difference.tolist() == pytest.approx([2.0 * at for at in range(count)], abs=0.01)


def test_a_piece_without_a_window_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = Scorer(Echo(), ([], []), most=64, pad=0)
    monkeypatch.setattr(scorer, "windows", lambda text: [Window(0, 60, 0, 60), Window(40, 99, 61, 99)])
    with pytest.raises(BackendError, match="no window contains it") as caught:
        scorer.scores([encoded(99)], Placement(CPU))
    assert caught.value.permanent


def test_a_character_that_the_tokenizer_skips_is_an_error(folder: Path) -> None:
    """A normalizer that drops letters: these would never be classified."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.normalizer = normalizers.Replace("x", "")
    pieces = Pieces(tokenizer.to_str())
    assert len(pieces.encode("Anna y Eva").tokens) == 3
    with pytest.raises(BackendError, match="skips the character at 5"):
        pieces.encode("Anna x Eva")


def test_a_tokenizer_s_own_padding_and_truncation_are_switched_off(folder: Path) -> None:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    plain = Pieces(tokenizer.to_str()).encode(NOTES[0][0])
    tokenizer.enable_padding(length=500)
    tokenizer.enable_truncation(8)
    assert Pieces(tokenizer.to_str()).encode(NOTES[0][0]).pieces.tolist() == plain.pieces.tolist()
    assert 8 < len(plain.pieces) < 500


def test_padding_does_not_change_scores(folder: Path) -> None:
    """Padding is masked, and the special pieces are around each window."""
    backend = TokenClassificationBackend(str(folder), "set", {"PER": "A"})
    texts = [NOTES[0][0], "Anna", NOTES[1][0] * 3]
    shown = backend._tagger._scorer.inputs(
        [(window, text) for text in map(backend._tagger._pieces.encode, texts) for window in [Window(0, 4, 0, 4)]], CPU
    )
    assert shown["input_ids"][:, 0].tolist() == [2] * 3 and shown["input_ids"][:, 5].tolist() == [3] * 3
    pieces = [backend._tagger._pieces.encode(text) for text in texts]
    together = backend._tagger._scorer.scores(pieces, Placement(CPU))
    for text, rows in zip(pieces, together, strict=True):
        alone = backend._tagger._scorer.scores([text], Placement(CPU))[0]
        assert np.abs(alone - rows).max() < 1e-4


# ── Training ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_first_pieces_of_tokens_are_targets_in_the_window_that_predicts_them() -> None:
    text = "Anna Bianchi"
    whole = Encoded(np.arange(5), [(0, 2), (2, 4), (5, 8), (8, 10), (10, 12)], list(tokenize(text)), [0, 2])
    right = targets(whole, [Span(0, 12, "B")], TAGS).tags
    begin, inside = TAGS.number("B-B"), TAGS.number("I-B")
    assert right == [begin, IGNORED, inside, IGNORED, IGNORED]
    scorer = Scorer(Echo(), ([7], [8]), most=64, pad=0)
    windows = [Window(0, 3, 0, 2), Window(1, 5, 2, 5)]
    assert scorer.targets([(window, right) for window in windows], CPU).tolist() == [
        [IGNORED, begin, IGNORED, IGNORED, IGNORED, IGNORED],
        [IGNORED, IGNORED, inside, IGNORED, IGNORED, IGNORED],
    ]


def test_class_weights_change_the_model(folder: Path, tmp_path: Path) -> None:
    tensors = {}
    for algorithm in ("weighted", "plain"):
        made = tmp_path / f"{algorithm}.zip"
        learn(TrainingTask(NOTES, "set", algorithm=algorithm, iterations=1, base=str(folder)), made)
        tensors[algorithm] = load_model(made).network.classifier.weight
    assert not torch.equal(*tensors.values())


def test_held_out_notes_are_not_learned_in_training_or_pre_training(folder: Path, tmp_path: Path) -> None:
    shas = {
        learn(
            TrainingTask(NOTES, "set", iterations=1, base=str(folder), adapt=1, held_out=held_out), tmp_path / "a.zip"
        )
        for held_out in ([], made_notes(9)[6:])
    }
    assert len(shas) == 1


def test_a_checkpoint_of_another_task_is_ignored(folder: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    asked = {"algorithm": "fresh", "iterations": 2, "base": str(folder)}
    whole = learn(TrainingTask(NOTES[:2], "set", **asked), tmp_path / "whole.zip")
    learn(TrainingTask(NOTES[2:], "set", checkpoint=checkpoint, **asked), tmp_path / "other.zip")
    assert checkpoint.exists()
    assert learn(TrainingTask(NOTES[:2], "set", checkpoint=checkpoint, **asked), tmp_path / "again.zip") == whole


# ── Tags ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_probabilities_of_labels_mapped_to_none_go_to_o() -> None:
    columns = Columns(["O", "B-PER", "I-PER", "DAY"], {"PER": "A", "DAY": None})
    scores = torch.log_softmax(torch.tensor([[1.0, 2.0, 0.5, 3.0]]), dim=1).numpy()
    ours = np.exp(columns(scores))
    assert ours.sum() == pytest.approx(1.0, abs=LITTLE)
    assert ours[0, 0] == pytest.approx(np.exp(scores[0, [0, 3]]).sum(), abs=1e-6)


def tagged(
    text: str, first: list[int], rows: list[dict[str, float]], barred: Any = None
) -> list[tuple[int, int, str, float | None]]:
    """The spans of a text whose pieces have these tag probabilities."""
    scores = np.full((len(rows), len(TAGS)), np.log(1e-6), dtype=np.float32)
    for row, chances in zip(scores, rows, strict=True):
        for tag, chance in chances.items():
            row[TAGS.number(tag)] = np.log(chance)
    pieces = SimpleNamespace(encode=lambda text: Encoded(np.arange(len(rows)), [], list(tokenize(text)), first))
    scorer = SimpleNamespace(scores=lambda texts, placement: [scores])
    (spans,) = Tagger(pieces, scorer, TAGS, lambda found: found, "s", barred=barred).stream([text], Placement(CPU))
    return [(span.start, span.end, span.label, span.confidence) for span in spans]


def test_confidence_is_that_of_the_least_confident_token() -> None:
    rows = [{"B-A": 0.9, "O": 0.1}, {"I-A": 0.6, "O": 0.4}, {"O": 1.0}]
    assert tagged("Anna Bianchi ha", [0, 1, 2], rows) == [(0, 12, "A", 0.6)]


def test_tags_are_valid_even_if_the_likeliest_are_not() -> None:
    rows = [{"O": 0.6, "B-A": 0.4}, {"I-A": 0.9, "O": 0.05, "B-A": 0.05}]
    assert tagged("Anna Bianchi", [0, 1], rows) == [(0, 12, "A", 0.4)]


def test_a_span_of_another_s_model_starts_without_b_only_where_b_is_very_unlikely() -> None:
    columns = Columns(["O", "B-A", "I-A", "B-B", "I-B"], {"A": "A", "B": "B"})
    likely = [{"O": 0.6, "B-A": 0.4}, {"I-A": 0.9, "O": 0.05, "B-A": 0.05}]
    assert tagged("Anna Bianchi", [0, 1], likely, columns.barred) == [(0, 12, "A", 0.4)]
    never = [{"O": 1.0}, {"I-A": 0.9, "O": 0.01}]
    assert tagged("Anna Bianchi", [0, 1], never, columns.barred) == [(5, 12, "A", 0.9)]
    assert tagged("Anna Bianchi", [0, 1], [{"O": 0.9}, {"I-A": 0.6, "O": 0.4}], columns.barred) == []


def test_two_tokens_in_one_piece_are_one_span() -> None:
    assert tagged("12mg", [0, 0], [{"B-A": 0.9, "O": 0.1}]) == [(0, 4, "A", 0.9)]


# ── Folders ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_revision_depends_on_weights_and_map(folder: Path, tmp_path: Path) -> None:
    again = shutil.copytree(folder, tmp_path / "tiny")
    one = TokenClassificationBackend(str(folder), "set", {"PER": "A"})
    assert TokenClassificationBackend(str(again), "set", {"PER": "A"}).revision == one.revision
    assert TokenClassificationBackend(str(folder), "set", {"PER": "B"}).revision != one.revision
    weights = again / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert TokenClassificationBackend(str(again), "set", {"PER": "A"}).revision != one.revision


def test_a_pickle_beside_safetensors_is_not_opened(folder: Path, tmp_path: Path) -> None:
    """The folder passes the check because of another safetensors file; the library would choose the pickle."""
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "other.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    torch.save(network.read_network(folder).state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(BackendError, match="can't be read") as caught:
        TokenClassificationBackend(str(tmp_path), "set", {"PER": "A"})
    assert caught.value.permanent


@pytest.mark.parametrize("read", [network.read_network, network.read_masked_lm])
def test_loading_a_folder_runs_no_code_and_downloads_nothing(
    read: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def watched(cls: Any, place: Path, **options: Any) -> Any:
        asked.update(options)
        raise OSError

    for kind in (network.AutoModelForTokenClassification, network.AutoModelForMaskedLM):
        monkeypatch.setattr(kind, "from_pretrained", classmethod(watched))
    with pytest.raises(BackendError):
        read(folder)
    assert (asked["trust_remote_code"], asked["local_files_only"], asked["use_safetensors"]) == (False, True, True)
