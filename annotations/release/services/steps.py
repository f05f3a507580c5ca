"""The steps from preparing a release to exporting it, and whether each is done."""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core.access import Access, Can
from annotations.core.services import ServiceError
from annotations.models import Certificate, Event, Release, ReleaseState
from annotations.release.events import RELEASE_EXPORTED
from annotations.release.rules.audits.looks import at_most, whole
from annotations.release.selectors.audits import AuditResult, audit_result
from annotations.release.selectors.certificates import certificates_of
from annotations.release.services.audits.planning import waiting_for
from annotations.release.services.certificates.signing import UNDECIDED, check_signable

# What the page of a release shows about its certificates.


@dataclass(frozen=True)
class SigningState:
    """The certificates of a release, and whether it can be signed.

    `refused` says why it can't be signed now, with the `code` of `check_signable`. `due`: notes were erased
    since the newest certificate was signed, so that a new one should say so. `erased_notes` and
    `erased_patients` count all erasures since the release was prepared.
    """

    certificates: list[Certificate]
    may_sign: bool
    refused: str
    code: str
    due: bool
    erased_notes: int
    erased_patients: int
    audit: AuditResult | None

    @property
    def undecided(self) -> bool:
        """Whether leaks of the audit, about which nobody has decided, are the reason."""
        return self.code == UNDECIDED

    @property
    def newest(self) -> Certificate | None:
        return self.certificates[0] if self.certificates else None


def state_of(access: Access, release: Release) -> SigningState:
    rows = list(certificates_of(release))
    erasures = list(release.erasures.order_by("id"))
    refused, code, audit = "", "", audit_result(release)
    try:
        check_signable(release, audit)
    except ServiceError as error:
        refused, code = str(error), error.code
    return SigningState(
        certificates=rows,
        may_sign=not refused and access.can(Can.RELEASE),
        refused=refused,
        code=code,
        due=bool(rows and any(one.at >= rows[0].signed_at for one in erasures)),
        erased_notes=sum(one.notes for one in erasures),
        erased_patients=sum(one.patients for one in erasures),
        audit=audit,
    )


@dataclass(frozen=True)
class Step:
    """A step on the way to an exported release.

    `page` is the URL name of the page where it is done, or empty; `place` the id of a folded part of it, or empty.
    """

    title: str
    text: str
    done: bool
    page: str = ""
    action: str = ""
    optional: bool = False
    place: str = ""


def verdict(release: Release, signing: SigningState) -> str:
    """Whether a release may be signed, and what stands in the way, as a sentence or two. Empty if it is withdrawn."""
    audit = signing.audit
    if release.state == ReleaseState.WITHDRAWN:
        return ""
    if signing.refused:
        return _("Not ready to sign. %(reason)s") % {"reason": signing.refused}
    if signing.newest is not None:
        signed = _("Signed: certificate %(n)d says what was de-identified, and how") % {"n": signing.newest.number}
        return _("Signed, but notes were erased since: sign a new certificate") if signing.due else signed
    if not release.note_count:
        return _("Ready to sign")
    if audit and audit.complete:
        return f"{_('Ready to sign.')} {bound_in_words(audit)}"
    if audit:
        return _("Ready to sign, but the audit is not finished: how many notes still have a leak is unknown")
    return _("Ready to sign, without an audit: how many notes still have a leak is unknown")


