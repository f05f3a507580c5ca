"""The preview of a bulk act: how many suggestions it would decide, skip and leave open."""

from collections import defaultdict
from dataclasses import dataclass, replace

from annotations.models import Author, AuthorKind, BulkAct, Project, Span, User
from annotations.review.rules.conflicts import Candidate, LabeledBounds, conflicting
from annotations.review.selectors.bulk_rules import BulkRule, open_and_doubtful, open_of, skipped_of
from annotations.review.selectors.finished_gold import with_finished_gold
from annotations.review.selectors.merged_lists import candidate_of

# Largest number of suggestions for which the preview counts conflicts. Above it, only the result counts them.
MOST = 20_000
# Notes per query.
NOTES = 500


@dataclass(frozen=True, slots=True)
class BulkPreview:
    """Counts of the suggestions that match a rule.

    `open`: open suggestions that are not skipped. `conflicts`: how many of these would stay open, or None if there are
    too many to check. `skipped`: open suggestions in the `notes` that already have gold. `doubtful`: doubtful open
    suggestions in other notes, which are skipped too.
    """

    open: int
    conflicts: int | None
    skipped: int
    notes: int
    doubtful: int

    @property
    def decided(self) -> int:
        return self.open - (self.conflicts or 0)


def preview(rule: BulkRule, act: str, project: Project, user: User) -> BulkPreview:
    found, doubtful = open_and_doubtful(rule, project, user)
    skipped, notes = skipped_of(rule, project, user)
    conflicts = _conflicts(rule, act, project, user, found)
    return BulkPreview(found, conflicts, skipped, notes, doubtful)


def with_gold(rule: BulkRule, act: str, project: Project, user: User) -> BulkPreview:
    """The preview of the same act if it includes the notes that already have gold."""
    return preview(replace(rule, with_gold=True), act, project, user)


def with_doubtful(rule: BulkRule, act: str, project: Project, user: User) -> BulkPreview:
    """The preview of the same act if it includes doubtful suggestions."""
    return preview(replace(rule, with_doubtful=True), act, project, user)


def _conflicts(rule: BulkRule, act: str, project: Project, user: User, found: int) -> int | None:
    if act != BulkAct.Act.ACCEPT:
        return 0
    if found > MOST:
        return None
    columns = ("annotation_set__document", "pk", "start", "end", "label", "annotation_set", "provenance")
    candidates: dict[int, list[Candidate]] = defaultdict(list)
    for note, pk, start, end, label, annotation_set, provenance in open_of(rule, project, user).values_list(*columns):
        candidates[note].append(candidate_of(pk, (start, end, label), annotation_set, provenance, rule.to))
    count, documents = 0, list(candidates)
    for at in range(0, len(documents), NOTES):
        notes = documents[at : at + NOTES]
        gold, finished = _gold(project, notes), with_finished_gold(project, notes)
        count += sum(len(conflicting(candidates[n], gold.get(n, ()), has_finished_gold=n in finished)) for n in notes)
    return count


def _gold(project: Project, notes: list[int]) -> dict[int, list[LabeledBounds]]:
    authors = Author.objects.filter(project=project, kind=AuthorKind.GOLD)
    rows = Span.objects.filter(annotation_set__author__in=authors, annotation_set__document__in=notes)
    found: dict[int, list[LabeledBounds]] = defaultdict(list)
    for note, start, end, label in rows.values_list("annotation_set__document", "start", "end", "label"):
        found[note].append((start, end, label))
    return found
