"""What the methods with a language model share: the server, the meter, the notes to go through, and their results."""

import json
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotations.core.services import ServiceError
from annotations.gold.services.splitting import patient_key
from annotations.jobs.registry import load
from annotations.jobs.runner import Claim
from annotations.models import Document, GoldVersionNote
from annotations.scores.selectors import label_words
from annotations.text.spans import Span, overlaps
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm import driver
from models_runtime.backends.llm.asking import Answer, Completion, Meter, Question, StoredMeter
from models_runtime.backends.llm.prompts import digest
from models_runtime.backends.llm.servers import Server
from models_runtime.backends.refining.correcting import ANSWERS, Correction, Shot, applied, question_about, shown_about
from models_runtime.backends.refining.state import ALL
from models_runtime.backends.refining.todo import Todo, decide_rest
from models_runtime.core.llm import KeptTexts, capacity_of
from models_runtime.models import Refinement
from models_runtime.refining.jobs.keeping import begin, count_of_source, finish, keep, source_spans, waiting
from models_runtime.refining.selectors import skills_at
from models_runtime.runs.services.llm import prompt_labels

# Calls, tokens and seconds of a refinement's language model, added to its row with every answer.


class RefinementMeter(StoredMeter):
    """The meter of a refinement. It needs no lease: every answer counts, even if another worker has the job now.

    Counts besides the server's own: `milliseconds`, `unreadable`, `not_applied`.
    """

    def __init__(self, row: Refinement) -> None:
        super().__init__()
        self._row = row.pk

    def store(self, counts: dict[str, int]) -> None:
        """Add the counts to the row."""
        more = {
            "calls": counts.get("requests", 0),
            "seconds": counts.get("milliseconds", 0) / 1000,
            **{name: counts.get(name, 0) for name in ("tokens_in", "tokens_out", "unreadable", "not_applied")},
        }
        grown = {name: F(name) + count for name, count in more.items() if count}
        if grown:
            Refinement.objects.filter(pk=self._row).update(**grown)


class TimedCompletion:
    """A completion that counts the time of its answers."""

    def __init__(self, completion: Completion, meter: Meter) -> None:
        self._completion, self._meter = completion, meter

    @property
    def at_once(self) -> int:
        return self._completion.at_once

    def complete(self, question: Question) -> Answer:
        began = time.monotonic()
        try:
            return self._completion.complete(question)
        finally:
            self._meter.add(milliseconds=round(1000 * (time.monotonic() - began)))

    def stop(self) -> None:
        self._completion.stop()


class ModelRefiner:
    """A job that refines with a language model. Raises ServiceError `server` if the worker doesn't have the model.

    A method says how notes are asked about (`answers`), what is done with an answer, which may be an error of its note
    alone (`receive`), and what the job tells in the end of those without an answer.
    """

    unanswered: Any

    def __init__(self, claim: Claim, row: Refinement) -> None:
        server = settings.LLM_SERVERS.get(row.server)
        if server is None or row.model not in server.models:
            message = _("%(server)s/%(model)s is no longer configured on this worker.")
            raise ServiceError(message % {"server": row.server, "model": row.model}, code="server")
        self.claim, self.row = claim, row
        self.server: Server = server
        self.meter = RefinementMeter(row)
        self.capacity = capacity_of(server)
        self._total = count_of_source(row)
        self._done = self._total - waiting(row).count()

    def made(self, path: str, *args: Any, **kwargs: Any) -> Any:
        """Make an object of the class at a dotted path, which only workers load. Raises ServiceError `server`."""
        try:
            return load(path)(*args, **kwargs)
        except BackendError as error:
            raise ServiceError(str(error), code="server") from error

    def completion(self) -> Completion:
        """The model, whose answers are timed. Raises ServiceError `server`."""
        made = self.made("models_runtime.backends.llm.backend.completion_of", self.server, self.row.model, self.meter)
        return TimedCompletion(made, self.meter)

    def answers(self) -> Generator[tuple[int, Any], None, None]:
        raise NotImplementedError

    def receive(self, note: int, outcome: Any) -> None:
        raise NotImplementedError

    def refine(self) -> None:
        """Ask about everything that is open. Raises ServiceError `server` and `unanswered`."""
        failed: list[BackendError] = []
        try:
            with closing(self.answers()) as results:
                for note, outcome in results:
                    if isinstance(outcome, BackendError):
                        if outcome.permanent:
                            raise ServiceError(str(outcome), code="server") from outcome
                        failed.append(outcome)
                    self.receive(note, outcome)
        finally:
            self.meter.record()
        if failed:
            raise ServiceError(self.unanswered % {"count": len(failed), "error": failed[0]}, code="unanswered")

    def begun(self) -> Iterator[tuple[int, Todo]]:
        """The notes without a result, each with its to-do list. Notes that were erased meanwhile are left out."""
        for note in list(waiting(self.row).order_by("document_id").values_list("document_id", flat=True)):
            todo = begin(self.row, note, self.claim.fence)
            if todo is not None:
                yield note, todo

    def finish(self, note: int, todo: Todo) -> None:
        """Write the result of a note, and count it as done."""
        self._done += 1
        finish(self.row, note, todo, partial(self.claim.progress, self._done, self._total))


