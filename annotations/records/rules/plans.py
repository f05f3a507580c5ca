"""Schemas compiled for reading many records: one walk gives the de-identified record, and what its note must hold."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from typing import Any, Final, NamedTuple

from annotations.records.rules.masking import GONE, MaskingContext, NamedKind, reference_id, released, resolved, written
from annotations.records.rules.schemas import (
    FieldRule,
    LeafRule,
    ValueType,
    definition_name,
    definitions,
    is_leaf,
    rule_of,
    type_of,
)
from annotations.text.wording import WordedError, gettext_noop
from annotations.text.wording import gettext as _

ABSENT: Final = {"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "masked"}
"""FHIR's extension that says why a required value is missing."""
_NUMBERS: Final = frozenset({ValueType.NUMBER, ValueType.INTEGER})
_WORDS: Final = {
    str: gettext_noop("text"), bool: gettext_noop("true or false"), int: gettext_noop("a number"),
    float: gettext_noop("a number"), list: gettext_noop("a list"), dict: gettext_noop("an object"),
}  # fmt: skip
_DATES: Final = {
    **dict.fromkeys(("date", "FHIR date", "FHIR dateTime"), "2026-03-02"),
    **dict.fromkeys(("date-time", "FHIR instant"), "2026-03-02T10:30:00Z"),
}
"""An example of each format of dates."""
DEEPEST: Final = 60
FORMATS: Final = {".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "json", ".parquet": "parquet"}
"""The formats of files of records by their endings."""
ROWS: Final = 1000
"""The most rows of a batch of Parquet."""
COLUMN: Final = "record"
"""The column of records in Parquet files. Each row of a file without it is a record itself."""


class Timestamp(str):
    """A timestamp of a Parquet file in ISO 8601. Such files have no other dates often, so that a date may be one."""

    __slots__ = ()


class RecordError(WordedError, ValueError):
    """A record that is refused. `path` is a JSON pointer; neither says a value of the record."""

    def __init__(self, path: str, sentence: str, *values: object) -> None:
        super().__init__(sentence, *values)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path or '/'}: {self.reason}"

    @property
    def reason(self) -> str:
        return super().__str__()


@dataclass(frozen=True)
class Unreadable:
    """What stands in place of a record that can't be read."""

    reason: str


class FieldValue(NamedTuple):
    """A value of a record that its schema doesn't simply pass: its JSON pointer, the value, and its resolved rule."""

    pointer: str
    text: str
    rule: LeafRule
    type: ValueType


class FieldChange(NamedTuple):
    """What became of a field. `after` is None if it was removed, or waits for the note."""

    pointer: str
    rule: LeafRule
    before: Any
    after: Any


@dataclass
class DeidentifiedRecord:
    """A record after the walk. `free` waits for a note: `output` is complete once there is none, or with its texts.

    `named`: what else is an identifier; `passed`: texts that pass. `patients`: the ids of all patients in it.
    """

    output: Any = None
    free: list[FieldValue] = field(default_factory=list)
    named: list[FieldValue] = field(default_factory=list)
    passed: list[tuple[str, str]] = field(default_factory=list)
    patients: set[str] = field(default_factory=set)
    changes: list[FieldChange] | None = None


@dataclass
class PlanContext:
    """What a walk needs besides the record.

    `plans`: the plan of each type, for records within records. `days`: the offset of a patient's dates. `texts`: what
    the released note says by JSON pointer; None before there is one.
    """

    plans: Mapping[str, "RecordPlan"]
    masking: Callable[[str], MaskingContext]
    kinds: Callable[[str], NamedKind]
    texts: Mapping[str, str] | None = None


class _Walk:
    """One walk through a record. `masking` is that of the patient whose part is being read."""

    def __init__(self, context: PlanContext, done: DeidentifiedRecord) -> None:
        self.context, self.done, self.depth = context, done, 0
        self.masking: MaskingContext = context.masking("")

    def enter(self, plan: "RecordPlan", value: Any) -> None:
        patient = plan.patient_in(value)
        if patient:
            self.done.patients.add(patient)
        self.masking = self.context.masking(patient)


