"""The method *single*: one question to a language model about each annotation.

Each answer is stored as soon as it arrives, and then the decision, so that no answer is asked for again.
"""

import json
from collections.abc import Iterator
from contextlib import closing

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.jobs.runner import Claim
from annotations.models import Document
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.asking import Answer, Completion
from models_runtime.backends.llm.driver import (
    AnswerCache,
    Conversation,
    FixedCapacity,
    NoCache,
    ServerQueue,
    cached_or_asked,
    converse,
)
from models_runtime.backends.llm.prompts import digest
from models_runtime.backends.refining.correcting import Shot, applied, question_about, shown_about
from models_runtime.backends.refining.todo import Todo, settled
from models_runtime.core.llm import KeptReplies
from models_runtime.models import Refinement
from models_runtime.refining.jobs.by_model import ModelRefiner
from models_runtime.refining.jobs.counting import Timed
from models_runtime.refining.jobs.examples import Examples
from models_runtime.refining.jobs.keeping import keep

_Asked = tuple[int, int]
"""A note, and the number of an annotation in it."""


def refine(claim: Claim, row: Refinement) -> None:
    """Ask about every annotation without a decision. Raises ServiceError `server` and `unanswered`."""
    _Refiner(claim, row).refine()


class _Refiner(ModelRefiner):
    def __init__(self, claim: Claim, row: Refinement) -> None:
        super().__init__(claim, row)
        completion = self.made("models_runtime.backends.llm.backend.completion_of", self.server, row.model, self.meter)
        self._completion: Completion = Timed(completion, self.meter)
        self._replies = KeptReplies(row.project, self.meter)
        self._examples = Examples(row, int(row.params.get("examples", 0)))
        self._todos: dict[int, Todo] = {}
        self._failed: list[BackendError] = []

    def refine(self) -> None:
        at_once = self._completion.at_once
        capacity = self.capacity or FixedCapacity(at_once)
        queue: ServerQueue[_Asked, None] = ServerQueue(self._talks(), at_once, capacity)
        answers = converse([queue], self.claim.check)
        try:
            with closing(answers) as results:
                for (note, _number), error in results:
                    if isinstance(error, BackendError):
                        if error.permanent:
                            raise ServiceError(str(error), code="server") from error
                        self._failed.append(error)
                    self._finish_if_decided(note)
        finally:
            self.meter.record()
        if self._failed:
            raise ServiceError(
                _("%(count)d annotations have no answer. Retry the job to ask about them again. %(error)s")
                % {"count": len(self._failed), "error": self._failed[0]},
                code="unanswered",
            )

    def _talks(self) -> Iterator[tuple[_Asked, Completion, Conversation[None]]]:
        for note, todo in self.begun():
            self._todos[note] = todo
            names = Document.objects.filter(pk=note).values_list("patient_id", "name").first()
            examples = self._examples.of(*names) if names else []
            numbers = [item.number for item in todo.open()]
            for number in numbers:
                yield (note, number), self._completion, self._conversation(note, number, examples)
            if not numbers:
                self._finish_if_decided(note)

    def _conversation(self, note: int, number: int, examples: list[Shot]) -> Conversation[None]:
        """Ask, and keep the answer and the decision. An answer that arrives after the job was stopped is kept, too."""
        todo = self._todos.get(note)
        if todo is None:
            return
        row = self.row
        question = question_about(row.prompt, todo, number, examples)
        shown = shown_about(todo, number, examples)
        # An answer belongs to one refinement: a later one asks anew, for example after the server was repaired.
        key = digest("single", str(row.pk), row.server, row.model, row.prompt, shown, *sorted(todo.labels))
        # Erasing a patient deletes the answers about their notes. With examples, an answer may quote another patient.
        replies: AnswerCache[str] = NoCache() if examples else self._replies
        reply = yield from cached_or_asked(replies, key, todo.text, question, _written, self.meter)
        todo = self._todos.get(note)
        if todo is None:
            return
        found = applied(todo, number, json.loads(reply), examples)
        # One transaction, so that a decision and what is counted with it are stored together or not at all.
        with transaction.atomic():
            kept = keep(row, note, [found.todo.item(number)], self.claim.fence)
            self.meter.add(unreadable=int(found.unreadable), not_applied=int(found.refused))
            self.meter.record()
        self._todos[note] = found.todo
        if not kept:
            del self._todos[note]

    def _finish_if_decided(self, note: int) -> None:
        todo = self._todos.get(note)
        if todo is None or todo.open():
            return
        self.finish(note, settled(todo))
        del self._todos[note]


def _written(answer: Answer) -> str:
    """The text of an answer as a string of ASCII: it may hold what databases reject."""
    return json.dumps(answer.text)
