"""A language model makes surrogates, in four questions: clustering, query, decision, replacement.

The prompts are ours, after Singh et al. 2025 (appendix B.2). Clusters are made from two notes at a time: each further
note of a patient is compared with the entities of those before. An answer counts only if it is complete and consistent;
otherwise the caller uses the rules for that step, and the meter counts the answer as broken. Nothing that a note says
can do more than spoil the answer about its own patient.
"""

import json
from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from annotations.release.rules.redaction.policy import PEOPLE, IdentifierType
from annotations.release.rules.surrogates.pipeline import Cluster, IndexedEntity, MentionInNote
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm import driver
from models_runtime.backends.llm.answers import listed
from models_runtime.backends.llm.asking import Answer, Completion, Meter, Question, object_schema
from models_runtime.backends.llm.backend import completion_of
from models_runtime.backends.llm.driver import AnswerCache, Capacity, Check, Conversation, NoCache, cached_or_asked
from models_runtime.backends.llm.prompts import LANGUAGES, built_in, digest, fenced
from models_runtime.backends.llm.servers import Server

VERSION: Final = "2"
"""Increase it when the meaning of a prompt changes."""
TASKS: Final = ("cluster", "query", "decide", "replace")
# Mentions in one question about clusters, entities in others, and mentions that show an entity's context.
MOST_MENTIONS, MOST_ENTITIES, MOST_CONTEXTS = 120, 60, 3
_TOKENS_AN_ENTRY: Final = 60
_TOKENS_OVERHEAD: Final = 2048
T = TypeVar("T")
R = TypeVar("R")
M = TypeVar("M", bound=BaseModel)