class _Leaf:
    def __init__(self, part: Mapping[str, Any], name: str, resource: str) -> None:
        self.rule, self.type = rule_of(part, name), type_of(part)
        types = part.get("type")
        self.null = "null" in types if isinstance(types, list) else types == "null"
        self.choice = self.type is ValueType.CODE and types != "string"
        # A value of several types may be anything as long as it is removed.
        self.open = self.type is ValueType.ANY or (isinstance(types, list) and len({*types} - {"null"}) > 1)
        self.format = f"FHIR {part['fhir']}" if "fhir" in part else part.get("format", "")
        self.domain = resource if self.type is ValueType.ID else name
        # An id of FHIR is not an identifier that free text would name.
        self.named = self.type not in (ValueType.ID, ValueType.REFERENCE, ValueType.ANY, ValueType.BOOLEAN)

    def read(self, value: Any, pointer: str, walk: _Walk) -> Any:
        if value is None and self.null:
            return None
        rule = resolved(self.rule, walk.context.kinds)
        removed, stored = rule.rule is FieldRule.REMOVE, walk.context.texts is not None
        if not (removed and (self.open or stored)):
            self._check(value, pointer)
        if not stored:  # A stored record was taken by the rules of its day.
            self._check_format(value, pointer)
        new = GONE if removed else self._new(value, pointer, rule, walk)
        if walk.done.changes is not None:
            walk.done.changes.append(FieldChange(pointer, self.rule, value, None if new is GONE else new))
        if rule.rule is not FieldRule.PASS and self.named and isinstance(value, str | int | float):
            if rule.rule is not FieldRule.AUTO:
                walk.done.named.append(FieldValue(pointer, str(value), rule, self.type))
        elif rule.rule is FieldRule.PASS and self.type is ValueType.TEXT:
            walk.done.passed.append((pointer, value))
        return new

    def _new(self, value: Any, pointer: str, rule: LeafRule, walk: _Walk) -> Any:
        surrogate = rule.rule is FieldRule.SURROGATE and walk.context.kinds(rule.what).label
        from_note = surrogate and self.type in (ValueType.TEXT, ValueType.CODE)
        if (rule.rule is FieldRule.AUTO or from_note) and isinstance(value, str):
            if not value.strip():
                return value
            walk.done.free.append(FieldValue(pointer, value, rule, self.type))
            texts = walk.context.texts
            return None if texts is None else released(value, texts, pointer, self.type)
        return written(value, self.type, rule, self.domain, walk.masking)

    def _check(self, value: Any, pointer: str) -> None:
        if self.type is ValueType.ANY:
            good = not isinstance(value, dict | list)
        elif self.type is ValueType.BOOLEAN:
            good = isinstance(value, bool)
        elif self.type in _NUMBERS:
            good = isinstance(value, int | float) and not isinstance(value, bool)
        else:
            good = isinstance(value, str) or (self.choice and not isinstance(value, dict | list))
        if not good:
            raise RecordError(
                pointer,
                "This should be of the type {type}, and is {found}.",
                *(self.type, _(_WORDS.get(type(value), "null"))),
            )

    def _check_format(self, value: Any, pointer: str) -> None:
        """Dates are checked here, since a masked one is gone before the output is. A time without a zone is one."""
        if self.format in _DATES and isinstance(value, str) and not _is_date(value, self.format):
            raise RecordError(pointer, "This should be a date such as {example}.", _DATES[self.format])


def _is_date(value: str, format: str) -> bool:
    """Whether a value is a date of this format. Dates of FHIR that need no time may lack the day, or month and day."""
    timed = format in ("date-time", "FHIR instant")
    try:
        if timed or (len(value) > 10 and (format == "FHIR dateTime" or isinstance(value, Timestamp))):
            return len(value) > 10 and bool(datetime.fromisoformat(value.upper()))
        whole = value if format == "date" else f"{value}-01-01"[:10]
        return len(value) <= 10 and date.fromisoformat(whole).isoformat() == whole
    except ValueError:
        return False


