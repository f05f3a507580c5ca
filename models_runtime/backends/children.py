"""Training, and checking uploaded model files, in a child process.

The parent process can keep its lease alive, stop the work at any time, and survive a crash in a library's C code. Texts
and spans go through a pipe, never onto a command line or into a file with a name.
"""

import importlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Final, cast

from annotations.formats.files.json_files import JsonError, read_json, texts_in
from annotations.installation import CODE
from annotations.parents import end_with
from annotations.text.names import bad_character, printable
from annotations.text.spans import Span
from annotations.text.wording import gettext as _
from annotations.threads import limit_threads
from models_runtime.backends.base import BackendError, not_installed
from models_runtime.backends.files import MOST, REFIT, card_of, format_of, mark_refit
from models_runtime.backends.learner import Learner, Outline, Step, TrainingResult, TrainingTask
from models_runtime.backends.marginals import SelfLabeled

# Interval of the callbacks while the child sends nothing (seconds).
EVERY: Final = 0.5
CHECK_SECONDS: Final = 30
CHILD: Final = "models_runtime.backends.children"
# Variables that select the GPU and its libraries.
OF_GPUS: Final = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "LD_LIBRARY_PATH")
STEADY: Final = {"LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}

OnStep = Callable[[dict[str, Any] | None], bool | None]
"""Called with each training step (the fields of a learner.Step), and with None every EVERY seconds between steps.

Return True to end the training early and keep what it has learned. An exception stops the child and is passed on.
"""
Notes = Iterable[tuple[str, Sequence[Span]]]


def train(
    learner: str,
    notes: Notes,
    path: Path,
    *,
    options: dict[str, Any],
    unlabeled: Iterable[str],
    on_step: OnStep,
    held_out: Notes = (),
    self_labeled: Iterable[SelfLabeled] = (),
) -> TrainingResult:
    """Train with `learner` on `notes`, write the model to `path`, and return its `sha256`.

    `learner`: the dotted path of a Learner. For one that can use a GPU, the result also has `device` (a description)
    and `memory` (bytes). `options` are the plain fields of a TrainingTask. Raises BackendError, not permanent if the
    child process was lost.
    """
    with _child("train", learner, str(path)) as process:
        parts = ([options], map(_line, notes), [None], unlabeled, [None], map(_line, held_out), [None])
        labeled = ([*_line((each.text, each.spans)), [*each.sure]] for each in self_labeled)
        with suppress(BrokenPipeError):  # the child has ended; its last message says why
            _feed(process.stdin, *parts, labeled, [None], on_step)
        started = False
        for message in _messages(process):
            if message is not None and "error" in message:
                raise BackendError(str(message["error"]), permanent=bool(message.get("permanent")))
            if message is not None and "sha256" in message:
                result = TrainingResult(sha256=str(message["sha256"]), iterations=int(message["iterations"]))
                if "device" in message:
                    result |= {"device": str(message["device"]), "memory": int(message["memory"])}
                return result
            started = started or message is not None
            if on_step(message) and started:
                process.send_signal(signal.SIGUSR1)
        on_step(None)
        raise BackendError(
            "The training process was lost ({ending}). Start training again.", _ending(process), permanent=False
        )


def _line(note: tuple[str, Sequence[Span]]) -> Any:
    text, spans = note
    return text, [[span.start, span.end, span.label] for span in spans]


def check(learners: Mapping[str, str], path: Path) -> Outline:
    """Let a child process load a model file and predict a text with it; returns the outline of its card.

    `learners` gives the dotted path of the Learner of each format. Raises BackendError (permanent) for a file that is
    invalid, takes too long to open, or crashes the child.
    """
    with _child("check", *(f"{format}={learner}" for format, learner in learners.items()), str(path)) as process:
        try:
            out, _ = process.communicate(timeout=CHECK_SECONDS)
        except subprocess.TimeoutExpired:
            raise BackendError("This file can't be used: opening it took too long.") from None
        try:
            answer = read_json(out.splitlines()[-1])
        except (IndexError, JsonError):
            answer = None
        if not process.returncode and answer is None:
            raise BackendError("This file can't be used: its card has values that can't be stored.")
        if process.returncode or not isinstance(answer, dict):
            ending = _ending(process)
            raise BackendError("This file can't be used: opening it crashes ({ending}).", ending)
    if "error" in answer:
        raise BackendError(printable(str(answer["error"])))
    # All texts of a card (labels, algorithms, languages) are names, so no special characters are allowed.
    if bad := next(filter(None, map(bad_character, texts_in(answer))), ""):
        raise BackendError(
            "This file can't be used: its card contains {bad}, a control or text direction character.", bad
        )
    # Our own code in the child has checked the fields.
    return cast(Outline, {name: answer[name] for name in Outline.__annotations__ if name in answer})


@contextmanager
def _child(act: str, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Start the child process and kill it afterwards. It doesn't inherit the environment, which holds secrets."""
    env = {name: os.environ[name] for name in ("PATH", "TMPDIR", *OF_GPUS) if name in os.environ}
    env |= STEADY
    # With one thread, sums are computed in one order: the same notes give the same weights on every machine.
    limit_threads(env, 1)
    process = subprocess.Popen(  # noqa: S603 - our own module and paths
        [sys.executable, "-m", CHILD, str(os.getpid()), act, *arguments],
        cwd=CODE,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # The child must not get signals to our process group: it is killed below, or when this process dies.
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # flushing fails if the child no longer reads
                pipe.close() if pipe else None


def _feed(pipe: IO[bytes] | None, *parts: Any) -> None:
    """Write one JSON value per line, with a callback every 50 values, because reading the notes takes time."""
    *values, on_step = parts
    assert pipe is not None
    at = 0
    for part in values:
        for value in part:
            pipe.write(json.dumps(value).encode() + b"\n")
            at += 1
            if at % 50 == 0:
                on_step(None)
    pipe.close()


def _messages(process: "subprocess.Popen[bytes]") -> Iterator[dict[str, Any] | None]:
    """The child's messages; None after each EVERY seconds without one."""
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
    return _("signal {number}", -code) if code < 0 else _("status {number}", code)


@contextmanager
def on_disk(chunks: Iterable[bytes]) -> Iterator[Path]:
    """A temporary file with this content."""
    with tempfile.TemporaryDirectory(prefix="deidreview-model-") as folder:
        path = Path(folder) / "This file"  # error messages begin with the file's name
        with path.open("wb") as file:
            for data in chunks:
                file.write(data)
        yield path


# The child: `python -m models_runtime.backends.children PARENT train LEARNER FILE` or `… check FORMAT=LEARNER … FILE`.
# LEARNER is the dotted path of a Learner.


# Limits for opening an uploaded file: address space in bytes, processor time in seconds.
MOST_MEMORY: Final = 4 << 30
MOST_SECONDS: Final = 25

Say = Callable[[dict[str, Any]], None]


def main(parent: int, act: str, learners: Sequence[str], path: Path) -> None:
    """Run the action `act` and write lines of JSON to the parent process; the last line is the result."""
    if not end_with(parent):
        return
    say = _open_output()
    try:
        say(_learned(learners[0], path, say) if act == "train" else _checked(learners, path))
    except BackendError as error:
        say({"error": str(error), "permanent": error.permanent})


def _learner(dotted: str) -> Learner:
    module, _, name = dotted.rpartition(".")
    try:
        found: Learner = getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise not_installed(error) from None
    return found


def _open_output() -> Say:
    """Keep the pipe to the parent for messages; send what libraries print to stderr, which is discarded."""
    pipe = os.dup(1)
    os.dup2(2, 1)

    def say(value: dict[str, Any]) -> None:
        os.write(pipe, json.dumps(value).encode() + b"\n")

    return say


def _learned(dotted: str, path: Path, say: Say) -> dict[str, Any]:
    stops: list[int] = []
    signal.signal(signal.SIGUSR1, lambda signum, frame: stops.append(signum))
    learner = _learner(dotted)
    received = map(json.loads, sys.stdin.buffer)
    options = next(received)
    checkpoint = options.pop("checkpoint", None)
    notes = list(_until_null(received))
    unlabeled = SpooledTexts(_until_null(received), Path(checkpoint).parent if checkpoint else None)
    held_out = list(_until_null(received))
    self_labeled = [SelfLabeled(*_note(note), [tuple(each) for each in sure]) for *note, sure in _until_null(received)]

    sent: list[Step] = []

    def report(step: Step) -> None:
        """Send a step. Step 0 is from before the training; it is sent once, however often it is reported."""
        if step.iteration or not sent:
            sent.append(step)
            say(asdict(step))

    task = TrainingTask(
        notes=list(map(_note, notes)),
        unlabeled=unlabeled,
        held_out=list(map(_note, held_out)),
        self_labeled=self_labeled,
        checkpoint=Path(checkpoint) if checkpoint else None,
        report=report,
        should_stop=lambda: bool(stops),
        **options,
    )
    sha256 = learner.learn(task, path)
    if task.refit:
        sha256 = mark_refit(path, task.refit)
    device = learner.device() if learner.device else None
    found = {"sha256": sha256, "iterations": card_of(path)["iterations"]}
    return found | ({"device": device.description, "memory": device.memory()} if device else {})


class SpooledTexts:
    """Texts that can be read several times, and may be too many for the memory.

    They are in a file without a name in `folder` (the system's folder for temporary files if None). Nobody else can
    open it, and it vanishes with this process.
    """

    def __init__(self, texts: Iterable[str], folder: Path | None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - open as long as this object exists
        for text in texts:
            self._file.write(json.dumps(text).encode() + b"\n")

    def __iter__(self) -> Iterator[str]:
        """Only one iteration at a time."""
        self._file.seek(0)
        return map(json.loads, self._file)


def _note(value: Any) -> tuple[str, list[Span]]:
    text, spans = value
    return text, [Span(*span) for span in spans]


def _until_null(received: Iterator[Any]) -> Iterator[Any]:
    """The values up to the null that ends them. Without a null, the parent died: exit."""
    for value in received:
        if value is None:
            return
        yield value
    raise SystemExit(1)


def _checked(learners: Sequence[str], path: Path) -> dict[str, Any]:
    """The file's card as read by its learner, with the file's format."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    known = dict(word.split("=") for word in learners)
    found = format_of(path)
    if found not in known:
        raise BackendError("This file has no supported model format. Supported formats: {known}.", ", ".join(known))
    outline = _learner(known[found]).check(path) | {"format": found}
    refit = card_of(path).get(REFIT)
    return outline | ({REFIT: refit} if type(refit) is int and 0 < refit < MOST else {})


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:-1], Path(sys.argv[-1]))
