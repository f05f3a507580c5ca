"""What an audit of a release could be like: its strata, its design, and the notes of its sample."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import AuditPlan, NoteMetadata, Project, Release, ReleasedNote
from annotations.release.rules.audits.looks import Design
from annotations.release.rules.audits.sampling import Unit, is_simple
from annotations.release.selectors.releases import release_numbered

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


def design_of(plan: AuditPlan) -> Design:
    """The design of an existing plan."""
    return Design(
        {name: stratum["notes"] for name, stratum in plan.strata.items()},
        {name: stratum["simple"] for name, stratum in plan.strata.items()},
        plan.confidence,
        plan.target,
        plan.planted_share,
        plan.leaks_allowed,
    )


def units_of(release: Release, by: str) -> list[Unit]:
    """The released notes with stratum and patient, in the order of their ids. A stratum without a value is empty."""
    rows = list(
        ReleasedNote.objects.filter(release=release, state=ReleasedNote.State.DONE)
        .order_by("pk")
        .values_list("pk", "document_id", "document__language", "document__patient_id")
    )
    stratum = _strata(release, by, {document: language for _pk, document, language, _patient in rows})
    return [Unit(pk, stratum[document], patient) for pk, document, _language, patient in rows]


def _strata(release: Release, by: str, languages: Mapping[int, str]) -> Mapping[int, str]:
    if by == AuditPlan.By.LANGUAGE:
        return {note: language or release.project.language for note, language in languages.items()}
    known: dict[int, str] = {}
    if by in (AuditPlan.By.TYPE, AuditPlan.By.SITE):
        column = "note_type" if by == AuditPlan.By.TYPE else "site"
        rows = NoteMetadata.objects.filter(document__project=release.project_id).order_by()
        known = dict(rows.values_list("document_id", column))
    return {note: known.get(note, "") for note in languages}


def designed(units: Sequence[Unit], choices: Choices) -> Design:
    """The design for these notes. Raises ServiceError `by` where there are too many strata, `notes` without notes."""
    members: dict[str, list[Unit]] = {}
    for unit in units:
        members.setdefault(unit.stratum, []).append(unit)
    if not members:
        raise ServiceError(_("The release has no notes to audit."), code="notes")
    if len(members) > MOST_STRATA:
        raise ServiceError(
            _("There are %(n)d values. A sample can have at most %(most)d strata. Stratify by something else.")
            % {"n": len(members), "most": MOST_STRATA},
            code="by",
        )
    sizes = {name: len(members[name]) for name in sorted(members)}
    rest = (choices.confidence, choices.target, choices.planted, choices.leaks)
    # Whether a sample is a simple one depends on its size. A simple one is smaller, so it may stop being simple.
    largest = Design(sizes, dict.fromkeys(sizes, False), *rest).looks[-1]
    simple = {name: is_simple(members[name], largest[name]) for name in sizes}
    drawn = Design(sizes, simple, *rest).looks[-1]
    simple = {name: is_simple(members[name], drawn[name]) for name in sizes}
    return Design(sizes, simple, *rest)


@dataclass(frozen=True)
class Preview:
    """The sample that the choices give: notes to the end of each look, and strata with notes and drawn notes.

    Not `reachable`: the release is so small that even reading all notes can't meet the target.
    """

    notes: int
    looks: list[tuple[int, int]]
    strata: list[tuple[str, int, int]]
    planted: int
    reachable: bool

    @property
    def first(self) -> int:
        return self.looks[0][1]

    @property
    def most(self) -> int:
        return self.looks[-1][1]


def preview_of(release: Release, choices: Choices) -> Preview:
    """The sample that choices would give. Raises ServiceError as `designed`."""
    design = designed(units_of(release, choices.by), choices)
    last = design.looks[-1]
    return Preview(
        notes=design.notes,
        looks=[(leaks, sum(look.values())) for leaks, look in enumerate(design.looks)],
        strata=[(name, notes, last[name]) for name, notes in design.strata.items()] if choices.by else [],
        planted=design.planted_in(sum(last.values())),
        reachable=design.reachable,
    )


def waiting_for(release: Release) -> str:
    """Why no audit can be planned now, as a sentence; empty if it can."""
    if release.state != Release.State.PREPARED:
        return _("An audit can be planned while a release is prepared and not yet signed. This one is: %(state)s.") % {
            "state": release.get_state_display()
        }
    states = ReleasedNote.objects.filter(release=release).exclude(state=ReleasedNote.State.DONE)
    if held := states.count():
        return _("Decide the findings of the leak gate first. Notes held back: %(n)d.") % {"n": held}
    return ""


def audit_numbered(project: Project, release: int) -> AuditPlan:
    """Find the audit of a release by its number. Raises ServiceError `release`, or `audit` where none is planned."""
    found = release_numbered(project, release)
    plan = AuditPlan.objects.select_related("release__project", "release__policy").filter(release=found).first()
    if plan is None:
        raise ServiceError(
            _("Release %(number)s has no audit yet. Plan one first.") % {"number": release}, code="audit"
        )
    return plan
