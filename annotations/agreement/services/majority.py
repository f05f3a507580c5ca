"""A majority vote over many notes at once, and its undo.

Each note is decided as an adjudicator would decide it, many in one transaction: locations where all annotators agree
or more than half of them (rules.disagreement.majority) are decided, and ties stay open. A note without ties is finished
and becomes gold. Notes that have gold, an open review or an adjudication are left alone, and so are notes that an
assigned annotator has not submitted. A job that was stopped continues with the remaining notes.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from annotations import models
from annotations.agreement import events
from annotations.agreement.rules.disagreement import majority_version
from annotations.agreement.rules.units import Item, items
from annotations.agreement.selectors.adjudications import free_notes, preview
from annotations.agreement.selectors.desk import LEAST_ANNOTATORS, submitted_in
from annotations.agreement.services.comparing import annotation_sets_hash, bring_up_to_date
from annotations.agreement.services.deciding import adjudicated_author, whose
from annotations.agreement.services.plan import resolution_of, row_for, rows_of
from annotations.core.bulk import batched, insert_objects
from annotations.core.services import Fence, Progress, ServiceError, no_fence, silent
from annotations.gold.services.making import make_new_golds, withdraw_golds
from annotations.jobs.runner import Claim
from annotations.jobs.services.queue import act_of, begin_undo, check_ended, do_batches, end, job_of, start_job
from annotations.text.spans import Span as DomainSpan
from annotations.text.spans import crowd_in

Choice = models.Resolution.Choice
State = models.ActState
ACT: Final = "majority-of-notes"
BATCH: Final = 50
"""Notes in one transaction, which others wait for on SQLite."""
ATTEMPTS: Final = 5
RECENT: Final = 20
COUNTS: Final = (
    *("gold", "spans", "tied", "ties", "left", "has_gold", "in_review", "begun", "pending", "undone", "kept"),
)


def run_majority(
    *, act: models.MajorityAct, progress: Progress = silent, fence: Fence = no_fence
) -> events.MajorityCounts:
    """Decide the notes of the act, and make those without ties gold. Raises ServiceError `state` if it has ended."""
    project = act.project
    bring_up_to_date(project)
    begun = set(act.notes.values_list("document_id", flat=True))
    todo = [pk for pk in free_notes(project) if pk not in begun]
    # Somebody may begin one of the notes at the same moment. The next attempt leaves it to them.
    do_batches(
        act, State.WORKING, len(begun), batched(todo, BATCH), partial(decide_batch, act), progress, fence, ATTEMPTS
    )
    act.refresh_from_db()
    left = max(0, act.planned - act.gold - act.tied)
    return _end(act, State.DONE, act.user, left=left)


# ── Undo ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def undo_majority(
    *, act: models.MajorityAct, user: models.User | None, progress: Progress = silent, fence: Fence = no_fence
) -> events.MajorityCounts:
    """Undo the act in every note whose adjudication and gold are still as the act left them."""
    notes = list(act.notes.order_by("document_id").values_list("pk", flat=True))
    act.refresh_from_db()
    do_batches(
        act, State.UNDOING, act.undone, batched(notes, BATCH), lambda pks: undo_batch(act, pks, user), progress, fence
    )
    return _end(act, State.UNDONE, user, kept=act.notes.count())


def recent_votes(project: models.Project) -> QuerySet[models.MajorityAct]:
    return models.MajorityAct.objects.filter(project=project).select_related("user")[:RECENT]


def last_job(act: models.MajorityAct) -> models.Job | None:
    return job_of(act, "majority_undo") or job_of(act, "majority")


# ── The act itself ────────────────────────────────────────────────────────────────────────────────────────────────────


def plan_majority(*, project: models.Project, user: models.User, key: UUID) -> models.MajorityAct:
    """Store a new act with the counts of its preview, or return the one with this key.

    Raises ServiceError: `waiting` while notes are still to be compared, `none` if no note can be decided.
    """
    made = models.MajorityAct.objects.filter(pk=key, project=project).first()
    if made is not None:
        return made
    found = preview(project)
    if not found.planned:
        raise ServiceError(
            gettext("No note can be decided: each has gold, a review or an adjudication, or waits for an annotator."),
            code="none",
        )
    skipped = {name: getattr(found, name) for name in ("has_gold", "in_review", "begun", "pending")}
    return models.MajorityAct.objects.create(pk=key, project=project, user=user, planned=found.planned, **skipped)


def _end(
    act: models.MajorityAct, state: models.ActState, user: models.User | None, **last: int
) -> events.MajorityCounts:
    with transaction.atomic():
        end(act, state, **last)
        data: events.MajorityCounts = {"vote": str(act.pk), **{name: getattr(act, name) for name in COUNTS}}
        verb = events.MAJORITY_APPLIED if state == State.DONE else events.MAJORITY_UNDONE
        verb.record(actor=user, project_id=act.project_id, data=data)
    return data


# ── The jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def start_majority(*, project: models.Project, user: models.User, key: str) -> models.Job:
    """Start a vote with the key of a form, or return the job that was started with it. Raises ServiceError `none`."""
    with transaction.atomic():
        models.Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        act = plan_majority(project=project, user=user, key=uuid.uuid5(uuid.NAMESPACE_OID, key))
        return start_job(act, "majority", user)


def start_undo(*, act: models.MajorityAct, user: models.User) -> models.Job:
    """Start the undo of a vote, or return its job. Raises ServiceError `live` while the vote's job runs."""
    with transaction.atomic():
        models.Project.objects.select_for_update(no_key=True).get(pk=act.project_id)
        check_ended(act, "majority")
        begin_undo(act)
        return start_job(act, "majority_undo", user)


