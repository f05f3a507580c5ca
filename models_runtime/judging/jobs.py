"""Judges at work: what is asked about is settled first, then the judges go through the notes.

Those of different servers side by side, each with as many notes at once as its server takes. Those of one server one
after the other: a machine that holds one model at a time then loads each of them once, and its limit is reached anyway.
"""

import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from annotations.core.erasures import hold
from annotations.core.errors import ServiceError
from annotations.core.kept import key_of
from annotations.core.progress import Cancelled
from annotations.domain.masking import masked
from annotations.domain.scoring.judging import Entity, entities_of
from annotations.domain.scoring.rewritten import counts_of
from annotations.domain.spans import Span as DomainSpan
from annotations.jobs.registry import load
from annotations.jobs.runner import Claim, HandBack
from annotations.models import Document
from annotations.scores.selectors import Compared, NotePair, Reference, compared, label_words, note_pairs
from annotations.scores.services.scoring import Asked, Words
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.driver import AllOfIt, Line, converse
from models_runtime.backends.llm.servers import Server
from models_runtime.core.llm import KeptVerdicts, room_of
from models_runtime.core.registry import CASE, JUDGE
from models_runtime.core.usage import Bill
from models_runtime.models import Judge, JudgedNote, Judgement, Judging

logger = logging.getLogger("deidreview.judges")
BATCH = 100


def run(claim: Claim) -> dict[str, Any]:
    """Ask for what no judge has answered yet. What was answered before a kill is kept."""
    judging = Judging.objects.select_related("project", "author", "gold_version").get(pk=claim.params["judging_id"])
    if judging.frozen_at is None:
        _freeze(claim, judging)
    judges = list(judging.judges.all())
    notes = JudgedNote.objects.filter(judging=judging).count()
    done = Judgement.objects.filter(judge__in=judges).count()
    claim.progress(done, notes * len(judges))
    _Panel(claim, judging, judges).ask()
    return _result(claim, judging, judges)


def ready_again(params: dict[str, Any]) -> None:
    """What failed is asked again, and judges that were stopped are asked too. In the caller's transaction."""
    judges = Judge.objects.filter(judging=params["judging_id"])
    Judgement.objects.filter(judge__in=judges, verdicts__isnull=True).delete()
    judges.update(stopped="")


def _result(claim: Claim, judging: Judging, judges: list[Judge]) -> dict[str, Any]:
    found = Judgement.objects.filter(judge__in=judges)
    answers, failed = found.exclude(verdicts__isnull=True).count(), found.filter(verdicts__isnull=True).count()
    stopped = [f"{judge.name}: {judge.stopped}" for judge in judges if judge.stopped]
    if not answers and (stopped or failed):
        first = found.filter(verdicts__isnull=True).values_list("error", flat=True).first()
        raise ServiceError(
            gettext("no judge answered. %(value)s") % {"value": "; ".join(stopped) or first}, code="judges"
        )
    claim.done = claim.total
    result = {"judging_id": judging.pk, "author": judging.author.name, "gold": judging.gold_version.number}
    return result | {"notes": judging.notes.count(), "answers": answers, "failed": failed, "stopped": stopped}


def _freeze(claim: Claim, judging: Judging) -> None:
    """Settle what is asked about: a reading that changes later changes nothing here. What a kill left is kept."""
    wish = Asked(Reference(judging.project, judging.gold_version), judging.author, judging.split)
    words = Words(wish, label_words(judging.project))
    notes = _drawn(judging, compared(wish.reference, wish.author, split=wish.split))
    there = set(JudgedNote.objects.filter(judging=judging).values_list("document_id", flat=True))
    left = replace(notes, readings={pk: found for pk, found in notes.readings.items() if pk not in there})
    rows: list[JudgedNote] = []
    for pair in note_pairs(wish.reference, wish.author, left):
        rows.append(_judged_note(judging, pair, words))
        if len(rows) == BATCH:
            _keep_notes(claim, rows)
            rows = []
    _keep_notes(claim, rows)
    with transaction.atomic():
        claim.fence()
        judging.frozen_at = timezone.now()
        judging.save(update_fields=["frozen_at"])


def _drawn(judging: Judging, notes: Compared) -> Compared:
    """At most so many notes, the same ones for whoever is judged by this version."""
    if judging.most_notes is None or judging.most_notes >= len(notes.readings):
        return notes
    drawn = sorted(notes.readings, key=lambda pk: key_of(judging.gold_version.content_hash, pk))
    return replace(notes, readings={pk: notes.readings[pk] for pk in drawn[: judging.most_notes]})


def _keep_notes(claim: Claim, rows: list[JudgedNote]) -> None:
    claim.check()
    with transaction.atomic():
        claim.fence()
        # An erased note has nothing to be judged.
        hold(claim.project_id)
        there = set(Document.objects.filter(pk__in=[row.document_id for row in rows]).values_list("pk", flat=True))
        JudgedNote.objects.bulk_create([row for row in rows if row.document_id in there])


def _judged_note(judging: Judging, pair: NotePair, words: Words) -> JudgedNote:
    gold, predicted = words(pair.gold), words(pair.predicted)
    tags = words.placeholder_of
    counted = counts_of(pair.text, masked(pair.text, predicted, tags), gold, tags)
    ours, theirs = ({(span.start, span.end, span.label) for span in side} for side in (gold, predicted))
    spans: dict[str, list[int]] = {}
    for at, places in enumerate((ours & theirs, ours - theirs, theirs - ours)):
        for *_, label in places:
            spans.setdefault(label, [0, 0, 0])[at] += 1
    return JudgedNote(
        judging=judging,
        document_id=pair.pk,
        entities=[list(entity) for entity in entities_of(gold, predicted)],
        hidden=sorted([span.start, span.end, span.label] for span in predicted),
        beside={
            "rewritten": {label: [one.gone, one.left, one.excess] for label, one in counted.items()},
            "spans": spans,
        },
    )


