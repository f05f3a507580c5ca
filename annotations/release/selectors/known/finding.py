"""Find the known identifiers of patients in texts, with the lists of the project."""

from collections.abc import Sequence
from typing import Final

from annotations.models import Project
from annotations.release.rules.known.matcher import Denied, Profile, find
from annotations.release.rules.known.mention import Mention
from annotations.release.selectors.known.identifiers import allowed_terms, denied_terms, people_of

# How many prepared people are kept. A person takes about 20 kB.
KEPT: Final = 1000
NONE_DENIED: Final = Denied(())


class Finder:
    """Finds known identifiers. Keep it no longer than one piece of work: it holds values of the master in memory."""

    def __init__(self, project: Project, *, denied: bool = True) -> None:
        """`denied`: whether to find denied terms, too."""
        self._project = project
        self._allowed = allowed_terms(project)
        terms = denied_terms(project) if denied else []
        self._denied = Denied((term.text, term.label) for term in terms) if terms else None
        self._profiles: dict[str, Profile | None] = {}

    def find(self, notes: Sequence[tuple[str, str]]) -> list[list[Mention]]:
        """The mentions in each of the notes, which are given as patient id and text.

        A note without a patient id, or whose patient has no row, can only mention denied terms.
        """
        self._prepare({patient for patient, _text in notes})
        return [self._in_note(self._profiles.get(patient), text) for patient, text in notes]

    def _in_note(self, profile: Profile | None, text: str) -> list[Mention]:
        if profile is None and self._denied is None:
            return []
        return find(text, profile, self._denied or NONE_DENIED, self._allowed)

    def _prepare(self, patients: set[str]) -> None:
        if len(self._profiles) + len(patients) > KEPT:
            self._profiles = {patient: self._profiles[patient] for patient in patients & self._profiles.keys()}
        missing = {patient for patient in patients if patient and patient not in self._profiles}
        found = people_of(self._project, missing)
        for patient in missing:
            self._profiles[patient] = Profile(found[patient]) if patient in found else None
