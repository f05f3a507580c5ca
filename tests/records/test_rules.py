"""Rules of records: reading schemas, one rule for each leaf, what masking means by type. No database."""

import json

import pytest

from annotations.records.rules.fhir import RESOURCES, fhir_schema
from annotations.records.rules.masking import GONE, MaskingContext, NamedKind, hashed_reference, resolved, written
from annotations.records.rules.plans import PlanContext, RecordError, RecordPlan
from annotations.records.rules.schema_text import read_schema
from annotations.records.rules.schemas import LeafRule, SchemaError, ValueType, changes, check_schema, rule_of
from annotations.release.rules.redaction.policy import Action, IdentifierType
from tests.records.world import FLAT, LISTING_1, VISIT


class Words:
    """A digest that can be read."""

    def hexdigest(self, purpose, *parts):
        return "".join(f"{ord(letter):02x}" for letter in "".join(parts)).ljust(64, "0")


KINDS = {
    "name": NamedKind(IdentifierType.NAME, "NAME", "[NAME]", Action.MASK),
    "date": NamedKind(IdentifierType.DATE, "DATE", "[DATE]", Action.SHIFT),
    "age": NamedKind(IdentifierType.AGE, "AGE", "[AGE]", Action.GENERALIZE),
    "id": NamedKind(IdentifierType.ID, "ID", "[ID]", Action.HASH),
    "patient": NamedKind(IdentifierType.ID, "ID", "[ID]", Action.HASH),
    "medical record": NamedKind(IdentifierType.RECORD, "ID", "[ID]", Action.MASK),
}
CONTEXT = MaskingContext(Words(), KINDS.__getitem__, days=40, year=2026, language="en")


def schema(**properties):
    return {"dataType": "t", "type": "object", "properties": properties}


def read(plan, record, texts=None, **plans):
    return plan.read(record, PlanContext(plans, lambda _patient: CONTEXT, KINDS.__getitem__, texts))


def test_listing_1_is_repaired_and_says_so():
    found = read_schema(LISTING_1)
    rules = {leaf.path: str(leaf.rule) for leaf in check_schema(found.schema)}
    assert rules == {"/PatientId": "hash", "/MRN": "hash", "/AGE": "mask:AGE", "/note": "auto"}
    assert found.schema["patient"] == "/PatientId"
    comma = next(one for one in found.repairs if "comma" in one)
    assert found.repairs[0].startswith("Line 2:") and "/AGE: the brackets of “[AGE]” were removed." in found.repairs
    assert comma.startswith("Line 7:") and len(found.repairs) == 1 + 15 + 1 + 1 + 1
    assert read_schema(json.dumps(FLAT)).repairs == []
    with pytest.raises(SchemaError, match="line 2"):
        read_schema('{"dataType": "t",\n nothing}')


@pytest.mark.parametrize(
    ("leaf", "said"),
    [
        ({"type": "string"}, "no rule"),
        ({"type": "string", "shouldMask": False, "shouldHash": False, "autoDeId": False}, "passThrough"),
        ({"type": "string", "shouldMask": True, "shouldHash": True}, "several rules"),
        ({"type": "string", "rule": "pass", "shouldMask": True}, "rule and a flag"),
        ({"type": "string", "rule": "keep"}, "Choose one of"),
        ({"type": "string", "rule": "surrogate"}, "kind of identifier"),
        ({"type": "number", "rule": "auto"}, "Only text"),
        ({"anyOf": [{"type": "string"}]}, "Declare each field"),
        ({"type": "object"}, "declares no fields"),
        ({"$ref": "#/$defs/missing"}, "missing"),
        ({"type": "string", "pattern": "(", "rule": "pass"}, "not valid JSON Schema"),
    ],
)
def test_each_leaf_has_exactly_one_rule(leaf, said):
    with pytest.raises(SchemaError, match=said):
        check_schema(schema(a=leaf))


def test_a_required_field_can_t_be_removed_and_versions_differ_by_leaf():
    with pytest.raises(SchemaError, match="required"):
        check_schema(schema(a={"type": "number", "rule": "mask:id"}) | {"required": ["a"]})
    before, after = schema(a={"type": "string", "rule": "pass"}), schema(b={"type": "string", "rule": "hash"})
    assert [tuple(one) for one in changes(before, after)] == [("/a", "pass (text)", ""), ("/b", "", "hash (text)")]
    for name in RESOURCES:
        check_schema(fhir_schema(name))


