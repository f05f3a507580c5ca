"""Accuracy and discarded entities of several judgings by label (Miranda et al. 2025, figure 2).

Figures are stored under a hash of their input, so that the list of judgings doesn't read all verdicts each time.
"""

from collections.abc import Sequence
from typing import Final, TypedDict

from django.db import transaction
from django.db.models import Count, Max

from annotations.core.locks import ErasedMeanwhile, erasures_of, unerased
from annotations.core.stored_figures import FigureKind, keep, kept_of, key_of
from annotations.models import Project
from annotations.scores.rules.judging import JudgingTally
from models_runtime.models import JudgedNote, Judging, Judgment
from models_runtime.refining.services.judging.results import note_verdicts

# Increase this number when a figure is computed in another way, so that stored figures are no longer used.
REVISION: Final = 1


class LabelDiscards(TypedDict):
    """Entities with a label, and how many of them were discarded."""

    label: str
    entities: int
    discarded: int


class Discards(TypedDict):
    """The figures of one judging, by the majority of its judges."""

    entities: int
    discarded: int
    accuracy: float | None
    labels: list[LabelDiscards]


DISCARDS: FigureKind[Discards] = FigureKind("judging-discards")


def discards_of(project: Project, judgings: Sequence[Judging]) -> dict[int, Discards]:
    """Return the figures of judgings with verdicts, by id; missing ones are computed and stored.

    Figures are not stored if notes were erased meanwhile.
    """
    begun = erasures_of(project.pk)
    keys = _keys(judgings)
    stored = kept_of(project, DISCARDS, keys.values())
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
    tally = JudgingTally(len(judges), judging.threshold, judging.counted_by)
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
            keep(project, DISCARDS, key, value)
    except ErasedMeanwhile:
        return
