"""A certificate as sections of paragraphs, facts and tables, in English, for its PDF and its page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from annotations.release.rules.certificates.content import (
    AuditPart,
    Content,
    Data,
    Gate,
    Recall,
    ReleasedRecords,
    RuleRow,
)
from annotations.release.rules.certificates.statements import IDENTIFIERS, NOT_MET, result_of, unchecked
from annotations.release.rules.redaction.policy import Action, IdentifierType, Policy
from annotations.release.rules.surrogates.measures import MEASURE_NAMES

NOT_MEASURED: Final = "Not measured"
FILES_SHOWN: Final = 20
"""How many files of records the PDF lists."""
_NAMES: Final = {identifier.code: f"({identifier.letter})" for identifier in IDENTIFIERS}


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class PdfTable:
    """`widths` are relative. `right`: the columns that hold numbers, from 0."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    widths: Sequence[int]
    right: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A section. `clause` names the part of ISO/IEC 27559:2022 whose heading it has."""

    title: str
    clause: str
    blocks: list[Text | Facts | PdfTable] = field(default_factory=list)


def title_of(content: Content) -> str:
    return f"Certificate {content['number']} of release {content['release']}, {content['project_name']}"


def sections(content: Content) -> list[Section]:
    """All that the certificate says, in the order of the standard's clauses."""
    return [_about(content), _context(content), _data(content), _identifiability(content), _governance(content)]


def _about(content: Content) -> Section:
    replaces = content["supersedes"]
    rows = [
        ("Project", f"{content['project_name']} ({content['project']})"),
        ("Release", str(content["release"])),
        ("Certificate", str(content["number"]) + (f", supersedes certificate {replaces}" if replaces else "")),
        ("Signed by", content["issued_by"]),
        ("Signed at", _time(content["issued_at"])),
        ("Key", content["key"]),
    ]
    intro = (
        "This certificate describes de-identified notes: how they were made, what was measured, and which risks remain "
        "and were accepted. It is signed with the key of the deidreview instance that made the release. It states what "
        "that instance recorded; it is neither legal advice nor a guarantee that no person can be identified."
    )
    return Section("About this certificate", "", [Text(intro), Facts(rows)])


def _context(content: Content) -> Section:
    context = content["context"]
    facts = [
        ("Purpose", context["purpose"] or "Not stated"),
        ("Recipient", context["recipient"] or "Not stated"),
        ("Valid until", context["expires_on"] or "No expiry date"),
    ]
    rows = [[one["method"].capitalize(), one["section"], one["text"]] for one in context["statements"]]
    methods = PdfTable("Methods of HHS", ["Method", "Section", "Statement"], rows, [18, 22, 60])
    return Section("Context", "Context assessment, clause 6", [Facts(facts), methods])


def _data(content: Content) -> Section:
    data, hashes = content["data"], content["data"]["hashes"]
    years, gold = data["years"], data["gold"]
    span = "Not known" if not years else str(years[0]) if years[0] == years[-1] else f"{years[0]} to {years[-1]}"
    facts = [
        ("Annotations", "No notes" if data["source"] == "schemas" else data["source"]),
        ("Checked by people", _checked(data)),
        ("Notes", _count(data["notes"])),
        ("Notes held back", f"{_count(data['held_back'])} (not part of the release)"),
        ("Patients", _count(data["patients"])),
        ("Notes without a patient ID", _count(data["notes_without_patient"])),
        ("Years named in the notes", span),
        ("Languages", ", ".join(f"{code or 'unknown'}: {_count(n)}" for code, n in data["languages"].items()) or "–"),
        ("Spans in the released texts", _count(data["spans"])),
        ("Content hash", f"{hashes['content']} (SHA-256 of names, texts and spans)"),
        ("Texts hash", f"{hashes['texts']} (SHA-256 of names and texts)"),
        ("Content hash when prepared", hashes["prepared"] or NOT_MEASURED),
        ("Edition", hashes.get("edition") or NOT_MEASURED),
        ("Policy hash", hashes["policy"]),
    ]
    if gold:
        facts.append(("Gold version", f"{gold['version']}, {_count(gold['notes'])} notes, hash {gold['hash']}"))
    else:
        facts.append(("Gold version", "The release was not made from a frozen gold version"))
    blocks: list[Text | Facts | PdfTable] = [Facts(facts)]
    if records := data.get("records"):  # Certificates of earlier versions don't have it.
        blocks += _records(records)
    if data["erased"]:
        rows = [[one["on"], _count(one["notes"]), _count(one["patients"])] for one in data["erased"]]
        notes = sum(one["notes"] for one in data["erased"])
        patients = sum(one["patients"] for one in data["erased"])
        blocks += [
            Text(
                f"Notes erased, or withdrawn for a leak, since the release was prepared: {_count(notes)}; patients: "
                f"{_count(patients)}. "
                "Recipients of earlier copies must delete these notes. Measures of runs and annotators below include "
                "these notes; the counts and hashes are those of the remaining notes."
            ),
            PdfTable("Erased or withdrawn notes", ["Date", "Notes", "Patients"], rows, [40, 30, 30], (1, 2)),
        ]
    return Section("Data", "Data assessment, clause 7", blocks)


