"""Make gold of submitted annotation sets, withdraw it, and freeze gold versions."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from annotations.core.authors import gold_author, gold_sets
from annotations.core.bulk import SpanRow, insert_spans
from annotations.core.services import Progress, ServiceError, hold, keep_labels
from annotations.core.spans import as_json, check_room
from annotations.gold.events import GOLD_FROZEN, GOLD_MADE, GOLD_WITHDRAWN, GoldFrozen, GoldMade
from annotations.gold.selectors import gold_notes, has_changed, hashed
from annotations.models import (
    AnnotationSet,
    AnnotationSetState,
    Author,
    AuthorKind,
    ChangedGold,
    Document,
    GoldVersion,
    GoldVersionNote,
    Project,
    Span,
    User,
)
from annotations.models.notes import NOT_IN_BULK
from annotations.models.project import SecondReview
from annotations.text.attributes import Provenance
from annotations.text.hashes import gold_hash

# The decision that every gold span records.


def provenance_of(user: User | None, project: Project, at: datetime | None = None) -> Provenance:
    """Return who decided, when, and under which version of the guidelines (0 if there were none yet)."""
    return {
        "by": user.username if user else None,
        "at": (at or timezone.now()).isoformat(timespec="seconds"),
        "guidelines": project.guidelines_version,
    }


BATCH = 500


def make_gold(
    *, document: Document, annotation_set: AnnotationSet, actor: User | None, replace: bool = False
) -> AnnotationSet:
    """Copy a submitted annotation set into the note's gold. Each gold span records its author, who decided, and when.

    The event keeps the spans that a replacement removes. Raises ServiceError `draft` for a set that is not submitted,
    `exists` if the note has other gold and `replace` is not set, `two` for a model's suggestions in a project with two
    reviewers, and `room` for a set with more spans than allowed.
    """
    if annotation_set.document_id != document.pk:
        raise ServiceError(gettext("These annotations belong to another note. Reload the page."), code="note")
    with transaction.atomic():
        keep_labels(document.project_id)
        source = AnnotationSet.objects.select_for_update().select_related("author").get(pk=annotation_set.pk)
        if source.state != AnnotationSetState.SUBMITTED:
            message = gettext("These annotations are still a draft. Only submitted annotations can become gold.")
            raise ServiceError(message, code="draft")
        if source.author.kind == AuthorKind.GOLD:
            return source
        if source.author.kind in Author.MODELS and document.project.second_review != SecondReview.OFF:
            raise ServiceError(
                gettext("In this project, two people must review a model's suggestions. Review this note instead."),
                code="two",
            )
        spans = list(source.spans.order_by("start", "end", "id"))
        gold, created = AnnotationSet.objects.get_or_create(
            document=document,
            author=gold_author(document.project),
            defaults={"state": AnnotationSetState.SUBMITTED, "blind": False, "submitted_at": timezone.now()},
        )
        if not created:
            gold = AnnotationSet.objects.select_for_update().get(pk=gold.pk)
        removed = [] if created else _clear(gold, spans, replace=replace)
        if removed is not None:
            insert_spans(_gold_rows(gold, source, spans, provenance_of(actor, document.project)))
            # The annotation set may be older than the limit.
            check_room(gold.pk, [(s.start, s.end) for s in spans])
            gold.version += 1
        elif gold.state == AnnotationSetState.SUBMITTED:
            return gold  # Gold with the same spans may also be the draft of a review that is not finished.
        gold.state, gold.submitted_at = AnnotationSetState.SUBMITTED, timezone.now()
        gold.save(update_fields=["version", "state", "submitted_at", "updated_at"])
        data: GoldMade = {"from_set": source.pk, "spans": len(spans), "removed": removed or []}
        GOLD_MADE.record(
            actor=actor, project_id=document.project_id, document_id=document.pk, annotation_set_id=gold.pk, data=data
        )
    return gold


def make_new_golds(
    *, project: Project, sources: Sequence[AnnotationSet], spans: Mapping[int, Sequence[Span]], actor: User | None
) -> list[AnnotationSet]:
    """Copy submitted sets of annotators or adjudicators into the gold of notes that have none, as `make_gold` does.

    For the caller's transaction, which holds the sets' locks and the label lock, and has checked the room for `spans`
    (by set). Raises IntegrityError if somebody made gold of one of the notes meanwhile.
    """
    author, now = gold_author(project), timezone.now()
    golds = AnnotationSet.objects.bulk_create(
        AnnotationSet(
            document_id=source.document_id, author=author, state=AnnotationSetState.SUBMITTED, blind=False,
            submitted_at=now, version=1,
        )
        for source in sources
    )  # fmt: skip
    how = provenance_of(actor, project, now)
    pairs = list(zip(golds, sources, strict=True))
    insert_spans(row for gold, source in pairs for row in _gold_rows(gold, source, spans.get(source.pk, ()), how))
    GOLD_MADE.record_all(
        project.pk,
        (
            (
                {"actor": actor, "document_id": gold.document_id, "annotation_set_id": gold.pk},
                {"from_set": source.pk, "spans": len(spans.get(source.pk, ())), "removed": []},
            )
            for gold, source in pairs
        ),
    )
    return golds


def _gold_rows(gold: AnnotationSet, source: AnnotationSet, spans: Iterable[Span], how: Provenance) -> Iterator[SpanRow]:
    """The gold spans that copy the spans of a set. Each records its author and the decision."""
    origin: Provenance = {"from": f"{source.author.kind}:{source.author.name}", "set": source.pk}
    for each in spans:
        kept: Provenance = {"adjudication": each.provenance} if each.provenance else {}
        provenance = json.dumps(origin | how | kept)
        yield SpanRow(
            gold.pk, each.start, each.end, each.label_id, each.confidence, each.source, provenance,
            attributes=as_json(each.attributes),
        )  # fmt: skip


def _clear(gold: AnnotationSet, wanted: list[Span], *, replace: bool) -> list[list[int]] | None:
    """Delete the spans of a locked gold set and return them. Return None if they equal the wanted spans.

    Raises ServiceError `exists` if they differ and `replace` is not set.
    """
    rows = gold.spans.values_list("start", "end", "label_id", "attributes")
    present = [(start, end, label) for start, end, label, _ in rows]
    if {row[:3]: row[3] for row in rows} == {(s.start, s.end, s.label_id): s.attributes for s in wanted}:
        return None
    if not replace and gold.state == AnnotationSetState.DRAFT:
        message = gettext("A review of this note is open. Finish the review, or replace its draft explicitly.")
        raise ServiceError(message, code="exists")
    if not replace:
        message = ngettext(
            "This note already has other gold (%(count)s span). Replace the gold explicitly.",
            "This note already has other gold (%(count)s spans). Replace the gold explicitly.",
            len(present),
        )
        raise ServiceError(message % {"count": len(present)}, code="exists")
    gold.spans.all().delete()
    return [list(span) for span in present]


def withdraw_gold(*, document: Document, actor: User | None) -> None:
    """Delete the gold of a note. The event keeps its spans, and frozen versions don't change."""
    with transaction.atomic():
        gold = AnnotationSet.objects.select_for_update().filter(document=document, author__kind=AuthorKind.GOLD).first()
        if gold is None:
            raise ServiceError(gettext("This note has no gold."), code="none")
        withdraw_golds(project_id=document.project_id, golds=[gold], actor=actor)


