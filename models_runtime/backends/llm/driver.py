"""Run several conversations with models at a time. Each one is a generator that yields questions and gets answers.

Only the requests run in other threads, so that a conversation can use the database connection of the caller's thread.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.asking import Answer, Completion, Meter, Question

# Interval of calls of `check` and, for a full server, of `Capacity.take` (seconds).
TICK = 1.0

K = TypeVar("K")
T = TypeVar("T")
Conversation = Generator[Question, Answer, T]


class Capacity(Protocol):
    """The capacity of a server that several workers share."""

    def take(self, asking: int) -> int:
        """The allowed number of simultaneous questions. `asking`: their present number. Called before each question."""

    def leave(self) -> None:
        """Release the capacity: there are no more questions."""


@dataclass
class ServerQueue(Generic[K, T]):
    """Conversations with one server, started in order: each with a name and the Completion that answers it.

    At most `at_once` questions are asked at a time, within `capacity` if other workers use the server too.
    """

    conversations: Iterator[tuple[K, Completion, Conversation[T]]]
    at_once: int
    capacity: Capacity | None
    asking: int = field(default=0, init=False)
    ended: bool = field(default=False, init=False)
    # Started conversations with a question that was not asked yet.
    waiting: deque[tuple[K, Completion, Conversation[T], Question]] = field(default_factory=deque, init=False)

    @property
    def may_ask(self) -> bool:
        if self.ended and not self.waiting:
            return False
        most = self.capacity.take(self.asking) if self.capacity else self.at_once
        return self.asking < min(self.at_once, most)


Check = Callable[[], None]
"""Called about every TICK. After an exception, open questions are still answered; then the exception is passed on."""

Results = Generator[tuple[K, T | BackendError], None, None]
"""The name of each conversation, with its result or the error that ended it."""


def no_check() -> None:
    """The check for callers that can't be stopped."""


def converse(queues: Sequence[ServerQueue[K, T]], check: Check = no_check) -> Results[K, T]:
    """Run conversations; yields their results as they end.

    Close the generator if it is not used up (contextlib.closing), so that no more questions are asked.
    """
    return _Driver(queues, check).results()


def run_all(
    conversations: Iterable[Conversation[T]],
    completion: Completion,
    check: Check = no_check,
    capacity: Capacity | None = None,
) -> list[T | BackendError]:
    """The result of each conversation with one model, in order, or the error that ended it.

    Raises a permanent BackendError as soon as one occurs.
    """
    found: dict[int, T | BackendError] = {}
    numbered = ((at, completion, conversation) for at, conversation in enumerate(conversations))
    queue: ServerQueue[int, T] = ServerQueue(numbered, completion.at_once, capacity)
    with closing(_Driver([queue], check).results()) as results:
        for at, result in results:
            if isinstance(result, BackendError) and result.permanent:
                raise result
            found[at] = result
    return [found[at] for at in range(len(found))]