# Examples for a language model: annotations of other patients, with the right answers by gold.
#
# They are annotations that the source made in notes of the gold version: correct, to be updated, or to be removed.


MOST: Final = 30
"""Examples in one question, at most."""
_NOTES: Final = 200
_OF_A_PATIENT: Final = 2
_AROUND: Final = 60


class Examples:
    """The examples of a refinement: the same ones in every worker, at most two of a kind from one patient."""

    def __init__(self, row: Refinement, count: int) -> None:
        self._count = count
        self._pool: dict[str, list[tuple[str, Shot]]] = {answer: [] for answer in ANSWERS}
        if count and row.gold_version is not None:
            self._read(row)

    def of(self, patient_id: str, name: str) -> list[Shot]:
        """Examples for a note of this patient, in turn of each answer, none of them from the patient."""
        own = patient_key(patient_id, name)
        queues = [[one for patient, one in pool if patient != own] for pool in self._pool.values()]
        turns = max(map(len, queues))
        return [queue[at] for at in range(turns) for queue in queues if at < len(queue)][: self._count]

    def _read(self, row: Refinement) -> None:
        merged = label_words(row.project).merged
        notes = GoldVersionNote.objects.filter(version=row.gold_version).order_by("document__sha256", "document_id")
        columns = ("document_id", "document__patient_id", "document__name", "document__text", "spans")
        found = list(notes.values_list(*columns)[:_NOTES])
        made = source_spans(row, [pk for pk, *_ in found])
        taken: Counter[tuple[str, str]] = Counter()
        for pk, patient_id, name, text, spans in found:
            gold = [Span(start, end, merged.get(code, code)) for start, end, code, *_ in spans]
            patient = patient_key(patient_id, name)
            for span in made.get(pk, []):
                right = _right(text, span, gold)
                if taken[patient, right.answer] < _OF_A_PATIENT:
                    taken[patient, right.answer] += 1
                    self._pool[right.answer].append((patient, _example(text, span, right)))


def _right(text: str, span: Span, gold: list[Span]) -> Correction:
    near = [one for one in gold if overlaps(one, span)]
    if not near:
        return Correction(answer="remove")
    best = min(near, key=lambda one: (abs(one.start - span.start) + abs(one.end - span.end), one.label != span.label))
    if (best.start, best.end, best.label) == (span.start, span.end, span.label):
        return Correction(answer="correct")
    return Correction(answer="update", text=text[best.start : best.end], type=best.label)


def _example(text: str, span: Span, right: Correction) -> Shot:
    before, after = text[max(0, span.start - _AROUND) : span.start], text[span.end : span.end + _AROUND]
    return Shot(before, text[span.start : span.end], after, span.label, right)


