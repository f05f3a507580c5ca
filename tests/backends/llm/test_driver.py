"""Conversations in parallel: no queue exceeds the limit or the capacity of its server."""

import threading
from typing import Any

from models_runtime.backends.llm.asking import Answer, Question
from models_runtime.backends.llm.driver import FixedCapacity, ServerQueue, converse
from tests.waiting import HANGS

QUESTION = Question("system", "user", 10)


class Counted:
    """Answers, and counts simultaneous questions. Until two have met, each question waits for another one."""

    at_once = 8

    def __init__(self, patience: float) -> None:
        self.most = self._now = 0
        self._patience = patience
        self._lock = threading.Condition()

    def complete(self, question: Question) -> Answer:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self._lock.notify_all()
            self._lock.wait_for(lambda: self.most > 1, self._patience)
        with self._lock:
            self._now -= 1
        return Answer("yes")

    def stop(self) -> None:
        pass


class CapacityOfOne:
    def take(self, asking: int) -> int:
        return 1

    def leave(self) -> None:
        pass


def conversation() -> Any:
    answer = yield QUESTION
    return answer.text


def queue(completion: Counted, at_once: int, capacity: Any = None) -> ServerQueue[int, str]:
    return ServerQueue(
        ((at, completion, conversation()) for at in range(4)), at_once, capacity or FixedCapacity(at_once)
    )


def test_each_queue_keeps_its_own_limit() -> None:
    """The queues share threads, but the first queue can't use those that the second one leaves free."""
    narrow, wide = Counted(0.1), Counted(HANGS)
    said = list(converse([queue(narrow, 1), queue(wide, 4)]))
    assert sorted(said) == sorted([(at, "yes") for at in range(4)] * 2)
    assert narrow.most == 1 < wide.most


def test_a_queue_keeps_the_capacity_of_its_server() -> None:
    shared = Counted(0.1)
    assert len(list(converse([queue(shared, 4, CapacityOfOne())]))) == 4
    assert shared.most == 1
