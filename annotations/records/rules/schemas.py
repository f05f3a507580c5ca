"""Schemas of records: a JSON Schema in which each leaf says what becomes of its value.

The keyword `rule` of a leaf is one of RULES, after “:” with the kind of identifier or the label of the value (mask,
surrogate, generalize, policy), or with the domain of a hash. In its place, a leaf may have the flags of Singh et al.
2025, listing 1: `passThrough`, `shouldMask`, `shouldHash` and `autoDeId`, exactly one of them true, and `entity_type`.
Keywords of the whole schema: `dataType`, `recordVersion`, `patient` (where the patient's id stands: a JSON pointer, or
several), `language` (of free text), `unreviewed` (true: a run may decide about free text), `fhir`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from annotations.text.wording import WordedError
from annotations.text.wording import gettext as _


class FieldRule(StrEnum):
    """What becomes of the value of a leaf."""

    PASS = "pass"  # noqa: S105 - no password
    MASK = "mask"
    HASH = "hash"
    AUTO = "auto"
    REMOVE = "remove"
    SHIFT = "shift"
    GENERALIZE = "generalize"
    SURROGATE = "surrogate"
    POLICY = "policy"
    """What the policy of the release does with the kind."""
    RECORD = "record"
    """A record of its own, by its own schema."""


class ValueType(StrEnum):
    """What a value is, which decides how it is masked. A date may name its year alone; a day and an instant may not."""

    TEXT = "text"
    DATE = "date"
    DAY = "day"
    INSTANT = "instant"
    CODE = "code"
    ID = "id"
    REFERENCE = "reference"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    ANY = "any"


class SchemaError(WordedError, ValueError):
    """A schema that can't be used. `path` names the field, and is empty for the whole schema."""

    def __init__(self, path: str, sentence: str, *values: object) -> None:
        super().__init__(sentence, *values)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: {super().__str__()}" if self.path else super().__str__()


class LeafRule(NamedTuple):
    """The rule of a leaf, and the kind, label or domain after “:”."""

    rule: FieldRule
    what: str = ""

    def __str__(self) -> str:
        return f"{self.rule}:{self.what}" if self.what else str(self.rule)


@dataclass(frozen=True)
class SchemaLeaf:
    """A leaf of a schema. `path`: the names to it, with “*” for items of a list, from the schema or a definition."""

    path: str
    type: ValueType
    rule: LeafRule
    description: str = ""


LONGEST_LANGUAGE: Final = 8
RULES: Final = tuple(str(rule) for rule in FieldRule)
FLAGS: Final = {
    "passThrough": FieldRule.PASS,
    "shouldMask": FieldRule.MASK,
    "shouldHash": FieldRule.HASH,
    "autoDeId": FieldRule.AUTO,
    "autoDeID": FieldRule.AUTO,
}
_WITH_KIND: Final = frozenset({FieldRule.MASK, FieldRule.GENERALIZE, FieldRule.SURROGATE, FieldRule.POLICY})
_MIXED: Final = (
    "anyOf", "oneOf", "allOf", "not", "if", "patternProperties", "prefixItems", "dependentSchemas", "$dynamicRef",
)  # fmt: skip
_FORMATS: Final = {"date": ValueType.DAY, "date-time": ValueType.INSTANT}
DATES: Final = frozenset({ValueType.DATE, ValueType.DAY, ValueType.INSTANT})
_TYPES: Final = {"number": ValueType.NUMBER, "integer": ValueType.INTEGER, "boolean": ValueType.BOOLEAN}
_FHIR: Final = {
    "string": ValueType.TEXT, "markdown": ValueType.TEXT, "date": ValueType.DATE, "dateTime": ValueType.DATE,
    "instant": ValueType.INSTANT, "id": ValueType.ID, "reference": ValueType.REFERENCE, "boolean": ValueType.BOOLEAN,
    "decimal": ValueType.NUMBER, "integer": ValueType.INTEGER, "positiveInt": ValueType.INTEGER,
    "unsignedInt": ValueType.INTEGER,
}  # fmt: skip