def run_vote(claim: Claim) -> dict[str, Any]:
    """Decide the notes of a vote. If the job stops, the notes decided so far are kept, and it can continue."""
    return dict(run_majority(act=act_of(models.MajorityAct, claim), progress=claim.progress, fence=claim.fence))


def undo_vote(claim: Claim) -> dict[str, Any]:
    """Undo a vote, continuing where an earlier attempt stopped."""
    user = models.User.objects.filter(pk=claim.actor_id).first() if claim.actor_id else None
    act = act_of(models.MajorityAct, claim)
    return dict(undo_majority(act=act, user=user, progress=claim.progress, fence=claim.fence))


# ── One batch, in the caller's transaction ───────────────────────────────────────────────────────────────────────────
#
# The number of queries doesn't depend on the number of notes. Each note gets the rows and events that an adjudicator's
# acts would leave. The caller holds the locks of the labels and of erasures.


@dataclass(frozen=True)
class _Vote:
    """The vote on one note: its decisions, the number of its ties, and a hash of what the annotators said."""

    document: models.Document
    rows: list[events.AdjudicatedLocation]
    ties: int
    heard: str

    @property
    def bounds(self) -> list[tuple[int, int]]:
        return [(start, end) for row in self.rows for start, end, *_ in row["spans"]]


def decide_batch(act: models.MajorityAct, pks: Sequence[int]) -> dict[str, int]:
    """Decide those of these notes that are still free, and make those without ties gold. Returns counts of the act.

    A note that somebody changed, or that has no room for its spans, waits for an adjudicator. Raises IntegrityError if
    somebody began a note at the same time; in a new transaction that note is no longer free.
    """
    project, user = act.project, act.user
    free = free_notes(project, pks)
    documents = models.Document.objects.filter(project=project, pk__in=free).order_by("pk")
    submitted = submitted_in(project, free)
    votes = [
        vote
        for document in documents
        if len(submitted[document.pk][1]) >= LEAST_ANNOTATORS
        for vote in [_vote(project, user, document, submitted[document.pk][1])]
        if crowd_in(vote.bounds) is None
    ]
    sets = _write(project, user, [vote for vote in votes if vote.rows or not vote.ties])
    whole = [vote for vote in votes if not vote.ties]
    sources = [sets[vote.document.pk] for vote in whole]
    spans: dict[int, list[models.Span]] = defaultdict(list)
    for span in models.Span.objects.filter(annotation_set__in=sources).order_by("start", "end", "id"):
        spans[span.annotation_set_id].append(span)
    golds = make_new_golds(project=project, sources=sources, spans=spans, actor=user)
    versions = {gold.document_id: gold.version for gold in golds}
    insert_objects(
        models.MajorityNote,
        [
            models.MajorityNote(
                act=act,
                document=vote.document,
                adjudicated_version=own.version if (own := sets.get(vote.document.pk)) else None,
                gold_version=versions.get(vote.document.pk),
            )
            for vote in votes
        ],
    )
    return {
        "gold": len(whole),
        "spans": sum(map(len, spans.values())),
        "tied": sum(vote.ties > 0 for vote in votes),
        "ties": sum(vote.ties for vote in votes),
    }


def _vote(
    project: models.Project,
    user: models.User,
    document: models.Document,
    annotation_sets: Mapping[str, Sequence[DomainSpan]],
) -> _Vote:
    found = items(annotation_sets, [])
    rows = [row for item in found if (row := _row(project, user, document, item)) is not None]
    heard = annotation_sets_hash({author: list(spans) for author, spans in annotation_sets.items()})
    return _Vote(document, rows, len(found) - len(rows), heard)


def _row(
    project: models.Project, user: models.User, document: models.Document, item: Item
) -> events.AdjudicatedLocation | None:
    """The decision on a location; None where the vote is tied."""
    if item.location.unanimous:
        return row_for(project, user, item, Choice.UNANIMOUS)
    version = majority_version(document.text, item.location)
    return None if version is None else row_for(project, user, item, Choice.MAJORITY, version)


