"""Routes of the leak gate's findings: list, and decisions about them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, Self

from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from ninja import Field, Query, Router, Schema

from annotations.core.access import Can
from annotations.core.api.paging import Page, Paging, paged
from annotations.core.api.problems import invalid, named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.core.events import record_reads
from annotations.models import LeakFinding, Release, ReleaseState
from annotations.release.selectors.about import open_counts
from annotations.release.selectors.leak_groups import FindingInSentence, findings_of, in_context, passing
from annotations.release.selectors.releases import release_for
from annotations.release.services.deciding import answer_chosen
from annotations.text.numbers import MAX_ID

router = Router(tags=["Releases"])
PATH = "/projects/{slug:slug}/releases/{int:release}/findings"
# A key is a signed number of 64 bits, which is text here because JavaScript would round it.
KEY = r"^-?[0-9]{1,18}$|^-?[1-8][0-9]{18}$"


class FindingItem(Schema):
    """An identifier that the leak gate found, in its sentence: `before`, `marked`, `after`.

    `string` is the same for all findings of one string. `start` and `end` are code points, end-exclusive, of the
    released text or, with `where` name, of the note's name; with `attr`, of the attributes of a span, in one line.
    `label` is empty if no label fits, or several: then a decision to replace it names one.
    `origin` is note, patient, known, denied, shape, rules, run or audit; `part`: only a part of the labeled string.
    `decision` is empty, replace or allow.
    """

    id: int
    string: str
    note: int
    where: str
    start: int
    end: int
    before: str
    marked: str
    after: str
    origin: str
    part: bool
    label: str
    source: int | None
    source_start: int | None
    source_end: int | None
    decision: str
    decided_by: str | None
    decided_at: datetime | None

    @classmethod
    def of(cls, one: LeakFinding, shown: FindingInSentence) -> Self:
        return cls(
            id=one.pk, string=str(one.string_key), note=shown.note, where=one.where, start=one.start, end=one.end,
            before=shown.before, marked=shown.marked, after=shown.after, origin=one.origin, part=one.part,
            label=one.label, source=one.source_id, source_start=one.source_start, source_end=one.source_end,
            decision=one.decision, decided_by=shown.decided_by or None, decided_at=one.decided_at,
        )  # fmt: skip


class FindingsAnswer(Body):
    """An answer to findings, to all findings of one string, or (`all`) to all. Name one of the three.

    `replace` treats the place as the policy says, `allow` leaves it, `undo` opens the findings again. `label`: the code
    of the label whose placeholder replaces findings without a label.
    """

    answer: Literal["replace", "allow", "undo"]
    findings: list[int] = Field([], max_length=10_000)
    string: str = Field("", pattern=f"^$|{KEY}")
    all: bool = False
    label: str = Field("", max_length=60)


class Decided(Schema):
    """How many findings changed, how many are open, and the release's state and job.

    After many replacements a job prepares the notes again.
    """

    changed: int
    open_findings: int
    state: str
    job: int | None


@router.get(PATH, response=Page[FindingItem])
def list_findings(
    request: ApiRequest,
    slug: str,
    release: int,
    paging: Query[Paging],
    state: Literal["open", "decided", "all"] = "all",
) -> dict[str, Any] | HttpResponseBase:
    """List the findings of the leak gate. The audit log records that their notes were read."""
    access = enter(request, slug, Can.RELEASE)
    found = release_for(access, release)

    def fetch(after: int | None, size: int) -> Sequence[tuple[LeakFinding, FindingInSentence]]:
        rows = passing(findings_of(found), state).filter(pk__gt=after or 0).order_by("pk")
        findings = list(rows.select_related("decided_by", "note__document")[:size])
        shown = in_context(findings)
        notes = (one.note for one in shown.values())
        record_reads(actor=access.user, project_id=access.project.pk, notes=notes, what="leak findings")
        return [(one, shown[one.pk]) for one in findings]

    return paged(request, paging, fetch, lambda row: FindingItem.of(*row), lambda row: row[0].pk)


@router.post(f"{PATH}/decide", response=Decided)
def decide_findings(request: ApiRequest, slug: str, release: int, body: FindingsAnswer) -> Decided:
    """Decide findings of the leak gate, or undo decisions. Findings that were decided meanwhile stay as they are."""
    access = enter(request, slug, Can.RELEASE)
    found = release_for(access, release)
    if sum([bool(body.findings), bool(body.string), body.all]) != 1:
        raise invalid(("findings", _("Name findings, or a string, or set “all”: exactly one of the three.")))
    if any(not 0 < one <= MAX_ID for one in body.findings):
        raise invalid(("findings", _("These are not ids of findings.")))
    with named({"label": "label"}):
        changed = answer_chosen(
            release=found, answer=body.answer, findings=body.findings,
            string_key=int(body.string) if body.string else None, actor=access.user, label=body.label,
        )  # fmt: skip
    return _decided(found, changed)


def _decided(release: Release, changed: int) -> Decided:
    waiting = open_counts([release]).get(release.pk, 0)
    job = release.job.number if release.job and release.state == ReleaseState.PREPARING else None
    return Decided(changed=changed, open_findings=waiting, state=release.state, job=job)
