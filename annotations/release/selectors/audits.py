"""The result of a release's audit, for its page and its certificate."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from annotations import models
from annotations.core.access import Access, Can
from annotations.notes.selectors.in_context import InSentence, LabelLook, in_sentence, label_looks, line_at
from annotations.release.rules.audits.looks import AuditCounts, AuditVerdict, Design, judge
from annotations.release.rules.audits.shown import AuditedPart, AuditedText, PartKind
from annotations.release.rules.redaction.policy import Action
from annotations.release.selectors.findings import stored_pieces


def design_of(plan: models.AuditPlan) -> Design:
    """The design of an existing plan."""
    return Design(
        {name: stratum["notes"] for name, stratum in plan.strata.items()},
        {name: stratum["simple"] for name, stratum in plan.strata.items()},
        plan.confidence,
        plan.target,
        plan.planted_share,
        plan.leaks_allowed,
    )


def audited(access: Access) -> QuerySet[models.Release]:
    """The project's releases that have an audit, and for managers also the others."""
    rows = models.Release.objects.filter(project=access.project).select_related("policy", "audit")
    return rows if access.can(Can.RELEASE) else rows.filter(audit__isnull=False)


# What was read in an audit, and what follows from it.


def leaks_of(plan: models.AuditPlan) -> "QuerySet[models.AuditMark]":
    """The marks of finished notes that count as leaks."""
    return models.AuditMark.objects.filter(note__plan=plan, leak=True, dismissed_at__isnull=True)


class Readings:
    """The finished notes in the order of the sample, before the first that is not finished.

    Implements annotations.release.rules.audits.looks.Reading. Notes keep their positions when others are erased, so an
    erased note counts as drawn, and as nothing else.
    """

    def __init__(self, plan: models.AuditPlan) -> None:
        leak = models.AuditMark.objects.filter(note=OuterRef("pk"), leak=True, dismissed_at__isnull=True)
        rows = models.AuditNote.objects.filter(plan=plan).annotate(leak=Exists(leak)).order_by("position")
        drawn = [*rows.values_list("position", "state", "stratum", "leak", "planted_found", "reader", named=True)]
        self.done = [row for row in drawn if row.state == models.AuditNoteState.DONE]
        self._notes = list(takewhile(lambda row: row.state == models.AuditNoteState.DONE, drawn))
        self.read = plan.drawn if self._notes == drawn else drawn[len(self._notes)].position - 1

    def found(self, read: int) -> AuditCounts:
        some = [one for one in self._notes if one.position <= read]
        planted = [one.planted_found for one in some if one.planted_found is not None]
        return AuditCounts(
            Counter(one.stratum for one in some),
            Counter(one.stratum for one in some if one.leak),
            len(planted),
            sum(planted),
        )

    def leak_at(self, number: int) -> int | None:
        return next(islice((one.position for one in self._notes if one.leak), number - 1, None), None)


def verdict_of(plan: models.AuditPlan, readings: Readings | None = None) -> AuditVerdict:
    """The state of the audit and its bounds, from what was read."""
    return judge(design_of(plan), plan.looks, readings or Readings(plan))


@dataclass(frozen=True, slots=True)
class Rate:
    """Notes with a leak among the notes read, and the upper bound of their share at the audit's confidence (0 to 1)."""

    read: int
    leaks: int
    bound: float


