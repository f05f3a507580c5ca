"""`python -m annotations.formats.documents.child PARENT LIMITS`: the child process that `extracting` starts.

It has no network, limited memory, and gets each document as an open file. Standard input is a socket on which requests
arrive with these files; standard output gets a line of JSON for each note, and for each page that OCR has read.
"""

import ctypes
import json
import os
import resource
import socket
import sys
from base64 import b64encode
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, Final

from annotations.formats.documents import programs
from annotations.formats.documents.base import Budget, DocumentSource, Limits, Result
from annotations.formats.documents.reading import MEMORY, read_document
from annotations.formats.documents.texts import CleaningRule
from annotations.formats.notes import NoteError
from annotations.parents import end_with

LONGEST_REQUEST: Final = 64 * 1024
# After so many documents the parent starts another child: libraries keep memory.
MOST_DOCUMENTS: Final = 500

Say = Callable[[dict[str, Any]], None]


def main(parent: int, limits: Limits) -> None:
    """Answer requests until the parent closes the socket."""
    if not end_with(parent):
        return
    say = _open_output()
    requests = socket.socket(fileno=os.dup(0))
    cut = cut_network()
    limit(limits.memory)
    guard({*filter(None, [programs.office_program()]), *programs.ocr_programs()} if cut else ())
    say({"namespace": cut})
    for number in range(1, MOST_DOCUMENTS + 1):
        data, files, _flags, _address = socket.recv_fds(requests, LONGEST_REQUEST, 1)
        if not data:
            return
        exhausted = _answer(json.loads(data), files[0], limits, cut, say)
        say({"end": True, "last": exhausted or number == MOST_DOCUMENTS})


def _answer(request: dict[str, Any], descriptor: int, limits: Limits, cut: bool, say: Say) -> bool:
    """Read one document. True if it took all memory, so that this process should not go on."""
    exhausted = False
    with os.fdopen(descriptor, "rb") as file:
        if "page" in request:
            say(_picture(request, file, limits, cut))
            return False
        rules = [CleaningRule(name) for name in request["rules"]]
        for each in read_document(
            request["name"], file, limits=limits, encoding=request["encoding"], rules=rules, programs=cut,
            language=request["language"], alive=lambda: say({"alive": True}),
        ):  # fmt: skip
            say(_message(each))
            exhausted = exhausted or (isinstance(each, NoteError) and each.problems[0].code == MEMORY)
    return exhausted


def _picture(request: dict[str, Any], file: BinaryIO, limits: Limits, cut: bool) -> dict[str, Any]:
    """A page of a PDF as PNG in base64, or why it can't be drawn."""
    source = DocumentSource(request["name"], file, limits, None, lambda _: iter(()), Budget(0), programs=cut)
    try:
        return {"picture": b64encode(programs.picture_of(source, request["page"])).decode()}
    except NoteError as error:
        return _message(error)


def _message(result: Result) -> dict[str, Any]:
    if isinstance(result, NoteError):
        return {"problems": [asdict(each) for each in result.problems]}
    return {"note": asdict(result)}


def _open_output() -> Say:
    """Keep the pipe to the parent for messages; what libraries print goes to stderr, which is discarded."""
    pipe = open(os.dup(1), "wb")  # noqa: PTH123, SIM115 - a descriptor, open as long as the process
    os.dup2(2, 1)

    def say(value: dict[str, Any]) -> None:
        pipe.write(json.dumps(value, ensure_ascii=False).encode() + b"\n")
        pipe.flush()

    return say


# What the child process may do: no network, limited memory, no other programs but LibreOffice and OCR.
#
# The network is cut off by a namespace of its own (Linux; `CLONE_NEWNET`), which holds for every program and library.
# Where the kernel or a container forbids that, an audit hook of Python refuses sockets: this holds for all Python code,
# but not for C libraries that open sockets themselves (none that reads documents here does), and neither
# LibreOffice nor OCR is started.

_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWNET: Final = 0x40000000
# A file that the child writes: LibreOffice's, in the scratch folder.
_LONGEST_FILE: Final = 1 << 30
_MOST_FILES: Final = 256

_FORBIDDEN_NAMES: Final = (
    "socket. os.system os.exec os.fork os.posix_spawn os.spawn pty.spawn ftplib. http. smtplib. urllib."
)
_FORBIDDEN: Final = tuple(_FORBIDDEN_NAMES.split())


def cut_network() -> bool:
    """Move this process, which must have one thread, to a namespace without network. False where that is forbidden."""
    user, group = os.getuid(), os.getgid()
    try:
        unshare = ctypes.CDLL(None).unshare
    except AttributeError:  # not Linux
        return False
    if unshare(_CLONE_NEWNET) == 0:
        return True
    if unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return False
    # In a new user namespace, this user and group keep their numbers.
    with suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return True


def limit(memory: int) -> None:
    """Limit the address space of this process (bytes), its files, and write no memory to disk when it crashes."""
    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, _LONGEST_FILE),
        (resource.RLIMIT_NOFILE, _MOST_FILES),
    ):
        _soft, hard = resource.getrlimit(kind)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, least))


def guard(programs: Collection[str]) -> None:
    """Refuse sockets and all programs but those at these paths, for the rest of this process."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(_FORBIDDEN) or (event == "subprocess.Popen" and arguments[0] not in programs):
            raise PermissionError(f"{event} is not allowed while documents are read.")

    sys.addaudithook(hook)


if __name__ == "__main__":
    main(int(sys.argv[1]), Limits(**json.loads(sys.argv[2])))
