"""Plan the audit of a release: draw the sample and plant leaks in it; discard a plan that nobody has begun to read."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import transaction
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.bulk import batched
from annotations.core.sealing import Key, project_key
from annotations.core.services import ServiceError, hold
from annotations.release.events import AUDIT_DISCARDED, AUDIT_PLANNED
from annotations.release.rules.audits.looks import MOST_LEAKS, Design
from annotations.release.rules.audits.sampling import DrawnNote, SamplingUnit, draw, is_simple
from annotations.release.rules.audits.shown import can_plant
from annotations.release.selectors.findings import stored_pieces

# A stratum is a share of the release; with more, each would be too small to say anything about.
MOST_STRATA = 30


@dataclass(frozen=True)
class Choices:
    """What a manager chooses. Shares are from 0 to 1."""

    by: str = ""
    confidence: float = 0.95
    target: float = 0.01
    planted: float = 0.1
    leaks: int = 0


_STRATA: dict[str, str] = {
    models.AuditPlan.By.TYPE: "document__metadata__note_type",
    models.AuditPlan.By.SITE: "document__metadata__site",
    models.AuditPlan.By.LANGUAGE: "document__language",
}


def units_of(release: models.Release, by: str) -> list[SamplingUnit]:
    """The released notes with stratum and patient, in the order of their ids. A stratum without a value is empty."""
    rows = models.ReleasedNote.objects.filter(release=release, state=models.ReleasedNoteState.DONE).order_by("pk")
    other = release.project.language if by == models.AuditPlan.By.LANGUAGE else ""
    return [
        SamplingUnit(pk, str(stratum or other) if by else "", patient)
        for pk, patient, stratum in rows.values_list("pk", "document__patient_id", _STRATA.get(by, "pk"))
    ]


def designed(units: Sequence[SamplingUnit], choices: Choices) -> Design:
    """The design for these notes. Raises ServiceError `by` where there are too many strata, `notes` without notes."""
    members: dict[str, list[SamplingUnit]] = {}
    for unit in units:
        members.setdefault(unit.stratum, []).append(unit)
    if not members:
        raise ServiceError(_("The release has no notes to audit."), code="notes")
    if len(members) > MOST_STRATA:
        message = _("There are %(n)d values. A sample can have at most %(most)d strata. Stratify by something else.")
        raise ServiceError(message % {"n": len(members), "most": MOST_STRATA}, code="by")
    sizes = {name: len(members[name]) for name in sorted(members)}
    rest = (choices.confidence, choices.target, choices.planted, choices.leaks)
    # Whether a sample is a simple one depends on its size. A simple one is smaller, so it may stop being simple.
    largest = Design(sizes, dict.fromkeys(sizes, False), *rest).looks[-1]
    simple = {name: is_simple(members[name], largest[name]) for name in sizes}
    drawn = Design(sizes, simple, *rest).looks[-1]
    simple = {name: is_simple(members[name], drawn[name]) for name in sizes}
    return Design(sizes, simple, *rest)


@dataclass(frozen=True)
class Stratum:
    """A part of the release, its notes, and how many of them are drawn."""

    name: str
    notes: int
    drawn: int


@dataclass(frozen=True)
class AuditSample:
    """The sample that choices give. `looks`: notes to read until the first, second and third look at the result.

    `reachable`: false where even reading all notes can't meet the target.
    """

    notes: int
    looks: list[int]
    strata: list[Stratum]
    planted: int
    reachable: bool

    @property
    def first(self) -> int:
        return self.looks[0]

    @property
    def most(self) -> int:
        return self.looks[-1]


def preview_of(release: models.Release, choices: Choices) -> AuditSample:
    """The sample that choices would give. Raises ServiceError as `designed`."""
    design = designed(units_of(release, choices.by), choices)
    last = design.looks[-1]
    return AuditSample(
        notes=design.notes,
        looks=[sum(look.values()) for look in design.looks],
        strata=[Stratum(name, notes, last[name]) for name, notes in design.strata.items()] if choices.by else [],
        planted=design.planted_in(sum(last.values())),
        reachable=design.reachable,
    )


def reachable_choices(release: models.Release) -> Choices:
    """Proposed choices: the lowest target that the release's size allows, with planted leaks if they allow any.

    Raises ServiceError as `designed`.
    """
    usual = Choices()
    for planted in (usual.planted, 0.0):
        for target in (usual.target, 0.02, 0.05, 0.1):
            choices = replace(usual, target=target, planted=planted)
            if preview_of(release, choices).reachable:
                return choices
    return usual


def waiting_for(release: models.Release) -> str:
    """Why no audit can be planned now, as a sentence; empty if it can."""
    if release.state != models.ReleaseState.PREPARED:
        return _("An audit can be planned while a release is prepared and not yet signed. This one is: %(state)s.") % {
            "state": release.get_state_display()
        }
    if not release.note_count:
        return _("The release has no notes, so there is nothing to read.")
    states = models.ReleasedNote.objects.filter(release=release).exclude(state=models.ReleasedNoteState.DONE)
    if held := states.count():
        return _("Decide the findings of the leak gate first. Notes held back: %(n)d.") % {"n": held}
    return ""


# Planning.

BATCH = 200


def plan_audit(
    *, release: models.Release, choices: Choices, actor: models.User | None, seed: str = ""
) -> models.AuditPlan:
    """Plan the audit of a prepared release. Without a seed, one is drawn.

    Raises ServiceError: `state` if the release can't be audited now, `exists` if it has an audit, `by`, `notes` and
    `choices` if the choices don't fit, `planted` if nothing can be planted.
    """
    check(choices)
    with transaction.atomic():
        hold(release.project_id)
        locked = models.Release.objects.select_for_update(of=("self",)).select_related("project").get(pk=release.pk)
        if reason := waiting_for(locked):
            raise ServiceError(reason, code="state")
        if models.AuditPlan.objects.filter(release=locked).exists():
            raise ServiceError(_("This release has an audit already."), code="exists")
        units = units_of(locked, choices.by)
        design = designed(units, choices)
        seed = seed or secrets.token_hex(16)
        sample = draw(seed, units, design.looks)
        plan = models.AuditPlan.objects.create(
            release=locked,
            by=choices.by,
            confidence=choices.confidence,
            target=choices.target,
            planted_share=choices.planted,
            leaks_allowed=choices.leaks,
            seed=seed,
            strata={name: {"notes": n, "simple": design.simple[name]} for name, n in design.strata.items()},
            looks=design.looks,
            drawn=len(sample),
            created_by=actor,
        )
        rows = [
            models.AuditNote(plan=plan, note_id=one.pk, position=position, look=one.look, stratum=one.stratum)
            for position, one in enumerate(sample, 1)
        ]
        if choices.planted:
            _plant(design, rows, sample, project_key(locked.project_id), seed)
        models.AuditNote.objects.bulk_create(rows, batch_size=500)
        AUDIT_PLANNED.record(
            actor=actor,
            project_id=locked.project_id,
            data={
                "release": locked.number, "notes": design.notes, "drawn": len(sample), "by": choices.by,
                "confidence": choices.confidence, "target": choices.target, "planted": choices.planted,
                "leaks": choices.leaks,
            },
        )  # fmt: skip
    return plan


def check(choices: Choices) -> None:
    """Raise ServiceError `choices` for values out of range."""
    for fits, message in (
        (choices.by in models.AuditPlan.By.values, _("Notes can be stratified by type, site or language.")),
        (0.5 <= choices.confidence <= 0.999, _("The confidence must be between 50% and 99.9%.")),
        (0.0001 <= choices.target <= 0.5, _("The target must be between 0.01% and 50%.")),
        (0 <= choices.planted <= 0.5, _("The share of planted leaks must be between 0% and 50%.")),
        (0 <= choices.leaks <= MOST_LEAKS, _("Choose whether reading stops after more than 0, 1 or 2 leaks.")),
    ):
        if not fits:
            raise ServiceError(message, code="choices")


def discard_plan(*, release: models.Release, actor: models.User | None) -> None:
    """Delete the plan, if nobody has opened a note. Raises ServiceError `begun` or `none`."""
    with transaction.atomic():
        plan = models.AuditPlan.objects.select_for_update(of=("self",)).filter(release=release).first()
        if plan is None:
            raise ServiceError(_("This release has no audit."), code="none")
        if plan.notes.exclude(state=models.AuditNoteState.WAITING).exists() or plan.erased_count:
            raise ServiceError(
                _("Reading has begun, so the plan can't be discarded. Otherwise one could choose the best result."),
                code="begun",
            )
        plan.delete()
        AUDIT_DISCARDED.record(actor=actor, project_id=release.project_id, data={"release": release.number})


def _plant(design: Design, rows: Sequence[models.AuditNote], sample: Sequence[DrawnNote], key: Key, seed: str) -> None:
    """Choose a replaced identifier in a share of the notes of each look.

    The choice depends on the project's secret key, so that nobody can repeat it from the seed.
    """
    planted = at = 0
    for look in range(len(design.looks)):
        mine = [row for row, one in zip(rows, sample, strict=True) if one.look == look]
        at += len(mine)
        mine.sort(key=lambda row: key.digest("audit note", seed, str(row.note_id)))
        planted += _plant_some(mine, design.planted_in(at) - planted, key, seed)
    if not planted:
        raise ServiceError(
            _("No note of the sample has a replaced identifier that could be planted. Plan without planted leaks."),
            code="planted",
        )


def _plant_some(rows: Sequence[models.AuditNote], wanted: int, key: Key, seed: str) -> int:
    """Plant a leak in the first `wanted` notes in which it is possible. Return their number."""
    done = 0
    for some in batched(rows, BATCH):
        if done >= wanted:
            break
        texts = models.ReleasedNote.objects.filter(pk__in=[row.note_id for row in some]).select_related("document")
        notes = texts.only("pieces", "text", "document__text").in_bulk()
        for row in some:
            note = notes[row.note_id]
            fitting = [piece for piece in stored_pieces(note.pieces) if can_plant(note.document.text, note.text, piece)]
            if not fitting:
                continue
            number = int.from_bytes(key.digest("audit piece", seed, str(row.note_id))[:8], "big")
            piece = fitting[number % len(fitting)]
            row.planted_start, row.planted_end = piece.start, piece.end
            done += 1
            if done == wanted:
                break
    return done
