"""Execute a judging: first store the notes and entities to judge, then ask the judges about each note.

Judges on different servers work at the same time, each with as many simultaneous requests as its server allows.
Judges on the same server work one after the other, so that a machine that can load only one model loads each once.
"""

import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext

from annotations.core.bulk import among, in_batches
from annotations.core.services import Canceled, ServiceError, hold
from annotations.core.stored_figures import key_of
from annotations.jobs.registry import load
from annotations.jobs.runner import Claim, HandBack
from annotations.models import Document, RewrittenNote
from annotations.scores.rules.judging import Entity, JudgedUnit, by_text, entities_of
from annotations.scores.rules.rewritten import counts_of
from annotations.scores.selectors import ComparedNotes, NotePair, Reference, compared, label_words, note_pairs
from annotations.scores.services.scoring import LabelMapper, ScoreRequest
from annotations.text.hashes import text_sha256
from annotations.text.spans import Span as DomainSpan
from annotations.text.spans import masked
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.driver import ServerQueue, converse
from models_runtime.backends.llm.servers import Server
from models_runtime.core.llm import Bill, KeptTexts, capacity_of
from models_runtime.models import Judge, JudgedNote, Judging, Judgment

logger = logging.getLogger("deidreview.judges")
BATCH = 100


def run(claim: Claim) -> dict[str, Any]:
    """Ask for all missing verdicts. Verdicts from before a kill are kept."""
    judging = Judging.objects.select_related("project", "author", "gold_version").get(pk=claim.params["judging_id"])
    if judging.frozen_at is None:
        _freeze(claim, judging)
    judges = list(judging.judges.all())
    notes = JudgedNote.objects.filter(judging=judging).count()
    done = Judgment.objects.filter(judge__in=judges).count()
    claim.progress(done, notes * len(judges))
    _Panel(claim, judging, judges).ask()
    return _result(claim, judging, judges)


def ready_again(params: dict[str, Any]) -> None:
    """Delete failed verdicts and restart stopped judges, in the caller's transaction."""
    judges = Judge.objects.filter(judging=params["judging_id"])
    Judgment.objects.filter(judge__in=judges, verdicts__isnull=True).delete()
    judges.update(stopped="")


def _result(claim: Claim, judging: Judging, judges: list[Judge]) -> dict[str, Any]:
    found = Judgment.objects.filter(judge__in=judges)
    answers, failed = found.exclude(verdicts__isnull=True).count(), found.filter(verdicts__isnull=True).count()
    stopped = [f"{judge.name}: {judge.stopped}" for judge in judges if judge.stopped]
    if not answers and (stopped or failed):
        first = found.filter(verdicts__isnull=True).values_list("error", flat=True).first()
        raise ServiceError(
            gettext("No judge answered. %(value)s") % {"value": "; ".join(stopped) or first}, code="judges"
        )
    claim.done = claim.total
    result = {"judging_id": judging.pk, "author": judging.author.name, "gold": judging.gold_version.number}
    return result | {"notes": judging.notes.count(), "answers": answers, "failed": failed, "stopped": stopped}


def _freeze(claim: Claim, judging: Judging) -> None:
    """Store the notes and entities to judge, so that later changes of annotations don't affect the judging.

    Notes stored before a kill are kept.
    """
    wanted = ScoreRequest(Reference(judging.project, judging.gold_version), judging.author, judging.split)
    mapper = LabelMapper(wanted, label_words(judging.project))
    notes = _drawn(judging, compared(wanted.reference, wanted.author, split=wanted.split))
    stored = set(JudgedNote.objects.filter(judging=judging).values_list("document_id", flat=True))
    missing = notes.only(notes.rows.exclude(document__in=among(stored)))
    rows: list[JudgedNote] = []
    for pair in note_pairs(wanted.reference, wanted.author, missing):
        rows.append(_judged_note(judging, pair, mapper, failed=pair.pk in missing.failed))
        if len(rows) == BATCH:
            _store_notes(claim, rows)
            rows = []
    _store_notes(claim, rows)
    with claim.fenced():
        judging.frozen_at = timezone.now()
        judging.save(update_fields=["frozen_at"])