def definitions(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The definitions of a schema by name."""
    found: Mapping[str, Any] = schema.get("$defs") or schema.get("definitions") or {}
    return found


def definition_name(part: Mapping[str, Any]) -> str:
    """The name of the definition that a part of a schema refers to; empty if it refers to none."""
    return str(part.get("$ref", "")).rpartition("/")[2]


def is_leaf(part: Mapping[str, Any]) -> bool:
    """Whether a part of a schema has a rule for its whole value."""
    return "rule" in part or not ({"$ref", "properties", "items"} & part.keys() or part.get("type") == "object")


def check_schema(schema: Mapping[str, Any]) -> list[SchemaLeaf]:
    """The leaves of a schema. Raises SchemaError for the first fault: each leaf must have exactly one rule."""
    if not isinstance(schema.get("dataType"), str) or not schema["dataType"].strip():
        raise SchemaError("", "The schema has no dataType. Add it: the name of this type of records.")
    patients = schema.get("patient", [])
    listed = [patients] if isinstance(patients, str) else patients
    if not isinstance(listed, list) or not all(isinstance(one, str) and one.startswith("/") for one in listed):
        raise SchemaError("", "“patient” must be a JSON pointer such as “/PatientId”, or a list of them.")
    language = schema.get("language", "")
    if not isinstance(language, str) or len(language) > LONGEST_LANGUAGE:
        raise SchemaError("", "“language” must be the code of a language such as “en”.")
    if not isinstance(schema.get("$schema", ""), str):
        raise SchemaError("", "“$schema” must be the address of a version of JSON Schema.")
    if schema.get("type") != "object":
        raise SchemaError("", "The type of a record must be “object”.")
    import jsonschema  # Loaded late: 47 modules, which a web process needs only when somebody changes a schema.

    try:
        jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator).check_schema(dict(schema))
    except jsonschema.SchemaError as error:
        where = "/".join(map(str, error.absolute_path))
        raise SchemaError(where, "This is not valid JSON Schema: {keyword} is wrong.", error.validator) from None
    leaves = list(_leaves(schema, "", schema))
    for name, part in definitions(schema).items():
        leaves += _leaves(part, name, schema)
        _check_end(name, schema)
    if not leaves:
        raise SchemaError("", "The schema declares no fields. Add “properties”.")
    return leaves


def _leaves(part: Any, path: str, schema: Mapping[str, Any]) -> Iterator[SchemaLeaf]:
    if not isinstance(part, dict):
        raise SchemaError(path, "A field must be described by an object.")
    if mixed := next((word for word in _MIXED if word in part), ""):
        raise SchemaError(path, "“{it}” leaves open which fields there are. Declare each field in “properties”.", mixed)
    if is_leaf(part):
        yield _leaf(part, path)
    elif name := definition_name(part):
        if name not in definitions(schema):
            raise SchemaError(path, "The definition “{name}” is missing.", name)
    elif "items" in part:
        yield from _leaves(part["items"], f"{path}/*", schema)
    else:
        if isinstance(part.get("additionalProperties"), dict) or part.get("additionalProperties") is True:
            raise SchemaError(path, "Undeclared fields are always refused. Remove “additionalProperties”.")
        if not isinstance(part.get("absent", []), list):
            raise SchemaError(path, "“absent” must be a list of names.")
        if not part.get("properties"):
            raise SchemaError(path, "This object declares no fields. Add “properties”, or the rule “remove”.")
        for name, inner in part["properties"].items():
            leaf_path = f"{path}/{name}"
            for leaf in _leaves(inner, leaf_path, schema):
                if leaf.path == leaf_path and name in part.get("required", ()):
                    _check_required(leaf)
                yield leaf


def _check_end(name: str, schema: Mapping[str, Any]) -> None:
    """Raise SchemaError for a definition that refers to itself without an object, and so never ends."""
    seen, part = {name}, definitions(schema)[name]
    while not is_leaf(part) and "properties" not in part:
        if inner := definition_name(part):
            if inner in seen:
                raise SchemaError(name, "This definition refers to itself. Describe an object, or a field.")
            seen.add(inner)
        part = definitions(schema)[inner] if inner else part["items"]


def _leaf(part: Mapping[str, Any], path: str) -> SchemaLeaf:
    leaf = SchemaLeaf(path, type_of(part), rule_of(part, path), str(part.get("description", "")))
    if leaf.rule.rule is FieldRule.AUTO and leaf.type is not ValueType.TEXT:
        raise SchemaError(path, "Only text can have the rule “auto”, and this is a {type}.", leaf.type)
    if leaf.rule.rule is FieldRule.SHIFT and leaf.type not in (*DATES, ValueType.TEXT):
        raise SchemaError(path, "Only dates can be shifted, and this is a {type}.", leaf.type)
    return leaf


def _check_required(leaf: SchemaLeaf) -> None:
    masked = leaf.rule.rule is FieldRule.MASK and leaf.type is not ValueType.TEXT
    if masked or leaf.rule.rule is FieldRule.REMOVE:
        message = _("A required field can't be removed, and only text has a placeholder. Take it from “required”.")
        raise SchemaError(leaf.path, message)


def type_of(part: Mapping[str, Any]) -> ValueType:
    """What the value of a leaf is."""
    if "fhir" in part:
        return _FHIR.get(str(part["fhir"]), ValueType.CODE)
    types = part.get("type")
    name = next((one for one in types if one != "null"), "") if isinstance(types, list) else types
    if name != "string":
        return _TYPES.get(str(name), ValueType.CODE if "enum" in part or "const" in part else ValueType.ANY)
    if "enum" in part or "const" in part or "pattern" in part:
        return ValueType.CODE
    return _FORMATS.get(part["format"], ValueType.CODE) if "format" in part else ValueType.TEXT


def rule_of(part: Mapping[str, Any], path: str) -> LeafRule:
    """The rule of a leaf. Raises SchemaError without exactly one."""
    flags = {name: part[name] for name in FLAGS if name in part}
    chosen = {FLAGS[name] for name, value in flags.items() if value is True}
    if "rule" in part:
        if chosen:
            raise SchemaError(path, "This field has a rule and a flag. Keep one of them.")
        name, _colon, what = str(part["rule"]).partition(":")
        if name not in RULES:
            raise SchemaError(path, "There is no rule “{name}”. Choose one of: {rules}.", name[:40], ", ".join(RULES))
        rule = LeafRule(FieldRule(name), what.strip())
        if rule.rule in _WITH_KIND and not rule.what:
            raise SchemaError(path, "Name the kind of identifier after the rule, as in “{name}:name”.", name)
        return rule
    if not flags:
        raise SchemaError(path, "This field has no rule. Add “rule”: one of {rules}.", ", ".join(RULES))
    if not chosen:
        raise SchemaError(path, "All flags of this field are false. To keep its value, say “passThrough”: true.")
    if len(chosen) > 1:
        raise SchemaError(path, "This field has several rules: {rules}. Keep one of them.", ", ".join(sorted(chosen)))
    entity = part.get("entity_type")
    rule = LeafRule(chosen.pop())
    return rule._replace(what=entity) if isinstance(entity, str) and rule.rule in _WITH_KIND else rule


class LeafChange(NamedTuple):
    """A leaf that differs between two versions of a schema; `before` and `after` are rule and type, empty if absent."""

    path: str
    before: str
    after: str


def changes(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> list[LeafChange]:
    """The leaves, and keywords of the whole schema, in which two versions differ."""
    old, new = _lines(before) if before else {}, _lines(after)
    paths = sorted({*old, *new})
    return [LeafChange(path, old.get(path, ""), new.get(path, "")) for path in paths if old.get(path) != new.get(path)]


def _lines(schema: Mapping[str, Any]) -> dict[str, str]:
    words = ("dataType", "recordVersion", "patient", "language", "unreviewed", "fhir")
    lines = {name: str(schema[name]) for name in words if name in schema}
    return lines | {leaf.path: f"{leaf.rule} ({leaf.type})" for leaf in check_schema(schema)}