def _records(records: ReleasedRecords) -> list[Text | Facts | PdfTable]:
    schemas = [f"{one['data_type']} {one['number']} ({one['sha256']})" for one in records["schemas"]]
    rows = [
        [one["sha256"], _count(one["records"]), _count(one["held_back"]), _count(one["bytes"])]
        for one in records["files"][:FILES_SHOWN]
    ]
    if more := len(records["files"]) - len(rows):
        rows.append([f"and {more:,} more, which the JSON of this certificate lists", "", "", ""])
    head = ["SHA-256", "Records", "Held back", "Bytes"]
    return [
        Facts([("Schemas of records", ", ".join(schemas))]),
        PdfTable("Files of records", head, rows, [58, 14, 14, 14], (1, 2, 3)),
    ]


def _checked(data: Data) -> str:
    why = " ".join(unchecked(data))
    return f"No. {why}" if why else "Yes: people made, reviewed or accepted all annotations here"


def _identifiability(content: Content) -> Section:
    part = content["identifiability"]
    policy, gate = part["policy"], part["gate"]
    searched = gate.get("searched") if gate else None
    unread = bool(searched and searched["unread"])
    named = f"{policy['name']} ({policy['slug']}, version {policy['version']})"
    if "harbor" in named.lower() and content["context"]["statements"][0]["text"].startswith(NOT_MET):
        named += ", whose aim is not met"
    rules = [
        [
            rule["label"] if rule["label"] == rule["name"] else f"{rule['label']} – {rule['name']}",
            rule["kind"],
            rule["action"] + (", numbered" if rule["numbered"] else ""),
            _NAMES.get(rule["identifier"] or "", "–"),
            _count(rule["spans"]),
        ]
        for rule in policy["rules"]
    ]
    identifiers = [
        [
            f"({row['letter']}) {row['name']}",
            ", ".join(row["labels"]) or "–",
            ", ".join(row["actions"]) or "–",
            result_of(row, unread=unread),
        ]
        for row in part["identifiers"]
    ]
    safe_harbor = "The eighteen identifiers of Safe Harbor, 45 CFR 164.514(b)(2)(i)"
    blocks: list[Text | Facts | PdfTable] = [
        PdfTable(f"Policy: {named}", ["Label", "Kind", "Action", "HIPAA", "Spans"], rules, [44, 18, 18, 9, 11], (4,)),
        PdfTable(safe_harbor, ["Identifier", "Labels", "Actions", "Result"], identifiers, [31, 28, 14, 27]),
    ]
    facts = [
        (
            "Leak gate",
            f"{_count(gate['found'])} findings: {_count(gate['replaced'])} replaced, {_count(gate['allowed'])} "
            f"allowed{_by(gate['by'])}, {_count(gate['open'])} open in notes that are held back"
            if gate
            else NOT_MEASURED,
        ),
        ("Looked for without labels", _searched(gate, policy["rules"])),
        ("Exceptions of the leak gate", _exceptions(gate)),
        ("Utility", _utility(content)),
        ("Agreement", _agreement(content)),
    ]
    blocks += [Facts(facts), *_audit(part["audit"])]
    blocks += _scores(content)
    blocks.append(_models(content))
    blocks += _surrogates(content)
    return Section("Identifiability", "Identifiability assessment and mitigation, clause 8", blocks)


def _searched(gate: Gate | None, rules: Sequence[RuleRow]) -> str:
    if not gate:
        return NOT_MEASURED
    text = "By their shape: telephone numbers, e-mail and web addresses"
    searched = gate.get("searched")  # Certificates of earlier versions don't have it.
    if not searched:
        return f"{text}; nothing else"
    text += ", MAC and IPv6 addresses"
    policy = Policy.read({rule["label"]: rule for rule in rules})
    if {Action.KEEP} != {rule.action for rule in policy.rules.values() if rule.kind is IdentifierType.DATE}:
        text += ", full dates in figures"
    if policy.seeks_ages:
        text += ", ages over 89 and years of birth that tell one, as English, Spanish and Italian notes write them"
    if searched["rules"]:
        text += f"; identifiers by rules (revision {', '.join(searched['rules'])})"
    if searched["runs"]:
        text += f"; what these runs suggested: {', '.join(searched['runs'])}"
    text += "; known identifiers and deny-listed terms that the project has"
    unread = ", ".join(f"{code or 'unknown'}: {_count(n)}" for code, n in searched["unread"].items())
    return f"{text}. Notes in languages that the rules do not know, by language: {unread}" if unread else text


