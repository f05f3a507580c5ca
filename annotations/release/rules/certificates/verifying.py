"""Checking a certificate, and released files against it, on any machine."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from annotations.formats.notes import NoteError
from annotations.release.rules.certificates import released_files, signatures
from annotations.release.rules.certificates.released_files import ReleasedFiles
from annotations.text.wording import NamedValue, gettext_noop
from annotations.text.wording import gettext as _

RECORDS_MANIFEST: Final = "manifest.json"
SIGNED: Final = ".sig"
LISTED: Final = 20
"""The most names that a check lists."""


@dataclass(frozen=True, slots=True)
class VerifyingTerms:
    """How messages name what was given: where the files are, and how to name a key that is to be trusted."""

    files: str
    trust: str


COMMAND: Final = VerifyingTerms(gettext_noop("folder"), gettext_noop("pass it as --key"))
PAGE: Final = VerifyingTerms(gettext_noop("zip file"), gettext_noop("enter it as the fingerprint of the issuer's key"))


class CheckState(NamedValue):
    PASSED = "passed", gettext_noop("Passed")
    FAILED = "failed", gettext_noop("Failed")
    NOT_CHECKED = "not checked", gettext_noop("Not checked")


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its code, how it ended, and a sentence. `names` are names of released notes or files."""

    code: str
    state: CheckState
    message: str
    names: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        return {"check": self.code, "state": str(self.state), "message": self.message, "names": list(self.names)}


@dataclass(frozen=True, slots=True)
class VerifierKnowledge:
    """What this machine knows beside the file.

    `keys`: fingerprints of trusted keys (None: there are none, so that the key can't be checked). `superseded_by` and
    `withdrawn` come from the issuer's database; `has_records` tells whether it was asked and has the certificate.
    """

    today: date
    keys: Collection[str] | None = None
    has_records: bool = False
    superseded_by: int | None = None
    withdrawn: bool = False


@dataclass
class Verification:
    """The result. `content` is empty where the file is not an intact certificate. `terms` word the messages."""

    terms: VerifyingTerms = COMMAND
    checks: list[Check] = field(default_factory=list)
    content: dict[str, Any] = field(default_factory=dict)
    fingerprint: str = ""

    @property
    def verified(self) -> bool:
        """Whether no check failed."""
        return all(check.state is not CheckState.FAILED for check in self.checks)

    @property
    def place(self) -> str:
        """Where the files are, in words."""
        return _(self.terms.files)

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON. `key` is the fingerprint of the signer's key."""
        return {
            "verified": self.verified,
            "release": self.content.get("release"),
            "certificate": self.content.get("number"),
            "key": self.fingerprint or None,
            "checks": [check.as_dict() for check in self.checks],
        }

    def passed(self, code: str, message: str) -> None:
        self.checks.append(Check(code, CheckState.PASSED, message))

    def failed(self, code: str, message: str, names: Collection[str] = ()) -> None:
        self.checks.append(Check(code, CheckState.FAILED, message, sorted(names)[:LISTED]))

    def not_checked(self, code: str, message: str) -> None:
        self.checks.append(Check(code, CheckState.NOT_CHECKED, message))


def verify(
    data: bytes,
    known: VerifierKnowledge,
    files: tuple[Collection[str], released_files.Load] | None = None,
    words: VerifyingTerms = COMMAND,
) -> Verification:
    """Check a certificate (JSON or PDF), and released files (their names, and a function that reads one)."""
    verdict = Verification(words)
    try:
        opened = signatures.open_certificate(data)
    except signatures.CertificateError as error:
        verdict.failed("signature", str(error))
        return verdict
    verdict.content, verdict.fingerprint = opened.content, opened.fingerprint
    what = _("PDF and the attached JSON are") if opened.is_pdf else _("JSON is")
    verdict.passed("signature", _("The signature is valid: the {what} as signed.", what))
    _check_certificate(known, verdict)
    if files is None:
        verdict.not_checked("notes", _("No released files were given, so the notes were not compared."))
    else:
        _check_files(opened.json, data, ReleasedFiles(*files), verdict)
    return verdict


