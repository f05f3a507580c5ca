"""Conversations with models, several at a time: each is a generator that yields questions and is sent the answers.

Everything but the asking happens in the caller's thread, so that a conversation may use the caller's database.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.asking import Answer, Completion, Question

# While there is nothing new the caller is asked this often whether to go on, and a full server for room (seconds).
TICK = 1.0

K = TypeVar("K")
T = TypeVar("T")
Talk = Generator[Question, Answer, T]


class Room(Protocol):
    """What a server has free, where others ask it too."""

    def take(self, asking: int) -> int:
        """How many may ask at a time, now that so many do. Called before each question, and by the tick."""

    def leave(self) -> None:
        """Nothing is being asked any more."""


class AllOfIt:
    """Nobody else is there."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once

    def take(self, asking: int) -> int:
        return self._at_once

    def leave(self) -> None:
        pass


@dataclass
class Line(Generic[K, T]):
    """Conversations that wait for one server, begun in their order: each under a name, with who answers it.

    At most `at_once` of them ask at a time, and no more than there is room for.
    """

    talks: Iterator[tuple[K, Completion, Talk[T]]]
    at_once: int
    room: Room
    asking: int = field(default=0, init=False)
    ended: bool = field(default=False, init=False)
    # Begun, with a question that is not asked yet.
    waiting: deque[tuple[K, Completion, Talk[T], Question]] = field(default_factory=deque, init=False)

    @property
    def may_ask(self) -> bool:
        return not (self.ended and not self.waiting) and self.asking < min(self.at_once, self.room.take(self.asking))


Check = Callable[[], None]
"""Called every TICK or so. What it raises ends the conversations once what is being asked is answered; it comes out."""

Results = Generator[tuple[K, T | BackendError], None, None]
"""Each conversation's name, with what it returned or the error that ended it."""


def go_on() -> None:
    """For callers that nobody stops."""


def converse(lines: Sequence[Line[K, T]], check: Check = go_on) -> Results[K, T]:
    """What the conversations come to, as they end.

    Close it when it is left early (contextlib.closing): nothing new is asked then, and nothing again.
    """
    return _Table(lines, check).results()


def hold(
    talks: Iterable[Talk[T]], completion: Completion, check: Check = go_on, room: Room | None = None
) -> list[T | BackendError]:
    """What each conversation with one model returned, in order, or the error that ended it.

    Raises BackendError (permanent) as soon as one says that no question would fare better.
    """
    found: dict[int, T | BackendError] = {}
    numbered = ((at, completion, talk) for at, talk in enumerate(talks))
    line: Line[int, T] = Line(numbered, completion.at_once, room or AllOfIt(completion.at_once))
    with closing(_Table([line], check).results()) as results:
        for at, result in results:
            if isinstance(result, BackendError) and result.permanent:
                raise result
            found[at] = result
    return [found[at] for at in range(len(found))]


class _Table(Generic[K, T]):
    def __init__(self, lines: Sequence[Line[K, T]], check: Check) -> None:
        self._lines = lines
        self._check = check
        self._checked = time.monotonic()
        self._open: dict[Future[Answer], tuple[Line[K, T], K, Completion, Talk[T]]] = {}
        self._over: list[tuple[K, T | BackendError]] = []

    def results(self) -> Results[K, T]:
        threads = max(1, sum(line.at_once for line in self._lines))
        try:
            with ThreadPoolExecutor(threads, thread_name_prefix="llm") as pool:
                try:
                    yield from self._turns(pool)
                except BaseException:
                    for _, _, completion, _ in self._open.values():
                        completion.stop()
                    self._hear_out()
                    raise
        finally:
            for line in self._lines:
                line.room.leave()

    def _hear_out(self) -> None:
        """What is under way is paid for: its conversation hears the answer, and keeps it where answers are kept."""
        for future in wait(self._open).done:
            talk = self._open.pop(future)[-1]
            with suppress(BackendError, StopIteration):
                talk.send(future.result())
            talk.close()

    def _turns(self, pool: ThreadPoolExecutor) -> Results[K, T]:
        while True:
            for line in self._lines:
                self._ask(pool, line)
            over, self._over = self._over, []
            yield from over
            if not over:
                if not self._open and all(line.ended and not line.waiting for line in self._lines):
                    return
                self._listen()
            if time.monotonic() - self._checked >= TICK:
                self._check()
                self._checked = time.monotonic()

    def _ask(self, pool: ThreadPoolExecutor, line: Line[K, T]) -> None:
        """What may be asked, what was begun first; until a conversation is over, which is told at once."""
        while not self._over and line.may_ask:
            if line.waiting:
                name, completion, talk, question = line.waiting.popleft()
                line.asking += 1
                self._open[pool.submit(completion.complete, question)] = line, name, completion, talk
            elif (following := next(line.talks, None)) is not None:
                self._go_on(line, *following, None)
            else:
                line.ended = True

    def _listen(self) -> None:
        """Wait for answers, a tick at most."""
        if not self._open:  # there is no room
            time.sleep(TICK)
        for future in wait(self._open, timeout=TICK, return_when=FIRST_COMPLETED).done:
            line, name, completion, talk = self._open.pop(future)
            line.asking -= 1
            self._go_on(line, name, completion, talk, future)

    def _go_on(
        self, line: Line[K, T], name: K, completion: Completion, talk: Talk[T], future: "Future[Answer] | None"
    ) -> None:
        try:
            question = next(talk) if future is None else talk.send(future.result())
        except StopIteration as ended:
            self._over.append((name, ended.value))
        except BackendError as error:
            talk.close()
            self._over.append((name, error))
        else:
            line.waiting.append((name, completion, talk, question))
