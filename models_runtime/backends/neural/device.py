"""The device that a network computes on: a GPU if there is one, otherwise the CPU; precision and batch sizes."""

import hashlib
import resource
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import torch

from annotations.text.wording import gettext as _
from models_runtime.backends.base import BackendError, StreamingBackend

# Windows over notes that are longer than a model's input.
#
# Windows overlap unless a model reads disjoint chunks. The prediction of each piece (a sub-word of the model's
# tokenizer) is taken from the window with most of its context, never from a window's edge. Bounds are indexes of
# pieces, end-exclusive.


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a note: pieces `start` to `past` are input; predictions are used for `kept` to `kept_past`."""

    start: int
    past: int
    kept: int
    kept_past: int

    def __len__(self) -> int:
        return self.past - self.start

    def moved(self, by: int) -> "Window":
        """The same window `by` pieces further on."""
        return Window(self.start + by, self.past + by, self.kept + by, self.kept_past + by)


def chunks(count: int, most: int) -> list[Window]:
    """Disjoint windows of `most` pieces, the last one shorter (Salierno et al. 2024, section 6)."""
    return [Window(at, past, at, past) for at in range(0, count, most) for past in [min(at + most, count)]]


def windows(count: int, most: int, overlap: int) -> list[Window]:
    """Windows of at most `most` pieces over `count` pieces; neighbors share at least `overlap` pieces.

    Each piece's prediction is used exactly once. All windows have the same size, so that the last one is not short.
    Raises ValueError for an overlap that is not smaller than `most`.
    """
    if not 0 <= overlap < most:
        raise ValueError(f"Windows of {most} pieces can't overlap by {overlap}.")
    if count <= most:
        return [Window(0, count, 0, count)] if count else []
    number = -(-(count - overlap) // (most - overlap))
    starts = [round(at * (count - most) / (number - 1)) for at in range(number)]
    # The predictions of the shared pieces come from the left window up to their middle, then from the right one.
    changes = [0, *((left + most + right) // 2 for left, right in pairwise(starts)), count]
    return [Window(start, start + most, *kept) for start, kept in zip(starts, pairwise(changes), strict=True)]


def batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Batches of indexes of items with similar lengths: at most `budget` units with padding, and at least one item.

    The longest items come first, so that a batch that doesn't fit into memory shows at once.
    """
    found: list[list[int]] = []
    for at in sorted(range(len(lengths)), key=lambda at: (-lengths[at], at)):
        if found and lengths[found[-1][0]] * (len(found[-1]) + 1) <= budget:
            found[-1].append(at)
        else:
            found.append([at])
    return found


def batches_of(lengths: Sequence[int], number: int) -> list[list[int]]:
    """Batches of `number` items with similar lengths, the longest first; the last batch may be smaller."""
    order = sorted(range(len(lengths)), key=lambda at: (-lengths[at], at))
    return [order[at : at + number] for at in range(0, len(order), number)]


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
        raise BackendError("There is no device “{requested}”. Choose one of: auto, cpu, cuda.", requested)
    usable = gpu is not None and not gpu.why
    if requested == "cuda" and not usable:
        raise BackendError("This worker has no usable GPU. Choose the device auto or cpu.")
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
        "also gradient accumulation), then start again."
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


class OnDevice(StreamingBackend):
    """A backend whose networks have a `placement`."""

    placement: Placement

    @property
    def device(self) -> Device:
        """The device that it computes on at present."""
        return self.placement.device


# Weights from a folder: its name in messages, and checks before a network is built from a file of others.


# Layers of an LSTM or a transformer.
MOST_LAYERS: Final = 100
# Numbers that a network computes when it is built, such as positions, in all its buffers.
MOST_COMPUTED: Final = 1 << 22


def name_of(folder: Path) -> str:
    """The folder's name; for a snapshot of the Hugging Face Hub's client, the name of the repository."""
    return folder.parents[1].name.rpartition("--")[2] if folder.parent.name == "snapshots" else folder.name


def check_files(folder: Path, needed: Sequence[str], hint: str = "") -> None:
    """Raise BackendError (permanent) if the folder or one of its files is missing. `hint`: what to do then."""
    if not folder.is_dir():
        raise BackendError("There is no folder “{name}” on this worker. Add the folder.", name_of(folder))
    if missing := [file for file in needed if not any(folder.glob(file))]:
        pickled = any(file.suffix in (".bin", ".pt") for file in folder.iterdir())
        if pickled and not hint:
            hint = _("Pickled weights (.bin, .pt) are never opened; convert them to safetensors.")
        error = BackendError("The folder “{name}” lacks {files}.", name_of(folder), ", ".join(missing))
        raise BackendError(f"{error} {hint}".strip())


def digest_of(folder: Path, names: Iterable[str]) -> str:
    """A hash of these files of a folder."""
    whole = hashlib.sha256()
    for name in names:
        with (folder / name).open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()[:12]


def check_fit(planned: Any, tensors: Mapping[str, Any]) -> None:
    """Raise ValueError if a file's tensors aren't those of a network, or if numbers in them are not finite.

    `planned`: the network on torch's device `meta`, where it takes no memory. So a small file can't ask for a large
    network: names and shapes must be equal, and no tensor may be empty.
    """
    shapes = {name: tuple(values.shape) for name, values in planned.state_dict().items()}
    if shapes != {name: tuple(values.shape) for name, values in tensors.items()}:
        raise ValueError("other tensors")
    if not all(values.numel() for values in tensors.values()):
        raise ValueError("an empty tensor")
    if sum(values.numel() for values in planned.buffers()) > MOST_COMPUTED:
        raise ValueError("too many computed numbers")
    if not all(bool(torch.isfinite(values).all()) for values in tensors.values()):
        raise ValueError("a number that is not finite")


def check_scores(finite: Iterable[bool]) -> None:
    """Raise BackendError (permanent) if the scores of some text are not finite. `finite`: whether they are."""
    if not all(finite):
        raise BackendError(
            "Some of the text has no scores, because the weights are damaged. Copy the model's folder again."
        )