def _check_certificate(known: VerifierKnowledge, verdict: Verification) -> None:
    """Check the key, the expiry and whether a newer certificate replaces this one."""
    key = verdict.fingerprint
    if key in (known.keys or ()):
        verdict.passed("key", _("The certificate is signed by a trusted key: {key}.", key))
    else:
        how = _("If it comes from another instance, ask its owner for the fingerprint")
        if known.keys is None:
            how = _("Compare this fingerprint with the one that the issuer publishes")
        message = _(
            "The certificate is signed by a key that this instance doesn't know: {key}. {how}, and {trust}.",
            *(key, how, _(verdict.terms.trust)),
        )
        verdict.failed("key", message)
    _check_expiry(known.today, verdict)
    if known.superseded_by is not None:
        verdict.failed(
            "superseded",
            _(
                "Certificate {number} is superseded by certificate {newer} of the same release. Ask the "
                "issuer for the newer one.",
                *(verdict.content.get("number"), known.superseded_by),
            ),
        )
    if known.withdrawn:
        verdict.failed("withdrawn", _("The release was withdrawn by its issuer."))
    if known.has_records and known.superseded_by is None and not known.withdrawn:
        verdict.passed("superseded", _("No newer certificate replaces this one, and the release stands."))
    elif not known.has_records:
        message = _("Only the issuing instance knows whether a newer certificate replaces this one.")
        verdict.not_checked("superseded", message)


def _check_expiry(today: date, verdict: Verification) -> None:
    written = _within(verdict.content, "context").get("expires_on")
    if written is None:
        verdict.passed("expiry", _("The certificate has no expiry date."))
        return
    try:
        last = date.fromisoformat(written)
    except (TypeError, ValueError):
        verdict.failed("expiry", _("The certificate's expiry date can't be read."))
        return
    if last < today:
        verdict.failed("expiry", _("The certificate expired after {last}.", last.isoformat()))
    else:
        verdict.passed("expiry", _("The certificate is valid until {last}.", last.isoformat()))


def _check_files(own: bytes, as_given: bytes, files: ReleasedFiles, verdict: Verification) -> None:
    """Check that files are exactly the certified notes, and that the issuer signed the list of all other files.

    Compared are names, texts, and spans where the format has them. The certificate itself, whose JSON is `own` and
    which `as_given` has, may lie among the files, or may have been taken from them.
    """
    content, given = verdict.content, files
    certificates = given.certificates(own)
    files = ReleasedFiles([name for name in given.names if name not in certificates], given.load)
    data = _within(content, "data")
    if data.get("records") and released_files.MANIFEST not in files.names:
        _check_records(data["records"], files, verdict)
        return
    unsigned = {name for name in certificates if name not in files.listed}
    own_hashes = {hashlib.sha256(one).hexdigest() for one in (own, as_given)}
    taken = {name for name, sha256 in files.listed.items() if sha256 in own_hashes and name not in given.names}
    _check_signed(set(given.names) - unsigned, files, taken, verdict)
    if renamed := unsigned - released_files.certificate_names(content):
        message = _("The signature doesn't cover the name of the certificate's file. Name it certificate.json or .pdf.")
        verdict.failed("name", message, renamed)
    hashes, notes = _within(data, "hashes"), data.get("notes")
    rules = _within(_within(content, "identifiability"), "policy").get("rules", [])
    found = released_files.FolderContent(files, [str(rule["label"]) for rule in rules])
    for code, wrong, message in (
        ("extra", found.extra, _("The {files} holds files that belong to no released note.", verdict.place)),
        ("readable", found.unreadable, _("Some files can't be read.")),
        ("twice", found.twice, _("Some names of notes occur twice.")),
    ):
        if wrong:
            verdict.failed(code, message, wrong)
    if len(found.names) != notes:
        message = _(
            "The number of notes differs. In the certificate: {notes}; in the {files}: {count}.",
            *(notes, verdict.place, len(found.names)),
        )
        verdict.failed("notes", message)
    else:
        message = _("The {files} has as many notes as the certificate covers: {notes}.", verdict.place, notes)
        verdict.passed("notes", message)
    if files.edition not in (None, hashes.get("edition", "")):
        message = _(
            "The {files} was exported from another release, or before its findings were decided again.", verdict.place
        )
        verdict.failed("edition", message)
    if found.texts == hashes.get("texts"):
        verdict.passed("texts", _("The names and texts of all notes are the certified ones."))
    else:
        verdict.failed("texts", _("Names or texts of notes differ from the certified ones."), _differing(files))
    _check_spans(found, hashes, files, verdict)


