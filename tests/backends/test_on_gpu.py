"""The behavior on a GPU, as far as a CPU can show it: bf16 in prediction and training, and full memory.

On a CPU, torch uses the same autocast for bf16. For full memory, the CPU gets another name and counts as a GPU.
"""

from dataclasses import replace

import pytest

pytest.importorskip("torch")

import torch

from models_runtime.backends.base import BackendError
from models_runtime.backends.bilstm_crf import training as bilstm
from models_runtime.backends.bilstm_crf.backend import BiLstmCrfBackend
from models_runtime.backends.learner import TrainingTask
from models_runtime.backends.neural.device import Device
from models_runtime.backends.token_classification import training as transformer
from models_runtime.backends.token_classification.backend import TransformerBackend
from tests.backends.made import joined, made_notes
from tests.backends.made_weights import tiny_bert

pytestmark = pytest.mark.usefixtures("small_networks")
BF16 = Device("cpu", "CPU in bf16", 4096, torch.bfloat16)
AS_GPU = Device("cpu:0", "GPU (made up)", 1024)
NOTE = joined(made_notes(2))
EITHER = pytest.mark.parametrize("kind", ["transformer", "bilstm"])


@pytest.fixture(autouse=True, scope="module")
def torchs_own_kernels():
    """oneDNN has no LSTM in bf16 for a CPU with AVX2 only; torch's own kernels compute it on every CPU."""
    with torch.backends.mkldnn.flags(enabled=False):
        yield


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """`learned(kind, device)`: the backend of a model that was trained on that device on one long note."""
    known = {}
    base = str(tiny_bert(tmp_path_factory.mktemp("weights") / "tiny", [text for text, _ in made_notes(40)]))

    def learn(kind, device=Device("cpu", "CPU", 4096)):  # noqa: B008 - it can't change
        if (kind, device) not in known:
            made = known[kind, device] = tmp_path_factory.mktemp(kind) / "model.zip"
            with pytest.MonkeyPatch.context() as patched:
                for module in (transformer, bilstm):
                    patched.setattr(module, "choose_device", lambda: device)
                if kind == "transformer":
                    transformer.learn(TrainingTask([NOTE] * 2, "meddocan", "fresh", 36, base=base), made)
                else:
                    bilstm.learn(TrainingTask([NOTE] * 2, "meddocan", iterations=15, adapt=1), made)
        return (TransformerBackend if kind == "transformer" else BiLstmCrfBackend)(str(known[kind, device]))

    return learn


@EITHER
def test_bf16_predicts_the_same_spans(learned, kind, monkeypatch):
    backend = learned(kind)
    assert backend.predict([NOTE[0]]) == [NOTE[1]]
    kinds = set()
    linear = torch.nn.functional.linear

    def watched(*args, **kwargs):
        found = linear(*args, **kwargs)
        kinds.add(found.dtype)
        return found

    monkeypatch.setattr(torch.nn.functional, "linear", watched)
    backend.placement.device = BF16
    texts = [NOTE[0], *(text for text, _ in made_notes(6))]
    in_bf16 = backend.predict(texts)
    assert kinds == {torch.bfloat16}
    backend.placement.device = replace(BF16, dtype=torch.float32)
    assert in_bf16 == backend.predict(texts) and in_bf16[0] == NOTE[1]


def _full_beyond(items, backend, network, monkeypatch):
    """Let the network run out of memory for batches of more than `items` on the “GPU”; returns the batch sizes."""
    tried = []
    forward = network.forward

    def limited(*args, **kwargs):
        some = kwargs.get("input_ids", args[0] if args else None)
        count = len(some["columns"] if isinstance(some, dict) else some)
        if backend.placement.device.is_gpu:
            tried.append(count)
            if count > items:
                raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(*args, **kwargs)

    monkeypatch.setattr(network, "forward", limited)
    return tried


@EITHER
@pytest.mark.parametrize(("items", "words"), [(1, "GPU (made up)"), (0, "CPU (the GPU memory is full)")])
def test_a_full_memory_changes_no_span(learned, kind, items, words, monkeypatch):
    backend = learned(kind)
    network = backend._network if kind == "bilstm" else backend._tagger.scorer._network
    backend.placement.device = AS_GPU
    tried = _full_beyond(items, backend, network, monkeypatch)
    assert backend.predict([NOTE[0]]) == [NOTE[1]] and max(tried) > items and backend.device.description == words


@EITHER
def test_a_training_without_enough_memory_fails_with_advice(learned, kind, monkeypatch):
    def full(*args, **kwargs):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch.Tensor, "backward", full)
    with pytest.raises(BackendError, match=r"The GPU memory is full\. Stop other programs that use the GPU"):
        learned(kind, replace(AS_GPU, description="another"))
