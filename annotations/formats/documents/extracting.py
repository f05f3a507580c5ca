"""The entrance: documents are read in a child process without network, and with limits on time, memory and output.

    with Extractor() as extractor:
        for result in extractor.results("report.pdf", data):
            ...  # an Extracted, or a NoteError that says what can't be read, where, and what to do

`extract` reads a document that holds one note. One Extractor reads many documents and starts a new child when one is
lost; two threads need two.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from base64 import b64decode
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import IO, Any, Final, Self

from annotations.formats.documents.base import TIME, Extracted, Limits, NotePart, PartKind, Result, refused
from annotations.formats.documents.cleaning import ALL_RULES, CleaningRule
from annotations.formats.notes import NoteError, Problem
from annotations.installation import CODE

CHILD: Final = "annotations.formats.documents.child"
# The child's interpreter must have started by then (seconds).
START_SECONDS: Final = 60
_CHUNK: Final = 1 << 20


def extract(
    name: str,
    data: bytes | IO[bytes],
    *,
    encoding: str | None = None,
    rules: Collection[CleaningRule] = ALL_RULES,
    limits: Limits | None = None,
) -> Extracted:
    """The text of a document with one note. Raises NoteError if it can't be read, or holds several notes.

    For the arguments see `Extractor.results`.
    """
    with Extractor(limits or Limits()) as extractor:
        results = list(extractor.results(name, data, encoding=encoding, rules=rules))
    problems = [problem for each in results if isinstance(each, NoteError) for problem in each.problems]
    if problems:
        raise NoteError(problems)
    notes = [each for each in results if isinstance(each, Extracted)]
    if len(notes) != 1:
        message = f"The file holds {len(notes)} notes, not one. Import it as a file of many notes."
        raise refused(name, "many notes", message)
    return notes[0]


class Extractor:
    """Reads documents one after another in a child process, which is started for the first one."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._child: _Child | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def results(
        self, name: str, data: bytes | IO[bytes], *, encoding: str | None = None,
        rules: Collection[CleaningRule] = ALL_RULES,
        language: str = "",
    ) -> Iterator[Result]:  # fmt: skip
        """The notes of a document, and a NoteError for each one that can't be read, as they are found.

        `name` is its relative path with ending; notes are named by it without the ending, notes in archives and tables
        by their own path or id. `data` is the content, or a file on disk open for reading in binary mode, if it is
        too large for the memory. `encoding` is what a person chose for text; None detects it.
        `language` is the code of the language in which OCR reads.
        """
        with _on_disk(data) as file:
            finished = False
            try:
                child = self._running()
                child.ask(file, {"name": name, "encoding": encoding, "rules": sorted(rules), "language": language})
                while True:
                    message = child.message(self._limits.seconds)
                    if "alive" in message:
                        continue
                    if "end" in message:
                        finished = not message["last"]
                        return
                    yield _result(message)
            except TimeoutError:
                reason = f"Reading takes more than {self._limits.seconds:g} s for one note or page. Split the document."
                yield refused(name, TIME, reason)
            except _TooLong:
                yield refused(name, "too long", "The document gives more text than can be kept. Split it.")
            except (_Lost, ValueError, KeyError, TypeError):
                ending = self._child.ending() if self._child else "it did not start"
                reason = (
                    f"The program that reads documents broke off ({ending}). The document may be made to harm, or take "
                    "too much memory. Save it again, or as .txt."
                )
                yield refused(name, "crash", reason)
            finally:
                # Also if the caller stops before the end: the child would go on with this document.
                if not finished:
                    self._stop()

    def picture(self, name: str, data: bytes | IO[bytes], page: int) -> bytes:
        """A page (from 1) of a PDF as PNG. Raises NoteError if it can't be drawn."""
        with _on_disk(data) as file:
            try:
                child = self._running()
                child.ask(file, {"name": name, "page": page})
                message = child.message(self._limits.seconds)
                child.message(self._limits.seconds)  # the end
            except (TimeoutError, _TooLong, _Lost):
                self._stop()
                raise refused(name, TIME, "Drawing the page takes too long, or too much memory.") from None
        if "picture" not in message:
            raise NoteError([Problem(**each) for each in message["problems"]])
        return b64decode(message["picture"])

    def network_is_cut(self) -> bool:
        """Whether the child has a namespace without network. If not, only its Python code is kept from the network."""
        return self._running().namespace

    def _running(self) -> "_Child":
        if self._child is None:
            self._child = _Child(self._limits)
        return self._child

    def _stop(self) -> None:
        if self._child is not None:
            self._child.stop()
            self._child = None


class _Lost(Exception):
    """The child has ended before it should."""


class _TooLong(Exception):
    """The child sends more for one note than the limits allow."""


class _Child:
    """The child process, the socket for requests and the pipe with its answers."""

    def __init__(self, limits: Limits) -> None:
        # Of a note: its text, in which a character has at most 6 bytes, and its parts.
        self._longest = 8 * limits.characters + (16 << 20)
        self._received = bytearray()
        self._scratch = tempfile.TemporaryDirectory(prefix="deidreview-documents-")
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # The environment holds secrets and is not passed on.
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", CHILD, str(os.getpid()), json.dumps(asdict(limits))],
                cwd=CODE,
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "TMPDIR": self._scratch.name},
                stdin=theirs.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        try:
            self.namespace = bool(self.message(START_SECONDS)["namespace"])
        except (_Lost, TimeoutError):
            self.stop()
            raise _Lost from None

    def ask(self, file: IO[bytes], request: dict[str, Any]) -> None:
        """Send a request with the open file of its document. Raises _Lost if the child has ended."""
        try:
            socket.send_fds(self._socket, [json.dumps(request).encode()], [file.fileno()])
        except OSError:
            raise _Lost from None

    def message(self, seconds: float) -> dict[str, Any]:
        """The next message. Raises TimeoutError if it takes longer than this, _Lost if the child ends, or _TooLong."""
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        deadline = time.monotonic() + seconds
        looked = 0
        while (end := self._received.find(b"\n", looked)) < 0:
            looked = len(self._received)
            if looked > self._longest:
                raise _TooLong
            if not select.select([pipe], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError
            data = os.read(pipe, _CHUNK)
            if not data:
                raise _Lost
            self._received += data
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        found = json.loads(line)
        if not isinstance(found, dict):
            raise _Lost
        return found

    def ending(self) -> str:
        """How the child ended, for a message."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.poll()
        if code is None:
            return "it sent no answer"
        return signal.Signals(-code).name if code < 0 else f"status {code}"

    def stop(self) -> None:
        """End the child, and the program that it runs, if any, and delete what they wrote."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._socket.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._scratch.cleanup()


@contextmanager
def _on_disk(data: bytes | IO[bytes]) -> Iterator[IO[bytes]]:
    """The content as a file that another process can read: bytes go to a temporary file without a name."""
    if not isinstance(data, bytes):
        yield data
        return
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file


def _result(message: dict[str, Any]) -> Result:
    if "problems" in message:
        return NoteError([Problem(**each) for each in message["problems"]])
    fields = message["note"]
    parts = tuple(NotePart(start, end, PartKind(kind), number) for start, end, kind, number in fields["parts"])
    return Extracted(**fields | {"parts": parts, "warnings": tuple(fields["warnings"])})
