"""Where a model computes: a GPU where there is one, else the CPU, and how exactly."""

import resource
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from models_runtime.backends.base import BackendError

# Tokens in one batch: on a CPU what stays in its cache, on a GPU what fills it.
CPU_BUDGET = 4096
GPU_BUDGET = 65536
KIB = 1024


@dataclass(frozen=True)
class Device:
    """`name` is torch's; `words` are for people. `budget` is in tokens, padding included."""

    name: str
    words: str
    budget: int

    @property
    def is_gpu(self) -> bool:
        return self.name != "cpu"

    def precise(self) -> AbstractContextManager[Any]:
        """bf16 on a GPU; on a CPU single precision."""
        return torch.autocast("cuda", dtype=torch.bfloat16) if self.is_gpu else nullcontext()

    def freed(self) -> None:
        """Give the GPU's unused memory back to others."""
        if self.is_gpu:
            torch.cuda.empty_cache()

    def memory(self) -> int:
        """Bytes at most so far: on a GPU of its tensors, on a CPU of the whole process."""
        if self.is_gpu:
            return int(torch.cuda.max_memory_allocated())
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB


def chosen(wish: str = "auto") -> Device:
    """`auto` takes a GPU where there is one; `cpu` and `cuda` insist. Raises BackendError (permanent) without it."""
    there = torch.cuda.is_available()
    if wish not in ("auto", "cpu", "cuda"):
        raise BackendError(f"device {wish!r}: there are auto, cpu, cuda", permanent=True)
    if wish == "cuda" and not there:
        raise BackendError("no GPU is at hand on this worker; choose device auto or cpu", permanent=True)
    if wish == "cpu" or not there:
        return Device("cpu", "CPU" if wish == "cpu" else "CPU (no GPU is at hand)", CPU_BUDGET)
    return Device("cuda", f"GPU ({torch.cuda.get_device_name()})", GPU_BUDGET)
