"""A language model makes surrogates, in four questions: clustering, query, decision, replacement.

The four prompts are ours, after Singh et al. 2025 (appendix B.2). An answer counts only if it is complete and
consistent; otherwise the caller uses the rules for that step, and the meter counts the answer as broken. Nothing that
a note says can do more than spoil the answer about its own patient.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from annotations.domain.redaction.kinds import Kind
from annotations.domain.surrogates.clustering import PEOPLE
from annotations.domain.surrogates.pipeline import Cluster, Indexed, Mentioned
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.answers import listed
from models_runtime.backends.llm.asking import Answer, Completion, Meter, Question
from models_runtime.backends.llm.backend import completion_of
from models_runtime.backends.llm.driver import Capacity, Check, Conversation, no_check, run_all
from models_runtime.backends.llm.prompts import digest, fenced, prompt_without_labels
from models_runtime.backends.llm.servers import Server

VERSION: Final = "1"
"""Increase it when the meaning of a prompt changes."""
TASKS: Final = ("cluster", "query", "decide", "replace")
# Mentions in one question about clusters, entities in others, and mentions that show an entity's context.
MOST_MENTIONS, MOST_ENTITIES, MOST_CONTEXTS = 120, 60, 3
_TOKENS_AN_ENTRY: Final = 60
_TOKENS_OVERHEAD: Final = 2048
T = TypeVar("T")
R = TypeVar("R")
M = TypeVar("M", bound=BaseModel)


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


class Relexicalizer:
    """Asks a model of a listed server. `capacity`: the server's capacity, if workers share it."""

    def __init__(
        self,
        server: Server,
        model: str,
        completion: Completion | None = None,
        capacity: Capacity | None = None,
        meter: Meter | None = None,
        check: Check = no_check,
    ) -> None:
        self.meter = meter or Meter()
        self._completion = completion or completion_of(server, model, self.meter)
        self._capacity, self._check = capacity, check
        self._prompts = {task: prompt_without_labels(f"relexicalize-{task}", "en") for task in TASKS}
        self.made_by = f"{model[-40:]} {VERSION}-{digest(*self._prompts.values())[:8]}"

    def cluster(self, patients: Sequence[Sequence[Mentioned]]) -> list[list[list[Mentioned]] | None]:
        """The mentions of each patient by entity; None without a usable answer."""
        return self._each(patients, self._cluster)

    def names(self, patients: Sequence[Sequence[Cluster]]) -> list[list[list[str]] | None]:
        """Names by which an index may know each entity of each patient; None without a usable answer."""
        return self._each(patients, self._names)

    def decide(self, asked: Sequence[tuple[Cluster, Sequence[Indexed]]]) -> list[tuple[Indexed | None] | None]:
        """The candidate that each entity is, in a tuple that holds None for a new entity; None without an answer."""
        return self._each(asked, self._decide)

    def replace(self, patients: Sequence[tuple[Sequence[Cluster], Sequence[str]]]) -> list[list[str | None] | None]:
        """A text for each entity of each patient, given with texts that are taken; None without a usable answer."""
        return self._each(patients, self._replace)

    def _each(self, items: Sequence[T], ask: Callable[[T], Conversation[R | None]]) -> list[R | None]:
        """One conversation for each. Raises a permanent BackendError, because then no other answer would come."""
        results = run_all([ask(item) for item in items], self._completion, self._check, self._capacity)
        self.meter.record()
        return [None if isinstance(result, BackendError) else result for result in results]

    def _ask(self, task: str, shown: dict[str, Any], model: type[M], entries: int) -> Conversation[list[M]]:
        text = json.dumps(shown, ensure_ascii=False)
        room = entries * _TOKENS_AN_ENTRY + _TOKENS_OVERHEAD
        answer: Answer = yield Question(self._prompts[task], fenced(text), room, _schema(model))
        self.meter.add(cut=int(answer.cut))
        found = listed(answer.text, model)
        self.meter.add(broken=found.broken)
        return found.entries

    def _cluster(self, mentions: Sequence[Mentioned]) -> Conversation[list[list[Mentioned]] | None]:
        if not mentions:
            return []
        if len(mentions) > MOST_MENTIONS:
            self.meter.add(too_long=1)
            return None
        shown = [
            {"id": at, "kind": str(one.kind), "text": one.text, "context": _context(one)}
            for at, one in enumerate(mentions, start=1)
        ]
        entries = yield from self._ask("cluster", {"mentions": shown}, _Clustered, len(mentions))
        groups = [[mentions[at - 1] for at in one.mentions if 0 < at <= len(mentions)] for one in entries]
        ids = [at for one in entries for at in one.mentions]
        complete = sorted(ids) == list(range(1, len(mentions) + 1)) and len({one.id for one in entries}) == len(entries)
        alike = all(
            len({_family(each.kind) for each in group}) == 1 and one.kind in {str(each.kind) for each in group}
            for one, group in zip(entries, groups, strict=True)
        )
        return self._usable(groups, complete and alike)

    def _names(self, clusters: Sequence[Cluster]) -> Conversation[list[list[str]] | None]:
        if not clusters:
            return []
        if len(clusters) > MOST_ENTITIES:
            self.meter.add(too_long=1)
            return None
        shown = [_entity(at, cluster) for at, cluster in enumerate(clusters, start=1)]
        entries = yield from self._ask("query", {"entities": shown}, _Queried, len(clusters))
        by_id = {one.id: one.names for one in entries}
        complete = _once([one.id for one in entries], len(clusters))
        return self._usable([by_id.get(at, []) for at in range(1, len(clusters) + 1)], complete)

    def _decide(self, asked: tuple[Cluster, Sequence[Indexed]]) -> Conversation[tuple[Indexed | None] | None]:
        cluster, found = asked
        candidates = [{"id": at, "kind": str(one.kind), "forms": one.forms} for at, one in enumerate(found, start=1)]
        shown = {"entity": _entity(1, cluster), "candidates": candidates}
        entries = yield from self._ask("decide", shown, _Decided, len(found))
        same = [one.id for one in entries if one.same == "Y"]
        usable = _once([one.id for one in entries], len(found)) and len(same) < 2
        return self._usable((found[same[0] - 1] if usable and same else None,), usable)

    def _replace(self, asked: tuple[Sequence[Cluster], Sequence[str]]) -> Conversation[list[str | None] | None]:
        clusters, taken = asked
        if not clusters:
            return []
        if len(clusters) > MOST_ENTITIES:
            self.meter.add(too_long=1)
            return None
        shown = {"entities": [_entity(at, one) for at, one in enumerate(clusters, start=1)], "taken": list(taken)}
        entries = yield from self._ask("replace", shown, _Replaced, len(clusters))
        by_id = {one.id: one for one in entries}
        found = [by_id.get(at) for at in range(1, len(clusters) + 1)]
        texts = [
            one.replacement if one is not None and one.kind == str(cluster.kind) else None
            for one, cluster in zip(found, clusters, strict=True)
        ]
        self.meter.add(unknown=sum(text is None for text in texts))
        return self._usable(texts, len(by_id) == len(entries) and all(0 < at <= len(clusters) for at in by_id))

    def _usable(self, found: T, usable: bool) -> T | None:
        """The answer if it is usable, else None. Unusable ones are counted."""
        self.meter.add(broken=int(not usable))
        return found if usable else None


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """A strict JSON schema for {"entities": [model]}."""
    item = model.model_json_schema() | {"additionalProperties": False}
    return {
        "type": "object",
        "properties": {"entities": {"type": "array", "items": item}},
        "required": ["entities"],
        "additionalProperties": False,
    }


def _once(ids: Sequence[int], count: int) -> bool:
    """Whether every number from 1 to `count` is there once."""
    return sorted(ids) == list(range(1, count + 1))


def _family(kind: Kind) -> str:
    return "person" if kind in PEOPLE else str(kind)


def _context(mention: Mentioned) -> str:
    return f"{mention.before}{mention.text}{mention.after}"


def _entity(number: int, cluster: Cluster) -> dict[str, Any]:
    """What the model is told about an entity."""
    contexts = dict.fromkeys(_context(one) for one in cluster.mentions if one.before or one.after)
    return {
        "id": number,
        "kind": str(cluster.kind),
        "forms": cluster.forms,
        "contexts": list(contexts)[:MOST_CONTEXTS],
    }
