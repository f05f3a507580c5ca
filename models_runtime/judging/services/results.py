"""What judges said: figures by judge and by majority beside the deterministic ones, and the places behind them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from annotations.domain.scoring.judging import (
    DISCARDED,
    Entity,
    Judged,
    JudgingTally,
    Verdict,
    figures_of,
    settled,
)
from annotations.models import Job
from models_runtime.models import Judge, JudgedNote, Judgement, Judging
from models_runtime.runs.services.llm import usage_of_judge

BATCH: Final = 500
SCORES: Final = ("rewritten", "spans")
# Kinds of places: what was not settled, verdicts of the majority, and hidden places that gold has not.
BEYOND: Final = "beyond"
KINDS: Final = (DISCARDED, "FN", "FP", BEYOND, "TP")


class NoteSaid(NamedTuple):
    """A note with what was said of it, and its counts of the deterministic scores."""

    document: int
    judged: Judged
    beside: dict[str, dict[str, list[int]]]


def notes_said(judging: Judging, judges: Sequence[Judge]) -> Iterator[NoteSaid]:
    """Note by note in order of id, BATCH at a time."""
    place = {judge.pk: at for at, judge in enumerate(judges)}
    last = 0
    while True:
        rows = JudgedNote.objects.filter(judging=judging, pk__gt=last).order_by("pk")
        batch = list(rows.values_list("pk", "document_id", "entities", "beside")[:BATCH])
        if not batch:
            return
        last = batch[-1][0]
        answers: dict[int, list[list[Verdict | None] | None]] = {pk: [None] * len(judges) for pk, *_ in batch}
        said = Judgement.objects.filter(judge__in=place, note__in=answers).exclude(verdicts__isnull=True).order_by()
        for note, judge, verdicts in said.values_list("note", "judge", "verdicts"):
            answers[note][place[judge]] = [Verdict(one) if one else None for one in verdicts or ()]
        for pk, document, entities, beside in batch:
            yield NoteSaid(document, Judged([Entity(*one) for one in entities], answers[pk]), beside)


def result_of(judging: Judging) -> dict[str, Any]:
    """Everything that the page shows and the command prints. The deterministic figures are of the judged notes."""
    judges = list(judging.judges.all())
    tally = JudgingTally(len(judges), judging.threshold)
    beside: dict[str, dict[str, Counter[str]]] = {score: {} for score in SCORES}
    for note in notes_said(judging, judges):
        if tally.add(note.judged) is None:
            continue
        for score in SCORES:
            for label, counts in note.beside[score].items():
                beside[score].setdefault(label, Counter()).update(dict(zip(Verdict, counts, strict=True)))
    order = [code for code, _ in judging.labels]
    found = tally.as_dict(order)
    failed = Judgement.objects.filter(judge__in=judges, verdicts__isnull=True)
    failures = Counter(failed.values_list("judge", flat=True))
    return {
        "judging": judging.pk,
        "author": judging.author.name,
        "author_kind": judging.author.kind,
        "gold": judging.gold_version.number,
        "content_hash": judging.gold_version.content_hash,
        "split": judging.split or None,
        "threshold": judging.threshold,
        "language": judging.language,
        "prompt_version": judging.prompt_version,
        "state": judging.job.state if judging.job else Job.State.CANCELLED,
        **found,
        "judges": [
            {"judge": judge.name, "stopped": judge.stopped or None, "failed_notes": failures[judge.pk]}
            | figures
            | {"usage": usage_of_judge(judge).as_dict()}
            for judge, figures in zip(judges, found["judges"], strict=True)
        ],
        **{score: _beside(beside[score], order) for score in SCORES},
    }


def _beside(counted: dict[str, Counter[str]], order: Sequence[str]) -> dict[str, Any]:
    labels = [label for label in order if label in counted]
    return {
        "micro": figures_of(sum(counted.values(), Counter())),
        "labels": [{"label": label} | figures_of(counted[label]) for label in labels],
    }


class Place(NamedTuple):
    """An entity with what each judge said: a verdict, None for silence, "" where it has no answer on the note."""

    document: int
    entity: Entity
    said: tuple[str | None, ...]
    verdict: Verdict | None


def places_of(judging: Judging, kind: str) -> list[Place]:
    """The entities of a kind (KINDS), note by note. Raises LookupError for a kind that isn't."""
    if kind not in KINDS:
        raise LookupError(f"there are: {', '.join(KINDS)}")
    found = []
    for note in notes_said(judging, list(judging.judges.all())):
        if not note.judged.answered:
            continue
        for at, entity in enumerate(note.judged.entities):
            verdict = settled(note.judged.votes(at), gold=entity.gold, threshold=judging.threshold)
            if kind == DISCARDED:
                fits = verdict is None
            elif kind == BEYOND:
                fits = verdict == Verdict.TP and not entity.gold
            else:
                fits = verdict == kind
            if fits:
                said = tuple("" if answer is None else answer[at] for answer in note.judged.answers)
                found.append(Place(note.document, entity, said, verdict))
    return found
