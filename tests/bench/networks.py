"""Networks: tokens a second by size of batch, in and out of a GPU; a step of training; the share of the card's rate.

Weights are random, since speed asks for none: a small BERT, one of BERT-base's shape, and a BiLSTM-CRF that learned for
a moment, with a character language model and without. Notes a second through the whole queue are the small one's on a
CPU and the large one's on a GPU; there also the rate of one large product of matrices in bf16, measured in the same
run, and what share of it the transformer gets. `python -m tests.bench.networks` leaves the queue out.
"""

import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForTokenClassification

from annotations.domain.tokens import tokenize
from models_runtime.backends.bilstm_crf.backend import BiLstmCrfBackend
from models_runtime.backends.bilstm_crf.training import learn
from models_runtime.backends.learner import Lesson
from models_runtime.backends.neural.device import Device, Seat, chosen
from models_runtime.backends.neural.learning import Loop, Plan, seeded
from models_runtime.backends.token_classification.encoding import Encoded
from models_runtime.backends.token_classification.network import WEIGHTS, padding, room
from models_runtime.backends.token_classification.reading import Reader
from tests.backends.made import made_notes
from tests.backends.made_weights import bert_folder
from tests.bench import corpus
from tests.bench.figures import Figure, over_rounds, table
from tests.bench.people import PROJECT, Bench

PART = "networks"
# A batch, in tokens with padding; the middle one of each is what the product takes. On a CPU BERT-base is a matter of
# minutes, so that its largest one and its training are left out there.
BUDGETS_CPU = (1024, 4096, 16384)
BUDGETS_GPU = (16384, 65536, 262144)
SMALL = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512}
BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
VOCABULARY, TAGS = 30_000, 45
WINDOW = 510
# Pieces that are read to measure a speed, at least one batch.
PIECES = {"cpu": {"small BERT": 60_000, "BERT-base": 2_000}, "cuda": {"small BERT": 1 << 20, "BERT-base": 1 << 19}}
TRAINED_AT_ONCE = 4096
MATRIX = 8192
ROUNDS = 3


def measure(bench: Bench) -> list[Figure]:
    return [*figures(bench.rounds), *_through_the_queue(bench)]


def figures(rounds: int = ROUNDS) -> list[Figure]:
    """All that this machine can show without a product."""
    found: list[Figure] = []
    for device in [chosen("cpu"), *([chosen("cuda")] if torch.cuda.is_available() else [])]:
        found += _transformers(device, rounds)
        found += _bilstm(device, rounds)
    return found


def _through_the_queue(bench: Bench) -> list[Figure]:
    """The notes of the project, read by somebody else's transformer, which finds nothing in them."""
    name, shape = ("BERT-base", BASE) if torch.cuda.is_available() else ("small BERT", SMALL)
    texts = [file.read_text(encoding="utf-8") for file in sorted(bench.notes.glob("*.txt"))]
    folder = bench.data / "weights" / "bench"
    if not folder.exists():
        bert_folder(folder, texts, ["O", "B-PER", "I-PER"], positions=WINDOW + 2, pieces=VOCABULARY, **shape)
        weights = load_file(folder / WEIGHTS)
        weights["classifier.bias"][0] = 1000.0
        save_file(weights, folder / WEIGHTS, {"format": "pt"})
    words = ("run_model", PROJECT, "token-classification", "--folder", "bench", "--map", f"PER={corpus.LABELS[0]}")
    speed = []
    for _ in range(bench.rounds):
        report = bench.product.manage(*words, "--wait")
        if report["done"] != corpus.NOTES:
            raise RuntimeError(f"{report['done']} notes were done")
        speed.append(corpus.NOTES / report["seconds"])
    return [over_rounds(PART, f"{name} through the queue, loading it included", speed, "notes/s")]


# ── Transformers ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _transformers(device: Device, rounds: int) -> list[Figure]:
    found: list[Figure] = []
    rate = _matrix_rate(device, rounds) if device.is_gpu else 0.0
    if device.is_gpu:
        found.append(Figure(PART, f"{device.name}: {MATRIX}³ matrices in bf16", rate / 1e12, "TFLOP/s"))
    for name, shape in (("small BERT", SMALL), ("BERT-base", BASE)):
        network = _bert(shape).to(device.name)
        _read(network, device, WINDOW)  # what is loaded and built on first use
        quick = device.is_gpu or shape is SMALL
        for budget in BUDGETS_GPU if device.is_gpu else BUDGETS_CPU if quick else BUDGETS_CPU[:-1]:
            pieces = max(budget, PIECES[device.name][name])
            speed = [_read(network, replace(device, budget=budget), pieces) for _ in range(rounds)]
            title = f"{device.name}: {name}, batches of {budget:,} pieces"
            found.append(over_rounds(PART, title, speed, "pieces/s"))
            if rate and shape is BASE:
                share = [100 * _flop(shape) * one / rate for one in speed]
                aim = 40.0 if budget == device.budget else None
                found.append(over_rounds(PART, f"{title}: of the matrix rate", share, "%", aim=aim, at_least=True))
        if quick:
            title = f"{device.name}: {name}, a step of {TRAINED_AT_ONCE:,} pieces"
            found.append(over_rounds(PART, title, _steps(network, device, rounds), "ms"))
    return found