def _write(project: models.Project, user: models.User, votes: Sequence[_Vote]) -> dict[int, models.AnnotationSet]:
    """Make the adjudicated sets with their decisions, and finish those without ties. Returns the sets by note."""
    author, now = adjudicated_author(project), timezone.now()
    sets = models.AnnotationSet.objects.bulk_create([_adjudicated(author, vote, now) for vote in votes])
    made = list(zip(sets, votes, strict=True))
    insert_objects(models.Resolution, [resolution_of(vote.document.pk, row) for vote in votes for row in vote.rows])
    models.Span.objects.bulk_create(
        models.Span(
            annotation_set=own, start=start, end=end, label_id=label, provenance=provenance, attributes=attributes
        )
        for own, vote in made
        for row in vote.rows
        for start, end, label, provenance, attributes in row["spans"]
    )
    voted = ((own, vote.rows) for own, vote in made if vote.rows)
    events.ADJUDICATION_DECIDED.record_all(
        project.pk, ((whose(project, user, own), {"before": [], "after": rows, "act": ACT}) for own, rows in voted)
    )
    finished = [(own, vote) for own, vote in made if not vote.ties]
    insert_objects(
        models.Adjudication,
        [
            models.Adjudication(document=vote.document, heard=vote.heard, finished_by=user, finished_at=now)
            for _, vote in finished
        ],
    )
    events.ADJUDICATION_FINISHED.record_all(
        project.pk, ((whose(project, user, own), {"spans": len(vote.bounds)}) for own, vote in finished)
    )
    return {own.document_id: own for own in sets}


def _adjudicated(author: models.Author, vote: _Vote, now: datetime) -> models.AnnotationSet:
    """A note's adjudicated set, whose version counts the decisions as one change and the end as another."""
    finished = not vote.ties
    return models.AnnotationSet(
        document=vote.document,
        author=author,
        blind=False,
        state=models.AnnotationSetState.SUBMITTED if finished else models.AnnotationSetState.DRAFT,
        submitted_at=now if finished else None,
        version=bool(vote.rows) + finished,
    )


# ── Undo ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def undo_batch(act: models.MajorityAct, pks: Sequence[int], user: models.User | None) -> dict[str, int]:
    """Undo the vote in those of these notes (MajorityNote) that nobody changed since. Returns how many."""
    notes = list(models.MajorityNote.objects.filter(pk__in=pks).order_by("document_id"))
    wanted = [note.document_id for note in notes if note.adjudicated_version is not None]
    owns, golds = _locked(wanted)
    unchanged = [note for note in notes if _is_unchanged(note, owns, golds)]
    documents = [note.document_id for note in unchanged if note.adjudicated_version is not None]
    withdraw_golds(project_id=act.project_id, golds=[golds[pk] for pk in documents if pk in golds], actor=user)
    before = _decisions([owns[pk] for pk in documents])
    events.ADJUDICATION_UNDONE.record_all(
        act.project_id,
        ((whose(act.project, user, owns[pk]), {"before": before[pk], "after": [], "act": ACT}) for pk in documents),
    )
    models.Adjudication.objects.filter(document__in=documents).delete()
    models.Resolution.objects.filter(document__in=documents).delete()
    models.AnnotationSet.objects.filter(pk__in=[owns[pk].pk for pk in documents]).delete()
    models.MajorityNote.objects.filter(pk__in=[note.pk for note in unchanged]).delete()
    return {"undone": len(unchanged)}


def _locked(documents: Sequence[int]) -> tuple[dict[int, models.AnnotationSet], dict[int, models.AnnotationSet]]:
    """The locked adjudicated and gold sets of the notes, by note: first the sources of gold, then the gold."""
    found = []
    for kind in (models.AuthorKind.ADJUDICATED, models.AuthorKind.GOLD):
        rows = models.AnnotationSet.objects.select_for_update(of=("self",)).filter(
            document_id__in=documents, author__kind=kind
        )
        found.append({row.document_id: row for row in rows.order_by("document_id")})
    return found[0], found[1]


def _is_unchanged(
    note: models.MajorityNote, owns: Mapping[int, models.AnnotationSet], golds: Mapping[int, models.AnnotationSet]
) -> bool:
    if note.adjudicated_version is None:
        return True
    own, gold = owns.get(note.document_id), golds.get(note.document_id)
    now = own and own.version, gold and gold.version
    return now == (note.adjudicated_version, note.gold_version)


def _decisions(sets: Iterable[models.AnnotationSet]) -> dict[int, list[events.AdjudicatedLocation]]:
    """The decided locations of each note, with their spans."""
    by_note = {own.document_id: own.pk for own in sets}
    spans: dict[int, list[models.Span]] = defaultdict(list)
    for span in models.Span.objects.filter(annotation_set_id__in=by_note.values()):
        spans[span.annotation_set_id].append(span)
    resolutions: dict[int, list[models.Resolution]] = defaultdict(list)
    for each in models.Resolution.objects.filter(document_id__in=by_note):
        resolutions[each.document_id].append(each)
    return {document: rows_of(resolutions[document], spans[pk]) for document, pk in by_note.items()}