def _check_records(records: Mapping[str, Any], files: ReleasedFiles, verdict: Verification) -> None:
    """Check that files are among the certified files of records, or a manifest that the key of the certificate signed.

    A recipient may have only some of the files.
    """
    certified = {str(one["sha256"]) for one in records["files"]}
    wrong = set[str]()
    for name in files.names:
        stem = name.removesuffix(SIGNED)
        if stem.endswith(RECORDS_MANIFEST) and {stem, stem + SIGNED} <= set(files.names):
            with suppress(signatures.CertificateError, NoteError):
                if signatures.check_files_signature(files.load(stem + SIGNED), files.load(stem)) == verdict.fingerprint:
                    continue
            wrong.add(name)
        elif files.sha256(name) not in certified:
            wrong.add(name)
    if wrong or not any(files.sha256(name) in certified for name in files.names):
        message = _("The files of records in the {files} are not the certified ones.", verdict.place)
        verdict.failed("records", message, wrong)
    else:
        verdict.passed("records", _("The files of records are the certified ones."))


def _check_signed(names: Collection[str], files: ReleasedFiles, taken: Collection[str], verdict: Verification) -> None:
    """Check that the key of the certificate signed the list of files, and that `names` are those of the list.

    `taken` are files of the list that need not be there.
    """
    own = {released_files.MANIFEST, released_files.SIGNATURE}
    if not own <= set(names):
        verdict.failed(
            "files",
            _(
                "The {files} has no signed list of its files ({list} and {signature}), so anything but the "
                "certified notes could have been changed. Export the release again.",
                *(verdict.place, released_files.MANIFEST, released_files.SIGNATURE),
            ),
        )
        return
    try:
        signed = files.load(released_files.SIGNATURE), files.load(released_files.MANIFEST)
        signer = signatures.check_files_signature(*signed)
    except (signatures.CertificateError, NoteError) as error:
        verdict.failed("files", str(error))
        return
    listed = {name: sha256 for name, sha256 in files.listed.items() if name not in taken}
    others = set(names) - own
    wrong = {name for name in others & set(listed) if files.sha256(name) != listed[name]} | (others ^ set(listed))
    if signer != verdict.fingerprint:
        message = _("Another key than that of the certificate signed the list of files: {signer}.", signer)
        verdict.failed("files", message)
    elif wrong:
        message = _("These files are not as the issuer signed them: changed, missing or added.")
        verdict.failed("files", message, wrong)
    else:
        verdict.passed("files", _("All files are as the issuer signed them."))


def _check_spans(
    found: released_files.FolderContent, hashes: Mapping[str, Any], files: ReleasedFiles, verdict: Verification
) -> None:
    if found.format == "text":
        verdict.not_checked("spans", _("Text files have no spans, so spans can't be compared."))
    elif found.content is None:
        verdict.failed("spans", _("Some notes have no readable spans."))
    elif found.content == hashes.get("content"):
        verdict.passed("spans", _("The spans of all notes are the certified ones."))
    elif files.codes is not None:
        verdict.not_checked(
            "spans",
            _("Labels differ from those of the release (see release.json), so spans can't be compared."),
        )
    elif "losses.csv" in files.names:
        message = _("The format could not hold all spans (see losses.csv), so spans can't be compared.")
        verdict.not_checked("spans", message)
    else:
        verdict.failed("spans", _("The spans differ from the certified ones."))


def _differing(files: ReleasedFiles) -> list[str]:
    """The files that differ from the list in release.json. That list is not signed, so it only helps to find them."""
    changed = [name for name in files.names if name in files.listed and files.sha256(name) != files.listed[name]]
    return changed + [name for name in files.listed if name not in files.names]


def _within(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = content.get(key)
    return found if isinstance(found, dict) else {}
