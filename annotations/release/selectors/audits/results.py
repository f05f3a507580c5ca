"""The result of a release's audit, for its page and its certificate."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Q

from annotations.models import AuditNote, AuditPlan, LeakFinding, Release, User
from annotations.release.rules.audits.looks import Verdict
from annotations.release.rules.redaction.policy import Action
from annotations.release.selectors.audits.plans import design_of
from annotations.release.selectors.audits.readings import Readings, leaks_of, verdict_of


@dataclass(frozen=True, slots=True)
class Rate:
    """Notes with a leak among the notes read, and the upper bound of their share at the audit's confidence (0 to 1)."""

    read: int
    leaks: int
    bound: float


@dataclass(frozen=True, slots=True)
class Auditor:
    """A person who read notes of the sample: how many, with how many planted leaks, of which they found some."""

    user: User
    read: int
    planted: int
    found: int

    @property
    def recall(self) -> float | None:
        """The share of planted leaks that they found; None without any. It is no bound: the numbers are small."""
        return self.found / self.planted if self.planted else None


@dataclass(frozen=True, slots=True)
class AcceptedLeak:
    """A leak that somebody left in the release. `label` is the code that the auditor chose."""

    label: str
    user: User | None
    at: datetime | None


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What an audit shows about a release. Shares are from 0 to 1.

    `notes`: released notes; `drawn`: notes of the sample; `read`: those that were read completely; `leaks`: notes with
    a leak. `bound`: the upper bound of the share of notes with a leak, corrected by `recall`, the lower bound of the
    share of planted leaks that the auditors find (None without planted leaks); it is 1 before the first look. It is
    based on the first `counted` notes of the sample. `strata`: rates by stratum; `labels`: rates of notes with a leak
    of each label, by its code. Each of these bounds holds by itself. `auditors`: who read notes, by user name.
    `accepted`: the leaks that managers left in the release. `undecided`: leaks that nobody has decided about.
    """

    plan: int
    confidence: float
    method: str
    notes: int
    drawn: int
    read: int
    leaks: int
    bound: float
    planted: int
    planted_found: int
    recall: float | None
    strata: Mapping[str, Rate]
    labels: Mapping[str, Rate]
    auditors: Sequence[Auditor]
    complete: bool
    target: float = 0.0
    met: bool = False
    counted: int = 0
    by: str = ""
    seed: str = ""
    erased: int = 0
    undecided: int = 0
    accepted: Sequence[AcceptedLeak] = ()


def audit_result(release: Release) -> AuditResult | None:
    """What the audit of a release shows so far; None without an audit."""
    plan = AuditPlan.objects.filter(release=release).select_related("release__policy").first()
    return None if plan is None else result_of(plan)


def result_of(plan: AuditPlan) -> AuditResult:
    design, readings = design_of(plan), Readings(plan)
    verdict = verdict_of(plan, readings)
    done = AuditNote.objects.filter(plan=plan, state=AuditNote.State.DONE).order_by()
    auditors = _auditors(plan)
    leaky = set(leaks_of(plan).order_by().values_list("note", "note__stratum"))
    leaky_by_stratum = Counter(stratum for _note, stratum in leaky)
    read_by_stratum = dict(done.values_list("stratum").annotate(n=Count("pk")))
    bounds = verdict.bounds
    return AuditResult(
        plan=plan.pk,
        confidence=plan.confidence,
        method=_method(plan),
        notes=design.notes,
        drawn=plan.drawn,
        read=done.count(),
        leaks=len(leaky),
        bound=bounds.overall if bounds else 1.0,
        planted=sum(one.planted for one in auditors),
        planted_found=sum(one.found for one in auditors),
        recall=bounds.recall if bounds else 0.0 if plan.planted_share else None,
        strata={
            name: Rate(read_by_stratum.get(name, 0), leaky_by_stratum[name], bounds.strata[name] if bounds else 1.0)
            for name in design.strata
        },
        labels=_labels(plan, readings, verdict),
        auditors=auditors,
        complete=plan.state != AuditPlan.State.OPEN,
        target=plan.target,
        met=plan.state == AuditPlan.State.MET,
        counted=verdict.read,
        by=plan.by,
        seed=plan.seed,
        erased=plan.erased_count,
        undecided=undecided(plan),
        accepted=_accepted(plan),
    )


def undecided(plan: AuditPlan) -> int:
    """The number of leaks about which nobody has decided."""
    return leaks_of(plan).filter(finding__decision="").count()


def _auditors(plan: AuditPlan) -> list[Auditor]:
    """The people who finished notes, by user name. A note counts for the person who finished it."""
    rows = AuditNote.objects.filter(plan=plan, state=AuditNote.State.DONE, reader__isnull=False).order_by()
    counted = rows.values_list("reader").annotate(
        read=Count("pk"),
        planted=Count("pk", filter=Q(planted_found__isnull=False)),
        found=Count("pk", filter=Q(planted_found=True)),
    )
    counts = {pk: numbers for pk, *numbers in counted}
    users = User.objects.filter(pk__in=list(counts)).order_by("username")
    return [Auditor(user, *counts[user.pk]) for user in users]


def _accepted(plan: AuditPlan) -> list[AcceptedLeak]:
    """The leaks that were accepted, in the order of acceptance."""
    marks = leaks_of(plan).filter(finding__decision=LeakFinding.Answer.ALLOW).select_related("finding__decided_by")
    return [
        AcceptedLeak(mark.label, mark.finding.decided_by, mark.finding.decided_at)
        for mark in marks.order_by("finding__decided_at", "pk")
        if mark.finding is not None
    ]


def _labels(plan: AuditPlan, readings: Readings, verdict: Verdict) -> dict[str, Rate]:
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


def _method(plan: AuditPlan) -> str:
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


def audit_figures(plan: AuditPlan, result: AuditResult) -> dict[str, Any]:
    """The plan and the result as JSON. The planted leaks stay hidden until the audit has ended."""
    bound = result.bound if result.counted else None
    return {
        "state": plan.state,
        "notes": result.notes,
        "drawn": result.drawn,
        "looks": [sum(look.values()) for look in plan.looks],
        "target": result.target,
        "confidence": result.confidence,
        "strata_by": result.by,
        "planted_share": plan.planted_share,
        "seed": result.seed,
        "read": result.read,
        "leaks": result.leaks,
        "undecided": result.undecided,
        "erased": result.erased,
        "complete": result.complete,
        "bound": bound,
        "method": result.method,
        "recall": result.recall if result.complete else None,
        "planted": result.planted if result.complete else None,
        "planted_found": result.planted_found if result.complete else None,
        "strata": {name: _rate_of(rate, result) for name, rate in result.strata.items()} if result.by else {},
        "labels": {name: _rate_of(rate, result) for name, rate in result.labels.items()},
        "readers": {one.user.username: one.read for one in result.auditors},
    }


def _rate_of(rate: Rate, result: AuditResult) -> dict[str, Any]:
    return {"read": rate.read, "leaks": rate.leaks, "bound": rate.bound if result.counted else None}
