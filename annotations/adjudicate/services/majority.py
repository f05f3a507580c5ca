"""A majority vote over many notes at once, and its undo.

Each note is decided in a transaction of its own, as an adjudicator would decide it: locations where all annotators
agree or more than half of them (domain.adjudicating.majority) are decided, and ties stay open. A note without ties is
finished and becomes gold. Notes that have gold, an open review or an adjudication are left alone, and so are notes that
an assigned annotator has not submitted. A job that was stopped continues with the remaining notes.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext

from annotations.adjudicate.events import (
    ADJUDICATION_DECIDED,
    ADJUDICATION_UNDONE,
    MAJORITY_APPLIED,
    MAJORITY_UNDONE,
    MajorityCounts,
)
from annotations.adjudicate.selectors.desk import desk
from annotations.adjudicate.selectors.majority import is_free, preview, to_decide
from annotations.adjudicate.services.deciding import finish_adjudication, locked_set, write_decisions
from annotations.adjudicate.services.log import Effect, Row, rows_within
from annotations.adjudicate.services.plan import row_for, unanimous_version
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.erasures import hold
from annotations.core.errors import ServiceError
from annotations.core.label_lock import keep_labels
from annotations.core.progress import Progress, silent
from annotations.domain.adjudicating.adjudication import Item
from annotations.domain.adjudicating.disagreement import majority_version
from annotations.gold.services.making import make_gold, withdraw_gold
from annotations.models import (
    Adjudication,
    AnnotationSet,
    Author,
    Document,
    MajorityAct,
    MajorityNote,
    Project,
    Resolution,
    User,
)

State = MajorityAct.State
Choice = Resolution.Choice
Fence = Callable[[], None]
ACT = "majority-of-notes"


@dataclass
class _Decided:
    """What the vote did to one note, in the fields of the act."""

    gold: int = 0
    spans: int = 0
    tied: int = 0
    ties: int = 0


def run_majority(*, act: MajorityAct, progress: Progress = silent, fence: Fence | None = None) -> MajorityCounts:
    """Decide the notes of the act, and make those without ties gold. Raises ServiceError `state` if it has ended."""
    project = act.project
    bring_up_to_date(project)
    begun = set(act.notes.values_list("document_id", flat=True))
    todo = [pk for pk in to_decide(project) if pk not in begun]
    done, total = len(begun), len(begun) + len(todo)
    progress(done, total)
    for pk in todo:
        try:
            with transaction.atomic():
                keep_labels(project.pk)
                if fence is not None:
                    fence()
                hold(project.pk)
                found = _decide(act, pk)
                _count(act, State.WORKING, **{name: F(name) + n for name, n in asdict(found).items()})
        except ServiceError as error:
            if error.code == "state":
                raise
            # Somebody changed the note meanwhile, so it waits for an adjudicator.
        done += 1
        progress(done, total)
    act.refresh_from_db()
    left = max(0, act.planned - act.gold - act.tied)
    return _end(act, State.DONE, act.user, left=left)


def _decide(act: MajorityAct, pk: int) -> _Decided:
    """Decide one note. Raises ServiceError where somebody changed it."""
    project, user = act.project, act.user
    document = Document.objects.select_related("project").filter(pk=pk, project=project).first()
    if document is None or not is_free(project, pk):
        raise ServiceError(gettext("This note was changed meanwhile."), code="changed")
    found = desk(project, document)
    if not found.ready:
        raise ServiceError(gettext("Fewer than two annotators have currently submitted this note."), code="annotators")
    rows = [row for item in found.items if (row := _row(project, user, document, item)) is not None]
    ties = len(found.items) - len(rows)
    if ties and not rows:
        MajorityNote.objects.create(act=act, document=document)
        return _Decided(tied=1, ties=ties)
    own = locked_set(project, document)
    if own.version:
        raise ServiceError(gettext("Another adjudicator has begun this note."), code="begun")
    if rows:
        write_decisions(project, document, user, own, Effect([], rows), verb=ADJUDICATION_DECIDED, act=ACT)
    if ties:
        MajorityNote.objects.create(act=act, document=document, adjudicated_version=own.version)
        return _Decided(tied=1, ties=ties)
    return _as_gold(act, document, own)


def _row(project: Project, user: User, document: Document, item: Item) -> Row | None:
    """The decision on a location; None where the vote is tied."""
    if item.location.agreed:
        return row_for(project, user, item, item.start, item.end, Choice.UNANIMOUS, unanimous_version(item))
    version = majority_version(document.text, item.location)
    return None if version is None else row_for(project, user, item, item.start, item.end, Choice.MAJORITY, version)


def _as_gold(act: MajorityAct, document: Document, own: AnnotationSet) -> _Decided:
    """Finish the note's adjudication and make it gold."""
    finish_adjudication(project=act.project, document=document, user=act.user)
    gold = make_gold(document=document, annotation_set=own, actor=act.user)
    own.refresh_from_db()
    MajorityNote.objects.create(act=act, document=document, adjudicated_version=own.version, gold_version=gold.version)
    return _Decided(gold=1, spans=gold.spans.count())