def steps_of(release: Release, signing: SigningState, open_findings: int) -> list[Step]:
    """The steps from preparing to exporting a release, and whether each is done."""
    state = release.state
    prepared = state != ReleaseState.PREPARING and bool(release.content_hash or open_findings)
    if open_findings:
        leaks = ngettext(
            "%(n)d finding is open. Its note can't be exported until you decide.",
            "%(n)d findings are open. Their notes can't be exported until you decide.",
            open_findings,
        ) % {"n": open_findings}
    elif prepared:
        leaks = _("No finding is open.")
    else:
        leaks = _(
            "The leak gate looks for labeled strings, known identifiers and what the rules find in every released note."
        )
    exported = Event.objects.filter(
        project_id=release.project_id, verb=RELEASE_EXPORTED, data__release=release.number
    ).exists()
    if not release.note_count:
        text = _("The leak gate has read the fields that pass, and held back the records with findings.")
        return [Step(_("Check for leaks"), text, done=True), audit_step(release, signing.audit), sign_step(signing)]
    page = "release_findings" if prepared and state == ReleaseState.PREPARED and open_findings else ""
    return [
        Step(_("Prepare the notes"), _("Every labeled span is treated as the policy says."), prepared),
        Step(_("Check for leaks"), leaks, prepared and not open_findings, page, _("Decide findings")),
        audit_step(release, signing.audit),
        sign_step(signing),
        Step(
            _("Export"),
            _("Files in the format that the recipient needs."),
            exported,
            "release" if state in (ReleaseState.PREPARED, ReleaseState.SIGNED) else "",
            _("Choose format"),
            optional=True,
            place="export",
        ),
    ]


def bound_in_words(result: AuditResult) -> str:
    """What an audit shows, as a sentence. A bound of 100% says nothing."""
    confidence = whole(result.plan.confidence)
    if at_most(result.bound) == at_most(1.0):
        return _("The audit gives no upper bound of the share of notes with a leak (%(confidence)s confidence).") % {
            "confidence": confidence
        }
    return _("At most %(bound)s of the notes contain a leak (%(confidence)s confidence).") % {
        "bound": at_most(result.bound),
        "confidence": confidence,
    }


def audit_step(release: Release, result: AuditResult | None) -> Step:
    """The state of a release's audit, and the page where it goes on."""
    title = _("Audit a sample")
    if not release.note_count:
        return Step(title, _("The release has files of records and no notes, so there is nothing to read."), done=True)
    if result is None:
        text = _("Optional. Without an audit, the rate of leaks is unknown, and signing lists that as a risk.")
        if release.state == ReleaseState.SIGNED:
            text = _("The release was signed without an audit, so the rate of leaks is unknown.")
        if waiting := waiting_for(release):
            return Step(title, f"{text} {waiting}" if release.state == ReleaseState.PREPARED else text, done=False)
        return Step(title, text, done=False, page="release_audit", action=_("Plan audit"), optional=True)
    if result.complete:
        text = bound_in_words(result)
    else:
        text = _("Auditors have read %(read)d of %(all)d notes.") % {"read": result.read, "all": result.plan.drawn}
    if result.undecided:
        leaks = ngettext(
            "Nobody has decided about %(n)d leak that they found.",
            "Nobody has decided about %(n)d leaks that they found.",
            result.undecided,
        ) % {"n": result.undecided}
        return Step(title, f"{text} {leaks}", done=False, page="audit_leaks", action=_("Decide leaks"))
    if result.complete and result.met:
        return Step(title, text, done=True, page="release_audit", action=_("Show audit"), optional=True)
    if result.complete:
        text += " " + _("The target of %(target)s was not met.") % {"target": whole(result.plan.target)}
        return Step(title, text, done=False, page="release_audit", action=_("Show audit"), optional=True)
    is_open = release.state == ReleaseState.PREPARED
    return Step(title, text, done=False, page="release_audit", action=_("Show audit"), optional=not is_open)


def sign_step(state: SigningState) -> Step:
    """Whether a release is signed, and the page where it can be."""
    title = _("Sign")
    if state.newest is not None:
        text = _("Certificate %(n)d says what was de-identified, and how.") % {"n": state.newest.number}
        return Step(title, text, done=True)
    text = _("You accept the risks that remain, and the certificate is made.")
    if not state.may_sign:
        return Step(title, text, done=False)
    return Step(title, text, done=False, page="certificate_sign", action=_("Review and sign"))
