"""Results of judgings: figures by judge, by majority and by exact counts, and the entities behind them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from django.db import transaction
from django.db.models import Count, Max

from annotations.core.authors import origin_of
from annotations.core.bulk import in_batches
from annotations.core.services import ErasedMeanwhile, erasures_of, unerased
from annotations.core.stored_figures import FigureKind, cache_value, cached_values, key_of
from annotations.models import GoldVersionNote, JobState, Project
from annotations.scores.rules import judging as rules
from annotations.scores.rules.intervals import FEW_NOTES, few_notes
from annotations.scores.rules.rates import Rates
from models_runtime.models import Judge, JudgedNote, Judging, Judgment
from models_runtime.runs.services.llm import usage_of_judge

BATCH: Final = 500
_ASKED: Final = ("rules", "unit", "temperature", "threshold", "language", "prompt_version")
SCORES: Final = ("rewritten", "spans")
# Groups of entities: without a majority, by the majority's verdict, and correctly hidden although not in gold.
BEYOND: Final = "beyond"
KINDS: Final = (rules.DISCARDED, "FN", "FP", BEYOND, "TP")


class NoteVerdicts(NamedTuple):
    """A note with the judges' verdicts, and its counts for the exact scores."""

    document: int
    judged: rules.JudgedEntities
    counts: dict[str, dict[str, list[int]]]
    unanswered: bool = False


def note_verdicts(judging: Judging, judges: Sequence[Judge]) -> Iterator[NoteVerdicts]:
    """Yield the notes by id, reading BATCH at a time."""
    index = {judge.pk: at for at, judge in enumerate(judges)}
    rows = JudgedNote.objects.filter(judging=judging).values_list("pk", "document_id", "entities", "beside")
    for batch in in_batches(rows, BATCH):
        answers: dict[int, list[list[rules.Judgement | None] | None]] = {pk: [None] * len(judges) for pk, *_ in batch}
        found = Judgment.objects.filter(judge__in=index, note__in=answers).exclude(verdicts__isnull=True).order_by()
        for note, judge, verdicts in found.values_list("note", "judge", "verdicts"):
            answers[note][index[judge]] = [rules.Judgement(one) if one else None for one in verdicts or ()]
        for pk, document, entities, counts in batch:
            judged = rules.JudgedEntities([rules.Entity(*one) for one in entities], answers[pk])
            yield NoteVerdicts(document, judged, counts, bool(counts.get("unanswered")))


def result_of(judging: Judging) -> dict[str, Any]:
    """Return everything that the page shows and the command prints. The exact scores cover the judged notes only.

    `few_notes` is the interval of the F1 of exact spans on few notes. `unanswered` counts notes without a usable answer
    of the judged model, in which nothing was found. `own_gold_spans` counts the gold spans that were
    copied from the judged author.
    """
    judges = list(judging.judges.all())
    tally = rules.JudgingTally(len(judges), judging.threshold, judging.counted_by)
    exact: dict[str, dict[str, Counter[str]]] = {score: {} for score in SCORES}
    notes: list[int] = []
    spans: list[Rates] = []
    unanswered = 0
    for note in note_verdicts(judging, judges):
        if tally.add(note.judged) is None:
            continue
        notes.append(note.document)
        unanswered += note.unanswered
        if len(spans) < FEW_NOTES:
            spans.append(_exact_rates(note.counts["spans"]))
        for score in SCORES:
            for label, counts in note.counts[score].items():
                exact[score].setdefault(label, Counter()).update(dict(zip(rules.Judgement, counts, strict=True)))
    order = [code for code, _ in judging.labels]
    found = tally.as_dict(order)
    failed = Judgment.objects.filter(judge__in=judges, verdicts__isnull=True)
    failures = Counter(failed.values_list("judge", flat=True))
    return {
        "judging": judging.pk,
        "author": judging.author.name,
        "author_kind": judging.author.kind,
        "gold": judging.gold_version.number,
        "content_hash": judging.gold_version.content_hash,
        "split": judging.split or None,
        **{name: getattr(judging, name) for name in _ASKED},
        "state": judging.job.state if judging.job else JobState.CANCELED,
        "few_notes": few_notes(spans),
        "own_gold_spans": _copied(judging, notes),
        "unanswered": unanswered,
        "merged": judging.author.merged_from is not None,
        **found,
        "judges": [
            {"judge": judge.name, "stopped": judge.stopped or None, "failed_notes": failures[judge.pk]}
            | figures
            | {"usage": usage_of_judge(judge).as_dict()}
            for judge, figures in zip(judges, found["judges"], strict=True)
        ],
        **{
            score: rules.figures_by_label(counted, [code for code in order if code in counted])
            for score, counted in exact.items()
        },
    }


def _exact_rates(counts: dict[str, list[int]]) -> Rates:
    """The counts of exact spans of one note, over all labels."""
    found: Counter[str] = Counter()
    for each in counts.values():
        found.update(dict(zip(rules.Judgement, each, strict=True)))
    right = found[rules.Judgement.TP]
    return Rates.paired(right, right + found[rules.Judgement.FP], right + found[rules.Judgement.FN])


