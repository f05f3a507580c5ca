"""Keep the comparisons of a project's notes up to date: only notes whose annotations changed are compared again."""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Subquery

from annotations.agreement.rules import disagreement
from annotations.agreement.selectors.disagreements import spans_of_sets, submitted_sets
from annotations.core.bulk import insert_objects
from annotations.core.services import hold
from annotations.jobs.runner import Claim
from annotations.jobs.services.queue import enqueue
from annotations.models import Adjudication, Comparison, Difference, Document, Job, JobState, Project, Stale, User
from annotations.text.spans import Span as DomainSpan

BATCH = 100
# Requests compare at most so many notes, for about so many seconds; a job compares more.
AT_ONCE, AT_ONCE_SECONDS = 50, 0.15
Scope = Difference.Scope


@dataclass(slots=True)
class _Note:
    """A note's submitted sets by author id; `counted` are the authors of the blind and unseeded sets."""

    text: str
    annotation_sets: dict[str, list[DomainSpan]]
    counted: set[str] = field(default_factory=set)
    last_at: datetime | None = None


def waiting(project: Project) -> int:
    """The number of notes that are to be compared, for the first time or again."""
    return _stale(project).count()


def _stale(project: Project) -> "QuerySet[Stale]":
    return Stale.objects.filter(Exists(Document.objects.filter(project=project, pk=OuterRef("document_id"))))


def bring_up_to_date(project: Project, *, seconds: float | None = None) -> int:
    """Compare the waiting notes, for about `seconds` (None: all). Returns the number of notes that still wait."""
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        ids = list(_stale(project).order_by("document_id").values_list("document_id", flat=True)[:BATCH])
        if not ids:
            return 0
        _compare(project, ids)
        if until is not None and time.monotonic() >= until:
            return waiting(project)


def compare_few(project: Project) -> int:
    """Compare the waiting notes if they are few. Return the number of notes that still wait, for `start_comparing`."""
    left = waiting(project)
    return bring_up_to_date(project, seconds=AT_ONCE_SECONDS) if 0 < left <= AT_ONCE else left


def start_comparing(*, project: Project, actor: User) -> Job:
    """The job that compares the waiting notes; the last one if it has not ended, or failed and can be restarted."""
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        made = Job.objects.filter(project=project, kind="comparison")
        last = made.order_by("-id").first()
        if last is not None and last.state != JobState.DONE:
            return last
        return enqueue(kind="comparison", project=project, params={}, key=f"comparison-{made.count()}", actor=actor)


def run(claim: Claim) -> dict[str, int]:
    """Compare the waiting notes as a job. A repeated job compares what is left."""
    project = Project.objects.get(pk=claim.project_id)
    total = waiting(project)
    while left := bring_up_to_date(project, seconds=1.0):
        claim.progress(max(0, total - left), total)
    claim.progress(total, total)
    return {"notes": total}


def _compare(project: Project, ids: Sequence[int]) -> None:
    """Compare some notes and store the results.

    The `Stale` rows are deleted first. A set that is submitted meanwhile waits for this transaction, and then adds its
    note's row again.
    """
    with transaction.atomic():
        hold(project.pk)
        Stale.objects.filter(document_id__in=ids).delete()
        notes = _read(ids)
        Difference.objects.filter(document_id__in=ids).delete()
        Comparison.objects.filter(document_id__in=ids).delete()
        comparisons, differences = [], []
        for pk, note in notes.items():
            found = disagreement.locations(note.annotation_sets)
            comparisons.append(_comparison(project, pk, note, found))
            differences += _differences(project, pk, note, found)
        Comparison.objects.bulk_create(comparisons)
        known = Comparison.objects.filter(document=OuterRef("document"))
        Adjudication.objects.filter(document__in=ids, heard="").update(heard=Subquery(known.values("heard")[:1]))
        insert_objects(Difference, differences)


def _read(ids: Sequence[int]) -> dict[int, _Note]:
    sets = submitted_sets(ids)
    texts = dict(Document.objects.filter(pk__in=ids).values_list("pk", "text"))
    notes = {pk: _Note(texts.get(pk, ""), by_author) for pk, by_author in spans_of_sets(sets).items()}
    counted = sets.filter(blind=True, seeded=False).values_list("document_id", "author_id", "submitted_at")
    for pk, author, at in counted:
        notes[pk].counted.add(str(author))
        notes[pk].last_at = max(filter(None, [notes[pk].last_at, at]), default=None)
    return notes


def _comparison(project: Project, pk: int, note: _Note, found: Sequence[disagreement.Location]) -> Comparison:
    disputed = sum(not location.unanimous for location in found)
    return Comparison(
        document_id=pk,
        project=project,
        annotators=len(note.annotation_sets),
        authors=_listed(sorted(note.annotation_sets, key=int)),
        blind_annotators=len(note.counted),
        disputed=disputed,
        tied=sum(not each.unanimous and disagreement.majority_version(note.text, each) is None for each in found),
        agreed=len(found) - disputed,
        agreement=disagreement.marked_agreement(note.text, found),
        heard=annotation_sets_hash(note.annotation_sets),
        last_at=note.last_at,
    )


def annotation_sets_hash(annotation_sets: dict[str, list[DomainSpan]]) -> str:
    """A hash of all spans of a note's sets with their authors (author ids, code points, label ids, attributes)."""
    digest = hashlib.sha256()
    for author in sorted(annotation_sets):
        spans = ";".join(_hashed(span) for span in sorted(annotation_sets[author]))
        digest.update(f"{author}:{spans}\n".encode())
    return digest.hexdigest()


def _hashed(span: DomainSpan) -> str:
    """A span as it enters the hash; without attributes as before spans had any."""
    return f"{span.start},{span.end},{span.label}" + (f",{json.dumps(span.attributes)}" if span.attributes else "")


def _differences(project: Project, pk: int, note: _Note, found: Sequence[disagreement.Location]) -> list[Difference]:
    if note.counted == set(note.annotation_sets):
        return [_difference(project, pk, note, location, Scope.EITHER) for location in found if not location.unanimous]
    blind = {author: spans for author, spans in note.annotation_sets.items() if author in note.counted}
    return [
        _difference(project, pk, note, location, scope)
        for scope, some in ((Scope.ALL, found), (Scope.BLIND, disagreement.locations(blind)))
        for location in some
        if not location.unanimous
    ]


def _difference(project: Project, pk: int, note: _Note, location: disagreement.Location, scope: Scope) -> Difference:
    pairs = disagreement.kinds_by_pair(location)
    return Difference(
        project=project,
        document_id=pk,
        start=location.start,
        end=location.end,
        scope=scope,
        kinds=_listed(sorted(set(pairs.values()))),
        tokens=disagreement.tokens_differ(note.text, location),
        labels=_listed(sorted(disagreement.disputed_labels(location), key=int)),
        pairs=_listed([key for pair, kind in pairs.items() for key in _pair_keys(pair, kind)]),
    )


def _pair_keys(pair: tuple[str, str], kind: str) -> tuple[str, str]:
    low, high = sorted(pair, key=int)
    return f"{low}-{high}", f"{low}-{high}:{kind}"


def _listed(values: Sequence[str]) -> str:
    return f",{','.join(values)}," if values else ""
