"""Where a model computes: a GPU where there is one, else the CPU; how exactly; and what of it fits there."""

import resource
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from models_runtime.backends.base import BackendError
from models_runtime.backends.neural.windows import batches

# Tokens in one batch: on a CPU what stays in its cache, on a GPU what fills it.
CPU_BUDGET = 4096
GPU_BUDGET = 65536
KIB = 1024
FULL = "the GPU's memory is full"


@dataclass(frozen=True)
class Card:
    """A GPU as its driver tells of it. `bf16`: it computes in bf16 itself; `why`: it can't be used after all."""

    name: str = ""
    bf16: bool = False
    why: str = ""


@dataclass(frozen=True)
class Device:
    """`name` is torch's; `words` are for people. `budget` is in tokens, padding included.

    `stays`: the work can't go on elsewhere when the GPU's memory is full.
    """

    name: str
    words: str
    budget: int
    dtype: torch.dtype = torch.float32
    stays: bool = False

    @property
    def is_gpu(self) -> bool:
        return self.name != "cpu"

    def precise(self) -> AbstractContextManager[Any]:
        """Products of matrices in `dtype`, sums and weights in single precision."""
        return nullcontext() if self.dtype == torch.float32 else torch.autocast(self.name, dtype=self.dtype)

    def memory(self) -> int:
        """Bytes at most so far: on a GPU of its tensors, on a CPU of the whole process."""
        if self.is_gpu:
            return int(torch.cuda.max_memory_allocated())
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB


def card_at_hand() -> Card | None:
    """The first GPU that this process may see (CUDA_VISIBLE_DEVICES)."""
    if not torch.cuda.is_available():
        return None
    try:
        return Card(torch.cuda.get_device_name(), torch.cuda.is_bf16_supported(including_emulation=False))
    except RuntimeError as error:  # a driver too old, a card that fell off the bus, or held by another for itself
        return Card(why=type(error).__name__)


def device_for(card: Card | None, wish: str = "auto") -> Device:
    """What a machine with this card computes on: `auto` takes the card; `cpu` and `cuda` insist.

    bf16 where the card has it, else single precision. Raises BackendError (permanent) where what was insisted on is
    not there.
    """
    if wish not in ("auto", "cpu", "cuda"):
        raise BackendError(f"device {wish!r}: there are auto, cpu, cuda", permanent=True)
    usable = card is not None and not card.why
    if wish == "cuda" and not usable:
        raise BackendError("no GPU is at hand on this worker; choose device auto or cpu", permanent=True)
    if wish == "cpu":
        return on_cpu("")
    if card is None or card.why:
        return on_cpu(f"the GPU can't be used: {card.why}" if card else "no GPU is at hand")
    kind, exact = (torch.bfloat16, "bf16") if card.bf16 else (torch.float32, "single precision")
    return Device("cuda", f"GPU ({card.name}, {exact})", GPU_BUDGET, kind, stays=wish == "cuda")


def on_cpu(why: str) -> Device:
    """The CPU, with the word why it is not a GPU."""
    return Device("cpu", f"CPU ({why})" if why else "CPU", CPU_BUDGET)


def chosen(wish: str = "auto") -> Device:
    """`device_for` the card at hand."""
    return device_for(card_at_hand(), wish)


def too_little() -> BackendError:
    """Where there is nowhere else to go."""
    return BackendError(f"{FULL}: stop what else uses it, then start again", permanent=True)


class Seat:
    """Networks where they compute. What a GPU's memory can't hold goes on in smaller batches, at last on the CPU.

    It stays so for as long as this process lasts. `device` is where it is now, and its words say why.
    """

    def __init__(self, device: Device, *networks: Any) -> None:
        """Raises BackendError where the networks find no room, and may go nowhere else."""
        self.device = device
        self._networks = networks
        if not self._fits(self._sit):
            self._leave()

    def each(self, lengths: Sequence[int], read: Callable[[Sequence[int]], None], *, light: int = 1) -> None:
        """Call `read` with batches of these items' numbers, similar lengths together, until each was read.

        A batch that finds no memory is read anew, in smaller ones. `light`: so many of what is counted here take as
        much as a token.
        """
        waiting = deque(batches(lengths, self.device.budget * light))
        while waiting:
            if self._fits(partial(read, waiting[0])):
                waiting.popleft()
                continue
            self._shrink(-(-lengths[waiting[0][0]] // light))
            left = [at for batch in waiting for at in batch]
            again = batches([lengths[at] for at in left], self.device.budget * light)
            waiting = deque([left[at] for at in batch] for batch in again)

    def _fits(self, act: Callable[[], object]) -> bool:
        try:
            act()
        except torch.OutOfMemoryError:
            return False  # its frames, and the tensors in them, are gone by the time anything is tried again
        return True

    def _sit(self) -> None:
        for network in self._networks:
            network.to(self.device.name)

    def _shrink(self, longest: int) -> None:
        """Half as much at once; where that is less than the longest item, the CPU."""
        if self.device.is_gpu and self.device.budget > longest:
            torch.cuda.empty_cache()
            self.device = replace(self.device, budget=max(longest, self.device.budget // 2))
        else:
            self._leave()

    def _leave(self) -> None:
        if not self.device.is_gpu or self.device.stays:
            raise too_little()
        self.device = on_cpu(FULL)
        self._sit()
        torch.cuda.empty_cache()
