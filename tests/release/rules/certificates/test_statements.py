"""Risks and statements follow from the content, and rounding is never in the release's favor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.formats.files.csv_files import csv_line, unquoted
from annotations.release.rules.certificates import statements
from annotations.release.rules.certificates.content import at_least, at_most, canonical, written
from annotations.release.rules.certificates.layout import PdfTable, sections
from annotations.release.rules.redaction.policy import IdentifierType as Kind
from tests.release.rules.certificates.sample import content


def rule(label, identifier, action="mask", kind="name"):
    return {"label": label, "name": label, "kind": kind, "action": action, "numbered": False,
            "identifier": identifier, "spans": 1}  # fmt: skip


def status_of(*rules):
    return {row["letter"]: row["status"] for row in statements.identifier_rows(rules)}


def test_every_kind_has_an_identifier_or_none():
    assert set(statements.CODE_OF_TYPE.values()) <= {identifier.code for identifier in statements.IDENTIFIERS}
    assert [identifier.letter for identifier in statements.IDENTIFIERS] == list("ABCDEFGHIJKLMNOPQR")
    # A shipped mapping wins over the kind.
    found = [statements.identifier_of("PAIS", Kind.LOCATION, mapping) for mapping in ({"PAIS": None}, {})]
    assert found == [None, "GEOGRAPHIC"]


ACTIONS = [
    ("mask", "NAMES", "A", "removed"),
    ("surrogate", "NAMES", "A", "removed"),
    ("remove", "NAMES", "A", "removed"),
    ("keep", "NAMES", "A", "kept"),
    ("hash", "MEDICAL_RECORD", "H", "kept"),  # 45 CFR 164.514(c): a code may not be derived from the value
    ("shift", "DATES", "C", "kept"),  # still a full date
    ("generalize", "DATES", "C", "removed"),  # the year may stay
    ("generalize", "PHONE", "D", "kept"),
]


@pytest.mark.parametrize(("action", "identifier", "letter", "status"), ACTIONS)
def test_what_an_action_does_with_an_identifier(action, identifier, letter, status):
    assert status_of(rule(identifier, identifier, action))[letter] == status
    # One kept label counts for the whole identifier.
    found = status_of(rule("PATIENT", "NAMES"), rule("DOCTOR", "NAMES", "keep"))
    assert (found["A"], found["B"]) == ("kept", "none")


def test_safe_harbor_is_stated_only_where_all_eighteen_are_removed():
    every = [rule(one.code, one.code) for one in statements.IDENTIFIERS if one.letter != "Q"]
    text = statements.statements(statements.identifier_rows(every), audited=True)[0]["text"]
    assert "seventeen of the eighteen" in text and "may remain" in text
    some = statements.statements(statements.identifier_rows(every[1:]), audited=True)[0]["text"]
    assert "not looked for: (A)" in some
    kept = statements.statements(statements.identifier_rows([rule("NAME", "NAMES", "keep")]), audited=False)
    assert "does not remove all" in kept[0]["text"]
    assert "No audit" in kept[2]["text"] and "not a determination" in kept[2]["text"]


COVERED = [
    ("DATES", [("FECHAS", "date"), ("EDAD", "age")], "removed"),
    ("DATES", [("FECHAS", "date")], "partly"),  # no label for ages over 89
    ("DATES", [("BIRTH_DATE_TIME", "date"), ("DEATH_DATE_TIME", "date"), ("AGE", "age")], "partly"),
    ("DEVICE", [("MAC_ADDRESS", "device")], "partly"),
    ("OTHER_ID", [("FIN", "id"), ("GUID", "id")], "partly"),
    ("GEOGRAPHIC", [("LOCATION", "location")], "removed"),
    ("GEOGRAPHIC", [("STREET", "street"), ("CITY", "city")], "partly"),  # no label for ZIP codes
    ("GEOGRAPHIC", [("ADDRESS", "street")], "removed"),
    ("NAMES", [("DOCTOR", "staff")], "partly"),  # not the patient
    ("EMAIL", [("MAIL", "email")], "removed"),
    ("EMAIL", [], "none"),
]


@pytest.mark.parametrize(("identifier", "labels", "status"), COVERED)
def test_labels_cover_an_identifier_in_full_in_part_or_not_at_all(identifier, labels, status):
    letter = next(one.letter for one in statements.IDENTIFIERS if one.code == identifier)
    rules = [rule(label, identifier, kind=kind) for label, kind in labels]
    assert status_of(*rules)[letter] == status
    # What labels don't cover, the leak gate may have looked for.
    rows = statements.identifier_rows(rules, {identifier})
    assert {row["letter"]: row["status"] for row in rows}[letter] == ("removed" if status == "removed" else "searched")
    text = statements.statements(rows, audited=True)[0]["text"]
    assert text.endswith("may remain.")
    assert text.startswith("Not met.") and f"({letter})" not in text, "other identifiers are lacking, but not this one"


def test_the_open_risks_of_a_bare_release():
    erased = [{"on": "2026-12-01", "notes": 3, "patients": 1}]
    bare = content(
        context={"purpose": "", "recipient": "", "expires_on": None, "statements": []},
        data=content()["data"] | {"checked": False, "held_back": 2, "erased": erased},
        identifiability=content()["identifiability"] | {"audit": None},
    )
    risks = " ".join(statements.open_risks(bare))
    for part in (
        "purpose of the release is not stated", "recipient", "no expiry date", "no person checked",
        "1 note is without a patient ID", "2 notes are held back", "3 notes are erased",
        "allowed by Rosa Lindt: 1", "No audit of the released notes",
    ):  # fmt: skip
        assert part in risks
    assert len({statements.key_of(risk) for risk in statements.open_risks(bare)}) == len(statements.open_risks(bare))
    accepted = [{"label": "NAME", "by": "rev", "at": ""}] * 2
    found = {"complete": False, "read": 2, "leaks": 1, "recall": None, "accepted": accepted}
    audit = content()["identifiability"]["audit"] | found
    risks = " ".join(statements.open_risks(content(identifiability=content()["identifiability"] | {"audit": audit})))
    for part in (
        "2 of 3 drawn notes were read", "left in the release: rev (2)", "leaks in 1 of 2 notes", "recall is unknown",
    ):  # fmt: skip
        assert part in risks


def texts_of(found):
    """All facts and rows of a certificate, each as a text."""
    for section in sections(found):
        for block in section.blocks:
            for row in getattr(block, "rows", ()):
                yield " | ".join(row)


def test_every_sentence_says_what_was_looked_for_and_what_was_checked():
    data, part = content()["data"], content()["identifiability"]
    said = " ".join(statements.open_risks(content(data=data | {"checked": False, "imported": 2})))
    assert "2 notes come from a file" in said and "A model" not in said
    both = data | {"checked": False, "imported": 1, "source": "union:gold:1+run:a"}
    said = " ".join(statements.open_risks(content(data=both)))
    assert "1 note come" in said and "A model" in said
    gate = part["gate"] | {"searched": {"rules": ["abc"], "runs": [], "unread": {}}}
    rows = statements.identifier_rows(part["policy"]["rules"], {"FAX", "NAMES"})
    for unread, told in (({}, "No label: not looked for"), ({"fr": 1}, "No label: not looked for in every note")):
        gate["searched"]["unread"] = unread
        found = list(texts_of(content(identifiability=part | {"gate": gate, "identifiers": rows})))
        (fax,) = [row for row in found if row.startswith("(E)")]
        assert "where labeled" not in fax and "leak gate looked for it" in fax
        assert all(row.endswith(told) for row in found if row.startswith("(D)"))
    for kind, action, ages, dates in (
        ("age", "mask", True, True), ("age", "keep", False, True), ("date", "keep", False, False),
        ("date", "generalize", True, True),
    ):  # fmt: skip
        policy = part["policy"] | {"rules": [rule("LABEL", "DATES", action, kind)]}
        found = list(texts_of(content(identifiability=part | {"gate": gate, "policy": policy})))
        (looked,) = [row for row in found if row.startswith("Looked for without labels")]
        assert ("ages over 89" in looked, "full dates" in looked) == (ages, dates), (kind, action)


def test_shares_of_surrogates_are_no_counts():
    part = content()["identifiability"]
    measures = {"consistent": 1, "entities": 3, "f1_original": 1, "preserved": 0.9742}
    made = {"labels": ["NAME"], "made_by": None, "measures": measures}
    found = [row.rpartition(" | ")[2] for row in texts_of(content(identifiability=part | {"surrogates": made}))]
    at = found.index("97.42%")
    assert found[at - 1 : at + 3] == ["3", "97.42%", "100%", "1"]
    assert any(row.startswith("(Q)") and row.endswith("no images") for row in texts_of(content()))


@given(st.floats(0, 1))
def test_bounds_are_rounded_to_the_safe_side(value):
    assert at_most(value) >= value - 1e-9 and at_most(value) - value < 1.1e-4 and at_least(value) <= value + 1e-9


def test_canonical_json_has_one_form():
    found = canonical(written({"b": 1.0, "a": [0.123456, "é"], "c": None}))
    assert found == '{"a":[0.1235,"é"],"b":1,"c":null}'.encode()


@given(st.text("=+-@'\"; ,|\t\r\na1", max_size=8))
def test_a_cell_of_a_csv_is_read_as_the_text_that_was_written(text):
    cell = csv_line([text]).removesuffix("\r\n")[1:-1].replace('""', '"')
    ambiguous = text[:1] == "'" and text[1:2] in ("\t", "\r", "\n")
    assert unquoted(cell) == text or ambiguous


@pytest.mark.parametrize(("name", "slug", "end"), [
    ("HIPAA Safe Harbor", "safe-harbor", "version 1), whose aim is not met"),
    ("Publication mask", "mask", "(mask, version 1)"),
])  # fmt: skip
def test_a_policy_named_after_safe_harbor_is_not_printed_without_whether_it_is_met(name, slug, end):
    made = content()
    made["identifiability"]["policy"] |= {"name": name, "slug": slug}
    titles = [block.caption for section in sections(made) for block in section.blocks if isinstance(block, PdfTable)]
    assert any(title.startswith(f"Policy: {name}") and title.endswith(end) for title in titles)