@dataclass(frozen=True, slots=True)
class Auditor:
    """A person who read notes of the sample: how many, with how many planted leaks, of which they found some."""

    user: models.User
    read: int
    planted: int
    found: int

    @property
    def recall(self) -> float | None:
        """The share of planted leaks that they found; None without any. Not a bound, because the numbers are small."""
        return self.found / self.planted if self.planted else None


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What an audit shows about a release. Shares are from 0 to 1.

    `notes`: released notes; `read`: those of the sample that were read completely; `leaks`: notes with a leak.
    `bound`: the upper bound of the share of notes with a leak, corrected by `recall`, the lower bound of the
    share of planted leaks that the auditors find (None without planted leaks); it is 1 before the first look. It is
    based on the first `counted` notes of the sample. `strata`: rates by stratum; `labels`: rates of notes with a leak
    of each label, by its code. Each of these bounds holds by itself. `auditors`: who read notes, by user name.
    `accepted`: the leaks that managers left in the release. `undecided`: leaks that nobody has decided about.
    """

    plan: models.AuditPlan
    method: str
    notes: int
    read: int
    leaks: int
    bound: float
    planted: int
    planted_found: int
    recall: float | None
    strata: Mapping[str, Rate]
    labels: Mapping[str, Rate]
    auditors: Sequence[Auditor]
    counted: int
    undecided: int
    accepted: Sequence[models.AuditMark]

    @property
    def complete(self) -> bool:
        return self.plan.state != models.AuditPlanState.OPEN

    @property
    def met(self) -> bool:
        return self.plan.state == models.AuditPlanState.MET


def audit_result(release: models.Release) -> AuditResult | None:
    """What the audit of a release shows so far; None without an audit."""
    plan = models.AuditPlan.objects.filter(release=release).select_related("release__policy").first()
    return None if plan is None else result_of(plan)


def result_of(plan: models.AuditPlan) -> AuditResult:
    design, readings = design_of(plan), Readings(plan)
    verdict = verdict_of(plan, readings)
    auditors = _auditors(readings)
    read, leaky = (Counter(one.stratum for one in readings.done if every or one.leak) for every in (True, False))
    bounds, leaks = verdict.bounds, leaks_of(plan)
    accepted = leaks.filter(finding__decision=models.LeakFinding.Answer.ALLOW)
    return AuditResult(
        plan=plan,
        method=_method(plan),
        notes=design.notes,
        read=read.total(),
        leaks=leaky.total(),
        bound=bounds.overall if bounds else 1.0,
        planted=sum(one.planted for one in auditors),
        planted_found=sum(one.found for one in auditors),
        recall=bounds.recall if bounds else 0.0 if plan.planted_share else None,
        strata={name: Rate(read[name], leaky[name], bounds.strata[name] if bounds else 1.0) for name in design.strata},
        labels=_labels(plan, readings, verdict),
        auditors=auditors,
        counted=verdict.read,
        undecided=leaks.filter(finding__decision="").count(),
        accepted=list(accepted.select_related("finding__decided_by").order_by("finding__decided_at", "pk")),
    )


def _auditors(readings: Readings) -> list[Auditor]:
    """The people who finished notes, by user name. A note counts for the person who finished it."""
    planted: defaultdict[int | None, list[bool | None]] = defaultdict(list)
    for one in readings.done:
        planted[one.reader].append(one.planted_found)
    users = models.User.objects.filter(pk__in=filter(None, planted)).order_by("username")
    rows = [(user, planted[user.pk]) for user in users]
    return [Auditor(user, len(found), len(found) - found.count(None), found.count(True)) for user, found in rows]


def _labels(plan: models.AuditPlan, readings: Readings, verdict: AuditVerdict) -> dict[str, Rate]:
    """A rate for each label that the policy doesn't keep, and for every label with a leak, at the look of the bound."""
    read = verdict.read
    marks = leaks_of(plan).filter(note__position__lte=read).order_by()
    leaky = Counter(label for _note, label in set(marks.values_list("note", "label")))
    rules = plan.release.policy.rules
    codes = sorted({code for code, rule in rules.items() if rule.get("action") != Action.KEEP} | set(leaky))
    if verdict.bounds is None or verdict.look is None:
        return {code: Rate(0, 0, 1.0) for code in codes}
    found = readings.found(read)
    # Where a leak ended the audit, the bound of all labels together holds for each of them.
    bounds = (
        dict.fromkeys(codes, verdict.bounds.overall)
        if verdict.by_leak
        else design_of(plan).labels(found, verdict.look, {code: leaky[code] for code in codes})
    )
    return {code: Rate(sum(found.read.values()), leaky[code], bounds[code]) for code in codes}