def _drawn(judging: Judging, notes: ComparedNotes) -> ComparedNotes:
    """Draw at most `most_notes` notes, the same ones for all judgings of this gold version."""
    if judging.most_notes is None or judging.most_notes >= len(notes.notes):
        return notes
    by_hash = sorted(notes.notes, key=lambda pk: key_of(judging.gold_version.content_hash, pk))
    return notes.only(notes.rows.filter(document__in=among(by_hash[: judging.most_notes])))


def _store_notes(claim: Claim, rows: list[JudgedNote]) -> None:
    claim.check()
    with claim.fenced():
        # Notes that were erased meanwhile are not judged.
        hold(claim.project_id)
        present = set(Document.objects.filter(pk__in=[row.document_id for row in rows]).values_list("pk", flat=True))
        JudgedNote.objects.bulk_create([row for row in rows if row.document_id in present])


def _judged_note(judging: Judging, pair: NotePair, mapper: LabelMapper, *, failed: bool) -> JudgedNote:
    """A note to judge. A failed note counts as a note in which nothing was found, unless the model's text was kept."""
    gold, predicted = mapper(pair.gold), mapper(pair.predicted)
    tags = mapper.placeholder_of
    unanswered = failed and pair.rewritten in (None, pair.text)
    rewritten = None if unanswered else pair.rewritten
    shown = masked(pair.text, predicted, tags) if rewritten is None else rewritten
    counted = counts_of(pair.text, shown, gold, tags)
    in_gold, in_prediction = ({(span.start, span.end, span.label) for span in spans} for spans in (gold, predicted))
    spans: dict[str, list[int]] = {}
    for index, found in enumerate((in_gold & in_prediction, in_gold - in_prediction, in_prediction - in_gold)):
        for *_, label in found:
            spans.setdefault(label, [0, 0, 0])[index] += 1
    entities = entities_of(gold, predicted, judging.counted_by)
    if judging.unit == JudgedUnit.TEXT:
        entities = by_text(pair.text, entities)
    return JudgedNote(
        judging=judging,
        document_id=pair.pk,
        entities=[list(entity) for entity in entities],
        hidden=sorted([span.start, span.end, span.label] for span in predicted),
        beside={
            "rewritten": {label: [one["removed"], one["remaining"], one["extra"]] for label, one in counted.items()},
            "spans": spans,
            "unanswered": unanswered,
            "rewritten_sha256": "" if rewritten is None else text_sha256(rewritten),
        },
    )


@dataclass
class _Member:
    """A judge of the panel, its model once it is loaded, and its answers that are not stored yet."""

    judge: Judge
    model: Any = None
    answers: list[tuple[JudgedNote, Any]] = field(default_factory=list)
    stopped: str = ""


