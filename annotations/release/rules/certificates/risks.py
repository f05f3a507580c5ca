"""The open risks of a release, as far as the application knows them. A person accepts each by name before signing."""

import hashlib
import re
from collections import Counter
from typing import Final

from annotations.release.rules.certificates.content import Content, Data
from annotations.release.rules.certificates.statements import KEPT, NONE, PARTLY

LONGEST: Final = 300
_MODEL: Final = re.compile(r"""(?:^|[:+"])(?:run|refined):""")
"""A choice of a model's annotations, also in a union."""


def key_of(risk: str) -> str:
    """A short key of a risk's text, with which a form names it: an acceptance counts for exactly this text."""
    return hashlib.sha256(risk.encode()).hexdigest()[:16]


def open_risks(content: Content) -> list[str]:
    """The risks that the content shows, each as a sentence."""
    return [*_of_the_context(content), *_of_the_data(content), *_of_the_policy(content), *_of_the_audit(content)]


def _of_the_context(content: Content) -> list[str]:
    context = content["context"]
    found = []
    if not context["purpose"]:
        found.append("The purpose of the release is not stated.")
    if not context["recipient"]:
        found.append("The recipient of the release is not stated.")
    if context["expires_on"] is None:
        found.append("The certificate has no expiry date.")
    return found


def unchecked(data: Data) -> list[str]:
    """Why not all annotations were made or checked by people here: sentences; none if they were."""
    found = []
    imported = data.get("imported")  # Certificates of earlier versions don't have it.
    if not data["checked"] and (not imported or _MODEL.search(data["source"])):
        found.append("A model made annotations of the release, and no person checked all of them.")
    if imported:
        notes = "1 note" if imported == 1 else f"{imported:,} notes"
        found.append(f"The annotations of {notes} come from a file or an archive, and nobody checked them here.")
    return found


def _of_the_data(content: Content) -> list[str]:
    data, gate = content["data"], content["identifiability"]["gate"]
    found = []
    found += unchecked(data)
    if data["notes_without_patient"]:
        found.append(
            f"{_notes(data['notes_without_patient'])} without a patient ID: identifiers of the same patient in other "
            "notes were not looked for there."
        )
    if data["held_back"]:
        found.append(f"{_notes(data['held_back'])} held back and not part of the release.")
    if data["erased"]:
        number = sum(one["notes"] for one in data["erased"])
        found.append(
            f"{_notes(number)} erased since the release was prepared. Earlier copies may still hold what was erased."
        )
    if gate and gate["allowed"]:
        by = f" by {', '.join(gate['by'])}" if gate["by"] else ""
        found.append(f"Findings of the leak gate that were allowed{by}: {gate['allowed']:,}.")
    return found


def _notes(number: int) -> str:
    return "1 note is" if number == 1 else f"{number:,} notes are"


def _of_the_policy(content: Content) -> list[str]:
    rows = content["identifiability"]["identifiers"]
    found = []
    for status, words in (
        (KEPT, "The policy keeps, shifts or codes these identifiers of HIPAA"),
        (PARTLY, "The project has labels for only a part of these identifiers of HIPAA"),
        (NONE, "The project has no label for these identifiers of HIPAA"),
    ):
        # Notes are text, so that there are no photographs.
        named = [f"({row['letter']}) {row['name']}" for row in rows if row["status"] == status and row["letter"] != "Q"]
        if named:
            found.append(f"{words}: {'; '.join(named)}.")
    gate = content["identifiability"]["gate"]
    searched = gate.get("searched") if gate else None  # Certificates of earlier versions don't have it.
    if searched and searched["unread"]:
        found.append(
            f"{_notes(sum(searched['unread'].values()))} in a language that the rules do not know. Of the names and "
            "addresses that nobody labeled, only those with a title, a field, a word for a street or a postal code "
            "were looked for there."
        )
    return found


def _of_the_audit(content: Content) -> list[str]:
    audit = content["identifiability"]["audit"]
    if audit is None:
        return ["No audit of the released notes was done, so the rate of leaks is unknown."]
    found = []
    if not audit["complete"]:
        found.append(f"The audit is not complete: {audit['read']:,} of {audit['drawn']:,} drawn notes were read.")
    if audit["leaks"]:
        found.append(f"The audit found leaks in {audit['leaks']:,} of {audit['read']:,} notes that were read.")
    if audit["accepted"]:
        counts = Counter(one["by"] for one in audit["accepted"])
        by = ", ".join(f"{name} ({number:,})" for name, number in sorted(counts.items()))
        found.append(f"Leaks of the audit that people left in the release: {by}.")
    if audit["complete"] and not audit["met"]:
        found.append("The audit ended without reaching the leak rate that it aimed at.")
    if audit["recall"] is None:
        found.append("The auditors' recall is unknown, because no leaks were planted.")
    return found
