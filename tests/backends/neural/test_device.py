"""Where networks compute: for each card, and where its memory is full. The card is described, as none is at hand."""

import gc
import weakref
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from models_runtime.backends.base import BackendError  # noqa: E402 - needs torch
from models_runtime.backends.neural import device as place  # noqa: E402
from models_runtime.backends.neural.device import CPU_BUDGET, GPU_BUDGET, Card, Device, Seat, device_for  # noqa: E402

AMPERE = Card("NVIDIA A100", bf16=True)
TURING = Card("Tesla T4", bf16=False)
# Another name of the CPU, which counts as a GPU here: real networks run on it.
AS_GPU = Device("cpu:0", "GPU (made up)", budget=64)


@pytest.mark.parametrize(
    ("card", "wish", "name", "dtype", "budget", "words"),
    [
        (AMPERE, "auto", "cuda", torch.bfloat16, GPU_BUDGET, "GPU (NVIDIA A100, bf16)"),
        (AMPERE, "cuda", "cuda", torch.bfloat16, GPU_BUDGET, "GPU (NVIDIA A100, bf16)"),
        (AMPERE, "cpu", "cpu", torch.float32, CPU_BUDGET, "CPU"),
        (TURING, "auto", "cuda", torch.float32, GPU_BUDGET, "GPU (Tesla T4, single precision)"),
        (None, "auto", "cpu", torch.float32, CPU_BUDGET, "CPU (no GPU is at hand)"),
        (None, "cpu", "cpu", torch.float32, CPU_BUDGET, "CPU"),
        (Card(why="OSError"), "auto", "cpu", torch.float32, CPU_BUDGET, "CPU (the GPU can't be used: OSError)"),
    ],
)  # fmt: skip
def test_each_card_has_its_place(card, wish, name, dtype, budget, words):
    found = device_for(card, wish)
    assert (found.name, found.dtype, found.budget, found.words) == (name, dtype, budget, words)
    assert found.is_gpu == (name == "cuda")


@pytest.mark.parametrize("card", [None, Card(why="RuntimeError")])
def test_who_insists_on_a_gpu_is_told_that_there_is_none(card):
    with pytest.raises(BackendError, match="no GPU is at hand") as caught:
        device_for(card, "cuda")
    assert caught.value.permanent
    with pytest.raises(BackendError, match="there are auto, cpu, cuda"):
        device_for(card, "tpu")


def test_a_driver_that_fails_is_no_gpu(monkeypatch):
    """As in a forked process whose parent used the GPU, or with a driver too old."""

    def fails(*args, **kwargs):
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", fails)
    assert place.chosen().words == "CPU (the GPU can't be used: RuntimeError)"
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA A100")
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: not including_emulation)
    assert place.chosen() == device_for(AMPERE)


def test_bf16_where_it_is_chosen_and_nowhere_else():
    weights, shown = torch.randn(4, 4), torch.randn(4, 4)
    for dtype in (torch.bfloat16, torch.float32):
        with Device("cpu", "CPU", 64, dtype).precise():
            assert (shown @ weights).dtype == dtype


class Small:
    """A GPU's memory that holds `room` tokens: `read` fails beyond, and keeps what it made so far in its frame."""

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
        if self.seat.device.is_gpu and len(batch) * max(self.lengths[at] for at in batch) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        self.read_as.append((self.seat.device.name, list(batch)))

    def filled(self, device):
        self.seat = Seat(device, torch.nn.Linear(2, 2))
        self.seat.each(self.lengths, self)
        return [at for _, batch in self.read_as for at in batch]


def test_what_does_not_fit_goes_on_in_smaller_batches(monkeypatch):
    memory = Small(monkeypatch, room=20, lengths=[5, 10, 5, 10, 5, 5, 5, 5])
    assert sorted(memory.filled(AS_GPU)) == list(range(8)), "each once, whatever was tried before"
    assert memory.seat.device == replace(AS_GPU, budget=16)
    assert memory.emptied == [0, 0], "what a failed batch had made was gone before the memory was given back"


def test_what_fits_in_no_batch_goes_to_the_cpu_with_a_word(monkeypatch):
    memory = Small(monkeypatch, room=9, lengths=[3, 30, 3])
    assert sorted(memory.filled(AS_GPU)) == [0, 1, 2]
    assert {name for name, _ in memory.read_as} == {"cpu"}
    assert memory.seat.device == Device("cpu", "CPU (the GPU's memory is full)", CPU_BUDGET)


def test_what_may_not_move_says_so(monkeypatch):
    memory = Small(monkeypatch, room=9, lengths=[30])
    for device in (replace(AS_GPU, stays=True), device_for(AMPERE, "cuda")):
        assert device.stays
    with pytest.raises(BackendError, match="the GPU's memory is full: stop what else uses it") as caught:
        memory.filled(replace(AS_GPU, stays=True))
    assert caught.value.permanent


class Heavy(torch.nn.Linear):
    """Finds no room on a GPU."""

    def to(self, name):
        if name != "cpu":
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().to(name)


def test_a_network_that_finds_no_room_computes_on_the_cpu():
    seat = Seat(AS_GPU, Heavy(2, 2))
    assert seat.device.words == "CPU (the GPU's memory is full)"
    with pytest.raises(BackendError, match="memory is full"):
        Seat(replace(AS_GPU, stays=True), Heavy(2, 2))


def test_light_items_are_read_more_at_once():
    seat, read = Seat(replace(AS_GPU, budget=10)), []
    seat.each([10] * 8, lambda batch: read.append(len(batch)), light=4)
    assert read == [4, 4]
