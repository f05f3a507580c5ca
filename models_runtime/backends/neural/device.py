"""The device that a network computes on: a GPU if there is one, otherwise the CPU; precision and batch sizes."""

import resource
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from annotations.text.spans import Span
from models_runtime.backends.base import BackendError
from models_runtime.backends.neural.windows import batches

# Tokens in one batch. On a CPU, larger batches leave its cache; on a GPU, smaller ones don't use it fully.
CPU_BUDGET = 4096
GPU_BUDGET = 65536
KIB = 1024
FULL = "the GPU memory is full"


@dataclass(frozen=True)
class Gpu:
    """A GPU as reported by its driver. `bf16`: native support of bf16. `why`: why it can't be used, if so."""

    name: str = ""
    bf16: bool = False
    why: str = ""


@dataclass(frozen=True)
class Device:
    """A device. `name` is torch's name, `description` a text for people. `budget`: tokens in a batch, with padding.

    `stays`: the work must not move to the CPU when the GPU memory is full.
    """

    name: str
    description: str
    budget: int
    dtype: torch.dtype = torch.float32
    stays: bool = False

    @property
    def is_gpu(self) -> bool:
        return self.name != "cpu"

    def precision(self) -> AbstractContextManager[Any]:
        """A context in which matrix products use `dtype`; sums and weights stay in single precision."""
        return nullcontext() if self.dtype == torch.float32 else torch.autocast(self.name, dtype=self.dtype)

    def memory(self) -> int:
        """Peak memory in bytes: of the tensors on a GPU, of the whole process on a CPU."""
        if self.is_gpu:
            return int(torch.cuda.max_memory_allocated())
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB


def first_gpu() -> Gpu | None:
    """The first GPU that this process can see (CUDA_VISIBLE_DEVICES), or None."""
    if not torch.cuda.is_available():
        return None
    try:
        return Gpu(torch.cuda.get_device_name(), torch.cuda.is_bf16_supported(including_emulation=False))
    except RuntimeError as error:  # The driver is outdated, the GPU failed, or another process has it exclusively.
        return Gpu(why=type(error).__name__)


def select_device(gpu: Gpu | None, requested: str = "auto") -> Device:
    """The device for a machine with this GPU. `requested`: `auto` (the GPU if usable), `cpu` or `cuda`.

    The GPU computes in bf16 if it supports it, otherwise in single precision. Raises BackendError (permanent) for an
    unknown request, or for `cuda` without a usable GPU.
    """
    if requested not in ("auto", "cpu", "cuda"):
        raise BackendError(f"There is no device “{requested}”. Choose one of: auto, cpu, cuda.", permanent=True)
    usable = gpu is not None and not gpu.why
    if requested == "cuda" and not usable:
        raise BackendError("This worker has no usable GPU. Choose the device auto or cpu.", permanent=True)
    if requested == "cpu":
        return cpu_device("")
    if gpu is None or gpu.why:
        return cpu_device(f"the GPU can't be used: {gpu.why}" if gpu else "no GPU available")
    # cuDNN's attention plans anew for every shape of a batch, which takes longer than the batch; torch's own doesn't.
    torch.backends.cuda.enable_cudnn_sdp(False)
    kind, exact = (torch.bfloat16, "bf16") if gpu.bf16 else (torch.float32, "single precision")
    return Device("cuda", f"GPU ({gpu.name}, {exact})", GPU_BUDGET, kind, stays=requested == "cuda")


def cpu_device(why: str) -> Device:
    """The CPU. `why`: the reason why no GPU is used, for the description."""
    return Device("cpu", f"CPU ({why})" if why else "CPU", CPU_BUDGET)


def choose_device(requested: str = "auto") -> Device:
    """The device for this machine: see select_device."""
    return select_device(first_gpu(), requested)


def gpu_memory_full() -> BackendError:
    """The error for work that can't continue on the CPU."""
    return BackendError(
        "The GPU memory is full. Stop other programs that use the GPU, or choose smaller batches (for a transformer, "
        "also gradient accumulation), then start again.",
        permanent=True,
    )


class Placement:
    """Networks on their device. If the GPU memory is full, batches get smaller; finally, the networks move to the CPU.

    Both last for the rest of the process. `device` is the present device; its description gives the reason.
    """

    def __init__(self, device: Device, *networks: Any) -> None:
        """Raises BackendError if the networks don't fit into memory and must not move to the CPU."""
        self.device = device
        self._networks = networks
        if not self._fits(self._load):
            self._move_to_cpu()

    def each(self, lengths: Sequence[int], read: Callable[[Sequence[int]], None], *, light: int = 1) -> None:
        """Call `read` with batches of the indexes of all items, items of similar length together.

        A batch for which memory is too small is repeated in smaller batches. `light`: the number of units of `lengths`
        that take as much memory as one token.
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
            return False  # after the return, the frames of `act` and their tensors are freed
        return True

    def _load(self) -> None:
        for network in self._networks:
            network.to(self.device.name)

    def _shrink(self, longest: int) -> None:
        """Halve the batch size; if even one item is too large, move to the CPU."""
        if self.device.is_gpu and self.device.budget > longest:
            torch.cuda.empty_cache()
            self.device = replace(self.device, budget=max(longest, self.device.budget // 2))
        else:
            self._move_to_cpu()

    def _move_to_cpu(self) -> None:
        if not self.device.is_gpu or self.device.stays:
            raise gpu_memory_full()
        self.device = cpu_device(FULL)
        self._load()
        torch.cuda.empty_cache()


class OnDevice(ABC):
    """A backend whose networks have a `placement`."""

    placement: Placement

    @property
    def device(self) -> Device:
        """The device that it computes on at present."""
        return self.placement.device

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text: sorted, trimmed, without overlaps."""
        return list(self.stream(texts))

    @abstractmethod
    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order, computed in blocks of texts."""