def withdraw_golds(*, project_id: int, golds: Sequence[AnnotationSet], actor: User | None) -> None:
    """Delete these gold sets of a project, whose rows the caller's transaction has locked."""
    removed: dict[int, list[list[int]]] = {gold.pk: [] for gold in golds}
    spans = Span.objects.filter(annotation_set_id__in=removed).order_by("start", "end", "id")
    for pk, *span in spans.values_list("annotation_set_id", "start", "end", "label_id"):
        removed[pk].append(span)
    GOLD_WITHDRAWN.record_all(
        project_id,
        (
            (
                {"actor": actor, "document_id": gold.document_id, "annotation_set_id": gold.pk},
                {"removed": removed[gold.pk]},
            )
            for gold in golds
        ),
    )
    AnnotationSet.objects.filter(pk__in=removed).delete()


def make_gold_bulk(*, project_id: int, author_id: int, actor_id: int | None, progress: Progress) -> dict[str, Any]:
    """Make all submitted annotation sets of one author gold in notes without gold. Safe to repeat and to resume."""
    author = Author.objects.select_related("project").get(pk=author_id, project_id=project_id)
    if author.kind in NOT_IN_BULK:
        message = gettext("“%(name)s” is a model run and can't become gold in bulk. Review its suggestions instead.")
        raise ServiceError(message % {"name": author.name}, code="run")
    actor = User.objects.filter(pk=actor_id).first() if actor_id else None
    has_gold = AnnotationSet.objects.filter(document=OuterRef("document"), author__kind=AuthorKind.GOLD)
    submitted = AnnotationSet.objects.filter(author=author, state=AnnotationSetState.SUBMITTED)
    ids = list(submitted.filter(~Exists(has_gold)).order_by("id").values_list("pk", flat=True))
    kept = submitted.count() - len(ids)
    annotation_sets = AnnotationSet.objects.select_related("document__project").defer("document__text")
    made = 0
    for done, pk in enumerate(ids, start=1):
        try:
            with transaction.atomic():
                keep_labels(project_id)
                hold(project_id)
                annotation_set = annotation_sets.filter(pk=pk).first()
                if annotation_set is not None:  # None if the note was erased meanwhile
                    make_gold(document=annotation_set.document, annotation_set=annotation_set, actor=actor)
                    made += 1
        except ServiceError:
            kept += 1  # Somebody made other gold of the note or reopened the set meanwhile; that decision is kept.
        progress(done, len(ids))
    return {"made": made, "kept": kept, "from": f"{author.kind}:{author.name}"}