class _Record:
    """A record within a record, such as a resource in an entry of a bundle."""

    def read(self, value: Any, pointer: str, walk: _Walk) -> Any:
        name = data_type_of(value)
        plan = walk.context.plans.get(name)
        if plan is None or walk.depth > DEEPEST:
            raise RecordError(pointer, unknown_type(name, walk.context.plans))
        before, walk.depth = walk.masking, walk.depth + 1
        walk.enter(plan, value)
        new = plan.root.read(value, pointer, walk)
        walk.masking, walk.depth = before, walk.depth - 1
        return new


class _List:
    def __init__(self, item: "_Node") -> None:
        self.item = item

    def read(self, value: Any, pointer: str, walk: _Walk) -> Any:
        if not isinstance(value, list):
            raise RecordError(pointer, "This should be a list.")
        new = [self.item.read(one, f"{pointer}/{at}", walk) for at, one in enumerate(value)]
        left = [one for one in new if one is not GONE]
        return GONE if new and not left else left


class _Object:
    def __init__(self, marks: frozenset[str], fhir: bool) -> None:
        self.fields: dict[str, _Node] = {}
        self.required: frozenset[str] = frozenset()
        self.marks, self.fhir = marks, fhir

    def read(self, value: Any, pointer: str, walk: _Walk) -> Any:
        if not isinstance(value, dict):
            raise RecordError(pointer, "This should be an object.")
        walk.depth += 1
        if walk.depth > DEEPEST:
            raise RecordError(pointer, "The record is nested more than {most} levels deep.", DEEPEST)
        new: dict[str, Any] = {}
        for name, inner in value.items():
            node = self.fields.get(name)
            if node is not None:
                done = node.read(inner, f"{pointer}/{_escaped(name)}", walk)
                if done is not GONE:
                    new[name] = done
                elif name in self.required and self.fhir:
                    self._absent(new, name, node)
            elif name in self.marks:
                new[name] = inner
            elif not (self.fhir and name[:1] == "_" and name[1:] in self.fields):  # Extensions are removed.
                raise RecordError(f"{pointer}/{_escaped(name)}", "The schema doesn't declare this field.")
        walk.depth -= 1
        return GONE if self.fhir and value and not new else new

    def _absent(self, new: dict[str, Any], name: str, node: "_Node") -> None:
        missing = {"extension": [dict(ABSENT)]}
        if isinstance(node, _Leaf):
            new[f"_{name}"] = missing
        else:
            new[name] = [missing] if isinstance(node, _List) else missing


_Node = _Leaf | _Record | _List | _Object


