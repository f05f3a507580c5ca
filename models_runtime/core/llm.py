"""Language models for jobs: the backend of a run, stored answers, and costs."""

import time
import uuid
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError, hold
from annotations.jobs.registry import load
from annotations.models import Document, Project, Release
from annotations.text.hashes import text_sha256
from models_runtime.backends.base import Backend
from models_runtime.backends.llm.asking import Meter, StoredMeter
from models_runtime.backends.llm.driver import Found, FoundSpan
from models_runtime.backends.llm.prompts import LabelWord
from models_runtime.backends.llm.servers import Params, Price, Server, read_params
from models_runtime.core.registry import LLM, backend_kind
from models_runtime.models import Judge, LlmAnswer, LlmUsage, Run, ServerCapacity

# Requests and costs of language models, recorded with every answer, so that a killed worker loses no costs.


class Bill(StoredMeter):
    """The meter of whoever uses a model. It needs no lease: every request counts, even if another worker has the job
    now.

    `payer` is the run, judge or release, or the project whose index of surrogates is filled; `price` is that of its
    model.
    """

    def __init__(self, payer: Run | Judge | Release | Project, price: Price | None) -> None:
        super().__init__()
        self._payer = {payer._meta.model_name or "": payer}
        self._price = price

    def store(self, counts: dict[str, int]) -> None:
        """Add the counts to the payer's row."""
        with transaction.atomic():
            self._add(counts)

    def _add(self, counts: dict[str, int]) -> None:
        price = self._price
        row = self._payer | {"currency": price.currency if price else ""}
        cost = price.of(counts.get("tokens_in", 0), counts.get("tokens_out", 0)) if price else None
        known = {name: counts[name] for name in LlmUsage.COUNTS if name in counts}
        more = {name: F(name) + count for name, count in known.items()} | (
            {} if cost is None else {"cost": F("cost") + cost}
        )
        try:
            if not LlmUsage.objects.filter(**row).update(**more):
                with transaction.atomic():
                    LlmUsage.objects.create(**row, **known, cost=cost)
        except IntegrityError:  # Another worker has just created the row.
            LlmUsage.objects.filter(**row).update(**more)


# Share a server's limit of simultaneous requests among all workers.


# How often a worker checks which other workers use the server (seconds).
LOOK_EVERY = 1.0


class SharedCapacity:
    """One worker's equal share of a server's request limit.

    A new worker waits until the others have finished enough requests. A lost worker counts until its lease ends. Not
    thread-safe: used only from the worker's own thread (models_runtime.backends.llm.driver.Capacity).
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._token = uuid.uuid4().hex
        self._mine = 0
        self._looked = float("-inf")

    def take(self, asking: int) -> int:
        """Return how many requests this worker may have at a time; `asking` of them are under way.

        The share is updated every LOOK_EVERY seconds.
        """
        now = time.monotonic()
        if now - self._looked >= LOOK_EVERY:
            self._looked = now
            self._mine = self._looked_up(asking)
        return self._mine

    def leave(self) -> None:
        """Release this worker's share."""
        self._looked, self._mine = float("-inf"), 0
        with transaction.atomic():
            row = ServerCapacity.objects.select_for_update().filter(server=self._server.name).first()
            if row is not None and row.seats.pop(self._token, None):
                row.save(update_fields=["seats"])

    def _looked_up(self, asking: int) -> int:
        ServerCapacity.objects.get_or_create(server=self._server.name)
        with transaction.atomic():
            row = ServerCapacity.objects.select_for_update().annotate(now=Now()).get(server=self._server.name)
            now = row.now.timestamp()
            others = {token: held for token, (held, until) in row.seats.items() if until > now and token != self._token}
            everyone = sorted([*others, self._token])
            share, over = divmod(self._server.at_once, len(everyone))
            share += everyone.index(self._token) < over
            mine: int = max(asking, min(share, self._server.at_once - sum(others.values())))
            held, until = row.seats.get(self._token, (0, 0.0))
            if held != mine or until - now < settings.JOB_LEASE_SECONDS / 2 or len(everyone) != len(row.seats):
                until = now + settings.JOB_LEASE_SECONDS
                row.seats = {token: row.seats[token] for token in others} | {self._token: [mine, until]}
                row.save(update_fields=["seats"])
        return mine


def llm_backend(row: Run) -> Backend:
    """Make the backend of a run, with the prompt and labels from when the run was started. Raises ServiceError."""
    params, server = asked_for(row.params)
    bill = Bill(row, server.price)
    backend: Backend = load(backend_kind(LLM).factory)(
        label_set=row.project.label_set.key,
        labels=label_words(row.params["labels"]),
        server=server,
        params=params,
        prompt=row.params["prompt"],
        answers=KeptAnswers(row.project, bill),
        texts=KeptTexts(row.project, bill, "rewritten"),
        mapping=row.params.get("mapping") or {},
        sample=str(row.pk),
        capacity=capacity_of(server),
        meter=bill,
    )
    return backend


def capacity_of(server: Server) -> SharedCapacity | None:
    """Return the request limit that workers share for a server, or None for a model in a folder.

    Each worker loads a model from a folder itself and annotates one note at a time with it.
    """
    return None if server.folder else SharedCapacity(server)


def asked_for(given: dict[str, Any]) -> tuple[Params, Server]:
    """Return the parameters and the server. Raises ServiceError `server` if the server is no longer listed."""
    try:
        params = read_params(given, settings.LLM_SERVERS)
    except ValueError as error:
        message = _("This worker can't use the language model. %(error)s")
        raise ServiceError(message % {"error": error}, code="server") from error
    return params, settings.LLM_SERVERS[params.server]


def label_words(rows: Sequence[Sequence[str]]) -> list[LabelWord]:
    return [LabelWord(*row) for row in rows]


A = TypeVar("A")


class KeptTexts(Generic[A]):
    """Answers of models, stored in the database for a project under hashes, together with their costs.

    `name`: the key under which a text is stored, which is also the kind of answer.
    """

    def __init__(self, project: Project, bill: Meter, name: str = "") -> None:
        self._project, self._bill, self._name = project, bill, name

    def find(self, key: str) -> A | None:
        rows = LlmAnswer.objects.filter(key=key, document__project=self._project)
        found = rows.values_list("found", flat=True).first()
        return None if found is None else self._read(found)

    def _read(self, found: Any) -> A:
        text: A = found[self._name] if self._name else found
        return text

    def keep(self, key: str, text: str, found: A) -> None:
        """Store an answer with the note that has this text. If the note was erased meanwhile, only record the cost."""
        notes = Document.objects.filter(project=self._project, sha256=text_sha256(text))
        stored = {self._name: found} if self._name else found
        with transaction.atomic():
            # The lock keeps the note from being erased before its answer is stored; an erasure then deletes both.
            hold(self._project.pk)
            note = notes.values_list("pk", flat=True).first()
            if note is not None:
                LlmAnswer.objects.bulk_create(
                    [LlmAnswer(document_id=note, key=key, found=stored)], ignore_conflicts=True
                )
            self._bill.record()


class KeptAnswers(KeptTexts[Found]):
    """Stored spans (models_runtime.backends.llm.driver.AnswerCache)."""

    def _read(self, found: Any) -> Found:
        return [FoundSpan(*each) for each in found]
