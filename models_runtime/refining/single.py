"""The method *single*: one question to a language model about each annotation. Each decision is kept at once."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial

from django.conf import settings
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.domain.refining.finishing import settled
from annotations.domain.refining.todo import Todo
from annotations.jobs.registry import load
from annotations.jobs.runner import Claim
from annotations.models import Document
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.asking import Completion
from models_runtime.backends.llm.correcting import Example, applied, question_about
from models_runtime.backends.llm.driver import Conversation, FixedCapacity, ServerQueue, converse
from models_runtime.core.llm import capacity_of
from models_runtime.core.registry import COMPLETION
from models_runtime.models import Refinement
from models_runtime.refining.counting import RefinementMeter, Timed
from models_runtime.refining.examples import Examples
from models_runtime.refining.keeping import begin, count_of_source, finish, keep, waiting

_Asked = tuple[int, int]
"""A note, and the number of an annotation in it."""


def refine(claim: Claim, row: Refinement) -> None:
    """Ask about every annotation without a decision. Raises ServiceError `server` and `unanswered`."""
    _Refiner(claim, row).refine()


class _Refiner:
    def __init__(self, claim: Claim, row: Refinement) -> None:
        server = settings.LLM_SERVERS.get(row.server)
        if server is None or row.model not in server.models:
            raise ServiceError(
                _("%(server)s/%(model)s is no longer configured on this worker.")
                % {"server": row.server, "model": row.model},
                code="server",
            )
        self._claim, self._row = claim, row
        self._meter = RefinementMeter(row)
        try:
            self._completion: Completion = Timed(load(COMPLETION)(server, row.model, self._meter), self._meter)
        except BackendError as error:
            raise ServiceError(str(error), code="server") from error
        self._capacity = capacity_of(server) or FixedCapacity(self._completion.at_once)
        self._examples = Examples(row, int(row.params.get("examples", 0)))
        self._todos: dict[int, Todo] = {}
        self._total = count_of_source(row)
        self._done = self._total - waiting(row).count()
        self._failed: list[BackendError] = []

    def refine(self) -> None:
        queue: ServerQueue[_Asked, None] = ServerQueue(self._talks(), self._completion.at_once, self._capacity)
        answers = converse([queue], self._claim.check)
        try:
            with closing(answers) as results:
                for (note, _number), error in results:
                    if isinstance(error, BackendError):
                        if error.permanent:
                            raise ServiceError(str(error), code="server") from error
                        self._failed.append(error)
                    self._finish_if_decided(note)
        finally:
            self._meter.record()
        if self._failed:
            raise ServiceError(
                _("%(count)d annotations have no answer. Retry the job to ask about them again. %(error)s")
                % {"count": len(self._failed), "error": self._failed[0]},
                code="unanswered",
            )

    def _talks(self) -> Iterator[tuple[_Asked, Completion, Conversation[None]]]:
        for note in list(waiting(self._row).order_by("document_id").values_list("document_id", flat=True)):
            todo = begin(self._row, note, self._claim.fence)
            if todo is None:  # The note was erased.
                continue
            self._todos[note] = todo
            names = Document.objects.filter(pk=note).values_list("patient_id", "name").first()
            examples = self._examples.of(*names) if names else []
            numbers = [item.number for item in todo.open()]
            for number in numbers:
                yield (note, number), self._completion, self._conversation(note, number, examples)
            if not numbers:
                self._finish_if_decided(note)

    def _conversation(self, note: int, number: int, examples: list[Example]) -> Conversation[None]:
        """Ask and keep the decision. An answer that arrives after the job was stopped is kept, too."""
        todo = self._todos.get(note)
        if todo is None:
            return
        answer = yield question_about(self._row.prompt, todo, number, examples)
        todo = self._todos.get(note)
        if todo is None:
            return
        found = applied(todo, number, answer.text)
        self._meter.add(unreadable=int(found.unreadable), not_applied=int(found.refused))
        self._meter.record()
        self._todos[note] = found.todo
        if not keep(self._row, note, [found.todo.item(number)], self._claim.fence):
            del self._todos[note]

    def _finish_if_decided(self, note: int) -> None:
        todo = self._todos.get(note)
        if todo is None or todo.open():
            return
        self._done += 1
        finish(self._row, note, settled(todo), partial(self._claim.progress, self._done, self._total))
        del self._todos[note]