def _bert(shape: dict[str, int]) -> Any:
    seeded(1)
    config = BertConfig(vocab_size=VOCABULARY, num_labels=TAGS, hidden_dropout_prob=0.0, **shape)
    return BertForTokenClassification(config).eval()


def _flop(shape: dict[str, int]) -> float:
    """Of one piece in a window of WINDOW + 2, forward: products of matrices alone, two for each multiply-add."""
    wide, inner = shape["hidden_size"], shape["intermediate_size"]
    layer = 4 * wide * wide + 2 * wide * inner + 2 * (WINDOW + 2) * wide
    return 2.0 * (shape["num_hidden_layers"] * layer + wide * TAGS)


def _encoded(pieces: int) -> list[Encoded]:
    chance = random.Random(3)
    count = max(1, pieces // (WINDOW + 2))
    made = [[chance.randrange(5, VOCABULARY) for _ in range(WINDOW)] for _ in range(count)]
    return [Encoded(np.array(pieces), [], [], []) for pieces in made]


def _reader(network: Any) -> Reader:
    return Reader(network, ([2], [3]), most=room(network.config), pad=padding(network.config))


def _read(network: Any, device: Device, pieces: int) -> float:
    """Pieces a second through the product's own reader: batches, the network, the scores back as numbers."""
    texts = _encoded(pieces)
    begun = time.perf_counter()
    _reader(network).scores(texts, Seat(device, network))
    return len(texts) * WINDOW / (time.perf_counter() - begun)


def _steps(network: Any, device: Device, rounds: int) -> list[float]:
    """Milliseconds of a step: forward, backward, AdamW, as a training takes them."""
    texts, reader = _encoded(TRAINED_AT_ONCE), _reader(network)
    shown = [(window, text) for text in texts for window in reader.windows(text)]
    right = reader.targets([(window, [0] * WINDOW) for window, _ in shown], device)

    def loss(numbers: Sequence[int]) -> Any:
        scores = network(**reader.inputs(shown, device)).logits.float()
        return torch.nn.functional.cross_entropy(scores.flatten(0, 1), right.flatten())

    loop = Loop(network, loss, Plan(5e-5, warm_up=500), device, steps=rounds + 1)
    taken = []
    begun = time.perf_counter()
    for _ in loop.epoch([[0]] * (rounds + 1)):
        taken.append(1000 * (time.perf_counter() - begun))
        begun = time.perf_counter()
    return taken[1:]


def _matrix_rate(device: Device, rounds: int) -> float:
    """Operations a second of a product of two large matrices in bf16."""
    left, right = (torch.randn(MATRIX, MATRIX, device=device.name, dtype=torch.bfloat16) for _ in range(2))

    def times(count: int) -> float:
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(count):
            left @ right
        torch.cuda.synchronize()
        return (time.perf_counter() - begun) / count

    times(10)
    return float(2 * MATRIX**3 / median(times(30) for _ in range(rounds)))


# ── BiLSTM-CRF ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _bilstm(device: Device, rounds: int) -> list[Figure]:
    found = []
    text = "".join(text for text, _ in made_notes(200))
    tokens = len(tokenize(text))
    for name, adapt in (("BiLSTM-CRF", 0), ("BiLSTM-CRF with characters", 1)):
        with tempfile.TemporaryDirectory(prefix="deidreview-bench-") as folder:
            path = Path(folder) / "model.zip"
            learn(Lesson(made_notes(20), "meddocan", iterations=1, adapt=adapt), path)
            backend = BiLstmCrfBackend(str(path), device=device.name)
            for budget in BUDGETS_GPU if device.is_gpu else BUDGETS_CPU:
                backend.seat.device = replace(device, budget=budget)
                speed = []
                for _ in range(rounds):
                    begun = time.perf_counter()
                    backend.predict([text])
                    speed.append(tokens / (time.perf_counter() - begun))
                title = f"{device.name}: {name}, batches of {budget:,} tokens"
                found.append(over_rounds(PART, title, speed, "tokens/s"))
    return found


if __name__ == "__main__":
    print(table(figures()))