def _method(plan: models.AuditPlan) -> str:
    """The bound, by the names under which docs/audits.md describes it."""
    simple = all(stratum["simple"] for stratum in plan.strata.values())
    if len(plan.strata) == 1 and simple:
        name = "exact hypergeometric bound, simple random sample"
    elif len(plan.strata) == 1:
        name = "Clopper-Pearson bound, patients as clusters"
    else:
        name = "Clopper-Pearson bound, stratified sample" + ("" if simple else ", patients as clusters")
    looks = f"; {len(plan.looks)} planned looks" if len(plan.looks) > 1 else ""
    return name + ("; corrected by the auditors' recall" if plan.planted_share else "") + looks


def audit_figures(result: AuditResult) -> dict[str, Any]:
    """The plan and the result as JSON. The planted leaks stay hidden until the audit has ended."""
    plan = result.plan
    of_plan = ("state", "drawn", "target", "confidence", "seed", "planted_share")
    told = ("notes", "read", "leaks", "undecided", "complete", "bound", "method", "recall", "planted", "planted_found")
    figures = {name: getattr(plan, name) for name in of_plan} | {name: getattr(result, name) for name in told}
    hidden = () if result.complete else ("recall", "planted", "planted_found")
    return figures | {
        "erased": plan.erased_count,
        "looks": [sum(look.values()) for look in plan.looks],
        "strata_by": plan.by,
        "strata": {name: _rate_of(rate, result) for name, rate in result.strata.items()} if plan.by else {},
        "labels": {name: _rate_of(rate, result) for name, rate in result.labels.items()},
        "readers": {one.user.username: one.read for one in result.auditors},
        **({} if result.counted else {"bound": None}),
        **dict.fromkeys(hidden),
    }


def _rate_of(rate: Rate, result: AuditResult) -> dict[str, Any]:
    return {"read": rate.read, "leaks": rate.leaks, "bound": rate.bound if result.counted else None}


# Leaks that auditors found, in their sentences.


@dataclass(frozen=True)
class Leak(InSentence):
    """A leak in its sentence of the original. `note` is the id of the note, `decision` empty while it is open."""

    mark: models.AuditMark
    note: int
    name: str
    language: str
    line: int
    look: LabelLook
    decision: str
    decided_by: str | None


def leak_marks(plan: models.AuditPlan) -> QuerySet[models.AuditMark]:
    """The leaks that auditors found, with what `listed_leaks` needs; dismissed ones too."""
    marks = models.AuditMark.objects.filter(note__plan=plan, leak=True)
    return marks.select_related("note__note__document", "finding__decided_by", "dismissed_by", "note__reader")


def listed_leaks(project: models.Project, marks: Sequence[models.AuditMark]) -> list[Leak]:
    """The marks with their sentences. Their notes, findings and people must be loaded."""
    looks = label_looks(project)
    return [_leak(mark, looks.get(mark.label) or LabelLook(mark.label, mark.label)) for mark in marks]


def _leak(mark: models.AuditMark, look: LabelLook) -> Leak:
    document = mark.note.note.document
    text = document.text
    decision, person = "", None
    if mark.dismissed_at is not None:
        decision, person = "dismissed", mark.dismissed_by
    elif mark.finding is not None and mark.finding.decision:
        decision, person = mark.finding.decision, mark.finding.decided_by
    return Leak(
        *in_sentence(text, mark.start, mark.end),
        mark=mark,
        note=document.pk,
        name=document.name,
        language=document.language,
        line=line_at(text, mark.start),
        look=look,
        decision=decision,
        decided_by=person.username if person else None,
    )


# What an auditor sees of a note.


def shown_of(row: models.AuditNote) -> AuditedText:
    """The text that an auditor reads, with its planted leak. A release that was prepared again may have lost that."""
    planted, numbered = None, []
    if row.planted_start is not None and row.planted_end is not None:
        planted = row.planted_start, row.planted_end
        numbered = [code for code, rule in row.plan.release.policy.rules.items() if rule.get("numbered")]
    return AuditedText(row.note.document.text, row.note.text, stored_pieces(row.note.pieces), planted, numbered)


def labeled_parts(shown: AuditedText) -> list[AuditedPart]:
    """The parts of the shown text that the release replaced, or kept because of its policy."""
    return [part for part in shown.parts if part.kind != PartKind.SAME and part.start < part.end]
