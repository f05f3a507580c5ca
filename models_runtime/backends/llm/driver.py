"""Conversations with a model, several at a time: each is a generator that yields questions and is sent the answers.

Everything but the asking happens in the caller's thread, so that a conversation may use the caller's database.
"""

from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Generic, TypeVar

from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.asking import Answer, Completion, Question

T = TypeVar("T")
Talk = Generator[Question, Answer, T]


def hold(talks: Iterable[Talk[T]], completion: Completion) -> list[T | BackendError]:
    """What each conversation returned, in order, or the error that ended it.

    Raises BackendError (permanent) as soon as one says that no question would fare better.
    """
    return _Table[T](iter(talks), completion).results()


class _Table(Generic[T]):
    def __init__(self, talks: Iterator[Talk[T]], completion: Completion) -> None:
        self._talks = enumerate(talks)
        self._completion = completion
        self._results: dict[int, T | BackendError] = {}
        self._open: dict[Future[Answer], tuple[int, Talk[T]]] = {}

    def results(self) -> list[T | BackendError]:
        with ThreadPoolExecutor(self._completion.at_once, thread_name_prefix="llm") as pool:
            try:
                self._fill(pool)
                while self._open:
                    done, _ = wait(self._open, return_when=FIRST_COMPLETED)
                    for future in done:
                        self._go_on(pool, *self._open.pop(future), future)
                    self._fill(pool)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [self._results[at] for at in range(len(self._results))]

    def _fill(self, pool: ThreadPoolExecutor) -> None:
        """Begin conversations while a thread is free."""
        while len(self._open) < self._completion.at_once:
            following = next(self._talks, None)
            if following is None:
                return
            self._go_on(pool, *following, None)

    def _go_on(self, pool: ThreadPoolExecutor, at: int, talk: Talk[T], future: "Future[Answer] | None") -> None:
        try:
            question = next(talk) if future is None else talk.send(future.result())
            self._open[pool.submit(self._completion.complete, question)] = at, talk
        except StopIteration as ended:
            self._results[at] = ended.value
        except BackendError as error:
            talk.close()
            if error.permanent:
                raise
            self._results[at] = error
