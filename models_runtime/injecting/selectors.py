"""What an injection reads: the project's labels, the frozen gold, and the errors that were drawn."""

import math
from collections import defaultdict
from collections.abc import Sequence

from annotations.domain.injecting.injection import Injection, Strategy
from annotations.domain.injecting.rules import Labels
from annotations.domain.redaction.kinds import Kind
from annotations.domain.spans import Span
from annotations.known.selectors.labels import kinds_of_labels
from annotations.models import GoldVersion, GoldVersionNote, Project
from annotations.scores.selectors import label_words
from models_runtime.models import InjectedError, InjectedRun


def wanted_errors(run: InjectedRun) -> int:
    """How many errors to draw: at least one."""
    return max(1, math.floor(run.rate * run.gold_version.span_count + 0.5))


def labels_for(project: Project) -> Labels:
    """What the project's labels stand for. Of several labels of one kind, the rules write the first."""
    kinds = kinds_of_labels(project)
    codes: dict[Kind, str] = {}
    for code, kind in kinds.items():
        codes.setdefault(kind, code)
    return Labels(kinds, codes)


def frozen_gold(version: GoldVersion, notes: Sequence[int]) -> dict[int, list[Span]]:
    """The version's spans of these notes, with today's label codes for merged labels."""
    merged = label_words(version.project).merged
    rows = GoldVersionNote.objects.filter(version=version, document__in=notes)
    return {
        note: sorted({Span(start, end, merged.get(code, code)) for start, end, code, *_ in spans})
        for note, spans in rows.values_list("document_id", "spans")
    }


def errors_in(row: InjectedRun, notes: Sequence[int]) -> dict[int, list[Injection]]:
    """The injected errors of these notes, by note; notes without one are missing."""
    found: defaultdict[int, list[Injection]] = defaultdict(list)
    rows = InjectedError.objects.filter(run=row, document__in=notes).order_by("document", "start")
    for note, start, end, label, was, rule, strategy in rows.values_list(
        "document_id", "start", "end", "label", "was", "rule", "strategy"
    ):
        found[note].append(Injection(start, end, label, was, rule, Strategy(strategy)))
    return dict(found)
