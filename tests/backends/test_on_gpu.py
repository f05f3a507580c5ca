"""What a GPU would do, as far as a CPU can show it: bf16 in reading and learning, and a memory that is full.

On a CPU torch computes bf16 by the same autocast. For a full memory the CPU stands in under another name.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from models_runtime.backends.base import BackendError  # noqa: E402 - needs torch
from models_runtime.backends.bilstm_crf import training as bilstm  # noqa: E402
from models_runtime.backends.bilstm_crf.backend import BiLstmCrfBackend  # noqa: E402
from models_runtime.backends.learner import Lesson  # noqa: E402
from models_runtime.backends.neural.device import Device  # noqa: E402
from models_runtime.backends.token_classification import training as transformer  # noqa: E402
from models_runtime.backends.token_classification.trained import TransformerBackend  # noqa: E402
from tests.backends.made import joined, made_notes  # noqa: E402
from tests.backends.made_weights import tiny_bert  # noqa: E402

BF16 = Device("cpu", "CPU in bf16", 4096, torch.bfloat16)
AS_GPU = Device("cpu:0", "GPU (made up)", 1024)
NOTE = joined(made_notes(6))
EITHER = pytest.mark.parametrize("kind", ["transformer", "bilstm"])


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_bert(tmp_path_factory.mktemp("weights") / "tiny", [text for text, _ in made_notes(40)]))


@pytest.fixture(scope="module")
def learned(base: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """`learned(kind, device)`: a model that knows one long note by heart, learned there, and its backend."""
    known: dict[Any, Path] = {}

    def learn(kind: str, device: Device = Device("cpu", "CPU", 4096)) -> Any:  # noqa: B008 - it can't change
        if (kind, device) not in known:
            made = known[kind, device] = tmp_path_factory.mktemp(kind) / "model.zip"
            with pytest.MonkeyPatch.context() as patched:
                for module in (transformer, bilstm):
                    patched.setattr(module, "chosen", lambda: device)
                if kind == "transformer":
                    lesson = Lesson([NOTE] * 2, "meddocan", algorithm="fresh", iterations=80, base=base)
                    transformer.learn(lesson, made)
                else:
                    bilstm.learn(Lesson([NOTE] * 4, "meddocan", iterations=25, adapt=1), made)
        return (TransformerBackend if kind == "transformer" else BiLstmCrfBackend)(str(known[kind, device]))

    return learn


@EITHER
def test_bf16_reads_the_same_spans(learned: Callable[..., Any], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = learned(kind)
    assert backend.predict([NOTE[0]]) == [NOTE[1]]
    kinds = set()
    linear = torch.nn.functional.linear

    def watched(*args: Any, **kwargs: Any) -> Any:
        found = linear(*args, **kwargs)
        kinds.add(found.dtype)
        return found

    monkeypatch.setattr(torch.nn.functional, "linear", watched)
    backend.seat.device = BF16
    texts = [NOTE[0], *(text for text, _ in made_notes(12))]
    in_bf16 = backend.predict(texts)
    assert kinds == {torch.bfloat16}
    backend.seat.device = replace(BF16, dtype=torch.float32)
    assert in_bf16 == backend.predict(texts)
    assert in_bf16[0] == NOTE[1]


@EITHER
def test_learning_in_bf16_comes_to_the_note_by_heart(learned: Callable[..., Any], kind: str) -> None:
    """And to other weights than single precision does: it was bf16."""
    backend = learned(kind, BF16)
    assert backend.predict([NOTE[0]]) == [NOTE[1]]
    assert backend.revision != learned(kind).revision


def _full_beyond(items: int, backend: Any, network: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The network finds no memory for more items at once than these, as long as it computes on the "GPU"."""
    tried: list[int] = []
    forward = network.forward

    def limited(*args: Any, **kwargs: Any) -> Any:
        some = kwargs.get("input_ids", args[0] if args else None)
        count = len(some["columns"] if isinstance(some, dict) else some)
        if backend.seat.device.is_gpu:
            tried.append(count)
            if count > items:
                raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(*args, **kwargs)

    monkeypatch.setattr(network, "forward", limited)
    return tried


@EITHER
@pytest.mark.parametrize(("items", "words"), [(1, "GPU (made up)"), (0, "CPU (the GPU's memory is full)")])
def test_a_full_memory_changes_no_span(
    learned: Callable[..., Any], kind: str, items: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = learned(kind)
    network = backend._network if kind == "bilstm" else backend._tagger._reader._network
    backend.seat.device = AS_GPU
    tried = _full_beyond(items, backend, network, monkeypatch)
    assert backend.predict([NOTE[0]]) == [NOTE[1]]
    assert max(tried) > items and backend.device.words == words


@EITHER
def test_a_training_that_finds_no_memory_says_what_to_do(
    learned: Callable[..., Any], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any, **kwargs: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch.Tensor, "backward", full)
    with pytest.raises(BackendError, match="the GPU's memory is full: stop what else uses it, then start again"):
        learned(kind, replace(AS_GPU, words="another"))
