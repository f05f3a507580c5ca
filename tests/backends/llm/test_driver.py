"""Conversations side by side: no line asks more at once than its server takes, or has room for."""

import threading
from typing import Any

from models_runtime.backends.llm.asking import Answer, Question
from models_runtime.backends.llm.driver import AllOfIt, Line, converse

QUESTION = Question("system", "user", 10)


class Counted:
    """Answers, and counts how many ask at once. A question waits a moment for another one to stand beside it."""

    at_once = 8

    def __init__(self) -> None:
        self.most = self._now = 0
        self._lock = threading.Condition()

    def complete(self, question: Question) -> Answer:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self._lock.notify_all()
            self._lock.wait_for(lambda: self._now > 1, timeout=0.1)
        with self._lock:
            self._now -= 1
        return Answer("yes")

    def stop(self) -> None:
        pass


class RoomForOne:
    def take(self, asking: int) -> int:
        return 1

    def leave(self) -> None:
        pass


def talk() -> Any:
    answer = yield QUESTION
    return answer.text


def line(completion: Counted, at_once: int, room: Any = None) -> Line[int, str]:
    return Line(((at, completion, talk()) for at in range(4)), at_once, room or AllOfIt(at_once))


def test_each_line_keeps_its_own_limit() -> None:
    """The threads are shared: those that the second one has free are not for the first."""
    narrow, wide = Counted(), Counted()
    said = list(converse([line(narrow, 1), line(wide, 4)]))
    assert sorted(said) == sorted([(at, "yes") for at in range(4)] * 2)
    assert narrow.most == 1 < wide.most


def test_a_line_takes_no_more_than_there_is_room_for() -> None:
    shared = Counted()
    assert len(list(converse([line(shared, 4, RoomForOne())]))) == 4
    assert shared.most == 1