def _copied(judging: Judging, notes: Sequence[int]) -> int:
    """Count the gold spans of these notes that were copied from the judged author."""
    origin, own = origin_of(judging.author), 0
    for at in range(0, len(notes), BATCH):
        rows = GoldVersionNote.objects.filter(version=judging.gold_version_id, document__in=notes[at : at + BATCH])
        own += sum(origin.gave(made) for spans in rows.values_list("spans", flat=True) for *_, made in spans)
    return own


class JudgedEntity(NamedTuple):
    """An entity with each judge's verdict: None without a verdict, "" without an answer on the note."""

    document: int
    entity: rules.Entity
    verdicts: tuple[str | None, ...]
    verdict: rules.Judgement | None


def row_of_entity(one: JudgedEntity) -> list[Any]:
    """The row of an entity, for its sentence."""
    return [one.document, "", list(one.entity[:3]), None]


def judged_entities(judging: Judging, kind: str) -> list[JudgedEntity]:
    """List the entities of a group (KINDS) by note. Raises LookupError for an unknown group."""
    if kind not in KINDS:
        raise LookupError(f"There is no group “{kind}”. Choose one of: {', '.join(KINDS)}.")
    found = []
    for note in note_verdicts(judging, list(judging.judges.all())):
        if not note.judged.answered:
            continue
        for at, entity in enumerate(note.judged.entities):
            verdict = note.judged.verdict(at, judging.threshold, judging.counted_by)
            if kind == rules.DISCARDED:
                fits = verdict is None
            elif kind == BEYOND:
                fits = verdict == rules.Judgement.TP and not entity.gold
            else:
                fits = verdict == kind
            if fits:
                verdicts = tuple("" if answer is None else answer[at] for answer in note.judged.answers)
                found.append(JudgedEntity(note.document, entity, verdicts, verdict))
    return found


# Accuracy and discarded entities of several judgings by label (Miranda et al. 2025, figure 2).
#
# Figures are stored under a hash of their input, so that the list of judgings doesn't read all verdicts each time.


# Increase this number when a figure is computed in another way, so that stored figures are no longer used.
REVISION: Final = 1


Discards = dict[str, Any]
"""The entities of a judging, how many were discarded, and the accuracy by the majority; and both counts by label."""
DISCARDS: FigureKind[Discards] = FigureKind("judging-discards")


def discards_of(project: Project, judgings: Sequence[Judging]) -> dict[int, Discards]:
    """Return the figures of judgings with verdicts, by id; missing ones are computed and stored.

    Figures are not stored if notes were erased meanwhile.
    """
    begun = erasures_of(project.pk)
    keys = _keys(judgings)
    stored = cached_values(project, DISCARDS, keys.values())
    found: dict[int, Discards] = {}
    for judging in judgings:
        key = keys.get(judging.pk)
        if key is None:
            continue
        if key not in stored:
            stored[key] = _computed(judging)
            _store(project, begun, key, stored[key])
        found[judging.pk] = stored[key]
    return found


def _keys(judgings: Sequence[Judging]) -> dict[int, str]:
    """Hashes of what the figures depend on, by judging; judgings without verdicts are left out.

    Verdicts are added and deleted, but never changed.
    """
    notes = JudgedNote.objects.filter(judging__in=judgings).order_by()
    answers = Judgment.objects.filter(judge__judging__in=judgings).exclude(verdicts__isnull=True).order_by()
    sizes = dict(notes.values_list("judging").annotate(n=Count("pk")))
    counted = {
        pk: (n, last) for pk, n, last in answers.values_list("judge__judging").annotate(n=Count("pk"), last=Max("pk"))
    }
    return {
        one.pk: key_of(REVISION, one.pk, one.rules, one.unit, one.threshold, one.labels, sizes[one.pk], counted[one.pk])
        for one in judgings
        if one.pk in counted and one.pk in sizes
    }


def _computed(judging: Judging) -> Discards:
    judges = list(judging.judges.all())
    tally = rules.JudgingTally(len(judges), judging.threshold, judging.counted_by)
    for note in note_verdicts(judging, judges):
        tally.add(note.judged)
    figures = tally.as_dict([code for code, _ in judging.labels])
    return {
        "entities": figures["entities"],
        "discarded": figures["discarded"],
        "accuracy": figures["majority"]["micro"]["accuracy"],
        "labels": [
            {"label": row["label"], "entities": row["entities"], "discarded": row["discarded"]}
            for row in figures["majority"]["labels"]
        ],
    }


def _store(project: Project, begun: int, key: str, value: Discards) -> None:
    try:
        with transaction.atomic():
            unerased(project.pk, begun)
            cache_value(project, DISCARDS, key, value)
    except ErasedMeanwhile:
        return
