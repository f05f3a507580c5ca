"""Read records without a database: all that a record needs is in memory, so that any process can do it."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from annotations.records.rules.masking import Digest, MaskingContext, NamedKind
from annotations.records.rules.plans import (
    FieldValue,
    PlanContext,
    ReadRecord,
    RecordError,
    RecordPlan,
    Unreadable,
    data_type_of,
    unknown_type,
)
from annotations.records.rules.schemas import FieldRule
from annotations.records.rules.validating import check_output
from annotations.release.rules.leaks.gate import Gate
from annotations.release.rules.leaks.needles import Needle
from annotations.release.rules.redaction.calendars import offset_of
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

LONGEST_PATIENT: Final = 80
LEAK: Final = gettext_noop("An identifier of this record stands in a field that passes.")
_NUL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""NUL as JSON writes it; a backslash before it is no NUL."""
_ENVELOPES: Final = ("record", "data", "resource")
_OF_RULES: Final = {
    FieldRule.HASH: str(IdentifierType.RECORD),
    FieldRule.SHIFT: str(IdentifierType.DATE),
    FieldRule.MASK: str(IdentifierType.ID),
}
"""The kind of a value whose rule names none."""
KINDS_OF_RULES: Final = (*_OF_RULES.values(), str(IdentifierType.OTHER))
KindsNamed = Callable[[str], NamedKind]


def kind_of_value(value: FieldValue, kinds: KindsNamed) -> NamedKind:
    """The kind of a field's value."""
    named = "" if value.rule.rule is FieldRule.HASH else value.rule.what
    return kinds(named or _OF_RULES.get(value.rule.rule, str(IdentifierType.OTHER)))


def leak_in(
    read: ReadRecord, gate: Gate, kinds: KindsNamed, more: Iterable[Needle] = (), places: Iterable[int] = ()
) -> str:
    """The JSON pointer of the first passing field with an identifier of the record, by the gate of releases.

    `more`: further needles; `places`: where something else was found in the passing texts, joined by line breaks.
    """
    text = "\n".join(text for _pointer, text in read.done.passed)
    needles = [*more, *(Needle(each.text, "", kind_of_value(each, kinds).kind) for each in read.done.named)]
    needles = [needle for needle in needles if needle.text.strip()]
    found = [*places, *(leak.start for leak in (gate.find(text, needles) if text and needles else ()))]
    return _pointer_at(read.done.passed, min(found)) if found else ""


def _pointer_at(passed: Sequence[tuple[str, str]], place: int) -> str:
    for pointer, text in passed:
        if place <= len(text):
            return pointer
        place -= len(text) + 1
    raise AssertionError("A leak lies in one of the texts.")


class RecordCore:
    """Reads records by plans. `given`: the type of records that don't say theirs; `year`: the current one."""

    def __init__(
        self, plans: Mapping[str, RecordPlan], kinds: KindsNamed, key: Digest, year: int, language: str, given: str = ""
    ) -> None:
        self.plans, self.kinds = plans, kinds
        self._key, self._year, self._language, self._given = key, year, language, given
        # As in the notes (annotations.release.services.surrogates.patients.date_offset).
        self._days = lru_cache(4096)(lambda patient: offset_of(key.number("date offset", "patient", patient)))

    def read(self, where: str, value: Any, *, changes: bool = False) -> ReadRecord:
        """Read a record, by the type that it, its envelope or the caller names. Raises RecordError."""
        name, record, envelope = self.opened(value)
        plan = self.plans.get(name)
        if plan is None:
            raise RecordError("", unknown_type(name, self.plans))
        wanted = str((envelope[1] if envelope else record).get("recordVersion", ""))
        if wanted and plan.schema.get("recordVersion") and wanted != str(plan.schema["recordVersion"]):
            raise RecordError("/recordVersion", "The active schema is of version {n}.", plan.schema["recordVersion"])
        try:
            digest = content_hash(value)
        except (ValueError, RecursionError):
            raise RecordError("", "It has a character or a number that can't be stored. Remove it.") from None
        read = ReadRecord(where, record, plan, digest, plan.read(record, self.context(plan, digest), changes=changes))
        read.envelope = envelope
        if len(read.patient) > LONGEST_PATIENT:
            raise RecordError("", "The id of the patient has more than {most} characters.", LONGEST_PATIENT)
        if read.done.free and len(read.done.patients) > 1:
            raise RecordError("", "It holds free text of several patients. Split it by patient.")
        return read

    def check(self, read: ReadRecord) -> None:
        """Raise RecordError unless the output is valid. What waits for the note stands in it as it came."""
        output = read.done.output
        if read.done.free:
            texts = {one.pointer: one.text for one in read.done.free}
            output = read.plan.read(read.record, self.context(read.plan, read.digest, texts)).output
        check_output(read.plan, output)

    def context(
        self,
        plan: RecordPlan,
        digest: str,
        texts: Mapping[str, str] | None = None,
        plans: Mapping[str, RecordPlan] | None = None,
    ) -> PlanContext:
        language = plan.language or self._language

        def masking(patient: str) -> MaskingContext:
            days = self._days(patient or f"record-{digest[:16]}")
            return MaskingContext(self._key, self.kinds, days, self._year, language)

        return PlanContext(plans or self.plans, masking, self.kinds, texts)

    def opened(self, value: Any) -> tuple[str, Any, tuple[str, Mapping[str, Any]] | None]:
        """The type of a record, the record, and its envelope if it has one."""
        if not isinstance(value, dict):
            raise RecordError("", value.reason if isinstance(value, Unreadable) else _("A record must be an object."))
        for name in _ENVELOPES:
            if isinstance(value.get("dataType"), str) and isinstance(value.get(name), dict):
                if others := value.keys() - {"dataType", "recordVersion", name}:
                    raise RecordError(f"/{sorted(others)[0]}", "An envelope has no other fields.")
                return value["dataType"], value[name], (name, value)
        return data_type_of(value) or self._given, value, None


def content_hash(value: Any) -> str:
    """The SHA-256 of a JSON value, whatever the order of its fields.

    Raises ValueError or RecursionError for what no database stores: NUL, half of a surrogate pair, NaN, infinity.
    """
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    if "\\u0000" in text and _NUL.search(text):
        raise ValueError
    return hashlib.sha256(text.encode()).hexdigest()