class _Driver(Generic[K, T]):
    def __init__(self, queues: Sequence[ServerQueue[K, T]], check: Check) -> None:
        self._queues = queues
        self._check = check
        self._checked = time.monotonic()
        self._open: dict[Future[Answer], tuple[ServerQueue[K, T], K, Completion, Conversation[T]]] = {}
        self._ended: list[tuple[K, T | BackendError]] = []

    def results(self) -> Results[K, T]:
        threads = max(1, sum(queue.at_once for queue in self._queues))
        try:
            with ThreadPoolExecutor(threads, thread_name_prefix="llm") as pool:
                try:
                    yield from self._rounds(pool)
                except BaseException:
                    for _, _, completion, _ in self._open.values():
                        completion.stop()
                    self._wait_for_answers()
                    raise
        finally:
            for queue in self._queues:
                if queue.capacity:
                    queue.capacity.leave()

    def _wait_for_answers(self) -> None:
        """Wait for open questions, which cost money in any case, so that conversations can cache the answers.

        An error of one conversation, such as a lost lease, is raised after all others got their answers.
        """
        with ExitStack() as closing_all:
            for future in wait(self._open).done:
                conversation = self._open.pop(future)[-1]
                closing_all.callback(self._close_with_answer, conversation, future)

    @staticmethod
    def _close_with_answer(conversation: Conversation[T], future: "Future[Answer]") -> None:
        with closing(conversation), suppress(BackendError, StopIteration):
            conversation.send(future.result())

    def _rounds(self, pool: ThreadPoolExecutor) -> Results[K, T]:
        while True:
            for queue in self._queues:
                self._ask(pool, queue)
            ended, self._ended = self._ended, []
            for one in ended:
                # The caller may work on a result for a while, so conversations first get the answers that are here.
                self._hand_over()
                yield one
            if not ended:
                if not self._open and all(queue.ended and not queue.waiting for queue in self._queues):
                    return
                self._listen()
            if time.monotonic() - self._checked >= TICK:
                self._check()
                self._checked = time.monotonic()

    def _ask(self, pool: ThreadPoolExecutor, queue: ServerQueue[K, T]) -> None:
        """Ask as many questions as allowed, started conversations first. Stop when a conversation has ended."""
        while not self._ended and queue.may_ask:
            if queue.waiting:
                name, completion, conversation, question = queue.waiting.popleft()
                queue.asking += 1
                self._open[pool.submit(completion.complete, question)] = queue, name, completion, conversation
            elif (following := next(queue.conversations, None)) is not None:
                self._hand_over()
                self._advance(queue, *following, None)
            else:
                queue.ended = True

    def _listen(self) -> None:
        """Wait for answers, at most one TICK."""
        if not self._open:  # the server has no free capacity
            time.sleep(TICK)
        wait(self._open, timeout=TICK, return_when=FIRST_COMPLETED)
        self._hand_over()

    def _hand_over(self) -> None:
        """Continue all conversations whose answer is here."""
        for future in [future for future in self._open if future.done()]:
            queue, name, completion, conversation = self._open.pop(future)
            queue.asking -= 1
            self._advance(queue, name, completion, conversation, future)

    def _advance(
        self,
        queue: ServerQueue[K, T],
        name: K,
        completion: Completion,
        conversation: Conversation[T],
        future: "Future[Answer] | None",
    ) -> None:
        try:
            question = next(conversation) if future is None else conversation.send(future.result())
        except StopIteration as ended:
            self._ended.append((name, ended.value))
        except BackendError as error:
            conversation.close()
            self._ended.append((name, error))
        else:
            queue.waiting.append((name, completion, conversation, question))


# Cache of answers under a hash of the question, so that no answer is paid for twice.


F = TypeVar("F")


class FoundSpan(NamedTuple):
    """A span of an answer: start and end (code points in the piece of the question), and label or placeholder.

    `places` is the number of places that the answer may mean, if it doesn't say which one or says what contradicts the
    note, and otherwise 0.
    """

    start: int
    end: int
    label: str
    places: int = 0


Found = list[FoundSpan]


class AnswerCache(Protocol[F]):
    """Parsed answers under hashes: offsets with labels, verdicts, and rewritten texts."""

    def find(self, key: str) -> F | None: ...

    def keep(self, key: str, text: str, found: F) -> None:
        """Store an answer. `text`: the text of the whole note, so that the answer is deleted with the note.

        An implementation that also stores the meter's counts writes both in one transaction.
        """


class NoCache(AnswerCache[F]):
    """Stores nothing."""

    def find(self, key: str) -> F | None:
        return None

    def keep(self, key: str, text: str, found: F) -> None:
        return


def cached_or_asked(
    answers: AnswerCache[F], key: str, text: str, question: Question, read: Callable[[Answer], F], meter: Meter
) -> Conversation[F]:
    """The cached answer to a question about the note `text`; otherwise ask, parse with `read`, and cache it.

    The counts are always recorded: together with the answer, or at once if there is no usable answer.
    """
    found = answers.find(key)
    meter.add(kept=int(found is not None))
    if found is None:
        try:
            found = read((yield question))
        except BaseException:  # The answer was unreadable, or the conversation was closed.
            meter.record()
            raise
        answers.keep(key, text, found)
    return found