class RecordPlan:
    """A checked schema (schemas.check_schema), compiled. Keep it for all records of the type."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self.data_type = str(schema["dataType"])
        self.fhir = bool(schema.get("fhir"))
        self.language = str(schema.get("language", ""))
        self.unreviewed = bool(schema.get("unreviewed"))
        patients = schema.get("patient", [])
        listed = [patients] if isinstance(patients, str) else patients
        self._patients = [[_plain(part) for part in one.split("/")[1:]] for one in listed]
        self._known: dict[str, _Object] = {}
        self.root = self._node(schema, self.data_type, self.data_type)
        if isinstance(self.root, _Object):
            self.root.marks = frozenset({"resourceType", "dataType", "recordVersion"} - self.root.fields.keys())

    @cached_property
    def validator(self) -> Any:
        """Validates an output against the schema; undeclared fields were refused before."""
        import jsonschema  # Loaded late, like in check_schema.

        return jsonschema.validators.validator_for(self.schema, jsonschema.Draft202012Validator)(dict(self.schema))

    def _node(self, part: Mapping[str, Any], name: str, resource: str) -> _Node:
        if is_leaf(part):
            return _Record() if rule_of(part, name).rule is FieldRule.RECORD else _Leaf(part, name, resource)
        if reference := definition_name(part):
            if reference in self._known:
                return self._known[reference]
            part = definitions(self.schema)[reference]
            if is_leaf(part) or "properties" not in part:
                return self._node(part, reference, reference)
            # Known before its fields are, since definitions may refer to each other.
            made = self._known[reference] = _Object(frozenset(), self.fhir)
            return self._filled(made, part, reference)
        if "items" in part:
            return _List(self._node(part["items"], name, resource))
        return self._filled(_Object(frozenset(), self.fhir), part, resource)

    def _filled(self, made: _Object, part: Mapping[str, Any], resource: str) -> _Object:
        made.fields |= {name: self._node(inner, name, resource) for name, inner in part["properties"].items()}
        made.required = frozenset(map(str, part.get("absent", part.get("required", ()))))
        return made

    def patient_in(self, record: Any) -> str:
        """The id of the patient that a record is about; empty if it names none."""
        for path in self._patients:
            value = record
            for part in path:
                value = value.get(part) if isinstance(value, dict) else None
            if isinstance(value, str | int) and str(value).strip():
                return reference_id(str(value)) if self.fhir else str(value)
        return ""

    def read(self, record: Any, context: PlanContext, *, changes: bool = False) -> DeidentifiedRecord:
        """De-identify a record; with `changes`, say what became of each field. Raises RecordError."""
        done = DeidentifiedRecord(changes=[] if changes else None)
        walk = _Walk(context, done)
        walk.enter(self, record)
        done.output = self.root.read(record, "", walk)
        return done

    def check(self, output: Any) -> None:
        """Raise RecordError unless an output is valid against the schema."""
        error = next(self.validator.iter_errors(output), None)
        if error is not None:
            path = "".join(f"/{_escaped(str(part))}" for part in error.absolute_path)
            raise RecordError(path, "The value is not valid here: the schema's “{word}” is not met.", error.validator)


@dataclass
class ReadRecord:
    """A record that was read, until it is known what becomes of it. `envelope`: what stood around it."""

    where: str
    record: Any
    plan: "RecordPlan"
    digest: str
    done: DeidentifiedRecord
    envelope: tuple[str, Mapping[str, Any]] | None = None
    leak: str = ""

    @property
    def patient(self) -> str:
        """The id of the patient; without one, the record is a patient of its own."""
        return next(iter(self.done.patients), "") or f"record-{self.digest[:16]}"

    @property
    def whole(self) -> Any:
        """The record as it came."""
        return self.record if self.envelope is None else self.envelope[1]

    def wrapped(self) -> Any:
        """The output as the record came: in its envelope, whose type and version stay."""
        if self.envelope is None:
            return self.done.output
        name, around = self.envelope
        kept = {key: around[key] for key in ("dataType", "recordVersion") if key in around}
        return kept | {name: self.done.output}


def data_type_of(record: Any) -> str:
    """The type that a record names: `resourceType` of FHIR, or `dataType`; empty if it names none."""
    found = record.get("resourceType", record.get("dataType", "")) if isinstance(record, dict) else ""
    return found if isinstance(found, str) else ""


def unknown_type(name: str, known: Mapping[str, Any]) -> str:
    """Why a record of this type is refused. The name may be anything, so that it is not repeated."""
    if not name:
        return _("The record doesn't say its type. Add “dataType”, or give the type of the whole file.")
    return _("No active schema has the record's type. Active: {known}.", ", ".join(sorted(known)) or _("none"))


def _escaped(name: str) -> str:
    """A part of a JSON pointer (RFC 6901). Names are those of the schema, or of a field that it lacks."""
    return name.replace("~", "~0").replace("/", "~1") if "~" in name or "/" in name else name


def _plain(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")
