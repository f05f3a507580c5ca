"""Answers kept from before, by a hash of what was asked: nothing is paid for twice."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from models_runtime.backends.llm.asking import Answer, Meter, Question
from models_runtime.backends.llm.driver import Talk

F = TypeVar("F")


class Answers(Protocol[F]):
    """What was read out of answers. Never text: hashes, offsets, labels, verdicts."""

    def find(self, key: str) -> F | None: ...

    def keep(self, key: str, text: str, found: F) -> None:
        """`text` is the whole note's, by which the answer is forgotten with the note.

        Where the meter's counts are kept as well, they are written together with the answer.
        """


class NoAnswers(Answers[F]):
    """Keeps nothing."""

    def find(self, key: str) -> F | None:
        return None

    def keep(self, key: str, text: str, found: F) -> None:
        return


def kept_or_asked(
    answers: Answers[F], key: str, text: str, question: Question, read: Callable[[Answer], F], meter: Meter
) -> Talk[F]:
    """What `read` makes of the answer to a question about the note `text`: as it was kept, or asked and kept now.

    What was asked is counted for good, whatever became of it: with the answer, else at once.
    """
    found = answers.find(key)
    meter.add(kept=found is not None)
    if found is None:
        try:
            found = read((yield question))
        except BaseException:  # an answer that can't be read, or none: then the conversation is closed here
            meter.record()
            raise
        answers.keep(key, text, found)
    return found
