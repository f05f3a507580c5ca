"""The choice of a device, and full GPU memory. The GPUs are only described, so the tests need none."""

import gc
import weakref
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from models_runtime.backends.base import BackendError  # noqa: E402 - needs torch
from models_runtime.backends.neural import device as device_module  # noqa: E402
from models_runtime.backends.neural.device import CPU_BUDGET, GPU_BUDGET, Device, Gpu, Placement, select_device  # noqa: E402

AMPERE = Gpu("NVIDIA A100", bf16=True)
TURING = Gpu("Tesla T4", bf16=False)
# The CPU under another name, so that it counts as a GPU here: real networks run on it.
AS_GPU = Device("cpu:0", "GPU (made up)", budget=64)


@pytest.mark.parametrize(
    ("gpu", "requested", "name", "dtype", "budget", "words"),
    [
        (AMPERE, "auto", "cuda", torch.bfloat16, GPU_BUDGET, "GPU (NVIDIA A100, bf16)"),
        (AMPERE, "cuda", "cuda", torch.bfloat16, GPU_BUDGET, "GPU (NVIDIA A100, bf16)"),
        (AMPERE, "cpu", "cpu", torch.float32, CPU_BUDGET, "CPU"),
        (TURING, "auto", "cuda", torch.float32, GPU_BUDGET, "GPU (Tesla T4, single precision)"),
        (None, "auto", "cpu", torch.float32, CPU_BUDGET, "CPU (no GPU available)"),
        (None, "cpu", "cpu", torch.float32, CPU_BUDGET, "CPU"),
        (Gpu(why="OSError"), "auto", "cpu", torch.float32, CPU_BUDGET, "CPU (the GPU can't be used: OSError)"),
    ],
)  # fmt: skip
def test_each_card_has_its_place(gpu, requested, name, dtype, budget, words):
    torch.backends.cuda.enable_cudnn_sdp(True)
    found = select_device(gpu, requested)
    # A GPU doesn't use the attention that plans for every shape.
    assert torch.backends.cuda.cudnn_sdp_enabled() == (name == "cpu")
    assert (found.name, found.dtype, found.budget, found.description) == (name, dtype, budget, words)
    assert found.is_gpu == (name == "cuda")


@pytest.mark.parametrize("gpu", [None, Gpu(why="RuntimeError")])
def test_who_insists_on_a_gpu_is_told_that_there_is_none(gpu):
    with pytest.raises(BackendError, match="no usable GPU") as caught:
        select_device(gpu, "cuda")
    assert caught.value.permanent
    with pytest.raises(BackendError, match="Choose one of: auto, cpu, cuda"):
        select_device(gpu, "tpu")


def test_a_driver_that_fails_is_no_gpu(monkeypatch):
    """The driver fails in a forked process whose parent used the GPU, or if it is outdated."""

    def fails(*args, **kwargs):
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", fails)
    assert device_module.choose_device().description == "CPU (the GPU can't be used: RuntimeError)"
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA A100")
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: not including_emulation)
    assert device_module.choose_device() == select_device(AMPERE)


class Small:
    """A GPU whose memory fits `room` tokens. Calls with larger batches fail, with tensors still in their frame."""

    def __init__(self, monkeypatch, room, lengths):
        self.room, self.lengths = room, lengths
        self.read_as, self.made, self.emptied = [], [], []
        monkeypatch.setattr(torch.cuda, "empty_cache", self._empty)

    def _empty(self):
        gc.collect()
        self.emptied.append(sum(one() is not None for one in self.made))

    def __call__(self, batch):
        scratch = torch.zeros(3)
        self.made.append(weakref.ref(scratch))
        if self.placement.device.is_gpu and len(batch) * max(self.lengths[at] for at in batch) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        self.read_as.append((self.placement.device.name, list(batch)))

    def filled(self, device):
        self.placement = Placement(device, torch.nn.Linear(2, 2))
        self.placement.each(self.lengths, self)
        return [at for _, batch in self.read_as for at in batch]


def test_too_large_batches_are_repeated_in_smaller_ones(monkeypatch):
    memory = Small(monkeypatch, room=20, lengths=[5, 10, 5, 10, 5, 5, 5, 5])
    assert sorted(memory.filled(AS_GPU)) == list(range(8)), "each item exactly once, despite failed batches"
    assert memory.placement.device == replace(AS_GPU, budget=16)
    assert memory.emptied == [0, 0], "the tensors of a failed batch must be freed before the cache is emptied"


def test_an_item_that_never_fits_moves_the_networks_to_the_cpu(monkeypatch):
    memory = Small(monkeypatch, room=9, lengths=[3, 30, 3])
    assert sorted(memory.filled(AS_GPU)) == [0, 1, 2]
    assert {name for name, _ in memory.read_as} == {"cpu"}
    assert memory.placement.device == Device("cpu", "CPU (the GPU memory is full)", CPU_BUDGET)


def test_networks_that_must_stay_fail(monkeypatch):
    assert select_device(AMPERE, "cuda").stays
    with pytest.raises(BackendError, match=r"The GPU memory is full\. Stop other programs that use the GPU") as caught:
        Small(monkeypatch, room=9, lengths=[30]).filled(replace(AS_GPU, stays=True))
    assert caught.value.permanent


class Heavy(torch.nn.Linear):
    """A network that doesn't fit into GPU memory."""

    def to(self, name):
        if name != "cpu":
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().to(name)


def test_a_network_that_does_not_fit_computes_on_the_cpu():
    placement = Placement(AS_GPU, Heavy(2, 2))
    assert placement.device.description == "CPU (the GPU memory is full)"
    with pytest.raises(BackendError, match="memory is full"):
        Placement(replace(AS_GPU, stays=True), Heavy(2, 2))


def test_batches_of_light_items_are_larger():
    placement, read = Placement(replace(AS_GPU, budget=10)), []
    placement.each([10] * 8, lambda batch: read.append(len(batch)), light=4)
    assert read == [4, 4]
