"""Work of a learned backend in a process of its own: training, and the first look at a file from outside.

So the process that asks stays free to say it is alive, can stop the work at any moment, and outlives a crash in a
library's C code. Texts and spans go through a pipe, never onto a command line or into a file.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from annotations.domain.names import bad_character, shown
from annotations.domain.spans import Span
from annotations.domain.strict_json import JsonError, read_json, texts_in
from models_runtime.backends.base import BackendError

ROOT: Final = Path(__file__).resolve().parents[2]
# How often the asking process is called back while the child says nothing (seconds).
EVERY: Final = 0.5
CHECK_SECONDS: Final = 30
CHILD: Final = "models_runtime.backends.child"
# Which GPU, and where its libraries lie.
OF_GPUS: Final = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "LD_LIBRARY_PATH")
STEADY: Final = {"LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
# Sums in one order, whatever the machine: the same notes give the same weights.
ONE_THREAD: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS")

Told = Callable[[dict[str, Any] | None], bool | None]
"""Called with each step of a training (a learner.Step's fields), and with None every EVERY seconds between.

True: it is enough, the training is to end with what it has learned. What it raises stops the child and comes out.
"""
Notes = Iterable[tuple[str, Sequence[Span]]]


def train(
    module: str,
    notes: Notes,
    path: Path,
    *,
    options: dict[str, Any],
    unlabelled: Iterable[str],
    told: Told,
    held_out: Notes = (),
) -> dict[str, Any]:
    """Have the learner of `module` learn from `notes` and write `path`; returns the file's `sha256`.

    Beside it, for one that may learn on a GPU, `device` in words and `memory` in bytes. `options` are a Lesson's plain
    fields. Raises BackendError: permanent where it says so itself, else where the child was lost.
    """
    with _child("train", module, str(path)) as process:
        parts = ([options], map(_line, notes), [None], unlabelled, [None], map(_line, held_out), [None])
        with suppress(BrokenPipeError):  # it has ended; what it said tells why
            _feed(process.stdin, *parts, told)
        begun = False
        for said in _said(process):
            if said is not None and "error" in said:
                raise BackendError(str(said["error"]), permanent=bool(said.get("permanent")))
            if said is not None and "sha256" in said:
                return said
            begun = begun or said is not None
            if told(said) and begun:
                process.send_signal(signal.SIGUSR1)
        told(None)
        raise BackendError(f"the training process was lost ({_ending(process)})", permanent=False)


def _line(note: tuple[str, Sequence[Span]]) -> Any:
    text, spans = note
    return text, [[span.start, span.end, span.label] for span in spans]


def check(modules: Mapping[str, str], path: Path) -> dict[str, Any]:
    """Have a child open the file with the learner of its format and read a text with it; returns the file's own card.

    `modules` are the learners by format; the card's `format` says which one it was. Raises BackendError (permanent) for
    a file that is refused, takes too long, or takes the child down.
    """
    with _child("check", *(f"{format}={module}" for format, module in modules.items()), str(path)) as process:
        try:
            out, _ = process.communicate(timeout=CHECK_SECONDS)
        except subprocess.TimeoutExpired:
            raise BackendError("this file is refused: opening it took too long", permanent=True) from None
        try:
            said = read_json(out.splitlines()[-1])
        except (IndexError, JsonError):
            said = None
        if not process.returncode and said is None:
            raise BackendError("this file is refused: its card holds what can't be kept", permanent=True)
        if process.returncode or not isinstance(said, dict):
            ending = _ending(process)
            raise BackendError(f"this file is refused: it is damaged, opening it crashes ({ending})", permanent=True)
    if "error" in said:
        raise BackendError(shown(str(said["error"])), permanent=True)
    # Labels, algorithms, languages: all of a card's texts are names.
    if bad := next(filter(None, map(bad_character, texts_in(said))), ""):
        raise BackendError(
            f"this file is refused: its card holds {bad}, a control character or one that turns the direction of text",
            permanent=True,
        )
    return said


@contextmanager
def _child(act: str, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """The child, which is gone afterwards. It gets none of our environment, which holds secrets."""
    env = {name: os.environ[name] for name in ("PATH", "TMPDIR", *OF_GPUS) if name in os.environ}
    env |= STEADY | dict.fromkeys(ONE_THREAD, "1")
    process = subprocess.Popen(  # noqa: S603 - our own module, and paths of ours
        [sys.executable, "-m", CHILD, str(os.getpid()), act, *words],
        cwd=ROOT,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Signals to our process group are for us; this child is stopped below, or by our death.
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # what was still to be written has nobody to read it
                pipe.close() if pipe else None


def _feed(pipe: IO[bytes] | None, *parts: Any) -> None:
    """One JSON value a line; the asker is told now and then, since reading the notes takes a while as well."""
    *values, told = parts
    assert pipe is not None
    at = 0
    for part in values:
        for value in part:
            pipe.write(json.dumps(value).encode() + b"\n")
            at += 1
            if at % 50 == 0:
                told(None)
    pipe.close()


def _said(process: "subprocess.Popen[bytes]") -> Iterator[dict[str, Any] | None]:
    """What the child says, line by line; None whenever it has been silent for a while."""
    assert process.stdout is not None
    pipe, rest = process.stdout.fileno(), b""
    while True:
        ready, _, _ = select.select([pipe], [], [], EVERY)
        if not ready:
            yield None
            continue
        data = os.read(pipe, 65536)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from map(json.loads, lines)


def _ending(process: "subprocess.Popen[bytes]") -> str:
    code = process.wait()
    return f"signal {-code}" if code < 0 else f"status {code}"


@contextmanager
def on_disk(chunks: Iterable[bytes]) -> Iterator[Path]:
    """A file with this content, for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="deidreview-model-") as folder:
        path = Path(folder) / "this file"  # as a refusal names it to whoever sent it
        with path.open("wb") as file:
            for data in chunks:
                file.write(data)
        yield path
