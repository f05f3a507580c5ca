"""What a refiner did with the annotations that it kept or changed, for review."""

from collections.abc import Mapping
from typing import Any, TypedDict

from annotations.models import Project
from annotations.projects.selectors.labels import accepted_labels


class RefinedShown(TypedDict):
    """What a refiner did with an annotation: `action` is keep or update; `start`, `end` and `label` are from before.

    `label` is None if the label was deleted since; `code` is the code that it had.
    """

    action: str
    start: int
    end: int
    label: int | None
    code: str
    reason: str


def refined_in(project: Project, provenances: Mapping[int, Mapping[str, Any] | None]) -> dict[int, RefinedShown]:
    """The refiner's decisions by suggestion id, from the provenance of suggestions."""
    said = {pk: found["refined"] for pk, found in provenances.items() if found and "refined" in found}
    if not said:
        return {}
    accepted, ids = accepted_labels(project)
    shown: dict[int, RefinedShown] = {}
    for pk, one in said.items():
        start, end, code = one["was"]
        known = accepted.get(code)
        shown[pk] = {
            "action": one["action"], "start": start, "end": end, "label": ids[known] if known else None, "code": code,
            "reason": one["reason"],
        }  # fmt: skip
    return shown
