"""A refined run on one note: one annotation kept, one changed, and two proposed removals. For tests of review."""

from types import SimpleNamespace
from typing import Any

from annotations.models import Document, Project, Span
from models_runtime.models import RefinedItem, Refinement
from tests import factories as make

KEPT, CHANGED, REMOVED, ALSO_REMOVED = ("Mario Rossi", "12/03/2021", "Torino", "54 anni")


def refine(project: Project, note: Document) -> SimpleNamespace:
    """Return the refined author, with the numbers of the proposed removals in `removed` and `also_removed`."""
    source = make.make_author(project, kind="run", name="union-1")
    author = make.make_author(project, kind="refined", name="union-1-offline-1")
    refinement = Refinement.objects.create(project=project, source=source, author=author, method="offline")
    name, date, place, age = (at(note, part) for part in (KEPT, CHANGED, REMOVED, ALSO_REMOVED))
    day = (date[0], date[0] + 2)
    annotations = sorted([(*name, "PATIENT"), (*day, "AGE"), (*place, "HOSPITAL"), (*age, "AGE")])
    make.make_set(note, source, annotations, submitted=True)
    numbers = {part: number for number, part in enumerate(annotations, 1)}
    result = make.make_set(note, author, [(*name, "PATIENT"), (*date, "DATE")], submitted=True)
    told(result, name, "keep", [*name, "PATIENT"], "A name after a title.")
    told(result, date, "update", [*day, "AGE"], "A whole date.")
    for part, number in numbers.items():
        action = {"HOSPITAL": "remove", "PATIENT": "keep"}.get(part[2], "update" if part[:2] == day else "remove")
        RefinedItem.objects.create(
            refinement=refinement, document=note, number=number, start=part[0], end=part[1], label=part[2],
            action=action, reason="Only the destination." if part[2] == "HOSPITAL" else "No identifier here.",
        )  # fmt: skip
    return SimpleNamespace(
        run=author, source=source, removed=numbers[(*place, "HOSPITAL")], also_removed=numbers[(*age, "AGE")],
        place=place, age=age,
    )  # fmt: skip


def at(note: Document, part: str) -> tuple[int, int]:
    start = note.text.index(part)
    return start, start + len(part)


def told(made: Any, bounds: tuple[int, int], action: str, was: list[Any], reason: str) -> None:
    said = {"refined": {"action": action, "was": was, "reason": reason}}
    Span.objects.filter(annotation_set=made, start=bounds[0]).update(provenance=said)