def _exceptions(gate: Gate | None) -> str:
    if not gate:
        return NOT_MEASURED
    found = ", ".join(f"{name}: {_count(number)}" for name, number in gate["exceptions"].items())
    return f"Strings that a named exception let stay: {found}" if found else "None applied"


def _utility(content: Content) -> str:
    utility = content["identifiability"]["utility"]
    if not utility or utility["share"] is None:
        return NOT_MEASURED
    return (
        f"{_share(utility['share'])} of the original text is released as it is ({_count(utility['kept'])} of "
        f"{_count(utility['characters'])} characters)"
    )


def _agreement(content: Content) -> str:
    found = content["identifiability"]["agreement"]
    if not found or found["alpha"] is None:
        return NOT_MEASURED
    interval = f" (95% interval {found['low']} to {found['high']})" if found["low"] is not None else ""
    return (
        f"Krippendorff's alpha {found['alpha']}{interval} on tokens by label; {_count(found['notes'])} notes, "
        f"{_count(found['annotators'])} annotators"
    )


def _audit(audit: AuditPart | None) -> list[Text | Facts | PdfTable]:
    if audit is None:
        return [Facts([("Leak rate", f"{NOT_MEASURED}: no audit of the released notes was done")])]
    sure = _share(audit["confidence"])
    facts = [
        ("Audit", f"Plan {audit['plan']}, {audit['method']}" + ("" if audit["complete"] else "; not complete")),
        (
            "Sample",
            f"{_count(audit['read'])} of {_count(audit['drawn'])} drawn notes read, of {_count(audit['notes'])}",
        ),
        ("Aim", f"A leak rate of at most {_share(audit['target'])}; {'reached' if audit['met'] else 'not reached'}"),
        ("Notes with a leak", f"{_count(audit['leaks'])} of {_count(audit['read'])} read"),
        ("Leak rate", f"At most {_share(audit['bound'])} of the notes contain a leak, at {sure} confidence"),
        (
            "Auditors",
            f"Found {_count(audit['planted_found'])} of {_count(audit['planted'])} planted leaks; at least "
            f"{_share(audit['recall'])} of leaks are found, at {sure} confidence"
            if audit["recall"] is not None
            else "Their recall is not known, because no leaks were planted. The leak rate is not corrected",
        ),
    ]
    blocks: list[Text | Facts | PdfTable] = [Facts(facts), *_people(audit)]
    # A sample without strata has a single one, which has no name and the rate of the whole release.
    strata = [one for one in audit["strata"] if len(audit["strata"]) > 1 or one["name"]]
    for by, rates in (("Label", audit["labels"]), ("Stratum", strata)):
        if rates:
            head = [by, "Read", "Leaks", f"At most, {sure} confidence"]
            rows = [[one["name"], _count(one["read"]), _count(one["leaks"]), _share(one["bound"])] for one in rates]
            blocks.append(PdfTable(f"Leak rate by {by.lower()}", head, rows, [46, 16, 16, 22], (1, 2, 3)))
    return blocks


def _people(audit: AuditPart) -> list[Text | Facts | PdfTable]:
    """Who read, with each one's share of the planted leaks, and who left which leaks in the release."""
    blocks: list[Text | Facts | PdfTable] = []
    if audit["auditors"]:
        rows = [
            [
                one["name"],
                _count(one["read"]),
                f"{_count(one['found'])} of {_count(one['planted'])}" if one["planted"] else "–",
                _share(one["found"] / one["planted"]) if one["planted"] else NOT_MEASURED,
            ]
            for one in audit["auditors"]
        ]
        head = ["Person", "Notes read", "Planted leaks found", "Recall"]
        blocks.append(PdfTable("Auditors", head, rows, [40, 18, 24, 18], (1, 2, 3)))
    if audit["accepted"]:
        rows = [[one["label"], one["by"], _time(one["at"])] for one in audit["accepted"]]
        caption, head = "Leaks of the audit that people left in the release", ["Label", "Accepted by", "Accepted at"]
        blocks.append(PdfTable(caption, head, rows, [40, 35, 25]))
    return blocks


