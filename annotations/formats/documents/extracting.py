"""The entrance: documents are read in a child process without network, and with limits on time, memory and output.

    with Extractor() as extractor:
        for result in extractor.results("report.pdf", data):
            ...  # a ParsedNote, or a NoteError that says what can't be read, where, and what to do

One Extractor reads many documents and starts a new child when one is
lost; two threads need two.
"""

import io
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
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from posixpath import splitext
from typing import IO, Any, Final, Self

from annotations.formats.base import HEAD, Files, InputFormat, NoteFiles, is_system_file
from annotations.formats.documents import base
from annotations.formats.documents.base import Limits, Result, refused
from annotations.formats.documents.hl7 import looks_like_hl7
from annotations.formats.documents.reading import ENDINGS, DocumentKind, has_note_columns
from annotations.formats.documents.texts import ALL_RULES, CleaningRule, is_utf8
from annotations.formats.notes import NoteError, NotePart, ParsedNote, Problem, check_name, outcome
from annotations.installation import CODE
from annotations.text.wording import gettext as _

CHILD: Final = "annotations.formats.documents.child"
# The child's interpreter must have started by then (seconds).
START_SECONDS: Final = 60
_CHUNK: Final = 1 << 20


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
                reason = _(
                    "Reading takes more than {seconds:g} s for one note or page. Split the document.",
                    self._limits.seconds,
                )
                yield refused(name, base.TIME, reason)
            except _TooLong:
                yield refused(name, "too long", _("The document has more text than can be stored. Split it."))
            except (_ChildLost, ValueError, KeyError, TypeError):
                ending = self._child.ending() if self._child else _("it did not start")
                reason = _(
                    "The program that reads documents stopped ({ending}). The document may be malicious, or "
                    "take too much memory. Save it again, or as .txt.",
                    ending,
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
            except (TimeoutError, _TooLong, _ChildLost):
                self._stop()
                raise refused(name, base.TIME, _("Drawing the page takes too long, or too much memory.")) from None
        if "picture" not in message:
            raise NoteError([Problem(**each) for each in message["problems"]])
        return b64decode(message["picture"])

    def _running(self) -> "_Child":
        if self._child is None:
            self._child = _Child(self._limits)
        return self._child

    def _stop(self) -> None:
        if self._child is not None:
            self._child.stop()
            self._child = None


class _ChildLost(Exception):
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
        except (_ChildLost, TimeoutError):
            self.stop()
            raise _ChildLost from None

    def ask(self, file: IO[bytes], request: dict[str, Any]) -> None:
        """Send a request with the open file of its document. Raises _Lost if the child has ended."""
        try:
            socket.send_fds(self._socket, [json.dumps(request).encode()], [file.fileno()])
        except OSError:
            raise _ChildLost from None

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
                raise _ChildLost
            self._received += data
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        found = json.loads(line)
        if not isinstance(found, dict):
            raise _ChildLost
        return found

    def ending(self) -> str:
        """How the child ended, for a message."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.poll()
        if code is None:
            return _("it sent no answer")
        return signal.Signals(-code).name if code < 0 else _("status {code}", code)

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
    parts = [NotePart(start, end, base.PartKind(kind), number) for start, end, kind, number in fields["parts"]]
    warnings = [Problem(**each) for each in fields["warnings"]]
    return ParsedNote(**fields | {"spans": None, "parts": parts, "warnings": warnings})


# Documents as a format of imports, which is only read: see `extracting`.


class DocumentsFormat(InputFormat):
    """Documents of any kind that `extracting` reads; each file is a group, and may hold many notes.

    `encoding` and `language` are as in `Extractor.results`. The format takes an `extractor` that the caller closes;
    without one it can group and claim files only.
    """

    name = base.DOCUMENTS

    def __init__(
        self, extractor: Extractor | None = None, *, encoding: str = "", rules: Collection[CleaningRule] = ALL_RULES,
        language: str = "",
    ) -> None:  # fmt: skip
        self._extractor = extractor
        self._encoding = encoding or None
        self._rules = rules
        self._language = language

    def claims(self, name: str, head: bytes) -> bool:
        """Text in UTF-8 is claimed only if it is HL7 by its name."""
        kind = ENDINGS.get(_ending(name))
        if kind is DocumentKind.TEXT:
            return not is_utf8(head, whole=len(head) < HEAD)
        if kind is DocumentKind.OMOP_CSV:
            return has_note_columns(head)
        if kind is DocumentKind.FHIR:
            return b'"resourceType"' in head
        if kind is None:
            return looks_like_hl7(head)
        return True

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """A document that differs from another one only in the ending keeps it in its name."""
        groups: list[NoteFiles] = []
        problems: list[Problem] = []
        taken: set[str] = set()
        for name in sorted(names):
            if name.endswith("/") or is_system_file(name):
                continue
            try:
                check_name(name)
            except NoteError as error:
                problems += error.problems
                continue
            note = name if base.stem(name) in taken else base.stem(name)
            taken.add(note)
            groups.append(NoteFiles(note, {"document": name}))
        return groups, problems

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        assert self._extractor is not None
        file = note.parts["document"]
        try:
            with files.open(file) as opened:
                # What is in memory has no descriptor that another process could read.
                data = opened.read() if isinstance(opened, io.BytesIO) else opened
                for each in self._extractor.results(
                    file, data, encoding=self._encoding, rules=self._rules, language=self._language
                ):
                    yield each if isinstance(each, NoteError) else outcome(_named, note, file, each)
        except NoteError as error:
            yield error

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        return iter(())


class MixedFormat(InputFormat):
    """Files of a format together with documents, which are read as such: also text that is not UTF-8."""

    def __init__(self, main: InputFormat, documents: DocumentsFormat) -> None:
        self.name = f"{main.name}{base.MIXED}"
        self._main = main
        self._documents = documents

    def claims(self, name: str, head: bytes) -> bool:
        return self._main.claims(name, head) or self._documents.claims(name, head)

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """A document that has the name of another note keeps its ending in its name."""
        groups, problems = self._main.group(names)
        strays = {each.file for each in problems if each.code == "unknown file" and _ending(each.file) in ENDINGS}
        taken = {group.name for group in groups}
        documents, others = self._documents.group(strays)
        groups += [NoteFiles(each.parts["document"], each.parts) if each.name in taken else each for each in documents]
        return groups, [each for each in problems if each.file not in strays] + others

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        if "document" in note.parts:
            yield from self._documents.read_many(note, files, labels)
            return
        for each in self._main.read_many(note, files, labels):
            if isinstance(each, NoteError) and each.problems[0].code == "utf8" and list(note.parts) == ["txt"]:
                yield from self._documents.read_many(
                    NoteFiles(note.name, {"document": note.parts["txt"]}), files, labels
                )
            else:
                yield each

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        return (self._documents if "document" in note.parts else self._main).used_labels(note, files)


def _ending(name: str) -> str:
    return splitext(name)[1][1:].lower()


def _named(note: NoteFiles, file: str, found: ParsedNote) -> ParsedNote:
    """The note with its document and its name in the import. Raises NoteError if it can't have this name."""
    found.file = file
    found.name = check_name(note.name if found.name == base.stem(file) else found.name)
    found.warnings = [replace(warning, file=found.name) for warning in found.warnings]
    return found
