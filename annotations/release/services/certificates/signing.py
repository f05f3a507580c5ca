"""Sign a prepared release: its certificate as JSON and PDF, stored as the bytes that everybody gets."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core.sealing import instance_fernet, opened_by_instance
from annotations.core.services import ServiceError, advisory_lock, good_name, hold
from annotations.models import Certificate, Project, Release, ReleaseState, SigningKey, User
from annotations.release.events import CERTIFICATE_DOWNLOADED, RELEASE_SIGNED
from annotations.release.rules.certificates import signatures
from annotations.release.rules.certificates.content import Content, Risk
from annotations.release.rules.certificates.statements import LONGEST, key_of, open_risks
from annotations.release.selectors.audits import AuditResult, audit_result
from annotations.release.selectors.certificates import certificate_for
from annotations.release.services.batches import retried
from annotations.release.services.certificates.drafting import (
    ReleaseMeasurements,
    SigningDetails,
    Terms,
    draft,
    measured,
)
from annotations.release.services.certificates.people import name_of
from annotations.release.services.settling import settle
from annotations.release.services.starting import checked_texts, outdated

# The key with which the instance signs certificates.


_PURPOSE = "signing key"
# The number of this lock, different from all other advisory locks.
_KEYS = 0x516E


def private_part(key: SigningKey) -> bytes:
    """The private part of a key. Keep it no longer than the work for which it was opened.

    Raises OtherSecretKey under another secret key than the one that sealed it.
    """
    return opened_by_instance(_PURPOSE, bytes(key.sealed))


def sign_files(sha256: bytes) -> bytes:
    """Sign the list of an export's files, which has this SHA-256. Return the file of the signature."""
    return signatures.signed_files(sha256, private_part(newest_key()))


def newest_key() -> SigningKey:
    """Return the key that signs now, and make it on first use. Two first uses at a time give the same key."""
    row = SigningKey.objects.order_by("-id").first()
    if row is not None:
        return row
    with transaction.atomic():
        advisory_lock(_KEYS, 0, shared=False)
        row = SigningKey.objects.order_by("-id").first()
        if row is None:
            private = signatures.new_private_key()
            sealed = instance_fernet(_PURPOSE).encrypt(private)
            row = SigningKey.objects.create(public=signatures.public_of(private), sealed=sealed)
        return row


MOST_OWN_RISKS = 20
UNDECIDED = "undecided"


@dataclass(frozen=True)
class RiskToAccept:
    """A risk that a person accepts before signing. `accepted` names who accepted it for an earlier certificate."""

    key: str
    text: str
    accepted: Risk | None


@dataclass(frozen=True)
class Prospect:
    """What a person sees before signing: the certificate's content as far as it is known, and the open risks."""

    content: Content
    risks: list[RiskToAccept]


def prospect(release: Release, terms: Terms, actor: User | None) -> Prospect:
    """The content that would be signed now, without writing anything but measures. Raises ServiceError as `sign`."""
    audit = audit_result(release)
    check_signable(release, audit)
    retried(lambda: settle(release=release))  # A decision has cleared its hash and figures.
    content = draft(release, terms, measured(release), _next(release, actor), audit)
    return Prospect(content, _to_accept(release, content))


def prospect_without_terms(release: Release, actor: User | None) -> Prospect:
    """The prospect for somebody who has yet to enter the terms, so that those that lack are not among the risks."""
    day = release.expires_on or release.created_at.date()
    return prospect(release, Terms(release.purpose or "–", release.recipient or "–", day), actor)


def check_signable(release: Release, audit: AuditResult | None, *, without_held: bool = False) -> None:
    """Raise ServiceError unless the release with this audit can be signed.

    `preparing` or `withdrawn`; `undecided` while nobody has decided about a leak of the audit; `outdated` if the
    surrogates were edited since; `open` while the leak gate has open findings, unless `without_held`.
    """
    state = ReleaseState
    if release.state == state.WITHDRAWN:
        message = _("Release %(n)s was withdrawn, so it can't be signed.")
        raise ServiceError(message % {"n": release.number}, code="withdrawn")
    if release.state not in (state.PREPARED, state.SIGNED):
        message = _("Release %(n)s is still being prepared. Sign it when all notes are ready.") % {"n": release.number}
        raise ServiceError(message, code="preparing")
    if audit is not None and audit.undecided:
        message = ngettext(
            "Nobody has decided about %(n)s leak that auditors found. Decide about it, then sign.",
            "Nobody has decided about %(n)s leaks that auditors found. Decide about them, then sign.",
            audit.undecided,
        )
        raise ServiceError(message % {"n": audit.undecided}, code=UNDECIDED)
    if outdated(release):
        message = _(
            "The surrogates were edited after release %(n)s was prepared, so its notes may have other ones. "
            "Choose “Prepare again” on the page of the release, then sign."
        )
        raise ServiceError(message % {"n": release.number}, code="outdated")
    waiting = 0 if without_held else release.open_findings
    if waiting:
        message = ngettext(
            "%(n)s finding waits for a decision. Decide it, then sign.",
            "%(n)s findings wait for a decision. Decide them, then sign.",
            waiting,
        )
        raise ServiceError(message % {"n": waiting}, code="open")


