"""A language model's answers about surrogates, stored so that no question is paid for twice.

They hold names of patients and their surrogates, so they are encrypted with the project's key and found by keyed
hashes. An answer has a row for each note that its question shows; the first of them holds it.
"""

from base64 import b64decode, b64encode
from collections.abc import Collection, Sequence
from typing import Any, Final

from django.db import transaction

from annotations.core.locks import hold
from annotations.core.sealing import Key
from annotations.models import Document, Project
from annotations.release.selectors.surrogates import in_parts
from models_runtime.core.llm import Bill
from models_runtime.models import LlmAnswer

PREFIX: Final = "s-"
"""Begins the keys of these answers."""
_DIGITS: Final = 60


class SealedAnswers:
    """Stored answers of one project (models_runtime.backends.llm.relexicalizing.Answers). Costs go to `bill`."""

    def __init__(self, project: Project, key: Key, bill: Bill) -> None:
        self._project, self._key, self._bill = project, key, bill

    def find(self, key: str, notes: Collection[int]) -> list[dict[str, Any]] | None:
        """The answer to the same question about the same notes."""
        rows = LlmAnswer.objects.filter(key=self._digest(key, notes), document=min(notes, default=0))
        sealed = rows.values_list("found", flat=True).first()
        if sealed is None:
            return None
        entries: list[dict[str, Any]] = self._key.open(b64decode(sealed["sealed"]))
        return entries

    def keep(self, key: str, notes: Collection[int], entries: list[dict[str, Any]]) -> None:
        """Store an answer. If one of the notes was erased meanwhile, only record the cost."""
        sealed = {"sealed": b64encode(self._key.seal(entries)).decode()}
        digest, wanted = self._digest(key, notes), sorted(notes)
        with transaction.atomic():
            # The lock keeps the notes from being erased before the answer is stored; an erasure then deletes it.
            hold(self._project.pk)
            present = sum(
                Document.objects.filter(project=self._project, pk__in=some).count() for some in in_parts(wanted)
            )
            if wanted and present == len(wanted):
                rows = [LlmAnswer(document_id=note, key=digest, found={}) for note in wanted]
                rows[0].found = sealed
                LlmAnswer.objects.bulk_create(rows, ignore_conflicts=True)
            self._bill.record()

    def _digest(self, key: str, notes: Collection[int]) -> str:
        ids = [str(note) for note in sorted(notes)]
        return PREFIX + self._key.hexdigest("surrogate answer", key, *ids)[:_DIGITS]


def forget_answers(*, project: Project, notes: Sequence[int], patient: str) -> None:
    """Delete all answers to questions that show one of these notes. Called in the transaction of the erasure."""
    for some in in_parts(sorted(notes)):
        about = LlmAnswer.objects.filter(document__in=some, key__startswith=PREFIX).order_by()
        keys = set(about.values_list("key", flat=True))
        for these in in_parts(sorted(keys)):
            LlmAnswer.objects.filter(document__project=project, key__in=these).delete()
