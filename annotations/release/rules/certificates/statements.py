"""What a certificate states about the eighteen identifiers and about the two methods of HHS.

Sources: 45 CFR 164.514(b); HHS 2012, sections 2 and 3.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from annotations.release.rules.certificates.content import (
    ADJUDICATED,
    ANNOTATED,
    AUDITED,
    REVIEWED,
    Content,
    Data,
    IdentifierRow,
    RuleRow,
    Statement,
    filled,
)
from annotations.release.rules.redaction.policy import PEOPLE, PLACES, Action
from annotations.release.rules.redaction.policy import IdentifierType as Kind

# The eighteen identifiers of HIPAA's Safe Harbor method (45 CFR 164.514(b)(2)(i), (A) to (R)), and their labels.


@dataclass(frozen=True, slots=True)
class Identifier:
    """One of the eighteen identifiers. `code` is its label in the shipped label set hipaa-18; `kinds`: its types.

    (Q), photos and images, has none.
    """

    letter: str
    code: str
    name: str
    kinds: Collection[Kind] = ()


_SMALL_PLACES: Final = PLACES - {Kind.REGION, Kind.COUNTRY}
_OTHERS: Final = {Kind.USERNAME, Kind.ID, Kind.OTHER}
IDENTIFIERS: Final = (
    Identifier("A", "NAMES", "Names", PEOPLE),
    Identifier("B", "GEOGRAPHIC", "Geographic subdivisions smaller than a state", _SMALL_PLACES),
    Identifier("C", "DATES", "Dates except the year, and ages over 89", {Kind.DATE, Kind.AGE}),
    Identifier("D", "PHONE", "Telephone numbers", {Kind.PHONE}),
    Identifier("E", "FAX", "Fax numbers", {Kind.FAX}),
    Identifier("F", "EMAIL", "E-mail addresses", {Kind.EMAIL}),
    Identifier("G", "SSN", "Social security numbers", {Kind.NATIONAL_ID}),
    Identifier("H", "MEDICAL_RECORD", "Medical record numbers", {Kind.RECORD}),
    Identifier("I", "HEALTH_PLAN", "Health plan beneficiary numbers", {Kind.HEALTH_PLAN}),
    Identifier("J", "ACCOUNT", "Account numbers", {Kind.ACCOUNT}),
    Identifier("K", "LICENSE", "Certificate and license numbers", {Kind.LICENSE}),
    Identifier("L", "VEHICLE", "Vehicle identifiers, license plates", {Kind.VEHICLE}),
    Identifier("M", "DEVICE", "Device identifiers and serial numbers", {Kind.DEVICE}),
    Identifier("N", "URL", "Web addresses (URLs)", {Kind.URL}),
    Identifier("O", "IP_ADDRESS", "IP addresses", {Kind.IP}),
    Identifier("P", "BIOMETRIC", "Biometric identifiers", {Kind.BIOMETRIC}),
    Identifier("Q", "PHOTO", "Full-face photographs and comparable images"),
    Identifier("R", "OTHER_ID", "Any other unique number, characteristic or code", _OTHERS),
)

CODE_OF_TYPE: Final = {kind: one.code for one in IDENTIFIERS for kind in one.kinds}
"""The code of the identifier of each type. All other types belong to none of the eighteen identifiers."""


_PARTS: Final[Mapping[str, Sequence[frozenset[Kind]]]] = {
    "NAMES": (frozenset({Kind.NAME}),),
    "GEOGRAPHIC": tuple(frozenset({Kind.LOCATION, one}) for one in (Kind.STREET, Kind.ZIP, Kind.CITY)),
    "DATES": (frozenset({Kind.DATE}), frozenset({Kind.AGE})),
}
# Labels of the set redactor-33 for some dates, devices, documents or numbers only.
_SOME: Final = frozenset({"BIRTH_DATE_TIME", "DEATH_DATE_TIME", "MAC_ADDRESS", "PASSPORT_NUMBER_US", "FIN", "GUID"})
_ADDRESSES: Final = frozenset({"ADDRESS"})  # its streets come with town and ZIP code


def covers_all(identifier: str, labels: Iterable[tuple[str, Kind]]) -> bool:
    """Whether labels, given by code and kind, cover all of an identifier: each of its parts has one of them.

    The labels of hipaa-18 are the identifiers themselves. An identifier that is not listed in parts needs one label.
    """
    found = [(code, kind) for code, kind in labels if code not in _SOME]
    if any(code == identifier for code, _kind in found):
        return True
    kinds = {kind for _code, kind in found}
    if any(code in _ADDRESSES for code, _kind in found):
        kinds |= {Kind.ZIP, Kind.CITY}
    return bool(found) and all(kinds & part for part in _PARTS.get(identifier, ()))


def identifier_of(label: str, kind: Kind, mapped: Mapping[str, str | None]) -> str | None:
    """The code of a label's identifier: by the label set's mapping to hipaa-18 where it has the label, else by kind."""
    return mapped[label] if label in mapped else CODE_OF_TYPE.get(kind)


REMOVED: Final = "removed"
KEPT: Final = "kept"
PARTLY: Final = "partly"
SEARCHED: Final = "searched"
NONE: Final = "none"
NOT_MET: Final = "Not met."

# A shifted date is still a full date, and a code that is derived from the value is not allowed by 164.514(c).
_NOT_REMOVING: Final = frozenset({Action.KEEP, Action.SHIFT, Action.HASH})
# What generalizing leaves is allowed for these identifiers only: years, and ages over 89 as one group.
_GENERALIZABLE: Final = frozenset({"DATES", "GEOGRAPHIC"})

EVERY: Final = " in every note"
STATUS: Final[Mapping[str, str]] = {
    REMOVED: "Removed or replaced where labeled",
    KEPT: "Kept, shifted or coded, at least in part",
    SEARCHED: "Removed where labeled; the leak gate looked for the rest in every note",
    PARTLY: "Only a part has a label; the rest was not looked for",
    NONE: "No label: not looked for",
}


def result_of(row: IdentifierRow, *, unread: bool = False) -> str:
    """What became of an identifier, in words. `unread`: the rules of the leak gate could not read some notes."""
    if row["status"] == NONE and row["letter"] == "Q":
        return "Notes are text, and have no images"
    if row["status"] == SEARCHED and not row["labels"]:
        return "No label; the leak gate looked for it in every note"
    return STATUS[row["status"]] + (EVERY if unread and row["status"] in (PARTLY, NONE) else "")


VOICE: Final = (
    "Voice kept: the release has recordings in which people speak. A voice print is one of the identifiers of Safe "
    "Harbor, (P), 45 CFR 164.514(b)(2)(i)(P)."
)


def identifier_rows(
    rules: Sequence[RuleRow], looked_for: Collection[str] = (), *, voice: bool = False
) -> list[IdentifierRow]:
    """The eighteen identifiers, each with the labels that are mapped to it and what the policy does with them.

    `looked_for`: the codes of the identifiers that the leak gate looked for in all notes, whether labeled or not.
    `voice`: the release has recordings, in which the voice, a biometric identifier, is kept.
    """
    rows = []
    for identifier in IDENTIFIERS:
        mapped = [rule for rule in rules if rule["identifier"] == identifier.code]
        rows.append(
            filled(
                IdentifierRow,
                identifier,
                labels=[rule["label"] for rule in mapped],
                actions=sorted({rule["action"] for rule in mapped}),
                spans=sum(rule["spans"] for rule in mapped),
                status=KEPT if voice and identifier.letter == "P" else _status(identifier.code, mapped, looked_for),
            )
        )
    return rows


def _status(identifier: str, mapped: Sequence[RuleRow], looked_for: Collection[str]) -> str:
    if any(_keeps(rule, identifier) for rule in mapped):
        return KEPT
    if covers_all(identifier, [(rule["label"], Kind(rule["kind"])) for rule in mapped]):
        return REMOVED
    if identifier in looked_for:
        return SEARCHED
    return PARTLY if mapped else NONE


def _keeps(rule: RuleRow, identifier: str) -> bool:
    action = Action(rule["action"])
    return action in _NOT_REMOVING or (action is Action.GENERALIZE and identifier not in _GENERALIZABLE)


def statements(
    rows: Sequence[IdentifierRow], *, audited: bool, unread: bool = False, voice: bool = False
) -> list[Statement]:
    """What the certificate says about Safe Harbor, actual knowledge, and expert determination.

    `voice`: the release has recordings. `unread`: the rules of the leak gate could not read some notes.
    """
    return [
        Statement(
            method="safe harbor",
            section="45 CFR 164.514(b)(2)(i)",
            text=" ".join([_safe_harbor(rows, EVERY if unread else ""), *([VOICE] if voice else [])]),
        ),
        Statement(
            method="actual knowledge",
            section="45 CFR 164.514(b)(2)(ii)",
            text=(
                "Safe Harbor also requires that the covered entity has no actual knowledge that the remaining "
                "information could identify a person. Software can't state this. The accepted open risks list what was "
                "known when this certificate was signed."
            ),
        ),
        Statement(
            method="expert determination",
            section="45 CFR 164.514(b)(1)",
            text=(
                "This certificate is not a determination by an expert. "
                + (
                    "The audit's figures and the documented methods are material for one."
                    if audited
                    else "No audit measured the leaks that remain, so an expert needs further evidence."
                )
            ),
        ),
    ]


def _safe_harbor(rows: Sequence[IdentifierRow], every: str) -> str:
    # Notes are plain text and have no images.
    found = {
        status: [row["letter"] for row in rows if row["status"] == status and row["letter"] != "Q"] for status in STATUS
    }
    lacking = [
        f"{words}: {_listed(found[status])}."
        for status, words in (
            (KEPT, "Kept, shifted or coded"),
            (PARTLY, f"With labels for a part only, and the rest not looked for{every}"),
            (NONE, f"Without a label, and not looked for{every}"),
        )
        if found[status]
    ]
    rest = "Identifiers that nobody labeled and the leak gate did not find may remain."
    if lacking:
        return " ".join([f"{NOT_MET} The release does not remove all eighteen identifiers.", *lacking, rest])
    text = (
        "The policy removes or replaces the labeled spans of seventeen of the eighteen identifiers; the other one, "
        "(Q), are images, which notes don't have. "
    )
    if found[SEARCHED]:
        text += (
            f"For {_listed(found[SEARCHED])} there is no label, or one for a part only. The leak gate looked for them "
            "in every note, and what it found was replaced, or allowed by a person or by a named exception. "
        )
    return text + rest


def _listed(letters: Sequence[str]) -> str:
    return ", ".join(f"({letter})" for letter in letters)


# The open risks of a release, as far as the application knows them. A person accepts each by name before signing.


LONGEST: Final = 300
_MODEL: Final = re.compile(r"""(?:^|[:+"])(?:run|refined):""")
"""A choice of a model's annotations, also in a union."""


def key_of(risk: str) -> str:
    """A short key of a risk's text, with which a form names it: an acceptance counts for exactly this text."""
    return hashlib.sha256(risk.encode()).hexdigest()[:16]


def open_risks(content: Content) -> list[str]:
    """The risks that the content shows, each as a sentence."""
    return [*_context_risks(content), *_data_risks(content), *_policy_risks(content), *_audit_risks(content)]


def _context_risks(content: Content) -> list[str]:
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


def _data_risks(content: Content) -> list[str]:
    data, gate = content["data"], content["identifiability"]["gate"]
    found = [*unchecked(data), *_one_person(content)]
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
            f"{_notes(number)} erased, or withdrawn for a leak, since the release was prepared. Earlier copies may "
            "still hold what was taken out."
        )
    if records := data.get("records"):  # Certificates of earlier versions don't have it.
        found.append(
            "Fields of records that pass were searched for the identifiers of the record and known ones of its "
            "patient, and for denied terms. Nobody has read the records that have no note."
        )
        for schema in records["schemas"]:
            if person := schema.get("one_person"):
                found.append(
                    f"One person, {person}, both added and reviewed the schema {schema['data_type']} "
                    f"{schema['number']} of records. Nobody else has checked its rules."
                )
        if held := sum(one["held_back"] for one in records["files"]):
            found.append(f"Records held back from the files: {held:,}.")
    if gate and gate["allowed"]:
        by = f" by {', '.join(gate['by'])}" if gate["by"] else ""
        found.append(f"Findings of the leak gate that were allowed{by}: {gate['allowed']:,}.")
    return found


def _one_person(content: Content) -> list[str]:
    """The risk of a release in which one person did all work on the notes, whoever signs."""
    work = (ANNOTATED, ADJUDICATED, REVIEWED, AUDITED)
    people = {reader["name"] for reader in content["governance"]["readers"] if reader["what"] in work}
    if len(people) != 1:
        return []
    return [f"One person, {people.pop()}, did all work on the notes. Nobody else has looked at them."]


def _notes(number: int) -> str:
    return "1 note is" if number == 1 else f"{number:,} notes are"


def _policy_risks(content: Content) -> list[str]:
    rows = content["identifiability"]["identifiers"]
    found = []
    for status, words in (
        (KEPT, "The policy keeps, shifts or codes these identifiers of HIPAA"),
        (PARTLY, "The project has labels for only a part of these identifiers of HIPAA"),
        (NONE, "The project has no label for these identifiers of HIPAA"),
    ):
        # Notes are plain text and have no photographs.
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


def _audit_risks(content: Content) -> list[str]:
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
