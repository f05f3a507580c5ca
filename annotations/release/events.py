"""Events of releases and of their policies."""

from typing import NotRequired, TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.services import NoData, Verb


class OfRelease(TypedDict):
    """`release` is the number of the release in its project."""

    release: int


class ReleaseNotes(OfRelease):
    """A release, and how many notes: of all of it, or of what was done."""

    notes: int


class PolicySaved(TypedDict):
    policy: int
    version: int


class ReleaseStarted(ReleaseNotes):
    """`set` is the kind of each chosen annotation set, since a run's name is free text; `authors` are ids."""

    policy: int
    set: str
    authors: list[int]
    gold_versions: list[int]


class ReleaseDecided(ReleaseNotes):
    """`answer` is empty where decisions were undone. `findings` is a count."""

    answer: str
    findings: int


class ReleaseExported(ReleaseNotes):
    format: str
    spans: int
    held_back: int
    content_hash: str
    # Where labels were written in another way: the id of the label mapping, and spans left out or merged.
    mapping: NotRequired[int | None]
    left_out: NotRequired[int]
    merged: NotRequired[int]


class ReleaseWithdrawn(OfRelease):
    files: int


POLICY_SAVED = Verb[PolicySaved]("policy.saved", _("saved a release policy"))
RELEASE_EXTENDED = Verb[ReleaseNotes]("release.extended", _("added notes to a release"))
RELEASE_STARTED = Verb[ReleaseStarted]("release.started", _("started a release"))
RELEASE_DECIDED = Verb[ReleaseDecided]("release.decided", _("decided findings of the leak gate"))
RELEASE_PREPARED_AGAIN = Verb[ReleaseNotes]("release.prepared_again", _("prepared a release again"))
RELEASE_EXPORTED = Verb[ReleaseExported]("release.exported", _("exported a release"), reading=True)
RELEASE_WITHDRAWN = Verb[ReleaseWithdrawn]("release.withdrawn", _("withdrew a release"))


# Events of known identifiers. Their data are counts, never a value.


class MasterImported(TypedDict):
    """Patients of the file that were new, changed and unchanged, and rows with a problem."""

    added: int
    changed: int
    unchanged: int
    problems: int


class MasterCleared(TypedDict):
    patients: int


class TermsAdded(TypedDict):
    """`list` is allow or deny."""

    list: str
    added: int
    already: int


class TermsRemoved(TypedDict):
    list: str
    removed: int


class TermsExported(TypedDict):
    terms: int


MASTER_STAGED = Verb[NoData]("master.staged", _("uploaded a patient master"))
MASTER_IMPORTED = Verb[MasterImported]("master.imported", _("imported a patient master"))
MASTER_CLEARED = Verb[MasterCleared]("master.cleared", _("deleted the patient master"))
PERSON_SHOWN = Verb[NoData]("person.shown", _("looked at a patient's known identifiers"), reading=True)
PERSON_DELETED = Verb[NoData]("person.deleted", _("deleted a patient's known identifiers"))
TERMS_ADDED = Verb[TermsAdded]("terms.added", _("added terms to a list"))
TERMS_REMOVED = Verb[TermsRemoved]("terms.removed", _("removed terms from a list"))
TERMS_EXPORTED = Verb[TermsExported]("terms.exported", _("exported the lists of terms"), reading=True)


# Events of surrogates. They hold ids of entities and counts, never a form or a surrogate.


class EntityChanged(TypedDict):
    entity: int


class EntitiesMerged(EntityChanged):
    merged: list[int]
    mentions: int


class EntitySplit(EntityChanged):
    into: int
    mentions: int


ENTITIES_MERGED = Verb[EntitiesMerged]("surrogates.merged", _("merged entities of the index of surrogates"))
ENTITY_SPLIT = Verb[EntitySplit]("surrogates.split", _("split an entity of the index of surrogates"))
SURROGATE_LOCKED = Verb[EntityChanged]("surrogate.locked", _("locked a surrogate"))
SURROGATE_UNLOCKED = Verb[EntityChanged]("surrogate.unlocked", _("unlocked a surrogate"))
SURROGATE_REPLACED = Verb[EntityChanged]("surrogate.replaced", _("replaced a surrogate"))
SURROGATE_DRAWN = Verb[EntityChanged]("surrogate.drawn", _("drew another surrogate"))
SURROGATE_RESTORED = Verb[EntityChanged]("surrogate.restored", _("restored an earlier surrogate"))


# Events of audits. Data never say which notes have planted leaks.


class AuditPlanned(ReleaseNotes):
    """`drawn` is a count; the other values are the choices, shares from 0 to 1."""

    drawn: int
    by: str
    confidence: float
    target: float
    planted: float
    leaks: int


class AuditNoteAct(OfRelease):
    """`position` is the number of the note in the sample."""

    position: int


class AuditMarked(AuditNoteAct):
    """A span in code points of the original note."""

    start: int
    end: int
    label: str


class AuditNoteFinished(AuditNoteAct):
    marks: int


AUDIT_READ = "audit"
"""What a note was opened for (NOTE_READ), where an auditor saw the released text and not the original."""

AUDIT_PLANNED = Verb[AuditPlanned]("audit.planned", _("planned the audit of a release"))
AUDIT_DISCARDED = Verb[OfRelease]("audit.discarded", _("discarded the plan of an audit"))
AUDIT_NOTE_TAKEN = Verb[AuditNoteAct]("audit.note_taken", _("began to read a released note"))
AUDIT_MARKED = Verb[AuditMarked]("audit.marked", _("marked a leak in a released note"))
AUDIT_UNMARKED = Verb[AuditMarked]("audit.unmarked", _("removed a mark from a released note"))
AUDIT_NOTE_FINISHED = Verb[AuditNoteFinished]("audit.note_finished", _("finished a released note"))
AUDIT_NOTE_REOPENED = Verb[AuditNoteAct]("audit.note_reopened", _("reopened a released note"))
AUDIT_LEAK_DISMISSED = Verb[AuditMarked]("audit.leak_dismissed", _("decided that marked text is not an identifier"))
AUDIT_LEAK_RESTORED = Verb[AuditMarked]("audit.leak_restored", _("decided that marked text is an identifier"))


# Events of certificates.


class ReleaseSigned(ReleaseNotes):
    """`certificate` is the number of the certificate within the release, `risks` how many were accepted."""

    certificate: int
    sha256: str
    risks: int


class CertificateDownloaded(OfRelease):
    certificate: int
    format: str


RELEASE_SIGNED = Verb[ReleaseSigned]("release.signed", _("signed a release"))
CERTIFICATE_DOWNLOADED = Verb[CertificateDownloaded](
    "certificate.downloaded", _("downloaded a certificate"), reading=True
)
