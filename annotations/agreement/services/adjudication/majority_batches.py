"""One batch of a majority vote or of its undo, in the caller's transaction.

The number of queries doesn't depend on the number of notes. Each note gets the rows and events that an adjudicator's
acts would leave. The caller holds the locks of the labels and of erasures.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from annotations.agreement.events import ADJUDICATION_DECIDED, ADJUDICATION_FINISHED, ADJUDICATION_UNDONE
from annotations.agreement.rules.adjudication import Item, items
from annotations.agreement.rules.disagreement import majority_version
from annotations.agreement.selectors.adjudication.desk import LEAST_ANNOTATORS, submitted_in
from annotations.agreement.selectors.adjudication.majority import free_notes
from annotations.agreement.services.adjudication.deciding import adjudicated_author
from annotations.agreement.services.adjudication.log import Row, resolution_of, row_of
from annotations.agreement.services.adjudication.plan import row_for, unanimous_version
from annotations.agreement.services.comparing import annotation_sets_hash
from annotations.core.bulk import insert_objects
from annotations.core.events import Whose
from annotations.gold.services.making import make_new_golds, withdraw_golds
from annotations.models import (
    Adjudication,
    AnnotationSet,
    AnnotationSetState,
    Author,
    AuthorKind,
    Document,
    MajorityAct,
    MajorityNote,
    Project,
    Resolution,
    Span,
    User,
)
from annotations.text.spans import Span as DomainSpan
from annotations.text.spans import crowd_in

Choice = Resolution.Choice
ACT = "majority-of-notes"


@dataclass
class Decided:
    """What the vote did to a batch, in the fields of the act."""

    gold: int = 0
    spans: int = 0
    tied: int = 0
    ties: int = 0


@dataclass(frozen=True)
class _Vote:
    """The vote on one note: its decisions, the number of its ties, and a hash of what the annotators said."""

    document: Document
    rows: list[Row]
    ties: int
    heard: str

    @property
    def bounds(self) -> list[tuple[int, int]]:
        return [(start, end) for row in self.rows for start, end, *_ in row["spans"]]


def decide_batch(act: MajorityAct, pks: Sequence[int]) -> Decided:
    """Decide those of these notes that are still free, and make those without ties gold.

    A note that somebody changed, or that has no room for its spans, waits for an adjudicator. Raises IntegrityError if
    somebody began a note at the same time; in a new transaction that note is no longer free.
    """
    project, user = act.project, act.user
    free = free_notes(project, pks)
    documents = Document.objects.filter(project=project, pk__in=free).order_by("pk")
    submitted = submitted_in(project, free)
    votes = [
        vote
        for document in documents
        if len(submitted[document.pk].annotation_sets) >= LEAST_ANNOTATORS
        for vote in [_vote(project, user, document, submitted[document.pk].annotation_sets)]
        if crowd_in(vote.bounds) is None
    ]
    undecided = [vote for vote in votes if vote.ties and not vote.rows]
    begun = [vote for vote in votes if vote.rows or not vote.ties]
    sets = _write(project, user, begun)
    whole = [vote for vote in begun if not vote.ties]
    sources = [sets[vote.document.pk] for vote in whole]
    spans: dict[int, list[Span]] = defaultdict(list)
    for span in Span.objects.filter(annotation_set__in=sources).order_by("start", "end", "id"):
        spans[span.annotation_set_id].append(span)
    golds = make_new_golds(project=project, sources=sources, spans=spans, actor=user)
    versions = {gold.document_id: gold.version for gold in golds}
    insert_objects(
        MajorityNote,
        [
            *(MajorityNote(act=act, document=vote.document) for vote in undecided),
            *(
                MajorityNote(
                    act=act,
                    document=vote.document,
                    adjudicated_version=sets[vote.document.pk].version,
                    gold_version=versions.get(vote.document.pk),
                )
                for vote in begun
            ),
        ],
    )
    return Decided(
        gold=len(whole),
        spans=sum(map(len, spans.values())),
        tied=sum(vote.ties > 0 for vote in votes),
        ties=sum(vote.ties for vote in votes),
    )


def _vote(
    project: Project, user: User, document: Document, annotation_sets: Mapping[str, Sequence[DomainSpan]]
) -> _Vote:
    found = items(annotation_sets, [])
    rows = [row for item in found if (row := _row(project, user, document, item)) is not None]
    heard = annotation_sets_hash({author: list(spans) for author, spans in annotation_sets.items()})
    return _Vote(document, rows, len(found) - len(rows), heard)


def _row(project: Project, user: User, document: Document, item: Item) -> Row | None:
    """The decision on a location; None where the vote is tied."""
    if item.location.unanimous:
        return row_for(project, user, item, item.start, item.end, Choice.UNANIMOUS, unanimous_version(item))
    version = majority_version(document.text, item.location)
    return None if version is None else row_for(project, user, item, item.start, item.end, Choice.MAJORITY, version)


def _write(project: Project, user: User, votes: Sequence[_Vote]) -> dict[int, AnnotationSet]:
    """Make the adjudicated sets with their decisions, and finish those without ties. Returns the sets by note."""
    author, now = adjudicated_author(project), timezone.now()
    sets = AnnotationSet.objects.bulk_create([_adjudicated(author, vote, now) for vote in votes])
    made = list(zip(sets, votes, strict=True))
    insert_objects(Resolution, [resolution_of(vote.document.pk, row) for vote in votes for row in vote.rows])
    Span.objects.bulk_create(
        Span(annotation_set=own, start=start, end=end, label_id=label, provenance=provenance, attributes=attributes)
        for own, vote in made
        for row in vote.rows
        for start, end, label, provenance, attributes in row["spans"]
    )
    ADJUDICATION_DECIDED.record_all(
        project.pk,
        ((_whose(user, own), {"before": [], "after": vote.rows, "act": ACT}) for own, vote in made if vote.rows),
    )
    finished = [(own, vote) for own, vote in made if not vote.ties]
    insert_objects(
        Adjudication,
        [
            Adjudication(document=vote.document, heard=vote.heard, finished_by=user, finished_at=now)
            for _, vote in finished
        ],
    )
    ADJUDICATION_FINISHED.record_all(
        project.pk, ((_whose(user, own), {"spans": len(vote.bounds)}) for own, vote in finished)
    )
    return {own.document_id: own for own in sets}


def _adjudicated(author: Author, vote: _Vote, now: datetime) -> AnnotationSet:
    """A note's adjudicated set, whose version counts the decisions as one change and the end as another."""
    finished = not vote.ties
    return AnnotationSet(
        document=vote.document,
        author=author,
        blind=False,
        state=AnnotationSetState.SUBMITTED if finished else AnnotationSetState.DRAFT,
        submitted_at=now if finished else None,
        version=bool(vote.rows) + finished,
    )