def freeze(*, project: Project, actor: User | None, reason: str = "") -> tuple[GoldVersion, bool]:
    """Freeze the gold standard as the next version. Return the version, and whether it is new.

    If nothing has changed, return the last version and False. A version contains every span with its provenance; the
    content hash covers names, texts and spans only.
    """
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        if not gold_sets(project).exists():
            message = gettext("There is no gold to freeze yet. Make submitted annotations gold first.")
            raise ServiceError(message, code="empty")
        last = project.gold_versions.order_by("-number").first()
        if last is not None and not has_changed(last):
            return last, False
        # What changes the gold from now on adds a row that stays, whether the new version contains it or not.
        ChangedGold.objects.filter(project_id=project.pk).delete()
        version = GoldVersion.objects.create(
            project=project, number=last.number + 1 if last else 1, note_count=0, span_count=0,
            reason=reason.strip()[:300], created_by=actor,
        )  # fmt: skip
        version.content_hash = gold_hash(_frozen(version))
        version.save(update_fields=["content_hash", "note_count", "span_count"])
        data: GoldFrozen = {"version": version.number, "hash": version.content_hash, "notes": version.note_count}
        GOLD_FROZEN.record(actor=actor, project_id=project.pk, data=data)
    return version, True


def _frozen(version: GoldVersion) -> Iterator[tuple[str, str, Iterable[tuple[Any, ...]]]]:
    """Store and count the notes of a new version. Yield of each what the content hash covers."""
    for some in gold_notes(version.project):
        GoldVersionNote.objects.bulk_create(
            GoldVersionNote(
                version=version, document_id=note.document, spans=note.spans, gold=note.gold, gold_number=note.number
            )
            for note in some
        )
        for note in some:
            version.note_count += 1
            version.span_count += len(note.spans)
            yield note.name, note.sha256, map(hashed, note.spans)
