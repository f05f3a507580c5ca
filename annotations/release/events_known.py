"""Events of known identifiers. Their data are counts, never a value."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import NoData, Verb


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