def _whose(user: User | None, own: AnnotationSet) -> Whose:
    return {"actor": user, "document_id": own.document_id, "annotation_set_id": own.pk}


# ── Undo ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def undo_batch(act: MajorityAct, pks: Sequence[int], user: User | None) -> dict[str, int]:
    """Undo the vote in those of these notes (MajorityNote) that nobody changed since. Returns how many."""
    notes = list(MajorityNote.objects.filter(pk__in=pks).order_by("document_id"))
    wanted = [note.document_id for note in notes if note.adjudicated_version is not None]
    owns, golds = _locked(wanted)
    unchanged = [note for note in notes if _is_unchanged(note, owns, golds)]
    documents = [note.document_id for note in unchanged if note.adjudicated_version is not None]
    withdraw_golds(project_id=act.project_id, golds=[golds[pk] for pk in documents if pk in golds], actor=user)
    before = _decisions([owns[pk] for pk in documents])
    ADJUDICATION_UNDONE.record_all(
        act.project_id,
        ((_whose(user, owns[pk]), {"before": before[pk], "after": [], "act": ACT}) for pk in documents),
    )
    Adjudication.objects.filter(document__in=documents).delete()
    Resolution.objects.filter(document__in=documents).delete()
    AnnotationSet.objects.filter(pk__in=[owns[pk].pk for pk in documents]).delete()
    MajorityNote.objects.filter(pk__in=[note.pk for note in unchanged]).delete()
    return {"undone": len(unchanged)}


def _locked(documents: Sequence[int]) -> tuple[dict[int, AnnotationSet], dict[int, AnnotationSet]]:
    """The locked adjudicated and gold sets of the notes, by note: first the sources of gold, then the gold."""
    found = []
    for kind in (AuthorKind.ADJUDICATED, AuthorKind.GOLD):
        rows = AnnotationSet.objects.select_for_update(of=("self",)).filter(
            document_id__in=documents, author__kind=kind
        )
        found.append({row.document_id: row for row in rows.order_by("document_id")})
    return found[0], found[1]


def _is_unchanged(note: MajorityNote, owns: Mapping[int, AnnotationSet], golds: Mapping[int, AnnotationSet]) -> bool:
    if note.adjudicated_version is None:
        return True
    own, gold = owns.get(note.document_id), golds.get(note.document_id)
    now = own and own.version, gold and gold.version
    return now == (note.adjudicated_version, note.gold_version)


def _decisions(sets: Iterable[AnnotationSet]) -> dict[int, list[Row]]:
    """The decided locations of each note, with their spans."""
    by_note = {own.document_id: own.pk for own in sets}
    spans: dict[int, list[Span]] = defaultdict(list)
    for span in Span.objects.filter(annotation_set_id__in=by_note.values()):
        spans[span.annotation_set_id].append(span)
    found: dict[int, list[Row]] = {document: [] for document in by_note}
    for each in Resolution.objects.filter(document_id__in=found):
        inside = [s for s in spans[by_note[each.document_id]] if each.start <= s.start and s.end <= each.end]
        found[each.document_id].append(row_of(each, inside))
    return found