# The method *single*: one question to a language model about each annotation.
#
# Each answer is stored as soon as it arrives, and then the decision, so that no answer is asked for again.


_Asked = tuple[int, int]
"""A note, and the number of an annotation in it."""


class SingleRefiner(ModelRefiner):
    unanswered = gettext_lazy("%(count)d annotations have no answer. Retry the job to ask about them again. %(error)s")

    def __init__(self, claim: Claim, row: Refinement) -> None:
        super().__init__(claim, row)
        self._completion = self.completion()
        self._replies: KeptTexts[str] = KeptTexts(row.project, self.meter, "reply")
        self._examples = Examples(row, int(row.params.get("examples", 0)))
        self._todos: dict[int, Todo] = {}

    def answers(self) -> Generator[tuple[int, Any], None, None]:
        at_once = self._completion.at_once
        queue: driver.ServerQueue[_Asked, None] = driver.ServerQueue(self._talks(), at_once, self.capacity)
        asked = driver.converse([queue], self.claim.check)
        with closing(asked) as results:
            yield from ((note, error) for (note, _number), error in results)

    def receive(self, note: int, outcome: Any) -> None:
        self._finish_if_decided(note)

    def _talks(self) -> Iterator[tuple[_Asked, Completion, driver.Conversation[None]]]:
        for note, todo in self.begun():
            self._todos[note] = todo
            names = Document.objects.filter(pk=note).values_list("patient_id", "name").first()
            examples = self._examples.of(*names) if names else []
            numbers = [item.number for item in todo.open()]
            for number in numbers:
                yield (note, number), self._completion, self._conversation(note, number, examples)
            if not numbers:
                self._finish_if_decided(note)

    def _conversation(self, note: int, number: int, examples: list[Shot]) -> driver.Conversation[None]:
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
        replies: driver.AnswerCache[str] = driver.NoCache() if examples else self._replies
        reply = yield from driver.cached_or_asked(replies, key, todo.text, question, _written, self.meter)
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
        self.finish(note, decide_rest(todo))
        del self._todos[note]


def _written(answer: Answer) -> str:
    """The text of an answer as a string of ASCII: it may hold what databases reject."""
    return json.dumps(answer.text)


# The method *agent*: a language model with tools goes through each note. Decisions are kept with every answer.


class AgentRefiner(ModelRefiner):
    unanswered = gettext_lazy("%(count)d notes are not finished. Retry the job to go on with them. %(error)s")

    def __init__(self, claim: Claim, row: Refinement) -> None:
        super().__init__(claim, row)
        self._kept: dict[int, Todo] = {}
        self._agent = self.made(
            "models_runtime.backends.refining.agent.LlmAgent",
            self.completion(),
            prompt_labels(row.project),
            made_of=[self.server.name, row.model],
            prompt=row.prompt,
            skills=skills_at(row.project, row.params.get("skills", {}), row.language),
            components=ALL - set(row.switched_off),
            steps=int(row.params.get("steps", 0)),
            tokens=int(row.params.get("tokens", 0)),
            answers=KeptTexts(row.project, self.meter, "reply"),
            meter=self.meter,
        )

    def answers(self) -> Generator[tuple[int, Any], None, None]:
        with closing(self._agent.converse(self._talks(), self.capacity, self.claim.check)) as results:
            yield from results

    def receive(self, note: int, outcome: Any) -> None:
        del self._kept[note]
        if not isinstance(outcome, BackendError):
            self.finish(note, outcome.todo)

    def _talks(self) -> Iterator[tuple[int, Any]]:
        """The notes to go through, each with its conversation."""
        for note, todo in self.begun():
            self._kept[note] = todo
            yield note, self._agent.refine(todo, partial(self._keep, note))

    def _keep(self, note: int, todo: Todo) -> None:
        """Write the items that an answer has changed."""
        before, self._kept[note] = self._kept[note], todo
        changed = [item for item, old in zip(todo.items, before.items, strict=True) if item != old]
        if changed:
            keep(self.row, note, changed, self.claim.fence)
