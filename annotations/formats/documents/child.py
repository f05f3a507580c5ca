"""`python -m annotations.formats.documents.child PARENT LIMITS`: the child process that `extracting` starts.

It has no network, limited memory, and gets each document as an open file. Standard input is a socket on which requests
arrive with these files; standard output gets a line of JSON for each note, and for each page that OCR has read.
"""

import json
import os
import socket
import sys
from base64 import b64encode
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, BinaryIO, Final

from annotations.formats.documents import isolation, ocr, office
from annotations.formats.documents.base import Budget, DocumentSource, Extracted, Limits, Result
from annotations.formats.documents.cleaning import CleaningRule
from annotations.formats.documents.reading import MEMORY, read_document
from annotations.formats.notes import NoteError

LONGEST_REQUEST: Final = 64 * 1024
# After so many documents the parent starts another child: libraries keep memory.
MOST_DOCUMENTS: Final = 500

Say = Callable[[dict[str, Any]], None]


def main(parent: int, limits: Limits) -> None:
    """Answer requests until the parent closes the socket."""
    if not isolation.die_with(parent):
        return
    say = _open_output()
    requests = socket.socket(fileno=os.dup(0))
    cut = isolation.cut_network()
    isolation.limit(limits.memory)
    isolation.guard({*filter(None, [office.program()]), *ocr.programs()} if cut else ())
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
            exhausted = exhausted or (not isinstance(each, Extracted) and each.problems[0].code == MEMORY)
    return exhausted


def _picture(request: dict[str, Any], file: BinaryIO, limits: Limits, cut: bool) -> dict[str, Any]:
    """A page of a PDF as PNG in base64, or why it can't be drawn."""
    source = DocumentSource(request["name"], file, limits, None, lambda _: iter(()), Budget(0), programs=cut)
    try:
        return {"picture": b64encode(ocr.picture_of(source, request["page"])).decode()}
    except NoteError as error:
        return _message(error)


def _message(result: Result) -> dict[str, Any]:
    if isinstance(result, Extracted):
        parts = [[part.start, part.end, part.kind, part.number] for part in result.parts]
        return {"note": {name: getattr(result, name) for name in Extracted.__slots__} | {"parts": parts}}
    return {"problems": [asdict(each) for each in result.problems]}


def _open_output() -> Say:
    """Keep the pipe to the parent for messages; what libraries print goes to stderr, which is discarded."""
    pipe = open(os.dup(1), "wb")  # noqa: PTH123, SIM115 - a descriptor, open as long as the process
    os.dup2(2, 1)

    def say(value: dict[str, Any]) -> None:
        pipe.write(json.dumps(value, ensure_ascii=False).encode() + b"\n")
        pipe.flush()

    return say


if __name__ == "__main__":
    main(int(sys.argv[1]), Limits(**json.loads(sys.argv[2])))
