"""What a bulk act would do, before it does anything: how much it decides, skips and leaves open."""

from collections import defaultdict
from dataclasses import dataclass, replace

from annotations.domain.conflicts import Candidate, Place, conflicting
from annotations.models import Author, BulkAct, Project, Span, User
from annotations.review.selectors.bulk_rules import Rule, open_of, skipped_of
from annotations.review.selectors.rivals import candidate_of
from annotations.review.selectors.settled import settled_among

# Conflicts are looked for among so many proposals at most: beyond that the outcome tells them.
MOST = 20_000
# So many notes in one question.
NOTES = 500


@dataclass(frozen=True, slots=True)
class Foreseen:
    """`open` proposals are named by the rule in notes that are not skipped; `conflicts` of them would stay open, None
    where there are too many to look; `skipped` lie in `notes` that already have gold."""

    open: int
    conflicts: int | None
    skipped: int
    notes: int

    @property
    def decided(self) -> int:
        return self.open - (self.conflicts or 0)


def foresee(rule: Rule, act: str, project: Project, user: User) -> Foreseen:
    found = open_of(rule, project, user).count()
    return Foreseen(found, _conflicts(rule, act, project, user, found), *skipped_of(rule, project, user))


def with_gold(rule: Rule, act: str, project: Project, user: User) -> Foreseen:
    """The same act with the notes that already have gold."""
    return foresee(replace(rule, with_gold=True), act, project, user)


def _conflicts(rule: Rule, act: str, project: Project, user: User, found: int) -> int | None:
    if act != BulkAct.Act.ACCEPT:
        return 0
    if found > MOST:
        return None
    columns = ("annotation_set__document", "pk", "start", "end", "label", "annotation_set", "provenance")
    candidates: dict[int, list[Candidate]] = defaultdict(list)
    for note, pk, start, end, label, reading, provenance in open_of(rule, project, user).values_list(*columns):
        candidates[note].append(candidate_of(pk, (start, end, label), reading, provenance, rule.to))
    count, documents = 0, list(candidates)
    for at in range(0, len(documents), NOTES):
        notes = documents[at : at + NOTES]
        gold, settled = _gold(project, notes), settled_among(project, notes)
        count += sum(len(conflicting(candidates[n], gold.get(n, ()), settled=n in settled)) for n in notes)
    return count


def _gold(project: Project, notes: list[int]) -> dict[int, list[Place]]:
    authors = Author.objects.filter(project=project, kind=Author.Kind.GOLD)
    rows = Span.objects.filter(annotation_set__author__in=authors, annotation_set__document__in=notes)
    found: dict[int, list[Place]] = defaultdict(list)
    for note, *place in rows.values_list("annotation_set__document", "start", "end", "label"):
        found[note].append((place[0], place[1], place[2]))
    return found