@pytest.mark.parametrize(
    ("value", "kind", "rule", "wanted"),
    [
        ("Maria Rossi", ValueType.TEXT, "mask:name", "[NAME]"),
        (12, ValueType.NUMBER, "mask:id", GONE),
        ("http://x.org", ValueType.CODE, "mask:id", GONE),
        ("2024-02-20", ValueType.DAY, "policy:date", "2024-03-31"),
        ("2024-02-20T10:11:12.5+02:00", ValueType.INSTANT, "shift", "2024-03-31T10:11:12.5+02:00"),
        ("2024-02", ValueType.DATE, "shift", "2024-03"),
        ("2024", ValueType.DATE, "generalize:date", "2024"),
        ("2024-02-20", ValueType.DATE, "generalize:date", "2024"),
        ("2024-02-20", ValueType.DAY, "generalize:date", "2024-01-01"),
        ("1930-02-20", ValueType.DATE, "generalize:date", GONE),
        ("2024-02-31", ValueType.DATE, "shift", GONE),
        ("03/16/2025", ValueType.TEXT, "shift", "04/25/2025"),
        ("soon", ValueType.TEXT, "policy:date", "[DATE]"),
        ("45 years", ValueType.TEXT, "policy:age", "45 years"),
        ("93 years", ValueType.TEXT, "policy:age", "90+ years"),
        (93, ValueType.NUMBER, "generalize:age", GONE),
        (45, ValueType.NUMBER, "generalize:age", 45),
        (True, ValueType.BOOLEAN, "mask:id", GONE),
        ("A", ValueType.TEXT, "remove", GONE),
    ],
)  # fmt: skip
def test_masking_by_type(value, kind, rule, wanted):
    parsed = resolved(rule_of({"rule": rule}, ""), KINDS.__getitem__)
    assert written(value, kind, parsed, "t", CONTEXT) == wanted


def test_ids_and_references_are_hashed_alike_within_their_domain():
    key = Words()
    own = written("123", ValueType.ID, LeafRule("hash"), "Patient", CONTEXT)
    assert hashed_reference("Patient/123", key) == f"Patient/{own}"
    assert hashed_reference("https://fhir.example.org/r4/Patient/123/_history/2", key).endswith(f"Patient/{own}")
    assert hashed_reference("Group/123", key) != f"Group/{own}"
    assert hashed_reference("urn:uuid:5f0c", key).startswith("urn:uuid:") and hashed_reference("#p1", key) == "#p1"
    assert hashed_reference("Maria Rossi", key) is GONE
    assert isinstance(written(123, ValueType.INTEGER, LeafRule("hash", "t"), "", CONTEXT), int)


@pytest.mark.parametrize(
    ("record", "path"),
    [
        (VISIT | {"ssn": "1"}, "/ssn"),
        (VISIT | {"name": ["Maria"]}, "/name"),
        (VISIT | {"tags": "a"}, "/tags"),
        (VISIT | {"tags": [{}]}, "/tags/0"),
        (VISIT | {"weight": "heavy"}, "/weight"),
        (VISIT | {"a/b": 1}, "/a~1b"),
        (VISIT | {"born": "last spring"}, "/born"),  # which a masking policy removes
        (VISIT | {"born": "2024-05-06T07:08:09Z"}, "/born"),
        (VISIT | {"seen": "2024-05-06"}, "/seen"),
        (VISIT | {"seen": "2024-05-06T25:00:00Z"}, "/seen"),
    ],
)
def test_what_the_schema_does_not_declare_is_refused_with_its_path(record, path):
    with pytest.raises(RecordError) as error:
        read(RecordPlan(FLAT), record)
    assert error.value.path == path


def test_outputs_are_valid_and_a_value_outside_of_its_choices_is_refused():
    plan = RecordPlan(FLAT)
    done = read(plan, VISIT)
    plan.check(done.output)
    assert "room" not in done.output and done.output["name"] == "[NAME]" and done.output["tags"] == ["a", "b"]
    with pytest.raises(RecordError) as error:
        plan.check(read(plan, VISIT | {"status": "Maria Rossi"}).output)
    assert error.value.path == "/status" and "Rossi" not in str(error.value)


def test_a_required_element_of_fhir_says_that_it_is_masked():
    definition = fhir_schema("Observation")
    definition["properties"]["status"]["rule"] = "remove"
    found = read(RecordPlan(definition), {"resourceType": "Observation", "status": "final", "code": {"text": ""}})
    assert found.output["_status"]["extension"][0]["valueCode"] == "masked" and "status" not in found.output


def test_free_text_and_surrogates_come_back_from_the_note():
    plan = RecordPlan(schema(a={"type": "string", "rule": "auto"}, b={"type": "string", "rule": "surrogate:name"}))
    waiting = read(plan, {"a": "Seen today", "b": "Maria"})
    assert [one.pointer for one in waiting.free] == ["/a", "/b"]
    assert read(plan, {"a": "Seen today", "b": "Maria"}, {"/a": "Seen", "/b": "Laura"}).output == {
        "a": "Seen",
        "b": "Laura",
    }


def test_a_definition_may_be_a_field_or_a_list():
    definitions = {
        "name": {"type": "string", "rule": "mask:name"}, "names": {"type": "array", "items": {"$ref": "#/$defs/name"}}
    }  # fmt: skip
    made = schema(a={"$ref": "#/$defs/name"}, b={"$ref": "#/$defs/names"}) | {"$defs": definitions}
    check_schema(made)
    assert read(RecordPlan(made), {"a": "x", "b": ["y", "z"]}).output == {"a": "[NAME]", "b": ["[NAME]"] * 2}
