"""Decide findings of the leak gate, and undo decisions."""

import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.bulk import among
from annotations.core.services import ServiceError, erasures_of, unerased
from annotations.jobs.services.queue import key_of
from annotations.models import LeakFinding, Project, Release, ReleasedNote, ReleasedNoteState, ReleaseState, User
from annotations.release.events import RELEASE_DECIDED, ReleaseDecided
from annotations.release.rules.redaction.policy import Action
from annotations.release.services.batches import extras_of, preparer_of, retried, rows_and_siblings, store_prepared
from annotations.release.services.preparing import PreparedNote
from annotations.release.services.replacing import Extra, GoneMeanwhile
from annotations.release.services.settling import dropped, settle
from annotations.release.services.starting import KIND, enqueue_job

UNDO = "undo"
Answer, State, Where = LeakFinding.Answer, ReleasedNoteState, LeakFinding.Where
AT_ONCE = 200
"""Up to this many notes are prepared again at once; a job prepares more."""
PREVIEWED = 50
"""So many findings of a string are replaced in a preview."""
SETTLED_AT_ONCE = 2000
"""Figures and hash of a release of up to this many notes are computed again at once."""


def answer_chosen(
    *,
    release: Release,
    answer: str,
    findings: Collection[int] = (),
    string_key: int | None = None,
    actor: User | None,
    label: str = "",
) -> int:
    """Answer open findings by their ids, or without ids all of one string, or all. Return how many were answered.

    `answer` is one of LeakFinding.Answer, to replace the places or to allow them, or `undo`, which opens answered
    findings again. `label` is the code of the label whose placeholder replaces what has no label.

    Findings that somebody else has answered meanwhile keep that answer. Where places are replaced, their notes are
    prepared again: at once, or by a job if there are many. Raises ServiceError `state` unless the release is prepared
    and neither signed nor withdrawn, `answer` for an unknown answer, and `label` if a label is needed, or unknown.
    """
    if answer not in (UNDO, *Answer.values):
        raise ServiceError(_("Choose whether to replace or to allow."), code="answer")
    which: dict[str, object] = {"decision__in": Answer.values} if answer == UNDO else {"decision": ""}
    if findings:
        which["pk__in"] = list(findings)
    if string_key is not None:
        which["string_key"] = string_key
    changed = retried(lambda: _act(release, which, "" if answer == UNDO else answer, actor, label))
    if changed and release.note_count <= SETTLED_AT_ONCE:
        retried(lambda: settle(release=release))
    release.refresh_from_db()
    return changed


def _act(release: Release, which: dict[str, object], answer: str, actor: User | None, label: str) -> int:
    """Answer the chosen findings in one transaction, with one event."""
    begun = erasures_of(release.project_id)
    prepared, seen = _prepared_first(release, which, answer, label)
    with transaction.atomic():
        unerased(release.project_id, begun)
        locked = _locked(release)
        chosen = list(LeakFinding.objects.filter(note__release=release, **which).order_by("note", "id"))
        if prepared is not None and (locked.revision, [one.pk for one in chosen]) != seen:
            raise GoneMeanwhile  # Somebody else has decided meanwhile.
        if chosen:
            _answer(locked, chosen, prepared, answer, actor, label)
    return len(chosen)


Seen = tuple[int, list[int]]
"""The release's revision and the ids of the chosen findings, when notes were prepared."""


def _check_label(release: Release, chosen: Sequence[LeakFinding], answer: str, label: str) -> None:
    """Raise ServiceError `label` if a label is needed for what is replaced, or is none of the policy's."""
    rules = release.policy.rules
    if label and label not in rules:
        message = _("The policy has no label “%(label)s”. Choose one of its labels.")
        raise ServiceError(message % {"label": label}, code="label")
    unlabeled = any(one.where == Where.TEXT and one.label not in rules for one in chosen)
    if answer == Answer.REPLACE and unlabeled and not label:
        message = _("No label fits some findings, or several do. Choose the label whose placeholder replaces them.")
        raise ServiceError(message, code="label")


def _prepared_first(
    release: Release, which: dict[str, object], answer: str, label: str
) -> tuple[list[PreparedNote] | None, Seen]:
    """Prepare the notes whose text changes, before the transaction that stores them. None if a job must do it."""
    release.refresh_from_db()
    chosen = list(LeakFinding.objects.filter(note__release=release, **which).order_by("note", "id"))
    seen = (release.revision, [one.pk for one in chosen])
    _check_label(release, chosen, answer, label)
    ids = _changing(chosen, answer)
    # Language models are called by workers only.
    by_job = len(ids) > AT_ONCE or bool(release.surrogate_maker)
    if not ids or by_job or release.state != ReleaseState.PREPARED:
        return None, seen
    return _prepared(release, ids, chosen, answer, label), seen


def _prepared(
    release: Release, ids: Sequence[int], chosen: Sequence[LeakFinding], answer: str, label: str
) -> list[PreparedNote]:
    """Prepare the notes of these rows, in the order of the rows, as they are after this decision."""
    rows, siblings = rows_and_siblings(release, ids)
    extras = _extras(release, rows, chosen, answer, label)
    preparer = preparer_of(release)
    notes = [(row.document, extras[row.pk]) for row in rows] + [(row.document, extras_of(row)) for row in siblings]
    originals = preparer.originals(notes)
    return preparer.prepare(originals[: len(rows)], originals[len(rows) :])


