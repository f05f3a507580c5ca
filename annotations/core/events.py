"""The audit trail: every change and every read of a note writes one event."""

import uuid
from typing import Any

from annotations.models import Event, User
from annotations.models.prepared import PreparedInsert

_NEW = PreparedInsert(Event)


def record(
    *,
    verb: str,
    actor: User | None = None,
    project_id: int | None = None,
    document_id: int | None = None,
    annotation_set_id: int | None = None,
    data: dict[str, Any] | None = None,
    change_id: uuid.UUID | None = None,
    reverts: int | None = None,
) -> Event:
    """Append one event. `data` holds ids, offsets, labels and counts: never note text, never what somebody worded."""
    event = Event(
        verb=verb,
        actor_id=actor.pk if actor else None,
        project_id=project_id,
        document_id=document_id,
        annotation_set_id=annotation_set_id,
        data=data or {},
        change_id=change_id,
        reverts=reverts,
    )
    return _NEW.run(event)
