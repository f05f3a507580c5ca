"""Several people who label at once, in one process that does next to nothing while they do.

Clients and product share the cores, so a client's own work would be counted as the product's. What each will send is
made before; while the clock runs there is only sending, waiting and keeping the answers, which are read afterwards.
"""

import json
import re
import selectors
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.bench.client import Browser
from tests.bench.people import PASSWORD, reading

WORD = re.compile(r"\w+")
Sent = tuple[bytes, dict[str, Any]]
"""A request, and the change in it."""


def changes(page: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every word of a note that is no span yet, one change after the other: nobody else changes this reading."""
    text, labels, version = page["text"], page["labels"], page["version"]
    there = {(span["start"], span["end"]) for span in page["spans"]}
    for number, word in enumerate(WORD.finditer(text)):
        if word.span() not in there:
            yield {
                "change_id": str(uuid4()),
                "kind": "create",
                "version": version,
                "start": word.start(),
                "end": word.end(),
                "label": labels[number % len(labels)]["id"],
                # Characters of the basic plane only would let UTF-16 units pass for code points; Python counts these.
                "quote": word[0],
                "person": page["person"],
            }
            version += 1


def checked(answer: dict[str, Any], change: dict[str, Any]) -> int:
    """The reading's new version. Raises RuntimeError where the span was not made exactly as asked."""
    span = answer["span"]
    if [span[key] for key in ("start", "end", "label")] != [change[key] for key in ("start", "end", "label")]:
        raise RuntimeError("another span was made than was asked for")
    if answer.get("already") or answer["version"] != change["version"] + 1:
        raise RuntimeError("the span was there already, or the reading changed meanwhile")
    return int(answer["version"])


@dataclass
class Writer:
    """One person with one connection, and what they will send."""

    socket: socket.socket
    requests: Iterator[Sent]
    answers: list[tuple[bytes, dict[str, Any]]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    change: dict[str, Any] = field(default_factory=dict)
    began: float = 0.0
    got: bytes = b""

    @classmethod
    def signed_in(cls, port: int, name: str, notes: list[str], spans: int) -> "Writer":
        """With at least `spans` requests made, if the notes have as many words."""
        browser = Browser(port)
        browser.sign_in(name, PASSWORD)
        requests: list[Sent] = []
        for url in notes:
            if len(requests) >= spans:
                break
            page = reading(browser.get(url))
            requests += [(browser.request_json(page["urls"]["changes"], each), each) for each in changes(page)]
        return cls(browser.connection, iter(requests))

    def send(self) -> None:
        request, self.change = next(self.requests)
        self.began = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> bool:
        """Whether the answer is there, whole. Milliseconds go to `times`."""
        self.got += self.socket.recv(65536)
        head, found, body = self.got.partition(b"\r\n\r\n")
        if not found or len(body) < _length(head):
            return False
        self.times.append((time.perf_counter() - self.began) * 1000)
        self.answers.append((self.got, self.change))
        self.got = b""
        return True

    def check(self) -> None:
        for answer, change in self.answers:
            head, _, body = answer.partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200 "):
                raise RuntimeError(f"a change was answered {head[9:12].decode()}")
            checked(json.loads(body), change)


def _length(head: bytes) -> int:
    at = head.lower().find(b"\r\ncontent-length:")
    if at < 0:
        raise RuntimeError("the answer does not say how long it is")
    return int(head[at + 17 :].split(b"\r\n", 1)[0])


def label_together(writers: list[Writer], seconds: float) -> float:
    """All send one change after another for so long; returns the spans a second, each acknowledged and then checked."""
    waiting = selectors.DefaultSelector()
    for writer in writers:
        waiting.register(writer.socket, selectors.EVENT_READ, writer)
    before = sum(len(writer.times) for writer in writers)
    began = time.perf_counter()
    for writer in writers:
        writer.send()
    busy = len(writers)
    while busy:
        for key, _ in waiting.select():
            writer = key.data
            if writer.receive():
                if time.perf_counter() - began < seconds:
                    writer.send()
                else:
                    busy -= 1
    took = time.perf_counter() - began
    waiting.close()
    for writer in writers:
        writer.check()
    return (sum(len(writer.times) for writer in writers) - before) / took