# ── Undo ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def undo_majority(
    *, act: MajorityAct, user: User | None, progress: Progress = silent, fence: Fence | None = None
) -> MajorityCounts:
    """Undo the act in every note whose adjudication and gold are still as the act left them."""
    notes = list(act.notes.order_by("document_id").values_list("pk", flat=True))
    act.refresh_from_db()
    done, total = act.undone, act.undone + len(notes)
    progress(done, total)
    for pk in notes:
        with transaction.atomic():
            keep_labels(act.project_id)
            if fence is not None:
                fence()
            hold(act.project_id)
            note = MajorityNote.objects.select_related("document__project").filter(pk=pk).first()
            if note is not None and _undo(act, note, user):
                note.delete()
                _count(act, State.UNDOING, undone=F("undone") + 1)
        done += 1
        progress(done, total)
    return _end(act, State.UNDONE, user, kept=act.notes.count())


def _undo(act: MajorityAct, note: MajorityNote, user: User | None) -> bool:
    """Remove the note's gold and decisions. Returns False, and does nothing, if they were changed since."""
    if note.adjudicated_version is None:
        return True
    sets = AnnotationSet.objects.select_for_update(of=("self",)).filter(document_id=note.document_id)
    own = sets.filter(author__kind=Author.Kind.ADJUDICATED).first()
    gold = sets.filter(author__kind=Author.Kind.GOLD).first()
    if own is None or (own.version, gold.version if gold else None) != (note.adjudicated_version, note.gold_version):
        return False
    if gold is not None:
        withdraw_gold(document=note.document, actor=user)
    ADJUDICATION_UNDONE.record(
        actor=user,
        project_id=act.project_id,
        document_id=note.document_id,
        annotation_set_id=own.pk,
        data={"before": rows_within(own, 0, note.document.length), "after": [], "act": ACT},
    )
    Adjudication.objects.filter(document_id=note.document_id).delete()
    Resolution.objects.filter(document_id=note.document_id).delete()
    own.delete()
    return True


# ── The act itself ────────────────────────────────────────────────────────────────────────────────────────────────────


def plan_majority(*, project: Project, user: User, key: UUID) -> MajorityAct:
    """Store a new act with the counts of its preview, or return the one with this key.

    Raises ServiceError: `waiting` while notes are still to be compared, `none` if no note can be decided.
    """
    made = MajorityAct.objects.filter(pk=key, project=project).first()
    if made is not None:
        return made
    found = preview(project)
    if not found.planned:
        raise ServiceError(
            gettext("No note can be decided: each has gold, a review or an adjudication, or waits for an annotator."),
            code="none",
        )
    return MajorityAct.objects.create(
        pk=key, project=project, user=user, planned=found.planned, has_gold=found.has_gold,
        in_review=found.in_review, begun=found.begun, pending=found.pending,
    )  # fmt: skip


def begin_undo(act: MajorityAct) -> bool:
    """Mark the act as being undone, also if it was stopped halfway. Returns whether this call did so."""
    rows = MajorityAct.objects.filter(pk=act.pk, state__in=[State.WORKING, State.DONE])
    return bool(rows.update(state=State.UNDOING, undone=0, kept=0))


def _count(act: MajorityAct, state: MajorityAct.State, **counts: Any) -> None:
    """Update the act's counts in a note's transaction. Raises ServiceError `state` if the act's state has changed."""
    if not MajorityAct.objects.filter(pk=act.pk, state=state).update(**counts):
        raise ServiceError(
            gettext("This majority vote was undone or has ended in the meantime. Reload the page."), code="state"
        )


def _end(act: MajorityAct, state: MajorityAct.State, user: User | None, **counts: int) -> MajorityCounts:
    with transaction.atomic():
        MajorityAct.objects.filter(pk=act.pk).update(state=state, ended_at=timezone.now(), **counts)
        act.refresh_from_db()
        data: MajorityCounts = {
            "vote": str(act.pk), "gold": act.gold, "spans": act.spans, "tied": act.tied, "ties": act.ties,
            "left": act.left, "has_gold": act.has_gold, "in_review": act.in_review, "begun": act.begun,
            "pending": act.pending, "undone": act.undone, "kept": act.kept,
        }  # fmt: skip
        verb = MAJORITY_APPLIED if state == State.DONE else MAJORITY_UNDONE
        verb.record(actor=user, project_id=act.project_id, data=data)
    return data