Entries = list[dict[str, Any]]
AnswersAbout = Callable[[Collection[int]], AnswerCache[Entries]]
"""The stored answers to questions that show these notes, all of one patient; each is deleted with any of the notes."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    id: int


class _Clustered(_Entry):
    kind: str
    mentions: list[int] = Field(min_length=1)


class _Queried(_Entry):
    names: list[str] = Field(min_length=1, max_length=5)


class _Decided(_Entry):
    same: Literal["Y", "N"]


class _Replaced(_Entry):
    kind: str
    replacement: str = Field(min_length=1, max_length=200)


class _Question(NamedTuple):
    """One question: the task, the language of its prompt, what it shows, of which notes, and how many entries it asks
    for.
    """

    task: str
    language: str
    shown: dict[str, Any]
    notes: Collection[int]
    entries: int


class Relexicalizer:
    """Asks a model of a listed server. Every question is about one patient.

    `made_by` names the model and the prompts, as the index stores them.
    """

    def __init__(
        self,
        server: Server,
        model: str,
        completion: Completion | None = None,
        capacity: Capacity | None = None,
        meter: Meter | None = None,
        answers: AnswersAbout = lambda notes: NoCache(),
        check: Check = driver.no_check,
    ) -> None:
        self.meter = meter or Meter()
        self._completion = completion or completion_of(server, model, self.meter)
        self._capacity, self._check = capacity, check
        self._answers = answers
        self._prompts = {
            (task, language): built_in(f"relexicalize-{task}", language) for task in TASKS for language in LANGUAGES
        }
        self._asking = digest("relexicalize", VERSION, server.name, model)
        self.made_by = f"{model[-40:]} {VERSION}-{digest(*self._prompts.values())[:8]}"

    def cluster(
        self, patients: Sequence[tuple[Sequence[MentionInNote], str]]
    ) -> list[list[list[MentionInNote]] | None]:
        """The mentions of each patient by entity, given with a language; None without a usable answer."""
        return self._each(patients, self._cluster)

    def names(self, patients: Sequence[Sequence[Cluster]]) -> list[list[list[str]] | None]:
        """Names by which an index may know each entity of each patient; None without a usable answer."""
        return self._each(patients, self._names)

    def decide(
        self, asked: Sequence[tuple[Cluster, Sequence[IndexedEntity]]]
    ) -> list[tuple[IndexedEntity | None] | None]:
        """The candidate that each entity is, in a tuple that holds None for a new entity; None without an answer."""
        return self._each(asked, self._decide)

    def replace(self, patients: Sequence[tuple[Sequence[Cluster], Sequence[str]]]) -> list[list[str | None] | None]:
        """A text for each entity of each patient, given with texts that are taken; None without a usable answer."""
        return self._each(patients, self._replace)

    def _each(self, items: Sequence[T], ask: Callable[[T], Conversation[R | None]]) -> list[R | None]:
        """One conversation for each. Raises a permanent BackendError, because then no other answer would come."""
        try:
            results = driver.run_all([ask(item) for item in items], self._completion, self._check, self._capacity)
        finally:
            self.meter.record()
        return [None if isinstance(result, BackendError) else result for result in results]

    def _ask(
        self, asked: _Question, model: type[M], read: Callable[[Sequence[M]], tuple[R, int] | None]
    ) -> Conversation[R | None]:
        """The stored answer, or else a new one, which is stored even if it can't be used: it would be the same again.

        `read` returns None for an answer that can't be used, else the result and the number of unusable entries. An
        answer without JSON is not stored.
        """
        prompt = self._prompts[asked.task, asked.language if asked.language in LANGUAGES else "en"]
        text = json.dumps(asked.shown, ensure_ascii=False)

        def entries_of(answer: Answer) -> Entries:
            self.meter.add(cut=int(answer.cut))
            try:
                found = listed(answer.text, model)
            except BackendError:
                self.meter.add(broken=1)
                raise
            result = read(found.entries)
            self.meter.add(broken=found.broken + int(result is None), unknown=result[1] if result else 0)
            return [entry.model_dump() for entry in found.entries]

        room = asked.entries * _TOKENS_AN_ENTRY + _TOKENS_OVERHEAD
        question = Question(prompt, fenced(text), room, _schema(model))
        answers, key = self._answers(asked.notes), digest(self._asking, prompt, text)
        entries = yield from cached_or_asked(answers, key, text, question, entries_of, self.meter)
        result = read([model.model_validate(entry) for entry in entries])
        return None if result is None else result[0]

    def _cluster(self, patient: tuple[Sequence[MentionInNote], str]) -> Conversation[list[list[MentionInNote]] | None]:
        """The first two notes, then each further note with the entities that were found so far."""
        mentions, language = patient
        by_note = groupby(sorted(mentions, key=lambda one: one.note), key=lambda one: one.note)
        notes = [list(own) for _note, own in by_note]
        groups = [[one] for one in notes[0]] if notes else []
        for own in notes[1:] or ([[]] if notes else []):
            kinds = {_family(one.kind) for one in own}
            before = groups
            if len(before) + len(own) > MOST_MENTIONS:
                before = [group for group in groups if _family(group[0].kind) in kinds]
            if len(before) + len(own) > MOST_MENTIONS:
                self.meter.add(too_long=1)
                return None
            found = yield from self._pair([_longest(group) for group in before], own, language)
            if found is None:
                return None
            compared = {id(group) for group in before}
            pieces = [*before, *([one] for one in own)]
            groups = [group for group in groups if id(group) not in compared]
            groups += [[one for at in numbers for one in pieces[at]] for numbers in found]
        return groups

    def _pair(
        self, first: Sequence[MentionInNote], second: Sequence[MentionInNote], language: str
    ) -> Conversation[list[list[int]] | None]:
        """The mentions of two notes by entity, as positions in both lists together."""
        both = [*first, *second]
        shown = [
            {"id": at, "kind": str(one.kind), "text": one.text, "context": _context(one)}
            for at, one in enumerate(both, start=1)
        ]

        def read(entries: Sequence[_Clustered]) -> tuple[list[list[int]], int] | None:
            ids = [at for one in entries for at in one.mentions]
            if not _once(ids, len(both)) or len({one.id for one in entries}) < len(entries):
                return None
            for one in entries:
                kinds = {both[at - 1].kind for at in one.mentions}
                if len({_family(kind) for kind in kinds}) > 1 or one.kind not in {str(kind) for kind in kinds}:
                    return None
            return [[at - 1 for at in one.mentions] for one in entries], 0

        halves = {"first": shown[: len(first)], "second": shown[len(first) :]}
        asked = _Question("cluster", language, halves, _notes(both), len(both))
        return (yield from self._ask(asked, _Clustered, read))

    def _about(
        self,
        task: str,
        clusters: Sequence[Cluster],
        model: type[M],
        read: Callable[[Sequence[M]], tuple[list[R], int] | None],
        **more: Any,
    ) -> Conversation[list[R] | None]:
        """Ask about all entities of a patient; None also if they are too many. `more`: what else the question shows."""
        if not clusters:
            return []
        if len(clusters) > MOST_ENTITIES:
            self.meter.add(too_long=1)
            return None
        shown = {"entities": [_entity(at, cluster) for at, cluster in enumerate(clusters, start=1)], **more}
        notes = {note for one in clusters for note in _notes(one.mentions)}
        return (yield from self._ask(_Question(task, clusters[0].language, shown, notes, len(clusters)), model, read))

    def _names(self, clusters: Sequence[Cluster]) -> Conversation[list[list[str]] | None]:
        def read(entries: Sequence[_Queried]) -> tuple[list[list[str]], int] | None:
            if not _once([one.id for one in entries], len(clusters)):
                return None
            by_id = {one.id: one.names for one in entries}
            return [by_id[at] for at in range(1, len(clusters) + 1)], 0

        return (yield from self._about("query", clusters, _Queried, read))

    def _decide(
        self, asked: tuple[Cluster, Sequence[IndexedEntity]]
    ) -> Conversation[tuple[IndexedEntity | None] | None]:
        cluster, found = asked

        def read(entries: Sequence[_Decided]) -> tuple[tuple[IndexedEntity | None], int] | None:
            same = [one.id for one in entries if one.same == "Y"]
            if not _once([one.id for one in entries], len(found)) or len(same) > 1:
                return None
            return (found[same[0] - 1] if same else None,), 0

        candidates = [{"id": at, "kind": str(one.kind), "forms": one.forms} for at, one in enumerate(found, start=1)]
        shown = {"entity": _entity(1, cluster), "candidates": candidates}
        question = _Question("decide", cluster.language, shown, _notes(cluster.mentions), len(found))
        return (yield from self._ask(question, _Decided, read))

    def _replace(self, asked: tuple[Sequence[Cluster], Sequence[str]]) -> Conversation[list[str | None] | None]:
        clusters, taken = asked

        def read(entries: Sequence[_Replaced]) -> tuple[list[str | None], int] | None:
            by_id = {one.id: one for one in entries}
            if len(by_id) < len(entries) or not all(0 < at <= len(clusters) for at in by_id):
                return None
            found = [by_id.get(at) for at in range(1, len(clusters) + 1)]
            texts = [
                one.replacement if one is not None and one.kind == str(cluster.kind) else None
                for one, cluster in zip(found, clusters, strict=True)
            ]
            return texts, sum(text is None for text in texts)

        return (yield from self._about("replace", clusters, _Replaced, read, taken=list(taken)))


def _notes(mentions: Sequence[MentionInNote]) -> set[int]:
    return {one.note for one in mentions}


def _longest(mentions: Sequence[MentionInNote]) -> MentionInNote:
    """The mention that stands for its entity."""
    return max(mentions, key=lambda one: len(one.text))


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """A strict JSON schema for {"entities": [model]}."""
    item = model.model_json_schema() | {"additionalProperties": False}
    return object_schema({"entities": {"type": "array", "items": item}})


def _once(ids: Sequence[int], count: int) -> bool:
    """Whether every number from 1 to `count` is there once."""
    return sorted(ids) == list(range(1, count + 1))


def _family(kind: IdentifierType) -> str:
    return "person" if kind in PEOPLE else str(kind)


def _context(mention: MentionInNote) -> str:
    return f"{mention.before}{mention.text}{mention.after}"


def _entity(number: int, cluster: Cluster) -> dict[str, Any]:
    """What the model is told about an entity."""
    contexts = dict.fromkeys(_context(one) for one in cluster.mentions if one.before or one.after)
    return {"id": number, "kind": str(cluster.kind), "forms": cluster.forms, "contexts": list(contexts)[:MOST_CONTEXTS]}