@dataclass
class _Asked:
    """A judge, with what answers for it once its turn has come, and what is not written yet."""

    judge: Judge
    asker: Any = None
    said: list[tuple[JudgedNote, Any]] = field(default_factory=list)
    stopped: str = ""


class _Panel:
    """All the judges over the notes that each has not judged."""

    def __init__(self, claim: Claim, judging: Judging, judges: list[Judge]) -> None:
        self._claim, self._judging = claim, judging
        self._all = [_Asked(judge) for judge in judges]

    def ask(self) -> None:
        """Verdicts are written every second. Where a judge can't go on, that is written, and the others go on."""
        try:
            with closing(converse(self._lines(), self._tick)) as results:
                for (asked, note), found in results:
                    self._hear(asked, note, found)
        except (Cancelled, HandBack):  # what was said until then counts
            self._write()
            raise
        finally:
            self._record()
        self._write()

    def _tick(self) -> None:
        if any(asked.said for asked in self._all):
            self._write()
        self._claim.check()

    def _lines(self) -> list[Line[tuple[_Asked, JudgedNote], Any]]:
        """One for each server; one for all models that are read in this process, which is to hold one at a time."""
        listed: dict[str, Server] = settings.LLM_SERVERS
        of_line: dict[str, list[_Asked]] = {}
        for asked in self._all:
            server = listed.get(asked.judge.server)
            of_line.setdefault("" if server and server.folder else asked.judge.server, []).append(asked)
        lines = []
        for name, panel in of_line.items():
            server = listed.get(name)
            at_once = server.at_once if server else 1
            room = room_of(server) if server else None
            lines.append(Line(self._talks(panel), at_once, room or AllOfIt(at_once)))
        return lines

    def _talks(self, panel: list[_Asked]) -> Iterator[tuple[tuple[_Asked, JudgedNote], Any, Any]]:
        for asked in panel:
            rows = JudgedNote.objects.filter(judging=self._judging).exclude(judgements__judge=asked.judge)
            for note in _by_id(rows.select_related("document")):
                if asked.stopped or not self._ready(asked):
                    break
                yield (asked, note), asked.asker.completion, asked.asker.judge(_case(note))

    def _ready(self, asked: _Asked) -> bool:
        if asked.asker is None:
            try:
                asked.asker = _asker(self._judging, asked.judge)
            except BackendError as error:
                self._stop(asked, error)
        return asked.asker is not None

    def _hear(self, asked: _Asked, note: JudgedNote, found: Any) -> None:
        """What a judge that was stopped leaves open is not held against its notes: it may be asked again."""
        if isinstance(found, BackendError) and (found.permanent or asked.stopped):
            self._stop(asked, found)
        else:
            asked.said.append((note, found))

    def _stop(self, asked: _Asked, error: BackendError) -> None:
        if not asked.stopped:
            logger.warning("judge %s of judging %s stopped", asked.judge.position, self._judging.pk)
            asked.stopped = str(error)[:300]

    def _record(self) -> None:
        """What was counted beside the answers: those kept from before."""
        for asked in self._all:
            if asked.asker is not None:
                asked.asker.meter.record()

    def _write(self) -> None:
        """All that was said since the last time."""
        self._record()
        claim = self._claim
        with transaction.atomic():
            claim.fence()
            hold(claim.project_id)
            for asked in self._all:
                _write(asked.judge, asked.said)
                if asked.stopped != asked.judge.stopped:
                    asked.judge.stopped = asked.stopped
                    asked.judge.save(update_fields=["stopped"])
            claim.advance(sum(len(asked.said) for asked in self._all))
        for asked in self._all:
            asked.said = []


def _by_id(rows: QuerySet[JudgedNote]) -> Iterator[JudgedNote]:
    """Some at a time, each read when it is needed: notes may be long, and many."""
    last = 0
    while some := list(rows.filter(pk__gt=last).order_by("pk")[:BATCH]):
        yield from some
        last = some[-1].pk


def _asker(judging: Judging, judge: Judge) -> Any:
    server = settings.LLM_SERVERS.get(judge.server)
    if server is None or judge.model not in server.models:
        raise BackendError(f"{judge.name} is not listed on this worker any more", permanent=True)
    bill = Bill(judge, server.price)
    return load(JUDGE)(
        server=server,
        model=judge.model,
        prompt=judging.prompt,
        placeholder_of=judging.placeholder_of,
        answers=KeptVerdicts(judging.project, bill),
        meter=bill,
    )


def _case(note: JudgedNote) -> Any:
    return load(CASE)(
        text=note.document.text,
        hidden=[DomainSpan(*place) for place in note.hidden],
        entities=[Entity(*entity) for entity in note.entities],
    )


def _write(judge: Judge, said: list[tuple[JudgedNote, Any]]) -> None:
    """A judge's verdicts, in the caller's fenced transaction. A note that was erased meanwhile has none."""
    there = set(JudgedNote.objects.filter(pk__in=[note.pk for note, _ in said]).values_list("pk", flat=True))
    Judgement.objects.bulk_create(
        Judgement(judge=judge, note=note, verdicts=None, error=str(one)[:300])
        if isinstance(one, BackendError)
        else Judgement(judge=judge, note=note, verdicts=one)
        for note, one in said
        if note.pk in there
    )
