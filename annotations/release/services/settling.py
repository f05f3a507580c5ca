"""Figures and content hash of a prepared release, from its rows."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from django.db import transaction
from django.db.models import Count, F, Max, Min, Q, QuerySet, Sum

from annotations import models
from annotations.core.bulk import batched, collector_paused
from annotations.core.sealing import project_key
from annotations.core.services import erasures_of, unerased
from annotations.release.rules.certificates import released_files
from annotations.release.rules.redaction.policy import Action
from annotations.release.rules.redaction.released import Mention
from annotations.release.rules.surrogates.measures import ReplacedMention, measure
from annotations.release.rules.surrogates.pipeline import Surrogate
from annotations.release.selectors.releases import leak_counts
from annotations.release.services.policies import read_policy
from annotations.release.services.surrogates.making import entities_in
from annotations.release.services.surrogates.patients import mentioned
from annotations.text.hashes import gold_hash

# Measures of a release's surrogates (Singh et al. 2025, appendix A.7).


MOST_NOTES: Final = 500
"""Larger releases are measured on this many notes: those of the first patients, each with all their notes."""
AT_ONCE: Final = 200
COLUMNS: Final = ("document_id", "document__text", "document__language", "text", "pieces")


def dropped(before: dict[str, Any]) -> dict[str, Any]:
    """What stays of measures when texts change: the name of the model whose F1 is dropped. The page shows it."""
    name = (before.get("f1") or before.get("f1_dropped") or {}).get("backend")
    return {"f1_dropped": {"backend": name}} if name else {}


def surrogate_measures(release: models.Release) -> dict[str, Any]:
    """The measures, with the number of `notes` that were measured; empty under a policy without surrogates."""
    policy = read_policy(release.policy.rules)
    if all(rule.action != Action.SURROGATE for rule in policy.rules.values()):
        return {}
    rows = (
        models.ReleasedNote.objects.filter(release=release)
        .exclude(state=models.ReleasedNoteState.PENDING)
        .order_by("id")
    )
    ids = list(rows.values_list("pk", flat=True)[:MOST_NOTES])
    key = project_key(release.project_id)
    known: dict[int, Surrogate] = {}
    kinds = {code: rule.kind for code, rule in policy.rules.items()}

    def replaced() -> Iterator[ReplacedMention]:
        for batch in batched(ids, AT_ONCE):
            notes = list(rows.filter(pk__in=batch).values_list(*COLUMNS))
            entities = entities_in(release.project, key, [note[0] for note in notes], known)
            for document, text, language, new_text, pieces in notes:
                for start, end, new_start, new_end, label, action in pieces:
                    entity = entities.get((document, start, end))
                    if action != Action.SURROGATE or entity is None:
                        continue
                    mention = Mention(start, end, label, kinds[label], text[start:end])
                    here = mentioned(document, text, mention)
                    in_language = language or release.project.language
                    yield ReplacedMention(entity, here, new_text[new_start:new_end], known[entity], in_language)

    with collector_paused():
        measures = measure(replaced())
    return {"notes": len(ids), **asdict(measures)}


BATCH = 500
State = models.ReleasedNoteState


def settle(*, release: models.Release) -> models.Release:
    """Store figures and content hash of a prepared release, unless nothing has changed since they were stored.

    The hash covers the notes that an export writes: those that are not held back. Raises ErasedMeanwhile if a note was
    erased meanwhile; then start again.
    """
    release.refresh_from_db()
    if release.content_hash or release.state != models.ReleaseState.PREPARED:
        return release
    begun = erasures_of(release.project_id)
    seen = release.revision
    figures = _figures(release)
    whole = content_hash(release)
    figures |= {name: release.figures.get(name, {}) for name in ("surrogates", "searched")}
    if "notes" not in figures["surrogates"]:  # A decision has replaced findings since they were measured.
        figures["surrogates"] = surrogate_measures(release) | figures["surrogates"]
    figures["text_hash"] = texts_hash(release)
    figures |= {name: value for name, value in release.figures.items() if name == "records"}
    with transaction.atomic():
        unerased(release.project_id, begun)
        locked = models.Release.objects.select_for_update(of=("self",)).get(pk=release.pk)
        if locked.state == models.ReleaseState.PREPARED and locked.revision == seen:
            locked.content_hash, locked.figures = whole, figures
            locked.span_count = figures["spans"]
            locked.save(update_fields=["content_hash", "figures", "span_count"])
    release.refresh_from_db()
    return release


def leave_out(*, release: models.Release, notes: Sequence[int]) -> None:
    """Take notes that are being erased out of the stored figures, in the caller's transaction, while they still exist.

    The hashes stay, since those of a signed release name what was handed over. So do the measures of surrogates.
    """
    locked = models.Release.objects.select_for_update(of=("self",)).get(pk=release.pk)
    if locked.state == models.ReleaseState.PREPARING or "notes" not in locked.figures:
        return
    erased = models.ReleasedNote.objects.filter(release=locked, document__in=notes)
    stays = released_notes(locked).exclude(document__in=notes)
    less, figures = _sums(erased.filter(state=State.DONE).order_by()), dict(locked.figures)
    less["held_back"] = erased.filter(state=State.HELD).count()
    for name, value in less.items():
        if isinstance(value, int):
            figures[name] = max(0, figures[name] - value)
        else:
            figures[name] = dict(sorted((Counter(figures[name]) - Counter(value)).items()))
    figures |= _extent(stays) | {"leaks": leak_counts(locked, without=notes)}
    locked.figures, locked.span_count = figures, figures["spans"]
    locked.save(update_fields=["figures", "span_count"])


def edition_of(release: models.Release) -> str:
    """A keyed hash of the release and its decisions: after others, the same texts may have other attributes."""
    return project_key(release.project_id).hexdigest("edition", str(release.pk), str(release.revision))


def released_notes(release: models.Release) -> QuerySet[models.ReleasedNote]:
    """The notes that an export writes."""
    return models.ReleasedNote.objects.filter(release=release, state=State.DONE)


def content_hash(release: models.Release) -> str:
    """The hash of names, texts and spans of the notes that an export writes."""
    rows = released_notes(release).order_by("id").values_list("name", "sha256", "spans").iterator(chunk_size=BATCH)
    return gold_hash((name, sha256, [tuple(span[:3]) for span in spans]) for name, sha256, spans in rows)


def texts_hash(release: models.Release) -> str:
    """The hash of names and texts of the notes that an export writes."""
    return released_files.texts_hash(released_notes(release).order_by("id").values_list("name", "sha256"))


def _figures(release: models.Release) -> dict[str, Any]:
    """Counts of the notes that an export writes. They hold no text."""
    rows = released_notes(release).order_by()
    return {
        **_sums(rows),
        "held_back": models.ReleasedNote.objects.filter(release=release, state=State.HELD).count(),
        "leaks": leak_counts(release),
        **_extent(rows),
    }


def _sums(rows: QuerySet[models.ReleasedNote]) -> dict[str, Any]:
    """The figures that are sums over notes: numbers, and numbers by name."""
    by_label: Counter[str] = Counter()
    by_action: Counter[str] = Counter()
    exceptions: Counter[str] = Counter()
    for pieces, excepted in rows.values_list("pieces", "exceptions").iterator(chunk_size=BATCH):
        exceptions.update(excepted)
        by_label.update(piece[4] for piece in pieces)
        by_action.update(piece[5] for piece in pieces)
    totals = rows.aggregate(
        notes=Count("id"),
        characters=Sum("document__length", default=0),
        characters_kept=Sum("characters_kept", default=0),
        notes_without_patient=Count("id", filter=Q(document__patient_id="")),
    )
    return {
        **totals,
        "spans": by_label.total(),
        "spans_by_label": dict(sorted(by_label.items())),
        "spans_by_action": dict(sorted(by_action.items())),
        "exceptions": dict(sorted(exceptions.items())),
    }


def _extent(rows: QuerySet[models.ReleasedNote]) -> dict[str, Any]:
    """The figures that are no sums: the number of patients, and the first and the last year."""
    found = rows.order_by().aggregate(
        first=Min("first_year"),
        last=Max("last_year"),
        patients=Count("document__patient_id", distinct=True, filter=~Q(document__patient_id="")),
    )
    years = None if found["first"] is None else [found["first"], found["last"]]
    return {"patients": found["patients"], "years": years}


def delete_releases(*, project: models.Project) -> None:
    """Delete the releases of a project that is being deleted. A hook (annotations.core.hooks.project_deleted).

    Releases protect their policies, which the project would delete first.
    """
    models.Release.objects.filter(project=project).delete()


def erase_from_releases(
    *, project: models.Project, notes: Sequence[int], patient: str, only: models.Release | None = None
) -> None:
    """Record in releases and audits how many of their notes are erased, but not which; leave them out of the figures.

    A hook (annotations.core.hooks.patient_erased): it runs in the erasure's transaction, while the notes still exist.
    The hash of a signed release stays, since it names what was handed over. Others are computed again. `only`: the one
    release from which the notes are taken.
    """
    rows = models.ReleasedNote.objects.filter(release__project=project, document__in=list(notes)).order_by()
    if only is not None:
        rows = rows.filter(release=only)
    for pk, count in rows.values_list("release").annotate(count=Count("pk")).order_by("release"):
        found = models.Release.objects.filter(pk=pk)
        leave_out(release=found.get(), notes=notes)
        found.update(erased_count=F("erased_count") + count)
        found.filter(state=models.ReleaseState.PREPARED).update(content_hash="", revision=F("revision") + 1)
        if found.exclude(state=models.ReleaseState.PREPARING).exists():
            models.ReleaseErasure.objects.create(release_id=pk, notes=count, patients=int(bool(patient)))
    audited = models.AuditNote.objects.filter(note__in=rows.values("pk")).order_by()
    for plan, count in audited.values_list("plan").annotate(count=Count("pk")):
        models.AuditPlan.objects.filter(pk=plan).update(erased_count=F("erased_count") + count)