def sign(
    *,
    release: Release,
    terms: Terms,
    accepted: Collection[str],
    own_risks: Sequence[str] = (),
    actor: User | None,
    everything: bool = False,
) -> Certificate:
    """Sign a release, and return its certificate; the newest one if it says the same already.

    `accepted` are keys of risks (`statements.key_of`). With `everything`, the actor accepts all open risks, and notes
    that the leak gate holds back are left out of the certificate, as they are left out of exports.

    Raises ServiceError as `check_signable`, and: `empty` without notes, `changed` if the
    notes are not the prepared ones, `expiry` for a day that has passed, `long` for a long text, `risks` with the number
    of risks that nobody accepted, and `sealed` if the signing key can't be read.
    """
    terms = _checked(terms)
    own = _own(own_risks)
    retried(lambda: settle(release=release))  # A decision has cleared its hash and figures.
    measures = measured(release)
    newest_key()  # Made before the transaction, whose locks would come after the key's.
    with transaction.atomic():
        hold(release.project_id)
        Project.objects.select_for_update(no_key=True).get(pk=release.project_id)
        Release.objects.select_for_update().get(pk=release.pk)
        release = Release.objects.select_related("project", "policy", "author", "gold_version").get(pk=release.pk)
        audit = audit_result(release)
        check_signable(release, audit, without_held=everything)
        return _signed(release, terms, accepted, own, measures, actor, audit, everything=everything)


def _signed(
    release: Release, terms: Terms, accepted: Collection[str], own: Sequence[str], measures: ReleaseMeasurements,
    actor: User | None, audit: AuditResult | None, *, everything: bool,
) -> Certificate:  # fmt: skip
    # The library that writes PDF takes half a second to import, and only signing needs it.
    from annotations.release.rules.certificates.pdf import render

    signing = _next(release, actor)
    content = draft(release, terms, measures, signing, audit)
    notes, hashes = content["data"]["notes"], content["data"]["hashes"]
    if not (notes or content["data"]["records"]):
        raise ServiceError(_("The release has no notes that are ready, so there is nothing to sign."), code="empty")
    # After an erasure, the notes of a signed release can't be compared.
    erased = release.state == ReleaseState.SIGNED and release.erasures.exists()
    if hashes["prepared"] != hashes["content"] and not erased:
        message = _("The notes of the release are not those that were prepared. Prepare a new release.")
        raise ServiceError(message, code="changed")
    risks = _risks(release, content, accepted, own, signing, everything=everything)
    content["governance"]["risks"] = risks
    last = release.certificates.order_by("-number").first()
    if last is not None and _same(last, content):
        return last
    key = newest_key()
    private = private_part(key)
    data = signatures.signed_json(content, private)
    sha256 = hashlib.sha256(data).hexdigest()
    certificate = Certificate.objects.create(
        release=release,
        number=signing.number,
        key=key,
        sha256=sha256,
        json=data,
        pdf=signatures.signed_pdf(render(data), private),
        note_count=notes,
        expires_on=terms.expires_on,
        signed_by=actor,
        signed_at=signing.at,
    )
    release.state = ReleaseState.SIGNED
    release.purpose, release.recipient, release.expires_on = terms.purpose, terms.recipient, terms.expires_on
    release.risks = [dict(risk) for risk in risks]
    release.signed_by, release.signed_at = actor, signing.at
    release.save(update_fields=["state", "purpose", "recipient", "expires_on", "risks", "signed_by", "signed_at"])
    RELEASE_SIGNED.record(
        actor=actor,
        project_id=release.project_id,
        data={
            "release": release.number,
            "certificate": certificate.number,
            "sha256": sha256,
            "notes": notes,
            "risks": len(risks),
        },
    )
    return certificate


