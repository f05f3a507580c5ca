"""Add, review and activate schemas of records. A change is a new version, which another person reviews if possible."""

import json
from pathlib import Path
from typing import Any, Final

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError, good_name
from annotations.models import Project, RecordSchema, RecordSchemaState, User
from annotations.records.events import SCHEMA_ACTIVATED, SCHEMA_ADDED, SCHEMA_REVIEWED
from annotations.records.rules.fhir import RESOURCES, fhir_schema
from annotations.records.rules.reader import content_hash
from annotations.records.rules.schema_text import SchemaText, read_schema
from annotations.records.rules.schemas import SchemaError, changes, check_schema
from annotations.records.selectors import may_review

SHIPPED_PREFIX: Final = "shipped:"
_DATA: Final = Path(__file__).parents[1] / "data"
LONGEST: Final = 2_000_000
"""Characters of a schema file."""


def shipped_schemas() -> list[str]:
    """The types whose schemas deidreview brings, reviewed."""
    return [*RESOURCES, *(path.stem for path in sorted(_DATA.glob("*.json")))]


def shipped_schema(data_type: str) -> dict[str, Any]:
    """A schema that deidreview brings. Raises ServiceError `shipped`."""
    if data_type in RESOURCES:
        return fhir_schema(data_type)
    if data_type not in shipped_schemas():
        message = _("There is no shipped schema “%(name)s”. Choose one of: %(choices)s.")
        choices = ", ".join(shipped_schemas())
        raise ServiceError(message % {"name": data_type[:80], "choices": choices}, code="shipped")
    found: dict[str, Any] = json.loads((_DATA / f"{data_type}.json").read_text(encoding="utf-8"))
    return found


def add_schema(*, project: Project, text: str, actor: User | None) -> RecordSchema:
    """Add the next version of a type as a draft, from the text of a file. Raises ServiceError `schema`.

    The text `shipped:TYPE` adds a schema that deidreview brings; it is reviewed already. The same schema again gives
    the version that has it.
    """
    shipped = text.strip().startswith(SHIPPED_PREFIX)
    if len(text) > LONGEST:
        raise ServiceError(_("A schema has at most %(most)s characters. Split it.") % {"most": LONGEST}, code="schema")
    try:
        read = SchemaText(shipped_schema(text.strip()[len(SHIPPED_PREFIX) :]), []) if shipped else read_schema(text)
        check_schema(read.schema)
        content_hash(read.schema)
    except SchemaError as error:
        raise ServiceError(str(error), code="schema") from error
    except (ValueError, RecursionError):
        message = _("The schema is nested too deeply, or has a character or a number that can't be stored.")
        raise ServiceError(message, code="schema") from None
    name, version = good_name(read.schema["dataType"], code="schema"), str(read.schema.get("recordVersion", ""))
    if len(name) > 80 or len(version) > 40:
        raise ServiceError(_("dataType has at most 80 characters, and recordVersion at most 40."), code="schema")
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        rows = RecordSchema.objects.filter(project=project, data_type=name)
        for row in rows.exclude(state=RecordSchemaState.RETIRED):
            if row.schema == read.schema:
                return row
        row = RecordSchema.objects.create(
            project=project,
            data_type=name,
            number=(rows.aggregate(last=Max("number"))["last"] or 0) + 1,
            record_version=version,
            schema=read.schema,
            repairs=read.repairs,
            state=RecordSchemaState.REVIEWED if shipped else RecordSchemaState.DRAFT,
            created_by=None if shipped else actor,
        )
        _record(SCHEMA_ADDED, row, actor)
    return row


def review_schema(*, schema: RecordSchema, actor: User | None) -> RecordSchema:
    """Confirm that a person has reviewed a draft. Twice does no harm.

    Raises ServiceError `own` for the person who added it, unless this is the only manager of a project and works alone.
    """
    if schema.state != RecordSchemaState.DRAFT:
        return schema
    if actor is None:
        raise ServiceError(_("Name the person who has reviewed the schema with --by USER."), code="by")
    if not may_review(schema, actor):
        raise ServiceError(_("You added this version, so another person must review it."), code="own")
    with transaction.atomic():
        row = RecordSchema.objects.select_for_update().get(pk=schema.pk)
        if row.state == RecordSchemaState.DRAFT:
            row.state, row.reviewed_by, row.reviewed_at = RecordSchemaState.REVIEWED, actor, timezone.now()
            row.save(update_fields=["state", "reviewed_by", "reviewed_at"])
            _record(SCHEMA_REVIEWED, row, actor)
    return row


def activate_schema(*, schema: RecordSchema, actor: User | None) -> RecordSchema:
    """Use a reviewed version from now on, in place of the active one. Raises ServiceError `state`."""
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=schema.project_id)
        row = RecordSchema.objects.select_for_update().get(pk=schema.pk)
        if row.state == RecordSchemaState.ACTIVE:
            return row
        if row.state != RecordSchemaState.REVIEWED:
            message = _("Only a reviewed version can be activated. This one is: %(state)s.")
            raise ServiceError(message % {"state": row.get_state_display()}, code="state")
        others = RecordSchema.objects.filter(project=row.project_id, data_type=row.data_type)
        others.filter(state=RecordSchemaState.ACTIVE).update(state=RecordSchemaState.RETIRED)
        row.state, row.activated_by, row.activated_at = RecordSchemaState.ACTIVE, actor, timezone.now()
        row.save(update_fields=["state", "activated_by", "activated_at"])
        _record(SCHEMA_ACTIVATED, row, actor)
    return row


def summary(row: RecordSchema, before: RecordSchema | None) -> dict[str, Any]:
    """A version as commands and routes answer it: its leaves, what was repaired, and how it differs from `before`."""
    return {
        "id": row.pk,
        "data_type": row.data_type,
        "number": row.number,
        "record_version": row.record_version,
        "state": row.state,
        "repairs": row.repairs,
        "fields": [
            {"path": leaf.path, "type": str(leaf.type), "rule": str(leaf.rule)} for leaf in check_schema(row.schema)
        ],
        "changes": [change._asdict() for change in changes(before.schema if before else None, row.schema)],
    }


def _record(verb: Any, row: RecordSchema, actor: User | None) -> None:
    verb.record(actor=actor, project_id=row.project_id, data={"schema": row.pk, "number": row.number})
