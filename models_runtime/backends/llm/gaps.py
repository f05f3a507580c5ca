"""A language model judges from the words around them what the gaps of a transcript hold (Singh et al. 2025, B.3)."""

from collections.abc import Callable, Sequence
from typing import Final

from annotations.audio.rules.gaps import HARMLESS, UNKNOWN, excerpt_with, key_of, read_verdicts
from annotations.audio.rules.intervals import Stretch
from annotations.audio.rules.words import TimedWord
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.asking import Answer, Completion, Question, object_schema
from models_runtime.backends.llm.driver import Capacity, Conversation, run_all
from models_runtime.backends.llm.prompts import LANGUAGES, LabelWord, fenced, system_prompt

AT_ONCE: Final = 8
"""Gaps in one question. They are neighbors, so that they share the words around them."""
NEAR: Final = 30.0
"""Seconds between two gaps of one question, at most."""
_TOKENS_A_GAP, _TOKENS_OVERHEAD = 40, 1024


class GapJudge:
    """Asks a model about gaps. `labels` are the types of entities that it may name.

    `language`: that of the transcript; without a prompt in it, the English one is used.
    """

    def __init__(self, completion: Completion, labels: Sequence[LabelWord], language: str) -> None:
        self._completion = completion
        self._types = [label.code for label in labels]
        self._prompt = system_prompt("gaps", language if language in LANGUAGES else "en", labels)

    def judge(
        self,
        text: str,
        words: Sequence[TimedWord],
        gaps: Sequence[Stretch],
        check: Callable[[], None],
        capacity: Capacity | None = None,
    ) -> dict[Stretch, str]:
        """The verdict on each gap: the code of a label, PHI, NON-PHI or UNKNOWN. Raises BackendError."""
        some = list(_grouped(gaps))
        asked = [self._ask(text, words, group) for group in some]
        verdicts: dict[Stretch, str] = {}
        for answered in run_all(asked, self._completion, check, capacity):
            if isinstance(answered, BackendError):
                raise answered
            verdicts |= answered
        return verdicts

    def _ask(self, text: str, words: Sequence[TimedWord], gaps: Sequence[Stretch]) -> Conversation[dict[Stretch, str]]:
        shown = excerpt_with(text, words, gaps)
        choice = {"type": "string", "enum": [*self._types, HARMLESS, UNKNOWN]}
        schema = object_schema({key_of(gap): choice for gap in gaps})
        room = _TOKENS_OVERHEAD + _TOKENS_A_GAP * len(gaps)
        answer: Answer = yield Question(self._prompt, fenced(shown), room, schema)
        return read_verdicts(answer.text.rpartition("</think>")[2], gaps, self._types)


def _grouped(gaps: Sequence[Stretch]) -> list[list[Stretch]]:
    groups: list[list[Stretch]] = []
    for gap in gaps:
        if groups and len(groups[-1]) < AT_ONCE and gap.start - groups[-1][-1].end <= NEAR:
            groups[-1].append(gap)
        else:
            groups.append([gap])
    return groups