def _next(release: Release, actor: User | None) -> SigningDetails:
    last = release.certificates.order_by("-number").values_list("number", flat=True).first()
    key = signatures.fingerprint_of(bytes(newest_key().public))
    return SigningDetails(key, (last or 0) + 1, last, name_of(actor), timezone.now())


def _to_accept(release: Release, content: Content) -> list[RiskToAccept]:
    earlier: dict[str, Risk] = {risk["text"]: risk for risk in release.risks}
    return [RiskToAccept(key_of(text), text, earlier.get(text)) for text in open_risks(content)]


def _risks(
    release: Release, content: Content, accepted: Collection[str], own: Sequence[str], signing: SigningDetails, *,
    everything: bool,
) -> list[Risk]:  # fmt: skip
    """The accepted risks with names. A risk that somebody accepted for an earlier certificate keeps that name."""
    known, earlier = open_risks(content), {risk["text"]: risk for risk in release.risks}
    missing = 0 if everything else sum(text not in earlier and key_of(text) not in accepted for text in known)
    if missing:
        message = ngettext(
            "%(n)s open risk is not accepted. Read it, and accept it or remove its cause.",
            "%(n)s open risks are not accepted. Read them, and accept them or remove their causes.",
            missing,
        )
        raise ServiceError(message % {"n": missing}, code="risks")
    at = signing.at.replace(microsecond=0).isoformat()
    return [earlier.get(text) or Risk(text=text, by=signing.by, at=at) for text in dict.fromkeys([*known, *own])]


def _same(last: Certificate, content: Content) -> bool:
    """Whether the newest certificate says the same, but for its number, when and by whom it was signed."""
    return _without_signing(content_of(last)) == _without_signing(content)


def content_of(certificate: Certificate) -> dict[str, Any]:
    """What a certificate says."""
    return signatures.open_certificate(bytes(certificate.json)).content


def _without_signing(content: Any) -> dict[str, Any]:
    signing = ("number", "supersedes", "issued_at", "issued_by", "governance")
    risks = [risk["text"] for risk in content["governance"]["risks"]]
    return {**{key: value for key, value in content.items() if key not in signing}, "risks": risks}


def _checked(terms: Terms) -> Terms:
    purpose, recipient = checked_texts(terms.purpose, terms.recipient)
    if terms.expires_on is not None and terms.expires_on < timezone.localdate():
        raise ServiceError(_("The certificate's last day has passed. Choose a later one."), code="expiry")
    return Terms(purpose, recipient, terms.expires_on)


def _own(risks: Sequence[str]) -> list[str]:
    found = [text for risk in risks if (text := good_name(risk))]
    if len(found) > MOST_OWN_RISKS or any(len(text) > LONGEST for text in found):
        message = _("You can add at most %(most)s risks of your own, each of at most %(longest)s characters.")
        raise ServiceError(message % {"most": MOST_OWN_RISKS, "longest": LONGEST}, code="long")
    return list(dict.fromkeys(found))


def certify(release: Release, actor: User | None) -> tuple[bytes, bytes]:
    """Sign a release for a command: the actor accepts all open risks, which the certificate lists with their name.

    Returns the JSON and the PDF.
    """
    terms = Terms(release.purpose, release.recipient, release.expires_on)
    certificate = sign(release=release, terms=terms, accepted=(), actor=actor, everything=True)
    return bytes(certificate.json), bytes(certificate.pdf)


# Download certificates: the same bytes every time.


TYPES = {"json": "application/json", "pdf": "application/pdf"}


def certificate_file(
    *, release: Release, number: int, format: str, actor: User, record: bool = True
) -> tuple[bytes, str, str]:
    """Return the content, type and name of a certificate as `json` or `pdf`, and record the download. Raises Http404.

    As for exports, the name has nothing of the project's.
    """
    found = certificate_for(release, number)
    if record:
        CERTIFICATE_DOWNLOADED.record(
            actor=actor,
            project_id=release.project_id,
            data={"release": release.number, "certificate": number, "format": format},
        )
    data = bytes(found.json if format == "json" else found.pdf)
    return data, TYPES[format], f"release-{release.number}-certificate-{number}.{format}"
