"""One batch of a bulk act, in the caller's transaction: notes locked, what is still open decided, all rows at once."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from django.db.models import Case, IntegerField, Value, When
from django.utils import timezone

from annotations.core.authors import gold_author
from annotations.core.bulk import SpanRow, insert_objects, insert_spans
from annotations.core.proposed_strings import Key, count_open
from annotations.domain.conflicts import Place, conflicting
from annotations.domain.crowding import has_room
from annotations.gold.services.provenance import decided
from annotations.models import AnnotationSet, BulkAct, Decision, Event, Handover, Review, Span, Verb
from annotations.models.project import SecondReview
from annotations.review.selectors.bulk_rules import rule_of
from annotations.review.selectors.handovers import between
from annotations.review.selectors.planted import left_for_one
from annotations.review.selectors.rivals import backing_of, candidate_of, rivals_in, settled_by
from annotations.review.selectors.settled import finished_by, is_settled
from annotations.review.services.log import Act, Effect, merged_runs, passed, row_of, state_of

Pair = tuple[int, int]


@dataclass
class Gold:
    """A note's gold set, locked: its spans, and how many decisions this batch makes there.

    `settled`: a person has finished it, last at `finished_at` (selectors.settled).
    """

    pk: int
    version: int
    settled: bool = False
    finished_at: datetime | None = None
    places: dict[Place, dict[str, Any] | None] = field(default_factory=dict)
    steps: int = 0
    changed: bool = False

    def takes(self, start: int, end: int) -> bool:
        """Whether one more span may stand there; where not, its proposal stays open."""
        return has_room([(first, past) for first, past, _ in self.places], (start, end))


class Done(NamedTuple):
    """What a batch came to: proposals decided, rivals rejected beside them, and proposals left open, as they conflict
    with gold or with each other."""

    decided: int
    beside: int
    conflicts: int


def decide_batch(bulk: BulkAct, pairs: Sequence[Pair]) -> Done:
    """Decide what is open of these proposals, by what gold says now: its rows are locked first."""
    documents = sorted({document for document, _ in pairs})
    golds = _locked(bulk, documents)
    spans = _spans([proposal for _, proposal in pairs])
    wanted = {span.pk for span in spans}
    rivals = _rivals(bulk, spans)
    looked_at = wanted | {rival.pk for against in rivals.values() for rival in against}
    taken = set(Decision.objects.filter(proposal__in=looked_at).values_list("proposal_id", flat=True))
    taken |= left_for_one(looked_at)
    reviews = _reviews({(s.annotation_set.document_id, s.annotation_set.author_id) for s in spans})
    shut, passes = _between(bulk, reviews.values())
    open_ones = [
        span
        for span in spans
        if span.pk not in taken
        and reviews[span.annotation_set.document_id, span.annotation_set.author_id].pk not in shut
        and _place(span) not in golds[span.annotation_set.document_id].places
    ]
    if not rule_of(bulk.rule).with_gold:
        # A person may have finished gold since the proposals were listed.
        open_ones = [span for span in open_ones if not golds[span.annotation_set.document_id].settled]
    left = _conflicts(bulk, open_ones, golds)
    writer = _Writer(bulk, passes)
    for span in open_ones:
        if span.pk in taken or span.pk in left:
            continue
        gold = golds[span.annotation_set.document_id]
        review = reviews[span.annotation_set.document_id, span.annotation_set.author_id]
        if bulk.act == BulkAct.Act.ACCEPT and _place(span) not in gold.places and not gold.takes(span.start, span.end):
            continue
        against = [one for one in rivals.get(span.pk, []) if one.pk not in taken and _place(one) not in gold.places]
        taken.update([span.pk, *writer.decide(span, review, gold, against)])
    writer.write(golds.values())
    own = sum(decision.proposal_id in wanted for decision in writer.decisions)
    return Done(own, len(writer.decisions) - own, len(left - taken))


def _conflicts(bulk: BulkAct, spans: Sequence[Span], golds: dict[int, Gold]) -> set[int]:
    """Proposals that an acceptance leaves open (domain.conflicts)."""
    if bulk.act != BulkAct.Act.ACCEPT:
        return set()
    to = rule_of(bulk.rule).to
    found: set[int] = set()
    for document, here in groupby(spans, key=lambda span: span.annotation_set.document_id):
        gold = golds[document]
        places = [candidate_of(s.pk, _place(s), s.annotation_set_id, s.provenance, to) for s in here]
        found |= conflicting(places, gold.places, settled=gold.settled)
    return found


def _between(bulk: BulkAct, reviews: Iterable[Review]) -> tuple[set[int], dict[int, dict[str, str]]]:
    """Reviews that are closed to this person; and of those where they are the second of two, what the log says."""
    shut = {review.pk for review in reviews if review.closed_at is not None}
    passes: dict[int, dict[str, str]] = {}
    held = Handover.objects.filter(review__in=[review.pk for review in reviews], state__in=Handover.ACTIVE)
    for review in held.values_list("review_id", flat=True):
        meets = between(review, bulk.user)
        if meets is not None and meets.own:
            shut.add(review)
        passes[review] = passed(meets)
    return shut, passes


def _place(span: Span) -> Place:
    return span.start, span.end, span.label_id


def _rivals(bulk: BulkAct, spans: Sequence[Span]) -> dict[int, list[Span]]:
    """Who stands against these proposals, where they are of merged lists and are to be accepted."""
    if bulk.act != BulkAct.Act.ACCEPT:
        return {}
    merged = {span.annotation_set_id for span in spans if backing_of(span.provenance)}
    return rivals_in(merged) if merged else {}


class _Writer:
    """Collects the rows of a batch, then writes them table by table."""

    def __init__(self, bulk: BulkAct, passes: dict[int, dict[str, str]] | None = None) -> None:
        self._bulk, self._passes = bulk, passes or {}
        self._two = bulk.project.second_review != SecondReview.OFF
        self._to = rule_of(bulk.rule).to
        self._accepts = bulk.act == BulkAct.Act.ACCEPT
        self._now = timezone.now()
        self._events: list[Event] = []
        self._rows: list[SpanRow] = []
        self._strings: Counter[Key] = Counter()
        self.decisions: list[Decision] = []

    def decide(self, span: Span, review: Review, gold: Gold, rivals: Sequence[Span]) -> list[int]:
        """Returns the ids of the rivals that are rejected beside it."""
        place = (span.start, span.end, self._to or span.label_id) if self._accepts else None
        made = self._gold_row(span, gold, place) if place else []
        after = self._decide(span, review, span.annotation_set.author_id, place)
        settled = settled_by(place, rivals) if place else []
        beside = [[one.pk, None, self._decide(one, review, span.annotation_set.author_id, None)] for one in settled]
        effect = Effect(span.pk, None, after, made, [], beside)
        self._event(
            Verb.REVIEW_DECIDED, span, gold, effect, self._act(span), said=self._passes.get(review.pk)
        )  # fmt: skip
        return [one.pk for one in settled]

    def _decide(self, span: Span, review: Review, author: int, place: Place | None) -> dict[str, Any]:
        """The row of one decision; what the log keeps as the state after it."""
        verdict = Decision.Verdict.ACCEPTED if place else Decision.Verdict.REJECTED
        start, end, label = place or (None, None, None)
        self.decisions.append(
            Decision(
                proposal_id=span.pk, review_id=review.pk, verdict=verdict, start=start, end=end, label_id=label,
                reviewer_id=self._bulk.user_id, cause_id=self._bulk.pk, at=self._now,
            )
        )  # fmt: skip
        if span.string_key is not None:
            self._strings[author, span.string_key, span.label_id] -= 1
        return {"verdict": str(verdict), "place": list(place) if place else None, "cause": str(self._bulk.pk)}

    def _act(self, span: Span) -> Act:
        if not self._accepts:
            return Act.REJECT
        return Act.CORRECT if self._to and self._to != span.label_id else Act.ACCEPT

    def _gold_row(self, span: Span, gold: Gold, place: Place) -> list[list[Any]]:
        if place in gold.places:
            return []
        author = span.annotation_set.author
        provenance = (
            {
                "from": f"{author.kind}:{author.name}",
                "set": span.annotation_set_id,
                "proposal": span.pk,
                "confidence": span.confidence,
                "source": span.source,
                "changed": ["label"] if place[2] != span.label_id else [],
                "cause": str(self._bulk.pk),
            }
            | merged_runs(span)
            | decided(self._bulk.user, self._bulk.project, self._now)
        )
        gold.places[place] = provenance
        self._rows.append(SpanRow(gold.pk, *place, span.confidence, span.source, json.dumps(provenance)))
        return [[*place, span.confidence, span.source, provenance]]

    def _event(
        self, verb: Verb, span: Span, gold: Gold, effect: Effect, act: Act, *, reverts: int | None = None,
        said: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        gold.steps += 1
        gold.changed = gold.changed or bool(effect.made or effect.gone)
        self._events.append(
            Event(
                verb=verb,
                actor_id=self._bulk.user_id,
                project_id=self._bulk.project_id,
                document_id=span.annotation_set.document_id,
                annotation_set_id=gold.pk,
                data=effect.data()
                | {"act": str(act), "run": span.annotation_set.author_id, "cause": str(self._bulk.pk)}
                | (said or {}),
                reverts=reverts,
            )
        )

    def take_back(self, span: Span, gold: Gold, event: int | None, effect: Effect) -> None:
        self._event(Verb.REVIEW_UNDONE, span, gold, effect, Act.UNDO, reverts=event)
        if span.string_key is not None:
            self._strings[span.annotation_set.author_id, span.string_key, span.label_id] += 1

    def write(self, golds: Iterable[Gold]) -> None:
        insert_spans(self._rows)
        insert_objects(Decision, self.decisions)
        insert_objects(Event, self._events)
        count_open(dict(self._strings))
        stepped = [gold for gold in golds if gold.steps]
        if stepped:
            steps = Case(
                *(When(pk=g.pk, then=Value(g.version + g.steps)) for g in stepped), output_field=IntegerField()
            )
            AnnotationSet.objects.filter(pk__in=[g.pk for g in stepped]).update(version=steps)
        if self._two:
            # Until two people have closed the note, what one of them changed does not count.
            changed = AnnotationSet.objects.filter(pk__in=[gold.pk for gold in stepped if gold.changed])
            changed.update(state=AnnotationSet.State.DRAFT)


# ── Taking back ──────────────────────────────────────────────────────────────────────────────────────────────────────


def take_back_batch(bulk: BulkAct, pairs: Sequence[Pair]) -> int:
    """Take back what still stands of these decisions. Returns how many that were."""
    documents = sorted({document for document, _ in pairs})
    golds = _locked(bulk, documents)
    proposals = [proposal for _, proposal in pairs]
    rows = list(Decision.objects.filter(proposal__in=proposals, cause=bulk).select_related("review"))
    shut, passes = _between(bulk, {row.review_id: row.review for row in rows}.values())
    later = _finished_since(golds, rows)
    standing = {row.proposal_id: row for row in rows if row.review_id not in shut and row.pk not in later}
    spans = [span for span in _spans(proposals) if span.pk in standing]
    events = _events(bulk, documents)
    before = {pk: state_of(decision) for pk, decision in standing.items()}
    Decision.objects.filter(pk__in=[standing[span.pk].pk for span in spans]).delete()
    gone = _delete_gold(bulk, golds, spans, standing)
    writer = _Writer(bulk, passes)
    for span in spans:
        effect = Effect(span.pk, before[span.pk], None, [], gone.get(span.pk, []))
        writer.take_back(span, golds[span.annotation_set.document_id], events.get(span.pk), effect)
    writer.write(golds.values())
    return len(spans)


def _finished_since(golds: dict[int, Gold], rows: Sequence[Decision]) -> set[int]:
    """Decisions in notes whose gold a person has finished since, other than by closing this very review: they stay."""
    late = [row for row in rows if _before(row, golds[row.review.document_id].finished_at)]
    last = finished_by({golds[row.review.document_id].pk for row in late}) if late else {}
    own = {
        row.pk
        for row in late
        if (event := last.get(golds[row.review.document_id].pk)) is not None
        and event.verb == Verb.REVIEW_CLOSED
        and event.data.get("run") == row.review.author_id
    }
    return {row.pk for row in late} - own


def _before(row: Decision, finished_at: datetime | None) -> bool:
    return finished_at is not None and row.at < finished_at


def _delete_gold(
    bulk: BulkAct, golds: dict[int, Gold], spans: Sequence[Span], standing: dict[int, Decision]
) -> dict[int, list[list[Any]]]:
    """Gold spans that the act made go, unless another acceptance stands on them by now. The rows, by proposal."""
    stand = Decision.objects.filter(review__document__in=golds, start__isnull=False)
    held = set(stand.values_list("review__document_id", "start", "end", "label_id"))
    gone: dict[int, list[list[Any]]] = {}
    there: dict[tuple[int | None, ...], Span] = {
        (row.annotation_set_id, row.start, row.end, row.label_id): row
        for row in Span.objects.filter(annotation_set__in=[gold.pk for gold in golds.values()])
        if (row.provenance or {}).get("cause") == str(bulk.pk)
    }
    keys = []
    for span in spans:
        document, decision = span.annotation_set.document_id, standing[span.pk]
        place = decision.start, decision.end, decision.label_id
        row = there.pop((golds[document].pk, *place), None)
        if row is not None and (document, *place) not in held:
            keys.append(row.pk)
            gone[span.pk] = [row_of(row)]
    Span.objects.filter(pk__in=keys).delete()
    return gone


def _events(bulk: BulkAct, documents: Sequence[int]) -> dict[int, int]:
    """The act's decisions in these notes: the event's id by proposal."""
    made = Event.objects.filter(document_id__in=documents, verb=Verb.REVIEW_DECIDED, data__cause=str(bulk.pk))
    found: dict[int, int] = {}
    for pk, data in made.order_by("id").values_list("pk", "data"):
        found |= dict.fromkeys([data["proposal"], *(row[0] for row in data.get("beside", []))], pk)
    return found


# ── Rows of the batch's notes ────────────────────────────────────────────────────────────────────────────────────────


def _locked(bulk: BulkAct, documents: Sequence[int]) -> dict[int, Gold]:
    """The notes' gold sets by note, made where they are missing, locked in the order of the notes."""
    author = gold_author(bulk.project)
    AnnotationSet.objects.bulk_create(
        (AnnotationSet(document_id=pk, author=author, blind=False) for pk in documents), ignore_conflicts=True
    )
    held = AnnotationSet.objects.select_for_update(of=("self",)).filter(author=author, document__in=documents)
    columns = ("pk", "document_id", "version", "state", "submitted_at")
    golds = {
        document: Gold(pk, version, is_settled(state, at), at)
        for pk, document, version, state, at in held.order_by("document_id").values_list(*columns)
    }
    by_set = {gold.pk: gold for gold in golds.values()}
    rows = Span.objects.filter(annotation_set__in=by_set)
    for pk, start, end, label, provenance in rows.values_list(
        "annotation_set_id", "start", "end", "label_id", "provenance"
    ):
        by_set[pk].places[start, end, label] = provenance
    return golds


def _spans(proposals: Sequence[int]) -> list[Span]:
    """Note by note; of a merged list what most runs agree on first: its rivals go, and not the other way round."""
    rows = Span.objects.filter(pk__in=proposals).select_related("annotation_set__author")
    return sorted(rows, key=_turn)


def _turn(span: Span) -> tuple[int, int, float, int]:
    backing = backing_of(span.provenance)
    agree, sure = (backing["agree"], span.confidence or 0.0) if backing else (0, 0.0)
    return span.annotation_set.document_id, -agree, -sure, span.pk


def _reviews(wanted: set[Pair]) -> dict[Pair, Review]:
    """The reviews of these notes and runs, made where they are missing."""
    Review.objects.bulk_create(
        (Review(document_id=document, author_id=author) for document, author in sorted(wanted)), ignore_conflicts=True
    )
    rows = Review.objects.filter(
        document__in={document for document, _ in wanted}, author__in={author for _, author in wanted}
    )
    return {(row.document_id, row.author_id): row for row in rows}