def replacements(*, release: Release, string_key: int) -> Counter[str]:
    """What would come in place of the first open findings of a string that have a label, and for how many of them.

    Empty where a language model makes the surrogates, since only workers call it. Nothing is stored.
    """
    open_ones = LeakFinding.objects.filter(note__release=release, string_key=string_key, decision="", where=Where.TEXT)
    chosen = list(open_ones.filter(label__in=release.policy.rules).order_by("note", "id")[:PREVIEWED])
    ids = _changing(chosen, Answer.REPLACE)
    if not ids or release.surrogate_maker or release.state != ReleaseState.PREPARED:
        return Counter()
    notes = [one.released for one in _prepared(release, ids, chosen, Answer.REPLACE, "")]
    released = dict(zip(ids, notes, strict=True))
    return Counter(
        released[one.note_id].text[piece.new_start : piece.new_end]
        for one in chosen
        for piece in released[one.note_id].pieces
        if piece.start <= one.original_start < piece.end
    )


def _locked(release: Release) -> Release:
    # A job may be started, which locks the project, so the project comes first.
    Project.objects.select_for_update(no_key=True).get(pk=release.project_id)
    locked = Release.objects.select_for_update(of=("self",)).select_related("project", "policy").get(pk=release.pk)
    if locked.state == ReleaseState.PREPARED:
        return locked
    message = _("Findings can be decided while a release is prepared and not yet signed. This one is: %(state)s.")
    raise ServiceError(message % {"state": locked.get_state_display()}, code="state")


def _changing(chosen: Sequence[LeakFinding], answer: str) -> list[int]:
    """The rows of notes that must be prepared again."""
    return sorted({one.note_id for one in chosen if Answer.REPLACE in (answer, one.decision)})


def _answer(
    release: Release,
    chosen: Sequence[LeakFinding],
    prepared: Sequence[PreparedNote] | None,
    answer: str,
    actor: User | None,
    label: str,
) -> None:
    notes = sorted({one.note_id for one in chosen})
    changing = _changing(chosen, answer)
    now = timezone.now() if answer else None
    answered = LeakFinding.objects.filter(pk__in=among([one.pk for one in chosen]))
    answered.update(decision=answer, decided_by=actor if answer else None, decided_at=now)
    for at in range(0, len(changing), AT_ONCE):
        some = ReleasedNote.objects.filter(pk__in=changing[at : at + AT_ONCE]).order_by("id")
        rows = list(some.select_related("document") if prepared else some.only("extra", "pieces", "release"))
        extras = _extras(release, rows, chosen, answer, label)
        for row in rows:
            row.extra, row.state = [list(extra) for extra in extras[row.pk]], State.PENDING
        if prepared:
            store_prepared(release, rows, prepared)
        else:
            ReleasedNote.objects.bulk_update(rows, ["extra", "state"])
    if changing and not prepared:
        release.state = ReleaseState.PREPARING
    hold_back(set(notes) - set(changing))
    release.content_hash = ""
    release.revision += 1
    if changing:
        release.figures |= {"surrogates": dropped(release.figures.get("surrogates") or {})}
    if release.state == ReleaseState.PREPARING:
        key = key_of(KIND, f"{release.pk}-again-{uuid.uuid4().hex}")
        release.job = enqueue_job(release, key, actor, release.note_count)
    release.save(update_fields=["state", "content_hash", "revision", "job", "figures"])
    data: ReleaseDecided = {"release": release.number, "answer": answer, "findings": len(chosen), "notes": len(notes)}
    RELEASE_DECIDED.record(actor=actor, project_id=release.project_id, data=data)


def hold_back(notes: Iterable[int]) -> None:
    """Hold back those of these notes that have open findings, and no others."""
    is_open = Exists(LeakFinding.objects.filter(note=OuterRef("pk"), decision=""))
    rows = ReleasedNote.objects.filter(pk__in=among(notes)).exclude(state=State.PENDING)
    rows.filter(is_open).update(state=State.HELD)
    rows.filter(~is_open).update(state=State.DONE)


def _extras(
    release: Release, rows: Sequence[ReleasedNote], chosen: Sequence[LeakFinding], answer: str, given: str
) -> dict[int, list[Extra]]:
    """The stretches that decisions add to each of these notes, after this decision.

    What has no label gets the placeholder of the label that was `given`.
    """
    rules = release.policy.rules
    by_note: dict[int, list[LeakFinding]] = {row.pk: [] for row in rows}
    for finding in chosen:
        if finding.where == Where.TEXT and finding.note_id in by_note:
            by_note[finding.note_id].append(finding)
    # Places that other decisions replace, beside those of this one.
    mine = {finding.pk for some in by_note.values() for finding in some}
    others = LeakFinding.objects.filter(note__in=list(by_note), where=Where.TEXT, decision=Answer.REPLACE)
    kept = {
        (note, start, end)
        for pk, note, start, end in others.values_list("pk", "note_id", "original_start", "original_end")
        if pk not in mine
    }
    found: dict[int, list[Extra]] = {}
    for row in rows:
        extras = extras_of(row)
        for finding in by_note[row.pk]:
            bounds = (finding.original_start, finding.original_end)
            if (row.pk, *bounds) not in kept:
                extras = [extra for extra in extras if extra[:2] != bounds]
            if answer == Answer.REPLACE:
                label = finding.label if finding.label in rules else given
                touched = [piece[5] for piece in row.pieces if piece[0] < bounds[1] and bounds[0] < piece[1]]
                replaced = any(action != Action.KEEP for action in touched)
                masked = replaced or label != finding.label or rules[label]["action"] == Action.KEEP
                extras.append(Extra(*bounds, label, masked))
        found[row.pk] = sorted(set(extras))
    return found