def _scores(content: Content) -> list[Text | Facts | PdfTable]:
    scores = content["identifiability"]["scores"]
    if not scores:
        return [Facts([("All-or-nothing recall", f"{NOT_MEASURED}: no run was scored against gold")])]
    head = ["Run", "Notes", "All found", "All or nothing", "Span recall"]
    rows = [
        [f"{one['run']}, {row['group']}" if row["group"] else f"{one['run']} against {one['gold']}", *_recall(row)]
        for one in scores
        for row in [one["whole"], *one["subgroups"]]
    ]
    copied = [f"{one['run']}: {_count(one['copied'])}" for one in scores if one["copied"]]
    warning = (
        " Gold spans that were copied from a run make its figures too optimistic: " + ", ".join(copied) + "."
        if copied
        else ""
    )
    return [
        Text(
            "All-or-nothing recall: the share of notes in which the run alone, without a person, covered every gold "
            "span. It says nothing about what a later review changed." + warning
        ),
        PdfTable("All-or-nothing recall, whole and by subgroup", head, rows, [40, 12, 14, 18, 16], (1, 2, 3, 4)),
    ]


def _recall(row: Recall) -> list[str]:
    return [_count(row["notes"]), _count(row["all_found"]), _share(row["share"]), _share(row["recall"])]


def _models(content: Content) -> Facts | PdfTable:
    models = content["identifiability"]["models"]
    if not models:
        return Facts([("Models", "No model run is recorded for the released annotations")])
    rows = []
    for one in models:
        training = one["training"]
        learned = "–"
        if training:
            gold = f"gold version {training['gold']} ({training['gold_hash']})" if training["gold"] else "other gold"
            learned = f"{gold}, {_count(training['notes'])} notes, {_count(training['spans'])} spans"
        rows.append([one["run"], one["model"] or one["backend"], one["revision"] or "–", learned])
    return PdfTable("Models", ["Run", "Model or backend", "Revision", "Learned from"], rows, [18, 22, 26, 34])


def _surrogates(content: Content) -> list[Text | Facts | PdfTable]:
    found = content["identifiability"]["surrogates"]
    if found is None:
        return [Facts([("Surrogates", "The policy writes none")])]
    maker = f"the language model {found['made_by']}, and rules" if found["made_by"] else "rules"
    rows = [("Surrogates for", ", ".join(found["labels"])), ("Surrogates made by", maker)]
    measures = sorted(found["measures"].items(), key=lambda pair: [*_MEASURES, pair[0]].index(pair[0]))
    for name, value in measures:
        rows.append((_MEASURES.get(name) or name.replace("_", " ").capitalize(), _measure(name, value)))
    if not found["measures"]:
        rows.append(("Measures", NOT_MEASURED))
    return [Facts(rows)]


_MEASURES: Final = {
    "notes": "Notes measured",
    **MEASURE_NAMES,
    "f1_backend": "Model that was run on original and released text",
    "f1_revision": "Its revision",
    "f1_notes": "Notes on which it was run",
    "f1_original": "Its F1 on the original text",
    "f1_released": "Its F1 on the released text",
    "f1_difference": "Difference of the two",
}
_SHARES: Final = frozenset({"preserved", "consistent"})


def _measure(name: str, value: float | int | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or NOT_MEASURED
    if name in _SHARES:
        return _share(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}".rstrip("0").rstrip(".")


def _governance(content: Content) -> Section:
    part = content["governance"]
    risks: Facts | PdfTable = Facts([("Open risks", "None is recorded")])
    if part["risks"]:
        rows = [[one["text"], one["by"], _time(one["at"])] for one in part["risks"]]
        risks = PdfTable("Open risks, accepted by name", ["Risk", "Accepted by", "Accepted at"], rows, [60, 20, 20])
    readers: Facts | PdfTable = Facts([("Who read notes", "Nobody is recorded")])
    if part["readers"]:
        people = [[one["name"], one["what"], _count(one["notes"])] for one in part["readers"]]
        readers = PdfTable("Who read notes of the release", ["Person", "What", "Notes"], people, [40, 44, 16], (2,))
    how = (
        "To verify: the attached file certificate.json and this PDF carry Ed25519 signatures. Compare the key above "
        "with the fingerprint that the issuer publishes, and the released files with the hashes above, for example "
        "with the command verify_certificate of deidreview. A newer certificate of the release supersedes this one; "
        "ask the issuer. After an erasure the issuer signs a new certificate that says so."
    )
    return Section("Governance", "De-identification governance, clause 9", [risks, readers, Text(how)])


def _by(names: Sequence[str]) -> str:
    return f" by {', '.join(names)}" if names else ""


def _count(value: int | None) -> str:
    return NOT_MEASURED if value is None else f"{value:,}"


def _share(value: float | None) -> str:
    if value is None:
        return NOT_MEASURED
    return f"{value * 100:.2f}".rstrip("0").rstrip(".") + "%"


def _time(value: str) -> str:
    """An ISO time in UTC, to the minute."""
    return f"{value[:10]} {value[11:16]} UTC" if "T" in value else value
