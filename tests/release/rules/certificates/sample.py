"""A certificate's content for tests, made by hand."""

from annotations.release.rules.certificates.released_files import texts_hash
from annotations.release.rules.certificates.signatures import FORMAT, fingerprint_of, public_of
from annotations.release.rules.certificates.statements import identifier_of, identifier_rows, statements
from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.text.hashes import gold_hash, text_sha256

PRIVATE = bytes(range(32))
OTHER = bytes(range(1, 33))
KEY = fingerprint_of(public_of(PRIVATE))
NOTES = {
    "ward/a": ("Seen by [NAME] in 2019.", [(8, 14, "NAME")]),
    "ward/b": ("[NAME] is well.\nNext visit: [DATE]", [(0, 6, "NAME"), (28, 34, "DATE")]),
    "c": ("Nothing to replace.", []),
}
RULES = [("NAME", Kind.NAME, "mask", 2), ("DATE", Kind.DATE, "mask", 1)]


def content(**changes):
    """A complete certificate of NOTES. `changes` replace parts by name."""
    rules = [
        {"label": code, "name": code.capitalize(), "kind": str(kind), "action": action, "numbered": False,
         "identifier": identifier_of(code, kind, {}), "spans": spans}
        for code, kind, action, spans in RULES
    ]  # fmt: skip
    rows = identifier_rows(rules)  # type: ignore[arg-type] # the rows above have the keys of RuleRow
    recall = {"notes": 3, "all_found": 2, "share": 0.6667, "spans": 3, "found": 2, "recall": 0.6667}
    rate = {"read": 3, "leaks": 0, "bound": 0.6316}
    accepted = {"by": "Rosa Lindt", "at": "2026-11-19T09:05:00+00:00"}
    auditors = [{"name": "Nils Ahl", "read": 2, "planted": 20, "found": 19}]
    auditors += [{"name": "Ada Bo", "read": 1, "planted": 0, "found": 0}]
    training = {"gold": 1, "gold_hash": "ab" * 32, "notes": 2, "spans": 3}
    risk = {"text": "1 note has no patient ID.", "by": "Rosa Lindt", "at": "2026-11-20T10:29:00+00:00"}
    found = {
        "format": FORMAT, "key": KEY, "project": "ward", "project_name": "Ward 7", "release": 3, "number": 1,
        "supersedes": None, "issued_at": "2026-11-20T10:30:00+00:00", "issued_by": "Rosa Lindt",
        "context": {"purpose": "Teaching", "recipient": "University of Milan", "expires_on": "2027-11-20",
                    "statements": statements(rows, audited=True)},
        "data": {
            "source": "gold:1", "checked": True, "gold": {"version": 1, "hash": "ab" * 32, "notes": 3},
            "notes": len(NOTES), "held_back": 0, "patients": 2, "notes_without_patient": 1, "years": [2018, 2019],
            "languages": {"en": 3}, "spans": 3, "erased": [],
            "hashes": {
                "content": gold_hash((name, text_sha256(text), spans) for name, (text, spans) in NOTES.items()),
                "texts": texts_hash([(name, text_sha256(text)) for name, (text, _) in NOTES.items()]),
                "prepared": "cd" * 32, "policy": "ef" * 32,
            },
        },
        "identifiability": {
            "policy": {"name": "Publication mask", "slug": "mask", "version": 1, "rules": rules},
            "identifiers": rows,
            "gate": {"found": 4, "replaced": 3, "allowed": 1, "open": 0, "by": ["Rosa Lindt"],
                     "exceptions": {"generic": 12}},
            "audit": {
                "plan": 1, "complete": True, "method": "Clopper-Pearson", "confidence": 0.95, "notes": 3, "drawn": 3,
                **rate, "planted": 20, "planted_found": 19, "recall": 0.784, "target": 0.7, "met": True,
                "auditors": auditors, "accepted": [{"label": "NAME"} | accepted],
                "labels": [{"name": "NAME"} | rate], "strata": [{"name": "en"} | rate],
            },
            "scores": [{"run": "rules-1", "gold": "gold version 1", "copied": 0, "whole": {"group": ""} | recall,
                        "subgroups": [{"group": "language en"} | recall]}],
            "agreement": {"alpha": 0.71, "low": 0.68, "high": 0.74, "observed": 0.9, "notes": 115, "annotators": 3},
            "models": [{"run": "crf-run", "backend": "crf", "revision": "crf-1+abc", "model": "crf-1",
                        "training": training}],
            "surrogates": None, "utility": {"characters": 100, "kept": 90, "share": 0.9},
        },
        "governance": {"risks": [risk], "readers": [{"name": "Anna", "what": "audited the release", "notes": 3}]},
    }  # fmt: skip
    return {**found, **changes}  # type: ignore[return-value] # `changes` are checked where the certificate is read
