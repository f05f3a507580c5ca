"""A project with active schemas, and the record of Singh et al. 2025, appendix A.9 (listings 1 and 2)."""

import json
from pathlib import Path
from typing import Any

from annotations.models import Document, Label, Project, RecordSchema, Span
from annotations.projects.services.projects import create_project
from annotations.records.services.schemas import activate_schema, add_schema, review_schema
from tests import factories as make

LISTING_1 = """
schema_definition = {
  "$schema": "http://json-schema.org/draft-04/schema#",
  "type": "object",
  "recordVersion": "1.0",
  "description": "Schema for a free text record",
  "dataType": "clinicalRecord"
  "properties": {
    "PatientId": {
      "type": "string",
      "description": "Patient ID.",
      "autoDeId": False,
      "shouldMask": False,
      "shouldHash": True,
      "entity_type": None
    },
    "MRN": {
      "type": "string",
      "description": "MRN of the Patient",
      "autoDeId": False,
      "shouldMask": False,
      "shouldHash": True,
      "entity_type": None
    },
    "AGE": {
      "type": "string",
      "description": "Age of the Patient",
      "autoDeId": False,
      "shouldMask": True,
      "shouldHash": False,
      "entity_type": "[AGE]"
    },
    "note": {
      "type": "string",
      "description": "Clinical Note",
      "autoDeId": True,
      "shouldMask": False,
      "shouldHash": False,
      "entity_type": None
    }
  }
}
"""
NOTE = (
    "John Doe, a 45-year-old male, presented to Stanford Medical Center on 03/16/2025 complaining of severe abdominal "
    "pain. He was referred by Dr. Emily Smith from Valley Health Clinic. His address is 123 Main St, Palo Alto, CA "
    "94301. Contact number: (650) 555-1234. Past medical history includes hypertension and Type 2 diabetes. His "
    "insurance ID is INS-789456123. The patients wife, Jane Doe, can be reached at (650) 555-5678. A CT scan was "
    "performed and results were discussed with the patient at 2:00 PM. Follow-up scheduled on 03/22/2025 at 9:00 AM. "
    "Patient is employed as a software engineer at TechNova Corp. Social Security Number: 987-65-4321."
)
LISTING_2 = {"PatientId": "123456789", "MRN": "A987654321", "AGE": "45 years", "note": NOTE}
# What a reviewer labels in the note, each string wherever it stands. Listing 3 has the social security number twice,
# the second time as GUID, gives the insurance id as FIN, and lacks the dates of the visits.
STRINGS = {
    "John Doe": "PATIENT", "45-year-old": "AGE", "Stanford Medical Center": "HOSPITAL", "03/16/2025": "DATE",
    "Emily Smith": "DOCTOR", "Valley Health Clinic": "HOSPITAL", "123 Main St": "STREET", "Palo Alto": "CITY",
    "CA": "STATE", "94301": "ZIP", "(650) 555-1234": "PHONE", "INS-789456123": "HEALTHPLAN", "Jane Doe": "PATIENT",
    "(650) 555-5678": "PHONE", "03/22/2025": "DATE", "software engineer": "PROFESSION", "TechNova Corp": "ORGANIZATION",
    "987-65-4321": "SSN",
}  # fmt: skip
FLAT = {
    "dataType": "visit", "recordVersion": "2", "type": "object", "patient": "/patient", "required": ["status"],
    "properties": {
        "patient": {"type": "string", "rule": "hash:patient"},
        "born": {"type": "string", "format": "date", "rule": "policy:date"},
        "seen": {"type": "string", "format": "date-time", "rule": "shift"},
        "name": {"type": "string", "rule": "mask:name"},
        "status": {"enum": ["open", "closed"], "rule": "pass"},
        "comment": {"type": "string", "rule": "pass"},
        "weight": {"type": "number", "rule": "pass"},
        "room": {"type": "integer", "rule": "mask:id"},
        "tags": {"type": "array", "items": {"type": "string", "rule": "pass"}},
    },
}  # fmt: skip
VISIT = {
    "patient": "P-77", "born": "1980-02-23", "seen": "2024-05-06T07:08:09Z", "name": "Maria Rossi", "status": "open",
    "comment": "stable", "weight": 61.5, "room": 12, "tags": ["a", "b"],
}  # fmt: skip


def ward(slug: str = "ward") -> Project:
    return create_project(name="Ward", slug=slug, label_set_key="i2b2-2014", language="en")


def active(project: Project, schema: dict[str, Any] | str) -> RecordSchema:
    """Add, review and activate a schema, given as JSON, or as the text of a file."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    row = add_schema(project=project, text=text, actor=None)
    row = review_schema(schema=row, actor=make.make_user())
    return activate_schema(schema=row, actor=None)


def saved(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def label_strings(note: Document, strings: dict[str, str], author: Any = None) -> None:
    """Make a submitted set, gold unless another author is given, of these strings wherever they stand in a note."""
    author = author or make.make_author(note.project, kind="gold", name="gold")
    labels = {label.code: label for label in Label.objects.filter(label_set__project=note.project)}
    made = make.make_set(note, author, submitted=True)
    Span.objects.bulk_create(
        Span(annotation_set=made, start=at, end=at + len(string), label=labels[code])
        for string, code in strings.items()
        for at in range(len(note.text))
        if note.text.startswith(string, at)
    )
