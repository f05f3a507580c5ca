"""Cache of answers under a hash of the question, so that no answer is paid for twice."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from models_runtime.backends.llm.asking import Answer, Meter, Question
from models_runtime.backends.llm.driver import Conversation

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