class _Panel:
    """All judges of a judging, with the notes that each has not judged yet."""

    def __init__(self, claim: Claim, judging: Judging, judges: list[Judge]) -> None:
        self._claim, self._judging = claim, judging
        self._members = [_Member(judge) for judge in judges]

    def ask(self) -> None:
        """Ask all judges and store their verdicts every second. If a judge stops, the other judges continue."""
        try:
            with closing(converse(self._lines(), self._tick)) as results:
                for (member, note), found in results:
                    self._receive(member, note, found)
        except (Canceled, HandBack):  # Verdicts received before the stop count.
            self._write()
            raise
        finally:
            self._record()
        self._write()

    def _tick(self) -> None:
        if any(member.answers for member in self._members):
            self._write()
        self._claim.check()

    def _lines(self) -> list[ServerQueue[tuple[_Member, JudgedNote], Any]]:
        """Make one line per server, and one for all models in folders, because this process loads one at a time."""
        listed: dict[str, Server] = settings.LLM_SERVERS
        of_line: dict[str, list[_Member]] = {}
        for member in self._members:
            server = listed.get(member.judge.server)
            of_line.setdefault("" if server and server.folder else member.judge.server, []).append(member)
        lines = []
        for name, members in of_line.items():
            server = listed.get(name)
            at_once = server.at_once if server else 1
            capacity = capacity_of(server) if server else None
            lines.append(ServerQueue(self._talks(members), at_once, capacity))
        return lines

    def _talks(self, members: list[_Member]) -> Iterator[tuple[tuple[_Member, JudgedNote], Any, Any]]:
        for member in members:
            rows = JudgedNote.objects.filter(judging=self._judging).exclude(judgments__judge=member.judge)
            for note in chain.from_iterable(in_batches(rows.select_related("document"), BATCH)):
                if member.stopped or not self._ready(member):
                    break
                yield (member, note), member.model.completion, self._conversation(member, note)

    def _conversation(self, member: _Member, note: JudgedNote) -> Any:
        """The conversation about a note. Its error, if any, is that of the note alone."""
        case = _case(self._judging, note)
        return (yield from member.model.judge(case))

    def _ready(self, member: _Member) -> bool:
        if member.model is None:
            try:
                member.model = _model(self._judging, member.judge)
            except BackendError as error:
                self._stop(member, error)
        return member.model is not None

    def _receive(self, member: _Member, note: JudgedNote, found: Any) -> None:
        """Collect an answer. If the judge has stopped, its open notes don't count as failed, so they can be retried."""
        if isinstance(found, BackendError) and (found.permanent or member.stopped):
            self._stop(member, found)
        else:
            member.answers.append((note, found))

    def _stop(self, member: _Member, error: BackendError) -> None:
        if not member.stopped:
            logger.warning("Judge %s of judging %s stopped", member.judge.position, self._judging.pk)
            member.stopped = str(error)[:300]

    def _record(self) -> None:
        """Record usage without new answers, such as answers from the cache."""
        for member in self._members:
            if member.model is not None:
                member.model.meter.record()

    def _write(self) -> None:
        """Store all answers since the last call."""
        self._record()
        claim = self._claim
        with claim.fenced():
            hold(claim.project_id)
            for member in self._members:
                _write(member.judge, member.answers)
                if member.stopped != member.judge.stopped:
                    member.judge.stopped = member.stopped
                    member.judge.save(update_fields=["stopped"])
            claim.advance(sum(len(member.answers) for member in self._members))
        for member in self._members:
            member.answers = []


def _model(judging: Judging, judge: Judge) -> Any:
    server = settings.LLM_SERVERS.get(judge.server)
    if server is None or judge.model not in server.models:
        raise BackendError(f"{judge.name} is no longer configured on this worker.")
    bill = Bill(judge, server.price)
    return load("models_runtime.backends.llm.judging.LlmJudge")(
        server=server,
        model=judge.model,
        prompt=judging.prompt,
        placeholder_of=judging.placeholder_of,
        answers=KeptTexts(judging.project, bill),
        meter=bill,
        rules=judging.counted_by,
        temperature=judging.temperature,
        sample=str(judging.pk),
    )


def _case(judging: Judging, note: JudgedNote) -> Any:
    """What a judge sees of a note. Raises BackendError if the model's text of it changed since the judging began."""
    return load("models_runtime.backends.llm.judging.Case")(
        text=note.document.text,
        hidden=[DomainSpan(*bounds) for bounds in note.hidden],
        entities=[Entity(*entity) for entity in note.entities],
        rewritten=_rewritten(judging, note),
        answered=not note.beside.get("unanswered"),
    )


def _rewritten(judging: Judging, note: JudgedNote) -> str | None:
    """The note as the judged model rewrote it; None if the model rewrites no notes."""
    wanted = note.beside.get("rewritten_sha256")
    if not wanted:
        return None
    kept = RewrittenNote.objects.filter(author=judging.author_id, document=note.document_id).first()
    text = kept.text if kept else note.document.text
    if text_sha256(text) != wanted:
        raise BackendError("The run rewrote this note again. Start a new judging.", permanent=False)
    return text


def _write(judge: Judge, answers: list[tuple[JudgedNote, Any]]) -> None:
    """Store a judge's verdicts in the caller's fenced transaction, except for notes that were erased meanwhile."""
    present = set(JudgedNote.objects.filter(pk__in=[note.pk for note, _ in answers]).values_list("pk", flat=True))
    Judgment.objects.bulk_create(
        Judgment(judge=judge, note=note, verdicts=None, error=str(one)[:300])
        if isinstance(one, BackendError)
        else Judgment(judge=judge, note=note, verdicts=one)
        for note, one in answers
        if note.pk in present
    )
